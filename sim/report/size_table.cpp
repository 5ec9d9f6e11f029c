#include "sim/report/cells.h"

namespace breakeven {

namespace {

using Row = SizeRow;
using namespace cells;

/// A column of comparison.csv, of the comparison at one size.
Column<Row> at_size(const Column<Comparison>& column) {
  return {column.name, column.meaning, column.cell,
          [write = column.write](const Row& row) { return write(row.comparison); },
          [read = column.read](Row& row, const CsvRow& line, const std::string& name) {
            read(row.comparison, line, name);
          }};
}

std::vector<Column<Row>> make_table() {
  std::vector<Column<Row>> table = {
      text<Row>("size_key", "the scenario's key that is swept", member(&Row::size_key)),
      text<Row>("size_text", "its value as given, such as 10_000 or 2 h",
                member(&Row::size, &Size::text)),
      number<Row>("size", "that value in size_unit", member(&Row::size, &Size::amount)),
      word<Row>("size_unit", "s, B, USD/h or CNY/h; empty for a bare number",
                member(&Row::size, &Size::unit), {"", "s", "B", "USD/h", "CNY/h"}),
      integer<Row, int>("target", "which [[target]] the candidate is, counted from 1",
                        member(&Row::target)),
  };
  for (const Column<Comparison>& column : comparison_table())
    table.push_back(at_size(column));
  return table;
}

} // namespace

const std::vector<Column<SizeRow>>& size_table() {
  static const std::vector<Column<SizeRow>> table = make_table();
  return table;
}

} // namespace breakeven
