// What the OpenMP intensity stages share: scratch memory for each thread, and the division of a
// volume into strips of rows that are walked along z, so that what neighbouring slices share stays
// in a core's cache.
#pragma once

#include "workloads/imaging/intensity.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

namespace breakeven::imaging {

Work openmp_gaussian(View<const float> in, View<float> out, const GaussianTaps&, Memory&);
Work openmp_median(View<const float> in, View<float> out, Memory&);
Work openmp_bilateral(View<const float> in, View<float> out, const BilateralKernel&, Memory&);
Work openmp_diffusion_gradient(View<const float> in, std::int64_t z_begin, std::int64_t z_end,
                               const DiffusionStep&, std::int64_t& sum, Memory&);
Work openmp_diffuse(View<const float> in, View<float> out, const DiffusionStep&, Memory&);

namespace intensity_openmp {

/// Floats of a vector register, or a multiple: rows in scratch memory have whole ones, so that
/// inner loops have no ragged end.
constexpr std::int64_t lanes = 16;
constexpr std::int64_t whole_lanes(std::int64_t count) {
  return (count + lanes - 1) / lanes * lanes;
}

inline std::int64_t nearest(std::int64_t i, std::int64_t count) {
  return std::clamp<std::int64_t>(i, 0, count - 1);
}

/// `floats` for each of OpenMP's threads, taken before they start, so that it is counted and what
/// it throws has a place to go. Threads do not share pages.
class Scratch {
public:
  Scratch(Memory& memory, std::int64_t floats)
      : pitch_((floats + floats_a_page - 1) / floats_a_page * floats_a_page),
        block_(memory, static_cast<std::size_t>(pitch_ * omp_get_max_threads())) {}
  float* of_this_thread() const { return block_.data() + pitch_ * omp_get_thread_num(); }

private:
  static constexpr std::int64_t floats_a_page = 1024;
  std::int64_t pitch_;
  Block<float> block_;
};

/// Rows [y_begin, y_end) of slices [z_begin, z_end).
struct Strip {
  std::int64_t y_begin, y_end, z_begin, z_end;
  std::int64_t rows() const { return y_end - y_begin; }
};

/// A volume as strips of at most `rows` rows, cut along z only as far as every thread needs work.
class Strips {
public:
  Strips(const Extent& extent, std::int64_t rows, std::int64_t least_slices)
      : extent_(extent),
        rows_(std::min(rows, extent.y)),
        across_((extent.y + rows_ - 1) / rows_) {
    const std::int64_t wanted = 8 * omp_get_max_threads();
    const std::int64_t cuts = std::clamp<std::int64_t>(
        (wanted + across_ - 1) / across_, 1, std::max<std::int64_t>(1, extent.z / least_slices));
    slices_ = (extent.z + cuts - 1) / cuts;
    along_ = (extent.z + slices_ - 1) / slices_;
  }
  std::int64_t count() const { return across_ * along_; }
  std::int64_t most_rows() const { return rows_; }
  Strip operator[](std::int64_t i) const {
    const std::int64_t y = i % across_ * rows_, z = i / across_ * slices_;
    return {y, std::min(y + rows_, extent_.y), z, std::min(z + slices_, extent_.z)};
  }

private:
  Extent extent_;
  std::int64_t rows_, across_, slices_ = 1, along_ = 1;
};

/// The slices around the one a strip is at, `halo` voxels wider on every side, the volume's border
/// repeated. A row starts at a whole vector and
/// can be read for whole ones, each up to `halo` to the left and right.
class Window {
public:
  static std::int64_t pitch(const Extent& extent, std::int64_t halo) {
    return lanes + whole_lanes(whole_lanes(extent.x) + halo);
  }
  static std::int64_t floats(const Extent& extent, std::int64_t rows, std::int64_t halo) {
    return (2 * halo + 1) * (rows + 2 * halo) * pitch(extent, halo);
  }

  Window(View<const float> in, const Strip& strip, std::int64_t halo, float* memory)
      : in_(in),
        strip_(strip),
        halo_(halo),
        pitch_(pitch(in.extent, halo)),
        memory_(memory) {
    for (std::int64_t z = strip.z_begin - halo; z < strip.z_begin + halo; ++z)
      load(z);
  }
  /// Makes z the slice in the middle; slices are asked for one after the other.
  void go_to(std::int64_t z) { load(z + halo_); }
  /// Voxel 0 of a row at most `halo` outside the strip, of a slice at most `halo` from the middle.
  const float* row(std::int64_t y, std::int64_t z) const { return at(y, z) + lanes; }

private:
  float* at(std::int64_t y, std::int64_t z) const {
    const std::int64_t slices = 2 * halo_ + 1;
    const std::int64_t slot = (z + slices) % slices;
    return memory_ + (slot * (strip_.rows() + 2 * halo_) + y - strip_.y_begin + halo_) * pitch_;
  }
  void load(std::int64_t z) {
    const std::int64_t count = in_.extent.x;
    const float* slice = in_.data + nearest(z, in_.extent.z) * in_.extent.slice();
    for (std::int64_t y = strip_.y_begin - halo_; y < strip_.y_end + halo_; ++y) {
      const float* from = slice + nearest(y, in_.extent.y) * count;
      float* to = at(y, z);
      std::fill(to + lanes - halo_, to + lanes, from[0]);
      std::memcpy(to + lanes, from, static_cast<std::size_t>(count) * sizeof(float));
      std::fill(to + lanes + count, to + pitch_, from[count - 1]);
    }
  }

  View<const float> in_;
  Strip strip_;
  std::int64_t halo_, pitch_;
  float* memory_;
};

/// Rows of a strip of `bytes` in a window of `slices` slices that leave the rest of a 512 KiB
/// second cache, the smallest of current server cores, to what else the stage holds.
inline std::int64_t rows_in_cache(std::int64_t row_floats, std::int64_t slices) {
  constexpr std::int64_t floats = 256 * 1024 / 4;
  return std::clamp<std::int64_t>(floats / (row_floats * slices), 4, 64);
}

} // namespace intensity_openmp
} // namespace breakeven::imaging
