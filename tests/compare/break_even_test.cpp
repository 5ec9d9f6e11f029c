#include "sim/compare/break_even.h"
#include "tests/project/examples.h"

#include <doctest/doctest.h>

using namespace breakeven;

namespace {

Priced machine(double usd_per_h, double fixed_s, double unit_s, double units = 10) {
  Priced priced;
  priced.priced = true;
  priced.price_usd_per_h = usd_per_h;
  Projection& projection = priced.projection;
  projection.available = true;
  projection.job_units = units;
  projection.fixed_s.likely = fixed_s;
  projection.worker_unit_s.likely = unit_s;
  projection.end_to_end_s.likely = fixed_s + units * unit_s;
  return priced;
}

/// As price() would leave it.
Priced finished(Priced priced) {
  const LikelyRun run = likely_run(priced, priced.projection.job_units);
  priced.time_to_result_s.likely = run.time_to_result_s;
  priced.cost_usd.likely = run.cost_usd;
  return priced;
}

/// A unit on n workers takes 1 / n of the time and this share of the rest.
void divide(Projection& projection, double serial_share) {
  for (int workers = 2; workers <= projection.workers; ++workers)
    projection.divided_unit_s.push_back((serial_share + (1 - serial_share) / workers)
                                        * projection.worker_unit_s);
}

/// From the definition, over sizes up to `most`; 0 where even the last is not cheaper.
double crossover_by_brute_force(const Priced& baseline, const Priced& candidate, int most) {
  int first = most + 1;
  while (first > 1
         && likely_run(candidate, first - 1).cost_usd < likely_run(baseline, first - 1).cost_usd)
    --first;
  return first > most ? 0 : first;
}

} // namespace

TEST_CASE("without fixed costs the break-even speed-up is the ratio of prices") {
  const Priced baseline = finished(machine(1, 0, 360));
  const Priced candidate = finished(machine(4, 0, 36));
  // Billed by the second: the longest affordable run is 900 s of 3600.
  CHECK(*break_even_speedup(baseline, candidate) == doctest::Approx(4));
  CHECK(*break_even_price_usd_per_h(baseline, candidate) == doctest::Approx(10));
}

TEST_CASE("set-up raises the break-even speed-up, and can put it out of reach") {
  const Priced baseline = finished(machine(1, 0, 360));
  Priced candidate = machine(4, 0, 36);
  candidate.setup_s = 300; // of 900 affordable seconds
  CHECK(*break_even_speedup(baseline, finished(candidate)) == doctest::Approx(6));
  candidate.setup_s = 901;
  CHECK_FALSE(break_even_speedup(baseline, finished(candidate)));
}

TEST_CASE("a cheap machine may be slower and still break even") {
  CHECK(*break_even_speedup(finished(machine(4, 0, 360)), finished(machine(1, 0, 400)))
        == doctest::Approx(0.25));
}

TEST_CASE("a billing step moves the break-even price") {
  Priced candidate = machine(4, 0, 36); // 360 s
  candidate.billing_step_s = 3600;
  CHECK(*break_even_price_usd_per_h(finished(machine(1, 0, 360)), finished(candidate))
        == doctest::Approx(1));
}

TEST_CASE("nothing breaks even without a price, but the candidate's price can be found") {
  const Priced baseline = finished(machine(1, 0, 360));
  Priced unpriced = finished(machine(4, 0, 36));
  unpriced.priced = false;
  CHECK_FALSE(break_even_speedup(baseline, unpriced));
  CHECK_FALSE(crossover_size(baseline, unpriced));
  CHECK(*break_even_price_usd_per_h(baseline, unpriced) == doctest::Approx(10));
  CHECK_FALSE(break_even_price_usd_per_h(unpriced, baseline));
}

TEST_CASE("the crossover is where the fixed cost is earned back") {
  // 1 USD/h x 360 s a unit against 4 USD/h x (600 + 36 n): 360 n > 2400 + 144 n from n = 11.2.
  CHECK(*crossover_size(finished(machine(1, 0, 360)), finished(machine(4, 600, 36))) == 12);
}

TEST_CASE("always cheaper is a crossover of 1, never cheaper is none") {
  CHECK(*crossover_size(finished(machine(1, 10, 360)), finished(machine(1, 5, 36))) == 1);
  CHECK_FALSE(crossover_size(finished(machine(1, 10, 36)), finished(machine(1, 20, 36))));
  CHECK_FALSE(crossover_size(finished(machine(1, 10, 36)), finished(machine(1, 10, 36))));
}

TEST_CASE("a machine that is only cheaper for small jobs has no crossover") {
  CHECK_FALSE(crossover_size(finished(machine(1, 1000, 10)), finished(machine(1, 0, 20))));
}

TEST_CASE("the crossover found by brute force on small sizes equals the search") {
  examples::Random random;
  constexpr int most = 3000;
  int found = 0;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    Priced baseline =
        machine(random.between(1, 4), random.between(0, 100), random.between(100, 200));
    Priced candidate =
        machine(random.between(1, 10), random.between(0, 3000), random.between(5, 80));
    for (Priced* priced : {&baseline, &candidate}) {
      priced->projection.workers = static_cast<int>(random.between(1, 9));
      priced->projection.count = static_cast<int>(random.between(1, 4));
      priced->projection.shared_unit_s.likely = random.between(0, 5);
      if (i % 3 == 0) divide(priced->projection, random.between(0.3, 1));
      priced->billing_step_s = random.between(0, 1) < 0.3 ? 3600 : 1;
      priced->setup_s = random.between(0, 600);
      priced->interruptions_per_h.likely = random.between(0, 0.5);
    }
    const auto crossover = crossover_size(finished(baseline), finished(candidate));
    const double expected = crossover_by_brute_force(baseline, candidate, most);
    // Beyond `most` both may still cross: only sizes well inside can be compared.
    if (expected > 0 && expected < most / 3.0 && crossover && *crossover < most) {
      ++found;
      CHECK(*crossover == expected);
    }
    if (crossover && *crossover < most) CHECK(expected > 0);
  }
  CHECK(found > 100);
}
