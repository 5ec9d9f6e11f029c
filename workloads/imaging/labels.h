// The arithmetic of the stages from HU to masks and from labels to sums, one body for the OpenMP
// and the GPU side, so that both give the same bits; and what a call of each costs a GPU.
// Components have a header of their own (component_runs.h). Leaves out the order in which voxels
// are visited: all sums are of integers.
#pragma once

#include "workloads/host_device.h"
#include "workloads/imaging/masks.h"
#include "workloads/imaging/stages.h"

#include <algorithm>
#include <cassert>

namespace breakeven::imaging {

// ---- histogram ----

/// A histogram's bins, equally wide, from low to high.
struct Bins {
  float low = 0, per_hu = 1;
  float last = 0; ///< number of the last bin, exact
};
inline Bins bins_of(const Histogram& histogram) {
  assert(!histogram.counts.empty() && histogram.low < histogram.high);
  const auto bins = static_cast<double>(histogram.counts.size());
  const double range = static_cast<double>(histogram.high) - static_cast<double>(histogram.low);
  return {histogram.low, static_cast<float>(bins / range), static_cast<float>(bins - 1)};
}

/// floor((value - low) * per_hu), each operation rounded to float, clamped to the bins that there
/// are; NaN counts as the first. A difference that is then multiplied cannot be contracted, so this
/// needs no fused().
HOST_DEVICE inline std::int32_t bin_of(const Bins& bins, float value) {
  const float position = (value - bins.low) * bins.per_hu;
  const float not_below = position > 0.0f ? position : 0.0f;
  return static_cast<std::int32_t>(not_below < bins.last ? not_below : bins.last);
}

// ---- threshold ----

HOST_DEVICE inline bool is_within(float value, float low, float high) {
  return (value >= low) & (value < high);
}

// ---- sums ----

/// HU to the nearest integer, halves to even. Clamped to +-32768, beyond any scanner's scale, so
/// that the squares of most_voxels voxels fit 64 bits; NaN counts as -32768.
HOST_DEVICE inline std::int32_t rounded_hu(float hu) {
  constexpr float most = 32768.0f;
  const float not_below = hu > -most ? hu : -most;
  const float clamped = not_below < most ? not_below : most;
  // Near 1.5 * 2^23 floats are one apart, so the sum is rounded to an integer and its low bits are
  // that integer.
  constexpr float to_nearest = 12582912.0f;
  return static_cast<std::int32_t>(bits_of(clamped + to_nearest) - bits_of(to_nearest));
}

/// Adds the sums of more voxels of the same label.
inline void add(LabelSums& sums, const LabelSums& more) {
  if (more.voxels == 0) return;
  if (sums.voxels == 0) {
    sums = more;
    return;
  }
  sums.voxels += more.voxels;
  sums.hu += more.hu;
  sums.hu_squared += more.hu_squared;
  sums.x += more.x;
  sums.y += more.y;
  sums.z += more.z;
  sums.low_hu = std::min(sums.low_hu, more.low_hu);
  sums.high_hu = std::max(sums.high_hu, more.high_hu);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    sums.first[axis] = std::min(sums.first[axis], more.first[axis]);
    sums.last[axis] = std::max(sums.last[axis], more.last[axis]);
  }
}

// ---- work: instructions a voxel counted by hand from the kernels, to about 20 % ----

inline Work histogram_work(std::int64_t voxels, std::size_t bins) {
  Work work = streaming_work(voxels, 14, 4);
  work.atomics = static_cast<double>(voxels);
  work.device_to_host_bytes = static_cast<double>(bins * sizeof(std::uint64_t));
  work.launches = 2; // one clears the counts
  return work;
}

inline Work threshold_work(std::int64_t voxels) { return streaming_work(voxels, 6, 5); }

inline Work relabel_work(std::int64_t voxels, std::size_t table_entries) {
  Work work = streaming_work(voxels, 8, 8);
  work.cached_bytes = static_cast<double>(voxels) * sizeof(std::uint32_t);
  work.working_set_bytes = static_cast<double>(table_entries * sizeof(std::uint32_t));
  work.host_to_device_bytes = work.working_set_bytes;
  return work;
}

/// `stretches`: how often neighbours along x differ in label, plus one a row. Each ends in a
/// reduction over a warp and in an update of 14 numbers.
inline Work label_sums_work(std::int64_t voxels, std::int64_t stretches, std::size_t labels) {
  constexpr double instructions_per_voxel = 30, instructions_per_stretch = 32 * 110,
                   numbers_per_label = 14;
  Work work = streaming_work(voxels, instructions_per_voxel, 8);
  work.lane_instructions += static_cast<double>(stretches) * instructions_per_stretch;
  work.atomics = static_cast<double>(stretches) * numbers_per_label;
  work.launches = 2; // one clears the table
  work.device_to_host_bytes = static_cast<double>(labels * sizeof(LabelSums));
  work.counts = {{"label_stretches", static_cast<double>(stretches)}};
  return work;
}

} // namespace breakeven::imaging
