#include "sim/compare/throughput.h"

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {

constexpr double seconds_per_day = 86400;

/// Enough that a 95 % point moves by about a hundredth between seeds at a utilisation of 0.9.
constexpr double measured_units = 30'000, warm_up_share = 0.2;
constexpr double most_random_numbers = 2e7;
/// Profiles that differ within a day are only seen in whole days; one more goes before.
constexpr double least_days = 3;

bool stays_on_cpu(const PhaseProjection& phase) {
  return phase.repeats == Repeats::per_unit && phase.processor == Processor::cpu;
}

/// In a steady service each unit has one GPU, however many are idle.
Interval on_one_server_s(const PhaseProjection& phase) {
  return phase.on_one_gpu_s.value_or(phase.alone_s);
}

bool has_gpu(const Projection& projection) { return projection.path != Path::openmp; }

double per_day(const Projection& projection, double occupied_s) {
  return projection.count * seconds_per_day / occupied_s;
}

double bottleneck_s(const Occupancy& occupancy) {
  return std::max(occupancy.cpu_s, occupancy.gpu_s);
}

std::string bottleneck_name(const Projection& projection) {
  const Occupancy occupancy = occupancy_of(pipeline_of(projection, &Interval::likely));
  const Processor slowest = occupancy.gpu_s > occupancy.cpu_s ? Processor::gpu : Processor::cpu;
  const PhaseProjection* longest = nullptr;
  double longest_s = 0;
  for (const PhaseProjection& phase : projection.phases) {
    if (phase.repeats == Repeats::per_job || phase.processor != slowest) continue;
    const double servers =
        station_of(phase.processor, phase.scaling) == Station::core ? projection.cores : 1;
    if (longest == nullptr || on_one_server_s(phase).likely / servers > longest_s) {
      longest = &phase;
      longest_s = on_one_server_s(phase).likely / servers;
    }
  }
  return std::string(slowest == Processor::gpu ? "gpu" : "cpu")
         + (longest != nullptr ? ": " + longest->phase : "");
}

std::size_t units_to_simulate(const Job& job, int machines) {
  const double each = *job.units_per_day / machines;
  double units = measured_units;
  if (job.arrivals == Arrivals::working_hours || job.arrivals == Arrivals::night_batch)
    units = std::max(units, least_days * each);
  units = std::clamp(units, 1.0, std::max(2000.0, most_random_numbers / machines));
  return static_cast<std::size_t>(units / (1 - warm_up_share));
}

struct Quantiles {
  double p50_s = 0, p95_s = 0;
};

Quantiles quantiles_of(std::vector<double> sample) {
  std::sort(sample.begin(), sample.end());
  const auto at = [&](double p) {
    return sample[static_cast<std::size_t>(std::ceil(p * static_cast<double>(sample.size())) - 1)];
  };
  return {at(0.5), at(0.95)};
}

/// Nothing where the pipeline cannot keep up.
std::optional<Quantiles> simulated(const Pipeline& pipeline, double per_machine_and_day,
                                   const std::vector<double>& arrivals_s) {
  if (per_machine_and_day * bottleneck_s(occupancy_of(pipeline)) >= seconds_per_day) return {};
  std::vector<double> turnaround = turnaround_s(pipeline, arrivals_s);
  const auto warm_up =
      static_cast<std::ptrdiff_t>(warm_up_share * static_cast<double>(turnaround.size()));
  turnaround.erase(turnaround.begin(), turnaround.begin() + warm_up);
  return quantiles_of(std::move(turnaround));
}

void set_turnaround(Throughput& throughput, const Job& job, const Projection& projection) {
  const double each = *job.units_per_day / projection.count;
  const std::vector<double> arrivals = arrival_times_s(
      job.arrivals, *job.units_per_day, projection.count, units_to_simulate(job, projection.count));
  const auto at = [&](double Interval::*point) {
    return simulated(pipeline_of(projection, point), each, arrivals);
  };
  const auto likely = at(&Interval::likely);
  throughput.turnaround = likely ? turnaround_bounded : turnaround_unbounded;
  if (!likely) return;
  throughput.turnaround_p50_s = likely->p50_s;
  throughput.turnaround_p95_s = likely->p95_s;
  throughput.turnaround_p95_low_s = at(&Interval::low)->p95_s;
  if (const auto high = at(&Interval::high)) throughput.turnaround_p95_high_s = high->p95_s;
}

} // namespace

const char* const turnaround_bounded = "bounded";
const char* const turnaround_unbounded = "unbounded: arrivals exceed capacity";

Station station_of(Processor processor, Scaling scaling) {
  if (processor == Processor::gpu) return Station::gpu;
  return scaling == Scaling::serial ? Station::core : Station::machine;
}

void add_step(Pipeline& pipeline, Station station, double seconds) {
  if (!pipeline.steps.empty() && pipeline.steps.back().station == station)
    pipeline.steps.back().seconds += seconds;
  else
    pipeline.steps.push_back({station, seconds});
}

Pipeline pipeline_of(const Projection& projection, double Interval::*point) {
  Pipeline pipeline;
  pipeline.cores = std::max(1, projection.cores);
  pipeline.gpus = std::max(1, projection.workers);
  for (const PhaseProjection& phase : projection.phases) {
    if (phase.repeats == Repeats::per_job) continue;
    add_step(pipeline, station_of(phase.processor, phase.scaling), on_one_server_s(phase).*point);
  }
  return pipeline;
}

Occupancy occupancy_of(const Pipeline& pipeline) {
  Occupancy occupancy;
  for (const Step& step : pipeline.steps)
    switch (step.station) {
    case Station::core:
      occupancy.cpu_s += step.seconds / pipeline.cores;
      break;
    case Station::machine:
      occupancy.cpu_s += step.seconds;
      break;
    case Station::gpu:
      occupancy.gpu_s += step.seconds / pipeline.gpus;
      break;
    }
  return occupancy;
}

double alone_s(const Pipeline& pipeline) {
  double sum_s = 0;
  for (const Step& step : pipeline.steps)
    sum_s += step.seconds;
  return sum_s;
}

Throughput throughput_of(const Job& job, const Projection& projection) {
  Throughput throughput;
  if (!job.units_per_day || !projection.available) return throughput;
  const auto occupancy_at = [&](double Interval::*point) {
    return occupancy_of(pipeline_of(projection, point));
  };
  const Occupancy likely = occupancy_at(&Interval::likely);
  if (!(bottleneck_s(likely) > 0)) return throughput; // everything happens once a job
  throughput.capacity_units_per_day =
      Interval{per_day(projection, bottleneck_s(occupancy_at(&Interval::high))),
               per_day(projection, bottleneck_s(likely)),
               per_day(projection, bottleneck_s(occupancy_at(&Interval::low)))};
  throughput.utilisation = *job.units_per_day / throughput.capacity_units_per_day->likely;
  throughput.bottleneck = bottleneck_name(projection);
  if (has_gpu(projection) && likely.cpu_s > 0)
    throughput.capacity_without_gpu_time = per_day(projection, likely.cpu_s);
  set_turnaround(throughput, job, projection);
  return throughput;
}

std::optional<Interval> floor_s(const Projection& projection) {
  if (!projection.available || !has_gpu(projection)) return {};
  Interval sum;
  for (const PhaseProjection& phase : projection.phases)
    if (stays_on_cpu(phase)) sum = sum + phase.alone_s;
  return sum;
}

} // namespace breakeven
