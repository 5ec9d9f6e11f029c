#include "sim/catalog/csv.h"
#include "sim/compare/side_by_side.h"
#include "sim/errors.h"
#include "tests/report/example_rows.h"
#include "tests/report/support.h"

#include <functional>
#include <random>

using namespace breakeven;

namespace {

using Edits = std::vector<std::pair<std::string, std::string>>;

/// The file with cells of one of its rows replaced, by column name.
std::string edited(const TestFolder& folder, const std::string& csv,
                   const std::vector<ColumnDoc>& columns, std::size_t row, const Edits& edits) {
  const auto table = read_csv(folder.write("before.csv", csv), {});
  std::vector<std::string> header, cells;
  for (const ColumnDoc& column : columns) {
    header.push_back(column.name);
    cells.push_back(csv_cell(table->rows.at(row).text(column.name)));
    // A number may start with '-', which csv_cell takes for a formula.
    if (cells.back().rfind("'-", 0) == 0) cells.back().erase(0, 1);
    for (const auto& [name, cell] : edits)
      if (name == column.name) cells.back() = cell;
  }
  return csv_line(header) + csv_line(cells);
}

std::string comparison_error(std::size_t row, const Edits& edits) {
  const TestFolder folder;
  const std::string csv =
      edited(folder, comparison_csv(example::comparisons()), comparison_columns(), row, edits);
  try {
    read_comparison(folder.write("rows.csv", csv));
  } catch (const BadInput& error) {
    return error.what();
  }
  return "accepted";
}

std::string measurement_error(std::size_t row, const Edits& edits) {
  const TestFolder folder;
  const std::string csv =
      edited(folder, measurements_csv(example::measurements()), measurement_columns(), row, edits);
  try {
    read_measurements(folder.write("rows.csv", csv));
  } catch (const BadInput& error) {
    return error.what();
  }
  return "accepted";
}

std::string mutated(std::string bytes, std::mt19937& random) {
  static const std::vector<std::string> tokens = {",",     "\"",   "\n", "-",    "9",        "e",
                                                  ".",     "\xFF", "=",  " ",    "nan",      "inf",
                                                  "1e999", "-1",   "\r", "true", "measured", ""};
  for (unsigned change = 0; change <= random() % 3; ++change) {
    const std::size_t at = random() % bytes.size(), length = random() % 12;
    const std::string& token = tokens[random() % tokens.size()];
    bytes.replace(at, std::min(length, bytes.size() - at), token);
    if (bytes.empty()) bytes = ",";
  }
  return bytes;
}

/// Reads many damaged files: each is refused as BadInput, or gives rows that survive another round.
template <class Row>
void damage(const std::string& good, std::vector<Row> (*read)(const std::filesystem::path&),
            std::string (*write)(const std::vector<Row>&),
            const std::function<void(const std::vector<Row>&)>& use) {
  const TestFolder folder;
  std::mt19937 random(7);
  int refused = 0, accepted = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::string bytes = mutated(good, random);
    try {
      const std::vector<Row> rows = read(folder.write("rows.csv", bytes));
      ++accepted;
      const std::string again = write(rows);
      CHECK((write(read(folder.write("again.csv", again))) == again));
      use(rows);
    } catch (const BadInput& error) {
      ++refused;
      CHECK(contains(error.what(), ".csv"));
    }
  }
  CHECK(refused > 300);
  CHECK(accepted > 100);
}

/// The file without the columns from `first` up to, not including, `last`.
std::string without(const std::string& csv, const std::string& first, const std::string& last) {
  const TestFolder folder;
  const auto table = read_csv(folder.write("now.csv", csv), {});
  const auto column = [&](const std::string& name) {
    return std::find(table->header.begin(), table->header.end(), name);
  };
  REQUIRE(column(first) < column(last));
  REQUIRE(column(last) != table->header.end());
  std::string text;
  for (long line = -1; line < static_cast<long>(table->rows.size()); ++line) {
    std::vector<std::string> cells;
    for (auto name = table->header.begin(); name != table->header.end(); ++name) {
      if (name >= column(first) && name < column(last)) continue;
      const std::string cell =
          line < 0 ? *name : table->rows[static_cast<std::size_t>(line)].text(*name);
      cells.push_back(cell.rfind('-', 0) == 0 ? cell : csv_cell(cell));
    }
    text += csv_line(cells);
  }
  return text;
}

} // namespace

TEST_CASE("rows read back are the rows written, to the last bit") {
  const TestFolder folder;
  const std::string comparisons = comparison_csv(example::comparisons());
  CHECK(comparison_csv(read_comparison(folder.write("c.csv", comparisons))) == comparisons);
  const std::string measurements = measurements_csv(example::measurements());
  const auto rows = read_measurements(folder.write("m.csv", measurements));
  CHECK(measurements_csv(rows) == measurements);
  CHECK(rows[0].samples_s == example::measurements()[0].samples_s);
  CHECK(rows[0].checksum == 18446744073709551615ull);
  CHECK(rows[2].work.counts == example::measurements()[2].work.counts);
  CHECK(rows[4].repeats == Repeats::per_job);
  CHECK(rows[4].work.tensor_fp16_flops == 3e12);
  CHECK(rows[4].work.tensor_tf32_flops == 5e11);
  CHECK(rows[4].work.all_reduces == 600);
  CHECK(rows[4].work.all_reduce_bytes == 2.25e9);
}

TEST_CASE("texts with commas, quotes, line breaks and formulas read back as they were") {
  auto rows = example::comparisons();
  for (const std::string text :
       {"=1+1", "-", "@x", "'=", "a,b", "\"", "two\nlines", "\r\n", "é漢字"}) {
    rows[0].title = rows[0].price_source = text;
    const TestFolder folder;
    const auto back = read_comparison(folder.write("c.csv", comparison_csv(rows)));
    CHECK(back[0].title == text);
    CHECK(back[0].price_source == text);
  }
}

TEST_CASE("a missing time or price is an empty cell, never a zero") {
  const TestFolder folder;
  auto rows = example::comparisons();
  rows[11].baseline_time_s = rows[11].baseline_time_to_result_s = {};
  rows[11].baseline_cost_usd = {};
  const auto csv = read_csv(folder.write("c.csv", comparison_csv(rows)), {});
  CHECK(csv->rows[9].text("candidate_cost_p50_usd") == "");
  CHECK(csv->rows[9].text("price_usd_per_h") == "");
  CHECK(csv->rows[11].text("candidate_time_to_result_p50_s") == "");
  CHECK(csv->rows[11].text("baseline_time_p50_s") == "");
}

TEST_CASE("a projection without a proper interval is refused") {
  CHECK(contains(comparison_error(0, {{"candidate_end_to_end_p90_s", ""}}),
                 "all three points of an interval"));
  CHECK(
      contains(comparison_error(0, {{"candidate_end_to_end_p10_s", "9e9"}}), "p10 <= p50 <= p90"));
  CHECK(contains(comparison_error(0, {{"candidate_end_to_end_p10_s", "1500"},
                                      {"candidate_end_to_end_p90_s", "1500"}}),
                 "p10 < p50 < p90"));
  CHECK(contains(comparison_error(11, {{"candidate_evidence", "projected"}}),
                 "an interval, since the row says that it is projected"));
  CHECK(contains(comparison_error(0, {{"baseline_evidence", ""}}), "since the row has a time"));
}

TEST_CASE("a time on a row that was not verified is refused") {
  CHECK(contains(comparison_error(0, {{"verified", "false"}}), "not verified has no times"));
  CHECK(contains(measurement_error(0, {{"verified", "false"}}), "the row is not verified"));
}

TEST_CASE("a ratio without both of its times is refused") {
  CHECK(contains(
      comparison_error(11, {{"speedup_p10", "1"}, {"speedup_p50", "2"}, {"speedup_p90", "3"}}),
      "an empty cell without both times"));
  CHECK(contains(comparison_error(9, {{"p_cheaper", "0.5"}}), "without both costs"));
  CHECK(contains(comparison_error(0, {{"deadline_s", ""}}), "without a deadline"));
  CHECK(contains(comparison_error(11, {{"verdict", "stay"}}), "'undecided' without a speed-up"));
}

TEST_CASE("a bad cell is refused with file, line, column and what was expected") {
  CHECK(contains(comparison_error(0, {{"p_cheaper", "1.01"}}),
                 "rows.csv:2: found p_cheaper is '1.01'"));
  CHECK(contains(comparison_error(0, {{"p_cheaper", "nan"}}), "a number from 0 to 1"));
  CHECK(
      contains(comparison_error(0, {{"verdict", "maybe"}}), "'migrate' or 'stay' or 'undecided'"));
  CHECK(
      contains(comparison_error(0, {{"candidate_path", "metal"}}), "'openmp' or 'cuda' or 'host'"));
  CHECK(contains(comparison_error(0, {{"job_units", "-1"}}), "whole number"));
  CHECK(contains(comparison_error(0, {{"verified", "yes"}}), "'true' or 'false'"));
  CHECK(contains(comparison_error(0, {{"price_as_of", "2026-13"}}), "YYYY-MM-DD"));
  CHECK(contains(measurement_error(0, {{"samples_s", "1 nan"}}), "numbers with a space"));
  CHECK(contains(measurement_error(0, {{"samples_s", "1 "}}), "numbers with a space"));
  CHECK(contains(measurement_error(2, {{"work_counts", "rays"}}), "name=value"));
  CHECK(contains(measurement_error(2, {{"work_counts", "rays=1e999"}}), "name=value"));
  CHECK(contains(measurement_error(0, {{"work_simt_efficiency", "1.5"}}), "work_simt_efficiency"));
  CHECK(contains(measurement_error(0, {{"median_low_s", "99"}}), "at most median_s"));
  CHECK(contains(measurement_error(0, {{"checksum", "18446744073709551616"}}), "whole number"));
}

TEST_CASE("an unknown, a missing and a repeated column are refused") {
  const TestFolder folder;
  const std::string csv = comparison_csv(example::comparisons());
  const auto error_of = [&](const std::string& bytes) -> std::string {
    try {
      read_comparison(folder.write("c.csv", bytes));
    } catch (const BadInput& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(contains(error_of("studies" + csv.substr(5)), "no column 'study'"));
  CHECK(contains(error_of("extra," + csv.substr(0, csv.find('\n') + 1)), "unknown column 'extra'"));
  CHECK(contains(error_of("study," + csv), "'study' twice"));
  CHECK(contains(error_of(csv.substr(0, csv.find('\n') + 1)), "no rows"));
  CHECK(contains(error_of(""), "an empty file"));
}

TEST_CASE("no damage to comparison.csv does worse than BadInput") {
  damage<Comparison>(comparison_csv(example::comparisons()), read_comparison, comparison_csv,
                     [](const std::vector<Comparison>& rows) {
                       for (const int width : {80, 100})
                         CHECK_FALSE(terminal_table(rows, {}, width).empty());
                       CHECK_FALSE(comparison_json(rows).empty());
                     });
}

TEST_CASE("no damage to measurements.csv does worse than BadInput") {
  damage<Measurement>(measurements_csv(example::measurements()), read_measurements,
                      measurements_csv, [](const std::vector<Measurement>& rows) {
                        CHECK_FALSE(machine_text(rows).empty());
                        CHECK(side_by_side_checks(rows).size() <= rows.size());
                      });
}

TEST_CASE("no damage to phases.csv does worse than BadInput") {
  damage<PhaseTime>(
      phases_csv(example::phases()),
      [](const std::filesystem::path& file) { return read_phases(file, {}); }, phases_csv,
      [](const std::vector<PhaseTime>& rows) { CHECK_FALSE(rows.empty()); });
}

TEST_CASE("phases of another scenario than the comparison's are refused, a missing file is not") {
  const TestFolder folder;
  const auto rows = example::comparisons();
  auto phases = example::phases();
  const auto file = folder.write("phases.csv", phases_csv(phases));
  CHECK(phases_csv(read_phases(file, rows)) == phases_csv(phases));
  CHECK(read_phases(folder.path() / "none.csv", rows).empty());
  phases[0].scenario_sha256 = "another";
  CHECK_THROWS_WITH_AS(read_phases(folder.write("phases.csv", phases_csv(phases)), rows),
                       doctest::Contains("phases of the scenario another"), BadInput);
}

TEST_CASE("a file from before the throughput columns is read, one with only some of them is not") {
  const TestFolder folder;
  auto rows = example::comparisons();
  for (Comparison& row : rows) {
    row.units_per_day = row.turnaround_deadline_s = {};
    row.arrivals = "";
    row.candidate_floor_s = {};
    row.baseline_throughput = row.candidate_throughput = {};
  }
  const std::string now = comparison_csv(rows);
  const auto read = [&](const std::string& csv) {
    return read_comparison(folder.write("old.csv", csv));
  };
  CHECK((comparison_csv(read(without(now, "candidate_floor_p10_s", "speedup_p10"))) == now));
  CHECK_THROWS_AS(read(without(now, "candidate_floor_p10_s", "arrivals")), BadInput);
}

TEST_CASE("measurements from before matrix products were counted are read, some of them are not") {
  const TestFolder folder;
  auto rows = example::measurements();
  for (Measurement& row : rows)
    row.work.fp32_flops = row.work.tensor_fp16_flops = row.work.tensor_tf32_flops = 0;
  const std::string now = measurements_csv(rows);
  const auto read = [&](const std::string& csv) {
    return read_measurements(folder.write("old.csv", csv));
  };
  CHECK((measurements_csv(read(without(now, "work_fp32_flops", "work_dram_bytes"))) == now));
  CHECK_THROWS_AS(read(without(now, "work_fp32_flops", "work_tensor_tf32_flops")), BadInput);
}

TEST_CASE(
    "measurements from before all-reduces were counted are read, with one column they are not") {
  const TestFolder folder;
  auto rows = example::measurements();
  for (Measurement& row : rows)
    row.work.all_reduces = row.work.all_reduce_bytes = 0;
  const std::string now = measurements_csv(rows);
  const auto read = [&](const std::string& csv) {
    return read_measurements(folder.write("old.csv", csv));
  };
  CHECK((measurements_csv(read(without(now, "work_all_reduces", "work_parallel_width"))) == now));
  CHECK_THROWS_WITH_AS(read(without(now, "work_all_reduces", "work_all_reduce_bytes")),
                       doctest::Contains("work_all_reduces"), BadInput);
  CHECK_THROWS_AS(read(without(now, "work_all_reduce_bytes", "work_parallel_width")), BadInput);
  CHECK(contains(measurement_error(0, {{"work_all_reduces", "-1"}}), "work_all_reduces"));
}

TEST_CASE("phases from before units were divided are read") {
  const TestFolder folder;
  const std::string now = phases_csv(example::phases());
  const auto file = folder.write("old.csv", without(now, "gpus_per_unit", "bound_by"));
  CHECK((phases_csv(read_phases(file, {})) == now));
}

TEST_CASE("a turnaround without a bounded queue, or a capacity nobody asked for, is refused") {
  CHECK(contains(comparison_error(0, {{"baseline_turnaround_p95_s", "5"}}),
                 "exactly where the turnaround is bounded"));
  CHECK(contains(comparison_error(0, {{"candidate_turnaround_p50_s", ""}}),
                 "exactly where the turnaround is bounded"));
  CHECK(contains(comparison_error(0, {{"units_per_day", ""}}), "arrivals"));
  CHECK(contains(
      comparison_error(0, {{"units_per_day", ""}, {"arrivals", ""}, {"turnaround_deadline_s", ""}}),
      "without units_per_day"));
  CHECK(contains(comparison_error(0, {{"candidate_turnaround", "endless"}}), "'bounded' or"));
  CHECK(contains(comparison_error(11, {{"candidate_floor_p10_s", "1"},
                                       {"candidate_floor_p50_s", "2"},
                                       {"candidate_floor_p90_s", "3"}}),
                 "the candidate has no time"));
}
