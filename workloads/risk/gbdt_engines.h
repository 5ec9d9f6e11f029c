// Training and scoring of boosted trees by path, with the phases that they are timed as. Leaves out
// reading, binning and what becomes of the result.
#pragma once

#include "workloads/risk/gbdt_paths.h"
#include "workloads/workload.h"

#include <span>
#include <vector>

namespace breakeven::risk {

constexpr const char* histograms_phase = "histograms";
constexpr const char* splits_phase = "splits";

/// Phases: "histograms", all that grows with rows, and "splits", what grows with nodes; before them
/// "transfer" on the GPU side, whose `counts` are those of the run. The same trees to the bit.
GpuTraining train_gbdt(Path path, const BinnedRows& rows, const Cuts& cuts,
                       const GbdtParameters& parameters, const BinnedRows* validation);

/// Margins of rows as raw values; the phase is "score", on the GPU side behind "read", which is
/// the CPU's. The same bits on every path.
std::vector<Phase> score_gbdt(Path path, const Gbdt& model, const Rows& rows,
                              std::span<float> margins);

} // namespace breakeven::risk
