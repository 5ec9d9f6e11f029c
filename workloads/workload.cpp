#include "workloads/workload.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace breakeven {

namespace {
// A lock-free atomic may be written from a signal handler.
std::atomic<bool> interrupt_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);
} // namespace

std::string to_string(Path path) {
  switch (path) {
  case Path::openmp:
    return "openmp";
  case Path::cuda:
    return "cuda";
  case Path::host:
    return "host";
  }
  throw std::logic_error("a path without a name");
}

Path path_from_string(const std::string& text) {
  for (const Path path : {Path::openmp, Path::cuda, Path::host})
    if (to_string(path) == text) return path;
  throw std::invalid_argument("no path is called '" + text + "'");
}

double Work::count(const std::string& name) const {
  for (const auto& [counted, value] : counts)
    if (counted == name) return value;
  return 0;
}

void add(Work& sum, const Work& more) {
  const double issued =
      sum.lane_instructions / sum.simt_efficiency + more.lane_instructions / more.simt_efficiency;
  sum.lane_instructions += more.lane_instructions;
  if (issued > 0) sum.simt_efficiency = sum.lane_instructions / issued;
  sum.fp32_flops += more.fp32_flops;
  sum.tensor_fp16_flops += more.tensor_fp16_flops;
  sum.tensor_tf32_flops += more.tensor_tf32_flops;
  sum.dram_bytes += more.dram_bytes;
  sum.cached_bytes += more.cached_bytes;
  sum.working_set_bytes = std::max(sum.working_set_bytes, more.working_set_bytes);
  sum.dependent_accesses += more.dependent_accesses;
  sum.atomics += more.atomics;
  sum.launches += more.launches;
  sum.host_to_device_bytes += more.host_to_device_bytes;
  sum.device_to_host_bytes += more.device_to_host_bytes;
  sum.all_reduces += more.all_reduces;
  sum.all_reduce_bytes += more.all_reduce_bytes;
  sum.parallel_width = std::max(sum.parallel_width, more.parallel_width);
  for (const auto& [name, value] : more.counts) {
    const auto same =
        std::find_if(sum.counts.begin(), sum.counts.end(),
                     [&, &name = name](const auto& count) { return count.first == name; });
    if (same == sum.counts.end())
      sum.counts.emplace_back(name, value);
    else
      same->second += value;
  }
}

Phase cpu_phase(const std::string& name, Scaling scaling, double seconds) {
  Phase phase;
  phase.name = name;
  phase.scaling = scaling;
  phase.end_to_end_s = phase.kernel_s = seconds;
  return phase;
}

void add_phase(std::vector<Phase>& phases, const Phase& phase) {
  const auto same = std::find_if(phases.begin(), phases.end(),
                                 [&](const Phase& other) { return other.name == phase.name; });
  if (same == phases.end()) {
    phases.push_back(phase);
    return;
  }
  same->end_to_end_s += phase.end_to_end_s;
  same->kernel_s += phase.kernel_s;
  add(same->work, phase.work);
}

bool interrupted() { return interrupt_requested.load(std::memory_order_relaxed); }
void request_interrupt() { interrupt_requested.store(true, std::memory_order_relaxed); }

} // namespace breakeven
