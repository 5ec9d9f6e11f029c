#include "sim/compare/comparison.h"

#include "sim/compare/break_even.h"
#include "sim/compare/lognormal.h"
#include "sim/compare/verdict.h"

namespace breakeven {

namespace {

const Measurement* total_row(const std::vector<Measurement>& measurements, Path path) {
  const Measurement* found = nullptr;
  for (const Measurement& row : measurements)
    if (row.path == path && !is_side_by_side(row) && (found == nullptr || is_total(row)))
      found = &row;
  return found;
}

void add_sentence(std::string& text, const std::string& more) {
  if (more.empty()) return;
  text += (text.empty() ? "" : "; ") + more;
}

void set_question(Comparison& row, const Scenario& scenario, const Measurement* cpu_side) {
  row.study = scenario.name;
  row.title = scenario.title;
  row.scenario_sha256 = scenario.sha256;
  row.workload = scenario.workload_kind;
  row.runs_per_month = scenario.job.runs_per_month;
  row.deadline_s = scenario.job.deadline_s;
  row.units_per_day = scenario.job.units_per_day;
  if (row.units_per_day) row.arrivals = to_string(scenario.job.arrivals);
  row.turnaround_deadline_s = scenario.job.turnaround_deadline_s;
  if (cpu_side == nullptr) return;
  row.workload = cpu_side->workload;
  row.unit = cpu_side->unit;
  row.job_units = cpu_side->job_units;
  row.slice = cpu_side->slice;
  row.stop_reason = cpu_side->stop_reason;
  row.version = cpu_side->environment.version;
}

void set_baseline(Comparison& row, const Priced& baseline) {
  const Projection& projection = baseline.projection;
  row.baseline_path = to_string(projection.path);
  row.baseline_device = projection.device;
  row.baseline_instance = projection.instance;
  row.baseline_option = baseline.option;
  row.baseline_count = projection.count;
  row.baseline_threads = projection.threads;
  row.baseline_isa = projection.isa;
  row.baseline_evidence = projection.evidence;
  if (baseline.priced) {
    row.baseline_price_usd_per_h = baseline.price_usd_per_h;
    row.baseline_price_as_of = baseline.price_as_of;
    row.baseline_price_source = baseline.price_source;
  }
  if (!projection.available) return;
  row.baseline_time_s = projection.end_to_end_s;
  row.baseline_time_to_result_s = baseline.time_to_result_s;
  if (baseline.priced) row.baseline_cost_usd = baseline.cost_usd;
}

void set_candidate_times(Comparison& row, const Priced& candidate) {
  const Projection& projection = candidate.projection;
  row.candidate_in_range = projection.in_range;
  row.candidate_kernel_s = projection.kernel_s;
  row.candidate_end_to_end_s = projection.end_to_end_s;
  row.candidate_cold_s = projection.cold_s;
  row.candidate_time_to_result_s = candidate.time_to_result_s;
  row.setup_s = candidate.setup_s;
  row.ingest_s = candidate.ingest_s;
  row.compute_s = candidate.compute_s;
  row.rework_s = candidate.rework_s;
  row.download_s = candidate.download_s;
  row.bound_by = projection.bound_by;
  row.candidate_floor_s = floor_s(projection);
  if (candidate.priced) row.candidate_cost_usd = candidate.cost_usd;
}

void set_candidate(Comparison& row, const Priced& candidate) {
  const Projection& projection = candidate.projection;
  row.candidate_path = to_string(projection.path);
  row.candidate_device = projection.device;
  row.candidate_instance = projection.instance;
  row.candidate_option = candidate.option;
  row.candidate_count = projection.count;
  row.candidate_evidence = projection.evidence;
  if (projection.envelope_max > 0) row.envelope_max = projection.envelope_max;
  if (projection.available) set_candidate_times(row, candidate);
}

void set_price(Comparison& row, const Priced& candidate) {
  if (candidate.option == "spot" && !candidate.interruption_source.empty()) {
    row.interruptions_per_h_low = candidate.interruptions_per_h.low;
    row.interruptions_per_h_likely = candidate.interruptions_per_h.likely;
    row.interruptions_per_h_high = candidate.interruptions_per_h.high;
    row.interruption_source = candidate.interruption_source;
  }
  if (!candidate.priced) return;
  row.price_usd_per_h = candidate.price_usd_per_h;
  row.price_original_per_h = candidate.price_original_per_h;
  row.price_currency = candidate.currency;
  row.price_region = candidate.region;
  row.price_as_of = candidate.price_as_of;
  row.price_source = candidate.price_source;
  row.usd_per_currency = candidate.usd_per_currency;
  row.rate_as_of = candidate.rate_as_of;
  row.rate_source = candidate.rate_source;
}

void set_time_answers(Comparison& row, const Priced& baseline, const Priced& candidate) {
  row.speedup = ratio(baseline.projection.end_to_end_s, candidate.projection.end_to_end_s);
  row.implausible = row.envelope_max && row.speedup->likely > *row.envelope_max;
  if (!row.deadline_s) return;
  row.p_meets_deadline = probability_at_most(candidate.time_to_result_s, *row.deadline_s);
  row.baseline_p_meets_deadline = probability_at_most(baseline.time_to_result_s, *row.deadline_s);
}

void set_cost_answers(Comparison& row, const Priced& baseline, const Priced& candidate) {
  row.break_even_speedup = break_even_speedup(baseline, candidate);
  row.break_even_price_usd_per_h = break_even_price_usd_per_h(baseline, candidate);
  row.crossover_size = crossover_size(baseline, candidate);
  if (!row.baseline_cost_usd || !row.candidate_cost_usd) return;
  row.p_cheaper = probability_less(*row.candidate_cost_usd, *row.baseline_cost_usd);
  row.saving_usd_per_month =
      (row.baseline_cost_usd->likely - row.candidate_cost_usd->likely) * row.runs_per_month;
}

/// Both sides must have been checked against the reference.
void set_verification(Comparison& row, const std::vector<Measurement>& measurements,
                      const Priced& baseline, const Priced& candidate) {
  std::vector<Path> paths{baseline.projection.path};
  if (candidate.projection.path != paths.front()) paths.push_back(candidate.projection.path);
  row.verified = true;
  for (const Path path : paths) {
    const Measurement* total = total_row(measurements, path);
    row.verified = row.verified && total != nullptr && total->verified;
    add_sentence(row.verification,
                 to_string(path) + ": " + (total != nullptr ? total->verification : "not run"));
  }
}

/// What is missing comes first, then what weakens the figures, then what no row models.
void set_excluded(Comparison& row, const Priced& baseline, const Priced& candidate) {
  add_sentence(row.excluded, candidate.projection.note);
  add_sentence(row.excluded, candidate.note);
  if (!baseline.projection.note.empty())
    add_sentence(row.excluded, "baseline: " + baseline.projection.note);
  if (!baseline.note.empty()) add_sentence(row.excluded, "baseline: " + baseline.note);
  for (const std::string& line : excluded())
    add_sentence(row.excluded, line);
}

Comparison compare_one(const Scenario& scenario, const std::vector<Measurement>& measurements,
                       const Priced& baseline, const Throughput& baseline_throughput,
                       const Priced& candidate) {
  Comparison row;
  set_question(row, scenario, total_row(measurements, Path::openmp));
  set_baseline(row, baseline);
  set_candidate(row, candidate);
  set_price(row, candidate);
  if (baseline.projection.available && candidate.projection.available)
    set_time_answers(row, baseline, candidate);
  set_cost_answers(row, baseline, candidate);
  row.baseline_throughput = baseline_throughput;
  row.candidate_throughput = throughput_of(scenario.job, candidate.projection);
  set_verification(row, measurements, baseline, candidate);
  set_excluded(row, baseline, candidate);
  const Decision decision = decide(row, baseline, candidate);
  row.verdict = decision.verdict;
  row.verdict_reason = decision.reason;
  return row;
}

} // namespace

std::vector<Comparison> compare(const Scenario& scenario,
                                const std::vector<Measurement>& measurements,
                                const std::vector<Priced>& priced) {
  std::vector<Comparison> rows;
  if (priced.size() < 2) return rows;
  const Throughput baseline = throughput_of(scenario.job, priced.front().projection);
  for (std::size_t i = 1; i < priced.size(); ++i)
    rows.push_back(compare_one(scenario, measurements, priced.front(), baseline, priced[i]));
  return rows;
}

} // namespace breakeven
