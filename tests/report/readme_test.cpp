#include "tests/report/support.h"

#include <sstream>

using namespace breakeven;

namespace {

/// The column tables as results/README.md has to show them.
std::string table_of(const std::string& file, const std::vector<ColumnDoc>& columns) {
  std::string text = "## `" + file + "`\n\n| column | meaning |\n|---|---|\n";
  for (const ColumnDoc& column : columns)
    text += "| `" + column.name + "` | " + column.meaning + " |\n";
  return text;
}

/// Those of sweep.csv before the columns of comparison.csv, which follow as they are.
std::vector<ColumnDoc> columns_of_size() {
  std::vector<ColumnDoc> columns = sweep_columns();
  const std::vector<ColumnDoc> rest = comparison_columns();
  REQUIRE(columns.size() > rest.size());
  const auto first = columns.end() - static_cast<std::ptrdiff_t>(rest.size());
  CHECK(std::equal(rest.begin(), rest.end(), first, [](const ColumnDoc& a, const ColumnDoc& b) {
    return a.name == b.name && a.meaning == b.meaning;
  }));
  columns.erase(first, columns.end());
  return columns;
}

} // namespace

// After a change of a column: BREAKEVEN_UPDATE=1 report_tests --test-case='*README*', then read the
// difference.
TEST_CASE("results/README.md documents exactly the columns that are written, in their order") {
  const std::filesystem::path file = BREAKEVEN_SOURCE_DIR "/results/README.md";
  const std::string tables = table_of("measurements.csv", measurement_columns()) + "\n"
                             + table_of("comparison.csv", comparison_columns()) + "\n"
                             + table_of("phases.csv", phase_columns()) + "\n"
                             + table_of("sweep.csv", columns_of_size())
                             + "\nThen the columns of `comparison.csv`.\n";
  std::string readme = bytes_of(file);
  const std::size_t start = readme.find("## `measurements.csv`");
  REQUIRE(start != std::string::npos);
  if (std::getenv("BREAKEVEN_UPDATE") != nullptr)
    std::ofstream(file, std::ios::binary) << (readme = readme.substr(0, start) + tables);
  CHECK(readme.substr(start) == tables);
}

TEST_CASE("every column has a name in lower case, a meaning, and its unit where it has one") {
  for (const auto& columns :
       {measurement_columns(), comparison_columns(), phase_columns(), sweep_columns()})
    for (const ColumnDoc& column : columns) {
      CAPTURE(column.name);
      CHECK(column.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_")
            == std::string::npos);
      CHECK_FALSE(column.meaning.empty());
      CHECK(column.meaning.find_first_of("|\n") == std::string::npos);
    }
}
