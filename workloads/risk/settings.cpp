#include "workloads/risk/settings.h"

#include "sim/scenario/refuse_without.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace breakeven::risk {

namespace {

constexpr int fewest_paths_beyond = 10; ///< a quantile's error is guesswork with fewer
constexpr std::int64_t highest_seed = std::numeric_limits<std::int64_t>::max();

const std::vector<std::string> transaction_keys{"columns", "positive_rate", "label_noise", "drift",
                                                "seed"};
const std::vector<std::string> csv_keys{"label",     "categorical", "drop",
                                        "separator", "header",      "categories"};
const std::vector<std::string> data_keys{"transactions", "csv", "libsvm"};

// ---- rows ----

void read_transactions(const Section& section, TransactionSettings& transactions) {
  transactions.rows = section.integer("rows", 1, most_rows);
  transactions.columns = static_cast<int>(section.integer("columns", 8, 200, transactions.columns));
  transactions.positive_rate =
      section.number("positive_rate", 0.0001, 0.5, transactions.positive_rate);
  transactions.label_noise = section.number("label_noise", 0, 0.5, transactions.label_noise);
  transactions.drift = section.number("drift", 0, 2, transactions.drift);
  transactions.seed = static_cast<std::uint64_t>(section.integer("seed", 0, highest_seed, 1));
}

char separator_from(const std::string& name) {
  if (name == "semicolon") return ';';
  if (name == "tab") return '\t';
  return name == "blanks" ? ' ' : ',';
}

void read_csv(const Section& section, bool is_training, DataSettings& data) {
  data.file = section.file("csv");
  // A file to be scored may lack it.
  data.csv.label = section.text("label", is_training ? std::optional<std::string>() : "");
  data.csv.positive = section.text("positive", "1");
  data.csv.categorical = section.texts("categorical", most_columns);
  data.csv.drop = section.texts("drop", most_columns);
  data.csv.separator =
      separator_from(section.one_of("separator", {"comma", "semicolon", "tab", "blanks"}, "comma"));
  data.csv.header = section.boolean("header", true) ? HeaderLine::first : HeaderLine::none;
  data.categories = section.one_of("categories", {"codes", "one-hot"}, "codes") == "codes"
                        ? Categories::codes
                        : Categories::one_hot;
}

void read_data(const Section& section, bool is_training, DataSettings& data) {
  std::vector<std::string> given;
  for (const std::string& source : data_keys)
    if (section.has(source)) given.push_back(source);
  if (given.size() != 1)
    section.fail(given.empty() ? "transactions" : given[1],
                 given.empty() ? std::string("neither transactions, csv nor libsvm in [workload]")
                               : "both " + given[0] + " and " + given[1] + " in [workload]",
                 "transactions = \"built-in\", a csv file or a libsvm file, one of them");
  const std::string& source = given.front();
  refuse_without(section, source == "transactions", transaction_keys, "transactions");
  refuse_without(section, source == "transactions", {"rows"}, "transactions");
  refuse_without(section, source == "csv", csv_keys, "csv");
  refuse_without(section, source != "transactions", {"positive"}, "csv or libsvm");
  if (source == "transactions") {
    section.one_of("transactions", {"built-in"});
    data.source = Source::transactions;
    read_transactions(section, data.transactions);
  } else if (source == "csv") {
    data.source = Source::csv;
    read_csv(section, is_training, data);
  } else {
    data.source = Source::libsvm;
    data.file = section.file("libsvm");
    data.libsvm.positive = section.text("positive", "1");
  }
  data.validation_every =
      static_cast<int>(section.integer("validation_every", 2, 1'000'000, data.validation_every));
}

// ---- models ----

void read_gbdt(const Section& section, GbdtSettings& gbdt) {
  GbdtParameters& parameters = gbdt.parameters;
  const auto number = [&](const char* key, double low, double high, float& value) {
    value = static_cast<float>(section.number(key, low, high, static_cast<double>(value)));
  };
  parameters.rounds = static_cast<int>(section.integer("rounds", 1, 100'000, parameters.rounds));
  parameters.depth = static_cast<int>(section.integer("depth", 1, 16, parameters.depth));
  gbdt.bins = static_cast<int>(section.integer("bins", 2, most_bins, gbdt.bins));
  number("learning_rate", 1e-6, 1, parameters.learning_rate);
  number("l2", 0, 1e9, parameters.l2);
  number("min_child_weight", 0, 1e9, parameters.min_child_weight);
  number("min_gain", 0, 1e9, parameters.min_gain);
  number("positive_weight", 1e-3, 1e4, parameters.positive_weight);
  number("row_share", 1e-3, 1, parameters.row_share);
  number("column_share", 1e-3, 1, parameters.column_share);
  parameters.early_stopping_rounds =
      static_cast<int>(section.integer("early_stopping_rounds", 0, 100'000, 0));
  parameters.seed = static_cast<std::uint64_t>(section.integer("seed", 0, highest_seed, 1));
}

MlpPrecision precision_from(const std::string& name) {
  if (name == "bf16") return MlpPrecision::bf16;
  return name == "fp16" ? MlpPrecision::fp16 : MlpPrecision::fp32;
}

void read_mlp(const Section& section, const DataSettings& data, MlpSettings& mlp) {
  MlpParameters& parameters = mlp.parameters;
  const std::vector<double> usual(parameters.hidden.begin(), parameters.hidden.end());
  parameters.hidden.clear();
  for (const double width : section.number_list("hidden", 8, 1, 16384, usual)) {
    if (width != std::floor(width))
      section.fail("hidden", fmt::format("a width of {}", width), "whole numbers");
    parameters.hidden.push_back(static_cast<int>(width));
  }
  parameters.batch_rows = section.integer("batch_rows", 16, 1 << 20, parameters.batch_rows);
  parameters.epochs = static_cast<int>(section.integer("epochs", 1, 10'000, parameters.epochs));
  const auto number = [&](const char* key, double low, double high, float& value) {
    value = static_cast<float>(section.number(key, low, high, static_cast<double>(value)));
  };
  number("learning_rate", 1e-8, 1, parameters.learning_rate);
  number("l2", 0, 10, parameters.l2);
  number("positive_weight", 1e-3, 1e4, parameters.positive_weight);
  parameters.precision =
      precision_from(section.one_of("precision", {"fp32", "bf16", "fp16"}, "fp32"));
  parameters.seed = static_cast<std::uint64_t>(section.integer("seed", 0, highest_seed, 1));
  if (section.one_of("tails", {"as-they-are", "logarithmic"}, "as-they-are") == "logarithmic")
    mlp.tails = Tails::logarithmic;
  mlp.hash_buckets = static_cast<int>(section.integer("hash_buckets", 1, 4096, mlp.hash_buckets));
  if (section.has("hash_buckets")
      && (data.csv.categorical.empty() || data.categories == Categories::one_hot))
    section.fail("hash_buckets", "no column to hash",
                 "a csv file with categorical columns, and categories = \"codes\"");
  check_mlp(parameters, section.file_name());
}

void read_mlp_job(const Section& section, Settings& settings) {
  read_data(section, true, settings.data);
  settings.units = section.integer("trainings", 1, 1'000'000, 1);
  const auto table = section.table("mlp", mlp_keys());
  if (!table) section.fail("mlp", "model = \"mlp\" without [workload.mlp]", "the network");
  read_mlp(*table, settings.data, settings.mlp);
}

void read_gbdt_job(const Section& section, Settings& settings) {
  settings.task = section.one_of("task", {"train", "score"}) == "train" ? Task::train : Task::score;
  const bool is_training = settings.task == Task::train;
  refuse_without(section, is_training, {"trainings", "validation_every"}, "task = \"train\"");
  refuse_without(section, !is_training, {"batches", "model_file", "training_rows"},
                 "task = \"score\"");
  read_data(section, is_training, settings.data);
  if (!is_training)
    refuse_without(section, false, {"categorical"},
                   "task = \"train\": a model file does not keep the codes of categories, so "
                   "columns to be scored are numbers");
  settings.units = section.integer(is_training ? "trainings" : "batches", 1, 1'000'000, 1);
  if (section.has("model_file")) settings.model_file = section.file("model_file");
  refuse_without(section, settings.model_file.empty(), {"gbdt", "training_rows"},
                 "a model that is trained here");
  if (!is_training && settings.model_file.empty() && settings.data.source != Source::transactions)
    section.fail("model_file", "a file to score and no model", "model_file, a trained model");
  settings.training_rows = section.integer("training_rows", 1000, 10'000'000, 100'000);
  if (const auto table = section.table("gbdt", gbdt_keys())) read_gbdt(*table, settings.gbdt);
}

void read_var(const Section& workload, Settings& settings) {
  const auto table = workload.table("var", var_keys());
  if (!table) workload.fail("var", "model = \"var\" without [workload.var]", "the portfolio");
  const Section& section = *table;
  PortfolioSettings& portfolio = settings.portfolio;
  portfolio.factors = static_cast<int>(section.integer("factors", 1, 4096, portfolio.factors));
  portfolio.positions =
      static_cast<int>(section.integer("positions", 1, 1'000'000, portfolio.positions));
  portfolio.sectors = static_cast<int>(section.integer(
      "sectors", 1, portfolio.factors, std::min(portfolio.sectors, portfolio.factors)));
  portfolio.equity_share = section.number("equity_share", 0, 1, portfolio.equity_share);
  VarSettings& var = settings.var;
  var.paths = section.integer("paths", 1000, std::int64_t{1} << 36);
  var.horizon_days = section.number("horizon_days", 0.01, 60, var.horizon_days);
  var.levels = section.number_list("levels", 16, 0.5, 0.99999, var.levels);
  for (std::size_t i = 0; i < var.levels.size(); ++i) {
    if (static_cast<double>(var.paths) * (1 - var.levels[i]) < fewest_paths_beyond)
      section.fail("levels", fmt::format("level {} of {} paths", var.levels[i], var.paths),
                   fmt::format("at least {} paths beyond every level", fewest_paths_beyond));
    if (std::find(var.levels.begin(), var.levels.begin() + static_cast<std::ptrdiff_t>(i),
                  var.levels[i])
        != var.levels.begin() + static_cast<std::ptrdiff_t>(i))
      section.fail("levels", fmt::format("level {} twice", var.levels[i]), "each level once");
  }
  var.seed = portfolio.seed =
      static_cast<std::uint64_t>(section.integer("seed", 0, highest_seed, 1));
}

} // namespace

const std::vector<Key>& risk_keys() {
  static const std::vector<Key> keys = {
      {"model", "gbdt, mlp or var", "boosted trees, a network, or value at risk by Monte Carlo"},
      {"task", "train or score", "gbdt: what the job does"},
      {"transactions", "built-in", "gbdt, mlp: made-up card transactions with a fraud label"},
      {"csv", "file", "gbdt, mlp: rows with a header; empty cells, ?, NA and NaN are missing"},
      {"libsvm", "file", "gbdt, mlp: rows as label index:value ...; what is not there is missing"},
      {"rows", "integer from 1 to 4294967295",
       "transactions: the training data with what is held out, or a batch to score"},
      {"columns", "integer from 8 to 200", "transactions: 28 where absent"},
      {"positive_rate", "number from 0.0001 to 0.5", "transactions: 0.02 where absent"},
      {"label_noise", "number from 0 to 0.5",
       "transactions: share of the positives whose label is wrong; 0 where absent"},
      {"drift", "number from 0 to 2",
       "transactions: standard deviations by which amounts grow from first to last; 0 where "
       "absent"},
      {"seed", "integer >= 0", "transactions: 1 where absent"},
      {"label", "text", "csv: the label's column; score: not needed, and not looked at"},
      {"positive", "text", "csv, libsvm: the label that is 1; 1 where absent"},
      {"categorical", "[texts]", "csv, train: columns that hold categories; none where absent"},
      {"drop", "[texts]", "csv: columns that are not read; none where absent"},
      {"separator", "comma, semicolon, tab or blanks", "csv: comma where absent"},
      {"header", "true or false",
       "csv: false where columns have no names (column_1, column_2, ...); true where absent"},
      {"categories", "codes or one-hot", "csv: how categories become numbers; codes where absent"},
      {"validation_every", "integer from 2 to 1000000",
       "train: one row in so many is held out: of a file those whose number, from 0, is a multiple "
       "of "
       "it, of transactions the last ones; 5 where absent"},
      {"trainings", "integer from 1 to 1000000",
       "train: the job, a search over so many settings of one cost; 1 where absent"},
      {"batches", "integer from 1 to 1000000", "score: the job; 1 where absent"},
      {"model_file", "file", "score: a trained model in XGBoost's JSON format"},
      {"training_rows", "integer from 1000 to 10000000",
       "score: transactions that a model is trained on first, outside the job; 100000 where "
       "absent"},
      {"gbdt", "section", "how trees are grown, as below"},
      {"mlp", "section", "the network and its training, as below"},
      {"books", "integer from 1 to 1000000", "var: the job; 1 where absent"},
      {"var", "section", "a book and its simulation, as below"},
  };
  return keys;
}

const std::vector<Key>& gbdt_keys() {
  static const std::vector<Key> keys = {
      {"rounds", "integer from 1 to 100000", "trees; 100 where absent"},
      {"depth", "integer from 1 to 16", "levels of splits; 6 where absent"},
      {"bins", "integer from 2 to 255", "of each feature, missing values apart; 255 where absent"},
      {"learning_rate", "number from 1e-6 to 1", "0.1 where absent"},
      {"l2", "number from 0 to 1e9", "penalty on leaf values; 1 where absent"},
      {"min_child_weight", "number from 0 to 1e9",
       "least sum of second derivatives in a child; 1 where absent"},
      {"min_gain", "number from 0 to 1e9", "that a split must exceed; 0 where absent"},
      {"positive_weight", "number from 0.001 to 10000",
       "of rows with label 1, against a rare class; 1 where absent"},
      {"row_share", "number from 0.001 to 1", "drawn for each tree; 1 where absent"},
      {"column_share", "number from 0.001 to 1", "drawn for each tree; 1 where absent"},
      {"early_stopping_rounds", "integer from 0 to 100000",
       "rounds without a lower loss on the rows held out, after which training would stop; here it "
       "runs all rounds and keeps the trees up to the lowest loss; 0, also where absent, keeps "
       "all"},
      {"seed", "integer >= 0", "of what is drawn; 1 where absent"},
  };
  return keys;
}

const std::vector<Key>& mlp_keys() {
  static const std::vector<Key> keys = {
      {"hidden", "[numbers]",
       "widths of the hidden layers, 1 to 8 of them, each from 1 to 16384; [512, 512, 256] where "
       "absent"},
      {"batch_rows", "integer from 16 to 1048576", "of a step; 4096 where absent"},
      {"epochs", "integer from 1 to 10000", "times that all rows are met; 10 where absent"},
      {"learning_rate", "number from 1e-8 to 1", "0.001 where absent"},
      {"l2", "number from 0 to 10", "decay of weights; 0 where absent"},
      {"positive_weight", "number from 0.001 to 10000",
       "of rows with label 1, against a rare class; 1 where absent"},
      {"precision", "fp32, bf16 or fp16",
       "what weights, activations and gradients are rounded to before products; the CPU side is "
       "timed in fp32, and only emulates the others to check them; fp32 where absent"},
      {"tails", "as-they-are or logarithmic",
       "of numbers, before they are standardised: logarithmic keeps small amounts apart beside "
       "large ones; as-they-are where absent"},
      {"hash_buckets", "integer from 1 to 4096",
       "csv: columns that the categories of all categorical columns are hashed into; not hashed "
       "where absent"},
      {"seed", "integer >= 0", "of first weights and the order of rows; 1 where absent"},
  };
  return keys;
}

const std::vector<Key>& var_keys() {
  static const std::vector<Key> keys = {
      {"factors", "integer from 1 to 4096", "of the built-in market; 100 where absent"},
      {"positions", "integer from 1 to 1000000", "of a book; 1000 where absent"},
      {"sectors", "integer from 1 to the factors",
       "of the market; 10, or as many as factors, where absent"},
      {"equity_share", "number from 0 to 1",
       "of the positions; the others are options, calls and puts by halves; 0.3 where absent"},
      {"paths", "integer from 1000 to 68719476736", "of each book"},
      {"horizon_days", "number from 0.01 to 60", "trading days; 10 where absent"},
      {"levels", "[numbers]",
       "from 0.5 to 0.99999, of value at risk, each with 10 paths or more beyond it; [0.95, 0.99, "
       "0.999] where absent"},
      {"seed", "integer >= 0", "of books and paths; 1 where absent"},
  };
  return keys;
}

Settings read_settings(const Section& section) {
  Settings settings;
  settings.scenario_file = section.file_name();
  const std::string model = section.one_of("model", {"gbdt", "mlp", "var"});
  const bool is_gbdt = model == "gbdt", is_mlp = model == "mlp", is_var = model == "var";
  refuse_without(section, is_gbdt, {"task", "gbdt", "batches", "model_file", "training_rows"},
                 "model = \"gbdt\"");
  refuse_without(section, is_mlp, {"mlp"}, "model = \"mlp\"");
  refuse_without(section, is_var, {"books", "var"}, "model = \"var\"");
  std::vector<std::string> of_rows{"rows", "trainings", "validation_every", "positive"};
  for (const auto* keys : {&data_keys, &transaction_keys, &csv_keys})
    of_rows.insert(of_rows.end(), keys->begin(), keys->end());
  refuse_without(section, !is_var, of_rows, "model = \"gbdt\" or \"mlp\"");
  if (is_gbdt) {
    read_gbdt_job(section, settings);
  } else if (is_mlp) {
    settings.model = Model::mlp;
    read_mlp_job(section, settings);
  } else {
    settings.model = Model::var;
    settings.units = section.integer("books", 1, 1'000'000, 1);
    read_var(section, settings);
  }
  return settings;
}

} // namespace breakeven::risk
