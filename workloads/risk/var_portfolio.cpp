#include "workloads/risk/var_portfolio.h"

#include "sim/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace breakeven::risk {

namespace {

// ---- checks ----

struct Require {
  const std::string& file;
  void operator()(bool right, const std::string& found, const std::string& expected) const {
    if (!right) throw BadInput(file, 0, found, expected);
  }
  /// `low` and `high` included; NaN is outside.
  void within(const std::string& name, double value, double low, double high) const {
    (*this)(value >= low && value <= high, fmt::format("{} = {}", name, value),
            fmt::format("{} to {}", low, high));
  }
};

constexpr int most_factors = 20'000; ///< whose correlations take 3.2 GB
constexpr std::int64_t most_paths = std::int64_t{1} << 36;

void check_settings(const VarSettings& settings, const Require& require) {
  require.within("paths", static_cast<double>(settings.paths), 1, static_cast<double>(most_paths));
  require.within("horizon_days", settings.horizon_days, 0.01, 10 * trading_days_per_year);
  require(!settings.levels.empty(), "no confidence levels", "at least one");
  for (const double level : settings.levels)
    require(level > 0 && level < 1, fmt::format("a confidence level of {}", level),
            "above 0 and below 1");
}

void check_market(const Market& market, const Require& require) {
  const std::size_t n = market.factors.size();
  require(n >= 1 && n <= most_factors, fmt::format("{} risk factors", n),
          fmt::format("1 to {}", most_factors));
  for (const RiskFactor& factor : market.factors) {
    require.within("spot", factor.spot, 1e-6, 1e9);
    require.within("volatility", factor.volatility, 1e-4, 5);
    require.within("drift", factor.drift, -5, 5);
  }
  require.within("rate", market.rate, -1, 1);
  require(market.correlation.size() == n * n,
          fmt::format("{} correlations of {} factors", market.correlation.size(), n),
          fmt::format("{}", n * n));
  for (std::size_t i = 0; i < n; ++i) {
    require(std::abs(market.correlation[i * n + i] - 1) <= 1e-9,
            fmt::format("a correlation of {} of factor {} with itself",
                        market.correlation[i * n + i], i),
            "1");
    // Texts only where they are needed: there are many correlations, and many positions.
    for (std::size_t j = 0; j < i; ++j)
      if (const double correlation = market.correlation[i * n + j]; !(std::abs(correlation) <= 1))
        require(false, fmt::format("a correlation of {} of factors {} and {}", correlation, i, j),
                "-1 to 1");
  }
}

void check_position(const Position& position, std::size_t index, std::size_t factors,
                    double horizon_years, const Require& require) {
  const auto within = [&](const char* name, double value, double low, double high) {
    if (!(value >= low && value <= high))
      require(false, fmt::format("position {}: {} = {}", index, name, value),
              fmt::format("{} to {}", low, high));
  };
  within("factor", position.factor, 0, static_cast<double>(factors) - 1);
  within("quantity", position.quantity, -1e12, 1e12);
  if (position.kind == PositionKind::equity) return;
  within("strike", position.strike, 1e-6, 1e9);
  if (!(position.maturity_years > horizon_years && position.maturity_years <= 100))
    require(false, fmt::format("position {}: maturity_years = {}", index, position.maturity_years),
            fmt::format("above the horizon of {:.4g} and up to 100", horizon_years));
}

// ---- preparation ----

constexpr double standard_deviations_held = 8;

double normal_distribution(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

FactorTerms factor_terms(const RiskFactor& factor, double years) {
  const double deviation = factor.volatility * std::sqrt(years);
  const double log_drift = (factor.drift - 0.5 * factor.volatility * factor.volatility) * years;
  const double reach = standard_deviations_held * deviation;
  return {static_cast<float>(factor.spot), 0, static_cast<float>(log_drift),
          static_cast<float>(log_drift - reach), static_cast<float>(log_drift + reach)};
}

OptionTerms option_terms(const Position& position, const Market& market, double years,
                         double quanta_per_unit) {
  const RiskFactor& factor = market.factors[static_cast<std::size_t>(position.factor)];
  const double sign = position.kind == PositionKind::call ? 1 : -1;
  const double left = position.maturity_years - years;
  const double deviation = factor.volatility * std::sqrt(left);
  const double forward_log_moneyness = std::log(factor.spot / position.strike) + market.rate * left;
  return {static_cast<float>(sign / deviation),
          static_cast<float>(sign * (forward_log_moneyness / deviation + 0.5 * deviation)),
          static_cast<float>(sign * deviation),
          static_cast<float>(position.strike * std::exp(-market.rate * left)),
          static_cast<float>(sign * position.quantity * quanta_per_unit)};
}

/// What a position's profit or worth cannot exceed within the returns that are held.
double most_worth(const Position& position, const Market& market, double years) {
  const RiskFactor& factor = market.factors[static_cast<std::size_t>(position.factor)];
  const double reach = standard_deviations_held * factor.volatility * std::sqrt(years)
                       + std::abs(factor.drift) * years;
  const double spot = factor.spot * std::exp(reach);
  const double strike =
      position.kind == PositionKind::put
          ? position.strike * std::exp(-market.rate * (position.maturity_years - years))
          : 0;
  return std::abs(position.quantity) * std::max(spot, strike);
}

/// The finest power of 2 by which no position's worth needs more than worth_bits and no path's
/// profit more than 45.
double quantum_for(const Portfolio& portfolio, const std::vector<double>& shares, double years) {
  double most = 0, all = 0;
  const auto take = [&](double worth) {
    most = std::max(most, worth);
    all += worth;
  };
  for (const Position& position : portfolio.positions)
    if (position.kind != PositionKind::equity) take(most_worth(position, portfolio.market, years));
  for (std::size_t i = 0; i < shares.size(); ++i)
    take(most_worth({static_cast<int>(i), PositionKind::equity, shares[i], 0, 0}, portfolio.market,
                    years));
  if (all == 0) return 1;
  int most_bits = 0, all_bits = 0;
  std::frexp(most, &most_bits);
  std::frexp(all, &all_bits);
  return std::ldexp(1.0, std::max(most_bits - worth_bits, all_bits - 45));
}

std::vector<float> pack_loadings(const Market& market, const VarBook& book, double years,
                                 const std::string& file) {
  const auto n = static_cast<std::size_t>(book.factors);
  const std::vector<double> triangle = cholesky(market.correlation, book.factors, file);
  std::vector<float> packed(static_cast<std::size_t>(tile_begin(book.tiles())), 0.0f);
  for (std::size_t i = 0; i < n; ++i) {
    const double deviation = market.factors[i].volatility * std::sqrt(years);
    const std::size_t tile = i / rows_a_tile, row = i % rows_a_tile;
    float* to = packed.data() + tile_begin(static_cast<std::int64_t>(tile));
    for (std::size_t j = 0; j <= i; ++j)
      to[j * rows_a_tile + row] = static_cast<float>(deviation * triangle[i * n + j]);
  }
  return packed;
}

// ---- Cholesky factor ----
// By panels of columns. Whatever the panels and threads, an element has the products of the columns
// before it subtracted one after the other, so its bits do not depend on them.

constexpr std::size_t columns_a_panel = 64;

void check_symmetric(const std::vector<double>& matrix, std::size_t n, const std::string& file) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      if (!(std::abs(matrix[i * n + j] - matrix[j * n + i]) <= 1e-9))
        throw BadInput(file, 0,
                       fmt::format("correlations {} and {} of factors {} and {}", matrix[i * n + j],
                                   matrix[j * n + i], i, j),
                       "a symmetric matrix");
}

/// row[j] -= factor x column[j] for j in [begin, end).
void subtract(double* row, double factor, const double* column, std::size_t begin,
              std::size_t end) {
#pragma omp simd
  for (std::size_t j = begin; j < end; ++j)
    row[j] -= factor * column[j];
}

double checked_diagonal(double left, std::size_t row, const std::string& file) {
  // Correlations have 1 on their diagonal; rounding leaves about n times 1e-16 of what should be 0.
  if (!(left > 1e-12))
    throw BadInput(
        file, 0,
        fmt::format("correlations by which factor {} follows from the ones before it, or "
                    "contradicts them (a pivot of {:.3g})",
                    row, left),
        "a positive definite matrix");
  return std::sqrt(left);
}

/// Finishes columns [begin, end) of row i, whose earlier columns have been subtracted, and leaves
/// them in the panel, which holds columns in rows. Rows of the panel's own come first, in order.
void factor_row(double* triangle, double* panel, std::size_t n, std::size_t begin, std::size_t end,
                std::size_t i, const std::string& file) {
  double* row = triangle + i * n;
  const std::size_t last = std::min(end, i + 1);
  for (std::size_t k = begin; k < last; ++k) {
    double* column = panel + (k - begin) * n;
    row[k] = k == i ? checked_diagonal(row[k], i, file) : row[k] / triangle[k * n + k];
    column[i] = row[k];
    // Columns of the panel after k, of rows that are done, and of this one.
    subtract(row, row[k], column, k + 1, last);
  }
}

/// In [0, 1).
double uniform(std::uint32_t bits) { return static_cast<double>(bits) * 0x1p-32; }
double between(std::uint32_t bits, double low, double high) {
  return low + (high - low) * uniform(bits);
}

/// Names a portfolio's draws among others of the same seed.
constexpr std::uint32_t factor_stream = 0x46'41'43'00u, position_stream = 0x50'4F'53'00u;

Random4 portfolio_draws(std::uint64_t seed, std::uint32_t stream, std::size_t index,
                        std::uint32_t block) {
  return philox4x32({static_cast<std::uint32_t>(index), block, 0, stream}, seed);
}

/// How a factor's return follows the market's and its sector's; the rest is its own.
struct Weights {
  double market, sector;
};

} // namespace

double black_scholes(PositionKind kind, double spot, double strike, double maturity_years,
                     double volatility, double rate) {
  const double discounted = strike * std::exp(-rate * maturity_years);
  const double deviation = volatility * std::sqrt(maturity_years);
  const double d1 = std::log(spot / discounted) / deviation + 0.5 * deviation;
  const double d2 = d1 - deviation;
  switch (kind) {
  case PositionKind::equity:
    return spot;
  case PositionKind::call:
    return spot * normal_distribution(d1) - discounted * normal_distribution(d2);
  case PositionKind::put:
    return discounted * normal_distribution(-d2) - spot * normal_distribution(-d1);
  }
  return 0;
}

double expected_profit(const Portfolio& portfolio, const VarSettings& settings) {
  const Market& market = portfolio.market;
  const double years = settings.horizon_days / trading_days_per_year;
  double sum = 0;
  for (const Position& position : portfolio.positions) {
    const RiskFactor& factor = market.factors[static_cast<std::size_t>(position.factor)];
    const auto worth = [&](double spot) {
      return black_scholes(position.kind, spot, position.strike, position.maturity_years,
                           factor.volatility, market.rate);
    };
    const double spot_then = factor.spot * std::exp((factor.drift - market.rate) * years);
    sum +=
        position.quantity * (std::exp(market.rate * years) * worth(spot_then) - worth(factor.spot));
  }
  return sum;
}

std::vector<double> cholesky(const std::vector<double>& matrix, int order,
                             const std::string& file) {
  const auto n = static_cast<std::size_t>(order);
  check_symmetric(matrix, n, file);
  std::vector<double> triangle = matrix;
  for (std::size_t i = 0; i < n; ++i)
    std::fill_n(triangle.data() + i * n + i + 1, n - i - 1, 0.0);
  std::vector<double> panel(columns_a_panel * n);
  for (std::size_t begin = 0; begin < n; begin += columns_a_panel) {
    const std::size_t end = std::min(n, begin + columns_a_panel);
    for (std::size_t i = begin; i < end; ++i)
      factor_row(triangle.data(), panel.data(), n, begin, end, i, file);
    const bool worth_threads = n - end > 128;
#pragma omp parallel for schedule(dynamic, 8) if (worth_threads)
    for (std::size_t i = end; i < n; ++i)
      factor_row(triangle.data(), panel.data(), n, begin, end, i, file);
#pragma omp parallel for schedule(dynamic, 8) if (worth_threads)
    for (std::size_t i = end; i < n; ++i)
      for (std::size_t k = begin; k < end; ++k)
        subtract(triangle.data() + i * n, triangle[i * n + k], panel.data() + (k - begin) * n, end,
                 i + 1);
  }
  return triangle;
}

Portfolio built_in_portfolio(const PortfolioSettings& settings, const std::string& file) {
  const Require require{file};
  require.within("factors", settings.factors, 1, most_factors);
  require.within("positions", settings.positions, 1, 1e9);
  require.within("sectors", settings.sectors, 1, settings.factors);
  require.within("equity_share", settings.equity_share, 0, 1);

  const auto n = static_cast<std::size_t>(settings.factors);
  const auto sectors = static_cast<std::size_t>(settings.sectors);
  Portfolio portfolio;
  Market& market = portfolio.market;
  market.rate = 0.02;
  std::vector<Weights> weights(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Random4 draw = portfolio_draws(settings.seed, factor_stream, i, 0);
    market.factors.push_back({between(draw.x, 20, 200), between(draw.y, 0.15, 0.45), 0});
    weights[i] = {between(draw.z, 0.4, 0.7), between(draw.w, 0.2, 0.5)};
  }
  market.correlation.resize(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      market.correlation[i * n + j] =
          i == j ? 1
                 : weights[i].market * weights[j].market
                       + (i % sectors == j % sectors ? weights[i].sector * weights[j].sector : 0);

  portfolio.positions.resize(static_cast<std::size_t>(settings.positions));
  for (std::size_t i = 0; i < portfolio.positions.size(); ++i) {
    const Random4 draw = portfolio_draws(settings.seed, position_stream, i, 0);
    const Random4 more = portfolio_draws(settings.seed, position_stream, i, 1);
    Position& position = portfolio.positions[i];
    // Every factor has a position while there are enough of them.
    position.factor = static_cast<int>(i < n ? i : draw.x % n);
    const double spot = market.factors[static_cast<std::size_t>(position.factor)].spot;
    // A value of 1,000 to 10,000 in shares; one in three is sold.
    position.quantity = between(draw.y, 1'000, 10'000) / spot * (draw.z % 3 == 0 ? -1 : 1);
    const double share = uniform(draw.w);
    if (share < settings.equity_share) continue;
    position.kind =
        share < 0.5 * (1 + settings.equity_share) ? PositionKind::call : PositionKind::put;
    position.strike = spot * between(more.x, 0.8, 1.2);
    position.maturity_years = between(more.y, 0.25, 2);
  }
  return portfolio;
}

void check_var(const Portfolio& portfolio, const VarSettings& settings, const std::string& file) {
  const Require require{file};
  check_settings(settings, require);
  check_market(portfolio.market, require);
  const double years = settings.horizon_days / trading_days_per_year;
  require(portfolio.positions.size() <= std::numeric_limits<std::int32_t>::max(),
          fmt::format("{} positions", portfolio.positions.size()), "fewer than 2^31");
  for (std::size_t i = 0; i < portfolio.positions.size(); ++i)
    check_position(portfolio.positions[i], i, portfolio.market.factors.size(), years, require);
  for (std::size_t i = 0; i < portfolio.market.factors.size(); ++i) {
    const RiskFactor& factor = portfolio.market.factors[i];
    const double reach =
        standard_deviations_held * factor.volatility * std::sqrt(years)
        + (std::abs(factor.drift) + 0.5 * factor.volatility * factor.volatility) * years;
    require(reach <= 40,
            fmt::format("factor {}, which may grow by e^{:.0f} within the horizon", i, reach),
            "at most e^40: a shorter horizon or a lower volatility");
  }
}

VarBook make_book(const Portfolio& portfolio, const VarSettings& settings,
                  const std::string& file) {
  check_var(portfolio, settings, file);
  const Market& market = portfolio.market;
  const double years = settings.horizon_days / trading_days_per_year;
  const std::size_t n = market.factors.size();
  VarBook book;
  book.factors = static_cast<int>(n);
  book.positions = static_cast<std::int64_t>(portfolio.positions.size());
  book.loadings = pack_loadings(market, book, years, file);

  std::vector<double> shares(n, 0.0);
  for (const Position& position : portfolio.positions)
    if (position.kind == PositionKind::equity)
      shares[static_cast<std::size_t>(position.factor)] += position.quantity;
  book.quantum = quantum_for(portfolio, shares, years);
  book.factor_terms.resize(static_cast<std::size_t>(book.rows()), FactorTerms{});
  for (std::size_t i = 0; i < n; ++i) {
    book.factor_terms[i] = factor_terms(market.factors[i], years);
    book.factor_terms[i].equity =
        static_cast<float>(shares[i] * market.factors[i].spot / book.quantum);
  }

  // Options of a factor lie together, in the order of the portfolio.
  book.first_option.assign(n + 1, 0);
  for (const Position& position : portfolio.positions)
    if (position.kind != PositionKind::equity)
      ++book.first_option[static_cast<std::size_t>(position.factor) + 1];
  for (std::size_t i = 0; i < n; ++i)
    book.first_option[i + 1] += book.first_option[i];
  book.options.resize(static_cast<std::size_t>(book.first_option[n]));
  std::vector<std::int32_t> next(book.first_option.begin(), book.first_option.end() - 1);
  for (const Position& position : portfolio.positions) {
    if (position.kind == PositionKind::equity) continue;
    const RiskFactor& factor = market.factors[static_cast<std::size_t>(position.factor)];
    const std::int32_t at = next[static_cast<std::size_t>(position.factor)]++;
    book.options[static_cast<std::size_t>(at)] =
        option_terms(position, market, years, 1 / book.quantum);
    const double worth = position.quantity
                         * black_scholes(position.kind, factor.spot, position.strike,
                                         position.maturity_years, factor.volatility, market.rate);
    book.options_value_now += static_cast<std::int64_t>(std::llrint(worth / book.quantum));
  }
  return book;
}

} // namespace breakeven::risk
