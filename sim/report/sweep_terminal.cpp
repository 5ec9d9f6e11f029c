#include "sim/report/answer.h"
#include "sim/report/format.h"
#include "sim/report/report.h"
#include "sim/report/sweep.h"
#include "sim/report/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven {

namespace {

// ---- the table ----

enum Column { size, baseline, compute, speedup, baseline_cost, cost, cheaper, verdict, columns };
using Cells = std::vector<std::string>;

std::string marked(const std::string& text, const std::string& evidence) {
  return text + " " + evidence_mark(evidence);
}

Cells cells_of(const SizeRow& row) {
  const Comparison& one = row.comparison;
  Cells cells(columns, "-");
  cells[size] = stated_size(row);
  if (one.baseline_time_s.likely > 0)
    cells[baseline] = marked(duration_range(one.baseline_time_s), one.baseline_evidence);
  if (one.candidate_end_to_end_s)
    cells[compute] = marked(duration_range(*one.candidate_end_to_end_s), one.candidate_evidence);
  if (one.speedup) cells[speedup] = marked(amount_text(one.speedup->likely), weaker_evidence(one));
  if (one.baseline_cost_usd)
    cells[baseline_cost] = marked(amount_range(*one.baseline_cost_usd), one.baseline_evidence);
  if (one.candidate_cost_usd)
    cells[cost] = marked(amount_range(*one.candidate_cost_usd), one.candidate_evidence);
  if (one.p_cheaper) cells[cheaper] = probability_text(*one.p_cheaper);
  cells[verdict] =
      !is_measured(row) ? "not measured" : to_string(one.verdict) + (one.implausible ? "!" : "");
  return cells;
}

std::string table_text(const std::vector<SizeRow>& rows,
                       const std::vector<CandidateSweep>& candidates, int width) {
  TextTable table;
  table.names = {verdict};
  table.spare = {baseline_cost, cheaper, cost};
  table.shortened = size;
  table.rows = {{"", "baseline's", "compute time", "speed-", "baseline's", "USD a run", "p", ""},
                {column_title(rows.front().size_key), "time 10-90 %", "10-90 %", "up", "USD",
                 "10-90 %", "cheaper", "verdict"}};
  for (const CandidateSweep& candidate : candidates) {
    const std::string& device = candidate.rows.front()->comparison.candidate_device;
    table.rows.push_back({candidate.name + (device.empty() ? "" : " (" + device + ")")});
    for (const SizeRow* row : candidate.rows)
      table.rows.push_back(cells_of(*row));
  }
  return text_of(table, width);
}

// ---- around the table ----

std::string legend(const std::vector<CandidateSweep>& candidates) {
  std::string text =
      "Crossovers: where the likely ratio to the baseline crosses 1, between neighbouring sizes, "
      "and in brackets where its 10 and 90 % points do.";
  if (any_projected(candidates))
    text += " One model serves all sizes: what it errs by moves them all alike.";
  text += " m measured, x extrapolated from a measured slice, p projected; costs and speed-ups are "
          "known as well as the times they come from.";
  const bool implausible =
      std::any_of(candidates.begin(), candidates.end(), [](const CandidateSweep& candidate) {
        return std::any_of(candidate.rows.begin(), candidate.rows.end(),
                           [](const SizeRow* row) { return row->comparison.implausible; });
      });
  if (implausible) text += " ! The speed-up is above what the two machines' ceilings allow.";
  return text;
}

/// Why rows have no figures, each reason once with its sizes.
std::vector<std::string> gaps(const CandidateSweep& candidate) {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const SizeRow* row : candidate.rows) {
    const std::string gap = gap_of(*row);
    if (gap.empty() || !is_measured(*row)) continue;
    auto same = std::find_if(reasons.begin(), reasons.end(),
                             [&](const auto& entry) { return entry.first == gap; });
    if (same == reasons.end()) same = reasons.insert(same, {gap, ""});
    same->second += (same->second.empty() ? "" : ", ") + stated_size(*row);
  }
  std::vector<std::string> lines;
  for (const auto& [reason, sizes] : reasons)
    lines.push_back(
        fmt::format("Figures missing for {} at {}: {}.", candidate.name, sizes, reason));
  return lines;
}

std::string left_out(const std::vector<SizeRow>& rows) {
  std::vector<Comparison> comparisons;
  for (const SizeRow& row : rows)
    comparisons.push_back(row.comparison);
  const std::vector<std::string> all = left_out_by_all(comparisons);
  std::string text = "Not counted: ";
  const std::size_t shown = std::min<std::size_t>(all.size(), 3);
  for (std::size_t i = 0; i < shown; ++i)
    text += (i ? "; " : "") + all[i];
  if (all.empty()) return "";
  return text
         + (all.size() > shown ? fmt::format("; {} more in the document.", all.size() - shown)
                               : ".");
}

} // namespace

std::string sweep_table(const std::vector<SizeRow>& rows, int width) {
  if (rows.empty()) return "There are no candidates.\n";
  const int line_width = std::clamp(width, 80, 160);
  const std::vector<CandidateSweep> candidates = candidates_of(rows);
  std::string text = wrapped(fmt::format("{}: {}, against {}.", rows.front().comparison.title,
                                         swept(rows), baseline_of(rows)),
                             line_width)
                     + "\n";
  for (const CandidateSweep& candidate : candidates) {
    std::string line = candidate.name
                       + (candidate.evidence.empty() ? "" : ", " + candidate.evidence) + ": "
                       + crossover_words(candidate);
    for (const std::string& doubt : crossover_doubts(candidate))
      line += "; " + doubt;
    text += wrapped(line + ".", line_width, "  ");
  }
  if (const std::string words = calibration_words(rows); !words.empty())
    text += wrapped(words, line_width);
  text += "\n" + table_text(rows, candidates, line_width) + wrapped(legend(candidates), line_width)
          + "\n";
  if (const std::string missing = not_measured(rows); !missing.empty())
    text += wrapped("Not measured: " + rows.front().size_key + " = " + missing + ".", line_width);
  for (const CandidateSweep& candidate : candidates)
    for (const std::string& line : gaps(candidate))
      text += wrapped(line, line_width, "  ");
  if (const std::string line = left_out(rows); !line.empty()) text += wrapped(line, line_width);
  return text;
}

} // namespace breakeven
