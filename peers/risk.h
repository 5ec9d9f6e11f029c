// Our boosted trees and VaR on OpenMP beside XGBoost and QuantLib: the same data in memory, the
// same parameters and number of threads, taking turns, results compared.
#pragma once

#include "peers/interleaved.h"

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace breakeven::peers {

struct RiskOptions {
  std::filesystem::path uci; ///< UCI's credit card defaults as CSV; empty: without their rows
  int pairs = 5;
  int long_pairs = 3;            ///< of rows whose pass takes half a minute
  std::vector<int> threads;      ///< empty: 1, 2, 4 ... up to the machine's
  std::vector<std::string> rows; ///< those whose names start with one of these; empty: all
  Clock clock = Clock::wall;
  std::string python = "python3"; ///< one that has xgboost
};
const std::vector<RowName>& risk_rows();

/// Prints CSV rows to `out` as they come, progress to `log`. False where a result did not agree.
bool compare_risk(const RiskOptions& options, std::ostream& out, std::ostream& log);

} // namespace breakeven::peers
