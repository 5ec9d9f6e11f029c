// One column table for each results file: name, meaning, writer and reader together, so that
// header, rows, reader, JSON and results/README.md cannot drift apart. Leaves out what concerns
// several columns of a row at once (csv_files.cpp).
#pragma once

#include "sim/catalog/csv.h"
#include "sim/compare/comparison.h"
#include "sim/compare/crossover.h"
#include "sim/compare/phase_times.h"

#include <functional>
#include <string>
#include <vector>

namespace breakeven {

/// What a cell holds. Only text is guarded and quoted; the others are written as they are.
enum class Cell { text, number, integer, boolean };

template <class Row>
struct Column {
  std::string name, meaning;
  Cell cell = Cell::text;
  std::function<std::string(const Row&)> write; ///< plain, not yet quoted; "" where unset
  /// BadInput where the cell of `column` is wrong.
  std::function<void(Row&, const CsvRow&, const std::string& column)> read;
  /// 0: every file has it. Else which addition of columns it came with: a file has all columns of
  /// an addition, or was written before it and has none.
  int later = 0;
};

const std::vector<Column<Measurement>>& measurement_table();
const std::vector<Column<Comparison>>& comparison_table();
const std::vector<Column<PhaseTime>>& phase_table();
const std::vector<Column<SizeRow>>& size_table();

} // namespace breakeven
