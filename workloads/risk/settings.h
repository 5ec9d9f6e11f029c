// The [workload] keys of kind "risk", read and checked, and the rows they describe.
#pragma once

#include "sim/scenario/section.h"
#include "workloads/risk/gbdt.h"
#include "workloads/risk/mlp.h"
#include "workloads/risk/table_csv.h"
#include "workloads/risk/table_libsvm.h"
#include "workloads/risk/transactions.h"
#include "workloads/risk/var_portfolio.h"

#include <filesystem>

namespace breakeven::risk {

enum class Model { gbdt, mlp, var };
enum class Task { train, score };
enum class Source { transactions, csv, libsvm };

struct DataSettings {
  Source source = Source::transactions;
  TransactionSettings transactions;
  std::filesystem::path file; ///< of csv and libsvm
  CsvSettings csv;
  Categories categories = Categories::codes;
  LibsvmSettings libsvm;
  int validation_every = 5; ///< one row in so many is held out to validate on
};

struct GbdtSettings {
  GbdtParameters parameters;
  int bins = most_bins;
};

struct MlpSettings {
  MlpParameters parameters;
  Tails tails = Tails::as_they_are;
  int hash_buckets = 0; ///< that categories fall into; 0: they come as data.categories says
};

struct Settings {
  Model model = Model::gbdt;
  Task task = Task::train;
  std::int64_t units = 1; ///< trainings, batches or books: the job
  DataSettings data;
  GbdtSettings gbdt;
  MlpSettings mlp;
  std::filesystem::path model_file;     ///< scoring: empty where a model is trained first
  std::int64_t training_rows = 100'000; ///< scoring: of the built-in transactions for that model
  PortfolioSettings portfolio;
  VarSettings var;
  std::string scenario_file; ///< for messages
};

const std::vector<Key>& risk_keys(); ///< of [workload] with kind = "risk"
const std::vector<Key>& gbdt_keys(); ///< of [workload.gbdt]
const std::vector<Key>& mlp_keys();  ///< of [workload.mlp]
const std::vector<Key>& var_keys();  ///< of [workload.var]

Settings read_settings(const Section& section);

} // namespace breakeven::risk
