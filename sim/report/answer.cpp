#include "sim/report/answer.h"

#include "sim/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace breakeven {

namespace {

using Rows = std::vector<Comparison>;

bool has_figures(const Comparison& row) { return row.speedup && row.p_cheaper; }

int rank_of(const Comparison& row) {
  if (!row.candidate_time_to_result_s) return 5;
  if (!row.candidate_cost_usd) return 4;
  if (row.implausible) return 2;
  switch (row.verdict) {
  case Verdict::migrate:
    return 0;
  case Verdict::undecided:
    return 1;
  case Verdict::stay:
    return 3;
  }
  return 5;
}

double cost_of(const Comparison& row) {
  return row.candidate_cost_usd ? row.candidate_cost_usd->likely : 0;
}

std::string money_against(const Comparison& row) {
  return fmt::format("a run likely costs {} USD instead of {}",
                     amount_text(row.candidate_cost_usd->likely),
                     amount_text(row.baseline_cost_usd->likely));
}

std::string time_against(const Comparison& row) {
  const std::string here = duration_text(row.baseline_time_to_result_s.likely);
  const std::string there = duration_text(row.candidate_time_to_result_s->likely);
  return here == there ? "takes as long, " + there : "takes " + there + " instead of " + here;
}

std::string chances(const Comparison& row) {
  std::string text = "cheaper with probability " + probability_words(*row.p_cheaper);
  if (row.deadline_s && row.p_meets_deadline)
    text += fmt::format(" and meets the deadline of {} with probability {}",
                        stated_duration(*row.deadline_s), probability_words(*row.p_meets_deadline));
  return text;
}

std::string month(const Comparison& row) {
  if (!row.saving_usd_per_month) return "";
  const double saving = *row.saving_usd_per_month;
  return fmt::format(" That {} about {} USD a month.", saving >= 0 ? "saves" : "costs",
                     amount_text(saving >= 0 ? saving : -saving) + (saving >= 0 ? "" : " more"));
}

/// What stands behind the time, and what would make it firmer.
std::string doubt_of(const Comparison& row) {
  if (row.candidate_evidence == "measured") return "The candidate's time was measured.";
  if (row.candidate_evidence == "extrapolated")
    return "The candidate's time is extrapolated from a measured part of the job.";
  return std::string("The candidate's time is projected, ")
         + (row.candidate_in_range ? "inside" : "outside")
         + " what the model was calibrated on: measure one run there before you commit.";
}

std::string nearest(const Comparison& row) {
  std::string text = fmt::format("The nearest, {}, is {}", candidate_name(row), chances(row));
  if (row.break_even_speedup)
    text += fmt::format("; it breaks even at a speed-up of {}, likely {}",
                        amount_text(*row.break_even_speedup), amount_text(row.speedup->likely));
  if (row.break_even_price_usd_per_h && row.price_usd_per_h)
    text +=
        fmt::format(", or at {} USD/h instead of {}", price_text(*row.break_even_price_usd_per_h),
                    price_text(*row.price_usd_per_h));
  return text + ".";
}

Answer migrate_to(const Comparison& row) {
  return {fmt::format("Migrate to {}.", candidate_name(row)),
          fmt::format("It is {}: {} and {}.{}", chances(row), money_against(row), time_against(row),
                      month(row)),
          doubt_of(row)};
}

Answer without_migration(const Rows& rows, const Comparison& nearest_row) {
  const bool open = std::any_of(rows.begin(), rows.end(), [](const Comparison& row) {
    return row.verdict == Verdict::undecided && has_figures(row) && !row.implausible;
  });
  const std::string baseline = baseline_name(rows.front());
  if (!open)
    return {fmt::format("Stay on {}.", baseline), "No candidate pays. " + nearest(nearest_row),
            "It would take a faster program, a lower price or a larger job; see the break-even "
            "points."};
  return {fmt::format("Undecided; stay on {} for now.", baseline),
          "No candidate is surely better, and not all are worse. " + nearest(nearest_row),
          doubt_of(nearest_row)};
}

std::vector<std::string> pieces_of(const std::string& text) {
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::size_t first = std::min(text.find_first_not_of(' ', at), end);
    if (first < end) pieces.push_back(text.substr(first, end - first));
    at = end + 1;
  }
  return pieces;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// What stands in `excluded` of every row.
std::vector<std::string> shared_pieces(const Rows& rows) {
  std::vector<std::string> shared;
  for (const std::string& piece : pieces_of(rows.front().excluded)) {
    const bool everywhere = std::all_of(rows.begin(), rows.end(), [&](const Comparison& row) {
      return contains(pieces_of(row.excluded), piece);
    });
    if (everywhere && !contains(shared, piece)) shared.push_back(piece);
  }
  return shared;
}

} // namespace

std::string candidate_name(const Comparison& row) {
  return machine_name(row.candidate_instance, row.candidate_count, row.candidate_option);
}
std::string baseline_name(const Comparison& row) {
  return machine_name(row.baseline_instance, row.baseline_count, row.baseline_option);
}

std::vector<Comparison> in_order(std::vector<Comparison> rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Comparison& a, const Comparison& b) {
    return std::make_tuple(rank_of(a), cost_of(a)) < std::make_tuple(rank_of(b), cost_of(b));
  });
  return rows;
}

const Comparison* foremost(const Rows& rows) {
  const Comparison* best = nullptr;
  for (const Comparison& row : rows)
    if (row.verdict == Verdict::migrate && has_figures(row)
        && (best == nullptr || cost_of(row) < cost_of(*best)))
      best = &row;
  if (best != nullptr) return best;
  for (const Comparison& row : rows)
    if (has_figures(row) && !row.implausible
        && (best == nullptr || *row.p_cheaper > *best->p_cheaper))
      best = &row;
  return best;
}

Answer answer_of(const Rows& rows) {
  const Comparison* row = foremost(rows);
  if (row == nullptr) {
    const Comparison& first = rows.front();
    return {fmt::format("No answer; stay on {} for now.", baseline_name(first)),
            "No candidate can be held against the baseline: " + first.verdict_reason + ".",
            "Each row says what it lacks."};
  }
  return row->verdict == Verdict::migrate ? migrate_to(*row) : without_migration(rows, *row);
}

std::string tally(const Rows& rows) {
  long migrate = 0, undecided = 0, implausible = 0, stay = 0, without = 0;
  for (const Comparison& row : rows) {
    if (!has_figures(row)) {
      ++without;
      continue;
    }
    migrate += row.verdict == Verdict::migrate;
    undecided += row.verdict == Verdict::undecided;
    implausible += row.verdict == Verdict::undecided && row.implausible;
    stay += row.verdict == Verdict::stay;
  }
  return fmt::format("{} migrate, {} undecided{}, {} stay, {} without figures", migrate, undecided,
                     implausible > 0 ? fmt::format(" ({} implausible)", implausible) : "", stay,
                     without);
}

std::vector<std::string> left_out_by_all(const Rows& rows) {
  const std::vector<std::string> known = excluded();
  std::vector<std::string> all;
  for (const std::string& piece : shared_pieces(rows))
    if (contains(known, piece)) all.push_back(piece);
  return all;
}

std::vector<std::string> notes_on_all(const Rows& rows) {
  const std::vector<std::string> known = excluded();
  std::vector<std::string> notes;
  if (rows.size() < 2) return notes;
  for (const std::string& piece : shared_pieces(rows))
    if (!contains(known, piece)) notes.push_back(piece);
  return notes;
}

std::vector<std::string> notes_on(const Comparison& row, const Rows& rows) {
  const std::vector<std::string> by_all = left_out_by_all(rows), shared = notes_on_all(rows);
  std::vector<std::string> own;
  for (const std::string& piece : pieces_of(row.excluded))
    if (!contains(by_all, piece) && !contains(shared, piece)) own.push_back(piece);
  return own;
}

} // namespace breakeven
