#include "example_rows.h"
#include "sim/catalog/csv.h"
#include "sim/errors.h"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <sstream>

using namespace breakeven;
namespace fs = std::filesystem;

namespace {

struct TemporaryFile {
  fs::path path;
  explicit TemporaryFile(const std::string& bytes) {
    std::string pattern = (fs::temp_directory_path() / "breakeven-rows-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path = fs::path(pattern) / "rows.csv";
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { fs::remove_all(path.parent_path()); }
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string comparison_error(const std::string& bytes) {
  const TemporaryFile file(bytes);
  try {
    read_comparison(file.path);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

std::string measurement_error(const std::string& bytes) {
  const TemporaryFile file(bytes);
  try {
    read_measurements(file.path);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

/// A row with one cell changed, by column name.
std::string with_cell(const std::string& csv, const std::vector<ColumnDoc>& columns,
                      const std::string& column, const std::string& cell) {
  const TemporaryFile file(csv);
  const auto table = read_csv(file.path, {});
  std::vector<std::string> header, cells;
  for (const ColumnDoc& doc : columns) {
    header.push_back(doc.name);
    cells.push_back(doc.name == column ? cell : csv_cell(table->rows[0].text(doc.name)));
  }
  return csv_line(header) + csv_line(cells);
}

void fuzz(const std::string& good, const std::function<std::string(const std::string&)>& error_of) {
  std::mt19937 random(5);
  for (int i = 0; i < 1500; ++i) {
    std::string bytes = good;
    for (int change = 0; change < 4; ++change) {
      const std::size_t at = random() % bytes.size();
      if (random() % 4 == 0)
        bytes.erase(at, random() % 40);
      else
        bytes[at] = ",\"\n-9ex.\xFF="[random() % 10];
    }
    error_of(bytes); // BadInput or success; anything else fails the test
  }
}

} // namespace

TEST_CASE("rows read back are the rows written, to the last bit") {
  const std::string comparisons = comparison_csv(example::comparisons());
  const TemporaryFile comparison_file(comparisons);
  CHECK(comparison_csv(read_comparison(comparison_file.path)) == comparisons);
  const std::string measurements = measurements_csv(example::measurements());
  const TemporaryFile measurement_file(measurements);
  const auto rows = read_measurements(measurement_file.path);
  CHECK(measurements_csv(rows) == measurements);
  CHECK(rows[0].samples_s == example::measurements()[0].samples_s);
  CHECK(rows[0].checksum == 18446744073709551615ull);
  CHECK(rows[0].work.count("bounce_rays") == 1234567.25);
}

TEST_CASE("a missing time or price is an empty cell, never a zero") {
  const TemporaryFile file(comparison_csv(example::comparisons()));
  const auto csv = read_csv(file.path, {});
  const CsvRow& unpriced = csv->rows[5];
  CHECK(unpriced.text("candidate_cost_p50_usd") == "");
  CHECK(unpriced.text("price_usd_per_h") == "");
  CHECK(csv->rows[6].text("candidate_time_to_result_p50_s") == "");
}

TEST_CASE("a number without its interval is a schema error") {
  const std::string csv = comparison_csv(example::comparisons());
  const auto columns = comparison_columns();
  CHECK(comparison_error(with_cell(csv, columns, "candidate_end_to_end_p90_s", ""))
            .find("all three points of an interval")
        != std::string::npos);
  CHECK(comparison_error(with_cell(csv, columns, "candidate_end_to_end_p90_s", "1"))
            .find("p10 <= p50 <= p90")
        != std::string::npos);
}

TEST_CASE("times on a row that is not verified are a schema error") {
  CHECK(measurement_error(with_cell(measurements_csv(example::measurements()),
                                    measurement_columns(), "verified", "false"))
            .find("no times in a row that is not verified")
        != std::string::npos);
}

TEST_CASE("bad cells are refused with file, line and what was expected") {
  const std::string csv = comparison_csv(example::comparisons());
  const auto columns = comparison_columns();
  CHECK(comparison_error(with_cell(csv, columns, "p_cheaper", "1.01"))
            .find(":2: found p_cheaper is '1.01'")
        != std::string::npos);
  CHECK(comparison_error(with_cell(csv, columns, "verdict", "maybe"))
            .find("'migrate' or 'stay' or 'undecided'")
        != std::string::npos);
  CHECK(comparison_error(with_cell(csv, columns, "job_units", "-1")).find("whole number")
        != std::string::npos);
  CHECK(comparison_error(with_cell(csv, columns, "verified", "yes")).find("'true' or 'false'")
        != std::string::npos);
  CHECK(comparison_error(replaced(csv, "study,", "studies,")).find("no column 'study'")
        != std::string::npos);
  CHECK(comparison_error(csv_line({"study"})).find("no column") != std::string::npos);
  const std::string measured = measurements_csv(example::measurements());
  CHECK(measurement_error(with_cell(measured, measurement_columns(), "samples_s", "1 nan"))
            .find("numbers with a space")
        != std::string::npos);
  CHECK(measurement_error(with_cell(measured, measurement_columns(), "work_counts", "rays"))
            .find("name=value")
        != std::string::npos);
  CHECK(measurement_error(with_cell(measured, measurement_columns(), "work_simt_efficiency", "1.5"))
            .find("work_simt_efficiency")
        != std::string::npos);
}

TEST_CASE("no mutation of a results file does worse than BadInput") {
  fuzz(comparison_csv(example::comparisons()), comparison_error);
  fuzz(measurements_csv(example::measurements()), measurement_error);
}

TEST_CASE("results/README.md documents exactly the columns that are written") {
  std::ifstream readme(fs::path(BREAKEVEN_SOURCE_DIR) / "results" / "README.md");
  std::set<std::string> documented, written;
  std::string line, file;
  while (std::getline(readme, line)) {
    if (line.rfind("## `", 0) == 0) file = line.substr(4, line.find('`', 4) - 4);
    if (line.rfind("| `", 0) == 0) documented.insert(file + " " + line);
  }
  for (const ColumnDoc& column : measurement_columns())
    written.insert("measurements.csv | `" + column.name + "` | " + column.meaning + " |");
  for (const ColumnDoc& column : comparison_columns())
    written.insert("comparison.csv | `" + column.name + "` | " + column.meaning + " |");
  CHECK(documented == written);
}
