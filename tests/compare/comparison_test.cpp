#include "sim/compare/comparison.h"
#include "tests/project/examples.h"

#include <doctest/doctest.h>

#include <set>

using namespace breakeven;

namespace {

struct Side {
  Interval seconds;
  double usd_per_h = 1;
  double envelope_max = 100;
};

Priced priced_at(const Scenario& scenario, std::size_t index, const Side& side) {
  Projection projection;
  projection.instance = scenario.targets[index].instance;
  projection.path = index == 0 ? Path::openmp : Path::host;
  projection.device = index == 0 ? "a CPU" : "a GPU";
  projection.evidence = index == 0 ? "measured" : "projected";
  projection.available = true;
  projection.job_units = 10;
  projection.worker_unit_s = projection.per_unit_s = 0.1 * side.seconds;
  projection.kernel_s = projection.end_to_end_s = side.seconds;
  projection.envelope_max = side.envelope_max;
  Scenario one = scenario;
  one.targets = {scenario.targets[index]};
  one.targets[0].price = Money{side.usd_per_h, "USD"};
  return price(one, {projection}, examples::catalog()).front();
}

Scenario two_targets(std::optional<double> deadline_s = {}) {
  Scenario scenario =
      examples::scenario({examples::target("cloud:cpu"), examples::target("cloud:gpu")});
  scenario.job.deadline_s = deadline_s;
  scenario.job.runs_per_month = 20;
  return scenario;
}

Comparison compare_sides(const Side& baseline, const Side& candidate,
                         std::optional<double> deadline_s = {}) {
  const Scenario scenario = two_targets(deadline_s);
  return compare(scenario, examples::measurements(),
                 {priced_at(scenario, 0, baseline), priced_at(scenario, 1, candidate)})
      .front();
}

/// All the way from measurements.
std::vector<Comparison> compare_all(const Scenario& scenario, const std::vector<Measurement>& rows,
                                    const Catalog& catalog) {
  return compare(scenario, rows, price(scenario, project(scenario, rows, catalog), catalog));
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const Side hour_at_1{{3400, 3600, 3800}, 1};

} // namespace

TEST_CASE("equal machines are undecided") {
  const Comparison row = compare_sides(hour_at_1, hour_at_1);
  CHECK(row.verdict == Verdict::undecided);
  CHECK(*row.p_cheaper == 0.5);
  CHECK(row.speedup->likely == doctest::Approx(1));
  CHECK(*row.saving_usd_per_month == doctest::Approx(0));
  CHECK_FALSE(row.crossover_size);
}

TEST_CASE("ten times faster at four times the price is worth moving to") {
  const Comparison row = compare_sides(hour_at_1, {{300, 360, 430}, 4});
  CHECK(row.verdict == Verdict::migrate);
  CHECK(*row.p_cheaper > 0.99);
  CHECK(*row.break_even_speedup == doctest::Approx(4).epsilon(0.01));
  // 1 USD against 0.4 USD, twenty times a month.
  CHECK(*row.saving_usd_per_month == doctest::Approx(12));
  CHECK(row.verdict_reason
        == "cheaper with probability above 0.99; breaks even from a speed-up of 4, likely 10");
  CHECK(row.speedup->low < 10);
  CHECK(row.speedup->high > 10);
}

TEST_CASE("the same speed at four times the price is not") {
  const Comparison row = compare_sides(hour_at_1, {{3400, 3600, 3800}, 4});
  CHECK(row.verdict == Verdict::stay);
  CHECK(*row.p_cheaper < 0.01);
}

TEST_CASE("an interval that spans the break-even leaves the verdict open") {
  const Comparison row = compare_sides(hour_at_1, {{400, 800, 1600}, 4});
  CHECK(row.verdict == Verdict::undecided);
  CHECK(contains(row.verdict_reason, "the costs overlap"));
}

TEST_CASE(
    "a baseline that misses the deadline is left, whatever that costs, and the cost is said") {
  const Comparison row = compare_sides(hour_at_1, {{300, 360, 430}, 40}, 1800);
  CHECK(row.verdict == Verdict::migrate);
  CHECK(*row.p_cheaper < 0.1);
  CHECK(*row.baseline_p_meets_deadline < 0.1);
  CHECK(*row.p_meets_deadline > 0.9);
  CHECK(row.verdict_reason
        == "meets the deadline of 30 min with probability above 0.99, the baseline with below "
           "0.01; a run likely "
           "costs 4.00 USD against 1.00 USD");
}

TEST_CASE("a candidate in doubt of the deadline is never the answer") {
  const Comparison row = compare_sides({{3400, 3600, 3800}, 10}, {{1000, 1800, 2600}, 1}, 2000);
  CHECK(*row.p_cheaper > 0.9);
  CHECK(*row.p_meets_deadline < 0.9);
  CHECK(row.verdict == Verdict::undecided);
  CHECK(contains(row.verdict_reason, "the deadline is in doubt"));
}

TEST_CASE("a cheaper candidate that misses the deadline which the baseline meets is not taken") {
  CHECK(compare_sides({{3400, 3600, 3800}, 10}, {{7000, 7200, 7400}, 1}, 5000).verdict
        == Verdict::stay);
}

TEST_CASE("when both miss the deadline neither is the answer") {
  const Comparison row = compare_sides(hour_at_1, {{300, 360, 430}, 1}, 60);
  CHECK(row.verdict == Verdict::undecided);
  CHECK(contains(row.verdict_reason, "neither is fast enough"));
}

TEST_CASE("a dearer candidate likelier to meet the deadline keeps the question open") {
  const Comparison row = compare_sides({{1000, 1800, 2600}, 1}, {{300, 360, 430}, 40}, 2000);
  CHECK(*row.p_cheaper < 0.1);
  CHECK(row.verdict == Verdict::undecided);
}

TEST_CASE("a speed-up above the machines' ceilings is flagged, never recommended") {
  const Comparison row = compare_sides(hour_at_1, {{30, 36, 43}, 4, 50});
  CHECK(row.implausible);
  CHECK(row.verdict == Verdict::undecided);
  CHECK(contains(row.verdict_reason, "above the 50"));
}

TEST_CASE("a candidate without a price keeps its times, without a time its price") {
  const std::vector<Measurement> rows = examples::measurements();
  Catalog catalog = examples::catalog();
  catalog.offers = {examples::offer("cloud:cpu", 1)};
  const Scenario scenario = two_targets();
  const Comparison unpriced = compare_all(scenario, rows, catalog).front();
  CHECK(unpriced.verdict == Verdict::undecided);
  CHECK(unpriced.candidate_end_to_end_s);
  CHECK(unpriced.speedup);
  CHECK_FALSE(unpriced.candidate_cost_usd);
  CHECK_FALSE(unpriced.p_cheaper);
  CHECK_FALSE(unpriced.price_usd_per_h);
  CHECK(unpriced.break_even_price_usd_per_h); // what it may cost
  CHECK(contains(unpriced.excluded, "no on-demand price is in the catalog"));

  catalog = examples::catalog();
  catalog.gpus.clear();
  const Comparison timeless = compare_all(scenario, rows, catalog).front();
  CHECK(timeless.verdict == Verdict::undecided);
  CHECK_FALSE(timeless.candidate_end_to_end_s);
  CHECK_FALSE(timeless.speedup);
  CHECK(timeless.price_usd_per_h);
  CHECK(timeless.excluded.rfind("its GPU is not in the catalog", 0) == 0);
}

TEST_CASE("a baseline without a time or a price leaves every row undecided, and says so") {
  Scenario scenario = examples::scenario(
      {examples::target("local"), examples::target("cloud:cpu"), examples::target("cloud:gpu")});
  for (const Comparison& row :
       compare_all(scenario, examples::measurements(), examples::catalog())) {
    CHECK(row.verdict == Verdict::undecided);
    CHECK(contains(row.verdict_reason, "the baseline cannot be priced"));
    CHECK_FALSE(row.baseline_cost_usd);
    CHECK(row.speedup); // both absolute times are known
  }
  scenario.targets[0] = examples::target("cloud:none");
  for (const Comparison& row : compare_all(scenario, examples::measurements(), examples::catalog()))
    CHECK(contains(row.verdict_reason, "the baseline has no time"));
}

TEST_CASE("an unverified path gives a row without times, speed-up or cost") {
  std::vector<Measurement> rows = examples::measurements();
  for (Measurement& row : rows)
    if (row.path == Path::host) row.verified = false, row.verification = "images differ";
  const Comparison row = compare_all(two_targets(), rows, examples::catalog()).front();
  CHECK_FALSE(row.verified);
  CHECK(contains(row.verification, "host: images differ"));
  CHECK_FALSE(row.candidate_end_to_end_s);
  CHECK_FALSE(row.candidate_cost_usd);
  CHECK_FALSE(row.speedup);
  CHECK(contains(row.verdict_reason, "not verified"));
}

TEST_CASE("a row answers for the question it was asked, with both times in it") {
  const Comparison row =
      compare_all(two_targets(), examples::measurements(), examples::catalog()).front();
  CHECK(row.study == "example");
  CHECK(row.workload == "counted");
  CHECK(row.unit == "thing");
  CHECK(row.job_units == 10);
  CHECK(row.slice == "1 of 10");
  CHECK(row.stop_reason == "converged");
  CHECK(row.version == "0.0.0");
  CHECK(row.verified);
  CHECK(row.verification == "openmp: agrees; host: agrees");
  CHECK(row.baseline_path == "openmp");
  CHECK(row.baseline_isa == "256-bit SIMD");
  CHECK(row.baseline_threads == 16);
  CHECK(row.candidate_path == "host");
  CHECK(row.candidate_evidence == "projected");
  CHECK_FALSE(row.candidate_in_range);
  CHECK(row.baseline_time_s.likely > 0);
  CHECK(row.candidate_end_to_end_s->likely > 0);
  for (const std::string& line : excluded())
    CHECK(contains(row.excluded, line));
}

TEST_CASE("every candidate is a row, in the scenario's order") {
  const Scenario scenario =
      examples::scenario({examples::target("cloud:cpu"), examples::target("cloud:none"),
                          examples::target("local"), examples::target("cloud:gpu", 3)});
  const auto rows = compare_all(scenario, examples::measurements(), examples::catalog());
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].candidate_instance == "cloud:none");
  CHECK(rows[1].candidate_instance == "local");
  CHECK(rows[2].candidate_count == 3);
}

TEST_CASE("a speed-up is the ratio of whole times, not a mean of ratios") {
  // Two phases, 90 s to 9 s and 10 s to 10 s: 100 / 19 = 5.26, where the ratios' mean is 5.5.
  const Comparison row = compare_sides({{99, 100, 101}, 1}, {{18.8, 19, 19.2}, 1});
  CHECK(row.speedup->likely == doctest::Approx(100.0 / 19));
}

TEST_CASE(
    "a dearer candidate is never likelier to be cheaper, a slower one never likelier in time") {
  double last_cheaper = 1, last_in_time = 1;
  for (double step = 1; step < 30; step *= 1.3) {
    const Comparison dearer = compare_sides(hour_at_1, {{300, 360, 430}, step});
    CHECK(*dearer.p_cheaper <= last_cheaper);
    last_cheaper = *dearer.p_cheaper;
    const Comparison slower = compare_sides(hour_at_1, {step * Interval{300, 360, 430}, 1}, 1800);
    CHECK(*slower.p_meets_deadline <= last_in_time);
    last_in_time = *slower.p_meets_deadline;
  }
}

TEST_CASE("verdicts have names") {
  std::set<std::string> names;
  for (const Verdict verdict : {Verdict::migrate, Verdict::stay, Verdict::undecided})
    names.insert(to_string(verdict));
  CHECK(names == std::set<std::string>{"migrate", "stay", "undecided"});
}
