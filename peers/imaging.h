// Our imaging stages on OpenMP beside ITK, cc3d, edt and a plain copy: the same input, the same
// number of threads, taking turns, outputs compared.
#pragma once

#include "peers/interleaved.h"
#include "workloads/imaging/volume.h"

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

namespace breakeven::peers {

struct ImagingOptions {
  std::filesystem::path input; ///< a CT; empty: the built-in phantom of `size`
  imaging::Extent size{256, 208, 240};
  int pairs = 5;
  std::vector<int> threads;      ///< empty: 1, 2, 4 ... up to the machine's
  std::vector<std::string> rows; ///< those whose names start with one of these; empty: all
  Clock clock = Clock::wall;
  std::string python = "python3"; ///< one that has cc3d and edt
};
const std::vector<RowName>& imaging_rows();

/// Prints CSV rows to `out` as they come, progress to `log`. False where an output did not agree.
bool compare_imaging(const ImagingOptions& options, std::ostream& out, std::ostream& log);

} // namespace breakeven::peers
