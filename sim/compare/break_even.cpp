#include "sim/compare/break_even.h"

#include <cmath>
#include <cstdint>

namespace breakeven {

namespace {

constexpr std::int64_t largest_size = 1'000'000'000;
constexpr long most_steps = 2'000'000;

bool has_cost(const Priced& priced) { return priced.priced && priced.projection.available; }

double cost_of(const Priced& priced, std::int64_t units) {
  return likely_run(priced, static_cast<double>(units)).cost_usd;
}

enum class Found { yes, no, gave_up };

/// Looks for the last size in [first, last] at which the candidate is not cheaper. Neither cost
/// ever falls with the size, so a range is clear when the baseline's cost at its start is above the
/// candidate's at its end; other ranges are halved, the later half first.
class LastSizeNotCheaper {
public:
  LastSizeNotCheaper(const Priced& baseline, const Priced& candidate)
      : baseline_(baseline),
        candidate_(candidate) {}

  Found search(std::int64_t first, std::int64_t last) {
    if (++steps_ > most_steps) return Found::gave_up;
    if (cost_of(baseline_, first) > cost_of(candidate_, last)) return Found::no;
    if (first == last) {
      size_ = first;
      return Found::yes;
    }
    const std::int64_t middle = first + (last - first) / 2;
    const Found later = search(middle + 1, last);
    return later == Found::no ? search(first, middle) : later;
  }
  std::int64_t size() const { return size_; }

private:
  const Priced& baseline_;
  const Priced& candidate_;
  long steps_ = 0;
  std::int64_t size_ = 0;
};

} // namespace

std::optional<double> break_even_speedup(const Priced& baseline, const Priced& candidate) {
  if (!has_cost(baseline) || !has_cost(candidate)) return {};
  const double allowed_usd = baseline.cost_usd.likely;
  const auto cost_at = [&](double scale) {
    return likely_run(candidate, candidate.projection.job_units, scale).cost_usd;
  };
  if (cost_at(0) > allowed_usd) return {};
  double affordable = 0, too_slow = 1;
  constexpr double slowest = 1e12; // a machine that is free never costs more
  while (cost_at(too_slow) <= allowed_usd) {
    affordable = too_slow;
    too_slow *= 2;
    if (too_slow > slowest) return {};
  }
  for (int i = 0; i < 100; ++i) {
    const double middle = (affordable + too_slow) / 2;
    (cost_at(middle) <= allowed_usd ? affordable : too_slow) = middle;
  }
  if (affordable <= 0) return {};
  return baseline.projection.end_to_end_s.likely
         / (affordable * candidate.projection.end_to_end_s.likely);
}

std::optional<double> break_even_price_usd_per_h(const Priced& baseline, const Priced& candidate) {
  if (!has_cost(baseline) || !candidate.projection.available) return {};
  const double billed_h = billed_seconds(candidate.time_to_result_s.likely,
                                         candidate.billing_step_s, candidate.billing_minimum_s)
                          / 3600;
  return baseline.cost_usd.likely / (candidate.projection.count * billed_h);
}

std::optional<double> crossover_size(const Priced& baseline, const Priced& candidate) {
  if (!has_cost(baseline) || !has_cost(candidate)) return {};
  LastSizeNotCheaper last(baseline, candidate);
  switch (last.search(1, largest_size)) {
  case Found::no:
    return 1;
  case Found::gave_up:
    return {};
  case Found::yes:
    break;
  }
  if (last.size() == largest_size) return {};
  return static_cast<double>(last.size() + 1);
}

} // namespace breakeven
