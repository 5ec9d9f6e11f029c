// Monte Carlo value at risk beside a plain loop over the same maths through QuantLib.
#include "peers/risk_quantlib.h"
#include "peers/risk_report.h"
#include "workloads/risk/var_portfolio.h"
#include "workloads/risk/var_result.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

namespace breakeven::peers {

using namespace risk;

namespace {

constexpr const char* place = "breakeven-peers risk";
constexpr std::int64_t our_paths = 1 << 19, peer_paths_a_thread = 1 << 14;
constexpr double most_standard_errors = 3;

QuantlibBook quantlib_book(const Portfolio& portfolio, const VarSettings& settings) {
  const Market& market = portfolio.market;
  const std::size_t factors = market.factors.size();
  const double years = settings.horizon_days / trading_days_per_year;
  QuantlibBook book;
  book.triangle = cholesky(market.correlation, static_cast<int>(factors), place);
  book.shares.assign(factors, 0);
  for (std::size_t i = 0; i < factors; ++i) {
    const RiskFactor& factor = market.factors[i];
    for (std::size_t j = 0; j <= i; ++j)
      book.triangle[i * factors + j] *= factor.volatility * std::sqrt(years);
    book.spots.push_back(factor.spot);
    book.drifts.push_back((factor.drift - factor.volatility * factor.volatility / 2) * years);
  }
  for (const Position& position : portfolio.positions) {
    const auto at = static_cast<std::size_t>(position.factor);
    const RiskFactor& factor = market.factors[at];
    if (position.kind == PositionKind::equity) {
      book.shares[at] += position.quantity;
      book.value_now += position.quantity * factor.spot;
      continue;
    }
    book.value_now += position.quantity
                      * black_scholes(position.kind, factor.spot, position.strike,
                                      position.maturity_years, factor.volatility, market.rate);
    const double left_years = position.maturity_years - years;
    book.options.push_back({position.kind == PositionKind::call, position.factor, position.quantity,
                            position.strike, factor.volatility * std::sqrt(left_years),
                            std::exp(market.rate * left_years),
                            std::exp(-market.rate * left_years)});
  }
  return book;
}

/// Quantiles and their errors by the same rules as ours.
VarResult result_of(const VarBook& book, VarSettings settings, const std::vector<double>& profits) {
  settings.paths = static_cast<std::int64_t>(profits.size());
  VarTail tail;
  tail.paths = settings.paths;
  for (const double profit : profits) {
    tail.worst_profits.push_back(std::llround(profit / book.quantum));
    tail.sum = tail.sum + as_sum(tail.worst_profits.back());
  }
  std::sort(tail.worst_profits.begin(), tail.worst_profits.end());
  tail.worst_profits.resize(static_cast<std::size_t>(worst_paths_needed(settings)));
  return var_result(book, settings, tail);
}

Agreement compare(const VarSettings& settings, const VarResult& ours, const VarResult& peer) {
  Agreement both;
  for (std::size_t i = 0; i < settings.levels.size(); ++i) {
    const VarLevel& our_level = ours.levels[i];
    const VarLevel& peer_level = peer.levels[i];
    const double errors = std::abs(our_level.value_at_risk - peer_level.value_at_risk)
                          / std::hypot(our_level.standard_error, peer_level.standard_error);
    const bool holds = errors <= most_standard_errors;
    both.holds = both.holds && holds;
    both.text +=
        fmt::format("{}{}{:g} % VaR {:.0f} and {:.0f}; {:.1f} standard errors apart",
                    both.text.empty() ? "" : "; ", holds ? "" : "FAIL: ", 100 * settings.levels[i],
                    our_level.value_at_risk, peer_level.value_at_risk, errors);
  }
  return both;
}

class VarContest {
public:
  explicit VarContest(RiskReport& report)
      : report_(report),
        clock_(report.options().clock),
        portfolio_(built_in_portfolio(PortfolioSettings{}, place)) {
    settings_.levels = {0.95, 0.99};
    settings_.paths = our_paths;
    book_ = make_book(portfolio_, settings_, place);
    quantlib_ = quantlib_book(portfolio_, settings_);
  }

  void run(int threads) {
    const QuantlibWay peer = fastest(threads);
    const std::int64_t peer_paths = peer_paths_a_thread * threads;
    std::vector<double> profits(static_cast<std::size_t>(peer_paths)), all_profits;
    VarTail our_tail;
    std::uint64_t seed = 0;
    const auto passes =
        Interleaved({[&](std::size_t) {
                       omp_set_num_threads(threads);
                       return seconds(clock_, threads,
                                      [&] { our_tail = openmp_var(book_, settings_).tail; });
                     },
                     [&](std::size_t) {
                       seed += 1000; // every pass has paths of its own
                       const double spent_s = seconds(
                           clock_, threads, [&] { peer.run(quantlib_, seed, threads, profits); });
                       all_profits.insert(all_profits.end(), profits.begin(), profits.end());
                       return spent_s;
                     }},
                    1)
            .passes(report_.options().pairs, [](int) {});
    std::vector<double> ours, theirs;
    for (const std::vector<double>& pass : passes) {
      ours.push_back(1e-3 * static_cast<double>(our_paths) / pass[0]);
      theirs.push_back(1e-3 * static_cast<double>(peer_paths) / pass[1]);
    }
    RiskRow row = row_of_rates("quantlib.var", "kpaths/s", threads, ours, theirs);
    row.size = fmt::format("{} factors; {} shares; {} options", book_.factors,
                           portfolio_.positions.size() - quantlib_.options.size(),
                           quantlib_.options.size());
    row.agreement = compare(settings_, var_result(book_, settings_, our_tail),
                            result_of(book_, settings_, all_profits));
    row.against = "QuantLib " + quantlib_version() + "; " + peer.name;
    report_.print(row);
    report_.say(fmt::format("{} threads: value at risk done", threads));
  }

private:
  QuantlibWay fastest(int threads) const {
    QuantlibWay best;
    double best_s = 0;
    std::vector<double> profits(static_cast<std::size_t>(peer_paths_a_thread / 8));
    for (const QuantlibWay& way : quantlib_ways()) {
      const double way_s =
          seconds(clock_, threads, [&] { way.run(quantlib_, 0, threads, profits); });
      report_.say(fmt::format("quantlib.var: {} {:.0f} ms", way.name, 1e3 * way_s));
      if (best.run && way_s >= best_s) continue;
      best = way;
      best_s = way_s;
    }
    return best;
  }

  RiskReport& report_;
  Clock clock_;
  Portfolio portfolio_;
  VarSettings settings_;
  VarBook book_;
  QuantlibBook quantlib_;
};

} // namespace

void print_var_rows(RiskReport& report) {
  if (!report.is_wanted("quantlib.var")) return;
  if (!quantlib_found()) {
    for (const int threads : report.options().threads)
      report.not_run("quantlib.var", threads, "libquantlib0-dev not found");
    return;
  }
  VarContest contest(report);
  for (const int threads : report.options().threads)
    contest.run(threads);
}

} // namespace breakeven::peers
