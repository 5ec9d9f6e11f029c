#include "sim/project/all_reduce.h"
#include "sim/project/gpu_model.h"
#include "tests/project/examples.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

using namespace breakeven;

namespace {

constexpr double Interval::*points[] = {&Interval::low, &Interval::likely, &Interval::high};
const Interval host_link{10, 20, 20};

Gpu with_nvlink() {
  Gpu gpu = examples::gpu();
  gpu.nvlink_gb_per_s = 300;
  return gpu;
}

/// As examples::measurements(), of `units` units whose kernel phase can be divided: 1e13
/// instructions, 10 launches, and `all_reduces` of `bytes` each in every unit.
std::vector<Measurement> divisible(std::int64_t units, double all_reduces, double bytes) {
  std::vector<Measurement> rows = examples::measurements();
  for (Measurement& row : rows) {
    row.job_units = units;
    if (row.repeats == Repeats::per_unit) row.job_over_slice = static_cast<double>(units);
    if (row.phase != "kernel") continue;
    row.work.all_reduces = all_reduces;
    row.work.all_reduce_bytes = all_reduces * bytes;
  }
  return rows;
}

Projection on_gpus(int gpus, const std::vector<Measurement>& rows, int count = 1,
                   const Gpu& gpu = with_nvlink()) {
  Catalog catalog = examples::catalog();
  catalog.gpus = {gpu};
  catalog.instances = {examples::cpu_instance(), examples::gpu_instance(gpus)};
  return project(examples::scenario({examples::target("cloud:gpu", count)}), rows, catalog).front();
}

const PhaseProjection& kernel_of(const Projection& projection) {
  for (const PhaseProjection& phase : projection.phases)
    if (phase.phase == "kernel") return phase;
  throw std::logic_error("no such phase");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void check_equal(const Projection& a, const Projection& b) {
  for (double Interval::*point : points) {
    CHECK(a.end_to_end_s.*point == b.end_to_end_s.*point);
    CHECK(a.kernel_s.*point == b.kernel_s.*point);
    CHECK(kernel_of(a).alone_s.*point == kernel_of(b).alone_s.*point);
  }
  CHECK(a.bound_by == b.bound_by);
  CHECK(a.note == b.note);
}

constexpr double instructions_s = 0.78125 / 0.55, launches_s = 30e-6;
/// The example's unit alone: 1e13 instructions and 10 launches; 1 s of output on the CPU.
constexpr double kernel_s = instructions_s + launches_s;

} // namespace

TEST_CASE("a unit with eight GPUs to itself: launches whole, the rest an eighth, and all-reduces") {
  const Projection one = on_gpus(1, divisible(1, 100, 1e6));
  const Projection eight = on_gpus(8, divisible(1, 100, 1e6));
  const double all_reduces_s =
      all_reduce_seconds(100, 1e8, with_nvlink(), host_link, 8).likely; // 10 ms
  CHECK(one.end_to_end_s.likely == doctest::Approx(5.5 + kernel_s + 1));
  CHECK(kernel_of(eight).kernel_s.likely == doctest::Approx(instructions_s / 8 + launches_s));
  CHECK(kernel_of(eight).end_to_end_s.likely
        == doctest::Approx(instructions_s / 8 + launches_s + all_reduces_s));
  // Loading and the cold start stay, and so does the output.
  CHECK(eight.end_to_end_s.likely
        == doctest::Approx(5.5 + kernel_of(eight).end_to_end_s.likely + 1));
  CHECK(kernel_of(eight).bound_by == "issue");
  CHECK(kernel_of(eight).gpus == 8);
  const double of_linear = (kernel_s + 1) / (8 * (kernel_of(eight).end_to_end_s.likely + 1));
  CHECK(has(
      eight.note,
      fmt::format(
          "one thing on 8 GPUs: {:.0f} % of linear with all that is not divided; all-reduces as "
          "published for eight A100",
          100 * of_linear)));
  CHECK_FALSE(has(one.note, "GPUs"));
}

TEST_CASE("copies over the host link are not divided") {
  std::vector<Measurement> rows = divisible(1, 100, 1e6);
  for (Measurement& row : rows)
    if (row.phase == "kernel") row.work.host_to_device_bytes = 18e9; // 1 s at 0.9 x 20 GB/s
  const Projection eight = on_gpus(8, rows);
  const double before_s = kernel_of(on_gpus(8, divisible(1, 100, 1e6))).end_to_end_s.likely;
  CHECK(kernel_of(eight).end_to_end_s.likely == doctest::Approx(before_s + 1));
  CHECK(kernel_of(eight).bound_by == "link");
}

TEST_CASE("each unit has as many GPUs as there are for each, and one when there are too few") {
  const std::pair<std::int64_t, int> gpus_each[] = {{1, 8}, {2, 4}, {3, 2}, {4, 2},
                                                    {5, 1}, {8, 1}, {9, 1}};
  for (const auto& [units, gpus] : gpus_each) {
    CAPTURE(units);
    const Projection eight = on_gpus(8, divisible(units, 100, 1e6));
    const double rounds = units > 8 ? 2 : 1;
    const double all_reduces_s =
        gpus == 1 ? 0 : all_reduce_seconds(100, 1e8, with_nvlink(), host_link, gpus).likely;
    CHECK(kernel_of(eight).end_to_end_s.likely
          == doctest::Approx(rounds * (instructions_s / gpus + launches_s + all_reduces_s)));
    CHECK(has(eight.note, "of linear") == (gpus > 1));
    if (gpus > 1) CHECK(has(eight.note, fmt::format("on {} GPUs", gpus)));
  }
}

TEST_CASE("with as many units as GPUs nothing depends on whether units could be divided") {
  for (const int gpus : {1, 4, 8}) {
    CAPTURE(gpus);
    const Projection with = on_gpus(gpus, divisible(10, 100, 1e6));
    const Projection without = on_gpus(gpus, divisible(10, 0, 0));
    for (double Interval::*point : points) {
      CHECK(with.end_to_end_s.*point == without.end_to_end_s.*point);
      CHECK(with.kernel_s.*point == without.kernel_s.*point);
    }
    CHECK(with.note == without.note);
  }
}

TEST_CASE("a unit without all-reduces, or with empty ones, is not divided") {
  for (const auto& [all_reduces, bytes] :
       {std::pair(0.0, 0.0), std::pair(100.0, 0.0), std::pair(0.0, 1e6)}) {
    std::vector<Measurement> rows = divisible(1, all_reduces, bytes);
    for (Measurement& row : rows)
      if (row.phase == "kernel" && all_reduces == 0) row.work.all_reduce_bytes = bytes;
    const Projection eight = on_gpus(8, rows);
    check_equal(eight, on_gpus(8, divisible(1, 0, 0)));
    CHECK(eight.divided_unit_s.empty());
    CHECK(kernel_of(eight).end_to_end_s.likely == doctest::Approx(kernel_s));
    CHECK(kernel_of(eight).gpus == 1);
    CHECK_FALSE(has(eight.note, "linear"));
  }
}

TEST_CASE("what happens once a job is not divided, for each GPU needs it") {
  std::vector<Measurement> rows = divisible(1, 100, 1e6);
  for (Measurement& row : rows)
    if (row.phase == "kernel") row.repeats = Repeats::per_job;
  const Projection eight = on_gpus(8, rows);
  CHECK(kernel_of(eight).end_to_end_s.likely == doctest::Approx(kernel_s));
  CHECK_FALSE(has(eight.note, "linear"));
}

TEST_CASE("a larger payload takes longer, until one GPU does better and then no longer") {
  double before_s = 0;
  for (const double bytes : {1e3, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11}) {
    CAPTURE(bytes);
    const Projection eight = on_gpus(8, divisible(1, 100, bytes));
    CHECK(kernel_of(eight).end_to_end_s.likely >= before_s);
    CHECK(kernel_of(eight).end_to_end_s.likely <= kernel_s * (1 + 1e-12));
    before_s = kernel_of(eight).end_to_end_s.likely;
  }
  CHECK(before_s == doctest::Approx(kernel_s));
  const Projection hopeless = on_gpus(8, divisible(1, 100, 1e11));
  CHECK(has(hopeless.note, "one thing is no faster on 8 GPUs than on one"));
  CHECK(kernel_of(hopeless).gpus == 1);
  std::vector<Measurement> rows = divisible(1, 100, 1e9);
  for (Measurement& row : rows)
    if (row.phase != "work" && row.path == Path::openmp) examples::set_time(row, 0.01, 1);
  const Projection slow = on_gpus(8, rows);
  CHECK(slow.bound_by == "all-reduce");
  CHECK(kernel_of(slow).bound_by == "all-reduce");
}

TEST_CASE("a machine without NVLink divides too, with less gain and an assumption that is named") {
  const Projection linked = on_gpus(8, divisible(1, 100, 1e7));
  const Projection bare = on_gpus(8, divisible(1, 100, 1e7), 1, examples::gpu());
  CHECK(kernel_of(bare).end_to_end_s.likely > kernel_of(linked).end_to_end_s.likely);
  CHECK(kernel_of(bare).end_to_end_s.likely < kernel_s);
  CHECK(has(bare.note, "all-reduces over the host link are assumed"));
}

TEST_CASE("no unit is divided among machines, and the row says so") {
  const Projection two = on_gpus(8, divisible(1, 100, 1e6), 2);
  check_equal(on_gpus(8, divisible(1, 100, 1e6)), [&] {
    Projection without_note = two;
    const std::string note = "a thing is not divided among machines; ";
    const std::size_t at = without_note.note.find(note);
    REQUIRE(at != std::string::npos);
    without_note.note.erase(at, note.size());
    return without_note;
  }());
  CHECK_FALSE(has(on_gpus(8, divisible(16, 100, 1e6), 2).note, "machines"));
  CHECK_FALSE(has(on_gpus(8, divisible(1, 0, 0), 2).note, "machines"));
}

TEST_CASE("never better than linear, never worse than fewer GPUs, whatever was counted") {
  examples::Random random;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    Work work = examples::random_work(random);
    work.parallel_width = random.scale(1e2, 1e8);
    work.all_reduces = random.scale(1, 1e5);
    work.all_reduce_bytes = random.scale(1, 1e12);
    Gpu gpu = examples::gpu();
    if (i % 4 > 0) gpu.nvlink_gb_per_s = 150.0 * (i % 4);
    const std::vector<GpuPhase> phases = project_on_gpus(work, gpu, host_link, 16);
    REQUIRE(phases.size() == 16);
    for (std::size_t more = 0; more < phases.size(); ++more) {
      CAPTURE(more);
      const auto gpus = static_cast<double>(more + 1);
      REQUIRE(is_projection(phases[more].kernel_s));
      REQUIRE(is_projection(phases[more].end_to_end_s));
      for (double Interval::*point : points) {
        REQUIRE(phases[more].end_to_end_s.*point
                >= phases[0].end_to_end_s.*point / gpus * (1 - 1e-12));
        REQUIRE(phases[more].end_to_end_s.*point
                <= phases[more > 0 ? more - 1 : 0].end_to_end_s.*point);
        REQUIRE(phases[more].kernel_s.*point <= phases[more].end_to_end_s.*point);
      }
      REQUIRE(phases[more].gpus <= gpus);
    }
  }
}

TEST_CASE("on one GPU the work is projected as ever, divisible or not") {
  examples::Random random;
  for (int i = 0; i < 50; ++i) {
    Work work = examples::random_work(random);
    const GpuPhase before = project_on_gpu(work, with_nvlink(), host_link);
    work.all_reduces = 10;
    work.all_reduce_bytes = 1e6;
    const GpuPhase after = project_on_gpus(work, with_nvlink(), host_link, 8).front();
    for (double Interval::*point : points) {
      CHECK(after.kernel_s.*point == before.kernel_s.*point);
      CHECK(after.end_to_end_s.*point == before.end_to_end_s.*point);
    }
    CHECK(after.bound_by == before.bound_by);
  }
}

TEST_CASE("lanes that are too few for one GPU do not become faster by being dealt out") {
  Work work;
  work.dependent_accesses = 1e9;
  work.parallel_width = 1000; // of 204,800 resident threads
  work.all_reduces = 1;
  work.all_reduce_bytes = 1000;
  const auto phases = project_on_gpus(work, with_nvlink(), host_link, 8);
  CHECK(phases[7].end_to_end_s.likely == doctest::Approx(phases[0].end_to_end_s.likely));
}

TEST_CASE("more units never take less time, and the job's own size takes the job's time") {
  examples::Random random;
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    const auto units = static_cast<std::int64_t>(random.between(1, 20));
    const int gpus = static_cast<int>(random.between(1, 17));
    const int count = static_cast<int>(random.between(1, 4));
    std::vector<Measurement> rows = divisible(units, random.scale(1, 1e4), random.scale(1, 1e8));
    for (Measurement& row : rows)
      if (row.phase == "output" && i % 2 > 0) row.scaling = Scaling::parallel;
    Gpu gpu = with_nvlink();
    if (i % 3 == 0) gpu.nvlink_gb_per_s.reset();
    const Projection projection = on_gpus(gpus, rows, count, gpu);
    REQUIRE(projection.available);
    double sum_s = 0;
    for (const PhaseProjection& phase : projection.phases)
      sum_s += phase.end_to_end_s.likely;
    CHECK(sum_s == doctest::Approx(projection.end_to_end_s.likely));
    for (double Interval::*point : points) {
      CHECK(compute_seconds(projection, static_cast<double>(units), point)
            == doctest::Approx(projection.end_to_end_s.*point));
      for (int size = 1; size < 60; ++size)
        REQUIRE(compute_seconds(projection, size + 1, point)
                >= compute_seconds(projection, size, point));
    }
  }
}

TEST_CASE("a unit alone knows its time on one GPU, and on as many as it is divided among") {
  const Projection eight = on_gpus(8, divisible(3, 100, 1e6));
  const PhaseProjection& kernel = kernel_of(eight);
  // Three units have two GPUs each, but one alone would have eight.
  CHECK(kernel.gpus == 8);
  CHECK(kernel.alone_s.likely < kernel.end_to_end_s.likely);
  REQUIRE(kernel.on_one_gpu_s);
  CHECK(kernel.on_one_gpu_s->likely == doctest::Approx(kernel_s));
  CHECK_FALSE(kernel_of(on_gpus(8, divisible(3, 0, 0))).on_one_gpu_s);
}

TEST_CASE("counts that overflow when scaled to the job leave one GPU's time") {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::pair<double, double> hostile[] = {
      {1e308, 1e308}, {1e308, 1e-308}, {1e-308, 1e308}, {infinity, infinity}, {infinity, 1}};
  for (const auto& [all_reduces, bytes] : hostile)
    for (const bool has_nvlink : {false, true}) {
      Work work;
      work.lane_instructions = 1e13;
      work.all_reduces = all_reduces;
      work.all_reduce_bytes = bytes;
      const auto phases =
          project_on_gpus(work, has_nvlink ? with_nvlink() : examples::gpu(), host_link, 8);
      for (double Interval::*point : points)
        CHECK(phases.back().end_to_end_s.*point == phases.front().end_to_end_s.*point);
    }
}

TEST_CASE("all-reduces of several runs of a phase add up") {
  Work sum, more;
  sum.all_reduces = 600;
  sum.all_reduce_bytes = 2e9;
  more.all_reduces = 100;
  more.all_reduce_bytes = 1e9;
  add(sum, more);
  CHECK(sum.all_reduces == 700);
  CHECK(sum.all_reduce_bytes == 3e9);
}

TEST_CASE("all-reduces of a slice scale to the unit like everything counted") {
  std::vector<Measurement> rows = divisible(1, 100, 1e6);
  for (Measurement& row : rows)
    if (row.phase == "kernel") row.job_over_slice = 3; // a third of the unit was run
  CHECK(kernel_of(on_gpus(8, rows)).end_to_end_s.likely
        == doctest::Approx(3 * kernel_of(on_gpus(8, divisible(1, 100, 1e6))).end_to_end_s.likely));
}
