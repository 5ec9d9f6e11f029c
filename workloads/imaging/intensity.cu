// The GPU side of the intensity stages. Their serial loops:
//
//   for (voxel v) hu[v] = slope[z] * stored[v] + intercept[z];
//   for (voxel v) out[v] = trilinear(in, tables.x[x], tables.y[y], tables.z[z]);
//   for (axis a of y, x, z) for (voxel v) {
//     out[v] = tap[0] * in[v];
//     for (i = 1..radius) out[v] += tap[i] * (in[v - i a] + in[v + i a]);
//   }
//   for (voxel v) out[v] = median of in[v + (-1..1, -1..1, -1..1)];
//   for (voxel v) out[v] = sum of w in[v + d] / sum of w, w = spatial[d] exp(-(in[v + d] - in[v])^2
//   / 2 s^2); for (voxel v) out[v] = in[v] + sum over axes of gain * (flux(v, v + a) - flux(v - a,
//   v));
//
// Here a lane has a voxel or a column of voxels, and x is along the lanes of a warp.
#include "workloads/imaging/device.h"
#include "workloads/imaging/intensity_kernels.h"

namespace breakeven::ON_PATH {

namespace intensity {

using imaging_device::blocks_for;
using imaging_device::to_host;
using imaging_device::to_path;

namespace {

Sides sides_of(const Extent& extent) {
  return {static_cast<int>(extent.x), static_cast<int>(extent.y), static_cast<int>(extent.z)};
}
int whole_tiles(std::int64_t count, int tile) {
  return static_cast<int>((count + tile - 1) / tile);
}

/// How many slices a block or lane walks when `across` of them cover a slice: all, unless that
/// leaves a large GPU with fewer than `wanted`. The first of a walk reads its neighbours anew, so
/// that a walk has at least `least` slices.
int slices_a_walk(std::int64_t slices, std::int64_t across, std::int64_t wanted,
                  std::int64_t least) {
  const std::int64_t parts = std::max<std::int64_t>(1, wanted / across);
  return static_cast<int>(std::min(slices, std::max(least, (slices + parts - 1) / parts)));
}
// Several waves of blocks on the 132 multiprocessors of an H100, at 4 to 8 blocks each.
constexpr std::int64_t wanted_blocks = 4096;

Tiles tiles_of(const Extent& extent, int tile_x, int tile_y, std::int64_t least_slices) {
  Tiles tiles{whole_tiles(extent.x, tile_x), whole_tiles(extent.y, tile_y), 1};
  tiles.slices_a_part = slices_a_walk(
      extent.z, static_cast<std::int64_t>(tiles.across) * tiles.down, wanted_blocks, least_slices);
  return tiles;
}

template <class T>
Work rescale(View<const T> stored, View<float> hu, const std::vector<Rescale>& rescale,
             const CtImage& image, Memory& memory) {
  const Extent extent = stored.extent;
  const Block<Rescale> table = to_path(rescale, memory);
  const std::int64_t blocks_a_slice =
      blocks_for(extent.slice(), rescale_block * rescale_voxels_a_lane);
  launch(blocks_a_slice * extent.z, rescale_block, 0, Stream{}, RescaleVoxels<T>{}, stored.data,
         hu.data, extent.slice(), blocks_a_slice, static_cast<const Rescale*>(table.data()),
         padding_of(image));
  return voxel_work(extent.voxels(), rescale_instructions, sizeof(T) + sizeof(float), 1);
}

/// Tables in the path's memory, as long as this lives.
struct TableBlocks {
  explicit TableBlocks(const ResampleTables& tables, Memory& memory)
      : x(tables.x, memory),
        y(tables.y, memory),
        z(tables.z, memory) {}
  DeviceTables view() const { return {x.view(), y.view(), z.view()}; }

private:
  struct One {
    One(const AxisTable& table, Memory& memory)
        : lower(to_path(table.lower, memory)),
          weight(to_path(table.weight, memory)) {}
    DeviceTable view() const { return {lower.data(), weight.data()}; }
    Block<std::int32_t> lower;
    Block<float> weight;
  };
  One x, y, z;
};

template <class T, class Kernel>
Work resample_by(View<const T> in, View<T> out, const ResampleTables& tables, const Kernel& kernel,
                 double instructions, Memory& memory) {
  const TableBlocks blocks(tables, memory);
  launch(blocks_for(out.extent.voxels()), imaging_device::usual_block, 0, Stream{}, kernel, in.data,
         sides_of(in.extent), out.data, sides_of(out.extent), blocks.view());
  return resample_work(in.extent, out.extent, instructions);
}
Work resample(View<const float> in, View<float> out, const ResampleTables& tables, Memory& memory) {
  return resample_by(in, out, tables, InterpolateVoxels{}, resample_instructions, memory);
}
Work resample_labels(View<const std::uint32_t> in, View<std::uint32_t> out,
                     const ResampleTables& tables, Memory& memory) {
  return resample_by(in, out, tables, NearestLabels{}, resample_labels_instructions, memory);
}

Taps taps_of(const std::vector<float>& values) {
  Taps taps{};
  std::copy(values.begin(), values.end(), taps.tap);
  taps.radius = static_cast<int>(values.size()) - 1;
  return taps;
}

constexpr int most_tiled_radius = 16;

template <int most_radius>
void filter_in_slices(View<const float> in, View<float> out, const Taps& x, const Taps& y) {
  using Kernel = GaussianInSlice<most_radius>;
  const Extent extent = in.extent;
  const Tiles tiles{whole_tiles(extent.x, gaussian_tile_x), whole_tiles(extent.y, gaussian_tile_y),
                    1};
  const bool fours_are_aligned =
      extent.x % 4 == 0 && reinterpret_cast<std::uintptr_t>(out.data) % sizeof(Four) == 0;
  launch(tiles.count(sides_of(extent)), gaussian_block, Kernel::shared_bytes, Stream{}, Kernel{},
         in.data, out.data, sides_of(extent), tiles, x, y, fours_are_aligned);
}

template <int most_radius>
void filter_along_z(View<const float> in, View<float> out, const Taps& taps) {
  const Extent extent = in.extent;
  const std::int64_t blocks_across = blocks_for(extent.slice());
  const int slices = slices_a_walk(extent.z, blocks_across, wanted_blocks, 8 * most_radius);
  const std::int64_t parts = (extent.z + slices - 1) / slices;
  launch(blocks_for(extent.slice() * parts), imaging_device::usual_block, 0, Stream{},
         GaussianAlongZ<most_radius>{}, in.data, out.data, sides_of(extent), taps, slices);
}

template <Axis axis>
void filter_along(View<const float> in, View<float> out, const Taps& taps) {
  launch(blocks_for(in.extent.voxels()), imaging_device::usual_block, 0, Stream{},
         GaussianAlong<axis>{}, in.data, out.data, sides_of(in.extent), taps);
}

// `out` is free until the last step, so that it holds what is between y and x where needed.
Work gaussian(View<const float> in, View<float> out, const GaussianTaps& all_taps, Memory& memory) {
  const Taps x = taps_of(all_taps.x), y = taps_of(all_taps.y), z = taps_of(all_taps.z);
  const Block<float> between(memory, static_cast<std::size_t>(in.extent.voxels()));
  const View<float> xy{between.data(), in.extent};
  const int radius_xy = std::max(x.radius, y.radius);
  if (radius_xy <= 4) {
    filter_in_slices<4>(in, xy, x, y);
  } else if (radius_xy <= 8) {
    filter_in_slices<8>(in, xy, x, y);
  } else if (radius_xy <= most_tiled_radius) {
    filter_in_slices<most_tiled_radius>(in, xy, x, y);
  } else {
    filter_along<Axis::y>(in, out, y);
    filter_along<Axis::x>(out, xy, x);
  }
  if (z.radius <= 4)
    filter_along_z<4>(xy, out, z);
  else if (z.radius <= 8)
    filter_along_z<8>(xy, out, z);
  else if (z.radius <= most_tiled_radius)
    filter_along_z<most_tiled_radius>(xy, out, z);
  else
    filter_along<Axis::z>(xy, out, z);
  return gaussian_work(in.extent, all_taps);
}

Work median(View<const float> in, View<float> out, Memory&) {
  const Sides sides = sides_of(in.extent);
  const Tiles tiles = tiles_of(in.extent, median_tile_x, median_tile_y, 16);
  launch(tiles.count(sides), median_block, 0, Stream{}, MedianVoxels{}, in.data, out.data, sides,
         tiles);
  return median_work(in.extent);
}

template <int radius>
void filter_bilateral(View<const float> in, View<float> out, const BilateralKernel& kernel,
                      Memory& memory) {
  using Kernel = BilateralVoxels<radius>;
  const Block<float> logs = to_path(log2_of(kernel.spatial_weights), memory);
  const Sides sides = sides_of(in.extent);
  const Tiles tiles{whole_tiles(in.extent.x, bilateral_tile_x),
                    whole_tiles(in.extent.y, bilateral_tile_y), bilateral_tile_z};
  launch(tiles.count(sides), bilateral_block, Kernel::shared_bytes, Stream{}, Kernel{}, in.data,
         out.data, sides, tiles, static_cast<const float*>(logs.data()), range_factor(kernel));
}
Work bilateral(View<const float> in, View<float> out, const BilateralKernel& kernel,
               Memory& memory) {
  switch (kernel.radius) {
  case 1:
    filter_bilateral<1>(in, out, kernel, memory);
    break;
  case 2:
    filter_bilateral<2>(in, out, kernel, memory);
    break;
  case 3:
    filter_bilateral<3>(in, out, kernel, memory);
    break;
  default:
    filter_bilateral<4>(in, out, kernel, memory);
    break;
  }
  return bilateral_work(in.extent, kernel);
}

Work diffusion_gradient(View<const float> in, std::int64_t z_begin, std::int64_t z_end,
                        const DiffusionStep& step, std::int64_t& sum, Memory& memory) {
  constexpr int rows_a_block = gradient_block / threads_per_warp;
  const Block<std::uint64_t> total = to_path(std::vector<std::uint64_t>{0}, memory);
  const std::int64_t rows = (z_end - z_begin) * in.extent.y;
  launch(std::min(most_gradient_warps / rows_a_block, blocks_for(rows, rows_a_block)),
         gradient_block, 0, Stream{}, SumSquaredGradients{}, in.data, sides_of(in.extent),
         static_cast<int>(z_begin), static_cast<int>(z_end), half_per_mm(step), total.data());
  sum += static_cast<std::int64_t>(to_host(total.data(), 1, memory)[0]);
  return gradient_work(in.extent, z_end - z_begin);
}

Work diffuse(View<const float> in, View<float> out, const DiffusionStep& step, Memory&) {
  const Sides sides = sides_of(in.extent);
  const Tiles tiles = tiles_of(in.extent, diffuse_tile_x, diffuse_tile_y, 32);
  launch(tiles.count(sides), diffuse_block, DiffuseVoxels::shared_bytes, Stream{}, DiffuseVoxels{},
         in.data, out.data, sides, tiles, diffusion_factors(step));
  return diffuse_work(in.extent);
}

} // namespace

} // namespace intensity

void add_intensity(imaging::Stages& stages) {
  stages.rescale = intensity::rescale<std::int16_t>;
  stages.rescale_float = intensity::rescale<float>;
  stages.resample = intensity::resample;
  stages.resample_labels = intensity::resample_labels;
  stages.gaussian = intensity::gaussian;
  stages.median = intensity::median;
  stages.bilateral = intensity::bilateral;
  stages.diffusion_gradient = intensity::diffusion_gradient;
  stages.diffuse = intensity::diffuse;
}

} // namespace breakeven::ON_PATH
