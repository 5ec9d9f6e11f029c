#include "sim/project/assemble.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace breakeven {

namespace {

double units_of_one_machine(const Projection& projection, double units) {
  return std::ceil(units / projection.count);
}

/// How often the busiest machine has to do a phase, one after the other.
double times_in_a_row(const Projection& projection, const MachinePhase& phase) {
  if (phase.repeats == Repeats::per_job) return 1;
  const double units = units_of_one_machine(projection, projection.job_units);
  return phase.sharing == Sharing::machine ? units : std::ceil(units / projection.workers);
}

GpuPhase on_workers(const MachinePhase& phase, int workers) {
  if (workers == 1 || phase.divided.empty())
    return {phase.kernel_s, phase.end_to_end_s, phase.bound_by};
  return phase.divided.at(static_cast<std::size_t>(workers) - 2);
}

PhaseProjection whole_job(const Projection& projection, const MachinePhase& phase) {
  const double times = times_in_a_row(projection, phase);
  const GpuPhase unit = on_workers(phase, workers_of_a_unit(projection, projection.job_units));
  const GpuPhase alone = on_workers(phase, workers_of_a_unit(projection, 1));
  PhaseProjection whole;
  whole.phase = phase.phase;
  whole.repeats = phase.repeats;
  whole.processor = phase.processor;
  whole.kernel_s = times * unit.kernel_s;
  whole.end_to_end_s = times * unit.end_to_end_s;
  whole.bound_by = unit.bound_by;
  whole.scaling = phase.scaling;
  whole.alone_s = phase.alone_s.likely > 0 ? phase.alone_s : alone.end_to_end_s;
  whole.gpus = alone.gpus;
  if (alone.gpus > 1) whole.on_one_gpu_s = phase.end_to_end_s;
  return whole;
}

Interval& part_for(Projection& projection, const MachinePhase& phase) {
  if (phase.repeats == Repeats::per_job) return projection.fixed_s;
  return phase.sharing == Sharing::machine ? projection.shared_unit_s : projection.worker_unit_s;
}

/// Of the phases that a unit does on its own workers.
Interval sum_on_workers_s(const std::vector<MachinePhase>& phases, int workers) {
  Interval sum;
  for (const MachinePhase& phase : phases)
    if (phase.repeats == Repeats::per_unit && phase.sharing == Sharing::worker)
      sum = sum + on_workers(phase, workers).end_to_end_s;
  return sum;
}

void set_divided_units(Projection& projection, const std::vector<MachinePhase>& phases) {
  if (std::all_of(phases.begin(), phases.end(),
                  [](const MachinePhase& phase) { return phase.divided.empty(); }))
    return;
  for (int workers = 2; workers <= projection.workers; ++workers)
    projection.divided_unit_s.push_back(sum_on_workers_s(phases, workers));
}

} // namespace

int workers_of_a_unit(const Projection& projection, double units) {
  const double own = std::max(1.0, units_of_one_machine(projection, units));
  return own < projection.workers ? static_cast<int>(projection.workers / own) : 1;
}

Interval unit_on_workers_s(const Projection& projection, double units) {
  const int workers = workers_of_a_unit(projection, units);
  if (workers == 1 || projection.divided_unit_s.empty()) return projection.worker_unit_s;
  return projection.divided_unit_s.at(static_cast<std::size_t>(workers) - 2);
}

void assemble(Projection& projection, const std::vector<MachinePhase>& phases,
              Processor device_processor) {
  double longest_s = -1;
  for (const MachinePhase& phase : phases) {
    assert(is_projection(phase.kernel_s) && is_projection(phase.end_to_end_s));
    Interval& part = part_for(projection, phase);
    part = part + phase.end_to_end_s;
    const PhaseProjection whole = whole_job(projection, phase);
    projection.end_to_end_s = projection.end_to_end_s + whole.end_to_end_s;
    if (phase.processor == device_processor)
      projection.kernel_s = projection.kernel_s + whole.kernel_s;
    if (whole.end_to_end_s.likely > longest_s) {
      longest_s = whole.end_to_end_s.likely;
      projection.bound_by = whole.bound_by;
    }
    projection.phases.push_back(whole);
  }
  set_divided_units(projection, phases);
  projection.per_unit_s =
      1.0 / projection.workers * projection.worker_unit_s + projection.shared_unit_s;
  projection.available = projection.end_to_end_s.likely > 0;
  if (!projection.available) projection.note = "nothing was measured or counted";
  assert(is_projection(projection.end_to_end_s));
}

double compute_seconds(const Projection& projection, double units, double Interval::*point) {
  const double own = units_of_one_machine(projection, units);
  return projection.fixed_s.*point
         + std::ceil(own / projection.workers) * unit_on_workers_s(projection, units).*point
         + own * projection.shared_unit_s.*point;
}

} // namespace breakeven
