// What a workload did on this machine: one Measurement per path and phase, with every sample, the
// work it counted and the machine it ran on. This is a row of measurements.csv, so everything the
// later stages need is in it and a study can be replayed from the file alone. Leaves out: other
// machines.
#pragma once

#include "sim/scenario/scenario.h"
#include "workloads/workload.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace breakeven {

/// The machine and the build that a measurement came from.
struct Environment {
  std::string cpu_model, isa; ///< isa: widest SIMD of the CPU, which Embree picks, e.g. "AVX-512"
  int physical_cores = 0, logical_cpus = 0;
  double clock_ghz = 0; ///< as the kernel reports it under load; 0 unknown
  double memory_gib = 0;
  double memory_read_gb_per_s = 0; ///< measured here, all threads; 0 unknown
  std::string governor;            ///< "" where it cannot be read
  std::string os, compiler, flags;
  std::string gpu, gpu_driver; ///< "" where there is none
  std::string version, commit;
  std::string measured_on; ///< ISO date
};

/// The median of samples with its distribution-free confidence interval (order statistics).
struct Median {
  double value = 0, low = 0, high = 0;
};
/// 99 % interval of the median by binomial order statistics (Hoefler & Belli 2015, rule 6). With
/// fewer than 8 samples no such interval exists: low and high are then the extremes.
Median median_of(std::vector<double> samples);

/// What stands in the place of a phase's name: the whole run, and several units run side by side.
extern const char* const total_phase;
extern const char* const side_by_side_phase;

struct Measurement {
  std::string study, title, scenario_sha256, workload_sha256;
  std::string workload, unit; ///< "render", "frame"
  std::int64_t job_units = 0;
  Path path = Path::openmp;
  std::string phase; ///< a phase's name, total_phase or side_by_side_phase
  Processor processor = Processor::cpu;
  Scaling scaling = Scaling::parallel;
  Repeats repeats = Repeats::per_unit;
  std::string slice; ///< Slice::label
  int threads = 0;
  std::vector<double> samples_s; ///< end to end, warm, in the order taken
  std::vector<double> kernel_samples_s;
  double cold_s = 0;         ///< the first run, which the samples leave out
  Median end_to_end_s;       ///< of samples_s
  std::string stop_reason;   ///< "converged", "time limit", "whole job", "interrupted", "counting
                             ///< only", "not verified", "one run"
  double job_over_slice = 1; ///< > 1: job figures are extrapolated by counted work
  double job_s = 0;          ///< end_to_end_s.value * job_over_slice
  std::string evidence;      ///< of job_s: "measured" or "extrapolated"
  Work work;                 ///< of the slice
  std::uint64_t checksum = 0;
  bool verified = false;
  std::string verification; ///< Verification::evidence
  Environment environment;
};

bool is_total(const Measurement& row);
/// About several units at once: no part of a run, and nothing is projected from it. Its samples_s
/// holds the wall time of them all, which makes no time of the job; work.counts has how many
/// (units), whether these are whole units (whole_units, 1 or 0), the threads they had (cpu_threads,
/// gpu_feeders), how many units the path's other rows are of (units_alone), and the median wall
/// time of those runs, with all that lies between their phases (alone_wall_s).
bool is_side_by_side(const Measurement& row);

/// Told what is happening, for a progress line. `share` in [0, 1], or < 0 where unknown.
using Progress = std::function<void(const std::string& what, double share)>;

/// Verifies, then measures every usable path of the workload. `units` is where results of the
/// run go (empty: nowhere). Path::host is run once, for its counts, and never timed. A path that
/// fails verification gets no times: its rows carry verified = false and nothing else. Where the
/// job is a steady service (units_per_day), units are run side by side too, once, if one for each
/// thread takes no more than twice the time limit, as one after the other has shown. Interrupted
/// before a run was finished: no rows of that path and those after it.
std::vector<Measurement> measure(const Scenario& scenario, const Workload& workload,
                                 const std::filesystem::path& units, const Progress& progress);

/// Rows of an earlier run, for this scenario: relabelled with its name and hash. BadInput where
/// they were measured on another workload.
std::vector<Measurement> measurements_for(const Scenario& scenario, std::vector<Measurement> rows,
                                          const std::string& file);

/// Reads this machine. `threads` is what the bandwidth probe uses. Takes about a second.
Environment read_environment(int threads);

} // namespace breakeven
