// How the engines of both paths divide a step, shared so that what is predicted is what is
// allocated. Leaves out what the parts compute.
#pragma once

#include "workloads/risk/mlp.h"

#include <algorithm>

namespace breakeven::risk {

/// Rows that one thread of the CPU takes through all layers: enough that a product's rows pay for
/// packing its weights, few enough that a batch gives many threads work.
constexpr std::int64_t rows_a_block(std::int64_t batch_rows) {
  return std::clamp<std::int64_t>((batch_rows / 8 + 15) / 16 * 16, 64, 256);
}

/// Sides of the parts of a layer's weights whose gradients one thread of the CPU finds.
constexpr int tile_in = 128, tile_out = 512;

/// Rows of a batch that one lane of the GPU adds up; parts are then added in their order.
constexpr std::int64_t strip_rows = 16;
constexpr std::int64_t strips_of(std::int64_t rows) { return (rows + strip_rows - 1) / strip_rows; }

} // namespace breakeven::risk
