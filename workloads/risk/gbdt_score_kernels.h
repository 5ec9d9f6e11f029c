// Scoring rows of raw values by a model's trees, a lane a row. Values of a block's rows are brought
// to shared memory with coalesced loads, in rows of an odd number of words, so that lanes that ask
// for one feature meet 32 banks; rows too wide for that are read where they lie.
#pragma once

#include "workloads/launch.h"
#include "workloads/risk/gbdt.h"

namespace breakeven::ON_PATH::risk_score {

constexpr int block_rows = 128;
constexpr std::size_t most_shared_bytes = 48 * 1024; ///< that a block has unasked

/// A node as one load of 16 bytes.
struct alignas(16) ScoreNode {
  float value;          ///< of a leaf; of a split, its cut
  std::int32_t feature; ///< none where it is negative
  std::int32_t left;    ///< among the nodes of all trees; the right child follows it
  std::int32_t missing_goes_left;
};

/// Nodes of all trees, and where each tree begins.
struct ScoreTrees {
  const ScoreNode* nodes;
  const std::int32_t* roots;
  std::int32_t count;
  float base_margin;
};

struct ScoreRows {
  HOST_DEVICE static std::size_t shared_words_of_row(int features) {
    return static_cast<std::size_t>(features | 1);
  }
  HOST_DEVICE static std::size_t shared_bytes(int features) {
    return block_rows * shared_words_of_row(features) * sizeof(float);
  }

  DEVICE_ONLY void operator()(const Thread& thread, const ScoreTrees& trees, const float* values,
                              int features, std::int64_t count, float* margins) const {
    const std::int64_t first = thread.block_index() * block_rows;
    const auto here =
        static_cast<int>(count - first < block_rows ? count - first : std::int64_t{block_rows});
    const std::size_t stride = shared_words_of_row(features);
    const SharedArray<float> tile = thread.shared<float>(0, block_rows * stride);
    const float* const from = values + first * features;
    for (int i = thread.thread_index(); i < here * features; i += block_rows)
      tile[static_cast<std::size_t>(i / features) * stride
           + static_cast<std::size_t>(i % features)] = from[i];
    thread.sync();
    if (thread.thread_index() >= here) return;
    const std::size_t row = static_cast<std::size_t>(thread.thread_index()) * stride;
    margins[first + thread.thread_index()] = margin_by(trees, [&](std::int32_t feature) {
      const float value = tile[row + static_cast<std::size_t>(feature)];
      return value;
    });
  }

  /// Leaves' values are added in the order of the trees, as margin_of() does.
  template <class ValueOf>
  DEVICE_ONLY static float margin_by(const ScoreTrees& trees, const ValueOf& value_of) {
    float margin = trees.base_margin;
    for (std::int32_t tree = 0; tree < trees.count; ++tree) {
      ScoreNode node = trees.nodes[trees.roots[tree]];
      while (node.feature >= 0) {
        const float value = value_of(node.feature);
        const bool is_left = value < node.value || (value != value && node.missing_goes_left != 0);
        node = trees.nodes[node.left + (is_left ? 0 : 1)];
      }
      margin += node.value;
    }
    return margin;
  }
};

/// The same for rows too wide for shared memory.
struct ScoreWideRows {
  DEVICE_ONLY void operator()(const Thread& thread, const ScoreTrees& trees, const float* values,
                              int features, std::int64_t count, float* margins) const {
    const std::int64_t row = thread.global_index();
    if (row >= count) return;
    const float* const own = values + row * features;
    margins[row] = ScoreRows::margin_by(trees, [&](std::int32_t feature) { return own[feature]; });
  }
};

} // namespace breakeven::ON_PATH::risk_score
