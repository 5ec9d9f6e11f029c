#include "workloads/risk/scoring_trees.h"

#include "workloads/host_device.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace breakeven::risk {

namespace {

using Ranking = ScoringTrees::Ranking;

/// Where a split finds its rows' bytes: a column, and the least byte that goes right.
struct Place {
  std::uint32_t column = 0;
  std::uint8_t least = 0;
};

bool is_leaf(const TreeNode& node) { return node.feature < 0; }
std::size_t child(const TreeNode& node, std::size_t side) {
  return static_cast<std::size_t>(node.left) + side;
}

/// The distinct cuts of each feature, ascending; -0 and 0 are one.
std::vector<std::vector<float>> cuts_of(const Gbdt& model) {
  std::vector<std::vector<float>> cuts(model.feature_names.size());
  for (const Tree& tree : model.trees)
    for (const TreeNode& node : tree)
      if (!is_leaf(node)) {
        assert(node.cut == node.cut);
        cuts[static_cast<std::size_t>(node.feature)].push_back(node.cut);
      }
  for (std::vector<float>& of_feature : cuts) {
    std::sort(of_feature.begin(), of_feature.end());
    of_feature.erase(std::unique(of_feature.begin(), of_feature.end()), of_feature.end());
  }
  return cuts;
}

/// The columns of all splits, and which of them a split has.
class Columns {
public:
  /// By value; `cuts` of each feature.
  Columns(const Gbdt& model, std::vector<std::vector<float>> cuts) : cuts_(std::move(cuts)) {
    std::size_t rankings = 0;
    for (const std::vector<float>& of_feature : cuts_) {
      first_ranking_.push_back(rankings);
      rankings += (of_feature.size() + column_cuts - 1) / column_cuts;
    }
    make(model, rankings);
  }
  /// By bin.
  explicit Columns(const Gbdt& model) {
    for (std::size_t feature = 0; feature < model.feature_names.size(); ++feature)
      first_ranking_.push_back(feature);
    make(model, model.feature_names.size());
  }

  Place place_of(const TreeNode& node) const {
    const std::size_t rank = rank_of(node);
    const Ranking& ranking = rankings_[ranking_of(node)];
    const std::int32_t column = node.missing_goes_left ? ranking.left_column : ranking.right_column;
    return {static_cast<std::uint32_t>(column), static_cast<std::uint8_t>(rank % column_cuts + 1)};
  }

  void move_to(ScoringTrees& trees) {
    trees.columns = columns_;
    for (std::size_t feature = 0; feature < first_ranking_.size(); ++feature) {
      const std::size_t end =
          feature + 1 < first_ranking_.size() ? first_ranking_[feature + 1] : rankings_.size();
      for (std::size_t i = first_ranking_[feature]; i < end; ++i) {
        Ranking& ranking = rankings_[i];
        if (ranking.right_column < 0 && ranking.left_column < 0) continue;
        ranking.feature = static_cast<std::int32_t>(feature);
        if (!cuts_.empty()) add_cuts(cuts_[feature], i - first_ranking_[feature], trees, ranking);
        trees.rankings.push_back(ranking);
      }
    }
  }

private:
  std::size_t rank_of(const TreeNode& node) const {
    if (cuts_.empty()) {
      assert(node.bin >= 0 && node.bin < column_cuts);
      return static_cast<std::size_t>(node.bin);
    }
    const std::vector<float>& cuts = cuts_[static_cast<std::size_t>(node.feature)];
    return static_cast<std::size_t>(std::lower_bound(cuts.begin(), cuts.end(), node.cut)
                                    - cuts.begin());
  }
  std::size_t ranking_of(const TreeNode& node) const {
    return first_ranking_[static_cast<std::size_t>(node.feature)] + rank_of(node) / column_cuts;
  }

  void make(const Gbdt& model, std::size_t rankings) {
    rankings_.resize(rankings);
    for (const Tree& tree : model.trees)
      for (const TreeNode& node : tree) {
        if (is_leaf(node)) continue;
        Ranking& ranking = rankings_[ranking_of(node)];
        (node.missing_goes_left ? ranking.left_column : ranking.right_column) = 0;
      }
    for (Ranking& ranking : rankings_)
      for (std::int32_t* const column : {&ranking.right_column, &ranking.left_column})
        if (*column == 0) *column = static_cast<std::int32_t>(columns_++);
    assert(columns_ < 1u << 23); // so that bytes of a block have 32-bit numbers
  }

  static void add_cuts(const std::vector<float>& cuts, std::size_t part, ScoringTrees& trees,
                       Ranking& ranking) {
    const std::size_t begin = part * column_cuts;
    const std::size_t count = std::min<std::size_t>(cuts.size() - begin, column_cuts);
    std::size_t tables = 1;
    while (tables * cut_table <= count)
      tables *= 2;
    ranking.tables = static_cast<std::int32_t>(tables);
    ranking.first_cut = trees.cuts.size();
    trees.cuts.resize(ranking.first_cut + tables * cut_table,
                      std::numeric_limits<float>::quiet_NaN());
    for (std::size_t i = 0; i < count; ++i)
      trees.cuts[ranking.first_cut + i % tables * cut_table + i / tables] = cuts[begin + i];
  }

  std::vector<std::vector<float>> cuts_; ///< of each feature; none at all: by bin
  std::vector<std::size_t> first_ranking_;
  std::vector<Ranking> rankings_;
  std::uint32_t columns_ = 0;
};

std::vector<std::int64_t> splits_of_levels(const Tree& tree) {
  std::vector<std::int64_t> splits;
  std::vector<std::size_t> level{0}, next;
  for (;; level.swap(next)) {
    next.clear();
    for (const std::size_t node : level)
      if (!is_leaf(tree[node]))
        next.insert(next.end(), {child(tree[node], 0), child(tree[node], 1)});
    if (next.empty()) return splits;
    splits.push_back(static_cast<std::int64_t>(next.size() / 2));
  }
}

/// How many levels are compared whole, so that a row takes the fewest cycles if it goes left as
/// often as right. Cycles are those of AMD's Zen 4.
int top_levels_of(const std::vector<std::int64_t>& splits) {
  constexpr double cycles_a_comparison = 2.0 / 64, cycles_a_step = 6, cycles_before_walk = 5;
  const int levels = static_cast<int>(splits.size());
  double walk = 0, least = std::numeric_limits<double>::max();
  int best = 0;
  for (int level = levels; level >= 0; --level) {
    if (level < levels)
      walk += cycles_a_step
              * std::ldexp(static_cast<double>(splits[static_cast<std::size_t>(level)]), -level);
    if (level > most_top_levels) continue;
    const double cycles = cycles_a_comparison * std::ldexp(1.0, level) + walk
                          + (level < levels ? cycles_before_walk : 0);
    if (cycles >= least) continue;
    least = cycles;
    best = level;
  }
  return best;
}

class Builder {
public:
  Builder(const Columns& columns, ScoringTrees& trees) : columns_(columns), trees_(trees) {
    trees_.deep_nodes.emplace_back();
  }

  void add(const Tree& tree) {
    const std::vector<std::int64_t> splits = splits_of_levels(tree);
    ScoringTrees::Top top;
    top.levels = top_levels_of(splits);
    top.is_deep = top.levels < static_cast<int>(splits.size());
    top.first_comparison = trees_.comparisons.size();
    trees_.comparisons.resize(top.first_comparison + (std::size_t{1} << top.levels) - 1);
    add_top(tree, top);
    trees_.tops.push_back(top);
  }

private:
  void add_top(const Tree& tree, ScoringTrees::Top& top) {
    struct At {
      std::size_t node = 0;
      int level = 0;
      std::size_t comparison = 0, leaf = 0; ///< of its subtree the first one
    };
    const std::size_t leaves = std::size_t{1} << top.levels;
    if (top.is_deep) {
      top.first_leaf = trees_.deep_leaves.size();
      trees_.deep_leaves.resize(top.first_leaf + leaves);
    } else {
      top.first_leaf = trees_.leaves.size();
      trees_.leaves.resize(top.first_leaf + std::max<std::size_t>(leaves, cut_table));
    }
    std::vector<At> nodes{{0, 0, top.first_comparison, top.first_leaf}};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto [at, level, comparison, leaf] = nodes[i];
      const TreeNode& node = tree[at];
      const std::size_t leaves_below = std::size_t{1} << (top.levels - level);
      if (is_leaf(node) || level == top.levels) {
        if (top.is_deep)
          std::fill_n(&trees_.deep_leaves[leaf], leaves_below, deep(tree, at));
        else
          std::fill_n(&trees_.leaves[leaf], leaves_below, node.value);
        continue;
      }
      const Place place = columns_.place_of(node);
      trees_.comparisons[comparison] = {place.column * static_cast<std::uint32_t>(block_rows),
                                        (255u - place.least) * 0x0101'0101u};
      nodes.push_back({child(node, 0), level + 1, comparison + 1, leaf});
      nodes.push_back(
          {child(node, 1), level + 1, comparison + leaves_below / 2, leaf + leaves_below / 2});
    }
  }

  /// The number of a node that is walked from.
  std::uint32_t deep(const Tree& tree, std::size_t root) {
    const std::size_t first = trees_.deep_nodes.size();
    std::vector<std::size_t> nodes{root};
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const TreeNode& node = tree[nodes[i]];
      if (is_leaf(node)) {
        trees_.deep_nodes.push_back({0, bits_of(node.value)});
        continue;
      }
      const Place place = columns_.place_of(node);
      trees_.deep_nodes.push_back(
          {static_cast<std::uint32_t>(first + nodes.size()), place.column << 8 | place.least});
      nodes.insert(nodes.end(), {child(node, 0), child(node, 1)});
    }
    assert(trees_.deep_nodes.size() <= std::numeric_limits<std::uint32_t>::max());
    return static_cast<std::uint32_t>(first);
  }

  const Columns& columns_;
  ScoringTrees& trees_;
};

ScoringTrees made(const Gbdt& model, Columns columns) {
  ScoringTrees trees;
  trees.features = static_cast<std::int32_t>(model.feature_names.size());
  trees.base_margin = model.base_margin;
  Builder builder(columns, trees);
  for (const Tree& tree : model.trees)
    builder.add(tree);
  columns.move_to(trees);
  return trees;
}

} // namespace

ScoringTrees scoring_trees(const Gbdt& model) {
  return made(model, Columns(model, cuts_of(model)));
}

ScoringTrees scoring_trees_of_bins(const Gbdt& model) { return made(model, Columns(model)); }

} // namespace breakeven::risk
