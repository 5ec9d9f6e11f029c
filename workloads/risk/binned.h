// Rows as bins: each feature cut at quantiles into at most 255 bins, a byte a value. Training reads
// bytes in place of floats, a quarter of the memory, and knows every place where a feature may be
// split. Takes rows from any source a chunk at a time, so raw values of all rows are never held.
#pragma once

#include "workloads/risk/rows.h"

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace breakeven::risk {

constexpr int most_bins = 255;
constexpr std::uint8_t missing_bin = 255;

/// Ascending cuts of each feature: bin b holds the values from cut b - 1 to below cut b, so a row
/// of bins up to b is one of values below cut b.
struct Cuts {
  std::vector<std::vector<float>> of_feature;
};

/// Rows whose values decide the cuts.
constexpr std::int64_t most_sampled_rows = 1 << 17;

/// Quantiles of all rows where there are at most most_sampled_rows of them, else of as many taken
/// in blocks at equal distances; every distinct value where there are no more than `bins`, 2 to
/// most_bins. A feature without any value has no cut. Does not depend on the number of threads.
/// Values are finite or NaN.
Cuts quantile_cuts(const Rows& rows, int bins);

/// Bytes that begin with a cache line and are not initialised.
class Bytes {
public:
  Bytes() = default;
  explicit Bytes(std::size_t count)
      : data_(static_cast<std::uint8_t*>(::operator new(count, line))) {}
  std::uint8_t* data() { return data_.get(); }
  const std::uint8_t* data() const { return data_.get(); }

private:
  static constexpr std::align_val_t line{64};
  struct Free {
    void operator()(std::uint8_t* data) const { ::operator delete(data, line); }
  };
  std::unique_ptr<std::uint8_t, Free> data_;
};

/// The bins of rows, twice: row by row, as sums over rows want them, and feature by feature, as
/// splits of rows do.
struct BinnedRows {
  std::int64_t count = 0;
  int features = 0;
  std::int64_t row_bytes = 0; ///< from row to row: the features and what fills up eight bytes
  Bytes by_row;
  Bytes by_feature;
  std::vector<std::uint8_t> labels;
  std::vector<bool> has_missing; ///< of each feature

  const std::uint8_t* row(std::int64_t index) const { return by_row.data() + index * row_bytes; }
  const std::uint8_t* feature(int index) const { return by_feature.data() + index * count; }
};

/// Reads `rows` in chunks, in all threads. At most most_rows.
BinnedRows binned(const Rows& rows, const Cuts& cuts);

/// What binned() will hold.
double binned_bytes(std::int64_t rows, int features);

} // namespace breakeven::risk
