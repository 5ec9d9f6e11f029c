#include "sim/errors.h"
#include "sim/report/columns.h"
#include "sim/report/report.h"
#include "sim/report/rules.h"

#include <algorithm>
#include <map>

namespace breakeven {

namespace {

template <class Row>
std::string csv_of(const std::vector<Row>& rows, const std::vector<Column<Row>>& table) {
  std::vector<std::string> cells;
  for (const auto& column : table)
    cells.push_back(csv_cell(column.name));
  std::string csv = csv_line(cells);
  for (const Row& row : rows) {
    cells.clear();
    for (const auto& column : table)
      cells.push_back(column.cell == Cell::text ? csv_cell(column.write(row)) : column.write(row));
    csv += csv_line(cells);
  }
  return csv;
}

/// Whether a file was written before an addition of columns: it has none of them.
template <class Row>
bool is_before(int addition, const CsvFile& csv, const std::vector<Column<Row>>& table) {
  return addition > 0 && std::none_of(table.begin(), table.end(), [&](const Column<Row>& column) {
           return column.later == addition
                  && std::find(csv.header.begin(), csv.header.end(), column.name)
                         != csv.header.end();
         });
}

template <class Row>
std::vector<Row> rows_of(const std::filesystem::path& file, const std::vector<Column<Row>>& table) {
  std::vector<std::string> names, required;
  for (const auto& column : table) {
    names.push_back(column.name);
    if (column.later == 0) required.push_back(column.name);
  }
  const auto csv = read_csv(file, required);
  for (const std::string& column : csv->header)
    if (std::find(names.begin(), names.end(), column) == names.end())
      throw BadInput(csv->file, 1, "unknown column '" + column + "'",
                     "the columns that results/README.md lists");
  if (csv->rows.empty()) throw BadInput(csv->file, 1, "no rows", "at least one row");
  std::vector<const Column<Row>*> present;
  for (const auto& column : table)
    if (!is_before(column.later, *csv, table)) present.push_back(&column);
  std::vector<Row> rows;
  for (const CsvRow& line : csv->rows) {
    Row row;
    for (const Column<Row>* column : present)
      column->read(row, line, column->name);
    check_rules(row, line);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Crossovers lie between neighbours of one axis.
void check_order(const std::vector<SizeRow>& rows, const std::filesystem::path& file) {
  std::map<int, double> last_size;
  for (const SizeRow& row : rows) {
    if (row.size_key != rows.front().size_key || row.size.unit != rows.front().size.unit)
      throw BadInput(file.string(), 0, "sizes of " + row.size_key + " beside others",
                     "one size_key and one size_unit in all rows");
    if (!(row.size.amount > last_size[row.target]))
      throw BadInput(file.string(), 0,
                     "size " + csv_number(row.size.amount) + " of target "
                         + std::to_string(row.target) + " out of order",
                     "sizes that ascend for each target");
    last_size[row.target] = row.size.amount;
  }
}

template <class Row>
std::vector<ColumnDoc> docs_of(const std::vector<Column<Row>>& table) {
  std::vector<ColumnDoc> docs;
  for (const auto& column : table)
    docs.push_back({column.name, column.meaning});
  return docs;
}

} // namespace

std::string measurements_csv(const std::vector<Measurement>& rows) {
  return csv_of(rows, measurement_table());
}
std::string comparison_csv(const std::vector<Comparison>& rows) {
  return csv_of(rows, comparison_table());
}
std::vector<Measurement> read_measurements(const std::filesystem::path& file) {
  return rows_of(file, measurement_table());
}
std::vector<Comparison> read_comparison(const std::filesystem::path& file) {
  return rows_of(file, comparison_table());
}
std::string phases_csv(const std::vector<PhaseTime>& rows) { return csv_of(rows, phase_table()); }
std::vector<PhaseTime> read_phases(const std::filesystem::path& file,
                                   const std::vector<Comparison>& rows) {
  if (!std::filesystem::exists(file)) return {};
  std::vector<PhaseTime> phases = rows_of(file, phase_table());
  for (const PhaseTime& phase : phases)
    if (!rows.empty() && phase.scenario_sha256 != rows.front().scenario_sha256)
      throw BadInput(file.string(), 2, "phases of the scenario " + phase.scenario_sha256,
                     "of the scenario of comparison.csv, " + rows.front().scenario_sha256);
  return phases;
}
std::string sweep_csv(const std::vector<SizeRow>& rows) { return csv_of(rows, size_table()); }
std::vector<SizeRow> read_sweep(const std::filesystem::path& file) {
  std::vector<SizeRow> rows = rows_of(file, size_table());
  check_order(rows, file);
  return rows;
}
std::vector<ColumnDoc> sweep_columns() { return docs_of(size_table()); }
std::vector<ColumnDoc> phase_columns() { return docs_of(phase_table()); }
std::vector<ColumnDoc> measurement_columns() { return docs_of(measurement_table()); }
std::vector<ColumnDoc> comparison_columns() { return docs_of(comparison_table()); }

} // namespace breakeven
