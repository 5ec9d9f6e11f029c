// A trained model's file, in XGBoost's JSON format so that others' tools read it. Takes and gives a
// Gbdt; leaves out training and scoring (gbdt_score.h).
#pragma once

#include "workloads/risk/gbdt.h"

#include <filesystem>

namespace breakeven::risk {

/// As XGBoost 1.7 writes models of objective binary:logistic and booster gbtree ("Introduction to
/// Model IO", xgboost.readthedocs.io). Floats have the digits that give them back to the bit.
/// Replaces the file whole or not at all; Failure where it cannot be written.
void write_model(const std::filesystem::path& path, const Gbdt& model);

/// A file as write_model() or XGBoost (1.6 on) writes it, numeric splits only. BadInput, naming
/// file and field, for anything else: another objective or booster, arrays of unequal lengths,
/// children that make no tree, a feature that there is not, numbers that are not finite, a file cut
/// short.
Gbdt read_model(const std::filesystem::path& path);

} // namespace breakeven::risk
