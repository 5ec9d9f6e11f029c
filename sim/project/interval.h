// A number that is not known exactly: its 10 %, 50 % and 90 % points, and the three ways in which
// such numbers are combined here. Positive quantities only; spreads are factors, so they are
// combined in logarithms. Leaves out any claim of a distribution (comparison.h reads one in).
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

namespace breakeven {

/// 10 %, 50 % and 90 % points.
struct Interval {
  double low = 0, likely = 0, high = 0;
};

/// Whether 0 < low < likely < high, or the quantity is absent (all zero). Nothing else may be
/// written as a projection.
bool is_projection(const Interval& interval);

/// Parts of one whole, taken to be high or low together. Independent parts would give a narrower
/// sum; this is the conservative choice.
Interval operator+(const Interval& a, const Interval& b);
Interval operator*(double factor, const Interval& interval);

/// `likely` with the relative spread of `factor`, whose own likely value scales it too.
Interval around(double likely, const Interval& factor);

/// The product of independent factors: likely values multiply, spreads add in quadrature of logs.
Interval product(std::initializer_list<Interval> factors);

/// One figure of a model that is not known exactly.
template <class Rates>
struct Uncertain {
  double Rates::*rate;
  Interval range;
};

/// What `seconds(rates)` becomes when every listed rate is uncertain, independently of the others:
/// each rate is moved to its low and its high point alone and the deviations are added in
/// quadrature of logs. First order: interactions between rates are left out.
template <class Rates>
Interval propagate(Rates rates, const std::vector<Uncertain<Rates>>& uncertain,
                   const std::function<double(const Rates&)>& seconds);

// ---- implementation of the template ----

/// Adds the deviation that one rate causes; used by propagate().
class Deviations {
public:
  explicit Deviations(double likely) : likely_(likely) {}
  void add(double one, double other);
  Interval interval() const;

private:
  double likely_, below_ = 0, above_ = 0; // sums of squared logarithms
};

template <class Rates>
Interval propagate(Rates rates, const std::vector<Uncertain<Rates>>& uncertain,
                   const std::function<double(const Rates&)>& seconds) {
  for (const auto& [rate, range] : uncertain)
    rates.*rate = range.likely;
  const double likely = seconds(rates);
  if (likely <= 0) return {};
  Deviations deviations(likely);
  for (const auto& [rate, range] : uncertain) {
    Rates moved = rates;
    moved.*rate = range.low;
    const double at_low = seconds(moved);
    moved.*rate = range.high;
    deviations.add(at_low, seconds(moved));
  }
  return deviations.interval();
}

} // namespace breakeven
