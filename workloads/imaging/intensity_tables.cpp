// What the intensity stages are given beside voxels: tables of interpolation, kernels, and the
// conductance of diffusion. Computed once, on the host, in double.
#include "workloads/imaging/intensity.h"

#include <cassert>

namespace breakeven::imaging {

AxisTable axis_table(std::int64_t input_count, std::int64_t count, double first, double step) {
  assert(input_count >= 1 && count >= 1);
  AxisTable table;
  table.lower.resize(static_cast<std::size_t>(count));
  table.weight.resize(static_cast<std::size_t>(count));
  const auto last = static_cast<double>(input_count - 1);
  for (std::size_t i = 0; i < table.lower.size(); ++i) {
    const double at = std::clamp(first + static_cast<double>(i) * step, 0.0, last);
    const double lower = std::floor(at);
    table.lower[i] = static_cast<std::int32_t>(lower);
    table.weight[i] = static_cast<float>(at - lower);
  }
  return table;
}

namespace {

std::vector<float> taps_of(double sigma_mm, double spacing_mm) {
  assert(sigma_mm >= 0 && spacing_mm > 0);
  constexpr double most = 64;
  const double sigma = sigma_mm / spacing_mm;
  const auto radius = static_cast<std::size_t>(std::min(std::ceil(4 * sigma), most));
  std::vector<double> samples(radius + 1, 1.0);
  double sum = 1;
  for (std::size_t i = 1; i <= radius; ++i) {
    const double distance = static_cast<double>(i) / sigma;
    samples[i] = std::exp(-0.5 * distance * distance);
    sum += 2 * samples[i];
  }
  std::vector<float> taps(samples.size());
  std::transform(samples.begin(), samples.end(), taps.begin(),
                 [sum](double sample) { return static_cast<float>(sample / sum); });
  return taps;
}

} // namespace

GaussianTaps gaussian_taps(double sigma_mm, const std::array<double, 3>& spacing_mm) {
  return {taps_of(sigma_mm, spacing_mm[0]), taps_of(sigma_mm, spacing_mm[1]),
          taps_of(sigma_mm, spacing_mm[2])};
}

BilateralKernel bilateral_kernel(int radius, double sigma_mm, double sigma_hu,
                                 const std::array<double, 3>& spacing_mm) {
  assert(radius >= 1 && radius <= 4 && sigma_mm > 0 && sigma_hu > 0);
  BilateralKernel kernel;
  kernel.radius = radius;
  kernel.sigma_hu = static_cast<float>(sigma_hu);
  for (int z = -radius; z <= radius; ++z)
    for (int y = -radius; y <= radius; ++y)
      for (int x = -radius; x <= radius; ++x) {
        const double distance_mm =
            std::hypot(x * spacing_mm[0], y * spacing_mm[1], z * spacing_mm[2]);
        const double sigmas = distance_mm / sigma_mm;
        kernel.spatial_weights.push_back(static_cast<float>(std::exp(-0.5 * sigmas * sigmas)));
      }
  return kernel;
}

float diffusion_k(std::int64_t gradient_sum, std::int64_t voxels, double conductance) {
  assert(voxels > 0);
  const double mean =
      static_cast<double>(gradient_sum) / gradient_units / static_cast<double>(voxels);
  return static_cast<float>(std::min(-2 * conductance * conductance * mean, -1e-30));
}

} // namespace breakeven::imaging
