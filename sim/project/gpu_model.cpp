#include "sim/project/gpu_model.h"

#include "sim/project/all_reduce.h"
#include "sim/project/calibration.h"

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {

namespace known = calibration;

/// What the model needs to know of a GPU, at one point of each figure's range.
struct GpuRates {
  double multiprocessors = 0, threads = 0, l2_bytes = 0, fp32_lanes = 0;
  double tensor_fp16_per_s = 0, tensor_tf32_per_s = 0, tensor_utilisation = 0;
  double clock_hz = 0, irregular_utilisation = 0, regular_utilisation = 0;
  double dram_bytes_per_s = 0, bandwidth_utilisation = 0, l2_bytes_per_s = 0;
  double l1_hit_share = 0, l2_hit_exponent = 0;
  double dram_latency_s = 0, l2_latency_s = 0, occupancy = 0;
  double launch_s = 0, launch_overhead = 0, atomics_per_clock = 0;
};

struct ResourceTimes {
  double issue = 0, tensor = 0, dram = 0, l2 = 0, l2_misses = 0, latency = 0, launch = 0,
         atomics = 0;
};

Interval clock_hz(const Gpu& gpu) {
  const double boost_hz = gpu.clock_mhz * 1e6;
  if (!gpu.sustained_clock_mhz) return around(boost_hz, known::unknown_sustained_share);
  // The sustained clock was seen under code that saturates the multipliers. Code that waits for
  // memory draws less power and runs somewhere between the two.
  const double sustained_hz = std::min(*gpu.sustained_clock_mhz * 1e6, boost_hz);
  return {sustained_hz, std::sqrt(sustained_hz * boost_hz), boost_hz};
}

/// Products go to the lanes as multiply-adds where there are no tensor cores for them, or where the
/// lanes are faster: libraries of convolutions try both.
Work as_run_by(const Gpu& gpu, Work work, double tensor_utilisation, double lane_tflops) {
  Work multiply_adds;
  const auto choose = [&](double& flops, double tensor_tflops) {
    if (tensor_tflops * tensor_utilisation > lane_tflops) return;
    multiply_adds.fp32_flops += flops;
    flops = 0;
  };
  choose(work.tensor_fp16_flops, gpu.tensor_fp16_tflops.value_or(0));
  choose(work.tensor_tf32_flops, gpu.tensor_tf32_tflops.value_or(0));
  multiply_adds.lane_instructions = multiply_adds.fp32_flops / 2;
  add(work, multiply_adds);
  return work;
}

Work as_likely_run_by(const Gpu& gpu, const Work& work) {
  const double sustained_share = clock_hz(gpu).likely / (gpu.clock_mhz * 1e6);
  return as_run_by(gpu, work, known::tensor_utilisation.likely,
                   gpu.fp32_tflops * sustained_share * known::regular_utilisation.likely);
}

Interval dram_bytes_per_s(const Gpu& gpu) {
  const double bytes_per_s = gpu.memory_gb_per_s * 1e9;
  if (gpu.memory_evidence == "measured") return {bytes_per_s, bytes_per_s, bytes_per_s};
  return around(bytes_per_s, known::unmeasured_bandwidth);
}

Interval l2_bytes_per_s(const Gpu& gpu) {
  if (gpu.l2_gb_per_s) return around(*gpu.l2_gb_per_s * 1e9, known::known_l2_bandwidth);
  return around(gpu.multiprocessors * gpu.clock_mhz * 1e6, known::unknown_l2_bytes_per_clock);
}

Interval latency_s(const std::optional<double>& nanoseconds, const Interval& fallback_ns) {
  return nanoseconds ? around(*nanoseconds * 1e-9, known::known_latency) : 1e-9 * fallback_ns;
}

Interval launch_s(const Gpu& gpu) {
  if (gpu.launch_us) return around(*gpu.launch_us * 1e-6, known::known_launch);
  return 1e-6 * known::unknown_launch_us;
}

/// A lane's multiply-add is two operations.
double fp32_lanes(const Gpu& gpu) { return gpu.fp32_tflops * 1e12 / (2 * gpu.clock_mhz * 1e6); }

GpuRates fixed_rates(const Gpu& gpu) {
  GpuRates rates;
  rates.multiprocessors = gpu.multiprocessors;
  rates.threads = static_cast<double>(gpu.multiprocessors) * gpu.max_threads_per_multiprocessor;
  rates.l2_bytes = gpu.l2_mb * 1e6;
  rates.fp32_lanes = fp32_lanes(gpu);
  rates.tensor_fp16_per_s = gpu.tensor_fp16_tflops.value_or(0) * 1e12;
  rates.tensor_tf32_per_s = gpu.tensor_tf32_tflops.value_or(0) * 1e12;
  return rates;
}

std::vector<Uncertain<GpuRates>> uncertain_rates(const Gpu& gpu) {
  return {
      {&GpuRates::clock_hz, clock_hz(gpu)},
      {&GpuRates::irregular_utilisation, known::irregular_utilisation},
      {&GpuRates::regular_utilisation, known::regular_utilisation},
      {&GpuRates::tensor_utilisation, known::tensor_utilisation},
      {&GpuRates::dram_bytes_per_s, dram_bytes_per_s(gpu)},
      {&GpuRates::bandwidth_utilisation, known::bandwidth_utilisation},
      {&GpuRates::l2_bytes_per_s, l2_bytes_per_s(gpu)},
      {&GpuRates::l1_hit_share, known::l1_hit_share},
      {&GpuRates::l2_hit_exponent, known::l2_hit_exponent},
      {&GpuRates::dram_latency_s, latency_s(gpu.dram_latency_ns, known::unknown_dram_latency_ns)},
      {&GpuRates::l2_latency_s, latency_s(gpu.l2_latency_ns, known::unknown_l2_latency_ns)},
      {&GpuRates::occupancy, known::occupancy},
      {&GpuRates::launch_s, launch_s(gpu)},
      {&GpuRates::launch_overhead, known::launch_overhead},
      {&GpuRates::atomics_per_clock, known::atomics_per_clock}};
}

/// Issue slots at `clock_hz` if none were lost, for instructions that really are issued: a group of
/// 32 lanes takes the slot whichever of its lanes need it.
double issue_seconds(double lane_instructions, const Work& work, double multiprocessors,
                     double clock_hz) {
  return lane_instructions / work.simt_efficiency / known::lanes_per_issue
         / (multiprocessors * known::issues_per_clock * clock_hz);
}

/// Volta, Turing and the A100 have half as many FP32 lanes as they issue instructions to: code of
/// multiply-adds alone waits for those.
double multiply_add_seconds(const Work& work, double fp32_lanes, double clock_hz) {
  return work.fp32_flops > 0 ? work.fp32_flops / 2 / (fp32_lanes * clock_hz) : 0;
}

double issue_seconds(const Work& work, const GpuRates& rates) {
  const double irregular =
      std::min(work.lane_instructions,
               known::irregular_instructions_per_dependent_access * work.dependent_accesses);
  const auto seconds = [&](double instructions) {
    return issue_seconds(instructions, work, rates.multiprocessors, rates.clock_hz);
  };
  const double issued = seconds(irregular) / rates.irregular_utilisation
                        + seconds(work.lane_instructions - irregular) / rates.regular_utilisation;
  return std::max(issued, multiply_add_seconds(work, rates.fp32_lanes, rates.clock_hz)
                              / rates.regular_utilisation);
}

/// On tensor cores that are never idle.
double tensor_seconds(const Work& work, const GpuRates& rates) {
  const auto seconds = [](double flops, double per_s) { return flops > 0 ? flops / per_s : 0; };
  return seconds(work.tensor_fp16_flops, rates.tensor_fp16_per_s)
         + seconds(work.tensor_tf32_flops, rates.tensor_tf32_per_s);
}

double l2_hit_share(const Work& work, const GpuRates& rates) {
  if (work.working_set_bytes <= rates.l2_bytes) return 1;
  return std::pow(rates.l2_bytes / work.working_set_bytes, rates.l2_hit_exponent);
}

/// A group of 32 lanes waits as often as its slowest lane, hence the division by SIMT efficiency.
double latency_seconds(const Work& work, const GpuRates& rates, double hit_share) {
  if (work.dependent_accesses <= 0) return 0;
  const double resident = rates.threads * rates.occupancy;
  const double width = work.parallel_width > 0 ? std::min(work.parallel_width, resident) : resident;
  const double latency_s = hit_share * rates.l2_latency_s + (1 - hit_share) * rates.dram_latency_s;
  return work.dependent_accesses / work.simt_efficiency * latency_s / width;
}

ResourceTimes resource_times(const Work& work, const GpuRates& rates) {
  const double hit_share = l2_hit_share(work, rates);
  const double beyond_l1 = work.cached_bytes * (1 - rates.l1_hit_share);
  ResourceTimes times;
  times.issue = issue_seconds(work, rates);
  times.tensor = tensor_seconds(work, rates) / rates.tensor_utilisation;
  times.dram = work.dram_bytes / rates.dram_bytes_per_s / rates.bandwidth_utilisation;
  times.l2 = beyond_l1 / rates.l2_bytes_per_s / rates.bandwidth_utilisation; // misses pass it too
  times.l2_misses =
      beyond_l1 * (1 - hit_share) / rates.dram_bytes_per_s / rates.bandwidth_utilisation;
  times.latency = latency_seconds(work, rates, hit_share);
  times.launch = work.launches * rates.launch_s * rates.launch_overhead;
  times.atomics = work.atomics / (rates.atomics_per_clock * rates.multiprocessors * rates.clock_hz);
  return times;
}

double smooth_maximum(std::initializer_list<double> values) {
  const double largest = std::max(values);
  if (largest <= 0) return 0;
  double sum = 0;
  for (const double value : values)
    sum += std::pow(value / largest, known::smooth_maximum_power);
  return largest * std::pow(sum, 1 / known::smooth_maximum_power);
}

/// Misses share the bus with the streams; the other resources work side by side.
double kernel_seconds(const ResourceTimes& times) {
  return times.launch + times.atomics
         + smooth_maximum(
             {times.issue, times.tensor, times.dram + times.l2_misses, times.l2, times.latency});
}

std::string longest(const ResourceTimes& times, double link_s, double all_reduce_s) {
  const std::pair<const char*, double> candidates[] = {{"issue", times.issue},
                                                       {"tensor", times.tensor},
                                                       {"dram", times.dram + times.l2_misses},
                                                       {"l2", times.l2},
                                                       {"latency", times.latency},
                                                       {"launch", times.launch},
                                                       {"atomics", times.atomics},
                                                       {"link", link_s},
                                                       {"all-reduce", all_reduce_s}};
  return std::max_element(std::begin(candidates), std::end(candidates),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

GpuRates likely_rates(const Gpu& gpu) {
  GpuRates rates = fixed_rates(gpu);
  for (const auto& [rate, range] : uncertain_rates(gpu))
    rates.*rate = range.likely;
  return rates;
}

constexpr double ResourceTimes::*resources[] = {&ResourceTimes::issue,     &ResourceTimes::tensor,
                                                &ResourceTimes::dram,      &ResourceTimes::l2,
                                                &ResourceTimes::l2_misses, &ResourceTimes::latency,
                                                &ResourceTimes::launch,    &ResourceTimes::atomics};

/// The uncertainty of each resource's time by itself, then all low and all high together. Moving
/// one rate at a time through the maximum would not do: where two resources bind, speeding up
/// either alone gains nothing, and the low end would come out too high.
Interval kernel_interval(const Work& work, const Gpu& gpu) {
  ResourceTimes low, likely, high;
  for (double ResourceTimes::*resource : resources) {
    const Interval seconds =
        propagate<GpuRates>(fixed_rates(gpu), uncertain_rates(gpu), [&](const GpuRates& rates) {
          return resource_times(work, rates).*resource;
        });
    low.*resource = seconds.low;
    likely.*resource = seconds.likely;
    high.*resource = seconds.high;
  }
  return {std::max(kernel_seconds(low), ceiling_seconds(work, gpu)), kernel_seconds(likely),
          kernel_seconds(high)};
}

// ---- several GPUs ----

/// What one of `gpus` GPUs does of work whose rows they share. The data that it meets again and
/// again is taken to be as much as before: that more of it may fit into L2 is not counted on.
Work share_of(Work work, int gpus) {
  for (double Work::*counted :
       {&Work::lane_instructions, &Work::fp32_flops, &Work::tensor_fp16_flops,
        &Work::tensor_tf32_flops, &Work::dram_bytes, &Work::cached_bytes, &Work::dependent_accesses,
        &Work::atomics, &Work::parallel_width})
    work.*counted /= gpus;
  return work;
}

GpuPhase project_share(const Work& counted, const Gpu& gpu, const Interval& link_gb_per_s,
                       int gpus) {
  const Work work = share_of(as_likely_run_by(gpu, counted), gpus);
  const double gigabytes = (work.host_to_device_bytes + work.device_to_host_bytes) * 1e-9;
  const Interval link_s{gigabytes / link_gb_per_s.high, gigabytes / link_gb_per_s.likely,
                        gigabytes / link_gb_per_s.low};
  const Interval all_reduces_s =
      gpus > 1
          ? all_reduce_seconds(work.all_reduces, work.all_reduce_bytes, gpu, link_gb_per_s, gpus)
          : Interval{};
  GpuPhase phase;
  phase.kernel_s = kernel_interval(work, gpu);
  phase.end_to_end_s = phase.kernel_s + link_s + all_reduces_s;
  phase.bound_by =
      longest(resource_times(work, likely_rates(gpu)), link_s.likely, all_reduces_s.likely);
  phase.gpus = gpus;
  return phase;
}

Interval smaller_of(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::min(a.likely, b.likely), std::min(a.high, b.high)};
}

/// Of fewer GPUs and more: end to end the faster at each point, the rest of the likely faster.
GpuPhase better_of(const GpuPhase& fewer, const GpuPhase& more) {
  GpuPhase better = more.end_to_end_s.likely < fewer.end_to_end_s.likely ? more : fewer;
  better.end_to_end_s = smaller_of(fewer.end_to_end_s, more.end_to_end_s);
  better.kernel_s = smaller_of(better.kernel_s, better.end_to_end_s);
  return better;
}

} // namespace

Interval host_link_gb_per_s(const Gpu& gpu, const Instance& instance) {
  if (instance.host_link_gb_per_s)
    return around(*instance.host_link_gb_per_s, known::measured_link);
  return around(gpu.host_link_gb_per_s, known::unmeasured_link);
}

bool is_divisible(const Work& work) { return work.all_reduces > 0 && work.all_reduce_bytes > 0; }

GpuPhase project_on_gpu(const Work& work, const Gpu& gpu, const Interval& link_gb_per_s) {
  return project_share(work, gpu, link_gb_per_s, 1);
}

std::vector<GpuPhase> project_on_gpus(const Work& work, const Gpu& gpu,
                                      const Interval& link_gb_per_s, int gpus) {
  std::vector<GpuPhase> phases{project_on_gpu(work, gpu, link_gb_per_s)};
  if (!is_divisible(work)) return phases;
  for (int more = 2; more <= gpus; ++more)
    phases.push_back(better_of(phases.back(), project_share(work, gpu, link_gb_per_s, more)));
  return phases;
}

double ceiling_seconds(const Work& counted, const Gpu& gpu) {
  const Work work = as_run_by(gpu, counted, 1, gpu.fp32_tflops);
  const double boost_hz = gpu.clock_mhz * 1e6;
  return std::max({issue_seconds(work.lane_instructions, work, gpu.multiprocessors, boost_hz),
                   multiply_add_seconds(work, fp32_lanes(gpu), boost_hz),
                   tensor_seconds(work, fixed_rates(gpu)),
                   work.dram_bytes / dram_bytes_per_s(gpu).high});
}

} // namespace breakeven
