// The arithmetic of VaR against double precision and closed forms, the books it is made of, and the
// figures drawn from a run.
#include "sim/errors.h"
#include "tests/risk/var_reference.h"
#include "workloads/risk/var_result.h"
#include "workloads/risk/var_work.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <limits>
#include <random>

using namespace breakeven;
using namespace breakeven::risk;

namespace {

const std::string place = "book.toml";

Market market_of(std::vector<RiskFactor> factors, std::vector<double> correlation, double rate) {
  return {std::move(factors), std::move(correlation), rate};
}
Market market_of_one(double spot, double volatility, double drift, double rate) {
  return market_of({{spot, volatility, drift}}, {1}, rate);
}

Portfolio small_portfolio() {
  PortfolioSettings settings;
  settings.factors = 13;
  settings.positions = 60;
  settings.sectors = 3;
  settings.seed = 5;
  return built_in_portfolio(settings, place);
}

std::vector<std::int64_t> profits_of(const VarBook& book, const VarSettings& settings) {
  std::vector<std::int64_t> profits(static_cast<std::size_t>(settings.paths));
  openmp_var_profits(book, settings.seed, 0, settings.paths, profits.data());
  return profits;
}

VarResult result_of(const Portfolio& portfolio, const VarSettings& settings) {
  const VarBook book = make_book(portfolio, settings, place);
  return var_result(book, settings, openmp_var(book, settings).tail);
}

struct Moments {
  double mean, standard_error;
};
Moments moments_of(const std::vector<std::int64_t>& profits, double quantum) {
  double sum = 0, squares = 0;
  for (const std::int64_t profit : profits) {
    const double value = static_cast<double>(profit) * quantum;
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(profits.size());
  const double mean = sum / n;
  return {mean, std::sqrt((squares / n - mean * mean) / n)};
}

/// Threads for one test.
class Threads {
public:
  explicit Threads(int count) : before_(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before_); }

private:
  int before_;
};

bool same(const Random4& a, const Random4& b) {
  return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

} // namespace

// ---- random numbers ----

// kat_vectors of Random123 1.14, the 10-round rows of philox4x32.
TEST_CASE("Philox gives Random123's known answers") {
  CHECK(same(philox4x32({0, 0, 0, 0}, 0), {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  const std::uint32_t ones = 0xffffffffu;
  CHECK(same(philox4x32({ones, ones, ones, ones}, ~std::uint64_t{0}),
             {0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  CHECK(same(philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0x299f31d0'a4093822u),
             {0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u}));
}

TEST_CASE("a path's draws depend on the seed, all 64 bits of the path, and the factor") {
  const Random4 draws = draws_of(7, 11, 2);
  CHECK(same(draws, draws_of(7, 11, 2)));
  CHECK_FALSE(same(draws, draws_of(8, 11, 2)));
  CHECK_FALSE(same(draws, draws_of(7 + (std::uint64_t{1} << 40), 11, 2)));
  CHECK_FALSE(same(draws, draws_of(7, 12, 2)));
  CHECK_FALSE(same(draws, draws_of(7, 11 + (std::uint64_t{1} << 32), 2)));
  CHECK_FALSE(same(draws, draws_of(7, 11, 3)));
}

TEST_CASE("normals have an error of at most 1.5e-6, to the ends of their tails") {
  std::vector<std::uint32_t> all{0, 1, 2, 3, 0x7FFF'FFFFu, 0x7FFF'FFFEu};
  for (std::uint32_t bits = 1; bits < 0x7FFF'FFFFu / 9 * 8; bits += bits / 8 + 1)
    all.push_back(bits);
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i)
    all.push_back(static_cast<std::uint32_t>(random()) & 0x7FFF'FFFFu);
  double worst = 0;
  for (const std::uint32_t bits : all) {
    const double expected = reference::normal_of(bits);
    worst = std::max(worst, std::abs(static_cast<double>(risk::normal_of(bits)) - expected));
    CHECK(risk::normal_of(bits | 0x8000'0000u) == -risk::normal_of(bits));
  }
  CAPTURE(worst);
  CHECK(worst < 1.5e-6);
  CHECK(worst > 1e-8); // the reference is a different computation
  CHECK(risk::normal_of(0) == doctest::Approx(6.34).epsilon(0.001));
}

TEST_CASE("normals have the moments of a normal distribution") {
  constexpr int paths = 100'000;
  double sums[5] = {};
  for (std::uint64_t path = 0; path < paths; ++path) {
    const Random4 draws = draws_of(3, path, 0);
    for (const std::uint32_t bits : {draws.x, draws.y, draws.z, draws.w}) {
      double power = 1;
      for (double& sum : sums) {
        sum += power;
        power *= static_cast<double>(risk::normal_of(bits));
      }
    }
  }
  // Variances of z, z^2, z^3, z^4 are 1, 2, 15, 96.
  const double n = sums[0];
  CHECK(std::abs(sums[1] / n) < 3 * std::sqrt(1 / n));
  CHECK(std::abs(sums[2] / n - 1) < 3 * std::sqrt(2 / n));
  CHECK(std::abs(sums[3] / n) < 3 * std::sqrt(15 / n));
  CHECK(std::abs(sums[4] / n - 3) < 3 * std::sqrt(96 / n));
}

// ---- functions ----

TEST_CASE("logarithms of probabilities and inverse roots are as exact as their comments say") {
  for (double log2 = -33; log2 <= -1; log2 += 0.00017) {
    const auto p = static_cast<float>(std::exp2(log2));
    CHECK(std::abs(static_cast<double>(log2_of_probability(p)) - std::log2(static_cast<double>(p)))
          < 2.5e-6);
  }
  for (double x = 0.5; x <= 64; x *= 1.00013) {
    const auto rounded = static_cast<float>(x);
    CHECK(std::abs(static_cast<double>(inverse_root(rounded))
                       * std::sqrt(static_cast<double>(rounded))
                   - 1)
          < 1e-7);
  }
}

TEST_CASE("growth keeps the digits of small returns, and loses few of large ones") {
  CHECK(growth_of(0) == 0);
  for (double x = -40; x <= 40; x += 0.00731) {
    const auto rounded = static_cast<float>(x);
    const double expected = std::expm1(static_cast<double>(rounded));
    CHECK(std::abs(static_cast<double>(growth_of(rounded)) - expected)
          < (std::abs(x) < 3 ? 3e-7 : 1e-6) * std::max(std::abs(expected), std::abs(x)));
  }
  for (double x = 1e-30; x < 0.3; x *= 1.37) {
    const auto rounded = static_cast<float>(x);
    const double expected = std::expm1(static_cast<double>(rounded));
    CHECK(std::abs(static_cast<double>(growth_of(rounded)) / expected - 1) < 3e-7);
    CHECK(std::abs(static_cast<double>(growth_of(-rounded))
                       / std::expm1(-static_cast<double>(rounded))
                   - 1)
          < 3e-7);
  }
}

TEST_CASE("the bell has a relative error of 2e-6 within 5, and stays positive and finite beyond") {
  for (double d = -5; d <= 5; d += 0.00037) {
    const auto rounded = static_cast<float>(d);
    const double expected =
        std::exp(-0.5 * static_cast<double>(rounded) * static_cast<double>(rounded));
    CHECK(std::abs(static_cast<double>(bell(rounded)) / expected - 1) < 2e-6);
  }
  for (const float d : {20.0f, -1e4f, 1e18f}) {
    CHECK(bell(d) > 0);
    CHECK(bell(d) < 1e-37f);
  }
}

TEST_CASE("bell times scaled tail is the normal distribution to 2e-7") {
  for (double d = 0; d <= 40; d += 0.0011) {
    const auto rounded = static_cast<float>(d);
    const float tail = bell(rounded) * scaled_tail(rounded);
    CHECK(std::abs(static_cast<double>(tail)
                   - reference::normal_distribution(-static_cast<double>(rounded)))
          < 2e-7);
    CHECK(scaled_tail(-rounded) == -scaled_tail(rounded));
  }
}

// ---- options ----

// S = 42, K = 40, r = 10 %, sigma = 20 %, half a year: Hull, "Options, Futures, and Other
// Derivatives", example 15.6 prints 4.76 and 0.81. S = 60, K = 65, r = 8 %, sigma = 30 %, a
// quarter: Haug, "The Complete Guide to Option Pricing Formulas", section 1.1.1 prints 2.1334.
TEST_CASE("Black and Scholes gives the textbooks' prices") {
  CHECK(std::abs(black_scholes(PositionKind::call, 42, 40, 0.5, 0.2, 0.1) - 4.76) < 0.005);
  CHECK(std::abs(black_scholes(PositionKind::put, 42, 40, 0.5, 0.2, 0.1) - 0.81) < 0.005);
  CHECK(std::abs(black_scholes(PositionKind::call, 60, 65, 0.25, 0.3, 0.08) - 2.1334) < 0.00005);
}

namespace {

/// The float value of a call less a put's on the same terms, and both doubles, for one spot.
struct Pair {
  double call, put, exact_call, exact_put, forward;
};
Pair prices(double log_return, double strike, double years, double volatility, double rate) {
  const double spot_now = 100;
  Portfolio portfolio;
  portfolio.market = market_of_one(spot_now, volatility, 0, rate);
  VarSettings settings;
  settings.horizon_days = 10;
  const double horizon = settings.horizon_days / trading_days_per_year;
  portfolio.positions = {{0, PositionKind::call, 1, strike, years + horizon},
                         {0, PositionKind::put, 1, strike, years + horizon}};
  const VarBook book = make_book(portfolio, settings, place);
  const auto rounded_return = static_cast<float>(log_return);
  const float spot = spot_after(growth_of(rounded_return), book.factor_terms[0]);
  const double exact_spot = spot_now * std::exp(static_cast<double>(rounded_return));
  const auto exact = [&](PositionKind kind) {
    return black_scholes(kind, exact_spot, strike, years, volatility, rate);
  };
  return {static_cast<double>(option_value(rounded_return, spot, book.options[0])),
          -static_cast<double>(option_value(rounded_return, spot, book.options[1])),
          exact(PositionKind::call), exact(PositionKind::put),
          exact_spot - strike * std::exp(-rate * years)};
}

} // namespace

TEST_CASE("options are revalued to 4e-7 of spot or strike, and puts and calls keep parity") {
  double worst = 0, worst_parity = 0;
  for (const double log_return : {-0.5, -0.11, -0.01, 0.0, 0.003, 0.07, 0.4})
    for (const double strike : {30.0, 80.0, 99.0, 100.0, 104.0, 150.0, 400.0})
      for (const double years : {0.001, 0.02, 0.25, 1.0, 10.0})
        for (const double volatility : {0.05, 0.2, 0.45, 1.2})
          for (const double rate : {-0.01, 0.0, 0.05}) {
            const Pair pair = prices(log_return, strike, years, volatility, rate);
            const double size = std::max(100 * std::exp(log_return), strike);
            worst = std::max({worst, std::abs(pair.call - pair.exact_call) / size,
                              std::abs(pair.put - pair.exact_put) / size});
            worst_parity =
                std::max(worst_parity, std::abs(pair.call - pair.put - pair.forward) / size);
          }
  CAPTURE(worst);
  CAPTURE(worst_parity);
  CHECK(worst < 4e-7);
  CHECK(worst_parity < 4e-7);
}

// ---- correlations ----

// [4 2; 2 5] has the factor [2 0; 1 2]; with a third row, [.. ; 2 3 6] adds [1 1 2].
TEST_CASE("Cholesky gives the hand-worked factor") {
  const std::vector<double> factor = cholesky({4, 2, 2, 2, 5, 3, 2, 3, 6}, 3, place);
  const std::vector<double> expected{2, 0, 0, 1, 2, 0, 1, 1, 2};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(factor[i] == doctest::Approx(expected[i]).epsilon(1e-15));
}

TEST_CASE("Cholesky factors multiply back, for several threads with the same bits") {
  PortfolioSettings settings;
  settings.factors = 300;
  const std::vector<double> matrix = built_in_portfolio(settings, place).market.correlation;
  const std::vector<double> factor = cholesky(matrix, 300, place);
  double worst = 0;
  for (std::size_t i = 0; i < 300; i += 7)
    for (std::size_t j = 0; j <= i; j += 3) {
      double sum = 0;
      for (std::size_t k = 0; k <= j; ++k)
        sum += factor[i * 300 + k] * factor[j * 300 + k];
      worst = std::max(worst, std::abs(sum - matrix[i * 300 + j]));
    }
  CHECK(worst < 1e-14);
  const Threads threads(3);
  CHECK(cholesky(matrix, 300, place) == factor);
}

TEST_CASE("a matrix that is not positive definite or not symmetric is refused by name") {
  CHECK_THROWS_AS(cholesky({1, 1, 1, 1}, 2, place), BadInput); // the second follows the first
  CHECK_THROWS_AS(cholesky({1, 0.9, -0.9, 0.9, 1, 0.9, -0.9, 0.9, 1}, 3, place), BadInput);
  CHECK_THROWS_AS(cholesky({1, 0.2, 0.3, 1}, 2, place), BadInput);
  CHECK_THROWS_AS(cholesky({NAN}, 1, place), BadInput);
  try {
    cholesky({1, 0.9, -0.9, 0.9, 1, 0.9, -0.9, 0.9, 1}, 3, place);
  } catch (const BadInput& error) {
    CHECK(error.file == place);
    CHECK(error.found.find("factor 2") != std::string::npos);
    CHECK(error.expected == "a positive definite matrix");
  }
}

// Book of one share of each of two factors: the variance of its profit tells their correlation.
TEST_CASE("returns have the correlation that the matrix asks for") {
  for (const double correlation : {-0.7, 0.0, 0.8}) {
    CAPTURE(correlation);
    Portfolio portfolio;
    portfolio.market =
        market_of({{100, 0.2, 0}, {100, 0.2, 0}}, {1, correlation, correlation, 1}, 0);
    portfolio.positions = {{0, PositionKind::equity, 1, 0, 0}, {1, PositionKind::equity, 1, 0, 0}};
    VarSettings settings;
    settings.paths = 200'000;
    settings.horizon_days = 1;
    const VarBook book = make_book(portfolio, settings, place);
    const Moments moments = moments_of(profits_of(book, settings), book.quantum);
    const double variance = moments.standard_error * moments.standard_error * 200'000;
    const double expected = 2 * 100 * 100 * 0.04 / 252 * (1 + correlation);
    CHECK(variance == doctest::Approx(expected).epsilon(0.012)); // 3 sqrt(2 / 200,000), and skew
  }
}

// ---- profits ----

TEST_CASE("profits differ from double precision by less than 2e-5 of the 99 % VaR") {
  const Portfolio portfolio = small_portfolio();
  for (const double horizon_days : {1.0, 10.0, 60.0}) {
    CAPTURE(horizon_days);
    VarSettings settings;
    settings.paths = 2'000;
    settings.horizon_days = horizon_days;
    const VarBook book = make_book(portfolio, settings, place);
    const std::vector<std::int64_t> profits = profits_of(book, settings);
    const std::vector<double> triangle =
        cholesky(portfolio.market.correlation, book.factors, place);
    const double value_at_risk =
        var_result(book, settings, openmp_var(book, settings).tail).levels[1].value_at_risk;
    double worst = 0, bias = 0;
    for (std::size_t path = 0; path < profits.size(); ++path) {
      const double error = static_cast<double>(profits[path]) * book.quantum
                           - reference::profit_of_path(portfolio, settings, triangle, path);
      worst = std::max(worst, std::abs(error));
      bias += error / static_cast<double>(profits.size());
    }
    CAPTURE(worst / value_at_risk);
    CHECK(worst < 2e-5 * value_at_risk);
    CHECK(std::abs(bias) < 1e-6 * value_at_risk);
    CHECK(worst > 0);
  }
}

TEST_CASE("profits are the same for 1, 2 and 3 threads and for any division of the paths") {
  for (const int factors : {1, 8, 9, 70, 1100}) { // the last has the smallest blocks
    CAPTURE(factors);
    PortfolioSettings portfolio_settings;
    portfolio_settings.factors = factors;
    portfolio_settings.positions = 90;
    portfolio_settings.sectors = 1;
    VarSettings settings;
    settings.paths = factors > 1000 ? 203 : 1507;
    const VarBook book = make_book(built_in_portfolio(portfolio_settings, place), settings, place);
    std::vector<std::int64_t> expected;
    for (const int threads : {1, 2, 3}) {
      const Threads set(threads);
      const std::vector<std::int64_t> profits = profits_of(book, settings);
      if (expected.empty()) expected = profits;
      CHECK(profits == expected);
    }
    for (const std::int64_t part : {37, 200}) {
      std::vector<std::int64_t> profits(expected.size());
      for (std::int64_t begin = 0; begin < settings.paths; begin += part)
        openmp_var_profits(book, settings.seed, begin, std::min(part, settings.paths - begin),
                           profits.data() + begin);
      CHECK(profits == expected);
    }
    std::int64_t alone = 0;
    openmp_var_profits(book, settings.seed, 101, 1, &alone);
    CHECK(alone == expected[101]);
  }
}

TEST_CASE("paths beyond 2^32 are not the first ones again") {
  const Portfolio portfolio = small_portfolio();
  VarSettings settings;
  settings.paths = 64;
  const VarBook book = make_book(portfolio, settings, place);
  std::vector<std::int64_t> first(64), later(64), across(64);
  openmp_var_profits(book, 1, 0, 64, first.data());
  openmp_var_profits(book, 1, std::int64_t{1} << 32, 64, later.data());
  openmp_var_profits(book, 1, (std::int64_t{1} << 32) - 32, 64, across.data());
  CHECK(first != later);
  CHECK(std::equal(later.begin(), later.begin() + 32, across.begin() + 32));
}

TEST_CASE("a run's tail is the same for 1, 2 and 3 threads") {
  VarSettings settings;
  settings.paths = 20'011;
  const VarBook book = make_book(small_portfolio(), settings, place);
  std::vector<std::int64_t> sorted = profits_of(book, settings);
  std::int64_t sum = 0;
  for (const std::int64_t profit : sorted)
    sum += profit;
  std::sort(sorted.begin(), sorted.end());
  sorted.resize(static_cast<std::size_t>(worst_paths_needed(settings)));
  for (const int threads : {1, 2, 3}) {
    const Threads set(threads);
    const VarTail tail = openmp_var(book, settings).tail;
    CHECK(tail.worst_profits == sorted);
    CHECK(tail.sum.high * (1 << 20) + tail.sum.low == sum);
  }
}

TEST_CASE("no position's worth overflows within the returns that are held") {
  for (const double horizon_days : {1.0, 250.0}) {
    VarSettings settings;
    settings.horizon_days = horizon_days;
    Portfolio portfolio = small_portfolio();
    for (Position& position : portfolio.positions)
      position.maturity_years += 1;
    const VarBook book = make_book(portfolio, settings, place);
    double most = 0;
    for (int factor = 0; factor < book.factors; ++factor) {
      const auto f = static_cast<std::size_t>(factor);
      const FactorTerms& terms = book.factor_terms[f];
      for (const float log_return : {terms.lowest, terms.highest}) {
        const float growth = growth_of(log_return);
        most = std::max(most, std::abs(static_cast<double>(terms.equity * growth)));
        for (auto i = book.first_option[f]; i < book.first_option[f + 1]; ++i) {
          const OptionTerms& option = book.options[static_cast<std::size_t>(i)];
          most = std::max(
              most,
              std::abs(static_cast<double>(
                  option.quantity * option_value(log_return, spot_after(growth, terms), option))));
        }
      }
    }
    CHECK(most < 0x1p27 * 1.0001);
    CHECK(most > 0x1p24); // and the quantum is no coarser than it has to be
  }
}

TEST_CASE("returns are held within eight standard deviations") {
  const FactorTerms terms{100, 0, 0, -0.4f, 0.4f};
  CHECK(held_within(-5, terms) == -0.4f);
  CHECK(held_within(5, terms) == 0.4f);
  CHECK(held_within(0.1f, terms) == 0.1f);
}

TEST_CASE("an empty portfolio loses nothing") {
  Portfolio portfolio;
  portfolio.market = market_of_one(100, 0.2, 0, 0);
  VarSettings settings;
  settings.paths = 100;
  const VarResult result = result_of(portfolio, settings);
  CHECK(result.levels[0].value_at_risk == 0);
  CHECK(result.levels[0].expected_shortfall == 0);
  CHECK(result.mean_profit == 0);
}

// ---- closed forms ----

// Shares over one day: the profit is nearly normal with the variance w' C w of amounts w.
TEST_CASE("VaR and shortfall of a Gaussian book are the closed form's within 3 standard errors") {
  Portfolio portfolio;
  PortfolioSettings portfolio_settings;
  portfolio_settings.factors = 20;
  portfolio_settings.positions = 60;
  portfolio_settings.equity_share = 1;
  portfolio = built_in_portfolio(portfolio_settings, place);
  VarSettings settings;
  settings.paths = 400'000;
  settings.horizon_days = 0.01; // so short that compounding is nothing
  settings.levels = {0.9, 0.95, 0.99, 0.999};
  const Market& market = portfolio.market;
  std::vector<double> amounts(20, 0.0);
  for (const Position& position : portfolio.positions) {
    const auto i = static_cast<std::size_t>(position.factor);
    amounts[i] += position.quantity * market.factors[i].spot * market.factors[i].volatility
                  * std::sqrt(settings.horizon_days / trading_days_per_year);
  }
  double variance = 0;
  for (std::size_t i = 0; i < 20; ++i)
    for (std::size_t j = 0; j < 20; ++j)
      variance += amounts[i] * amounts[j] * market.correlation[i * 20 + j];
  const double deviation = std::sqrt(variance);
  const VarResult result = result_of(portfolio, settings);
  for (const VarLevel& level : result.levels) {
    CAPTURE(level.level);
    const double z = -reference::normal_quantile(1 - level.level);
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979);
    CHECK(std::abs(level.value_at_risk - deviation * z) < 3 * level.standard_error);
    CHECK(std::abs(level.expected_shortfall - deviation * density / (1 - level.level))
          < 3 * level.expected_shortfall_standard_error);
    // The asymptotic standard error of a quantile.
    const double expected_error =
        deviation * std::sqrt(level.level * (1 - level.level) / 400'000) / density;
    CHECK(level.standard_error == doctest::Approx(expected_error).epsilon(0.25));
  }
  CHECK(std::abs(result.mean_profit) < 3 * deviation / std::sqrt(400'000.0));
}

// One share: the loss is spot (1 - e^r) with r normal, so its quantile and tail mean are exact.
TEST_CASE("VaR and shortfall of one share over a year are the lognormal's") {
  Portfolio portfolio;
  portfolio.market = market_of_one(100, 0.3, 0.05, 0);
  portfolio.positions = {{0, PositionKind::equity, 10, 0, 0}};
  VarSettings settings;
  settings.paths = 400'000;
  settings.horizon_days = trading_days_per_year;
  settings.seed = 9;
  for (const VarLevel& level : result_of(portfolio, settings).levels) {
    CAPTURE(level.level);
    const double z = reference::normal_quantile(1 - level.level);
    const double exact = 1000 * (1 - std::exp(0.05 - 0.045 + 0.3 * z));
    // E[e^r; r below its quantile] = e^drift N(z - sigma).
    const double tail = std::exp(0.05) * reference::normal_distribution(z - 0.3);
    CHECK(std::abs(level.value_at_risk - exact) < 3 * level.standard_error);
    CHECK(std::abs(level.expected_shortfall - 1000 * (1 - tail / (1 - level.level)))
          < 3 * level.expected_shortfall_standard_error);
    CHECK(level.low < level.value_at_risk);
    CHECK(level.value_at_risk < level.high);
  }
}

// With the drift at the rate, what an option is worth at the horizon, discounted, is on average
// what it is worth today.
TEST_CASE("options grow on average by the rate, within 3 standard errors of Black and Scholes") {
  const double rate = 0.04;
  for (const PositionKind kind : {PositionKind::call, PositionKind::put})
    for (const double strike : {80.0, 100.0, 125.0}) {
      CAPTURE(strike);
      Portfolio portfolio;
      portfolio.market = market_of_one(100, 0.25, rate, rate);
      portfolio.positions = {{0, kind, 1, strike, 1.5}};
      VarSettings settings;
      settings.paths = 200'000;
      settings.horizon_days = trading_days_per_year / 2;
      const VarBook book = make_book(portfolio, settings, place);
      const Moments moments = moments_of(profits_of(book, settings), book.quantum);
      const double now = black_scholes(kind, 100, strike, 1.5, 0.25, rate);
      const double expected = now * std::expm1(rate / 2);
      CHECK(std::abs(moments.mean - expected) < 3 * moments.standard_error);
    }
}

// A day before it ends an option is worth what it pays, nearly; Monte Carlo of the payoff is the
// definition that Black and Scholes' formula solves.
TEST_CASE("payoffs averaged over paths are the closed form's price within 3 standard errors") {
  const double rate = 0.04, years = 0.5;
  Portfolio portfolio;
  portfolio.market = market_of_one(100, 0.25, rate, rate);
  portfolio.positions = {{0, PositionKind::call, 1, 105, years + 1e-9}};
  VarSettings settings;
  settings.paths = 200'000;
  settings.horizon_days = trading_days_per_year * years;
  const VarBook book = make_book(portfolio, settings, place);
  const Moments moments = moments_of(profits_of(book, settings), book.quantum);
  const double now = black_scholes(PositionKind::call, 100, 105, years, 0.25, rate);
  const double price = (moments.mean + now) * std::exp(-rate * years);
  CHECK(std::abs(price - now) < 3 * moments.standard_error);
}

// ---- figures from a tail ----

namespace {

VarTail tail_of_losses(std::vector<std::int64_t> losses, const VarSettings& settings) {
  VarTail tail;
  tail.paths = static_cast<std::int64_t>(losses.size());
  for (const std::int64_t loss : losses) {
    tail.worst_profits.push_back(-loss);
    tail.sum = tail.sum + as_sum(-loss);
  }
  std::sort(tail.worst_profits.begin(), tail.worst_profits.end());
  tail.worst_profits.resize(static_cast<std::size_t>(worst_paths_needed(settings)));
  return tail;
}

} // namespace

// Losses 1 to 10. Level 0.8: rank 8, so VaR 8 and ES (9 + 10) / 2. Level 0.75: rank ceil(7.5) = 8;
// ES = (9 + 10 + half of 8) / 2.5 = 9.2. Mean profit -5.5.
TEST_CASE("ten losses give the hand-worked VaR and shortfall") {
  VarSettings settings;
  settings.paths = 10;
  settings.levels = {0.8, 0.75, 0.9};
  VarBook book;
  book.quantum = 0.5;
  const VarTail tail = tail_of_losses({3, 1, 2, 10, 4, 9, 5, 8, 6, 7}, settings);
  const VarResult result = var_result(book, settings, tail);
  CHECK(result.levels[0].value_at_risk == 8 * 0.5);
  CHECK(result.levels[0].expected_shortfall == 9.5 * 0.5);
  CHECK(result.levels[1].value_at_risk == 8 * 0.5);
  CHECK(result.levels[1].expected_shortfall == doctest::Approx(9.2 * 0.5));
  CHECK(result.levels[2].value_at_risk == 9 * 0.5); // 0.9 x 10 is 9 paths, whatever binary says
  CHECK(result.levels[2].expected_shortfall == 10 * 0.5);
  CHECK(result.mean_profit == -5.5 * 0.5);
  // 8 +- 1.96 sqrt(1.6) = 5.52 to 10.48: ranks 5 and, for want of more, 10.
  CHECK(result.levels[0].low == 5 * 0.5);
  CHECK(result.levels[0].high == 10 * 0.5);
}

TEST_CASE("one path is its own VaR") {
  VarSettings settings;
  settings.paths = 1;
  const VarResult result = var_result(VarBook{}, settings, tail_of_losses({-7}, settings));
  CHECK(result.levels[0].value_at_risk == -7);
  CHECK(result.levels[0].expected_shortfall == -7);
  CHECK(result.mean_profit == 7);
}

TEST_CASE("a sum of many large profits does not overflow") {
  ProfitSum sum;
  for (int i = 0; i < 1000; ++i)
    sum = sum + as_sum(-(std::int64_t{1} << 45));
  CHECK(sum.high == -(std::int64_t{1} << 25) * 1000);
  CHECK(sum.low == 0);
  const ProfitSum one = as_sum(-1);
  CHECK(one.high * (1 << 20) + one.low == -1);
}

TEST_CASE("the interval covers the true quantile about 95 times in 100") {
  Portfolio portfolio;
  portfolio.market = market_of_one(100, 0.3, 0, 0);
  portfolio.positions = {{0, PositionKind::equity, 1, 0, 0}};
  VarSettings settings;
  settings.paths = 2'000;
  settings.levels = {0.95};
  const double years = settings.horizon_days / trading_days_per_year;
  const double exact =
      100
      * (1 - std::exp(-0.045 * years + 0.3 * std::sqrt(years) * reference::normal_quantile(0.05)));
  int covered = 0;
  constexpr int runs = 400;
  for (int run = 0; run < runs; ++run) {
    settings.seed = static_cast<std::uint64_t>(run);
    const VarLevel level = result_of(portfolio, settings).levels[0];
    covered += level.low <= exact && exact <= level.high;
  }
  // 95 % of 400 is 380; the standard deviation of the count is 4.4. Ranks are rounded outwards.
  CHECK(covered >= 380 - 13);
  CHECK(covered <= 380 + 18);
}

TEST_CASE("the smallest values are found among equal ones, outliers and the extremes of 64 bits") {
  std::mt19937_64 random(4);
  std::vector<std::vector<std::int64_t>> cases{{5}, std::vector<std::int64_t>(1000, -3)};
  std::vector<std::int64_t> wide(5000), outlier(5000);
  for (std::size_t i = 0; i < wide.size(); ++i) {
    wide[i] = static_cast<std::int64_t>(random()) / 4;
    outlier[i] = static_cast<std::int64_t>(random() % 1000);
  }
  outlier[17] = -(std::int64_t{1} << 45);
  outlier[18] = std::int64_t{1} << 45;
  cases.push_back(wide);
  cases.push_back(outlier);
  for (const std::vector<std::int64_t>& values : cases)
    for (const int threads : {1, 3}) {
      const Threads set(threads);
      std::vector<std::int64_t> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      const auto count = static_cast<std::int64_t>(values.size());
      for (const std::int64_t wanted : {std::int64_t{0}, std::int64_t{1}, count / 3, count}) {
        const std::vector<std::int64_t> expected(sorted.begin(), sorted.begin() + wanted);
        CHECK(openmp_smallest(values.data(), count, wanted) == expected);
      }
    }
}

TEST_CASE("checksums tell tails apart") {
  VarTail tail;
  tail.paths = 3;
  tail.worst_profits = {-5, -1};
  const std::uint64_t checksum = checksum_of(tail);
  CHECK(checksum == checksum_of(tail));
  tail.worst_profits = {-1, -5};
  CHECK(checksum != checksum_of(tail));
  tail.worst_profits = {-5, -1};
  tail.sum.low = 1;
  CHECK(checksum != checksum_of(tail));
}

// ---- portfolios ----

TEST_CASE("the built-in portfolio is decided by its seed and is what was asked for") {
  PortfolioSettings settings;
  settings.positions = 2000;
  const Portfolio a = built_in_portfolio(settings, place), b = built_in_portfolio(settings, place);
  REQUIRE(a.positions.size() == 2000);
  REQUIRE(a.market.factors.size() == 100);
  std::vector<bool> used(100);
  int equities = 0, calls = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    CHECK(a.positions[i].quantity == b.positions[i].quantity);
    CHECK(a.positions[i].strike == b.positions[i].strike);
    used[static_cast<std::size_t>(a.positions[i].factor)] = true;
    equities += a.positions[i].kind == PositionKind::equity;
    calls += a.positions[i].kind == PositionKind::call;
  }
  CHECK(std::count(used.begin(), used.end(), true) == 100);
  CHECK(std::abs(equities - 600) < 3 * std::sqrt(2000 * 0.3 * 0.7));
  CHECK(std::abs(calls - 700) < 3 * std::sqrt(2000 * 0.35 * 0.65));
  settings.seed = 2;
  CHECK(built_in_portfolio(settings, place).positions[0].quantity != a.positions[0].quantity);
}

TEST_CASE("built-in correlations are positive definite for any number of factors and sectors") {
  VarSettings settings;
  settings.paths = 1;
  for (const int factors : {1, 2, 17, 250})
    for (const int sectors : {1, factors})
      for (const std::uint64_t seed : {1u, 2u}) {
        PortfolioSettings portfolio_settings;
        portfolio_settings.factors = factors;
        portfolio_settings.sectors = sectors;
        portfolio_settings.positions = 10;
        portfolio_settings.seed = seed;
        CHECK_NOTHROW(make_book(built_in_portfolio(portfolio_settings, place), settings, place));
      }
}

TEST_CASE("shares of one factor are netted, options keep the portfolio's order") {
  Portfolio portfolio;
  portfolio.market = market_of({{100, 0.2, 0}, {50, 0.2, 0}}, {1, 0.5, 0.5, 1}, 0);
  portfolio.positions = {{1, PositionKind::call, 1, 40, 1},  {0, PositionKind::equity, 5, 0, 0},
                         {0, PositionKind::call, 2, 90, 1},  {0, PositionKind::equity, -5, 0, 0},
                         {1, PositionKind::equity, 4, 0, 0}, {0, PositionKind::put, 3, 80, 1}};
  const VarBook book = make_book(portfolio, VarSettings{}, place);
  CHECK(book.factor_terms[0].equity == 0);
  CHECK(book.factor_terms[1].equity == static_cast<float>(4 * 50 / book.quantum));
  CHECK(book.first_option == std::vector<std::int32_t>{0, 2, 3});
  CHECK(book.options[0].strike == 90);
  CHECK(book.options[1].strike == 80);
  CHECK(book.options[2].strike == 40);
  CHECK(book.options[1].quantity < 0); // a put bought, its signs turned
}

TEST_CASE("what no run can use is refused, with what was found") {
  const Portfolio good = small_portfolio();
  const VarSettings settings;
  CHECK_NOTHROW(check_var(good, settings, place));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const auto refused = [&](auto change) {
    Portfolio portfolio = good;
    VarSettings changed = settings;
    change(portfolio, changed);
    CHECK_THROWS_AS(make_book(portfolio, changed, place), BadInput);
  };
  refused([](Portfolio&, VarSettings& s) { s.paths = 0; });
  refused([](Portfolio&, VarSettings& s) { s.paths = -5; });
  refused([](Portfolio&, VarSettings& s) { s.paths = std::int64_t{1} << 40; });
  refused([&](Portfolio&, VarSettings& s) { s.horizon_days = nan; });
  refused([](Portfolio&, VarSettings& s) { s.horizon_days = 0; });
  refused([](Portfolio&, VarSettings& s) { s.levels.clear(); });
  refused([&](Portfolio&, VarSettings& s) { s.levels = {nan}; });
  refused([](Portfolio&, VarSettings& s) { s.levels = {0.99, 1}; });
  refused([](Portfolio& p, VarSettings&) { p.market.factors.clear(); });
  refused([](Portfolio& p, VarSettings&) { p.market.correlation.pop_back(); });
  refused([](Portfolio& p, VarSettings&) { p.market.correlation[0] = 2; });
  refused([](Portfolio& p, VarSettings&) { p.market.correlation[1] = 0.99; });
  refused([&](Portfolio& p, VarSettings&) {
    p.market.correlation[1] = p.market.correlation[13] = nan;
  });
  refused([](Portfolio& p, VarSettings&) { p.market.factors[3].spot = 0; });
  refused([&](Portfolio& p, VarSettings&) { p.market.factors[3].spot = infinity; });
  refused([](Portfolio& p, VarSettings&) { p.market.factors[3].volatility = -0.1; });
  refused([&](Portfolio& p, VarSettings&) { p.market.factors[3].drift = nan; });
  refused([&](Portfolio& p, VarSettings&) { p.market.rate = nan; });
  refused([](Portfolio& p, VarSettings&) { p.positions[0].factor = 13; });
  refused([](Portfolio& p, VarSettings&) { p.positions[0].factor = -1; });
  refused([&](Portfolio& p, VarSettings&) { p.positions[0].quantity = infinity; });
  refused([](Portfolio& p, VarSettings&) { p.positions[0] = {0, PositionKind::call, 1, -1, 1}; });
  refused([](Portfolio& p, VarSettings&) { // ends within the horizon
    p.positions[0] = {0, PositionKind::put, 1, 100, 0.02};
  });
  refused([](Portfolio& p, VarSettings& s) { // e^(8 x 5 x sqrt(10)) and more
    p.positions = {{0, PositionKind::equity, 1, 0, 0}};
    p.market.factors[0].volatility = 5;
    s.horizon_days = 2520;
  });
  PortfolioSettings none;
  none.factors = 0;
  CHECK_THROWS_AS(built_in_portfolio(none, place), BadInput);
  none.factors = 10;
  none.sectors = 11;
  CHECK_THROWS_AS(built_in_portfolio(none, place), BadInput);
}

// ---- work ----

TEST_CASE("counted work grows with paths, factors and options, and the memory with paths") {
  VarSettings settings;
  const VarBook small = make_book(small_portfolio(), settings, place);
  PortfolioSettings more;
  more.factors = 200;
  more.positions = 500;
  const VarBook large = make_book(built_in_portfolio(more, place), settings, place);
  const Work one = scenarios_work(small, 1'000'000), two = scenarios_work(small, 2'000'000);
  CHECK(two.lane_instructions == doctest::Approx(2 * one.lane_instructions));
  CHECK(two.dram_bytes == doctest::Approx(2 * one.dram_bytes));
  CHECK(one.count("option_revaluations") == 1e6 * static_cast<double>(small.options.size()));
  CHECK(scenarios_work(large, 1'000'000).lane_instructions > 5 * one.lane_instructions);
  CHECK(one.fp32_flops < 2 * one.lane_instructions);
  const double bytes = var_memory_bytes(small, settings, Path::cuda);
  settings.paths *= 1000;
  CHECK(var_memory_bytes(small, settings, Path::cuda) > 50 * bytes);
  CHECK(var_memory_bytes(small, settings, Path::cuda) > 2 * 8e9);
}
