#include "sim/report/sweep.h"

#include "sim/report/answer.h"
#include "sim/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {

using Rows = std::vector<const SizeRow*>;

bool is_usable(const Interval& ratio) { return ratio.low > 0 && std::isfinite(ratio.high); }

std::optional<Interval> time_ratio(const Comparison& row) { return row.speedup; }

std::optional<Crossover> crossover_over(const Rows& rows,
                                        std::optional<Interval> (*ratio_of)(const Comparison&)) {
  std::vector<RatioAtSize> ratios;
  for (const SizeRow* row : rows)
    if (const auto ratio = ratio_of(row->comparison); ratio && is_usable(*ratio))
      ratios.push_back({row->size.amount, *ratio});
  return crossover_of(ratios);
}

int weakness(const std::string& evidence) {
  return evidence == "projected" ? 3 : evidence == "extrapolated" ? 2 : evidence == "measured";
}

std::string weakest_evidence(const Rows& rows) {
  std::string weakest;
  for (const SizeRow* row : rows) {
    const Comparison& one = row->comparison;
    if (!one.speedup) continue;
    const std::string evidence = weaker_evidence(one);
    if (weakness(evidence) > weakness(weakest)) weakest = evidence;
  }
  return weakest;
}

std::string first_to_last(const std::string& first, const std::string& last) {
  return first == last ? first : first + " to " + last;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

struct Scaled {
  double amount;
  std::string unit;
};

Scaled in_readable_unit(double amount, const std::string& unit) {
  if (unit == "B")
    for (const auto& [bytes, name] :
         {std::pair(0x1p40, "TiB"), {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}})
      if (amount >= bytes) return {amount / bytes, name};
  return {amount, unit};
}

std::string point_text(const CrossoverPoint& point, const std::string& unit) {
  switch (point.place) {
  case Place::below:
    return "below " + stated_size(point.size, unit);
  case Place::inside:
    return rounded_size(point.size, unit);
  case Place::beyond:
    return "beyond " + stated_size(point.size, unit);
  }
  return "";
}

/// What is said of all sizes holds only of those that have figures.
struct SizeCounts {
  std::size_t all = 0, with_figures = 0;

  const char* every() const {
    return with_figures == all ? "at every size" : "at every size with figures";
  }
  const char* none() const {
    return with_figures == all ? "in this range" : "at the sizes with figures";
  }
};

/// "faster from 420,000 on (180,000 to 1,100,000)".
std::string lead_words(const std::optional<Crossover>& crossover, const std::string& word,
                       const std::string& unit, const SizeCounts& sizes) {
  if (!crossover) return "no figures for whether it is " + word;
  const std::string range = crossover_range(*crossover, unit);
  const std::string likely = point_text(crossover->likely, unit);
  if (crossover->ahead == Crossover::Ahead::below)
    return fmt::format("{} up to {} ({}), not beyond", word, likely, range);
  switch (crossover->likely.place) {
  case Place::below:
    return fmt::format("{} {} (crossover {})", word, sizes.every(), range);
  case Place::inside:
    return fmt::format("{} from {} on ({})", word, likely, range);
  case Place::beyond:
    return fmt::format("never {} {} (crossover {})", word, sizes.none(), range);
  }
  return "";
}

std::string place_text(const std::optional<Crossover>& crossover, const std::string& unit,
                       const SizeCounts& sizes) {
  if (!crossover) return "-";
  const std::string likely = point_text(crossover->likely, unit);
  if (crossover->ahead == Crossover::Ahead::below) return "up to " + likely;
  switch (crossover->likely.place) {
  case Place::below:
    return likely + ": " + sizes.every();
  case Place::inside:
    return "from " + likely;
  case Place::beyond:
    return std::string("never ") + sizes.none();
  }
  return "";
}

void add_doubts(std::vector<std::string>& doubts, const std::optional<Crossover>& crossover,
                const CandidateSweep& candidate, bool (*has_ratio)(const Comparison&),
                const std::string& word) {
  if (!crossover) return;
  if (crossover->crossings > 1)
    doubts.push_back(fmt::format("whether it is {} changes {} times; what is given is the last",
                                 word, crossover->crossings));
  if (crossover->likely.place != Place::inside) return;
  // The neighbours that do have a ratio.
  double before = crossover->smallest, after = crossover->largest;
  for (const SizeRow* row : candidate.rows)
    if (has_ratio(row->comparison)) {
      if (row->size.amount <= crossover->likely.size) before = row->size.amount;
      if (row->size.amount >= crossover->likely.size) after = std::min(after, row->size.amount);
    }
  std::vector<std::string> gaps;
  for (const SizeRow* row : candidate.rows)
    if (row->size.amount > before && row->size.amount < after) gaps.push_back(stated_size(*row));
  if (!gaps.empty())
    doubts.push_back(
        fmt::format("where it becomes {} lies across a gap at {}", word, listed(gaps)));
}

bool has_both_times(const Comparison& row) { return row.speedup.has_value(); }

} // namespace

std::vector<CandidateSweep> candidates_of(const std::vector<SizeRow>& rows) {
  std::vector<CandidateSweep> candidates;
  for (const SizeRow& row : rows) {
    auto same = std::find_if(candidates.begin(), candidates.end(), [&](const CandidateSweep& one) {
      return one.rows.front()->target == row.target;
    });
    if (same == candidates.end()) same = candidates.insert(same, CandidateSweep());
    same->rows.push_back(&row);
  }
  for (CandidateSweep& candidate : candidates) {
    candidate.name = first_to_last(candidate_name(candidate.rows.front()->comparison),
                                   candidate_name(candidate.rows.back()->comparison));
    candidate.faster = crossover_over(candidate.rows, time_ratio);
    candidate.cheaper = crossover_over(candidate.rows, cost_ratio);
    candidate.evidence = weakest_evidence(candidate.rows);
    for (const SizeRow* row : candidate.rows) {
      candidate.sizes_with_times += has_both_times(row->comparison);
      candidate.sizes_with_costs += has_both_costs(row->comparison);
    }
  }
  return candidates;
}

std::string baseline_of(const std::vector<SizeRow>& rows) {
  return first_to_last(baseline_name(rows.front().comparison),
                       baseline_name(rows.back().comparison));
}

std::vector<const SizeRow*> sizes_of(const std::vector<SizeRow>& rows) {
  std::vector<const SizeRow*> sizes;
  for (const SizeRow& row : rows)
    if (row.target == rows.front().target) sizes.push_back(&row);
  return sizes;
}

std::string stated_size(double amount, const std::string& unit) {
  if (unit.empty()) return count_text(amount);
  if (unit == "s") return stated_duration(amount);
  const Scaled scaled = in_readable_unit(amount, unit);
  return fmt::format("{:.4g} {}", scaled.amount, scaled.unit);
}

std::string stated_size(const SizeRow& row) {
  return row.size.unit.empty() ? count_text(row.size.amount) : row.size.text;
}

std::string rounded_size(double amount, const std::string& unit) {
  if (unit.empty()) return amount_text(amount);
  if (unit == "s") return duration_text(amount);
  const Scaled scaled = in_readable_unit(amount, unit);
  return amount_text(scaled.amount) + " " + scaled.unit;
}

std::string swept(const std::vector<SizeRow>& rows) {
  const auto sizes = sizes_of(rows);
  return fmt::format("{} from {} to {}", rows.front().size_key, stated_size(*sizes.front()),
                     stated_size(*sizes.back()));
}

std::string not_measured(const std::vector<SizeRow>& rows) {
  std::vector<std::string> missing;
  for (const SizeRow* row : sizes_of(rows))
    if (!is_measured(*row)) missing.push_back(stated_size(*row));
  return listed(missing);
}

std::string place_of_faster(const CandidateSweep& candidate) {
  return place_text(candidate.faster, candidate.rows.front()->size.unit,
                    {candidate.rows.size(), candidate.sizes_with_times});
}

std::string place_of_cheaper(const CandidateSweep& candidate) {
  return place_text(candidate.cheaper, candidate.rows.front()->size.unit,
                    {candidate.rows.size(), candidate.sizes_with_costs});
}

std::string crossover_range(const Crossover& crossover, const std::string& unit) {
  return first_to_last(point_text(crossover.low, unit), point_text(crossover.high, unit));
}

std::string crossover_words(const CandidateSweep& candidate) {
  const std::string& unit = candidate.rows.front()->size.unit;
  const std::size_t all = candidate.rows.size();
  return lead_words(candidate.faster, "faster", unit, {all, candidate.sizes_with_times}) + "; "
         + lead_words(candidate.cheaper, "cheaper", unit, {all, candidate.sizes_with_costs});
}

/// The same likely cost at every size, though times differ.
bool costs_stay(const CandidateSweep& candidate, std::optional<Interval> Comparison::*cost) {
  std::optional<double> first;
  int costs = 0;
  for (const SizeRow* row : candidate.rows) {
    const std::optional<Interval>& own = row->comparison.*cost;
    if (!own) continue;
    if (first && own->likely != *first) return false;
    first = own->likely;
    ++costs;
  }
  return costs > 1;
}

/// The likely time of the baseline falls although the size grows.
std::string falls_of_baseline(const CandidateSweep& candidate) {
  const SizeRow* before = nullptr;
  for (const SizeRow* row : candidate.rows) {
    if (!is_measured(*row)) continue;
    if (before != nullptr
        && row->comparison.baseline_time_s.likely < before->comparison.baseline_time_s.likely)
      return fmt::format("the baseline's time falls from {} to {}: it was measured with noise",
                         stated_size(*before), stated_size(*row));
    before = row;
  }
  return "";
}

std::vector<std::string> crossover_doubts(const CandidateSweep& candidate) {
  std::vector<std::string> doubts, implausible;
  add_doubts(doubts, candidate.faster, candidate, has_both_times, "faster");
  add_doubts(doubts, candidate.cheaper, candidate, has_both_costs, "cheaper");
  for (const SizeRow* row : candidate.rows)
    if (row->comparison.implausible) implausible.push_back(stated_size(*row));
  if (!implausible.empty())
    doubts.push_back("the speed-up at " + listed(implausible)
                     + " is above what the two machines' ceilings allow");
  if (const std::string falls = falls_of_baseline(candidate); !falls.empty())
    doubts.push_back(falls);
  if (costs_stay(candidate, &Comparison::baseline_cost_usd))
    doubts.push_back("the baseline costs the same at every size, as where runs are shorter than "
                     "what is billed at least: its cost says nothing about size");
  if (costs_stay(candidate, &Comparison::candidate_cost_usd))
    doubts.push_back("the candidate costs the same at every size, for the same reason");
  return doubts;
}

bool any_projected(const std::vector<CandidateSweep>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const CandidateSweep& candidate) {
    return candidate.evidence == "projected";
  });
}

std::string calibration_words(const std::vector<SizeRow>& rows) {
  std::size_t projected = 0, outside = 0;
  for (const SizeRow& row : rows) {
    const Comparison& one = row.comparison;
    const bool is_projected = one.candidate_end_to_end_s && one.candidate_evidence == "projected";
    projected += is_projected;
    outside += is_projected && !one.candidate_in_range;
  }
  if (outside == 0) return "";
  return fmt::format("{} of the {} projected times of candidates lie outside what the model was "
                     "calibrated on.",
                     outside, projected);
}

std::string column_title(const std::string& size_key) {
  constexpr std::size_t longest = 12;
  const std::string last = size_key.substr(size_key.rfind('.') + 1);
  return last.size() <= longest ? last : "size";
}

std::string weaker_evidence(const Comparison& row) {
  return weakness(row.baseline_evidence) > weakness(row.candidate_evidence)
             ? row.baseline_evidence
             : row.candidate_evidence;
}

std::string gap_of(const SizeRow& row) {
  const Comparison& one = row.comparison;
  if (!is_measured(row)) return "not measured";
  return one.speedup && has_both_costs(one) ? "" : one.verdict_reason;
}

} // namespace breakeven
