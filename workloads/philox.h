// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC 2011. Integers only, so every path draws the same bits; no
// state, so any number of any stream can be drawn alone.
#pragma once

#include "workloads/host_device.h"

namespace breakeven {

struct Random4 {
  std::uint32_t x, y, z, w;
};

/// The ten rounds, for a 128-bit counter and a 64-bit key.
HOST_DEVICE inline Random4 philox4x32(Random4 counter, std::uint64_t key) {
  std::uint32_t key_low = static_cast<std::uint32_t>(key);
  std::uint32_t key_high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_x = 0xD2511F53ull * counter.x;
    const std::uint64_t product_z = 0xCD9E8D57ull * counter.z;
    counter = {static_cast<std::uint32_t>(product_z >> 32) ^ counter.y ^ key_low,
               static_cast<std::uint32_t>(product_z),
               static_cast<std::uint32_t>(product_x >> 32) ^ counter.w ^ key_high,
               static_cast<std::uint32_t>(product_x)};
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return counter;
}

} // namespace breakeven
