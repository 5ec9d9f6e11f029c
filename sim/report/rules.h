// What must hold between the columns of one row, whoever wrote the file: no ratio without both
// times, no projection without an interval, no time without verification. Leaves out what one
// column can say alone (columns.h).
#pragma once

#include "sim/report/columns.h"

namespace breakeven {

/// BadInput naming the column at fault.
void check_rules(const Measurement& row, const CsvRow& line);
void check_rules(const Comparison& row, const CsvRow& line);
void check_rules(const PhaseTime& row, const CsvRow& line);
void check_rules(const SizeRow& row, const CsvRow& line);

} // namespace breakeven
