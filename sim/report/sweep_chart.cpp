#include "sim/report/sweep_chart.h"

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

constexpr std::size_t most_in_a_chart = 5;
constexpr int widest_name = 36; ///< characters
constexpr double key_line = 20;

/// Colours that the colour-blind can tell apart (Okabe and Ito), the baseline's first.
struct Look {
  const char* colour;
  int symbol;
};
constexpr Look looks[most_in_a_chart + 1] = {{"#222222", 13}, {"#0072b2", 7},  {"#d55e00", 5},
                                             {"#009e73", 9},  {"#cc79a7", 11}, {"#b8860b", 15}};

struct Point {
  double size = 0;
  Interval value;
};

/// One machine over all sizes; gaps cut its line into several.
struct Line {
  std::string name;
  std::vector<std::vector<Point>> pieces;
  const Look* look = nullptr;
};

bool is_drawable(const Interval& interval) {
  return interval.low > 0 && std::isfinite(interval.high);
}

using Value = std::optional<Interval>;

Value of_baseline(const Comparison& row, SweepQuantity quantity) {
  const Value value =
      quantity == SweepQuantity::time ? Value(row.baseline_time_s) : row.baseline_cost_usd;
  return value && is_drawable(*value) ? value : Value();
}

Value of_candidate(const Comparison& row, SweepQuantity quantity) {
  const Value& value =
      quantity == SweepQuantity::time ? row.candidate_end_to_end_s : row.candidate_cost_usd;
  return value && is_drawable(*value) ? value : Value();
}

Line line_of(const std::string& name, const std::vector<const SizeRow*>& rows,
             Value (*value_of)(const Comparison&, SweepQuantity), SweepQuantity quantity) {
  Line line;
  line.name = fitted(name, widest_name);
  bool in_a_gap = true;
  for (const SizeRow* row : rows) {
    const Value value = value_of(row->comparison, quantity);
    if (value && in_a_gap) line.pieces.emplace_back();
    if (value) line.pieces.back().push_back({row->size.amount, *value});
    in_a_gap = !value;
  }
  return line;
}

std::vector<Line> lines_of(const std::vector<CandidateSweep>& group, SweepQuantity quantity) {
  const auto& first = group.front().rows;
  std::vector<Line> lines{line_of(baseline_name(first.front()->comparison) + " (baseline)", first,
                                  of_baseline, quantity)};
  for (const CandidateSweep& candidate : group)
    lines.push_back(line_of(candidate.name, candidate.rows, of_candidate, quantity));
  for (std::size_t i = 0; i < lines.size(); ++i)
    lines[i].look = &looks[i];
  return lines;
}

Axis value_axis(const std::vector<Line>& lines, SweepQuantity quantity) {
  double low = HUGE_VAL, high = 0;
  for (const Line& line : lines)
    for (const auto& piece : line.pieces)
      for (const Point& point : piece)
        low = std::min(low, point.value.low), high = std::max(high, point.value.high);
  return quantity == SweepQuantity::time ? seconds_axis(low, high) : amount_axis(low, high);
}

/// Marks at the sizes themselves, as far as their labels do not meet.
Axis size_axis(const std::vector<const SizeRow*>& rows, const Box& frame) {
  Axis axis;
  axis.logarithmic = true;
  const double margin = std::pow(rows.back()->size.amount / rows.front()->size.amount, 0.04);
  axis.from = rows.front()->size.amount / margin;
  axis.to = rows.back()->size.amount * margin;
  if (rows.size() == 1) axis.from /= 2, axis.to *= 2;
  double free_from = -1e9;
  for (const SizeRow* row : rows) {
    const std::string label = stated_size(*row);
    const double x = axis.share(row->size.amount) * (frame.right - frame.left);
    const double half = text_width(label, 12) / 2;
    if (x - half < free_from) continue;
    free_from = x + half + 8;
    axis.marks += fmt::format("{}\"{}\" {}", axis.marks.empty() ? "" : ", ", gnuplot_text(label),
                              row->size.amount);
  }
  axis.marks = "(" + axis.marks + ")";
  return axis;
}

// ---- the key ----

struct KeyItem {
  const Line* line;
  double x = 0;
  int row = 0;
};

/// Side by side above the chart, on as many rows as they need.
std::vector<KeyItem> key_of(const std::vector<Line>& lines) {
  std::vector<KeyItem> items;
  double x = 28;
  int row = 0;
  for (const Line& line : lines) {
    const double width = text_width(line.name, 12) + 44;
    if (x + width > chart_width && x > 28) x = 28, ++row;
    items.push_back({&line, x, row});
    x += width;
  }
  return items;
}

std::string key_commands(const std::vector<KeyItem>& items, const Layout& layout) {
  std::string text = "unset key\n";
  for (const KeyItem& item : items)
    text += text_at(layout, item.x, layout.height - 20.0 - key_line * item.row, item.line->name,
                    fmt::format("left point lc rgb '{}' pt {} ps 1.0 offset 1.3,-0.35 "
                                "textcolor rgb '#333333'",
                                item.line->look->colour, item.line->look->symbol));
  return text;
}

// ---- the lines ----

/// Where a candidate's likely line crosses the baseline's for good.
std::string crossover_marks(const std::vector<CandidateSweep>& group, SweepQuantity quantity) {
  std::string text;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto& crossover = quantity == SweepQuantity::time ? group[i].faster : group[i].cheaper;
    if (crossover && crossover->likely.place == Place::inside)
      text += fmt::format("set arrow from first {0},graph 0 to first {0},graph 1 nohead lc rgb "
                          "'{1}' dt 3 lw 1.2 back\n",
                          crossover->likely.size, looks[i + 1].colour);
  }
  return text;
}

std::string plot_commands(const std::vector<Line>& lines) {
  std::string blocks, bands, points;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Look& look = *lines[i].look;
    for (std::size_t j = 0; j < lines[i].pieces.size(); ++j) {
      const std::string data = fmt::format("$line{}_{}", i, j);
      blocks += data + " << END\n";
      for (const Point& point : lines[i].pieces[j])
        blocks += fmt::format("{} {} {} {}\n", point.size, point.value.likely, point.value.low,
                              point.value.high);
      blocks += "END\n";
      // A size without neighbours has no band, so every point has a bar.
      if (lines[i].pieces[j].size() > 1)
        bands += fmt::format("{} using 1:3:4 with filledcurves lc rgb '{}' fillstyle transparent "
                             "solid 0.13 noborder notitle, ",
                             data, look.colour);
      bands += fmt::format("{} using 1:2:3:4 with yerrorbars lc rgb '{}' lw 1 pt -1 notitle, ",
                           data, look.colour);
      points +=
          fmt::format("{} using 1:2 with linespoints lc rgb '{}' lw {} pt {} ps 1.0 notitle, ",
                      data, look.colour, i == 0 ? 2.5 : 1.8, look.symbol);
    }
  }
  std::string clauses = bands + points;
  clauses.resize(clauses.size() - 2);
  return blocks + "plot " + clauses + "\n";
}

} // namespace

std::vector<std::vector<CandidateSweep>> in_charts(const std::vector<CandidateSweep>& candidates,
                                                   SweepQuantity quantity) {
  std::vector<std::vector<CandidateSweep>> groups;
  for (const CandidateSweep& candidate : candidates) {
    if (std::none_of(candidate.rows.begin(), candidate.rows.end(), [&](const SizeRow* row) {
          return of_candidate(row->comparison, quantity).has_value();
        }))
      continue;
    if (groups.empty() || groups.back().size() == most_in_a_chart) groups.emplace_back();
    groups.back().push_back(candidate);
  }
  return groups;
}

std::string sweep_chart(const std::string& name, const std::vector<CandidateSweep>& group,
                        SweepQuantity quantity) {
  const std::vector<Line> lines = lines_of(group, quantity);
  const bool is_time = quantity == SweepQuantity::time;
  const std::vector<KeyItem> key = key_of(lines);
  const double above = 24 + key_line * (key.back().row + 1);
  Layout layout;
  layout.height = 420 + static_cast<int>(above);
  layout.frame = {78, 56, chart_width - 24.0, layout.height - above};
  const Axis sizes = size_axis(group.front().rows, layout.frame);
  const Axis values = value_axis(lines, quantity);
  const std::string script =
      layout_commands(layout)
      + "set border 3 lc rgb '#777777'\n"
        "set tics nomirror textcolor rgb '#333333' scale 0.5\nset bars small\n"
      + key_commands(key, layout) + sizes.commands('x') + values.commands('y')
      + "set grid x y lc rgb '#e2e2e2' lt 1\n"
      + fmt::format("set xlabel \"{} (logarithmic)\" offset 0,0.3\n",
                    gnuplot_text(group.front().rows.front()->size_key))
      + fmt::format("set ylabel '{}{}' offset 1,0\n",
                    is_time ? "compute time of one run" : "cost of one run (USD)",
                    values.logarithmic ? ", logarithmic" : "")
      + crossover_marks(group, quantity) + plot_commands(lines);
  return svg_from_gnuplot(name, fmt::format("{},{}", chart_width, layout.height), script);
}

} // namespace breakeven
