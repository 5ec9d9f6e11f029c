#include "tests/scenario/scenario_file.h"

#include <doctest/doctest.h>

#include <random>

using namespace breakeven;

namespace {

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i)
    result += text;
  return result;
}

std::string error_of_file(const std::string& file) {
  try {
    read_scenario(file, {}, toy_workloads);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

/// A few random edits, from a fixed sequence: bytes flipped, pieces cut, doubled or swapped in.
std::string mutated(const std::string& original, std::mt19937& random) {
  static const std::vector<std::string> pieces = {"\"",
                                                  "'",
                                                  "\"\"\"",
                                                  "[",
                                                  "]",
                                                  "[[",
                                                  "{",
                                                  "}",
                                                  "=",
                                                  ".",
                                                  ",",
                                                  "\n",
                                                  "\r",
                                                  "#",
                                                  "nan",
                                                  "inf",
                                                  "-",
                                                  "1e999",
                                                  "0x",
                                                  "9223372036854775807",
                                                  "\xEF\xBB\xBF",
                                                  "\xFF",
                                                  "\x80",
                                                  std::string(1, '\0'),
                                                  "\\u0000",
                                                  "\\UFFFFFFFF",
                                                  "1979-05-27T07:32:00Z",
                                                  "[job]\n",
                                                  "[[target]]\n",
                                                  "kind",
                                                  "a.b.c"};
  std::string text = original;
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = below(text.size());
    switch (below(5)) {
    case 0:
      text[at] = static_cast<char>(below(256));
      break;
    case 1:
      text.erase(at, 1 + below(20));
      break;
    case 2:
      text.insert(at, pieces[below(pieces.size())]);
      break;
    case 3:
      text.insert(at, text.substr(below(text.size()), below(60)));
      break;
    case 4:
      text.resize(at);
      break;
    }
  }
  return text;
}

} // namespace

TEST_CASE("a syntax error is refused at its line") {
  struct Mistake {
    std::string text, message;
  };
  const std::vector<Mistake> mistakes = {
      {"", "s.toml: found an empty file, expected a scenario, which has schema = 1"},
      {"\n\n", "s.toml: found no key 'schema' in the top level, expected schema (1)"},
      {"\xEF\xBB\xBF", "s.toml: found no key 'schema' in the top level, expected schema (1)"},
      {"schema = 1\nname =\n",
       "s.toml:2: found the end of the line, expected value in a key-value pair"},
      {"schema = 1\nname\n",
       "s.toml:2: found the end of the line, expected '=' in a key-value pair"},
      {"schema = 1\nname = \"x\n", "s.toml:2: found "},
      {"schema = 1\nname = \"x",
       "s.toml:2: found the end of the file in a string, expected the rest"},
      {"schema = 1\nname = \"\\q\"",
       "s.toml:2: found a mistake in TOML syntax in a string (unknown "
       "escape sequence '\\q'), expected valid TOML"},
      {"schema = 1\nname = small\n",
       "s.toml:2: found a bare word, expected a number, true, false or text in quotes"},
      {"schema = 1\n[job]\ndeadline = 2 h\n",
       "s.toml:3: found 'h', expected the end of the line (text goes in quotes)"},
      {"schema = 1\nx = [1,\n",
       "s.toml:2: found the end of the file in an array, expected the rest"},
      {"schema = 1\nschema = 1\n", "s.toml:2: found a key or section given twice (cannot redefine "
                                   "existing integer 'schema'), expected each of them once"},
      {"schema = 1\n[job]\n[job]\n",
       "s.toml:3: found a key or section given twice (cannot redefine "
       "existing table 'job'), expected each of them once"},
      {"schema = 1\n[target]\n[[target]]\n", "s.toml:3: found a key or section given twice"},
      {"schema = 1\n[=]\n", "s.toml:2: found '=', expected bare key starting character or string "
                            "delimiter in a key"},
      {"schema = 1\n[]\n", "s.toml:2: found a mistake in TOML syntax in a table header"},
      {"schema = 99999999999999999999", "s.toml:1: found a mistake in TOML syntax"},
      {"schema = 1\nname = \"\xFF\"\n",
       "s.toml:2: found bytes that are not UTF-8, expected a scenario in TOML"},
      {"schema = 1\nname = \"\xC3\"\n",
       "s.toml:2: found bytes that are not UTF-8, expected a scenario in TOML"},
      {std::string("schema = 1\n\0name", 16), "s.toml:2: found a zero byte, expected a scenario in "
                                              "TOML, which is text"},
      {"\x7F"
       "ELF\x01\x01",
       "s.toml:1: found "},
      {"\xFF\xFE"
       "s",
       "s.toml:1: found "},
      {"\x89PNG\r\n\x1A\n", "s.toml:1: found "},
      {"schema = 1\rname = 2", "s.toml:1: found "},
      {"schema = 1\nx = " + repeated("[", 100'000), "s.toml:2: found values nested too deep"},
      {"schema = 1\nx = " + repeated("{a=", 100'000), "s.toml:2: found values nested too deep"},
      {"schema = 1\nx" + repeated(".x", 400'000) + " = 1", "s.toml:2: found more than 24 dots, "
                                                           "expected tables that are not nested"},
      {"schema = 1\n[x" + repeated(".x", 400'000) + "]", "s.toml:2: found more than 24 dots"},
      {"schema = 1\n" + std::string(900'000, 'k') + " = 1",
       "s.toml:2: found unknown key '" + std::string(60, 'k') + "...' in the top level"},
      {"schema = 1\nname = \"" + std::string(900'000, 'n') + "\"",
       "s.toml:2: found name = \"" + std::string(60, 'n') + "...\", expected 1 to 64 of a-z"},
      {"schema = 1\n\"\\n\\u001b[31m\" = 1",
       "s.toml:2: found unknown key '??[31m' in the top level"},
  };
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.message);
    const std::string message = error_of(mistake.text);
    CHECK(message.substr(0, mistake.message.size()) == mistake.message);
    CHECK(message.size() < 400);
    CHECK(message.find(", expected ") != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
    CHECK(message.back() != '.');
  }
}

TEST_CASE("a long text is cut between characters, not inside one") {
  // 59 one-byte characters, then ones of two bytes: the cut at 60 would split the first of them.
  const std::string whole(59, 'n');
  CHECK(error_of(replaced(valid_scenario, "small", whole + repeated("\xC3\xA4", 5)))
            .find("= \"" + whole + "...\", expected")
        != std::string::npos);
}

TEST_CASE("dotted keys nested as deep as is let through are read and freed") {
  std::string text = valid_scenario + "[deep]\n";
  // Values nest 256 deep in toml++, each with a line of dots.
  std::string ends;
  for (int i = 0; i < 100; ++i) {
    text += repeated("a.", 22) + "a = [\n{";
    ends += "}]";
  }
  CHECK(error_of(text + "a = 1" + ends).find("unknown key 'deep'") != std::string::npos);
}

TEST_CASE("a row of dots in a comment is no nesting") {
  CHECK(error_of("# " + std::string(200, '.') + "\n" + valid_scenario).empty());
}

TEST_CASE("a file over 1 MiB is refused without being read whole") {
  const TestFolder folder;
  CHECK(error_of_file(folder.write("big.toml", valid_scenario + std::string(1 << 20, '#')))
            .ends_with("big.toml: found a larger file, expected a scenario under 1 MiB"));
  const std::string sparse = folder.write("sparse.toml", "");
  std::filesystem::resize_file(sparse, 100'000'000);
  CHECK(error_of_file(sparse).ends_with("expected a scenario under 1 MiB"));
  CHECK(error_of_file("/dev/zero")
        == "/dev/zero: found a larger file, expected a scenario under 1 MiB");
  const std::size_t room = (1 << 20) - valid_scenario.size();
  CHECK(error_of_file(folder.write("just.toml", valid_scenario + std::string(room, '#'))).empty());
}

TEST_CASE("what is not a scenario file is refused by name") {
  const TestFolder folder;
  const std::string base = folder.path().string();
  CHECK(error_of_file(base) == base + ": found a folder, expected a scenario file");
  CHECK(error_of_file(base + "/none.toml")
        == base + "/none.toml: found no such file, expected a scenario file");
  CHECK(error_of_file("") == ": found no such file, expected a scenario file");
  CHECK(error_of_file(std::string(10'000, 'x'))
            .ends_with("found no such file, expected a scenario file"));
  const std::string odd = folder.write("two\nlines.toml", "schema = 2");
  CHECK(error_of_file(odd).ends_with("/two lines.toml:1: found schema = 2, expected 1"));
}

TEST_CASE("a damaged scenario is read or refused, and nothing else ever happens") {
  const TestFolder folder;
  std::mt19937 random(20240607);
  int refused = 0;
  constexpr int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    const std::string text = mutated(valid_scenario, random);
    CAPTURE(text);
    const std::string file = folder.write("s.toml", text);
    try {
      const Scenario scenario = read_scenario(file, {}, toy_workloads);
      CHECK_FALSE(scenario.targets.empty());
      CHECK(scenario.sha256.size() == 64);
    } catch (const BadInput& error) {
      ++refused;
      CHECK(error.line >= 0);
      CHECK_FALSE(error.found.empty());
      CHECK_FALSE(error.expected.empty());
    }
  }
  CHECK(refused > trials / 2);
  CHECK(refused < trials);
}

TEST_CASE("a damaged override is read or refused, and nothing else ever happens") {
  std::mt19937 random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::string set = mutated("target[2].count=[{a.b = \"1 h\"}]", random);
    CAPTURE(set);
    try {
      read_text(valid_scenario, {set});
    } catch (const BadInput& error) {
      CHECK_FALSE(error.found.empty());
    }
  }
}
