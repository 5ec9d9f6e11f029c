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

PhaseProjection whole_job(const Projection& projection, const MachinePhase& phase) {
  const double times = times_in_a_row(projection, phase);
  return {phase.phase,
          phase.repeats,
          phase.processor,
          times * phase.kernel_s,
          times * phase.end_to_end_s,
          phase.bound_by,
          phase.scaling,
          phase.alone_s.likely > 0 ? phase.alone_s : phase.end_to_end_s};
}

Interval& part_for(Projection& projection, const MachinePhase& phase) {
  if (phase.repeats == Repeats::per_job) return projection.fixed_s;
  return phase.sharing == Sharing::machine ? projection.shared_unit_s : projection.worker_unit_s;
}

} // namespace

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
      projection.bound_by = phase.bound_by;
    }
    projection.phases.push_back(whole);
  }
  projection.per_unit_s =
      1.0 / projection.workers * projection.worker_unit_s + projection.shared_unit_s;
  projection.available = projection.end_to_end_s.likely > 0;
  if (!projection.available) projection.note = "nothing was measured or counted";
  assert(is_projection(projection.end_to_end_s));
}

double compute_seconds(const Projection& projection, double units, double Interval::*point) {
  const double own = units_of_one_machine(projection, units);
  return projection.fixed_s.*point
         + std::ceil(own / projection.workers) * projection.worker_unit_s.*point
         + own * projection.shared_unit_s.*point;
}

} // namespace breakeven
