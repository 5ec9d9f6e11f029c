// The FIR Gaussian on the CPU: a strip of rows is walked along z. Each row is filtered along y from
// the input and along x from the first cache, once; a ring of such slices feeds the filter along z.
#include "workloads/imaging/intensity_openmp.h"

namespace breakeven::imaging {

using namespace intensity_openmp;

namespace {

// Pairs of taps a pass: more would need more row pointers than there are registers.
constexpr std::size_t pairs_a_pass = 4;

struct Pairs {
  const float *low[pairs_a_pass], *high[pairs_a_pass];
  float tap[pairs_a_pass];
};

/// to = sums and `count_of_pairs` pairs more; with `is_first`, sums is the middle row, times its
/// tap.
template <std::size_t count_of_pairs, bool is_first>
void add_pairs(const float* sums, float* to, float middle_tap, const Pairs& all_pairs,
               std::int64_t count) {
  const Pairs pairs = all_pairs;
#pragma omp simd
  for (std::int64_t x = 0; x < count; ++x) {
    float sum = is_first ? middle_tap * sums[x] : sums[x];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < count_of_pairs; ++i)
      sum = fused(pairs.tap[i], pairs.low[i][x] + pairs.high[i][x], sum);
    to[x] = sum;
  }
}

template <bool is_first>
void add_up_to_4_pairs(const float* sums, float* to, float middle_tap, const Pairs& pairs,
                       std::size_t count_of_pairs, std::int64_t count) {
  switch (count_of_pairs) {
  case 0:
    add_pairs<0, is_first>(sums, to, middle_tap, pairs, count);
    break;
  case 1:
    add_pairs<1, is_first>(sums, to, middle_tap, pairs, count);
    break;
  case 2:
    add_pairs<2, is_first>(sums, to, middle_tap, pairs, count);
    break;
  case 3:
    add_pairs<3, is_first>(sums, to, middle_tap, pairs, count);
    break;
  default:
    add_pairs<4, is_first>(sums, to, middle_tap, pairs, count);
    break;
  }
}

/// One row of output: `row_at(i)` is the row, or the row moved by, i voxels away along the axis.
/// `sums` is a row of scratch memory.
template <class RowAt>
void filter_row(const RowAt& row_at, const std::vector<float>& taps, float* sums, float* out,
                std::int64_t count) {
  const std::size_t all = taps.size() - 1;
  std::size_t done = 0;
  do {
    Pairs pairs{};
    const std::size_t now = std::min(pairs_a_pass, all - done);
    for (std::size_t i = 0; i < now; ++i) {
      const auto away = static_cast<std::int64_t>(done + i + 1);
      pairs.low[i] = row_at(-away);
      pairs.high[i] = row_at(away);
      pairs.tap[i] = taps[static_cast<std::size_t>(away)];
    }
    float* to = done + now == all ? out : sums;
    if (done == 0)
      add_up_to_4_pairs<true>(row_at(0), to, taps[0], pairs, now, count);
    else
      add_up_to_4_pairs<false>(sums, to, 0, pairs, now, count);
    done += now;
  } while (done < all);
}

/// A thread's scratch memory: a row of sums, a row filtered along y with room for the kernel on
/// both sides, and the ring of slices filtered along y and x.
class GaussianMemory {
public:
  GaussianMemory(const Extent& extent, std::int64_t rows, const GaussianTaps& taps)
      : rows_(rows),
        side_(whole_lanes(static_cast<std::int64_t>(taps.x.size()) - 1)),
        pitch_(whole_lanes(extent.x)),
        slices_(std::min(2 * static_cast<std::int64_t>(taps.radius_z()) + 1, extent.z)) {}
  std::int64_t floats() const { return 2 * (pitch_ + 2 * side_) + slices_ * rows_ * pitch_; }
  void place(float* memory) { memory_ = memory; }

  float* sums() const { return memory_; }
  float* y_filtered() const { return memory_ + pitch_ + 3 * side_; }
  float* ring(std::int64_t z, std::int64_t row) const {
    return memory_ + 2 * (pitch_ + 2 * side_) + (z % slices_ * rows_ + row) * pitch_;
  }
  std::int64_t side() const { return side_; }
  std::int64_t pitch() const { return pitch_; }

private:
  std::int64_t rows_, side_, pitch_, slices_;
  float* memory_ = nullptr;
};

/// Filters a row along y and x into the ring.
void filter_in_slice(View<const float> in, std::int64_t y, std::int64_t z, const GaussianTaps& taps,
                     const GaussianMemory& memory, float* to) {
  const Extent extent = in.extent;
  const float* slice = in.data + z * extent.slice();
  float* row = memory.y_filtered();
  filter_row([&](std::int64_t i) { return slice + nearest(y + i, extent.y) * extent.x; }, taps.y,
             memory.sums(), row, extent.x);
  std::fill(row - memory.side(), row, row[0]);
  std::fill(row + extent.x, row + memory.pitch() + memory.side(), row[extent.x - 1]);
  filter_row([&](std::int64_t i) { return row + i; }, taps.x, memory.sums(), to, memory.pitch());
}

void filter_strip(View<const float> in, View<float> out, const Strip& strip,
                  const GaussianTaps& taps, const GaussianMemory& memory) {
  const Extent extent = in.extent;
  const std::int64_t radius = taps.radius_z();
  std::int64_t filtered = std::max<std::int64_t>(0, strip.z_begin - radius);
  for (std::int64_t z = strip.z_begin; z < strip.z_end; ++z) {
    for (; filtered <= std::min(z + radius, extent.z - 1); ++filtered)
      for (std::int64_t y = strip.y_begin; y < strip.y_end; ++y)
        filter_in_slice(in, y, filtered, taps, memory, memory.ring(filtered, y - strip.y_begin));
    for (std::int64_t y = strip.y_begin; y < strip.y_end; ++y)
      filter_row(
          [&](std::int64_t i) { return memory.ring(nearest(z + i, extent.z), y - strip.y_begin); },
          taps.z, memory.sums(), out.data + (z * extent.y + y) * extent.x, extent.x);
  }
}

} // namespace

Work openmp_gaussian(View<const float> in, View<float> out, const GaussianTaps& taps,
                     Memory& memory) {
  const Extent extent = in.extent;
  const std::int64_t slices = 2 * static_cast<std::int64_t>(taps.radius_z()) + 1;
  const Strips strips(extent, rows_in_cache(whole_lanes(extent.x), slices), 2 * slices);
  GaussianMemory layout(extent, strips.most_rows(), taps);
  const Scratch scratch(memory, layout.floats());
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < strips.count(); ++i) {
    GaussianMemory own = layout;
    own.place(scratch.of_this_thread());
    filter_strip(in, out, strips[i], taps, own);
  }
  return gaussian_work(extent, taps);
}

} // namespace breakeven::imaging
