// The stages of the classical pipeline, as one table of functions a path. Every stage gives the
// same bits on every path and for every number of threads: maths in float is written with fused(),
// sums are of integers, ids follow raster order, ties are broken by index. Stages know nothing of
// files, recipes or tiles; pipeline.h strings them together.
//
// Rules for all of them. Views and Blocks lie in the path's own memory (stages.memory); tables,
// sums and results that are plain vectors or references lie on the host. Input and output never
// overlap. A local stage reads up to `halo` slices above and below: a tile is given with that many
// slices more at each cut face, and its outermost `halo` slices of output are dropped there, so
// output at a cut face may be anything. At the volume's own borders the nearest voxel is repeated.
// A volume or tile has at most most_voxels voxels; any side may be 1. What is returned is the Work
// of the call, counted for a GPU: instructions a lane, bytes that must move, launches.
#pragma once

#include "workloads/imaging/memory.h"
#include "workloads/imaging/volume.h"
#include "workloads/workload.h"

#include <array>
#include <cstdint>
#include <vector>

namespace breakeven::imaging {

constexpr std::int64_t most_voxels = (std::int64_t{1} << 31) - 1;

/// Trilinear interpolation along one axis: output voxel i lies `weight[i]` of the way from input
/// voxel lower[i] to lower[i] + 1. lower[i] + 1 is inside wherever weight[i] > 0.
struct AxisTable {
  std::vector<std::int32_t> lower;
  std::vector<float> weight;
};
struct ResampleTables {
  AxisTable x, y, z;
};
/// Of `count` voxels at spacing `step` (in input voxels), the first at `first`; clamped to [0,
/// input_count - 1].
AxisTable axis_table(std::int64_t input_count, std::int64_t count, double first, double step);

/// A symmetric kernel along each axis: taps[0] is the middle, taps[i] both voxels i away. Sums
/// to 1.
struct GaussianTaps {
  std::vector<float> x, y, z;
  int radius_z() const { return static_cast<int>(z.size()) - 1; }
};
/// Sampled Gaussian of `sigma_mm`, cut at ceil(4 sigma) voxels, at most 64, and normalised.
GaussianTaps gaussian_taps(double sigma_mm, const std::array<double, 3>& spacing_mm);

struct BilateralKernel {
  int radius = 2;                     ///< voxels, 1 to 4, a box
  std::vector<float> spatial_weights; ///< (2 radius + 1)^3, x fastest
  float sigma_hu = 60;
};
BilateralKernel bilateral_kernel(int radius, double sigma_mm, double sigma_hu,
                                 const std::array<double, 3>& spacing_mm);

/// One explicit step of gradient anisotropic diffusion (Perona and Malik 1990, ITK's scheme).
struct DiffusionStep {
  std::array<float, 3> inverse_spacing{1, 1, 1}; ///< 1 / mm
  float time_step = 0.0625f;
  float conductance_k = 0; ///< diffusion_k() of the whole volume's gradient sum, < 0
};
/// ITK's K: -2 conductance^2 times the mean squared gradient, in HU^2 / mm^2, of the sum that
/// diffusion_gradient() gives for `voxels` voxels. At most -1e-30, so that a volume without
/// gradients has a K too.
float diffusion_k(std::int64_t gradient_sum, std::int64_t voxels, double conductance);

struct Histogram {
  float low = -1024, high = 3071; ///< values outside are counted in the end bins
  std::vector<std::uint64_t> counts;
};
/// The upper edge of the bin after which Otsu's between-class variance is largest, the first of
/// equals. Integer arithmetic up to the last comparison.
float otsu_threshold(const Histogram& histogram);

enum class Connectivity { six = 6, eighteen = 18, twenty_six = 26 };
enum class Distance { to_background, to_foreground };
enum class MorphologyOperation { dilate, erode };
/// On masks a and b; the last takes a alone.
enum class MaskOperation { both, either, first_only, not_first };

/// Squared spacing in whole units, so that squared distances are exact integers.
struct DistanceMetric {
  std::int32_t x = 1, y = 1, z = 1; ///< length of a voxel's side, in `unit_mm`
  double unit_mm = 1;
};
/// The metric with the smallest relative error of spacing whose squared distances within `extent`
/// stay below no_distance; (1, 1, 1) for equal spacings.
DistanceMetric distance_metric(const Extent& extent, const std::array<double, 3>& spacing_mm);
constexpr std::int32_t no_distance = 0x7FFF'FFFF; ///< where there is nothing to be distant from

/// Sums of one label. HU are rounded to the nearest integer, halves to even.
struct LabelSums {
  std::int64_t voxels = 0, hu = 0, hu_squared = 0, x = 0, y = 0, z = 0;
  std::int32_t low_hu = 0, high_hu = 0;        ///< of the rounded HU; 0 for no voxel
  std::array<std::int32_t, 3> first{}, last{}; ///< bounding box, both ends inside
  bool operator==(const LabelSums&) const = default;
};

/// One path's stages.
struct Stages {
  Path path = Path::openmp;
  Memory memory;

  /// HU of stored values; `rescale` has one entry a slice of the view.
  Work (*rescale)(View<const std::int16_t> stored, View<float> hu, const std::vector<Rescale>&,
                  const CtImage& padding_of, Memory&) = nullptr;
  Work (*rescale_float)(View<const float> stored, View<float> hu, const std::vector<Rescale>&,
                        const CtImage& padding_of, Memory&) = nullptr;

  /// Tables are as long as the output's sides and index the input view.
  Work (*resample)(View<const float> in, View<float> out, const ResampleTables&, Memory&) = nullptr;
  /// Nearest voxel (lower[i] + (weight[i] > 0.5)) of labels.
  Work (*resample_labels)(View<const std::uint32_t> in, View<std::uint32_t> out,
                          const ResampleTables&, Memory&) = nullptr;

  // ---- denoising: halo radius_z, 1, radius, 1 ----
  Work (*gaussian)(View<const float> in, View<float> out, const GaussianTaps&, Memory&) = nullptr;
  Work (*median)(View<const float> in, View<float> out, Memory&) = nullptr; ///< of 3 x 3 x 3
  Work (*bilateral)(View<const float> in, View<float> out, const BilateralKernel&,
                    Memory&) = nullptr;
  /// Adds the squared gradients of slices [z_begin, z_end) to `sum`, in fixed point.
  Work (*diffusion_gradient)(View<const float> in, std::int64_t z_begin, std::int64_t z_end,
                             const DiffusionStep&, std::int64_t& sum, Memory&) = nullptr;
  Work (*diffuse)(View<const float> in, View<float> out, const DiffusionStep&, Memory&) = nullptr;

  // ---- from HU to a mask: 1 is foreground, 0 background ----
  /// Adds slices [z_begin, z_end) to `histogram.counts`.
  Work (*histogram)(View<const float> in, std::int64_t z_begin, std::int64_t z_end, Histogram&,
                    Memory&) = nullptr;
  /// 1 where low <= value < high.
  Work (*threshold)(View<const float> in, View<std::uint8_t> mask, float low, float high,
                    Memory&) = nullptr;

  /// 1 where a label is not 0.
  Work (*mask_of)(View<const std::uint32_t> labels, View<std::uint8_t> mask, Memory&) = nullptr;
  /// `out` may be `a` or `b`.
  Work (*combine)(View<const std::uint8_t> a, View<const std::uint8_t> b, View<std::uint8_t> out,
                  MaskOperation, Memory&) = nullptr;

  // ---- shapes ----
  /// Of a box of 2 radius + 1 voxels; halo is radius[2]. Outside the volume: dilation sees
  /// background, erosion foreground.
  Work (*box_morphology)(View<const std::uint8_t> in, View<std::uint8_t> out, MorphologyOperation,
                         const std::array<int, 3>& radius, Memory&) = nullptr;
  /// Squared distance within each slice; no_distance where a slice has nothing of the sort. Voxels
  /// that are themselves background (foreground) have 0.
  Work (*distance_in_slices)(View<const std::uint8_t> mask, View<std::int32_t> squared, Distance,
                             const DistanceMetric&, Memory&) = nullptr;
  /// Finishes it along z, in place, for whole columns; a tile may hold some of the rows.
  Work (*distance_along_z)(View<std::int32_t> squared, const DistanceMetric&, Memory&) = nullptr;
  /// 1 where squared <= limit, else 0; with `inverted`, the other way round. This is dilation and
  /// erosion by a ball.
  Work (*within)(View<const std::int32_t> squared, View<std::uint8_t> mask, std::int32_t limit,
                 bool inverted, Memory&) = nullptr;

  // ---- objects ----
  /// Ids 1, 2, ... in the order of each component's first voxel in raster order; 0 is background.
  Work (*components)(View<const std::uint8_t> mask, View<std::uint32_t> labels, Connectivity,
                     std::uint32_t& count, Memory&) = nullptr;
  /// labels[i] = table[labels[i]].
  Work (*relabel)(View<std::uint32_t> labels, const std::vector<std::uint32_t>& table,
                  Memory&) = nullptr;
  /// Every voxel with squared distance > 0 climbs to its greatest neighbour (of 26) by (distance,
  /// index) until none is greater; peaks whose height above the saddle to a greater one is at most
  /// `least_height` (in distance, not squared) are joined to it, over the highest saddle first. Ids
  /// as for components. Two objects that do not touch never share a label.
  Work (*watershed)(View<const std::int32_t> squared, View<std::uint32_t> labels,
                    double least_height, std::uint32_t& count, Memory&) = nullptr;
  /// Adds to `sums`, which has an entry a label, 0 included. z_of_first is the volume's z of the
  /// view's first slice.
  Work (*label_sums)(View<const std::uint32_t> labels, View<const float> hu,
                     std::int64_t z_of_first, std::vector<LabelSums>& sums, Memory&) = nullptr;
};

/// The CPU side: OpenMP, blocked for caches and vectors.
Stages openmp_stages();

// Each family of stages fills in its part of the table.
void add_openmp_intensity(Stages& stages);
void add_openmp_masks(Stages& stages);
void add_openmp_labels(Stages& stages);
void add_openmp_shapes(Stages& stages);

} // namespace breakeven::imaging

// The GPU side, once for each way it is compiled.
namespace breakeven::on_host {
imaging::Stages imaging_stages();
void add_intensity(imaging::Stages& stages);
void add_masks(imaging::Stages& stages);
void add_labels(imaging::Stages& stages);
void add_shapes(imaging::Stages& stages);
} // namespace breakeven::on_host
namespace breakeven::on_serial {
imaging::Stages imaging_stages();
void add_intensity(imaging::Stages& stages);
void add_masks(imaging::Stages& stages);
void add_labels(imaging::Stages& stages);
void add_shapes(imaging::Stages& stages);
} // namespace breakeven::on_serial
namespace breakeven::on_cuda {
imaging::Stages imaging_stages();
void add_intensity(imaging::Stages& stages);
void add_masks(imaging::Stages& stages);
void add_labels(imaging::Stages& stages);
void add_shapes(imaging::Stages& stages);
} // namespace breakeven::on_cuda
