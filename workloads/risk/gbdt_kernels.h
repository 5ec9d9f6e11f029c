// Kernels of boosted trees. A block has a tile of the rows of one node, so that whatever belongs to
// the node is the same for all its threads. What is shared with the CPU is in gbdt.h and
// gbdt_grow.h.
#pragma once

#include "workloads/launch.h"
#include "workloads/risk/gbdt_grow.h"
#include "workloads/risk/gbdt_work.h"

#include <bit>

namespace breakeven::ON_PATH::risk_gbdt {

using namespace ::breakeven::risk;

constexpr int bins_of_feature = 256;
constexpr int block_size = 256; ///< a thread a bin, where a block has bins
constexpr int warps = block_size / threads_per_warp;
constexpr int word_features = 4, group_features = 16;

/// Rows of one node that one block takes: fewer than overflow 32-bit sums.
struct Tile {
  std::int64_t begin;
  std::int32_t count, node;
};
constexpr std::int64_t tile_rows = gbdt_tile_rows;
static_assert(tile_rows <= rows_before_overflow);

/// Bins of the rows from `first_row` on.
struct Bins {
  const std::uint8_t* bytes;
  std::int64_t row_bytes, first_row;
  HOST_DEVICE const std::uint8_t* row(std::int64_t number) const {
    return bytes + (number - first_row) * row_bytes;
  }
};

HOST_DEVICE inline std::int64_t row_at(const std::uint32_t* numbers, std::int64_t place) {
  return numbers != nullptr ? std::int64_t{numbers[place]} : place;
}
HOST_DEVICE inline std::size_t index(int i) { return static_cast<std::size_t>(i); }

/// Adds a sum of signed numbers; both halves wrap as unsigned ones do.
DEVICE_ONLY inline void add_to(std::uint64_t* sums, const GradientSum& sum) {
  atomic_add(sums, static_cast<std::uint64_t>(sum.gradient));
  atomic_add(sums + 1, static_cast<std::uint64_t>(sum.hessian));
}

// ---- gradients ----

/// Of the rows that `numbers` gives from place `begin` on; `sums` gets their sum.
struct FindGradients {
  DEVICE_ONLY void operator()(const Thread& thread, const float* margins,
                              const std::uint8_t* labels, const std::uint32_t* numbers,
                              std::int64_t begin, std::int64_t count, float positive_weight,
                              float gradient_quanta, float hessian_quanta, std::int64_t* gradients,
                              std::uint64_t* sums) const {
    GradientSum sum;
    const std::int64_t stride = thread.grid_size() * thread.block_size();
    for (std::int64_t i = begin + thread.global_index(); i < begin + count; i += stride) {
      const std::int64_t row = row_at(numbers, i);
      const std::int64_t both = packed_gradient(
          gradient_of(margins[row], labels[row], positive_weight), gradient_quanta, hessian_quanta);
      gradients[i] = both;
      sum = sum + unpacked(both);
    }
    for (int delta = threads_per_warp / 2; delta > 0; delta /= 2) {
      sum.gradient += thread.shuffle_down(sum.gradient, delta);
      sum.hessian += thread.shuffle_down(sum.hessian, delta);
    }
    if (thread.lane() == 0) add_to(sums, sum);
  }
};

/// Bytes of the features in use alone, of the first rows that `bins` has.
struct TakeColumns {
  DEVICE_ONLY void operator()(const Thread& thread, const Bins& bins, std::int64_t count,
                              const std::int32_t* features, int feature_count, std::uint8_t* out,
                              std::int64_t out_bytes) const {
    const std::int64_t i = thread.global_index();
    const std::int64_t row = i / out_bytes, place = i % out_bytes;
    if (row >= count) return;
    out[i] =
        place < feature_count ? bins.row(bins.first_row + row)[features[place]] : std::uint8_t{0};
  }
};

// ---- sums by bin ----

/// One group of features of one tile. Gradients and hessians are summed apart in shared memory, as
/// 32-bit numbers, whose atomics are native there, all of the former before the latter, so that
/// either kind falls on every bank; four neighbours read the 16 bytes of a row.
struct SumByBins {
  HOST_DEVICE static std::size_t shared_bytes(int features) {
    return index(2 * features * bins_of_feature) * sizeof(std::uint32_t);
  }

  DEVICE_ONLY void operator()(const Thread& thread, const Bins& bins, int first_feature,
                              int features, const std::uint32_t* numbers,
                              const std::int64_t* gradients, const Tile* tiles,
                              const std::int64_t* first_sum_of_node, std::uint64_t* sums) const {
    const Tile tile = tiles[thread.block_index()];
    const auto own = thread.shared<std::uint32_t>(0, index(2 * features * bins_of_feature));
    for (auto i = index(thread.thread_index()); i < own.size(); i += index(thread.block_size()))
      own[i] = 0u;
    thread.sync();
    add_rows(thread, bins, first_feature, features, numbers, gradients, tile, own);
    thread.sync();
    std::uint64_t* const out =
        sums + 2 * (first_sum_of_node[tile.node] + first_feature * bins_of_feature);
    for (int i = thread.thread_index(); i < features * bins_of_feature; i += thread.block_size()) {
      const std::uint32_t gradient = own[index(i)],
                          hessian = own[index(features * bins_of_feature + i)];
      if (hessian != 0) // no row has none
        add_to(out + 2 * i, {static_cast<std::int32_t>(gradient), hessian});
    }
  }

private:
  DEVICE_ONLY static void add_rows(const Thread& thread, const Bins& rows, int first_feature,
                                   int features, const std::uint32_t* numbers,
                                   const std::int64_t* gradients, const Tile& tile,
                                   const SharedArray<std::uint32_t>& own) {
    const int words = (features + word_features - 1) / word_features;
    const int word = thread.thread_index() % words;
    const int rows_at_once = thread.block_size() / words;
    if (thread.thread_index() >= rows_at_once * words) return;
    for (std::int64_t i = thread.thread_index() / words; i < tile.count; i += rows_at_once) {
      const std::int64_t place = tile.begin + i;
      const GradientSum sum = unpacked(gradients[place]);
      std::uint32_t bins = 0;
      // Rows begin at eight bytes; unless it knows, nvcc reads byte by byte.
      memcpy(&bins,
             __builtin_assume_aligned(rows.row(row_at(numbers, place)) + first_feature
                                          + word * word_features,
                                      word_features),
             sizeof bins);
      for (int k = 0; k < word_features && word * word_features + k < features; ++k) {
        const int bin =
            (word * word_features + k) * bins_of_feature + static_cast<int>(bins >> (8 * k) & 0xFF);
        atomic_add(own, index(bin), static_cast<std::uint32_t>(sum.gradient));
        atomic_add(own, index(features * bins_of_feature + bin),
                   static_cast<std::uint32_t>(sum.hessian));
      }
    }
  }
};

/// Where the sums of two siblings and of their parent begin.
struct SiblingSums {
  std::int64_t parent, summed, other;
};
struct SubtractSums {
  DEVICE_ONLY void operator()(const Thread& thread, const SiblingSums* siblings,
                              std::int64_t sums_of_node, std::int64_t count,
                              const GradientSum* parents, GradientSum* sums) const {
    const std::int64_t i = thread.global_index();
    if (i >= count) return;
    const SiblingSums& pair = siblings[i / sums_of_node];
    const std::int64_t at = i % sums_of_node;
    sums[pair.other + at] = parents[pair.parent + at] - sums[pair.summed + at];
  }
};

// ---- splits ----

/// Inclusive sum over the threads of a block, by warps and then over them.
DEVICE_ONLY inline GradientSum scanned(const Thread& thread, GradientSum value,
                                       const SharedArray<GradientSum>& of_warps) {
  for (int delta = 1; delta < threads_per_warp; delta *= 2) {
    const GradientSum before{thread.shuffle_up(value.gradient, delta),
                             thread.shuffle_up(value.hessian, delta)};
    if (thread.lane() >= delta) value = value + before;
  }
  if (thread.lane() == threads_per_warp - 1) of_warps[index(thread.warp())] = value;
  thread.sync();
  for (int warp = 0; warp < thread.warp(); ++warp) {
    const GradientSum sum = of_warps[index(warp)];
    value = value + sum;
  }
  return value;
}

/// A split's place in the order of equals: missing values to the right first, then lower bins.
struct Candidate {
  double score;
  std::int32_t code; ///< bin, and bins_of_feature more where missing values go left
  HOST_DEVICE bool is_before(const Candidate& other) const {
    return score > other.score || (score == other.score && code < other.code);
  }
};

/// A block a node and feature, a thread a bin.
struct FindSplits {
  HOST_DEVICE static std::size_t shared_bytes() {
    return index(warps) * (sizeof(GradientSum) + sizeof(Candidate));
  }

  DEVICE_ONLY void operator()(const Thread& thread, const GradientSum* sums,
                              const GradientSum* node_sums, const std::int32_t* cuts, int features,
                              SplitRules rules, Split* splits) const {
    const std::int64_t node = thread.block_index() / features;
    const auto feature = static_cast<std::int32_t>(thread.block_index() % features);
    const GradientSum* const own = sums + thread.block_index() * bins_of_feature;
    const int bin = thread.thread_index();
    const GradientSum missing = own[missing_bin], all = node_sums[node];
    const GradientSum left = scanned(thread, own[bin], thread.shared<GradientSum>(0, index(warps)));
    Candidate best{-1, bin};
    if (bin < cuts[feature]) {
      best.score = score_of_split(rules, all, left);
      const Candidate other{score_of_split(rules, all, left + missing), bins_of_feature + bin};
      if (missing.hessian != 0 && other.is_before(best)) best = other;
    }
    const Candidate of_block = first_of_block(thread, best);
    if (of_block.code % bins_of_feature != bin) return;
    Split split;
    split.feature = of_block.score > least_score(rules, all) ? feature : -1;
    split.score = of_block.score;
    split.bin = bin;
    split.missing_goes_left = of_block.code >= bins_of_feature;
    split.left = split.missing_goes_left ? left + missing : left;
    splits[thread.block_index()] = split;
  }

private:
  DEVICE_ONLY static Candidate first_of_block(const Thread& thread, Candidate best) {
    const auto of_warps =
        thread.shared<Candidate>(index(warps) * sizeof(GradientSum), index(warps));
    for (int delta = threads_per_warp / 2; delta > 0; delta /= 2) {
      const Candidate other{thread.shuffle_down(best.score, delta),
                            thread.shuffle_down(best.code, delta)};
      if (other.is_before(best)) best = other;
    }
    if (thread.lane() == 0) of_warps[index(thread.warp())] = best;
    thread.sync();
    best = {-2, 0};
    for (int warp = 0; warp < warps; ++warp) {
      const Candidate other = of_warps[index(warp)];
      if (other.is_before(best)) best = other;
    }
    return best;
  }
};

/// A thread a node: the first feature of the highest score, among those in use.
struct ChooseFeatures {
  DEVICE_ONLY void operator()(const Thread& thread, const Split* splits, std::int64_t nodes,
                              int features, Split* chosen) const {
    const std::int64_t node = thread.global_index();
    if (node >= nodes) return;
    Split best;
    for (int feature = 0; feature < features; ++feature) {
      const Split& split = splits[node * features + feature];
      if (split.feature >= 0 && (best.feature < 0 || split.score > best.score)) best = split;
    }
    chosen[node] = best;
  }
};

// ---- rows to the children ----

struct NodeSplit {
  std::int32_t feature;
  LeftBins is_left;
};

DEVICE_ONLY inline bool goes_left(const Bins& bins, std::int64_t row, const NodeSplit& split) {
  return split.is_left(bins.row(row)[split.feature]);
}

/// A bit a row of a tile, 32 in a word: set where it goes left.
constexpr std::int64_t side_words = tile_rows / threads_per_warp;

/// Sides of each tile's rows, and how many go left. So rows can be moved without their bins.
struct FindSides {
  DEVICE_ONLY void operator()(const Thread& thread, const Bins& bins, const std::uint32_t* numbers,
                              const Tile* tiles, const NodeSplit* splits, std::uint32_t* sides,
                              std::int32_t* lefts) const {
    const Tile tile = tiles[thread.block_index()];
    const NodeSplit split = splits[tile.node];
    std::uint32_t* const own = sides + thread.block_index() * side_words;
    const auto count = thread.shared<std::uint32_t>(0, 1);
    if (thread.thread_index() == 0) count[0] = 0u;
    thread.sync();
    for (std::int64_t begin = 0; begin < tile.count; begin += thread.block_size()) {
      const std::int64_t i = begin + thread.thread_index();
      const bool left = i < tile.count && goes_left(bins, row_at(numbers, tile.begin + i), split);
      const std::uint32_t bits = thread.ballot(left);
      if (thread.lane() == 0) {
        own[i / threads_per_warp] = bits;
        atomic_add(count, 0, static_cast<std::uint32_t>(std::popcount(bits)));
      }
    }
    thread.sync();
    const std::uint32_t sum = count[0];
    if (thread.thread_index() == 0) lefts[thread.block_index()] = static_cast<std::int32_t>(sum);
  }
};

/// Where a tile's rows go.
struct TilePlaces {
  std::int64_t left, right;
};

/// Moves numbers and gradients, in their order.
struct MoveRows {
  HOST_DEVICE static std::size_t shared_bytes() { return index(warps) * sizeof(std::int32_t); }

  DEVICE_ONLY void operator()(const Thread& thread, const std::uint32_t* numbers,
                              const std::int64_t* gradients, const Tile* tiles,
                              const std::uint32_t* sides, const TilePlaces* places,
                              std::uint32_t* numbers_out, std::int64_t* gradients_out) const {
    const Tile tile = tiles[thread.block_index()];
    const std::uint32_t* const own = sides + thread.block_index() * side_words;
    TilePlaces place = places[thread.block_index()];
    const auto of_warps = thread.shared<std::int32_t>(0, index(warps));
    for (std::int64_t begin = 0; begin < tile.count; begin += thread.block_size()) {
      const std::int64_t i = begin + thread.thread_index();
      const bool here = i < tile.count;
      const std::uint32_t bits = own[i / threads_per_warp];
      const std::uint32_t lanes_before = (1u << thread.lane()) - 1;
      if (thread.lane() == 0) of_warps[index(thread.warp())] = std::popcount(bits);
      thread.sync();
      std::int64_t left_before = std::popcount(bits & lanes_before), left_here = 0;
      for (int warp = 0; warp < warps; ++warp) {
        const std::int32_t of_warp = of_warps[index(warp)];
        if (warp < thread.warp()) left_before += of_warp;
        left_here += of_warp;
      }
      if (here) {
        const bool left = (bits >> thread.lane() & 1) != 0;
        const std::int64_t to =
            left ? place.left + left_before : place.right + thread.thread_index() - left_before;
        numbers_out[to] = static_cast<std::uint32_t>(row_at(numbers, tile.begin + i));
        gradients_out[to] = gradients[tile.begin + i];
      }
      place.left += left_here;
      place.right += thread.block_size() - left_here;
      thread.sync(); // before the counts are overwritten
    }
  }
};

// ---- margins ----

/// What a node's rows are given: one value, or one of two by a split.
struct NodeValues {
  NodeSplit split;
  float left, right;
};
struct AddValues {
  DEVICE_ONLY void operator()(const Thread& thread, const Bins& bins, const std::uint32_t* numbers,
                              const Tile* tiles, const NodeValues* values, float* margins) const {
    const Tile tile = tiles[thread.block_index()];
    const NodeValues of_node = values[tile.node];
    for (std::int64_t i = thread.thread_index(); i < tile.count; i += thread.block_size()) {
      const std::int64_t row = row_at(numbers, tile.begin + i);
      const bool left = of_node.split.feature < 0 || goes_left(bins, row, of_node.split);
      margins[row] += left ? of_node.left : of_node.right;
    }
  }
};

/// Walks a tree for each of `count` rows from place `begin` on.
struct AddTree {
  DEVICE_ONLY void operator()(const Thread& thread, const TreeNode* tree, const Bins& bins,
                              const std::uint32_t* numbers, std::int64_t begin, std::int64_t count,
                              float* margins) const {
    const std::int64_t i = thread.global_index();
    if (i >= count) return;
    const std::int64_t row = row_at(numbers, begin + i);
    const TreeNode* node = tree;
    while (node->feature >= 0) {
      const std::uint8_t bin = bins.row(row)[node->feature];
      const bool left = bin == missing_bin ? node->missing_goes_left : bin <= node->bin;
      node = tree + node->left + (left ? 0 : 1);
    }
    margins[row] += node->value;
  }
};

struct SumLosses {
  DEVICE_ONLY void operator()(const Thread& thread, const float* margins,
                              const std::uint8_t* labels, std::int64_t count,
                              std::uint64_t* sum) const {
    std::int64_t own = 0;
    const std::int64_t stride = thread.grid_size() * thread.block_size();
    for (std::int64_t i = thread.global_index(); i < count; i += stride)
      own += loss_quanta(margins[i], labels[i]);
    for (int delta = threads_per_warp / 2; delta > 0; delta /= 2)
      own += thread.shuffle_down(own, delta);
    if (thread.lane() == 0) atomic_add(sum, static_cast<std::uint64_t>(own));
  }
};

template <class T>
struct Fill {
  DEVICE_ONLY void operator()(const Thread& thread, T* data, std::int64_t count, T value) const {
    const std::int64_t i = thread.global_index();
    if (i < count) data[i] = value;
  }
};

} // namespace breakeven::ON_PATH::risk_gbdt
