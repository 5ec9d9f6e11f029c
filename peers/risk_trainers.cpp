#include "peers/risk_trainers.h"

#include "workloads/risk/gbdt_model.h"
#include "workloads/risk/gbdt_paths.h"
#include "workloads/risk/gbdt_score.h"
#include "workloads/risk/metrics.h"

#include <fmt/format.h>

#include <cmath>

namespace breakeven::peers {

using namespace risk;

std::vector<TrainingCase> training_cases(const RiskOptions& options) {
  // 20,000 rows to train on are positive in each: with 2,000 of 100,000, chance decides more than
  // the library does, and XGBoost's own AUC differs by 0.001 between 256 bins and 255.
  constexpr std::int64_t positives = 20'000, test_rows = 250'000;
  const auto made_up = [](const char* name, std::int64_t rows, int columns, int depth,
                          bool is_long) {
    TrainingCase made{name, {}, {}, is_long};
    made.settings.depth = depth;
    made.make = [rows, columns] { return made_up_rows(rows, positives, test_rows, columns); };
    return made;
  };
  std::vector<TrainingCase> cases{made_up("100k", 100'000, 28, 6, false),
                                  made_up("1m", 1'000'000, 28, 6, true),
                                  made_up("200k", 200'000, 50, 8, true)};
  TrainingCase uci{"uci", {}, {}, false};
  uci.settings.depth = 3;
  if (!options.uci.empty()) uci.make = [file = options.uci] { return uci_rows(file); };
  cases.push_back(uci);
  return cases;
}

std::string size_of(const DenseRows& rows, const GbdtParameters& settings) {
  return fmt::format("{} x {}; depth {}; {} trees", rows.count(), rows.features(), settings.depth,
                     settings.rounds);
}

Gbdt train_ours(const DenseRows& dense, const GbdtParameters& settings) {
  const Rows rows = reading(dense);
  const Cuts cuts = quantile_cuts(rows, most_bins);
  const BinnedRows bins = binned(rows, cuts);
  Gbdt model = train_gbdt_openmp(bins, cuts, settings).model;
  model.feature_names = dense.feature_names;
  return model;
}

XgboostParameters xgboost_parameters(const GbdtParameters& settings, int threads) {
  return {{"objective", "binary:logistic"},
          {"tree_method", "hist"},
          {"max_bin", "256"},
          {"max_depth", fmt::format("{}", settings.depth)},
          {"eta", fmt::format("{}", settings.learning_rate)},
          {"lambda", fmt::format("{}", settings.l2)},
          {"min_child_weight", fmt::format("{}", settings.min_child_weight)},
          {"base_score", "0.5"},
          {"nthread", fmt::format("{}", threads)},
          {"verbosity", "0"}};
}

XgboostRows xgboost_rows(const DenseRows& rows) {
  return {rows.values.data(), rows.float_labels.data(), rows.count(), rows.features()};
}

Quality quality_of(std::span<const float> probabilities, const DenseRows& rows) {
  return {ranking_quality(probabilities, rows.labels).auc, log_loss(probabilities, rows.labels)};
}

std::vector<float> probabilities_of(const Gbdt& model, const DenseRows& rows) {
  std::vector<float> values(rows.labels.size());
  find_margins(model, reading(rows), values);
  for (float& value : values)
    value = static_cast<float>(1 / (1 + std::exp(-static_cast<double>(value))));
  return values;
}

Agreement compare(const Quality& ours, const Quality& peer) {
  const bool holds = std::abs(ours.auc - peer.auc) <= 0.001
                     && std::abs(ours.log_loss - peer.log_loss) <= 0.005 * peer.log_loss;
  return {holds,
          fmt::format("{}auc {:.5f} and {:.5f}; log loss {:.5f} and {:.5f}",
                      holds ? "" : "FAIL: ", ours.auc, peer.auc, ours.log_loss, peer.log_loss)};
}

} // namespace breakeven::peers
