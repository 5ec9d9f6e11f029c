// Work of the stages on shapes, counted by hand from shapes_kernels.h, to about 20 %.
#include "workloads/imaging/shapes.h"

#include <algorithm>
#include <cmath>

namespace breakeven::imaging {

namespace {

Work per_voxel(std::int64_t voxels, double instructions, double bytes, double launches) {
  Work work;
  work.lane_instructions = static_cast<double>(voxels) * instructions;
  work.dram_bytes = static_cast<double>(voxels) * bytes;
  work.launches = launches;
  work.parallel_width = static_cast<double>(voxels);
  return work;
}

double words_per_voxel(const Extent& extent) {
  const auto words = static_cast<double>((extent.x + 31) / 32);
  return words / static_cast<double>(extent.x);
}

// A column's pass reads its heights, writes and reads the parts of its envelope and the heights
// beside them, and writes distances.
Work column_pass_work(const Extent& extent, std::int64_t columns) {
  constexpr double part_bytes = 4, value_bytes = 4, instructions = 70;
  Work work = per_voxel(extent.voxels(), instructions, 4 * value_bytes + 2 * part_bytes, 1);
  work.parallel_width = static_cast<double>(columns);
  work.dependent_accesses = 2 * static_cast<double>(extent.voxels()); // down the envelope and up
  return work;
}

} // namespace

// Bytes to bits, a pass an axis over words, bits to bytes.
Work box_work(const Extent& extent, const std::array<int, 3>& radius) {
  constexpr double pack_instructions = 10, unpack_instructions = 6, pass_instructions = 30,
                   instructions_per_line = 4, word_bytes = 4;
  const double words = words_per_voxel(extent);
  Work work = per_voxel(extent.voxels(), pack_instructions + unpack_instructions,
                        2 + 2 * words * word_bytes, 2);
  const auto voxels = static_cast<double>(extent.voxels());
  const std::array<std::int64_t, 3> sides{extent.x, extent.y, extent.z};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto reach = static_cast<double>(
        std::min<std::int64_t>(radius[axis], std::max<std::int64_t>(0, sides[axis] - 1)));
    const double lines = axis == 0 ? std::max(1.0, reach / 31) * 3 : 2 * reach + 1;
    work.lane_instructions += voxels * words * (pass_instructions + instructions_per_line * lines);
    work.cached_bytes += voxels * words * word_bytes * (lines - 1);
    work.dram_bytes += voxels * words * word_bytes * 2;
    work.launches += axis == 0 ? std::max(1.0, std::ceil(reach / 31)) : 1;
  }
  work.working_set_bytes = voxels * words * word_bytes;
  return work;
}

Work distance_in_slices_work(const Extent& extent) {
  constexpr double pack_instructions = 10, row_instructions = 40;
  Work work = per_voxel(extent.voxels(), pack_instructions + row_instructions,
                        1 + 4 + 2 * 4 * words_per_voxel(extent), 2);
  add(work, column_pass_work(extent, extent.x * extent.z));
  return work;
}

Work distance_along_z_work(const Extent& extent) {
  return column_pass_work(extent, extent.slice());
}

Work within_work(std::int64_t voxels) { return per_voxel(voxels, 10, 5, 1); }

Work watershed_work(std::int64_t voxels, std::int64_t basins, std::int64_t saddles) {
  // Climbing: 27 neighbours from the caches, one value read and one index written. Then peaks are
  // counted and copied, basins followed (about eight steps of a climb), first voxels found, saddles
  // counted and written, labels looked up.
  constexpr double climb = 27 * 8, follow_steps = 8, count_pairs = 2 * 13 * 8, others = 60;
  Work work = per_voxel(voxels, climb + 4 * follow_steps + count_pairs + others,
                        (4 + 4) + 2 * 4 + (4 + 4) + 4 + 2 * 8 + 8, 16);
  const auto count = static_cast<double>(voxels);
  work.cached_bytes = count * 4 * (27 + follow_steps + 2 * 13);
  work.working_set_bytes = count * 4;
  work.dependent_accesses = count * follow_steps;
  work.atomics = count / 16; // a run of a row each
  work.device_to_host_bytes = 8 * static_cast<double>(basins) + 12 * static_cast<double>(saddles);
  work.host_to_device_bytes = 4 * static_cast<double>(basins);
  work.counts = {{"basins", static_cast<double>(basins)},
                 {"saddles", static_cast<double>(saddles)}};
  return work;
}

} // namespace breakeven::imaging
