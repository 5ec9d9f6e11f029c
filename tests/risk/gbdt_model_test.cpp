// Models as files: what is written is read back to the bit, and damaged files are refused.
#include "sim/errors.h"
#include "tests/risk/gbdt_examples.h"
#include "tests/test_folder.h"
#include "workloads/risk/gbdt_model.h"
#include "workloads/risk/gbdt_paths.h"
#include "workloads/risk/gbdt_score.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

using namespace breakeven;
using namespace breakeven::risk;
using namespace breakeven::risk::gbdt_examples;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}
void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Gbdt trained(const Example& example) {
  const Table table = table_of(example.shape, 3);
  const Rows rows = rows_of(table);
  const Cuts cuts = quantile_cuts(rows, example.bins);
  Gbdt model = train_gbdt_openmp(binned(rows, cuts), cuts, example.parameters).model;
  model.feature_names = rows.feature_names;
  return model;
}

std::vector<float> margins_of(const Gbdt& model, const Table& table) {
  std::vector<float> margins(static_cast<std::size_t>(table.rows));
  find_margins(model, rows_of(table), margins);
  return margins;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE(
    "a model that was saved and loaded scores to the same bits and is saved as the same bytes") {
  const TestFolder folder;
  for (const Example& example : examples()) {
    CAPTURE(example.name);
    const Gbdt model = trained(example);
    write_model(folder.path() / "model.json", model);
    const Gbdt loaded = read_model(folder.path() / "model.json");
    CHECK(loaded.base_margin == model.base_margin);
    CHECK(loaded.feature_names == model.feature_names);
    const Table other = table_of({500, example.shape.features, 0.2}, 9);
    CHECK(margins_of(loaded, other) == margins_of(model, other));
    write_model(folder.path() / "again.json", loaded);
    CHECK(text_of(folder.path() / "again.json") == text_of(folder.path() / "model.json"));
  }
}

TEST_CASE("scoring by value gives what training by bins has summed up") {
  const Example example{"missing values", {700, 6, 0.2}, parameters_of(5, 4)};
  const Table table = table_of(example.shape, 3);
  const Rows rows = rows_of(table);
  const Cuts cuts = quantile_cuts(rows, example.bins);
  Gbdt model = train_gbdt_openmp(binned(rows, cuts), cuts, example.parameters).model;
  model.feature_names = rows.feature_names;
  ReferenceTrainer reference{table, cuts, example.parameters};
  reference.run();
  CHECK(margins_of(model, table) == reference.margins);
}

TEST_CASE("names with quotes, backslashes and letters of any language come back") {
  const TestFolder folder;
  Gbdt model = trained({"", {200, 3}, parameters_of(1, 2)});
  model.feature_names = {"a \"b\"\\", "größe", "\t"};
  write_model(folder.path() / "model.json", model);
  CHECK(read_model(folder.path() / "model.json").feature_names == model.feature_names);
}

TEST_CASE("nodes may have any numbers in the file") {
  const TestFolder folder;
  const std::string tree =
      R"({"default_left":[1,0,0],"left_children":[2,-1,-1],"right_children":[1,-1,-1],)"
      R"("split_conditions":[0.5,2.0,-1.0],"split_indices":[0,0,0],"loss_changes":[1,0,0],)"
      R"("sum_hessian":[3,1,2],"split_type":[0,0,0]})";
  Gbdt model;
  model.feature_names = {"x"};
  write_model(folder.path() / "model.json", model);
  write(folder.path() / "model.json", replaced(text_of(folder.path() / "model.json"),
                                               "\"trees\":[]", "\"trees\":[" + tree + "]"));
  const Gbdt loaded = read_model(folder.path() / "model.json");
  const float below = 0, at = 0.5f, missing = std::numeric_limits<float>::quiet_NaN();
  CHECK(margin_of(loaded, &below) == -1);
  CHECK(margin_of(loaded, &at) == 2);
  CHECK(margin_of(loaded, &missing) == -1);
}

TEST_CASE("a damaged or foreign model is refused with the file and the field") {
  const TestFolder folder;
  const std::filesystem::path file = folder.path() / "model.json";
  write_model(file, trained({"", {300, 4}, parameters_of(2, 3)}));
  const std::string good = text_of(file);
  const auto refusal = [&](const std::string& text) -> std::string {
    write(file, text);
    try {
      read_model(file);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(refusal(good) == "accepted");
  const auto refuses = [&](const std::string& from, const std::string& to,
                           const std::string& words) {
    CAPTURE(from);
    CAPTURE(to);
    const std::string message = refusal(replaced(good, from, to));
    CAPTURE(message);
    CHECK(message.find(file.string()) != std::string::npos);
    CHECK(message.find(words) != std::string::npos);
  };
  refuses("binary:logistic", "reg:squarederror", "objective.name");
  refuses("\"gbtree\"", "\"dart\"", "gradient_booster.name");
  refuses("\"num_feature\":\"4\",\"num_target\"", "\"num_feature\":\"5\",\"num_target\"",
          "feature_names");
  refuses("\"num_feature\":\"4\",\"num_target\"", "\"num_feature\":\"x\",\"num_target\"",
          "num_feature");
  refuses("\"left_children\":[1", "\"left_children\":[0", "left_children");
  refuses("\"left_children\":[1", "\"left_children\":[99999", "left_children");
  refuses("\"left_children\":[1", "\"left_children\":[-1", "left_children");
  refuses("\"left_children\":[1", "\"left_children\":[1,1", "nodes");
  refuses("\"left_children\":[1", "\"left_children\":[\"1\"", "left_children[0]");
  refuses("\"split_indices\":[", "\"split_indices\":[7,", "nodes");
  refuses("\"split_conditions\":[", "\"split_conditions\":[1e300,", "nodes");
  refuses("\"trees\":", "\"forest\":", "trees");
  refuses("{\"learner\"", "[\"learner\"", "JSON");
  for (std::size_t bytes = 0; bytes < good.size(); bytes += good.size() / 50 + 1)
    CHECK(refusal(good.substr(0, bytes)).find("JSON") != std::string::npos);
  std::filesystem::remove(file);
  CHECK_THROWS_AS(read_model(file), BadInput);
  CHECK_THROWS_AS(read_model(folder.path() / "."), BadInput);
}
