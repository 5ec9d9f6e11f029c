#include "sim/compare/crossover.h"

#include "sim/compare/lognormal.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace breakeven {

namespace {

/// The logarithm of one point of the ratio over that of the size. `sign` -1 turns baseline and
/// candidate round.
struct Curve {
  const std::vector<RatioAtSize>& ratios;
  double Interval::*point;
  double sign;

  double operator()(std::size_t i) const { return sign * std::log(ratios[i].ratio.*point); }
};

/// Between two neighbours, of which the first is not ahead and the second is.
double crossing_between(const Curve& curve, std::size_t before, std::size_t after) {
  const double from = curve(before), to = curve(after);
  const double size_from = curve.ratios[before].size, size_to = curve.ratios[after].size;
  const double share = -from / (to - from);
  return std::clamp(size_from * std::pow(size_to / size_from, share), size_from, size_to);
}

/// The smallest size from which on the curve stays above 0, up to the largest.
CrossoverPoint stays_ahead_from(const Curve& curve) {
  std::size_t first_ahead = curve.ratios.size();
  while (first_ahead > 0 && curve(first_ahead - 1) > 0)
    --first_ahead;
  if (first_ahead == 0) return {Place::below, curve.ratios.front().size};
  if (first_ahead == curve.ratios.size()) return {Place::beyond, curve.ratios.back().size};
  return {Place::inside, crossing_between(curve, first_ahead - 1, first_ahead)};
}

} // namespace

std::vector<SizeRow> size_rows(const std::string& size_key, const Size& size,
                               const std::vector<Comparison>& comparisons) {
  std::vector<SizeRow> rows;
  for (const Comparison& comparison : comparisons)
    rows.push_back({size_key, size, static_cast<int>(rows.size()) + 2, comparison});
  return rows;
}

bool is_measured(const SizeRow& row) { return !row.comparison.slice.empty(); }

bool has_both_costs(const Comparison& row) {
  return row.baseline_cost_usd && row.candidate_cost_usd && row.baseline_cost_usd->low > 0
         && row.candidate_cost_usd->low > 0;
}

std::optional<Interval> cost_ratio(const Comparison& row) {
  if (!has_both_costs(row)) return {};
  return ratio(*row.baseline_cost_usd, *row.candidate_cost_usd);
}

std::optional<Crossover> crossover_of(const std::vector<RatioAtSize>& ratios) {
  if (ratios.empty()) return {};
  for ([[maybe_unused]] const RatioAtSize& one : ratios)
    assert(one.size > 0 && one.ratio.low > 0);
  const Curve likely{ratios, &Interval::likely, 1};
  Crossover crossover;
  crossover.smallest = ratios.front().size;
  crossover.largest = ratios.back().size;
  bool ever_ahead = likely(0) > 0;
  for (std::size_t i = 1; i < ratios.size(); ++i) {
    crossover.crossings += (likely(i - 1) > 0) != (likely(i) > 0);
    ever_ahead = ever_ahead || likely(i) > 0;
  }
  const bool lost = ever_ahead && likely(ratios.size() - 1) <= 0;
  crossover.ahead = lost ? Crossover::Ahead::below : Crossover::Ahead::above;
  const double sign = lost ? -1 : 1;
  // The larger the ratio, the earlier a lead begins and the later it ends.
  crossover.low = stays_ahead_from({ratios, lost ? &Interval::low : &Interval::high, sign});
  crossover.likely = stays_ahead_from({ratios, &Interval::likely, sign});
  crossover.high = stays_ahead_from({ratios, lost ? &Interval::high : &Interval::low, sign});
  return crossover;
}

} // namespace breakeven
