#include "sim/compare/lognormal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace breakeven {

namespace {

constexpr int grid_points = 201;
using Grid = std::array<double, grid_points>;

double spread_below(const Interval& interval) {
  return std::log(interval.likely / interval.low) / normal_quantile(0.9);
}
double spread_above(const Interval& interval) {
  return std::log(interval.high / interval.likely) / normal_quantile(0.9);
}

Grid midpoint_quantiles(const Interval& interval) {
  Grid grid;
  for (int i = 0; i < grid_points; ++i)
    grid[static_cast<std::size_t>(i)] = quantile(interval, (i + 0.5) / grid_points);
  return grid;
}

} // namespace

double normal_cdf(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }

double normal_quantile(double p) {
  // Bisection: slower than a rational approximation and right to the last bits.
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (normal_cdf(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double quantile(const Interval& interval, double p) {
  if (interval.likely <= 0) return 0;
  const double z = normal_quantile(p);
  return interval.likely * std::exp(z * (z < 0 ? spread_below(interval) : spread_above(interval)));
}

double probability_at_most(const Interval& interval, double x) {
  if (x <= 0) return 0;
  const double distance = std::log(x / interval.likely);
  const double spread = distance < 0 ? spread_below(interval) : spread_above(interval);
  if (spread <= 0) return distance < 0 ? 0 : 1;
  return normal_cdf(distance / spread);
}

double probability_less(const Interval& a, const Interval& b) {
  const Grid from_a = midpoint_quantiles(a), from_b = midpoint_quantiles(b);
  // In halves, so that the sum is exact.
  long halves = 0;
  for (const double x : from_a)
    for (const double y : from_b)
      halves += x < y ? 2 : x == y ? 1 : 0;
  return static_cast<double>(halves) / (2.0 * grid_points * grid_points);
}

Interval ratio(const Interval& a, const Interval& b) {
  const Grid from_a = midpoint_quantiles(a), from_b = midpoint_quantiles(b);
  std::vector<double> ratios;
  for (const double x : from_a)
    for (const double y : from_b)
      ratios.push_back(x / y);
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double p) {
    return ratios[static_cast<std::size_t>(p * static_cast<double>(ratios.size() - 1) + 0.5)];
  };
  return {at(0.1), a.likely / b.likely, at(0.9)};
}

} // namespace breakeven
