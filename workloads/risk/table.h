// A table in memory as a file gave it: numbers, categories as codes, and a label each row. Takes
// what table_csv.h read, gives rows to train on or score. Leaves out reading.
#pragma once

#include "workloads/risk/rows.h"

#include <memory>

namespace breakeven::risk {

struct TableColumn {
  std::string name;
  bool is_categorical = false;
  /// In the order of their codes: rising, by value where all are numbers, else by bytes. No row of
  /// a later file may have others.
  std::vector<std::string> categories;
};

/// What a later file of the same kind must have.
struct TableSchema {
  std::vector<std::string> header;  ///< every column of the file, dropped ones and the label too
  std::vector<TableColumn> columns; ///< the features
  std::string label;                ///< its column
  std::string positive, negative;   ///< its two values; 1 is `positive`
};

struct Table {
  TableSchema schema;
  /// Rows x columns, row by row; a category as its code, a missing value as NaN.
  std::vector<float> values;
  std::vector<std::uint8_t> labels; ///< 0 or 1
  bool has_labels = true;           ///< else they are 0

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
};

/// Codes: one feature a column, as ordinal numbers. One-hot: one feature a category, named
/// column=category, 1 or 0, and NaN in all of them where the value is missing.
enum class Categories { codes, one_hot };

/// Holds the table; with codes, reading copies.
Rows rows_of(std::shared_ptr<const Table> table, Categories categories = Categories::codes);
Rows rows_of(Table table, Categories categories = Categories::codes);

} // namespace breakeven::risk
