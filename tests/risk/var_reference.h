// VaR by the book: one path at a time in double precision, the normals by bisection, for tests to
// hold the fast code to.
#pragma once

#include "workloads/risk/var_portfolio.h"

#include <cmath>
#include <vector>

namespace breakeven::risk::reference {

inline double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// The z with normal_distribution(z) = p, for p <= 1/2.
inline double normal_quantile(double p) {
  double low = -9, high = 0;
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + high);
    (normal_distribution(middle) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

inline double normal_of(std::uint32_t bits) {
  const double p = (static_cast<double>(bits & 0x7FFF'FFFFu) + 0.5) * 0x1p-32;
  const double z = -normal_quantile(p);
  return (bits & 0x8000'0000u) != 0 ? -z : z;
}

inline std::vector<double> normals_of_path(std::uint64_t seed, std::uint64_t path,
                                           std::size_t factors) {
  std::vector<double> normals;
  for (std::uint32_t quad = 0; normals.size() < factors; ++quad) {
    const Random4 draws = draws_of(seed, path, quad);
    for (const std::uint32_t bits : {draws.x, draws.y, draws.z, draws.w})
      normals.push_back(normal_of(bits));
  }
  normals.resize(factors);
  return normals;
}

/// Profit of a path in currency. `triangle` is the Cholesky factor of the correlations.
inline double profit_of_path(const Portfolio& portfolio, const VarSettings& settings,
                             const std::vector<double>& triangle, std::uint64_t path) {
  const Market& market = portfolio.market;
  const std::size_t n = market.factors.size();
  const double years = settings.horizon_days / trading_days_per_year;
  const std::vector<double> normals = normals_of_path(settings.seed, path, n);
  std::vector<double> spots(n);
  for (std::size_t i = 0; i < n; ++i) {
    double shock = 0;
    for (std::size_t j = 0; j <= i; ++j)
      shock += triangle[i * n + j] * normals[j];
    const RiskFactor& factor = market.factors[i];
    spots[i] = factor.spot
               * std::exp((factor.drift - factor.volatility * factor.volatility / 2) * years
                          + factor.volatility * std::sqrt(years) * shock);
  }
  double profit = 0;
  for (const Position& position : portfolio.positions) {
    const auto i = static_cast<std::size_t>(position.factor);
    const RiskFactor& factor = market.factors[i];
    const double after =
        black_scholes(position.kind, spots[i], position.strike, position.maturity_years - years,
                      factor.volatility, market.rate);
    const double now = black_scholes(position.kind, factor.spot, position.strike,
                                     position.maturity_years, factor.volatility, market.rate);
    profit += position.quantity * (after - now);
  }
  return profit;
}

} // namespace breakeven::risk::reference
