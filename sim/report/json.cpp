#include "sim/report/columns.h"
#include "sim/report/report.h"

#include <nlohmann/json.hpp>

namespace breakeven {

namespace {

using Json = nlohmann::ordered_json;

Json value_of(const Column<Comparison>& column, const Comparison& row) {
  const std::string cell = column.write(row);
  switch (column.cell) {
  case Cell::text:
    return cell;
  case Cell::boolean:
    return cell == "true";
  case Cell::integer:
  case Cell::number:
    // A finite number's shortest decimal is JSON as it stands.
    return cell.empty() ? Json(nullptr) : Json::parse(cell);
  }
  throw std::logic_error("a kind of cell without a JSON value");
}

} // namespace

std::string comparison_json(const std::vector<Comparison>& rows) {
  Json array = Json::array();
  for (const Comparison& row : rows) {
    Json object;
    for (const auto& column : comparison_table())
      object[column.name] = value_of(column, row);
    array.push_back(std::move(object));
  }
  return array.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace breakeven
