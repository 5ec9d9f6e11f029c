#include "peers/risk_xgboost.h"

#include "sim/errors.h"

#include <fmt/format.h>
#include <xgboost/c_api.h>

namespace breakeven::peers {

namespace {

void check(int code, const char* doing) {
  if (code != 0) throw Failure(fmt::format("XGBoost, {}: {}", doing, XGBGetLastError()));
}

std::string array_of(const float* values, std::int64_t rows, int features) {
  return fmt::format(R"({{"data": [{}, true], "shape": [{}, {}], "typestr": "<f4", "version": 3}})",
                     reinterpret_cast<std::uintptr_t>(values), rows, features);
}

std::string value_of(const XgboostParameters& parameters, const std::string& name) {
  for (const auto& [key, value] : parameters)
    if (key == name) return value;
  throw Failure("XGBoost needs the parameter " + name);
}

class Matrix {
public:
  explicit Matrix(DMatrixHandle handle) : handle_(handle) {}
  ~Matrix() { XGDMatrixFree(handle_); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  DMatrixHandle handle() const { return handle_; }

private:
  DMatrixHandle handle_;
};

std::unique_ptr<Matrix> dense_matrix(const XgboostRows& rows, const std::string& threads) {
  DMatrixHandle handle = nullptr;
  check(XGDMatrixCreateFromDense(
            array_of(rows.values, rows.count, rows.features).c_str(),
            fmt::format(R"({{"missing": NaN, "nthread": {}}})", threads).c_str(), &handle),
        "taking dense rows");
  auto matrix = std::make_unique<Matrix>(handle);
  check(XGDMatrixSetFloatInfo(handle, "label", rows.labels, static_cast<bst_ulong>(rows.count)),
        "taking labels");
  return matrix;
}

/// Hands all rows over as one batch, once in each of the passes that XGBoost makes.
struct OneBatch {
  const XgboostRows* rows;
  DMatrixHandle proxy;
  bool is_read = false;

  static void reset(DataIterHandle self) { static_cast<OneBatch*>(self)->is_read = false; }
  static int next(DataIterHandle self) { return static_cast<OneBatch*>(self)->hand_over(); }
  int hand_over() {
    if (is_read) return 0;
    is_read = true;
    const std::string array = array_of(rows->values, rows->count, rows->features);
    check(XGProxyDMatrixSetDataDense(proxy, array.c_str()), "taking a batch");
    check(XGDMatrixSetFloatInfo(proxy, "label", rows->labels, static_cast<bst_ulong>(rows->count)),
          "taking a batch's labels");
    return 1;
  }
};

std::unique_ptr<Matrix> quantile_matrix(const XgboostRows& rows, const std::string& threads,
                                        const std::string& bins) {
  DMatrixHandle proxy_handle = nullptr, handle = nullptr;
  check(XGProxyDMatrixCreate(&proxy_handle), "making a proxy");
  const Matrix proxy(proxy_handle);
  OneBatch batch{&rows, proxy_handle};
  check(
      XGQuantileDMatrixCreateFromCallback(
          &batch, proxy_handle, nullptr, OneBatch::reset, OneBatch::next,
          fmt::format(R"({{"missing": NaN, "nthread": {}, "max_bin": {}}})", threads, bins).c_str(),
          &handle),
      "binning rows");
  return std::make_unique<Matrix>(handle);
}

} // namespace

struct XgboostModel::Booster {
  BoosterHandle handle = nullptr;
  Booster() = default;
  Booster(const Booster&) = delete;
  Booster& operator=(const Booster&) = delete;
  ~Booster() { XGBoosterFree(handle); }
};

bool xgboost_found() { return true; }
std::string xgboost_version() {
  int major = 0, minor = 0, patch = 0;
  XGBoostVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

XgboostModel XgboostModel::trained(const XgboostRows& rows, const XgboostParameters& parameters,
                                   XgboostWay way, int rounds) {
  const std::string threads = value_of(parameters, "nthread");
  const std::unique_ptr<Matrix> matrix =
      way == XgboostWay::dense ? dense_matrix(rows, threads)
                               : quantile_matrix(rows, threads, value_of(parameters, "max_bin"));
  auto booster = std::make_shared<Booster>();
  const DMatrixHandle handles[]{matrix->handle()};
  check(XGBoosterCreate(handles, 1, &booster->handle), "making a booster");
  for (const auto& [name, value] : parameters)
    check(XGBoosterSetParam(booster->handle, name.c_str(), value.c_str()), name.c_str());
  for (int round = 0; round < rounds; ++round)
    check(XGBoosterUpdateOneIter(booster->handle, round, matrix->handle()), "training");
  return XgboostModel(std::move(booster));
}

XgboostModel XgboostModel::loaded(const std::filesystem::path& file) {
  auto booster = std::make_shared<Booster>();
  check(XGBoosterCreate(nullptr, 0, &booster->handle), "making a booster");
  check(XGBoosterLoadModel(booster->handle, file.c_str()), "loading a model");
  return XgboostModel(std::move(booster));
}

void XgboostModel::set_threads(int threads) {
  check(XGBoosterSetParam(booster_->handle, "nthread", std::to_string(threads).c_str()), "nthread");
}

std::span<const float> XgboostModel::predictions(const float* values, std::int64_t rows,
                                                 int features, int kind) {
  const std::string settings =
      fmt::format(R"({{"type": {}, "training": false, "iteration_begin": 0, "iteration_end": 0, )"
                  R"("strict_shape": false, "cache_id": 0, "missing": NaN}})",
                  kind);
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* result = nullptr;
  check(XGBoosterPredictFromDense(booster_->handle, array_of(values, rows, features).c_str(),
                                  settings.c_str(), nullptr, &shape, &dimensions, &result),
        "scoring");
  return {result, static_cast<std::size_t>(rows)};
}
std::span<const float> XgboostModel::margins(const float* values, std::int64_t rows, int features) {
  return predictions(values, rows, features, 1);
}
std::span<const float> XgboostModel::probabilities(const float* values, std::int64_t rows,
                                                   int features) {
  return predictions(values, rows, features, 0);
}

} // namespace breakeven::peers
