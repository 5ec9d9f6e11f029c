// One column table for each results file: name, meaning, writer and reader together, so that
// header, rows, reader and results/README.md cannot drift apart.
#pragma once

#include "sim/catalog/csv.h"
#include "sim/compare/comparison.h"

#include <functional>
#include <string>
#include <vector>

namespace breakeven {

template <class Row>
struct Column {
  std::string name, meaning;
  std::function<std::string(const Row&)> write; ///< a finished CSV cell
  std::function<void(Row&, const CsvRow&, const std::string& column)> read;
  std::function<std::string(const Row&)> text = {}; ///< for text columns: the text itself
};

const std::vector<Column<Measurement>>& measurement_table();
const std::vector<Column<Comparison>>& comparison_table();

} // namespace breakeven
