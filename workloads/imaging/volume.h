// Volumes of voxels: how many, where they lie in the patient, and the memory that holds them. x
// runs fastest, then y, then z. Leaves out what the voxels mean and where they came from.
#pragma once

#include "workloads/host_device.h"

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace breakeven::imaging {

struct Extent {
  std::int64_t x = 0, y = 0, z = 0;
  std::int64_t voxels() const { return x * y * z; }
  std::int64_t slice() const { return x * y; }
  bool operator==(const Extent&) const = default;
};

/// Where voxels lie: the patient's millimetres, RAS as in NIfTI (x to the right, y to the front, z
/// to the head), of the centre of voxel (i, j, k): rows of `to_ras_mm` times (i, j, k, 1).
struct Geometry {
  Extent extent;
  std::array<std::array<double, 4>, 3> to_ras_mm{{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  std::array<double, 3> spacing_mm() const; ///< lengths of the columns
  double voxel_ml() const;                  ///< volume of a voxel, from the determinant
};

/// Voxel (i, j, k), with fractions, of a point in the patient. The affine must not be singular.
std::array<double, 3> voxel_of(const Geometry& geometry, const std::array<double, 3>& point_mm);
/// The point of voxel (i, j, k).
std::array<double, 3> point_of(const Geometry& geometry, const std::array<double, 3>& voxel);

/// Voxels of a path's memory; the extent is that of the memory pointed to. Holds nothing.
template <class T>
struct View {
  T* data = nullptr;
  Extent extent;
  View() = default;
  HOST_DEVICE View(T* voxels, const Extent& size) : data(voxels), extent(size) {}
  /// From a view that may also be written.
  template <class Mutable>
  requires(std::is_same_v<const Mutable, T>) HOST_DEVICE View(const View<Mutable>& other)
      : data(other.data),
        extent(other.extent) {}
};

template <class T>
struct Volume {
  Geometry geometry;
  std::vector<T> voxels;
};
template <class T>
View<const T> view_of(const Volume<T>& volume) {
  return {volume.voxels.data(), volume.geometry.extent};
}
template <class T>
View<T> view_of(Volume<T>& volume) {
  return {volume.voxels.data(), volume.geometry.extent};
}

/// Hounsfield units of a slice's stored values: slope * stored + intercept.
struct Rescale {
  float slope = 1, intercept = 0;
  bool operator==(const Rescale&) const = default;
};
constexpr float air_hu = -1024; ///< what padding becomes

/// A CT as it was stored.
struct CtImage {
  Geometry geometry;
  std::vector<std::int16_t> stored; ///< empty where float_stored is not
  std::vector<float> float_stored;  ///< for stored values that int16 cannot hold exactly
  std::vector<Rescale> rescale;     ///< one a slice
  /// Stored values in [padding_low, padding_high] are outside what was scanned and become air_hu.
  bool has_padding = false;
  float padding_low = 0, padding_high = 0;
  std::vector<std::string> notes; ///< what was corrected on reading: "gantry tilt of 12.0 degrees"
};

} // namespace breakeven::imaging
