// The stages on masks that need no neighbour, a voxel at a time, for both paths.
#pragma once

#include "workloads/host_device.h"
#include "workloads/imaging/stages.h"

namespace breakeven::imaging {

HOST_DEVICE inline std::uint8_t mask_of_label(std::uint32_t label) { return label != 0; }

HOST_DEVICE inline std::uint8_t combined(std::uint8_t a, std::uint8_t b, MaskOperation operation) {
  if (operation == MaskOperation::both) return a & b;
  if (operation == MaskOperation::either) return a | b;
  if (operation == MaskOperation::first_only) return a & static_cast<std::uint8_t>(b ^ 1);
  return a ^ 1;
}

/// A kernel that reads and writes once: `bytes` a voxel.
inline Work streaming_work(std::int64_t voxels, double instructions, double bytes) {
  Work work;
  work.lane_instructions = static_cast<double>(voxels) * instructions;
  work.dram_bytes = static_cast<double>(voxels) * bytes;
  work.launches = 1;
  work.parallel_width = static_cast<double>(voxels);
  return work;
}

// Address, bounds, load, operate and store.
constexpr double instructions_per_mask_voxel = 10;
inline Work mask_of_work(std::int64_t voxels) {
  return streaming_work(voxels, instructions_per_mask_voxel, 5);
}
inline Work combine_work(std::int64_t voxels) {
  return streaming_work(voxels, instructions_per_mask_voxel, 3);
}

} // namespace breakeven::imaging
