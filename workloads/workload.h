// The contract between a workload and the stages that measure, project and price it. A workload
// knows how to run a slice of its job on a path, what that slice counted, and whether a path's
// result agrees with the reference. It knows nothing of devices it does not run on, or of money.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace breakeven {

/// How code ran here. `host` is the GPU side's source run on the CPU: for agreement and counting,
/// never for speed.
enum class Path { openmp, cuda, host };
std::string to_string(Path path);
Path path_from_string(const std::string& text); ///< throws std::invalid_argument

/// Which processor a phase keeps busy on the machine it is meant for. A PNG is encoded by the CPU
/// whichever path traced it.
enum class Processor { cpu, gpu };

/// How a phase's time depends on the number of CPU cores.
enum class Scaling { serial, parallel };

/// How often a phase happens: once for the whole job, or once for each unit (frame, case) of it.
enum class Repeats { per_job, per_unit };

/// Counted work of one phase of one run. Zero means none was counted. All byte figures are
/// requested by the code, before any cache.
struct Work {
  double lane_instructions = 0; ///< instructions x lanes that needed them, as if none diverged
  double simt_efficiency = 1;   ///< useful lanes / issued lanes over groups of 32, in (0, 1]
  double fp32_flops = 0;        ///< of multiply-adds among lane_instructions, two each
  /// Of dense matrix products for tensor cores, by the format that their inputs are rounded to; a
  /// multiply-add is two. Not among lane_instructions.
  double tensor_fp16_flops = 0, tensor_tf32_flops = 0;
  double dram_bytes = 0;         ///< streamed once; too large for any cache
  double cached_bytes = 0;       ///< re-read data, served by L2 where it fits
  double working_set_bytes = 0;  ///< how much distinct data the cached bytes touch
  double dependent_accesses = 0; ///< accesses that wait for the one before, summed over lanes
  double atomics = 0;
  double launches = 0;
  double host_to_device_bytes = 0;
  double device_to_host_bytes = 0;
  /// How often all GPUs would add up partial results if the phase's rows were divided among several
  /// of one machine, and the payload of all these all-reduces together, which each GPU holds a
  /// partial result of. Zero: the phase cannot be divided.
  double all_reduces = 0, all_reduce_bytes = 0;
  double parallel_width = 0;                          ///< independent lanes available at once
  std::vector<std::pair<std::string, double>> counts; ///< the workload's own, e.g. primary_rays

  double count(const std::string& name) const; ///< 0 where the name was not counted
};

/// Adds counts, bytes, operations and instructions; weighs SIMT efficiency by instructions issued;
/// keeps the larger working set and parallel width.
void add(Work& sum, const Work& more);

/// The part of the whole job that is really run.
struct Slice {
  std::vector<std::int64_t> units; ///< which units of the job, e.g. frame numbers
  std::int64_t repeats = 1;        ///< repeated work inside a unit, e.g. samples per pixel
  bool whole_job = false;
  std::string label; ///< e.g. "frames 1,120,240 at 2 of 64 samples"
};

/// One phase of one run.
struct Phase {
  std::string name; ///< the same name means the same step on every path
  Processor processor = Processor::cpu;
  Scaling scaling = Scaling::parallel;
  Repeats repeats = Repeats::per_unit;
  double end_to_end_s = 0;   ///< with transfers and synchronisation
  double kernel_s = 0;       ///< computing only; equal to end_to_end_s on the CPU
  double job_over_slice = 1; ///< whole job's counted work over this run's, for this phase
  Work work;                 ///< of this run, not of the job
};

Phase cpu_phase(const std::string& name, Scaling scaling, double seconds);

/// Adds a unit's phase to those of a run, to that of its name if there is one.
void add_phase(std::vector<Phase>& phases, const Phase& phase);

struct Run {
  std::vector<Phase> phases;
  std::uint64_t checksum = 0; ///< of the result, for one path and slice
  /// From the first phase to the last with what lies between them; preparation left out. For
  /// comparison with run_side_by_side; 0 where the workload has none.
  double wall_s = 0;
};

/// Whether a path's result may be used. `evidence` is one line for a person, with the figures.
struct Verification {
  bool passed = false;
  std::string evidence;
};

/// Several units at once, as a service would take them: not their phases, which overlap, but how
/// long all of them took.
struct SideBySide {
  std::string label; ///< e.g. "4 cases, 64 of 300 slices of each"
  double wall_s = 0;
  bool whole_units = false;   ///< not parts of them
  std::int64_t units = 0;     ///< done; fewer than asked for where interrupted
  int cpu_threads = 0;        ///< that took a unit each, or served those that feed GPUs
  int gpu_feeders = 0;        ///< threads that only keep a GPU busy; 0 on a path without one
  std::uint64_t checksum = 0; ///< of all units, as Run's
  Verification agreement;     ///< with the results of units run one after the other
};

struct Workload {
  std::string kind;           ///< "render"
  std::string unit;           ///< what the job counts: "frame"
  std::int64_t job_units = 0; ///< units in the whole job
  std::vector<Path> paths;    ///< those compiled in and usable on this machine

  /// `effort` in [0, 1]: 0 is the smallest slice that still meets every phase, 1 the whole job.
  std::function<Slice(double effort)> slice;
  /// Runs a slice. Results (frames, labels) go to `output` unless it is empty. Polls
  /// `interrupted()` between units and then returns what is done.
  std::function<Run(Path, const Slice&, const std::filesystem::path& output)> run;
  /// Runs so many units of a timed path side by side, each as much of a unit as the slice has of
  /// its own. Results go nowhere. Empty where the workload has no such way to run. Polls
  /// `interrupted()` likewise.
  std::function<SideBySide(Path, const Slice&, std::int64_t units)> run_side_by_side;
  /// Checks a path against the reference. Deterministic; takes seconds, not minutes.
  std::function<Verification(Path)> verify;
};

/// True once the user has asked to stop (Ctrl-C). Set by request_interrupt().
bool interrupted();
void request_interrupt(); ///< async-signal-safe

} // namespace breakeven
