// Scoring on the GPU side. The serial loop:
//
//   for (row r) {
//     margin[r] = base;
//     for (tree t) margin[r] += t.leaf_of(values[r]).value;
//   }
//
// Rows come in chunks through two lanes: while the CPU reads the values of one chunk, those of the
// one before are copied, scored and their margins copied back, on a stream of their own.
#include "workloads/risk/gbdt_device.h"
#include "workloads/risk/gbdt_paths.h"
#include "workloads/risk/gbdt_score_kernels.h"

#include <algorithm>
#include <cassert>

namespace breakeven::ON_PATH {

namespace risk_score {

using namespace ::breakeven::risk;
using imaging::Block;
using imaging::Memory;
using imaging_device::blocks_for;
using imaging_device::to_path;

std::int64_t chunk_rows_for(const Rows& rows, std::int64_t asked) {
  const std::int64_t whole = asked > 0 ? asked : score_chunk_rows(rows.features());
  return std::clamp<std::int64_t>(rows.count, 1, whole);
}

class TreesThere {
public:
  TreesThere(const Gbdt& model, Memory& memory)
      : roots_(to_path(roots_of(model), memory)),
        nodes_(to_path(nodes_of(model), memory)),
        trees_{nodes_.data(), roots_.data(), static_cast<std::int32_t>(model.trees.size()),
               model.base_margin} {}
  const ScoreTrees& trees() const { return trees_; }

private:
  static std::vector<std::int32_t> roots_of(const Gbdt& model) {
    std::vector<std::int32_t> roots;
    std::size_t next = 0;
    for (const Tree& tree : model.trees) {
      roots.push_back(static_cast<std::int32_t>(next));
      next += tree.size();
    }
    return roots;
  }
  static std::vector<ScoreNode> nodes_of(const Gbdt& model) {
    std::vector<ScoreNode> nodes;
    for (const Tree& tree : model.trees) {
      const auto root = static_cast<std::int32_t>(nodes.size());
      for (const TreeNode& node : tree)
        nodes.push_back({node.feature >= 0 ? node.cut : node.value, node.feature, root + node.left,
                         node.missing_goes_left ? 1 : 0});
    }
    return nodes;
  }

  Block<std::int32_t> roots_;
  Block<ScoreNode> nodes_;
  ScoreTrees trees_;
};

/// What one chunk needs on its way.
class Lane {
public:
  Lane(std::int64_t chunk_rows, int features, Memory& memory)
      : features_(features),
        values_(static_cast<std::size_t>(chunk_rows * features)),
        margins_(static_cast<std::size_t>(chunk_rows)),
        values_there_(memory, values_.size()),
        margins_there_(memory, margins_.size()) {}

  /// Room for the next chunk's values, once the chunk before has left its margins in `margins`.
  float* free_values(std::span<float> margins, double& kernel_s) {
    queue_.finish();
    if (count_ > 0) {
      kernel_s += clock_.seconds();
      std::copy_n(margins_.data(), count_, margins.data() + begin_);
    }
    count_ = 0;
    return values_.data();
  }

  void score(const ScoreTrees& trees, std::int64_t begin, std::int64_t count) {
    begin_ = begin;
    count_ = count;
    const auto values = static_cast<std::size_t>(count * features_);
    queue_.copy_in(values_there_.data(), values_.data(), values * sizeof(float));
    clock_.start(queue_);
    const std::int64_t blocks = blocks_for(count, block_rows);
    const std::size_t shared_bytes = ScoreRows::shared_bytes(features_);
    if (shared_bytes <= most_shared_bytes)
      launch(blocks, block_rows, shared_bytes, queue_.stream(), ScoreRows{}, trees,
             static_cast<const float*>(values_there_.data()), features_, count,
             margins_there_.data());
    else
      launch(blocks, block_rows, 0, queue_.stream(), ScoreWideRows{}, trees,
             static_cast<const float*>(values_there_.data()), features_, count,
             margins_there_.data());
    clock_.stop(queue_);
    queue_.copy_out(margins_.data(), margins_there_.data(),
                    static_cast<std::size_t>(count) * sizeof(float));
  }

private:
  int features_;
  std::int64_t begin_ = 0, count_ = 0;
  risk_device::PinnedBlock<float> values_, margins_;
  Block<float> values_there_, margins_there_;
  risk_device::KernelClock clock_;
  risk_device::Queue queue_{}; // ends first, and waits for its copies
};

Phase phase_of(const std::string& name, Processor processor, double end_to_end_s, double kernel_s) {
  Phase phase;
  phase.name = name;
  phase.processor = processor;
  phase.end_to_end_s = end_to_end_s;
  phase.kernel_s = kernel_s;
  return phase;
}

} // namespace risk_score

std::vector<Phase> score_gbdt(const risk::Gbdt& model, const risk::Rows& rows,
                              std::span<float> margins, imaging::Memory& memory,
                              std::int64_t asked_chunk_rows) {
  using namespace risk_score;
  assert(rows.features() == static_cast<int>(model.feature_names.size()));
  assert(static_cast<std::int64_t>(margins.size()) == rows.count);
  const std::int64_t chunk_rows = chunk_rows_for(rows, asked_chunk_rows);
  double read_s = 0, kernel_s = 0;
  std::int64_t chunks = 0;
  const double start_s = seconds_now();
  {
    const TreesThere trees(model, memory);
    Lane lanes[2] = {Lane(chunk_rows, rows.features(), memory),
                     Lane(chunk_rows, rows.features(), memory)};
    memory.synchronise(); // the lanes' blocks come from the stream of the calling thread
    for (std::int64_t begin = 0; begin < rows.count; begin += chunk_rows, ++chunks) {
      Lane& lane = lanes[chunks % 2];
      const std::int64_t end = std::min(rows.count, begin + chunk_rows);
      float* const values = lane.free_values(margins, kernel_s);
      const double read_start_s = seconds_now();
      read_values(rows, begin, end, values);
      read_s += seconds_now() - read_start_s;
      lane.score(trees.trees(), begin, end - begin);
    }
    for (Lane& lane : lanes)
      lane.free_values(margins, kernel_s);
  }
  const double not_hidden_s = std::max(0.0, seconds_now() - start_s - read_s);
  std::vector<Phase> phases = {
      phase_of("read", Processor::cpu, read_s, read_s),
      // Kernels of one lane wait for those of the other, and their events count that too.
      phase_of("score", Processor::gpu, not_hidden_s, std::min(kernel_s, not_hidden_s))};
  phases[1].work = risk::gbdt_score_work(model, rows.count, chunks);
  return phases;
}

} // namespace breakeven::ON_PATH
