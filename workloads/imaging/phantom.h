// A chest for tests and studies without patients: a body with lungs, ribs, spine, heart, vessels
// and lung nodules of known place and volume, made of ellipsoids. Edges have partial volume as
// asked for, HU have noise; the same specification gives the same bits on every machine and number
// of threads. The chest keeps its size in millimetres, centred; a smaller field of view cuts it.
#pragma once

#include "workloads/imaging/volume.h"

#include <array>
#include <cstdint>
#include <vector>

namespace breakeven::imaging {

constexpr int most_nodules = 32;
constexpr int most_partial_volume_samples = 16;

struct PhantomSpec {
  Extent extent{512, 512, 400};
  std::array<double, 3> spacing_mm{0.75, 0.75, 1};
  int nodules = 6;        ///< 0 to most_nodules
  double noise_hu = 15;   ///< standard deviation
  bool contrast = false;  ///< in the blood: 300 HU instead of 45
  std::uint64_t seed = 1; ///< of the noise; nodules stay where they are
  /// Points along each side of a voxel, whose HU it is the mean of; at most
  /// most_partial_volume_samples. 1, its middle alone, is no partial volume. 0: no points; edges
  /// change linearly over a voxel's size.
  int partial_volume_samples = 0;
};

/// A ball of 30 HU in a lung, clear of walls, vessels and other nodules.
struct Nodule {
  std::array<double, 3> centre_mm{}; ///< RAS
  double radius_mm = 0;
  double volume_ml() const;
};
std::vector<Nodule> nodules_of(const PhantomSpec& spec);

/// Where the whole phantom lies; the patient's middle is the middle of the volume.
Geometry geometry_of(const PhantomSpec& spec);

CtImage make_phantom(const PhantomSpec& spec);
/// Slices [begin, end) of it, at their places in the patient.
CtImage make_phantom_slices(const PhantomSpec& spec, std::int64_t begin, std::int64_t end);

} // namespace breakeven::imaging
