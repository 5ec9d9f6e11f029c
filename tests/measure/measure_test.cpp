// The measuring loop against a workload made of numbers: no clock, so nothing here depends on how
// fast the machine is.
#include "sim/errors.h"
#include "sim/measure/measurement.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace breakeven;

namespace {

struct Recorded {
  std::vector<Path> verified, ran;
};

Phase phase_of(const char* name, Repeats repeats, double seconds, double job_over_slice) {
  Phase phase;
  phase.name = name;
  phase.repeats = repeats;
  phase.end_to_end_s = phase.kernel_s = seconds;
  phase.job_over_slice = job_over_slice;
  phase.work.counts = {{"things", 10}};
  return phase;
}

/// 100 units of 2 s each after 3 s of loading; a slice of one unit.
Workload counted_workload(Recorded& recorded, bool host_agrees = true) {
  Workload workload;
  workload.kind = "counted";
  workload.unit = "thing";
  workload.job_units = 100;
  workload.paths = {Path::openmp, Path::host};
  workload.slice = [](double effort) {
    Slice slice;
    slice.units = {1};
    slice.whole_job = effort >= 1;
    slice.label = slice.whole_job ? "all" : "one of 100";
    return slice;
  };
  workload.run = [&recorded](Path path, const Slice& slice, const std::filesystem::path&) {
    recorded.ran.push_back(path);
    const double scale = slice.whole_job ? 1 : 100;
    Run run;
    run.phases = {phase_of("load", Repeats::per_job, 3, 1),
                  phase_of("work", Repeats::per_unit, slice.whole_job ? 200 : 2, scale)};
    run.checksum = 42;
    run.wall_s = 6;
    return run;
  };
  workload.verify = [&recorded, host_agrees](Path path) {
    recorded.verified.push_back(path);
    return Verification{path == Path::openmp || host_agrees, "as told"};
  };
  return workload;
}

Scenario counted_scenario(bool full = false) {
  Scenario scenario;
  scenario.name = "counted";
  scenario.sha256 = "abc";
  scenario.measure.full = full;
  scenario.measure.time_limit_s = 30;
  return scenario;
}

std::vector<Measurement> measure_counted(const Workload& workload, bool full = false) {
  return measure(counted_scenario(full), workload, {}, [](const std::string&, double) {});
}

const Measurement& row(const std::vector<Measurement>& rows, Path path, const char* phase) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Measurement& candidate) {
    return candidate.path == path && candidate.phase == phase;
  });
  REQUIRE(found != rows.end());
  return *found;
}

// ---- side by side ----

constexpr std::int64_t not_asked = -1;

/// As the counted workload, with units side by side: two threads, 5 s a unit alone.
Workload pooled_workload(Recorded& recorded, std::int64_t& asked) {
  Workload workload = counted_workload(recorded);
  workload.run_side_by_side = [&asked](Path path, const Slice& slice, std::int64_t units) {
    CHECK(path == Path::openmp);
    CHECK(slice.units.size() == 1);
    asked = units;
    SideBySide found;
    found.label = "some of 100";
    found.wall_s = 12;
    found.units = units;
    found.whole_units = true;
    found.cpu_threads = 2;
    found.checksum = 43;
    found.agreement = {true, "all equal"};
    return found;
  };
  return workload;
}

std::vector<Measurement> measure_service(const Workload& workload, double time_limit_s,
                                         bool is_service = true) {
  Scenario scenario = counted_scenario();
  scenario.measure.time_limit_s = time_limit_s;
  scenario.measure.threads = 2;
  if (is_service) scenario.job.units_per_day = 1000;
  return measure(scenario, workload, {}, [](const std::string&, double) {});
}

bool has_side_by_side(const std::vector<Measurement>& rows) {
  return std::any_of(rows.begin(), rows.end(), is_side_by_side);
}

} // namespace

TEST_CASE("a phase is scaled to the job by its own counted work") {
  Recorded recorded;
  const auto rows = measure_counted(counted_workload(recorded));
  CHECK(row(rows, Path::openmp, "load").job_s == 3);
  CHECK(row(rows, Path::openmp, "work").job_s == 200);
  CHECK(row(rows, Path::openmp, "total").job_s == 203);
}

TEST_CASE("a scaled figure is extrapolated, an unscaled one measured") {
  Recorded recorded;
  const auto rows = measure_counted(counted_workload(recorded));
  CHECK(row(rows, Path::openmp, "load").evidence == "measured");
  CHECK(row(rows, Path::openmp, "work").evidence == "extrapolated");
  CHECK(row(rows, Path::openmp, "total").evidence == "extrapolated");
  CHECK(row(rows, Path::openmp, "work").end_to_end_s.value == 2); // what was measured is kept
}

TEST_CASE("a whole job is measured, not extrapolated") {
  Recorded recorded;
  const auto rows = measure_counted(counted_workload(recorded), true);
  CHECK(row(rows, Path::openmp, "total").evidence == "measured");
  CHECK(row(rows, Path::openmp, "total").job_s == 203);
  CHECK(row(rows, Path::openmp, "total").job_over_slice == 1);
}

TEST_CASE("identical samples converge after the fewest that allow a 99 % interval") {
  Recorded recorded;
  const auto rows = measure_counted(counted_workload(recorded));
  CHECK(row(rows, Path::openmp, "total").stop_reason == "converged");
  CHECK(row(rows, Path::openmp, "total").samples_s.size() == 8);
}

TEST_CASE("the host path is counted once and never timed") {
  Recorded recorded;
  const auto rows = measure_counted(counted_workload(recorded));
  CHECK(std::count(recorded.ran.begin(), recorded.ran.end(), Path::host) == 1);
  const Measurement& work = row(rows, Path::host, "work");
  CHECK(work.work.count("things") == 10);
  CHECK(work.samples_s.empty());
  CHECK(work.job_s == 0);
  CHECK(work.stop_reason == "counting only");
}

TEST_CASE("a path that fails verification is not run, and its one row carries no time") {
  Recorded recorded;
  const auto rows = measure_counted(counted_workload(recorded, false));
  CHECK(std::count(recorded.ran.begin(), recorded.ran.end(), Path::host) == 0);
  const Measurement& total = row(rows, Path::host, "total");
  CHECK_FALSE(total.verified);
  CHECK(total.samples_s.empty());
  CHECK(total.job_s == 0);
  CHECK(total.verification == "as told");
}

TEST_CASE("every path is verified before it is run") {
  Recorded recorded;
  Workload workload = counted_workload(recorded);
  const auto run = workload.run;
  workload.run = [&](Path path, const Slice& slice, const std::filesystem::path& output) {
    CHECK(std::count(recorded.verified.begin(), recorded.verified.end(), path) == 1);
    return run(path, slice, output);
  };
  measure_counted(workload);
}

TEST_CASE("units of a service are run side by side once, two rounds of threads where time allows") {
  Recorded recorded;
  std::int64_t asked = not_asked;
  const auto rows = measure_service(pooled_workload(recorded, asked), 20);
  CHECK(asked == 4);
  const Measurement& found = row(rows, Path::openmp, side_by_side_phase);
  CHECK(found.samples_s == std::vector<double>{12});
  CHECK(found.end_to_end_s.value == 12);
  CHECK(found.slice == "some of 100");
  CHECK(found.threads == 2);
  CHECK(found.verified);
  CHECK(found.verification == "all equal");
  CHECK(found.stop_reason == "one run");
  CHECK(found.checksum == 43);
  CHECK(found.work.count("units") == 4);
  CHECK(found.work.count("units_alone") == 1);
  CHECK(found.work.count("alone_wall_s") == 6);
  CHECK(found.work.count("whole_units") == 1);
  CHECK(found.work.count("cpu_threads") == 2);
  CHECK(std::count_if(rows.begin(), rows.end(), is_side_by_side) == 1);
}

TEST_CASE("what ran side by side is no time of the job, and changes none") {
  Recorded recorded;
  std::int64_t asked = not_asked;
  const auto rows = measure_service(pooled_workload(recorded, asked), 20);
  const Measurement& found = row(rows, Path::openmp, side_by_side_phase);
  CHECK(found.job_s == 0);
  CHECK(found.evidence.empty());
  CHECK(row(rows, Path::openmp, "total").job_s == 203);
  CHECK(row(rows, Path::openmp, "total").checksum == 42);
}

TEST_CASE("one round is run side by side where two take too long, none where one does") {
  Recorded recorded;
  std::int64_t asked = not_asked;
  measure_service(pooled_workload(recorded, asked), 19); // two rounds: 20 s
  CHECK(asked == 2);
  asked = not_asked;
  measure_service(pooled_workload(recorded, asked), 5); // one round: 10 s, twice the limit
  CHECK(asked == 2);
  asked = not_asked;
  const auto rows = measure_service(pooled_workload(recorded, asked), 4.9);
  CHECK(asked == not_asked);
  CHECK_FALSE(has_side_by_side(rows));
}

TEST_CASE("nothing is run side by side for a job that is no service, or of one unit") {
  Recorded recorded;
  std::int64_t asked = not_asked;
  Workload workload = pooled_workload(recorded, asked);
  CHECK_FALSE(has_side_by_side(measure_service(workload, 20, false)));
  CHECK(asked == not_asked);
  workload.job_units = 3;
  measure_service(workload, 20);
  CHECK(asked == 3);
  asked = not_asked;
  workload.job_units = 1;
  CHECK_FALSE(has_side_by_side(measure_service(workload, 20)));
  CHECK(asked == not_asked);
  CHECK_FALSE(has_side_by_side(measure_service(counted_workload(recorded), 20)));
}

TEST_CASE("results that differ side by side are a row without times, and the path keeps its own") {
  Recorded recorded;
  std::int64_t asked = not_asked;
  Workload workload = pooled_workload(recorded, asked);
  const auto run = workload.run_side_by_side;
  workload.run_side_by_side = [&](Path path, const Slice& slice, std::int64_t units) {
    SideBySide found = run(path, slice, units);
    found.agreement = {false, "1 of 4 differs"};
    return found;
  };
  const auto rows = measure_service(workload, 20);
  const Measurement& found = row(rows, Path::openmp, side_by_side_phase);
  CHECK_FALSE(found.verified);
  CHECK(found.samples_s.empty());
  CHECK(found.end_to_end_s.value == 0);
  CHECK(found.verification == "1 of 4 differs");
  CHECK(found.stop_reason == "not verified");
  CHECK(row(rows, Path::openmp, "total").verified);
  CHECK(row(rows, Path::openmp, "total").job_s == 203);
}

TEST_CASE("units side by side that were cut short are dropped") {
  Recorded recorded;
  std::int64_t asked = not_asked;
  Workload workload = pooled_workload(recorded, asked);
  const auto run = workload.run_side_by_side;
  workload.run_side_by_side = [&](Path path, const Slice& slice, std::int64_t units) {
    SideBySide found = run(path, slice, units);
    --found.units;
    return found;
  };
  CHECK_FALSE(has_side_by_side(measure_service(workload, 20)));
}

TEST_CASE("the environment names the machine and the build") {
  const Environment environment = read_environment(1);
  CHECK_FALSE(environment.cpu_model.empty());
  CHECK_FALSE(environment.compiler.empty());
  CHECK(environment.logical_cpus >= environment.physical_cores / 2);
  CHECK(environment.memory_gib > 0);
  CHECK(environment.memory_read_gb_per_s > 0);
  CHECK(environment.measured_on.size() == 10);
}
