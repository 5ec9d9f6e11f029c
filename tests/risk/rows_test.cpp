#include "tests/risk/all_rows.h"
#include "workloads/risk/rows.h"

#include <doctest/doctest.h>

using namespace breakeven::risk;

namespace {

/// Two features that tell the row's number; labels do, too.
Rows numbered(std::int64_t count) {
  return {count,
          {"number", "square"},
          [](std::int64_t begin, std::int64_t end, float* values, std::uint8_t* labels) {
            for (std::int64_t row = begin; row < end; ++row) {
              *values++ = static_cast<float>(row);
              *values++ = static_cast<float>(row * row);
              *labels++ = static_cast<std::uint8_t>(row % 7 == 0);
            }
          }};
}

/// The numbers of the rows in [begin, end), with the other values and labels checked.
std::vector<std::int64_t> numbers(const Rows& rows, std::int64_t begin, std::int64_t end) {
  const ReadRows read = read_rows(rows, begin, end);
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < read.labels.size(); ++i) {
    const auto number = static_cast<std::int64_t>(read.values[2 * i]);
    CHECK(read.values[2 * i + 1] == static_cast<float>(number * number));
    CHECK(read.labels[i] == (number % 7 == 0));
    all.push_back(number);
  }
  return all;
}

} // namespace

TEST_CASE("a part of rows starts and ends where it says, and parts nest") {
  const Rows part = part_of(part_of(numbered(100), 10, 60), 5, 8);
  CHECK(part.count == 3);
  CHECK(part.feature_names == std::vector<std::string>{"number", "square"});
  CHECK(numbers(part, 0, 3) == std::vector<std::int64_t>{15, 16, 17});
  CHECK(part_of(numbered(5), 5, 5).count == 0);
}

TEST_CASE("every fifth row and all the others are the rows once each") {
  for (const std::int64_t count : {0, 1, 4, 5, 6, 99, 20'003})
    for (const std::int64_t divisor : {1, 2, 5, 9'999})
      for (const std::int64_t remainder : {std::int64_t{0}, divisor / 2, divisor - 1}) {
        CAPTURE(count);
        CAPTURE(divisor);
        CAPTURE(remainder);
        const Rows some = every(numbered(count), divisor, remainder);
        const Rows others = all_but_every(numbered(count), divisor, remainder);
        std::vector<std::int64_t> expected_some, expected_others;
        for (std::int64_t row = 0; row < count; ++row)
          (row % divisor == remainder ? expected_some : expected_others).push_back(row);
        REQUIRE(some.count == static_cast<std::int64_t>(expected_some.size()));
        REQUIRE(others.count == static_cast<std::int64_t>(expected_others.size()));
        const ReadRows a = read_rows(some), b = read_rows(others);
        bool same = true;
        for (std::size_t i = 0; i < expected_some.size(); ++i)
          same = same && a.values[2 * i] == static_cast<float>(expected_some[i])
                 && a.labels[i] == (expected_some[i] % 7 == 0);
        for (std::size_t i = 0; i < expected_others.size(); ++i)
          same = same && b.values[2 * i] == static_cast<float>(expected_others[i])
                 && b.labels[i] == (expected_others[i] % 7 == 0);
        CHECK(same);
      }
}

TEST_CASE("a range of picked rows is what is there when all are read") {
  const Rows others = all_but_every(numbered(50'000), 5, 2);
  CHECK(numbers(others, 9'999, 10'003)
        == std::vector<std::int64_t>{12'499, 12'500, 12'501, 12'503});
  CHECK(numbers(every(numbered(50'000), 5, 2), 1'000, 1'002)
        == std::vector<std::int64_t>{5'002, 5'007});
  CHECK(numbers(others, 3, 3).empty());
}
