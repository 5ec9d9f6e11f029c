// Training and scoring on each path (gbdt.h says what they share). The same trees and margins to
// the bit.
#pragma once

#include "workloads/imaging/memory.h"
#include "workloads/risk/gbdt.h"
#include "workloads/risk/gbdt_work.h"
#include "workloads/risk/rows.h"

#include <span>
#include <vector>

namespace breakeven::risk {

struct Training {
  Gbdt model;
  std::vector<double> validation_losses; ///< after each round; empty without validation rows
};

/// Trees on all threads; the model does not depend on their number. `validation` may be null; with
/// early stopping the model has the trees up to the lowest validation loss. `rows` were binned with
/// `cuts`, hold both labels and at most most_rows. `seconds`, where given, becomes those of
/// searching splits and of all the rest.
Training train_gbdt_openmp(const BinnedRows& rows, const Cuts& cuts,
                           const GbdtParameters& parameters, const BinnedRows* validation = nullptr,
                           GbdtSeconds* seconds = nullptr);

/// What the GPU side tells of a training beside it.
struct GpuTraining {
  Training training;
  GbdtCounts counts;
  std::vector<Phase> phases; ///< gbdt_phases()
};

} // namespace breakeven::risk

// The GPU side's source, on the host and on a GPU.
//
// train_gbdt(): bins and everything beside them lie in `memory` while it trains, within
// `most_bytes` or, where that is 0, within 95 % of what is free. Bins that do not fit stay where
// they are and are copied chunk by chunk for each pass, while the chunk before is worked on; the
// state of each row is always there (GbdtGpuMemory::rows). Throws Failure, with the figure, where
// not even that suffices.
//
// score_gbdt(): margins of rows as find_margins() gives them (gbdt_score.h), to the bit. Rows are
// read by the CPU and scored in chunks of `chunk_rows`, or of 16 MiB where that is 0, one being
// read while the one before is copied and scored. Gives the phases "read", on the CPU, and "score":
// what reading did not hide.
namespace breakeven::on_host {
imaging::Memory risk_memory(); ///< the path's, for what follows
risk::GpuTraining train_gbdt(const risk::BinnedRows& rows, const risk::Cuts& cuts,
                             const risk::GbdtParameters& parameters,
                             const risk::BinnedRows* validation, imaging::Memory& memory,
                             double most_bytes = 0);
std::vector<Phase> score_gbdt(const risk::Gbdt& model, const risk::Rows& rows,
                              std::span<float> margins, imaging::Memory& memory,
                              std::int64_t chunk_rows = 0);
} // namespace breakeven::on_host
namespace breakeven::on_serial {
imaging::Memory risk_memory();
risk::GpuTraining train_gbdt(const risk::BinnedRows& rows, const risk::Cuts& cuts,
                             const risk::GbdtParameters& parameters,
                             const risk::BinnedRows* validation, imaging::Memory& memory,
                             double most_bytes = 0);
std::vector<Phase> score_gbdt(const risk::Gbdt& model, const risk::Rows& rows,
                              std::span<float> margins, imaging::Memory& memory,
                              std::int64_t chunk_rows = 0);
} // namespace breakeven::on_serial
namespace breakeven::on_cuda {
imaging::Memory risk_memory();
risk::GpuTraining train_gbdt(const risk::BinnedRows& rows, const risk::Cuts& cuts,
                             const risk::GbdtParameters& parameters,
                             const risk::BinnedRows* validation, imaging::Memory& memory,
                             double most_bytes = 0);
std::vector<Phase> score_gbdt(const risk::Gbdt& model, const risk::Rows& rows,
                              std::span<float> margins, imaging::Memory& memory,
                              std::int64_t chunk_rows = 0);
} // namespace breakeven::on_cuda
