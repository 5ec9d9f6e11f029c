#include "tests/risk/all_rows.h"
#include "tests/risk/real_data.h"
#include "tests/test_folder.h"
#include "workloads/risk/table_csv.h"

#include <doctest/doctest.h>
#include <omp.h>
#include <sys/stat.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

using namespace breakeven;
using namespace breakeven::risk;

namespace {

constexpr float absent = std::numeric_limits<float>::quiet_NaN();

CsvSettings fraud_settings() {
  CsvSettings settings;
  settings.label = "fraud";
  return settings;
}

Table read_text(const std::string& text, const CsvSettings& settings = fraud_settings()) {
  const TestFolder folder;
  return read_csv_table(folder.write("a.csv", text), settings);
}

std::string refused(const std::string& text, const CsvSettings& settings = fraud_settings()) {
  return refusal([&] { read_text(text, settings); });
}

/// How a second file is refused after the first was read.
std::string refused_after(const std::string& first, const std::string& second,
                          const CsvSettings& settings) {
  const TestFolder folder;
  const TableSchema schema = read_csv_table(folder.write("a.csv", first), settings).schema;
  const auto file = folder.write("b.csv", second);
  return refusal([&] { read_csv_table(file, settings, schema); });
}

bool has_values(const Table& table, const std::vector<float>& expected) {
  return same_values(table.values, expected);
}

} // namespace

TEST_CASE("numbers, labels and names are those of the file") {
  const Table table = read_text("amount,fraud,age\n1.5,0,-3\n 2e2 ,1,\"007\"\n+4,0,.25\n");
  CHECK(has_values(table, {1.5f, -3, 200, 7, 4, 0.25f}));
  CHECK(table.labels == std::vector<std::uint8_t>{0, 1, 0});
  CHECK(table.schema.header == std::vector<std::string>{"amount", "fraud", "age"});
  CHECK(table.schema.columns[1].name == "age");
  CHECK(table.schema.positive == "1");
  CHECK(table.schema.negative == "0");
  const Rows rows = rows_of(table);
  CHECK(rows.count == 3);
  CHECK(rows.feature_names == std::vector<std::string>{"amount", "age"});
  const ReadRows last_two = read_rows(rows, 1, 3);
  CHECK(last_two.values == std::vector<float>{200, 7, 4, 0.25f});
  CHECK(last_two.labels == std::vector<std::uint8_t>{1, 0});
}

TEST_CASE("empty cells, question marks, NA and NaN are missing in numbers and categories") {
  CsvSettings settings = fraud_settings();
  settings.categorical = {"kind"};
  const Table table = read_text("amount,kind,fraud\n,?,0\nNA,,1\nNaN,nan,0\n?,na,1\n\"\",\"NA\",0\n"
                                "-nan,x,1\n7,None,0\n",
                                settings);
  CHECK(has_values(table, {absent, absent, absent, absent, absent, absent, absent, absent, absent,
                           absent, absent, 1, 7, 0}));
  CHECK(table.schema.columns[1].categories == std::vector<std::string>{"None", "x"});
}

TEST_CASE(
    "line ends of both systems, a byte-order mark, blank lines and a missing end are read over") {
  const std::vector<float> expected{1, 2};
  for (const char* text :
       {"amount,fraud\n1,0\n2,1\n", "amount,fraud\r\n1,0\r\n2,1\r\n", "amount,fraud\n1,0\n2,1",
        "\xEF\xBB\xBF"
        "amount,fraud\n1,0\n2,1\n",
        "\n\n \namount,fraud\n\n1,0\n  \r\n2,1\r\n\n",
        "\"amount\",\"fraud\"\n\"1\",\"0\"\n2,\"1\"\r"}) {
    CAPTURE(text);
    const Table table = read_text(text);
    CHECK(has_values(table, expected));
    CHECK(table.labels == std::vector<std::uint8_t>{0, 1});
  }
}

TEST_CASE("quoted cells hold separators, doubled quotes and line breaks") {
  CsvSettings settings = fraud_settings();
  settings.categorical = {"shop, \"of\nall\""};
  const Table table = read_text("\"shop, \"\"of\nall\"\"\",fraud\n\"a \"\"b\"\"\",0\n\"\"\"\",1\n"
                                "\"x\r\ny\" ,1\n\" c,d \",0\n",
                                settings);
  CHECK(table.schema.columns[0].name == "shop, \"of\nall\"");
  CHECK(table.schema.columns[0].categories
        == std::vector<std::string>{" c,d ", "\"", "a \"b\"", "x\r\ny"});
  CHECK(has_values(table, {2, 1, 3, 0}));
  // The bad number is on the file's eighth line, though in its sixth record.
  CHECK(refused("shop,fraud\n1,0\n\"2\n\",1\n")
        == ":3: found '2 ' in column 'shop', expected a number");
  settings.categorical = {"shop"};
  settings.drop = {};
  CHECK(refused("shop,x,fraud\n\"a\nb\n\",1,0\nc,z,1\n", settings)
        == ":5: found 'z' in column 'x', expected a number");
}

TEST_CASE("categories are coded in rising order, by value where all are numbers") {
  CsvSettings settings = fraud_settings();
  settings.categorical = {"grade", "kind"};
  const std::string text = "grade,kind,fraud\n10,b,0\n9,B,1\n-1,a,1\n9,,0\n";
  const Table table = read_text(text, settings);
  CHECK(table.schema.columns[0].categories == std::vector<std::string>{"-1", "9", "10"});
  CHECK(table.schema.columns[1].categories == std::vector<std::string>{"B", "a", "b"});
  CHECK(has_values(table, {2, 2, 1, 0, 0, 1, 1, absent}));
}

TEST_CASE("one-hot features are one a category, and missing together") {
  CsvSettings settings = fraud_settings();
  settings.categorical = {"kind"};
  const Rows rows =
      rows_of(read_text("x,kind,fraud\n5,b,0\n6,a,1\n7,,0\n", settings), Categories::one_hot);
  CHECK(rows.feature_names == std::vector<std::string>{"x", "kind=a", "kind=b"});
  const ReadRows read = read_rows(rows);
  CHECK(same_values(read.values, {5, 0, 1, 6, 1, 0, 7, absent, absent}));
  CHECK(read.labels == std::vector<std::uint8_t>{0, 1, 0});
  CHECK(same_values(read_rows(rows, 1, 2).values, {6, 1, 0}));
}

TEST_CASE("labels may be words or numbers however written, and the stated one is positive") {
  CsvSettings settings = fraud_settings();
  settings.positive = "yes";
  CHECK(read_text("x,fraud\n1,no\n2,yes\n", settings).labels == std::vector<std::uint8_t>{0, 1});
  settings.positive = "2";
  CHECK(read_text("x,fraud\n1,1.0\n2,2.000e+00\n3,1\n4,02\n", settings).labels
        == std::vector<std::uint8_t>{0, 1, 0, 1});
  CHECK(refused("x,fraud\n1,1\n2,2\n3,0\n", settings)
        == ":4: found label '0', expected '2' or '1'");
  CHECK(refused("x,fraud\n1,1\n2,\n", settings) == ":3: found no label, expected '2' or '1'");
  CHECK(refused("x,fraud\n1,?\n", settings) == ":2: found no label, expected a label, such as '2'");
}

TEST_CASE("dropped columns are read over, whatever is in them") {
  CsvSettings settings = fraud_settings();
  settings.drop = {"id", "note"};
  const Table table =
      read_text("id,x,fraud,note\nA1,1,0,\"say \"\"no\"\", or\"\nA2,2,1,\n", settings);
  CHECK(has_values(table, {1, 2}));
  CHECK(table.schema.columns.size() == 1);
}

TEST_CASE("blanks and tabs in any number separate, and columns without a header are numbered") {
  CsvSettings settings;
  settings.separator = ' ';
  settings.header = HeaderLine::none;
  settings.label = "column_3";
  settings.categorical = {"column_1"};
  const Table table = read_text("\n A11\t6  1\n\"A 12\" 48\t 0 \r\n  \nA11 7 0", settings);
  CHECK(table.schema.header == std::vector<std::string>{"column_1", "column_2", "column_3"});
  CHECK(has_values(table, {1, 6, 0, 48, 1, 7}));
  CHECK(table.labels == std::vector<std::uint8_t>{1, 0, 0});
  CHECK(refused("A11 6 1\nA12 48\n", settings)
        == ":2: found 2 cells, expected 3, as many as columns");
}

TEST_CASE("another separator leaves commas and empty cells alone") {
  CsvSettings settings = fraud_settings();
  settings.separator = '\t';
  settings.categorical = {"kind"};
  const Table table = read_text("x\tkind\tfraud\n\ta,b\t1\n 2 \t\t0\n", settings);
  CHECK(has_values(table, {absent, 0, 2, absent}));
}

TEST_CASE("numbers are rounded as the C library rounds them") {
  std::mt19937 random(3);
  std::string text = "x,fraud\n";
  std::vector<float> expected;
  const auto add = [&](const std::string& number) {
    text += number + (expected.size() % 2 == 0 ? ",0\n" : ",1\r\n");
    expected.push_back(std::strtof(number.c_str(), nullptr));
  };
  for (const char* number : {"16777216",
                             "16777217",
                             "16777219",
                             "999999999",
                             "123456789.5",
                             "0.1",
                             "-0",
                             "1e-45",
                             "1e-60",
                             "-1e-400",
                             "0.00000000000000000000000000000000000000000000000000001",
                             "3.4028235e38",
                             "1.1754942e-38",
                             "0000000000012",
                             "5.",
                             "-.5",
                             "9007199254740993",
                             "0.000000001",
                             "12345.6789",
                             "33554431.0000000001",
                             "1E5",
                             "1e+5"})
    add(number);
  for (int i = 0; i < 20'000; ++i) {
    std::string digits = random() % 2 == 0 ? "-" : "";
    const unsigned length = 1 + static_cast<unsigned>(random() % 11);
    const auto point = static_cast<unsigned>(random() % (length + 1));
    for (unsigned k = 0; k < length; ++k) {
      if (k == point && k > 0) digits += '.';
      digits += static_cast<char>('0' + random() % 10);
    }
    add(digits);
  }
  const Table table = read_text(text);
  REQUIRE(table.values.size() == expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    wrong += table.values[i] != expected[i]
             || std::signbit(table.values[i]) != std::signbit(expected[i]);
  CHECK(wrong == 0);
}

TEST_CASE("blocks of any size and any number of threads read the same table") {
  CsvSettings settings = fraud_settings();
  settings.categorical = {"kind"};
  settings.drop = {"note"};
  std::string text = "x,kind,note,fraud,y\r\n";
  std::mt19937 random(4);
  for (int i = 0; i < 1500; ++i) {
    text += std::to_string(static_cast<int>(random() % 2000) - 1000) + ",";
    text += random() % 3 == 0 ? "\"k\n" + std::to_string(random() % 30) + "\"" : "plain";
    text += random() % 4 == 0 ? ",\"a, \"\"b\"\"\r\n\"\"\"" : ",";
    text += random() % 5 == 0 ? ",1," : ",0,";
    text += (random() % 9 == 0 ? "NA" : std::to_string(random() % 100)) + "\n";
  }
  const TestFolder folder;
  const auto file = folder.write("a.csv", text);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Table whole = read_csv_table(file, settings);
  CHECK(whole.count() == 1500);
  CHECK(whole.schema.columns[1].categories.size() == 31);
  for (const std::size_t bytes : {70u, 200u, 3000u, 65536u, 1u << 22})
    for (const int more : {1, 2, 3}) {
      CAPTURE(bytes);
      CAPTURE(more);
      omp_set_num_threads(more);
      settings.block_bytes = bytes;
      const Table table = read_csv_table(file, settings);
      CHECK(same_values(table.values, whole.values));
      CHECK(table.labels == whole.labels);
      CHECK(table.schema.columns[1].categories == whole.schema.columns[1].categories);
    }
  omp_set_num_threads(threads);
}

TEST_CASE("the first error of the file is the one told, whatever the blocks") {
  std::string text = "x,fraud\n";
  for (int i = 0; i < 500; ++i)
    text += i == 300   ? "5,7\n"
            : i == 301 ? "bad,1\n"
            : i == 400 ? "1\n"
                       : "5," + std::to_string(i % 2) + "\n";
  CsvSettings settings = fraud_settings();
  for (const std::size_t bytes : {16u, 64u, 700u, 1u << 20}) {
    settings.block_bytes = bytes;
    CAPTURE(bytes);
    CHECK(refused(text, settings) == ":302: found label '7', expected '1' or '0'");
  }
}

TEST_CASE("a second file must have the first one's columns and categories") {
  CsvSettings settings = fraud_settings();
  settings.categorical = {"kind"};
  settings.drop = {"id"};
  const std::string first = "id,x,kind,fraud\n1,2,b,0\n2,3,a,1\n";
  const auto refused_second = [&](const std::string& second) {
    return refused_after(first, second, settings);
  };
  CHECK(refused_second("id,x,kind,fraud\n9,1,a,0\n") == "read"); // one kind of label will do
  CHECK(refused_second("id,x,kind,fraud\n9,,a,0\n") == "read");  // so will no value
  CHECK(refused_second("id,x,kind,fraud\n9,1,c,0\n")
        == ":2: found category 'c' in column 'kind', expected one seen in training: 'a', 'b'");
  CHECK(refused_second("id,kind,x,fraud\n9,a,1,0\n")
        == ":1: found column 2 'kind', expected 'x', as in training");
  CHECK(refused_second("id,x,kind,fraud,y\n9,1,a,0,1\n")
        == ":1: found 5 columns, expected 4, as in training");
  CHECK(refused_second("id,x,kind\n9,1,a\n") == ":1: found 3 columns, expected 4, as in training");
  CHECK(refused_second("id,x,kind,fraud\n9,1,a,2\n") == ":2: found label '2', expected '1' or '0'");
  CHECK(refused_second("id,x,kind,fraud\n")
        == ": found 0 rows, expected at least one below the header");

  const TestFolder folder;
  const Table trained = read_csv_table(folder.write("a.csv", first), settings);
  const Table second = read_csv_table(folder.write("b.csv", "id,x,kind,fraud\n9,1,b,1\n7,2,NA,1\n"),
                                      settings, trained.schema);
  CHECK(has_values(second, {1, 1, 2, absent}));
  CHECK(second.labels == std::vector<std::uint8_t>{1, 1});
}

TEST_CASE("a file to be scored may lack the label") {
  CsvSettings settings = fraud_settings();
  const TestFolder folder;
  const Table trained =
      read_csv_table(folder.write("a.csv", "x,fraud,y\n1,0,2\n3,1,4\n"), settings);
  const auto file = folder.write("b.csv", "x,y\n5,6\n");
  CHECK(refusal([&] { read_csv_table(file, settings, trained.schema); })
        == ":1: found column 2 'y', expected 'fraud', as in training");
  settings.label_column = LabelColumn::optional;
  const Table scored = read_csv_table(file, settings, trained.schema);
  CHECK_FALSE(scored.has_labels);
  CHECK(has_values(scored, {5, 6}));
  CHECK(scored.labels == std::vector<std::uint8_t>{0});
  const Table labelled =
      read_csv_table(folder.write("c.csv", "x,fraud,y\n5,1,6\n"), settings, trained.schema);
  CHECK(labelled.has_labels);
  CHECK(labelled.labels == std::vector<std::uint8_t>{1});

  settings = {};
  settings.header = HeaderLine::none;
  settings.label = "column_2";
  settings.label_column = LabelColumn::optional;
  const Table plain = read_csv_table(folder.write("d.csv", "1,0,2\n3,1,4\n"), settings);
  CHECK(has_values(read_csv_table(folder.write("e.csv", "5,6\n"), settings, plain.schema), {5, 6}));
}

TEST_CASE("bad tables are refused with line, column, what was found and what was expected") {
  CsvSettings settings = fraud_settings();
  CHECK(refused("x,fraud\n1,0\n2\n") == ":3: found 1 cells, expected 2, as many as columns");
  CHECK(refused("x,fraud\n1,0\n2,1,3,4\n") == ":3: found 4 cells, expected 2, as many as columns");
  CHECK(refused("x,fraud\n1,0\n2,1,\n") == ":3: found 3 cells, expected 2, as many as columns");
  CHECK(refused("x,fraud\n1,0\n12a,1\n") == ":3: found '12a' in column 'x', expected a number");
  CHECK(refused("x,fraud\n1 2,0\n") == ":2: found '1 2' in column 'x', expected a number");
  CHECK(refused("x,fraud\n0x10,0\n") == ":2: found '0x10' in column 'x', expected a number");
  CHECK(refused("x,fraud\n+-1,0\n") == ":2: found '+-1' in column 'x', expected a number");
  CHECK(refused("x,fraud\n--1,0\n") == ":2: found '--1' in column 'x', expected a number");
  CHECK(refused("x,fraud\n.,0\n") == ":2: found '.' in column 'x', expected a number");
  for (const char* infinite : {"inf", "-Infinity", "1e39", "-1e999"})
    CHECK(refused("x,fraud\n1,1\n" + std::string(infinite) + ",0\n")
          == ":3: found '" + std::string(infinite)
                 + "' in column 'x', expected a finite number of 32 bits");
  CHECK(refused("x,fraud\n1,0\n2,0\n")
        == ": found only label '0' in 2 rows, expected rows with label '1'");
  CHECK(refused("x,fraud\n1,1\n2,1\n")
        == ": found only label '1' in 2 rows, expected a second label");
  CHECK(
      refused("x,y,fraud\n1,NA,0\n2,,1\n")
      == ": found column 'y' without a value, expected a value in one row at least, or the column "
         "dropped");
  CHECK(refused("x,fraud\n") == ": found 0 rows, expected at least one below the header");
  CHECK(refused("") == ": found an empty file, expected a table");
  CHECK(refused("\n \n\r\n") == ": found an empty file, expected a table");
  CHECK(refused("x,x,fraud\n1,2,0\n")
        == ":1: found two columns named 'x', expected one of each name");
  CHECK(refused("x,y\n1,0\n")
        == ":1: found columns 'x', 'y', expected 'fraud' among them, the label");
  CHECK(refused("\nfraud\n0\n")
        == ":2: found no column besides the label and the dropped ones, expected one at least");
  CHECK(refused("x,fraud\n\"1,0\n2,1\n") == ":2: found a quote that is not closed, expected '\"'");
  CHECK(refused("x,\"fraud\n1,0\n2,1\n") == ":1: found a quote that is not closed, expected '\"'");
  CHECK(refused("x,fraud\n1\",0\n")
        == ":2: found a quote inside a cell, expected a cell in quotes, with that one doubled");
  CHECK(refused("x,fraud\n\"1\"2,0\n")
        == ":2: found text after a closing quote, expected a separator or the end of the line");
  CHECK(refused(std::string("x,fraud\n1,0\n2,\0\n", 16)) == ":3: found a NUL byte, expected text");
  CHECK(refused(std::string("\xFF\xFEx\0,\0", 6)) == ":1: found a NUL byte, expected text");
  CHECK(refused(std::string(65'536, ',') + "\n1,0\n")
        == ":1: found more than 65,536 columns, expected at most so many");
  settings.rows_at_most = 2;
  CHECK(refused("x,fraud\n1,0\n2,1\n", settings) == "read");
  CHECK(refused("x,fraud\n1,0\n2,1\n3,1\n", settings)
        == ": found more than 2 rows, expected at most so many");
  settings = fraud_settings();
  settings.block_bytes = 100;
  CHECK(
      refused("x,fraud\n1,0\n" + std::string(200, '1') + ",1\n", settings)
      == ":3: found a record of more than 100 bytes, expected its end before; a quote may be left "
         "open");
  settings = fraud_settings();
  settings.categorical = {"z"};
  CHECK(refused("x,fraud\n1,0\n", settings)
        == ":1: found columns 'x', 'fraud', expected 'z' among them, to be categorical");
  settings.categorical = {};
  settings.drop = {"z"};
  CHECK(refused("x,fraud\n1,0\n", settings)
        == ":1: found columns 'x', 'fraud', expected 'z' among them, to be dropped");
  settings.drop = {"fraud"};
  CHECK(refused("x,fraud\n1,0\n", settings)
        == ":1: found the label 'fraud' among the dropped, expected a label that is read");
}

TEST_CASE("what is no file is refused") {
  const TestFolder folder;
  CHECK(refusal([&] { read_csv_table(folder / "none.csv", fraud_settings()); })
        == ": found no such file, expected a readable file");
  CHECK(refusal([&] { read_csv_table(folder.path(), fraud_settings()); })
        == ": found a directory, expected a file");
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0); // nobody would ever write to it
  CHECK(refusal([&] { read_csv_table(folder / "pipe", fraud_settings()); })
        == ": found something that is not a file, expected a file");
  CHECK(refusal([&] { read_csv_table("/dev/zero", fraud_settings()); })
        == ": found something that is not a file, expected a file");
}

TEST_CASE("the UCI credit card file is read whole") {
  std::filesystem::path file;
  if (!has_real_data("uci_credit_card_default.csv", file)) return;
  CsvSettings settings = fraud_settings();
  settings.drop = {"ID"};
  const Table table = read_csv_table(file, settings);
  CHECK(table.count() == 30'000);
  CHECK(table.schema.columns.size() == 23);
  CHECK(std::accumulate(table.labels.begin(), table.labels.end(), 0) == 6'636);
  // NumPy's sums of the same columns, plain and by the column's number.
  double sum = 0, weighted = 0;
  for (std::size_t i = 0; i < table.values.size(); ++i) {
    sum += static_cast<double>(table.values[i]);
    weighted += static_cast<double>(table.values[i]) * static_cast<double>(i % 23 + 1);
  }
  CHECK(sum == 14'071'103'581.0);
  CHECK(weighted == 140'413'682'605.0);
}

TEST_CASE("the German credit file is read with its categories") {
  std::filesystem::path file;
  if (!has_real_data("statlog_german_credit.data", file)) return;
  CsvSettings settings;
  settings.separator = ' ';
  settings.header = HeaderLine::none;
  settings.label = "column_21";
  settings.positive = "2";
  for (const int column : {1, 3, 4, 6, 7, 9, 10, 12, 14, 15, 17, 19, 20})
    settings.categorical.push_back("column_" + std::to_string(column));
  const Table table = read_csv_table(file, settings);
  CHECK(table.count() == 1'000);
  CHECK(std::accumulate(table.labels.begin(), table.labels.end(), 0) == 300);
  CHECK(table.schema.columns[0].categories == std::vector<std::string>{"A11", "A12", "A13", "A14"});
  CHECK(std::vector<float>(table.values.begin(), table.values.begin() + 8)
        == std::vector<float>{0, 6, 4, 4, 1169, 4, 4, 4});
  CHECK(rows_of(table).features() == 20);
  CHECK(rows_of(table, Categories::one_hot).features() == 61); // 7 numbers and 54 categories
  settings.categorical.clear();
  CHECK(refusal([&] { read_csv_table(file, settings); })
        == ":2: found 'A11' in column 'column_1', expected a number");
}

TEST_CASE("10,000 damaged CSV files are read or refused") {
  const TestFolder folder;
  const std::string whole = "id,amount,kind,note,fraud\r\n1,10.5,a,\"x, \"\"y\"\"\",0\n2,,b,,1\n"
                            "3,-7e2,\"c\nd\",NA,1\n4,123456,a,?,0\n\n5,.25,b,\"\",0\n";
  CsvSettings settings = fraud_settings();
  settings.categorical = {"kind"};
  settings.drop = {"note"};
  const TableSchema schema = read_csv_table(folder.write("a.csv", whole), settings).schema;
  TextMutator mutate(11);
  int read = 0, refused = 0;
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1); // parts are read all the same
  constexpr int mutants = 10'000;
  for (int i = 0; i < mutants; ++i) {
    std::filesystem::remove(folder / "b.csv"); // a file written over is flushed to disk by ext4
    const auto file = folder.write("b.csv", mutate(whole));
    settings.block_bytes = i % 3 == 0 ? 64 + mutate.below(64) : 4096;
    settings.separator = i % 10 == 9 ? ' ' : ',';
    settings.header = i % 10 == 8 ? HeaderLine::none : HeaderLine::first;
    settings.label = i % 10 == 8 ? "column_5" : "fraud";
    try {
      const Table table =
          i % 2 == 0 ? read_csv_table(file, settings) : read_csv_table(file, settings, schema);
      ++read;
      CHECK(table.values.size() == table.labels.size() * table.schema.columns.size());
      read_rows(rows_of(table, Categories::one_hot));
    } catch (const BadInput&) {
      ++refused;
    }
  }
  omp_set_num_threads(threads);
  CHECK(read + refused == mutants);
  CHECK(refused > mutants / 10); // the changes do reach what is read
  CHECK(read > mutants / 50);
}
