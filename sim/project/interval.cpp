#include "sim/project/interval.h"

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {
double square_of_log(double ratio) { return std::log(ratio) * std::log(ratio); }
} // namespace

bool is_projection(const Interval& interval) {
  const bool absent = interval.low == 0 && interval.likely == 0 && interval.high == 0;
  const bool ordered =
      0 < interval.low && interval.low < interval.likely && interval.likely < interval.high;
  return absent || (ordered && std::isfinite(interval.high));
}

Interval operator+(const Interval& a, const Interval& b) {
  return {a.low + b.low, a.likely + b.likely, a.high + b.high};
}

Interval operator*(double factor, const Interval& interval) {
  return {factor * interval.low, factor * interval.likely, factor * interval.high};
}

Interval around(double likely, const Interval& factor) { return likely * factor; }

Interval product(std::initializer_list<Interval> factors) {
  double likely = 1;
  for (const Interval& factor : factors)
    likely *= factor.likely;
  Deviations deviations(likely);
  for (const Interval& factor : factors)
    deviations.add(likely * factor.low / factor.likely, likely * factor.high / factor.likely);
  return deviations.interval();
}

void Deviations::add(double one, double other) {
  const double smallest = std::min(one, other), largest = std::max(one, other);
  if (smallest < likely_) below_ += square_of_log(smallest / likely_);
  if (largest > likely_) above_ += square_of_log(largest / likely_);
}

Interval Deviations::interval() const {
  return {likely_ * std::exp(-std::sqrt(below_)), likely_, likely_ * std::exp(std::sqrt(above_))};
}

} // namespace breakeven
