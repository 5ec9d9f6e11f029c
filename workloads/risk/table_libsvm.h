// LibSVM text files (label index:value index:value ...) into memory as the entries that are there;
// an entry that is not there is a missing value, as XGBoost has it, not a zero, as LibSVM has it.
// Leaves out what the features mean, ranking groups (qid), and files that don't fit in memory.
#pragma once

#include "workloads/risk/rows.h"

#include <cstddef>
#include <filesystem>

namespace breakeven::risk {

struct LibsvmSettings {
  std::string positive = "1"; ///< the label that is 1, as a number; one other is 0: -1, 0 or 2
  std::string negative;       ///< that other label; empty: the first one found
  std::int64_t first_index = 1;
  /// 0: as many as the largest index says. Else, for a later file to test on or score, as many as
  /// the first file had; labels of one kind will then do.
  int features = 0;
  int features_at_most = 1 << 20; ///< a row is read with all of them
  std::int64_t rows_at_most = 0xFFFFFFFF;
  std::size_t block_bytes = std::size_t{16} << 20; ///< held of the file; a line must fit
};

struct SparseTable {
  int features = 0;
  std::int64_t first_index = 1;
  std::vector<std::int64_t> starts{0}; ///< of each row's entries, and behind the last
  std::vector<std::uint32_t> places;   ///< features from 0 on, rising within a row
  std::vector<float> values;           ///< NaN where the file says nan: missing, too
  std::vector<std::uint8_t> labels;    ///< 0 or 1
  std::string negative;                ///< the label that is 0

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
};

/// Blank lines, and what follows a '#', are skipped. Throws BadInput with the line for: a label
/// that is no number or a third value, labels of one kind, a value that is no number or not finite,
/// indices that don't rise or are out of range, no rows or too many, no entry at all, a NUL byte,
/// no such file.
SparseTable read_libsvm_table(const std::filesystem::path& file, const LibsvmSettings& settings);

/// Features are named by the file's index: feature_1, feature_2, ... Holds the table.
Rows rows_of(SparseTable table);

} // namespace breakeven::risk
