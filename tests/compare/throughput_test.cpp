#include "sim/compare/comparison.h"
#include "sim/compare/phase_times.h"
#include "sim/compare/throughput.h"
#include "tests/project/examples.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace breakeven;

namespace {

constexpr double day_s = 86400;

Pipeline one_gpu(double seconds) { return {{{Station::gpu, seconds}}, 1, 1}; }

double mean(const std::vector<double>& sample) {
  return std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
}

double share_at_most(const std::vector<double>& sample, double limit) {
  return static_cast<double>(std::count_if(sample.begin(), sample.end(),
                                           [&](double value) { return value <= limit; }))
         / static_cast<double>(sample.size());
}

/// Poisson arrivals at `utilisation` of a server that takes one second.
std::vector<double> poisson(double utilisation, std::size_t count) {
  return arrival_times_s(Arrivals::poisson, utilisation * day_s, 1, count);
}

PhaseProjection phase(const std::string& name, Processor processor, Scaling scaling,
                      const Interval& seconds) {
  PhaseProjection phase;
  phase.phase = name;
  phase.processor = processor;
  phase.scaling = scaling;
  phase.alone_s = phase.end_to_end_s = phase.kernel_s = seconds;
  return phase;
}

Interval about(double seconds) { return {0.9 * seconds, seconds, 1.1 * seconds}; }

/// Decode on one of four cores, segment on one of two GPUs, export on a core, load once a run.
Projection gpu_machine() {
  Projection projection;
  projection.instance = "cloud:gpu";
  projection.path = Path::host;
  projection.available = true;
  projection.cores = 4;
  projection.workers = 2;
  projection.phases = {phase("load", Processor::cpu, Scaling::serial, about(60)),
                       phase("decode", Processor::cpu, Scaling::serial, about(10)),
                       phase("segment", Processor::gpu, Scaling::parallel, about(8)),
                       phase("export", Processor::cpu, Scaling::serial, about(2))};
  projection.phases[0].repeats = Repeats::per_job;
  return projection;
}

Job service(double units_per_day, Arrivals arrivals = Arrivals::poisson) {
  Job job;
  job.units_per_day = units_per_day;
  job.arrivals = arrivals;
  return job;
}

} // namespace

TEST_CASE("a steady service gives each unit one GPU, however fast it would be alone on several") {
  const Projection whole = gpu_machine();
  Projection divided = whole;
  divided.phases[2].gpus = 2;
  divided.phases[2].on_one_gpu_s = divided.phases[2].alone_s;
  divided.phases[2].alone_s = about(5);
  for (double Interval::*point : {&Interval::low, &Interval::likely, &Interval::high}) {
    const Pipeline expected = pipeline_of(whole, point), found = pipeline_of(divided, point);
    REQUIRE(found.steps.size() == expected.steps.size());
    for (std::size_t i = 0; i < found.steps.size(); ++i)
      CHECK(found.steps[i].seconds == expected.steps[i].seconds);
  }
  const Job job = service(10'000);
  CHECK(throughput_of(job, divided).bottleneck == throughput_of(job, whole).bottleneck);
  CHECK(throughput_of(job, divided).capacity_units_per_day->likely
        == throughput_of(job, whole).capacity_units_per_day->likely);
}

TEST_CASE("evenly spaced units below capacity never wait (D/D/1)") {
  const auto arrivals = arrival_times_s(Arrivals::even, 0.999 * day_s, 1, 1000);
  for (const double turnaround : turnaround_s(one_gpu(1), arrivals))
    CHECK(turnaround == doctest::Approx(1));
}

TEST_CASE("evenly spaced units above capacity wait for ever longer, by the difference each") {
  // One every 0.5 s, 1 s each: the n-th waits n / 2 seconds.
  const auto turnaround =
      turnaround_s(one_gpu(1), arrival_times_s(Arrivals::even, 2 * day_s, 1, 500));
  for (std::size_t i = 0; i < turnaround.size(); ++i)
    CHECK(turnaround[i] == doctest::Approx(1 + 0.5 * static_cast<double>(i)));
}

TEST_CASE("the mean wait of M/D/1 is Pollaczek and Khinchine's") {
  for (const double utilisation : {0.3, 0.6, 0.9}) {
    CAPTURE(utilisation);
    const double wait = mean(turnaround_s(one_gpu(1), poisson(utilisation, 400'000))) - 1;
    CHECK(wait == doctest::Approx(utilisation / (2 * (1 - utilisation))).epsilon(0.05));
  }
}

TEST_CASE("the distribution of M/D/1's wait is Erlang's") {
  // P(W <= t) = (1 - r) sum over k <= t of (r (k - t))^k / k! exp(-r (k - t)), for a service of 1
  // s.
  const double r = 0.7;
  const auto turnaround = turnaround_s(one_gpu(1), poisson(r, 400'000));
  for (const double t : {0.0, 0.5, 1.0, 2.5, 4.0, 7.0}) {
    CAPTURE(t);
    double sum = 0, factorial = 1;
    for (int k = 0; k <= t; ++k) {
      factorial *= k > 0 ? k : 1;
      sum += std::pow(r * (k - t), k) / factorial * std::exp(-r * (k - t));
    }
    CHECK(share_at_most(turnaround, 1 + t + 1e-6) == doctest::Approx((1 - r) * sum).epsilon(0.01));
  }
}

TEST_CASE("several servers of one queue wait as M/D/c does (Cosmetatos 1975)") {
  for (const int servers : {2, 4, 8}) {
    CAPTURE(servers);
    const double r = 0.8, load = r * servers;
    double term = 1, sum = 1; // Erlang's C
    for (int k = 1; k < servers; ++k)
      sum += term *= load / k;
    term *= load / servers / (1 - r);
    const double wait_mmc = term / (sum + term) / (servers * (1 - r));
    const double correction =
        1 + (1 - r) * (servers - 1) * (std::sqrt(4 + 5.0 * servers) - 2) / (16 * r * servers);
    Pipeline pipeline = one_gpu(1);
    pipeline.gpus = servers;
    const auto arrivals = arrival_times_s(Arrivals::poisson, load * day_s, 1, 400'000);
    CHECK(mean(turnaround_s(pipeline, arrivals)) - 1
          == doctest::Approx(wait_mmc / 2 * correction).epsilon(0.05));
  }
}

TEST_CASE("a line of constant servers keeps a unit as long as the slowest alone, plus the others") {
  // Friedman (1965): the order does not matter, and only the slowest makes anybody wait.
  const auto arrivals = poisson(0.85, 5000);
  const auto slowest = turnaround_s(one_gpu(1), arrivals);
  Pipeline fast_first{{{Station::core, 0.4}, {Station::gpu, 1}}, 1, 1}, fast_last = fast_first;
  std::swap(fast_last.steps[0], fast_last.steps[1]);
  for (const Pipeline& line : {fast_first, fast_last}) {
    const auto turnaround = turnaround_s(line, arrivals);
    for (std::size_t i = 0; i < turnaround.size(); ++i)
      CHECK(turnaround[i] == doctest::Approx(slowest[i] + 0.4));
  }
}

TEST_CASE("CPU phases share the cores: a batch takes what all core-seconds together need") {
  // 2 s on one of 4 cores and 3 s on all of them: 3.5 s of the machine each.
  const Pipeline pipeline{{{Station::core, 2}, {Station::machine, 3}}, 4, 1};
  CHECK(occupancy_of(pipeline).cpu_s == doctest::Approx(3.5));
  CHECK(occupancy_of(pipeline).gpu_s == 0);
  const auto turnaround = turnaround_s(pipeline, std::vector<double>(1000, 0));
  CHECK(*std::max_element(turnaround.begin(), turnaround.end())
        == doctest::Approx(1000 * 3.5).epsilon(0.001));
  CHECK(turnaround_s(pipeline, {0})[0] == doctest::Approx(5));
}

TEST_CASE("on one core nothing overlaps") {
  const Pipeline pipeline{{{Station::core, 2}, {Station::machine, 3}, {Station::core, 1}}, 1, 1};
  const auto turnaround = turnaround_s(pipeline, std::vector<double>(100, 0));
  CHECK(*std::max_element(turnaround.begin(), turnaround.end()) == doctest::Approx(600));
}

TEST_CASE("the CPU works on the next unit while the GPU has this one") {
  const Pipeline pipeline{{{Station::core, 5}, {Station::gpu, 5}}, 1, 1};
  const auto turnaround = turnaround_s(pipeline, std::vector<double>(100, 0));
  CHECK(*std::max_element(turnaround.begin(), turnaround.end()) == doctest::Approx(505));
}

TEST_CASE("a batch comes out at the pace of the bottleneck, whatever the stations") {
  examples::Random random;
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    Pipeline pipeline;
    pipeline.cores = 1 + static_cast<int>(random.between(0, 8));
    pipeline.gpus = 1 + static_cast<int>(random.between(0, 4));
    for (int i = 0; i < 4; ++i)
      pipeline.steps.push_back(
          {static_cast<Station>(static_cast<int>(random.between(0, 3))), random.scale(0.1, 10)});
    const Occupancy occupied = occupancy_of(pipeline);
    const double bottleneck = std::max(occupied.cpu_s, occupied.gpu_s);
    const auto turnaround = turnaround_s(pipeline, std::vector<double>(3000, 0));
    const double makespan = *std::max_element(turnaround.begin(), turnaround.end());
    CHECK(makespan >= 3000 * bottleneck * (1 - 1e-9));
    CHECK(*std::min_element(turnaround.begin(), turnaround.end())
          >= alone_s(pipeline) * (1 - 1e-9));
    // The CPU serves one core's phases first, so it can leave the GPUs idle at one end of a batch,
    // never for longer than a whole batch of the other station.
    CHECK(makespan <= 3000 * (occupied.cpu_s + occupied.gpu_s) + 2 * alone_s(pipeline));
  }
}

TEST_CASE("every profile brings the day's units, in order, and the same ones every time") {
  for (const Arrivals arrivals :
       {Arrivals::even, Arrivals::poisson, Arrivals::working_hours, Arrivals::night_batch}) {
    CAPTURE(to_string(arrivals));
    const auto times = arrival_times_s(arrivals, 100, 1, 40'000);
    CHECK(std::is_sorted(times.begin(), times.end()));
    CHECK(times.back() == doctest::Approx(400 * day_s).epsilon(0.02));
    CHECK((arrival_times_s(arrivals, 100, 1, 40'000) == times));
    // Dealt out to four machines, each gets a quarter.
    CHECK(arrival_times_s(arrivals, 100, 4, 10'000).back()
          == doctest::Approx(400 * day_s).epsilon(0.02));
  }
}

TEST_CASE("working hours bring 80 % of the units within ten hours, a night batch all at once") {
  std::vector<double> hours;
  for (const double time : arrival_times_s(Arrivals::working_hours, 100, 1, 40'000))
    hours.push_back(std::fmod(time, day_s) / 3600);
  CHECK(share_at_most(hours, 18) - share_at_most(hours, 8) == doctest::Approx(0.8).epsilon(0.02));
  CHECK(share_at_most(hours, 4) == doctest::Approx(0.2 * 4 / 14).epsilon(0.1));
  const auto batches = arrival_times_s(Arrivals::night_batch, 2.5, 1, 10);
  CHECK(std::count(batches.begin(), batches.end(), 0.0) == 3);
  CHECK(std::count(batches.begin(), batches.end(), day_s) == 2);
}

TEST_CASE("capacity is the slowest station's, its interval the times'") {
  const Throughput throughput = throughput_of(service(1000), gpu_machine());
  // GPUs: 8 / 2 = 4 s; cores: 12 / 4 = 3 s.
  CHECK(throughput.capacity_units_per_day->likely == doctest::Approx(day_s / 4));
  CHECK(throughput.capacity_units_per_day->low == doctest::Approx(day_s / 4.4));
  CHECK(throughput.capacity_units_per_day->high == doctest::Approx(day_s / 3.6));
  CHECK(throughput.bottleneck == "gpu: segment");
  CHECK(*throughput.utilisation == doctest::Approx(1000 * 4 / day_s));
  CHECK(*throughput.capacity_without_gpu_time == doctest::Approx(day_s / 3));
  CHECK(throughput.turnaround == "bounded");
  CHECK(*throughput.turnaround_p50_s == doctest::Approx(20));
  CHECK(*throughput.turnaround_p95_low_s < *throughput.turnaround_p95_s);
  CHECK(*throughput.turnaround_p95_s < *throughput.turnaround_p95_high_s);
}

TEST_CASE("several machines take as many times the units, each as fast as one") {
  Projection machines = gpu_machine();
  const Throughput one = throughput_of(service(10'000, Arrivals::even), machines);
  machines.count = 3;
  const Throughput three = throughput_of(service(30'000, Arrivals::even), machines);
  CHECK(three.capacity_units_per_day->likely
        == doctest::Approx(3 * one.capacity_units_per_day->likely));
  CHECK(*three.utilisation == doctest::Approx(*one.utilisation));
  CHECK(*three.turnaround_p95_s == doctest::Approx(*one.turnaround_p95_s));
}

TEST_CASE("at or above capacity the turnaround is called unbounded and has no number") {
  for (const double units : {day_s / 4, 1e6}) {
    const Throughput throughput = throughput_of(service(units), gpu_machine());
    CHECK(*throughput.utilisation >= 1);
    CHECK(throughput.turnaround == "unbounded: arrivals exceed capacity");
    CHECK_FALSE(throughput.turnaround_p50_s);
    CHECK_FALSE(throughput.turnaround_p95_s);
    CHECK_FALSE(throughput.turnaround_p95_high_s);
  }
  // Between the likely and the slow capacity only the slow case grows for ever.
  const Throughput between = throughput_of(service(0.95 * day_s / 4), gpu_machine());
  CHECK(between.turnaround == "bounded");
  CHECK_FALSE(between.turnaround_p95_high_s);
}

TEST_CASE("more arrivals never make the turnaround shorter") {
  double last = 0;
  for (const double share : {0.1, 0.4, 0.7, 0.9, 0.97}) {
    const Throughput throughput = throughput_of(service(share * day_s / 4), gpu_machine());
    CHECK(*throughput.turnaround_p95_s >= last);
    last = *throughput.turnaround_p95_s;
  }
}

TEST_CASE("a faster GPU moves the bottleneck to the CPU and helps no further") {
  Projection machine = gpu_machine();
  machine.phases[2].alone_s = about(0.001);
  const Throughput throughput = throughput_of(service(1000), machine);
  CHECK(throughput.capacity_units_per_day->likely == doctest::Approx(day_s / 3));
  CHECK(throughput.bottleneck == "cpu: decode");
  CHECK(floor_s(machine)->likely == doctest::Approx(12)); // decode and export, not load
  CHECK(floor_s(machine)->low == doctest::Approx(10.8));
  machine.path = Path::openmp;
  CHECK_FALSE(floor_s(machine));
}

TEST_CASE("without units per day or a time there is no throughput, and the floor stays") {
  CHECK_FALSE(throughput_of(Job{}, gpu_machine()).capacity_units_per_day);
  CHECK(throughput_of(Job{}, gpu_machine()).turnaround == "");
  Projection machine = gpu_machine();
  machine.available = false;
  CHECK_FALSE(throughput_of(service(10), machine).capacity_units_per_day);
  CHECK_FALSE(floor_s(machine));
}

TEST_CASE("a candidate that cannot take what arrives is not migrated to") {
  Scenario scenario =
      examples::scenario({examples::target("cloud:cpu"), examples::target("cloud:gpu")});
  const auto rows = examples::measurements();
  const auto catalog = examples::catalog();
  const auto compared = [&] {
    return compare(scenario, rows, price(scenario, project(scenario, rows, catalog), catalog))
        .front();
  };
  scenario.targets[1].price = Money{0.01, "USD"};
  const Comparison before = compared();
  REQUIRE(before.verdict == Verdict::migrate);
  CHECK(before.candidate_floor_s->likely > 0);
  CHECK_FALSE(before.candidate_throughput.capacity_units_per_day);

  scenario.job.units_per_day = 10;
  CHECK(compared().verdict == Verdict::migrate);
  CHECK(compared().baseline_throughput.turnaround == "bounded");
  scenario.job.turnaround_deadline_s = 0.001;
  const Comparison late = compared();
  CHECK(late.verdict == Verdict::undecided);
  CHECK(late.verdict_reason.find("its turnaround of") != std::string::npos);
  scenario.job.turnaround_deadline_s = {};
  scenario.job.units_per_day = 1e6;
  const Comparison flooded = compared();
  CHECK(flooded.verdict == Verdict::undecided);
  CHECK(flooded.verdict_reason.rfind("not enough for the steady service: 1e+06 arrive a day", 0)
        == 0);
}

TEST_CASE("phase times are the projection's, target by target, and name what is assumed") {
  const Scenario scenario =
      examples::scenario({examples::target("cloud:cpu"), examples::target("cloud:none"),
                          examples::target("cloud:gpu")});
  const auto rows = examples::measurements();
  const auto catalog = examples::catalog();
  const auto priced = price(scenario, project(scenario, rows, catalog), catalog);
  const auto times = phase_times(scenario, rows, priced);
  REQUIRE(times.size() == 3 + 4);
  CHECK(times[0].is_baseline);
  CHECK(times[0].phase == "load");
  CHECK(times[0].gpus == 0);
  CHECK(times[0].cores == 8);
  CHECK(times[3].phase == "cold start");
  CHECK(times[3].evidence == "assumed");
  CHECK(times[4].evidence == "projected");
  CHECK(times[5].gpus == 1);
  CHECK_FALSE(times[5].is_baseline);
  double sum = 0;
  for (const PhaseTime& time : times)
    sum += time.is_baseline ? time.job_s.likely : 0;
  CHECK(sum == doctest::Approx(priced[0].projection.end_to_end_s.likely));
}
