// The kernels of the stages on shapes. Masks become bits, 32 voxels a word, so that boxes and the
// scans of rows touch an eighth of the bytes; columns are a thread each, neighbours along x in one
// warp, so that every row of them is read as one.
#pragma once

#include "workloads/imaging/shapes.h"
#include "workloads/launch.h"

#include <cuda/std/bit>

namespace breakeven::ON_PATH::shapes {

using namespace ::breakeven::imaging;

constexpr int bits_per_word = 32;
HOST_DEVICE inline std::int64_t words_of(std::int64_t voxels) {
  return (voxels + bits_per_word - 1) / bits_per_word;
}

/// Bits of rows padded to whole words.
struct BitRows {
  std::uint32_t* words;
  std::int64_t words_a_row, rows;
  HOST_DEVICE std::int64_t count() const { return words_a_row * rows; }
};

// A warp a word. Bits past the end of a row are 0.
struct PackRows {
  DEVICE_ONLY void operator()(const Thread& thread, const std::uint8_t* mask,
                              std::int64_t row_voxels, std::uint8_t flip, BitRows bits) const {
    const std::int64_t word = thread.global_index() / bits_per_word;
    const std::int64_t row = word / bits.words_a_row;
    const std::int64_t x = word % bits.words_a_row * bits_per_word + thread.lane();
    const bool inside = row < bits.rows && x < row_voxels;
    const bool set = inside && (mask[row * row_voxels + x] ^ flip) != 0;
    const std::uint32_t value = thread.ballot(set);
    if (thread.lane() == 0 && row < bits.rows) bits.words[word] = value;
  }
};

/// Four voxels a thread, counted through the whole volume, so that a warp writes 128 bytes.
struct UnpackRows {
  DEVICE_ONLY void operator()(const Thread& thread, BitRows bits, std::int64_t row_voxels,
                              std::uint8_t flip, std::uint8_t* mask) const {
    const std::int64_t begin = 4 * thread.global_index(), voxels = bits.rows * row_voxels;
    if (begin >= voxels) return;
    std::int64_t row = begin / row_voxels, x = begin - row * row_voxels;
    std::uint32_t four = 0;
    const int count = voxels - begin < 4 ? static_cast<int>(voxels - begin) : 4;
    for (int i = 0; i < count; ++i) {
      const std::uint32_t word = bits.words[row * bits.words_a_row + x / bits_per_word];
      four |= ((word >> (x % bits_per_word) & 1) ^ flip) << (8 * i);
      if (++x < row_voxels) continue;
      x = 0;
      ++row;
    }
    if (count == 4) {
      *reinterpret_cast<std::uint32_t*>(mask + begin) = four;
      return;
    }
    for (int i = 0; i < count; ++i)
      mask[begin + i] = static_cast<std::uint8_t>(four >> (8 * i));
  }
};

/// Each bit over `radius`, at most 31, to both sides: the word between its neighbours is moved and
/// merged, doubling what is covered.
constexpr int longest_move = bits_per_word - 1;
struct SpreadAlongRows {
  DEVICE_ONLY void operator()(const Thread& thread, BitRows in, std::uint32_t* out,
                              int radius) const {
    const std::int64_t i = thread.global_index();
    if (i >= in.count()) return;
    const std::int64_t column = i % in.words_a_row;
    const std::uint64_t own = in.words[i];
    const std::uint64_t before = column > 0 ? in.words[i - 1] : 0;
    const std::uint64_t after = column + 1 < in.words_a_row ? in.words[i + 1] : 0;
    std::uint64_t up = own << bits_per_word | before, down = after << bits_per_word | own;
    for (int covered = 1; covered < radius + 1;) {
      const int by = covered < radius + 1 - covered ? covered : radius + 1 - covered;
      up |= up << by;
      down |= down >> by;
      covered += by;
    }
    out[i] = static_cast<std::uint32_t>(up >> bits_per_word) | static_cast<std::uint32_t>(down);
  }
};

/// Along an axis whose lines lie `stride` words apart, `lines` of them.
struct SpreadOverLines {
  DEVICE_ONLY void operator()(const Thread& thread, const std::uint32_t* in, std::uint32_t* out,
                              std::int64_t words, std::int64_t stride, std::int64_t lines,
                              std::int64_t radius) const {
    const std::int64_t i = thread.global_index();
    if (i >= words) return;
    const std::int64_t line = i / stride % lines;
    const std::int64_t before = line < radius ? line : radius;
    const std::int64_t left = lines - 1 - line, after = left < radius ? left : radius;
    std::uint32_t any = 0;
    for (std::int64_t other = -before; other <= after; ++other)
      any |= in[i + other * stride];
    out[i] = any;
  }
};

/// Squared distance of each voxel to the nearest bit of its row, found word by word.
struct DistanceAlongRows {
  DEVICE_ONLY void operator()(const Thread& thread, BitRows bits, std::int64_t row_voxels,
                              std::int32_t length, std::int32_t* squared) const {
    const std::int64_t i = thread.global_index();
    if (i >= bits.rows * row_voxels) return;
    const std::int64_t row = i / row_voxels, x = i - row * row_voxels;
    const std::uint32_t* const words = bits.words + row * bits.words_a_row;
    const std::int64_t own = x / bits_per_word;
    const int bit = static_cast<int>(x % bits_per_word);
    std::int64_t nearest = row_voxels; // beyond any
    std::uint32_t word = words[own] & (0xFFFF'FFFFu >> (bits_per_word - 1 - bit));
    for (std::int64_t at = own;;) {
      if (word != 0) {
        nearest = x - (at * bits_per_word + bits_per_word - 1 - ::cuda::std::countl_zero(word));
        break;
      }
      if (at == 0) break;
      word = words[--at];
    }
    word = words[own] & (0xFFFF'FFFFu << bit);
    // No further than what was found before.
    for (std::int64_t at = own;;) {
      if (word != 0) {
        const std::int64_t after = at * bits_per_word + ::cuda::std::countr_zero(word) - x;
        nearest = after < nearest ? after : nearest;
        break;
      }
      if (++at >= bits.words_a_row || at * bits_per_word - x >= nearest) break;
      word = words[at];
    }
    const auto distance = static_cast<std::int32_t>(nearest) * static_cast<std::int64_t>(length);
    squared[i] =
        nearest == row_voxels ? no_distance : static_cast<std::int32_t>(distance * distance);
  }
};

/// Column `c` begins `c % across + c / across * planes` voxels on; its rows are `stride` apart.
struct DistanceAlongColumns {
  DEVICE_ONLY void operator()(const Thread& thread, std::int32_t* squared, EnvelopePart* parts,
                              std::int64_t columns, std::int64_t across, std::int64_t plane,
                              std::int64_t stride, std::uint32_t rows,
                              std::uint32_t squared_length) const {
    const std::int64_t column = thread.global_index();
    if (column >= columns) return;
    const std::int64_t first = column % across + column / across * plane;
    distance_along_line(squared + first, parts + first, stride, rows, squared_length);
  }
};

struct Within {
  DEVICE_ONLY void operator()(const Thread& thread, const std::int32_t* squared, std::uint8_t* mask,
                              std::int64_t voxels, std::int32_t limit, bool inverted) const {
    const std::int64_t i = thread.global_index();
    if (i < voxels) mask[i] = is_within(squared[i], limit, inverted);
  }
};

// ---- watershed ----

struct Position {
  std::int64_t x, y, z;
};
HOST_DEVICE inline Position position_of(std::int64_t index, const Extent& extent) {
  const std::int64_t row = index / extent.x, z = row / extent.y;
  return {index - row * extent.x, row - z * extent.y, z};
}

struct Climb {
  DEVICE_ONLY void operator()(const Thread& thread, const std::int32_t* squared, Extent extent,
                              std::uint32_t* climbs_to) const {
    const std::int64_t i = thread.global_index();
    if (i >= extent.x * extent.y * extent.z) return;
    if (squared[i] == 0) {
      climbs_to[i] = 0;
      return;
    }
    const Position at = position_of(i, extent);
    climbs_to[i] =
        static_cast<std::uint32_t>(greatest_neighbour(squared, extent, at.x, at.y, at.z)) + 1;
  }
};

struct IsPeak {
  const std::uint32_t* climbs_to;
  HOST_DEVICE bool operator()(std::uint32_t index) const { return climbs_to[index] == index + 1; }
};

/// Writes the basin's number over the peak's own index.
struct NumberPeaks {
  DEVICE_ONLY void operator()(const Thread& thread, const std::uint32_t* peaks, std::int64_t count,
                              const std::int32_t* squared, std::uint32_t* climbs_to,
                              std::int32_t* peak_squared) const {
    const std::int64_t basin = thread.global_index();
    if (basin >= count) return;
    climbs_to[peaks[basin]] = basin_flag | static_cast<std::uint32_t>(basin);
    peak_squared[basin] = squared[peaks[basin]];
  }
};

struct Follow {
  DEVICE_ONLY void operator()(const Thread& thread, const std::uint32_t* climbs_to,
                              std::int64_t voxels, std::uint32_t* labels) const {
    const std::int64_t i = thread.global_index();
    if (i >= voxels) return;
    std::uint32_t label = climbs_to[i];
    while (label != 0 && (label & basin_flag) == 0)
      label = climbs_to[label - 1];
    labels[i] = label;
  }
};

/// Where runs along a row begin; the others of a run are later.
struct FindFirstVoxels {
  DEVICE_ONLY void operator()(const Thread& thread, const std::uint32_t* labels, Extent extent,
                              std::uint32_t* first_voxel) const {
    const std::int64_t i = thread.global_index();
    if (i >= extent.x * extent.y * extent.z) return;
    const std::uint32_t own = labels[i];
    if (own == 0 || (i % extent.x > 0 && labels[i - 1] == own)) return;
    atomic_min(&first_voxel[own & ~basin_flag], static_cast<std::uint32_t>(i));
  }
};

/// A block's saddles are counted together, so that they cost one atomic on the volume's count.
struct CountSaddles {
  DEVICE_ONLY void operator()(const Thread& thread, const std::uint32_t* labels,
                              const std::int32_t* squared, Extent extent,
                              std::uint64_t* total) const {
    const auto block_count = thread.shared<std::uint32_t>(0, 1);
    if (thread.thread_index() == 0) block_count[0] = 0u;
    thread.sync();
    const std::int64_t i = thread.global_index();
    std::uint32_t own = 0;
    if (i < extent.x * extent.y * extent.z) {
      const Position at = position_of(i, extent);
      for_each_saddle(labels, squared, extent, at.x, at.y, at.z,
                      [&](std::uint64_t, std::int32_t) { ++own; });
    }
    if (own > 0) atomic_add(block_count, 0, own);
    thread.sync();
    if (thread.thread_index() != 0) return;
    const std::uint32_t count = block_count[0];
    if (count > 0) atomic_add(total, count);
  }
};

/// The same saddles, at places that depend on the order of blocks; sorting them undoes that.
struct WriteSaddles {
  DEVICE_ONLY void operator()(const Thread& thread, const std::uint32_t* labels,
                              const std::int32_t* squared, Extent extent, std::uint64_t* total,
                              std::uint64_t* pairs, std::int32_t* saddles) const {
    const auto block_count = thread.shared<std::uint32_t>(0, 1);
    const auto block_begin = thread.shared<std::uint64_t>(8, 1);
    if (thread.thread_index() == 0) block_count[0] = 0u;
    thread.sync();
    const std::int64_t i = thread.global_index();
    const bool inside = i < extent.x * extent.y * extent.z;
    const Position at = inside ? position_of(i, extent) : Position{};
    std::uint32_t own = 0;
    if (inside)
      for_each_saddle(labels, squared, extent, at.x, at.y, at.z,
                      [&](std::uint64_t, std::int32_t) { ++own; });
    std::uint32_t place = 0;
    if (own > 0) place = atomic_add(block_count, 0, own);
    thread.sync();
    if (thread.thread_index() == 0) {
      const std::uint32_t count = block_count[0];
      block_begin[0] = count > 0 ? atomic_add(total, count) : 0;
    }
    thread.sync();
    if (own == 0) return;
    const std::uint64_t begin = block_begin[0];
    std::uint64_t to = begin + place;
    for_each_saddle(labels, squared, extent, at.x, at.y, at.z,
                    [&](std::uint64_t pair, std::int32_t saddle) {
                      pairs[to] = pair;
                      saddles[to] = saddle;
                      ++to;
                    });
  }
};

struct FinalLabels {
  DEVICE_ONLY void operator()(const Thread& thread, std::uint32_t* labels, std::int64_t voxels,
                              const std::uint32_t* label_of) const {
    const std::int64_t i = thread.global_index();
    if (i >= voxels) return;
    const std::uint32_t basin = labels[i];
    if (basin != 0) labels[i] = label_of[basin & ~basin_flag];
  }
};

} // namespace breakeven::ON_PATH::shapes
