// Boxes and balls on the CPU. A box is three passes over bits, 64 voxels a word, so that memory is
// touched once to read the mask and once to write it, and the passes between stay in the caches.
#include "workloads/imaging/shapes_openmp.h"

#include "workloads/imaging/mask_bits.h"
#include "workloads/imaging/shapes.h"

#include <algorithm>

namespace breakeven::imaging {

namespace {

/// row |= row moved up by `count` bits, 1 to 63.
void or_moved_up(std::uint64_t* row, std::int64_t words, int count) {
  for (std::int64_t i = words - 1; i > 0; --i)
    row[i] |= row[i] << count | row[i - 1] >> (bits_per_word - count);
  row[0] |= row[0] << count;
}
void or_moved_down(std::uint64_t* row, std::int64_t words, int count) {
  for (std::int64_t i = 0; i + 1 < words; ++i)
    row[i] |= row[i] >> count | row[i + 1] << (bits_per_word - count);
  row[words - 1] |= row[words - 1] >> count;
}

/// Calls move(k) so that moves by k spread a line over `radius` places: each doubles what is
/// covered, by at most `longest`.
template <class Move>
void for_each_doubling(std::int64_t radius, std::int64_t longest, const Move& move) {
  for (std::int64_t covered = 1; covered < radius + 1;) {
    const std::int64_t by = std::min({covered, radius + 1 - covered, longest});
    move(by);
    covered += by;
  }
}

/// Each bit over `radius` bits to both sides of a row.
void spread_in_row(std::uint64_t* row, std::int64_t words, std::int64_t radius) {
  for_each_doubling(radius, bits_per_word - 1,
                    [&](std::int64_t by) { or_moved_up(row, words, static_cast<int>(by)); });
  for_each_doubling(radius, bits_per_word - 1,
                    [&](std::int64_t by) { or_moved_down(row, words, static_cast<int>(by)); });
}

/// Each of `lines` lines, `words` long and `stride` words apart, over `radius` lines to both sides.
void spread_over_lines(std::uint64_t* bits, std::int64_t lines, std::int64_t stride,
                       std::int64_t words, std::int64_t radius) {
  const auto or_line = [&](std::int64_t to, std::int64_t from) {
    std::uint64_t* const target = bits + to * stride;
    const std::uint64_t* const source = bits + from * stride;
#pragma omp simd
    for (std::int64_t i = 0; i < words; ++i)
      target[i] |= source[i];
  };
  for_each_doubling(radius, lines, [&](std::int64_t by) {
    for (std::int64_t line = lines - 1; line >= by; --line)
      or_line(line, line - by);
  });
  for_each_doubling(radius, lines, [&](std::int64_t by) {
    for (std::int64_t line = 0; line + by < lines; ++line)
      or_line(line, line + by);
  });
}

/// A radius beyond the side reaches no more than one of the side.
std::int64_t useful_radius(int radius, std::int64_t side) {
  return std::min<std::int64_t>(radius, side - 1);
}

// Erosion is dilation of the background; what lies outside is not set in either.
Work box_morphology(View<const std::uint8_t> in, View<std::uint8_t> out,
                    MorphologyOperation operation, const std::array<int, 3>& radius,
                    Memory& memory) {
  const Extent extent = in.extent;
  const std::uint64_t flip = operation == MorphologyOperation::erode ? ~std::uint64_t{0} : 0;
  const std::int64_t words = words_of(extent.x), slice_words = words * extent.y;
  Block<std::uint64_t> block(memory, static_cast<std::size_t>(slice_words * extent.z));
  std::uint64_t* const bits = block.data();
  const std::int64_t radius_x = useful_radius(radius[0], extent.x),
                     radius_y = useful_radius(radius[1], extent.y),
                     radius_z = useful_radius(radius[2], extent.z);
  const std::int64_t rows = extent.y * extent.z;
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      pack_row(in.data + row * extent.x, extent.x, flip, bits + row * words);
      spread_in_row(bits + row * words, words, radius_x);
    }
#pragma omp for schedule(static)
    for (std::int64_t z = 0; z < extent.z; ++z)
      spread_over_lines(bits + z * slice_words, extent.y, words, words, radius_y);
    // Columns of words, narrow enough for the second-level cache at any usual depth.
    constexpr std::int64_t chunk = 64;
#pragma omp for schedule(static)
    for (std::int64_t begin = 0; begin < slice_words; begin += chunk)
      spread_over_lines(bits + begin, extent.z, slice_words, std::min(chunk, slice_words - begin),
                        radius_z);
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row)
      unpack_row(bits + row * words, extent.x, flip, out.data + row * extent.x);
  }
  return box_work(extent, radius);
}

Work within(View<const std::int32_t> squared, View<std::uint8_t> mask, std::int32_t limit,
            bool inverted, Memory&) {
  const std::int64_t voxels = squared.extent.voxels();
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < voxels; ++i)
    mask.data[i] = is_within(squared.data[i], limit, inverted);
  return within_work(voxels);
}

} // namespace

void add_openmp_shapes(Stages& stages) {
  stages.box_morphology = box_morphology;
  stages.distance_in_slices = openmp_shapes::distance_in_slices;
  stages.distance_along_z = openmp_shapes::distance_along_z;
  stages.within = within;
  stages.watershed = openmp_shapes::watershed;
}

} // namespace breakeven::imaging
