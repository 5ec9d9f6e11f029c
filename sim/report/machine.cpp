#include "sim/report/format.h"
#include "sim/report/report.h"

#include <fmt/format.h>

namespace breakeven {

namespace {

std::string line(const char* name, const std::string& value) {
  return fmt::format("{:<22}{}\n", name, value.empty() ? "unknown" : on_one_line(value));
}

std::string known(double value) { return value > 0 ? significant(value, 3) : ""; }

} // namespace

std::string machine_text(const std::vector<Measurement>& measurements) {
  if (measurements.empty()) return "nothing was measured here\n";
  const Environment& machine = measurements.front().environment;
  const bool has_gpu = !machine.gpu.empty();
  return line("measured_on", machine.measured_on) + line("cpu_model", machine.cpu_model)
         + line("isa", machine.isa) + line("physical_cores", known(machine.physical_cores))
         + line("logical_cpus", known(machine.logical_cpus))
         + line("threads", known(measurements.front().threads))
         + line("clock_ghz", known(machine.clock_ghz))
         + line("memory_gib", known(machine.memory_gib))
         + line("memory_read_gb_per_s", known(machine.memory_read_gb_per_s))
         + line("governor", machine.governor) + line("os", machine.os)
         + line("compiler", machine.compiler) + line("flags", machine.flags)
         + line("gpu", has_gpu ? machine.gpu : "none")
         + line("gpu_driver", has_gpu ? machine.gpu_driver : "none")
         + line("version", machine.version) + line("commit", machine.commit);
}

} // namespace breakeven
