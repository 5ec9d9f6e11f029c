#include "workloads/risk/var_result.h"

#include "workloads/checksum.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace breakeven::risk {

namespace {

constexpr double normal_of_95_percent = 1.959964;

/// Ranks of losses from the smallest, 1 to paths: of the quantile and of its interval.
struct Ranks {
  double edge; ///< level x paths
  std::int64_t quantile, low, high;
};

Ranks ranks_of(double level, std::int64_t paths) {
  const auto n = static_cast<double>(paths);
  double edge = level * n;
  // 0.9 x 10 is a little more or less than 9 in binary.
  if (std::abs(edge - std::round(edge)) < 1e-9 * n) edge = std::round(edge);
  const auto rank = [&](double value) {
    return std::clamp(static_cast<std::int64_t>(value), std::int64_t{1}, paths);
  };
  const double reach = normal_of_95_percent * std::sqrt(n * level * (1 - level));
  return {edge, rank(std::ceil(edge)), rank(std::floor(edge - reach)),
          rank(std::ceil(edge + reach) + 1)};
}

double quanta_in(const ProfitSum& sum) {
  return static_cast<double>(sum.high) * 0x1p20 + static_cast<double>(sum.low);
}

} // namespace

std::int64_t worst_paths_needed(const VarSettings& settings) {
  std::int64_t needed = 0;
  for (const double level : settings.levels)
    needed = std::max(needed, settings.paths - ranks_of(level, settings.paths).low + 1);
  return needed;
}

VarResult var_result(const VarBook& book, const VarSettings& settings, const VarTail& tail) {
  assert(static_cast<std::int64_t>(tail.worst_profits.size()) >= worst_paths_needed(settings));
  const auto n = static_cast<double>(tail.paths);
  VarResult result;
  result.paths = tail.paths;
  result.mean_profit = quanta_in(tail.sum) / n * book.quantum;
  const auto loss = [&](std::int64_t rank) {
    return -tail.worst_profits[static_cast<std::size_t>(tail.paths - rank)];
  };
  for (const double level : settings.levels) {
    const Ranks ranks = ranks_of(level, tail.paths);
    const std::int64_t edge_loss = loss(ranks.quantile);
    ProfitSum excesses; // exact
    double squares = 0;
    for (std::int64_t rank = ranks.quantile + 1; rank <= tail.paths; ++rank) {
      const std::int64_t excess = loss(rank) - edge_loss;
      excesses = excesses + as_sum(excess);
      squares += static_cast<double>(excess) * static_cast<double>(excess);
    }
    const double beyond = quanta_in(excesses);
    const double tail_paths = n - ranks.edge;
    const double mean_excess = beyond / tail_paths;
    // Variance of max(loss - VaR, 0) over all paths; its mean over 1 - level is the excess of the
    // shortfall over VaR (Rockafellar and Uryasev, 2000), which moves it only to second order.
    const double mean = beyond / n;
    const double variance = std::max(0.0, squares / n - mean * mean);
    VarLevel& out = result.levels.emplace_back();
    out.level = level;
    out.value_at_risk = static_cast<double>(edge_loss) * book.quantum;
    out.low = static_cast<double>(loss(ranks.low)) * book.quantum;
    out.high = static_cast<double>(loss(ranks.high)) * book.quantum;
    out.standard_error = (out.high - out.low) / (2 * normal_of_95_percent);
    out.expected_shortfall = out.value_at_risk + mean_excess * book.quantum;
    out.expected_shortfall_standard_error = std::sqrt(variance / n) / (1 - level) * book.quantum;
  }
  return result;
}

std::uint64_t checksum_of(const VarTail& tail) {
  Checksum checksum;
  const auto take = [&](std::int64_t value) { checksum.take(static_cast<std::uint64_t>(value)); };
  take(tail.paths);
  take(tail.sum.high);
  take(tail.sum.low);
  for (const std::int64_t profit : tail.worst_profits)
    take(profit);
  return checksum.value();
}

} // namespace breakeven::risk
