#include "sim/report/columns.h"
#include "sim/report/report.h"
#include "sim/report/sweep.h"

#include <nlohmann/json.hpp>

namespace breakeven {

namespace {

using Json = nlohmann::ordered_json;

template <class Row>
Json value_of(const Column<Row>& column, const Row& row) {
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

template <class Row>
Json array_of(const std::vector<Row>& rows, const std::vector<Column<Row>>& table) {
  Json array = Json::array();
  for (const Row& row : rows) {
    Json object;
    for (const auto& column : table)
      object[column.name] = value_of(column, row);
    array.push_back(std::move(object));
  }
  return array;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json point_of(const CrossoverPoint& point) {
  const char* place = point.place == Place::below    ? "below"
                      : point.place == Place::inside ? "at"
                                                     : "beyond";
  return {{"place", place}, {"size", point.size}};
}

/// Null where there is nothing to compare.
Json crossover_json(const std::optional<Crossover>& crossover) {
  if (!crossover) return nullptr;
  return {{"ahead", crossover->ahead == Crossover::Ahead::above ? "above" : "below"},
          {"p10", point_of(crossover->low)},
          {"p50", point_of(crossover->likely)},
          {"p90", point_of(crossover->high)},
          {"crossings", crossover->crossings}};
}

} // namespace

std::string comparison_json(const std::vector<Comparison>& rows) {
  return text_of(array_of(rows, comparison_table()));
}

std::string sweep_json(const std::vector<SizeRow>& rows) {
  Json crossovers = Json::array();
  for (const CandidateSweep& candidate : candidates_of(rows))
    crossovers.push_back({{"target", candidate.rows.front()->target},
                          {"candidate", candidate.name},
                          {"size_key", candidate.rows.front()->size_key},
                          {"size_unit", candidate.rows.front()->size.unit},
                          {"evidence", candidate.evidence},
                          {"faster", crossover_json(candidate.faster)},
                          {"cheaper", crossover_json(candidate.cheaper)}});
  return text_of({{"crossovers", crossovers}, {"rows", array_of(rows, size_table())}});
}

} // namespace breakeven
