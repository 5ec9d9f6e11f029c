#include "tests/report/example_rows.h"
#include "tests/report/support.h"

using namespace breakeven;

TEST_CASE("a memo made from the CSV is the memo made from the rows, byte for byte") {
  const TestFolder folder;
  const auto rows = example::comparisons();
  const auto measured = example::measurements();
  write_results(folder.path(), {{"comparison.csv", comparison_csv(rows)},
                                {"measurements.csv", measurements_csv(measured)},
                                {"phases.csv", phases_csv(example::phases())}});
  const auto original = memo(rows, measured, example::phases());
  const auto replayed = memo(read_comparison(folder.path() / "comparison.csv"),
                             read_measurements(folder.path() / "measurements.csv"),
                             read_phases(folder.path() / "phases.csv", rows));
  REQUIRE(original.size() == 5);
  REQUIRE(replayed.size() == 5);
  for (std::size_t i = 0; i < original.size(); ++i) {
    CAPTURE(original[i].name);
    CHECK(original[i].name == replayed[i].name);
    CHECK((original[i].bytes == replayed[i].bytes));
  }
}

TEST_CASE("the memo has its sections in the order in which a reader decides") {
  const std::string text = file_named(
      memo(example::comparisons(), example::measurements(), example::phases()), "memo.md");
  std::size_t at = 0;
  CHECK(text.rfind("# Crash-test", 0) == 0);
  for (const char* heading :
       {"## Verdict", "## The machines compared", "charts/time.svg", "charts/cost.svg", "## Why,",
        "## Where it breaks even", "## Where the GPU does not help", "charts/phases.svg",
        "## Throughput", "## What was measured here", "## How the times are projected", "## Prices",
        "## What would flip it", "## What is not modelled", "## To reproduce"}) {
    CAPTURE(heading);
    const std::size_t found = text.find(heading);
    REQUIRE(found != std::string::npos);
    CHECK(found > at);
    at = found;
  }
}

TEST_CASE("the memo names every candidate, its evidence, its price's date and what is left out") {
  const std::string text = file_named(
      memo(example::comparisons(), example::measurements(), example::phases()), "memo.md");
  for (const Comparison& row : example::comparisons())
    CHECK(contains(text, row.candidate_instance));
  for (const char* part :
       {"projected", "extrapolated", "measured", "published", "2026-07-20", "porting the code",
        "1 CNY = 0.138 USD, as of 2026-08", "3 of 100 camera rays unequal", "needs 45.0 GiB",
        "never", "implausible", "1.23 million bounce rays", "92 %", "99 % confidence interval",
        "Interruptions of aws:p4de.24xlarge spot", "0123456789abcdef0123", "abcdef0"})
    CHECK(contains(text, part));
}

TEST_CASE("what flips a verdict is said in words, with the value") {
  const std::string text = file_named(
      memo(example::comparisons(), example::measurements(), example::phases()), "memo.md");
  CHECK(contains(text, "at 7.91 USD/h for it instead of 0.526 (15 times as much)"));
  CHECK(contains(text, "at 31 frames a run instead of 240"));
  CHECK(contains(text, "a deadline below"));
}

TEST_CASE("hostile names are only names in Markdown, HTML and charts") {
  auto rows = example::comparisons();
  rows[0].title = rows[0].verdict_reason = rows[0].price_source =
      "<script>alert(1)</script> | **x** [y](javascript:z)\n# next `id` &lt; ![i](j)";
  rows[0].candidate_instance = rows[0].candidate_device =
      "a\"; system(\"touch pwned\"); #`touch pwned`\\ %s ' <b>\n| @ {}";
  rows[0].excluded = "<img src=x onerror=y>; " + rows[0].excluded;
  auto measured = example::measurements();
  measured[0].verification = measured[0].environment.cpu_model = "<script>|\n</pre>";
  auto phases = example::phases();
  for (PhaseTime& phase : phases) {
    if (phase.instance == "aws:g5.xlarge") phase.instance = rows[0].candidate_instance;
    if (phase.phase == "encode") phase.phase = "<script>\"; system(\"touch pwned\"); `x`\n| **y**";
  }
  const auto files = memo(rows, measured, phases);
  const std::string html = file_named(files, "memo.html"), text = file_named(files, "memo.md");
  CHECK_FALSE(contains(html, "<script"));
  CHECK_FALSE(contains(html, "<img"));
  CHECK_FALSE(contains(html, "<b>"));
  CHECK(contains(html, "&lt;script&gt;"));
  CHECK(contains(text, "\\<script\\>alert(1)\\</script\\> \\| \\*\\*x\\*\\* \\[y\\]"));
  CHECK_FALSE(contains(text, " <script"));
  CHECK_FALSE(contains(text, "\n# next"));
  CHECK_FALSE(std::filesystem::exists("pwned"));
}

TEST_CASE("the HTML needs nothing from outside and every chart is in it once") {
  const std::string html = file_named(
      memo(example::comparisons(), example::measurements(), example::phases()), "memo.html");
  CHECK(contains(html, "id=\"time_canvas\""));
  CHECK(contains(html, "id=\"cost_canvas\""));
  CHECK(contains(html, "id=\"phases_canvas\""));
  CHECK_FALSE(contains(html, "src="));
  CHECK_FALSE(contains(html, "<link"));
  CHECK_FALSE(contains(html, "@import"));
  CHECK_FALSE(contains(html, "gnuplot"));
}

TEST_CASE("a study in which nothing has a time or a price still gets a memo") {
  std::vector<Comparison> rows{example::comparisons().back()};
  rows[0].baseline_time_s = rows[0].baseline_time_to_result_s = {};
  rows[0].baseline_cost_usd = {};
  rows[0].baseline_price_usd_per_h = {};
  const auto files = memo(rows, {}, {});
  CHECK(contains(file_named(files, "charts/time.svg"), "No machine has a time"));
  CHECK(contains(file_named(files, "memo.md"), "No answer; stay on aws:c6i.32xlarge for now."));
  CHECK(contains(file_named(files, "memo.md"), "Nothing was measured here."));
  CHECK(file_named(memo({}, {}, {}), "memo.md") == "There are no candidates.\n");
}

TEST_CASE("machine.txt says what is known of the machine and what is not") {
  const std::string text = machine_text(example::measurements());
  CHECK(contains(text, "cpu_model             AMD EPYC 9V74\n"));
  CHECK(contains(text, "governor              unknown\n"));
  CHECK(contains(text, "gpu                   none\n"));
}

TEST_CASE("the memo says which phases stay on the CPU and how far that limits any GPU") {
  const std::string text = file_named(
      memo(example::comparisons(), example::measurements(), example::phases()), "memo.md");
  // The baseline takes 20 + 2 + 0.5 s for a frame; of the GPU's 6.5 s 0.5 s are encoding.
  CHECK(
      contains(text, "| encode | one CPU core | 0.50 s (0.40-0.60) | 8 % | - | projected | cpu |"));
  CHECK(contains(text, "never more than 45 times as fast"));
  CHECK(contains(text, "cold start 0.50 s (0.20-1.5) (assumed), load 3.0 s (2.5-4.0) (projected)"));
}

TEST_CASE(
    "without phases the memo says that they are missing, and without a service asks nothing") {
  auto rows = example::comparisons();
  for (Comparison& row : rows) {
    row.units_per_day = {};
    row.arrivals = "";
    row.turnaround_deadline_s = {};
    row.baseline_throughput = row.candidate_throughput = {};
  }
  const std::string text = file_named(memo(rows, example::measurements(), {}), "memo.md");
  CHECK(contains(text, "not in this result folder"));
  CHECK_FALSE(contains(text, "## Throughput"));
  CHECK_FALSE(contains(text, "phases.svg"));
  CHECK_FALSE(contains(terminal_table(rows, {}, 100), "Throughput"));
}

TEST_CASE("a queue that grows for ever is called unbounded, never given a number") {
  const std::string text = file_named(
      memo(example::comparisons(), example::measurements(), example::phases()), "memo.md");
  CHECK(contains(text, "| 120 % | - | unbounded: arrivals exceed capacity | no |"));
  CHECK(contains(text, "12 min (9.0 min to unbounded) | likely |"));
}
