#include "workloads/imaging/measurements.h"

#include "sim/catalog/csv.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace breakeven::imaging {

namespace {

using Triple = std::array<double, 3>;

// Nine digits: a micrometre, a microlitre, and no noise of the last bit.
std::string number(double value) {
  constexpr double steps = 1e6;
  const double rounded = std::round(value * steps) / steps;
  return csv_number(rounded == 0 ? 0 : rounded); // never "-0"
}

/// The exact sums' variance: n times the squares less the square of the sum, in 128 bits, so that
/// nothing cancels.
double deviation_hu(const LabelSums& sums) {
  __extension__ using Wide = __int128;
  const Wide spread =
      static_cast<Wide>(sums.voxels) * sums.hu_squared - static_cast<Wide>(sums.hu) * sums.hu;
  return std::sqrt(static_cast<double>(spread)) / static_cast<double>(sums.voxels);
}

struct Box {
  Triple low, high;
};

/// Of the eight outer corners, since a scan may lie oblique.
Box box_mm(const LabelSums& sums, const Geometry& geometry) {
  constexpr double far = std::numeric_limits<double>::infinity();
  Box box{{far, far, far}, {-far, -far, -far}};
  for (unsigned corner = 0; corner < 8; ++corner) {
    Triple voxel{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      voxel[axis] = corner >> axis & 1 ? sums.last[axis] + 0.5 : sums.first[axis] - 0.5;
    const Triple point = point_of(geometry, voxel);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      box.low[axis] = std::min(box.low[axis], point[axis]);
      box.high[axis] = std::max(box.high[axis], point[axis]);
    }
  }
  return box;
}

const std::vector<std::string>& header() {
  static const std::vector<std::string> names{
      "label",         "voxels",        "volume_ml",     "centroid_r_mm", "centroid_a_mm",
      "centroid_s_mm", "box_low_r_mm",  "box_low_a_mm",  "box_low_s_mm",  "box_high_r_mm",
      "box_high_a_mm", "box_high_s_mm", "first_x_voxel", "first_y_voxel", "first_z_voxel",
      "last_x_voxel",  "last_y_voxel",  "last_z_voxel",  "mean_hu",       "deviation_hu",
      "lowest_hu",     "highest_hu"};
  return names;
}

std::vector<std::string> row(std::size_t label, const LabelSums& sums, const Geometry& geometry) {
  const double n = static_cast<double>(sums.voxels);
  const Triple middle{static_cast<double>(sums.x) / n, static_cast<double>(sums.y) / n,
                      static_cast<double>(sums.z) / n};
  const Box box = box_mm(sums, geometry);
  std::vector<std::string> cells{std::to_string(label), std::to_string(sums.voxels),
                                 number(n * geometry.voxel_ml())};
  for (const Triple& triple : {point_of(geometry, middle), box.low, box.high})
    for (const double value : triple)
      cells.push_back(number(value));
  for (const std::array<std::int32_t, 3>& corner : {sums.first, sums.last})
    for (const std::int32_t index : corner)
      cells.push_back(std::to_string(index));
  cells.push_back(number(static_cast<double>(sums.hu) / n));
  cells.push_back(number(deviation_hu(sums)));
  cells.push_back(std::to_string(sums.low_hu));
  cells.push_back(std::to_string(sums.high_hu));
  return cells;
}

} // namespace

std::string measurements_csv(const std::vector<LabelSums>& sums, const Geometry& geometry) {
  std::string text = csv_line(header());
  for (std::size_t label = 1; label < sums.size(); ++label)
    if (sums[label].voxels > 0) text += csv_line(row(label, sums[label], geometry));
  return text;
}

} // namespace breakeven::imaging
