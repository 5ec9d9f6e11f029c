// An axis of a chart: linear from zero, or logarithmic where the values span too much for that,
// with marks at round values. Knows where a value lies, so that labels can be placed before
// drawing.
#pragma once

#include <string>

namespace breakeven {

struct Axis {
  bool logarithmic = false;
  double from = 0, to = 1;
  std::string marks; ///< for gnuplot: ("1 min" 60, ...)

  double share(double value) const;      ///< 0 at `from`, 1 at `to`
  std::string commands(char axis) const; ///< gnuplot commands for axis 'x' or 'y'
};

/// Axes that hold all values between `low` and `high`, both above zero.
Axis seconds_axis(double low, double high);
Axis amount_axis(double low, double high);

} // namespace breakeven
