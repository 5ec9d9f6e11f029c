#include "sim/errors.h"
#include "sim/scenario/sizes.h"

#include <doctest/doctest.h>

using namespace breakeven;

namespace {

std::string refusal(const std::string& over) {
  try {
    parse_sizes(over);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "accepted";
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("sizes are sorted, and keep the text that --set takes") {
  const Sizes sizes = parse_sizes("workload.rows=1_000_000, 10_000 ,1e5");
  CHECK(sizes.key == "workload.rows");
  REQUIRE(sizes.all.size() == 3);
  CHECK(sizes.all[0].text == "10_000");
  CHECK(sizes.all[0].amount == 10000);
  CHECK(sizes.all[1].text == "1e5");
  CHECK(sizes.all[2].amount == 1e6);
  CHECK(sizes.all[2].unit == "");
}

TEST_CASE("sizes may have units, of one kind in one sweep") {
  const Sizes times = parse_sizes("job.deadline=90 min,1 h");
  CHECK(times.all[0].text == "1 h");
  CHECK(times.all[1].amount == 5400);
  CHECK(times.all[0].unit == "s");
  CHECK(parse_sizes("job.input=1 GiB,1 GB").all[0].text == "1 GB");
  CHECK(parse_sizes("target[2].price=0.8 USD/h,2 USD/h").all[0].unit == "USD/h");
  CHECK(contains(refusal("job.input=1 GiB,2 h"), "expected values of one kind"));
  CHECK(contains(refusal("target[2].price=1 USD/h,2 CNY/h"), "expected values of one kind"));
  CHECK(contains(refusal("job.input=1 GiB,2"), "expected values of one kind"));
}

TEST_CASE("what is no size is refused with the option that it stands in") {
  for (const char* value : {"many", "-5", "0", "nan", "inf", "1e999", "1__0", "_1", "1_", "0x10",
                            "[1", "1-30", "0 s", "5 frames", "\"5\""}) {
    CAPTURE(value);
    const std::string message = refusal(std::string("workload.rows=10,") + value);
    CHECK(contains(message, "--over workload.rows=10,"));
    CHECK(contains(message, "expected a number above zero"));
  }
  CHECK(contains(refusal("workload.rows=10,,20"), "found an empty value"));
  CHECK(contains(refusal("workload.rows=10,20,"), "found an empty value"));
  CHECK(contains(refusal("workload.rows"), "found no '='"));
  CHECK(contains(refusal(""), "found no '='"));
}

TEST_CASE("a size twice, one size alone and too many sizes are refused") {
  CHECK(contains(refusal("workload.rows=10_000,10000"), "a second time"));
  CHECK(contains(refusal("job.deadline=60 min,1 h"), "a second time"));
  CHECK(contains(refusal("workload.rows=10"), "found one value"));
  std::string many = "workload.rows=1";
  for (int i = 2; i <= 100; ++i)
    many += "," + std::to_string(i);
  CHECK(refusal(many) == "accepted");
  CHECK(contains(refusal(many + ",101"), "at most 100"));
}

TEST_CASE("the folder of a size is its number, or its number and unit without spaces") {
  CHECK(folder_name(parse_sizes("x.y=1,10_000").all[1]) == "10000");
  CHECK(folder_name(parse_sizes("x.y=1,1e3").all[1]) == "1000");
  CHECK(folder_name(parse_sizes("x.y=0.5,1").all[0]) == "0.5");
  CHECK(folder_name(parse_sizes("x.y=1 h,2  h").all[1]) == "2h");
  CHECK(folder_name(parse_sizes("x.y=0.8 USD/h,2 USD/h").all[0]) == "0.8USD_per_h");
}
