// How a tree grows, level by level: what both paths share above the loops over rows and bins. Takes
// an engine that knows these loops, gives the tree. The rows of a node lie together; a level's
// engine moves them into the order of its children. Of two children the one of fewer rows is
// summed, the other's sums are the parent's less these.
#pragma once

#include "workloads/risk/gbdt.h"
#include "workloads/risk/gbdt_paths.h"

#include <utility>
#include <vector>

namespace breakeven::risk {

struct Range {
  std::int64_t begin = 0, end = 0;
  HOST_DEVICE std::int64_t count() const { return end - begin; }
};

/// Of equal scores the split with the lowest feature is taken, then that with missing values to the
/// right, then the lowest bin.
struct Split {
  double score = 0;          ///< of both children
  std::int32_t feature = -1; ///< none where it is negative
  std::int32_t bin = 0;
  bool missing_goes_left = false;
  GradientSum left;
};

/// Bins left of a split, without a special case for the missing bin: 255 + 1 is 0.
struct LeftBins {
  std::uint8_t shift = 0, most = 0;
  LeftBins() = default;
  HOST_DEVICE explicit LeftBins(const Split& split)
      : shift(split.missing_goes_left ? 1 : 0),
        most(static_cast<std::uint8_t>(split.bin + shift)) {}
  HOST_DEVICE bool operator()(std::uint8_t bin) const {
    return static_cast<std::uint8_t>(bin + shift) <= most;
  }
};

struct LevelNode {
  Range rows;
  std::int32_t node = 0; ///< in the tree
  GradientSum sum;
  Split split;
};
using Level = std::vector<LevelNode>;

/// Nodes of a level whose parent is `parent` of the level before.
struct Siblings {
  std::size_t parent = 0, summed = 0, other = 0;
};

struct RootRows {
  std::int64_t count = 0; ///< drawn for this tree
  GradientSum sum;
};

/// Each engine has the members that grow_tree() calls:
///
///   RootRows begin(int round, const std::vector<std::int32_t>& columns);
///     finds gradients by the margins, draws the rows
///   void find_splits(Level& level, const std::vector<Siblings>& siblings);
///     sums by bins and sets each node's split; without siblings the level is the root
///   void move_rows(const Level&, const std::vector<std::size_t>& nodes, Level& children);
///     children 2 i and 2 i + 1 are those of nodes[i]; sets their rows
///   void add_values(const Level&, const std::vector<std::size_t>& nodes, const Tree&);
///     adds the value of each node's leaf to the margins of its rows
///   void add_values_of_children(const Level&, const std::vector<std::size_t>& nodes, const Tree&);
///     the same of the leaves that each node is split into, before its rows are moved
///   void end(const Tree&);
///     adds values to the margins of the rows that were not drawn
///   double validation_loss(const Tree&);
///     mean loss of the validation rows with one tree more
template <class Engine>
class TreeGrower {
public:
  TreeGrower(Engine& engine, const Cuts& cuts, const GbdtParameters& parameters,
             const SplitRules& rules)
      : engine_(engine),
        cuts_(cuts),
        parameters_(parameters),
        rules_(rules) {}

  Tree grow(int round) {
    tree_.assign(1, {});
    const auto features = static_cast<int>(cuts_.of_feature.size());
    const RootRows root = engine_.begin(round, drawn_columns(features, parameters_, round));
    Level level(1);
    level[0].rows = {0, root.count};
    level[0].sum = root.sum;
    engine_.find_splits(level, {});
    for (int depth = 1; !level.empty(); ++depth)
      level = next_level(level, depth == parameters_.depth);
    engine_.end(tree_);
    return std::move(tree_);
  }

private:
  Level next_level(const Level& level, bool is_last) {
    std::vector<std::size_t> split, ended;
    for (std::size_t node = 0; node < level.size(); ++node)
      (level[node].split.feature >= 0 ? split : ended).push_back(node);
    for (const std::size_t node : ended)
      make_leaf(level[node]);
    engine_.add_values(level, ended, tree_);
    Level children;
    for (const std::size_t node : split)
      add_children(level[node], children);
    if (is_last) {
      for (const LevelNode& child : children)
        make_leaf(child);
      engine_.add_values_of_children(level, split, tree_);
      return {};
    }
    if (children.empty()) return {};
    engine_.move_rows(level, split, children);
    engine_.find_splits(children, siblings_of(split, children));
    return children;
  }

  void add_children(const LevelNode& parent, Level& children) {
    const auto left = static_cast<std::int32_t>(tree_.size());
    TreeNode& node = tree_[static_cast<std::size_t>(parent.node)];
    node.feature = parent.split.feature;
    node.bin = parent.split.bin;
    node.cut =
        cuts_
            .of_feature[static_cast<std::size_t>(node.feature)][static_cast<std::size_t>(node.bin)];
    node.left = left;
    node.missing_goes_left = parent.split.missing_goes_left;
    node.gain = parent.split.score - score_of(rules_, parent.sum);
    node.hessian = hessian_of(parent.sum);
    tree_.resize(tree_.size() + 2);
    for (int side = 0; side < 2; ++side) {
      LevelNode child;
      child.node = left + side;
      child.sum = side == 0 ? parent.split.left : parent.sum - parent.split.left;
      children.push_back(child);
    }
  }

  void make_leaf(const LevelNode& level_node) {
    TreeNode& node = tree_[static_cast<std::size_t>(level_node.node)];
    node.value = static_cast<float>(leaf_value(rules_, level_node.sum)) * parameters_.learning_rate;
    node.hessian = hessian_of(level_node.sum);
  }

  double hessian_of(const GradientSum& sum) const {
    return static_cast<double>(sum.hessian) * rules_.hessian_quantum;
  }

  static std::vector<Siblings> siblings_of(const std::vector<std::size_t>& split,
                                           const Level& children) {
    std::vector<Siblings> siblings;
    for (std::size_t i = 0; i < split.size(); ++i) {
      const std::size_t left = 2 * i, right = left + 1;
      const bool left_is_summed = children[left].rows.count() <= children[right].rows.count();
      siblings.push_back({split[i], left_is_summed ? left : right, left_is_summed ? right : left});
    }
    return siblings;
  }

  Engine& engine_;
  const Cuts& cuts_;
  const GbdtParameters& parameters_;
  const SplitRules& rules_;
  Tree tree_;
};

/// Tree after tree, until there are enough or the validation loss has not fallen for long enough.
template <class Engine>
Training train_with(Engine& engine, const Cuts& cuts, const GbdtParameters& parameters,
                    const SplitRules& rules, bool has_validation) {
  Training training;
  training.model.base_margin = parameters.base_margin;
  std::vector<Tree>& trees = training.model.trees;
  std::vector<double>& losses = training.validation_losses;
  TreeGrower grower(engine, cuts, parameters, rules);
  const bool may_stop = has_validation && parameters.early_stopping_rounds > 0;
  std::size_t best = 0;
  for (int round = 0; round < parameters.rounds; ++round) {
    trees.push_back(grower.grow(round));
    if (!has_validation) continue;
    losses.push_back(engine.validation_loss(trees.back()));
    if (losses.back() < losses[best]) best = losses.size() - 1;
    const std::size_t worse = losses.size() - 1 - best;
    if (may_stop && worse >= static_cast<std::size_t>(parameters.early_stopping_rounds)) break;
  }
  if (may_stop) trees.resize(best + 1);
  return training;
}

} // namespace breakeven::risk
