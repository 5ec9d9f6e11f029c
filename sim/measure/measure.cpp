#include "sim/errors.h"
#include "sim/measure/measurement.h"
#include "workloads/clock.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

namespace breakeven {

namespace {

// Stopping rule: Hoefler & Belli, "Scientific Benchmarking of Parallel Computing Systems", SC 2015,
// rule 5. Eight is the fewest samples whose extremes cover the median with 99 %.
constexpr double wanted_relative_half_width = 0.05;
constexpr std::size_t fewest_samples = 8;
// One sample should be long against timer and scheduler noise, yet leave room for enough of them.
constexpr double shortest_sample_s = 0.5;
constexpr double samples_in_time_limit = 9;
// Side by side: two rounds for every thread if there is time, so that the first cases to start and
// the last to end count less; at least one, or idle threads would decide.
constexpr std::int64_t wanted_rounds = 2;
constexpr double time_limits_for_one_round = 2;

double job_seconds(const Run& run) {
  double sum = 0;
  for (const Phase& phase : run.phases)
    sum += phase.end_to_end_s * phase.job_over_slice;
  return sum;
}

double slice_seconds(const Run& run) {
  double sum = 0;
  for (const Phase& phase : run.phases)
    sum += phase.end_to_end_s;
  return sum;
}

/// What was taken on one path before it was put into rows.
struct Taken {
  Slice slice;
  Run cold;
  std::vector<Run> runs;
  std::string stop_reason;
};

bool converged(const std::vector<Run>& runs) {
  if (runs.size() < fewest_samples) return false;
  std::vector<double> seconds;
  for (const Run& run : runs)
    seconds.push_back(job_seconds(run));
  const Median median = median_of(seconds);
  return median.high - median.value <= wanted_relative_half_width * median.value
         && median.value - median.low <= wanted_relative_half_width * median.value;
}

/// How much of the job one sample should run, from the time of the smallest slice.
double effort_for(const Run& smallest, double time_limit_s) {
  const double whole_job_s = job_seconds(smallest);
  const double sample_s = std::max(shortest_sample_s, time_limit_s / samples_in_time_limit);
  return whole_job_s > 0 ? std::clamp(sample_s / whole_job_s, 0.0, 1.0) : 1.0;
}

Taken sample_path(const Scenario& scenario, const Workload& workload, Path path,
                  const std::filesystem::path& units, const Progress& progress) {
  const MeasureSettings& settings = scenario.measure;
  const std::string what = "measuring " + to_string(path);
  Taken taken;
  progress(what, 0);
  taken.cold = workload.run(path, workload.slice(0), {});
  const Run warm = workload.run(path, workload.slice(0), {});
  taken.slice = workload.slice(settings.full ? 1 : effort_for(warm, settings.time_limit_s));
  // A whole job is run once however long it takes: the user asked for all of it.
  const double start = seconds_now();
  while (!interrupted()) {
    taken.runs.push_back(workload.run(path, taken.slice, units));
    const double elapsed = seconds_now() - start;
    progress(what, std::min(1.0, elapsed / settings.time_limit_s));
    if (converged(taken.runs)) {
      taken.stop_reason = "converged";
      break;
    }
    if (elapsed >= settings.time_limit_s) {
      taken.stop_reason = settings.full && taken.runs.size() == 1 ? "whole job" : "time limit";
      break;
    }
  }
  if (interrupted()) {
    taken.stop_reason = "interrupted";
    // The last run may have been cut short; its counts would not fit the slice.
    if (!taken.runs.empty()) taken.runs.pop_back();
  }
  return taken;
}

Measurement row_for(const Scenario& scenario, const Workload& workload, Path path,
                    const Environment& environment) {
  Measurement row;
  row.study = scenario.name;
  row.title = scenario.title;
  row.scenario_sha256 = scenario.sha256;
  row.workload_sha256 = scenario.workload_sha256;
  row.workload = workload.kind;
  row.unit = workload.unit;
  row.job_units = workload.job_units;
  row.path = path;
  row.phase = total_phase;
  row.environment = environment;
  row.threads = scenario.measure.threads > 0 ? scenario.measure.threads : omp_get_max_threads();
  return row;
}

void add_samples(Measurement& row, const std::vector<double>& end_to_end,
                 const std::vector<double>& kernel) {
  row.samples_s = end_to_end;
  row.kernel_samples_s = kernel;
  row.end_to_end_s = median_of(end_to_end);
}

Measurement phase_row(Measurement row, const Taken& taken, std::size_t index, bool timed) {
  const Phase& phase = taken.runs.back().phases[index];
  row.phase = phase.name;
  row.processor = phase.processor;
  row.scaling = phase.scaling;
  row.repeats = phase.repeats;
  row.job_over_slice = phase.job_over_slice;
  row.work = phase.work;
  if (!timed) return row;
  std::vector<double> end_to_end, kernel;
  for (const Run& run : taken.runs) {
    end_to_end.push_back(run.phases[index].end_to_end_s);
    kernel.push_back(run.phases[index].kernel_s);
  }
  add_samples(row, end_to_end, kernel);
  if (index < taken.cold.phases.size()) row.cold_s = taken.cold.phases[index].end_to_end_s;
  row.job_s = row.end_to_end_s.value * row.job_over_slice;
  row.evidence = row.job_over_slice > 1 ? "extrapolated" : "measured";
  return row;
}

/// The whole run. Job seconds are summed per phase, each scaled by its own counted work.
Measurement total_row(Measurement row, const Taken& taken, bool timed) {
  if (!timed) return row;
  std::vector<double> end_to_end, kernel, job;
  for (const Run& run : taken.runs) {
    end_to_end.push_back(slice_seconds(run));
    job.push_back(job_seconds(run));
    double kernel_s = 0;
    for (const Phase& phase : run.phases)
      kernel_s += phase.kernel_s;
    kernel.push_back(kernel_s);
  }
  add_samples(row, end_to_end, kernel);
  row.cold_s = slice_seconds(taken.cold);
  row.job_s = median_of(job).value;
  row.job_over_slice = row.end_to_end_s.value > 0 ? row.job_s / row.end_to_end_s.value : 1;
  row.evidence = taken.slice.whole_job ? "measured" : "extrapolated";
  if (taken.slice.whole_job) row.job_over_slice = 1, row.job_s = row.end_to_end_s.value;
  return row;
}

std::vector<Measurement> rows_of(const Measurement& blank, const Taken& taken, bool timed) {
  Measurement common = blank;
  common.slice = taken.slice.label;
  common.stop_reason = taken.stop_reason;
  common.checksum = taken.runs.back().checksum;
  std::vector<Measurement> rows{total_row(common, taken, timed)};
  for (std::size_t index = 0; index < taken.runs.back().phases.size(); ++index)
    rows.push_back(phase_row(common, taken, index, timed));
  return rows;
}

/// 0 where that would take too long, or is no more than one.
std::int64_t units_side_by_side(const Measurement& total, const Slice& slice, double time_limit_s) {
  const auto round = static_cast<std::int64_t>(total.threads);
  const double unit_s = total.end_to_end_s.value / static_cast<double>(slice.units.size());
  const double round_s = static_cast<double>(round) * unit_s;
  if (round_s > time_limits_for_one_round * time_limit_s) return 0;
  const bool has_time = static_cast<double>(wanted_rounds) * round_s <= time_limit_s;
  const std::int64_t units = std::min(total.job_units, has_time ? wanted_rounds * round : round);
  return units > 1 ? units : 0;
}

/// Results that differ are no measurement, but must be seen.
Measurement side_by_side_row(Measurement row, const SideBySide& found, const Taken& taken) {
  row.phase = side_by_side_phase;
  row.slice = found.label;
  row.checksum = found.checksum;
  row.verified = found.agreement.passed;
  row.verification = found.agreement.evidence;
  row.stop_reason = found.agreement.passed ? "one run" : "not verified";
  if (!found.agreement.passed) return row;
  add_samples(row, {found.wall_s}, {});
  std::vector<double> alone_s;
  for (const Run& run : taken.runs)
    alone_s.push_back(run.wall_s);
  row.work.counts = {{"units", static_cast<double>(found.units)},
                     {"units_alone", static_cast<double>(taken.slice.units.size())},
                     {"alone_wall_s", median_of(alone_s).value},
                     {"whole_units", found.whole_units ? 1.0 : 0.0},
                     {"cpu_threads", found.cpu_threads},
                     {"gpu_feeders", found.gpu_feeders}};
  return row;
}

void add_side_by_side(const Scenario& scenario, const Workload& workload, const Measurement& blank,
                      const Taken& taken, const Progress& progress,
                      std::vector<Measurement>& path_rows) {
  if (!workload.run_side_by_side || !scenario.job.units_per_day || interrupted()) return;
  const std::int64_t units =
      units_side_by_side(path_rows.front(), taken.slice, scenario.measure.time_limit_s);
  if (units == 0) return;
  progress(fmt::format("running {} side by side on {}", units, to_string(blank.path)), -1);
  const SideBySide found = workload.run_side_by_side(blank.path, taken.slice, units);
  if (found.units == units) path_rows.push_back(side_by_side_row(blank, found, taken));
}

} // namespace

const char* const total_phase = "total";
const char* const side_by_side_phase = "side by side";
bool is_total(const Measurement& row) { return row.phase == total_phase; }
bool is_side_by_side(const Measurement& row) { return row.phase == side_by_side_phase; }

std::vector<Measurement> measure(const Scenario& scenario, const Workload& workload,
                                 const std::filesystem::path& units, const Progress& progress) {
  progress("reading this machine", -1);
  const Environment environment = read_environment(scenario.measure.threads);
  std::vector<Measurement> rows;
  for (const Path path : workload.paths) {
    // What was measured before Ctrl-C is kept; the paths after it are missing rows.
    if (interrupted() && !rows.empty()) break;
    Measurement blank = row_for(scenario, workload, path, environment);
    progress("verifying " + to_string(path), -1);
    const Verification verification = workload.verify(path);
    blank.verified = verification.passed;
    blank.verification = verification.evidence;
    if (!verification.passed) {
      blank.stop_reason = "not verified";
      rows.push_back(blank);
      continue;
    }
    const bool timed = path != Path::host;
    Taken taken;
    if (timed) {
      taken = sample_path(scenario, workload, path, units, progress);
      if (taken.runs.empty()) break; // interrupted before a run was finished
    } else {
      progress("counting on " + to_string(path), -1);
      taken.slice = workload.slice(0);
      taken.runs.push_back(workload.run(path, taken.slice, {}));
      taken.stop_reason = "counting only";
    }
    std::vector<Measurement> path_rows = rows_of(blank, taken, timed);
    if (timed) add_side_by_side(scenario, workload, blank, taken, progress, path_rows);
    rows.insert(rows.end(), path_rows.begin(), path_rows.end());
  }
  return rows;
}

std::vector<Measurement> measurements_for(const Scenario& scenario, std::vector<Measurement> rows,
                                          const std::string& file) {
  for (Measurement& row : rows) {
    if (row.workload_sha256 != scenario.workload_sha256)
      throw BadInput(
          file, 0, "rows of another workload (" + row.workload_sha256.substr(0, 12) + ")",
          "the workload of " + scenario.file + " (" + scenario.workload_sha256.substr(0, 12) + ")");
    row.study = scenario.name;
    row.title = scenario.title;
    row.scenario_sha256 = scenario.sha256;
  }
  return rows;
}

} // namespace breakeven
