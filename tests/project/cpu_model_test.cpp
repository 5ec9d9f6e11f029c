#include "sim/project/cpu_model.h"
#include "tests/project/examples.h"

#include <doctest/doctest.h>

using namespace breakeven;

namespace {

const Interval two_percent{0.98, 1, 1.02};

double width(const Interval& interval) { return interval.high / interval.low; }

CpuMachine local() { return local_machine(examples::environment(), 8); }

CpuMachine machine(int cores) {
  const Cpu cpu = examples::cpu();
  return instance_machine(examples::cpu_instance(cores), &cpu);
}

Interval seconds_on(const CpuMachine& target, Scaling scaling = Scaling::parallel,
                    double dram_bytes = 0) {
  return project_on_cpu(100, two_percent, scaling, dram_bytes, local(), target).seconds;
}

} // namespace

TEST_CASE("an equal machine takes equal time") {
  CHECK(seconds_on(machine(4)).likely == doctest::Approx(100));
}

TEST_CASE("twice the cores take a little more than half the time") {
  // Contention 0.0017, coherency 1e-6. Four cores: 4 / (1 + 0.0051 + 0.000012) = 3.97964;
  // eight: 8 / (1 + 0.0119 + 0.000056) = 7.90548. 100 x 3.97964 / 7.90548 = 50.3403.
  CHECK(seconds_on(machine(8)).likely == doctest::Approx(50.3403).epsilon(1e-5));
}

TEST_CASE("sixty-four cores keep nine tenths of linear, as the reference expects") {
  CHECK(relative_throughput(64, 64, 0.0017, 1.25) / 64 == doctest::Approx(0.9).epsilon(0.01));
}

TEST_CASE(
    "a second thread per core gives what the published pairs show, and no more than two count") {
  CHECK(relative_throughput(1, 2, 0, 1.25) == doctest::Approx(1.25));
  CHECK(relative_throughput(1, 8, 0, 1.25) == doctest::Approx(1.25));
  CHECK(relative_throughput(4, 2, 0, 1.25) == doctest::Approx(relative_throughput(2, 2, 0, 1.25)));
}

TEST_CASE("a serial phase cares about the clock only") {
  Cpu fast = examples::cpu();
  fast.all_core_ghz = 4; // against 3 here: 75 s
  CHECK(seconds_on(instance_machine(examples::cpu_instance(32), &fast), Scaling::serial).likely
        == doctest::Approx(75));
}

TEST_CASE("memory bandwidth is a floor under the time") {
  // 8 of 32 cores have 50 of 200 GB/s; 4.5e12 bytes at 0.9 of that take 100 s.
  CHECK(seconds_on(machine(8), Scaling::parallel, 4.5e12).likely == doctest::Approx(100));
  CHECK(project_on_cpu(100, two_percent, Scaling::parallel, 4.5e12, local(), machine(8)).bound_by
        == "dram");
}

TEST_CASE("the interval widens where the clock is unknown") {
  Environment no_clock = examples::environment();
  no_clock.clock_ghz = 0;
  const Interval blind =
      project_on_cpu(100, two_percent, Scaling::parallel, 0, local_machine(no_clock, 8), machine(8))
          .seconds;
  CHECK(width(blind) > width(seconds_on(machine(8))));
}

TEST_CASE("the interval widens for another CPU model, and where cores may be threads") {
  CpuMachine other = machine(8);
  other.model = "Other";
  CHECK(width(seconds_on(other)) > width(seconds_on(machine(8))));
  Environment hidden = examples::environment();
  hidden.physical_cores = 8;
  const CpuMachine may_be_threads = local_machine(hidden, 8);
  const CpuMachine whole = local_machine(examples::environment(), 8);
  CHECK(may_be_threads.cores_may_be_threads);
  CHECK_FALSE(whole.cores_may_be_threads);
  const auto from = [&](const CpuMachine& here, Scaling scaling) {
    return width(project_on_cpu(100, two_percent, scaling, 0, here, machine(8)).seconds);
  };
  CHECK(from(may_be_threads, Scaling::parallel) > from(whole, Scaling::parallel));
  CHECK(from(may_be_threads, Scaling::serial) == doctest::Approx(from(whole, Scaling::serial)));
}

TEST_CASE("every CPU projection has an interval, and more cores never take longer") {
  examples::Random random;
  for (int i = 0; i < 500; ++i) {
    CAPTURE(i);
    const int cores = static_cast<int>(random.scale(1, 96));
    const double bytes = random.scale(1, 1e13);
    const Scaling scaling = random.between(0, 1) < 0.5 ? Scaling::serial : Scaling::parallel;
    const Interval fewer = seconds_on(machine(cores), scaling, bytes);
    const Interval more = seconds_on(machine(cores + 1), scaling, bytes);
    REQUIRE(is_projection(fewer));
    CHECK(more.likely <= fewer.likely * (1 + 1e-12));
  }
}

TEST_CASE("peak arithmetic is lanes x two multiply-adds x two operations x cores x clock") {
  // 256 / 32 x 2 x 2 x 8 cores x 3 GHz = 768 Gflop/s.
  CHECK(peak_gflops(machine(8)) == doctest::Approx(768));
}
