#include "tests/report/example_rows.h"
#include "tests/report/support.h"

#include <nlohmann/json.hpp>

using namespace breakeven;

TEST_CASE("JSON has the CSV's columns, numbers as numbers and gaps as null") {
  const auto rows = example::comparisons();
  const auto json = nlohmann::json::parse(comparison_json(rows));
  REQUIRE(json.size() == rows.size());
  for (const ColumnDoc& column : comparison_columns())
    CHECK(json[0].contains(column.name));
  CHECK(json[0]["p_cheaper"] == 0.999);
  CHECK(json[0]["job_units"] == 240);
  CHECK(json[0]["verified"] == true);
  CHECK(json[0]["verdict"] == "migrate");
  CHECK(json[9]["price_usd_per_h"].is_null());
  CHECK(json[0]["title"] == rows[0].title);
  CHECK(json[3]["candidate_end_to_end_p10_s"] == rows[3].candidate_end_to_end_s->low);
}

TEST_CASE("a text that looks like a number or a formula stays a text in JSON") {
  auto rows = example::comparisons();
  rows[0].title = "=1";
  rows[1].title = "12";
  rows[2].title = "\xFF";
  const auto json = nlohmann::json::parse(comparison_json(rows));
  CHECK(json[0]["title"] == "=1");
  CHECK(json[1]["title"] == "12");
  CHECK(json[2]["title"].is_string());
}
