// ITK's ways to do what our imaging stages do, behind functions that show none of ITK's types, so
// that ITK is compiled in as few places as can be and the benchmark builds without it. Each
// operation gives one or more ways; the benchmark takes the fastest. A way keeps its filter, and
// reads the caller's voxels in place.
#pragma once

#include "workloads/imaging/volume.h"

#include <array>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace breakeven::peers {

/// One way of ITK's to do an operation: `run` does it again from the start, and `output` shows the
/// result until the next run. Output lies in ITK's memory.
template <class T>
struct ItkWay {
  std::string name; ///< of the filter
  std::function<void()> run;
  std::function<std::span<const T>()> output;
};
template <class T>
using ItkWays = std::vector<ItkWay<T>>;

bool itk_found();
std::string itk_version();
/// Of ways made after this call. One piece of the image a thread, and no pool of threads behind it.
void set_itk_threads(int threads);

template <class T>
using In = imaging::View<const T>;

// Operations on voxels as they are counted, at spacing 1; sigma in voxels.
ItkWays<float> itk_median(In<float> in);
/// FIR, of ITK's discrete Gaussian (modified Bessel functions) with taps up to `radius`.
ItkWays<float> itk_gaussian(In<float> in, double sigma, int radius);
/// Deriche's recursive filter along each axis.
ItkWays<float> itk_recursive_gaussian(In<float> in, double sigma);
ItkWays<float> itk_diffusion(In<float> in, int iterations, double time_step, double conductance);
/// Trilinear; output voxel i lies at i * step[axis] in input voxels, which must be inside.
ItkWays<float> itk_resample(In<float> in, const imaging::Extent& out,
                            const std::array<double, 3>& step);

/// 1 where low <= value < high.
ItkWays<std::uint8_t> itk_threshold(In<float> in, float low, float high);
/// Otsu's threshold from `bins` bins of [low, high), and 1 where value >= it.
ItkWays<std::uint8_t> itk_otsu(In<float> in, int bins, float low, float high, float* threshold);
ItkWays<std::uint8_t> itk_dilate_box(In<std::uint8_t> in, int radius);
/// Voxels with low <= value < high that hang together by faces with the seed's.
ItkWays<std::uint8_t> itk_region_growing(In<float> in, const std::array<std::int64_t, 3>& seed,
                                         float low, float high);
/// The same by connected components of the mask, which is not what ITK offers for it but is faster.
ItkWays<std::uint8_t> itk_region_by_components(In<float> in,
                                               const std::array<std::int64_t, 3>& seed, float low,
                                               float high);

/// 26-connected.
ItkWays<std::uint32_t> itk_components(In<std::uint8_t> mask);
/// Squared distance to the nearest border voxel of the foreground, positive outside.
ItkWays<float> itk_signed_distance(In<std::uint8_t> mask);

struct ItkLabelStatistics {
  std::int64_t voxels = 0;
  double mean = 0;
  std::array<std::int32_t, 3> first{}, last{}; ///< bounding box, both ends inside
};
/// The output is one entry a label, 0 included, in the order of `label_count` labels.
ItkWays<ItkLabelStatistics> itk_label_statistics(In<std::uint32_t> labels, In<float> hu,
                                                 std::uint32_t label_count);

enum class Denoise { gaussian, median };
struct ClassicalSteps {
  imaging::Extent resampled;
  std::array<double, 3> step{1, 1, 1}; ///< resampled voxels' spacing, in input voxels
  Denoise denoise = Denoise::gaussian;
  double sigma = 1.5; ///< of the Gaussian, in resampled voxels
  int gaussian_radius = 6;
  int bins = 256;
  float low = -1024, high = 3072; ///< of Otsu's histogram
  int opening_radius = 1, closing_radius = 1;
};
/// Resample, denoise, Otsu, open and close by boxes, components, squared distance, statistics of
/// the labels over the denoised HU. The output is the labels.
ItkWays<std::uint32_t> itk_classical(In<float> in, const ClassicalSteps& steps);

} // namespace breakeven::peers
