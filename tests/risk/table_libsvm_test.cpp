#include "tests/risk/all_rows.h"
#include "tests/test_folder.h"
#include "workloads/risk/table_libsvm.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <limits>

using namespace breakeven;
using namespace breakeven::risk;

namespace {

constexpr float absent = std::numeric_limits<float>::quiet_NaN();

SparseTable read_text(const std::string& text, const LibsvmSettings& settings = {}) {
  const TestFolder folder;
  return read_libsvm_table(folder.write("a.svm", text), settings);
}

std::string refused(const std::string& text, const LibsvmSettings& settings = {}) {
  return refusal([&] { read_text(text, settings); });
}

} // namespace

TEST_CASE("entries that are not there are missing, not zero") {
  const Rows rows = rows_of(read_text("1 1:0.5 3:-2e1\n0 2:0\n0\n1 3:nan 4:7\n"));
  CHECK(rows.count == 4);
  CHECK(rows.feature_names
        == std::vector<std::string>{"feature_1", "feature_2", "feature_3", "feature_4"});
  const ReadRows read = read_rows(rows);
  CHECK(same_values(read.values, {0.5f, absent, -20, absent,      //
                                  absent, 0, absent, absent,      //
                                  absent, absent, absent, absent, //
                                  absent, absent, absent, 7}));
  CHECK(read.labels == std::vector<std::uint8_t>{1, 0, 0, 1});
  CHECK(same_values(read_rows(rows, 1, 2).values, {absent, 0, absent, absent}));
}

TEST_CASE(
    "blank lines, comments, blanks, line ends of both systems and a missing end are read over") {
  for (const char* text :
       {"-1 1:1 2:2\n+1 1:3\n", "-1 1:1 2:2\r\n+1 1:3\r\n", " -1\t1:1  2:2 \n\n+1 1:3",
        "# a comment\n-1 1:1 2:2 # row 7 of 1:9\n#\n1.0 1:+3.0\n",
        "\xEF\xBB\xBF-1.0e0 1:1 2:2.\n1 1:3 \r"}) {
    CAPTURE(text);
    const SparseTable table = read_text(text);
    CHECK(table.features == 2);
    CHECK(table.starts == std::vector<std::int64_t>{0, 2, 3});
    CHECK(table.places == std::vector<std::uint32_t>{0, 1, 0});
    CHECK(table.values == std::vector<float>{1, 2, 3});
    CHECK(table.labels == std::vector<std::uint8_t>{0, 1});
  }
}

TEST_CASE("indices may start at zero, and a later file has the first one's features") {
  LibsvmSettings settings;
  settings.first_index = 0;
  const SparseTable first = read_text("1 0:5\n-1 2:6\n", settings);
  CHECK(first.features == 3);
  CHECK(first.negative == "-1");
  CHECK(rows_of(first).feature_names
        == std::vector<std::string>{"feature_0", "feature_1", "feature_2"});
  settings.features = first.features;
  settings.negative = first.negative;
  CHECK(rows_of(read_text("1 0:5\n", settings)).features() == 3);
  CHECK(refused("1 0:5 3:1\n", settings)
        == ":1: found index 3 in '3:1', expected 0 to 2, as in training");
  CHECK(refused("0 0:5\n", settings) == ":1: found label '0', expected '1' or '-1'");
}

TEST_CASE("blocks of any size and any number of threads read the same entries") {
  std::string text;
  std::mt19937 random(6);
  for (int row = 0; row < 1500; ++row) {
    text += random() % 4 == 0 ? "2" : "1";
    for (unsigned index = 1; index < 60; index += 1 + static_cast<unsigned>(random() % 20))
      text +=
          " " + std::to_string(index) + ":" + std::to_string(static_cast<double>(random()) / 1e7);
    text += row % 3 == 0 ? " # comment\n" : "\n";
  }
  const TestFolder folder;
  const auto file = folder.write("a.svm", text);
  LibsvmSettings settings;
  settings.positive = "2";
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const SparseTable whole = read_libsvm_table(file, settings);
  CHECK(whole.count() == 1500);
  for (const std::size_t bytes : {256u, 4000u, 65536u})
    for (const int more : {1, 2, 3}) {
      omp_set_num_threads(more);
      settings.block_bytes = bytes;
      const SparseTable table = read_libsvm_table(file, settings);
      CHECK(table.starts == whole.starts);
      CHECK(table.places == whole.places);
      CHECK(table.values == whole.values);
      CHECK(table.labels == whole.labels);
      CHECK(table.features == whole.features);
    }
  omp_set_num_threads(threads);
}

TEST_CASE("bad rows are refused with line, what was found and what was expected") {
  const std::string good = "1 1:1\n0 1:2\n";
  CHECK(refused(good) == "read");
  CHECK(refused(good + "2 1:1\n") == ":3: found label '2', expected '1' or '0'");
  CHECK(refused("x 1:1\n") == ":1: found label 'x', expected a number");
  CHECK(refused("nan 1:1\n") == ":1: found label 'nan', expected a number");
  CHECK(refused("1:1 2:2\n") == ":1: found label '1:1', expected a number");
  CHECK(refused(good + "1 1\n") == ":3: found '1', expected index:value");
  CHECK(refused(good + "1 :1\n") == ":3: found ':1', expected index:value");
  CHECK(refused(good + "1 qid:3 1:1\n") == ":3: found 'qid:3', expected index:value");
  CHECK(refused(good + "1 1.5:1\n") == ":3: found '1.5:1', expected index:value");
  CHECK(refused(good + "1 1:\n") == ":3: found '1:', expected index:value, with a number");
  CHECK(refused(good + "1 1:x\n") == ":3: found '1:x', expected index:value, with a number");
  CHECK(refused(good + "1 1:1:2\n") == ":3: found '1:1:2', expected index:value, with a number");
  CHECK(refused(good + "1 1:1e39\n") == ":3: found '1:1e39', expected a finite number of 32 bits");
  CHECK(refused(good + "1 1:-inf\n") == ":3: found '1:-inf', expected a finite number of 32 bits");
  CHECK(refused(good + "1 2:1 1:1\n") == ":3: found index 1 after 2, expected indices that rise");
  CHECK(refused(good + "1 2:1 2:1\n") == ":3: found index 2 after 2, expected indices that rise");
  CHECK(refused(good + "1 0:1\n") == ":3: found index 0 in '0:1', expected 1 to 1048576");
  CHECK(refused(good + "1 -4:1\n") == ":3: found index -4 in '-4:1', expected 1 to 1048576");
  CHECK(refused(good + "1 1048577:1\n")
        == ":3: found index 1048577 in '1048577:1', expected 1 to 1048576");
  CHECK(refused(good + "1 99999999999999999999:1\n")
        == ":3: found '99999999999999999999:1', expected index:value");
  CHECK(refused("1 1:1\n1 1:2\n") == ": found only label '1' in 2 rows, expected a second label");
  CHECK(refused("1\n0\n")
        == ": found rows without an entry, expected index:value in one row at least");
  CHECK(refused("") == ": found 0 rows, expected at least one");
  CHECK(refused("# nothing\n\n") == ": found 0 rows, expected at least one");
  CHECK(refused(std::string("1 1:1\n0 1:\0\n", 12)) == ":2: found a NUL byte, expected text");
  LibsvmSettings settings;
  settings.rows_at_most = 1;
  CHECK(refused(good, settings) == ": found more than 1 rows, expected at most so many");
  settings = {};
  settings.block_bytes = 100;
  CHECK(refused(good + "1" + std::string(300, ' ') + "1:1\n", settings)
        == ":3: found a record of more than 100 bytes, expected a line end before");
  const TestFolder folder;
  CHECK(refusal([&] { read_libsvm_table(folder / "none", {}); })
        == ": found no such file, expected a readable file");
  CHECK(refusal([&] { read_libsvm_table(folder.path(), {}); })
        == ": found a directory, expected a file");
}

TEST_CASE("10,000 damaged LibSVM files are read or refused") {
  const TestFolder folder;
  const std::string whole = "1 1:0.5 3:-2e1\r\n0 2:0 7:1 # comment\n\n-0 12:123456789 13:.5\n"
                            "1 3:nan 4:7\n0 1:1e-3 2:2 3:3 4:4 5:5\n";
  TextMutator mutate(12);
  LibsvmSettings settings;
  int read = 0, refused = 0;
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1); // parts are read all the same
  constexpr int mutants = 10'000;
  for (int i = 0; i < mutants; ++i) {
    std::filesystem::remove(folder / "b.svm"); // a file written over is flushed to disk by ext4
    const auto file = folder.write("b.svm", mutate(whole));
    settings.block_bytes = i % 3 == 0 ? 64 + mutate.below(64) : 4096;
    settings.features = i % 2 == 0 ? 0 : 13;
    settings.first_index = i % 5 == 0 ? 0 : 1;
    settings.features_at_most = 1000;
    try {
      const SparseTable table = read_libsvm_table(file, settings);
      ++read;
      CHECK(table.starts.back() == static_cast<std::int64_t>(table.places.size()));
      read_rows(rows_of(table));
    } catch (const BadInput&) {
      ++refused;
    }
  }
  omp_set_num_threads(threads);
  CHECK(read + refused == mutants);
  CHECK(refused > mutants / 10); // the changes do reach what is read
  CHECK(read > mutants / 10);
}
