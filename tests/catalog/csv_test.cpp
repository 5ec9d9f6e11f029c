#include "sim/catalog/csv.h"
#include "sim/errors.h"
#include "tests/test_folder.h"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

using namespace breakeven;

namespace {

struct TemporaryFile {
  TestFolder folder;
  std::filesystem::path path;
  explicit TemporaryFile(const std::string& bytes) : path(folder.write("file.csv", bytes)) {}
};

std::unique_ptr<CsvFile> read(const std::string& bytes) {
  const TemporaryFile file(bytes);
  return read_csv(file.path, {"a", "b"});
}

std::string error_of(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const BadInput& error) {
    const std::string text = error.what();
    return text.substr(text.find(".csv"));
  }
  return "";
}

} // namespace

TEST_CASE("cells with commas, quotes, newlines and formulas survive a round trip") {
  for (const std::string text :
       {"plain", "a,b", "say \"no\"", "two\nlines", "two\r\nlines", "=1+1", "-3", "+x", "@cmd",
        "'=1", "''-", "'", "'tis", "", " spaces ", "h\xC3\xA9l\xC3\xA8ne", "\xE7\xA4\xBE"}) {
    CAPTURE(text);
    const auto csv = read("a,b\n" + csv_line({csv_cell(text), "1"}));
    REQUIRE(csv->rows.size() == 1);
    CHECK(csv->rows[0].text("a") == text);
  }
}

TEST_CASE("a text that a spreadsheet would run as a formula is written with an apostrophe") {
  CHECK(csv_cell("=cmd()") == "'=cmd()");
  CHECK(csv_cell("plain") == "plain");
}

TEST_CASE("numbers are written so that they read back as the same double") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(-300, 300), mantissa(-1, 1);
  for (int i = 0; i < 2000; ++i) {
    const double value = mantissa(random) * std::pow(10.0, exponent(random));
    CHECK(std::stod(csv_number(value)) == value);
  }
  CHECK(csv_number({}) == "");
  CHECK(csv_number(std::nan("")) == "");
  CHECK(csv_number(0.1) == "0.1");
}

TEST_CASE("CRLF, a byte-order mark and a missing last newline change nothing") {
  for (const std::string bytes : {"a,b\n1,2\n", "a,b\r\n1,2\r\n",
                                  "\xEF\xBB\xBF"
                                  "a,b\n1,2",
                                  "a,b\n\n1,2\n\n"}) {
    const auto csv = read(bytes);
    REQUIRE(csv->rows.size() == 1);
    CHECK(csv->rows[0].number("b", 0, 9) == 2);
  }
}

TEST_CASE("a file that is not a good CSV says where and why") {
  CHECK(error_of("") == ".csv:1: found an empty file, expected a header line");
  CHECK(error_of("a\n1\n") == ".csv:1: found no column 'b', expected a header with that column");
  CHECK(error_of("a,b,a\n") == ".csv:1: found column 'a' twice, expected each column once");
  CHECK(error_of("a,b\n1,2\n1\n") == ".csv:3: found 1 cells, expected 2 as in the header");
  CHECK(error_of("a,b\n1,\"2\n") == ".csv:2: found a quote that is not closed, expected '\"'");
  CHECK(error_of("a,b\n1,\"2\"x\n")
        == ".csv:2: found text after a closing quote, expected ',' or the end of the line");
  CHECK(error_of("a,b\n1,\xFF\n") == ".csv:2: found bytes that are not text, expected UTF-8");
  CHECK(error_of(std::string("a,b\n1,\0\n", 8)).find("not text") != std::string::npos);
}

TEST_CASE("a header needs a name for each column") {
  CHECK(error_of("a,b,\n1,2,3\n")
        == ".csv:1: found a column without a name, expected a name for each column");
}

TEST_CASE("an empty cell alone on its line survives, an empty line is no row") {
  CHECK(csv_line({csv_cell("")}) == "\"\"\n");
  const TemporaryFile file("a\n\n\"\"\n\r\n");
  const auto csv = read_csv(file.path, {"a"});
  REQUIRE(csv->rows.size() == 1);
  CHECK(csv->rows[0].text("a").empty());
}

TEST_CASE("a carriage return at the very end is part of the line end, elsewhere of its cell") {
  CHECK(read("a,b\r\n1,2\r")->rows[0].number("b", 0, 9) == 2);
  CHECK(read("a,b\nx\ry,2\n")->rows[0].text("a") == "x\ry");
}

TEST_CASE("a long cell is shortened in the message without cutting a character") {
  const auto csv = read("a,b\n" + std::string(59, 'x') + "\xC3\xA9tail,1\n");
  CHECK_THROWS_WITH_AS(csv->rows[0].number("a", 0, 1),
                       doctest::Contains(("'" + std::string(59, 'x') + "...'").c_str()), BadInput);
}

TEST_CASE("a negative number stays a number where the same text is guarded") {
  CHECK(csv_line({csv_number(-3.5), csv_cell("-3.5")}) == "-3.5,'-3.5\n");
}

TEST_CASE("a column that the header lacks is a BadInput, not a crash") {
  const auto csv = read("a,b\n1,2\n");
  CHECK_THROWS_WITH_AS(csv->rows[0].text("c"), doctest::Contains(":1: found no column 'c'"),
                       BadInput);
}

TEST_CASE("a line number counts the newlines inside quoted cells") {
  const auto csv = read("a,b\n\"x\ny\nz\",1\nq,oops\n");
  REQUIRE(csv->rows.size() == 2);
  CHECK(csv->rows[1].line() == 5);
  CHECK_THROWS_WITH_AS(csv->rows[1].number("b", 0, 1),
                       doctest::Contains(":5: found b is 'oops', expected a number from 0 to 1"),
                       BadInput);
}

TEST_CASE("cells of the wrong kind are refused") {
  const auto csv = read("a,b\nnan,\ninf,1e999\n0x10,2.5\n7 ,-1\n \t,+5\n");
  CHECK_THROWS_AS(csv->rows[0].number("a", -9, 9), BadInput);
  CHECK_THROWS_AS(csv->rows[0].number("b", -9, 9), BadInput);
  CHECK_FALSE(csv->rows[0].optional_number("b", -9, 9));
  CHECK_THROWS_AS(csv->rows[0].required_text("b"), BadInput);
  CHECK_THROWS_AS(csv->rows[1].number("a", -9, 9), BadInput);
  CHECK_THROWS_AS(csv->rows[1].number("b", -9, 9), BadInput);
  CHECK_THROWS_AS(csv->rows[2].number("a", -99, 99), BadInput);
  CHECK_THROWS_AS(csv->rows[2].integer("b", 0, 9), BadInput);
  CHECK_THROWS_AS(csv->rows[3].number("a", 0, 9), BadInput);
  CHECK_THROWS_AS(csv->rows[3].number("b", 0, 9), BadInput);
  CHECK_THROWS_AS(csv->rows[4].required_text("a"), BadInput);
  CHECK_THROWS_AS(csv->rows[4].number("b", 0, 9), BadInput);
}

TEST_CASE("dates are years, months or days that exist") {
  for (const std::string good : {"2026", "2026-07", "2026-07-20", "2024-02-29"})
    CHECK(read("a,b\n" + good + ",1\n")->rows[0].date("a") == good);
  for (const std::string bad :
       {"", "26", "1026", "2026-13", "2026-00", "2026-07-32", "2026-02-29", "2026-07-00",
        "20260720", "2026-7-1", "2026-07-20 ", "-026", "now"}) {
    CAPTURE(bad);
    const auto csv = read("a,b\n" + bad + ",1\n");
    CHECK_THROWS_WITH_AS(csv->rows[0].date("a"), doctest::Contains("expected a date"), BadInput);
  }
}

TEST_CASE("no mutation of a file does worse than BadInput") {
  const std::string good = "a,b\n1,\"two, with \"\"quotes\"\"\"\n\"x\ny\",-3.5e2\n";
  std::mt19937 random(11);
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string bytes = good;
    for (int change = 0; change < 3; ++change) {
      const std::size_t at = random() % bytes.size();
      if (random() % 3 == 0)
        bytes.erase(at, 1 + random() % 4);
      else
        bytes[at] = "\",\n\r\0x\xFF="[random() % 8];
      if (bytes.empty()) bytes = " ";
    }
    try {
      read(bytes);
      ++accepted;
    } catch (const BadInput&) {
    }
  }
  CHECK(accepted > 0);
  CHECK(accepted < 4000);
}
