// Helpers of the scenario tests: a valid scenario to start from, and readers that turn the error
// into text.
#pragma once

#include "sim/errors.h"
#include "sim/scenario/scenario.h"
#include "tests/test_folder.h"

#include <string>
#include <vector>

namespace breakeven {

inline const std::string valid_scenario = R"(schema = 1
name = "small"
title = "A small study"
[workload]
kind = "toy"
size = 10
[measure]
slice = "auto"
time_limit = "40 s"
[job]
runs_per_month = 22
deadline = "2 h"
input = "40 GiB"
input_change = 0.05
[[target]]
instance = "aws:c6i.32xlarge"
[[target]]
instance = "aws:p4de.24xlarge"
option = "spot"
count = 2
[[claim]]
quantity = "time_to_result"
from = "12 h"
to = "40 min"
source = "article section 5.1"
)";

inline const std::vector<WorkloadKeys> toy_workloads = {
    {"toy",
     {{"size", "integer >= 1", "how much"},
      {"mesh", "file", "what to read"},
      {"ratio", "number", "any"},
      {"flag", "true or false", "any"},
      {"point", "[3 numbers]", "any"},
      {"frames", "ranges", "any"},
      {"part", "sections", "any"},
      {"light", "section", "any"},
      {"note", "text", "any"}}},
    {"other", {{"weight", "number", "any"}}},
};

inline Scenario read_text(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TestFolder folder;
  return read_scenario(folder.write("s.toml", text), overrides, toy_workloads);
}

/// The message for a scenario with the folder's name left out, or "" where it is accepted.
inline std::string error_of(const std::string& text,
                            const std::vector<std::string>& overrides = {}) {
  const TestFolder folder;
  try {
    read_scenario(folder.write("s.toml", text), overrides, toy_workloads);
  } catch (const BadInput& error) {
    std::string message = error.what();
    const std::string prefix = folder.path().string() + "/";
    const std::size_t at = message.find(prefix);
    return at == std::string::npos ? message : message.erase(at, prefix.size());
  }
  return "";
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "no '" + from + "' to replace"
                                 : text.replace(at, from.size(), to);
}

/// The toy's [workload] with one more line, `line` 7 of the file.
inline Section workload_with(const std::string& line) {
  return *read_text(replaced(valid_scenario, "size = 10\n", "size = 10\n" + line + "\n")).workload;
}

} // namespace breakeven
