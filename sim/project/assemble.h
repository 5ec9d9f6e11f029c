// From phases on one machine to the whole job on several: which phases happen once, which are dealt
// out to a machine's GPUs as whole units or, with fewer units than GPUs, as parts of units, which
// share its CPU cores. Parts are summed high with
// high and low with low, the conservative choice. Leaves out any overlap between phases.
#pragma once

#include "sim/project/gpu_model.h"
#include "sim/project/projection.h"

namespace breakeven {

enum class Sharing {
  worker,  ///< each GPU (or the CPU) does it for its own unit
  machine, ///< all CPU cores do it for one unit after the other
};

/// One phase on one machine: seconds a job for Repeats::per_job, seconds a unit for per_unit.
struct MachinePhase {
  std::string phase;
  Repeats repeats = Repeats::per_unit;
  Processor processor = Processor::cpu;
  Sharing sharing = Sharing::worker;
  Interval kernel_s, end_to_end_s;
  std::string bound_by;
  Scaling scaling = Scaling::parallel;
  /// One unit with nothing else on the machine; absent where end_to_end_s says so already.
  Interval alone_s = {};
  /// A unit's on 2, 3, ... GPUs together; empty where it cannot be divided.
  std::vector<GpuPhase> divided = {};
};

/// GPUs (or 1 for a CPU) that each unit of a job of `units` units has to itself.
int workers_of_a_unit(const Projection& projection, double units);

/// Fills times, phases and bound_by of a projection whose count, workers and job_units are set, and
/// marks it available. `device_processor` is what `kernel_s` counts.
void assemble(Projection& projection, const std::vector<MachinePhase>& phases,
              Processor device_processor);

} // namespace breakeven
