#include "sim/measure/measurement.h"

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {

/// P(X <= k) for X ~ Binomial(n, 1/2).
double binomial_half_cdf(int n, int k) {
  double sum = 0;
  for (int i = 0; i <= k; ++i)
    sum += std::exp(std::lgamma(n + 1.0) - std::lgamma(i + 1.0) - std::lgamma(n - i + 1.0)
                    - n * std::log(2.0));
  return sum;
}

/// The largest r for which [r-th smallest, r-th largest] still covers the median with 99 %;
/// 0 where even the extremes (r = 1) do not. Coverage is 1 - 2 P(X <= r - 1).
int order_rank(int n) {
  int rank = 0;
  while (2 * (rank + 1) <= n && 1 - 2 * binomial_half_cdf(n, rank) >= 0.99)
    ++rank;
  return rank;
}

} // namespace

Median median_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const std::size_t n = samples.size();
  const double middle = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  const auto rank = static_cast<std::size_t>(order_rank(static_cast<int>(n)));
  if (rank == 0) return {middle, samples.front(), samples.back()};
  return {middle, samples[rank - 1], samples[n - rank]};
}

} // namespace breakeven
