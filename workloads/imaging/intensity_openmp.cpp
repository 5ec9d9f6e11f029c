// Rescaling and resampling on the CPU, and the table of all intensity stages. Rescaling is bound by
// memory; trilinear interpolation blends four rows of the input into one that stays in cache.
#include "workloads/imaging/intensity_openmp.h"

namespace breakeven::imaging {

using namespace intensity_openmp;

namespace {

template <class T>
void rescale_slice(const T* __restrict stored, float* __restrict hu, std::int64_t count,
                   const Rescale& rescale, const Padding& padding) {
  const float slope = rescale.slope, intercept = rescale.intercept;
  const Padding own = padding;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i)
    hu[i] = hounsfield(static_cast<float>(stored[i]), slope, intercept, own);
}

template <class T>
Work rescale(View<const T> stored, View<float> hu, const std::vector<Rescale>& rescale,
             const CtImage& image, Memory&) {
  constexpr std::int64_t piece = 1 << 15;
  const Extent extent = stored.extent;
  const Padding padding = padding_of(image);
  const std::int64_t pieces = (extent.slice() + piece - 1) / piece;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t z = 0; z < extent.z; ++z)
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t begin = z * extent.slice() + i * piece;
      rescale_slice(stored.data + begin, hu.data + begin,
                    std::min(piece, extent.slice() - i * piece),
                    rescale[static_cast<std::size_t>(z)], padding);
    }
  return voxel_work(extent.voxels(), rescale_instructions, sizeof(T) + sizeof(float), 1);
}

void blend_rows(const float* __restrict a, const float* __restrict b, float weight,
                float* __restrict to, std::int64_t count) {
#pragma omp simd
  for (std::int64_t x = 0; x < count; ++x)
    to[x] = interpolated(a[x], b[x], weight);
}

/// The rows y and y + 1 of a slice between slices, kept because neighbouring output rows often
/// share them.
class BlendedRows {
public:
  BlendedRows(View<const float> in, std::int32_t z, float weight, float* memory)
      : count_(in.extent.x),
        lower_(in.data + z * in.extent.slice()),
        upper_(in.data + upper_of(z, weight) * in.extent.slice()),
        weight_(weight),
        memory_(memory) {}
  static std::int64_t pitch(std::int64_t count) { return whole_lanes(count); }

  const float* row(std::int64_t y) {
    if (weight_ == 0) return lower_ + y * count_;
    float* to = memory_ + (y & 1) * pitch(count_);
    if (held_[y & 1] != y) {
      blend_rows(lower_ + y * count_, upper_ + y * count_, weight_, to, count_);
      held_[y & 1] = y;
    }
    return to;
  }

private:
  std::int64_t count_;
  const float *lower_, *upper_;
  float weight_;
  float* memory_;
  std::int64_t held_[2]{-1, -1};
};

void interpolate_row(const float* __restrict row, const AxisTable& table, float* __restrict out) {
  const std::int32_t* __restrict lower = table.lower.data();
  const float* __restrict weight = table.weight.data();
  const auto count = static_cast<std::int64_t>(table.lower.size());
#pragma omp simd
  for (std::int64_t x = 0; x < count; ++x)
    out[x] = interpolated(row[lower[x]], row[upper_of(lower[x], weight[x])], weight[x]);
}

// Interpolates along z, then y, then x.
Work resample(View<const float> in, View<float> out, const ResampleTables& tables, Memory& memory) {
  constexpr std::int64_t rows_a_task = 32;
  const Extent to = out.extent;
  const std::int64_t strips = (to.y + rows_a_task - 1) / rows_a_task;
  const std::int64_t pitch = BlendedRows::pitch(in.extent.x);
  const Scratch scratch(memory, 3 * pitch);
#pragma omp parallel for collapse(2) schedule(dynamic, 2)
  for (std::int64_t z = 0; z < to.z; ++z)
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      float* own = scratch.of_this_thread();
      BlendedRows rows(in, tables.z.lower[static_cast<std::size_t>(z)],
                       tables.z.weight[static_cast<std::size_t>(z)], own);
      const std::int64_t y_end = std::min((strip + 1) * rows_a_task, to.y);
      for (std::int64_t y = strip * rows_a_task; y < y_end; ++y) {
        const std::int32_t lower = tables.y.lower[static_cast<std::size_t>(y)];
        const float weight = tables.y.weight[static_cast<std::size_t>(y)];
        const float* row = rows.row(lower);
        if (weight > 0) {
          float* blended = own + 2 * pitch;
          blend_rows(row, rows.row(lower + 1), weight, blended, in.extent.x);
          row = blended;
        }
        interpolate_row(row, tables.x, out.data + (z * to.y + y) * to.x);
      }
    }
  return resample_work(in.extent, to, resample_instructions);
}

Work resample_labels(View<const std::uint32_t> in, View<std::uint32_t> out,
                     const ResampleTables& tables, Memory&) {
  const Extent to = out.extent;
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t z = 0; z < to.z; ++z)
    for (std::int64_t y = 0; y < to.y; ++y) {
      const auto at = [](const AxisTable& table, std::int64_t i) {
        const auto entry = static_cast<std::size_t>(i);
        return static_cast<std::int64_t>(nearest_of(table.lower[entry], table.weight[entry]));
      };
      const std::uint32_t* from =
          in.data + (at(tables.z, z) * in.extent.y + at(tables.y, y)) * in.extent.x;
      std::uint32_t* row = out.data + (z * to.y + y) * to.x;
      for (std::int64_t x = 0; x < to.x; ++x)
        row[x] = from[at(tables.x, x)];
    }
  return resample_work(in.extent, to, resample_labels_instructions);
}

} // namespace

void add_openmp_intensity(Stages& stages) {
  stages.rescale = rescale<std::int16_t>;
  stages.rescale_float = rescale<float>;
  stages.resample = resample;
  stages.resample_labels = resample_labels;
  stages.gaussian = openmp_gaussian;
  stages.median = openmp_median;
  stages.bilateral = openmp_bilateral;
  stages.diffusion_gradient = openmp_diffusion_gradient;
  stages.diffuse = openmp_diffuse;
}

} // namespace breakeven::imaging
