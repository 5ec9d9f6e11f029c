#include "sim/report/answer.h"
#include "sim/report/format.h"
#include "sim/report/memo_sections.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace breakeven::memo_sections {

namespace {

std::string crossover_text(const Comparison& row) {
  if (row.crossover_size && *row.crossover_size <= 1) return "any size";
  if (row.crossover_size) return "from " + units_text(*row.crossover_size, row.unit);
  return row.candidate_cost_usd && row.baseline_cost_usd ? "never" : "-";
}

std::vector<std::string> break_even_cells(const Comparison& row) {
  return {candidate_name(row),
          row.break_even_speedup ? amount_text(*row.break_even_speedup)
          : row.p_cheaper        ? "none is enough"
                                 : "-",
          row.speedup ? amount_text(row.speedup->likely) + ", " + row.candidate_evidence : "-",
          or_dash(row.break_even_price_usd_per_h, price_text),
          or_dash(row.price_usd_per_h, price_text),
          crossover_text(row),
          row.candidate_time_to_result_s ? duration_text(row.candidate_time_to_result_s->high)
                                         : "-"};
}

std::string quoted_price(const Comparison& row) {
  if (!row.price_original_per_h) return "-";
  return price_text(*row.price_original_per_h) + " " + row.price_currency;
}

/// A price that the scenario states is not a published one.
std::string price_evidence(const std::string& source) {
  return source.rfind("the scenario", 0) == 0 ? "assumed" : "published";
}

std::string interruptions(const Comparison& row) {
  if (!row.interruptions_per_h_likely) return "-";
  return fmt::format("{} ({}-{})", amount_text(*row.interruptions_per_h_likely),
                     amount_text(row.interruptions_per_h_low.value_or(0)),
                     amount_text(row.interruptions_per_h_high.value_or(0)));
}

/// "61 % lower", "3.2 times higher".
std::string change(double from, double to) {
  if (!(from > 0) || !(to > 0)) return "another";
  const double factor = to / from;
  if (factor >= 2) return amount_text(factor) + " times as much";
  const double percent = 100 * std::fabs(factor - 1);
  if (percent < 0.5) return "less than 1 % away";
  return fmt::format("{} % {}", significant(percent, percent < 10 ? 1 : 2),
                     factor < 1 ? "lower" : "higher");
}

void add_flip(std::string& text, const std::string& more) {
  text += (text.empty() ? "" : "; ") + more;
}

/// Which single input makes both sides cost the same, and at what value.
std::string cost_flips(const Comparison& row) {
  std::string text;
  if (row.break_even_speedup && row.speedup)
    add_flip(text,
             fmt::format("at a speed-up of {} instead of {} ({})",
                         amount_text(*row.break_even_speedup), amount_text(row.speedup->likely),
                         change(row.speedup->likely, *row.break_even_speedup)));
  if (row.break_even_price_usd_per_h && row.price_usd_per_h)
    add_flip(text, fmt::format("at {} USD/h for it instead of {} ({})",
                               price_text(*row.break_even_price_usd_per_h),
                               price_text(*row.price_usd_per_h),
                               change(*row.price_usd_per_h, *row.break_even_price_usd_per_h)));
  if (row.crossover_size && *row.crossover_size > 1)
    add_flip(text, fmt::format("at {} a run instead of {}",
                               units_text(*row.crossover_size, row.unit), row.job_units));
  return text;
}

std::string sensitivity_of(const Comparison& row) {
  const std::string flips = cost_flips(row);
  std::string text = flips.empty() ? "no single input that is modelled makes the costs equal"
                                   : "one run costs the same as the baseline " + flips;
  if (row.crossover_size && *row.crossover_size <= 1)
    text += "; it stays the cheaper one at any size of the job";
  if (row.candidate_time_to_result_s && row.deadline_s)
    text += fmt::format("; a deadline below {} (now {}) is met with a probability below 0.9",
                        duration_text(row.candidate_time_to_result_s->high),
                        stated_duration(*row.deadline_s));
  return text + ".";
}

} // namespace

void add_break_even(Blocks& memo, const Rows& rows) {
  memo.push_back(Heading{2, "Where it breaks even"});
  Table table{{"machine", "speed-up needed", "speed-up, likely",
               "price at which costs are equal "
               "(USD/h)",
               "price now (USD/h)", "cheaper by job size", "deadline met with p 0.9"},
              {}};
  for (const Comparison& row : rows)
    if (row.candidate_time_to_result_s) table.rows.push_back(break_even_cells(row));
  if (table.rows.empty()) {
    memo.push_back(Paragraph{"", "No candidate has a time, so there is nothing to compute."});
    return;
  }
  memo.push_back(table);
  memo.push_back(Paragraph{
      "", "At likely values of everything else, computed from times as known above. The speed-up "
          "needed is that of computing, with set-up, transfers, rework and billing steps on top. "
          "Job size: units in a run from which the candidate stays the cheaper one."});
}

void add_prices(Blocks& memo, const Rows& rows) {
  memo.push_back(Heading{2, "Prices"});
  Table table{{"machine", "USD/h", "as quoted, per h", "region", "as of", "known as", "source",
               "interruptions per h"},
              {}};
  const Comparison& first = rows.front();
  const bool priced = first.baseline_price_usd_per_h.has_value();
  table.rows.push_back({baseline_name(first) + " (baseline)",
                        or_dash(first.baseline_price_usd_per_h, price_text), "-", "-",
                        first.baseline_price_as_of,
                        priced ? price_evidence(first.baseline_price_source) : "not known",
                        first.baseline_price_source, "-"});
  for (const Comparison& row : rows)
    table.rows.push_back({candidate_name(row), or_dash(row.price_usd_per_h, price_text),
                          quoted_price(row), row.price_region, row.price_as_of,
                          row.price_usd_per_h ? price_evidence(row.price_source) : "not known",
                          row.price_source, interruptions(row)});
  memo.push_back(table);
  std::set<std::string> notes;
  for (const Comparison& row : rows) {
    if (row.usd_per_currency && row.price_currency != "USD")
      notes.insert(fmt::format("1 {} = {} USD, as of {}; {}.", row.price_currency,
                               significant(*row.usd_per_currency, 3),
                               row.rate_as_of.empty() ? "an unknown date" : row.rate_as_of,
                               row.rate_source.empty() ? "source unknown" : row.rate_source));
    if (row.interruptions_per_h_likely && !row.interruption_source.empty())
      notes.insert("Interruptions of " + candidate_name(row) + ": " + row.interruption_source
                   + ".");
  }
  List list;
  for (const std::string& note : notes)
    list.items.push_back({"", note});
  if (!list.items.empty()) memo.push_back(list);
  memo.push_back(Paragraph{"",
                           "Prices are stored with this result, so that the memo stays as it is "
                           "when they change."});
}

void add_sensitivity(Blocks& memo, const Rows& rows) {
  memo.push_back(Heading{2, "What would flip it"});
  List list;
  for (const Comparison& row : rows)
    if (row.p_cheaper)
      list.items.push_back(
          {candidate_name(row) + " (" + to_string(row.verdict) + "):", sensitivity_of(row)});
  if (list.items.empty())
    memo.push_back(Paragraph{"", "No candidate has both costs, so nothing can flip."});
  else
    memo.push_back(list);
}

void add_left_out(Blocks& memo, const Rows& rows) {
  memo.push_back(Heading{2, "What is not modelled"});
  List list;
  for (const std::string& piece : left_out_by_all(rows))
    list.items.push_back({"", piece});
  if (list.items.empty())
    memo.push_back(Paragraph{"", "The rows name nothing that all of them leave out."});
  else
    memo.push_back(list);
}

} // namespace breakeven::memo_sections
