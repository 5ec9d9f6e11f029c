#include "sim/report/format.h"
#include "sim/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace breakeven {

namespace {

/// Breaks text at spaces so that no line is wider; a longer word is cut.
std::string wrapped(const std::string& text, std::size_t width, const std::string& indent = "") {
  std::istringstream words(text);
  std::string word, line = "", all;
  while (words >> word) {
    for (; word.size() + indent.size() > width; word.erase(0, width - indent.size())) {
      if (!line.empty()) all += line + "\n";
      all += indent + word.substr(0, width - indent.size()) + "\n";
      line.clear();
    }
    if (line.empty())
      line = (all.empty() ? "" : indent) + word;
    else if (line.size() + 1 + word.size() <= width)
      line += " " + word;
    else {
      all += line + "\n";
      line = indent + word;
    }
  }
  return all + line + "\n";
}

/// Cut in the middle, where names of instances differ least.
std::string fitted(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  const std::size_t head = (width - 2) / 2, tail = width - 2 - head;
  return text.substr(0, head) + ".." + text.substr(text.size() - tail);
}

struct TableRow {
  std::string machine, device, time, cost, speedup, cheaper, verdict;
};

TableRow heading() {
  return {"instance", "device", "time", "USD a run", "speed-up", "cheaper?", "verdict"};
}

std::string marked(const std::string& text, const std::string& evidence) {
  return text + " " + evidence_mark(evidence);
}

TableRow baseline_row(const Comparison& row) {
  const bool timed = row.baseline_time_to_result_s.likely > 0;
  return {option_text(row.baseline_instance, row.baseline_count, row.baseline_option),
          row.baseline_device,
          timed ? marked(interval_text(row.baseline_time_to_result_s, seconds_text),
                         row.baseline_evidence)
                : "-",
          row.baseline_cost_usd ? interval_text(*row.baseline_cost_usd, usd_text) : "no price",
          "1",
          "-",
          "baseline"};
}

TableRow candidate_row(const Comparison& row) {
  const auto& time = row.candidate_time_to_result_s;
  return {option_text(row.candidate_instance, row.candidate_count, row.candidate_option),
          row.candidate_device,
          time ? marked(interval_text(*time, seconds_text), row.candidate_evidence) : "-",
          row.candidate_cost_usd ? interval_text(*row.candidate_cost_usd, usd_text) : "no price",
          row.speedup ? significant(row.speedup->likely, 2) : "-",
          row.p_cheaper ? probability_text(*row.p_cheaper) : "-",
          row.implausible ? "implausible" : to_string(row.verdict)};
}

/// Column widths: what the cells need, then the two names give way until the row fits.
struct Widths {
  std::size_t machine, device, time, cost, speedup, cheaper, verdict;
  std::size_t total() const {
    return machine + device + time + cost + speedup + cheaper + verdict + 6 * 2;
  }
};

Widths widths_of(const std::vector<TableRow>& rows, std::size_t width) {
  Widths widths{};
  for (const TableRow& row : rows)
    widths = {
        std::max(widths.machine, row.machine.size()), std::max(widths.device, row.device.size()),
        std::max(widths.time, row.time.size()),       std::max(widths.cost, row.cost.size()),
        std::max(widths.speedup, row.speedup.size()), std::max(widths.cheaper, row.cheaper.size()),
        std::max(widths.verdict, row.verdict.size())};
  while (widths.total() > width && widths.device > 8)
    --widths.device;
  while (widths.total() > width && widths.machine > 16)
    --widths.machine;
  if (widths.total() > width) widths.device = 0;
  while (widths.total() > width && widths.machine > 8)
    --widths.machine;
  return widths;
}

std::string line_of(const TableRow& row, const Widths& widths) {
  std::string line = fmt::format("{:<{}}", fitted(row.machine, widths.machine), widths.machine);
  if (widths.device > 0)
    line += fmt::format("  {:<{}}", fitted(row.device, widths.device), widths.device);
  line += fmt::format("  {:>{}}  {:>{}}  {:>{}}  {:>{}}  {:<{}}", row.time, widths.time, row.cost,
                      widths.cost, row.speedup, widths.speedup, row.cheaper, widths.cheaper,
                      row.verdict, widths.verdict);
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string measured_here(const std::vector<Measurement>& measurements) {
  for (const Measurement& row : measurements)
    if (row.phase == "total" && row.path == Path::openmp && row.verified)
      return fmt::format("Measured here: {}, {} threads, {}: {} a slice, median of {} ({}).",
                         row.environment.cpu_model, row.threads, row.slice,
                         seconds_text(row.end_to_end_s.value), row.samples_s.size(),
                         row.stop_reason);
  return "Nothing was measured here.";
}

} // namespace

std::string terminal_table(const std::vector<Comparison>& rows,
                           const std::vector<Measurement>& measurements, int width) {
  const auto columns = static_cast<std::size_t>(std::clamp(width, 80, 160));
  const Comparison& first = rows.front();
  std::string text = wrapped(first.title, columns);
  text += wrapped(fmt::format("Job: {} {}s a run, {} runs a month{}", first.job_units, first.unit,
                              count_text(first.runs_per_month),
                              first.deadline_s ? ", deadline " + seconds_text(*first.deadline_s)
                                               : ", no deadline"),
                  columns);
  text += "\n" + wrapped(headline(rows), columns) + "\n";

  std::vector<TableRow> table{heading(), baseline_row(first)};
  for (const Comparison& row : rows)
    table.push_back(candidate_row(row));
  const Widths widths = widths_of(table, columns);
  for (std::size_t i = 0; i < table.size(); ++i) {
    text += line_of(table[i], widths);
    if (i == 0) text += std::string(std::min(columns, widths.total()), '-') + "\n";
  }
  text +=
      "\n"
      + wrapped("Time: from set-up to download. Ranges are 10-90 % points. cheaper?: the "
                "probability that it is. m measured here, x extrapolated from a measured slice, p "
                "projected (not measured on that machine). The memo gives break-even points, "
                "prices with dates, and what is not modelled.",
                columns);
  return text + wrapped(measured_here(measurements), columns);
}

} // namespace breakeven
