#include "workloads/risk/binned.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace breakeven::risk {

namespace {

constexpr std::int64_t sample_block = 64;
constexpr std::int64_t rows_at_once = 1024;
constexpr int search_steps = 8; ///< in a table of 2^8 cuts

// ---- cuts ----

/// Unsigned numbers in the order of the floats, and back.
std::uint32_t key_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits >> 31) != 0 ? ~bits : bits | 0x8000'0000u;
}
float value_of(std::uint32_t key) {
  return std::bit_cast<float>((key >> 31) != 0 ? key & 0x7FFF'FFFFu : ~key);
}

/// Least significant digit first, 11 bits a digit.
void radix_sort(std::vector<std::uint32_t>& keys, std::vector<std::uint32_t>& other) {
  constexpr int digits = 3, digit_bits = 11;
  constexpr std::uint32_t places = 1 << digit_bits;
  std::array<std::array<std::uint32_t, places>, digits> starts{};
  const auto digit_of = [](std::uint32_t key, int digit) {
    return key >> (digit * digit_bits) & (places - 1);
  };
  for (const std::uint32_t key : keys)
    for (int digit = 0; digit < digits; ++digit)
      ++starts[static_cast<std::size_t>(digit)][digit_of(key, digit)];
  other.resize(keys.size());
  for (int digit = 0; digit < digits; ++digit) {
    auto& start = starts[static_cast<std::size_t>(digit)];
    std::uint32_t sum = 0;
    for (std::uint32_t& place : start)
      sum += std::exchange(place, sum);
    for (const std::uint32_t key : keys)
      other[start[digit_of(key, digit)]++] = key;
    keys.swap(other);
  }
}

/// Of sorted values. -0 and 0 have keys of their own but are one value, so cuts are compared.
std::vector<float> cuts_of_sorted(const std::vector<std::uint32_t>& sorted, int bins) {
  std::vector<float> distinct;
  for (const std::uint32_t key : sorted) {
    const float value = value_of(key);
    if (!distinct.empty() && value == distinct.back()) continue;
    distinct.push_back(value);
    if (distinct.size() > static_cast<std::size_t>(bins)) break;
  }
  if (distinct.size() <= static_cast<std::size_t>(bins)) {
    if (!distinct.empty()) distinct.erase(distinct.begin()); // below it lies nothing
    return distinct;
  }
  std::vector<float> cuts;
  float last = value_of(sorted.front());
  for (int bin = 1; bin < bins; ++bin) {
    const float cut = value_of(
        sorted[sorted.size() * static_cast<std::size_t>(bin) / static_cast<std::size_t>(bins)]);
    if (cut == last) continue;
    cuts.push_back(cut);
    last = cut;
  }
  return cuts;
}

struct Range {
  std::int64_t begin = 0, end = 0;
  std::int64_t count() const { return end - begin; }
};

/// Blocks at equal distances, or one of everything.
std::vector<Range> sampled_ranges(std::int64_t rows) {
  if (rows <= most_sampled_rows) return {{0, rows}};
  constexpr std::int64_t blocks = most_sampled_rows / sample_block;
  std::vector<Range> ranges;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = (rows - sample_block) * block / (blocks - 1);
    ranges.push_back({begin, begin + sample_block});
  }
  return ranges;
}

/// Sampled values as keys, feature by feature, missing ones left out.
std::vector<std::vector<std::uint32_t>> sampled_keys(const Rows& rows) {
  const auto features = static_cast<std::size_t>(rows.features());
  std::vector<Range> pieces;
  for (const Range& range : sampled_ranges(rows.count))
    for (std::int64_t begin = range.begin; begin < range.end; begin += rows_at_once)
      pieces.push_back({begin, std::min(range.end, begin + rows_at_once)});
  std::vector<std::int64_t> starts{0};
  for (const Range& piece : pieces)
    starts.push_back(starts.back() + piece.count());
  std::vector<float> values(static_cast<std::size_t>(starts.back()) * features);
#pragma omp parallel
  {
    std::vector<std::uint8_t> labels(rows_at_once);
#pragma omp for schedule(dynamic, 1)
    for (std::size_t i = 0; i < pieces.size(); ++i)
      rows.read(pieces[i].begin, pieces[i].end,
                values.data() + static_cast<std::size_t>(starts[i]) * features, labels.data());
  }
  std::vector<std::vector<std::uint32_t>> keys(features);
#pragma omp parallel for schedule(dynamic, 1)
  for (std::size_t feature = 0; feature < features; ++feature) {
    keys[feature].reserve(values.size() / features);
    for (std::size_t i = feature; i < values.size(); i += features)
      if (!std::isnan(values[i])) keys[feature].push_back(key_of(values[i]));
  }
  return keys;
}

// ---- bins ----

using CutTable = std::array<float, 1 << search_steps>; ///< filled up with infinity

/// Number of cuts up to each value, by a search without branches, whose steps the compiler makes
/// vectors of.
void find_bins(const CutTable& cuts, const float* __restrict values, std::int32_t* __restrict bins,
               std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    bins[i] = 0;
  for (std::int32_t step = 1 << (search_steps - 1); step > 0; step /= 2)
    for (std::int64_t i = 0; i < count; ++i)
      bins[i] += cuts[static_cast<std::size_t>(bins[i] + step - 1)] <= values[i] ? step : 0;
}

} // namespace

Cuts quantile_cuts(const Rows& rows, int bins) {
  assert(bins >= 2 && bins <= most_bins);
  std::vector<std::vector<std::uint32_t>> keys = sampled_keys(rows);
  Cuts cuts;
  cuts.of_feature.resize(keys.size());
#pragma omp parallel
  {
    std::vector<std::uint32_t> other;
#pragma omp for schedule(dynamic, 1)
    for (std::size_t feature = 0; feature < keys.size(); ++feature) {
      radix_sort(keys[feature], other);
      cuts.of_feature[feature] = cuts_of_sorted(keys[feature], bins);
    }
  }
  return cuts;
}

BinnedRows binned(const Rows& rows, const Cuts& cuts) {
  assert(rows.count <= most_rows);
  const auto features = static_cast<std::size_t>(rows.features());
  BinnedRows out;
  out.count = rows.count;
  out.features = rows.features();
  out.row_bytes = (std::int64_t{out.features} + 7) / 8 * 8;
  out.by_row = Bytes(static_cast<std::size_t>(out.count * out.row_bytes));
  out.by_feature = Bytes(static_cast<std::size_t>(out.count) * features);
  out.labels.resize(static_cast<std::size_t>(out.count));
  std::vector<CutTable> tables(features);
  for (std::size_t feature = 0; feature < features; ++feature) {
    tables[feature].fill(std::numeric_limits<float>::infinity());
    std::copy(cuts.of_feature[feature].begin(), cuts.of_feature[feature].end(),
              tables[feature].begin());
  }
  std::vector<std::uint8_t> missing(features, 0);
#pragma omp parallel
  {
    std::vector<float> values(rows_at_once * features), column(rows_at_once);
    std::vector<std::int32_t> bins(rows_at_once);
    std::vector<std::uint8_t> own_missing(features, 0);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t begin = 0; begin < out.count; begin += rows_at_once) {
      const std::int64_t end = std::min(out.count, begin + rows_at_once), here = end - begin;
      rows.read(begin, end, values.data(), out.labels.data() + begin);
      std::uint8_t* const first_row = out.by_row.data() + begin * out.row_bytes;
      std::fill(first_row, first_row + here * out.row_bytes, std::uint8_t{0});
      for (std::size_t feature = 0; feature < features; ++feature) {
        for (std::int64_t i = 0; i < here; ++i)
          column[static_cast<std::size_t>(i)] =
              values[static_cast<std::size_t>(i) * features + feature];
        find_bins(tables[feature], column.data(), bins.data(), here);
        std::uint8_t* const by_feature =
            out.by_feature.data() + static_cast<std::int64_t>(feature) * out.count + begin;
        std::uint8_t any_missing = 0;
        for (std::int64_t i = 0; i < here; ++i) {
          const float value = column[static_cast<std::size_t>(i)];
          const bool is_missing = value != value;
          by_feature[i] = is_missing ? missing_bin
                                     : static_cast<std::uint8_t>(bins[static_cast<std::size_t>(i)]);
          any_missing |= is_missing;
        }
        own_missing[feature] |= any_missing;
        for (std::int64_t i = 0; i < here; ++i)
          first_row[i * out.row_bytes + static_cast<std::int64_t>(feature)] = by_feature[i];
      }
    }
#pragma omp critical(risk_binned)
    for (std::size_t feature = 0; feature < features; ++feature)
      missing[feature] |= own_missing[feature];
  }
  out.has_missing.assign(missing.begin(), missing.end());
  return out;
}

double binned_bytes(std::int64_t rows, int features) {
  const double row_bytes = (features + 7) / 8 * 8;
  return static_cast<double>(rows) * (row_bytes + features + 1);
}

} // namespace breakeven::risk
