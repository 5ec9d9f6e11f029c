#include "sim/report/answer.h"
#include "sim/report/format.h"
#include "sim/report/memo_sections.h"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::memo_sections {

namespace {

const Measurement* total_of(const Measured& measured, Path path) {
  for (const Measurement& row : measured)
    if (row.path == path && is_total(row)) return &row;
  return nullptr;
}

std::string known_or(double value, const char* unit) {
  return value > 0 ? significant(value, 2) + " " + unit : std::string("unknown ") + unit;
}

std::string machine_sentence(const Environment& machine) {
  return fmt::format(
      "{}: {}, {} cores ({} logical), {}, {} under load, {} of memory read at {}; GPU: {}. {}. "
      "Built by {} with {}.",
      machine.measured_on.empty() ? "Undated" : machine.measured_on,
      machine.cpu_model.empty() ? "an unknown CPU" : machine.cpu_model, machine.physical_cores,
      machine.logical_cpus, machine.isa.empty() ? "unknown vector width" : machine.isa,
      known_or(machine.clock_ghz, "GHz"), known_or(machine.memory_gib, "GiB"),
      known_or(machine.memory_read_gb_per_s, "GB/s"),
      machine.gpu.empty() ? "none" : machine.gpu + ", driver " + machine.gpu_driver, machine.os,
      machine.compiler, machine.flags);
}

std::string counts_text(const Work& work) {
  std::string text;
  for (const auto& [name, value] : work.counts) {
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    text += (text.empty() ? "" : ", ") + (value < 1e6 ? count_text(value) : large_text(value)) + " "
            + words;
  }
  return text.empty() ? "-" : text;
}

std::string share_text(double part, double whole) {
  if (!(whole > 0)) return "-";
  const double percent = 100 * part / whole;
  return percent > 0 && percent < 1 ? "< 1 %" : fmt::format("{:.0f} %", percent);
}

std::string median_text(const Measurement& row) {
  return duration_and_range({row.end_to_end_s.low, row.end_to_end_s.value, row.end_to_end_s.high});
}

/// With fewer samples there is no such interval; median_of() then gives the extremes.
std::string interval_words(std::size_t samples) {
  return samples < 8 ? "smallest and largest" : "99 % confidence interval";
}

void add_timed_path(Blocks& memo, const Measured& measured, const Measurement& total) {
  memo.push_back(Paragraph{
      "Path " + to_string(total.path) + ".",
      fmt::format("Run here: {}; {} warm runs on {} threads after a cold one of {}. Sampling "
                  "stopped: {}. Checked against the reference: {}.",
                  total.slice, total.samples_s.size(), total.threads, duration_text(total.cold_s),
                  total.stop_reason, total.verification)});
  Table table{{"phase", "median of the slice (" + interval_words(total.samples_s.size()) + ")",
               "whole job", "how known", "share of the job", "counted in the slice"},
              {}};
  for (const Measurement& row : measured)
    if (row.path == total.path && !is_side_by_side(row))
      table.rows.push_back({row.phase, median_text(row), duration_text(row.job_s), row.evidence,
                            share_text(row.job_s, total.job_s), counts_text(row.work)});
  memo.push_back(table);
}

void add_counted_path(Blocks& memo, const Measured& measured, const Measurement& total) {
  memo.push_back(Paragraph{
      "Path " + to_string(total.path) + ".",
      fmt::format(
          "The GPU side's source, run on this CPU for agreement and for counting, never for "
          "speed: {}. Checked against the reference: {}.",
          total.slice, total.verification)});
  Table table{{"phase, measured by counting", "lane instructions", "SIMT efficiency",
               "re-read bytes", "streamed bytes", "launches", "counted in the slice"},
              {}};
  for (const Measurement& row : measured)
    if (row.path == total.path && !is_total(row))
      table.rows.push_back({row.phase, large_text(row.work.lane_instructions),
                            significant(row.work.simt_efficiency, 2),
                            large_text(row.work.cached_bytes), large_text(row.work.dram_bytes),
                            count_text(row.work.launches), counts_text(row.work)});
  if (!table.rows.empty()) memo.push_back(table);
}

std::string range_text(const Comparison& row) {
  if (row.candidate_evidence != "projected") return "-";
  return row.candidate_in_range ? "inside" : "outside";
}

std::vector<std::string> parts_cells(const Comparison& row) {
  return {candidate_name(row),
          row.candidate_device,
          row.candidate_evidence,
          range_text(row),
          or_dash(row.setup_s, duration_text),
          or_dash(row.ingest_s, duration_text),
          or_dash(row.compute_s, duration_text),
          or_dash(row.candidate_kernel_s,
                  [](const Interval& kernel) { return duration_text(kernel.likely); }),
          or_dash(row.candidate_cold_s, duration_text),
          or_dash(row.rework_s, duration_text),
          or_dash(row.download_s, duration_text),
          row.bound_by.empty() ? "-" : row.bound_by,
          or_dash(row.envelope_max, amount_text)};
}

std::string how_sure(const Rows& rows) {
  long projected = 0, outside = 0;
  for (const Comparison& row : rows) {
    const bool is_projected = row.candidate_end_to_end_s && row.candidate_evidence == "projected";
    projected += is_projected;
    outside += is_projected && !row.candidate_in_range;
  }
  if (projected == 0) return "No time in this memo is projected.";
  return fmt::format(
      "{} of {} projected candidates lie outside what the model was calibrated on. A run on "
      "the machine itself is the surest way to narrow a range.",
      outside, projected);
}

std::string joined(const std::vector<std::string>& pieces, const char* between) {
  std::string text;
  for (const std::string& piece : pieces)
    text += (text.empty() ? "" : between) + piece;
  return text + ".";
}

/// Every note once, with the candidates that it is about.
void add_notes(Blocks& memo, const Rows& rows) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  for (const Comparison& row : rows)
    for (const std::string& note : notes_on(row, rows)) {
      auto same = std::find_if(notes.begin(), notes.end(),
                               [&](const auto& entry) { return entry.first == note; });
      if (same == notes.end()) same = notes.insert(notes.end(), {note, {}});
      same->second.push_back(candidate_name(row));
    }
  List list;
  if (const auto shared = notes_on_all(rows); !shared.empty())
    list.items.push_back({"All candidates:", joined(shared, "; ")});
  for (const auto& [note, names] : notes)
    list.items.push_back({"", note + ": " + joined(names, ", ")});
  if (list.items.empty()) return;
  memo.push_back(Paragraph{"", "What the figures rest on or leave out:"});
  memo.push_back(list);
}

} // namespace

void add_measured(Blocks& memo, const Measured& measured) {
  memo.push_back(Heading{2, "What was measured here, and how"});
  if (measured.empty()) {
    memo.push_back(Paragraph{"", "Nothing was measured here."});
    return;
  }
  memo.push_back(Paragraph{"Machine.", machine_sentence(measured.front().environment)});
  for (const Path path : {Path::openmp, Path::cuda, Path::host}) {
    const Measurement* total = total_of(measured, path);
    if (total == nullptr) continue;
    if (!total->verified)
      memo.push_back(Paragraph{"Path " + to_string(path) + ".",
                               "Not verified, so it has no times: " + total->verification + "."});
    else if (total->samples_s.empty())
      add_counted_path(memo, measured, *total);
    else
      add_timed_path(memo, measured, *total);
  }
}

void add_projection(Blocks& memo, const Rows& rows) {
  memo.push_back(Heading{2, "How the times are projected, and how sure they are"});
  memo.push_back(Paragraph{
      "Method.",
      "GPU times come from work counted on the verified source of the GPU side: for each phase the "
      "longest of its instruction, memory, latency, launch and transfer times on that device, at "
      "ceilings that others measured and at a utilisation no better than 1. CPU machines are "
      "scaled "
      "from the time measured here by cores, clock and memory bandwidth. Phases that stay on the "
      "CPU "
      "are counted at the instance's own CPU. Ranges are 10-90 %."});
  memo.push_back(Paragraph{"How sure.", how_sure(rows)});
  Table table{{"machine", "device", "how known", "calibrated range", "set-up", "input", "computing",
               "of it on the device", "of it cold start", "rework", "output", "bound by",
               "largest plausible speed-up"},
              {}};
  for (const Comparison& row : rows)
    if (row.candidate_end_to_end_s) table.rows.push_back(parts_cells(row));
  if (!table.rows.empty()) memo.push_back(table);
  add_notes(memo, rows);
}

void add_reproduction(Blocks& memo, const Rows& rows, const Measured& measured) {
  const Comparison& first = rows.front();
  memo.push_back(Heading{2, "To reproduce"});
  std::string commit = measured.empty() ? "" : measured.front().environment.commit;
  memo.push_back(Paragraph{
      "", fmt::format("Study {}, scenario hash {}; measured with breakeven {}{}. This memo is made "
                      "from comparison.csv, measurements.csv and phases.csv beside it and from "
                      "nothing else; "
                      "the first command writes it again, the second compares anew without "
                      "measuring.",
                      first.study, first.scenario_sha256,
                      first.version.empty() ? "of an unknown version" : first.version,
                      commit.empty() ? "" : ", commit " + commit)});
  memo.push_back(Code{"breakeven memo FOLDER\n"
                      "breakeven run SCENARIO.toml --from FOLDER/measurements.csv"});
}

} // namespace breakeven::memo_sections
