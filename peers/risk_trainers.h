// What trains trees on either side, from dense floats in memory to a model; the sizes that are
// trained; and how good a model is.
#pragma once

#include "peers/risk_data.h"
#include "peers/risk_report.h"
#include "peers/risk_xgboost.h"
#include "workloads/risk/gbdt.h"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace breakeven::peers {

/// A size that both sides train on.
struct TrainingCase {
  std::string name; ///< ends the names of its rows
  risk::GbdtParameters settings;
  std::function<TrainAndTest()> make; ///< null where there is no such file
  bool is_long = false;               ///< a pass takes half a minute
};
std::vector<TrainingCase> training_cases(const RiskOptions& options);
std::string size_of(const DenseRows& rows, const risk::GbdtParameters& settings);

/// Cuts, bins and trees, on all of OpenMP's threads.
risk::Gbdt train_ours(const DenseRows& rows, const risk::GbdtParameters& settings);

/// The same for XGBoost. Its 256 bins hold values alone, ours 255 and one for missing values.
XgboostParameters xgboost_parameters(const risk::GbdtParameters& settings, int threads);
XgboostRows xgboost_rows(const DenseRows& rows);

/// Of probabilities of rows with known labels.
struct Quality {
  double auc = 0, log_loss = 0;
};
Quality quality_of(std::span<const float> probabilities, const DenseRows& rows);
std::vector<float> probabilities_of(const risk::Gbdt& model, const DenseRows& rows);

/// AUC within 0.001, log loss within 0.5 % of the peer's.
Agreement compare(const Quality& ours, const Quality& peer);

} // namespace breakeven::peers
