// The metric of a volume in whole numbers, chosen so that squared distances are exact.
#include "sim/errors.h"
#include "workloads/imaging/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::imaging {

namespace {

// Beyond this many units a side the error is below 0.05 %, less than scanners know their spacing.
constexpr int most_units = 1000;

struct Candidate {
  DistanceMetric metric;
  double relative_error = 0;
};

/// Axes of one voxel have no distances and so no error.
Candidate rated(const Extent& extent, const std::array<double, 3>& spacing_mm,
                const std::array<std::int32_t, 3>& lengths) {
  const std::array<std::int64_t, 3> sides{extent.x, extent.y, extent.z};
  double least = 0, most = 0; // units a millimetre
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (sides[axis] == 1) continue;
    const double ratio = lengths[axis] / spacing_mm[axis];
    least = least == 0 ? ratio : std::min(least, ratio);
    most = std::max(most, ratio);
  }
  if (most == 0) return {{lengths[0], lengths[1], lengths[2], spacing_mm[0] / lengths[0]}, 0};
  // The unit that makes the largest relative errors, up and down, equal.
  return {{lengths[0], lengths[1], lengths[2], 2 / (least + most)},
          (most - least) / (most + least)};
}

/// `units` along `axis`, the nearest whole numbers along the others.
std::array<std::int32_t, 3> lengths_of(const std::array<double, 3>& spacing_mm, std::size_t axis,
                                       int units) {
  std::array<std::int32_t, 3> lengths{};
  for (std::size_t i = 0; i < 3; ++i) {
    constexpr double longest = 46'340; // squared, it still fits
    const double length = std::round(spacing_mm[i] / spacing_mm[axis] * units);
    lengths[i] = static_cast<std::int32_t>(std::clamp(length, 1.0, longest));
  }
  return lengths;
}

} // namespace

DistanceMetric distance_metric(const Extent& extent, const std::array<double, 3>& spacing_mm) {
  if (!fits(extent, {}))
    throw BadInput("distance transform", 0,
                   fmt::format("a volume of {} x {} x {} voxels", extent.x, extent.y, extent.z),
                   "a diagonal of less than 46340 voxels");
  Candidate best = rated(extent, spacing_mm, {1, 1, 1});
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (int units = 1; units <= most_units && best.relative_error > 0; ++units) {
      const Candidate candidate = rated(extent, spacing_mm, lengths_of(spacing_mm, axis, units));
      // Spacings read from text are equal only up to rounding; what is smaller is no better.
      constexpr double negligible = 1e-9;
      if (candidate.relative_error < best.relative_error - negligible
          && fits(extent, candidate.metric))
        best = candidate;
    }
  return best.metric;
}

} // namespace breakeven::imaging
