// The GPU side of the stages on shapes. Their serial loops:
//
//   for (voxel v) out[v] = any(in[u] for u in the box around v);            // erosion: all()
//   for (voxel v) squared[v] = min((length (v - u))^2 for u in v's row that is background);
//   for (column c along y, then z)
//     for (row r of c) after[r] = min(squared[s] + (length (r - s))^2 for s in c);
//   for (voxel v) climbs_to[v] = greatest of its 27 by (squared, index);
//   for (voxel v) { while (climbs_to[v] != v) v = climbs_to[v]; labels = number of that peak; }
//   for (neighbours u, v of two basins) saddle[basins] = max(saddle, min(squared[u], squared[v]));
//   merge_basins();
//
// Columns are a thread each: a slice or a volume has enough of them to fill a GPU.
#include "workloads/imaging/device.h"
#include "workloads/imaging/shapes_kernels.h"
#include "workloads/imaging/watershed_merge.h"

#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/execution_policy.h>
#include <thrust/fill.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/system_error.h>

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace breakeven::ON_PATH {

namespace thrust = THRUST_NS_QUALIFIER;

namespace shapes {

using imaging_device::blocks_for;
using imaging_device::to_host;
using imaging_device::to_path;
using imaging_device::usual_block;

template <class Kernel, class... Args>
void launch_lanes(std::int64_t lanes, const Kernel& kernel, Args... args) {
  launch(blocks_for(lanes), usual_block, 0, Stream{}, kernel, args...);
}

BitRows bit_rows(const Block<std::uint32_t>& block, const Extent& extent) {
  return {block.data(), words_of(extent.x), extent.y * extent.z};
}
std::size_t bit_words(const Extent& extent) {
  return static_cast<std::size_t>(words_of(extent.x) * extent.y * extent.z);
}

void pack(View<const std::uint8_t> mask, std::uint8_t flip, const BitRows& bits) {
  launch_lanes(bits.count() * bits_per_word, PackRows{}, mask.data, mask.extent.x, flip, bits);
}

/// Passes over a volume's bits, each from one block to the other.
class BitPasses {
public:
  BitPasses(Memory& memory, const Extent& extent)
      : extent_(extent),
        now_(memory, bit_words(extent)),
        next_(memory, bit_words(extent)) {}

  BitRows bits() const { return bit_rows(now_, extent_); }
  void spread_along_rows(std::int64_t radius) {
    for (std::int64_t left = radius; left > 0; left -= longest_move) {
      launch_lanes(bits().count(), SpreadAlongRows{}, bits(), next_.data(),
                   static_cast<int>(std::min<std::int64_t>(left, longest_move)));
      std::swap(now_, next_);
    }
  }
  void spread_over_lines(std::int64_t stride, std::int64_t lines, std::int64_t radius) {
    if (radius == 0) return;
    launch_lanes(bits().count(), SpreadOverLines{}, static_cast<const std::uint32_t*>(now_.data()),
                 next_.data(), bits().count(), stride, lines, radius);
    std::swap(now_, next_);
  }

private:
  Extent extent_;
  Block<std::uint32_t> now_, next_;
};

// Erosion is dilation of the background; what lies outside is not set in either.
Work box_morphology(View<const std::uint8_t> in, View<std::uint8_t> out,
                    MorphologyOperation operation, const std::array<int, 3>& radius,
                    Memory& memory) {
  const Extent extent = in.extent;
  const std::uint8_t flip = operation == MorphologyOperation::erode;
  const auto useful = [&](std::size_t axis, std::int64_t side) {
    return std::min<std::int64_t>(radius[axis], side - 1);
  };
  BitPasses passes(memory, extent);
  pack(in, flip, passes.bits());
  const std::int64_t words = words_of(extent.x);
  passes.spread_along_rows(useful(0, extent.x));
  passes.spread_over_lines(words, extent.y, useful(1, extent.y));
  passes.spread_over_lines(words * extent.y, extent.z, useful(2, extent.z));
  launch_lanes((extent.voxels() + 3) / 4, UnpackRows{}, passes.bits(), extent.x, flip, out.data);
  return box_work(extent, radius);
}

// ---- distance ----

/// All columns along one axis. `across` columns lie side by side, then comes the next plane.
struct Columns {
  std::int64_t count, across, plane, stride;
  std::uint32_t rows;
};

void distance_along_columns(View<std::int32_t> squared, const Columns& columns, std::int32_t length,
                            Memory& memory) {
  if (columns.rows == 1) return;
  const Block<EnvelopePart> parts(memory, static_cast<std::size_t>(squared.extent.voxels()));
  const auto units = static_cast<std::uint32_t>(length);
  // Few threads a block, so that columns spread over all multiprocessors.
  constexpr int block = 64;
  launch(blocks_for(columns.count, block), block, 0, Stream{}, DistanceAlongColumns{}, squared.data,
         parts.data(), columns.count, columns.across, columns.plane, columns.stride, columns.rows,
         units * units);
}

Work distance_in_slices(View<const std::uint8_t> mask, View<std::int32_t> squared,
                        Distance distance, const DistanceMetric& metric, Memory& memory) {
  const Extent extent = mask.extent;
  assert(fits(extent, metric));
  {
    const Block<std::uint32_t> block(memory, bit_words(extent));
    const BitRows bits = bit_rows(block, extent);
    // Bits are what distances go to; past the end of a row there is none.
    pack(mask, distance == Distance::to_background, bits);
    launch_lanes(extent.voxels(), DistanceAlongRows{}, bits, extent.x, metric.x, squared.data);
  }
  distance_along_columns(squared,
                         {extent.x * extent.z, extent.x, extent.slice(), extent.x,
                          static_cast<std::uint32_t>(extent.y)},
                         metric.y, memory);
  return distance_in_slices_work(extent);
}

Work distance_along_z(View<std::int32_t> squared, const DistanceMetric& metric, Memory& memory) {
  const Extent extent = squared.extent;
  assert(fits(extent, metric));
  distance_along_columns(
      squared,
      {extent.slice(), extent.slice(), 0, extent.slice(), static_cast<std::uint32_t>(extent.z)},
      metric.z, memory);
  return distance_along_z_work(extent);
}

Work within(View<const std::int32_t> squared, View<std::uint8_t> mask, std::int32_t limit,
            bool inverted, Memory&) {
  const std::int64_t voxels = squared.extent.voxels();
  launch_lanes(voxels, Within{}, squared.data, mask.data, voxels, limit, inverted);
  return within_work(voxels);
}

// ---- watershed ----

/// Thrust's exceptions as ours, with CUDA's own code and text.
template <class Function>
auto reporting_failures(const char* doing, Function f) {
  try {
    return f();
  } catch (const thrust::system_error& error) {
    throw Failure(std::string(doing) + ": error " + std::to_string(error.code().value()) + ": "
                  + error.what());
  } catch (const std::bad_alloc& error) {
    throw Failure(std::string(doing) + ": not enough memory: " + error.what());
  }
}

using Index = thrust::counting_iterator<std::uint32_t>;

/// Indices of the peaks, in raster order.
Block<std::uint32_t> find_peaks(const std::uint32_t* climbs_to, std::int64_t voxels,
                                Memory& memory) {
  const Index begin(0), end(static_cast<std::uint32_t>(voxels));
  const IsPeak is_peak{climbs_to};
  const auto count = thrust::count_if(thrust::device, begin, end, is_peak);
  Block<std::uint32_t> peaks(memory, static_cast<std::size_t>(count));
  thrust::copy_if(thrust::device, begin, end, peaks.data(), is_peak);
  return peaks;
}

struct Maximum {
  HOST_DEVICE std::int32_t operator()(std::int32_t a, std::int32_t b) const {
    return a < b ? b : a;
  }
};

/// The highest saddle of each pair of basins, by sorting all that were written.
std::vector<Saddle> find_saddles(View<const std::uint32_t> labels, View<const std::int32_t> squared,
                                 Memory& memory) {
  const Extent extent = labels.extent;
  const Block<std::uint64_t> total = to_path(std::vector<std::uint64_t>{0, 0}, memory);
  launch(blocks_for(extent.voxels()), usual_block, sizeof(std::uint32_t), Stream{}, CountSaddles{},
         labels.data, squared.data, extent, total.data());
  const auto count = static_cast<std::size_t>(to_host(total.data(), 1, memory)[0]);
  if (count == 0) return {};
  const Block<std::uint64_t> pairs(memory, count), unique_pairs(memory, count);
  const Block<std::int32_t> heights(memory, count), highest(memory, count);
  launch(blocks_for(extent.voxels()), usual_block, 2 * sizeof(std::uint64_t), Stream{},
         WriteSaddles{}, labels.data, squared.data, extent, total.data() + 1, pairs.data(),
         heights.data());
  thrust::sort_by_key(thrust::device, pairs.data(), pairs.data() + count, heights.data());
  const auto ends = thrust::reduce_by_key(thrust::device, pairs.data(), pairs.data() + count,
                                          heights.data(), unique_pairs.data(), highest.data(),
                                          thrust::equal_to<std::uint64_t>(), Maximum{});
  const auto unique = static_cast<std::size_t>(ends.first - unique_pairs.data());
  const std::vector<std::uint64_t> host_pairs = to_host(unique_pairs.data(), unique, memory);
  const std::vector<std::int32_t> host_heights = to_host(highest.data(), unique, memory);
  std::vector<Saddle> saddles(unique);
  for (std::size_t i = 0; i < unique; ++i)
    saddles[i] = {static_cast<std::uint32_t>(host_pairs[i] >> 32),
                  static_cast<std::uint32_t>(host_pairs[i]), host_heights[i]};
  return saddles;
}

/// Labels become flagged numbers of basins; gives the basins' peaks and first voxels.
BasinGraph find_basins(View<const std::int32_t> squared, View<std::uint32_t> labels,
                       Memory& memory) {
  const Extent extent = squared.extent;
  const std::int64_t voxels = extent.voxels();
  const Block<std::uint32_t> climbs_to(memory, static_cast<std::size_t>(voxels));
  launch_lanes(voxels, Climb{}, squared.data, extent, climbs_to.data());
  const Block<std::uint32_t> peaks = find_peaks(climbs_to.data(), voxels, memory);
  const std::size_t basins = peaks.size();
  const Block<std::int32_t> peak_squared(memory, basins);
  const Block<std::uint32_t> first_voxel(memory, basins);
  thrust::fill(thrust::device, first_voxel.data(), first_voxel.data() + basins, 0xFFFF'FFFFu);
  launch_lanes(static_cast<std::int64_t>(basins), NumberPeaks{},
               static_cast<const std::uint32_t*>(peaks.data()), static_cast<std::int64_t>(basins),
               squared.data, climbs_to.data(), peak_squared.data());
  launch_lanes(voxels, Follow{}, static_cast<const std::uint32_t*>(climbs_to.data()), voxels,
               labels.data);
  launch_lanes(voxels, FindFirstVoxels{}, static_cast<const std::uint32_t*>(labels.data), extent,
               first_voxel.data());
  BasinGraph graph;
  graph.peak_squared = to_host(peak_squared.data(), basins, memory);
  graph.first_voxel = to_host(first_voxel.data(), basins, memory);
  return graph;
}

Work watershed(View<const std::int32_t> squared, View<std::uint32_t> labels, double least_height,
               std::uint32_t& count, Memory& memory) {
  return reporting_failures("watershed", [&] {
    const std::int64_t voxels = squared.extent.voxels();
    BasinGraph graph = find_basins(squared, labels, memory);
    graph.saddles = find_saddles(labels, squared, memory);
    const MergedBasins merged = merge_basins(graph, least_height);
    const Block<std::uint32_t> label_of = to_path(merged.label_of, memory);
    launch_lanes(voxels, FinalLabels{}, labels.data, voxels,
                 static_cast<const std::uint32_t*>(label_of.data()));
    count = merged.count;
    return watershed_work(voxels, static_cast<std::int64_t>(graph.peak_squared.size()),
                          static_cast<std::int64_t>(graph.saddles.size()));
  });
}

} // namespace shapes

void add_shapes(imaging::Stages& stages) {
  stages.box_morphology = shapes::box_morphology;
  stages.distance_in_slices = shapes::distance_in_slices;
  stages.distance_along_z = shapes::distance_along_z;
  stages.within = shapes::within;
  stages.watershed = shapes::watershed;
}

} // namespace breakeven::ON_PATH
