// What the peer benchmarks take and give. A row sets our code beside a library on the same input in
// the same run; a ratio above 1 means that ours is better.
#pragma once

#include "peers/interleaved.h"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace breakeven::peers {

struct RenderOptions {
  std::int64_t scene_triangles = 850'000;
  std::int64_t frame = 15; ///< in the crash
  int width = 960, height = 540, samples = 4;
  int pairs = 7;
  std::vector<int> threads; ///< empty: 1, 2, 4 ... up to the machine's
  Clock clock = Clock::wall;
};
const std::vector<RowName>& render_rows();

/// Prints CSV rows to `out` as they come, progress to `log`.
void compare_render(const RenderOptions& options, std::ostream& out, std::ostream& log);

} // namespace breakeven::peers
