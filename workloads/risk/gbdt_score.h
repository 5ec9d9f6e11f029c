// Scoring of rows with boosted trees: batch scoring is what many banks run every night. Takes a
// model and rows, gives the margin of each row, to the bit that of a plain walk. Leaves out
// training and the model's file (gbdt_model.h).
#pragma once

#include "workloads/risk/binned.h"
#include "workloads/risk/gbdt.h"
#include "workloads/risk/rows.h"
#include "workloads/risk/scoring_trees.h"

#include <span>

namespace breakeven::risk {

/// The plain walk, which says what a margin is: the base margin and each tree's value, added as
/// floats in the order of the trees. Values below a cut go left, NaN goes the missing way.
float margin_of(const Gbdt& model, const float* values);

/// Margins of rows, in all threads; NaN is a missing value. `rows` have the model's features in its
/// order. The same bits for any number of threads. A model that scores many batches is made ready
/// once, by scoring_trees().
void find_margins(const ScoringTrees& trees, const Rows& rows, std::span<float> margins);
void find_margins(const Gbdt& model, const Rows& rows, std::span<float> margins);

/// The same of rows that are binned with the model's own cuts, to the same bits; the trees are
/// those of scoring_trees_of_bins().
void find_margins_of_bins(const ScoringTrees& trees, const BinnedRows& rows,
                          std::span<float> margins);
void find_margins_of_bins(const Gbdt& model, const BinnedRows& rows, std::span<float> margins);

/// What scoring holds beside rows and margins: the trees, and for each thread the raw values and
/// the columns of 512 rows, and 39 KiB.
double scoring_bytes(const ScoringTrees& trees, int threads);

} // namespace breakeven::risk
