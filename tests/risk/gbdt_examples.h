// Small tables and parameter sets for the tests of boosted trees, and the simplest code that grows
// the same trees.
#pragma once

#include "workloads/risk/binned.h"
#include "workloads/risk/gbdt.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

namespace breakeven::risk::gbdt_examples {

struct Table {
  std::int64_t rows = 0;
  int features = 0;
  std::vector<float> values; ///< row by row
  std::vector<std::uint8_t> labels;
};

inline Rows rows_of(const Table& table) {
  Rows rows;
  rows.count = table.rows;
  for (int feature = 0; feature < table.features; ++feature)
    rows.feature_names.push_back("feature " + std::to_string(feature));
  rows.read = [&table](std::int64_t begin, std::int64_t end, float* values, std::uint8_t* labels) {
    std::copy(table.values.begin() + begin * table.features,
              table.values.begin() + end * table.features, values);
    std::copy(table.labels.begin() + begin, table.labels.begin() + end, labels);
  };
  return rows;
}

class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() { // SplitMix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }

private:
  std::uint64_t state_;
};

struct TableShape {
  std::int64_t rows = 0;
  int features = 0;
  double missing = 0, positives = 0.3;
};

/// Continuous, whole-numbered, two-valued and constant features; the label depends on some of them.
inline Table table_of(const TableShape& shape, std::uint64_t seed) {
  Random random{seed};
  Table table{shape.rows, shape.features, {}, {}};
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    double score = 0;
    for (int feature = 0; feature < shape.features; ++feature) {
      const double unit = random.unit();
      double value = unit;
      if (feature % 5 == 1) value = std::floor(unit * 9) - 4;
      if (feature % 5 == 2) value = unit < 0.9 ? 0 : 1;
      if (feature % 5 == 3) value = -std::log(unit + 1e-9) * 1000;
      if (feature == 14) value = 2.5;
      if (feature < 4) score += feature % 2 == 0 ? value : -value / (feature == 1 ? 4 : 2000);
      const bool is_missing = random.unit() < shape.missing;
      table.values.push_back(is_missing ? std::numeric_limits<float>::quiet_NaN()
                                        : static_cast<float>(value));
    }
    score += (random.unit() - 0.5) * 2;
    table.labels.push_back(score > 1.2 - shape.positives ? 1 : 0);
  }
  table.labels.front() = 0;
  table.labels.back() = 1;
  return table;
}

struct Example {
  const char* name;
  TableShape shape;
  GbdtParameters parameters;
  int bins = most_bins;
};

inline GbdtParameters parameters_of(int rounds, int depth) {
  GbdtParameters p;
  p.rounds = rounds;
  p.depth = depth;
  return p;
}
template <class Change>
GbdtParameters with(GbdtParameters p, const Change& change) {
  change(p);
  return p;
}

inline std::vector<Example> examples() {
  const GbdtParameters usual = parameters_of(3, 4);
  return {
      {"one feature", {400, 1}, usual},
      {"as many features as a group has", {500, 16}, usual},
      {"one feature more than two groups", {300, 33}, parameters_of(2, 3)},
      {"missing values", {700, 6, 0.2}, usual},
      {"mostly missing", {500, 5, 0.9}, usual},
      {"few bins", {800, 7, 0.1}, usual, 8},
      {"two bins", {400, 5}, usual, 2},
      {"no splits at all", {200, 4}, with(usual, [](auto& p) { p.min_child_weight = 1e6f; })},
      {"one level", {500, 5}, parameters_of(4, 1)},
      {"deep, with few rows in a leaf",
       {600, 5},
       with(parameters_of(2, 9), [](auto& p) { p.min_child_weight = 0; })},
      {"half of the rows", {900, 5}, with(usual, [](auto& p) { p.row_share = 0.5f; })},
      {"a third of the columns", {500, 13}, with(usual, [](auto& p) { p.column_share = 0.34f; })},
      {"rows, columns and missing values",
       {900, 11, 0.15},
       with(usual,
            [](auto& p) {
              p.row_share = 0.7f;
              p.column_share = 0.5f;
              p.seed = 9;
            })},
      {"a rare class that counts for more",
       {800, 6, 0, -0.6},
       with(usual, [](auto& p) { p.positive_weight = 12; })},
      {"heavy regularisation",
       {500, 6},
       with(usual,
            [](auto& p) {
              p.l2 = 50;
              p.min_gain = 2;
              p.learning_rate = 0.5f;
              p.base_margin = -1.5f;
            })},
  };
}

// ---- the same trees, one row and one sum after the other ----

struct ReferenceTrainer {
  const Table& table;
  const Cuts& cuts;
  const GbdtParameters& parameters;
  std::vector<float> margins{};
  std::vector<GradientSum> gradients{};
  SplitRules rules{};
  int round = 0;

  int bin_of(std::int64_t row, int feature) const {
    const float value = table.values[static_cast<std::size_t>(row * table.features + feature)];
    if (std::isnan(value)) return missing_bin;
    int bin = 0;
    for (const float cut : cuts.of_feature[static_cast<std::size_t>(feature)])
      bin += value >= cut;
    return bin;
  }

  std::vector<Tree> run() {
    margins.assign(static_cast<std::size_t>(table.rows), parameters.base_margin);
    gradients.resize(margins.size());
    const float quanta = quanta_in_one(std::max(1.0f, parameters.positive_weight));
    rules = {1.0 / static_cast<double>(quanta), 1.0 / static_cast<double>(4 * quanta),
             static_cast<double>(parameters.l2), static_cast<double>(parameters.min_child_weight),
             static_cast<double>(parameters.min_gain)};
    std::vector<Tree> trees;
    for (round = 0; round < parameters.rounds; ++round) {
      std::vector<std::int64_t> rows;
      for (std::int64_t row = 0; row < table.rows; ++row) {
        const auto i = static_cast<std::size_t>(row);
        gradients[i] = unpacked(
            packed_gradient(gradient_of(margins[i], table.labels[i], parameters.positive_weight),
                            quanta, 4 * quanta));
        if (row_is_drawn(parameters.seed, share_of_2_32(parameters.row_share), round, row))
          rows.push_back(row);
      }
      trees.push_back(grow(rows));
      for (std::int64_t row = 0; row < table.rows; ++row)
        margins[static_cast<std::size_t>(row)] += value_of(trees.back(), row);
    }
    return trees;
  }

  float value_of(const Tree& tree, std::int64_t row) const {
    std::size_t node = 0;
    while (tree[node].feature >= 0) {
      const int bin = bin_of(row, tree[node].feature);
      const bool is_left =
          bin == missing_bin ? tree[node].missing_goes_left : bin <= tree[node].bin;
      node = static_cast<std::size_t>(tree[node].left + (is_left ? 0 : 1));
    }
    return tree[node].value;
  }

  GradientSum sum_of(const std::vector<std::int64_t>& rows) const {
    GradientSum sum;
    for (const std::int64_t row : rows)
      sum = sum + gradients[static_cast<std::size_t>(row)];
    return sum;
  }

  Tree grow(const std::vector<std::int64_t>& all) const {
    Tree tree(1);
    std::vector<std::pair<std::size_t, std::vector<std::int64_t>>> level{{0, all}};
    for (int depth = 0; !level.empty(); ++depth) {
      std::vector<std::pair<std::size_t, std::vector<std::int64_t>>> next;
      for (const auto& [node, rows] : level)
        split(tree, node, rows, depth < parameters.depth, next);
      level = std::move(next);
    }
    return tree;
  }

  void split(Tree& tree, std::size_t node, const std::vector<std::int64_t>& rows, bool may_split,
             std::vector<std::pair<std::size_t, std::vector<std::int64_t>>>& next) const {
    const GradientSum sum = sum_of(rows);
    const double score =
        score_of(static_cast<double>(sum.gradient) * rules.gradient_quantum,
                 static_cast<double>(sum.hessian) * rules.hessian_quantum, rules.l2);
    tree[node].hessian = static_cast<double>(sum.hessian) * rules.hessian_quantum;
    tree[node].value = static_cast<float>(leaf_value(rules, sum)) * parameters.learning_rate;
    if (!may_split) return;
    double best = score + rules.min_gain;
    std::vector<std::int64_t> best_left, best_right;
    TreeNode best_node;
    for (const std::int32_t feature : drawn_columns(table.features, parameters, round))
      for (const bool missing_left : {false, true})
        for (int bin = 0;
             bin < static_cast<int>(cuts.of_feature[static_cast<std::size_t>(feature)].size());
             ++bin) {
          std::vector<std::int64_t> left, right;
          bool any_missing = false;
          for (const std::int64_t row : rows) {
            const int of_row = bin_of(row, feature);
            any_missing = any_missing || of_row == missing_bin;
            const bool is_left = of_row == missing_bin ? missing_left : of_row <= bin;
            (is_left ? left : right).push_back(row);
          }
          if (missing_left && !any_missing) continue;
          const double found = score_of_split(rules, sum, sum_of(left));
          if (!(found > best)) continue;
          best = found;
          best_node = {
              feature,
              bin,
              cuts.of_feature[static_cast<std::size_t>(feature)][static_cast<std::size_t>(bin)],
              0,
              missing_left,
              0,
              found - score,
              tree[node].hessian};
          best_left = std::move(left);
          best_right = std::move(right);
        }
    if (best_node.feature < 0) return;
    best_node.left = static_cast<std::int32_t>(tree.size());
    tree[node] = best_node;
    tree.resize(tree.size() + 2);
    next.emplace_back(tree.size() - 2, std::move(best_left));
    next.emplace_back(tree.size() - 1, std::move(best_right));
  }
};

} // namespace breakeven::risk::gbdt_examples
