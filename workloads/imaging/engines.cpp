#include "workloads/imaging/engines.h"

#include <stdexcept>

namespace breakeven::imaging {

Stages make_stages(Path path) {
  switch (path) {
  case Path::openmp:
    return openmp_stages();
  case Path::host:
    return on_host::imaging_stages();
  case Path::cuda:
    return on_cuda::imaging_stages();
  }
  throw std::logic_error("a path without stages");
}

UNetEngine make_network(const Settings& settings, Path path, int threads) {
  switch (path) {
  case Path::openmp:
    return make_openmp_unet(settings.unet, settings.weights, threads);
  case Path::host:
    return on_host::make_unet_engine(settings.unet, settings.weights, settings.precision);
  case Path::cuda:
    return on_cuda::make_unet_engine(settings.unet, settings.weights, settings.precision);
  }
  throw std::logic_error("a path without a network");
}

} // namespace breakeven::imaging
