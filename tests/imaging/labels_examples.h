// Masks and labels that are hard for component labelling and for sums, with the simplest code that
// gives the right answer: for the tests of the label stages on every path.
#pragma once

#include "workloads/imaging/labels.h"
#include "workloads/imaging/stages.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace breakeven::imaging::label_examples {

constexpr Connectivity all_connectivities[] = {Connectivity::six, Connectivity::eighteen,
                                               Connectivity::twenty_six};

/// splitmix64 (Steele, Lea and Flood 2014).
struct Random {
  std::uint64_t state;
  std::uint64_t operator()() {
    std::uint64_t z = state += 0x9E37'79B9'7F4A'7C15;
    z = (z ^ z >> 30) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ z >> 27) * 0x94D0'49BB'1331'11EB;
    return z ^ z >> 31;
  }
};

struct Mask {
  Extent extent;
  std::vector<std::uint8_t> voxels;
  View<const std::uint8_t> view() const { return {voxels.data(), extent}; }
  std::uint8_t& at(std::int64_t x, std::int64_t y, std::int64_t z) {
    return voxels[static_cast<std::size_t>((z * extent.y + y) * extent.x + x)];
  }
};

inline Mask filled(const Extent& extent, std::uint8_t value) {
  return {extent, std::vector<std::uint8_t>(static_cast<std::size_t>(extent.voxels()), value)};
}

template <class Inside>
Mask made(const Extent& extent, Inside inside) {
  Mask mask = filled(extent, 0);
  for (std::int64_t z = 0; z < extent.z; ++z)
    for (std::int64_t y = 0; y < extent.y; ++y)
      for (std::int64_t x = 0; x < extent.x; ++x)
        mask.at(x, y, z) = inside(x, y, z) ? 1 : 0;
  return mask;
}

inline Mask random_mask(const Extent& extent, int percent, std::uint64_t seed) {
  Random random{seed};
  return made(extent,
              [&](auto...) { return random() % 100 < static_cast<std::uint64_t>(percent); });
}

/// Arms that wind around each other and meet at most in the middle.
inline Mask spiral(const Extent& extent, std::int64_t arm_width) {
  Mask mask = filled(extent, 0);
  for (std::int64_t z = 0; z < extent.z; ++z) {
    std::int64_t low_x = z, low_y = 0, high_x = extent.x - 1, high_y = extent.y - 1;
    while (low_x < high_x && low_y < high_y) {
      for (std::int64_t x = low_x; x <= high_x; ++x)
        mask.at(x, low_y, z) = 1;
      for (std::int64_t y = low_y; y <= high_y; ++y)
        mask.at(high_x, y, z) = 1;
      for (std::int64_t x = low_x + arm_width; x <= high_x; ++x)
        mask.at(x, high_y, z) = 1;
      for (std::int64_t y = low_y + arm_width; y <= high_y; ++y)
        mask.at(low_x + arm_width < extent.x ? low_x + arm_width : low_x, y, z) = 1;
      low_x += 2 * arm_width;
      low_y += arm_width;
      high_x -= arm_width;
      high_y -= arm_width;
    }
  }
  return mask;
}

struct Example {
  std::string name;
  Mask mask;
};

inline std::vector<Example> examples() {
  const Extent odd{67, 9, 7};
  std::vector<Example> all{
      {"empty", filled(odd, 0)},
      {"full", filled(odd, 1)},
      {"one voxel", filled({1, 1, 1}, 1)},
      {"no voxel of one", filled({1, 1, 1}, 0)},
      {"checkerboard", made(odd, [](auto x, auto y, auto z) { return (x + y + z) % 2 == 0; })},
      {"single voxels",
       made(odd, [](auto x, auto y, auto z) { return x % 2 == 0 && y % 2 == 0 && z % 2 == 0; })},
      {"edges only",
       made(odd, [](auto x, auto y, auto z) { return (x + y) % 2 == 0 && z % 2 == 0; })},
      {"comb from above", made(odd, [](auto x, auto y, auto) { return x % 2 == 0 || y == 8; })},
      {"comb from behind", made(odd, [](auto x, auto, auto z) { return x % 2 == 1 || z == 6; })},
      {"comb along x",
       made(odd, [](auto x, auto y, auto z) { return (y % 2 == 0 && z % 2 == 0) || x == 66; })},
      {"spiral", spiral({70, 40, 2}, 2)},
      {"thick spiral", spiral({90, 33, 3}, 3)},
      {"blobs", made({72, 20, 15},
                     [](auto x, auto y, auto z) {
                       const auto wave = [](auto a, double length) {
                         return std::sin(static_cast<double>(a) * length);
                       };
                       return wave(x, 0.31) + wave(y, 0.73) + wave(z, 0.57) + wave(x + 2 * y, 0.9)
                              > 0.8;
                     })},
      {"shells", made({65, 21, 21}, [](auto x, auto y, auto z) {
         const auto square = (x - 32) * (x - 32) / 9 + (y - 10) * (y - 10) + (z - 10) * (z - 10);
         return square / 9 % 2 == 0;
       })}};
  for (const Extent extent : {Extent{300, 1, 1}, Extent{1, 300, 1}, Extent{1, 1, 300},
                              Extent{130, 1, 3}, Extent{2, 2, 150}, Extent{64, 2, 2}})
    all.push_back({"thin", random_mask(extent, 60, static_cast<std::uint64_t>(extent.x))});
  return all;
}

struct Labelled {
  std::vector<std::uint32_t> labels;
  std::uint32_t count = 0;
  bool operator==(const Labelled&) const = default;
};

inline bool are_neighbours(std::int64_t dx, std::int64_t dy, std::int64_t dz,
                           Connectivity connectivity) {
  const std::int64_t steps = std::abs(dx) + std::abs(dy) + std::abs(dz);
  if (connectivity == Connectivity::six) return steps == 1;
  return steps >= 1 && steps <= (connectivity == Connectivity::eighteen ? 2 : 3);
}

/// Fills one component after the other, from its first voxel on.
inline Labelled flood_filled(const Mask& mask, Connectivity connectivity) {
  const Extent& extent = mask.extent;
  Labelled result{std::vector<std::uint32_t>(mask.voxels.size(), 0), 0};
  std::vector<std::int64_t> queue;
  for (std::int64_t start = 0; start < extent.voxels(); ++start) {
    if (mask.voxels[static_cast<std::size_t>(start)] == 0
        || result.labels[static_cast<std::size_t>(start)] != 0)
      continue;
    result.labels[static_cast<std::size_t>(start)] = ++result.count;
    queue.push_back(start);
    while (!queue.empty()) {
      const std::int64_t voxel = queue.back();
      queue.pop_back();
      const std::int64_t x = voxel % extent.x, y = voxel / extent.x % extent.y,
                         z = voxel / extent.slice();
      for (int dz = -1; dz <= 1; ++dz)
        for (int dy = -1; dy <= 1; ++dy)
          for (int dx = -1; dx <= 1; ++dx) {
            if (!are_neighbours(dx, dy, dz, connectivity)) continue;
            if (x + dx < 0 || x + dx >= extent.x || y + dy < 0 || y + dy >= extent.y || z + dz < 0
                || z + dz >= extent.z)
              continue;
            const std::int64_t next = voxel + (dz * extent.y + dy) * extent.x + dx;
            const auto at = static_cast<std::size_t>(next);
            if (mask.voxels[at] == 0 || result.labels[at] != 0) continue;
            result.labels[at] = result.count;
            queue.push_back(next);
          }
    }
  }
  return result;
}

/// HU from -1024 to about 3000 at thirds of a unit, some at halves.
inline std::vector<float> random_hu(std::size_t count, std::uint64_t seed) {
  Random random{seed};
  std::vector<float> hu(count);
  for (float& value : hu) {
    const auto number = static_cast<float>(static_cast<std::int64_t>(random() % 8192) - 2048);
    value = random() % 4 == 0 ? number / 2 : number / 2 + 1.0f / 3;
  }
  return hu;
}

struct SumsExample {
  std::string name;
  Extent extent;
  std::int64_t z_of_first = 0;
  std::size_t label_count = 0;
  std::vector<std::uint32_t> labels;
  std::vector<float> hu;
  View<const std::uint32_t> label_view() const { return {labels.data(), extent}; }
  View<const float> hu_view() const { return {hu.data(), extent}; }
};

template <class LabelOf>
SumsExample sums_example(const std::string& name, const Extent& extent, std::size_t labels,
                         LabelOf label_of) {
  const auto voxels = static_cast<std::size_t>(extent.voxels());
  SumsExample example{name, extent, 40, labels, {}, random_hu(voxels, labels)};
  for (std::size_t i = 0; i < voxels; ++i)
    example.labels.push_back(static_cast<std::uint32_t>(label_of(i)));
  return example;
}

inline std::vector<SumsExample> sums_examples() {
  Random random{5};
  return {
      sums_example("few large labels", {75, 13, 5}, 7, [](std::size_t i) { return i / 700 % 7; }),
      sums_example("one label", {64, 3, 3}, 1, [](std::size_t) { return 0; }),
      sums_example("noise of few labels", {50, 9, 4}, 3, [&](std::size_t) { return random() % 3; }),
      sums_example("more labels than any table holds", {41, 20, 6}, 2500,
                   [&](std::size_t) { return random() % 2500; }),
      sums_example("labels that share a place", {61, 12, 5}, 4097,
                   [](std::size_t i) { return i / 3 % 9 * 512; }),
      sums_example("rows longer than a piece", {2500, 2, 2}, 4,
                   [](std::size_t i) { return i / 1300 % 4; }),
      sums_example("one voxel", {1, 1, 1}, 2, [](std::size_t) { return 1; })};
}

inline std::vector<LabelSums> simple_sums(const SumsExample& example) {
  std::vector<LabelSums> sums(example.label_count);
  for (std::size_t i = 0; i < example.labels.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t x = at % example.extent.x, y = at / example.extent.x % example.extent.y,
                       z = at / example.extent.slice() + example.z_of_first;
    const auto hu = static_cast<std::int32_t>(std::lrintf(example.hu[i]));
    const std::array<std::int32_t, 3> place{
        static_cast<std::int32_t>(x), static_cast<std::int32_t>(y), static_cast<std::int32_t>(z)};
    LabelSums& label = sums[example.labels[i]];
    if (label.voxels++ == 0) {
      label.low_hu = label.high_hu = hu;
      label.first = label.last = place;
    }
    label.hu += hu;
    label.hu_squared += std::int64_t{hu} * hu;
    label.x += x;
    label.y += y;
    label.z += z;
    label.low_hu = std::min(label.low_hu, hu);
    label.high_hu = std::max(label.high_hu, hu);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      label.first[axis] = std::min(label.first[axis], place[axis]);
      label.last[axis] = std::max(label.last[axis], place[axis]);
    }
  }
  return sums;
}

} // namespace breakeven::imaging::label_examples
