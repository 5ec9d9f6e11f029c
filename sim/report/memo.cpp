#include "sim/report/charts.h"
#include "sim/report/document.h"
#include "sim/report/format.h"
#include "sim/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace breakeven {

namespace {

using Rows = std::vector<Comparison>;
using Measured = std::vector<Measurement>;

std::string candidate_name(const Comparison& row) {
  return option_text(row.candidate_instance, row.candidate_count, row.candidate_option);
}
std::string baseline_name(const Comparison& row) {
  return option_text(row.baseline_instance, row.baseline_count, row.baseline_option);
}

/// "2.1 h (1.4-3.3 h), projected".
std::string with_interval(const Interval& interval, std::string (*text)(double),
                          const std::string& evidence) {
  return fmt::format("{} ({}), {}", text(interval.likely), interval_text(interval, text), evidence);
}

std::string or_dash(const std::optional<double>& value, std::string (*text)(double)) {
  return value ? text(*value) : "-";
}
std::string price_digits(double value) { return significant(value, 3); }
std::string ratio_text(double value) { return significant(value, 2) + "x"; }

void add_question(std::vector<Block>& memo, const Comparison& first) {
  memo.push_back(Heading{1, first.title});
  memo.push_back(Paragraph{fmt::format(
      "Should this workload move from {} to other machines? One run is {} {}s; it is run {} times "
      "a "
      "month{}.",
      baseline_name(first), first.job_units, first.unit, count_text(first.runs_per_month),
      first.deadline_s ? " and must be done within " + seconds_text(*first.deadline_s) : "")});
}

void add_answer(std::vector<Block>& memo, const Rows& rows) {
  memo.push_back(Heading{2, "Answer"});
  memo.push_back(Paragraph{headline(rows), true});
}

void add_decision_table(std::vector<Block>& memo, const Rows& rows) {
  memo.push_back(Heading{2, "The machines compared"});
  Table table{{"machine", "device", "compute time", "time to result", "cost of a run (USD)",
               "speed-up", "P(cheaper)", "P(in time)", "saving a month (USD)", "verdict"},
              {}};
  const Comparison& first = rows.front();
  const bool timed = first.baseline_time_s.likely > 0;
  table.rows.push_back(
      {baseline_name(first) + " (baseline)", first.baseline_device,
       timed ? with_interval(first.baseline_time_s, seconds_text, first.baseline_evidence) : "-",
       timed ? with_interval(first.baseline_time_to_result_s, seconds_text, first.baseline_evidence)
             : "-",
       first.baseline_cost_usd
           ? with_interval(*first.baseline_cost_usd, usd_text, first.baseline_evidence)
           : "no price",
       "1x", "-", or_dash(first.baseline_p_meets_deadline, probability_text), "-", "-"});
  for (const Comparison& row : rows) {
    const auto interval = [&](const std::optional<Interval>& value, std::string (*text)(double)) {
      return value ? with_interval(*value, text, row.candidate_evidence) : std::string("-");
    };
    table.rows.push_back(
        {candidate_name(row), row.candidate_device,
         interval(row.candidate_end_to_end_s, seconds_text),
         interval(row.candidate_time_to_result_s, seconds_text),
         row.candidate_cost_usd ? interval(row.candidate_cost_usd, usd_text) : "no price",
         interval(row.speedup, ratio_text), or_dash(row.p_cheaper, probability_text),
         or_dash(row.p_meets_deadline, probability_text),
         or_dash(row.saving_usd_per_month, usd_text),
         row.implausible ? "implausible, undecided" : to_string(row.verdict)});
  }
  memo.push_back(table);
  memo.push_back(
      Paragraph{"In brackets: 10-90 % ranges. Measured: run here. Extrapolated: a part was run "
                "here and scaled by "
                "counted work. Projected: computed for a machine that is not here. Costs inherit "
                "the evidence of "
                "the time they come from. Speed-ups compare compute times, end to end."});
}

void add_charts(std::vector<Block>& memo, const Rows& rows) {
  memo.push_back(
      Chart{"charts/time.svg",
            "Time to result of one run by machine, likely value and 10-90 % range; evidence as "
            "in the table above.",
            time_chart(rows)});
  memo.push_back(
      Chart{"charts/cost.svg",
            "Cost of one run against time to result, 10-90 % ranges both ways; down and left is "
            "better; evidence as in the table above.",
            cost_chart(rows)});
}

void add_reasons(std::vector<Block>& memo, const Rows& rows) {
  memo.push_back(Heading{2, "Why, candidate by candidate"});
  List list;
  for (const Comparison& row : rows)
    list.items.push_back(candidate_name(row) + ": " + to_string(row.verdict) + ". "
                         + row.verdict_reason);
  memo.push_back(list);
}

std::string speed_margin(const Comparison& row) {
  if (!row.break_even_speedup || !row.speedup) return "-";
  const double margin = row.speedup->likely / *row.break_even_speedup;
  return margin >= 1 ? fmt::format("{} faster than needed", ratio_text(margin))
                     : fmt::format("{} too slow", ratio_text(1 / margin));
}

void add_break_even(std::vector<Block>& memo, const Rows& rows) {
  memo.push_back(Heading{2, "Where it breaks even"});
  Table table{{"machine", "needed speed-up", "likely speed-up", "margin",
               "break-even price (USD/h)", "price today (USD/h)", "crossover size"},
              {}};
  for (const Comparison& row : rows) {
    if (!row.candidate_cost_usd) continue;
    table.rows.push_back(
        {candidate_name(row), or_dash(row.break_even_speedup, ratio_text),
         row.speedup ? ratio_text(row.speedup->likely) + ", " + row.candidate_evidence : "-",
         speed_margin(row), or_dash(row.break_even_price_usd_per_h, price_digits),
         or_dash(row.price_usd_per_h, price_digits),
         row.crossover_size
             ? fmt::format("from {} {}s a run", count_text(*row.crossover_size), row.unit)
             : "never"});
  }
  memo.push_back(table);
  memo.push_back(Paragraph{"All at likely values. Needed speed-up: of computing, with set-up, "
                           "transfers, rework and billing "
                           "steps counted; a dash means that no speed-up is enough. Break-even "
                           "price: what the machine may "
                           "cost before the baseline is cheaper. A verdict flips where the likely "
                           "figure crosses these."});
}

void add_time_parts(std::vector<Block>& memo, const Rows& rows) {
  memo.push_back(Heading{2, "Where the time goes"});
  Table table{{"machine", "set-up", "input", "computing", "of that cold start", "rework", "output",
               "bound by"},
              {}};
  for (const Comparison& row : rows) {
    if (!row.compute_s) continue;
    table.rows.push_back({candidate_name(row), or_dash(row.setup_s, seconds_text),
                          or_dash(row.ingest_s, seconds_text), or_dash(row.compute_s, seconds_text),
                          or_dash(row.candidate_cold_s, seconds_text),
                          or_dash(row.rework_s, seconds_text),
                          or_dash(row.download_s, seconds_text), row.bound_by});
  }
  memo.push_back(table);
  memo.push_back(Paragraph{
      "Likely values; evidence as in the first table. Set-up is what the scenario states."});
}

const Measurement* total_of(const Measured& measured, Path path) {
  for (const Measurement& row : measured)
    if (row.path == path && row.phase == "total") return &row;
  return nullptr;
}

std::string counts_text(const Work& work) {
  std::string text;
  for (const auto& [name, value] : work.counts) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    text += (text.empty() ? "" : ", ") + words + " " + significant(value, 3);
  }
  return text.empty() ? "-" : text;
}

void add_timed_path(std::vector<Block>& memo, const Measured& measured, const Measurement& total) {
  Table table{{"phase", "slice, median of runs (99 % interval)", "share", "whole job", "evidence",
               "counted in the slice"},
              {}};
  for (const Measurement& row : measured) {
    if (row.path != total.path) continue;
    const bool is_total = row.phase == "total";
    table.rows.push_back(
        {row.phase,
         fmt::format("{} ({} to {})", seconds_text(row.end_to_end_s.value),
                     seconds_text(row.end_to_end_s.low), seconds_text(row.end_to_end_s.high)),
         total.job_s > 0 ? fmt::format("{:.0f} %", 100 * row.job_s / total.job_s) : "-",
         seconds_text(row.job_s), row.evidence, is_total ? "-" : counts_text(row.work)});
  }
  memo.push_back(Paragraph{
      fmt::format("Path {}: {}; {} runs after a cold one of {}; stopped: {}. Verified: {}.",
                  to_string(total.path), total.slice, total.samples_s.size(),
                  seconds_text(total.cold_s), total.stop_reason, total.verification)});
  memo.push_back(table);
}

void add_counted_path(std::vector<Block>& memo, const Measured& measured,
                      const Measurement& total) {
  memo.push_back(Paragraph{fmt::format("Path {} (the GPU side's source run on this CPU, for "
                                       "agreement and counts, never for speed): {}. "
                                       "Verified: {}.",
                                       to_string(total.path), total.slice, total.verification)});
  Table table{{"phase", "lane instructions", "SIMT efficiency", "re-read bytes", "streamed bytes",
               "launches", "counted"},
              {}};
  for (const Measurement& row : measured) {
    if (row.path != total.path || row.phase == "total" || row.processor != Processor::gpu) continue;
    table.rows.push_back({row.phase, significant(row.work.lane_instructions, 2),
                          significant(row.work.simt_efficiency, 2),
                          significant(row.work.cached_bytes, 2),
                          significant(row.work.dram_bytes, 2), significant(row.work.launches, 2),
                          counts_text(row.work)});
  }
  if (!table.rows.empty()) memo.push_back(table);
}

void add_measured(std::vector<Block>& memo, const Measured& measured) {
  memo.push_back(Heading{2, "What was measured here"});
  const Environment& machine = measured.front().environment;
  memo.push_back(Paragraph{fmt::format(
      "On {}: {}, {} cores, {}, {} GHz measured under load, {} GiB, {} GB/s read; {}; built by {} "
      "with {}; "
      "GPU: {}.",
      machine.measured_on, machine.cpu_model, machine.physical_cores, machine.isa,
      significant(machine.clock_ghz, 2), significant(machine.memory_gib, 2),
      significant(machine.memory_read_gb_per_s, 2), machine.os, machine.compiler, machine.flags,
      machine.gpu.empty() ? "none" : machine.gpu + " (" + machine.gpu_driver + ")")});
  for (const Path path : {Path::openmp, Path::cuda, Path::host}) {
    const Measurement* total = total_of(measured, path);
    if (total == nullptr) continue;
    if (!total->verified)
      memo.push_back(Paragraph{fmt::format("Path {} was not verified, so it has no times: {}.",
                                           to_string(path), total->verification)});
    else if (total->samples_s.empty())
      add_counted_path(memo, measured, *total);
    else
      add_timed_path(memo, measured, *total);
  }
}

void add_projection(std::vector<Block>& memo, const Rows& rows) {
  memo.push_back(Heading{2, "How sure the projections are"});
  const auto outside = std::count_if(rows.begin(), rows.end(), [](const Comparison& row) {
    return row.candidate_evidence == "projected" && !row.candidate_in_range;
  });
  const auto projected = std::count_if(rows.begin(), rows.end(), [](const Comparison& row) {
    return row.candidate_evidence == "projected";
  });
  memo.push_back(Paragraph{fmt::format(
      "GPU times are projected from work counted on the verified GPU source, bounded by each "
      "device's "
      "instruction, memory, latency and link ceilings, and divided by a utilisation that published "
      "traversal rates leave wide. CPU instances are scaled from the time measured here by cores, "
      "clock "
      "and bandwidth. {} of {} projections lie outside what the model was calibrated on. A run on "
      "one "
      "candidate is the cheapest way to narrow these ranges.",
      outside, projected)});
  List notes;
  for (const Comparison& row : rows)
    if (!row.excluded.empty()) notes.items.push_back(candidate_name(row) + ": " + row.excluded);
  if (!notes.items.empty()) {
    memo.push_back(Paragraph{"What single rows leave out or rest on:"});
    memo.push_back(notes);
  }
}

void add_prices(std::vector<Block>& memo, const Rows& rows) {
  memo.push_back(Heading{2, "Prices"});
  Table table{{"machine", "USD/h", "as quoted", "region", "as of", "source"}, {}};
  const Comparison& first = rows.front();
  table.rows.push_back({baseline_name(first), or_dash(first.baseline_price_usd_per_h, price_digits),
                        "-", "-", first.baseline_price_as_of, first.baseline_price_source});
  for (const Comparison& row : rows)
    table.rows.push_back({candidate_name(row), or_dash(row.price_usd_per_h, price_digits),
                          row.price_original_per_h
                              ? price_digits(*row.price_original_per_h) + " " + row.price_currency
                              : "-",
                          row.price_region, row.price_as_of,
                          row.price_usd_per_h ? row.price_source : "no price known"});
  memo.push_back(table);
  std::set<std::string> rates;
  for (const Comparison& row : rows)
    if (row.usd_per_currency && row.price_currency != "USD")
      rates.insert(fmt::format("1 {} = {} USD ({}, as of {}), published", row.price_currency,
                               significant(*row.usd_per_currency, 3), row.rate_source,
                               row.rate_as_of));
  if (!rates.empty()) memo.push_back(List{{rates.begin(), rates.end()}});
  memo.push_back(Paragraph{
      "Prices are published figures of the date shown; they are stored with this result."});
}

void add_exclusions(std::vector<Block>& memo) {
  memo.push_back(Heading{2, "Not modelled"});
  memo.push_back(List{excluded()});
}

void add_reproduction(std::vector<Block>& memo, const Rows& rows, const Measured& measured) {
  const Comparison& first = rows.front();
  memo.push_back(Heading{2, "To reproduce"});
  memo.push_back(Paragraph{
      fmt::format("Scenario {} with hash {}, breakeven {} (commit {}). This memo is made from "
                  "measurements.csv and "
                  "comparison.csv beside it: breakeven memo FOLDER writes the same bytes again.",
                  first.study, hash_text(first.scenario_sha256), first.version,
                  measured.front().environment.commit)});
}

} // namespace

std::vector<ResultFile> memo(const Rows& rows, const Measured& measured) {
  std::vector<Block> blocks;
  add_question(blocks, rows.front());
  add_answer(blocks, rows);
  add_decision_table(blocks, rows);
  add_charts(blocks, rows);
  add_reasons(blocks, rows);
  add_break_even(blocks, rows);
  add_time_parts(blocks, rows);
  add_measured(blocks, measured);
  add_projection(blocks, rows);
  add_prices(blocks, rows);
  add_exclusions(blocks);
  add_reproduction(blocks, rows, measured);

  std::vector<ResultFile> files{{"memo.md", markdown(blocks)},
                                {"memo.html", html(rows.front().title, blocks)}};
  for (const Block& block : blocks)
    if (const Chart* chart = std::get_if<Chart>(&block)) files.push_back({chart->file, chart->svg});
  return files;
}

std::string machine_text(const Measured& measured) {
  const Environment& machine = measured.front().environment;
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<22}{}\n", name, value.empty() ? "unknown" : value);
  };
  add("measured_on", machine.measured_on);
  add("cpu_model", machine.cpu_model);
  add("isa", machine.isa);
  add("physical_cores", std::to_string(machine.physical_cores));
  add("logical_cpus", std::to_string(machine.logical_cpus));
  add("clock_ghz", significant(machine.clock_ghz, 3));
  add("memory_gib", significant(machine.memory_gib, 3));
  add("memory_read_gb_per_s", significant(machine.memory_read_gb_per_s, 3));
  add("governor", machine.governor);
  add("os", machine.os);
  add("compiler", machine.compiler);
  add("flags", machine.flags);
  add("gpu", machine.gpu.empty() ? "none" : machine.gpu);
  add("gpu_driver", machine.gpu.empty() ? "none" : machine.gpu_driver);
  add("version", machine.version);
  add("commit", machine.commit);
  return text;
}

} // namespace breakeven
