// Round-numbered machines and measurements, made by hand so that tests can show their arithmetic.
#pragma once

#include "sim/project/projection.h"

#include <cmath>
#include <random>

namespace breakeven::examples {

/// 100 multiprocessors x 4 issues x 1 GHz x 32 lanes = 12.8e12 lane instructions a second at most;
/// 25.6 TFLOP/s of multiply-adds, 100 in FP16 and 60 in TF32 on tensor cores; 1000 GB/s of DRAM,
/// 5000 GB/s of L2, 50 MB of it.
inline Gpu gpu() {
  Gpu gpu;
  gpu.name = "Round-100";
  gpu.multiprocessors = 100;
  gpu.clock_mhz = 1000;
  gpu.sustained_clock_mhz = 1000;
  gpu.fp32_tflops = 25.6;
  gpu.tensor_fp16_tflops = 100;
  gpu.tensor_tf32_tflops = 60;
  gpu.memory_gib = 40;
  gpu.memory_gb_per_s = 1000;
  gpu.memory_evidence = "measured";
  gpu.l2_mb = 50;
  gpu.l2_gb_per_s = 5000;
  gpu.dram_latency_ns = 400;
  gpu.l2_latency_ns = 200;
  gpu.launch_us = 2;
  gpu.max_threads_per_multiprocessor = 2048;
  gpu.host_link_gb_per_s = 25;
  return gpu;
}

inline Cpu cpu() {
  Cpu cpu;
  cpu.name = "Round CPU";
  cpu.cores_per_socket = 32;
  cpu.threads_per_core = 2;
  cpu.all_core_ghz = 3;
  cpu.clock_evidence = "published";
  cpu.simd_bits = 256;
  cpu.memory_read_gb_per_s_per_socket = 200;
  return cpu;
}

inline Instance cpu_instance(int cores = 8) {
  Instance instance;
  instance.id = "cloud:cpu";
  instance.vcpus = 2 * cores;
  instance.physical_cores = cores;
  instance.cpu = "Round CPU";
  instance.memory_gib = 64;
  instance.network_gbit_per_s = 10;
  return instance;
}

inline Instance gpu_instance(int gpus = 1) {
  Instance instance = cpu_instance(16);
  instance.id = "cloud:gpu";
  instance.gpu = "Round-100";
  instance.gpu_count = gpus;
  instance.host_link_gb_per_s = 20;
  return instance;
}

inline Offer offer(const std::string& instance, double usd_per_h) {
  Offer offer;
  offer.instance = instance;
  offer.option = "on-demand";
  offer.region = "somewhere";
  offer.price_per_h = usd_per_h;
  offer.currency = "USD";
  offer.as_of = "2026-01-01";
  offer.source = "made up";
  return offer;
}

inline Catalog catalog() {
  Catalog catalog;
  catalog.gpus = {gpu()};
  catalog.cpus = {cpu()};
  catalog.instances = {cpu_instance(), gpu_instance()};
  catalog.offers = {offer("cloud:cpu", 1), offer("cloud:gpu", 4)};
  catalog.exchange_rates = {{"USD", 1, "2026-01-01", "itself"},
                            {"CNY", 0.14, "2026-01-02", "made up"}};
  return catalog;
}

/// Four whole cores at 3 GHz with two threads each, of the catalog's own model.
inline Environment environment() {
  Environment environment;
  environment.cpu_model = "Maker Round CPU @ 3.00GHz";
  environment.isa = "AVX2";
  environment.physical_cores = 4;
  environment.logical_cpus = 8;
  environment.clock_ghz = 3;
  environment.memory_read_gb_per_s = 25;
  environment.version = "0.0.0";
  return environment;
}

inline Measurement row(Path path, const std::string& phase) {
  Measurement row;
  row.study = "example";
  row.workload = "counted";
  row.unit = "thing";
  row.job_units = 10;
  row.path = path;
  row.phase = phase;
  row.threads = 8;
  row.verified = true;
  row.verification = "agrees";
  row.environment = environment();
  row.slice = "1 of 10";
  row.stop_reason = path == Path::host ? "counting only" : "converged";
  return row;
}

inline void set_time(Measurement& row, double seconds, double job_over_slice) {
  row.samples_s = row.kernel_samples_s = {seconds, seconds, seconds};
  row.end_to_end_s = {seconds, seconds, seconds};
  row.job_over_slice = job_over_slice;
  row.job_s = seconds * job_over_slice;
  row.evidence = job_over_slice > 1 ? "extrapolated" : "measured";
}

/// Ten units, one of them run: 5 s of loading once, then 8 s of work and 1 s of output a unit, on
/// the CPU; the GPU side has 1e13 lane instructions a unit. Whole job on the CPU: 5 + 10 x 9 = 95
/// s.
inline std::vector<Measurement> measurements() {
  Measurement total = row(Path::openmp, "total");
  set_time(total, 14, 95.0 / 14);
  Measurement load = row(Path::openmp, "load");
  load.scaling = Scaling::serial;
  load.repeats = Repeats::per_job;
  set_time(load, 5, 1);
  Measurement work = row(Path::openmp, "work");
  set_time(work, 8, 10);
  Measurement output = row(Path::openmp, "output");
  output.scaling = Scaling::serial;
  set_time(output, 1, 10);

  Measurement counted_load = row(Path::host, "load");
  counted_load.scaling = Scaling::serial;
  counted_load.repeats = Repeats::per_job;
  Measurement kernel = row(Path::host, "kernel");
  kernel.processor = Processor::gpu;
  kernel.job_over_slice = 10;
  kernel.work.lane_instructions = 1e13;
  kernel.work.launches = 10;
  kernel.work.parallel_width = 1e6;
  Measurement counted_output = row(Path::host, "output");
  counted_output.scaling = Scaling::serial;
  return {total,        load,   work,          output, row(Path::host, "total"),
          counted_load, kernel, counted_output};
}

inline Target target(const std::string& instance, int count = 1) {
  Target target;
  target.instance = instance;
  target.count = count;
  return target;
}

inline Scenario scenario(std::vector<Target> targets) {
  Scenario scenario;
  scenario.file = "example.toml";
  scenario.name = "example";
  scenario.workload_kind = "counted";
  scenario.targets = std::move(targets);
  return scenario;
}

/// Uniform numbers that are the same everywhere.
class Random {
public:
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(engine_() >> 11) * 0x1p-53;
  }
  /// Spread over orders of magnitude.
  double scale(double low, double high) { return std::exp(between(std::log(low), std::log(high))); }

private:
  std::mt19937_64 engine_{7};
};

inline Work random_work(Random& random) {
  Work work;
  work.lane_instructions = random.scale(1e6, 1e15);
  work.simt_efficiency = random.between(0.05, 1);
  work.fp32_flops = random.scale(1e6, 1e15);
  work.tensor_fp16_flops = random.scale(1e6, 1e16);
  work.tensor_tf32_flops = random.scale(1e6, 1e16);
  work.dram_bytes = random.scale(1e3, 1e13);
  work.cached_bytes = random.scale(1e3, 1e13);
  work.working_set_bytes = random.scale(1e4, 1e10);
  work.dependent_accesses = random.scale(1, 1e13);
  work.atomics = random.scale(1, 1e10);
  work.launches = random.scale(1, 1e5);
  work.host_to_device_bytes = random.scale(1, 1e10);
  work.parallel_width = random.scale(1, 1e7);
  return work;
}

} // namespace breakeven::examples
