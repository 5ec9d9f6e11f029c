#include "sim/measure/measurement.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace breakeven;

TEST_CASE("the median of an odd number of samples is the middle one") {
  CHECK(median_of({3, 1, 2}).value == 2);
}

TEST_CASE("the median of an even number of samples is half way between the middle two") {
  CHECK(median_of({4, 1, 2, 3}).value == 2.5);
}

TEST_CASE("with fewer than eight samples the interval is their range") {
  // Coverage of the extremes is 1 - 2 (1/2)^n: 98.4 % for n = 7.
  const Median median = median_of({7, 1, 2, 3, 4, 5, 6});
  CHECK(median.low == 1);
  CHECK(median.high == 7);
}

TEST_CASE("with twelve samples the second smallest and largest bound the median with 99 %") {
  // 1 - 2 P(X <= 1) for X ~ B(12, 1/2) = 1 - 2 x 13 / 4096 = 99.37 %; r = 3 gives 96.1 %.
  const Median median = median_of({12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1});
  CHECK(median.low == 2);
  CHECK(median.high == 11);
}

TEST_CASE("the 99 % interval covers the true median in about 99 % of trials") {
  std::mt19937 random(7);
  std::exponential_distribution<double> seconds(1);
  const double true_median = std::log(2.0);
  int covered = 0;
  constexpr int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> samples(20);
    std::generate(samples.begin(), samples.end(), [&] { return seconds(random); });
    const Median median = median_of(samples);
    covered += median.low <= true_median && true_median <= median.high;
  }
  // n = 20: ranks 4 and 17 cover 1 - 2 P(X <= 3) = 99.74 %; four standard errors either side.
  CHECK(covered >= trials * 0.9942);
  CHECK(covered <= trials * 1.0);
}

TEST_CASE("no samples give zero, not a crash") { CHECK(median_of({}).value == 0); }
