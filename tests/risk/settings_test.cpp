// The keys of [workload] with kind = "risk": what is accepted, and that each error names file,
// line, what was found and what was expected.
#include "sim/errors.h"
#include "sim/scenario/scenario.h"
#include "tests/test_folder.h"
#include "workloads/risk/settings.h"
#include "workloads/risk/source_rows.h"

#include <doctest/doctest.h>

using namespace breakeven;
using namespace breakeven::risk;

namespace {

/// A scenario whose [workload] holds these lines, the first of them line 5 of the file.
Settings read(const std::string& lines) {
  const TestFolder folder;
  folder.write("rows.csv", "a,b,y\n1,2,0\n3,4,1\n5,6,0\n7,,1\n");
  folder.write("rows.svm", "1 1:2\n0 2:3\n");
  folder.write("model.json", "{}");
  const auto file = folder.write("s.toml", "schema = 1\nname = \"s\"\n[workload]\n"
                                           "kind = \"risk\"\n"
                                               + lines + "\n[[target]]\ninstance = \"local\"\n");
  const Scenario scenario = read_scenario(file.string(), {}, {{"risk", risk_keys()}});
  return read_settings(*scenario.workload);
}

bool is_refused(const std::string& lines, const std::string& place, const std::string& words) {
  std::string message;
  try {
    read(lines);
  } catch (const BadInput& error) {
    message = error.what();
    message = message.substr(std::min(message.find("s.toml"), message.size()));
  }
  CAPTURE(message);
  const bool right = message.starts_with(place) && message.find(words) != std::string::npos;
  CHECK(right);
  return right;
}

const std::string made_up = "model = \"gbdt\"\ntransactions = \"built-in\"\nrows = 10_000\n";
const std::string training = "task = \"train\"\n" + made_up;
const std::string scoring = "task = \"score\"\n" + made_up;
const std::string from_csv =
    "task = \"train\"\nmodel = \"gbdt\"\ncsv = \"rows.csv\"\nlabel = \"y\"\n";
const std::string network = "model = \"mlp\"\ntransactions = \"built-in\"\nrows = 10_000\n"
                            "[workload.mlp]\n";
const std::string book = "model = \"var\"\n[workload.var]\npaths = 10_000\n";

} // namespace

TEST_CASE("trainings on transactions are read, with what is usual for the rest") {
  const Settings a = read(training);
  CHECK(a.model == Model::gbdt);
  CHECK(a.task == Task::train);
  CHECK(a.units == 1);
  CHECK(a.data.source == Source::transactions);
  CHECK(a.data.transactions.rows == 10'000);
  CHECK(a.data.transactions.columns == 28);
  CHECK(a.data.validation_every == 5);
  CHECK(a.gbdt.parameters.rounds == 100);
  CHECK(a.gbdt.parameters.depth == 6);
  CHECK(a.gbdt.bins == 255);
  const Settings b = read(training
                          + "trainings = 7\nvalidation_every = 4\nlabel_noise = 0.1\nseed = 3\n"
                            "[workload.gbdt]\nrounds = 12\nlearning_rate = 0.3\n"
                            "positive_weight = 9\nrow_share = 0.5\nearly_stopping_rounds = 4\n");
  CHECK(b.units == 7);
  CHECK(b.data.validation_every == 4);
  CHECK(b.data.transactions.label_noise == 0.1);
  CHECK(b.data.transactions.seed == 3);
  CHECK(b.gbdt.parameters.rounds == 12);
  CHECK(b.gbdt.parameters.learning_rate == 0.3f);
  CHECK(b.gbdt.parameters.positive_weight == 9);
  CHECK(b.gbdt.parameters.row_share == 0.5f);
  CHECK(b.gbdt.parameters.early_stopping_rounds == 4);
}

TEST_CASE("rows of files are read, with their columns named") {
  const Settings a = read(from_csv
                          + "categorical = [\"a\"]\ndrop = [\"b\"]\n"
                            "categories = \"one-hot\"\nseparator = \"semicolon\"\n"
                            "positive = \"yes\"\nheader = false\n");
  CHECK(a.data.source == Source::csv);
  CHECK(a.data.file.filename() == "rows.csv");
  CHECK(a.data.csv.label == "y");
  CHECK(a.data.csv.positive == "yes");
  CHECK(a.data.csv.categorical == std::vector<std::string>{"a"});
  CHECK(a.data.csv.drop == std::vector<std::string>{"b"});
  CHECK(a.data.csv.separator == ';');
  CHECK(a.data.csv.header == HeaderLine::none);
  CHECK(a.data.categories == Categories::one_hot);
  const Settings b = read("model = \"gbdt\"\ntask = \"train\"\nlibsvm = \"rows.svm\"\n");
  CHECK(b.data.source == Source::libsvm);
  CHECK(b.data.file.filename() == "rows.svm");
}

TEST_CASE("a book and its levels are read") {
  const Settings a = read(book);
  CHECK(a.model == Model::var);
  CHECK(a.var.paths == 10'000);
  CHECK(a.var.levels == std::vector<double>{0.95, 0.99, 0.999});
  const Settings b = read("model = \"var\"\nbooks = 12\n[workload.var]\npaths = 10_000\n"
                          "factors = 20\nlevels = [0.975]\nseed = 4\n");
  CHECK(b.units == 12);
  CHECK(b.portfolio.factors == 20);
  CHECK(b.var.levels == std::vector<double>{0.975});
  CHECK(b.var.seed == 4);
  CHECK(b.portfolio.seed == 4);
}

TEST_CASE("a network and its precision are read") {
  const Settings a = read(network);
  CHECK(a.model == Model::mlp);
  CHECK(a.mlp.parameters == MlpParameters{});
  const Settings b = read(network
                          + "hidden = [64, 32]\nbatch_rows = 256\nprecision = \"bf16\"\n"
                            "epochs = 3\nl2 = 0.01\n");
  CHECK(b.mlp.parameters.hidden == std::vector<int>{64, 32});
  CHECK(b.mlp.parameters.batch_rows == 256);
  CHECK(b.mlp.parameters.precision == MlpPrecision::bf16);
  CHECK(b.mlp.parameters.epochs == 3);
  CHECK(b.mlp.parameters.l2 == 0.01f);
}

TEST_CASE("a batch is scored with a model from a file or with one trained first") {
  const Settings a = read(scoring + "batches = 3\ntraining_rows = 2000\n");
  CHECK(a.task == Task::score);
  CHECK(a.units == 3);
  CHECK(a.training_rows == 2000);
  CHECK(a.model_file.empty());
  const Settings b = read(scoring + "model_file = \"model.json\"\n");
  CHECK(b.model_file.filename() == "model.json");
}

TEST_CASE("keys that are missing, contradict each other or are out of range are refused") {
  is_refused("task = \"train\"\ntransactions = \"built-in\"\nrows = 100\n", "s.toml:3", "model");
  is_refused("model = \"gbdt\"\ntask = \"train\"\n", "s.toml:3",
             "neither transactions, csv nor libsvm");
  is_refused(training + "csv = \"rows.csv\"\n", "s.toml:9", "both transactions and csv");
  is_refused(training + "label = \"y\"\n", "s.toml:9", "without csv");
  is_refused(from_csv + "rows = 10\n", "s.toml:9", "without transactions");
  is_refused(from_csv + "drift = 1\n", "s.toml:9", "without transactions");
  is_refused(training + "positive = \"yes\"\n", "s.toml:9", "without csv or libsvm");
  is_refused(training + "batches = 4\n", "s.toml:9", "without task = \"score\"");
  is_refused(scoring + "trainings = 4\n", "s.toml:9", "without task = \"train\"");
  is_refused(scoring + "model_file = \"model.json\"\n[workload.gbdt]\ndepth = 3\n", "s.toml:10",
             "without a model that is trained here");
  is_refused("task = \"score\"\nmodel = \"gbdt\"\ncsv = \"rows.csv\"\nlabel = \"y\"\n", "s.toml:3",
             "a file to score and no model");
  is_refused("model = \"var\"\n", "s.toml:3", "without [workload.var]");
  is_refused("model = \"var\"\nrows = 9\n[workload.var]\npaths = 10_000\n", "s.toml:6",
             "without model = \"gbdt\" or \"mlp\"");
  is_refused("model = \"mlp\"\ntask = \"train\"\n", "s.toml:6", "without model = \"gbdt\"");
  is_refused("model = \"mlp\"\ntransactions = \"built-in\"\nrows = 10_000\n", "s.toml:3",
             "without [workload.mlp]");
  is_refused(network + "hidden = [64.5]\n", "s.toml:9", "whole numbers");
  is_refused(network + "precision = \"fp8\"\n", "s.toml:9", "fp8");
  is_refused(network + "hash_buckets = 8\n", "s.toml:9", "no column to hash");
  is_refused(training + "books = 4\n", "s.toml:9", "without model = \"var\"");
  is_refused("model = \"var\"\n[workload.var]\nfactors = 4\n", "s.toml:6", "paths");
  is_refused(book + "levels = [0.99, 1.0]\n", "s.toml:8", "1 to 16 numbers");
  is_refused(book + "levels = []\n", "s.toml:8", "1 to 16 numbers");
  is_refused(book + "levels = [0.9995]\n", "s.toml:8", "at least 10 paths beyond every level");
  is_refused(book + "levels = [0.99, 0.99]\n", "s.toml:8", "each level once");
  is_refused(book + "factors = 4\nsectors = 5\n", "s.toml:9", "from 1 to 4");
  is_refused("task = \"score\"\nmodel = \"gbdt\"\ncsv = \"rows.csv\"\ncategorical = [\"a\"]\n"
             "model_file = \"model.json\"\n",
             "s.toml:8", "does not keep the codes of categories");
  is_refused(training + "[workload.gbdt]\ndepth = 0\n", "s.toml:10", "depth");
  is_refused(training + "[workload.gbdt]\nbins = 256\n", "s.toml:10", "bins");
  is_refused(from_csv + "drop = [\"a\", \"a\"]\n", "s.toml:9", "different texts");
  is_refused(from_csv + "categorical = [3]\n", "s.toml:9", "different texts");
  is_refused("model = \"gbdt\"\ntask = \"train\"\ncsv = \"none.csv\"\nlabel = \"y\"\n", "s.toml:7",
             "none.csv");
}

TEST_CASE("one row in so many is held out, of transactions the last ones") {
  Settings settings = read(training);
  const Rows made_up_rows = rows_of(settings.data);
  const Rows kept = training_rows(made_up_rows, settings.data);
  const Rows held_out = validation_rows(made_up_rows, settings.data);
  CHECK(kept.count + held_out.count == 10'000);
  CHECK(kept.count == 4096); // a whole block
  std::vector<float> all(28), first(28);
  std::uint8_t label = 0;
  made_up_rows.read(kept.count, kept.count + 1, all.data(), &label);
  held_out.read(0, 1, first.data(), &label);
  CHECK(all[0] == first[0]);
}
