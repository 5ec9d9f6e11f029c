#include "sim/report/columns.h"
#include "sim/report/report.h"

#include <nlohmann/json.hpp>

#include <charconv>

namespace breakeven {

namespace {

nlohmann::ordered_json value_of(const Column<Comparison>& column, const Comparison& row) {
  if (column.text) return column.text(row);
  const std::string cell = column.write(row);
  if (cell.empty()) return nullptr;
  if (cell == "true") return true;
  if (cell == "false") return false;
  double number = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error == std::errc{} && end == cell.data() + cell.size()) return number;
  return cell;
}

} // namespace

/// One object per row with the CSV's column names as keys; empty cells are null.
std::string comparison_json(const std::vector<Comparison>& rows) {
  auto array = nlohmann::ordered_json::array();
  for (const Comparison& row : rows) {
    nlohmann::ordered_json object;
    for (const auto& column : comparison_table())
      object[column.name] = value_of(column, row);
    array.push_back(object);
  }
  return array.dump(2);
}

} // namespace breakeven
