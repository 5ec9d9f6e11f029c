// What all rows of a study say together: the candidates in the order in which a reader wants them,
// the one sentence to act on, and what the rows leave out. Used by the terminal table and the memo.
#pragma once

#include "sim/compare/comparison.h"

#include <string>
#include <vector>

namespace breakeven {

std::string candidate_name(const Comparison& row);
std::string baseline_name(const Comparison& row);

/// Those to migrate to first, then undecided, then stay, each by likely cost; then those without a
/// price, then those without a time.
std::vector<Comparison> in_order(std::vector<Comparison> rows);

struct Answer {
  std::string verdict; ///< "Migrate to aws:p4de.24xlarge spot."
  std::string figures; ///< what that means in time and money
  std::string doubt;   ///< what weakens it, and what to do about that
};
Answer answer_of(const std::vector<Comparison>& rows);

/// The candidate that the answer is about: the cheapest to migrate to, else the one most likely to
/// be cheaper; null where no row has both costs.
const Comparison* foremost(const std::vector<Comparison>& rows);

/// "3 migrate, 2 undecided (1 of them implausible), 4 stay, 3 without figures".
std::string tally(const std::vector<Comparison>& rows);

/// What no row models; what all rows rest on besides; and what one row rests on or leaves out.
std::vector<std::string> left_out_by_all(const std::vector<Comparison>& rows);
std::vector<std::string> notes_on_all(const std::vector<Comparison>& rows);
std::vector<std::string> notes_on(const Comparison& row, const std::vector<Comparison>& rows);

} // namespace breakeven
