// A phase measured on this machine's CPU, on another CPU. Takes local seconds and two machines,
// gives seconds with an interval. Cores x clock, universal scalability, a second thread per core, a
// memory bandwidth ceiling, and what is not known of the other core. Left out: caches and SIMD
// width, which the uncertainty of work per clock has to cover.
#pragma once

#include "sim/catalog/catalog.h"
#include "sim/measure/measurement.h"
#include "sim/project/interval.h"

#include <optional>

namespace breakeven {

/// A CPU as the model sees it.
struct CpuMachine {
  std::string model;
  double cores = 1;   ///< physical cores that work
  double threads = 1; ///< threads on them
  Interval clock_ghz;
  int simd_bits = 128;
  std::string isa;
  std::string bf16 = "none";         ///< as Cpu's; what is measured here is measured in FP32
  double read_gb_per_s = 0;          ///< 0 unknown
  bool cores_may_be_threads = false; ///< a virtual machine that hides its second threads
};

/// This machine with `threads` threads at work.
CpuMachine local_machine(const Environment& environment, int threads);
/// The CPU of an instance; `cpu` may be nullptr (unknown), which widens every interval.
CpuMachine instance_machine(const Instance& instance, const Cpu* cpu);

/// Whether the local CPU reports the name that the catalog has for the target's.
bool same_model(const CpuMachine& local, const CpuMachine& target);

/// Units of work per second, relative to one thread of one core at 1 GHz; at given constants.
double relative_throughput(double cores, double threads, double contention, double smt_gain);

struct CpuPhase {
  Interval seconds;
  std::string bound_by; ///< "cpu" or "dram"
};

/// `local_s` is the phase's time here, with `spread` its relative uncertainty as measured.
CpuPhase project_on_cpu(double local_s, const Interval& spread, Scaling scaling, double dram_bytes,
                        const CpuMachine& local, const CpuMachine& target);

/// Products in bf16 over those in FP32 on this CPU; 1 where it has no instructions for them.
Interval bf16_gain(const CpuMachine& machine);

/// A training step's time with its products in bf16, over that in FP32.
Interval time_share_in_bf16(const CpuMachine& machine);

/// Fused multiply-adds at full SIMD width on every core: two a clock, two operations each.
double peak_gflops(const CpuMachine& machine);

} // namespace breakeven
