#include "tests/scenario/scenario_file.h"

#include <doctest/doctest.h>

#include <iterator>
#include <map>
#include <sstream>

using namespace breakeven;

namespace {

struct Row {
  std::string name, type, meaning;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t first = cell.find_first_not_of(' ');
    cells.push_back(first == std::string::npos
                        ? ""
                        : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

/// "## `[[target]]`" is target, "## Top level" is "", and other headings are none of ours. The
/// sections of each kind of workload are checked beside the workloads.
std::string section_of(const std::string& heading) {
  if (heading == "## Top level") return "";
  if (heading.find("[workload") != std::string::npos || !heading.starts_with("## `["))
    return "not a section";
  std::string name;
  for (const char c : heading.substr(3))
    if (c != '`' && c != '[' && c != ']') name += c;
  return name;
}

std::map<std::string, std::vector<Row>> documented() {
  std::ifstream in(BREAKEVEN_SOURCE_DIR "/scenarios/README.md");
  REQUIRE(in);
  std::map<std::string, std::vector<Row>> sections;
  std::string section = "not a section";
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) section = section_of(line);
    if (section == "not a section" || !line.starts_with("| `")) continue;
    const auto cells = cells_of(line);
    REQUIRE(cells.size() == 3);
    sections[section].push_back({cells[0].substr(1, cells[0].size() - 2), cells[1], cells[2]});
  }
  return sections;
}

} // namespace

TEST_CASE("scenarios/README.md documents each key of a scenario as the code has it") {
  auto sections = documented();
  for (const SectionKeys& one : scenario_keys()) {
    CAPTURE(one.section);
    const std::vector<Row>& rows = sections[one.section];
    REQUIRE(rows.size() == one.keys.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK(rows[i].name == one.keys[i].name);
      CHECK(rows[i].type == one.keys[i].type);
      CHECK(rows[i].meaning == one.keys[i].meaning);
    }
    sections.erase(one.section);
  }
  for (const auto& [section, rows] : sections)
    FAIL_CHECK("the README documents [" << section << "], which the code does not know");
}

TEST_CASE("no cell of the key tables breaks a Markdown table") {
  for (const SectionKeys& one : scenario_keys())
    for (const Key& key : one.keys)
      for (const std::string& cell : {key.name, key.type, key.meaning}) {
        CAPTURE(cell);
        CHECK_FALSE(cell.empty());
        CHECK(cell.find_first_of("|\n") == std::string::npos);
      }
}

TEST_CASE("the example of scenarios/README.md is valid, and its error is what a user would see") {
  std::ifstream in(BREAKEVEN_SOURCE_DIR "/scenarios/README.md");
  const std::string readme((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::size_t begin = readme.find("```toml\n") + 8;
  const std::string example = readme.substr(begin, readme.find("```", begin) - begin);
  const std::vector<WorkloadKeys> render = {
      {"render", {{"scene", "text", "any"}, {"frames", "ranges", "any"}}}};
  const TestFolder folder;
  CHECK(read_scenario(folder.write("small_render.toml", example), {}, render).targets.size() == 2);

  std::string message;
  try {
    read_scenario(folder.write("small_render.toml", replaced(example, "\"2 h\"", "\"2 hours\"")),
                  {}, render);
  } catch (const BadInput& error) {
    message = error.what();
  }
  REQUIRE(message.find("small_render.toml") != std::string::npos);
  CHECK(readme.find("scenarios/" + message.substr(message.find("small_render.toml")) + "\n")
        != std::string::npos);
}
