#include "sim/compare/side_by_side.h"

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {

using Rows = std::vector<Measurement>;

/// One unit's way through this machine, by the phases measured on it.
Pipeline measured_pipeline(const Rows& rows, const Measurement& side_by_side, double units_alone) {
  Pipeline pipeline;
  pipeline.cores = std::max(1, side_by_side.threads);
  for (const Measurement& row : rows)
    if (row.path == side_by_side.path && row.verified && row.repeats == Repeats::per_unit
        && !is_total(row) && !is_side_by_side(row))
      add_step(pipeline, station_of(row.processor, row.scaling),
               row.end_to_end_s.value / units_alone);
  return pipeline;
}

double all_done_s(const Pipeline& pipeline, double units) {
  const std::vector<double> at_once(static_cast<std::size_t>(units), 0.0);
  const std::vector<double> done_s = turnaround_s(pipeline, at_once);
  return *std::max_element(done_s.begin(), done_s.end());
}

/// Counts come from a file; for more units than these nobody waits.
bool is_count(double value) { return value >= 1 && value <= 1e6 && value == std::floor(value); }

bool is_time(double seconds) { return seconds > 0 && std::isfinite(seconds); }

/// False where the path's other rows are missing or give no time.
bool set_times(SideBySideCheck& check, const Rows& rows, const Measurement& row) {
  const double units_alone = row.work.count("units_alone");
  check.units = row.work.count("units");
  if (!is_count(check.units) || !is_count(units_alone)) return false;
  const Pipeline pipeline = measured_pipeline(rows, row, units_alone);
  check.wall_s = row.end_to_end_s.value;
  check.one_after_the_other_s = row.work.count("alone_wall_s") * check.units / units_alone;
  check.phases_s = alone_s(pipeline) * check.units;
  if (!is_time(check.wall_s) || !is_time(check.one_after_the_other_s) || !is_time(check.phases_s))
    return false;
  check.by_queues_s = all_done_s(pipeline, check.units);
  check.whole_units = row.work.count("whole_units") > 0;
  check.cpu_threads = row.work.count("cpu_threads");
  check.gpu_feeders = row.work.count("gpu_feeders");
  return true;
}

} // namespace

std::vector<SideBySideCheck> side_by_side_checks(const Rows& rows) {
  std::vector<SideBySideCheck> checks;
  for (const Measurement& row : rows) {
    if (!is_side_by_side(row)) continue;
    SideBySideCheck check;
    check.path = row.path;
    check.slice = row.slice;
    check.threads = row.threads;
    check.verified = row.verified;
    check.verification = row.verification;
    if (!row.verified || set_times(check, rows, row)) checks.push_back(check);
  }
  return checks;
}

} // namespace breakeven
