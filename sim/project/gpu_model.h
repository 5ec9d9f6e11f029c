// One phase of counted work on one GPU, or divided among several of one machine. Takes Work, the
// GPU's ceilings and its host link; gives kernel and end-to-end seconds with an interval, and which
// resource takes longest. Knows nothing of the workload. Left out: overlap of copies or all-reduces
// with kernels.
#pragma once

#include "sim/catalog/catalog.h"
#include "sim/project/interval.h"
#include "workloads/workload.h"

namespace breakeven {

struct GpuPhase {
  Interval kernel_s;     ///< launches, arithmetic, memory, atomics
  Interval end_to_end_s; ///< with copies over the host link, and all-reduces among several GPUs
  /// "issue", "tensor", "dram", "l2", "latency", "launch", "atomics", "link" or "all-reduce"
  std::string bound_by;
  int gpus = 1; ///< that the phase is divided among
};

/// GB/s of a copy in one direction: the instance's own measured link, else the GPU's best.
Interval host_link_gb_per_s(const Gpu& gpu, const Instance& instance);

GpuPhase project_on_gpu(const Work& work, const Gpu& gpu, const Interval& link_gb_per_s);

/// Whether the work says that several GPUs of one machine can share its rows.
bool is_divisible(const Work& work);

/// The phase on 1, 2, ... `gpus` GPUs of one machine; on one alone where it is not divisible. Each
/// GPU does its share of the rows and launches every kernel. Copies over the host link are not
/// divided: nothing says that the links of a machine's GPUs do not share a switch or the CPU's
/// memory. Partial results are added up as often as the work says. Nobody has to use all GPUs, so
/// at each point of the interval more never take longer; and none is faster than the number of GPUs
/// allows. The kernel time, and what binds, is of as many GPUs as are likely fastest.
std::vector<GpuPhase> project_on_gpus(const Work& work, const Gpu& gpu,
                                      const Interval& link_gb_per_s, int gpus);

/// No kernel is faster than this: every issue slot and FP32 lane used at boost clock, every matrix
/// product at the best measured rate, every streamed byte at the measured bandwidth.
double ceiling_seconds(const Work& work, const Gpu& gpu);

} // namespace breakeven
