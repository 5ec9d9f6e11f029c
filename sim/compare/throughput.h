// The work as a steady service: how many units a day a target can take, and how long one unit is
// under way from its arrival to its stored result. Takes a projection's phases and how units
// arrive. Capacity is the slowest station's; turnaround comes from a simulation of the queues,
// deterministic for its seed. Leaves out: boot, load and cold start (the service is up), failures,
// the network, and limits on what may wait between two stations.
#pragma once

#include "sim/project/projection.h"

#include <optional>
#include <string>
#include <vector>

namespace breakeven {

/// What a unit occupies in a phase of its own: one CPU core of the machine's pool, one GPU, or all
/// CPU cores at once.
enum class Station { core, gpu, machine };
Station station_of(Processor processor, Scaling scaling);

/// One stay at a station.
struct Step {
  Station station = Station::core;
  double seconds = 0;
};

/// A unit's way through one machine. A phase on all cores gives way to those on one core: with k of
/// n cores busy it advances at (n - k) / n of its pace, so that no core is counted twice.
struct Pipeline {
  std::vector<Step> steps; ///< consecutive ones differ in station
  int cores = 1, gpus = 1;
};

/// Adds a step behind the others, to the last one where they share a station.
void add_step(Pipeline& pipeline, Station station, double seconds);

/// The per-unit phases at one of the projection's three points, each unit on one GPU.
Pipeline pipeline_of(const Projection& projection, double Interval::*point);

/// Seconds that the CPU cores and the GPUs are busy with each unit, with all of them at work: the
/// larger one is the time between two results at best.
struct Occupancy {
  double cpu_s = 0, gpu_s = 0;
};
Occupancy occupancy_of(const Pipeline& pipeline);

/// Seconds of a unit that has the machine to itself.
double alone_s(const Pipeline& pipeline);

/// Arrival times in seconds from midnight of the first day, ascending, of every `machines`-th unit:
/// units are dealt out to the machines in turn. Profiles: even: at equal distances. Poisson:
/// independent, at one rate. Working hours: independent, 80 % of a day's units from 8:00 to 18:00,
/// 20 % in the other 14 hours. Night batch: all of a day's units at midnight. Random numbers are
/// counter-based (SplitMix64, Steele et al. 2014), so the same question has the same arrivals.
std::vector<double> arrival_times_s(Arrivals arrivals, double units_per_day, int machines,
                                    std::size_t count);

/// Turnaround of each arrival, in the order of arrival: first come, first served at every station.
std::vector<double> turnaround_s(const Pipeline& pipeline, const std::vector<double>& arrivals_s);

/// What the service does to one target.
struct Throughput {
  std::optional<Interval> capacity_units_per_day; ///< of all machines of the target together
  std::optional<double> utilisation;              ///< of the bottleneck, at likely times
  std::string bottleneck; ///< "cpu" or "gpu", with the longest phase there: "cpu: decode"
  /// "bounded"; "unbounded: arrivals exceed capacity"; "" where nobody asked or no time is known.
  std::string turnaround;
  std::optional<double> turnaround_p50_s, turnaround_p95_s; ///< at likely times
  /// The 95 % point where every phase takes its 10 % or 90 % time; the latter is unset where that
  /// exceeds capacity.
  std::optional<double> turnaround_p95_low_s, turnaround_p95_high_s;
  std::optional<double> capacity_without_gpu_time; ///< units a day if its GPUs took no time
};

extern const char* const turnaround_bounded;
extern const char* const turnaround_unbounded;

/// Empty where the job has no units_per_day or the projection no time.
Throughput throughput_of(const Job& job, const Projection& projection);

/// Seconds of each unit that stay on the CPU whatever the GPU: the floor of Amdahl's law. Unset for
/// a target without a GPU.
std::optional<Interval> floor_s(const Projection& projection);

} // namespace breakeven
