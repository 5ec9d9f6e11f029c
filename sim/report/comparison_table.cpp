#include "sim/report/intervals.h"

namespace breakeven {

namespace {

using Row = Comparison;
using namespace cells;

const std::vector<std::string> paths = {"openmp", "cuda", "host"};
const std::vector<std::string> evidences = {"measured", "extrapolated", "projected", ""};

void append(std::vector<Column<Row>>& table, std::vector<Column<Row>> more) {
  table.insert(table.end(), more.begin(), more.end());
}

std::vector<Column<Row>> question_columns() {
  return {
      text<Row>("study", "the scenario's name", member(&Row::study)),
      text<Row>("title", "the scenario's title", member(&Row::title)),
      text<Row>("scenario_sha256", "hash of the scenario's effective keys and input files",
                member(&Row::scenario_sha256)),
      text<Row>("workload", "kind of workload", member(&Row::workload)),
      text<Row>("unit", "what the job counts", member(&Row::unit)),
      integer<Row, std::int64_t>("job_units", "units in the whole job", member(&Row::job_units)),
      number<Row>("runs_per_month", "how often the job is run", member(&Row::runs_per_month)),
      optional_number<Row>("deadline_s", "longest time to result that is acceptable",
                           member(&Row::deadline_s)),
      text<Row>("slice", "the part of the job that was really run here", member(&Row::slice)),
  };
}

std::vector<Column<Row>> baseline_columns() {
  std::vector<Column<Row>> table = {
      word<Row>("baseline_path",
                "how the baseline's code runs: openmp (CPU), cuda (GPU, run here) or host (GPU, "
                "projected from what the GPU side's source counted on the CPU)",
                member(&Row::baseline_path), paths),
      text<Row>("baseline_device", "what does the baseline's work", member(&Row::baseline_device)),
      text<Row>("baseline_instance", "the baseline's machine", member(&Row::baseline_instance)),
      text<Row>("baseline_option", "how the baseline is bought: on-demand or spot",
                member(&Row::baseline_option)),
      integer<Row, int>("baseline_count", "machines side by side", member(&Row::baseline_count)),
      integer<Row, int>("baseline_threads", "CPU threads on each", member(&Row::baseline_threads)),
      text<Row>("baseline_isa", "widest vector instructions of its CPU",
                member(&Row::baseline_isa)),
      word<Row>("baseline_evidence",
                "how its time is known: measured, extrapolated or projected; empty: it is not",
                member(&Row::baseline_evidence), evidences),
  };
  append(table, interval<Row>("baseline_time_", "_s", "compute time of one run, end to end",
                              &Row::baseline_time_s));
  append(table, interval<Row>("baseline_time_to_result_", "_s", "one run from set-up to download",
                              &Row::baseline_time_to_result_s));
  append(table, optional_interval<Row>("baseline_cost_", "_usd", "cost of one run",
                                       &Row::baseline_cost_usd));
  table.push_back(optional_number<Row>("baseline_price_usd_per_h", "price of one machine",
                                       member(&Row::baseline_price_usd_per_h)));
  table.push_back(
      date<Row>("baseline_price_as_of", "date of that price", member(&Row::baseline_price_as_of)));
  table.push_back(text<Row>("baseline_price_source", "where that price comes from",
                            member(&Row::baseline_price_source)));
  return table;
}

std::vector<Column<Row>> candidate_columns() {
  std::vector<Column<Row>> table = {
      word<Row>("candidate_path", "how the candidate's code runs: openmp, cuda or host",
                member(&Row::candidate_path), paths),
      text<Row>("candidate_device", "what does the candidate's work",
                member(&Row::candidate_device)),
      text<Row>("candidate_instance", "the candidate's machine", member(&Row::candidate_instance)),
      integer<Row, int>("candidate_count", "machines side by side", member(&Row::candidate_count)),
      text<Row>("candidate_option", "how the candidate is bought: on-demand or spot",
                member(&Row::candidate_option)),
      word<Row>("candidate_evidence",
                "how its time is known: measured, extrapolated or projected; empty: it is not",
                member(&Row::candidate_evidence), evidences),
      boolean<Row>("candidate_in_range",
                   "whether the projection lies inside what the model was calibrated on",
                   member(&Row::candidate_in_range)),
  };
  append(table, optional_interval<Row>("candidate_kernel_", "_s", "device computing only, one run",
                                       &Row::candidate_kernel_s));
  append(table, optional_interval<Row>(
                    "candidate_end_to_end_", "_s",
                    "compute time of one run with transfers, host phases and cold start",
                    &Row::candidate_end_to_end_s));
  table.push_back(optional_number<Row>("candidate_cold_s",
                                       "context creation and first launch, once a run",
                                       member(&Row::candidate_cold_s)));
  append(table, optional_interval<Row>("candidate_time_to_result_", "_s",
                                       "one run from set-up to download",
                                       &Row::candidate_time_to_result_s));
  append(table, optional_interval<Row>("candidate_cost_", "_usd", "cost of one run",
                                       &Row::candidate_cost_usd));
  append(table,
         {
             optional_number<Row>("setup_s", "part of the likely time to result: set-up",
                                  member(&Row::setup_s)),
             optional_number<Row>("ingest_s", "part of it: input over the network",
                                  member(&Row::ingest_s)),
             optional_number<Row>("compute_s", "part of it: computing", member(&Row::compute_s)),
             optional_number<Row>("rework_s", "part of it: expected rework after interruptions",
                                  member(&Row::rework_s)),
             optional_number<Row>("download_s", "part of it: output over the network",
                                  member(&Row::download_s)),
             text<Row>("bound_by", "what limits the longest phase", member(&Row::bound_by)),
         });
  return table;
}

/// The columns of one side's steady service.
std::vector<Column<Row>> service_columns(const std::string& side, Throughput Row::*part) {
  const auto of = [&](std::optional<double> Throughput::*field) { return member(part, field); };
  std::vector<Column<Row>> table = interval_columns<Row>(
      side + "_capacity_units_per_day_", "", "units a day that all its machines can take",
      [=](const Row& row) {
        const auto& capacity = (row.*part).capacity_units_per_day;
        return capacity ? &*capacity : nullptr;
      },
      [=](Row& row) -> Interval& {
        auto& capacity = (row.*part).capacity_units_per_day;
        return capacity ? *capacity : capacity.emplace();
      });
  append(table,
         {
             optional_number<Row>(side + "_utilisation", "units_per_day over the likely capacity",
                                  of(&Throughput::utilisation)),
             text<Row>(side + "_bottleneck",
                       "what sets the capacity: cpu or gpu, and the longest phase there",
                       member(part, &Throughput::bottleneck)),
             word<Row>(side + "_turnaround",
                       "whether there is one: bounded, or unbounded: arrivals exceed capacity",
                       member(part, &Throughput::turnaround),
                       {turnaround_bounded, turnaround_unbounded, ""}),
             optional_number<Row>(side + "_turnaround_p50_s",
                                  "from a unit's arrival to its stored result, half of the units; "
                                  "empty where unbounded",
                                  of(&Throughput::turnaround_p50_s)),
             optional_number<Row>(side + "_turnaround_p95_s", "the same, 95 % of the units",
                                  of(&Throughput::turnaround_p95_s)),
             optional_number<Row>(side + "_turnaround_p95_low_s",
                                  "the same where every phase takes its 10 % time",
                                  of(&Throughput::turnaround_p95_low_s)),
             optional_number<Row>(
                 side + "_turnaround_p95_high_s",
                 "the same where every phase takes its 90 % time; empty where that is unbounded",
                 of(&Throughput::turnaround_p95_high_s)),
             optional_number<Row>(side + "_capacity_without_gpu_time_units_per_day",
                                  "units a day if its GPUs took no time; empty without a GPU",
                                  of(&Throughput::capacity_without_gpu_time)),
         });
  return table;
}

std::vector<Column<Row>> throughput_columns() {
  std::vector<Column<Row>> table = optional_interval<Row>(
      "candidate_floor_", "_s",
      "seconds of a unit that stay on the CPU whatever the GPU; empty without a GPU",
      &Row::candidate_floor_s);
  append(table,
         {
             optional_number<Row>("units_per_day",
                                  "units that arrive at the steady service; empty: none is asked",
                                  member(&Row::units_per_day)),
             word<Row>("arrivals", "when they arrive: even, poisson, working-hours or night-batch",
                       member(&Row::arrivals),
                       {to_string(Arrivals::even), to_string(Arrivals::poisson),
                        to_string(Arrivals::working_hours), to_string(Arrivals::night_batch), ""}),
             optional_number<Row>("turnaround_deadline_s",
                                  "longest turnaround that is acceptable for 95 % of the units",
                                  member(&Row::turnaround_deadline_s)),
         });
  append(table, service_columns("baseline", &Row::baseline_throughput));
  append(table, service_columns("candidate", &Row::candidate_throughput));
  for (Column<Row>& column : table)
    column.later = 1;
  return table;
}

std::vector<Column<Row>> answer_columns() {
  std::vector<Column<Row>> table = optional_interval<Row>(
      "speedup_", "", "baseline compute time over candidate compute time", &Row::speedup);
  append(
      table,
      {
          optional_number<Row>("envelope_max",
                               "largest plausible speed-up: ratio of the devices' ceilings",
                               member(&Row::envelope_max)),
          boolean<Row>("implausible", "whether the likely speed-up exceeds the envelope",
                       member(&Row::implausible)),
          optional_number<Row>("break_even_speedup",
                               "compute speed-up at which both cost the same; empty: none does",
                               member(&Row::break_even_speedup)),
          optional_number<Row>("break_even_price_usd_per_h",
                               "candidate's price at which both cost the same",
                               member(&Row::break_even_price_usd_per_h)),
          optional_number<Row>("crossover_size",
                               "units in a run from which the candidate is cheaper; empty: never",
                               member(&Row::crossover_size)),
          optional_number<Row>("p_cheaper", "probability that the candidate is cheaper",
                               member(&Row::p_cheaper), 0, 1),
          optional_number<Row>("p_meets_deadline",
                               "probability that the candidate meets the deadline",
                               member(&Row::p_meets_deadline), 0, 1),
          optional_number<Row>("baseline_p_meets_deadline", "probability that the baseline does",
                               member(&Row::baseline_p_meets_deadline), 0, 1),
          optional_number<Row>("saving_usd_per_month",
                               "likely saving; negative where the candidate costs more",
                               member(&Row::saving_usd_per_month), -no_limit),
          choice<Row, Verdict>("verdict", "migrate, stay or undecided", member(&Row::verdict),
                               {{Verdict::migrate, "migrate"},
                                {Verdict::stay, "stay"},
                                {Verdict::undecided, "undecided"}}),
          text<Row>("verdict_reason", "why, with the figures", member(&Row::verdict_reason)),
          text<Row>("excluded", "what the row leaves out, or why it is empty; ';' between",
                    member(&Row::excluded)),
          optional_number<Row>("price_usd_per_h", "candidate's price of one machine",
                               member(&Row::price_usd_per_h)),
          optional_number<Row>("price_original_per_h", "the same in the currency it was quoted in",
                               member(&Row::price_original_per_h)),
          text<Row>("price_currency", "the currency of that quote", member(&Row::price_currency)),
          text<Row>("price_region", "where the price holds", member(&Row::price_region)),
          date<Row>("price_as_of", "date of the price", member(&Row::price_as_of)),
          text<Row>("price_source", "where the price comes from", member(&Row::price_source)),
          optional_number<Row>("usd_per_currency", "exchange rate used",
                               member(&Row::usd_per_currency)),
          date<Row>("rate_as_of", "date of the rate", member(&Row::rate_as_of)),
          text<Row>("rate_source", "where the rate comes from", member(&Row::rate_source)),
          optional_number<Row>("interruptions_per_h_low",
                               "spot interruptions of one machine in an hour, low",
                               member(&Row::interruptions_per_h_low)),
          optional_number<Row>("interruptions_per_h_likely", "the same, likely",
                               member(&Row::interruptions_per_h_likely)),
          optional_number<Row>("interruptions_per_h_high", "the same, high",
                               member(&Row::interruptions_per_h_high)),
          text<Row>("interruption_source", "where the rates come from",
                    member(&Row::interruption_source)),
          boolean<Row>("verified", "whether both sides' results agreed with the reference",
                       member(&Row::verified)),
          text<Row>("verification", "the figures of that agreement", member(&Row::verification)),
          text<Row>("stop_reason", "why sampling of the baseline's path stopped",
                    member(&Row::stop_reason)),
          text<Row>("version", "version of breakeven that measured", member(&Row::version)),
      });
  return table;
}

std::vector<Column<Row>> make_table() {
  std::vector<Column<Row>> table = question_columns();
  append(table, baseline_columns());
  append(table, candidate_columns());
  append(table, throughput_columns());
  append(table, answer_columns());
  return table;
}

} // namespace

const std::vector<Column<Comparison>>& comparison_table() {
  static const std::vector<Column<Comparison>> table = make_table();
  return table;
}

} // namespace breakeven
