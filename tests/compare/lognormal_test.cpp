#include "sim/compare/lognormal.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace breakeven;

TEST_CASE("normal quantiles are those of the tables") {
  CHECK(normal_quantile(0.5) == doctest::Approx(0).epsilon(1e-12));
  CHECK(normal_quantile(0.9) == doctest::Approx(1.2815515655));
  CHECK(normal_quantile(0.1) == doctest::Approx(-1.2815515655));
  CHECK(normal_quantile(0.975) == doctest::Approx(1.9599639845));
  CHECK(normal_cdf(1.2815515655) == doctest::Approx(0.9));
}

TEST_CASE("the three points are met, and each half keeps its own spread") {
  const Interval lopsided{8, 10, 40};
  CHECK(quantile(lopsided, 0.1) == doctest::Approx(8));
  CHECK(quantile(lopsided, 0.5) == doctest::Approx(10));
  CHECK(quantile(lopsided, 0.9) == doctest::Approx(40));
  CHECK(probability_at_most(lopsided, 8) == doctest::Approx(0.1));
  CHECK(probability_at_most(lopsided, 10) == doctest::Approx(0.5));
  CHECK(probability_at_most(lopsided, 40) == doctest::Approx(0.9));
  CHECK(probability_at_most(lopsided, 0) == 0);
}

TEST_CASE("a value without spread is a step") {
  CHECK(probability_at_most({5, 5, 5}, 4.999) == 0);
  CHECK(probability_at_most({5, 5, 5}, 5) == 1);
  CHECK(probability_less({5, 5, 5}, {6, 6, 6}) == 1);
  CHECK(probability_less({5, 5, 5}, {5, 5, 5}) == 0.5);
}

TEST_CASE("the probability is 1/2 for equal intervals, and the two sides add up to 1") {
  const Interval a{8, 10, 40}, b{5, 12, 20};
  CHECK(probability_less(a, a) == 0.5);
  CHECK(probability_less(b, b) == 0.5);
  CHECK(probability_less(a, b) + probability_less(b, a) == doctest::Approx(1).epsilon(1e-12));
}

TEST_CASE("the grid agrees with the closed form for plain log-normals") {
  // ln A ~ N(ln 10, s), ln B ~ N(ln 12, t): P(A < B) = Phi(ln 1.2 / sqrt(s^2 + t^2)), and A / B is
  // log-normal with that spread.
  const double z = 1.2815515655446004, s = 0.2, t = 0.3;
  const Interval a{10 * std::exp(-z * s), 10, 10 * std::exp(z * s)};
  const Interval b{12 * std::exp(-z * t), 12, 12 * std::exp(z * t)};
  const double spread = std::sqrt(s * s + t * t);
  CHECK(probability_less(a, b)
        == doctest::Approx(normal_cdf(std::log(1.2) / spread)).epsilon(2e-3));
  const Interval quotient = ratio(a, b);
  CHECK(quotient.low == doctest::Approx(10.0 / 12 * std::exp(-z * spread)).epsilon(5e-3));
  CHECK(quotient.likely == doctest::Approx(10.0 / 12).epsilon(5e-3));
  CHECK(quotient.high == doctest::Approx(10.0 / 12 * std::exp(z * spread)).epsilon(5e-3));
}
