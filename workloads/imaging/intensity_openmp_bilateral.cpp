// The bilateral filter on the CPU: for each row of the box, its taps are added to the sums of a
// whole row of voxels, which stay in the first cache.
#include "workloads/imaging/intensity_openmp.h"

namespace breakeven::imaging {

using namespace intensity_openmp;

namespace {

/// Adds 2 radius + 1 neighbours of a row, from x - radius to x + radius.
template <int radius>
void add_row(const float* __restrict middle, const float* __restrict other, float range,
             const float* __restrict log_spatial, float* __restrict weights,
             float* __restrict differences, std::int64_t count) {
  float logs[2 * radius + 1];
  std::copy(log_spatial, log_spatial + 2 * radius + 1, logs);
#pragma omp simd
  for (std::int64_t x = 0; x < count; ++x) {
    float weight = weights[x], difference = differences[x];
    const float here = middle[x];
#pragma GCC unroll 9
    for (int i = 0; i <= 2 * radius; ++i)
      add_bilateral(weight, difference, here, other[x + i - radius], range, logs[i]);
    weights[x] = weight;
    differences[x] = difference;
  }
}

template <int radius>
void filter_strip(View<const float> in, View<float> out, const Strip& strip, float range,
                  const std::vector<float>& log_spatial, float* memory) {
  const Extent extent = in.extent;
  const std::int64_t count = whole_lanes(extent.x);
  Window window(in, strip, radius, memory);
  float* __restrict weights = memory + Window::floats(extent, strip.rows(), radius);
  float* __restrict differences = weights + count;
  for (std::int64_t z = strip.z_begin; z < strip.z_end; ++z) {
    window.go_to(z);
    for (std::int64_t y = strip.y_begin; y < strip.y_end; ++y) {
      std::fill(weights, weights + 2 * count, 0.0f);
      const float* middle = window.row(y, z);
      const float* logs = log_spatial.data();
      for (std::int64_t other_z = z - radius; other_z <= z + radius; ++other_z)
        for (std::int64_t other_y = y - radius; other_y <= y + radius; ++other_y) {
          add_row<radius>(middle, window.row(other_y, other_z), range, logs, weights, differences,
                          count);
          logs += 2 * radius + 1;
        }
      float* __restrict to = out.data + (z * extent.y + y) * extent.x;
#pragma omp simd
      for (std::int64_t x = 0; x < extent.x; ++x)
        to[x] = bilateral_result(middle[x], weights[x], differences[x]);
    }
  }
}

template <int radius>
void filter(View<const float> in, View<float> out, const BilateralKernel& kernel, Memory& memory) {
  const Extent extent = in.extent;
  const float range = range_factor(kernel);
  const std::vector<float> log_spatial = log2_of(kernel.spatial_weights);
  const Strips strips(extent, rows_in_cache(Window::pitch(extent, radius), 2 * radius + 1),
                      4 * radius);
  const Scratch scratch(memory, Window::floats(extent, strips.most_rows(), radius)
                                    + 2 * whole_lanes(extent.x));
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < strips.count(); ++i)
    filter_strip<radius>(in, out, strips[i], range, log_spatial, scratch.of_this_thread());
}

} // namespace

Work openmp_bilateral(View<const float> in, View<float> out, const BilateralKernel& kernel,
                      Memory& memory) {
  switch (kernel.radius) {
  case 1:
    filter<1>(in, out, kernel, memory);
    break;
  case 2:
    filter<2>(in, out, kernel, memory);
    break;
  case 3:
    filter<3>(in, out, kernel, memory);
    break;
  default:
    filter<4>(in, out, kernel, memory);
    break;
  }
  return bilateral_work(in.extent, kernel);
}

} // namespace breakeven::imaging
