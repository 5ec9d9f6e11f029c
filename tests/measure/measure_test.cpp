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

TEST_CASE("the environment names the machine and the build") {
  const Environment environment = read_environment(1);
  CHECK_FALSE(environment.cpu_model.empty());
  CHECK_FALSE(environment.compiler.empty());
  CHECK(environment.logical_cpus >= environment.physical_cores / 2);
  CHECK(environment.memory_gib > 0);
  CHECK(environment.memory_read_gb_per_s > 0);
  CHECK(environment.measured_on.size() == 10);
}
