// One phase of counted work on one GPU. Takes Work, the GPU's ceilings and its host link; gives
// kernel and end-to-end seconds with an interval, and which resource takes longest. Knows nothing
// of the workload. Left out: overlap of copies with kernels.
#pragma once

#include "sim/catalog/catalog.h"
#include "sim/project/interval.h"
#include "workloads/workload.h"

namespace breakeven {

struct GpuPhase {
  Interval kernel_s;     ///< launches, arithmetic, memory, atomics
  Interval end_to_end_s; ///< with copies over the host link
  /// "issue", "tensor", "dram", "l2", "latency", "launch", "atomics" or "link"
  std::string bound_by;
};

/// GB/s of a copy in one direction: the instance's own measured link, else the GPU's best.
Interval host_link_gb_per_s(const Gpu& gpu, const Instance& instance);

GpuPhase project_on_gpu(const Work& work, const Gpu& gpu, const Interval& link_gb_per_s);

/// No kernel is faster than this: every issue slot and FP32 lane used at boost clock, every matrix
/// product at the best measured rate, every streamed byte at the measured bandwidth.
double ceiling_seconds(const Work& work, const Gpu& gpu);

} // namespace breakeven
