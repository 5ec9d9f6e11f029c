// The memory of each path of the GPU side's source.
#pragma once

#include "workloads/risk/gbdt_paths.h"
#include "workloads/workload.h"

namespace breakeven::risk {

inline imaging::Memory path_memory(Path path) {
  return path == Path::cuda ? on_cuda::risk_memory() : on_host::risk_memory();
}

} // namespace breakeven::risk
