#include "sim/compare/phase_times.h"

namespace breakeven {

namespace {

PhaseTime row_of(const PhaseProjection& phase, const Priced& priced) {
  const Projection& projection = priced.projection;
  PhaseTime row;
  row.instance = projection.instance;
  row.option = priced.option;
  row.path = to_string(projection.path);
  row.device = projection.device;
  row.count = projection.count;
  row.cores = projection.cores;
  row.gpus = projection.path == Path::openmp ? 0 : projection.workers;
  row.gpus_per_unit = phase.gpus;
  row.phase = phase.phase;
  row.processor = phase.processor;
  row.scaling = phase.scaling;
  row.repeats = phase.repeats;
  // No path is timed on it: calibration.h has it as an assumption, also for a GPU that is here.
  row.evidence = phase.phase == "cold start" ? "assumed" : projection.evidence;
  row.alone_s = phase.alone_s;
  row.job_s = phase.end_to_end_s;
  row.bound_by = phase.bound_by;
  return row;
}

} // namespace

std::vector<PhaseTime> phase_times(const Scenario& scenario,
                                   const std::vector<Measurement>& measurements,
                                   const std::vector<Priced>& priced) {
  std::vector<PhaseTime> rows;
  for (std::size_t i = 0; i < priced.size(); ++i) {
    if (!priced[i].projection.available) continue;
    for (const PhaseProjection& phase : priced[i].projection.phases) {
      PhaseTime row = row_of(phase, priced[i]);
      row.study = scenario.name;
      row.scenario_sha256 = scenario.sha256;
      row.unit = measurements.empty() ? "unit" : measurements.front().unit;
      row.is_baseline = i == 0;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

} // namespace breakeven
