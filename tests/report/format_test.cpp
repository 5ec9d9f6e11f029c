#include "sim/report/format.h"

#include <doctest/doctest.h>

#include <limits>

using namespace breakeven;

TEST_CASE("numbers are shown with two or three significant digits") {
  CHECK(significant(1234.5, 2) == "1,200");
  CHECK(significant(0.05234, 2) == "0.052");
  CHECK(significant(9.96, 2) == "10");
  CHECK(significant(99.6, 2) == "100");
  CHECK(significant(-3.14159, 3) == "-3.14");
  CHECK(significant(-1234567, 2) == "-1,200,000");
  CHECK(significant(0, 2) == "0");
  CHECK(significant(1e300, 2) == "1.0e+300");
  CHECK(significant(std::numeric_limits<double>::infinity(), 2) == "-");
}

TEST_CASE("a count that is whole is shown whole") {
  CHECK(count_text(1234) == "1,234");
  CHECK(count_text(2.5) == "2.50");
  CHECK(units_text(1, "frame") == "1 frame");
  CHECK(units_text(240, "frame") == "240 frames");
}

TEST_CASE("a duration takes the unit that keeps it short, a range that of its likely value") {
  CHECK(duration_text(42) == "42 s");
  CHECK(duration_text(185) == "3.1 min");
  CHECK(duration_text(9000) == "2.5 h");
  CHECK(duration_text(864000) == "10 days");
  CHECK(duration_range({90, 120, 180}) == "1.5-3.0 min");
  CHECK(duration_and_range({7200, 10800, 14400}) == "3.0 h (2.0-4.0)");
  CHECK(stated_duration(7200) == "2 h");
}

TEST_CASE("a range whose ends round to the same text is one number") {
  CHECK(amount_range({1.001, 1.002, 1.003}) == "1.0");
}

TEST_CASE("a model's probability is never shown as 0 or 1") {
  CHECK(probability_text(1) == "> 0.99");
  CHECK(probability_text(0) == "< 0.01");
  CHECK(probability_text(0.5) == "0.50");
}

TEST_CASE("a long name loses its middle and fits exactly, in any script") {
  CHECK(fitted("alibaba:ecs.gn7e-c16g1.32xlarge", 15) == "alibaba…2xlarge");
  for (const std::string text : {"漢字漢字漢字漢字漢字", "ééééééééééééé",
                                 "\xF0\x9F\x98\x80\xF0\x9F\x98\x80\xF0\x9F\x98\x80"})
    for (int width = 3; width < 12; ++width) {
      CAPTURE(width);
      CHECK(width_of(fitted(text, width)) <= width);
    }
  CHECK(width_of("é漢a") == 4);
  CHECK(fitted("a\x1b[31mb\nc", 20) == "a [31mb c");
}
