#include "workloads/imaging/volume.h"

#include <cmath>

namespace breakeven::imaging {

namespace {

using Vector = std::array<double, 3>;

Vector column(const Geometry& geometry, std::size_t j) {
  return {geometry.to_ras_mm[0][j], geometry.to_ras_mm[1][j], geometry.to_ras_mm[2][j]};
}

double determinant(const Vector& a, const Vector& b, const Vector& c) {
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1])
         + c[0] * (a[1] * b[2] - a[2] * b[1]);
}

} // namespace

std::array<double, 3> Geometry::spacing_mm() const {
  std::array<double, 3> spacing{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    spacing[axis] = std::hypot(to_ras_mm[0][axis], to_ras_mm[1][axis], to_ras_mm[2][axis]);
  return spacing;
}

double Geometry::voxel_ml() const {
  constexpr double ml_per_mm3 = 1e-3;
  return std::fabs(determinant(column(*this, 0), column(*this, 1), column(*this, 2))) * ml_per_mm3;
}

std::array<double, 3> voxel_of(const Geometry& geometry, const std::array<double, 3>& point_mm) {
  const Vector x = column(geometry, 0), y = column(geometry, 1), z = column(geometry, 2);
  const Vector origin = column(geometry, 3);
  const Vector way{point_mm[0] - origin[0], point_mm[1] - origin[1], point_mm[2] - origin[2]};
  const double whole = determinant(x, y, z); // Cramer's rule
  return {determinant(way, y, z) / whole, determinant(x, way, z) / whole,
          determinant(x, y, way) / whole};
}

std::array<double, 3> point_of(const Geometry& geometry, const std::array<double, 3>& voxel) {
  std::array<double, 3> point{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto& row = geometry.to_ras_mm[axis];
    point[axis] = row[0] * voxel[0] + row[1] * voxel[1] + row[2] * voxel[2] + row[3];
  }
  return point;
}

} // namespace breakeven::imaging
