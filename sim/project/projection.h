// From counted work and local times to seconds on machines that are not here. Takes measurements
// and the catalog, gives a Projection with low, likely and high for the whole job; a measurement
// taken here becomes one too, with its own spread. Leaves out money, and any number without an
// interval.
#pragma once

#include "sim/catalog/catalog.h"
#include "sim/measure/measurement.h"
#include "sim/project/interval.h"

#include <optional>
#include <string>
#include <vector>

namespace breakeven {

/// One phase of the whole job on the projected machine. The phases' end-to-end times sum to the
/// job's; the phase "cold start" is context creation and the first launch.
struct PhaseProjection {
  std::string phase;
  Repeats repeats = Repeats::per_unit;
  Processor processor = Processor::gpu;
  Interval kernel_s, end_to_end_s; ///< whole job
  std::string bound_by; ///< "issue", "tensor", "dram", "l2", "latency", "launch", "atomics",
                        ///< "link", "all-reduce", "cpu"; "gpu" where it was measured
  Scaling scaling = Scaling::parallel; ///< of a phase on the CPU: one core, or all of them
  Interval alone_s; ///< end to end with nothing else on the machine: one unit, or one job where the
                    ///< phase happens once a job
  int gpus = 1;     ///< that one unit alone is divided among
  std::optional<Interval> on_one_gpu_s; ///< alone_s on one GPU, where it is divided among several
};

/// The whole job on one target.
struct Projection {
  std::string instance; ///< "aws:p4d.24xlarge" or "local"
  int count = 1;        ///< machines side by side
  std::string device;   ///< what does the heavy phases: a GPU's or CPU's name
  Path path = Path::openmp;
  int threads = 0;       ///< CPU threads used, on each machine
  std::string isa;       ///< widest SIMD of the CPU: "AVX-512", or "512-bit SIMD" from the catalog
  std::string evidence;  ///< "measured", "extrapolated" or "projected"
  bool in_range = false; ///< inside what the model was calibrated on
  std::string bound_by;  ///< of the phase that takes longest
  // One machine needs fixed + ceil(units / workers) * worker_unit + units * shared_unit seconds.
  // With fewer units than workers each has floor(workers / units) of them: unit_on_workers_s().
  int workers = 1; ///< GPUs of one machine that each take whole units; 1 for a CPU
  int cores = 1;   ///< physical CPU cores of one machine
  double job_units = 1;
  Interval fixed_s;                     ///< once per job and machine, whatever the job's size
  Interval worker_unit_s;               ///< a unit, as far as it keeps one worker to itself
  std::vector<Interval> divided_unit_s; ///< the same on 2, 3, ... workers together, never longer;
                                        ///< empty where a unit cannot be divided
  Interval shared_unit_s;               ///< a unit, as far as it needs all the machine's CPU cores
  Interval per_unit_s; ///< each further unit on one machine: worker_unit / workers + shared_unit
  /// Whole job on `count` machines. The kernel time is of what `device` computes: without
  /// transfers, cold start and phases that stay on a GPU machine's CPU.
  Interval kernel_s, end_to_end_s;
  double cold_s = 0;       ///< context creation, first launch; part of fixed_s
  double envelope_max = 0; ///< largest plausible speed-up over the baseline: ratio of ceilings
  std::vector<PhaseProjection> phases; ///< in the order in which a unit meets them
  std::string note;       ///< why there is no projection, or what weakens it; "; " between
  bool available = false; ///< false: `note` says why, and the row stays, labelled
};

/// Seconds that a unit of a job of `units` units keeps its worker to itself: one of them, or
/// several where its machine has more workers than units and the unit can be divided.
Interval unit_on_workers_s(const Projection& projection, double units);

/// Seconds that the projection's machines need for `units` units, at one of its three points. Never
/// fewer for more units. Left out: dividing the last few units once there are as many units as
/// workers, and one unit among several machines.
double compute_seconds(const Projection& projection, double units, double Interval::*point);

/// One Projection per target, in the scenario's order; the first is the baseline. Targets are
/// instances of the catalog, "local" (the CPU as measured here) or "local-gpu" (Path::cuda as
/// measured here). A path that was not verified gives no time.
std::vector<Projection> project(const Scenario& scenario,
                                const std::vector<Measurement>& measurements,
                                const Catalog& catalog);

} // namespace breakeven
