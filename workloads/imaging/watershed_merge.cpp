#include "workloads/imaging/watershed_merge.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <tuple>

namespace breakeven::imaging {

namespace {

/// Basins joined so far; a set is named by its highest peak.
class JoinedBasins {
public:
  explicit JoinedBasins(std::size_t basins) : parent_(basins) {
    std::iota(parent_.begin(), parent_.end(), 0u);
  }
  std::uint32_t find(std::uint32_t basin) {
    while (parent_[basin] != basin)
      basin = parent_[basin] = parent_[parent_[basin]];
    return basin;
  }
  void join(std::uint32_t root, std::uint32_t to) { parent_[root] = to; }

private:
  std::vector<std::uint32_t> parent_;
};

std::vector<Saddle> from_the_highest(std::vector<Saddle> saddles) {
  const auto order = [](const Saddle& a, const Saddle& b) {
    return std::tie(b.squared, a.low, a.high) < std::tie(a.squared, b.low, b.high);
  };
  std::sort(saddles.begin(), saddles.end(), order);
  return saddles;
}

/// Differences of correctly rounded roots: the same on every machine with IEEE 754 arithmetic.
bool rises_little(std::int32_t peak, std::int32_t saddle, double least_height) {
  return std::sqrt(static_cast<double>(peak)) - std::sqrt(static_cast<double>(saddle))
         <= least_height;
}

MergedBasins numbered(JoinedBasins& joined, const std::vector<std::uint32_t>& first_voxel) {
  const auto basins = static_cast<std::uint32_t>(first_voxel.size());
  std::vector<std::uint32_t> first = first_voxel, roots;
  for (std::uint32_t basin = 0; basin < basins; ++basin) {
    const std::uint32_t root = joined.find(basin);
    first[root] = std::min(first[root], first_voxel[basin]);
    if (root == basin) roots.push_back(root);
  }
  std::sort(roots.begin(), roots.end(),
            [&](std::uint32_t a, std::uint32_t b) { return first[a] < first[b]; });
  MergedBasins merged;
  merged.label_of.resize(basins);
  for (const std::uint32_t root : roots)
    merged.label_of[root] = ++merged.count;
  for (std::uint32_t basin = 0; basin < basins; ++basin)
    merged.label_of[basin] = merged.label_of[joined.find(basin)];
  return merged;
}

} // namespace

MergedBasins merge_basins(const BasinGraph& graph, double least_height) {
  assert(least_height >= 0);
  assert(graph.peak_squared.size() == graph.first_voxel.size());
  JoinedBasins joined(graph.peak_squared.size());
  for (const Saddle& saddle : from_the_highest(graph.saddles)) {
    std::uint32_t lower = joined.find(saddle.low), higher = joined.find(saddle.high);
    if (lower == higher) continue;
    const auto peak = [&](std::uint32_t basin) {
      return std::make_tuple(graph.peak_squared[basin], basin);
    };
    if (peak(higher) < peak(lower)) std::swap(lower, higher);
    if (rises_little(graph.peak_squared[lower], saddle.squared, least_height))
      joined.join(lower, higher);
  }
  return numbered(joined, graph.first_voxel);
}

} // namespace breakeven::imaging
