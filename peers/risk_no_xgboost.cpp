// Stands in for XGBoost where its library is not installed. Nothing here is called: no row asks for
// it where xgboost_found() is false.
#include "peers/risk_xgboost.h"
#include "sim/errors.h"

namespace breakeven::peers {

struct XgboostModel::Booster {};

bool xgboost_found() { return false; }
std::string xgboost_version() { return {}; }

XgboostModel XgboostModel::trained(const XgboostRows&, const XgboostParameters&, XgboostWay, int) {
  throw Failure("built without XGBoost");
}
XgboostModel XgboostModel::loaded(const std::filesystem::path&) {
  throw Failure("built without XGBoost");
}
void XgboostModel::set_threads(int) {}
std::span<const float> XgboostModel::margins(const float*, std::int64_t, int) { return {}; }
std::span<const float> XgboostModel::probabilities(const float*, std::int64_t, int) { return {}; }

} // namespace breakeven::peers
