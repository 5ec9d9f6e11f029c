#include "sim/project/cpu_model.h"

#include "sim/project/calibration.h"

#include <algorithm>

namespace breakeven {

namespace {

namespace known = calibration;

/// Both machines at one point of each uncertain figure.
struct CpuRates {
  double measured = 1; ///< the local time, relative
  double local_clock_ghz = 0, target_clock_ghz = 0;
  double work_per_clock = 1; ///< the target's over the local core's
  double local_core = 1;     ///< a local core's worth in whole cores
  double smt_gain = 1, contention = 0;
  double bandwidth = 1; ///< of the target's measured read bandwidth
};

constexpr Interval exactly_one{1, 1, 1};

std::vector<Uncertain<CpuRates>> uncertain_rates(const Interval& spread, Scaling scaling,
                                                 const CpuMachine& local,
                                                 const CpuMachine& target) {
  // A serial phase has the shared core to itself, so what the other thread does matters less.
  const bool shared = local.cores_may_be_threads && scaling == Scaling::parallel;
  return {{&CpuRates::measured, spread},
          {&CpuRates::local_clock_ghz, local.clock_ghz},
          {&CpuRates::target_clock_ghz, target.clock_ghz},
          {&CpuRates::work_per_clock, same_model(local, target) ? known::same_microarchitecture
                                                                : known::other_microarchitecture},
          {&CpuRates::local_core, shared ? known::undisclosed_core : exactly_one},
          {&CpuRates::smt_gain, known::smt_gain},
          {&CpuRates::contention, known::contention},
          {&CpuRates::bandwidth, known::cpu_bandwidth}};
}

double throughput(const CpuMachine& machine, Scaling scaling, const CpuRates& rates) {
  if (scaling == Scaling::serial) return 1;
  return relative_throughput(machine.cores, machine.threads, rates.contention, rates.smt_gain);
}

double compute_seconds_on(double local_s, Scaling scaling, const CpuMachine& local,
                          const CpuMachine& target, const CpuRates& rates) {
  const double here = throughput(local, scaling, rates) * rates.local_clock_ghz * rates.local_core;
  const double there =
      throughput(target, scaling, rates) * rates.target_clock_ghz * rates.work_per_clock;
  return local_s * rates.measured * here / there;
}

double memory_seconds_on(double dram_bytes, const CpuMachine& target, const CpuRates& rates) {
  if (target.read_gb_per_s <= 0) return 0;
  return dram_bytes * 1e-9 / (target.read_gb_per_s * rates.bandwidth);
}

int simd_bits_of(const std::string& isa) {
  if (isa == "AVX-512") return 512;
  if (isa == "AVX2" || isa == "AVX" || isa == "SVE") return 256;
  if (isa == "scalar") return 32;
  return 128; // SSE and NEON
}

/// The catalog knows a width, which x86 and Arm name differently.
std::string isa_of(int simd_bits) { return std::to_string(simd_bits) + "-bit SIMD"; }

Interval clock_of(const Cpu* cpu) {
  if (cpu == nullptr || cpu->all_core_ghz <= 0) return known::unknown_clock_ghz;
  return around(cpu->all_core_ghz,
                cpu->clock_evidence == "published" ? known::published_clock : known::assumed_clock);
}

} // namespace

CpuMachine local_machine(const Environment& environment, int threads) {
  const int logical = std::max(1, environment.logical_cpus);
  const int cores = std::clamp(environment.physical_cores, 1, logical);
  CpuMachine machine;
  machine.model = environment.cpu_model;
  machine.threads = threads > 0 ? std::min(threads, logical) : logical;
  machine.cores = std::min<double>(cores, machine.threads);
  machine.clock_ghz = environment.clock_ghz > 0
                          ? around(environment.clock_ghz, known::measured_clock)
                          : known::unknown_clock_ghz;
  machine.isa = environment.isa;
  machine.simd_bits = simd_bits_of(environment.isa);
  machine.read_gb_per_s = environment.memory_read_gb_per_s;
  machine.cores_may_be_threads = logical == cores;
  return machine;
}

CpuMachine instance_machine(const Instance& instance, const Cpu* cpu) {
  const int threads_per_core = cpu != nullptr ? std::max(1, cpu->threads_per_core) : 2;
  CpuMachine machine;
  machine.model = instance.cpu;
  machine.threads = std::max(1, instance.vcpus);
  machine.cores = instance.physical_cores > 0 ? instance.physical_cores
                                              : std::max(1.0, machine.threads / threads_per_core);
  machine.clock_ghz = clock_of(cpu);
  machine.simd_bits = cpu != nullptr && cpu->simd_bits > 0 ? cpu->simd_bits : 256;
  machine.isa = isa_of(machine.simd_bits);
  if (cpu != nullptr) machine.bf16 = cpu->bf16;
  // A part of a socket is given its share of the socket's bandwidth.
  if (cpu != nullptr && cpu->memory_read_gb_per_s_per_socket && cpu->cores_per_socket > 0)
    machine.read_gb_per_s =
        *cpu->memory_read_gb_per_s_per_socket * machine.cores / cpu->cores_per_socket;
  return machine;
}

bool same_model(const CpuMachine& local, const CpuMachine& target) {
  return !target.model.empty() && local.model.find(target.model) != std::string::npos;
}

double relative_throughput(double cores, double threads, double contention, double smt_gain) {
  const double workers = std::min(cores, threads);
  const double second_threads = std::clamp(threads / workers - 1, 0.0, 1.0);
  const double scaled =
      workers / (1 + contention * (workers - 1) + calibration::coherency * workers * (workers - 1));
  return scaled * (1 + (smt_gain - 1) * second_threads);
}

CpuPhase project_on_cpu(double local_s, const Interval& spread, Scaling scaling, double dram_bytes,
                        const CpuMachine& local, const CpuMachine& target) {
  const auto uncertain = uncertain_rates(spread, scaling, local, target);
  CpuRates likely;
  for (const auto& [rate, range] : uncertain)
    likely.*rate = range.likely;
  CpuPhase phase;
  phase.seconds = propagate<CpuRates>({}, uncertain, [&](const CpuRates& rates) {
    return std::max(compute_seconds_on(local_s, scaling, local, target, rates),
                    memory_seconds_on(dram_bytes, target, rates));
  });
  const bool memory_bound = memory_seconds_on(dram_bytes, target, likely)
                            > compute_seconds_on(local_s, scaling, local, target, likely);
  phase.bound_by = memory_bound ? "dram" : "cpu";
  return phase;
}

Interval bf16_gain(const CpuMachine& machine) {
  if (machine.bf16 == "amx") return calibration::amx_bf16_gain;
  if (machine.bf16 == "avx512") return calibration::avx512_bf16_gain;
  return {1, 1, 1};
}

Interval time_share_in_bf16(const CpuMachine& machine) {
  const Interval gain = bf16_gain(machine), products = calibration::products_share_of_step;
  const auto share = [](double of_products, double faster) {
    return 1 - of_products + of_products / faster;
  };
  return {share(products.high, gain.high), share(products.likely, gain.likely),
          share(products.low, gain.low)};
}

double peak_gflops(const CpuMachine& machine) {
  constexpr double bits_per_float = 32, multiply_adds_per_clock = 2, operations = 2;
  return machine.simd_bits / bits_per_float * multiply_adds_per_clock * operations * machine.cores
         * machine.clock_ghz.likely;
}

} // namespace breakeven
