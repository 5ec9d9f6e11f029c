#include "sim/errors.h"
#include "sim/report/format.h"
#include "sim/report/sweep_chart.h"
#include "tests/report/example_rows.h"
#include "tests/report/support.h"

#include <nlohmann/json.hpp>

#include <random>
#include <sstream>

using namespace breakeven;

namespace {

/// A candidate against a baseline, times with a factor 2 around each likely value and costs in
/// proportion to them.
Comparison compared(const example::Machine& machine, double baseline_s, double baseline_usd_per_h) {
  const auto doubled = [](double likely) { return Interval{likely / 2, likely, likely * 2}; };
  Comparison row = example::projected(machine);
  row.deadline_s = row.p_meets_deadline = row.baseline_p_meets_deadline = {};
  row.units_per_day = row.turnaround_deadline_s = {};
  row.arrivals = "";
  row.baseline_throughput = row.candidate_throughput = {};
  row.baseline_time_s = row.baseline_time_to_result_s = doubled(baseline_s);
  row.baseline_cost_usd = (baseline_usd_per_h / 3600) * row.baseline_time_s;
  row.candidate_kernel_s = row.candidate_end_to_end_s = row.candidate_time_to_result_s =
      doubled(machine.compute_s);
  row.candidate_cost_usd = (machine.usd_per_h / 3600) * *row.candidate_end_to_end_s;
  row.speedup = Interval{baseline_s / machine.compute_s / 2, baseline_s / machine.compute_s,
                         baseline_s / machine.compute_s * 2};
  return row;
}

Comparison without_figures(Comparison row, const std::string& reason) {
  row.candidate_kernel_s = row.candidate_end_to_end_s = row.candidate_time_to_result_s =
      row.candidate_cost_usd = row.speedup = row.candidate_floor_s = {};
  row.candidate_evidence = "";
  row.candidate_cold_s = row.setup_s = row.ingest_s = row.compute_s = row.rework_s =
      row.download_s = row.p_cheaper = row.saving_usd_per_month = {};
  row.verdict = Verdict::undecided;
  row.verdict_reason = "the candidate has no time: " + reason;
  row.excluded = reason + "; " + std::string(example::everyone_leaves_out);
  return row;
}

/// A baseline that takes 1 s for 10,000 rows, and ten times as long for ten times as many. The A100
/// takes 10 s up to 1,000,000 rows, then 100 s, at 8 times the price an hour; the T4 three times
/// as long as the baseline plus 0.5 s, at a fifth of the price, and has no memory for the last
/// size.
std::vector<SizeRow> example_sweep() {
  using enum Verdict;
  std::vector<SizeRow> rows;
  const std::pair<const char*, double> sizes[] = {
      {"10_000", 1e4}, {"100_000", 1e5}, {"1_000_000", 1e6}, {"10_000_000", 1e7}};
  for (const auto& [text, amount] : sizes) {
    const double baseline_s = amount / 1e4, a100_s = amount < 1e7 ? 10 : 100;
    const Comparison a100 =
        compared({"aws:p4d.24xlarge", "on-demand", "A100-SXM4-40GB", a100_s, 40, undecided, 0.5},
                 baseline_s, 5);
    Comparison t4 =
        compared({"aws:g4dn.xlarge", "on-demand", "T4", 3 * baseline_s + 0.5, 1, migrate, 0.95},
                 baseline_s, 5);
    if (amount == 1e7) t4 = without_figures(t4, "needs 20.0 GiB of memory, T4 has 16.0");
    for (const SizeRow& row : size_rows("workload.rows", {text, amount, ""}, {a100, t4}))
      rows.push_back(row);
  }
  return rows;
}

/// As the earlier stages leave a size that was not measured.
void forget(std::vector<SizeRow>& rows, double amount) {
  for (SizeRow& row : rows) {
    if (row.size.amount != amount) continue;
    Comparison& one = row.comparison;
    one = without_figures(one, "the openmp path was not run");
    one.baseline_time_s = one.baseline_time_to_result_s = {};
    one.baseline_cost_usd = {};
    one.slice = one.stop_reason = one.version = "";
    one.verified = false;
  }
}

std::string refusal(const std::string& csv) {
  const TestFolder folder;
  try {
    read_sweep(folder.write("sweep.csv", csv));
  } catch (const BadInput& error) {
    return error.what();
  }
  return "accepted";
}

std::string markdown_of(const std::vector<SizeRow>& rows) {
  return file_named(sweep_document(rows), "sweep.md");
}

} // namespace

TEST_CASE("crossovers are those of the rows, in words") {
  const auto rows = example_sweep();
  const auto candidates = candidates_of(rows);
  REQUIRE(candidates.size() == 2);
  // The A100's ratio is 0.1, 1, 10, 10: not ahead at 100,000, where it is equal. A ratio twice as
  // large is 1 at 10,000 * 10^(1 - log10(2)) = 50,000; half as large at 200,000.
  CHECK(crossover_words(candidates[0])
        == "faster from 100,000 on (50,000 to 200,000); "
           // Costs are 8 times as far apart: 1/80, 1/8, 10/8, 10/8. From 1/8 to 10/8 over a factor
           // 10: log(8) / log(10) of it, 800,000.
           "cheaper from 800,000 on ("
               + crossover_range(*candidates[0].cheaper, "") + ")");
  // The T4 has no figures for the last size, so nothing is said of every size.
  CHECK(crossover_words(candidates[1])
            .find("never faster at the sizes with figures (crossover beyond 1,000,000); "
                  "cheaper at every size with figures (crossover below 10,000")
        == 0);
  CHECK(place_of_faster(candidates[1]) == "never at the sizes with figures");
  CHECK(place_of_cheaper(candidates[1]) == "below 10,000: at every size with figures");
  CHECK(place_of_faster(candidates[0]) == "from 100,000");
  CHECK(candidates[0].evidence == "projected");
}

TEST_CASE("the weakest evidence on either side is a crossover's, and doubts are named") {
  auto rows = example_sweep();
  for (SizeRow& row : rows)
    row.comparison.baseline_evidence = row.comparison.candidate_evidence = "measured";
  CHECK(candidates_of(rows)[0].evidence == "measured");
  CHECK_FALSE(contains(markdown_of(rows), "the model's"));
  CHECK_FALSE(contains(sweep_table(rows, 100), "the model's"));
  CHECK(contains(sweep_table(example_sweep(), 160), "aws:p4d.24xlarge, projected: faster from"));
  rows[2].comparison.baseline_evidence = "extrapolated";
  CHECK(candidates_of(rows)[0].evidence == "extrapolated");
  rows[4].comparison.candidate_evidence = "projected";
  rows[4].comparison.implausible = true;
  const CandidateSweep a100 = candidates_of(rows)[0];
  CHECK(a100.evidence == "projected");
  const auto doubts = crossover_doubts(a100);
  REQUIRE(doubts.size() == 1);
  CHECK(contains(doubts[0], "the speed-up at 1,000,000 is above"));
  CHECK(calibration_words(rows).find("1 of the 1 projected times") == 0);
  CHECK(calibration_words(example_sweep()).find("7 of the 7 projected times") == 0);
}

TEST_CASE("a crossing across a size without figures, and several crossings, are said") {
  auto rows = example_sweep();
  rows[2].comparison = without_figures(rows[2].comparison, "x");
  CHECK(contains(crossover_doubts(candidates_of(rows)[0])[0], "lies across a gap at 100,000"));
  auto wavy = example_sweep();
  for (const std::size_t at : {std::size_t{0}, std::size_t{4}})
    wavy[at].comparison.speedup = Interval{2, 3, 4};
  wavy[2].comparison.speedup = Interval{0.2, 0.3, 0.4};
  wavy[6].comparison.speedup = Interval{0.2, 0.3, 0.4};
  CHECK(contains(crossover_doubts(candidates_of(wavy)[0])[0],
                 "whether it is faster changes 3 times; what is given is the last"));
  CHECK(contains(crossover_words(candidates_of(wavy)[0]), "faster up to 3,000,000 ("));
}

TEST_CASE("sweep.csv reads back, and what was read gives the same document, table and JSON") {
  auto rows = example_sweep();
  forget(rows, 1e5);
  const TestFolder folder;
  const std::string csv = sweep_csv(rows);
  const auto read = read_sweep(folder.write("sweep.csv", csv));
  CHECK((sweep_csv(read) == csv));
  CHECK((sweep_table(read, 80) == sweep_table(rows, 80)));
  CHECK((sweep_json(read) == sweep_json(rows)));
  const auto files = sweep_document(rows), again = sweep_document(read);
  REQUIRE(files.size() == again.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    CAPTURE(files[i].name);
    CHECK((files[i].bytes == again[i].bytes));
  }
}

TEST_CASE("rows that are no sweep are refused by what is wrong with them") {
  const auto rows = example_sweep();
  const auto with = [&](auto change) {
    auto changed = rows;
    change(changed);
    return refusal(sweep_csv(changed));
  };
  CHECK(contains(with([](auto& all) { std::swap(all[0], all[2]); }), "out of order"));
  CHECK(contains(with([](auto& all) { all[2].size = all[0].size; }), "out of order"));
  CHECK(contains(with([](auto& all) { all[3].size_key = "workload.columns"; }), "one size_key"));
  CHECK(contains(with([](auto& all) { all[3].size.unit = "s"; }), "one size_unit"));
  CHECK(contains(with([](auto& all) { all[0].size.amount = 0; }), "a number above 0"));
  CHECK(contains(with([](auto& all) { all[0].size.unit = "rows"; }), "size_unit"));
  CHECK(contains(with([](auto& all) { all[0].comparison.verified = false; }), "verified"));
  CHECK(contains(refusal("size_key\nworkload.rows\n"), "no column 'size_text'"));
}

TEST_CASE("a damaged sweep.csv is refused or read, and what was read can be shown") {
  const std::string good = sweep_csv(example_sweep());
  const std::vector<std::string> tokens = {",", "\"", "\n",  "-",   "9",     "e",  ".",  "\xFF",
                                           "0", " ",  "nan", "inf", "1e999", "-1", "\r", ""};
  const TestFolder folder;
  std::mt19937 random(11);
  int refused = 0, accepted = 0;
  for (int round = 0; round < 250; ++round) {
    std::string bytes = good;
    const std::size_t at = random() % bytes.size();
    bytes.replace(at, std::min<std::size_t>(random() % 8, bytes.size() - at),
                  tokens[random() % tokens.size()]);
    try {
      const auto rows = read_sweep(folder.write("sweep.csv", bytes));
      ++accepted;
      CHECK_FALSE(sweep_table(rows, 80).empty());
      CHECK_FALSE(sweep_json(rows).empty());
    } catch (const BadInput& error) {
      ++refused;
      CHECK(contains(error.what(), "sweep.csv"));
    }
  }
  CHECK(refused > 30);
  CHECK(accepted > 30);
}

TEST_CASE("the document says for each row how it is known, and labels every gap") {
  auto rows = example_sweep();
  forget(rows, 1e5);
  const std::string text = markdown_of(rows);
  for (const char* part :
       {"From which workload.rows on", "Not all sizes were measured", "workload.rows = 100,000 is",
        "both projected", "not known", "not measured", "outside", "needs 20.0 GiB of memory",
        "What the range is", "porting the code", "2026-07-20",
        "breakeven sweep SCENARIO.toml --over "
        "\"workload.rows=10_000,100_000,1_000_000,10_000_000\"",
        "frames 1, 120, 240 of 240", "lies across a gap at 100,000"}) {
    std::string plain;
    for (const char c : text)
      if (c != '\\') plain += c;
    CAPTURE(part);
    CHECK(contains(plain, part));
  }
}

TEST_CASE("the table of a sweep fits its width, and names each candidate and size") {
  auto rows = example_sweep();
  forget(rows, 1e5);
  rows[0].comparison.title = std::string(300, 'x');
  for (const int width : {20, 80, 100, 160}) {
    const std::string text = sweep_table(rows, width);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(width_of(line) <= std::max(width, 80));
    }
    for (const char* part :
         {"aws:p4d.24xlarge (A100-SXM4-40GB)", "aws:g4dn.xlarge (T4)", "10,000", "10,000,000",
          "not measured", "Not measured: workload.rows = 100,000."})
      CHECK(contains(text, part));
  }
  CHECK(sweep_table({}, 80) == "There are no candidates.\n");
}

TEST_CASE("a control sequence or a quote in a name reaches neither the terminal nor gnuplot") {
  auto rows = example_sweep();
  for (SizeRow& row : rows) {
    row.size_key = "workload.\"rows`\n";
    row.comparison.candidate_instance = row.comparison.title = "\x1b[2J\"; exit `id`";
  }
  CHECK_FALSE(contains(sweep_table(rows, 80), "\x1b"));
  const std::string chart = sweep_chart("sweep_time", candidates_of(rows), SweepQuantity::time);
  CHECK(contains(chart, "exit ?id?"));
}

TEST_CASE("charts draw every candidate with its size and its crossover, five to a chart") {
  const auto rows = example_sweep();
  const auto candidates = candidates_of(rows);
  const std::string time = sweep_chart("sweep_time", candidates, SweepQuantity::time);
  for (const char* part : {"aws:c6i.32xlarge (baseline)", "aws:p4d.24xlarge", "aws:g4dn.xlarge",
                           "10,000,000", "workload.rows (logarithmic)", "compute time of one run"})
    CHECK(contains(time, part));
  CHECK((sweep_chart("sweep_time", candidates, SweepQuantity::time) == time));
  CHECK_FALSE(contains(time, "GNUPLOT"));

  auto many = rows;
  for (const SizeRow& row : rows)
    for (int copy = 1; copy <= 3; ++copy) {
      many.push_back(row);
      many.back().target += 2 * copy;
      many.back().comparison.candidate_count = copy + 1;
    }
  const auto files = sweep_document(many);
  const std::string both =
      file_named(files, "charts/sweep_time.svg") + file_named(files, "charts/sweep_time_2.svg");
  for (const CandidateSweep& candidate : candidates_of(many))
    CHECK(contains(both, candidate.name));
}

TEST_CASE("a candidate without any cost is not drawn, and the caption says so") {
  auto rows = example_sweep();
  for (SizeRow& row : rows)
    if (row.target == 3) row.comparison.candidate_cost_usd = {}, row.comparison.p_cheaper = {};
  const auto files = sweep_document(rows);
  CHECK(
      contains(file_named(files, "sweep.md"), "Not drawn, for want of figures: aws:g4dn.xlarge."));
  CHECK_FALSE(contains(file_named(files, "charts/sweep_cost.svg"), "g4dn"));
  CHECK(contains(file_named(files, "charts/sweep_time.svg"), "g4dn"));
}

TEST_CASE("a sweep without any figure says so in place of charts") {
  auto rows = example_sweep();
  for (const double amount : {1e4, 1e5, 1e6, 1e7})
    forget(rows, amount);
  const auto files = sweep_document(rows);
  CHECK(files.size() == 2);
  CHECK(contains(file_named(files, "sweep.md"), "No candidate has a time, so none is drawn."));
  CHECK(contains(sweep_table(rows, 80), "no figures for whether it is faster"));
}

TEST_CASE("names and sizes that change from size to size are first to last") {
  auto rows = example_sweep();
  for (SizeRow& row : rows) {
    row.size_key = "target[2].price";
    row.size.amount /= 1e4;
    row.size.unit = "USD/h";
    row.size.text = fmt::format("{} USD/h", row.size.amount);
    row.comparison.candidate_count = static_cast<int>(row.size.amount);
  }
  const auto candidates = candidates_of(rows);
  CHECK(candidates[0].name == "aws:p4d.24xlarge to 1000 x aws:p4d.24xlarge");
  CHECK(
      contains(crossover_words(candidates[0]), "faster from 10 USD/h on (5.0 USD/h to 20 USD/h)"));
  CHECK(rounded_size(5400, "s") == "90 min");
  CHECK(stated_size(5400, "s") == "90 min");
  CHECK(rounded_size(1234567890, "B") == "1.1 GiB");
}

TEST_CASE("JSON has the columns of sweep.csv and each candidate's crossovers") {
  const auto json = nlohmann::json::parse(sweep_json(example_sweep()));
  REQUIRE(json["rows"].size() == 8);
  for (const ColumnDoc& column : sweep_columns())
    CHECK(json["rows"][0].contains(column.name));
  CHECK(json["rows"][0]["size"] == 1e4);
  REQUIRE(json["crossovers"].size() == 2);
  const auto& a100 = json["crossovers"][0];
  CHECK(a100["candidate"] == "aws:p4d.24xlarge");
  CHECK(a100["faster"]["p50"]["place"] == "at");
  CHECK(a100["faster"]["p50"]["size"] == 1e5);
  CHECK(json["crossovers"][1]["faster"]["p50"]["place"] == "beyond");
}
