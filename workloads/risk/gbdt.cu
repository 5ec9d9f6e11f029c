// Boosted trees of the GPU side. Its serial loops, for each level of a tree:
//
//   for (node n to sum) for (row r of n) for (feature f) sums[n][f][bin[r][f]] += gradient[r];
//   for (node n) for (feature f) for (bin b) best[n] = max(best[n], score(sums[n][f][0..b]));
//   for (node n) for (row r of n) (is_left(bin[r][feature[n]]) ? left[n] : right[n]).append(r);
//
// Bins lie row by row, one 32-byte sector for up to 32 features, so that a row that is met by its
// number costs one access whichever of its features is asked for. Rows of a node lie together as
// numbers and gradients, which each level writes anew in the order of its children.
#include "workloads/imaging/device.h"
#include "workloads/risk/gbdt_kernels.h"
#include "workloads/risk/gbdt_paths.h"

#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/remove.h>

#include <algorithm>

namespace breakeven::ON_PATH {

namespace risk_gbdt {

namespace thrust = THRUST_NS_QUALIFIER;

using imaging::Block;
using imaging::Memory;
using imaging_device::blocks_for;
using imaging_device::to_host;
using imaging_device::to_path;

// More blocks than a GPU holds at once only add sums to merge.
constexpr std::int64_t most_blocks = 132 * 8;

template <class Kernel, class... Args>
void launch_lanes(std::int64_t lanes, const Kernel& kernel, Args... args) {
  launch(blocks_for(lanes, block_size), block_size, 0, Stream{}, kernel, args...);
}

template <class T>
Block<T> filled(std::int64_t count, T value, Memory& memory) {
  Block<T> block(memory, static_cast<std::size_t>(std::max<std::int64_t>(1, count)));
  launch_lanes(count, Fill<T>{}, block.data(), count, value);
  return block;
}

/// The rows of `rows` in the path's memory.
struct ResidentRows {
  std::int64_t count = 0, row_bytes = 0;
  Block<std::uint8_t> bytes, labels;
  Block<float> margins;

  ResidentRows() = default;
  ResidentRows(const BinnedRows& rows, float base_margin, Memory& memory)
      : count(rows.count),
        row_bytes(rows.row_bytes),
        bytes(memory, static_cast<std::size_t>(rows.count * rows.row_bytes)),
        labels(to_path(rows.labels, memory)),
        margins(filled(rows.count, base_margin, memory)) {
    memory.copy_in(bytes.data(), rows.by_row.data(), bytes.bytes());
  }
};

struct IsDrawn {
  std::uint64_t seed, share;
  int round;
  HOST_DEVICE bool operator()(std::uint32_t row) const {
    return row_is_drawn(seed, share, round, std::int64_t{row});
  }
};

/// The engine of TreeGrower on the GPU side.
class Engine {
public:
  Engine(const BinnedRows& rows, const Cuts& cuts, const GbdtParameters& parameters,
         const BinnedRows* validation, Memory& memory)
      : parameters_(parameters),
        cuts_(cuts),
        memory_(memory),
        rows_(rows, parameters.base_margin, memory),
        quanta_(quanta_of(parameters)),
        rules_(rules_of(parameters)) {
    if (validation != nullptr)
      validation_ = ResidentRows(*validation, parameters.base_margin, memory);
    for (int i = 0; i < 2; ++i) {
      numbers_[i] = Block<std::uint32_t>(memory, static_cast<std::size_t>(rows.count));
      gradients_[i] = Block<std::int64_t>(memory, static_cast<std::size_t>(rows.count));
    }
    if (parameters.row_share < 1)
      left_out_ = Block<std::uint32_t>(memory, static_cast<std::size_t>(rows.count));
  }

  const SplitRules& rules() const { return rules_; }

  RootRows begin(int round, const std::vector<std::int32_t>& columns) {
    take_columns(columns);
    all_rows_ = parameters_.row_share >= 1;
    RootRows root;
    root.count = all_rows_ ? rows_.count : draw_rows(round);
    left_out_count_ = rows_.count - root.count;
    const Block<std::uint64_t> sums = filled(2, std::uint64_t{0}, memory_);
    const std::int64_t blocks = std::min(most_blocks, blocks_for(root.count, block_size));
    launch(blocks, block_size, 0, Stream{}, FindGradients{}, rows_.margins.data(),
           rows_.labels.data(), numbers(), root.count, parameters_.positive_weight,
           quanta_.gradient, quanta_.hessian, gradients_[now_].data(), sums.data());
    const std::vector<std::uint64_t> sum = to_host(sums.data(), 2, memory_);
    root.sum = {static_cast<std::int64_t>(sum[0]), static_cast<std::int64_t>(sum[1])};
    return root;
  }

  void find_splits(Level& level, const std::vector<Siblings>& siblings) {
    const std::int64_t sums_of_node = features() * bins_of_feature;
    Block<GradientSum> sums =
        filled(static_cast<std::int64_t>(level.size()) * sums_of_node, GradientSum{}, memory_);
    std::vector<std::size_t> summed;
    for (const Siblings& pair : siblings)
      summed.push_back(pair.summed);
    if (siblings.empty()) summed.push_back(0);
    sum_by_bins(level, summed, sums_of_node, sums);
    subtract(siblings, sums_of_node, sums);
    sums_ = std::move(sums);
    choose_splits(level);
  }

  void move_rows(const Level& level, const std::vector<std::size_t>& nodes, Level& children) {
    const std::vector<Tile> tiles = tiles_of(level, nodes);
    const auto tile_count = static_cast<std::int64_t>(tiles.size());
    const Block<Tile> tiles_there = to_path(tiles, memory_);
    const Block<NodeSplit> splits = to_path(splits_of(level), memory_);
    const Block<std::int32_t> lefts(memory_, tiles.size());
    launch(tile_count, block_size, sizeof(std::uint32_t), Stream{}, CountLeft{}, rows_.bytes.data(),
           rows_.row_bytes, numbers(), tiles_there.data(), splits.data(), lefts.data());
    const std::vector<TilePlaces> places =
        places_of(level, nodes, tiles, to_host(lefts.data(), tiles.size(), memory_), children);
    const Block<TilePlaces> places_there = to_path(places, memory_);
    launch(tile_count, block_size, MoveRows::shared_bytes(), Stream{}, MoveRows{},
           rows_.bytes.data(), rows_.row_bytes, numbers(),
           static_cast<const std::int64_t*>(gradients_[now_].data()), tiles_there.data(),
           splits.data(), places_there.data(), numbers_[1 - now_].data(),
           gradients_[1 - now_].data());
    now_ = 1 - now_;
    all_rows_ = false;
  }

  void add_values(const Level& level, const std::vector<std::size_t>& nodes, const Tree& tree) {
    add_to_margins(level, nodes, [&](const LevelNode& node) {
      const float value = tree[static_cast<std::size_t>(node.node)].value;
      return NodeValues{{-1, {}}, value, value};
    });
  }
  void add_values_of_children(const Level& level, const std::vector<std::size_t>& nodes,
                              const Tree& tree) {
    add_to_margins(level, nodes, [&](const LevelNode& node) {
      const auto left = static_cast<std::size_t>(tree[static_cast<std::size_t>(node.node)].left);
      return NodeValues{
          {node.split.feature, LeftBins(node.split)}, tree[left].value, tree[left + 1].value};
    });
  }

  void end(const Tree& tree) {
    if (left_out_count_ > 0) add_tree(tree, rows_, left_out_.data(), left_out_count_);
  }

  double validation_loss(const Tree& tree) {
    add_tree(tree, validation_, nullptr, validation_.count);
    const Block<std::uint64_t> sum = filled(1, std::uint64_t{0}, memory_);
    launch(std::min(most_blocks, blocks_for(validation_.count, block_size)), block_size, 0,
           Stream{}, SumLosses{}, validation_.margins.data(), validation_.labels.data(),
           validation_.count, sum.data());
    return mean_loss(static_cast<std::int64_t>(to_host(sum.data(), 1, memory_)[0]),
                     validation_.count);
  }

private:
  const std::uint32_t* numbers() const { return all_rows_ ? nullptr : numbers_[now_].data(); }
  std::int64_t features() const { return static_cast<std::int64_t>(columns_.size()); }

  void take_columns(const std::vector<std::int32_t>& columns) {
    columns_ = columns;
    std::vector<std::int32_t> counts;
    for (const std::int32_t column : columns)
      counts.push_back(
          static_cast<std::int32_t>(cuts_.of_feature[static_cast<std::size_t>(column)].size()));
    cut_counts_ = to_path(counts, memory_);
    columns_in_use_ = rows_.bytes.data();
    column_bytes_ = rows_.row_bytes;
    if (columns.size() == cuts_.of_feature.size()) return;
    column_bytes_ = (features() + 7) / 8 * 8;
    taken_ = Block<std::uint8_t>();
    taken_ = Block<std::uint8_t>(memory_, static_cast<std::size_t>(rows_.count * column_bytes_));
    const Block<std::int32_t> there = to_path(columns, memory_);
    launch_lanes(rows_.count * column_bytes_, TakeColumns{},
                 static_cast<const std::uint8_t*>(rows_.bytes.data()), rows_.row_bytes, rows_.count,
                 there.data(), static_cast<int>(features()), taken_.data(), column_bytes_);
    columns_in_use_ = taken_.data();
  }

  std::int64_t draw_rows(int round) {
    const IsDrawn is_drawn{parameters_.seed, share_of_2_32(parameters_.row_share), round};
    const thrust::counting_iterator<std::uint32_t> begin(0);
    const auto end = begin + static_cast<std::uint32_t>(rows_.count);
    std::uint32_t* const drawn =
        thrust::copy_if(thrust::device, begin, end, numbers_[now_].data(), is_drawn);
    thrust::remove_copy_if(thrust::device, begin, end, left_out_.data(), is_drawn);
    return drawn - numbers_[now_].data();
  }

  static std::vector<Tile> tiles_of(const Level& level, const std::vector<std::size_t>& nodes) {
    std::vector<Tile> tiles;
    for (const std::size_t node : nodes)
      for (std::int64_t begin = level[node].rows.begin; begin < level[node].rows.end;
           begin += tile_rows)
        tiles.push_back(
            {begin, static_cast<std::int32_t>(std::min(tile_rows, level[node].rows.end - begin)),
             static_cast<std::int32_t>(node)});
    return tiles;
  }

  void sum_by_bins(const Level& level, const std::vector<std::size_t>& nodes,
                   std::int64_t sums_of_node, const Block<GradientSum>& sums) {
    const std::vector<Tile> tiles = tiles_of(level, nodes);
    std::vector<std::int64_t> firsts;
    for (std::size_t node = 0; node < level.size(); ++node)
      firsts.push_back(static_cast<std::int64_t>(node) * sums_of_node);
    const Block<Tile> tiles_there = to_path(tiles, memory_);
    const Block<std::int64_t> firsts_there = to_path(firsts, memory_);
    for (int feature = 0; feature < features(); feature += group_features) {
      const int width = std::min(group_features, static_cast<int>(features()) - feature);
      launch(static_cast<std::int64_t>(tiles.size()), block_size, SumByBins::shared_bytes(width),
             Stream{}, SumByBins{}, columns_in_use_, column_bytes_, feature, width, numbers(),
             static_cast<const std::int64_t*>(gradients_[now_].data()), tiles_there.data(),
             firsts_there.data(), reinterpret_cast<std::uint64_t*>(sums.data()));
    }
  }

  void subtract(const std::vector<Siblings>& siblings, std::int64_t sums_of_node,
                const Block<GradientSum>& sums) {
    if (siblings.empty()) return;
    const auto first = [&](std::size_t node) {
      return static_cast<std::int64_t>(node) * sums_of_node;
    };
    std::vector<SiblingSums> places;
    for (const Siblings& pair : siblings)
      places.push_back({first(pair.parent), first(pair.summed), first(pair.other)});
    const Block<SiblingSums> there = to_path(places, memory_);
    const std::int64_t count = static_cast<std::int64_t>(siblings.size()) * sums_of_node;
    launch_lanes(count, SubtractSums{}, there.data(), sums_of_node, count,
                 static_cast<const GradientSum*>(sums_.data()), sums.data());
  }

  void choose_splits(Level& level) {
    const auto nodes = static_cast<std::int64_t>(level.size());
    std::vector<GradientSum> node_sums;
    for (const LevelNode& node : level)
      node_sums.push_back(node.sum);
    const Block<GradientSum> node_sums_there = to_path(node_sums, memory_);
    const Block<Split> splits(memory_, static_cast<std::size_t>(nodes * features()));
    const Block<Split> chosen(memory_, level.size());
    launch(nodes * features(), block_size, FindSplits::shared_bytes(), Stream{}, FindSplits{},
           static_cast<const GradientSum*>(sums_.data()), node_sums_there.data(),
           cut_counts_.data(), static_cast<int>(features()), rules_, splits.data());
    launch_lanes(nodes, ChooseFeatures{}, static_cast<const Split*>(splits.data()), nodes,
                 static_cast<int>(features()), chosen.data());
    const std::vector<Split> found = to_host(chosen.data(), level.size(), memory_);
    for (std::size_t node = 0; node < level.size(); ++node) {
      level[node].split = found[node];
      if (found[node].feature >= 0)
        level[node].split.feature = columns_[static_cast<std::size_t>(found[node].feature)];
    }
  }

  static std::vector<NodeSplit> splits_of(const Level& level) {
    std::vector<NodeSplit> splits;
    for (const LevelNode& node : level)
      splits.push_back({node.split.feature, LeftBins(node.split)});
    return splits;
  }

  /// Where each tile's rows go; gives the children their rows.
  static std::vector<TilePlaces> places_of(const Level& level,
                                           const std::vector<std::size_t>& nodes,
                                           const std::vector<Tile>& tiles,
                                           const std::vector<std::int32_t>& lefts,
                                           Level& children) {
    std::vector<std::int64_t> left_rows(level.size(), 0);
    for (std::size_t i = 0; i < tiles.size(); ++i)
      left_rows[static_cast<std::size_t>(tiles[i].node)] += lefts[i];
    std::vector<TilePlaces> next(level.size());
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::int64_t middle = begin + left_rows[nodes[i]];
      const std::int64_t end = begin + level[nodes[i]].rows.count();
      next[nodes[i]] = {begin, middle};
      children[2 * i].rows = {begin, middle};
      children[2 * i + 1].rows = {middle, end};
      begin = end;
    }
    std::vector<TilePlaces> places;
    for (std::size_t i = 0; i < tiles.size(); ++i) {
      TilePlaces& of_node = next[static_cast<std::size_t>(tiles[i].node)];
      places.push_back(of_node);
      of_node.left += lefts[i];
      of_node.right += tiles[i].count - lefts[i];
    }
    return places;
  }

  template <class ValuesOf>
  void add_to_margins(const Level& level, const std::vector<std::size_t>& nodes,
                      const ValuesOf& values_of) {
    if (nodes.empty()) return;
    std::vector<NodeValues> values(level.size());
    for (const std::size_t node : nodes)
      values[node] = values_of(level[node]);
    const std::vector<Tile> tiles = tiles_of(level, nodes);
    const Block<Tile> tiles_there = to_path(tiles, memory_);
    const Block<NodeValues> values_there = to_path(values, memory_);
    launch(static_cast<std::int64_t>(tiles.size()), block_size, 0, Stream{}, AddValues{},
           rows_.bytes.data(), rows_.row_bytes, numbers(), tiles_there.data(), values_there.data(),
           rows_.margins.data());
  }

  void add_tree(const Tree& tree, const ResidentRows& rows, const std::uint32_t* row_numbers,
                std::int64_t count) {
    const Block<TreeNode> there = to_path(tree, memory_);
    launch_lanes(count, AddTree{}, static_cast<const TreeNode*>(there.data()),
                 static_cast<const std::uint8_t*>(rows.bytes.data()), rows.row_bytes, row_numbers,
                 count, rows.margins.data());
  }

  const GbdtParameters& parameters_;
  const Cuts& cuts_;
  Memory& memory_;
  ResidentRows rows_, validation_;
  Quanta quanta_;
  SplitRules rules_;
  std::vector<std::int32_t> columns_;
  Block<std::int32_t> cut_counts_; ///< of the columns in use
  Block<std::uint8_t> taken_;      ///< their bytes, where not all are in use
  const std::uint8_t* columns_in_use_ = nullptr;
  std::int64_t column_bytes_ = 0;
  Block<GradientSum> sums_; ///< of the nodes of a level
  /// Of the rows, in the order of the nodes of a level; each level writes the other one.
  Block<std::uint32_t> numbers_[2];
  Block<std::int64_t> gradients_[2];
  Block<std::uint32_t> left_out_;
  std::int64_t left_out_count_ = 0;
  int now_ = 0;
  bool all_rows_ = true; ///< row i is number i
};

} // namespace risk_gbdt

risk::Training train_gbdt(const risk::BinnedRows& rows, const risk::Cuts& cuts,
                          const risk::GbdtParameters& parameters,
                          const risk::BinnedRows* validation, imaging::Memory& memory) {
  risk_gbdt::Engine engine(rows, cuts, parameters, validation, memory);
  return risk::train_with(engine, cuts, parameters, engine.rules(), validation != nullptr);
}

} // namespace breakeven::ON_PATH
