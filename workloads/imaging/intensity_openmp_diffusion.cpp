// Gradient anisotropic diffusion on the CPU: a strip of rows is walked along z; each flux between
// two voxels is computed once, from padded rows in cache, a row at a time.
#include "workloads/imaging/intensity_openmp.h"

namespace breakeven::imaging {

using namespace intensity_openmp;

namespace {

/// Fluxes from a row to its neighbours along one axis. `here` and `next` are the rows of both ends
/// (the same row one voxel on, along x); low and high are the rows before and after them along each
/// other axis, or one voxel before and after along x.
struct FluxRows {
  const float *here, *next;
  const float *here_low_1, *here_high_1, *next_low_1, *next_high_1;
  const float *here_low_2, *here_high_2, *next_low_2, *next_high_2;
  float along, across_1, across_2;

  void operator()(float* __restrict flux, std::int64_t count) const {
    const FluxRows r = *this;
#pragma omp simd
    for (std::int64_t x = 0; x < count; ++x) {
      const float sum_1 =
          (r.here_high_1[x] - r.here_low_1[x]) + (r.next_high_1[x] - r.next_low_1[x]);
      const float sum_2 =
          (r.here_high_2[x] - r.here_low_2[x]) + (r.next_high_2[x] - r.next_low_2[x]);
      flux[x] = diffusion_flux(r.here[x], r.next[x], sum_1, sum_2, r.along, r.across_1, r.across_2);
    }
  }
};

class Fluxes {
public:
  Fluxes(const Window& window, const DiffusionFactors& factors, std::int64_t count)
      : window_(window),
        factors_(factors),
        count_(whole_lanes(count)) {}

  /// flux[x] is from x to x + 1.
  void along_x(std::int64_t y, std::int64_t z, float* flux) const {
    const float *here = window_.row(y, z), *south = window_.row(y - 1, z),
                *north = window_.row(y + 1, z), *below = window_.row(y, z - 1),
                *above = window_.row(y, z + 1);
    FluxRows{here,
             here + 1,
             south,
             north,
             south + 1,
             north + 1,
             below,
             above,
             below + 1,
             above + 1,
             factors_.along[0],
             factors_.across[1],
             factors_.across[2]}(flux, count_);
  }
  /// From row y to y + 1.
  void along_y(std::int64_t y, std::int64_t z, float* flux) const {
    const float *here = window_.row(y, z), *next = window_.row(y + 1, z);
    FluxRows{here,
             next,
             here - 1,
             here + 1,
             next - 1,
             next + 1,
             window_.row(y, z - 1),
             window_.row(y, z + 1),
             window_.row(y + 1, z - 1),
             window_.row(y + 1, z + 1),
             factors_.along[1],
             factors_.across[0],
             factors_.across[2]}(flux, count_);
  }
  /// From slice z to z + 1.
  void along_z(std::int64_t y, std::int64_t z, float* flux) const {
    const float *here = window_.row(y, z), *next = window_.row(y, z + 1);
    FluxRows{here,
             next,
             here - 1,
             here + 1,
             next - 1,
             next + 1,
             window_.row(y - 1, z),
             window_.row(y + 1, z),
             window_.row(y - 1, z + 1),
             window_.row(y + 1, z + 1),
             factors_.along[2],
             factors_.across[0],
             factors_.across[1]}(flux, count_);
  }

private:
  const Window& window_;
  const DiffusionFactors& factors_;
  std::int64_t count_;
};

/// x_flux[-1] is what flows into voxel 0.
void update_row(const float* __restrict here, const float* __restrict x_flux,
                const float* __restrict y_out, const float* __restrict y_in,
                const float* __restrict z_out, const float* __restrict z_in,
                const DiffusionFactors& step_factors, float* __restrict out, std::int64_t count) {
  const DiffusionFactors factors = step_factors;
#pragma omp simd
  for (std::int64_t x = 0; x < count; ++x)
    out[x] =
        diffused(here[x], x_flux[x], x_flux[x - 1], y_out[x], y_in[x], z_out[x], z_in[x], factors);
}

/// Rows of flux in a thread's scratch memory: one along x, two along y, and for each row of the
/// strip two along z, of which one is what flows in.
struct FluxMemory {
  static std::int64_t pitch(std::int64_t count) { return lanes + whole_lanes(count); }
  static std::int64_t floats(std::int64_t count, std::int64_t rows) {
    return (3 + 2 * rows) * pitch(count);
  }
  float* row(std::int64_t i) const { return memory + i * pitch(count) + lanes; }
  float* x() const { return row(0); }
  float* y(std::int64_t parity) const { return row(1 + (parity & 1)); }
  float* z(std::int64_t row_of_strip, std::int64_t parity) const {
    return row(3 + 2 * row_of_strip + (parity & 1));
  }
  float* memory;
  std::int64_t count;
};

void diffuse_strip(View<const float> in, View<float> out, const Strip& strip,
                   const DiffusionFactors& factors, float* memory) {
  const Extent extent = in.extent;
  Window window(in, strip, 1, memory);
  const Fluxes fluxes(window, factors, extent.x);
  const FluxMemory flux{memory + Window::floats(extent, strip.rows(), 1), extent.x};
  flux.x()[-1] = 0;
  for (std::int64_t z = strip.z_begin; z < strip.z_end; ++z) {
    window.go_to(z);
    if (z == strip.z_begin)
      for (std::int64_t y = strip.y_begin; y < strip.y_end; ++y)
        fluxes.along_z(y, z - 1, flux.z(y - strip.y_begin, z - 1));
    fluxes.along_y(strip.y_begin - 1, z, flux.y(strip.y_begin - 1));
    for (std::int64_t y = strip.y_begin; y < strip.y_end; ++y) {
      fluxes.along_x(y, z, flux.x());
      fluxes.along_y(y, z, flux.y(y));
      fluxes.along_z(y, z, flux.z(y - strip.y_begin, z));
      update_row(window.row(y, z), flux.x(), flux.y(y), flux.y(y - 1), flux.z(y - strip.y_begin, z),
                 flux.z(y - strip.y_begin, z - 1), factors,
                 out.data + z * extent.slice() + y * extent.x, extent.x);
    }
  }
}

/// Three rows along y and z, clamped to the volume.
struct GradientRows {
  const float *here, *south, *north, *below, *above;
};

std::int64_t gradient_of_row(const GradientRows& rows, std::int64_t count, const HalfPerMm& half) {
  const auto at = [&](std::int64_t x) {
    return squared_gradient(rows.here[nearest(x + 1, count)] - rows.here[nearest(x - 1, count)],
                            rows.north[x] - rows.south[x], rows.above[x] - rows.below[x],
                            half.axis);
  };
  std::int64_t sum = at(0);
  if (count > 1) sum += at(count - 1);
  const GradientRows r = rows;
  const HalfPerMm h = half;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t x = 1; x < count - 1; ++x)
    sum += squared_gradient(r.here[x + 1] - r.here[x - 1], r.north[x] - r.south[x],
                            r.above[x] - r.below[x], h.axis);
  return sum;
}

} // namespace

Work openmp_diffusion_gradient(View<const float> in, std::int64_t z_begin, std::int64_t z_end,
                               const DiffusionStep& step, std::int64_t& sum, Memory&) {
  const Extent extent = in.extent;
  const HalfPerMm half = half_per_mm(step);
  std::int64_t total = 0;
#pragma omp parallel for collapse(2) schedule(static) reduction(+ : total)
  for (std::int64_t z = z_begin; z < z_end; ++z)
    for (std::int64_t y = 0; y < extent.y; ++y) {
      const auto row = [&](std::int64_t row_y, std::int64_t row_z) {
        return in.data
               + (nearest(row_z, extent.z) * extent.y + nearest(row_y, extent.y)) * extent.x;
      };
      total += gradient_of_row(
          {row(y, z), row(y - 1, z), row(y + 1, z), row(y, z - 1), row(y, z + 1)}, extent.x, half);
    }
  sum += total;
  return gradient_work(extent, z_end - z_begin);
}

Work openmp_diffuse(View<const float> in, View<float> out, const DiffusionStep& step,
                    Memory& memory) {
  const Extent extent = in.extent;
  const DiffusionFactors factors = diffusion_factors(step);
  const Strips strips(extent, rows_in_cache(Window::pitch(extent, 1), 3 + 2), 16);
  const Scratch scratch(memory, Window::floats(extent, strips.most_rows(), 1)
                                    + FluxMemory::floats(extent.x, strips.most_rows()));
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < strips.count(); ++i)
    diffuse_strip(in, out, strips[i], factors, scratch.of_this_thread());
  return diffuse_work(extent);
}

} // namespace breakeven::imaging
