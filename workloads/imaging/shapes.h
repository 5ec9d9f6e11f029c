// What both paths share of the stages on shapes: exact squared distances along a line, the order in
// which a watershed climbs, runs of bits for boxes, and the Work of each stage. Lengths are whole
// units of a DistanceMetric, so all arithmetic is of integers and a sum has one value.
#pragma once

#include "workloads/host_device.h"
#include "workloads/imaging/stages.h"

#include <cstdint>

namespace breakeven::imaging {

// ---- distance ----

/// A parabola's value `rows` away from its vertex. Both terms are at most no_distance, so that the
/// sum fits: distance_metric() keeps every squared distance within the volume below it.
HOST_DEVICE inline std::uint32_t parabola(std::uint32_t height, std::uint32_t row,
                                          std::uint32_t vertex, std::uint32_t squared_length) {
  const std::uint32_t rows = row > vertex ? row - vertex : vertex - row;
  return height + squared_length * rows * rows;
}

/// A parabola of the lower envelope of a line: its vertex, and the first row where it is lowest. No
/// line that a metric fits has more than 46341 rows, as 46341 squared is beyond no_distance.
struct EnvelopePart {
  std::uint16_t vertex, first;
};

/// From squared distances within the planes across a line to those with the line's direction, in
/// place: the lower envelope of a parabola a row. Meijster, Roerdink and Hesselink, "A General
/// Algorithm for Computing Distance Transforms in Linear Time" (2000), phase 2, in unsigned
/// integers: what is divided is never negative, as the earlier parabola is not above the later one
/// where it begins to count. Every part is lowest in a row at least, so part k begins at row k or
/// later: heights are kept in the rows already read and are read again before they are written.
/// `line` and `parts` have the same `stride`.
HOST_DEVICE inline void distance_along_line(std::int32_t* line, EnvelopePart* parts,
                                            std::int64_t stride, std::uint32_t rows,
                                            std::uint32_t squared_length) {
  std::int64_t count = 0;
  std::uint32_t height = 0, vertex = 0, first = 0; // of the last part
  const auto load_last = [&] {
    if (count == 0) return;
    const EnvelopePart part = parts[(count - 1) * stride];
    vertex = part.vertex;
    first = part.first;
    height = static_cast<std::uint32_t>(line[(count - 1) * stride]);
  };
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::int32_t own = line[row * stride];
    if (own == no_distance) continue;
    const auto own_height = static_cast<std::uint32_t>(own);
    while (count > 0
           && parabola(height, first, vertex, squared_length)
                  > parabola(own_height, first, row, squared_length)) {
      --count;
      load_last();
    }
    std::uint32_t own_first = 0;
    if (count > 0) {
      const std::uint32_t numerator =
          squared_length * (row * row - vertex * vertex) + own_height - height;
      own_first = 1 + numerator / (2 * squared_length * (row - vertex));
      if (own_first >= rows) continue;
    }
    ++count;
    vertex = row;
    first = own_first;
    height = own_height;
    parts[(count - 1) * stride] = {static_cast<std::uint16_t>(vertex),
                                   static_cast<std::uint16_t>(first)};
    line[(count - 1) * stride] = own;
  }
  if (count == 0) return;
  for (std::uint32_t row = rows; row-- > 0;) {
    line[row * stride] = static_cast<std::int32_t>(parabola(height, row, vertex, squared_length));
    if (row != first) continue;
    --count;
    load_last();
  }
}

/// Whether every squared distance within `extent` is below no_distance.
inline bool fits(const Extent& extent, const DistanceMetric& metric) {
  const auto squared = [](std::int64_t side, std::int32_t length) {
    const double distance = static_cast<double>(side - 1) * static_cast<double>(length);
    return distance * distance;
  };
  return squared(extent.x, metric.x) + squared(extent.y, metric.y) + squared(extent.z, metric.z)
         < static_cast<double>(no_distance);
}

HOST_DEVICE inline std::uint8_t is_within(std::int32_t squared, std::int32_t limit, bool inverted) {
  return static_cast<std::uint8_t>((squared <= limit) != inverted);
}

// ---- watershed ----

/// While a watershed runs, a label is the index of a greater voxel plus 1, or a basin's number with
/// this bit; 0 is background. Indices have 31 bits.
constexpr std::uint32_t basin_flag = 0x8000'0000u;

/// Of the 27 voxels around one, by rising index: those before 13 have a lower index, those after it
/// a higher.
constexpr int neighbourhood = 27, itself = 13;
struct Step {
  int x, y, z;
};
HOST_DEVICE inline constexpr Step step_of(int neighbour) {
  return {neighbour % 3 - 1, neighbour / 3 % 3 - 1, neighbour / 9 - 1};
}

HOST_DEVICE inline bool is_inside(std::int64_t x, std::int64_t y, std::int64_t z,
                                  const Extent& extent) {
  return x >= 0 && x < extent.x && y >= 0 && y < extent.y && z >= 0 && z < extent.z;
}

/// Index of the greatest of the 27 by (squared distance, index); that of (x, y, z) for a peak.
HOST_DEVICE inline std::int64_t greatest_neighbour(const std::int32_t* squared,
                                                   const Extent& extent, std::int64_t x,
                                                   std::int64_t y, std::int64_t z) {
  std::int32_t best = -1;
  std::int64_t best_index = 0;
  for (int neighbour = 0; neighbour < neighbourhood; ++neighbour) {
    const Step step = step_of(neighbour);
    if (!is_inside(x + step.x, y + step.y, z + step.z, extent)) continue;
    const std::int64_t index = ((z + step.z) * extent.y + y + step.y) * extent.x + x + step.x;
    const std::int32_t value = squared[index];
    if (value < best) continue;
    best = value;
    best_index = index;
  }
  return best_index;
}

/// Two basins that touch, the lower number in the upper half.
HOST_DEVICE inline std::uint64_t basin_pair(std::uint32_t a, std::uint32_t b) {
  a &= ~basin_flag;
  b &= ~basin_flag;
  const std::uint32_t low = a < b ? a : b, high = a < b ? b : a;
  return static_cast<std::uint64_t>(low) << 32 | high;
}

/// Calls note(pair, saddle) for the neighbours of higher index that lie in another basin. A
/// neighbour whose basin was the last one noted is left out if its saddle is no higher.
template <class Note>
HOST_DEVICE inline void for_each_saddle(const std::uint32_t* labels, const std::int32_t* squared,
                                        const Extent& extent, std::int64_t x, std::int64_t y,
                                        std::int64_t z, const Note& note) {
  const std::int64_t index = (z * extent.y + y) * extent.x + x;
  const std::uint32_t own = labels[index];
  if (own == 0) return;
  const std::int32_t own_squared = squared[index];
  std::uint32_t last = 0;
  std::int32_t last_saddle = 0;
  for (int neighbour = itself + 1; neighbour < neighbourhood; ++neighbour) {
    const Step step = step_of(neighbour);
    if (!is_inside(x + step.x, y + step.y, z + step.z, extent)) continue;
    const std::int64_t other = index + (step.z * extent.y + step.y) * extent.x + step.x;
    const std::uint32_t label = labels[other];
    if (label == 0 || label == own) continue;
    const std::int32_t saddle = own_squared < squared[other] ? own_squared : squared[other];
    if (label == last && saddle <= last_saddle) continue;
    last = label;
    last_saddle = saddle;
    note(basin_pair(own, label), saddle);
  }
}

// ---- work, counted for a GPU from the kernels' code ----

Work box_work(const Extent& extent, const std::array<int, 3>& radius);
Work distance_in_slices_work(const Extent& extent);
Work distance_along_z_work(const Extent& extent);
Work within_work(std::int64_t voxels);
Work watershed_work(std::int64_t voxels, std::int64_t basins, std::int64_t saddles);

} // namespace breakeven::imaging
