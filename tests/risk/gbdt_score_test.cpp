// Scoring against the plain walk: to the bit, for trees of every shape, any number of rows and
// threads, values at the edges, and rows that are binned already.
#include "tests/risk/gbdt_examples.h"
#include "tests/test_folder.h"
#include "workloads/risk/gbdt_model.h"
#include "workloads/risk/gbdt_paths.h"
#include "workloads/risk/gbdt_score.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <bit>

using namespace breakeven;
using namespace breakeven::risk;
using namespace breakeven::risk::gbdt_examples;

namespace {

constexpr float missing = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// Margins are compared by their bits, so that -0 is not 0.
std::vector<std::uint32_t> bits_of_all(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values)
    bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::vector<std::uint32_t> walked(const Gbdt& model, const Table& table) {
  std::vector<float> margins;
  for (std::int64_t row = 0; row < table.rows; ++row)
    margins.push_back(margin_of(model, table.values.data() + row * table.features));
  return bits_of_all(margins);
}

std::vector<std::uint32_t> scored(const ScoringTrees& trees, const Table& table) {
  std::vector<float> margins(static_cast<std::size_t>(table.rows), missing);
  find_margins(trees, rows_of(table), margins);
  return bits_of_all(margins);
}

std::vector<std::uint32_t> scored(const Gbdt& model, const Table& table) {
  return scored(scoring_trees(model), table);
}

struct Shape {
  const char* name;
  int levels;
  double split_share; ///< of the nodes above the last level
  bool is_chain = false;
};

/// What cuts and values are taken from, so that they meet.
float number(Random& random, std::int64_t distinct) {
  static constexpr float edges[]{0,
                                 -0.0f,
                                 1,
                                 1e-45f, // the smallest float above 0
                                 -1e-45f,
                                 1.1754944e-38f,
                                 3.4028235e38f,
                                 -3.4028235e38f};
  if (random() % 16 == 0) return edges[random() % std::size(edges)];
  const auto half = static_cast<double>(distinct) / 2;
  return static_cast<float>((std::floor(random.unit() * static_cast<double>(distinct)) - half)
                            * 0.37);
}

Tree tree_of(const Shape& shape, int features, std::int64_t distinct, Random& random) {
  Tree tree(1);
  std::vector<std::size_t> level{0};
  for (int depth = 0; depth < shape.levels && !level.empty(); ++depth) {
    std::vector<std::size_t> next;
    for (const std::size_t node : level) {
      // Of a chain one child of each split is split, of others each with its chance.
      const bool is_split = shape.is_chain ? node == level[random() % level.size()] || depth == 0
                                           : random.unit() < shape.split_share || depth == 0;
      if (!is_split) continue;
      tree[node].feature = static_cast<std::int32_t>(random() % static_cast<unsigned>(features));
      tree[node].cut = number(random, distinct);
      tree[node].missing_goes_left = random() % 2 == 0;
      tree[node].left = static_cast<std::int32_t>(tree.size());
      next.insert(next.end(), {tree.size(), tree.size() + 1});
      tree.resize(tree.size() + 2);
    }
    level = next;
  }
  for (TreeNode& node : tree)
    if (node.feature < 0) node.value = static_cast<float>(random.unit() - 0.5);
  return tree;
}

Gbdt model_of(const Shape& shape, int trees, int features, std::int64_t distinct,
              std::uint64_t seed) {
  Random random{seed};
  Gbdt model;
  model.base_margin = -0.3f;
  for (int feature = 0; feature < features; ++feature)
    model.feature_names.push_back("feature " + std::to_string(feature));
  for (int i = 0; i < trees; ++i)
    model.trees.push_back(tree_of(shape, features, distinct, random));
  return model;
}

Table values_of(std::int64_t rows, int features, std::int64_t distinct, std::uint64_t seed) {
  Random random{seed};
  Table table{rows, features, {}, std::vector<std::uint8_t>(static_cast<std::size_t>(rows), 0)};
  for (std::int64_t i = 0; i < rows * features; ++i) {
    const std::uint64_t kind = random() % 16;
    table.values.push_back(kind == 0   ? missing
                           : kind == 1 ? -infinity
                           : kind == 2 ? infinity
                           : kind == 3 ? static_cast<float>(random.unit() * 100 - 50)
                                       : number(random, distinct));
  }
  return table;
}

const std::vector<Shape> shapes{{"one node", 0, 0},
                                {"one split", 1, 1},
                                {"two levels", 2, 1},
                                {"three levels with leaves on each", 3, 0.6},
                                {"four full levels", 4, 1},
                                {"five full levels", 5, 1},
                                {"six full levels", 6, 1},
                                {"six levels with leaves on each", 6, 0.8},
                                {"seven full levels", 7, 1},
                                {"eight full levels", 8, 1},
                                {"eight levels with leaves on each", 8, 0.7},
                                {"one level more than are compared at once", 9, 1},
                                {"sixteen levels with leaves on each", 16, 0.6},
                                {"a chain of twenty splits", 20, 0, true}};

class Threads {
public:
  explicit Threads(int threads) { omp_set_num_threads(threads); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

private:
  int before_ = omp_get_max_threads();
};

} // namespace

TEST_CASE("trees of every shape score to the bits of a plain walk") {
  for (const Shape& shape : shapes)
    for (const int trees : {1, 9})
      for (const std::int64_t distinct : {10, 100'000}) {
        CAPTURE(shape.name);
        CAPTURE(trees);
        CAPTURE(distinct);
        const Gbdt model = model_of(shape, trees, 5, distinct, 7);
        const Table table = values_of(700, 5, distinct, 8);
        CHECK(scored(model, table) == walked(model, table));
      }
}

TEST_CASE("trees of different shapes add up in their order") {
  Gbdt model = model_of(shapes[0], 0, 6, 300, 1);
  Random random{2};
  for (int i = 0; i < 60; ++i)
    model.trees.push_back(tree_of(shapes[random() % shapes.size()], 6, 300, random));
  for (Tree& tree : model.trees)
    for (TreeNode& node : tree)
      node.value *= std::ldexp(1.0f, static_cast<int>(random() % 20)); // so that the order counts
  const Table table = values_of(1500, 6, 300, 3);
  CHECK(scored(model, table) == walked(model, table));
  Gbdt turned = model;
  std::reverse(turned.trees.begin(), turned.trees.end());
  CHECK(walked(turned, table) != walked(model, table));
}

TEST_CASE("blocks with any number of rows score each of them") {
  const Gbdt model = model_of(shapes[7], 5, 4, 50, 11);
  const ScoringTrees trees = scoring_trees(model);
  for (const std::int64_t rows : {0, 1, 7, 15, 16, 63, 64, 65, 511, 512, 513, 1000, 9000}) {
    CAPTURE(rows);
    const Table table = values_of(rows, 4, 50, 12);
    CHECK(scored(trees, table) == walked(model, table));
  }
}

TEST_CASE("a feature may have any number of cuts") {
  // 1 to 31 cuts fill one table, then two, four and eight; from 255 on there are several columns.
  for (const int cuts : {1, 2, 31, 32, 63, 64, 127, 128, 253, 254, 255, 256, 508, 509, 3000}) {
    CAPTURE(cuts);
    Gbdt model = model_of(shapes[0], 0, 2, 1, 1);
    for (int i = 0; i < cuts; ++i) {
      Tree tree(3);
      tree[0].feature = 1;
      tree[0].left = 1;
      tree[0].cut = static_cast<float>((i * 7919 % cuts) - cuts / 2);
      tree[0].missing_goes_left = i % 3 == 0;
      tree[1].value = 1;
      tree[2].value = static_cast<float>(i);
      model.trees.push_back(tree);
    }
    Table table{0, 2, {}, {}};
    for (int i = -2 - cuts / 2; i < cuts - cuts / 2 + 2; ++i)
      for (const float value : {static_cast<float>(i), static_cast<float>(i) + 0.5f})
        table.values.insert(table.values.end(), {0, value});
    table.values.insert(table.values.end(), {0, missing, missing, infinity, missing, -infinity});
    table.rows = static_cast<std::int64_t>(table.values.size()) / 2;
    table.labels.resize(static_cast<std::size_t>(table.rows));
    CHECK(scored(model, table) == walked(model, table));
  }
}

TEST_CASE("a value at the cut goes right, below it left, -0 is 0, and NaN goes the missing way") {
  for (const float cut : {0.0f, -0.0f, 1.5f, 3.4028235e38f, -3.4028235e38f, infinity, -infinity})
    for (const bool missing_goes_left : {false, true}) {
      CAPTURE(cut);
      CAPTURE(missing_goes_left);
      Gbdt model = model_of(shapes[1], 1, 1, 1, 1);
      model.trees[0][0].cut = cut;
      model.trees[0][0].missing_goes_left = missing_goes_left;
      model.trees[0][1].value = -1;
      model.trees[0][2].value = 1;
      model.base_margin = 0;
      const std::vector<float> values{
          cut,      std::nextafter(cut, -infinity), -cut, 0, -0.0f, missing, -missing, infinity,
          -infinity};
      const Table table{static_cast<std::int64_t>(values.size()), 1, values,
                        std::vector<std::uint8_t>(values.size())};
      std::vector<float> expected;
      for (const float value : values)
        expected.push_back(std::isnan(value) ? (missing_goes_left ? -1 : 1) : value < cut ? -1 : 1);
      CHECK(scored(model, table) == bits_of_all(expected));
    }
}

TEST_CASE("more features than a tile, some of them in no tree") {
  for (const int features : {15, 16, 17, 33, 200}) {
    CAPTURE(features);
    const Gbdt model = model_of(shapes[6], 3, features, 40, 21);
    const Table table = values_of(600, features, 40, 22);
    CHECK(scored(model, table) == walked(model, table));
  }
}

TEST_CASE("a model of very many trees scores as a plain walk") {
  const Gbdt model = model_of(shapes[9], 700, 3, 1'000'000, 31); // cuts all differ
  const Table table = values_of(130, 3, 1'000'000, 32);
  CHECK(scored(model, table) == walked(model, table));
}

TEST_CASE("a model without trees gives its base margin") {
  const Gbdt model = model_of(shapes[0], 0, 3, 1, 1);
  const Table table = values_of(100, 3, 10, 2);
  CHECK(scored(model, table)
        == bits_of_all(std::vector<float>(static_cast<std::size_t>(table.rows), -0.3f)));
}

TEST_CASE("nodes may lie in any order in a tree, and children anywhere as pairs") {
  Gbdt model = model_of(shapes[0], 0, 2, 1, 1);
  Tree tree(7);
  tree[0] = {1, 0, 2.0f, 5, true, 0, 0, 0};
  tree[5] = {0, 0, 1.0f, 1, false, 0, 0, 0};
  tree[6].value = 3;
  tree[1] = {1, 0, -1.0f, 3, true, 0, 0, 0};
  tree[2].value = 4;
  tree[3].value = 5;
  tree[4].value = 6;
  model.trees = {tree};
  const Table table = values_of(200, 2, 10, 2);
  CHECK(scored(model, table) == walked(model, table));
}

TEST_CASE("each thread holds the values and columns of 512 rows") {
  Gbdt model = model_of(shapes[1], 0, 3, 1, 1);
  Tree tree(3);
  tree[0].left = 1;
  for (const int feature : {0, 2, 2}) { // one cut each: two columns
    tree[0].feature = feature;
    model.trees.push_back(tree);
  }
  const ScoringTrees trees = scoring_trees(model);
  // Of 512 rows 3 values, 2 columns and a label; 16 x 528 + 512 floats, 512 x (4 + 2 + 1) bytes.
  const double bytes_a_thread = 512 * (3 * 4 + 2 + 1) + (16 * 528 + 512) * 4 + 512 * 7;
  CHECK(scoring_bytes(trees, 5) - scoring_bytes(trees, 3) == 2 * bytes_a_thread);
  CHECK(scoring_bytes(trees, 0) >= 3 * (sizeof(ScoringTrees::Comparison) + 32 * sizeof(float)));
}

TEST_CASE("any number of threads gives the same bits") {
  const Gbdt model = model_of(shapes[12], 6, 9, 500, 41);
  const Table table = values_of(20'000, 9, 500, 42);
  const std::vector<std::uint32_t> expected = walked(model, table);
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    const Threads set(threads);
    CHECK(scored(model, table) == expected);
  }
}

TEST_CASE("trained models score raw values, bins and what was saved to the same bits") {
  const TestFolder folder;
  for (const Example& example : examples()) {
    CAPTURE(example.name);
    const Table table = table_of(example.shape, 3);
    const Cuts cuts = quantile_cuts(rows_of(table), example.bins);
    Gbdt model = train_gbdt_openmp(binned(rows_of(table), cuts), cuts, example.parameters).model;
    model.feature_names = rows_of(table).feature_names;
    write_model(folder.path() / "model.json", model);
    const Table other = table_of({777, example.shape.features, 0.2}, 9);
    const std::vector<std::uint32_t> expected = walked(model, other);
    CHECK(scored(model, other) == expected);
    CHECK(scored(read_model(folder.path() / "model.json"), other) == expected);
    const BinnedRows bins = binned(rows_of(other), cuts);
    for (const int threads : {1, 3}) {
      const Threads set(threads);
      std::vector<float> margins(static_cast<std::size_t>(other.rows), missing);
      find_margins_of_bins(model, bins, margins);
      CHECK(bits_of_all(margins) == expected);
    }
  }
}

TEST_CASE("bins of any number of rows and of deep trees score as raw values") {
  const Table table = table_of({4000, 7, 0.1}, 5);
  const Cuts cuts = quantile_cuts(rows_of(table), most_bins);
  const GbdtParameters parameters =
      with(parameters_of(4, 12), [](auto& p) { p.min_child_weight = 0; });
  Gbdt model = train_gbdt_openmp(binned(rows_of(table), cuts), cuts, parameters).model;
  model.feature_names = rows_of(table).feature_names;
  const ScoringTrees trees = scoring_trees_of_bins(model);
  CHECK(trees.deep_nodes.size() > 1); // the first is none
  for (const std::int64_t rows : {1, 7, 63, 64, 65, 1000}) {
    CAPTURE(rows);
    const Table other = table_of({rows, 7, 0.2}, 9);
    std::vector<float> margins(static_cast<std::size_t>(rows), missing);
    find_margins_of_bins(trees, binned(rows_of(other), cuts), margins);
    CHECK(bits_of_all(margins) == walked(model, other));
  }
}
