// Helpers of the report's tests: files as bytes, and the files of a memo by name.
#pragma once

#include "sim/report/report.h"
#include "tests/test_folder.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace breakeven {

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::string file_named(const std::vector<ResultFile>& files, const std::string& name) {
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const ResultFile& file) { return file.name == name; });
  REQUIRE(found != files.end());
  return found->bytes;
}

} // namespace breakeven
