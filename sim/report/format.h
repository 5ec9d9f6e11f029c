// Numbers as a person reads them: two or three significant digits, a unit, never more precise than
// known. Used by the terminal table, the memo and the charts. Leaves out what the numbers mean.
#pragma once

#include "sim/project/interval.h"

#include <optional>
#include <string>

namespace breakeven {

std::string significant(double value, int digits); ///< "0.52", "1,200", "-3.1"; "-" if not finite

std::string stated_duration(double seconds);         ///< as a user stated it: "2 h", not "2.0 h"
std::string duration_text(double seconds);           ///< "42 s", "3.1 min", "2.4 h", "5 days"
std::string duration_range(const Interval& seconds); ///< "2.1-4.0 h"
std::string duration_and_range(const Interval& seconds); ///< "2.8 h (2.1-4.0)"
std::string count_text(double count);                    ///< whole numbers exactly: "1,234"
std::string large_text(double amount); ///< three digits and a word: "1.23 million"
std::string units_text(double units, const std::string& unit); ///< "1 frame", "1,234 frames"
std::string amount_text(double amount);                        ///< two digits: "0.52", "1,200"
std::string amount_range(const Interval& amount);              ///< "0.48-0.61"
std::string amount_and_range(const Interval& amount);          ///< "0.52 (0.48-0.61)"
std::string price_text(double price);                          ///< three digits: "5.44"
/// A model's probability is never 0 or 1: "> 0.99" and "< 0.01" at the ends.
std::string probability_text(double probability);
std::string probability_words(double probability); ///< the same inside a sentence: "above 0.99"

/// "aws:p4d.24xlarge spot", "4 x aws:c6i.32xlarge": on-demand and one machine go without saying.
std::string machine_name(const std::string& instance, int count, const std::string& option);
/// m measured, x extrapolated, p projected; "-" where nothing is known.
std::string evidence_mark(const std::string& evidence);

/// Columns that UTF-8 text takes on a terminal.
int width_of(const std::string& text);
/// No control characters: each becomes a space.
std::string on_one_line(const std::string& text);
/// On one line, and cut in the middle with "..." as one character where it is wider than `width`.
std::string fitted(const std::string& text, int width);

} // namespace breakeven
