// The GPU kernels of the intensity stages. Lanes of a warp lie along x, so that global memory is
// read and written in whole lines; what neighbouring voxels share is held in registers along z, in
// shared memory within a slice. Coordinates fit int because a volume has fewer than 2^31 voxels;
// offsets are 64 bits.
#pragma once

#include "workloads/imaging/intensity.h"
#include "workloads/launch.h"

// nvcc's pragma, which other compilers warn of: arrays live in registers only where every index is
// known, so their loops must be unrolled.
#if defined(__CUDACC__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

namespace breakeven::ON_PATH::intensity {

using namespace ::breakeven::imaging;

/// The sides of a view, and where its voxels are.
struct Sides {
  int x, y, z;
  HOST_DEVICE std::int64_t at(int i, int j, int k) const {
    return (static_cast<std::int64_t>(k) * y + j) * x + i;
  }
};
HOST_DEVICE inline int nearest(int i, int count) { return i < 0 ? 0 : i < count ? i : count - 1; }

/// Which of `across` x `down` tiles of a slice a block is for, and which part of the slices.
struct Tiles {
  int across, down, slices_a_part;
  std::int64_t count(const Sides& sides) const {
    const std::int64_t parts = (sides.z + slices_a_part - 1) / slices_a_part;
    return parts * across * down;
  }
  HOST_DEVICE int column(std::int64_t block) const { return static_cast<int>(block % across); }
  HOST_DEVICE int row(std::int64_t block) const { return static_cast<int>(block / across % down); }
  HOST_DEVICE int z_begin(std::int64_t block) const {
    return static_cast<int>(block / across / down) * slices_a_part;
  }
  HOST_DEVICE int z_end(std::int64_t block, const Sides& sides) const {
    const int end = z_begin(block) + slices_a_part;
    return end < sides.z ? end : sides.z;
  }
};

// ---- rescale ----

constexpr int rescale_block = 256, rescale_voxels_a_lane = 8;

/// A block takes 2048 voxels of one slice, a lane every 256th of them.
template <class T>
struct RescaleVoxels {
  DEVICE_ONLY void operator()(const Thread& thread, const T* stored, float* hu, std::int64_t slice,
                              std::int64_t blocks_a_slice, const Rescale* rescale,
                              Padding padding) const {
    const std::int64_t z = thread.block_index() / blocks_a_slice;
    const std::int64_t part = thread.block_index() - z * blocks_a_slice;
    const float slope = rescale[z].slope, intercept = rescale[z].intercept;
    std::int64_t i = part * rescale_block * rescale_voxels_a_lane + thread.thread_index();
    UNROLL
    for (int step = 0; step < rescale_voxels_a_lane; ++step, i += rescale_block)
      if (i < slice)
        hu[z * slice + i] =
            hounsfield(static_cast<float>(stored[z * slice + i]), slope, intercept, padding);
  }
};

// ---- resample ----

struct DeviceTable {
  const std::int32_t* lower;
  const float* weight;
};
struct DeviceTables {
  DeviceTable x, y, z;
};

/// A lane an output voxel; the eight inputs of neighbouring lanes share lines.
struct InterpolateVoxels {
  DEVICE_ONLY void operator()(const Thread& thread, const float* in, Sides from, float* out,
                              Sides to, DeviceTables tables) const {
    const std::int64_t i = thread.global_index();
    if (i >= static_cast<std::int64_t>(to.x) * to.y * to.z) return;
    const auto index = static_cast<std::uint32_t>(i);
    const std::uint32_t row = index / static_cast<std::uint32_t>(to.x);
    const std::uint32_t x = index - row * static_cast<std::uint32_t>(to.x);
    const std::uint32_t z = row / static_cast<std::uint32_t>(to.y);
    const std::uint32_t y = row - z * static_cast<std::uint32_t>(to.y);
    const float x_weight = tables.x.weight[x], y_weight = tables.y.weight[y],
                z_weight = tables.z.weight[z];
    const int x_low = tables.x.lower[x], y_low = tables.y.lower[y], z_low = tables.z.lower[z];
    const int x_high = upper_of(x_low, x_weight), y_high = upper_of(y_low, y_weight),
              z_high = upper_of(z_low, z_weight);
    const auto along_z = [&](int at_x, int at_y) {
      return interpolated(in[from.at(at_x, at_y, z_low)], in[from.at(at_x, at_y, z_high)],
                          z_weight);
    };
    const auto along_y = [&](int at_x) {
      return interpolated(along_z(at_x, y_low), along_z(at_x, y_high), y_weight);
    };
    out[i] = interpolated(along_y(x_low), along_y(x_high), x_weight);
  }
};

struct NearestLabels {
  DEVICE_ONLY void operator()(const Thread& thread, const std::uint32_t* in, Sides from,
                              std::uint32_t* out, Sides to, DeviceTables tables) const {
    const std::int64_t i = thread.global_index();
    if (i >= static_cast<std::int64_t>(to.x) * to.y * to.z) return;
    const auto index = static_cast<std::uint32_t>(i);
    const std::uint32_t row = index / static_cast<std::uint32_t>(to.x);
    const std::uint32_t x = index - row * static_cast<std::uint32_t>(to.x);
    const std::uint32_t z = row / static_cast<std::uint32_t>(to.y);
    const std::uint32_t y = row - z * static_cast<std::uint32_t>(to.y);
    out[i] = in[from.at(nearest_of(tables.x.lower[x], tables.x.weight[x]),
                        nearest_of(tables.y.lower[y], tables.y.weight[y]),
                        nearest_of(tables.z.lower[z], tables.z.weight[z]))];
  }
};

// ---- gaussian ----

constexpr int most_taps = 65;
/// Travels with the launch, in constant memory.
struct Taps {
  float tap[most_taps];
  int radius;
};

struct alignas(16) Four {
  float value[4];
};

constexpr int gaussian_block = 256, gaussian_tile_x = 64, gaussian_tile_y = 32;

/// The tile's voxels, `most_radius` wider on every side, filtered along y into a second tile, then
/// along x. A lane filters four neighbours together and reads what they share once: 4 + 2
/// most_radius values for four outputs. Taps beyond the radius are left out, not added as zeros.
template <int most_radius>
struct GaussianInSlice {
  static_assert(most_radius % 4 == 0);
  static constexpr int width = gaussian_tile_x + 2 * most_radius;
  static constexpr int height = gaussian_tile_y + 2 * most_radius;
  static constexpr std::size_t y_filtered_at = width * height * sizeof(float);
  static constexpr std::size_t shared_bytes =
      y_filtered_at + width * gaussian_tile_y * sizeof(float);
  static constexpr int warps = gaussian_block / threads_per_warp;
  static_assert(4 * warps == gaussian_tile_y);

  DEVICE_ONLY void operator()(const Thread& thread, const float* in, float* out, Sides sides,
                              Tiles tiles, Taps x_taps, Taps y_taps, bool fours_are_aligned) const {
    const int x_begin = tiles.column(thread.block_index()) * gaussian_tile_x;
    const int y_begin = tiles.row(thread.block_index()) * gaussian_tile_y;
    const int z = tiles.z_begin(thread.block_index());
    load(thread, in, sides, x_begin, y_begin, z, x_taps.radius, y_taps.radius);
    thread.sync();
    filter_along_y(thread, y_taps);
    thread.sync();
    filter_along_x(thread, out, sides, x_begin, y_begin, z, x_taps, fours_are_aligned);
  }

private:
  /// Four sums over a window that starts most_radius before the first of them.
  DEVICE_ONLY static Four filtered(const float (&window)[4 + 2 * most_radius], const Taps& taps) {
    Four sums;
    UNROLL
    for (int j = 0; j < 4; ++j)
      sums.value[j] = taps.tap[0] * window[j + most_radius];
    UNROLL
    for (int i = 1; i <= most_radius; ++i)
      if (i <= taps.radius) {
        UNROLL
        for (int j = 0; j < 4; ++j)
          sums.value[j] =
              fused(taps.tap[i], window[j + most_radius - i] + window[j + most_radius + i],
                    sums.value[j]);
      }
    return sums;
  }

  DEVICE_ONLY static void load(const Thread& thread, const float* in, const Sides& sides,
                               int x_begin, int y_begin, int z, int x_radius, int y_radius) {
    const auto tile = thread.shared<float>(0, width * height);
    for (int row = thread.warp(); row < height; row += warps) {
      const int y = row - most_radius;
      const bool row_used = y >= -y_radius && y < gaussian_tile_y + y_radius;
      const float* from = in + sides.at(0, nearest(y_begin + y, sides.y), z);
      for (int column = thread.lane(); column < width; column += threads_per_warp) {
        const int x = column - most_radius;
        const bool used = row_used && x >= -x_radius && x < gaussian_tile_x + x_radius;
        tile[static_cast<std::size_t>(row * width + column)] =
            used ? from[nearest(x_begin + x, sides.x)] : 0.0f;
      }
    }
  }

  DEVICE_ONLY static void filter_along_y(const Thread& thread, const Taps& taps) {
    const auto tile = thread.shared<float>(0, width * height);
    const auto y_filtered = thread.shared<float>(y_filtered_at, width * gaussian_tile_y);
    const int row = 4 * thread.warp();
    for (int column = thread.lane(); column < width; column += threads_per_warp) {
      float window[4 + 2 * most_radius];
      UNROLL
      for (int i = 0; i < 4 + 2 * most_radius; ++i)
        window[i] = tile[static_cast<std::size_t>((row + i) * width + column)];
      const Four sums = filtered(window, taps);
      UNROLL
      for (int j = 0; j < 4; ++j)
        y_filtered[static_cast<std::size_t>((row + j) * width + column)] = sums.value[j];
    }
  }

  DEVICE_ONLY static void filter_along_x(const Thread& thread, float* out, const Sides& sides,
                                         int x_begin, int y_begin, int z, const Taps& taps,
                                         bool fours_are_aligned) {
    constexpr int fours_a_row = width / 4, units_a_row = gaussian_tile_x / 4;
    const auto y_filtered = thread.shared<Four>(y_filtered_at, fours_a_row * gaussian_tile_y);
    for (int unit = thread.thread_index(); unit < units_a_row * gaussian_tile_y;
         unit += gaussian_block) {
      const int row = unit / units_a_row, first_four = unit % units_a_row;
      float window[4 + 2 * most_radius];
      UNROLL
      for (int i = 0; i < 1 + most_radius / 2; ++i) {
        const Four four = y_filtered[static_cast<std::size_t>(row * fours_a_row + first_four + i)];
        UNROLL
        for (int j = 0; j < 4; ++j)
          window[4 * i + j] = four.value[j];
      }
      store(out, sides, x_begin + 4 * first_four, y_begin + row, z, filtered(window, taps),
            fours_are_aligned);
    }
  }

  DEVICE_ONLY static void store(float* out, const Sides& sides, int x, int y, int z,
                                const Four& sums, bool fours_are_aligned) {
    if (x >= sides.x || y >= sides.y) return;
    float* to = out + sides.at(x, y, z);
    if (fours_are_aligned) {
      *reinterpret_cast<Four*>(to) = sums;
      return;
    }
    UNROLL
    for (int j = 0; j < 4; ++j)
      if (x + j < sides.x) to[j] = sums.value[j];
  }
};

/// A lane walks a column of voxels upwards with the window in registers, four outputs a step.
template <int most_radius>
struct GaussianAlongZ {
  DEVICE_ONLY void operator()(const Thread& thread, const float* in, float* out, Sides sides,
                              Taps taps, int slices_a_part) const {
    const std::int64_t slice = static_cast<std::int64_t>(sides.x) * sides.y;
    const std::int64_t parts = (sides.z + slices_a_part - 1) / slices_a_part;
    const std::int64_t part = thread.global_index() / slice;
    if (part >= parts) return;
    const std::int64_t column = thread.global_index() - part * slice;
    const int z_begin = static_cast<int>(part) * slices_a_part;
    const int z_end = z_begin + slices_a_part < sides.z ? z_begin + slices_a_part : sides.z;
    const auto at = [&](int z) { return in[nearest(z, sides.z) * slice + column]; };
    float window[4 + 2 * most_radius];
    UNROLL
    for (int i = 0; i < 2 * most_radius; ++i)
      window[i] = at(z_begin + i - most_radius);
    for (int z = z_begin; z < z_end; z += 4) {
      UNROLL
      for (int j = 0; j < 4; ++j)
        window[2 * most_radius + j] = at(z + j + most_radius);
      UNROLL
      for (int j = 0; j < 4; ++j) {
        float sum = taps.tap[0] * window[j + most_radius];
        UNROLL
        for (int i = 1; i <= most_radius; ++i)
          if (i <= taps.radius)
            sum =
                fused(taps.tap[i], window[j + most_radius - i] + window[j + most_radius + i], sum);
        if (z + j < z_end) out[(z + j) * slice + column] = sum;
      }
      UNROLL
      for (int i = 0; i < 2 * most_radius; ++i)
        window[i] = window[i + 4];
    }
  }
};

/// Any radius along one axis, straight from global memory: for sigmas above 4 voxels.
enum class Axis { x, y, z };
template <Axis axis>
struct GaussianAlong {
  DEVICE_ONLY void operator()(const Thread& thread, const float* in, float* out, Sides sides,
                              Taps taps) const {
    const std::int64_t i = thread.global_index();
    if (i >= static_cast<std::int64_t>(sides.x) * sides.y * sides.z) return;
    const auto index = static_cast<std::uint32_t>(i);
    const std::uint32_t row = index / static_cast<std::uint32_t>(sides.x);
    const int x = static_cast<int>(index - row * static_cast<std::uint32_t>(sides.x));
    const int z = static_cast<int>(row / static_cast<std::uint32_t>(sides.y));
    const int y = static_cast<int>(row) - z * sides.y;
    const auto at = [&](int away) {
      if constexpr (axis == Axis::x) return in[sides.at(nearest(x + away, sides.x), y, z)];
      if constexpr (axis == Axis::y) return in[sides.at(x, nearest(y + away, sides.y), z)];
      if constexpr (axis == Axis::z) return in[sides.at(x, y, nearest(z + away, sides.z))];
    };
    float sum = taps.tap[0] * at(0);
    for (int away = 1; away <= taps.radius; ++away)
      sum = fused(taps.tap[away], at(-away) + at(away), sum);
    out[i] = sum;
  }
};

// ---- median ----

constexpr int median_block = 256, median_tile_x = threads_per_warp - 2,
              median_tile_y = median_block / threads_per_warp;

/// A warp has a row of 30 outputs and one column more on either side, and walks upwards. A lane
/// keeps the sorted triples along y of three slices, so that a step reads three voxels, which the
/// block's other rows read too; sorted columns of nine go to the lanes beside by shuffles.
struct MedianVoxels {
  DEVICE_ONLY void operator()(const Thread& thread, const float* in, float* out, Sides sides,
                              Tiles tiles) const {
    const int x = tiles.column(thread.block_index()) * median_tile_x + thread.lane() - 1;
    const int y = tiles.row(thread.block_index()) * median_tile_y + thread.warp();
    const int z_begin = tiles.z_begin(thread.block_index());
    const int z_end = tiles.z_end(thread.block_index(), sides);
    const bool has_output =
        thread.lane() >= 1 && thread.lane() <= median_tile_x && x < sides.x && y < sides.y;
    const int column = nearest(x, sides.x), row = nearest(y, sides.y) * sides.x,
              south = nearest(y - 1, sides.y) * sides.x, north = nearest(y + 1, sides.y) * sides.x;
    const std::int64_t slice = static_cast<std::int64_t>(sides.x) * sides.y;
    const auto triple = [&](int z, float& a, float& b, float& c) {
      const float* from = in + nearest(z, sides.z) * slice + column;
      a = sortable(from[south]);
      b = sortable(from[row]);
      c = sortable(from[north]);
      sort_3<Instruction>(a, b, c);
    };
    float below[3], here[3], above[3];
    triple(z_begin - 1, below[0], below[1], below[2]);
    triple(z_begin, here[0], here[1], here[2]);
    for (int z = z_begin; z < z_end; ++z) {
      triple(z + 1, above[0], above[1], above[2]);
      Nine own{below[0], below[1], below[2], here[0], here[1],
               here[2],  above[0], above[1], above[2]};
      merge_triples<Instruction>(own);
      const float median =
          median_of<Instruction>(beside(thread, own, -1), own, beside(thread, own, 1));
      if (has_output) out[z * slice + row + x] = median;
      UNROLL
      for (int i = 0; i < 3; ++i) {
        below[i] = here[i];
        here[i] = above[i];
      }
    }
  }

private:
  /// One instruction each, where a comparison and a selection would be two. They differ from
  /// Selection in the sign of 0 and NaN only, and there are none.
  struct Instruction {
    HOST_DEVICE static float least(float a, float b) { return fminf(a, b); }
    HOST_DEVICE static float greatest(float a, float b) { return fmaxf(a, b); }
  };

  DEVICE_ONLY static Nine beside(const Thread& thread, const Nine& own, int lanes) {
    const int lane = thread.lane() + lanes;
    return {
        thread.shuffle(own.v0, lane), thread.shuffle(own.v1, lane), thread.shuffle(own.v2, lane),
        thread.shuffle(own.v3, lane), thread.shuffle(own.v4, lane), thread.shuffle(own.v5, lane),
        thread.shuffle(own.v6, lane), thread.shuffle(own.v7, lane), thread.shuffle(own.v8, lane)};
  }
};

// ---- bilateral ----

constexpr int bilateral_block = 256, bilateral_tile_x = 32, bilateral_tile_y = 4,
              bilateral_tile_z = 2;

/// A lane a voxel; the tile with its halo and the spatial weights lie in shared memory.
template <int radius>
struct BilateralVoxels {
  static constexpr int box = 2 * radius + 1;
  static constexpr int width = bilateral_tile_x + 2 * radius;
  static constexpr int height = bilateral_tile_y + 2 * radius;
  static constexpr int depth = bilateral_tile_z + 2 * radius;
  static constexpr std::size_t logs_at = width * height * depth * sizeof(float);
  static constexpr std::size_t shared_bytes = logs_at + box * box * box * sizeof(float);

  DEVICE_ONLY void operator()(const Thread& thread, const float* in, float* out, Sides sides,
                              Tiles tiles, const float* log_spatial, float range) const {
    const auto tile = thread.shared<float>(0, width * height * depth);
    const auto logs = thread.shared<float>(logs_at, box * box * box);
    const int x_begin = tiles.column(thread.block_index()) * bilateral_tile_x;
    const int y_begin = tiles.row(thread.block_index()) * bilateral_tile_y;
    const int z_begin = tiles.z_begin(thread.block_index());
    for (int row = thread.warp(); row < height * depth; row += bilateral_block / threads_per_warp) {
      const int y = nearest(y_begin + row % height - radius, sides.y);
      const int z = nearest(z_begin + row / height - radius, sides.z);
      for (int column = thread.lane(); column < width; column += threads_per_warp)
        tile[static_cast<std::size_t>(row * width + column)] =
            in[sides.at(nearest(x_begin + column - radius, sides.x), y, z)];
    }
    for (int i = thread.thread_index(); i < box * box * box; i += bilateral_block)
      logs[static_cast<std::size_t>(i)] = log_spatial[i];
    thread.sync();

    const int i = thread.lane(), j = thread.warp() % bilateral_tile_y,
              k = thread.warp() / bilateral_tile_y;
    const auto at = [](int x, int y, int z) {
      return static_cast<std::size_t>((z * height + y) * width + x);
    };
    const float middle = tile[at(i + radius, j + radius, k + radius)];
    float weights = 0, differences = 0;
    std::size_t tap = 0;
    for (int z = 0; z < box; ++z)
      for (int y = 0; y < box; ++y)
        UNROLL
    for (int x = 0; x < box; ++x, ++tap) {
      const float other = tile[at(i + x, j + y, k + z)];
      const float log_weight = logs[tap];
      add_bilateral(weights, differences, middle, other, range, log_weight);
    }
    if (x_begin + i < sides.x && y_begin + j < sides.y && z_begin + k < sides.z)
      out[sides.at(x_begin + i, y_begin + j, z_begin + k)] =
          bilateral_result(middle, weights, differences);
  }
};

// ---- diffusion ----

constexpr int gradient_block = 256;

/// A warp takes rows in turn and adds its sum once, at the end.
struct SumSquaredGradients {
  DEVICE_ONLY void operator()(const Thread& thread, const float* in, Sides sides, int z_begin,
                              int z_end, HalfPerMm half, std::uint64_t* sum) const {
    std::int64_t own = 0;
    const std::int64_t rows = static_cast<std::int64_t>(z_end - z_begin) * sides.y;
    const std::int64_t warps = thread.grid_size() * (gradient_block / threads_per_warp);
    for (std::int64_t row = thread.global_index() / threads_per_warp; row < rows; row += warps) {
      const int k = static_cast<int>(row / sides.y);
      const int y = static_cast<int>(row - static_cast<std::int64_t>(k) * sides.y);
      const int z = z_begin + k;
      const float* here = in + sides.at(0, y, z);
      const float* south = in + sides.at(0, nearest(y - 1, sides.y), z);
      const float* north = in + sides.at(0, nearest(y + 1, sides.y), z);
      const float* below = in + sides.at(0, y, nearest(z - 1, sides.z));
      const float* above = in + sides.at(0, y, nearest(z + 1, sides.z));
      for (int x = thread.lane(); x < sides.x; x += threads_per_warp)
        own += squared_gradient(here[nearest(x + 1, sides.x)] - here[nearest(x - 1, sides.x)],
                                north[x] - south[x], above[x] - below[x], half.axis);
    }
    for (int delta = threads_per_warp / 2; delta > 0; delta /= 2)
      own += thread.shuffle_down(own, delta);
    if (thread.lane() == 0) atomic_add(sum, static_cast<std::uint64_t>(own));
  }
};

constexpr int diffuse_tile_x = 32, diffuse_tile_y = 16,
              diffuse_block = diffuse_tile_x * diffuse_tile_y;

/// A block walks a tile upwards with three slices of it in shared memory, a voxel wider on every
/// side. A lane computes the fluxes to its neighbours at x + 1, y + 1 and z + 1 and takes those
/// from the other sides from its neighbours and from its own last step; two warps compute those
/// that come into the tile as well.
struct DiffuseVoxels {
  static constexpr int width = diffuse_tile_x + 2, height = diffuse_tile_y + 2,
                       slice = width * height;
  static constexpr int x_fluxes_a_row = diffuse_tile_x + 1; ///< the first comes into the tile
  static constexpr std::size_t x_flux_at = 3 * slice * sizeof(float);
  static constexpr std::size_t y_flux_at =
      x_flux_at + x_fluxes_a_row * diffuse_tile_y * sizeof(float);
  static constexpr std::size_t shared_bytes =
      y_flux_at + diffuse_tile_x * (diffuse_tile_y + 1) * sizeof(float);

  DEVICE_ONLY void operator()(const Thread& thread, const float* in, float* out, Sides sides,
                              Tiles tiles, DiffusionFactors factors) const {
    const auto x_flux = thread.shared<float>(x_flux_at, x_fluxes_a_row * diffuse_tile_y);
    const auto y_flux = thread.shared<float>(y_flux_at, diffuse_tile_x * (diffuse_tile_y + 1));
    const int x_begin = tiles.column(thread.block_index()) * diffuse_tile_x;
    const int y_begin = tiles.row(thread.block_index()) * diffuse_tile_y;
    const int z_begin = tiles.z_begin(thread.block_index());
    const int z_end = tiles.z_end(thread.block_index(), sides);
    const int i = thread.lane(), j = thread.warp();
    const bool has_output = x_begin + i < sides.x && y_begin + j < sides.y;
    const Loader loader(thread, in, sides, x_begin, y_begin);
    Slices voxels{thread.shared<float>(0, 3 * slice), 0, slice, 2 * slice};

    loader.load(thread, voxels.array, voxels.below, z_begin - 1);
    loader.load(thread, voxels.array, voxels.here, z_begin);
    thread.sync();
    float z_in = voxels.z_flux(i, j, voxels.below, voxels.here, factors);
    for (int z = z_begin; z < z_end; ++z) {
      loader.load(thread, voxels.array, voxels.above, z + 1);
      thread.sync();
      const float here = voxels.at(i, j, voxels.here);
      const float x_out = voxels.x_flux(i, j, factors);
      const float y_out = voxels.y_flux(i, j, factors);
      const float z_out = voxels.z_flux(i, j, voxels.here, voxels.above, factors);
      x_flux[static_cast<std::size_t>(j * x_fluxes_a_row + i + 1)] = x_out;
      y_flux[static_cast<std::size_t>((j + 1) * diffuse_tile_x + i)] = y_out;
      if (j == 0) y_flux[static_cast<std::size_t>(i)] = voxels.y_flux(i, -1, factors);
      if (j == 1 && i < diffuse_tile_y)
        x_flux[static_cast<std::size_t>(i * x_fluxes_a_row)] = voxels.x_flux(-1, i, factors);
      // All slices are read once all are here: the lowest may be overwritten.
      thread.sync();
      const float x_in = x_flux[static_cast<std::size_t>(j * x_fluxes_a_row + i)];
      const float y_in = y_flux[static_cast<std::size_t>(j * diffuse_tile_x + i)];
      if (has_output)
        out[sides.at(x_begin + i, y_begin + j, z)] =
            diffused(here, x_out, x_in, y_out, y_in, z_out, z_in, factors);
      z_in = z_out;
      voxels.go_up();
    }
  }

private:
  /// Three slices of the tile, each at an offset in shared memory.
  struct Slices {
    SharedArray<float> array;
    int below, here, above;

    DEVICE_ONLY void go_up() {
      const int free = below;
      below = here;
      here = above;
      above = free;
    }
    DEVICE_ONLY float at(int i, int j, int offset) const {
      return array[static_cast<std::size_t>(offset + (j + 1) * width + i + 1)];
    }
    DEVICE_ONLY float over_x(int i, int j, int offset) const {
      return at(i + 1, j, offset) - at(i - 1, j, offset);
    }
    DEVICE_ONLY float over_y(int i, int j, int offset) const {
      return at(i, j + 1, offset) - at(i, j - 1, offset);
    }
    DEVICE_ONLY float over_z(int i, int j) const { return at(i, j, above) - at(i, j, below); }

    DEVICE_ONLY float x_flux(int i, int j, const DiffusionFactors& factors) const {
      return diffusion_flux(
          at(i, j, here), at(i + 1, j, here), over_y(i, j, here) + over_y(i + 1, j, here),
          over_z(i, j) + over_z(i + 1, j), factors.along[0], factors.across[1], factors.across[2]);
    }
    DEVICE_ONLY float y_flux(int i, int j, const DiffusionFactors& factors) const {
      return diffusion_flux(
          at(i, j, here), at(i, j + 1, here), over_x(i, j, here) + over_x(i, j + 1, here),
          over_z(i, j) + over_z(i, j + 1), factors.along[1], factors.across[0], factors.across[2]);
    }
    DEVICE_ONLY float z_flux(int i, int j, int low, int high,
                             const DiffusionFactors& factors) const {
      return diffusion_flux(at(i, j, low), at(i, j, high), over_x(i, j, low) + over_x(i, j, high),
                            over_y(i, j, low) + over_y(i, j, high), factors.along[2],
                            factors.across[0], factors.across[1]);
    }
  };

  /// Where in a slice the voxels lie that a lane brings into the tile: one, and for some a second.
  class Loader {
  public:
    DEVICE_ONLY Loader(const Thread& thread, const float* in, const Sides& sides, int x_begin,
                       int y_begin)
        : in_(in),
          slice_(static_cast<std::int64_t>(sides.x) * sides.y),
          slices_(sides.z) {
      UNROLL
      for (int k = 0; k < places; ++k) {
        const int place = thread.thread_index() + k * diffuse_block;
        const int x = nearest(x_begin + place % width - 1, sides.x);
        const int y = nearest(y_begin + place / width - 1, sides.y);
        from_[k] = y * sides.x + x;
      }
    }
    DEVICE_ONLY void load(const Thread& thread, const SharedArray<float>& array, int offset,
                          int z) const {
      const float* from = in_ + nearest(z, slices_) * slice_;
      UNROLL
      for (int k = 0; k < places; ++k) {
        const int place = thread.thread_index() + k * diffuse_block;
        if (place < slice) array[static_cast<std::size_t>(offset + place)] = from[from_[k]];
      }
    }

  private:
    static constexpr int places = (slice + diffuse_block - 1) / diffuse_block;
    const float* in_;
    std::int64_t slice_;
    int slices_;
    int from_[places];
  };
};

} // namespace breakeven::ON_PATH::intensity

#undef UNROLL
