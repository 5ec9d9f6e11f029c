#include "build_info.h"
#include "sim/measure/measurement.h"
#include "workloads/clock.h"
#include "workloads/paths.h"

#include <omp.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>

namespace breakeven {

namespace {

std::string first_line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct CpuInfo {
  std::string model, flags;
  int physical_cores = 0;
};

/// /proc/cpuinfo: x86 has "model name", Arm only numbers, hence the fallback.
CpuInfo read_cpu_info() {
  CpuInfo info;
  std::set<std::string> cores;
  std::string socket, line;
  std::ifstream file("/proc/cpuinfo");
  while (std::getline(file, line)) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value = colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    if (key == "model name" && info.model.empty()) info.model = value;
    if ((key == "flags" || key == "Features") && info.flags.empty()) info.flags = " " + value + " ";
    if (key == "physical id") socket = value;
    if (key == "core id") cores.insert(socket + ":" + value);
  }
  if (info.model.empty()) info.model = "unknown CPU";
  info.physical_cores = static_cast<int>(cores.size());
  return info;
}

/// The widest SIMD set that the CPU has.
std::string widest_isa(const std::string& flags) {
  const auto has = [&](const char* flag) {
    return flags.find(std::string(" ") + flag + " ") != std::string::npos;
  };
  // Embree picks its own code path at run time, so what the CPU has is what tracing uses.
  if (has("avx512f")) return "AVX-512";
  if (has("avx2")) return "AVX2";
  if (has("avx")) return "AVX";
  if (has("sse4_2")) return "SSE4.2";
  if (has("sve")) return "SVE";
  if (has("asimd")) return "NEON";
  return "scalar";
}

/// The clock under load, from a chain of dependent one-cycle additions; what /proc/cpuinfo prints
/// in a virtual machine is often only the nominal clock.
double measured_clock_ghz() {
#if defined(__x86_64__)
  constexpr long chunk = 2'000'000;
  double best = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    long counter = chunk, value = 0;
    const double start = seconds_now();
    asm volatile("1:\n"
                 "add $1, %1\n add $1, %1\n add $1, %1\n add $1, %1\n"
                 "add $1, %1\n add $1, %1\n add $1, %1\n add $1, %1\n"
                 "dec %0\n jnz 1b\n"
                 : "+r"(counter), "+r"(value)
                 :
                 : "cc");
    best = std::max(best, 8.0 * chunk / (seconds_now() - start) * 1e-9);
  }
  return best;
#else
  return 0;
#endif
}

/// Read bandwidth of main memory with all threads: the best of five sums over 512 MiB.
double memory_read_gb_per_s(int threads) {
  constexpr std::size_t count = std::size_t{64} << 20;
  std::vector<double> data(count);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (std::size_t i = 0; i < count; ++i)
    data[i] = 1;
  double best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    double sum = 0;
    const double start = seconds_now();
#pragma omp parallel for simd num_threads(threads) schedule(static) reduction(+ : sum)
    for (std::size_t i = 0; i < count; ++i)
      sum += data[i];
    const double seconds = seconds_now() - start;
    if (sum == static_cast<double>(count)) best = std::max(best, 8e-9 * count / seconds);
  }
  return best;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", &utc);
  return text;
}

} // namespace

Environment read_environment(int threads) {
  if (threads <= 0) threads = omp_get_max_threads();
  const CpuInfo cpu = read_cpu_info();
  Environment environment;
  environment.cpu_model = cpu.model;
  environment.isa = widest_isa(cpu.flags);
  environment.logical_cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  environment.physical_cores =
      cpu.physical_cores > 0 ? cpu.physical_cores : environment.logical_cpus;
  environment.clock_ghz = measured_clock_ghz();
  environment.memory_gib = static_cast<double>(sysconf(_SC_PHYS_PAGES))
                           * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1024.0 * 1024 * 1024);
  environment.memory_read_gb_per_s = memory_read_gb_per_s(threads);
  environment.governor = first_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  utsname system{};
  if (uname(&system) == 0)
    environment.os = std::string(system.sysname) + " " + system.release + " " + system.machine;
  environment.compiler = build_info::compiler;
  environment.flags = build_info::flags;
  const GpuFound gpu = find_gpu();
  environment.gpu = gpu.name;
  environment.gpu_driver = gpu.driver;
  environment.version = build_info::version;
  environment.commit = build_info::commit;
  environment.measured_on = today();
  return environment;
}

} // namespace breakeven
