// The tables of scenarios/README.md beside the keys in code, for the tests that hold them equal.
#pragma once

#include "sim/scenario/section.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace breakeven {

/// Rows of each section of scenarios/README.md, by its heading.
inline std::map<std::string, std::set<std::string>> documented_keys() {
  std::ifstream readme(std::filesystem::path(BREAKEVEN_SOURCE_DIR) / "scenarios" / "README.md");
  std::map<std::string, std::set<std::string>> documented;
  std::string line, heading;
  while (std::getline(readme, line)) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (line.starts_with("| `")) documented[heading].insert(line);
  }
  return documented;
}

inline std::set<std::string> rows_of(const std::vector<Key>& keys) {
  std::set<std::string> rows;
  for (const Key& key : keys)
    rows.insert("| `" + key.name + "` | " + key.type + " | " + key.meaning + " |");
  return rows;
}

} // namespace breakeven
