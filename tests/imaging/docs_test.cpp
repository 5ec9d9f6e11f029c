#include "workloads/imaging/settings.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

using namespace breakeven;

TEST_CASE("scenarios/README.md documents exactly the keys of the imaging workload") {
  std::ifstream readme(std::filesystem::path(BREAKEVEN_SOURCE_DIR) / "scenarios" / "README.md");
  std::map<std::string, std::set<std::string>> documented;
  std::string line, heading;
  while (std::getline(readme, line)) {
    if (line.starts_with("## ")) heading = line.substr(3);
    if (line.starts_with("| `")) documented[heading].insert(line);
  }
  const auto rows_of = [](const std::vector<Key>& keys) {
    std::set<std::string> rows;
    for (const Key& key : keys)
      rows.insert("| `" + key.name + "` | " + key.type + " | " + key.meaning + " |");
    return rows;
  };
  CHECK(documented["`[workload]` with kind = \"imaging\""] == rows_of(imaging::imaging_keys()));
  CHECK(documented["`[[workload.stage]]` with kind = \"imaging\""]
        == rows_of(imaging::stage_keys()));
  CHECK(documented["`[workload.unet]` with kind = \"imaging\""] == rows_of(imaging::unet_keys()));
}
