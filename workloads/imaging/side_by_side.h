// A slice's part of several cases side by side on one path: the case pool with the steps of a job,
// and whether its labels are those of a case that had the machine to itself.
#pragma once

#include "workloads/imaging/job.h"
#include "workloads/workload.h"

namespace breakeven::imaging {

/// Workload::run_side_by_side of an imaging job. The pool has the shape of the path: whole cases on
/// CPU threads for openmp, else threads that decode and store for those that feed one GPU; for host
/// (in tests) the feeders run the GPU side's source themselves. Not counted: making stages and
/// networks, and one case alone, before it. Throws Failure as a run does.
SideBySide run_side_by_side(Job& job, Path path, const Slice& slice, std::int64_t units);

} // namespace breakeven::imaging
