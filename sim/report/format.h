// Numbers as a person reads them: two or three significant digits, a unit, never more precise than
// known. Used by the terminal table and the memo.
#pragma once

#include "sim/compare/comparison.h"

#include <string>

namespace breakeven {

std::string significant(double value, int digits); ///< "0.52", "1,240", "3.1"
std::string count_text(double count);             ///< "22", "1,370", "0.5": no decimals where whole
std::string seconds_text(double seconds);         ///< "42 s", "3.1 min", "2.4 h", "5.2 days"
std::string usd_text(double usd);                 ///< "0.52", "1,240"
std::string probability_text(double probability); ///< "0.97"; "> 0.99" and "< 0.01" at the ends
std::string interval_text(const Interval& interval, std::string (*text)(double)); ///< "2.1-4.0 h"
std::string option_text(const std::string& instance, int count, const std::string& option);
std::string hash_text(const std::string& sha256); ///< the first twelve digits

/// m, x or p, as the table's legend explains; "?" where nothing is known.
char evidence_mark(const std::string& evidence);

/// One line a person can act on, from all rows of a study.
std::string headline(const std::vector<Comparison>& rows);

} // namespace breakeven
