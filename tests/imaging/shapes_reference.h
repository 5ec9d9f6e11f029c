// Brute force for the stages on shapes: what each is defined to give, in the fewest lines, and
// masks to try it on.
#pragma once

#include "workloads/imaging/host_memory.h"
#include "workloads/imaging/stages.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace breakeven::imaging::reference {

using Mask = std::vector<std::uint8_t>;
using Squared = std::vector<std::int32_t>;
using Labels = std::vector<std::uint32_t>;

inline std::size_t size_of(const Extent& extent) {
  return static_cast<std::size_t>(extent.voxels());
}
inline std::size_t at(const Extent& extent, std::int64_t x, std::int64_t y, std::int64_t z) {
  return static_cast<std::size_t>((z * extent.y + y) * extent.x + x);
}
using Visit = std::function<void(std::int64_t x, std::int64_t y, std::int64_t z)>;
inline void for_each_voxel(const Extent& extent, const Visit& visit) {
  for (std::int64_t z = 0; z < extent.z; ++z)
    for (std::int64_t y = 0; y < extent.y; ++y)
      for (std::int64_t x = 0; x < extent.x; ++x)
        visit(x, y, z);
}

/// One voxel, lines, planes, sides about the widths of vectors and words, and odd ones.
inline std::vector<Extent> odd_extents() {
  return {{1, 1, 1}, {17, 1, 1}, {1, 19, 1},  {1, 1, 23},  {2, 3, 2},  {64, 5, 3},
          {7, 9, 1}, {8, 4, 31}, {65, 18, 4}, {33, 17, 9}, {16, 32, 5}};
}

inline Mask random_mask(const Extent& extent, double density, std::uint32_t seed) {
  std::mt19937 random(seed);
  Mask mask(size_of(extent));
  for (std::uint8_t& voxel : mask)
    voxel = static_cast<double>(random()) < density * 4294967296.0;
  return mask;
}
/// From none to all: nothing, single voxels, noise, single holes, everything.
inline const std::vector<double>& densities() {
  static const std::vector<double> some{0, 0.02, 0.5, 0.98, 1};
  return some;
}

struct Ball {
  double x, y, z, radius;
};
inline Mask mask_of_balls(const Extent& extent, const std::vector<Ball>& balls) {
  Mask mask(size_of(extent));
  for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    for (const Ball& ball : balls) {
      const double dx = static_cast<double>(x) - ball.x, dy = static_cast<double>(y) - ball.y,
                   dz = static_cast<double>(z) - ball.z;
      if (dx * dx + dy * dy + dz * dz <= ball.radius * ball.radius) mask[at(extent, x, y, z)] = 1;
    }
  });
  return mask;
}

inline Mask box(const Extent& extent, const Mask& in, MorphologyOperation operation,
                const std::array<int, 3>& radius) {
  const std::uint8_t sought = operation == MorphologyOperation::dilate;
  Mask out(in.size(), !sought);
  for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    for (std::int64_t w = std::max<std::int64_t>(0, z - radius[2]);
         w <= std::min(extent.z - 1, z + radius[2]); ++w)
      for (std::int64_t v = std::max<std::int64_t>(0, y - radius[1]);
           v <= std::min(extent.y - 1, y + radius[1]); ++v)
        for (std::int64_t u = std::max<std::int64_t>(0, x - radius[0]);
             u <= std::min(extent.x - 1, x + radius[0]); ++u)
          if (in[at(extent, u, v, w)] == sought) out[at(extent, x, y, z)] = sought;
  });
  return out;
}

/// Over the whole volume, or within each slice. The least of all sums of three squares is found an
/// axis at a time, trying every voxel of each line.
enum class Reach { volume, slice };
inline Squared distance(const Extent& extent, const Mask& mask, Distance to,
                        const DistanceMetric& metric, Reach reach = Reach::volume) {
  constexpr std::int64_t nothing = std::int64_t{1} << 40;
  std::vector<std::int64_t> squared(mask.size());
  for (std::size_t i = 0; i < mask.size(); ++i)
    squared[i] = mask[i] == (to == Distance::to_foreground) ? 0 : nothing;
  const auto along = [&](std::int64_t side, std::int64_t stride, std::int64_t length) {
    std::vector<std::int64_t> nearest(mask.size());
    for (std::int64_t i = 0; i < extent.voxels(); ++i) {
      const std::int64_t own = i / stride % side;
      std::int64_t least = nothing;
      for (std::int64_t other = 0; other < side; ++other) {
        const std::int64_t distance = (own - other) * length;
        least = std::min(least, squared[static_cast<std::size_t>(i + (other - own) * stride)]
                                    + distance * distance);
      }
      nearest[static_cast<std::size_t>(i)] = least;
    }
    squared = nearest;
  };
  along(extent.x, 1, metric.x);
  along(extent.y, extent.x, metric.y);
  if (reach == Reach::volume) along(extent.z, extent.slice(), metric.z);
  Squared result(mask.size());
  for (std::size_t i = 0; i < mask.size(); ++i)
    result[i] = static_cast<std::int32_t>(std::min<std::int64_t>(squared[i], no_distance));
  return result;
}

/// A ball's voxels around each foreground voxel.
inline Mask dilated_by_ball(const Extent& extent, const Mask& in, std::int64_t squared_radius) {
  const auto radius = static_cast<std::int64_t>(std::sqrt(static_cast<double>(squared_radius)));
  Mask out(in.size());
  for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    if (in[at(extent, x, y, z)] == 0) return;
    for (std::int64_t dz = -radius; dz <= radius; ++dz)
      for (std::int64_t dy = -radius; dy <= radius; ++dy)
        for (std::int64_t dx = -radius; dx <= radius; ++dx) {
          const bool inside = x + dx >= 0 && x + dx < extent.x && y + dy >= 0 && y + dy < extent.y
                              && z + dz >= 0 && z + dz < extent.z;
          if (inside && dx * dx + dy * dy + dz * dz <= squared_radius)
            out[at(extent, x + dx, y + dy, z + dz)] = 1;
        }
  });
  return out;
}

struct Partition {
  Labels labels;
  std::uint32_t count = 0;
};

/// Climbs one voxel after the other, looks at every pair of neighbours, and joins basins by
/// relabelling the volume.
inline Partition watershed(const Extent& extent, const Squared& squared, double least_height) {
  const auto for_each_neighbour = [&](std::size_t index, const auto& visit) {
    const auto i = static_cast<std::int64_t>(index);
    const std::int64_t x = i % extent.x, y = i / extent.x % extent.y, z = i / extent.slice();
    for (std::int64_t w = std::max<std::int64_t>(0, z - 1); w <= std::min(extent.z - 1, z + 1); ++w)
      for (std::int64_t v = std::max<std::int64_t>(0, y - 1); v <= std::min(extent.y - 1, y + 1);
           ++v)
        for (std::int64_t u = std::max<std::int64_t>(0, x - 1); u <= std::min(extent.x - 1, x + 1);
             ++u)
          visit(at(extent, u, v, w));
  };
  const auto key = [&](std::size_t i) { return std::make_pair(squared[i], i); };
  std::vector<std::size_t> peak_of(squared.size());
  for (std::size_t i = 0; i < squared.size(); ++i) {
    std::size_t now = i, next = i;
    do {
      now = next;
      for_each_neighbour(now, [&](std::size_t other) {
        if (key(next) < key(other)) next = other;
      });
    } while (next != now);
    peak_of[i] = now;
  }
  std::map<std::pair<std::size_t, std::size_t>, std::int32_t> saddles;
  for (std::size_t i = 0; i < squared.size(); ++i)
    for_each_neighbour(i, [&](std::size_t other) {
      if (squared[i] == 0 || squared[other] == 0 || peak_of[i] >= peak_of[other]) return;
      std::int32_t& saddle = saddles[{peak_of[i], peak_of[other]}];
      saddle = std::max(saddle, std::min(squared[i], squared[other]));
    });
  std::vector<std::tuple<std::int32_t, std::size_t, std::size_t>> order;
  for (const auto& [pair, saddle] : saddles)
    order.emplace_back(-saddle, pair.first, pair.second);
  std::sort(order.begin(), order.end());
  std::map<std::size_t, std::size_t> joined; // peak to the peak of what it was joined to
  const auto region = [&](std::size_t peak) {
    while (joined.count(peak) > 0)
      peak = joined[peak];
    return peak;
  };
  for (const auto& [negative_saddle, a, b] : order) {
    const std::size_t lower =
        std::min(region(a), region(b), [&](auto p, auto q) { return key(p) < key(q); });
    const std::size_t higher =
        std::max(region(a), region(b), [&](auto p, auto q) { return key(p) < key(q); });
    if (lower != higher
        && std::sqrt(static_cast<double>(squared[lower]))
                   - std::sqrt(static_cast<double>(-negative_saddle))
               <= least_height)
      joined[lower] = higher;
  }
  Partition partition{Labels(squared.size()), 0};
  std::map<std::size_t, std::uint32_t> ids;
  for (std::size_t i = 0; i < squared.size(); ++i) {
    if (squared[i] == 0) continue;
    const auto [id, is_new] = ids.try_emplace(region(peak_of[i]), partition.count + 1);
    partition.count += is_new;
    partition.labels[i] = id->second;
  }
  return partition;
}

// ---- the stages under test, with host vectors in and out ----

struct Runner {
  explicit Runner(void (*add_shapes)(Stages&)) {
    stages.memory = host_memory();
    add_shapes(stages);
  }
  Stages stages;

  Mask box(const Extent& extent, const Mask& in, MorphologyOperation operation,
           const std::array<int, 3>& radius) {
    Mask out(in.size(), 7);
    stages.box_morphology({in.data(), extent}, {out.data(), extent}, operation, radius,
                          stages.memory);
    return out;
  }
  Squared distance_in_slices(const Extent& extent, const Mask& mask, Distance to,
                             const DistanceMetric& metric) {
    Squared squared(mask.size(), -7);
    stages.distance_in_slices({mask.data(), extent}, {squared.data(), extent}, to, metric,
                              stages.memory);
    return squared;
  }
  Squared distance(const Extent& extent, const Mask& mask, Distance to,
                   const DistanceMetric& metric) {
    Squared squared = distance_in_slices(extent, mask, to, metric);
    stages.distance_along_z({squared.data(), extent}, metric, stages.memory);
    return squared;
  }
  Mask within(const Extent& extent, const Squared& squared, std::int32_t limit, bool inverted) {
    Mask mask(squared.size(), 7);
    stages.within({squared.data(), extent}, {mask.data(), extent}, limit, inverted, stages.memory);
    return mask;
  }
  Partition watershed(const Extent& extent, const Squared& squared, double least_height) {
    Partition partition{Labels(squared.size(), 7), 7};
    stages.watershed({squared.data(), extent}, {partition.labels.data(), extent}, least_height,
                     partition.count, stages.memory);
    return partition;
  }
};

} // namespace breakeven::imaging::reference
