#include "sim/report/answer.h"
#include "sim/report/charts.h"
#include "sim/report/format.h"
#include "sim/report/memo_sections.h"

#include <fmt/format.h>

namespace breakeven::memo_sections {

namespace {

std::string known_as(const std::string& evidence) {
  return evidence.empty() ? "not known" : evidence;
}

std::string month_text(const std::optional<Interval>& cost_usd, double runs_per_month) {
  return cost_usd ? amount_text(cost_usd->likely * runs_per_month) : "-";
}

std::string verdict_text(const Comparison& row) {
  return to_string(row.verdict) + (row.implausible ? " (implausible)" : "");
}

std::vector<std::string> baseline_cells(const Comparison& row) {
  const bool timed = row.baseline_time_s.likely > 0;
  return {baseline_name(row),
          "baseline",
          known_as(timed ? row.baseline_evidence : ""),
          timed ? duration_and_range(row.baseline_time_s) : "-",
          timed ? duration_and_range(row.baseline_time_to_result_s) : "-",
          or_dash(row.baseline_cost_usd, amount_and_range),
          month_text(row.baseline_cost_usd, row.runs_per_month),
          "-",
          timed ? "1" : "-",
          "-",
          or_dash(row.baseline_p_meets_deadline, probability_text)};
}

std::vector<std::string> candidate_cells(const Comparison& row) {
  return {candidate_name(row),
          verdict_text(row),
          known_as(row.candidate_end_to_end_s ? row.candidate_evidence : ""),
          or_dash(row.candidate_end_to_end_s, duration_and_range),
          or_dash(row.candidate_time_to_result_s, duration_and_range),
          or_dash(row.candidate_cost_usd, amount_and_range),
          month_text(row.candidate_cost_usd, row.runs_per_month),
          or_dash(row.saving_usd_per_month, amount_text),
          or_dash(row.speedup, amount_and_range),
          or_dash(row.p_cheaper, probability_text),
          or_dash(row.p_meets_deadline, probability_text)};
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The charts leave out what has no place in them; that must not look like completeness.
std::string not_drawn(const Rows& rows, bool needs_cost) {
  std::vector<std::string> names;
  for (const Comparison& row : rows)
    if (!row.candidate_time_to_result_s || (needs_cost && !row.candidate_cost_usd))
      names.push_back(candidate_name(row));
  return names.empty() ? "" : " Not drawn, for want of figures: " + listed(names) + ".";
}

} // namespace

void add_question(Blocks& memo, const Rows& rows) {
  const Comparison& first = rows.front();
  memo.push_back(Heading{1, first.title.empty() ? first.study : first.title});
  memo.push_back(Paragraph{
      "Question.",
      fmt::format(
          "Should this workload move away from {}, and if so to which of {} candidates? One "
          "run is {}; there are {} runs a month{}.",
          baseline_name(first), rows.size(),
          units_text(static_cast<double>(first.job_units), first.unit),
          count_text(first.runs_per_month),
          first.deadline_s ? ", and each must be done within " + stated_duration(*first.deadline_s)
                           : ", without a deadline")});
  memo.push_back(Paragraph{
      "Baseline.",
      fmt::format("{}: {}, {} threads{}, the CPU side's program ({}).", baseline_name(first),
                  first.baseline_device.empty() ? "an unknown device" : first.baseline_device,
                  first.baseline_threads,
                  first.baseline_isa.empty() ? "" : ", " + first.baseline_isa,
                  first.baseline_path)});
}

void add_answer(Blocks& memo, const Rows& rows) {
  const Answer answer = answer_of(rows);
  const Comparison* row = foremost(rows);
  memo.push_back(Heading{2, "Verdict"});
  Callout callout{answer.verdict, {answer.figures, answer.doubt}};
  if (row != nullptr && row->verdict == Verdict::migrate)
    callout.lines.insert(callout.lines.begin() + 1, "Why: " + row->verdict_reason + ".");
  callout.lines.push_back(fmt::format("Of {} candidates: {}.", rows.size(), tally(rows)));
  memo.push_back(callout);
}

void add_decision_table(Blocks& memo, const Rows& rows) {
  memo.push_back(Heading{2, "The machines compared"});
  Table table{{"machine", "verdict", "how known", "compute time", "time to result", "USD a run",
               "USD a month", "saving a month (USD)", "speed-up", "p cheaper", "p in time"},
              {baseline_cells(rows.front())}};
  for (const Comparison& row : rows)
    table.rows.push_back(candidate_cells(row));
  memo.push_back(table);
  memo.push_back(Paragraph{
      "How to read it.",
      "Likely values, in brackets the 10-90 % range. Measured: run here. Extrapolated: a part was "
      "run here and scaled by counted work. Projected: computed for a machine that is not here. "
      "Costs, savings, speed-ups and probabilities (p) are computed from these times and the "
      "prices "
      "below, and are known no better than they are. A speed-up compares compute times, end to "
      "end, "
      "transfers and cold start included; time to result adds set-up, input, rework and output."});
}

void add_charts(Blocks& memo, const Rows& rows) {
  memo.push_back(
      Chart{"charts/time.svg",
            "Time to result of one run: likely value, 10-90 % range, and how it is known."
                + not_drawn(rows, false),
            time_chart(rows)});
  memo.push_back(Chart{"charts/cost.svg",
                       "Cost of one run against its time to result, with 10-90 % ranges both ways; "
                       "lower left is better. Evidence as in the chart above."
                           + not_drawn(rows, true),
                       cost_chart(rows)});
}

void add_reasons(Blocks& memo, const Rows& rows) {
  memo.push_back(Heading{2, "Why, candidate by candidate"});
  List list;
  for (const Comparison& row : rows)
    list.items.push_back({candidate_name(row) + ": " + verdict_text(row) + ".",
                          row.verdict_reason.empty() ? "" : row.verdict_reason + "."});
  memo.push_back(list);
}

} // namespace breakeven::memo_sections
