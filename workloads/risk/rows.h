// Rows of numbers with a label each, as a model is trained on and scores: where they come from is
// behind one function, so that a file in memory and a generator of rows that no memory holds look
// alike. Leaves out bins (binned.h) and what the numbers mean.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace breakeven::risk {

constexpr std::int64_t most_rows = 0xFFFF'FFFF; ///< rows have 32-bit numbers

struct Rows {
  std::int64_t count = 0;
  std::vector<std::string> feature_names; ///< one a feature, in the order of the values
  /// Rows [begin, end): (end - begin) x features values, row by row, a missing one as NaN, and a
  /// label each, 0 or 1. Safe to call from several threads; the same rows every time.
  std::function<void(std::int64_t begin, std::int64_t end, float* values, std::uint8_t* labels)>
      read;

  int features() const { return static_cast<int>(feature_names.size()); }
};

/// Rows [begin, end) of others.
Rows part_of(const Rows& rows, std::int64_t begin, std::int64_t end);
/// Those rows whose index is `remainder` modulo `divisor`, or all but those.
Rows every(const Rows& rows, std::int64_t divisor, std::int64_t remainder);
Rows all_but_every(const Rows& rows, std::int64_t divisor, std::int64_t remainder);

} // namespace breakeven::risk
