#include "sim/project/interval.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace breakeven;

namespace {
struct Rates {
  double speed = 0, size = 0;
};
} // namespace

TEST_CASE("an interval without width is not a projection, and nothing is zero but an absent part") {
  CHECK(is_projection({1, 2, 3}));
  CHECK(is_projection({0, 0, 0}));
  CHECK_FALSE(is_projection({2, 2, 3}));
  CHECK_FALSE(is_projection({1, 3, 3}));
  CHECK_FALSE(is_projection({0, 1, 2}));
  CHECK_FALSE(is_projection({1, 2, INFINITY}));
}

TEST_CASE("independent factors multiply their likely values and add their spreads in quadrature") {
  // Factors of 2 and of 4 either way: log2 is 1 and 2, sqrt(1 + 4) = 2.236, 2^2.236 = 4.712.
  const Interval product_of_two = product({{0.5, 1, 2}, {0.75, 3, 12}});
  CHECK(product_of_two.likely == doctest::Approx(3));
  CHECK(product_of_two.high == doctest::Approx(3 * std::exp2(std::sqrt(5.0))));
  CHECK(product_of_two.low == doctest::Approx(3 / std::exp2(std::sqrt(5.0))));
}

TEST_CASE("parts of one whole are added low to low and high to high") {
  const Interval sum = Interval{1, 2, 4} + Interval{10, 20, 30};
  CHECK(sum.low == 11);
  CHECK(sum.likely == 22);
  CHECK(sum.high == 34);
}

TEST_CASE("a slow rate makes a high time, whichever way round the rate is given") {
  // size / speed with speed 1..2..4 (a factor of two) and size known: 10/2 = 5, 10/1, 10/4.
  const Interval seconds =
      propagate<Rates>({}, {{&Rates::speed, {1, 2, 4}}, {&Rates::size, {10, 10, 10}}},
                       [](const Rates& rates) { return rates.size / rates.speed; });
  CHECK(seconds.low == doctest::Approx(2.5));
  CHECK(seconds.likely == doctest::Approx(5));
  CHECK(seconds.high == doctest::Approx(10));
}

TEST_CASE("nothing to do takes no time, without a spread") {
  const Interval seconds =
      propagate<Rates>({}, {{&Rates::speed, {1, 2, 4}}}, [](const Rates&) { return 0.0; });
  CHECK(seconds.high == 0);
}
