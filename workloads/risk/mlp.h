// A network for tabular data and a binary target, trained in mixed precision: layers of products,
// ReLU between them, one logit, logistic loss, Adam. Here: its parameters, how its numbers lie in
// memory, the trained model and its scores, and what a step costs. Leaves out training
// (mlp_paths.h) and what rows look like to it (mlp_input.h).
//
// Precision is how weights, activations and gradients are rounded before each product
// (mlp_format.h); sums, the weights that Adam moves and Adam's own state are floats, as in
// Micikevicius et al., "Mixed precision training", ICLR 2018. The CPU path rounds floats and
// multiplies floats: it gives the models of the 16-bit formats, and is no faster by them.
#pragma once

#include "workloads/risk/mlp_input.h"
#include "workloads/workload.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace breakeven::risk {

struct MlpParameters {
  std::vector<int> hidden{512, 512, 256}; ///< widths: 1 to 8 layers of 1 to 16384
  std::int64_t batch_rows = 4096;         ///< of a step; all rows where there are fewer
  int epochs = 10;
  float learning_rate = 1e-3f;
  /// Share of the learning rate that is left at the end of the job; it falls by as much at each
  /// step. 1: it stays.
  float last_rate_share = 0;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f; ///< Adam's
  float l2 = 0;              ///< decay of weights, not biases, by learning_rate x l2 a step
  float positive_weight = 1; ///< of rows with label 1, against a rare class
  MlpPrecision precision = MlpPrecision::fp32;
  std::uint64_t seed = 1;

  bool operator==(const MlpParameters&) const = default;
};

/// Throws BadInput naming `file` for a parameter out of its range.
void check_mlp(const MlpParameters& parameters, const std::string& file);

// ---- where numbers lie ----

/// Widths are padded to multiples of 16, for whole vectors and tensor-core tiles. Padded units have
/// weights of 0, and keep them: their activations and gradients are 0.
struct MlpLayer {
  int in = 0, out = 0;
  std::int64_t weight = 0; ///< offset of in x out numbers, row by row
  std::int64_t bias = 0;   ///< offset of out numbers
};

/// All numbers of a network: the hidden layers' weights, the head's, then all biases. Those from
/// the head's weights on have gradients that are plain sums over rows; the ones before have
/// gradients that are products.
struct MlpLayout {
  std::vector<MlpLayer> layers; ///< hidden ones
  std::int64_t head_weight = 0; ///< offset of as many numbers as the last layer is wide
  std::int64_t head_bias = 0;   ///< offset of one number
  std::int64_t weights = 0;     ///< numbers that decay: those before this offset
  std::int64_t size = 0;

  int columns() const { return layers.front().in; }
  int last() const { return layers.back().out; }
  std::int64_t sums() const { return size - head_weight; }
  int widest() const;
};

MlpLayout mlp_layout(int columns, const std::vector<int>& hidden);

/// Weights of a hidden layer are normal with variance 2 / inputs (He et al., ICCV 2015), of the
/// head 1 / inputs; biases are 0, but that of the head is the log-odds of the rows' labels,
/// weighted as in training. The same bits on every path.
std::vector<float> first_weights(const MlpLayout& layout, const MlpParameters& parameters,
                                 const MlpScaling& scaling, const MlpTable& rows);

// ---- the model ----

struct Mlp {
  MlpParameters parameters;
  MlpScaling scaling;
  MlpLayout layout;
  std::vector<float> weights; ///< as Adam left them, not rounded
};

/// Log-odds of each row, in the precision of the model, by all threads. Does not depend on their
/// number. `margins` has rows.count places; `rows` the features that the model was trained on.
/// Throws Failure where they are others.
void find_margins(const Mlp& model, const Rows& rows, std::span<float> margins);

// ---- what it costs ----

/// Steps of an epoch: whole batches; rows left over have their turn in another epoch.
std::int64_t steps_per_epoch(std::int64_t rows, const MlpParameters& parameters);

/// Operations of the products of one step over `batch_rows` rows, a multiply-add counted as two.
double mlp_step_flops(const MlpLayout& layout, std::int64_t batch_rows);

/// One step on a GPU, counted from the sizes. Every pass over activations, gradients and weights
/// counts as bytes of DRAM, as if no cache held a step's buffers: the upper end for batches whose
/// buffers fit into L2 (mlp_step_bytes). Tensor cores take both 16-bit formats at one rate, but
/// those before compute capability 8.0 (V100, T4) have no bf16, and cuBLAS refuses it there.
Work mlp_step_work(const MlpLayout& layout, std::int64_t batch_rows, MlpPrecision precision);
/// Margins and loss of so many rows on a GPU, in batches.
Work mlp_validation_work(const MlpLayout& layout, std::int64_t rows, std::int64_t batch_rows,
                         MlpPrecision precision);
/// Both tables once to the device before the first step; the trained weights and the losses back.
Work mlp_transfer_work(const MlpLayout& layout, std::int64_t rows, std::int64_t validation_rows,
                       std::int64_t steps, MlpPrecision precision);

/// Buffers of one step: activations, gradients, weights and Adam's state, in the path's memory.
double mlp_step_bytes(const MlpLayout& layout, std::int64_t batch_rows, MlpPrecision precision,
                      Path path);
/// The most that training holds in the memory of its path: the tables (on a GPU, whole) and a
/// step's buffers. `columns` are the table's (MlpScaling::columns).
double mlp_memory_bytes(std::int64_t rows, std::int64_t validation_rows, int columns,
                        const MlpParameters& parameters, Path path);

} // namespace breakeven::risk
