// Three points read as a split log-normal: one logarithmic spread below the median, another above.
// Independent pairs are combined on a fixed grid of quantiles instead of by random draws, so that
// the same input gives the same bytes. Leaves out correlation, which is not known.
#pragma once

#include "sim/project/interval.h"

namespace breakeven {

double normal_cdf(double z);
/// Inverse of normal_cdf for p in (0, 1).
double normal_quantile(double p);

/// Quantile and P(X <= x) of the split log-normal whose 10, 50 and 90 % points are given. A point
/// without spread is a step.
double quantile(const Interval& interval, double p);
double probability_at_most(const Interval& interval, double x);

/// P(A < B) + P(A = B) / 2, on a grid of 201 x 201 midpoint quantiles.
double probability_less(const Interval& a, const Interval& b);

/// A / B: 10 and 90 % points on the same grid, and between them the ratio of the likely values,
/// which a reader can check by hand. (The grid's own median differs from it by the halves' skew.)
Interval ratio(const Interval& a, const Interval& b);

} // namespace breakeven
