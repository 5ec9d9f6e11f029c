#include "sim/price/price.h"
#include "tests/project/examples.h"

#include <doctest/doctest.h>

using namespace breakeven;

namespace {

/// Ten units of 360 s on one machine: an hour, known to 10 % either way.
Projection hour(const std::string& instance, int count = 1) {
  Projection projection;
  projection.instance = instance;
  projection.count = count;
  projection.available = true;
  projection.job_units = 10;
  projection.worker_unit_s = projection.per_unit_s = {324, 360, 396};
  projection.end_to_end_s = 10.0 * projection.worker_unit_s;
  return projection;
}

Priced price_one(const Scenario& scenario, const Projection& projection,
                 const Catalog& catalog = examples::catalog()) {
  return price(scenario, {projection}, catalog).front();
}

Scenario scenario_on(const std::string& instance, const std::string& option = "on-demand",
                     int count = 1) {
  Target target = examples::target(instance, count);
  target.option = option;
  return examples::scenario({target});
}

Catalog with_spot(double low, double likely, double high) {
  Catalog catalog = examples::catalog();
  Offer spot = examples::offer("cloud:cpu", 0.3);
  spot.option = "spot";
  spot.interruptions_per_h_low = low;
  spot.interruptions_per_h_likely = likely;
  spot.interruptions_per_h_high = high;
  spot.interruption_source = "made up";
  catalog.offers.push_back(spot);
  return catalog;
}

} // namespace

TEST_CASE("a billing step rounds up, and the minimum is billed even for a second") {
  CHECK(billed_seconds(1, 1, 60) == 60);
  CHECK(billed_seconds(61, 1, 60) == 61);
  CHECK(billed_seconds(61.2, 1, 60) == 62);
  CHECK(billed_seconds(3600, 3600, 0) == 3600);
  CHECK(billed_seconds(3601, 3600, 0) == 7200);
  CHECK(billed_seconds(0.1 + 0.2, 1, 0) == 1);
  CHECK(billed_seconds(3600 * (1 + 1e-15), 3600, 0) == 3600); // rounding noise is not an hour
}

TEST_CASE("workers share whole units, and pay once for what is fixed") {
  CHECK(compute_seconds(5, 10, 7, 1) == 75);
  CHECK(compute_seconds(5, 10, 7, 2) == 45); // four units on the busier one
  CHECK(compute_seconds(5, 10, 7, 100) == 15);
}

TEST_CASE("an hour costs an hour's price, and the interval goes with the time") {
  const Priced priced = price_one(scenario_on("cloud:cpu"), hour("cloud:cpu"));
  CHECK(priced.priced);
  CHECK(priced.cost_usd.likely == doctest::Approx(1));
  CHECK(priced.cost_usd.low == doctest::Approx(0.9));
  CHECK(priced.cost_usd.high == doctest::Approx(1.1));
  CHECK(priced.price_source == "made up");
  CHECK(priced.price_as_of == "2026-01-01");
}

TEST_CASE("set-up, ingest and download are waited for and paid") {
  Scenario scenario = scenario_on("cloud:cpu");
  scenario.job.setup_s = 300;
  scenario.job.input_bytes = 150e9;
  scenario.job.input_change = 0.1;  // 15 GB over 10 Gbit/s x 0.6 = 0.75 GB/s: 20 s
  scenario.job.output_bytes = 30e9; // 40 s
  const Priced priced = price_one(scenario, hour("cloud:cpu"));
  CHECK(priced.setup_s == 300);
  CHECK(priced.ingest_s == doctest::Approx(20));
  CHECK(priced.download_s == doctest::Approx(40));
  CHECK(priced.time_to_result_s.likely == doctest::Approx(3960));
  CHECK(priced.cost_usd.likely == doctest::Approx(1.1));
  // A share of 0.3 doubles, a share of 0.9 takes two thirds: 60 s become 120 s and 40 s.
  CHECK(priced.time_to_result_s.high == doctest::Approx(3960 * 1.1 + 300 - 330 + 120 - 66));
  CHECK(priced.time_to_result_s.low == doctest::Approx(3240 + 300 + 40));
}

TEST_CASE("two machines each ingest all, download half and are both billed") {
  Scenario scenario = scenario_on("cloud:cpu", "on-demand", 2);
  scenario.job.input_bytes = 15e9;
  scenario.job.output_bytes = 30e9;
  Projection half = hour("cloud:cpu", 2);
  half.end_to_end_s = 0.5 * half.end_to_end_s;
  const Priced priced = price_one(scenario, half);
  CHECK(priced.time_to_result_s.likely == doctest::Approx(1800 + 20 + 20));
  CHECK(priced.cost_usd.likely == doctest::Approx(2 * 1840.0 / 3600));
}

TEST_CASE("an unknown network leaves transfers out and says so") {
  Catalog catalog = examples::catalog();
  for (Instance& instance : catalog.instances)
    instance.network_gbit_per_s = 0;
  Scenario scenario = scenario_on("cloud:cpu");
  scenario.job.input_bytes = 15e9;
  const Priced priced = price_one(scenario, hour("cloud:cpu"), catalog);
  CHECK(priced.time_to_result_s.likely == doctest::Approx(3600));
  CHECK(priced.note == "network unknown: ingest and download are left out");
}

TEST_CASE("a spot interruption adds set-up, what is paid once and half a frame") {
  Scenario scenario = scenario_on("cloud:cpu", "spot");
  scenario.job.setup_s = 300;
  Projection projection = hour("cloud:cpu");
  projection.fixed_s = {30, 40, 50};
  // Two interruptions in the hour: 2 x (300 + 40 + 180) = 1040 s.
  const Priced priced = price_one(scenario, projection, with_spot(0.5, 2, 4));
  CHECK(priced.rework_s == doctest::Approx(1040));
  CHECK(priced.time_to_result_s.likely == doctest::Approx(300 + 3600 + 1040));
  CHECK(priced.cost_usd.likely == doctest::Approx(4940 * 0.3 / 3600));
  // Low: half an interruption in 0.9 h, 0.45 x (300 + 30 + 162); high: 4.4 x (300 + 50 + 198).
  CHECK(priced.time_to_result_s.low == doctest::Approx(300 + 3240 + 0.45 * 492));
  CHECK(priced.time_to_result_s.high == doctest::Approx(300 + 3960 + 4.4 * 548));
  CHECK(priced.interruption_source == "made up");
}

TEST_CASE("an interrupted machine of several GPUs loses half a unit on each") {
  Projection projection = hour("cloud:cpu");
  projection.workers = 4;
  projection.worker_unit_s = {80, 100, 120};
  projection.shared_unit_s = {8, 10, 12};
  // In flight: 100 + 4 x 10 = 140 s, half of it lost; one interruption in the hour.
  CHECK(price_one(scenario_on("cloud:cpu", "spot"), projection, with_spot(0.5, 1, 2)).rework_s
        == doctest::Approx(70));
}

TEST_CASE("an interrupted machine whose GPUs share one unit loses half of its shorter time") {
  Projection projection = hour("cloud:cpu");
  projection.job_units = 1;
  projection.workers = 2;
  projection.worker_unit_s = {80, 100, 120};
  projection.divided_unit_s = {{50, 60, 70}};
  // One interruption in the hour costs half of 60 s.
  CHECK(price_one(scenario_on("cloud:cpu", "spot"), projection, with_spot(0.5, 1, 2)).rework_s
        == doctest::Approx(30));
}

TEST_CASE("an on-demand machine is never interrupted, and spot without a rate says so") {
  CHECK(price_one(scenario_on("cloud:cpu"), hour("cloud:cpu"), with_spot(1, 2, 3)).rework_s == 0);
  Scenario scenario = scenario_on("cloud:gpu", "spot");
  scenario.targets[0].price = Money{1.5, "USD"};
  const Priced priced = price_one(scenario, hour("cloud:gpu"));
  CHECK(priced.priced);
  CHECK(priced.rework_s == 0);
  CHECK(priced.note.find("no interruption rate is known") != std::string::npos);
}

TEST_CASE("the scenario's own price wins over the catalog's, and is converted at the dated rate") {
  Scenario scenario = scenario_on("cloud:cpu");
  scenario.targets[0].price = Money{10, "CNY"};
  scenario.targets[0].line = 12;
  const Priced priced = price_one(scenario, hour("cloud:cpu"));
  CHECK(priced.price_usd_per_h == doctest::Approx(1.4));
  CHECK(priced.price_original_per_h == 10);
  CHECK(priced.currency == "CNY");
  CHECK(priced.rate_as_of == "2026-01-02");
  CHECK(priced.rate_source == "made up");
  CHECK(priced.price_source == "the scenario, example.toml:12");
  CHECK(priced.cost_usd.likely == doctest::Approx(1.4));
}

TEST_CASE("this machine has no price until one is given, and needs no set-up or transfers") {
  Scenario scenario = scenario_on("local");
  scenario.job.setup_s = 300;
  scenario.job.input_bytes = 1e12;
  const Priced free = price_one(scenario, hour("local"));
  CHECK_FALSE(free.priced);
  CHECK(free.cost_usd.likely == 0);
  CHECK(free.note == "this machine has no price until its target gives one");
  CHECK(free.time_to_result_s.likely == doctest::Approx(3600));
  scenario.targets[0].price = Money{0.5, "USD"};
  CHECK(price_one(scenario, hour("local")).cost_usd.likely == doctest::Approx(0.5));
}

TEST_CASE("a machine without an offer and one without a time stay as rows") {
  Catalog catalog = examples::catalog();
  catalog.offers.clear();
  const Priced unpriced = price_one(scenario_on("cloud:gpu"), hour("cloud:gpu"), catalog);
  CHECK_FALSE(unpriced.priced);
  CHECK(unpriced.note == "no on-demand price is in the catalog");
  CHECK(unpriced.time_to_result_s.likely == doctest::Approx(3600));
  Projection gone = hour("cloud:gpu");
  gone.available = false;
  const Priced timeless = price_one(scenario_on("cloud:gpu"), gone);
  CHECK(timeless.priced); // the price is known
  CHECK(timeless.time_to_result_s.likely == 0);
  CHECK(timeless.cost_usd.likely == 0);
}

TEST_CASE("the likely run at the job's own size is the likely point") {
  Scenario scenario = scenario_on("cloud:cpu", "spot");
  scenario.job.setup_s = 100;
  scenario.job.input_bytes = 15e9;
  scenario.job.output_bytes = 30e9;
  Projection projection = hour("cloud:cpu");
  projection.fixed_s = {1, 2, 3};
  projection.end_to_end_s = projection.end_to_end_s + projection.fixed_s;
  const Priced priced = price_one(scenario, projection, with_spot(1, 2, 3));
  const LikelyRun run = likely_run(priced, 10);
  CHECK(run.time_to_result_s == doctest::Approx(priced.time_to_result_s.likely));
  CHECK(run.cost_usd == doctest::Approx(priced.cost_usd.likely));
  CHECK(run.rework_s == doctest::Approx(priced.rework_s));
}

TEST_CASE("more units, slower computing and dearer machines never cost less") {
  examples::Random random;
  for (int i = 0; i < 500; ++i) {
    CAPTURE(i);
    Scenario scenario = scenario_on("cloud:cpu", "spot");
    scenario.job.setup_s = random.scale(1, 1000);
    scenario.job.output_bytes = random.scale(1, 1e12);
    Catalog catalog = with_spot(0.1, random.between(0.1, 1), 1);
    catalog.instances[0].billing_step_s = static_cast<int>(random.scale(1, 3600));
    const Priced priced = price_one(scenario, hour("cloud:cpu"), catalog);
    const double units = std::floor(random.scale(1, 1e6)), scale = random.scale(0.01, 10);
    const double cost = likely_run(priced, units, scale).cost_usd;
    CHECK(likely_run(priced, units + 1, scale).cost_usd >= cost);
    CHECK(likely_run(priced, units, scale * 1.1).cost_usd >= cost);
    CHECK(priced.cost_usd.low <= priced.cost_usd.likely);
    CHECK(priced.cost_usd.likely <= priced.cost_usd.high);
  }
}

TEST_CASE("what the price leaves out is listed") {
  CHECK(excluded().size() >= 10);
  for (const std::string& line : excluded())
    CHECK(line.find(';') == std::string::npos); // rows join them with it
}
