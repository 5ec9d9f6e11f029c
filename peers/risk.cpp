// The risk rows in the order in which they are printed.
#include "peers/risk.h"

#include "peers/risk_report.h"
#include "sim/errors.h"

#include <algorithm>

namespace breakeven::peers {

const std::vector<RowName>& risk_rows() {
  static const std::vector<RowName> rows{
      {"xgboost.memory_100k", "peak memory of train_100k, beside Debian's XGBoost"},
      {"xgboost.memory_1m", "of train_1m"},
      {"xgboost.memory_200k", "of train_200k"},
      {"xgboost.memory_uci", "of train_uci"},
      {"pypi.memory_100k", "peak memory of train_100k, beside the newest XGBoost"},
      {"pypi.memory_1m", "of train_1m"},
      {"pypi.memory_200k", "of train_200k"},
      {"pypi.memory_uci", "of train_uci"},
      {"xgboost.train_100k",
       "bins and 100 trees of depth 6 from 100,000 x 28 floats in memory, beside Debian's XGBoost"},
      {"xgboost.train_1m", "from 1,000,000 x 28"},
      {"xgboost.train_200k", "of depth 8 from 200,000 x 50"},
      {"xgboost.train_uci", "of depth 3 from UCI's credit card defaults (--uci), 24,000 x 23"},
      {"xgboost.speedup_1m", "time of train_1m on one thread over that on several, of both sides"},
      {"pypi.train_100k", "train_100k beside the newest XGBoost"},
      {"pypi.train_1m", "train_1m"},
      {"pypi.train_200k", "train_200k"},
      {"pypi.train_uci", "train_uci"},
      {"pypi.speedup_1m", "and the speed-up"},
      {"xgboost.score", "margins of 250,000 rows by one model, ours, beside Debian's XGBoost"},
      {"pypi.score", "and beside the newest"},
      {"quantlib.var",
       "paths of 100 correlated factors with 700 options revalued, beside a loop through QuantLib"},
      {"openblas.mlp_fp32", "a training step of the network beside its products alone"},
      {"openblas.mlp_bf16", "with inputs rounded to bf16, which the CPU only emulates"},
  };
  return rows;
}

bool compare_risk(const RiskOptions& options, std::ostream& out, std::ostream& log) {
  for (const std::string& start : options.rows) {
    const std::vector<RowName>& rows = risk_rows();
    const bool is_known = std::any_of(rows.begin(), rows.end(), [&](const RowName& row) {
      return std::string(row.name).starts_with(start);
    });
    if (!is_known) throw BadInput("--rows", 0, start, "the start of a row's name (see --list)");
  }
  RiskReport report(options, out, log);
  print_memory_rows(report);
  print_training_rows(report);
  print_scoring_rows(report);
  print_var_rows(report);
  print_mlp_rows(report);
  return report.all_agree();
}

} // namespace breakeven::peers
