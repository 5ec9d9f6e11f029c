// Which paths this build has and this machine can use; paths.cpp asks how it was compiled.
#pragma once

#include "workloads/workload.h"

#include <string>

namespace breakeven {

/// openmp and host always; cuda where it is compiled in and a usable GPU answers.
std::vector<Path> usable_paths();

/// "NVIDIA H200" and the driver's CUDA version, or why there is none.
struct GpuFound {
  bool usable = false;
  std::string name, driver, reason;
};
GpuFound find_gpu();

} // namespace breakeven
