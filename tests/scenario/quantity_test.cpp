#include "sim/scenario/section.h"

#include <doctest/doctest.h>

#include <locale>
#include <stdexcept>

using namespace breakeven;

TEST_CASE("a duration is a number and one of ms, s, min, h, d") {
  CHECK(parse_duration_s("250 ms") == doctest::Approx(0.25));
  CHECK(parse_duration_s("90 s") == 90);
  CHECK(parse_duration_s("5 min") == 300);
  CHECK(parse_duration_s("2 h") == 7200);
  CHECK(parse_duration_s("3 d") == 259200);
  CHECK(parse_duration_s("1.5h") == 5400);
  CHECK(parse_duration_s("  1e2  s ") == 100);
  CHECK(parse_duration_s("0 s") == 0);
}

TEST_CASE("decimal and binary units of data are told apart") {
  CHECK(parse_bytes("512 B") == 512);
  CHECK(parse_bytes("12 KB") == 12e3);
  CHECK(parse_bytes("12 MB") == 12e6);
  CHECK(parse_bytes("12 GB") == 12e9);
  CHECK(parse_bytes("2 TB") == 2e12);
  CHECK(parse_bytes("3 KiB") == 3072);
  CHECK(parse_bytes("512 MiB") == 536870912);
  CHECK(parse_bytes("40 GiB") == 42949672960);
  CHECK(parse_bytes("1 TiB") == 1099511627776);
}

TEST_CASE("a price is per hour and names its currency") {
  CHECK(parse_price_per_h("0.8 USD/h").amount_per_h == 0.8);
  CHECK(parse_price_per_h("0.8 USD/h").currency == "USD");
  CHECK(parse_price_per_h("11.63 CNY/h").amount_per_h == 11.63);
  CHECK(parse_price_per_h("11.63 CNY/h").currency == "CNY");
}

TEST_CASE("what is not one number and one unit is no quantity") {
  for (const char* text : {"",
                           " ",
                           "h",
                           "2",
                           "2h30",
                           "2 h 30 min",
                           "-1 h",
                           "+1 h",
                           "nan h",
                           "inf h",
                           "1e400 h",
                           "1e308 d",
                           "1e-400 h",
                           "1,5 h",
                           "0x10 h",
                           "2 H",
                           "2 hours",
                           "2 h\n",
                           "2 h;",
                           "1_000 s",
                           "\xC2\xA0"
                           "2 h",
                           "2 GiB",
                           "2 USD/h"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_duration_s(text), std::invalid_argument);
  }
  for (const char* text : {"", "40", "40 gib", "40 GiB/s", "-1 GB", "nan GB", "1e400 B", "40 kB",
                           "1e300 TiB GB", "1.7e308 TiB", "4 h"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_bytes(text), std::invalid_argument);
  }
  for (const char* text : {"", "0.8", "0.8 USD", "0.8 usd/h", "0.8 EUR/h", "-0.8 USD/h", "$0.8/h",
                           "nan USD/h", "0.8 USD/h/h", "0.8 USD / h"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_price_per_h(text), std::invalid_argument);
  }
}

TEST_CASE("a refused quantity says what was found and shows a good one") {
  CHECK_THROWS_WITH(parse_duration_s("2h30"),
                    "'2h30' is not a duration such as \"2 h\" (ms, s, min, h or d)");
}

namespace {
struct CommaDecimals : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};
} // namespace

TEST_CASE("the decimal sign is a full stop under a locale that writes commas") {
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new CommaDecimals));
  CHECK(parse_duration_s("1.5 h") == 5400);
  CHECK(parse_price_per_h("0.8 USD/h").amount_per_h == 0.8);
  std::locale::global(before);
}
