// A model made ready for scoring many rows at once. Only the order of a value among the model's
// cuts counts, so values become bytes (as in RapidScorer, Ye et al., KDD 2018), of which one
// instruction compares 64 with a cut. All comparisons of a tree's first levels are made, whether or
// not a row meets them; which of them count is chosen by their bits, without a branch or a gather.
// Levels below are walked. Takes a model, gives tables. Leaves out rows (gbdt_score.h).
#pragma once

#include "workloads/risk/gbdt.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace breakeven::risk {

constexpr int most_top_levels = 8;       ///< whose comparisons are all made
constexpr std::int64_t block_rows = 512; ///< scored at once: bytes from column to column
constexpr int column_cuts = 254;         ///< ranks 0 to 254, and 255 for a missing value
constexpr int cut_table = 32;            ///< floats that two AVX-512 registers hold

struct ScoringTrees {
  /// Up to column_cuts cuts of one feature. A value's rank, the number of cuts up to it, goes to a
  /// column where missing values have the highest byte and go right, and to one where they have the
  /// lowest, whichever the trees have splits for.
  struct Ranking {
    std::int32_t feature = 0;
    std::int32_t right_column = -1, left_column = -1;
    std::int32_t tables = 0; ///< 1, 2, 4 or 8 of cut_table cuts; none for rows that are binned
    /// Cut i lies at i / tables of table i % tables; behind the last there are NaN.
    std::size_t first_cut = 0;
  };
  struct Comparison {
    std::uint32_t column = 0; ///< its first byte in a block
    std::uint32_t above = 0;  ///< 255 less the least byte that goes right, four times
  };
  /// The first levels of a tree, filled up to a complete one: each comparison is followed by those
  /// of its left subtree, then of its right one; leaves lie from left to right.
  struct Top {
    std::size_t first_comparison = 0;
    std::size_t first_leaf = 0;
    std::int32_t levels = 0;
    bool is_deep = false; ///< leaves are numbers of deep nodes, else floats
  };
  struct DeepNode {
    std::uint32_t left = 0;  ///< the right child follows; 0: a leaf
    std::uint32_t least = 0; ///< in the low byte, the column above it; of a leaf its float's bits
  };

  std::int32_t features = 0;
  float base_margin = 0;
  std::uint32_t columns = 0;
  std::vector<Ranking> rankings; ///< by feature
  std::vector<float> cuts;
  std::vector<Top> tops; ///< in the order of the trees
  std::vector<Comparison> comparisons;
  std::vector<float> leaves; ///< of a tree at least cut_table
  std::vector<std::uint32_t> deep_leaves;
  std::vector<DeepNode> deep_nodes; ///< the first is none, so that 0 can say so
};

/// For rows of raw values. Any number of trees, cuts and levels.
ScoringTrees scoring_trees(const Gbdt& model);
/// For rows binned with the cuts that the model was trained with. A model from a file has no bins.
ScoringTrees scoring_trees_of_bins(const Gbdt& model);

} // namespace breakeven::risk
