#include "sim/compare/crossover.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

using namespace breakeven;

namespace {

/// Sizes 10, 100, 1000, ... with these likely ratios and a factor 2 around each.
std::vector<RatioAtSize> by_tens(const std::vector<double>& likely, double spread = 2) {
  std::vector<RatioAtSize> ratios;
  double size = 10;
  for (const double ratio : likely) {
    ratios.push_back({size, {ratio / spread, ratio, ratio * spread}});
    size *= 10;
  }
  return ratios;
}

void check_point(const CrossoverPoint& point, Place place, double size) {
  CHECK(point.place == place);
  CHECK(point.size == doctest::Approx(size));
}

/// From the definition: the smallest of many sizes from which on the interpolated ratio stays above
/// 1, or beyond the largest.
double by_brute_force(const std::vector<RatioAtSize>& ratios, double Interval::*point) {
  const int steps = 20000;
  const double from = std::log(ratios.front().size), to = std::log(ratios.back().size);
  double found = HUGE_VAL;
  for (int i = steps; i >= 0; --i) {
    const double size = from + (to - from) * i / steps;
    std::size_t next = 1;
    while (next + 1 < ratios.size() && std::log(ratios[next].size) < size)
      ++next;
    const double left = std::log(ratios[next - 1].size), right = std::log(ratios[next].size);
    const double share = (size - left) / (right - left);
    const double ratio = (1 - share) * std::log(ratios[next - 1].ratio.*point)
                         + share * std::log(ratios[next].ratio.*point);
    if (ratio <= 0) break;
    found = std::exp(size);
  }
  return found;
}

} // namespace

TEST_CASE("a crossover is interpolated in log size and log ratio") {
  // From 1/10 to 10 over a factor 10 in size: 1 lies half-way, at 10 * sqrt(10).
  const auto crossover = crossover_of(by_tens({0.1, 10}));
  REQUIRE(crossover);
  CHECK(crossover->ahead == Crossover::Ahead::above);
  check_point(crossover->likely, Place::inside, 10 * std::sqrt(10));
  // A ratio twice as large is 1 where this one is 1/2: log10(2) / 2 decades earlier.
  check_point(crossover->low, Place::inside, 10 * std::pow(10, 0.5 - std::log10(2) / 2));
  check_point(crossover->high, Place::inside, 10 * std::pow(10, 0.5 + std::log10(2) / 2));
  CHECK(crossover->crossings == 1);
}

TEST_CASE("ahead at every size is below the smallest, at none beyond the largest") {
  const auto always = crossover_of(by_tens({3, 5, 9}));
  check_point(always->likely, Place::below, 10);
  check_point(always->low, Place::below, 10);
  check_point(always->high, Place::below, 10);
  const auto never = crossover_of(by_tens({0.1, 0.2, 0.3}));
  check_point(never->likely, Place::beyond, 1000);
  check_point(never->low, Place::beyond, 1000);
  check_point(never->high, Place::beyond, 1000);
  CHECK(never->ahead == Crossover::Ahead::above);
  CHECK(never->crossings == 0);
}

TEST_CASE("an end of the interval may lie outside the sizes while the crossover lies inside") {
  const auto crossover = crossover_of(by_tens({0.6, 1.5}));
  CHECK(crossover->likely.place == Place::inside);
  check_point(crossover->low, Place::below, 10);
  check_point(crossover->high, Place::beyond, 100);
  // And inside while the crossover itself lies outside.
  const auto doubtful = crossover_of(by_tens({0.2, 0.7}));
  check_point(doubtful->likely, Place::beyond, 100);
  CHECK(doubtful->low.place == Place::inside);
}

TEST_CASE("of several crossings the last counts, after which the candidate stays ahead") {
  const auto crossover = crossover_of(by_tens({0.5, 2, 0.5, 2}, 1.01));
  CHECK(crossover->crossings == 3);
  check_point(crossover->likely, Place::inside, 1000 * std::sqrt(10));
}

TEST_CASE("a lead that is lost again is one up to a size, and its interval ascends too") {
  const auto crossover = crossover_of(by_tens({5, 2, 0.5, 0.1}));
  CHECK(crossover->ahead == Crossover::Ahead::below);
  CHECK(crossover->crossings == 1);
  check_point(crossover->likely, Place::inside, 100 * std::sqrt(10));
  CHECK(crossover->low.size < crossover->likely.size);
  CHECK(crossover->likely.size < crossover->high.size);
  const auto wavy = crossover_of(by_tens({0.5, 2, 0.5}, 1.01));
  CHECK(wavy->ahead == Crossover::Ahead::below);
  CHECK(wavy->crossings == 2);
  check_point(wavy->likely, Place::inside, 100 * std::sqrt(10));
}

TEST_CASE("equal at a size is a crossing there, and not yet a lead") {
  check_point(crossover_of(by_tens({0.5, 1, 2}, 1))->likely, Place::inside, 100);
  check_point(crossover_of(by_tens({1, 2}, 1))->likely, Place::inside, 10);
  check_point(crossover_of(by_tens({0.5, 1}, 1))->likely, Place::beyond, 100);
  check_point(crossover_of(by_tens({1, 1}, 1))->likely, Place::beyond, 100);
}

TEST_CASE("one size says on which side it lies, none says nothing") {
  CHECK(crossover_of(by_tens({3}))->likely.place == Place::below);
  CHECK(crossover_of(by_tens({0.3}))->likely.place == Place::beyond);
  CHECK_FALSE(crossover_of({}));
}

TEST_CASE("crossovers of random ratios agree with the definition, and their points are in order") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> log_ratio(-1.5, 1.5), log_spread(0.01, 0.8);
  int inside = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<RatioAtSize> ratios;
    for (int i = 0; i < 5; ++i) {
      const double likely = std::exp(log_ratio(random));
      ratios.push_back({std::pow(7, i + 1),
                        {likely * std::exp(-log_spread(random)), likely,
                         likely * std::exp(log_spread(random))}});
    }
    const Crossover crossover = *crossover_of(ratios);
    CHECK(crossover.low.size <= crossover.likely.size);
    CHECK(crossover.likely.size <= crossover.high.size);
    if (crossover.ahead == Crossover::Ahead::below) continue;
    for (const auto& [point, of] : {std::pair(crossover.low, &Interval::high),
                                    {crossover.likely, &Interval::likely},
                                    {crossover.high, &Interval::low}}) {
      const double expected = by_brute_force(ratios, of);
      if (point.place == Place::beyond)
        CHECK(expected == HUGE_VAL);
      else
        CHECK(point.size == doctest::Approx(expected).epsilon(0.002));
      inside += point.place == Place::inside;
    }
  }
  CHECK(inside > 30);
}

TEST_CASE("turning baseline and candidate round turns the side round and keeps the crossover") {
  std::vector<RatioAtSize> ratios = by_tens({0.2, 0.9, 7}, 1.5), turned = ratios;
  for (RatioAtSize& one : turned)
    one.ratio = {1 / one.ratio.high, 1 / one.ratio.likely, 1 / one.ratio.low};
  const Crossover gains = *crossover_of(ratios), loses = *crossover_of(turned);
  CHECK(gains.ahead == Crossover::Ahead::above);
  CHECK(loses.ahead == Crossover::Ahead::below);
  CHECK(gains.low.size == doctest::Approx(loses.low.size));
  CHECK(gains.likely.size == doctest::Approx(loses.likely.size));
  CHECK(gains.high.size == doctest::Approx(loses.high.size));
}

TEST_CASE("rows of a size count the targets from two, and costs give a ratio only in pairs") {
  Comparison priced;
  priced.slice = "all";
  priced.baseline_cost_usd = Interval{2, 4, 8};
  Comparison unpriced = priced;
  priced.candidate_cost_usd = Interval{1, 2, 4};
  const auto rows = size_rows("workload.rows", {"10", 10, ""}, {priced, unpriced});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].target == 2);
  CHECK(rows[1].target == 3);
  CHECK(is_measured(rows[0]));
  CHECK(cost_ratio(rows[0].comparison)->likely == 2);
  CHECK_FALSE(cost_ratio(rows[1].comparison));
  CHECK_FALSE(is_measured({"workload.rows", {"10", 10, ""}, 2, Comparison()}));
}
