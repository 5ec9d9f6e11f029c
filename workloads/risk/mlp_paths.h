// Training the network on each path (mlp.h says what it is). Both paths meet the same rows in the
// same order and share all arithmetic but sums of products, whose order is the library's: losses of
// steps stay within 1e-3 of each other over the first steps and AUC within 5e-4
// (tests/parity/mlp_parity_test.cpp), weights are not equal.
#pragma once

#include "workloads/imaging/memory.h"
#include "workloads/risk/mlp.h"

namespace breakeven::risk {

/// What belongs to one training besides the parameters.
struct MlpJob {
  const MlpTable* rows = nullptr;       ///< both labels, in the precision of the parameters
  const MlpScaling* scaling = nullptr;  ///< that they were prepared with
  const MlpTable* validation = nullptr; ///< may be null; the same scaling and precision
  std::int64_t most_steps = 0;          ///< a slice of the job; 0: all epochs
};

struct MlpRun {
  Mlp model;
  /// Mean logistic loss of each step's rows before it, and of the validation rows after each epoch
  /// and where a slice ends; no row counts more than 64, positive_weight not at all.
  std::vector<double> step_losses, validation_losses;
  std::int64_t steps = 0, skipped_steps = 0; ///< done, and those among them that overflowed
  float loss_scale = 1;                      ///< at the end; 1 but for fp16
  /// "transfer" (on a GPU, per job), "training" and, with validation rows, "validation" (per unit).
  std::vector<Phase> phases;
  std::int64_t peak_bytes = 0; ///< in the path's memory; on the CPU without the tables
};

/// On all threads. The model does not depend on their number: a product's rows and columns are
/// divided by its size alone, each part is multiplied by one thread, and parts are added in their
/// order. It does depend on OpenBLAS's version and on the kernel that it chooses for the CPU. Polls
/// interrupted() between steps and then returns what is done. Throws Failure where the rows have
/// one label only or memory is short, and BadInput for parameters out of range.
MlpRun train_mlp_openmp(const MlpJob& job, const MlpParameters& parameters);

} // namespace breakeven::risk

// The GPU side's source, on the host (products by OpenBLAS on rounded inputs) and on a GPU
// (cuBLAS). Tables and buffers lie in `memory` while it trains: the whole table goes to the device
// once per job, so it must fit (Failure; mlp_memory_bytes() predicts).
#define BREAKEVEN_DECLARE_MLP(path)                                                                \
  namespace breakeven::path {                                                                      \
  risk::MlpRun train_mlp(const risk::MlpJob& job, const risk::MlpParameters& parameters,           \
                         imaging::Memory& memory);                                                 \
  }
BREAKEVEN_DECLARE_MLP(on_host)
BREAKEVEN_DECLARE_MLP(on_serial)
BREAKEVEN_DECLARE_MLP(on_cuda)
#undef BREAKEVEN_DECLARE_MLP
