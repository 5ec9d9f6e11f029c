// Stands in for the CUDA build of wavefront.cu where there is none. Path::cuda is never usable then
// (paths.cpp), so this is reached only by asking for it all the same.
#include "sim/errors.h"
#include "workloads/render/engine.h"

namespace breakeven::on_cuda {

render::Engine make_wavefront_engine(std::shared_ptr<const render::RenderScene>,
                                     render::Acceleration) {
  throw Failure("this build has no CUDA path");
}

int threads_used() { return 0; }

} // namespace breakeven::on_cuda
