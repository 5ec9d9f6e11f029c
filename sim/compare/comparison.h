// Baseline against candidate: one Comparison per candidate, which is a row of comparison.csv and
// holds everything the memo says about it. Probabilities come from the two time intervals, each
// read as a split log-normal, taken as independent and combined on a fixed grid, so that the same
// input gives the same bytes. Leaves out: choosing for the reader.
#pragma once

#include "sim/compare/throughput.h"
#include "sim/price/price.h"

#include <optional>
#include <string>
#include <vector>

namespace breakeven {

enum class Verdict { migrate, stay, undecided };
std::string to_string(Verdict verdict);

struct Comparison {
  // The question.
  std::string study, title, scenario_sha256, workload, unit;
  std::int64_t job_units = 0;
  double runs_per_month = 0;
  std::optional<double> deadline_s;
  std::string slice;

  // The baseline.
  std::string baseline_path, baseline_device, baseline_instance, baseline_option;
  int baseline_count = 1, baseline_threads = 0;
  std::string baseline_isa, baseline_evidence;
  Interval baseline_time_s; ///< compute, end to end
  Interval baseline_time_to_result_s;
  std::optional<Interval> baseline_cost_usd;
  std::optional<double> baseline_price_usd_per_h;
  std::string baseline_price_as_of, baseline_price_source;

  // The candidate. Times are unset when it could not be projected; `excluded` then says why.
  std::string candidate_path, candidate_device, candidate_instance, candidate_option;
  int candidate_count = 1;
  std::string candidate_evidence;
  bool candidate_in_range = false;
  std::optional<Interval> candidate_kernel_s, candidate_end_to_end_s;
  std::optional<double> candidate_cold_s;
  std::optional<Interval> candidate_time_to_result_s, candidate_cost_usd;
  std::optional<double> setup_s, ingest_s, compute_s, rework_s, download_s; ///< likely values
  std::string bound_by;
  /// Seconds of each unit that a faster GPU would not shorten; unset without a GPU or a time.
  std::optional<Interval> candidate_floor_s;

  // The same work as a steady service; unset where the scenario has no units_per_day.
  std::optional<double> units_per_day;
  std::string arrivals;
  std::optional<double> turnaround_deadline_s;
  Throughput baseline_throughput, candidate_throughput;

  // The answer.
  std::optional<Interval> speedup; ///< baseline end to end over candidate end to end
  std::optional<double> envelope_max;
  bool implausible = false;                 ///< speed-up above the envelope
  std::optional<double> break_even_speedup; ///< compute speed-up at which both cost the same
  std::optional<double>
      break_even_price_usd_per_h;       ///< candidate's price at which both cost the same
  std::optional<double> crossover_size; ///< units from which the candidate is cheaper; unset: never
  std::optional<double> p_cheaper, p_meets_deadline, baseline_p_meets_deadline;
  std::optional<double> saving_usd_per_month; ///< likely; negative: costs more
  Verdict verdict = Verdict::undecided;
  std::string verdict_reason; ///< one sentence with the figures
  std::string excluded;       ///< what this row leaves out, or why it is empty; ';' between

  std::optional<double> price_usd_per_h, price_original_per_h;
  std::string price_currency, price_region, price_as_of, price_source;
  std::optional<double> usd_per_currency;
  std::string rate_as_of, rate_source;
  std::optional<double> interruptions_per_h_low, interruptions_per_h_likely,
      interruptions_per_h_high;
  std::string interruption_source;

  bool verified = false;
  std::string verification, stop_reason;
  std::string version;
};

/// One row per candidate (targets after the first). A candidate without time or price is a row too.
std::vector<Comparison> compare(const Scenario& scenario,
                                const std::vector<Measurement>& measurements,
                                const std::vector<Priced>& priced);

} // namespace breakeven
