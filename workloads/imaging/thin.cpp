#include "workloads/imaging/thin.h"

#include <algorithm>

namespace breakeven::imaging {

namespace {

/// Which voxels of an axis are taken.
struct Pick {
  std::int64_t first, step, count;
};

template <class T>
std::vector<T> picked(const std::vector<T>& voxels, const Extent& extent, const Pick& x,
                      const Pick& y, const Pick& z) {
  std::vector<T> chosen;
  if (voxels.empty()) return chosen;
  chosen.reserve(static_cast<std::size_t>(x.count * y.count * z.count));
  for (std::int64_t k = 0; k < z.count; ++k)
    for (std::int64_t j = 0; j < y.count; ++j) {
      const std::int64_t row =
          ((z.first + k * z.step) * extent.y + y.first + j * y.step) * extent.x + x.first;
      for (std::int64_t i = 0; i < x.count; ++i)
        chosen.push_back(voxels[static_cast<std::size_t>(row + i * x.step)]);
    }
  return chosen;
}

CtImage picked_image(const CtImage& image, const Pick& x, const Pick& y, const Pick& z) {
  CtImage part;
  const Extent& extent = image.geometry.extent;
  part.stored = picked(image.stored, extent, x, y, z);
  part.float_stored = picked(image.float_stored, extent, x, y, z);
  for (std::int64_t k = 0; k < z.count; ++k)
    part.rescale.push_back(image.rescale[static_cast<std::size_t>(z.first + k * z.step)]);
  part.has_padding = image.has_padding;
  part.padding_low = image.padding_low;
  part.padding_high = image.padding_high;
  part.geometry = image.geometry;
  part.geometry.extent = {x.count, y.count, z.count};
  const std::array<double, 3> first =
      point_of(image.geometry, {static_cast<double>(x.first), static_cast<double>(y.first),
                                static_cast<double>(z.first)});
  const std::array<std::int64_t, 3> steps{x.step, y.step, z.step};
  for (std::size_t row = 0; row < 3; ++row) {
    part.geometry.to_ras_mm[row][3] = first[row];
    for (std::size_t axis = 0; axis < 3; ++axis)
      part.geometry.to_ras_mm[row][axis] *= static_cast<double>(steps[axis]);
  }
  return part;
}

Pick middle(std::int64_t side, std::int64_t most) {
  const std::int64_t count = std::min(side, most);
  return {(side - count) / 2, 1, count};
}

Pick every_nth(std::int64_t side, std::int64_t most) {
  const std::int64_t step = (side + most - 1) / most;
  return {0, step, (side + step - 1) / step};
}

} // namespace

CtImage middle_of(const CtImage& image, const Extent& most) {
  const Extent& extent = image.geometry.extent;
  return picked_image(image, middle(extent.x, most.x), middle(extent.y, most.y),
                      middle(extent.z, most.z));
}

CtImage thinned(const CtImage& image, const Extent& most) {
  const Extent& extent = image.geometry.extent;
  return picked_image(image, every_nth(extent.x, most.x), every_nth(extent.y, most.y),
                      every_nth(extent.z, most.z));
}

} // namespace breakeven::imaging
