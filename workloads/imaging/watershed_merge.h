// The last step of a watershed, on the host for both paths: basins that rise too little above the
// saddle to a greater one are joined to it, and what is left is numbered. Takes the graph of
// basins, gives a label a basin; knows no voxels.
#pragma once

#include <cstdint>
#include <vector>

namespace breakeven::imaging {

/// The highest place where two basins touch.
struct Saddle {
  std::uint32_t low, high; ///< numbers of basins, low < high
  std::int32_t squared;    ///< squared distance there: of the lower of two neighbours
};

/// Basins are numbered in the raster order of their peaks.
struct BasinGraph {
  std::vector<std::int32_t> peak_squared;
  std::vector<std::uint32_t> first_voxel; ///< lowest index of each basin's voxels
  std::vector<Saddle> saddles;            ///< one a pair of basins that touch, in any order
};

struct MergedBasins {
  std::vector<std::uint32_t> label_of; ///< of each basin: 1, 2, ...
  std::uint32_t count = 0;
};

/// Goes through the saddles from the highest down, equals by the basins' numbers. Where two regions
/// meet, the one with the lower peak by (squared distance, number) joins the other if sqrt(its
/// peak) - sqrt(saddle) <= least_height, which is in the metric's units and at least 0. This is
/// simplification by persistence (Edelsbrunner, Letscher and Zomorodian 2002). Labels rise with the
/// first voxel of what was joined.
MergedBasins merge_basins(const BasinGraph& graph, double least_height);

} // namespace breakeven::imaging
