// The random numbers of a picture: any sample of any pixel can be drawn alone, and every path draws
// the same bits (workloads/philox.h).
#pragma once

#include "workloads/philox.h"

namespace breakeven::render {

/// Four numbers for one dimension block of one sample of one pixel of one frame.
HOST_DEVICE inline Random4 random4(std::uint64_t seed, std::uint32_t frame, std::uint32_t pixel,
                                   std::uint32_t sample, std::uint32_t dimension) {
  return philox4x32({pixel, sample, dimension, frame}, seed);
}

/// In [0, 1): 24 bits, so that the float is exact.
HOST_DEVICE inline float unit_float(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24f;
}

} // namespace breakeven::render
