// What a sweep over sizes says: a SizeRow for each size and candidate, which is a row of sweep.csv,
// and from which size on a candidate is ahead of the baseline, with an interval. Takes comparisons;
// leaves out sizes beyond those swept. All sizes share one model and its error, so most of
// the interval is no noise between sizes.
#pragma once

#include "sim/compare/comparison.h"
#include "sim/scenario/sizes.h"

#include <optional>
#include <string>
#include <vector>

namespace breakeven {

struct SizeRow {
  std::string size_key; ///< "workload.rows"
  Size size;
  int target = 2;        ///< the candidate's [[target]], counted from 1, which is the baseline
  Comparison comparison; ///< at this size; without times where it was not measured
};

/// One size's comparisons, in the order of the scenario's targets.
std::vector<SizeRow> size_rows(const std::string& size_key, const Size& size,
                               const std::vector<Comparison>& comparisons);

/// Whether anything was measured at this size.
bool is_measured(const SizeRow& row);

bool has_both_costs(const Comparison& row);
/// Baseline's cost over candidate's: above 1 the candidate is cheaper. Empty without both costs.
std::optional<Interval> cost_ratio(const Comparison& row);

/// Baseline over candidate at one size: above 1 the candidate is ahead.
struct RatioAtSize {
  double size = 0; ///< above 0
  Interval ratio;  ///< low > 0
};

enum class Place { below, inside, beyond };

/// A size, or that it lies outside the sizes with a ratio: `size` is then the smallest or largest.
struct CrossoverPoint {
  Place place = Place::inside;
  double size = 0;
};

struct Crossover {
  /// Where the candidate is ahead. `above`: from `likely` on, at all larger sizes swept (beyond: at
  /// none of the largest, so never; below: at all). `below`: up to `likely`, and no more from there
  /// on.
  enum class Ahead { above, below } ahead = Ahead::above;
  /// Of the ratio's 10, 50 and 90 % points each: the last size at which it crosses 1. Ordered.
  CrossoverPoint low, likely, high;
  int crossings = 0; ///< of the likely ratio; more than one: what is given is the last
  double smallest = 0, largest = 0; ///< sizes with a ratio
};

/// `ratios` ascend in size. Between two neighbours, log ratio is linear in log size. Empty where
/// there are none.
std::optional<Crossover> crossover_of(const std::vector<RatioAtSize>& ratios);

} // namespace breakeven
