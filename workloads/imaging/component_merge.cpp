#include "workloads/imaging/component_merge.h"

#include "sim/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

namespace breakeven::imaging {

namespace {

std::uint32_t root_of(std::vector<std::uint32_t>& parents, std::uint32_t node) {
  while (parents[node] != node) {
    parents[node] = parents[parents[node]];
    node = parents[node];
  }
  return node;
}

/// How many of x and y may differ by 1 between neighbours that lie in adjacent slices.
int most_steps(Connectivity connectivity) {
  switch (connectivity) {
  case Connectivity::six:
    return 0;
  case Connectivity::eighteen:
    return 1;
  case Connectivity::twenty_six:
    break;
  }
  return 2;
}

/// Numbers of each slab's labels 0, 1, ... among the labels of all: label 0 of slab s is starts[s].
std::vector<std::uint32_t> slab_starts(const std::vector<SlabComponents>& slabs) {
  std::vector<std::uint32_t> starts{0};
  std::uint64_t nodes = 0;
  for (const SlabComponents& slab : slabs) {
    nodes += std::uint64_t{slab.count} + 1;
    if (nodes > std::numeric_limits<std::uint32_t>::max())
      throw Failure(fmt::format("the slabs of a volume have {} components and more together, at "
                                "most {} can be merged",
                                nodes, std::numeric_limits<std::uint32_t>::max()));
    starts.push_back(static_cast<std::uint32_t>(nodes));
  }
  return starts;
}

} // namespace

std::vector<TouchingLabels> touching_labels(View<const std::uint32_t> last_slice,
                                            View<const std::uint32_t> first_slice,
                                            Connectivity connectivity) {
  assert(last_slice.extent == first_slice.extent && last_slice.extent.z == 1);
  const std::int64_t width = last_slice.extent.x, height = last_slice.extent.y;
  const int most = most_steps(connectivity);
  std::vector<TouchingLabels> pairs;
  for (std::int64_t y = 0; y < height; ++y)
    for (int step_y = most > 0 ? -1 : 0; step_y <= (most > 0 ? 1 : 0); ++step_y) {
      if (y + step_y < 0 || y + step_y >= height) continue;
      const std::uint32_t* const below = last_slice.data + (y + step_y) * width;
      const std::uint32_t* const above = first_slice.data + y * width;
      const int reach = most - (step_y != 0 ? 1 : 0) > 0 ? 1 : 0;
      // Neighbouring voxels mostly give the same pair again.
      TouchingLabels previous{0, 0};
      for (std::int64_t x = 0; x < width; ++x) {
        if (above[x] == 0) continue;
        for (std::int64_t other = std::max<std::int64_t>(0, x - reach);
             other <= std::min(width - 1, x + reach); ++other) {
          const TouchingLabels pair{below[other], above[x]};
          if (pair.first == 0 || pair == previous) continue;
          pairs.push_back(pair);
          previous = pair;
        }
      }
    }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

// A component's first voxel lies in the first slab that it is in. There its voxels come before
// another component's exactly if the smallest of its labels there is smaller than the other's. So
// whole components are numbered in the order of (slab, label), at the first label of each.
MergedComponents merge_components(const std::vector<SlabComponents>& slabs) {
  const std::vector<std::uint32_t> starts = slab_starts(slabs);
  std::vector<std::uint32_t> parents(starts.back());
  std::iota(parents.begin(), parents.end(), 0u);
  for (std::size_t slab = 1; slab < slabs.size(); ++slab)
    for (const auto& [below, above] : slabs[slab].touching) {
      assert(below >= 1 && below <= slabs[slab - 1].count);
      assert(above >= 1 && above <= slabs[slab].count);
      const std::uint32_t a = root_of(parents, starts[slab - 1] + below);
      const std::uint32_t b = root_of(parents, starts[slab] + above);
      parents[std::max(a, b)] = std::min(a, b);
    }

  MergedComponents merged;
  std::vector<std::uint32_t> ids(starts.back(), 0);
  for (std::size_t slab = 0; slab < slabs.size(); ++slab) {
    std::vector<std::uint32_t>& table =
        merged.tables.emplace_back(std::size_t{slabs[slab].count} + 1);
    for (std::uint32_t label = 1; label <= slabs[slab].count; ++label) {
      const std::uint32_t node = starts[slab] + label;
      const std::uint32_t root = root_of(parents, node);
      if (root == node) ids[node] = ++merged.count;
      table[label] = ids[root];
    }
  }
  return merged;
}

} // namespace breakeven::imaging
