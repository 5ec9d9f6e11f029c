#include "sim/report/answer.h"
#include "sim/report/format.h"
#include "sim/report/memo_sections.h"
#include "sim/report/report.h"
#include "sim/report/sweep_chart.h"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven {

namespace {

using memo_sections::Blocks;
using memo_sections::or_dash;
using SizeRows = std::vector<SizeRow>;
using Candidates = std::vector<CandidateSweep>;

std::string joined(const std::vector<std::string>& pieces, const char* between) {
  std::string text;
  for (const std::string& piece : pieces)
    text += (text.empty() ? "" : between) + piece;
  return text;
}

std::string known_as(const std::string& evidence) {
  return evidence.empty() ? "not known" : evidence;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

// ---- the question and the answer ----

void add_question(Blocks& blocks, const SizeRows& rows, const Candidates& candidates) {
  const Comparison& first = rows.front().comparison;
  blocks.push_back(Heading{1, first.title.empty() ? first.study : first.title});
  blocks.push_back(Paragraph{
      "Question.",
      fmt::format("From which {} on is a candidate faster or cheaper than {}? Candidates: {}; "
                  "sizes: {}, {}; {} runs a month. Each size was measured and compared for itself; "
                  "sizes of one and the same workload share a measurement.",
                  rows.front().size_key, baseline_of(rows), candidates.size(),
                  sizes_of(rows).size(), swept(rows), count_text(first.runs_per_month))});
  if (const std::string missing = not_measured(rows); !missing.empty())
    blocks.push_back(Callout{"Not all sizes were measured.",
                             {rows.front().size_key + " = " + missing
                              + " is missing: every figure below leaves it out."}});
}

std::string range_or_dash(const std::optional<Crossover>& crossover, const std::string& unit) {
  return crossover ? crossover_range(*crossover, unit) : "-";
}

void add_crossovers(Blocks& blocks, const SizeRows& rows, const Candidates& candidates) {
  const std::string& unit = rows.front().size.unit;
  blocks.push_back(Heading{2, "From which size on"});
  Table table{{"machine", "faster", "10-90 % range", "cheaper", "10-90 % range", "how known"}, {}};
  List doubts;
  for (const CandidateSweep& candidate : candidates) {
    table.rows.push_back({candidate.name, place_of_faster(candidate),
                          range_or_dash(candidate.faster, unit), place_of_cheaper(candidate),
                          range_or_dash(candidate.cheaper, unit), known_as(candidate.evidence)});
    if (const auto own = crossover_doubts(candidate); !own.empty())
      doubts.items.push_back({candidate.name + ":", joined(own, "; ") + "."});
  }
  blocks.push_back(table);
  if (const std::string words = calibration_words(rows); !words.empty())
    doubts.items.push_back({"", words});
  if (!doubts.items.empty()) blocks.push_back(doubts);
  blocks.push_back(Paragraph{
      "How to read it.",
      "Faster: the compute time of one run, end to end, transfers and cold start included. "
      "Cheaper: the cost of one run, with set-up, input and output. A crossover is interpolated "
      "between two neighbouring sizes, on logarithmic scales, where the likely ratio to the "
      "baseline crosses 1; it is known no better than the times on both sides of it. \"Below\" and "
      "\"beyond\" the sizes swept nothing is claimed. Nothing but the size changes: input, "
      "output, set-up and deadline are the scenario's at every size."});
  const std::string runs = "It runs from where the 90 % point of the ratio crosses 1 to where its "
                           "10 % point does. ";
  if (any_projected(candidates))
    blocks.push_back(Paragraph{
        "What the range is.",
        runs
            + "One model, with one error, serves all sizes: if it is too optimistic at one of them "
              "it is so at all, and the whole line moves; a run on the machine itself narrows "
              "that. On top comes how far the samples of each size lay apart here, which an idle "
              "machine narrows."});
  else
    blocks.push_back(Paragraph{"The range.", runs
                                                 + "No time here is projected: it is the spread "
                                                   "of what was measured, size by size."});
}

// ---- charts ----

/// The charts leave out what has no place in them; that must not look like completeness.
std::string not_drawn(const Candidates& candidates, const std::vector<Candidates>& groups) {
  std::vector<std::string> names;
  for (const CandidateSweep& candidate : candidates) {
    const bool drawn = std::any_of(groups.begin(), groups.end(), [&](const Candidates& group) {
      return std::any_of(group.begin(), group.end(), [&](const CandidateSweep& one) {
        return one.rows.front()->target == candidate.rows.front()->target;
      });
    });
    if (!drawn) names.push_back(candidate.name);
  }
  return names.empty() ? "" : " Not drawn, for want of figures: " + joined(names, ", ") + ".";
}

void add_charts(Blocks& blocks, const Candidates& candidates, SweepQuantity quantity) {
  const bool is_time = quantity == SweepQuantity::time;
  const std::string kind = is_time ? "sweep_time" : "sweep_cost";
  const std::vector<Candidates> groups = in_charts(candidates, quantity);
  if (groups.empty())
    blocks.push_back(Paragraph{
        "", fmt::format("No candidate has a {}, so none is drawn.", is_time ? "time" : "cost")});
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::string name = i == 0 ? kind : fmt::format("{}_{}", kind, i + 1);
    blocks.push_back(Chart{
        "charts/" + name + ".svg",
        fmt::format("{} of one run against size{}: likely values with their 10-90 % band; a dotted "
                    "line, in its colour, where a candidate likely becomes {} for good. A gap in a "
                    "line is a size without figures.{}",
                    is_time ? "Compute time" : "Cost",
                    groups.size() > 1 ? fmt::format(" ({} of {})", i + 1, groups.size()) : "",
                    is_time ? "faster" : "cheaper", not_drawn(candidates, groups)),
        sweep_chart(name, groups[i], quantity)});
  }
}

// ---- size by size ----

std::string evidence_text(const Comparison& row) {
  const std::string baseline =
      known_as(row.baseline_time_s.likely > 0 ? row.baseline_evidence : "");
  const std::string candidate = known_as(row.candidate_end_to_end_s ? row.candidate_evidence : "");
  return baseline == candidate ? "both " + baseline : baseline + " / " + candidate;
}

std::string calibration_text(const Comparison& row) {
  if (!row.candidate_end_to_end_s || row.candidate_evidence != "projected") return "-";
  return row.candidate_in_range ? "inside" : "outside";
}

std::vector<std::string> cells_of(const SizeRow& row) {
  const Comparison& one = row.comparison;
  const bool timed = one.baseline_time_s.likely > 0;
  return {stated_size(row),
          !is_measured(row) ? "not measured"
                            : to_string(one.verdict) + (one.implausible ? " (implausible)" : ""),
          evidence_text(one),
          calibration_text(one),
          timed ? duration_and_range(one.baseline_time_s) : "-",
          or_dash(one.candidate_end_to_end_s, duration_and_range),
          or_dash(one.speedup, amount_and_range),
          or_dash(one.baseline_cost_usd, amount_and_range),
          or_dash(one.candidate_cost_usd, amount_and_range),
          or_dash(one.p_cheaper, probability_text)};
}

/// Why rows have no figures, each reason once.
void add_gaps(Blocks& blocks, const CandidateSweep& candidate) {
  List list;
  for (const SizeRow* row : candidate.rows) {
    const std::string gap = gap_of(*row);
    if (!gap.empty()) list.items.push_back({stated_size(*row) + ":", gap + "."});
  }
  if (!list.items.empty()) blocks.push_back(list);
}

void add_sizes(Blocks& blocks, const Candidates& candidates) {
  blocks.push_back(Heading{2, "Size by size"});
  for (const CandidateSweep& candidate : candidates) {
    const SizeRow& first = *candidate.rows.front();
    const std::string& device = first.comparison.candidate_device;
    blocks.push_back(Heading{3, candidate.name + (device.empty() ? "" : " (" + device + ")")});
    blocks.push_back(
        Paragraph{"", capitalised(candidate.evidence.empty()
                                      ? crossover_words(candidate)
                                      : candidate.evidence + ": " + crossover_words(candidate))
                          + "."});
    Table table{{column_title(first.size_key), "verdict", "how known, baseline / candidate",
                 "calibrated range", "baseline's compute time", "compute time", "speed-up",
                 "baseline's USD a run", "USD a run", "p cheaper"},
                {}};
    for (const SizeRow* row : candidate.rows)
      table.rows.push_back(cells_of(*row));
    blocks.push_back(table);
    add_gaps(blocks, candidate);
  }
  blocks.push_back(Paragraph{
      "",
      "Likely values, in brackets the 10-90 % range. Measured: run here. Extrapolated: a part was "
      "run here and scaled by counted work. Projected: computed for a machine that is not here. "
      "Costs, speed-ups and probabilities (p) are computed from these times and the prices below, "
      "and are known no better than they are. Each size has a memo of its own, which also has the "
      "times to result and the deadline: sweep/SIZE/memo.html."});
}

// ---- what it rests on ----

void add_measured(Blocks& blocks, const SizeRows& rows) {
  blocks.push_back(Heading{2, "What was measured here"});
  Table table{
      {column_title(rows.front().size_key), "run here", "sampling stopped", "scenario hash"}, {}};
  for (const SizeRow* row : sizes_of(rows)) {
    const Comparison& one = row->comparison;
    table.rows.push_back({stated_size(*row), is_measured(*row) ? one.slice : "nothing",
                          one.stop_reason.empty() ? "-" : one.stop_reason,
                          one.scenario_sha256.substr(0, 12)});
  }
  blocks.push_back(table);
}

void add_price(Table& table, const std::string& name, const std::optional<double>& price,
               const std::string& as_of, const std::string& source) {
  const std::vector<std::string> line{name, or_dash(price, price_text), as_of, source};
  if (std::find(table.rows.begin(), table.rows.end(), line) == table.rows.end())
    table.rows.push_back(line);
}

void add_prices(Blocks& blocks, const SizeRows& rows, const Candidates& candidates) {
  blocks.push_back(Heading{2, "Prices"});
  Table table{{"machine", "USD/h", "as of", "source"}, {}};
  for (const SizeRow& row : rows)
    add_price(table, baseline_name(row.comparison) + " (baseline)",
              row.comparison.baseline_price_usd_per_h, row.comparison.baseline_price_as_of,
              row.comparison.baseline_price_source);
  for (const CandidateSweep& candidate : candidates)
    for (const SizeRow* row : candidate.rows)
      add_price(table, candidate_name(row->comparison), row->comparison.price_usd_per_h,
                row->comparison.price_as_of, row->comparison.price_source);
  blocks.push_back(table);
}

/// Every note once, with the candidates and sizes that it is about.
void add_notes(Blocks& blocks, const Candidates& candidates,
               const std::vector<Comparison>& comparisons) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  for (const CandidateSweep& candidate : candidates) {
    std::vector<std::pair<std::string, std::vector<std::string>>> own;
    for (const SizeRow* row : candidate.rows)
      for (const std::string& note : notes_on(row->comparison, comparisons)) {
        if (!is_measured(*row)) continue;
        auto same = std::find_if(own.begin(), own.end(),
                                 [&](const auto& entry) { return entry.first == note; });
        if (same == own.end()) same = own.insert(same, {note, {}});
        same->second.push_back(stated_size(*row));
      }
    for (const auto& [note, sizes] : own) {
      auto same = std::find_if(notes.begin(), notes.end(),
                               [&](const auto& entry) { return entry.first == note; });
      if (same == notes.end()) same = notes.insert(same, {note, {}});
      same->second.push_back(sizes.size() == candidate.rows.size()
                                 ? candidate.name
                                 : candidate.name + " at " + joined(sizes, ", "));
    }
  }
  List list;
  if (const auto shared = notes_on_all(comparisons); !shared.empty())
    list.items.push_back({"All candidates at all sizes:", joined(shared, "; ") + "."});
  for (const auto& [note, names] : notes)
    list.items.push_back({"", note + ": " + joined(names, "; ") + "."});
  if (list.items.empty()) return;
  blocks.push_back(Heading{2, "What the figures rest on or leave out"});
  blocks.push_back(list);
}

void add_left_out(Blocks& blocks, const std::vector<Comparison>& comparisons) {
  blocks.push_back(Heading{2, "What is not modelled"});
  List list;
  for (const std::string& piece : left_out_by_all(comparisons))
    list.items.push_back({"", piece});
  if (list.items.empty())
    blocks.push_back(Paragraph{"", "The rows name nothing that all of them leave out."});
  else
    blocks.push_back(list);
}

void add_reproduction(Blocks& blocks, const SizeRows& rows) {
  std::vector<std::string> sizes;
  for (const SizeRow* row : sizes_of(rows))
    sizes.push_back(row->size.text);
  blocks.push_back(Heading{2, "To reproduce"});
  std::string version;
  for (const SizeRow& row : rows)
    if (version.empty()) version = row.comparison.version;
  blocks.push_back(Paragraph{
      "", fmt::format("Study {}, measured with breakeven {}. This document is made from sweep.csv "
                      "beside it and from nothing else. The first command measures anew, the "
                      "second compares anew without measuring, with the --set and --catalog that "
                      "were given then.",
                      rows.front().comparison.study,
                      version.empty() ? "of an unknown version" : version)});
  const std::string over =
      fmt::format("--over \"{}={}\"", rows.front().size_key, joined(sizes, ","));
  blocks.push_back(Code{fmt::format("breakeven sweep SCENARIO.toml {0}\n"
                                    "breakeven sweep SCENARIO.toml {0} --from FOLDER/sweep",
                                    over)});
}

} // namespace

std::vector<ResultFile> sweep_document(const std::vector<SizeRow>& rows) {
  if (rows.empty())
    return {{"sweep.md", "There are no candidates.\n"},
            {"sweep.html", html("No candidates", {Paragraph{"", "There are no candidates."}})}};
  const Candidates candidates = candidates_of(rows);
  std::vector<Comparison> comparisons;
  for (const SizeRow& row : rows)
    comparisons.push_back(row.comparison);
  Blocks blocks;
  add_question(blocks, rows, candidates);
  add_crossovers(blocks, rows, candidates);
  add_charts(blocks, candidates, SweepQuantity::time);
  add_charts(blocks, candidates, SweepQuantity::cost);
  add_sizes(blocks, candidates);
  add_measured(blocks, rows);
  add_prices(blocks, rows, candidates);
  add_notes(blocks, candidates, comparisons);
  add_left_out(blocks, comparisons);
  add_reproduction(blocks, rows);

  std::vector<ResultFile> files{{"sweep.md", markdown(blocks)},
                                {"sweep.html", html(rows.front().comparison.title, blocks)}};
  for (const Block& block : blocks)
    if (const Chart* chart = std::get_if<Chart>(&block)) files.push_back({chart->file, chart->svg});
  return files;
}

} // namespace breakeven
