// The watershed on the CPU. Labels hold, one after the other: where each voxel climbs to; the basin
// it ends in; its final label. Rows are compared with their neighbours a vector at a time, and only
// where something differs is a voxel looked at alone.
#include "workloads/imaging/shapes.h"
#include "workloads/imaging/shapes_openmp.h"
#include "workloads/imaging/watershed_merge.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace breakeven::imaging::openmp_shapes {

namespace {

constexpr auto relaxed = std::memory_order_relaxed;

/// The row a step away, or `absent` where that lies outside.
template <class T>
const T* row_at(View<const T> view, std::int64_t y, std::int64_t z, const Step& step,
                const T* absent) {
  if (!is_inside(0, y + step.y, z + step.z, view.extent)) return absent;
  return view.data + (z + step.z) * view.extent.slice() + (y + step.y) * view.extent.x;
}

// ---- climbing ----

std::uint32_t climb_from(View<const std::int32_t> squared, std::int64_t x, std::int64_t y,
                         std::int64_t z) {
  const std::int64_t index = (z * squared.extent.y + y) * squared.extent.x + x;
  if (squared.data[index] == 0) return 0;
  return static_cast<std::uint32_t>(greatest_neighbour(squared.data, squared.extent, x, y, z)) + 1;
}

/// Index + 1 of what each voxel of a row, but for its ends, climbs to. Later candidates win ties,
/// and they come by rising index; background never wins over a voxel that has a distance.
void climb_inside_row(const std::array<const std::int32_t*, 9>& rows,
                      const std::array<std::uint32_t, 9>& row_steps, std::int64_t begin,
                      std::int64_t end, std::uint32_t row_index, std::uint32_t* labels) {
  const std::int32_t* const own = rows[4];
#pragma omp simd
  for (std::int64_t x = begin; x < end; ++x) {
    std::int32_t best = -1;
    std::uint32_t step = 0;
#pragma GCC unroll 9
    for (std::size_t row = 0; row < 9; ++row)
#pragma GCC unroll 3
      for (std::int64_t dx = -1; dx <= 1; ++dx) {
        const std::int32_t value = rows[row][x + dx];
        const std::uint32_t value_step = row_steps[row] + static_cast<std::uint32_t>(dx);
        step = value >= best ? value_step : step;
        best = value >= best ? value : best;
      }
    labels[x] = own[x] == 0 ? 0 : row_index + static_cast<std::uint32_t>(x) + step + 1;
  }
}

void climb_row(View<const std::int32_t> squared, std::int64_t y, std::int64_t z,
               const std::int32_t* absent, std::uint32_t* labels) {
  const Extent& extent = squared.extent;
  std::array<const std::int32_t*, 9> rows{};
  std::array<std::uint32_t, 9> row_steps{};
  for (int i = 0; i < 9; ++i) {
    const Step step = step_of(3 * i);
    const auto at = static_cast<std::size_t>(i);
    rows[at] = row_at(squared, y, z, step, absent);
    row_steps[at] = static_cast<std::uint32_t>(step.z * extent.slice() + step.y * extent.x);
  }
  const std::int32_t* const own = rows[4];
  const auto has_distance = [](std::int32_t value) { return value != 0; };
  const std::int64_t first = std::find_if(own, own + extent.x, has_distance) - own;
  std::int64_t last = extent.x; // one past the last voxel with a distance
  while (last > first && own[last - 1] == 0)
    --last;
  std::fill(labels, labels + first, 0u);
  std::fill(labels + last, labels + extent.x, 0u);
  if (first == last) return;
  const std::int64_t begin = std::max<std::int64_t>(first, 1), end = std::min(last, extent.x - 1);
  climb_inside_row(rows, row_steps, begin, end,
                   static_cast<std::uint32_t>((z * extent.y + y) * extent.x), labels);
  if (first == 0) labels[0] = climb_from(squared, 0, y, z);
  if (last == extent.x && extent.x > 1)
    labels[extent.x - 1] = climb_from(squared, extent.x - 1, y, z);
}

void climb(View<const std::int32_t> squared, std::uint32_t* labels) {
  const Extent& extent = squared.extent;
  const std::vector<std::int32_t> absent(static_cast<std::size_t>(extent.x), 0);
#pragma omp parallel for collapse(2) schedule(dynamic, 32)
  for (std::int64_t z = 0; z < extent.z; ++z)
    for (std::int64_t y = 0; y < extent.y; ++y)
      climb_row(squared, y, z, absent.data(), labels + (z * extent.y + y) * extent.x);
}

// ---- basins ----

/// Peaks climb to themselves. Gives their indices in raster order and marks them with their number.
std::vector<std::uint32_t> number_peaks(std::uint32_t* labels, std::int64_t voxels) {
  const int parts = omp_get_max_threads();
  std::vector<std::vector<std::uint32_t>> found(static_cast<std::size_t>(parts));
#pragma omp parallel for schedule(static)
  for (int part = 0; part < parts; ++part) {
    std::vector<std::uint32_t> peaks;
    for (std::int64_t i = voxels * part / parts; i < voxels * (part + 1) / parts; ++i)
      if (labels[i] == static_cast<std::uint32_t>(i) + 1)
        peaks.push_back(static_cast<std::uint32_t>(i));
    found[static_cast<std::size_t>(part)] = std::move(peaks);
  }
  std::vector<std::uint32_t> peaks;
  for (const std::vector<std::uint32_t>& some : found)
    peaks.insert(peaks.end(), some.begin(), some.end());
  for (std::size_t basin = 0; basin < peaks.size(); ++basin)
    labels[peaks[basin]] = basin_flag | static_cast<std::uint32_t>(basin);
  return peaks;
}

/// Follows the climb from each voxel to its basin. All that lie on the way get it too, so that no
/// stretch is walked twice; threads that meet write the same number.
void follow(std::uint32_t* labels, std::int64_t voxels) {
  const auto label = [&](std::uint32_t index) {
    return std::atomic_ref<std::uint32_t>(labels[index]);
  };
#pragma omp parallel for schedule(dynamic, 1 << 14)
  for (std::int64_t i = 0; i < voxels; ++i) {
    const auto start = static_cast<std::uint32_t>(i);
    std::uint32_t basin = label(start).load(relaxed);
    if (basin == 0 || (basin & basin_flag) != 0) continue;
    while ((basin & basin_flag) == 0)
      basin = label(basin - 1).load(relaxed);
    for (std::uint32_t at = start;;) {
      const std::uint32_t next = label(at).load(relaxed);
      if ((next & basin_flag) != 0) break;
      label(at).store(basin, relaxed);
      at = next - 1;
    }
  }
}

// ---- the graph of basins ----

/// The highest saddle of each pair seen, in a table of open addresses.
class SaddleTable {
public:
  void note(std::uint64_t pair, std::int32_t squared) {
    if (pair == last_pair_ && squared <= last_squared_) return;
    last_pair_ = pair;
    last_squared_ = squared;
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slot_of(pair);
    used_ += slot.squared == 0;
    slot.pair = pair;
    slot.squared = std::max(slot.squared, squared);
  }
  void append_to(std::vector<std::pair<std::uint64_t, std::int32_t>>& saddles) const {
    for (const Slot& slot : slots_)
      if (slot.squared != 0) saddles.emplace_back(slot.pair, slot.squared);
  }

private:
  struct Slot {
    std::uint64_t pair = 0;
    std::int32_t squared = 0; ///< 0 where the slot is free: saddles are higher
  };

  Slot& slot_of(std::uint64_t pair) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (pair * 0x9E37'79B9'7F4A'7C15u >> 20) & mask; // Knuth's multiplicative hash
    while (slots_[at].squared != 0 && slots_[at].pair != pair)
      at = (at + 1) & mask;
    return slots_[at];
  }
  void grow() {
    std::vector<Slot> old =
        std::exchange(slots_, std::vector<Slot>(std::max<std::size_t>(1024, 2 * slots_.size())));
    for (const Slot& slot : old)
      if (slot.squared != 0) slot_of(slot.pair) = slot;
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
  std::uint64_t last_pair_ = 0; ///< a basin is no pair with itself, so this is of none
  std::int32_t last_squared_ = no_distance;
};

/// Notes which voxels of a row begin a run of a label or have a neighbour of higher index in
/// another basin.
void compare_row(const std::array<const std::uint32_t*, 5>& rows, std::int64_t begin,
                 std::int64_t end, std::uint8_t* differs) {
#pragma omp simd
  for (std::int64_t x = begin; x < end; ++x) {
    const std::uint32_t own = rows[0][x];
    std::uint32_t any = own ^ rows[0][x - 1]; // a run begins, or there is background before it
    const auto compare = [&](std::uint32_t other) { any |= other != 0 ? other ^ own : 0; };
    compare(rows[0][x + 1]);
#pragma GCC unroll 4
    for (std::size_t row = 1; row < 5; ++row) {
      compare(rows[row][x - 1]);
      compare(rows[row][x]);
      compare(rows[row][x + 1]);
    }
    differs[x] = own != 0 && any != 0;
  }
}

struct Partition {
  View<const std::int32_t> squared;
  View<const std::uint32_t> labels;
};

void note_row(const Partition& partition, std::int64_t y, std::int64_t z,
              const std::uint32_t* absent, std::uint8_t* differs, std::uint32_t* first_voxel,
              SaddleTable& saddles) {
  const Extent& extent = partition.labels.extent;
  // The rows of higher index: this one, and from (dy, dz) = (1, 0) to (1, 1).
  std::array<const std::uint32_t*, 5> rows{};
  for (int i = 0; i < 5; ++i)
    rows[static_cast<std::size_t>(i)] =
        row_at(partition.labels, y, z, step_of(itself + 3 * i), absent);
  compare_row(rows, 1, extent.x - 1, differs);
  differs[0] = differs[extent.x - 1] = 1;
  const std::int64_t row_index = (z * extent.y + y) * extent.x;
  const auto look_at = [&](std::int64_t x) {
    const std::uint32_t own = rows[0][x];
    if (own == 0) return;
    if (x == 0 || rows[0][x - 1] != own) {
      const std::atomic_ref<std::uint32_t> first(first_voxel[own & ~basin_flag]);
      const auto index = static_cast<std::uint32_t>(row_index + x);
      std::uint32_t lowest = first.load(relaxed);
      while (index < lowest && !first.compare_exchange_weak(lowest, index, relaxed)) {
      }
    }
    for_each_saddle(partition.labels.data, partition.squared.data, extent, x, y, z,
                    [&](std::uint64_t pair, std::int32_t saddle) { saddles.note(pair, saddle); });
  };
  std::int64_t x = 0;
  for (; x + 8 <= extent.x; x += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, differs + x, sizeof eight);
    for (; eight != 0; eight &= eight - 1)
      look_at(x + std::countr_zero(eight) / 8);
  }
  for (; x < extent.x; ++x)
    if (differs[x] != 0) look_at(x);
}

std::vector<Saddle>
highest_of_each_pair(std::vector<std::pair<std::uint64_t, std::int32_t>> noted) {
  std::sort(noted.begin(), noted.end());
  std::vector<Saddle> saddles;
  for (std::size_t i = 0; i < noted.size(); ++i)
    if (i + 1 == noted.size() || noted[i + 1].first != noted[i].first)
      saddles.push_back({static_cast<std::uint32_t>(noted[i].first >> 32),
                         static_cast<std::uint32_t>(noted[i].first), noted[i].second});
  return saddles;
}

BasinGraph graph_of(const Partition& partition, std::vector<std::int32_t> peak_squared) {
  const Extent& extent = partition.labels.extent;
  BasinGraph graph;
  graph.first_voxel.assign(peak_squared.size(), 0xFFFF'FFFFu);
  graph.peak_squared = std::move(peak_squared);
  const std::vector<std::uint32_t> absent(static_cast<std::size_t>(extent.x), 0);
  std::vector<std::pair<std::uint64_t, std::int32_t>> noted;
#pragma omp parallel
  {
    SaddleTable saddles;
    std::vector<std::uint8_t> differs(static_cast<std::size_t>(extent.x));
#pragma omp for collapse(2) schedule(dynamic, 64)
    for (std::int64_t z = 0; z < extent.z; ++z)
      for (std::int64_t y = 0; y < extent.y; ++y)
        note_row(partition, y, z, absent.data(), differs.data(), graph.first_voxel.data(), saddles);
#pragma omp critical(breakeven_watershed_saddles)
    saddles.append_to(noted);
  }
  graph.saddles = highest_of_each_pair(std::move(noted));
  return graph;
}

} // namespace

Work watershed(View<const std::int32_t> squared, View<std::uint32_t> labels, double least_height,
               std::uint32_t& count, Memory&) {
  const std::int64_t voxels = squared.extent.voxels();
  climb(squared, labels.data);
  const std::vector<std::uint32_t> peaks = number_peaks(labels.data, voxels);
  std::vector<std::int32_t> peak_squared;
  peak_squared.reserve(peaks.size());
  for (const std::uint32_t peak : peaks)
    peak_squared.push_back(squared.data[peak]);
  follow(labels.data, voxels);
  const BasinGraph graph = graph_of({squared, labels}, std::move(peak_squared));
  const MergedBasins merged = merge_basins(graph, least_height);
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < voxels; ++i)
    if (labels.data[i] != 0) labels.data[i] = merged.label_of[labels.data[i] & ~basin_flag];
  count = merged.count;
  return watershed_work(voxels, static_cast<std::int64_t>(peaks.size()),
                        static_cast<std::int64_t>(graph.saddles.size()));
}

} // namespace breakeven::imaging::openmp_shapes
