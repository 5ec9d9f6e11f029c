// Kernels of the label stages. A warp reads and writes 32 neighbours along x; what is shared with
// the CPU's code is in labels.h and component_runs.h.
#pragma once

#include "workloads/imaging/component_runs.h"
#include "workloads/imaging/labels.h"
#include "workloads/launch.h"

#include <cuda/atomic>

namespace breakeven::ON_PATH::imaging_labels {

using namespace ::breakeven::imaging;

// ---- histogram ----

/// Counts in shared memory, in `copies` interleaved tables (a power of two up to 32): with 32,
/// lanes of a warp never meet in a word nor in a bank, however many voxels of air lie side by side.
struct CountBins {
  static constexpr int voxels_a_thread = 4; ///< whose loads are on their way together

  DEVICE_ONLY void operator()(const Thread& thread, const float* values, std::int64_t count,
                              Bins bins, int bin_count, int copies, std::uint64_t* counts) const {
    const auto own = thread.shared<std::uint32_t>(0, places(bin_count, copies));
    for (auto i = index(thread.thread_index()); i < own.size(); i += index(thread.block_size()))
      own[i] = 0u;
    thread.sync();
    const int copy = thread.lane() % copies;
    const std::int64_t stride = thread.grid_size() * thread.block_size() * voxels_a_thread;
    for (std::int64_t begin = thread.block_index() * thread.block_size() * voxels_a_thread;
         begin < count; begin += stride)
      count_some(thread, own, values, begin, count, bins, copies, copy);
    thread.sync();
    for (int bin = thread.thread_index(); bin < bin_count; bin += thread.block_size()) {
      std::uint64_t sum = 0;
      for (int i = 0; i < copies; ++i) { // each lane from another bank
        const std::uint32_t part = own[places(bin, copies) + index((i + copy) % copies)];
        sum += part;
      }
      if (sum > 0) atomic_add(counts + bin, sum);
    }
  }

  HOST_DEVICE static std::size_t places(int bins, int copies) {
    return index(bins) * index(copies);
  }

private:
  HOST_DEVICE static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  DEVICE_ONLY static void count_some(const Thread& thread, const SharedArray<std::uint32_t>& own,
                                     const float* values, std::int64_t begin, std::int64_t count,
                                     const Bins& bins, int copies, int copy) {
    float loaded[voxels_a_thread];
    for (int i = 0; i < voxels_a_thread; ++i) {
      const std::int64_t at = begin + i * thread.block_size() + thread.thread_index();
      loaded[i] = at < count ? values[at] : 0.0f;
    }
    for (int i = 0; i < voxels_a_thread; ++i) {
      const std::int64_t at = begin + i * thread.block_size() + thread.thread_index();
      if (at < count) atomic_add(own, places(bin_of(bins, loaded[i]), copies) + index(copy), 1u);
    }
  }
};

/// For more bins than shared memory holds.
struct CountBinsInGlobalMemory {
  DEVICE_ONLY void operator()(const Thread& thread, const float* values, std::int64_t count,
                              Bins bins, std::uint64_t* counts) const {
    const std::int64_t i = thread.global_index();
    if (i < count) atomic_add(counts + bin_of(bins, values[i]), 1u);
  }
};

// ---- a voxel at a time ----

struct alignas(16) FourFloats {
  float value[4];
};
struct alignas(4) FourBytes {
  std::uint8_t value[4];
};

struct Threshold {
  DEVICE_ONLY void operator()(const Thread& thread, const float* values, std::uint8_t* mask,
                              std::int64_t count, float low, float high) const {
    const std::int64_t i = thread.global_index();
    if (i < count) mask[i] = is_within(values[i], low, high);
  }
};
/// Whole groups of four, for data that is aligned to them.
struct ThresholdFour {
  DEVICE_ONLY void operator()(const Thread& thread, const FourFloats* values, FourBytes* mask,
                              std::int64_t groups, float low, float high) const {
    const std::int64_t i = thread.global_index();
    if (i >= groups) return;
    const FourFloats four = values[i];
    FourBytes out;
    for (int j = 0; j < 4; ++j)
      out.value[j] = is_within(four.value[j], low, high);
    mask[i] = out;
  }
};

struct Relabel {
  DEVICE_ONLY void operator()(const Thread& thread, std::uint32_t* labels, std::int64_t count,
                              const std::uint32_t* table) const {
    const std::int64_t i = thread.global_index();
    if (i < count) labels[i] = table[labels[i]];
  }
};

template <class T>
struct Fill {
  DEVICE_ONLY void operator()(const Thread& thread, T* data, std::int64_t count, T value) const {
    const std::int64_t i = thread.global_index();
    if (i < count) data[i] = value;
  }
};

// ---- components ----

using Word = std::uint32_t;
constexpr std::uint32_t no_voxel = 0xFFFF'FFFF;
template <Connectivity connectivity>
using Rows = BundleWord<Word, Bundle<connectivity>::rows>;

/// Where row r of a bundle begins; -1 outside the volume.
template <Connectivity connectivity>
HOST_DEVICE std::int64_t row_begin(const BundleGrid& grid, std::int64_t bundle, int r) {
  using Shape = Bundle<connectivity>;
  const std::int64_t y = bundle % grid.bundles_y * Shape::rows_y + r % Shape::rows_y;
  const std::int64_t z = bundle / grid.bundles_y * Shape::rows_z + r / Shape::rows_y;
  if (y >= grid.extent.y || z >= grid.extent.z) return -1;
  return (z * grid.extent.y + y) * grid.extent.x;
}

/// The 32 bundle words of a warp, one after the other.
template <Connectivity connectivity>
class WarpWords {
public:
  HOST_DEVICE WarpWords(const Thread& thread, const BundleGrid& grid)
      : grid_(grid),
        index_(thread.global_index() - thread.lane()),
        bundle_(index_ / grid.words),
        word_(index_ % grid.words) {
    find_rows();
  }
  HOST_DEVICE std::int64_t index() const { return index_; }
  HOST_DEVICE bool ended() const { return index_ >= grid_.bundle_words(); }
  /// Of a lane's voxel in row r; -1 where there is none.
  HOST_DEVICE std::int64_t voxel(int r, int lane) const {
    const std::int64_t x = word_ * bits_in<Word> + lane;
    return begin_[r] < 0 || x >= grid_.extent.x ? -1 : begin_[r] + x;
  }
  HOST_DEVICE bool starts_row() const { return word_ == 0; }
  HOST_DEVICE void next() {
    ++index_;
    if (++word_ < grid_.words) return;
    word_ = 0;
    ++bundle_;
    find_rows();
  }

private:
  HOST_DEVICE void find_rows() {
    for (int r = 0; r < Bundle<connectivity>::rows; ++r)
      begin_[r] = row_begin<connectivity>(grid_, bundle_, r);
  }

  const BundleGrid& grid_;
  std::int64_t index_, bundle_, word_;
  std::int64_t begin_[Bundle<connectivity>::rows];
};

/// Voxels to bits. A warp reads 32 voxels of a row at once; lane j keeps the j-th word.
template <Connectivity connectivity>
struct Pack {
  DEVICE_ONLY void operator()(const Thread& thread, BundleGrid grid, const std::uint8_t* mask,
                              Rows<connectivity>* bits) const {
    Rows<connectivity> own{};
    WarpWords<connectivity> words(thread, grid);
    for (int j = 0; j < threads_per_warp && !words.ended(); ++j, words.next())
      for (int r = 0; r < Bundle<connectivity>::rows; ++r) {
        const std::int64_t voxel = words.voxel(r, thread.lane());
        const Word word = thread.ballot(voxel >= 0 && mask[voxel] != 0);
        if (thread.lane() == j) own.row[r] = word;
      }
    if (thread.global_index() < grid.bundle_words()) bits[thread.global_index()] = own;
  }
};

/// A bundle word between its neighbours along x.
template <Connectivity connectivity>
HOST_DEVICE BundleStretch<Word, Bundle<connectivity>::rows>
stretch_at(const BundleGrid& grid, const Rows<connectivity>* bits, std::int64_t bundle,
           std::int64_t word) {
  const Rows<connectivity>* const here = bits + (bundle * grid.words + word);
  BundleStretch<Word, Bundle<connectivity>::rows> stretch;
  if (word > 0) stretch.before = here[-1];
  stretch.here = here[0];
  if (word + 1 < grid.words) stretch.after = here[1];
  return stretch;
}

/// The runs of a bundle word.
template <Connectivity connectivity>
HOST_DEVICE WordRuns<Word> runs_at(const BundleGrid& grid, const Rows<connectivity>* bits,
                                   const std::uint32_t* first_starts, std::int64_t index) {
  Stretch<Word> all;
  all.here = bits[index].any();
  if (index % grid.words > 0) all.before = bits[index - 1].any();
  return {all.here, all.starts(), first_starts[index]};
}

/// How many runs start in bundle word `index`; 0 at the end.
template <Connectivity connectivity>
struct StartsInWord {
  BundleGrid grid;
  const Rows<connectivity>* bits;
  HOST_DEVICE std::uint32_t operator()(std::int64_t index) const {
    if (index >= grid.bundle_words()) return 0;
    Stretch<Word> all;
    all.here = bits[index].any();
    if (index % grid.words > 0) all.before = bits[index - 1].any();
    return static_cast<std::uint32_t>(ones(all.starts()));
  }
};

struct StartRuns {
  DEVICE_ONLY void operator()(const Thread& thread, std::int64_t runs, std::uint32_t* parents,
                              std::uint32_t* first_voxels) const {
    const std::int64_t run = thread.global_index();
    if (run >= runs) return;
    parents[run] = static_cast<std::uint32_t>(run);
    first_voxels[run] = no_voxel;
  }
};

using SharedRun = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device>;
HOST_DEVICE inline std::uint32_t load(std::uint32_t& run) {
  return SharedRun(run).load(::cuda::memory_order_relaxed);
}
HOST_DEVICE inline void store(std::uint32_t& run, std::uint32_t to) {
  SharedRun(run).store(to, ::cuda::memory_order_relaxed);
}

/// Root of a run. Parents have smaller numbers and are only ever replaced by their own ancestors.
HOST_DEVICE inline std::uint32_t root_of(std::uint32_t* parents, std::uint32_t run) {
  for (;;) {
    const std::uint32_t parent = load(parents[run]);
    if (parent == run) return run;
    run = parent;
  }
}

/// Joins trees by atomicMin on roots (Komura, "GPU-based cluster-labeling algorithm without the use
/// of conventional iteration", 2015; Playne and Hawick, "A New Algorithm for Parallel Connected-
/// Component Labelling on GPUs", TPDS 2018). Where another lane was first, what it wrote is joined
/// too, so nothing is lost and no pass is repeated.
struct Unite {
  std::uint32_t* parents;
  std::uint32_t& joints;
  DEVICE_ONLY void operator()(std::uint32_t a, std::uint32_t b) const {
    ++joints;
    for (;;) {
      a = root_of(parents, a);
      b = root_of(parents, b);
      if (a == b) return;
      const std::uint32_t greater = a > b ? a : b, lesser = a > b ? b : a;
      const std::uint32_t old = atomic_min(parents + greater, lesser);
      if (old == greater) return;
      a = old;
      b = lesser;
    }
  }
};

/// Joins the runs of a bundle word with those of earlier bundles that they touch, a lane a word.
template <Connectivity connectivity>
struct JoinRuns {
  static constexpr std::size_t shared_bytes = sizeof(std::uint64_t);

  DEVICE_ONLY void operator()(const Thread& thread, BundleGrid grid, const Rows<connectivity>* bits,
                              const std::uint32_t* first_starts, std::uint32_t* parents,
                              std::uint64_t* all_joints) const {
    const auto block_joints = thread.shared<std::uint64_t>(0, 1);
    if (thread.thread_index() == 0) block_joints[0] = std::uint64_t{0};
    thread.sync();
    std::uint32_t joints = 0;
    if (thread.global_index() < grid.bundle_words()) {
      const std::int64_t bundle = thread.global_index() / grid.words;
      const std::int64_t word = thread.global_index() % grid.words;
      const auto mine = stretch_at<connectivity>(grid, bits, bundle, word);
      const Unite unite{parents, joints};
      if (mine.here.any() != 0) {
        join<0>(grid, bits, first_starts, bundle, word, mine, unite);
        join<1>(grid, bits, first_starts, bundle, word, mine, unite);
        if constexpr (earlier_bundles<connectivity> == 4) {
          join<2>(grid, bits, first_starts, bundle, word, mine, unite);
          join<3>(grid, bits, first_starts, bundle, word, mine, unite);
        }
      }
    }
    for (int distance = threads_per_warp / 2; distance > 0; distance /= 2)
      joints += thread.shuffle_xor(joints, distance);
    if (thread.lane() == 0) atomic_add(block_joints, 0, joints);
    thread.sync();
    if (thread.thread_index() != 0) return;
    const std::uint64_t sum = block_joints[0];
    if (sum > 0) atomic_add(all_joints, sum);
  }

private:
  template <int which>
  DEVICE_ONLY static void
  join(const BundleGrid& grid, const Rows<connectivity>* bits, const std::uint32_t* first_starts,
       std::int64_t bundle, std::int64_t word,
       const BundleStretch<Word, Bundle<connectivity>::rows>& mine, const Unite& unite) {
    constexpr Step step = earlier_bundle(which);
    const std::int64_t y = bundle % grid.bundles_y + step.y;
    const std::int64_t z = bundle / grid.bundles_y + step.z;
    if (y < 0 || y >= grid.bundles_y || z < 0) return;
    const std::int64_t other = z * grid.bundles_y + y;
    const auto theirs = stretch_at<connectivity>(grid, bits, other, word);
    const Joints<Word> joints = joints_with<connectivity, which>(mine, theirs);
    if ((joints.joined | joints.left | joints.right) == 0) return;
    const Stretch<Word> all_mine = mine.any(), all_theirs = theirs.any();
    for_each_joint<Word>(
        joints, {all_mine.here, all_mine.starts(), first_starts[bundle * grid.words + word]},
        {all_theirs.here, all_theirs.starts(), first_starts[other * grid.words + word]}, unite);
  }
};

/// Points every run to its root, and gives roots the first voxel of their component. That lies in
/// the first layer of bundles that the component is in, which is the root's.
template <Connectivity connectivity>
struct FindFirstVoxels {
  DEVICE_ONLY void operator()(const Thread& thread, BundleGrid grid, const Rows<connectivity>* bits,
                              const std::uint32_t* first_starts, std::uint32_t* parents,
                              std::uint32_t* first_voxels) const {
    const std::int64_t index = thread.global_index();
    if (index >= grid.bundle_words()) return;
    const WordRuns<Word> runs = runs_at<connectivity>(grid, bits, first_starts, index);
    if (runs.all == 0) return;
    const std::int64_t bundle = index / grid.words, word = index % grid.words;
    const std::uint32_t first_of_layer =
        first_starts[bundle / grid.bundles_y * grid.bundles_y * grid.words];
    const Rows<connectivity> voxels = bits[index];
    for_each_run(runs, Visit{grid, voxels, bundle, word, first_of_layer, runs.starts, parents,
                             first_voxels});
  }

private:
  struct Visit {
    const BundleGrid& grid;
    const Rows<connectivity>& voxels;
    std::int64_t bundle, word;
    std::uint32_t first_of_layer;
    Word starts;
    std::uint32_t* parents;
    std::uint32_t* first_voxels;
    DEVICE_ONLY void operator()(std::uint32_t run, Word run_bits) const {
      const std::uint32_t root = root_of(parents, run);
      if ((starts & run_bits) != 0) store(parents[run], root);
      if (root < first_of_layer) return;
      const std::uint32_t voxel = first_voxel<connectivity>(grid, bundle, word, voxels, run_bits);
      if (voxel < load(first_voxels[root])) atomic_min(first_voxels + root, voxel);
    }
  };
};

/// Sets the bit of each component's first voxel. No two share one, so adding sets it.
struct MarkFirstVoxels {
  DEVICE_ONLY void operator()(const Thread& thread, std::int64_t runs, const std::uint32_t* parents,
                              const std::uint32_t* first_voxels, Word* is_first) const {
    const std::int64_t run = thread.global_index();
    if (run >= runs || parents[run] != run) return;
    const std::uint32_t voxel = first_voxels[run];
    atomic_add(is_first + voxel / bits_in<Word>, Word{1} << voxel % bits_in<Word>);
  }
};

struct FirstsInWord {
  const Word* is_first;
  std::int64_t words;
  HOST_DEVICE std::uint32_t operator()(std::int64_t index) const {
    return index < words ? static_cast<std::uint32_t>(ones(is_first[index])) : 0;
  }
};

/// Turns every run's root into its label: one more than how many components start earlier.
struct NumberRuns {
  DEVICE_ONLY void operator()(const Thread& thread, std::int64_t runs, std::uint32_t* parents,
                              const std::uint32_t* first_voxels, const Word* is_first,
                              const std::uint32_t* firsts_before) const {
    const std::int64_t run = thread.global_index();
    if (run >= runs) return;
    const std::uint32_t voxel = first_voxels[parents[run]];
    const Word earlier = (Word{1} << voxel % bits_in<Word>)-1;
    parents[run] = 1 + firsts_before[voxel / bits_in<Word>]
                   + static_cast<std::uint32_t>(ones(is_first[voxel / bits_in<Word>] & earlier));
  }
};

/// Labels of all voxels. A warp takes a bundle word at a time: a lane looks up the label at its x
/// once for all rows.
template <Connectivity connectivity>
struct WriteLabels {
  DEVICE_ONLY void operator()(const Thread& thread, BundleGrid grid, const Rows<connectivity>* bits,
                              const std::uint32_t* first_starts, const std::uint32_t* run_labels,
                              std::uint32_t* labels) const {
    WarpWords<connectivity> words(thread, grid);
    const Word bit = Word{1} << thread.lane();
    Word before = words.ended() || words.starts_row() ? 0 : bits[words.index() - 1].any();
    for (int j = 0; j < threads_per_warp && !words.ended(); ++j, words.next()) {
      const Rows<connectivity> here = bits[words.index()];
      const Word all = here.any();
      const Stretch<Word> stretch{words.starts_row() ? 0 : before, all, 0};
      std::uint32_t label = 0;
      if ((all & bit) != 0)
        label = run_labels[run_at(first_starts[words.index()], stretch.starts(), bit)];
      for (int r = 0; r < Bundle<connectivity>::rows; ++r) {
        const std::int64_t voxel = words.voxel(r, thread.lane());
        if (voxel >= 0) labels[voxel] = (here.row[r] & bit) != 0 ? label : 0;
      }
      before = all;
    }
  }
};

// ---- sums ----

/// Numbers of each label, one array a number: first 64-bit sums, then 32-bit bounds.
constexpr int sums_a_label = 6, lows_a_label = 4, bounds_a_label = 8;
constexpr std::int32_t no_low = 0x7FFF'FFFF, no_high = -no_low - 1;

/// Sums of labels in global memory: sums[number * labels + label].
struct LabelTable {
  std::uint64_t* sums;  ///< voxels, HU, HU squared, x, y, z; two's complement
  std::int32_t* bounds; ///< lows of HU, x, y, z, then highs
  std::int64_t labels;
};

struct ClearLabelTable {
  DEVICE_ONLY void operator()(const Thread& thread, LabelTable table) const {
    const std::int64_t label = thread.global_index();
    if (label >= table.labels) return;
    for (int i = 0; i < sums_a_label; ++i)
      table.sums[i * table.labels + label] = 0;
    for (int i = 0; i < bounds_a_label; ++i)
      table.bounds[i * table.labels + label] = i < lows_a_label ? no_low : no_high;
  }
};

/// A warp walks along pieces of rows. Its lanes add up what they meet of one label; where the label
/// changes the warp sums over its lanes and adds the 14 numbers to the block's table. That has few
/// slots: a label takes one if it is free, else its numbers go to global memory at once. Large
/// objects are met early and so have slots nearly everywhere.
struct AddLabelSums {
  static constexpr int slots = 256;
  static constexpr std::int64_t piece = 1024; ///< voxels along x
  static constexpr std::size_t shared_bytes =
      slots
      * (sums_a_label * sizeof(std::uint64_t) + bounds_a_label * sizeof(std::int32_t)
         + sizeof(std::uint32_t));

  DEVICE_ONLY void operator()(const Thread& thread, const std::uint32_t* labels, const float* hu,
                              Extent extent, std::int64_t z_of_first, LabelTable table,
                              std::uint64_t* all_stretches) const {
    const Slots slots_here(thread);
    slots_here.clear(thread);
    thread.sync();
    const std::int64_t pieces_a_row = (extent.x + piece - 1) / piece;
    const std::int64_t pieces = extent.y * extent.z * pieces_a_row;
    const int warps = thread.block_size() / threads_per_warp;
    // Neighbouring rows have the same labels: a block takes a stretch of them.
    const std::int64_t begin = pieces * thread.block_index() / thread.grid_size();
    const std::int64_t end = pieces * (thread.block_index() + 1) / thread.grid_size();
    std::uint32_t stretches = 0;
    for (std::int64_t i = begin + thread.warp(); i < end; i += warps) {
      const std::int64_t row = i / pieces_a_row;
      Walk walk;
      walk.x = i % pieces_a_row * piece;
      walk.y = static_cast<std::int32_t>(row % extent.y);
      walk.z = static_cast<std::int32_t>(row / extent.y + z_of_first);
      const std::int64_t left = extent.x - walk.x;
      walk.count = static_cast<int>(left < piece ? left : piece);
      const std::int64_t first = row * extent.x + walk.x;
      stretches += add_piece(thread, slots_here, table, walk, labels + first, hu + first);
    }
    if (thread.lane() == 0 && stretches > 0) atomic_add(all_stretches, stretches);
    thread.sync();
    slots_here.write_back(thread, table);
  }

private:
  struct Walk {
    std::int64_t x;
    std::int32_t y, z;
    int count;
  };

  /// What a lane has met of the warp's label since that changed; x counts from the piece's start.
  struct LaneSums {
    std::uint32_t voxels = 0, x = 0;
    std::int32_t hu = 0, low = no_low, high = no_high, first = no_low, last = no_high;
    std::uint64_t hu_squared = 0;

    HOST_DEVICE void add(int at, float value) {
      const std::int32_t rounded = rounded_hu(value);
      ++voxels;
      x += static_cast<std::uint32_t>(at);
      hu += rounded;
      hu_squared += static_cast<std::uint32_t>(rounded * rounded);
      low = rounded < low ? rounded : low;
      high = rounded > high ? rounded : high;
      first = at < first ? at : first;
      last = at > last ? at : last;
    }
    DEVICE_ONLY void sum_over_warp(const Thread& thread) {
      for (int distance = threads_per_warp / 2; distance > 0; distance /= 2) {
        voxels += thread.shuffle_xor(voxels, distance);
        x += thread.shuffle_xor(x, distance);
        hu += thread.shuffle_xor(hu, distance);
        hu_squared += thread.shuffle_xor(hu_squared, distance);
        const std::int32_t other_low = thread.shuffle_xor(low, distance);
        const std::int32_t other_high = thread.shuffle_xor(high, distance);
        const std::int32_t other_first = thread.shuffle_xor(first, distance);
        const std::int32_t other_last = thread.shuffle_xor(last, distance);
        low = other_low < low ? other_low : low;
        high = other_high > high ? other_high : high;
        first = other_first < first ? other_first : first;
        last = other_last > last ? other_last : last;
      }
    }
    HOST_DEVICE std::uint64_t sum(int number, const Walk& walk) const {
      const std::uint64_t count = voxels;
      if (number == 0) return count;
      if (number == 1) return static_cast<std::uint64_t>(std::int64_t{hu});
      if (number == 2) return hu_squared;
      if (number == 3) return count * static_cast<std::uint64_t>(walk.x) + x;
      return count * static_cast<std::uint64_t>(std::int64_t{number == 4 ? walk.y : walk.z});
    }
    HOST_DEVICE std::int32_t bound(int number, const Walk& walk) const {
      const bool is_low = number < lows_a_label;
      const int axis = number % lows_a_label;
      if (axis == 0) return is_low ? low : high;
      if (axis == 1) return static_cast<std::int32_t>(walk.x) + (is_low ? first : last);
      return axis == 2 ? walk.y : walk.z;
    }
  };

  /// The block's table.
  class Slots {
  public:
    DEVICE_ONLY explicit Slots(const Thread& thread)
        : sums_(thread.shared<std::uint64_t>(0, slots * sums_a_label)),
          bounds_(thread.shared<std::int32_t>(slots * sums_a_label * sizeof(std::uint64_t),
                                              slots * bounds_a_label)),
          owners_(thread.shared<std::uint32_t>(
              slots
                  * (sums_a_label * sizeof(std::uint64_t) + bounds_a_label * sizeof(std::int32_t)),
              slots)) {}

    DEVICE_ONLY void clear(const Thread& thread) const {
      for (int slot = thread.thread_index(); slot < slots; slot += thread.block_size()) {
        owners_[index(slot)] = free;
        for (int i = 0; i < sums_a_label; ++i)
          sums_[index(i * slots + slot)] = std::uint64_t{0};
        for (int i = 0; i < bounds_a_label; ++i)
          bounds_[index(i * slots + slot)] = i < lows_a_label ? no_low : no_high;
      }
    }
    /// The slot of a label, -1 where another has it. For one lane; others ask it.
    DEVICE_ONLY int slot_of(std::uint32_t label) const {
      const auto slot = static_cast<int>(label % slots);
      const std::uint32_t owner = atomic_cas(owners_, index(slot), free, label + 1);
      return owner == free || owner == label + 1 ? slot : -1;
    }
    DEVICE_ONLY void add_sum(int number, int slot, std::uint64_t value) const {
      atomic_add(sums_, index(number * slots + slot), value);
    }
    DEVICE_ONLY void widen(int number, int slot, std::int32_t value) const {
      const std::size_t at = index(number * slots + slot);
      if (number < lows_a_label)
        atomic_min(bounds_, at, value);
      else
        atomic_max(bounds_, at, value);
    }
    DEVICE_ONLY void write_back(const Thread& thread, const LabelTable& table) const {
      for (int slot = thread.thread_index(); slot < slots; slot += thread.block_size()) {
        const std::uint32_t owner = owners_[index(slot)];
        if (owner == free) continue;
        for (int i = 0; i < sums_a_label; ++i)
          add_global_sum(table, i, owner - 1, sums_[index(i * slots + slot)]);
        for (int i = 0; i < bounds_a_label; ++i)
          widen_global(table, i, owner - 1, bounds_[index(i * slots + slot)]);
      }
    }

  private:
    static constexpr std::uint32_t free = 0; ///< else label + 1
    HOST_DEVICE static std::size_t index(int i) { return static_cast<std::size_t>(i); }
    SharedArray<std::uint64_t> sums_;
    SharedArray<std::int32_t> bounds_;
    SharedArray<std::uint32_t> owners_;
  };

  DEVICE_ONLY static void add_global_sum(const LabelTable& table, int number, std::uint32_t label,
                                         std::uint64_t value) {
    atomic_add(table.sums + (number * table.labels + label), value);
  }
  DEVICE_ONLY static void widen_global(const LabelTable& table, int number, std::uint32_t label,
                                       std::int32_t value) {
    std::int32_t* const bound = table.bounds + (number * table.labels + label);
    if (number < lows_a_label)
      atomic_min(bound, value);
    else
      atomic_max(bound, value);
  }

  /// Gives how many stretches of one label it met.
  DEVICE_ONLY static std::uint32_t add_piece(const Thread& thread, const Slots& slots_here,
                                             const LabelTable& table, const Walk& walk,
                                             const std::uint32_t* labels, const float* hu) {
    LaneSums sums;
    std::uint32_t current = labels[0], stretches = 1;
    for (int begin = 0; begin < walk.count; begin += threads_per_warp) {
      const int at = begin + thread.lane();
      bool is_left = at < walk.count;
      const std::uint32_t label = is_left ? labels[at] : 0;
      const float value = is_left ? hu[at] : 0.0f;
      for (std::uint32_t left = thread.ballot(is_left); left != 0; left = thread.ballot(is_left)) {
        const std::uint32_t first = thread.shuffle(label, trailing_zeros(left));
        if (first != current) {
          add_stretch(thread, slots_here, table, walk, current, sums);
          sums = LaneSums();
          current = first;
          ++stretches;
        }
        // Only up to where the label changes: lanes after that wait, even if they have it again.
        const std::uint32_t others = thread.ballot(is_left && label != first);
        const std::uint32_t before_others = (others & (~others + 1)) - 1; // all, if there are none
        if (is_left && (before_others >> thread.lane() & 1) != 0) {
          sums.add(at, value);
          is_left = false;
        }
      }
    }
    add_stretch(thread, slots_here, table, walk, current, sums);
    return stretches;
  }

  DEVICE_ONLY static void add_stretch(const Thread& thread, const Slots& slots_here,
                                      const LabelTable& table, const Walk& walk,
                                      std::uint32_t label, LaneSums sums) {
    sums.sum_over_warp(thread);
    int slot = 0;
    if (thread.lane() == 0) slot = slots_here.slot_of(label);
    slot = thread.shuffle(slot, 0);
    // A lane a number.
    const int number = thread.lane();
    if (number < sums_a_label) {
      const std::uint64_t value = sums.sum(number, walk);
      if (slot >= 0)
        slots_here.add_sum(number, slot, value);
      else
        add_global_sum(table, number, label, value);
    } else if (number < sums_a_label + bounds_a_label) {
      const std::int32_t value = sums.bound(number - sums_a_label, walk);
      if (slot >= 0)
        slots_here.widen(number - sums_a_label, slot, value);
      else
        widen_global(table, number - sums_a_label, label, value);
    }
  }
};

} // namespace breakeven::ON_PATH::imaging_labels
