// Exact squared distances on the CPU. Along x, runs of a row are copied from tables of squares.
// Along y and z, a tile of 16 columns at a time is searched for each row's nearest parabola by
// bisection: the vertex of the lowest parabola never falls from one row to a later one, so rows
// already done bound those between them. That needs no division and no stack, and 16 columns go in
// step. The bounds are those of all 16, which in a mask of organs hardly differ.
#include "workloads/imaging/mask_bits.h"
#include "workloads/imaging/shapes.h"
#include "workloads/imaging/shapes_openmp.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <vector>

namespace breakeven::imaging::openmp_shapes {

namespace {

constexpr std::int64_t lanes = 16;
typedef std::uint32_t Lanes __attribute__((vector_size(lanes * sizeof(std::uint32_t))));

// Results go through references: how a vector is returned depends on the instruction set.
void set_all(Lanes& v, std::uint32_t value) { v = Lanes{} + value; }
void keep_lower(Lanes& v, const Lanes& other) { v = other < v ? other : v; }
void keep_higher(Lanes& v, const Lanes& other) { v = other > v ? other : v; }

template <class Keep>
std::uint32_t across(const Lanes& given, const Keep& keep) {
  Lanes v = given;
  keep(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  keep(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3));
  keep(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1));
  keep(v, __builtin_shufflevector(v, v, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0));
  return v[0];
}
std::uint32_t lowest(const Lanes& v) { return across(v, keep_lower); }
std::uint32_t highest(const Lanes& v) { return across(v, keep_higher); }

/// squares[i] = (length i)^2 for i in [0, count).
std::vector<std::uint32_t> squares_of(std::int32_t length, std::int64_t count) {
  std::vector<std::uint32_t> squares(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < squares.size(); ++i) {
    const std::uint64_t distance = i * static_cast<std::uint64_t>(length);
    squares[i] = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(distance * distance, static_cast<std::uint64_t>(no_distance)));
  }
  return squares;
}

// ---- along x ----

/// Squared distances that rise from 0 and fall to 0, to copy from.
struct Ramps {
  explicit Ramps(std::int32_t length, std::int64_t side)
      : rising(squares_of(length, side + 1)),
        falling(rising.rbegin(), rising.rend()) {}
  std::vector<std::uint32_t> rising, falling;

  void copy_rising(std::int32_t* to, std::int64_t count) const { // from one voxel away on
    std::memcpy(to, rising.data() + 1, static_cast<std::size_t>(count) * sizeof *to);
  }
  void copy_falling(std::int32_t* to, std::int64_t count) const { // down to one voxel away
    std::memcpy(to, falling.data() + (static_cast<std::int64_t>(falling.size()) - 1 - count),
                static_cast<std::size_t>(count) * sizeof *to);
  }
};

/// Position of the first bit from `from` on that is `value`; `end` where there is none.
std::int64_t next_bit(const std::uint64_t* words, std::int64_t from, std::int64_t end, bool value) {
  const std::uint64_t flip = value ? 0 : ~std::uint64_t{0};
  while (from < end) {
    const std::uint64_t left = (words[from / bits_per_word] ^ flip) >> (from % bits_per_word);
    if (left != 0) return std::min<std::int64_t>(end, from + std::countr_zero(left));
    from = (from / bits_per_word + 1) * bits_per_word;
  }
  return end;
}

/// Distances of a run of voxels, [begin, end) of a row of `side`, to those just outside it.
void write_run(std::int32_t* row, std::int64_t begin, std::int64_t end, std::int64_t side,
               const Ramps& ramps) {
  const std::int64_t count = end - begin;
  std::int32_t* const run = row + begin;
  if (begin == 0 && end == side) {
    std::fill(run, run + count, no_distance);
  } else if (begin == 0) {
    ramps.copy_falling(run, count);
  } else if (end == side) {
    ramps.copy_rising(run, count);
  } else if (count <= 8) { // shorter than a call of memcpy
    for (std::int64_t i = 0; i < count; ++i)
      run[i] = static_cast<std::int32_t>(
          ramps.rising[static_cast<std::size_t>(std::min(i + 1, count - i))]);
  } else {
    const std::int64_t half = count / 2;
    ramps.copy_rising(run, half);
    ramps.copy_falling(run + half, count - half);
  }
}

/// Set bits of `words` are what is at a distance, the others at 0.
void distance_in_row(const std::uint64_t* words, std::int32_t* row, std::int64_t side,
                     const Ramps& ramps) {
  for (std::int64_t at = 0; at < side;) {
    const std::int64_t begin = next_bit(words, at, side, true);
    std::memset(row + at, 0, static_cast<std::size_t>(begin - at) * sizeof *row);
    if (begin == side) return;
    at = next_bit(words, begin, side, false);
    write_run(row, begin, at, side, ramps);
  }
}

// ---- along y and z ----

/// One thread's tile of columns.
struct Tile {
  Lanes* heights;                ///< a row each: squared distance across the columns
  std::uint32_t* lowest_vertex;  ///< a row each: of the parabolas lowest there, among the lanes
  std::uint32_t* highest_vertex; ///< likewise
};

class ColumnSearch {
public:
  ColumnSearch(const Tile& tile, std::uint32_t rows, const std::vector<std::uint32_t>& squares,
               std::int32_t length)
      : tile_(tile),
        rows_(rows),
        squares_(squares.data()),
        rows_per_unit_(1.0 / length) {}

  /// Calls write(row, squared distances).
  template <class Write>
  void run(const Write& write) const {
    std::uint32_t step = std::bit_ceil(rows_);
    Lanes best;
    search<true>(0, 0, rows_ - 1, best);
    write(0, best);
    for (; step > 2; step /= 2)
      level<true>(step, write);
    if (step == 2) level<false>(step, write);
  }

private:
  /// Rows half-way between those already done, `step` apart.
  template <bool keeps_vertices, class Write>
  void level(std::uint32_t step, const Write& write) const {
    for (std::uint32_t middle = step / 2; middle < rows_; middle += step) {
      const std::uint32_t after = middle + step / 2;
      Lanes best;
      search<keeps_vertices>(middle, tile_.lowest_vertex[middle - step / 2],
                             after < rows_ ? tile_.highest_vertex[after] : rows_ - 1, best);
      write(middle, best);
    }
  }

  /// The lowest parabolas at `row`, whose vertices lie in [from, to].
  template <bool keeps_vertices>
  void search(std::uint32_t row, std::uint32_t from, std::uint32_t to, Lanes& best_of_row) const {
    Lanes best = tile_.heights[row], vertex;
    set_all(vertex, row);
    // Vertices further away than the best so far are no better. Not worth asking for a few.
    constexpr std::uint32_t few = 6;
    if (to - from > few) {
      if (from < row) consider<keeps_vertices>(row, from, best, vertex);
      if (to > row) consider<keeps_vertices>(row, to, best, vertex);
      const auto reach =
          static_cast<std::uint32_t>(std::sqrt(static_cast<double>(highest(best))) * rows_per_unit_)
          + 1;
      if (row > reach) from = std::max(from, row - reach);
      if (reach < rows_) to = std::min(to, row + reach);
    }
    for (std::uint32_t other = from; other < std::min(row, to + 1); ++other)
      consider<keeps_vertices>(row, other, best, vertex);
    for (std::uint32_t other = std::max(from, row + 1); other <= to; ++other)
      consider<keeps_vertices>(row, other, best, vertex);
    if constexpr (keeps_vertices) {
      tile_.lowest_vertex[row] = lowest(vertex);
      tile_.highest_vertex[row] = highest(vertex);
    }
    best_of_row = best;
  }

  template <bool keeps_vertices>
  void consider(std::uint32_t row, std::uint32_t other, Lanes& best, Lanes& vertex) const {
    const Lanes value = tile_.heights[other] + squares_[other < row ? row - other : other - row];
    if constexpr (keeps_vertices) vertex = value < best ? Lanes{} + other : vertex;
    keep_lower(best, value);
  }

  Tile tile_;
  std::uint32_t rows_;
  const std::uint32_t* squares_;
  double rows_per_unit_;
};

/// Tiles of every thread for columns of `rows` rows, `tiles` side by side.
class TileMemory {
public:
  TileMemory(Memory& memory, std::int64_t rows, std::int64_t tiles)
      : rows_(rows),
        tiles_(tiles),
        heights_(memory, static_cast<std::size_t>(omp_get_max_threads() * tiles * rows)),
        vertices_(memory, static_cast<std::size_t>(omp_get_max_threads() * 2 * rows)) {}

  Tile tile(std::int64_t tile) const {
    const std::int64_t thread = omp_get_thread_num();
    return {heights_.data() + (thread * tiles_ + tile) * rows_,
            vertices_.data() + 2 * thread * rows_, vertices_.data() + (2 * thread + 1) * rows_};
  }

private:
  std::int64_t rows_, tiles_;
  Block<Lanes> heights_;
  Block<std::uint32_t> vertices_;
};

/// What a tile's columns hold, all of them: there is nothing to do for zeros and for no_distance.
struct Contents {
  Lanes any = Lanes{}, every = ~Lanes{};
  bool settled() const {
    return highest(any) == 0 || lowest(every) == static_cast<std::uint32_t>(no_distance);
  }
};

/// Columns [0, columns) of `first`, `stride` apart from row to row, at most tiles * lanes of them.
/// Side by side, so that a visit to a row's page reads whole cache lines there.
void distance_along_columns(std::int32_t* first, std::int64_t columns, std::int64_t rows,
                            std::int64_t stride, const TileMemory& memory,
                            const std::vector<std::uint32_t>& squares, std::int32_t length) {
  constexpr std::int64_t most_tiles = 4;
  const std::int64_t tiles = (columns + lanes - 1) / lanes;
  std::array<Contents, most_tiles> contents;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t i = 0; i < tiles; ++i) {
      Lanes heights{};
      const std::int64_t width = std::min(lanes, columns - i * lanes);
      const std::int32_t* const from = first + row * stride + i * lanes;
      if (width == lanes) {
        std::memcpy(&heights, from, sizeof heights);
      } else { // the last column again, whose bounds are no wider than its own
        for (std::int64_t lane = 0; lane < lanes; ++lane)
          heights[lane] = static_cast<std::uint32_t>(from[std::min(lane, width - 1)]);
      }
      memory.tile(i).heights[row] = heights;
      contents[static_cast<std::size_t>(i)].any |= heights;
      contents[static_cast<std::size_t>(i)].every &= heights;
    }
  for (std::int64_t i = 0; i < tiles; ++i) {
    if (contents[static_cast<std::size_t>(i)].settled()) continue;
    const std::int64_t width = std::min(lanes, columns - i * lanes);
    const ColumnSearch search(memory.tile(i), static_cast<std::uint32_t>(rows), squares, length);
    search.run([&](std::uint32_t row, const Lanes& squared) {
      std::int32_t* const to = first + row * stride + i * lanes;
      if (width == lanes)
        std::memcpy(to, &squared, sizeof squared);
      else
        std::memcpy(to, &squared, static_cast<std::size_t>(width) * sizeof *to);
    });
  }
}
constexpr std::int64_t columns_at_once = 4 * lanes;

} // namespace

Work distance_in_slices(View<const std::uint8_t> mask, View<std::int32_t> squared,
                        Distance distance, const DistanceMetric& metric, Memory& memory) {
  const Extent extent = mask.extent;
  assert(fits(extent, metric));
  const std::uint64_t flip = distance == Distance::to_foreground ? ~std::uint64_t{0} : 0;
  const Ramps ramps(metric.x, extent.x);
  const std::vector<std::uint32_t> squares = squares_of(metric.y, extent.y);
  const std::int64_t words = words_of(extent.x);
  const Block<std::uint64_t> bits(memory, static_cast<std::size_t>(omp_get_max_threads() * words));
  const TileMemory tiles(memory, extent.y, columns_at_once / lanes);
  // A slice at a time, so that its rows are still in the cache for its columns.
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t z = 0; z < extent.z; ++z) {
    std::uint64_t* const row_bits = bits.data() + omp_get_thread_num() * words;
    for (std::int64_t y = 0; y < extent.y; ++y) {
      const std::int64_t begin = z * extent.slice() + y * extent.x;
      pack_row(mask.data + begin, extent.x, flip, row_bits);
      distance_in_row(row_bits, squared.data + begin, extent.x, ramps);
    }
    if (extent.y == 1) continue;
    for (std::int64_t x = 0; x < extent.x; x += columns_at_once)
      distance_along_columns(squared.data + z * extent.slice() + x,
                             std::min(columns_at_once, extent.x - x), extent.y, extent.x, tiles,
                             squares, metric.y);
  }
  return distance_in_slices_work(extent);
}

Work distance_along_z(View<std::int32_t> squared, const DistanceMetric& metric, Memory& memory) {
  const Extent extent = squared.extent;
  assert(fits(extent, metric));
  if (extent.z > 1) {
    const std::vector<std::uint32_t> squares = squares_of(metric.z, extent.z);
    const TileMemory tiles(memory, extent.z, columns_at_once / lanes);
#pragma omp parallel for collapse(2) schedule(dynamic, 8)
    for (std::int64_t y = 0; y < extent.y; ++y)
      for (std::int64_t x = 0; x < extent.x; x += columns_at_once)
        distance_along_columns(squared.data + y * extent.x + x,
                               std::min(columns_at_once, extent.x - x), extent.z, extent.slice(),
                               tiles, squares, metric.z);
  }
  return distance_along_z_work(extent);
}

} // namespace breakeven::imaging::openmp_shapes
