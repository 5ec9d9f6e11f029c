// Connected components by runs of bundled rows, one body for the OpenMP and the GPU side.
//
// Voxels are bits, 32 or 64 to a word along x. Rows that are connected to each other whatever their
// voxels form a bundle: with 26 neighbours 2 x 2 rows in y and z, with 18 neighbours 2 rows in y,
// with 6 a single row. All voxels at one x of a bundle are neighbours, and so are those at x and
// x + 1; hence a run of x that are not empty is connected, and is what union-find works on. That is
// the idea of 2 x 2 x 2 blocks (Grana, Borghesani and Cucchiara 2010; Allegretti, Bolelli and
// Grana, "Optimized Block-Based Algorithms to Label Connected Components on GPUs", TPDS 2020) with
// whole runs (He, Chao and Suzuki 2008) in place of blocks: half the voxels at random in
// 26-connectivity make a run of 68 voxels, where a row's own run has 4. Which runs touch is found
// by bit operations on words, and a run's number by counting the starts of runs before it.
//
// Runs are numbered by bundle, then along x. Bundles are numbered by y, then z.
#pragma once

#include "workloads/host_device.h"
#include "workloads/imaging/stages.h"

#include <bit>

namespace breakeven::imaging {

// std::countr_zero has no code of its own on a GPU; counting ones has.
HOST_DEVICE inline int ones(std::uint32_t word) { return std::popcount(word); }
HOST_DEVICE inline int trailing_zeros(std::uint32_t word) { return ones(~word & (word - 1)); }
inline int ones(std::uint64_t word) { return std::popcount(word); }
inline int trailing_zeros(std::uint64_t word) { return std::countr_zero(word); }

template <class Word>
constexpr int bits_in = static_cast<int>(sizeof(Word) * 8);

template <Connectivity connectivity>
struct Bundle {
  static constexpr int rows_y = connectivity == Connectivity::six ? 1 : 2;
  static constexpr int rows_z = connectivity == Connectivity::twenty_six ? 2 : 1;
  static constexpr int rows = rows_y * rows_z;
};

/// Sides of 1 are dropped: what is left has the same voxels in the same order with the same
/// neighbours, and rows are long.
inline Extent squeezed(Extent extent) {
  if (extent.y == 1) extent = {extent.x, extent.z, 1};
  if (extent.x == 1) extent = {extent.y, extent.z, 1};
  if (extent.y == 1) extent = {extent.x, extent.z, 1};
  return extent;
}

/// The volume as bundles of words.
struct BundleGrid {
  Extent extent;
  std::int64_t words = 0; ///< along x
  std::int64_t bundles_y = 0, bundles_z = 0;

  HOST_DEVICE std::int64_t bundles() const { return bundles_y * bundles_z; }
  HOST_DEVICE std::int64_t bundle_words() const { return bundles() * words; }
};
template <Connectivity connectivity, class Word>
BundleGrid bundle_grid(const Extent& extent) {
  using Shape = Bundle<connectivity>;
  return {extent, (extent.x + bits_in<Word> - 1) / bits_in<Word>,
          (extent.y + Shape::rows_y - 1) / Shape::rows_y,
          (extent.z + Shape::rows_z - 1) / Shape::rows_z};
}

/// One word of each row of a bundle; row r is at y + r % rows_y, z + r / rows_y.
template <class Word, int rows>
struct alignas(sizeof(Word) * rows) BundleWord {
  Word row[rows];
  HOST_DEVICE Word any() const {
    Word all = row[0];
    for (int r = 1; r < rows; ++r)
      all |= row[r];
    return all;
  }
};

/// A word with the words before and after it in x; 0 outside the volume.
template <class Word>
struct Stretch {
  Word before = 0, here = 0, after = 0;
  HOST_DEVICE Word at_left() const { return here << 1 | before >> (bits_in<Word> - 1); }
  HOST_DEVICE Word at_right() const { return here >> 1 | after << (bits_in<Word> - 1); }
  HOST_DEVICE Word starts() const { return here & ~at_left(); }
  HOST_DEVICE Stretch operator|(const Stretch& other) const {
    return {before | other.before, here | other.here, after | other.after};
  }
};
template <class Word, int rows>
struct BundleStretch {
  BundleWord<Word, rows> before{}, here{}, after{};
  HOST_DEVICE Stretch<Word> row(int r) const { return {before.row[r], here.row[r], after.row[r]}; }
  HOST_DEVICE Stretch<Word> any() const { return {before.any(), here.any(), after.any()}; }
};

/// Number of the run that covers bit `bit` (a power of two) of a word. `first_start` is how many
/// runs start before the word.
template <class Word>
HOST_DEVICE std::uint32_t run_at(std::uint32_t first_start, Word starts, Word bit) {
  return first_start + static_cast<std::uint32_t>(ones(starts & (bit | (bit - 1)))) - 1;
}

/// Where runs of one bundle touch runs of another. `joined` lies in the overlap of the two: its
/// voxels touch, or touch one step aside where a run goes on. At `left` a run of mine touches one
/// of theirs that ends one x before it starts; at `right`, one that starts one x after it ends.
template <class Word>
struct Joints {
  Word joined = 0, left = 0, right = 0;
};

/// Rows `mine` and `theirs` whose voxels touch at the same x.
template <class Word>
HOST_DEVICE void add_straight(Joints<Word>& joints, Word mine, Word theirs) {
  joints.joined |= mine & theirs;
}

/// Rows whose voxels touch at the same x and one x apart. Inlined always, as GCC would pass these
/// small structures through memory.
template <class Word>
[[gnu::always_inline]] HOST_DEVICE inline void
add_diagonal(Joints<Word>& joints, const Stretch<Word>& mine, const Stretch<Word>& theirs,
             const Stretch<Word>& all_mine, const Stretch<Word>& all_theirs) {
  const Word theirs_at_left = theirs.at_left(), theirs_at_right = theirs.at_right();
  joints.joined |= (mine.here & theirs.here)
                   | (all_theirs.here & mine.here & (theirs_at_left | theirs_at_right))
                   | (all_mine.here & theirs.here & (mine.at_left() | mine.at_right()));
  const Word mine_alone = mine.here & ~all_theirs.here;
  joints.left |= mine_alone & theirs_at_left & ~all_mine.at_left();
  joints.right |= mine_alone & theirs_at_right & ~all_mine.at_right();
}

/// The earlier bundles that one can touch.
struct Step {
  int y, z;
};
template <Connectivity connectivity>
constexpr int earlier_bundles = connectivity == Connectivity::six ? 2 : 4;
HOST_DEVICE constexpr Step earlier_bundle(int which) {
  if (which == 0) return {-1, 0};
  if (which == 1) return {0, -1};
  if (which == 2) return {-1, -1};
  return {1, -1};
}

template <Connectivity connectivity, int which, class Word>
[[gnu::always_inline]] HOST_DEVICE inline Joints<Word>
joints_with(const BundleStretch<Word, Bundle<connectivity>::rows>& mine,
            const BundleStretch<Word, Bundle<connectivity>::rows>& theirs) {
  Joints<Word> joints;
  const Stretch<Word> all_mine = mine.any(), all_theirs = theirs.any();
  if constexpr (connectivity == Connectivity::six) {
    add_straight(joints, all_mine.here, all_theirs.here);
  } else if constexpr (connectivity == Connectivity::eighteen) {
    if constexpr (which == 0)
      add_diagonal(joints, mine.row(0), theirs.row(1), all_mine, all_theirs);
    if constexpr (which == 1) {
      add_straight(joints, all_mine.here, all_theirs.here);
      for (int r = 0; r < 2; ++r)
        add_diagonal(joints, mine.row(r), theirs.row(r), all_mine, all_theirs);
    }
    if constexpr (which == 2) add_straight(joints, mine.here.row[0], theirs.here.row[1]);
    if constexpr (which == 3) add_straight(joints, mine.here.row[1], theirs.here.row[0]);
  } else {
    if constexpr (which == 0)
      add_diagonal(joints, mine.row(0) | mine.row(2), theirs.row(1) | theirs.row(3), all_mine,
                   all_theirs);
    if constexpr (which == 1)
      add_diagonal(joints, mine.row(0) | mine.row(1), theirs.row(2) | theirs.row(3), all_mine,
                   all_theirs);
    if constexpr (which == 2)
      add_diagonal(joints, mine.row(0), theirs.row(3), all_mine, all_theirs);
    if constexpr (which == 3)
      add_diagonal(joints, mine.row(1), theirs.row(2), all_mine, all_theirs);
  }
  return joints;
}

/// Where voxels of the two bundles touch at the same x; part of joints_with().
template <Connectivity connectivity, int which, class Word>
HOST_DEVICE Word straight_joints(const BundleWord<Word, Bundle<connectivity>::rows>& mine,
                                 const BundleWord<Word, Bundle<connectivity>::rows>& theirs) {
  if constexpr (connectivity == Connectivity::six) {
    return mine.row[0] & theirs.row[0];
  } else if constexpr (connectivity == Connectivity::eighteen) {
    if constexpr (which == 1) return mine.any() & theirs.any();
    return which == 3 ? mine.row[1] & theirs.row[0] : mine.row[0] & theirs.row[1];
  } else {
    if constexpr (which == 0) return (mine.row[0] | mine.row[2]) & (theirs.row[1] | theirs.row[3]);
    if constexpr (which == 1) return (mine.row[0] | mine.row[1]) & (theirs.row[2] | theirs.row[3]);
    return which == 3 ? mine.row[1] & theirs.row[2] : mine.row[0] & theirs.row[3];
  }
}

/// The runs of a word.
template <class Word>
struct WordRuns {
  Word all, starts;
  std::uint32_t first_start;
  HOST_DEVICE std::uint32_t at(Word bit) const { return run_at(first_start, starts, bit); }
};

/// Calls unite(run of mine, run of theirs) for all that touch: once for a stretch of overlap, then
/// once for each touch at an end.
template <class Word, class Unite>
HOST_DEVICE void for_each_joint(Joints<Word> joints, const WordRuns<Word>& mine,
                                const WordRuns<Word>& theirs, Unite unite) {
  const Word overlap = mine.all & theirs.all;
  while (joints.joined != 0) {
    const Word bit = joints.joined & (~joints.joined + 1);
    unite(mine.at(bit), theirs.at(bit));
    joints.joined &= overlap + bit; // the carry clears the rest of this stretch of overlap
  }
  // At the left of bit 0 lies the last run that started before this word: number first_start - 1,
  // which is what at() gives where no start is counted.
  for (; joints.left != 0; joints.left &= joints.left - 1) {
    const Word bit = joints.left & (~joints.left + 1);
    unite(mine.at(bit), theirs.at(bit));
  }
  for (; joints.right != 0; joints.right &= joints.right - 1) {
    const Word bit = joints.right & (~joints.right + 1);
    unite(mine.at(bit), theirs.at(bit) + 1);
  }
}

/// Calls visit(run, its bits) for each run or part of one in a word.
template <class Word, class Visit>
HOST_DEVICE void for_each_run(const WordRuns<Word>& runs, Visit visit) {
  Word left = runs.all;
  const Word lowest_bit = left & (~left + 1);
  std::uint32_t run = runs.first_start - ((runs.starts & lowest_bit) != 0 ? 0u : 1u);
  while (left != 0) {
    const Word bit = left & (~left + 1);
    const Word bits = left & ~(left + bit);
    visit(run++, bits);
    left &= ~bits;
  }
}

/// First voxel, in raster order, of the bits of a bundle's word. At least one is set.
template <Connectivity connectivity, class Word>
HOST_DEVICE std::uint32_t
first_voxel(const BundleGrid& grid, std::int64_t bundle, std::int64_t word,
            const BundleWord<Word, Bundle<connectivity>::rows>& voxels, Word bits) {
  using Shape = Bundle<connectivity>;
  int row = 0;
  while (row + 1 < Shape::rows && (voxels.row[row] & bits) == 0)
    ++row;
  const std::int64_t y = bundle % grid.bundles_y * Shape::rows_y + row % Shape::rows_y;
  const std::int64_t z = bundle / grid.bundles_y * Shape::rows_z + row / Shape::rows_y;
  const std::int64_t x = word * bits_in<Word> + trailing_zeros(voxels.row[row] & bits);
  return static_cast<std::uint32_t>((z * grid.extent.y + y) * grid.extent.x + x);
}

/// For a GPU. Voxels as bits are written once, read by the joints of five bundles (mostly from L2),
/// by the numbering and for the labels; a run's parent and first voxel are each touched a few
/// times. `joints`: how often two runs were found to touch; counted on the CPU, estimated on a GPU.
inline Work components_work(std::int64_t voxels, int rows, double runs, double joints,
                            double components) {
  const auto all = static_cast<double>(voxels);
  const double bundle_words = all / (32.0 * rows);
  Work work;
  // Packing and writing take 6 instructions a voxel and row, and 20 a lane of a bundle.
  work.lane_instructions =
      all * (12 + 20.0 / rows) + bundle_words * 4 * 60 + joints * 40 + runs * 60;
  work.dram_bytes = all * (1 + 4 + 4.0 / 8) + bundle_words * 4 * 4 + runs * 4 * 8 + all / 8 * 4;
  work.cached_bytes = joints * 4 * 4 + all / 8 * 4;
  work.working_set_bytes = runs * 8;
  work.dependent_accesses = joints * 4 + runs * 3;
  work.atomics = joints + runs + components;
  work.launches = 11;
  work.device_to_host_bytes = 8;
  work.parallel_width = all;
  work.counts = {{"component_runs", runs}, {"run_joints", joints}, {"components", components}};
  return work;
}

} // namespace breakeven::imaging
