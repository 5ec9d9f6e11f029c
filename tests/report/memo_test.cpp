#include "example_rows.h"
#include "sim/errors.h"
#include "sim/report/format.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace breakeven;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path;
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "breakeven-memo-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~Folder() { fs::remove_all(path); }
};

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const std::string& file_named(const std::vector<ResultFile>& files, const std::string& name) {
  for (const ResultFile& file : files)
    if (file.name == name) return file.bytes;
  FAIL("no file " << name);
  return files.front().bytes;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("numbers are shown with two or three significant digits and a unit") {
  CHECK(significant(1234.5, 2) == "1,200");
  CHECK(significant(0.05234, 2) == "0.052");
  CHECK(significant(9.96, 2) == "10.0"); // the digits follow the value before rounding
  CHECK(significant(-3.14159, 3) == "-3.14");
  CHECK(seconds_text(42) == "42 s");
  CHECK(seconds_text(185) == "3.1 min");
  CHECK(seconds_text(9000) == "2.5 h");
  CHECK(seconds_text(864000) == "10 days");
  CHECK(interval_text({3600 * 2, 3600 * 3, 3600 * 4}, seconds_text) == "2.0-4.0 h");
  CHECK(probability_text(0.995) == "> 0.99");
  CHECK(probability_text(0.5) == "0.50");
}

TEST_CASE("the terminal table fits 80 and 100 columns, long names included") {
  auto rows = example::comparisons();
  rows[0].candidate_instance =
      "provider-with-a-long-name:machine.type-with-a-very-long-name.24xlarge";
  rows[0].verdict_reason = std::string(300, 'x');
  for (const int width : {80, 100, 20}) {
    std::istringstream lines(terminal_table(rows, example::measurements(), width));
    std::string line;
    while (std::getline(lines, line)) {
      CAPTURE(line);
      CHECK(line.size() <= static_cast<std::size_t>(std::max(width, 80)));
    }
  }
}

TEST_CASE("the table shows the baseline, every candidate and how each time is known") {
  const std::string table = terminal_table(example::comparisons(), example::measurements(), 100);
  CHECK(contains(table, "aws:c6i.32xlarge"));
  CHECK(contains(table, "baseline"));
  for (const Comparison& row : example::comparisons())
    CHECK(contains(table, row.candidate_instance.substr(0, 8)));
  CHECK(contains(table, "implausible"));
  CHECK(contains(table, "no price"));
  CHECK(contains(table, " x  ")); // the extrapolated local row
  CHECK(table.find("MIGRATE to aws:p4de.24xlarge spot") < table.find("instance"));
}

TEST_CASE("a memo made from the CSV is the memo made from the rows") {
  const Folder folder;
  const auto rows = example::comparisons();
  const auto measured = example::measurements();
  write_results(folder.path, {{"comparison.csv", comparison_csv(rows)},
                              {"measurements.csv", measurements_csv(measured)}});
  const auto original = memo(rows, measured);
  const auto replayed = memo(read_comparison(folder.path / "comparison.csv"),
                             read_measurements(folder.path / "measurements.csv"));
  REQUIRE(original.size() == replayed.size());
  for (std::size_t i = 0; i < original.size(); ++i) {
    CAPTURE(original[i].name);
    CHECK(original[i].name == replayed[i].name);
    CHECK((original[i].bytes == replayed[i].bytes));
  }
}

TEST_CASE(
    "the memo names every candidate, its evidence, its price's date and what is not modelled") {
  const std::string text =
      file_named(memo(example::comparisons(), example::measurements()), "memo.md");
  for (const Comparison& row : example::comparisons())
    CHECK(contains(text, row.candidate_instance.substr(0, 8)));
  for (const char* part :
       {"projected", "extrapolated", "2026-07-20", "Not modelled", "porting the code",
        "1 CNY = 0.138 USD", "3 of 100 rays differ", "charts/time.svg", "charts/cost.svg",
        "the scene needs 45 GB", "never", "implausible"})
    CHECK(contains(text, part));
}

TEST_CASE("hostile names are only names in Markdown, HTML and charts") {
  auto rows = example::comparisons();
  rows[0].title = rows[0].verdict_reason = "<script>alert(1)</script> | **x** [y](z)\nnext";
  rows[0].candidate_instance = "a\"; system(\"touch pwned\"); #`id`\\";
  const auto files = memo(rows, example::measurements());
  CHECK_FALSE(contains(file_named(files, "memo.html"), "<script"));
  CHECK(contains(file_named(files, "memo.md"), "\\<script\\>"));
  CHECK_FALSE(contains(file_named(files, "memo.md"), " <script"));
  CHECK(contains(file_named(files, "memo.md"), "\\|"));
  CHECK_FALSE(fs::exists("pwned"));
}

TEST_CASE("the HTML needs nothing from outside") {
  const std::string html =
      file_named(memo(example::comparisons(), example::measurements()), "memo.html");
  CHECK(contains(html, "<svg"));
  CHECK_FALSE(contains(html, "src="));
  CHECK_FALSE(contains(html, "<link"));
}

TEST_CASE("a study in which nothing has a time or a price still gets a memo") {
  auto rows = example::comparisons();
  rows.erase(rows.begin(), rows.end() - 1);
  rows[0].baseline_time_s = rows[0].baseline_time_to_result_s = {};
  rows[0].baseline_cost_usd = {};
  const auto files = memo(rows, example::measurements());
  CHECK(contains(file_named(files, "charts/time.svg"), "No machine has a time"));
  CHECK(contains(terminal_table(rows, example::measurements(), 80), "UNDECIDED"));
}

TEST_CASE("JSON has the CSV's columns, numbers as numbers and gaps as null") {
  const auto json = nlohmann::json::parse(comparison_json(example::comparisons()));
  REQUIRE(json.size() == example::comparisons().size());
  CHECK(json[0]["p_cheaper"] == 0.95);
  CHECK(json[0]["verified"] == true);
  CHECK(json[0]["verdict"] == "undecided");
  CHECK(json[5]["price_usd_per_h"].is_null());
  CHECK(json[0]["title"] == example::comparisons()[0].title);
}

TEST_CASE("results are written whole or not at all") {
  const Folder folder;
  write_results(folder.path, {{"a.csv", "old"}, {"charts/b.svg", "old"}});
  // A limit on file size stops the second file as a full disk would.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  CHECK_THROWS_WITH_AS(
      write_results(folder.path, {{"a.csv", "new"}, {"charts/b.svg", std::string(5000, 'x')}}),
      doctest::Contains("charts/b.svg: File too large"), Failure);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(bytes_of(folder.path / "a.csv") == "old");
  CHECK(bytes_of(folder.path / "charts/b.svg") == "old");
  CHECK_FALSE(fs::exists(folder.path / "a.csv.partial"));
  CHECK_FALSE(fs::exists(folder.path / "charts/b.svg.partial"));
}

TEST_CASE("a folder that cannot be made is a Failure with the system's text") {
  const Folder folder;
  write_results(folder.path, {{"file", "x"}});
  CHECK_THROWS_WITH_AS(write_results(folder.path / "file", {{"a.csv", "x"}}),
                       doctest::Contains("Not a directory"), Failure);
}
