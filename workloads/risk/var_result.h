// Value at risk and expected shortfall from the worst profits of a run, with what sampling leaves
// uncertain. Same tail, same figures: nothing here knows which path ran.
#pragma once

#include "workloads/risk/var.h"

namespace breakeven::risk {

/// Losses are positive, in currency.
struct VarLevel {
  double level = 0;
  /// The smallest loss that at least `level` of the paths do not exceed.
  double value_at_risk = 0;
  /// A 95 % interval from order statistics, whatever the distribution of losses (Conover,
  /// "Practical Nonparametric Statistics", section 3.2); the last loss where there is none beyond.
  double low = 0, high = 0;
  double standard_error = 0; ///< the interval's width / (2 x 1.96)
  /// The mean of the worst 1 - level of the paths, the one on the edge counted in part (Acerbi and
  /// Tasche, "On the coherence of expected shortfall", 2002, definition 2.6).
  double expected_shortfall = 0;
  double expected_shortfall_standard_error = 0;
};

struct VarResult {
  std::vector<VarLevel> levels; ///< in the order of the settings
  double mean_profit = 0;
  std::int64_t paths = 0;
};

/// How many of the worst paths var_result() reads: those of the lowest level's interval.
std::int64_t worst_paths_needed(const VarSettings& settings);
VarResult var_result(const VarBook& book, const VarSettings& settings, const VarTail& tail);
/// Of the tail and the sum, equal where all their numbers are.
std::uint64_t checksum_of(const VarTail& tail);

/// The `wanted` smallest of `count` values, smallest first, on all threads; 0 <= wanted <= count.
std::vector<std::int64_t> openmp_smallest(const std::int64_t* values, std::int64_t count,
                                          std::int64_t wanted);

} // namespace breakeven::risk
