#include "sim/project/projection.h"

#include "sim/project/all_reduce.h"
#include "sim/project/assemble.h"
#include "sim/project/calibration.h"
#include "sim/project/cpu_model.h"
#include "sim/project/gpu_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {

namespace known = calibration;

constexpr double bytes_per_gib = 1024.0 * 1024 * 1024;

/// Context creation and first launch, once for each GPU at work.
MachinePhase cold_start_phase() {
  return {"cold start", Repeats::per_job,    Processor::gpu, Sharing::worker,
          {},           known::cold_start_s, "launch"};
}

// ---- rows ----

/// The rows of one path, as far as they may be used.
struct PathRows {
  const Measurement* total = nullptr;
  std::vector<const Measurement*> phases;
  std::string refusal; ///< why the path may not be used; "" when it may

  const Measurement* phase(const std::string& name) const {
    for (const Measurement* row : phases)
      if (row->phase == name) return row;
    return nullptr;
  }
};

PathRows rows_of(const std::vector<Measurement>& measurements, Path path) {
  PathRows rows;
  for (const Measurement& row : measurements) {
    if (row.path != path || is_side_by_side(row)) continue;
    if (!row.verified && rows.refusal.empty()) rows.refusal = "not verified: " + row.verification;
    if (is_total(row))
      rows.total = &row;
    else
      rows.phases.push_back(&row);
  }
  if (rows.total == nullptr && rows.phases.empty())
    rows.refusal = fmt::format("the {} path was not run", to_string(path));
  if (!rows.refusal.empty()) rows.phases.clear();
  // A path without phases is one phase.
  if (rows.refusal.empty() && rows.phases.empty()) rows.phases.push_back(rows.total);
  return rows;
}

/// Everything a target needs to know of this machine and the job.
struct Known {
  PathRows cpu_side;
  PathRows gpu_side;     ///< for its counts
  PathRows gpu_measured; ///< Path::cuda, for its times here
  Path counted_on = Path::host;
  bool gpu_was_run = false;
  CpuMachine local;
  Environment environment;
  std::string unit = "unit"; ///< what the job counts
  double job_units = 1;
};

bool was_run(const std::vector<Measurement>& measurements, Path path) {
  return std::any_of(measurements.begin(), measurements.end(),
                     [&](const Measurement& row) { return row.path == path; });
}

/// The host path counts in full; a timed GPU build may leave counters out, so it is the second
/// choice. A GPU that was run here and disagreed with the reference speaks against both.
void set_gpu_side(Known& here, const std::vector<Measurement>& measurements) {
  here.gpu_was_run = was_run(measurements, Path::cuda);
  here.gpu_measured = rows_of(measurements, Path::cuda);
  here.counted_on =
      here.gpu_was_run && !was_run(measurements, Path::host) ? Path::cuda : Path::host;
  here.gpu_side = rows_of(measurements, here.counted_on);
  if (here.gpu_was_run && !here.gpu_measured.refusal.empty() && here.gpu_side.refusal.empty())
    here.gpu_side.refusal = here.gpu_measured.refusal;
}

Known what_is_known(const std::vector<Measurement>& measurements) {
  Known here;
  here.cpu_side = rows_of(measurements, Path::openmp);
  set_gpu_side(here, measurements);
  if (measurements.empty()) return here;
  const Measurement& row =
      here.cpu_side.total != nullptr ? *here.cpu_side.total : measurements.front();
  here.environment = row.environment;
  here.local = local_machine(row.environment, row.threads);
  here.job_units = std::max<double>(1, static_cast<double>(row.job_units));
  if (!row.unit.empty()) here.unit = row.unit;
  return here;
}

Work times(const Work& work, double factor) {
  Work scaled = work;
  scaled.lane_instructions *= factor;
  scaled.fp32_flops *= factor;
  scaled.tensor_fp16_flops *= factor;
  scaled.tensor_tf32_flops *= factor;
  scaled.dram_bytes *= factor;
  scaled.cached_bytes *= factor;
  scaled.dependent_accesses *= factor;
  scaled.atomics *= factor;
  scaled.launches *= factor;
  scaled.host_to_device_bytes *= factor;
  scaled.device_to_host_bytes *= factor;
  scaled.all_reduces *= factor;
  scaled.all_reduce_bytes *= factor;
  for (auto& [name, value] : scaled.counts)
    value *= factor;
  return scaled;
}

/// Slice to whole job for what happens once, slice to one unit for what happens once a unit.
double slice_to_machine(const Measurement& row, double job_units) {
  return row.repeats == Repeats::per_job ? row.job_over_slice : row.job_over_slice / job_units;
}

void add_note(Projection& projection, const std::string& note) {
  projection.note += (projection.note.empty() ? "" : "; ") + note;
}

// ---- what was measured here ----

/// The samples' relative spread, never less than a floor, and more where the job was not run whole.
Interval spread_of(const PathRows& rows) {
  const Measurement& row = rows.total != nullptr ? *rows.total : *rows.phases.front();
  Interval spread{1 - known::smallest_spread, 1, 1 + known::smallest_spread};
  if (!row.samples_s.empty() && row.end_to_end_s.value > 0) {
    const auto [least, most] = std::minmax_element(row.samples_s.begin(), row.samples_s.end());
    spread.low = std::min(spread.low, *least / row.end_to_end_s.value);
    spread.high = std::max(spread.high, *most / row.end_to_end_s.value);
  }
  return row.job_over_slice > 1 ? product({spread, known::not_run_whole}) : spread;
}

std::string evidence_of(const PathRows& rows) {
  for (const Measurement* row : rows.phases)
    if (row->job_over_slice > 1) return "extrapolated";
  return rows.total != nullptr && rows.total->job_over_slice > 1 ? "extrapolated" : "measured";
}

MachinePhase measured_phase(const Measurement& row, const Interval& spread, double job_units) {
  const double scale = slice_to_machine(row, job_units);
  const double kernel = median_of(row.kernel_samples_s).value;
  MachinePhase phase;
  phase.phase = row.phase;
  phase.repeats = row.repeats;
  phase.processor = row.processor;
  phase.end_to_end_s = around(row.end_to_end_s.value * scale, spread);
  phase.kernel_s = kernel > 0 ? around(kernel * scale, spread) : phase.end_to_end_s;
  phase.bound_by = row.processor == Processor::gpu ? "gpu" : "cpu";
  phase.scaling = row.scaling;
  return phase;
}

int whole_cores(const CpuMachine& machine) { return std::max(1, static_cast<int>(machine.cores)); }

/// A machine measured here: the time as it was, with its own spread.
void measured_here(Projection& projection, const Known& here, const PathRows& rows,
                   Processor device_processor) {
  if (!rows.refusal.empty()) {
    projection.note = rows.refusal;
    return;
  }
  const Interval spread = spread_of(rows);
  std::vector<MachinePhase> phases;
  if (device_processor == Processor::gpu) {
    projection.cold_s = known::cold_start_s.likely;
    phases.push_back(cold_start_phase());
  }
  for (const Measurement* row : rows.phases)
    phases.push_back(measured_phase(*row, spread, here.job_units));
  projection.cores = whole_cores(here.local);
  projection.evidence = projection.count > 1 ? "extrapolated" : evidence_of(rows);
  projection.in_range = true;
  assemble(projection, phases, device_processor);
}

// ---- precision ----

/// 16-bit products are counted as one kind, whose rates are alike; this says which they are.
bool uses_bf16(const PathRows& rows) {
  return std::any_of(rows.phases.begin(), rows.phases.end(),
                     [](const Measurement* row) { return row->work.count("bf16_products") > 0; });
}

/// Tensor cores of the first two generations take FP16 alone (CUDA C++ Programming Guide, appendix
/// on compute capabilities).
bool lacks_bf16(const Gpu& gpu, const PathRows& rows) {
  constexpr double first_with_bf16 = 8.0;
  return gpu.compute_capability < first_with_bf16 && uses_bf16(rows);
}

/// Products that the GPU side rounds for tensor cores and the CPU side does not: part of the
/// speed-up is then the lower precision. And those that this GPU has no tensor cores for.
void note_precision(Projection& projection, const Known& here, const PathRows& rows,
                    const Gpu* gpu) {
  const auto are_counted = [](const PathRows& path, double Work::*flops) {
    return std::any_of(path.phases.begin(), path.phases.end(),
                       [&](const Measurement* row) { return row->work.*flops > 0; });
  };
  const auto note = [&](const char* format, double Work::*flops,
                        std::optional<double> Gpu::*tflops) {
    if (!are_counted(rows, flops)) return;
    if (gpu != nullptr && !(gpu->*tflops))
      add_note(projection, fmt::format("no tensor cores for {0} in the catalog: products in {0} "
                                       "are taken at the FP32 rate",
                                       format));
    else if (!are_counted(here.cpu_side, flops))
      add_note(projection, fmt::format("the GPU multiplies in {} where the CPU side does not: part "
                                       "of the speed-up is the precision",
                                       format));
  };
  note(uses_bf16(rows) ? "BF16" : "FP16", &Work::tensor_fp16_flops, &Gpu::tensor_fp16_tflops);
  note("TF32", &Work::tensor_tf32_flops, &Gpu::tensor_tf32_tflops);
}

// ---- CPU instances ----

/// Timed in FP32, though the scenario allows bf16.
bool may_multiply_in_bf16(const Measurement& row) { return row.work.count("bf16_allowed") > 0; }

bool may_multiply_in_bf16(const PathRows& rows) {
  return std::any_of(rows.phases.begin(), rows.phases.end(),
                     [](const Measurement* row) { return may_multiply_in_bf16(*row); });
}

MachinePhase phase_on_cpu(const Measurement& row, const Interval& spread, const Known& here,
                          const CpuMachine& target, Sharing sharing) {
  const double scale = slice_to_machine(row, here.job_units);
  CpuPhase projected = project_on_cpu(row.end_to_end_s.value * scale, spread, row.scaling,
                                      row.work.dram_bytes * scale, here.local, target);
  if (may_multiply_in_bf16(row)) {
    const Interval share = time_share_in_bf16(target);
    projected.seconds = {share.low * projected.seconds.low, share.likely * projected.seconds.likely,
                         share.high * projected.seconds.high};
  }
  return {row.phase,         row.repeats,       Processor::cpu,     sharing,
          projected.seconds, projected.seconds, projected.bound_by, row.scaling};
}

double working_set_bytes(const PathRows& rows) {
  double bytes = 0;
  for (const Measurement* row : rows.phases)
    bytes = std::max(bytes, row->work.working_set_bytes);
  return bytes;
}

std::string too_large(double bytes, double memory_gib, const std::string& whose) {
  return fmt::format("needs {:.1f} GiB of memory, {} has {:.1f}", bytes / bytes_per_gib, whose,
                     memory_gib);
}

void note_cpu_distance(Projection& projection, const Known& here, const CpuMachine& target) {
  if (here.environment.clock_ghz <= 0)
    add_note(projection, "the clock of the measuring machine is unknown and assumed");
  if (here.local.cores_may_be_threads)
    add_note(projection, "the measuring machine does not say whether its cores are whole cores");
  if (!same_model(here.local, target))
    add_note(projection, fmt::format("work per clock of {} is not calibrated against {}",
                                     target.model, here.local.model));
}

void on_cpu_instance(Projection& projection, const Known& here, const Instance& instance,
                     const Catalog& catalog) {
  const Cpu* cpu = catalog.cpu(instance.cpu);
  if (cpu == nullptr) {
    projection.note = "its CPU is not in the catalog";
    return;
  }
  if (!here.cpu_side.refusal.empty()) {
    projection.note = here.cpu_side.refusal;
    return;
  }
  const double bytes = working_set_bytes(here.cpu_side);
  if (instance.memory_gib > 0 && bytes > instance.memory_gib * bytes_per_gib) {
    projection.note = too_large(bytes, instance.memory_gib, instance.id);
    return;
  }
  const CpuMachine target = instance_machine(instance, cpu);
  const Interval spread = spread_of(here.cpu_side);
  std::vector<MachinePhase> phases;
  for (const Measurement* row : here.cpu_side.phases)
    phases.push_back(phase_on_cpu(*row, spread, here, target, Sharing::worker));
  projection.cores = whole_cores(target);
  projection.evidence = "projected";
  // The scaling law has been seen up to a socket, and only for one CPU model at a time.
  projection.in_range =
      same_model(here.local, target) && target.cores <= 64 && here.environment.clock_ghz > 0;
  note_cpu_distance(projection, here, target);
  if (may_multiply_in_bf16(here.cpu_side) && target.bf16 != "none")
    add_note(projection,
             fmt::format("products in bf16 by {}, at an assumed {:g} to {:g} times FP32's rate: "
                         "part of the speed-up is the precision",
                         target.bf16 == "amx" ? "AMX" : "AVX-512", bf16_gain(target).low,
                         bf16_gain(target).high));
  assemble(projection, phases, Processor::cpu);
}

// ---- GPU instances ----

double device_bytes(const PathRows& rows) {
  double state = 0;
  for (const Measurement* row : rows.phases) {
    if (row->processor != Processor::gpu) continue;
    const double counted = row->work.count("state_bytes");
    state = std::max(state, counted > 0 ? counted
                                        : row->work.parallel_width * known::state_bytes_per_lane);
  }
  return working_set_bytes(rows) + state;
}

/// Phases that stay on the host's CPU: those the GPU side says so of, and any serial phase of the
/// CPU side that the GPU side has no row for (it cannot be one that the GPU took over).
std::vector<const Measurement*> phases_left_on_cpu(const Known& here, std::string& missing) {
  std::vector<const Measurement*> left;
  for (const Measurement* row : here.gpu_side.phases) {
    if (row->processor != Processor::cpu) continue;
    const Measurement* timed = here.cpu_side.phase(row->phase);
    if (timed == nullptr)
      missing = row->phase;
    else
      left.push_back(timed);
  }
  for (const Measurement* row : here.cpu_side.phases)
    if (row->scaling == Scaling::serial && here.gpu_side.phase(row->phase) == nullptr)
      left.push_back(row);
  return left;
}

/// A parallel phase uses all cores for one unit after the other; serial ones run side by side, one
/// core for each GPU that has a unit, as long as there are cores.
MachinePhase phase_on_host(const Measurement& row, const Interval& spread, const Known& here,
                           const CpuMachine& host, int workers) {
  const Sharing sharing = row.scaling == Scaling::parallel ? Sharing::machine : Sharing::worker;
  MachinePhase phase = phase_on_cpu(row, spread, here, host, sharing);
  if (row.scaling == Scaling::serial && row.repeats == Repeats::per_unit) {
    const double turns = std::ceil(workers / host.cores);
    phase.alone_s = phase.end_to_end_s;
    phase.kernel_s = turns * phase.kernel_s;
    phase.end_to_end_s = turns * phase.end_to_end_s;
  }
  return phase;
}

/// Only units are divided. What happens once a job is there for each GPU's units.
MachinePhase phase_on_gpu(const Measurement& row, const Known& here, const Gpu& gpu,
                          const Interval& link, int gpus) {
  const Work work = times(row.work, slice_to_machine(row, here.job_units));
  const std::vector<GpuPhase> projected =
      project_on_gpus(work, gpu, link, row.repeats == Repeats::per_unit ? gpus : 1);
  MachinePhase phase;
  phase.phase = row.phase;
  phase.repeats = row.repeats;
  phase.processor = Processor::gpu;
  phase.kernel_s = projected.front().kernel_s;
  phase.end_to_end_s = projected.front().end_to_end_s;
  phase.bound_by = projected.front().bound_by;
  phase.divided.assign(projected.begin() + 1, projected.end());
  return phase;
}

/// Where a phase that only the CPU side has a row for belongs among the GPU side's: behind the one
/// before it there as long as the CPU has done nothing yet that the GPU took over, later in front
/// of the one behind it.
std::vector<std::string>::iterator place_of(std::size_t phase, const Known& here,
                                            std::vector<std::string>& order) {
  const auto& on_cpu = here.cpu_side.phases;
  const auto placed = [&](std::size_t i) {
    return std::find(order.begin(), order.end(), on_cpu[i]->phase);
  };
  const auto taken_over = std::find_if(on_cpu.begin(), on_cpu.end(), [&](const Measurement* row) {
    return row->scaling == Scaling::parallel && here.gpu_side.phase(row->phase) == nullptr;
  });
  if (phase < static_cast<std::size_t>(taken_over - on_cpu.begin()))
    return phase == 0 ? order.begin() : placed(phase - 1) + 1;
  for (std::size_t later = phase + 1; later < on_cpu.size(); ++later)
    if (placed(later) != order.end()) return placed(later);
  return order.end();
}

/// The names of a unit's phases in the order in which it meets them.
std::vector<std::string> order_of_phases(const Known& here) {
  std::vector<std::string> order;
  for (const Measurement* row : here.gpu_side.phases)
    order.push_back(row->phase);
  const auto& on_cpu = here.cpu_side.phases;
  for (std::size_t i = 0; i < on_cpu.size(); ++i)
    if (here.gpu_side.phase(on_cpu[i]->phase) == nullptr)
      order.insert(place_of(i, here, order), on_cpu[i]->phase);
  return order;
}

void sort_phases(std::vector<MachinePhase>& phases, const std::vector<std::string>& order) {
  const auto place = [&](const MachinePhase& phase) {
    return std::find(order.begin(), order.end(), phase.phase) - order.begin();
  };
  std::stable_sort(phases.begin(), phases.end(), [&](const MachinePhase& a, const MachinePhase& b) {
    return place(a) < place(b);
  });
}

std::vector<MachinePhase> phases_on_gpu_instance(const Known& here, const Instance& instance,
                                                 const Gpu& gpu, const Catalog& catalog, int count,
                                                 const std::vector<const Measurement*>& on_cpu) {
  const int gpus = std::max(1, instance.gpu_count);
  const int busy_workers =
      static_cast<int>(std::min<double>(gpus, std::ceil(here.job_units / count)));
  const Interval link = host_link_gb_per_s(gpu, instance);
  const CpuMachine host = instance_machine(instance, catalog.cpu(instance.cpu));
  std::vector<MachinePhase> phases;
  for (const Measurement* row : here.gpu_side.phases)
    if (row->processor == Processor::gpu)
      phases.push_back(phase_on_gpu(*row, here, gpu, link, gpus));
  for (const Measurement* row : on_cpu)
    phases.push_back(phase_on_host(*row, spread_of(here.cpu_side), here, host, busy_workers));
  sort_phases(phases, order_of_phases(here));
  phases.insert(phases.begin(), cold_start_phase());
  return phases;
}

void note_gpu_doubts(Projection& projection, const Gpu& gpu, const Instance& instance) {
  add_note(projection, "outside the calibrated range: the published rows that the GPU model is "
                       "fitted on name no device");
  if (!instance.host_link_gb_per_s)
    add_note(projection,
             "host link not measured on this instance: taken from the best copies seen");
  if (gpu.memory_evidence != "measured") add_note(projection, "GPU memory bandwidth is assumed");
  if (gpu.sustained_clock_mhz && *gpu.sustained_clock_mhz < 0.9 * gpu.clock_mhz)
    add_note(projection,
             fmt::format("power-capped: the clock is taken between {:.0f} and {:.0f} MHz",
                         *gpu.sustained_clock_mhz, gpu.clock_mhz));
}

/// What became of a unit that has several GPUs to itself. Of an assembled projection.
void note_division(Projection& projection, const Known& here, const Gpu& gpu) {
  const auto& phases = here.gpu_side.phases;
  if (std::none_of(phases.begin(), phases.end(), [](const Measurement* row) {
        return row->repeats == Repeats::per_unit && row->processor == Processor::gpu
               && is_divisible(row->work);
      }))
    return;
  if (projection.count > 1 && here.job_units < projection.count * projection.workers)
    add_note(projection, fmt::format("a {} is not divided among machines", here.unit));
  const int gpus = workers_of_a_unit(projection, here.job_units);
  if (gpus == 1) return;
  const double divided_s = unit_on_workers_s(projection, here.job_units).likely;
  if (divided_s < projection.worker_unit_s.likely)
    add_note(
        projection,
        fmt::format("one {} on {} GPUs: {:.0f} % of linear with all that is not divided; {}; what "
                    "input pipelines and frameworks lose on several GPUs is left out",
                    here.unit, gpus, 100 * projection.worker_unit_s.likely / (gpus * divided_s),
                    all_reduce_evidence(gpu, gpus)));
  else
    add_note(projection, fmt::format("one {} is no faster on {} GPUs than on one; {}", here.unit,
                                     gpus, all_reduce_evidence(gpu, gpus)));
}

bool uses_tensor_cores(const Work& work) {
  return work.tensor_fp16_flops > 0 || work.tensor_tf32_flops > 0;
}

/// A phase that launches kernels on lanes that need no instructions was not counted; taking it as
/// free would flatter the GPU.
std::string uncounted_phase(const PathRows& rows) {
  for (const Measurement* row : rows.phases)
    if (row->processor == Processor::gpu && row->work.launches > 0 && row->work.parallel_width > 0
        && row->work.lane_instructions <= 0 && !uses_tensor_cores(row->work))
      return row->phase;
  return "";
}

/// Why this GPU cannot be projected; "" when it can.
std::string refusal_of(const Known& here, const Gpu* gpu, const std::string& missing_phase) {
  if (gpu == nullptr) return "its GPU is not in the catalog";
  if (!here.gpu_side.refusal.empty()) return here.gpu_side.refusal;
  if (!here.cpu_side.refusal.empty())
    return "the phases that stay on the CPU have no time: " + here.cpu_side.refusal;
  if (!missing_phase.empty())
    return "the CPU side has no time for the phase '" + missing_phase + "'";
  if (const std::string phase = uncounted_phase(here.gpu_side); !phase.empty())
    return "the work of the phase '" + phase + "' was not counted";
  if (lacks_bf16(*gpu, here.gpu_side))
    return fmt::format("{} has no bf16: it needs compute capability 8.0", gpu->name);
  const double bytes = device_bytes(here.gpu_side);
  if (gpu->memory_gib > 0 && bytes > gpu->memory_gib * bytes_per_gib)
    return too_large(bytes, gpu->memory_gib, gpu->name);
  return "";
}

void on_gpu_instance(Projection& projection, const Known& here, const Instance& instance,
                     const Catalog& catalog) {
  const Gpu* gpu = catalog.gpu(instance.gpu);
  std::string missing_phase;
  const auto on_cpu = phases_left_on_cpu(here, missing_phase);
  projection.note = refusal_of(here, gpu, missing_phase);
  if (!projection.note.empty()) return;
  projection.workers = std::max(1, instance.gpu_count);
  projection.cores = whole_cores(instance_machine(instance, catalog.cpu(instance.cpu)));
  projection.evidence = "projected";
  projection.in_range = false;
  projection.cold_s = known::cold_start_s.likely;
  note_gpu_doubts(projection, *gpu, instance);
  note_precision(projection, here, here.gpu_side, gpu);
  assemble(projection,
           phases_on_gpu_instance(here, instance, *gpu, catalog, projection.count, on_cpu),
           Processor::gpu);
  note_division(projection, here, *gpu);
}

// ---- targets ----

/// What a target could do at most; 0 unknown. A small machine can still keep up in serial phases,
/// so the clock of one core is a ceiling of its own.
struct Ceilings {
  double gflops = 0, gb_per_s = 0, core_ghz = 0;
};

/// "NVIDIA A100-SXM4-80GB" as a driver names it, "A100-SXM4-80GB" or "H200-SXM5" in the catalog.
const Gpu* gpu_called(const Catalog& catalog, const std::string& driver_name) {
  const Gpu* by_family = nullptr;
  for (const Gpu& gpu : catalog.gpus) {
    if (driver_name.find(gpu.name) != std::string::npos) return &gpu;
    const std::string family = gpu.name.substr(0, gpu.name.find('-'));
    if (by_family == nullptr && driver_name.find(" " + family) != std::string::npos)
      by_family = &gpu;
  }
  return by_family;
}

/// Of the GPU's units that the job uses: tensor cores only where their work was counted.
double peak_gflops(const Gpu& gpu, const Known& here) {
  double tflops = gpu.fp32_tflops;
  for (const PathRows* path : {&here.gpu_side, &here.gpu_measured})
    for (const Measurement* row : path->phases) {
      if (row->work.tensor_fp16_flops > 0)
        tflops = std::max(tflops, gpu.tensor_fp16_tflops.value_or(0));
      if (row->work.tensor_tf32_flops > 0)
        tflops = std::max(tflops, gpu.tensor_tf32_tflops.value_or(0));
    }
  return 1000 * tflops;
}

Ceilings ceilings_of(const Target& target, const Known& here, const Catalog& catalog) {
  const Instance* instance = catalog.instance(target.instance);
  const bool on_gpu = target.instance == "local-gpu" || (instance && !instance->gpu.empty());
  const double devices = target.count * (instance ? std::max(1, instance->gpu_count) : 1);
  const CpuMachine machine =
      instance ? instance_machine(*instance, catalog.cpu(instance->cpu)) : here.local;
  if (on_gpu) {
    const Gpu* gpu =
        instance ? catalog.gpu(instance->gpu) : gpu_called(catalog, here.environment.gpu);
    if (gpu == nullptr) return {};
    return {devices * peak_gflops(*gpu, here), devices * gpu->memory_gb_per_s,
            machine.clock_ghz.likely};
  }
  const double products = may_multiply_in_bf16(here.cpu_side) ? bf16_gain(machine).high : 1;
  return {target.count * products * peak_gflops(machine), target.count * machine.read_gb_per_s,
          machine.clock_ghz.likely};
}

double envelope(const Ceilings& baseline, const Ceilings& candidate) {
  const auto ratio = [](double of, double to) { return to > 0 ? of / to : 0; };
  return std::max({ratio(candidate.gflops, baseline.gflops),
                   ratio(candidate.gb_per_s, baseline.gb_per_s),
                   ratio(candidate.core_ghz, baseline.core_ghz)});
}

Projection blank_for(const Target& target, const Known& here, const Catalog& catalog) {
  const Instance* instance = catalog.instance(target.instance);
  Projection projection;
  projection.instance = target.instance;
  projection.count = std::max(1, target.count);
  projection.job_units = here.job_units;
  projection.threads = instance ? instance->vcpus : static_cast<int>(here.local.threads);
  projection.isa =
      instance ? instance_machine(*instance, catalog.cpu(instance->cpu)).isa : here.environment.isa;
  const bool on_gpu = target.instance == "local-gpu" || (instance && !instance->gpu.empty());
  if (on_gpu) {
    projection.path = instance ? here.counted_on : Path::cuda;
    projection.device = instance ? instance->gpu : here.environment.gpu;
  } else {
    projection.path = Path::openmp;
    projection.device = instance ? instance->cpu : here.environment.cpu_model;
  }
  return projection;
}

void on_local_gpu(Projection& projection, const Known& here, const Catalog& catalog) {
  measured_here(projection, here, here.gpu_measured, Processor::gpu);
  if (projection.available)
    note_precision(projection, here, here.gpu_measured, gpu_called(catalog, here.environment.gpu));
}

Projection project_target(const Target& target, const Known& here, const Catalog& catalog) {
  Projection projection = blank_for(target, here, catalog);
  const Instance* instance = catalog.instance(target.instance);
  if (target.instance == "local")
    measured_here(projection, here, here.cpu_side, Processor::cpu);
  else if (target.instance == "local-gpu" && !here.gpu_was_run)
    projection.note = "no GPU was used here";
  else if (target.instance == "local-gpu")
    on_local_gpu(projection, here, catalog);
  else if (instance == nullptr)
    projection.note = "the instance is not in the catalog";
  else if (instance->gpu.empty())
    on_cpu_instance(projection, here, *instance, catalog);
  else
    on_gpu_instance(projection, here, *instance, catalog);
  return projection;
}

} // namespace

std::vector<Projection> project(const Scenario& scenario,
                                const std::vector<Measurement>& measurements,
                                const Catalog& catalog) {
  const Known here = what_is_known(measurements);
  std::vector<Projection> projections;
  if (scenario.targets.empty()) return projections;
  const Ceilings baseline = ceilings_of(scenario.targets.front(), here, catalog);
  for (const Target& target : scenario.targets) {
    projections.push_back(project_target(target, here, catalog));
    projections.back().envelope_max = envelope(baseline, ceilings_of(target, here, catalog));
  }
  return projections;
}

} // namespace breakeven
