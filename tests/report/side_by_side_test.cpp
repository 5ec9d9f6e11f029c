// Units side by side: what is made of their row, and that nothing else is.
#include "sim/compare/side_by_side.h"
#include "sim/errors.h"
#include "tests/project/examples.h"
#include "tests/report/example_rows.h"
#include "tests/report/support.h"

using namespace breakeven;

namespace {

/// Phases of 2 units: 4 s of decoding on all of 4 cores, 6 s of work on `work_on`, 2 s of storing
/// on one core.
std::vector<Measurement> rows_of(Path path, Processor work_on) {
  const auto phase = [&](const char* name, double seconds) {
    Measurement row = examples::row(path, name);
    row.threads = 4;
    examples::set_time(row, seconds, 5);
    return row;
  };
  std::vector<Measurement> rows{phase("total", 12), phase("decode", 4), phase("work", 6),
                                phase("store", 2)};
  rows[2].processor = work_on;
  rows[3].scaling = Scaling::serial;
  Measurement row = examples::row(path, side_by_side_phase);
  row.threads = 4;
  row.slice = "4 of 10 things";
  row.samples_s = {17};
  row.end_to_end_s = {17, 17, 17};
  row.work.counts = {{"units", 4},
                     {"units_alone", 2},
                     {"alone_wall_s", 13},
                     {"whole_units", 0},
                     {"cpu_threads", path == Path::cuda ? 2 : 4},
                     {"gpu_feeders", path == Path::cuda ? 2 : 0}};
  rows.push_back(row);
  return rows;
}

std::string memo_of(const std::vector<Measurement>& measured) {
  return file_named(memo(example::comparisons(), measured, example::phases()), "memo.md");
}

} // namespace

TEST_CASE("a check holds the wall time against the same units alone and in the queues") {
  const auto checks = side_by_side_checks(rows_of(Path::openmp, Processor::cpu));
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].wall_s == 17);
  CHECK(checks[0].one_after_the_other_s == doctest::Approx(26)); // 4 of 13 / 2 s
  CHECK(checks[0].phases_s == doctest::Approx(24));              // 4 of (4 + 6 + 2) / 2 s
  // A unit has all cores for 2 + 3 s, then one core for 1 s, in which the next one has three of
  // four: 5, then 3 times 0.75 of 5 s in the first second and the rest: 4 x 5 + 3 x 0.25, and 1 s.
  CHECK(checks[0].by_queues_s == doctest::Approx(21.75));
  CHECK(checks[0].units == 4);
  CHECK(checks[0].cpu_threads == 4);
  CHECK_FALSE(checks[0].whole_units);
}

TEST_CASE("a GPU's check has its GPU as a station of its own") {
  const auto checks = side_by_side_checks(rows_of(Path::cuda, Processor::gpu));
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].gpu_feeders == 2);
  // Decoding 2 s a unit is hidden behind the GPU's 3 s, all but the first; the last is stored in 1.
  CHECK(checks[0].by_queues_s == doctest::Approx(2 + 4 * 3 + 1));
}

TEST_CASE("a check needs the path's phases, and counts that make sense") {
  auto rows = rows_of(Path::openmp, Processor::cpu);
  CHECK(side_by_side_checks({rows.back()}).empty());
  for (const double units : {0.0, 0.5, 1e300}) {
    rows.back().work.counts[0].second = units;
    CHECK(side_by_side_checks(rows).empty());
  }
  CHECK(side_by_side_checks(example::measurements()).size() == 1);
}

TEST_CASE("a row of units side by side changes no projection and no comparison") {
  Scenario scenario;
  scenario.name = "example";
  scenario.targets = {examples::target("local"), examples::target("cloud:gpu")};
  const Catalog catalog = examples::catalog();
  const auto likely = [&](const std::vector<Measurement>& rows) {
    std::vector<double> seconds;
    for (const Projection& projection : project(scenario, rows, catalog)) {
      CHECK(projection.available);
      seconds.push_back(projection.end_to_end_s.likely);
      seconds.push_back(static_cast<double>(projection.phases.size()));
    }
    return seconds;
  };
  auto rows = examples::measurements();
  const auto before = likely(rows);
  Measurement row = examples::row(Path::openmp, side_by_side_phase);
  row.samples_s = {1e6};
  row.end_to_end_s = {1e6, 1e6, 1e6};
  rows.insert(rows.begin(), row);
  CHECK(likely(rows) == before);
  rows.front().verified = false; // and a pool that went wrong spoils no path
  rows.front().samples_s.clear();
  CHECK(likely(rows) == before);
}

TEST_CASE(
    "the memo says what was run side by side, alone and by the queues, each with its evidence") {
  const std::string text = memo_of(example::measurements());
  CHECK(contains(
      text, "On the openmp path 8 of 240 frames, side by side on 4 CPU threads, took 5.0 s "
            "(measured, one run), or 140,000 a day. One after the other they take 7.2 s "
            "(measured, median), or 96,000 a day; 6.4 s of that are their phases, from which "
            "the queue model has the last one done after 6.4 s (modelled), or 110,000 a day."));
  CHECK_FALSE(contains(text, "All three are of parts"));
  // It is no phase of the run.
  CHECK_FALSE(contains(text, "| side by side"));
}

TEST_CASE("parts of units are not to be read as whole ones, and idle threads are named") {
  auto measured = example::measurements();
  measured.back().work.counts = {
      {"units", 3}, {"units_alone", 3}, {"alone_wall_s", 3}, {"cpu_threads", 3}};
  const std::string text = memo_of(measured);
  CHECK(contains(text, "All three are of parts of a frame; the table is of whole ones."));
  CHECK(contains(text, "on 3 CPU threads of 4"));
}

TEST_CASE("threads that feed a GPU are told from those that decode and store") {
  auto measured = rows_of(Path::cuda, Processor::gpu);
  CHECK(contains(memo_of(measured),
                 "with 2 CPU threads that decode and store and 2 that feed the GPU"));
}

TEST_CASE("results that differed side by side have no time in the memo, but are told of") {
  auto measured = example::measurements();
  measured.back() = example::measured(Path::openmp, side_by_side_phase);
  measured.back().slice = "8 of 240 frames";
  measured.back().verified = false;
  measured.back().verification = "1 of 8 differs";
  const std::string text = memo_of(measured);
  CHECK(contains(text,
                 "On the openmp path 8 of 240 frames were run side by side, but not verified, "
                 "so they have no time: 1 of 8 differs."));
  CHECK_FALSE(contains(text, "(measured, one run)"));
}

TEST_CASE("where nothing ran side by side the memo says so") {
  auto measured = example::measurements();
  measured.pop_back();
  CHECK(contains(memo_of(measured), "No frames were run side by side to hold the queues against."));
}

TEST_CASE("a job's time on a row of units side by side is refused") {
  const TestFolder folder;
  auto measured = example::measurements();
  measured.back().job_s = 5;
  CHECK_THROWS_AS(read_measurements(folder.write("m.csv", measurements_csv(measured))), BadInput);
  measured.back().job_s = 0;
  measured.back().evidence = "measured";
  CHECK_THROWS_AS(read_measurements(folder.write("m.csv", measurements_csv(measured))), BadInput);
  measured.back().evidence = "";
  const auto read = read_measurements(folder.write("m.csv", measurements_csv(measured)));
  CHECK(is_side_by_side(read.back()));
  CHECK(read.back().work.counts == measured.back().work.counts);
  CHECK(read.back().samples_s == measured.back().samples_s);
}
