#include "sim/compare/verdict.h"

#include <fmt/format.h>

#include <stdexcept>

namespace breakeven {

namespace {

constexpr double sure = 0.9, unlikely = 0.1;

std::string duration(double seconds) {
  if (seconds >= 3600) return fmt::format("{:.3g} h", seconds / 3600);
  if (seconds >= 60) return fmt::format("{:.3g} min", seconds / 60);
  return fmt::format("{:.3g} s", seconds);
}

std::string usd(double amount) { return fmt::format("{:.{}f} USD", amount, amount < 1 ? 4 : 2); }

/// A model's probability is never 0 or 1.
std::string probability(double p) {
  if (p > 0.99) return "above 0.99";
  if (p < 0.01) return "below 0.01";
  return fmt::format("{:.2f}", p);
}

/// Why there is nothing to decide; "" when there is.
std::string gap(const Comparison& row, const Priced& baseline, const Priced& candidate) {
  if (!baseline.projection.available)
    return "the baseline has no time: " + baseline.projection.note;
  if (!candidate.projection.available)
    return "the candidate has no time: " + candidate.projection.note;
  if (row.implausible)
    return fmt::format("the likely speed-up of {:.3g} is above the {:.3g} that the two machines' "
                       "ceilings allow; explain it before using it",
                       row.speedup->likely, *row.envelope_max);
  if (!baseline.priced) return "the baseline cannot be priced: " + baseline.note;
  if (!candidate.priced) return "the candidate cannot be priced: " + candidate.note;
  return "";
}

std::string cost_figures(const Comparison& row) {
  const std::string turning =
      row.break_even_speedup
          ? fmt::format("breaks even from a speed-up of {:.3g}, likely {:.3g}",
                        *row.break_even_speedup, row.speedup->likely)
          : fmt::format("no speed-up would make it cheaper, the likely one is {:.3g}",
                        row.speedup->likely);
  return fmt::format("cheaper with probability {}; {}", probability(*row.p_cheaper), turning);
}

std::string deadline_figures(const Comparison& row) {
  return fmt::format("meets the deadline of {} with probability {}, the baseline with {}",
                     duration(*row.deadline_s), probability(*row.p_meets_deadline),
                     probability(*row.baseline_p_meets_deadline));
}

std::string run_costs(const Comparison& row) {
  return fmt::format("a run likely costs {} against {}", usd(row.candidate_cost_usd->likely),
                     usd(row.baseline_cost_usd->likely));
}

/// Rule 2. Empty verdicts are written as an empty reason.
Decision by_deadline(const Comparison& row) {
  const double candidate = *row.p_meets_deadline, baseline = *row.baseline_p_meets_deadline;
  if (baseline <= unlikely && candidate >= sure)
    return {Verdict::migrate, deadline_figures(row) + "; " + run_costs(row)};
  if (baseline >= sure && candidate <= unlikely)
    return {Verdict::stay, deadline_figures(row) + "; " + run_costs(row)};
  if (baseline <= unlikely && candidate <= unlikely)
    return {Verdict::undecided, "neither is fast enough: " + deadline_figures(row)};
  return {};
}

/// Rules 3 to 5.
Decision by_cost(const Comparison& row) {
  const bool has_deadline = row.deadline_s.has_value();
  const std::string figures =
      cost_figures(row) + (has_deadline ? "; " + deadline_figures(row) : "");
  if (*row.p_cheaper >= sure) {
    if (has_deadline && *row.p_meets_deadline < sure)
      return {Verdict::undecided, "the deadline is in doubt: " + figures};
    return {Verdict::migrate, figures};
  }
  if (*row.p_cheaper <= unlikely) {
    if (has_deadline
        && *row.baseline_p_meets_deadline<
               sure&& * row.p_meets_deadline> * row.baseline_p_meets_deadline)
      return {Verdict::undecided, "dearer, but likelier to meet the deadline: " + figures};
    return {Verdict::stay, figures};
  }
  return {Verdict::undecided, "the costs overlap: " + figures};
}

/// Why the machines of one side do not do as a steady service, at likely times; "" where they do or
/// nobody asks.
std::string falls_short(const Comparison& row, const Throughput& service) {
  if (!row.units_per_day || !service.capacity_units_per_day) return "";
  if (service.turnaround == turnaround_unbounded)
    return fmt::format("{:.3g} arrive a day and it can take {:.3g}", *row.units_per_day,
                       service.capacity_units_per_day->likely);
  if (row.turnaround_deadline_s && *service.turnaround_p95_s > *row.turnaround_deadline_s)
    return fmt::format("its turnaround of {} (95 %) is above the {} allowed",
                       duration(*service.turnaround_p95_s), duration(*row.turnaround_deadline_s));
  return "";
}

Decision with_service(const Comparison& row, const Decision& decision) {
  const std::string candidate = falls_short(row, row.candidate_throughput);
  const std::string baseline = falls_short(row, row.baseline_throughput);
  if (decision.verdict == Verdict::migrate && !candidate.empty())
    return {Verdict::undecided,
            "not enough for the steady service: " + candidate + "; " + decision.reason};
  if (decision.verdict == Verdict::stay && !baseline.empty() && candidate.empty())
    return {Verdict::undecided, "the baseline is not enough for the steady service: " + baseline
                                    + "; " + decision.reason};
  return decision;
}

Decision by_run(const Comparison& row) {
  if (row.deadline_s) {
    if (const Decision decision = by_deadline(row); !decision.reason.empty()) return decision;
  }
  return by_cost(row);
}

} // namespace

std::string to_string(Verdict verdict) {
  switch (verdict) {
  case Verdict::migrate:
    return "migrate";
  case Verdict::stay:
    return "stay";
  case Verdict::undecided:
    return "undecided";
  }
  throw std::logic_error("a verdict without a name");
}

Decision decide(const Comparison& row, const Priced& baseline, const Priced& candidate) {
  if (const std::string reason = gap(row, baseline, candidate); !reason.empty())
    return {Verdict::undecided, reason};
  return with_service(row, by_run(row));
}

} // namespace breakeven
