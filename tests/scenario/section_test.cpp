#include "tests/scenario/scenario_file.h"

#include <doctest/doctest.h>

#include <functional>
#include <limits>

using namespace breakeven;

namespace {

std::string message(const std::function<void()>& read) {
  try {
    read();
  } catch (const BadInput& error) {
    const std::string whole = error.what();
    return whole.substr(whole.find("s.toml"));
  }
  return "";
}

} // namespace

TEST_CASE("each reader gives the value, or the fallback where the key is absent") {
  const Section section =
      workload_with("ratio = 0.5\nflag = true\npoint = [1, 2.5, -3]\nframes = \"5\"");
  CHECK(section.text("kind") == "toy");
  CHECK(section.integer("size", 1, 100) == 10);
  CHECK(section.number("size", 1, 100) == 10);
  CHECK(section.number("ratio", 0, 1) == 0.5);
  CHECK(section.boolean("flag"));
  CHECK(section.numbers("point", 3, -5, 5) == std::vector<double>{1, 2.5, -3});
  CHECK(section.one_of("kind", {"toy", "other"}) == "toy");

  const Section empty = workload_with("");
  CHECK(empty.text("mesh", "none") == "none");
  CHECK(empty.integer("frames", 0, 9, 4) == 4);
  CHECK(empty.number("ratio", 0, 1, 0.25) == 0.25);
  CHECK(empty.boolean("flag", true));
  CHECK(empty.numbers("point", 1, 0, 1, std::vector<double>{7}) == std::vector<double>{7});
  CHECK(empty.one_of("mesh", {"a", "b"}, "b") == "b");
  CHECK(empty.duration_s("ratio", 3) == 3);
  CHECK(empty.bytes("ratio", 4) == 4);
  CHECK_FALSE(empty.has("mesh"));
}

TEST_CASE("a value of the wrong type is refused with its line, value and type") {
  const Section s = workload_with("ratio = \"half\"\nflag = 1\npoint = 3\nframes = 7\n"
                                  "part = 4\nlight = \"sun\"\nnote = 2024-01-02");
  CHECK(message([&] { s.number("ratio", 0, 1); })
        == "s.toml:7: found workload.ratio = \"half\" (text), expected a number from 0 to 1");
  CHECK(message([&] { s.boolean("flag"); })
        == "s.toml:8: found workload.flag = 1 (an integer), expected true or false");
  CHECK(message([&] { s.numbers("point", 3, 0, 1); })
        == "s.toml:9: found workload.point = 3 (an integer), expected [3 numbers], each a number "
           "from 0 to 1");
  CHECK(message([&] { s.ranges("frames", 0, 9, 9); })
        == "s.toml:10: found workload.frames = 7 (an integer), expected ranges such as \"1-30, "
           "47\" with numbers from 0 to 9");
  CHECK(message([&] { s.tables("part", {}); })
        == "s.toml:11: found 'workload.part' as an integer, expected [[workload.part]], a section "
           "for each");
  CHECK(message([&] { s.table("light", {}); })
        == "s.toml:12: found 'workload.light' as text, expected [workload.light]");
  CHECK(message([&] { s.text("note"); })
        == "s.toml:13: found workload.note = a date, expected text in quotes");
  CHECK(message([&] { s.duration_s("size"); })
        == "s.toml:6: found workload.size = 10 (an integer), expected a duration such as \"2 h\" "
           "(ms, s, min, h or d)");
  CHECK(message([&] { s.bytes("size"); }).find("such as \"40 GiB\"") != std::string::npos);
  CHECK(message([&] { s.price_per_h("size"); }).find("such as \"0.8 USD/h\"") != std::string::npos);
}

TEST_CASE("a required key that is absent is named with its type and the line of its section") {
  const Section s = workload_with("");
  CHECK(message([&] { s.text("mesh"); })
        == "s.toml:4: found no key 'mesh' in [workload], expected mesh (file)");
  CHECK(message([&] { s.integer("frames", 0, 1); })
        == "s.toml:4: found no key 'frames' in [workload], expected frames (ranges)");
  for (const std::function<void()>& read : std::vector<std::function<void()>>{
           [&] { s.number("ratio", 0, 1); }, [&] { s.boolean("flag"); },
           [&] { s.numbers("point", 3, 0, 1); }, [&] { s.duration_s("ratio"); },
           [&] { s.bytes("ratio"); }, [&] { s.price_per_h("ratio"); }, [&] { s.file("mesh"); },
           [&] { s.ranges("frames", 0, 1, 1); }})
    CHECK(message(read).starts_with("s.toml:4: found no key '"));
}

TEST_CASE("a number that is not finite or out of range is refused") {
  for (const char* value : {"nan", "-nan", "inf", "-inf", "-0.001", "1.001", "2"}) {
    CAPTURE(value);
    const Section s = workload_with(std::string("ratio = ") + value);
    CHECK(message([&] { s.number("ratio", 0, 1); }).ends_with("expected a number from 0 to 1"));
  }
  const Section s = workload_with("ratio = inf");
  CHECK(message([&] { s.number("ratio", 0, std::numeric_limits<double>::infinity()); })
        == "s.toml:7: found workload.ratio = inf, expected a number >= 0");
}

TEST_CASE("1e6 is an integer, 1.5 and 1e30 are not") {
  CHECK(workload_with("ratio = 1e6").integer("ratio", 0, 10'000'000) == 1'000'000);
  for (const char* value : {"1.5", "1e30", "nan", "inf", "true", "\"1\""}) {
    CAPTURE(value);
    const Section s = workload_with(std::string("ratio = ") + value);
    CHECK(message([&] { s.integer("ratio", 1, 9); }).ends_with("expected an integer from 1 to 9"));
  }
}

TEST_CASE("an integer at either end of its range is accepted, one beyond is not") {
  const Section s = workload_with("ratio = 0");
  CHECK(s.integer("size", 10, 10) == 10);
  CHECK(message([&] { s.integer("size", 11, 20); })
        == "s.toml:6: found workload.size = 10, expected an integer from 11 to 20");
  CHECK(message([&] { s.integer("size", 1, 9); })
        == "s.toml:6: found workload.size = 10, expected an integer from 1 to 9");
  CHECK(message([&] { s.integer("ratio", 1, std::numeric_limits<std::int64_t>::max()); })
        == "s.toml:7: found workload.ratio = 0, expected an integer >= 1");
}

TEST_CASE("a list of numbers has the right length and only numbers in it") {
  for (const char* value :
       {"[]", "[1]", "[1, 2, 3, 4]", "[1, \"2\", 3]", "[1, nan, 3]", "[1, [2], 3]", "[1, 9, 3]"}) {
    CAPTURE(value);
    const Section s = workload_with(std::string("point = ") + value);
    CHECK(message([&] {
            s.numbers("point", 3, 0, 5);
          }).ends_with("expected [3 numbers], each a number from 0 to 5"));
  }
}

TEST_CASE("a choice that is nearly right is suggested") {
  const Section s = workload_with("note = \"rebiuld\"");
  CHECK(message([&] {
          s.one_of("note", {"rebuild", "refit"});
        })
        == "s.toml:7: found workload.note = \"rebiuld\", expected \"rebuild\" or \"refit\" (did "
           "you mean \"rebuild\"?)");
}

TEST_CASE("durations are above zero and under a century, amounts of data may be zero") {
  CHECK(workload_with("note = \"90 s\"").duration_s("note") == 90);
  CHECK(workload_with("note = \"0 GB\"").bytes("note") == 0);
  CHECK(workload_with("note = \"11.63 CNY/h\"").price_per_h("note").amount_per_h == 11.63);
  CHECK(message([] { workload_with("note = \"0 s\"").duration_s("note"); })
        == "s.toml:7: found workload.note = \"0 s\", expected a duration above zero");
  CHECK(message([] { workload_with("note = \"36526 d\"").duration_s("note"); })
        == "s.toml:7: found workload.note = \"36526 d\", expected a duration of at most 36525 d");
  CHECK(message([] { workload_with("note = \"1000001 TB\"").bytes("note"); })
        == "s.toml:7: found workload.note = \"1000001 TB\", expected at most 1000000 TB");
  CHECK(message([] {
          workload_with("note = \"0 USD/h\"").price_per_h("note");
        }).find("a price above zero")
        != std::string::npos);
  CHECK(message([] { workload_with("note = \"2h30\"").duration_s("note"); })
        == "s.toml:7: found workload.note = \"2h30\", expected a duration such as \"2 h\" (ms, s, "
           "min, h or d)");
}

TEST_CASE("ranges come out sorted and distinct") {
  const auto ranges = [](const std::string& text) {
    return workload_with("frames = \"" + text + "\"").ranges("frames", 0, 1000, 1000);
  };
  using Numbers = std::vector<std::int64_t>;
  CHECK(ranges("1-240").size() == 240);
  CHECK(ranges("1-240").front() == 1);
  CHECK(ranges("1-240").back() == 240);
  CHECK(ranges("1-3, 47") == Numbers{1, 2, 3, 47});
  CHECK(ranges("5") == Numbers{5});
  CHECK(ranges("0") == Numbers{0});
  CHECK(ranges("47,1 - 3 ,2-4,3") == Numbers{1, 2, 3, 4, 47});
  CHECK(ranges("1-9, 2-3, 5") == Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(ranges("7-7") == Numbers{7});
}

TEST_CASE("ranges that are empty, reversed, negative, overflowing or out of bounds are refused") {
  for (const char* text : {"",
                           " ",
                           ",",
                           "1,",
                           ",1",
                           "1,,2",
                           "-",
                           "1-",
                           "-5",
                           "--5",
                           "1--5",
                           "3-1",
                           "1-2-3",
                           "a",
                           "1-b",
                           "1.5",
                           "+1",
                           "1;2",
                           "0x5",
                           "1001",
                           "5-1001",
                           "9223372036854775808",
                           "99999999999999999999",
                           "0-9223372036854775807"}) {
    CAPTURE(text);
    const Section s = workload_with("frames = \"" + std::string(text) + "\"");
    CHECK(message([&] {
            s.ranges("frames", 0, 1000, 1000);
          }).ends_with("expected ranges such as \"1-30, 47\" with numbers from 0 to 1000"));
  }
}

TEST_CASE("more numbers than allowed are refused without being made first") {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const Section s = workload_with("frames = \"0-9223372036854775807, 3\"");
  CHECK(message([&] {
          s.ranges("frames", 0, huge, 1000);
        }).ends_with("expected at most 1000 numbers"));
  const Section ten = workload_with("frames = \"9223372036854775798-9223372036854775807, 5\"");
  CHECK(ten.ranges("frames", 0, huge, 11).back() == huge);
  CHECK(message([&] { ten.ranges("frames", 0, huge, 10); }).ends_with("at most 10 numbers"));
  // Said twice, counted once.
  CHECK(workload_with("frames = \"1-5, 1-5\"").ranges("frames", 0, 9, 5).size() == 5);
}

TEST_CASE("a file is found from the folder of the scenario, wherever the program runs") {
  const TestFolder folder;
  std::filesystem::create_directories(folder.path() / "meshes");
  folder.write("meshes/car.obj", "v 0 0 0");
  const std::string text =
      replaced(valid_scenario, "size = 10\n", "mesh = \"./meshes/../meshes/car.obj\"\n");
  const Scenario scenario = read_scenario(folder.write("s.toml", text), {}, toy_workloads);
  CHECK(scenario.workload->file("mesh") == folder.path() / "meshes/car.obj");
  CHECK(scenario.workload->file_name() == (folder.path() / "s.toml").string());
}

TEST_CASE("a file that is missing, empty in name or a folder is refused") {
  const auto with = [](const std::string& value) {
    return error_of(replaced(valid_scenario, "size = 10\n", "mesh = \"" + value + "\"\n"));
  };
  CHECK(with("car.obj")
        == "s.toml:6: found workload.mesh = \"car.obj\", which does not exist, expected a file, "
           "relative to the folder of the scenario");
  CHECK(with("").find("which does not exist") != std::string::npos);
  CHECK(with(".").find("which is not a file") != std::string::npos);
  CHECK(with("/dev/zero").find("which is not a file") != std::string::npos);
  CHECK(with(std::string(5000, 'x')).find("which does not exist") != std::string::npos);
  CHECK(with("a\\u0000b").find("without control characters") != std::string::npos);
}

TEST_CASE("nested sections are read, and their unknown keys named with their place") {
  const Section s = workload_with("part = [{weight = 1}, {weight = 2}]\nlight = {hue = 3}");
  const auto parts = s.tables("part", {{"weight", "number", ""}});
  REQUIRE(parts.size() == 2);
  CHECK(parts[1].number("weight", 0, 9) == 2);
  CHECK(s.table("light", {{"hue", "number", ""}})->number("hue", 0, 9) == 3);
  CHECK(message([&] {
          s.tables("part", {{"height", "number", ""}});
        })
        == "s.toml:7: found unknown key 'weight' in [[workload.part]] 1, expected a known key "
           "(did you mean 'height'?)");
  CHECK(workload_with("").tables("part", {}).empty());
  CHECK_FALSE(workload_with("").table("light", {}).has_value());
}

TEST_CASE("a caller's own check fails at the line of the key") {
  const Section s = workload_with("ratio = 1");
  CHECK(s.line_of("ratio") == 7);
  CHECK(s.line_of("mesh") == 4);
  CHECK(message([&] { s.fail("ratio", "an odd ratio", "an even one"); })
        == "s.toml:7: found an odd ratio, expected an even one");
}

TEST_CASE("points are lists of three numbers, and errors name the odd one") {
  using Points = std::vector<std::array<double, 3>>;
  CHECK(workload_with("point = [[1, 2, 3], [-1, 0.5, 0]]").points("point", 2, -5, 5)
        == Points{{1, 2, 3}, {-1, 0.5, 0}});
  CHECK(workload_with("").points("point", 2, -5, 5).empty());
  const std::string form =
      ", expected [[3 numbers], ...], 1 to 2 points, each number a number from "
      "-5 to 5";
  for (const auto& [value, found] : std::vector<std::pair<std::string, std::string>>{
           {"[[1, 2]]", "workload.point with [2 values] in it"},
           {"[1, 2]", "workload.point with 1 in it"},
           {"[[1, 2, 6]]", "workload.point with 6 in it"},
           {"[[1, 2, nan]]", "workload.point with nan in it"}}) {
    const Section s = workload_with("point = " + value);
    CHECK(message([&] { s.points("point", 2, -5, 5); }) == "s.toml:7: found " + found + form);
  }
  for (const std::string value : {"[]", "[[1, 2, 3], [1, 2, 3], [1, 2, 3]]", "\"here\""})
    CHECK(message([&] {
            workload_with("point = " + value).points("point", 2, -5, 5);
          }).starts_with("s.toml:7: found workload.point = "));
}

TEST_CASE("lists of numbers and of texts have any length up to a limit") {
  const Section s = workload_with("point = [0.5, 0.9]\nnote = [\"a\", \"b c\"]");
  CHECK(s.number_list("point", 2, 0, 1) == std::vector<double>{0.5, 0.9});
  CHECK(s.texts("note", 2) == std::vector<std::string>{"a", "b c"});
  CHECK(s.number_list("flag", 2, 0, 1, std::vector<double>{1}) == std::vector<double>{1});
  CHECK(s.texts("flag", 2).empty());
  CHECK(message([&] {
          s.number_list("point", 1, 0, 1);
        }).ends_with("expected [1 numbers], each a number from 0 to 1"));
  CHECK(message([&] {
          s.number_list("point", 3, 0, 0.8);
        }).ends_with("expected [1 to 3 numbers], each a number from 0 to 0.8"));
  CHECK(message([&] {
          s.texts("note", 1);
        }).ends_with("expected [1 to 1 different texts], each of one line"));
  for (const char* wrong :
       {"note = []", "note = \"a\"", "note = [1]", "note = [\"a\", \"a\"]", "note = [\"a\\nb\"]"})
    CHECK(message([&] { workload_with(wrong).texts("note", 9); }).starts_with("s.toml:7: found"));
}
