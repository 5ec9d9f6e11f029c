// The simple reference that both engines answer to: every ray against every triangle, in double
// precision. Slow on purpose; used on a few rays.
#pragma once

#include "workloads/render/engine.h"

namespace breakeven::render {

/// Nearest hits at a frame; O(rays x triangles).
std::vector<Hit> brute_force_hits(const RenderScene& scene, std::int64_t frame,
                                  const std::vector<Ray>& rays);

} // namespace breakeven::render
