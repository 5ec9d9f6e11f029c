#include "sim/report/axis.h"

#include "sim/report/format.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

namespace breakeven {

namespace {

/// Above this ratio of largest to smallest value the small ones would be lost on a linear axis.
constexpr double widest_linear_range = 8;
constexpr std::size_t most_marks = 9;
constexpr double minute = 60, hour = 3600, day = 86400;

using Marks = std::vector<std::pair<double, std::string>>;

/// 1, 2 or 5 times a power of ten.
double round_step(double at_least) {
  const double power = std::pow(10, std::floor(std::log10(at_least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= at_least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

double whole_time_step(double at_least) {
  for (const double step :
       {1.0, 2.0, 5.0, 10.0, 15.0, 30.0, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute,
        30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day})
    if (step >= at_least) return step;
  return day * round_step(at_least / day);
}

/// "90 s", "1.5 h": exact where it is short, which marks are.
std::string mark_text(double seconds) {
  if (seconds < minute) return fmt::format("{:.3g} s", seconds);
  if (seconds < hour) return fmt::format("{:.3g} min", seconds / minute);
  if (seconds < day) return fmt::format("{:.3g} h", seconds / hour);
  return fmt::format("{:.3g} d", seconds / day);
}

std::string amount_mark(double amount) {
  return amount >= 1e6 || amount < 1e-3 ? fmt::format("{:.0e}", amount)
                                        : fmt::format("{:.6g}", amount);
}

Marks within(const Marks& all, double from, double to) {
  Marks inside;
  for (const auto& mark : all)
    if (mark.first >= from * (1 - 1e-9) && mark.first <= to * (1 + 1e-9)) inside.push_back(mark);
  Marks few;
  const std::size_t every = (inside.size() + most_marks - 1) / most_marks;
  for (std::size_t i = 0; i < inside.size(); i += every)
    few.push_back(inside[i]);
  return few;
}

Marks log_time_marks() {
  Marks marks;
  for (double power = 1e-9; power < 0.5; power *= 10)
    marks.emplace_back(power, fmt::format("{:.3g} s", power));
  for (const double seconds :
       {1.0,        2.0,        5.0,         10.0,        20.0,        30.0,   minute,
        2 * minute, 5 * minute, 10 * minute, 20 * minute, 30 * minute, hour,   2 * hour,
        4 * hour,   8 * hour,   12 * hour,   day,         2 * day,     4 * day})
    marks.emplace_back(seconds, mark_text(seconds));
  for (double power = 10; power < 1e12; power *= 10)
    marks.emplace_back(power * day, fmt::format("{:.3g} d", power));
  return marks;
}

Marks log_amount_marks(double from, double to) {
  Marks marks;
  for (double exponent = std::floor(std::log10(from)); exponent <= std::log10(to); ++exponent)
    for (const double factor : {1.0, 2.0, 5.0})
      marks.emplace_back(factor * std::pow(10, exponent),
                         amount_mark(factor * std::pow(10, exponent)));
  return marks;
}

std::string gnuplot_marks(const Marks& marks) {
  std::string text;
  for (const auto& [value, label] : marks)
    text += fmt::format("{}\"{}\" {}", text.empty() ? "" : ", ", label, value);
  return "(" + text + ")";
}

Axis linear_axis(double high, double step, std::string (*text)(double)) {
  Axis axis;
  axis.to = high * 1.04;
  Marks marks;
  for (double value = 0; value <= axis.to; value += step)
    marks.emplace_back(value, value == 0 ? "0" : text(value));
  axis.marks = gnuplot_marks(marks);
  return axis;
}

Axis log_axis(double low, double high) {
  const double margin = std::pow(high / low, 0.05);
  Axis axis;
  axis.logarithmic = true;
  axis.from = low / margin;
  axis.to = high * margin;
  return axis;
}

} // namespace

double Axis::share(double value) const {
  return logarithmic ? std::log(value / from) / std::log(to / from) : (value - from) / (to - from);
}

std::string Axis::commands(char axis) const {
  return fmt::format("set {0}range [{1}:{2}]\nset {0}tics {3}\n{4}", axis, from, to, marks,
                     logarithmic ? fmt::format("set logscale {}\n", axis) : "");
}

Axis seconds_axis(double low, double high) {
  if (high / low <= widest_linear_range)
    return linear_axis(high, whole_time_step(high / 7), mark_text);
  Axis axis = log_axis(low, high);
  axis.marks = gnuplot_marks(within(log_time_marks(), axis.from, axis.to));
  return axis;
}

Axis amount_axis(double low, double high) {
  if (high / low <= widest_linear_range)
    return linear_axis(high, round_step(high / 7), amount_mark);
  Axis axis = log_axis(low, high);
  axis.marks = gnuplot_marks(within(log_amount_marks(axis.from, axis.to), axis.from, axis.to));
  return axis;
}

} // namespace breakeven
