#include "sim/report/format.h"
#include "tests/report/example_rows.h"
#include "tests/report/support.h"

#include <sstream>

using namespace breakeven;

TEST_CASE("the terminal table fits 80 and 100 columns, long names included") {
  auto rows = example::comparisons();
  rows[0].candidate_instance =
      "provider-with-a-long-name:machine.type-of-a-very-long-name.24xlarge";
  rows[1].candidate_instance = "云服务器:超长的实例名称.超长的实例名称.24xlarge";
  rows[0].verdict_reason = rows[0].title = std::string(300, 'x');
  rows[9].verdict_reason = std::string(300, 'y');
  for (const int width : {80, 100, 137, 20}) {
    std::istringstream lines(terminal_table(rows, example::measurements(), width));
    for (std::string line; std::getline(lines, line);) {
      CAPTURE(line);
      CHECK(width_of(line) <= std::max(width, 80));
    }
  }
}

TEST_CASE("the verdict comes first, then a row for the baseline and every candidate") {
  const auto rows = example::comparisons();
  const std::string text = terminal_table(rows, example::measurements(), 100);
  CHECK(text.rfind("MIGRATE to aws:g5.xlarge.", 0) == 0);
  CHECK(contains(text, "aws:c6i.32xlarge"));
  for (const Comparison& row : rows)
    CHECK(contains(text, row.candidate_instance.substr(0, 10)));
  CHECK(text.find("aws:g4dn.xlarge ") < text.find("aws:p5.48xlarge "));
}

TEST_CASE("every figure carries its evidence and the marks are explained") {
  const std::string text = terminal_table(example::comparisons(), example::measurements(), 100);
  CHECK(contains(text, "m measured, x extrapolated from a measured slice, p projected"));
  CHECK(contains(text, "61-72 h x"));
  CHECK(contains(text, "6.3-8.8 min m"));
  CHECK(contains(text, "undecided!"));
  CHECK(contains(text, "! The"));
}

TEST_CASE("the table says why a row has no figures, and what is left out") {
  const std::string text = terminal_table(example::comparisons(), example::measurements(), 80);
  CHECK(contains(text, "No cost for local-gpu: the candidate cannot be priced"));
  CHECK(contains(text, "No figures for tencent:GT4.4XLARGE96"));
  CHECK(contains(text, "Not counted: porting the code"));
}

TEST_CASE(
    "without a candidate to migrate to the table says stay or undecided, and what it would take") {
  auto rows = example::comparisons();
  for (Comparison& row : rows)
    if (row.verdict == Verdict::migrate) row.verdict = Verdict::undecided;
  CHECK(terminal_table(rows, {}, 100).rfind("UNDECIDED; stay on aws:c6i.32xlarge for now.", 0)
        == 0);
  for (Comparison& row : rows)
    if (row.p_cheaper && !row.implausible) row.verdict = Verdict::stay;
  const std::string stay = terminal_table(rows, {}, 160);
  CHECK(stay.rfind("STAY on aws:c6i.32xlarge.", 0) == 0);
  CHECK(contains(stay, "breaks even at"));
  CHECK(terminal_table({rows.back()}, {}, 100).rfind("NO answer; stay", 0) == 0);
  CHECK(terminal_table({}, {}, 80) == "There are no candidates.\n");
}

TEST_CASE("a control sequence in a name does not reach the terminal") {
  auto rows = example::comparisons();
  rows[0].candidate_instance = rows[0].title = rows[9].verdict_reason = "\x1b[2J\x07";
  const std::string text = terminal_table(rows, example::measurements(), 100);
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK_FALSE(contains(text, "\x07"));
}

TEST_CASE("a steady service is one sentence about the baseline and the candidate to take") {
  const std::string text = terminal_table(example::comparisons(), example::measurements(), 160);
  CHECK(contains(text, "Throughput, 4,800 frames a day (working-hours): aws:c6i.32xlarge takes"));
  CHECK(contains(text, "4,000 (2,900-5,300) a day p"));
  CHECK(contains(text, "unbounded"));
  CHECK(contains(text, "95 % done in 12 min."));
}
