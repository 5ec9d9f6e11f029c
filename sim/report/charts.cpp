#include "sim/report/charts.h"

#include "sim/errors.h"
#include "sim/report/format.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

extern char** environ;

namespace breakeven {

namespace {

namespace fs = std::filesystem;

/// One machine in a chart.
struct Point {
  std::string label, kind; ///< kind: "CPU", "GPU on-demand", "GPU spot"
  Interval time_s;
  std::optional<Interval> cost_usd;
};

std::vector<Point> points_of(const std::vector<Comparison>& rows) {
  std::vector<Point> points;
  const Comparison& first = rows.front();
  if (first.baseline_time_to_result_s.likely > 0)
    points.push_back(
        {option_text(first.baseline_instance, first.baseline_count, first.baseline_option)
             + " (baseline)",
         "CPU", first.baseline_time_to_result_s, first.baseline_cost_usd});
  for (const Comparison& row : rows) {
    if (!row.candidate_time_to_result_s) continue;
    const std::string kind = row.candidate_path == "openmp"   ? "CPU"
                             : row.candidate_option == "spot" ? "GPU spot"
                                                              : "GPU on-demand";
    points.push_back(
        {option_text(row.candidate_instance, row.candidate_count, row.candidate_option), kind,
         *row.candidate_time_to_result_s, row.candidate_cost_usd});
  }
  return points;
}

/// gnuplot's strings: no quote, backslash or control character gets through.
std::string plain(const std::string& text) {
  std::string safe;
  for (const char c : text)
    safe += c == '"' || c == '\\' || c == '`' || static_cast<unsigned char>(c) < ' ' ? '?' : c;
  return safe;
}

struct TemporaryFolder {
  fs::path path;
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "breakeven-chart-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      throw Failure("no temporary folder for charts: " + std::string(std::strerror(errno)));
    path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Runs gnuplot on a script; returns what it drew. Failure with gnuplot's own message.
std::string drawn_by_gnuplot(const std::string& script) {
  const TemporaryFolder folder;
  const fs::path script_file = folder.path / "chart.gp", messages = folder.path / "messages";
  const fs::path svg = folder.path / "chart.svg";
  std::ofstream(script_file) << "set output '" << svg.string() << "'\n" << script;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  std::string program = "gnuplot", argument = script_file.string();
  char* arguments[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    throw Failure("the memo's charts need gnuplot (package gnuplot-nox): "
                  + std::string(std::strerror(error)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const std::string drawing = bytes_of(svg);
  if (status != 0 || drawing.find("</svg>") == std::string::npos)
    throw Failure("gnuplot could not draw a chart: " + bytes_of(messages));
  return drawing;
}

constexpr const char* style = R"(
set encoding utf8
set border 3 lc rgb '#555555'
set grid x lc rgb '#e4e4e4' lt 1
set tics nomirror textcolor rgb '#333333'
)";

const std::vector<std::pair<std::string, std::string>>& colours() {
  static const std::vector<std::pair<std::string, std::string>> all = {
      {"CPU", "lc rgb '#b4552d' pt 5"},
      {"GPU on-demand", "lc rgb '#1f6f8b' pt 7"},
      {"GPU spot", "lc rgb '#6a9c2f' pt 9"}};
  return all;
}

/// Axis limits in whole thirds of a decade around all values.
std::pair<double, double> log_range(double low, double high) {
  return {std::pow(10, std::floor(3 * std::log10(low * 0.9)) / 3),
          std::pow(10, std::ceil(3 * std::log10(high * 1.1)) / 3)};
}

std::string time_tics(double low_min, double high_min) {
  std::string tics;
  for (const auto& [minutes, label] :
       std::vector<std::pair<double, const char*>>{{1.0 / 60, "1 s"},
                                                   {10.0 / 60, "10 s"},
                                                   {0.5, "30 s"},
                                                   {1, "1 min"},
                                                   {2, "2 min"},
                                                   {5, "5 min"},
                                                   {10, "10 min"},
                                                   {20, "20 min"},
                                                   {60, "1 h"},
                                                   {120, "2 h"},
                                                   {300, "5 h"},
                                                   {720, "12 h"},
                                                   {1440, "1 d"},
                                                   {4320, "3 d"},
                                                   {10080, "1 wk"},
                                                   {43200, "30 d"}})
    if (minutes >= low_min && minutes <= high_min)
      tics += fmt::format("{}'{}' {}", tics.empty() ? "" : ", ", label, minutes);
  return "(" + tics + ")";
}

std::string data_block(const std::vector<Point>& points, const std::string& kind) {
  std::string rows;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    if (point.kind != kind) continue;
    const Interval cost = point.cost_usd.value_or(Interval{});
    rows += fmt::format("{} {} {} {} {} {} {} \"{}\"\n", points.size() - i,
                        point.time_s.likely / 60, point.time_s.low / 60, point.time_s.high / 60,
                        cost.likely, cost.low, cost.high, plain(point.label));
  }
  return rows;
}

/// "$name << EOD ... EOD" for every kind that has points, and the kinds' indices.
std::string data_blocks(const std::vector<Point>& points, std::vector<std::size_t>& used) {
  std::string blocks;
  for (std::size_t kind = 0; kind < colours().size(); ++kind) {
    const std::string rows = data_block(points, colours()[kind].first);
    if (rows.empty()) continue;
    used.push_back(kind);
    blocks += fmt::format("$kind{} << EOD\n{}EOD\n", kind, rows);
  }
  return blocks;
}

std::string empty_chart(const char* text) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"60\"><text x=\"20\" "
      "y=\"35\" font-family=\"sans-serif\">{}</text></svg>\n",
      text);
}

} // namespace

std::string time_chart(const std::vector<Comparison>& rows) {
  const std::vector<Point> points = points_of(rows);
  if (points.empty()) return empty_chart("No machine has a time.");
  double low = 1e300, high = 0;
  for (const Point& point : points) {
    low = std::min(low, point.time_s.low / 60);
    high = std::max(high, point.time_s.high / 60);
  }
  const std::optional<double> deadline = rows.front().deadline_s;
  if (deadline) low = std::min(low, *deadline / 60), high = std::max(high, *deadline / 60);
  const auto [from, to] = log_range(low, high);
  std::vector<std::size_t> used;
  std::string script =
      fmt::format("set terminal svg size 860,{} font 'sans-serif,12' enhanced background "
                  "rgb 'white'\n",
                  110 + 24 * points.size());
  script += style + data_blocks(points, used);
  script += fmt::format("set logscale x\nset xrange [{}:{}]\nset yrange [0.3:{}.7]\nset xtics {}\n",
                        from, to, points.size(), time_tics(from, to));
  script += "set ytics ()\n";
  for (std::size_t i = 0; i < points.size(); ++i)
    script += fmt::format("set ytics add (\"{}\" {}) noenhanced\n", plain(points[i].label),
                          points.size() - i);
  script += "set xlabel 'time to result of one run (10-90 % range, log scale)'\n"
            "set key top outside horizontal\n";
  if (deadline)
    script += fmt::format("set arrow from {0},graph 0 to {0},graph 1 nohead lc rgb '#aa0000' dt 2\n"
                          "set label ' deadline' at {0},graph 0.97 left textcolor rgb '#aa0000'\n",
                          *deadline / 60);
  script += "plot ";
  for (std::size_t i = 0; i < used.size(); ++i)
    script +=
        fmt::format("{}$kind{} using 2:1:3:4 with xerrorbars lw 2 ps 0.9 {} title '{}'",
                    i ? ", " : "", used[i], colours()[used[i]].second, colours()[used[i]].first);
  return drawn_by_gnuplot(script + "\n");
}

std::string cost_chart(const std::vector<Comparison>& rows) {
  std::vector<Point> points = points_of(rows);
  points.erase(std::remove_if(
                   points.begin(), points.end(),
                   [](const Point& point) { return !point.cost_usd || point.cost_usd->low <= 0; }),
               points.end());
  if (points.empty()) return empty_chart("No machine has a price.");
  double low = 1e300, high = 0, cheap = 1e300, dear = 0;
  for (const Point& point : points) {
    low = std::min(low, point.time_s.low / 60), high = std::max(high, point.time_s.high / 60);
    cheap = std::min(cheap, point.cost_usd->low), dear = std::max(dear, point.cost_usd->high);
  }
  const auto [from, to] = log_range(low, high);
  const auto [bottom, top] = log_range(cheap, dear);
  // Numbers at the points and a list beside the chart: names would cover each other.
  std::vector<std::size_t> used;
  std::string script =
      "set terminal svg size 860,480 font 'sans-serif,12' enhanced background rgb 'white'\n";
  script += style + data_blocks(points, used);
  script += fmt::format("set grid y lc rgb '#e4e4e4' lt 1\nset logscale xy\nset xrange [{}:{}]\n"
                        "set yrange [{}:{}]\nset xtics {}\nset rmargin 36\n",
                        from, to, bottom, top, time_tics(from, to));
  script += "set xlabel 'time to result of one run'\nset ylabel 'cost of one run (USD)'\n"
            "set key top outside horizontal\n";
  for (std::size_t i = 0; i < points.size(); ++i)
    script += fmt::format("set label \"{}  {}\" at graph 1.03,{} noenhanced font ',10'\n", i + 1,
                          plain(points[i].label),
                          "graph " + fmt::format("{:.4f}", 0.99 - 0.05 * static_cast<double>(i)));
  script += "plot ";
  for (std::size_t i = 0; i < used.size(); ++i)
    script += fmt::format(
        "{0}$kind{1} using 2:5:3:4:6:7 with xyerrorbars lw 1.5 ps 0.9 {2} title '{3}', "
        "$kind{1} using 2:5:(sprintf('%d', {4} - $1 + 1)) with labels offset 1,0.7 notitle",
        i ? ", " : "", used[i], colours()[used[i]].second, colours()[used[i]].first, points.size());
  return drawn_by_gnuplot(script + "\n");
}

} // namespace breakeven
