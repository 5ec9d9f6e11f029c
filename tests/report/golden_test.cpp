#include "tests/report/example_rows.h"
#include "tests/report/support.h"

using namespace breakeven;

namespace {

const std::filesystem::path golden = BREAKEVEN_SOURCE_DIR "/tests/golden/report";

/// The drawings differ between versions of gnuplot in the last digit of a coordinate.
std::string without_drawings(std::string html) {
  for (std::size_t at = html.find("<svg"); at != std::string::npos; at = html.find("<svg", at)) {
    html.replace(at, html.find("</svg>", at) + 6 - at, "(drawing)");
  }
  return html;
}

void compare_or_record(const std::string& name, const std::string& bytes) {
  if (std::getenv("BREAKEVEN_UPDATE") != nullptr)
    std::ofstream(golden / name, std::ios::binary) << bytes;
  CAPTURE(name);
  CHECK((bytes_of(golden / name) == bytes));
}

} // namespace

// How to record anew: tests/golden/README.md.
TEST_CASE("the recorded rows give the recorded memo, byte for byte") {
  if (std::getenv("BREAKEVEN_UPDATE") != nullptr)
    write_results(golden, {{"comparison.csv", comparison_csv(example::comparisons())},
                           {"measurements.csv", measurements_csv(example::measurements())},
                           {"phases.csv", phases_csv(example::phases())}});
  const auto rows = read_comparison(golden / "comparison.csv");
  const auto measured = read_measurements(golden / "measurements.csv");
  const auto files = memo(rows, measured, read_phases(golden / "phases.csv", rows));
  compare_or_record("memo.md", file_named(files, "memo.md"));
  compare_or_record("memo.html", without_drawings(file_named(files, "memo.html")));
  compare_or_record("terminal_80.txt", terminal_table(rows, measured, 80));
  compare_or_record("terminal_100.txt", terminal_table(rows, measured, 100));
}
