#include "sim/report/answer.h"
#include "sim/report/format.h"
#include "sim/report/report.h"
#include "sim/report/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven {

namespace {

// ---- the table ----

enum Column { machine, device, compute, result, cost, speedup, cheaper, in_time, verdict, columns };
using Cells = std::vector<std::string>;

constexpr int narrowest_name = 20;

std::string marked(const std::string& text, const std::string& evidence) {
  return text + " " + evidence_mark(evidence);
}

Cells baseline_cells(const Comparison& row) {
  Cells cells(columns, "-");
  cells[machine] = baseline_name(row);
  cells[device] = row.baseline_device;
  cells[verdict] = "baseline";
  if (row.baseline_time_s.likely > 0) {
    cells[compute] = marked(duration_text(row.baseline_time_s.likely), row.baseline_evidence);
    cells[result] = marked(duration_range(row.baseline_time_to_result_s), row.baseline_evidence);
  }
  if (row.baseline_cost_usd)
    cells[cost] = marked(amount_range(*row.baseline_cost_usd), row.baseline_evidence);
  if (row.baseline_p_meets_deadline)
    cells[in_time] = probability_text(*row.baseline_p_meets_deadline);
  return cells;
}

Cells candidate_cells(const Comparison& row) {
  Cells cells(columns, "-");
  cells[machine] = candidate_name(row);
  cells[device] = row.candidate_device;
  cells[verdict] = to_string(row.verdict) + (row.implausible ? "!" : "");
  const std::string& evidence = row.candidate_evidence;
  if (row.candidate_end_to_end_s)
    cells[compute] = marked(duration_text(row.candidate_end_to_end_s->likely), evidence);
  if (row.candidate_time_to_result_s)
    cells[result] = marked(duration_range(*row.candidate_time_to_result_s), evidence);
  if (row.candidate_cost_usd) cells[cost] = marked(amount_range(*row.candidate_cost_usd), evidence);
  if (row.speedup) cells[speedup] = marked(amount_text(row.speedup->likely), evidence);
  if (row.p_cheaper) cells[cheaper] = probability_text(*row.p_cheaper);
  if (row.p_meets_deadline) cells[in_time] = probability_text(*row.p_meets_deadline);
  return cells;
}

std::vector<Cells> cells_of(const std::vector<Comparison>& rows) {
  std::vector<Cells> table{
      {"", "", "compute", "time to result", "USD a run", "speed-", "p", "p in", ""},
      {"machine", "device", "time", "10-90 %", "10-90 %", "up", "cheaper", "time", "verdict"}};
  table.push_back(baseline_cells(rows.front()));
  for (const Comparison& row : rows)
    table.push_back(candidate_cells(row));
  return table;
}

std::string table_text(const std::vector<Comparison>& rows, int width) {
  return text_of({{machine, device, verdict},
                  {device, in_time, compute},
                  machine,
                  narrowest_name,
                  2,
                  cells_of(rows)},
                 width);
}

// ---- around the table ----

std::string question(const Comparison& first) {
  std::string text = fmt::format("{} a run, {} runs a month",
                                 units_text(static_cast<double>(first.job_units), first.unit),
                                 count_text(first.runs_per_month));
  if (first.deadline_s) text += ", deadline " + stated_duration(*first.deadline_s);
  return text;
}

/// Every ratio needs both its times, also where the column of compute times did not fit.
std::string legend(const std::vector<Comparison>& rows) {
  const Comparison& first = rows.front();
  std::string text = "m measured, x extrapolated from a measured slice, p projected; costs and "
                     "speed-ups are known as well as the times they come from.";
  if (first.baseline_time_s.likely > 0)
    text += fmt::format(" Speed-up: compute time against the baseline's {} {}.",
                        duration_and_range(first.baseline_time_s),
                        evidence_mark(first.baseline_evidence));
  if (std::any_of(rows.begin(), rows.end(), [](const Comparison& row) { return row.implausible; }))
    text += " ! The speed-up is above what the two machines' ceilings allow.";
  return text;
}

std::string break_even(const Comparison& row) {
  std::string text = "Break-even of " + candidate_name(row) + ":";
  text += row.break_even_speedup
              ? fmt::format(" a speed-up of {} (likely {})", amount_text(*row.break_even_speedup),
                            amount_text(row.speedup->likely))
              : " at no speed-up";
  if (row.break_even_price_usd_per_h)
    text += fmt::format(", a price of {} USD/h", price_text(*row.break_even_price_usd_per_h));
  if (row.break_even_price_usd_per_h && row.price_usd_per_h)
    text += fmt::format(" (now {})", price_text(*row.price_usd_per_h));
  if (!row.crossover_size) return text + ", at no size of the job.";
  if (*row.crossover_size <= 1) return text + "; cheaper at any size of the job.";
  return text + ", " + units_text(*row.crossover_size, row.unit) + " a run.";
}

std::string service_text(const std::string& machine, const std::string& evidence,
                         const Throughput& service) {
  if (!service.capacity_units_per_day) return machine + " unknown";
  const std::string capacity =
      marked(amount_and_range(*service.capacity_units_per_day) + " a day", evidence);
  return machine + " takes " + capacity
         + (service.turnaround_p95_s ? ", 95 % done in " + duration_text(*service.turnaround_p95_s)
                                     : ", turnaround " + service.turnaround);
}

/// Capacity and turnaround of the baseline against the candidate that the answer is about.
std::string service(const Comparison& row) {
  return fmt::format(
      "Throughput, {} a day ({}): {}; {}.", units_text(*row.units_per_day, row.unit), row.arrivals,
      service_text(baseline_name(row), row.baseline_evidence, row.baseline_throughput),
      service_text(candidate_name(row), row.candidate_evidence, row.candidate_throughput));
}

std::string gaps(const std::vector<Comparison>& rows, int width) {
  std::string text;
  for (const Comparison& row : rows)
    if (!row.candidate_cost_usd)
      text += wrapped("No " + std::string(row.candidate_time_to_result_s ? "cost" : "figures")
                          + " for " + candidate_name(row) + ": " + row.verdict_reason + ".",
                      width, "  ");
  return text;
}

std::string left_out(const std::vector<Comparison>& rows) {
  const std::vector<std::string> all = left_out_by_all(rows);
  if (all.empty()) return "";
  const std::size_t shown = std::min<std::size_t>(all.size(), 3);
  std::string text = "Not counted: ";
  for (std::size_t i = 0; i < shown; ++i)
    text += (i ? "; " : "") + all[i];
  return text
         + (all.size() > shown ? fmt::format("; {} more in the memo.", all.size() - shown) : ".");
}

std::string measured_here(const std::vector<Measurement>& measurements) {
  for (const Measurement& row : measurements)
    if (is_total(row) && !row.samples_s.empty())
      return fmt::format("Measured here: {} on {}, {} threads; median {} of {} runs ({}).",
                         row.slice, row.environment.cpu_model, row.threads,
                         duration_text(row.end_to_end_s.value), row.samples_s.size(),
                         row.stop_reason);
  return "Nothing was measured here.";
}

} // namespace

std::string terminal_table(const std::vector<Comparison>& unordered,
                           const std::vector<Measurement>& measurements, int width) {
  if (unordered.empty()) return "There are no candidates.\n";
  const int line_width = std::clamp(width, 80, 160);
  const std::vector<Comparison> rows = in_order(unordered);
  const Answer answer = answer_of(rows);
  std::string verdict = answer.verdict;
  std::transform(verdict.begin(), std::find(verdict.begin(), verdict.end(), ' '), verdict.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = wrapped(verdict + " " + answer.figures, line_width);
  text += wrapped(answer.doubt, line_width);
  text += "\n" + wrapped(rows.front().title + ": " + question(rows.front()), line_width);
  text += "\n" + table_text(rows, line_width) + wrapped(legend(rows), line_width) + "\n";
  const Comparison* answer_row = foremost(rows);
  if (answer_row != nullptr) text += wrapped(break_even(*answer_row), line_width);
  if (rows.front().units_per_day)
    text += wrapped(service(answer_row != nullptr ? *answer_row : rows.front()), line_width);
  text += gaps(rows, line_width);
  if (const std::string line = left_out(rows); !line.empty()) text += wrapped(line, line_width);
  return text + wrapped(measured_here(measurements), line_width);
}

} // namespace breakeven
