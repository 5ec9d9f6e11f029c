#include "sim/report/charts.h"

#include "sim/report/answer.h"
#include "sim/report/axis.h"
#include "sim/report/chart_layout.h"
#include "sim/report/format.h"
#include "sim/report/gnuplot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {

constexpr int width = chart_width;
constexpr int widest_name = 36; ///< characters
constexpr double font_size = chart_font_size;

/// Kinds of point: colour and shape say CPU or GPU, a hollow shape says spot.
struct Kind {
  const char *title, *style;
};
constexpr Kind kinds[] = {{"baseline", "lc rgb '#222222' pt 13 ps 1.5"},
                          {"CPU on-demand", "lc rgb '#b4552d' pt 5 ps 0.9"},
                          {"CPU spot", "lc rgb '#b4552d' pt 4 ps 1.0"},
                          {"GPU on-demand", "lc rgb '#1f6f8b' pt 7 ps 1.0"},
                          {"GPU spot", "lc rgb '#1f6f8b' pt 6 ps 1.1"}};

struct Point {
  std::string name, evidence;
  std::size_t kind = 0;
  Interval time_s;
  std::optional<Interval> cost_usd;
};

std::size_t kind_of(const Comparison& row) {
  const bool on_cpu = row.candidate_path == "openmp", spot = row.candidate_option == "spot";
  return (on_cpu ? 1u : 3u) + (spot ? 1u : 0u);
}

bool drawable(const Interval& interval) { return interval.low > 0 && std::isfinite(interval.high); }

std::vector<Point> points_of(const std::vector<Comparison>& rows) {
  std::vector<Point> points;
  const Comparison& first = rows.front();
  if (drawable(first.baseline_time_to_result_s))
    points.push_back({baseline_name(first), first.baseline_evidence, 0,
                      first.baseline_time_to_result_s, first.baseline_cost_usd});
  for (const Comparison& row : rows)
    if (row.candidate_time_to_result_s && drawable(*row.candidate_time_to_result_s))
      points.push_back({candidate_name(row), row.candidate_evidence, kind_of(row),
                        *row.candidate_time_to_result_s, row.candidate_cost_usd});
  for (Point& point : points)
    point.name = fitted(point.name, widest_name);
  return points;
}

// ---- what both charts share ----

constexpr const char* look = R"(set border 3 lc rgb '#777777'
set tics nomirror textcolor rgb '#333333' scale 0.5
set bars small
)";

/// The kinds that occur, as a row of symbols above the chart. gnuplot's own key would break the row
/// where the plot is narrower than the drawing.
std::string key_commands(const std::vector<Point>& points, const Layout& layout) {
  std::string text = "unset key\n";
  double x = 28;
  const double y = layout.height - 22.0;
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
    if (std::none_of(points.begin(), points.end(),
                     [&](const Point& point) { return point.kind == kind; }))
      continue;
    text += text_at(
        layout, x, y, kinds[kind].title,
        fmt::format("left point {} offset 1.3,-0.35 textcolor rgb '#333333'", kinds[kind].style));
    x += text_width(kinds[kind].title, 12) + 44;
  }
  return text;
}

std::string deadline_line(const std::vector<Comparison>& rows, const Layout& layout,
                          const Axis& time) {
  const std::optional<double>& deadline_s = rows.front().deadline_s;
  if (!deadline_s || *deadline_s <= 0) return "";
  const double x =
      layout.frame.left + time.share(*deadline_s) * (layout.frame.right - layout.frame.left);
  return fmt::format("set arrow from first {0},graph 0 to first {0},graph 1 nohead lc rgb "
                     "'#aa2222' dt 2 lw 1.2 back\n",
                     *deadline_s)
         + text_at(layout, x, layout.frame.top + 9, "deadline " + stated_duration(*deadline_s),
                   "center font ',10' textcolor rgb '#aa2222'");
}

Axis time_axis(const std::vector<Point>& points, const std::vector<Comparison>& rows) {
  double low = points.front().time_s.low, high = 0;
  for (const Point& point : points)
    low = std::min(low, point.time_s.low), high = std::max(high, point.time_s.high);
  if (const std::optional<double>& deadline_s = rows.front().deadline_s;
      deadline_s && *deadline_s > 0)
    low = std::min(low, *deadline_s), high = std::max(high, *deadline_s);
  return seconds_axis(low, high);
}

/// One inline data block and one plot clause per kind that occurs.
std::string plot_commands(const std::vector<Point>& points, const std::string& columns_and_style,
                          const std::vector<std::string>& data_lines) {
  std::string blocks, clauses;
  for (std::size_t kind = 0; kind < std::size(kinds); ++kind) {
    std::string lines;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (points[i].kind == kind) lines += data_lines[i];
    if (lines.empty()) continue;
    blocks += fmt::format("$kind{} << END\n{}END\n", kind, lines);
    clauses += fmt::format("{}$kind{} using {} lw 1.5 {} notitle", clauses.empty() ? "" : ", ",
                           kind, columns_and_style, kinds[kind].style);
  }
  return blocks + "plot " + clauses + "\n";
}

// ---- time ----

constexpr int line_height = 24;

Layout time_layout(const std::vector<Point>& points) {
  double names = 0;
  for (const Point& point : points)
    names = std::max(names, text_width(point.name, font_size));
  Layout layout;
  layout.height = 110 + line_height * static_cast<int>(points.size());
  layout.frame = {names + 20, 56, width - 84.0, layout.height - 54.0};
  return layout;
}

std::string time_rows(const std::vector<Point>& points, const Layout& layout) {
  std::string text;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double y = layout.frame.top - line_height * (static_cast<double>(i) + 0.5);
    text += text_at(layout, layout.frame.left - 10, y, points[i].name, "right font ',11'");
    text += text_at(layout, layout.frame.right + 8, y, points[i].evidence,
                    "left font ',10' textcolor rgb '#666666'");
  }
  return text;
}

// ---- cost ----

bool has_drawable_cost(const Point& point) { return point.cost_usd && drawable(*point.cost_usd); }

Axis cost_axis(const std::vector<Point>& points) {
  double low = points.front().cost_usd->low, high = 0;
  for (const Point& point : points)
    low = std::min(low, point.cost_usd->low), high = std::max(high, point.cost_usd->high);
  return amount_axis(low, high);
}

double between(double low, double high, double share) { return low + share * (high - low); }

std::string name_labels(const std::vector<Point>& points, const Layout& layout, const Axis& time,
                        const Axis& cost, const std::optional<double>& deadline_s) {
  const Box& frame = layout.frame;
  const auto x = [&](double seconds) {
    return between(frame.left, frame.right, time.share(seconds));
  };
  const auto y = [&](double usd) { return between(frame.bottom, frame.top, cost.share(usd)); };
  std::vector<NamedPoint> named;
  for (const Point& point : points)
    named.push_back({point.name,
                     x(point.time_s.likely),
                     y(point.cost_usd->likely),
                     {x(point.time_s.low), y(point.cost_usd->low), x(point.time_s.high),
                      y(point.cost_usd->high)}});
  std::vector<Box> lines;
  if (deadline_s && *deadline_s > 0)
    lines.push_back({x(*deadline_s) - 1, frame.bottom, x(*deadline_s) + 1, frame.top});
  const std::vector<PlacedLabel> labels = place_labels(named, frame, font_size, lines);
  std::string text;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const PlacedLabel& label = labels[i];
    if (label.led)
      text += fmt::format("set arrow from screen {:.4f},{:.4f} to screen {:.4f},{:.4f} nohead "
                          "lc rgb '#999999' lw 0.8\n",
                          named[i].x / width, named[i].y / layout.height, label.line_x / width,
                          label.line_y / layout.height);
    // Centred, so that a font narrower than assumed leaves equal gaps.
    text += text_at(layout, (label.box.left + label.box.right) / 2,
                    (label.box.bottom + label.box.top) / 2, named[i].name,
                    fmt::format("center font ',{}' front", font_size));
  }
  return text;
}

} // namespace

std::string time_chart(const std::vector<Comparison>& rows) {
  const std::vector<Point> points = points_of(rows);
  if (points.empty()) return empty_chart("No machine has a time.");
  const Layout layout = time_layout(points);
  const Axis time = time_axis(points, rows);
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Interval& seconds = points[i].time_s;
    lines.push_back(
        fmt::format("{} {} {} {}\n", seconds.likely, points.size() - i, seconds.low, seconds.high));
  }
  const std::string script =
      layout_commands(layout) + look + key_commands(points, layout) + time.commands('x')
      + fmt::format("set yrange [0.5:{}.5]\nunset ytics\nset grid x lc rgb '#e2e2e2' lt 1\n",
                    points.size())
      + "set xlabel 'time to result of one run, likely value and 10-90 % range"
      + (time.logarithmic ? " (logarithmic)" : "") + "' offset 0,0.3\n"
      + deadline_line(rows, layout, time) + time_rows(points, layout)
      + plot_commands(points, "1:2:3:4 with xerrorbars", lines);
  return svg_from_gnuplot("time", fmt::format("{},{}", width, layout.height), script);
}

std::string cost_chart(const std::vector<Comparison>& rows) {
  std::vector<Point> points = points_of(rows);
  points.erase(std::remove_if(points.begin(), points.end(),
                              [](const Point& point) { return !has_drawable_cost(point); }),
               points.end());
  if (points.empty()) return empty_chart("No machine has a price.");
  Layout layout;
  layout.height = 540;
  layout.frame = {78, 56, width - 20.0, layout.height - 54.0};
  const Axis time = time_axis(points, rows), cost = cost_axis(points);
  std::vector<std::string> lines;
  for (const Point& point : points)
    lines.push_back(fmt::format("{} {} {} {} {} {}\n", point.time_s.likely, point.cost_usd->likely,
                                point.time_s.low, point.time_s.high, point.cost_usd->low,
                                point.cost_usd->high));
  const std::string script =
      layout_commands(layout) + look + key_commands(points, layout) + time.commands('x')
      + cost.commands('y') + "set grid x y lc rgb '#e2e2e2' lt 1\n"
      + "set xlabel 'time to result of one run" + (time.logarithmic ? " (logarithmic)" : "")
      + "' offset 0,0.3\nset ylabel 'cost of one run (USD"
      + (cost.logarithmic ? ", logarithmic" : "") + ")' offset 1,0\n"
      + deadline_line(rows, layout, time)
      + name_labels(points, layout, time, cost, rows.front().deadline_s)
      + plot_commands(points, "1:2:3:4:5:6 with xyerrorbars", lines);
  return svg_from_gnuplot("cost", fmt::format("{},{}", width, layout.height), script);
}

} // namespace breakeven
