// Stands in for the CUDA build of the risk models where there is none. Path::cuda is never usable
// then (paths.cpp), so this is reached only by asking for it all the same.
#include "sim/errors.h"
#include "workloads/risk/gbdt_paths.h"
#include "workloads/risk/mlp_paths.h"
#include "workloads/risk/var.h"

namespace breakeven::on_cuda {

imaging::Memory risk_memory() { throw Failure("this build has no CUDA path"); }
risk::GpuTraining train_gbdt(const risk::BinnedRows&, const risk::Cuts&,
                             const risk::GbdtParameters&, const risk::BinnedRows*, imaging::Memory&,
                             double) {
  throw Failure("this build has no CUDA path");
}
std::vector<Phase> score_gbdt(const risk::Gbdt&, const risk::Rows&, std::span<float>,
                              imaging::Memory&, std::int64_t) {
  throw Failure("this build has no CUDA path");
}

risk::MlpRun train_mlp(const risk::MlpJob&, const risk::MlpParameters&, imaging::Memory&) {
  throw Failure("this build has no CUDA path");
}

void var_profits(const risk::VarBook&, std::uint64_t, std::int64_t, std::int64_t, std::int64_t,
                 std::int64_t*) {
  throw Failure("this build has no CUDA path");
}
risk::VarRun var(const risk::VarBook&, const risk::VarSettings&) {
  throw Failure("this build has no CUDA path");
}

} // namespace breakeven::on_cuda
