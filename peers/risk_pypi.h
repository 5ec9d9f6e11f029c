// XGBoost as PyPI has it, in a Python process (risk_xgboost.py says what it is asked).
#pragma once

#include "peers/interleaved.h"
#include "peers/risk_data.h"
#include "peers/risk_python.h"
#include "peers/risk_xgboost.h"
#include "workloads/scratch_folder.h"

namespace breakeven::peers {

class PypiXgboost {
public:
  /// Throws Failure where `python` or its xgboost is missing.
  explicit PypiXgboost(const std::string& python);

  const std::string& version() const { return worker_.greeting(); }
  void load(const TrainAndTest& rows);
  /// Seconds on so many threads as the parameters name. The model is kept.
  double train_s(const XgboostParameters& parameters, XgboostWay way, int rounds, int threads,
                 Clock clock);
  std::vector<float> probabilities();
  void open(const std::filesystem::path& model);
  /// Margins of the rows to test on; they are kept.
  double score_s(int threads, Clock clock);
  std::vector<float> margins();
  /// MiB that training adds at its peak; of a process that has only loaded its rows.
  double peak_mib(const XgboostParameters& parameters, XgboostWay way, int rounds);

private:
  double seconds_of(const std::string& answer, int threads, Clock clock) const;
  std::vector<float> saved(const std::string& what);

  ScratchFolder folder_;
  PythonWorker worker_;
};

/// Null where there is none, and why not.
std::unique_ptr<PypiXgboost> pypi_or_null(const std::string& python, std::string& why_not);

} // namespace breakeven::peers
