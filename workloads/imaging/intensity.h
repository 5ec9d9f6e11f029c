// The arithmetic of the intensity stages, voxel by voxel, one body for the OpenMP and the GPU side,
// so that both give the same bits; and what a call of each stage costs a GPU. Leaves out the order
// in which voxels are visited. Voxels are finite; NaN is refused where volumes are read.
//
// nvcc contracts a product and a sum that follows it, the C++ build does not. So here every product
// that meets a sum is an argument of fused(), or is rounded by product() first. nvcc 13.0 then
// makes the same machine code of intensity.cu for sm_90 with -fmad=true and with -fmad=false.
#pragma once

#include "workloads/host_device.h"
#include "workloads/imaging/stages.h"

#include <algorithm>
#include <cmath>

namespace breakeven::imaging {

// ---- numbers ----

/// a * b, rounded, whatever is done with it next: x + 0 cannot be dropped (it turns -0 into 0), and
/// a fused multiply-add is not taken apart again.
HOST_DEVICE inline float product(float a, float b) { return fused(a, b, 0.0f); }

/// 2^y for y <= 0. Relative error at most 2e-7 for y in [-126, 0], exact at 0; below, it falls from
/// 2^-126 and is 0 from -127.5 on, for -infinity too. Never more than 1.
/// y = n + f with n whole and f in [-1/2, 1/2], exactly; 2^f is 1 + f times a polynomial of degree
/// 4, fitted for the least relative error (9.2e-8), and n goes into the exponent.
/// The clamp compares bits, which order negative floats by magnitude: integer units are less busy.
HOST_DEVICE inline float exp2_of_negative(float y) {
  constexpr float to_nearest = 12582912.0f;          // 1.5 * 2^23: the sum has no bits below 1
  constexpr std::uint32_t least_bits = 0xC316'0000u; // of -150
  const std::uint32_t y_bits = bits_of(y);
  const float clamped = float_of(y_bits < least_bits ? y_bits : least_bits);
  const float shifted = clamped + to_nearest;
  const float f = clamped - (shifted - to_nearest);
  float power = fused(1.32647273e-3f, f, 9.67151299e-3f);
  power = fused(power, f, 5.55073358e-2f);
  power = fused(power, f, 0.240222424f);
  power = fused(power, f, 0.693147004f);
  power = fused(power, f, 1.0f);
  // The low bits of `shifted` are n; those above them are shifted out.
  const auto bits = static_cast<std::int32_t>(bits_of(power) + (bits_of(shifted) << 23));
  return float_of(static_cast<std::uint32_t>(bits > 0 ? bits : 0));
}
constexpr double log2_of_e = 1.4426950408889634;

/// a at weight 0, b at 1.
HOST_DEVICE inline float interpolated(float a, float b, float weight) {
  return fused(weight, b - a, a);
}

// ---- rescale ----

/// Stored values from low to high, both ends in, are padding; none are where low is above high.
struct Padding {
  float low, high;
};
inline Padding padding_of(const CtImage& image) {
  if (!image.has_padding) return {1, 0};
  return {image.padding_low, image.padding_high};
}
HOST_DEVICE inline float hounsfield(float stored, float slope, float intercept,
                                    const Padding& padding) {
  const float hu = fused(slope, stored, intercept);
  return stored >= padding.low && stored <= padding.high ? air_hu : hu;
}

// ---- resample ----

/// The upper neighbour is read only where it has weight; elsewhere it may lie outside.
HOST_DEVICE inline std::int32_t upper_of(std::int32_t lower, float weight) {
  return lower + (weight > 0 ? 1 : 0);
}
HOST_DEVICE inline std::int32_t nearest_of(std::int32_t lower, float weight) {
  return lower + (weight > 0.5f ? 1 : 0);
}

// ---- median of 3 x 3 x 3 ----
// Of every three voxels along z, then of nine of a column of x, a sorted list, shared by the
// outputs that contain it; the median comes from three lists of nine. 96 minima and maxima a voxel,
// where selection from 27 takes about 360. Which networks sort does not show in the result: equal
// floats are equal in all bits once -0 is 0, which sortable() sees to.

HOST_DEVICE inline float sortable(float value) { return value + 0.0f; }

/// How two are ordered: on the CPU by a comparison and a selection, one vector instruction each.
struct Selection {
  HOST_DEVICE static float least(float a, float b) { return a < b ? a : b; }
  HOST_DEVICE static float greatest(float a, float b) { return a > b ? a : b; }
};

template <class Pick>
HOST_DEVICE inline void order(float& low, float& high) {
  const float a = low, b = high;
  low = Pick::least(a, b);
  high = Pick::greatest(a, b);
}
template <class Pick>
HOST_DEVICE inline void sort_3(float& a, float& b, float& c) {
  order<Pick>(a, b);
  order<Pick>(b, c);
  order<Pick>(a, b);
}

struct Nine {
  float v0, v1, v2, v3, v4, v5, v6, v7, v8;
};
/// Three sorted triples, (v0, v1, v2) and so on, to one sorted list: the last 16 of the 25
/// comparators of Floyd's network (Knuth, The Art of Computer Programming 3, section 5.3.4).
template <class Pick>
HOST_DEVICE inline void merge_triples(Nine& s) {
  order<Pick>(s.v0, s.v3);
  order<Pick>(s.v3, s.v6);
  order<Pick>(s.v0, s.v3);
  order<Pick>(s.v1, s.v4);
  order<Pick>(s.v4, s.v7);
  order<Pick>(s.v1, s.v4);
  order<Pick>(s.v2, s.v5);
  order<Pick>(s.v5, s.v8);
  order<Pick>(s.v2, s.v5);
  order<Pick>(s.v1, s.v3);
  order<Pick>(s.v5, s.v7);
  order<Pick>(s.v2, s.v6);
  order<Pick>(s.v4, s.v6);
  order<Pick>(s.v2, s.v4);
  order<Pick>(s.v2, s.v3);
  order<Pick>(s.v5, s.v6);
}

template <class Pick>
HOST_DEVICE inline float least_of(float a, float b, float c) {
  return Pick::least(Pick::least(a, b), c);
}
template <class Pick>
HOST_DEVICE inline float greatest_of(float a, float b, float c) {
  return Pick::greatest(Pick::greatest(a, b), c);
}
template <class Pick>
HOST_DEVICE inline void lower_two(float a, float b, float c, float& low, float& middle) {
  order<Pick>(a, b);
  middle = Pick::least(b, Pick::greatest(a, c));
  low = Pick::least(a, c);
}
template <class Pick>
HOST_DEVICE inline void upper_two(float a, float b, float c, float& middle, float& high) {
  order<Pick>(a, b);
  middle = Pick::greatest(a, Pick::least(b, c));
  high = Pick::greatest(b, c);
}
template <class Pick>
HOST_DEVICE inline float middle_of(float a, float b, float c) {
  order<Pick>(a, b);
  return Pick::greatest(a, Pick::least(b, c));
}

/// The 14th of 27 in three sorted lists. Sorting the three of each rank leaves lists of lows,
/// middles and highs, sorted too. An entry with 14 others above it, or below it, is out: of rank i,
/// a low has 3 (9 - i) - 1 at or above it, a middle 2 (9 - i) - 1 at or above and 2 i + 1 at or
/// below, a high 3 i + 2 at or below. That leaves lows 5 to 8, middles 2 to 6 and highs 0 to 3, and
/// takes away seven below and seven above, so that the median is the seventh of these thirteen.
template <class Pick>
HOST_DEVICE inline float median_of(const Nine& a, const Nine& b, const Nine& c) {
  float h0 = greatest_of<Pick>(a.v0, b.v0, c.v0);
  float h1 = greatest_of<Pick>(a.v1, b.v1, c.v1);
  float m2, h2, m3, h3, l5, m5, l6, m6;
  upper_two<Pick>(a.v2, b.v2, c.v2, m2, h2);
  upper_two<Pick>(a.v3, b.v3, c.v3, m3, h3);
  const float m4 = middle_of<Pick>(a.v4, b.v4, c.v4);
  lower_two<Pick>(a.v5, b.v5, c.v5, l5, m5);
  lower_two<Pick>(a.v6, b.v6, c.v6, l6, m6);
  float l7 = least_of<Pick>(a.v7, b.v7, c.v7);
  float l8 = least_of<Pick>(a.v8, b.v8, c.v8);
  // Batcher's odd-even merge of lows and highs: s1 = l5, s2 = h0, s3 = l6, ... once in order. The
  // first and the last of the eight are not needed.
  h0 = Pick::greatest(l5, h0);
  order<Pick>(l7, h2);
  order<Pick>(h0, l7);
  order<Pick>(l6, h1);
  l8 = Pick::least(l8, h3);
  order<Pick>(h1, l8);
  // Now evens (., h0, l7, h2) and odds (l6, h1, l8, .) are sorted.
  order<Pick>(l6, h0);
  order<Pick>(h1, l7);
  order<Pick>(l8, h2);
  // The seventh of s2 to s7 (with s1 before) and of the middles: the least, over the ways to take
  // seven, of the last taken.
  float seventh = Pick::least(Pick::greatest(l6, m6), Pick::greatest(h0, m5));
  seventh = Pick::least(seventh, Pick::least(Pick::greatest(h1, m4), Pick::greatest(l7, m3)));
  return Pick::least(seventh, Pick::least(Pick::greatest(l8, m2), h2));
}

// ---- gradient anisotropic diffusion ----
// itk::GradientNDAnisotropicDiffusionFunction: the flux between neighbours along an axis is their
// difference times exp(g / K), g the squared gradient half-way between them. The gradient's part
// across the axis is the mean of both voxels' central differences. ITK evaluates each flux twice,
// in double; here both voxels share one, in float.

/// A step's factors, with everything constant folded in.
struct DiffusionFactors {
  float along[3];  ///< of a squared difference of neighbours: log2(e) / (K mm^2), < 0
  float across[3]; ///< of a squared sum of two differences over two voxels: a sixteenth of it
  float gain[3];   ///< of a flux in HU: time step / mm, as in ITK
};
inline DiffusionFactors diffusion_factors(const DiffusionStep& step) {
  DiffusionFactors factors;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double inverse_mm = static_cast<double>(step.inverse_spacing[axis]);
    const double along =
        inverse_mm * inverse_mm * log2_of_e / static_cast<double>(step.conductance_k);
    factors.along[axis] = static_cast<float>(along);
    factors.across[axis] = static_cast<float>(along / 16);
    factors.gain[axis] = static_cast<float>(static_cast<double>(step.time_step) * inverse_mm);
  }
  return factors;
}

/// From `here` to `next`, in HU; `across_1` and `across_2` are the sums of both voxels' differences
/// over two voxels along the other axes. 0 where the gradient is so large that the exponential is.
HOST_DEVICE inline float diffusion_flux(float here, float next, float across_1, float across_2,
                                        float along_factor, float across_1_factor,
                                        float across_2_factor) {
  const float difference = next - here;
  float exponent = difference * difference * along_factor;
  exponent = fused(across_1 * across_1, across_1_factor, exponent);
  exponent = fused(across_2 * across_2, across_2_factor, exponent);
  return product(difference, exp2_of_negative(exponent));
}

/// The voxel's next value from what flows out and in along each axis.
HOST_DEVICE inline float diffused(float here, float x_out, float x_in, float y_out, float y_in,
                                  float z_out, float z_in, const DiffusionFactors& factors) {
  float change = (x_out - x_in) * factors.gain[0];
  change = fused(y_out - y_in, factors.gain[1], change);
  change = fused(z_out - z_in, factors.gain[2], change);
  return here + change;
}

/// Squared gradients are summed in units of 1/16 HU^2/mm^2, each rounded to the nearest. One above
/// 1.34e8, of more than 11585 HU/mm, counts as 1.34e8 (2^31 - 128 units): CT with |HU| <= 32768
/// meets that only across 0.5 mm of metal beside air, and 2^31 voxels then add to less than 2^62.
constexpr double gradient_units = 16;
HOST_DEVICE inline std::int32_t squared_gradient(float x_difference, float y_difference,
                                                 float z_difference, const float half_per_mm[3]) {
  constexpr float most = 2147483520.0f; // the largest float below 2^31
  const float x = x_difference * half_per_mm[0];
  const float y = y_difference * half_per_mm[1];
  const float z = z_difference * half_per_mm[2];
  const float squared = fused(z, z, fused(y, y, x * x));
  const float units = fused(squared, static_cast<float>(gradient_units), 0.5f);
  return static_cast<std::int32_t>(units < most ? units : most);
}
struct HalfPerMm {
  float axis[3];
};
inline HalfPerMm half_per_mm(const DiffusionStep& step) {
  return {{0.5f * step.inverse_spacing[0], 0.5f * step.inverse_spacing[1],
           0.5f * step.inverse_spacing[2]}};
}

// ---- bilateral ----

/// Adds a voxel of the box to the sums of weights and of weighted differences from the middle.
/// `log_spatial` is log2 of the spatial weight, `range` log2(e) / (-2 sigma^2).
HOST_DEVICE inline void add_bilateral(float& weights, float& differences, float middle, float other,
                                      float range, float log_spatial) {
  const float difference = other - middle;
  const float weight = exp2_of_negative(fused(difference * difference, range, log_spatial));
  weights += weight;
  differences = fused(weight, difference, differences);
}
HOST_DEVICE inline float bilateral_result(float middle, float weights, float differences) {
  return middle + differences / weights;
}
inline float range_factor(const BilateralKernel& kernel) {
  const double sigma = static_cast<double>(kernel.sigma_hu);
  return static_cast<float>(log2_of_e / (-2 * sigma * sigma));
}
inline std::vector<float> log2_of(const std::vector<float>& weights) {
  std::vector<float> logs(weights.size());
  std::transform(weights.begin(), weights.end(), logs.begin(), [](float weight) {
    return static_cast<float>(std::log2(static_cast<double>(weight)));
  });
  return logs;
}

// ---- what a call costs a GPU ----
// Instructions a voxel are counted by hand from the kernels in intensity_kernels.h: arithmetic,
// shared and global loads and stores, and a share of addressing and loop control. A minimum or
// maximum is one. Bytes are those that must move: each input once, each output once.

inline Work voxel_work(std::int64_t voxels, double instructions_per_voxel, double bytes_per_voxel,
                       double launches) {
  Work work;
  const auto count = static_cast<double>(voxels);
  work.lane_instructions = count * instructions_per_voxel;
  work.dram_bytes = count * bytes_per_voxel;
  work.launches = launches;
  work.parallel_width = count;
  return work;
}

/// Load, convert, two compares and their and, fused, select, store; 4 of addressing.
constexpr double rescale_instructions = 12;

/// 8 loads, 7 interpolations of 2, 3 tables of 2 loads, 3 upper neighbours of 2, store; 14 of
/// addressing.
constexpr double resample_instructions = 49;
constexpr double resample_labels_instructions = 20;

/// `bytes_per_voxel` of one element read and one written; of the input no more than is there.
inline Work resample_work(const Extent& in, const Extent& out, double instructions) {
  Work work = voxel_work(out.voxels(), instructions, 4, 1);
  const auto touched =
      std::min(static_cast<double>(in.voxels()), 8 * static_cast<double>(out.voxels()));
  work.dram_bytes += 4 * touched;
  work.cached_bytes = 8 * 4 * static_cast<double>(out.voxels());
  work.working_set_bytes = 2 * 4 * static_cast<double>(in.slice());
  return work;
}

/// A pair of taps is a sum and a fused, and with four neighbours filtered together a load; a middle
/// tap is a product. Filling and emptying tiles and addressing are 16 in the first pass and 8 in
/// the second.
inline Work gaussian_work(const Extent& extent, const GaussianTaps& taps) {
  const auto pairs = [](const std::vector<float>& axis) {
    return static_cast<double>(axis.size()) - 1;
  };
  const double all_pairs = pairs(taps.x) + pairs(taps.y) + pairs(taps.z);
  Work work = voxel_work(extent.voxels(), 3 * all_pairs + 3 + 24, 16, 2);
  // Tiles of 64 x 32 read their halo again.
  const double read_again = (64 + 2 * pairs(taps.x)) * (32 + 2 * pairs(taps.y)) / (64.0 * 32) - 1;
  work.cached_bytes = 4 * read_again * static_cast<double>(extent.voxels());
  work.working_set_bytes = 4 * static_cast<double>(extent.slice());
  return work;
}

/// 6 minima and maxima for a triple, 32 for a column, 58 for the median; 18 shuffles, 3 loads and 3
/// sums, a store; 12 of addressing; 30 of 32 lanes have an output.
constexpr double median_instructions = (6 + 32 + 58 + 18 + 7 + 12) * 32.0 / 30.0;
inline Work median_work(const Extent& extent) {
  Work work = voxel_work(extent.voxels(), median_instructions, 8, 1);
  work.cached_bytes = 2 * 4 * static_cast<double>(extent.voxels()); // three rows read, one is new
  work.working_set_bytes = 3 * 4 * static_cast<double>(extent.slice());
  return work;
}

/// A tap is two loads, a difference, a square, a fused, 12 of the exponential, a sum and a fused,
/// and a share of the loops; the tile's fill and the quotient are 40.
inline Work bilateral_work(const Extent& extent, const BilateralKernel& kernel) {
  return voxel_work(extent.voxels(), 20 * static_cast<double>(kernel.spatial_weights.size()) + 40,
                    8, 1);
}

/// Six loads, three differences and products, a square, three fuseds, a minimum, the conversion,
/// the sum; 17 of addressing.
constexpr std::int64_t most_gradient_warps = 32768; ///< each adds its sum once
inline Work gradient_work(const Extent& extent, std::int64_t slices) {
  Work work = voxel_work(extent.slice() * slices, 36, 4, 1);
  work.atomics = static_cast<double>(std::min(slices * extent.y, most_gradient_warps));
  work.cached_bytes = 4 * 4 * work.parallel_width; // neighbours along y and z
  work.working_set_bytes = 3 * 4 * static_cast<double>(extent.slice());
  work.device_to_host_bytes = sizeof(std::int64_t);
  return work;
}

/// Nineteen loads and eighteen sums and differences that the three fluxes share; a flux's products
/// and fuseds are 7 and its exponential 12; 7 for the update and 4 to hand fluxes on; filling the
/// tile is 8, addressing 16; two warps of sixteen have a fourth flux.
constexpr double diffuse_instructions = (19 + 18 + 3 * (7 + 12) + 7 + 4 + 8 + 16) * (1 + 2.0 / 48);
inline Work diffuse_work(const Extent& extent) {
  Work work = voxel_work(extent.voxels(), diffuse_instructions, 8, 1);
  // Tiles of 32 x 16 read their halo again.
  work.cached_bytes = 4 * (34.0 * 18 / (32 * 16) - 1) * work.parallel_width;
  work.working_set_bytes = 3 * 4 * static_cast<double>(extent.slice());
  return work;
}

} // namespace breakeven::imaging
