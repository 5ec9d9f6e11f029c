#include "workloads/risk/rows.h"

#include <algorithm>
#include <cassert>

namespace breakeven::risk {

namespace {

/// Rows read at once and then picked from: a block of the generator (transactions.h).
constexpr std::int64_t span_rows = 4096;

/// The rows whose index is index_of(0), index_of(1), ..., which must rise.
template <class IndexOf>
Rows picked(const Rows& rows, std::int64_t count, IndexOf index_of) {
  Rows some;
  some.count = count;
  some.feature_names = rows.feature_names;
  const auto features = static_cast<std::size_t>(rows.features());
  some.read = [read = rows.read, features, index_of](std::int64_t begin, std::int64_t end,
                                                     float* values, std::uint8_t* labels) {
    std::vector<float> span_values;
    std::vector<std::uint8_t> span_labels;
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t first = index_of(i);
      std::int64_t last = first; // of the span
      std::int64_t after = i;
      while (after < end && index_of(after) < first + span_rows)
        last = index_of(after++);
      const auto length = static_cast<std::size_t>(last - first + 1);
      span_values.resize(std::max(span_values.size(), length * features));
      span_labels.resize(std::max(span_labels.size(), length));
      read(first, last + 1, span_values.data(), span_labels.data());
      for (; i < after; ++i) {
        const auto from = static_cast<std::size_t>(index_of(i) - first);
        values = std::copy_n(&span_values[from * features], features, values);
        *labels++ = span_labels[from];
      }
    }
  };
  return some;
}

std::int64_t picked_count(std::int64_t count, std::int64_t divisor, std::int64_t remainder) {
  return count / divisor + (count % divisor > remainder ? 1 : 0);
}

} // namespace

Rows part_of(const Rows& rows, std::int64_t begin, std::int64_t end) {
  assert(0 <= begin && begin <= end && end <= rows.count);
  Rows part;
  part.count = end - begin;
  part.feature_names = rows.feature_names;
  part.read = [read = rows.read, begin](std::int64_t from, std::int64_t to, float* values,
                                        std::uint8_t* labels) {
    read(begin + from, begin + to, values, labels);
  };
  return part;
}

Rows every(const Rows& rows, std::int64_t divisor, std::int64_t remainder) {
  assert(0 <= remainder && remainder < divisor);
  return picked(rows, picked_count(rows.count, divisor, remainder),
                [divisor, remainder](std::int64_t i) { return i * divisor + remainder; });
}

Rows all_but_every(const Rows& rows, std::int64_t divisor, std::int64_t remainder) {
  assert(0 <= remainder && remainder < divisor);
  const std::int64_t kept = std::max<std::int64_t>(divisor - 1, 1); // of divisor rows
  return picked(rows, rows.count - picked_count(rows.count, divisor, remainder),
                [divisor, remainder, kept](std::int64_t i) {
                  const std::int64_t place = i % kept;
                  return i / kept * divisor + place + (place >= remainder ? 1 : 0);
                });
}

} // namespace breakeven::risk
