// The rows that a scenario names: from a file, read whole, or made up as they are asked for.
#pragma once

#include "workloads/risk/settings.h"

namespace breakeven::risk {

/// Throws BadInput as the readers do (table_csv.h, table_libsvm.h, transactions.h).
Rows rows_of(const DataSettings& data);

/// One row in data.validation_every held out to validate on, and the others: of a file those whose
/// index is a multiple of it, of made-up rows the last ones.
Rows validation_rows(const Rows& rows, const DataSettings& data);
Rows training_rows(const Rows& rows, const DataSettings& data);

/// Throws BadInput where the rows held out have labels of one kind, or are too few to have both: no
/// quality can be told of them.
void check_both_labels(const Rows& rows, const Settings& settings);

} // namespace breakeven::risk
