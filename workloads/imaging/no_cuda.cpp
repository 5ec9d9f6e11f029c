// Stands in for the CUDA build of the stages where there is none. Path::cuda is never usable then
// (paths.cpp), so this is reached only by asking for it all the same.
#include "sim/errors.h"
#include "workloads/imaging/stages.h"
#include "workloads/imaging/unet.h"

namespace breakeven::on_cuda {

imaging::Stages imaging_stages() { throw Failure("this build has no CUDA path"); }

imaging::UNetEngine make_unet_engine(const imaging::UNetSpec&, const imaging::UNetWeights&,
                                     imaging::Precision) {
  throw Failure("this build has no CUDA path");
}

} // namespace breakeven::on_cuda
