#include "sim/report/rules.h"

namespace breakeven {

namespace {

void require(bool holds, const CsvRow& line, const char* column, const char* expected) {
  if (!holds) line.fail(column, expected);
}

/// A time that is not zero, and for a projection a range that is not empty.
void check_time(const Interval& time, const std::string& evidence, const CsvRow& line,
                const char* column, const char* evidence_column) {
  require(!evidence.empty(), line, evidence_column,
          "'measured', 'extrapolated' or 'projected', since the row has a time");
  require(time.low > 0, line, column, "a time above 0");
  require(evidence != "projected" || is_projection(time), line, column,
          "a projection's interval, p10 < p50 < p90");
}

void check_baseline(const Comparison& row, const CsvRow& line) {
  const bool timed = row.baseline_time_s.likely > 0;
  if (timed)
    check_time(row.baseline_time_s, row.baseline_evidence, line, "baseline_time_p10_s",
               "baseline_evidence");
  require(timed == (row.baseline_time_to_result_s.likely > 0), line,
          "baseline_time_to_result_p50_s", "a value exactly where baseline_time_p50_s has one");
  require(timed || !row.baseline_cost_usd, line, "baseline_cost_p50_usd",
          "an empty cell, since the baseline has no time");
}

void check_candidate(const Comparison& row, const CsvRow& line) {
  const bool timed = row.candidate_end_to_end_s.has_value();
  if (timed)
    check_time(*row.candidate_end_to_end_s, row.candidate_evidence, line,
               "candidate_end_to_end_p10_s", "candidate_evidence");
  require(timed || row.candidate_evidence != "projected", line, "candidate_end_to_end_p50_s",
          "an interval, since the row says that it is projected");
  require(timed == row.candidate_time_to_result_s.has_value(), line,
          "candidate_time_to_result_p50_s",
          "a value exactly where candidate_end_to_end_p50_s has one");
  require(timed || !row.candidate_cost_usd, line, "candidate_cost_p50_usd",
          "an empty cell, since the candidate has no time");
  require(!timed || row.verified, line, "verified",
          "'true', since a candidate that was not verified has no times");
}

void check_answer(const Comparison& row, const CsvRow& line) {
  const bool both_times = row.baseline_time_s.likely > 0 && row.candidate_end_to_end_s;
  const bool both_costs = row.baseline_cost_usd && row.candidate_cost_usd;
  require(both_times || !row.speedup, line, "speedup_p50", "an empty cell without both times");
  require(both_costs || !row.p_cheaper, line, "p_cheaper", "an empty cell without both costs");
  require(row.deadline_s || !row.p_meets_deadline, line, "p_meets_deadline",
          "an empty cell without a deadline");
  require(row.deadline_s || !row.baseline_p_meets_deadline, line, "baseline_p_meets_deadline",
          "an empty cell without a deadline");
  require(!row.implausible || (row.speedup && row.envelope_max), line, "implausible",
          "'false' without a speed-up and its envelope");
  require(row.verdict == Verdict::undecided || row.speedup, line, "verdict",
          "'undecided' without a speed-up");
}

void check_service(const Comparison& row, const Throughput& service, const CsvRow& line,
                   const std::string& side) {
  const auto column = [&](const char* name) { return side + name; };
  const bool asked = row.units_per_day.has_value();
  const bool known = service.capacity_units_per_day.has_value();
  const bool bounded = service.turnaround == turnaround_bounded;
  require(asked || !known, line, column("_capacity_units_per_day_p50").c_str(),
          "an empty cell without units_per_day");
  require(known == service.utilisation.has_value(), line, column("_utilisation").c_str(),
          "a value exactly where there is a capacity");
  require(known == !service.turnaround.empty(), line, column("_turnaround").c_str(),
          "a word exactly where there is a capacity");
  require(bounded == service.turnaround_p50_s.has_value(), line,
          column("_turnaround_p50_s").c_str(), "a value exactly where the turnaround is bounded");
  require(bounded == service.turnaround_p95_s.has_value(), line,
          column("_turnaround_p95_s").c_str(), "a value exactly where the turnaround is bounded");
  require(bounded == service.turnaround_p95_low_s.has_value(), line,
          column("_turnaround_p95_low_s").c_str(),
          "a value exactly where the turnaround is bounded");
  require(bounded || !service.turnaround_p95_high_s, line, column("_turnaround_p95_high_s").c_str(),
          "an empty cell where there is no turnaround");
}

void check_services(const Comparison& row, const CsvRow& line) {
  const bool asked = row.units_per_day.has_value();
  require(!asked || *row.units_per_day > 0, line, "units_per_day", "a number above 0");
  require(asked == !row.arrivals.empty(), line, "arrivals",
          "a word exactly where units_per_day has a value");
  require(asked || !row.turnaround_deadline_s, line, "turnaround_deadline_s",
          "an empty cell without units_per_day");
  check_service(row, row.baseline_throughput, line, "baseline");
  check_service(row, row.candidate_throughput, line, "candidate");
  require(row.candidate_end_to_end_s || !row.candidate_floor_s, line, "candidate_floor_p50_s",
          "an empty cell, since the candidate has no time");
  require(row.candidate_end_to_end_s || !row.candidate_throughput.capacity_units_per_day, line,
          "candidate_capacity_units_per_day_p50", "an empty cell, since the candidate has no time");
}

} // namespace

void check_rules(const Measurement& row, const CsvRow& line) {
  const bool timed = !row.samples_s.empty();
  require(row.verified || !timed, line, "samples_s",
          "an empty cell, since the row is not verified");
  require(timed || row.kernel_samples_s.empty(), line, "kernel_samples_s",
          "an empty cell where samples_s is empty");
  require(timed || row.cold_s == 0, line, "cold_s", "0 where samples_s is empty");
  require(timed || row.end_to_end_s.value == 0, line, "median_s", "0 where samples_s is empty");
  require(timed || row.job_s == 0, line, "job_s", "0 where samples_s is empty");
  require((timed && !is_side_by_side(row)) == !row.evidence.empty(), line, "evidence",
          "'measured' or 'extrapolated' exactly where samples_s is filled, and not side by side");
  require(!is_side_by_side(row) || row.job_s == 0, line, "job_s",
          "0, since units side by side give no time of the job");
  require(row.end_to_end_s.low <= row.end_to_end_s.value, line, "median_low_s", "at most median_s");
  require(row.end_to_end_s.value <= row.end_to_end_s.high, line, "median_high_s",
          "at least median_s");
}

void check_rules(const Comparison& row, const CsvRow& line) {
  check_baseline(row, line);
  check_candidate(row, line);
  check_answer(row, line);
  check_services(row, line);
}

void check_rules(const PhaseTime& row, const CsvRow& line) {
  require(row.evidence != "projected" || is_projection(row.alone_s), line, "alone_p50_s",
          "a projection's interval, p10 < p50 < p90");
  require((row.alone_s.likely > 0) == (row.job_s.likely > 0), line, "job_p50_s",
          "a value above 0 exactly where alone_p50_s has one");
}

void check_rules(const SizeRow& row, const CsvRow& line) {
  require(row.size.amount > 0, line, "size", "a number above 0");
  check_rules(row.comparison, line);
}

} // namespace breakeven
