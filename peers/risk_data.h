// The rows that both sides train on and score: dense floats in memory, as libraries take them, so
// that no time of a generator or a file is counted for anyone.
#pragma once

#include "workloads/risk/rows.h"

#include <filesystem>

namespace breakeven::peers {

struct DenseRows {
  std::vector<std::string> feature_names;
  std::vector<float> values;        ///< row by row, a missing one as NaN
  std::vector<std::uint8_t> labels; ///< 0 or 1, as we take them
  std::vector<float> float_labels;  ///< the same as XGBoost takes them

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
  int features() const { return static_cast<int>(feature_names.size()); }
};

struct TrainAndTest {
  DenseRows train, test;
};

/// Card transactions (workloads/risk/transactions.h), of which so many are fraud among those to
/// train on. The rows to test on follow these. Uses one thread.
TrainAndTest made_up_rows(std::int64_t train_rows, std::int64_t positives, std::int64_t test_rows,
                          int columns);
/// The file of UCI's credit card defaults; rows to test on are those whose zero-based index is a
/// multiple of five. Throws BadInput for another file.
TrainAndTest uci_rows(const std::filesystem::path& file);

/// Reading copies. `rows` must outlive it.
risk::Rows reading(const DenseRows& rows);

} // namespace breakeven::peers
