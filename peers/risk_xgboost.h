// XGBoost through its C interface, behind functions that show none of it, so that the benchmark
// builds without the library.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace breakeven::peers {

/// Rows to train on: values row by row, a missing one as NaN, and labels of 0 or 1.
struct XgboostRows {
  const float* values = nullptr;
  const float* labels = nullptr;
  std::int64_t count = 0;
  int features = 0;
};

/// Its parameters by its own names, `nthread` and `max_bin` among them.
using XgboostParameters = std::vector<std::pair<std::string, std::string>>;

/// How the rows are handed over: a DMatrix keeps the floats and is binned in the first round, a
/// QuantileDMatrix is binned when it is made.
enum class XgboostWay { dense, quantile };
constexpr XgboostWay xgboost_ways[]{XgboostWay::dense, XgboostWay::quantile};
inline std::string name_of(XgboostWay way) {
  return way == XgboostWay::dense ? "dense" : "quantile";
}

bool xgboost_found();
std::string xgboost_version();

class XgboostModel {
public:
  /// From floats in memory to the model. Throws Failure with XGBoost's message, as do all here.
  static XgboostModel trained(const XgboostRows& rows, const XgboostParameters& parameters,
                              XgboostWay way, int rounds);
  static XgboostModel loaded(const std::filesystem::path& file);

  void set_threads(int threads);
  /// In place. They lie in the library's memory until the next call.
  std::span<const float> margins(const float* values, std::int64_t rows, int features);
  std::span<const float> probabilities(const float* values, std::int64_t rows, int features);

private:
  struct Booster;
  explicit XgboostModel(std::shared_ptr<Booster> booster) : booster_(std::move(booster)) {}
  std::span<const float> predictions(const float* values, std::int64_t rows, int features,
                                     int kind);

  std::shared_ptr<Booster> booster_;
};

} // namespace breakeven::peers
