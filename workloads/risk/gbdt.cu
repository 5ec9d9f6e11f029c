// Boosted trees of the GPU side. Its serial loops, for each level of a tree:
//
//   for (node n to sum) for (row r of n) for (feature f) sums[n][f][bin[r][f]] += gradient[r];
//   for (node n) for (feature f) for (bin b) best[n] = max(best[n], score(sums[n][f][0..b]));
//   for (node n) for (row r of n) (is_left(bin[r][feature[n]]) ? left[n] : right[n]).append(r);
//
// Bins lie row by row, one 32-byte sector for up to 32 features, so that a row that is met by its
// number costs one access whichever of its features is asked for. Rows of a node lie together as
// numbers and gradients, which each level writes anew in the order of its children; where bins come
// in chunks (gbdt_bins.h), those of each chunk by themselves. Sums are whole numbers, so no order
// of rows changes them.
#include "workloads/clock.h"
#include "workloads/imaging/device_memory.h"
#include "workloads/risk/gbdt_bins.h"
#include "workloads/risk/gbdt_paths.h"

#include <thrust/copy.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/remove.h>

#include <algorithm>

namespace breakeven::ON_PATH {

namespace risk_gbdt {

namespace thrust = THRUST_NS_QUALIFIER;

using imaging_device::blocks_for;
using imaging_device::to_host;
using imaging_device::to_path;

// More blocks than a GPU holds at once only add sums to merge.
constexpr std::int64_t most_blocks = 132 * 8;

struct IsDrawn {
  std::uint64_t seed, share;
  int round;
  HOST_DEVICE bool operator()(std::uint32_t row) const {
    return row_is_drawn(seed, share, round, std::int64_t{row});
  }
};

/// Rows with their bins in chunks.
struct RowsThere {
  BinChunks bins;
  Block<std::uint8_t> labels;
  Block<float> margins;
  RowsThere(const BinnedRows& rows, const ChunkPlan& plan, Memory& memory)
      : bins(rows, plan, memory),
        labels(memory, rows.labels.size()),
        margins(memory, rows.labels.size()) {
    risk_device::upload(labels.data(), rows.labels.data(), labels.bytes());
  }
};

/// How rows and validation rows lie in so many bytes: all of them, or so that four buffers, and one
/// for drawn columns, take at most five eighths of what is left for bins. Not counted: some 550
/// bytes a chunk and node for tiles that are not whole.
struct Plans {
  ChunkPlan rows, validation;
};
Plans plans_for(const BinnedRows& rows, const BinnedRows* validation,
                const GbdtParameters& parameters, double most_bytes) {
  const std::int64_t validation_rows = validation != nullptr ? validation->count : 0;
  const GbdtGpuMemory needed =
      gbdt_gpu_memory(rows.count, rows.features, validation_rows, parameters);
  const std::int64_t all_of_validation = std::max<std::int64_t>(1, validation_rows);
  if (needed.all() <= most_bytes) return {{rows.count, 1}, {all_of_validation, 1}};
  constexpr double parts = 8, buffers = 5;
  constexpr double most_chunk_bytes = 256 << 20; // copied at the link's rate, and in some 10 ms
  const double for_bins = most_bytes - needed.rows - needed.nodes;
  const double row_bytes = static_cast<double>(rows.row_bytes);
  const double chunk_rows =
      std::min(static_cast<double>(rows.count),
               std::floor(std::min(for_bins / parts, most_chunk_bytes) / row_bytes));
  if (!(chunk_rows >= 1)) throw no_room_for_training(rows.count, needed, most_bytes);
  const double left = for_bins - buffers * chunk_rows * row_bytes;
  const auto chunk = static_cast<std::int64_t>(chunk_rows);
  return {{chunk, static_cast<std::int64_t>(left / (chunk_rows * row_bytes))},
          {std::min(chunk, all_of_validation), 0}};
}

/// Tiles of some nodes, those of a chunk together.
struct Tiles {
  std::vector<Tile> all;
  std::vector<std::size_t> first_of_chunk;
  std::size_t count(std::int64_t chunk) const {
    const auto i = static_cast<std::size_t>(chunk);
    return first_of_chunk[i + 1] - first_of_chunk[i];
  }
  std::size_t first(std::int64_t chunk) const {
    return first_of_chunk[static_cast<std::size_t>(chunk)];
  }
};

/// The engine of TreeGrower on the GPU side.
class Engine {
public:
  Engine(const BinnedRows& rows, const Cuts& cuts, const GbdtParameters& parameters,
         const BinnedRows* validation, Memory& memory, double most_bytes)
      : parameters_(parameters),
        cuts_(cuts),
        memory_(memory),
        quanta_(quanta_of(parameters)),
        rules_(rules_of(parameters)) {
    timed(seconds_.transfer, [&] {
      const Plans plans = plans_for(rows, validation, parameters, most_bytes);
      rows_.emplace(rows, plans.rows, memory);
      count_ = rows.count;
      if (validation != nullptr) {
        validation_.emplace(*validation, plans.validation, memory);
        validation_count_ = validation->count;
        fill(validation_->margins, parameters.base_margin);
      }
      fill(rows_->margins, parameters.base_margin);
      for (int i = 0; i < 2; ++i) {
        numbers_[i] = Block<std::uint32_t>(memory, static_cast<std::size_t>(count_));
        gradients_[i] = Block<std::int64_t>(memory, static_cast<std::size_t>(count_));
      }
      if (parameters.row_share < 1)
        left_out_ = Block<std::uint32_t>(memory, static_cast<std::size_t>(count_));
    });
    counts_.rows = static_cast<double>(rows.count);
    counts_.validation_rows = static_cast<double>(validation_count_);
    counts_.features = static_cast<double>(rows.features);
    counts_.row_bytes = static_cast<double>(rows.row_bytes);
    for (const std::vector<float>& of_feature : cuts.of_feature)
      counts_.bins += bins_with(of_feature.size());
  }

  const SplitRules& rules() const { return rules_; }
  const GbdtCounts& counts() const { return counts_; }
  const GbdtSeconds& seconds() const { return seconds_; }

  RootRows begin(int round, const std::vector<std::int32_t>& columns) {
    RootRows root;
    timed(seconds_.histograms, [&] {
      ++counts_.rounds;
      take_columns(columns);
      all_rows_ = parameters_.row_share >= 1;
      draw_rows(round);
      const Block<std::uint64_t> sums = filled(2, std::uint64_t{0});
      for (std::int64_t chunk = 0; chunk < rows_->bins.chunks(); ++chunk) {
        const Range& rows = places(chunk)[0];
        root.count += rows.count();
        start(std::min(most_blocks, blocks_for(rows.count(), block_size)), 0, FindGradients{},
              rows_->margins.data(), rows_->labels.data(), numbers(), rows.begin, rows.count(),
              parameters_.positive_weight, quanta_.gradient, quanta_.hessian,
              gradients_[now_].data(), sums.data());
      }
      counts_.gradient_rows += static_cast<double>(root.count);
      const std::vector<std::uint64_t> sum = here(sums.data(), 2);
      root.sum = {static_cast<std::int64_t>(sum[0]), static_cast<std::int64_t>(sum[1])};
    });
    return root;
  }

  void find_splits(Level& level, const std::vector<Siblings>& siblings) {
    const std::int64_t sums_of_node = features() * bins_of_feature;
    Block<GradientSum> sums;
    timed(seconds_.histograms, [&] {
      ++counts_.levels;
      sums = filled(static_cast<std::int64_t>(level.size()) * sums_of_node, GradientSum{});
      std::vector<std::size_t> summed;
      for (const Siblings& pair : siblings)
        summed.push_back(pair.summed);
      if (siblings.empty()) summed.push_back(0);
      sum_by_bins(level, summed, sums_of_node, sums);
    });
    timed(seconds_.splits, [&] {
      subtract(siblings, sums_of_node, sums);
      sums_ = std::move(sums);
      sums = Block<GradientSum>();
      choose_splits(level);
    });
  }

  void move_rows(const Level& level, const std::vector<std::size_t>& nodes, Level& children) {
    timed(seconds_.histograms, [&] {
      const Tiles tiles = tiles_of(nodes);
      const Block<Tile> tiles_there = there(tiles.all);
      const Block<NodeSplit> splits = there(splits_of(level));
      const Block<std::int32_t> lefts(memory_, tiles.all.size());
      const Block<std::uint32_t> sides(memory_,
                                       tiles.all.size() * static_cast<std::size_t>(side_words));
      for_each_chunk(*rows_, [&](std::int64_t chunk, const Bins& bins) {
        const std::size_t first = tiles.first(chunk);
        start(static_cast<std::int64_t>(tiles.count(chunk)), sizeof(std::uint32_t), FindSides{},
              bins, numbers(), tiles_there.data() + first, splits.data(),
              sides.data() + first * static_cast<std::size_t>(side_words), lefts.data() + first);
      });
      const std::vector<TilePlaces> to =
          places_of(nodes, tiles, here(lefts.data(), tiles.all.size()), children);
      const Block<TilePlaces> to_there = there(to);
      start(static_cast<std::int64_t>(tiles.all.size()), MoveRows::shared_bytes(), MoveRows{},
            numbers(), gradients_[now_].data(), tiles_there.data(), sides.data(), to_there.data(),
            numbers_[1 - now_].data(), gradients_[1 - now_].data());
      counts_.rows_sorted += rows_in(tiles);
      now_ = 1 - now_;
      all_rows_ = false;
    });
  }

  void add_values(const Level& level, const std::vector<std::size_t>& nodes, const Tree& tree) {
    if (nodes.empty()) return;
    std::vector<NodeValues> values(level.size());
    for (const std::size_t node : nodes) {
      const float value = tree[static_cast<std::size_t>(level[node].node)].value;
      values[node] = {{-1, {}}, value, value};
    }
    timed(seconds_.histograms, [&] {
      const Tiles tiles = tiles_of(nodes);
      const Block<Tile> tiles_there = there(tiles.all);
      const Block<NodeValues> values_there = there(values);
      start(static_cast<std::int64_t>(tiles.all.size()), 0, AddValues{}, Bins{}, numbers(),
            tiles_there.data(), values_there.data(), rows_->margins.data());
      counts_.margin_rows += rows_in(tiles);
    });
  }

  void add_values_of_children(const Level& level, const std::vector<std::size_t>& nodes,
                              const Tree& tree) {
    if (nodes.empty()) return;
    std::vector<NodeValues> values(level.size());
    for (const std::size_t node : nodes) {
      const Split& split = level[node].split;
      const auto left =
          static_cast<std::size_t>(tree[static_cast<std::size_t>(level[node].node)].left);
      values[node] = {{split.feature, LeftBins(split)}, tree[left].value, tree[left + 1].value};
    }
    timed(seconds_.histograms, [&] {
      const Tiles tiles = tiles_of(nodes);
      const Block<Tile> tiles_there = there(tiles.all);
      const Block<NodeValues> values_there = there(values);
      for_each_chunk(*rows_, [&](std::int64_t chunk, const Bins& bins) {
        start(static_cast<std::int64_t>(tiles.count(chunk)), 0, AddValues{}, bins, numbers(),
              tiles_there.data() + tiles.first(chunk), values_there.data(), rows_->margins.data());
      });
      const double rows = rows_in(tiles);
      counts_.margin_rows += rows;
      counts_.margin_splits += rows;
    });
  }

  void end(const Tree& tree) {
    if (all_drawn()) return;
    timed(seconds_.histograms, [&] {
      const Block<TreeNode> tree_there = there(tree);
      for_each_chunk(*rows_, [&](std::int64_t chunk, const Bins& bins) {
        const Range& rows = left_out_places_[static_cast<std::size_t>(chunk)];
        add_tree(tree_there, bins, left_out_.data(), rows, rows_->margins);
      });
    });
  }

  double validation_loss(const Tree& tree) {
    double loss = 0;
    timed(seconds_.histograms, [&] {
      const Block<TreeNode> tree_there = there(tree);
      for_each_chunk(*validation_, [&](std::int64_t chunk, const Bins& bins) {
        add_tree(tree_there, bins, nullptr, validation_->bins.rows_of(chunk), validation_->margins);
      });
      const Block<std::uint64_t> sum = filled(1, std::uint64_t{0});
      start(std::min(most_blocks, blocks_for(validation_count_, block_size)), 0, SumLosses{},
            validation_->margins.data(), validation_->labels.data(), validation_count_, sum.data());
      loss = mean_loss(static_cast<std::int64_t>(here(sum.data(), 1)[0]), validation_count_);
    });
    return loss;
  }

private:
  // ---- what is counted as it happens ----

  /// The clock stops on both sides when the path has nothing left to do.
  template <class Step>
  void timed(double& seconds, const Step& step) {
    const double start_s = seconds_now();
    step();
    memory_.synchronise();
    seconds += seconds_now() - start_s;
  }

  template <class Kernel, class... Args>
  void start(std::int64_t blocks, std::size_t shared_bytes, const Kernel& kernel, Args... args) {
    if (blocks == 0) return;
    ++counts_.launches;
    launch(blocks, block_size, shared_bytes, Stream{}, kernel, args...);
  }
  template <class T>
  Block<T> there(const std::vector<T>& values) {
    ++counts_.copies;
    counts_.table_bytes_in += static_cast<double>(values.size() * sizeof(T));
    return to_path(values, memory_);
  }
  template <class T>
  std::vector<T> here(const T* data, std::size_t count) {
    ++counts_.copies;
    counts_.table_bytes_out += static_cast<double>(count * sizeof(T));
    return to_host(data, count, memory_);
  }
  template <class T>
  void fill(const Block<T>& block, T value) {
    const auto count = static_cast<std::int64_t>(block.size());
    start(blocks_for(count, block_size), 0, Fill<T>{}, block.data(), count, value);
  }
  template <class T>
  Block<T> filled(std::int64_t count, T value) {
    Block<T> block(memory_, static_cast<std::size_t>(count));
    fill(block, value);
    return block;
  }
  template <class Use>
  void for_each_chunk(RowsThere& rows, const Use& use) {
    counts_.streamed_bytes += rows.bins.for_each(use);
  }
  static double bins_with(std::size_t cuts) { return static_cast<double>(cuts) + 2; }

  // ---- rows and columns of a tree ----

  const std::uint32_t* numbers() const { return all_rows_ ? nullptr : numbers_[now_].data(); }
  std::int64_t features() const { return static_cast<std::int64_t>(columns_.size()); }
  bool all_columns() const { return columns_.size() == cuts_.of_feature.size(); }
  bool is_one_chunk() const { return rows_->bins.chunks() == 1; }
  bool all_drawn() const { return parameters_.row_share >= 1; }
  std::vector<Range>& places(std::int64_t chunk) {
    return places_[static_cast<std::size_t>(chunk)];
  }

  void take_columns(const std::vector<std::int32_t>& columns) {
    columns_ = columns;
    std::vector<std::int32_t> counts;
    bins_of_columns_.clear();
    for (const std::int32_t column : columns) {
      const std::size_t cuts = cuts_.of_feature[static_cast<std::size_t>(column)].size();
      counts.push_back(static_cast<std::int32_t>(cuts));
      bins_of_columns_.push_back(bins_with(cuts));
    }
    cut_counts_ = there(counts);
    if (all_columns()) return;
    columns_there_ = there(columns);
    column_bytes_ = (features() + 7) / 8 * 8;
    taken_ = Block<std::uint8_t>();
    taken_ = Block<std::uint8_t>(
        memory_, static_cast<std::size_t>(rows_->bins.rows_of(0).count() * column_bytes_));
    if (is_one_chunk())
      for_each_chunk(*rows_, [&](std::int64_t chunk, const Bins& bins) { take(chunk, bins); });
  }
  void take(std::int64_t chunk, const Bins& bins) {
    const std::int64_t rows = rows_->bins.rows_of(chunk).count();
    start(blocks_for(rows * column_bytes_, block_size), 0, TakeColumns{}, bins, rows,
          columns_there_.data(), static_cast<int>(features()), taken_.data(), column_bytes_);
    counts_.taken_bytes += static_cast<double>(rows * column_bytes_);
  }
  /// The chunk's bins of the columns in use.
  Bins columns_of(std::int64_t chunk, const Bins& bins) {
    if (all_columns()) return bins;
    if (!is_one_chunk()) take(chunk, bins);
    return {taken_.data(), column_bytes_, bins.first_row};
  }

  void draw_rows(int round) {
    places_.clear();
    left_out_places_.clear();
    for (std::int64_t chunk = 0; chunk < rows_->bins.chunks(); ++chunk) {
      const Range rows = rows_->bins.rows_of(chunk);
      const std::int64_t drawn = all_drawn() ? rows.count() : draw_rows(round, rows);
      places_.push_back({{rows.begin, rows.begin + drawn}});
      left_out_places_.push_back({rows.begin, rows.begin + rows.count() - drawn});
    }
  }
  /// Numbers of the rows drawn and of the others, each from the chunk's own place on.
  std::int64_t draw_rows(int round, const Range& rows) {
    const IsDrawn is_drawn{parameters_.seed, share_of_2_32(parameters_.row_share), round};
    const thrust::counting_iterator<std::uint32_t> begin(static_cast<std::uint32_t>(rows.begin));
    const auto end = begin + static_cast<std::uint32_t>(rows.count());
    std::uint32_t* const to = numbers_[now_].data() + rows.begin;
    std::uint32_t* const drawn = thrust::copy_if(thrust::device, begin, end, to, is_drawn);
    thrust::remove_copy_if(thrust::device, begin, end, left_out_.data() + rows.begin, is_drawn);
    counts_.draws += 2 * static_cast<double>(rows.count());
    counts_.launches += 2 * 2; // each counts, then copies
    return drawn - to;
  }

  // ---- tiles ----

  Tiles tiles_of(const std::vector<std::size_t>& nodes) {
    Tiles tiles;
    for (const std::vector<Range>& of_chunk : places_) {
      tiles.first_of_chunk.push_back(tiles.all.size());
      for (const std::size_t node : nodes)
        for (std::int64_t begin = of_chunk[node].begin; begin < of_chunk[node].end;
             begin += tile_rows)
          tiles.all.push_back(
              {begin, static_cast<std::int32_t>(std::min(tile_rows, of_chunk[node].end - begin)),
               static_cast<std::int32_t>(node)});
    }
    tiles.first_of_chunk.push_back(tiles.all.size());
    counts_.tiles += static_cast<double>(tiles.all.size());
    return tiles;
  }
  static double rows_in(const Tiles& tiles) {
    double rows = 0;
    for (const Tile& tile : tiles.all)
      rows += tile.count;
    return rows;
  }

  // ---- sums and splits ----

  void sum_by_bins(const Level& level, const std::vector<std::size_t>& nodes,
                   std::int64_t sums_of_node, const Block<GradientSum>& sums) {
    const Tiles tiles = tiles_of(nodes);
    std::vector<std::int64_t> firsts;
    for (std::size_t node = 0; node < level.size(); ++node)
      firsts.push_back(static_cast<std::int64_t>(node) * sums_of_node);
    const Block<Tile> tiles_there = there(tiles.all);
    const Block<std::int64_t> firsts_there = there(firsts);
    for_each_chunk(*rows_, [&](std::int64_t chunk, const Bins& all_bins) {
      if (tiles.count(chunk) == 0) return;
      const Bins bins = columns_of(chunk, all_bins);
      for (int feature = 0; feature < features(); feature += group_features) {
        const int width = std::min(group_features, static_cast<int>(features()) - feature);
        start(static_cast<std::int64_t>(tiles.count(chunk)), SumByBins::shared_bytes(width),
              SumByBins{}, bins, feature, width, numbers(), gradients_[now_].data(),
              tiles_there.data() + tiles.first(chunk), firsts_there.data(),
              reinterpret_cast<std::uint64_t*>(sums.data()));
      }
    });
    count_sums(tiles);
  }

  void count_sums(const Tiles& tiles) {
    const double rows = rows_in(tiles);
    const auto features_in_use = static_cast<double>(features());
    counts_.rows_summed += rows;
    counts_.row_features += rows * features_in_use;
    counts_.row_words += rows * std::ceil(features_in_use / word_features);
    if (all_rows_) counts_.rows_in_order += rows;
    const double groups = std::ceil(features_in_use / group_features);
    counts_.row_groups += rows * groups;
    counts_.tiles_summed += static_cast<double>(tiles.all.size()) * groups;
    for (const Tile& tile : tiles.all)
      for (const double bins : bins_of_columns_)
        counts_.flushed_bins += std::min(bins, static_cast<double>(tile.count));
  }

  void subtract(const std::vector<Siblings>& siblings, std::int64_t sums_of_node,
                const Block<GradientSum>& sums) {
    if (siblings.empty()) return;
    const auto first = [&](std::size_t node) {
      return static_cast<std::int64_t>(node) * sums_of_node;
    };
    std::vector<SiblingSums> pairs;
    for (const Siblings& pair : siblings)
      pairs.push_back({first(pair.parent), first(pair.summed), first(pair.other)});
    const Block<SiblingSums> pairs_there = there(pairs);
    const std::int64_t count = static_cast<std::int64_t>(siblings.size()) * sums_of_node;
    start(blocks_for(count, block_size), 0, SubtractSums{}, pairs_there.data(), sums_of_node, count,
          sums_.data(), sums.data());
    counts_.pair_features += static_cast<double>(siblings.size()) * static_cast<double>(features());
  }

  void choose_splits(Level& level) {
    const auto nodes = static_cast<std::int64_t>(level.size());
    std::vector<GradientSum> node_sums;
    for (const LevelNode& node : level)
      node_sums.push_back(node.sum);
    const Block<GradientSum> node_sums_there = there(node_sums);
    const Block<Split> splits(memory_, static_cast<std::size_t>(nodes * features()));
    const Block<Split> chosen(memory_, level.size());
    start(nodes * features(), FindSplits::shared_bytes(), FindSplits{}, sums_.data(),
          node_sums_there.data(), cut_counts_.data(), static_cast<int>(features()), rules_,
          splits.data());
    start(blocks_for(nodes, block_size), 0, ChooseFeatures{}, splits.data(), nodes,
          static_cast<int>(features()), chosen.data());
    const std::vector<Split> found = here(chosen.data(), level.size());
    for (std::size_t node = 0; node < level.size(); ++node) {
      level[node].split = found[node];
      if (found[node].feature >= 0)
        level[node].split.feature = columns_[static_cast<std::size_t>(found[node].feature)];
    }
    counts_.nodes_searched += static_cast<double>(nodes);
    counts_.node_features += static_cast<double>(nodes * features());
  }

  static std::vector<NodeSplit> splits_of(const Level& level) {
    std::vector<NodeSplit> splits;
    for (const LevelNode& node : level)
      splits.push_back({node.split.feature, LeftBins(node.split)});
    return splits;
  }

  /// Where each tile's rows go, within the chunk's own place; gives the children their rows.
  std::vector<TilePlaces> places_of(const std::vector<std::size_t>& nodes, const Tiles& tiles,
                                    const std::vector<std::int32_t>& lefts, Level& children) {
    for (LevelNode& child : children)
      child.rows = {};
    std::vector<TilePlaces> places;
    for (std::size_t chunk = 0; chunk < places_.size(); ++chunk) {
      std::vector<Range>& now = places_[chunk];
      const std::size_t first = tiles.first_of_chunk[chunk], end = tiles.first_of_chunk[chunk + 1];
      std::vector<std::int64_t> left_rows(now.size(), 0);
      for (std::size_t i = first; i < end; ++i)
        left_rows[static_cast<std::size_t>(tiles.all[i].node)] += lefts[i];
      std::vector<TilePlaces> next(now.size());
      std::vector<Range> of_children;
      std::int64_t begin = rows_->bins.rows_of(static_cast<std::int64_t>(chunk)).begin;
      for (const std::size_t node : nodes) {
        const std::int64_t middle = begin + left_rows[node];
        const std::int64_t end_of_node = begin + now[node].count();
        next[node] = {begin, middle};
        of_children.push_back({begin, middle});
        of_children.push_back({middle, end_of_node});
        begin = end_of_node;
      }
      for (std::size_t i = first; i < end; ++i) {
        TilePlaces& of_node = next[static_cast<std::size_t>(tiles.all[i].node)];
        places.push_back(of_node);
        of_node.left += lefts[i];
        of_node.right += tiles.all[i].count - lefts[i];
      }
      for (std::size_t child = 0; child < children.size(); ++child)
        children[child].rows.end += of_children[child].count();
      now = std::move(of_children);
    }
    return places;
  }

  void add_tree(const Block<TreeNode>& tree, const Bins& bins, const std::uint32_t* row_numbers,
                const Range& rows, const Block<float>& margins) {
    start(blocks_for(rows.count(), block_size), 0, AddTree{}, tree.data(), bins, row_numbers,
          rows.begin, rows.count(), margins.data());
    counts_.walked_rows += static_cast<double>(rows.count());
    counts_.walk_steps += static_cast<double>(rows.count()) * parameters_.depth;
  }

  const GbdtParameters& parameters_;
  const Cuts& cuts_;
  Memory& memory_;
  std::int64_t count_ = 0, validation_count_ = 0;
  std::optional<RowsThere> rows_, validation_;
  Quanta quanta_;
  SplitRules rules_;
  std::vector<std::int32_t> columns_;
  std::vector<double> bins_of_columns_;
  Block<std::int32_t> cut_counts_;    ///< of the columns in use
  Block<std::int32_t> columns_there_; ///< these, where not all are in use
  Block<std::uint8_t> taken_;         ///< and their bytes, of a chunk
  std::int64_t column_bytes_ = 0;
  Block<GradientSum> sums_; ///< of the nodes of a level
  /// Of the rows, each chunk from its first row on, in the order of the nodes of a level; each
  /// level writes the other one.
  Block<std::uint32_t> numbers_[2];
  Block<std::int64_t> gradients_[2];
  std::vector<std::vector<Range>> places_; ///< of each chunk and node of the level
  Block<std::uint32_t> left_out_;
  std::vector<Range> left_out_places_; ///< of each chunk
  int now_ = 0;
  bool all_rows_ = true; ///< row i is number i
  GbdtCounts counts_;
  GbdtSeconds seconds_;
};

} // namespace risk_gbdt

imaging::Memory risk_memory() { return imaging_device::path_memory(); }

risk::GpuTraining train_gbdt(const risk::BinnedRows& rows, const risk::Cuts& cuts,
                             const risk::GbdtParameters& parameters,
                             const risk::BinnedRows* validation, imaging::Memory& memory,
                             double most_bytes) {
  constexpr double share_of_free = 0.95; // others' small blocks, and what an allocator rounds up
  risk_gbdt::Engine engine(rows, cuts, parameters, validation, memory,
                           most_bytes > 0 ? most_bytes : share_of_free * memory.free_bytes());
  risk::GpuTraining run;
  run.training = risk::train_with(engine, cuts, parameters, engine.rules(), validation != nullptr);
  run.counts = engine.counts();
  run.phases = risk::gbdt_phases(run.counts, engine.seconds());
  return run;
}

} // namespace breakeven::ON_PATH
