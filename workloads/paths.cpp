#include "workloads/paths.h"

#if defined(BREAKEVEN_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace breakeven {

#if defined(BREAKEVEN_CUDA)

GpuFound find_gpu() {
  int devices = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess)
    return {false, "", "", cudaGetErrorString(error)};
  if (devices == 0) return {false, "", "", "no CUDA device"};
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, 0); error != cudaSuccess)
    return {false, "", "", cudaGetErrorString(error)};
  int driver = 0;
  cudaDriverGetVersion(&driver);
  return {true, properties.name,
          "CUDA " + std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10), ""};
}

#else

GpuFound find_gpu() { return {false, "", "", "this build has no CUDA path"}; }

#endif

std::vector<Path> usable_paths() {
  std::vector<Path> paths{Path::openmp, Path::host};
  if (find_gpu().usable) paths.push_back(Path::cuda);
  return paths;
}

} // namespace breakeven
