#include "workloads/risk/mlp_input.h"

#include "sim/errors.h"
#include "workloads/risk/approximations.h"
#include "workloads/risk/mlp_format.h"
#include "workloads/risk/mlp_maths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

namespace breakeven::risk {

namespace {

constexpr std::int64_t rows_at_once = 4096; ///< a block of the generator (transactions.h)
constexpr int column_unit = 16;

/// Of some rows of a feature.
struct Moments {
  std::int64_t count = 0, rows = 0;
  double mean = 0, squares = 0; ///< squared differences from the mean, summed
  float least = std::numeric_limits<float>::infinity(), most = -least;
};

/// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample
/// variances", 1979.
void add(Moments& sum, const Moments& more) {
  sum.rows += more.rows;
  if (more.count == 0) return;
  sum.least = std::min(sum.least, more.least);
  sum.most = std::max(sum.most, more.most);
  const double count = static_cast<double>(sum.count + more.count);
  const double difference = more.mean - sum.mean, share = static_cast<double>(more.count) / count;
  sum.squares += more.squares + difference * difference * static_cast<double>(sum.count) * share;
  sum.mean += difference * share;
  sum.count += more.count;
}

/// Of the rows of one feature, which lie `stride` numbers apart. Overwrites them.
template <class Change>
Moments moments_of(float* values, std::size_t stride, std::int64_t rows, const Change& change) {
  Moments moments;
  moments.rows = rows;
  double sum = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    float& value = values[static_cast<std::size_t>(row) * stride];
    if (value != value) continue;
    value = change(value);
    ++moments.count;
    sum += static_cast<double>(value);
    moments.least = std::min(moments.least, value);
    moments.most = std::max(moments.most, value);
  }
  if (moments.count == 0) return moments;
  moments.mean = sum / static_cast<double>(moments.count);
  for (std::int64_t row = 0; row < rows; ++row) {
    const float value = values[static_cast<std::size_t>(row) * stride];
    const double difference = value == value ? static_cast<double>(value) - moments.mean : 0.0;
    moments.squares += difference * difference;
  }
  return moments;
}

/// Of each feature's values after change(feature, value).
template <class Change>
std::vector<Moments> moments_of_rows(const Rows& rows, const Change& change) {
  const auto features = static_cast<std::size_t>(rows.features());
  const std::int64_t chunks = (rows.count + rows_at_once - 1) / rows_at_once;
  std::vector<Moments> of_chunks(static_cast<std::size_t>(chunks) * features);
#pragma omp parallel
  {
    std::vector<float> read(static_cast<std::size_t>(rows_at_once) * features);
    std::vector<std::uint8_t> labels(static_cast<std::size_t>(rows_at_once));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t begin = chunk * rows_at_once;
      const std::int64_t end = std::min(rows.count, begin + rows_at_once);
      rows.read(begin, end, read.data(), labels.data());
      for (std::size_t feature = 0; feature < features; ++feature)
        of_chunks[static_cast<std::size_t>(chunk) * features + feature] =
            moments_of(&read[feature], features, end - begin,
                       [&](float value) { return change(feature, value); });
    }
  }
  std::vector<Moments> all(features);
  for (std::size_t chunk = 0; chunk < static_cast<std::size_t>(chunks); ++chunk)
    for (std::size_t feature = 0; feature < features; ++feature)
      add(all[feature], of_chunks[chunk * features + feature]);
  return all;
}

constexpr double units_in_mean = 8;

/// A value that is there, as it is standardised.
float squeezed(const MlpScaling& scaling, std::size_t feature, float value) {
  if (scaling.per_unit.empty()) return value;
  // Held below what the logarithm takes.
  const float units = std::min(std::fabs(value) * scaling.per_unit[feature], 0x1p100f);
  return std::copysign(natural_log(1.0f + units), value);
}

template <class Format>
void fill(const Rows& rows, const MlpScaling& scaling, MlpTable& table) {
  const auto features = static_cast<std::size_t>(rows.features());
  const auto columns = static_cast<std::size_t>(scaling.columns);
  auto* const values = reinterpret_cast<Format*>(table.values.data());
#pragma omp parallel
  {
    std::vector<float> read(static_cast<std::size_t>(rows_at_once) * features), row(columns);
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t begin = 0; begin < rows.count; begin += rows_at_once) {
      const std::int64_t end = std::min(rows.count, begin + rows_at_once);
      rows.read(begin, end, read.data(), table.labels.data() + begin);
      for (std::int64_t i = begin; i < end; ++i) {
        scale_row(scaling, &read[static_cast<std::size_t>(i - begin) * features], row.data());
        Format* const to = values + static_cast<std::size_t>(i) * columns;
        for (std::size_t column = 0; column < columns; ++column)
          to[column] = stored_as<Format>(row[column]);
      }
    }
  }
}

} // namespace

std::string to_string(MlpPrecision precision) {
  switch (precision) {
  case MlpPrecision::fp32:
    return "fp32";
  case MlpPrecision::bf16:
    return "bf16";
  case MlpPrecision::fp16:
    return "fp16";
  }
  throw std::logic_error("a precision without a name");
}

void check_features(const Rows& rows, const MlpScaling& scaling) {
  if (rows.feature_names != scaling.feature_names)
    throw Failure("rows have other features than the network was trained on");
}

int mlp_columns(int features, int features_that_miss) {
  const int used = std::max(1, features + features_that_miss);
  return (used + column_unit - 1) / column_unit * column_unit;
}

MlpScaling scaling_of(const Rows& rows, Tails tails) {
  if (rows.count == 0) throw Failure("no rows to learn the scale of features from");
  MlpScaling scaling;
  scaling.feature_names = rows.feature_names;
  if (tails == Tails::logarithmic) {
    for (const Moments& magnitude :
         moments_of_rows(rows, [](std::size_t, float value) { return std::fabs(value); }))
      scaling.per_unit.push_back(
          magnitude.mean > 0 ? static_cast<float>(std::min(units_in_mean / magnitude.mean, 0x1p100))
                             : 0.0f);
  }
  int columns = rows.features();
  for (const Moments& all : moments_of_rows(rows, [&](std::size_t feature, float value) {
         return squeezed(scaling, feature, value);
       })) {
    // Rounding gives a feature of one value some deviation.
    const bool varies = all.least < all.most;
    scaling.mean.push_back(all.mean);
    scaling.per_deviation.push_back(varies ? std::sqrt(static_cast<double>(all.count) / all.squares)
                                           : 0);
    scaling.indicator.push_back(all.count < all.rows ? columns++ : -1);
  }
  scaling.used = columns;
  scaling.columns = mlp_columns(columns, 0);
  return scaling;
}

void scale_row(const MlpScaling& scaling, const float* features, float* columns) {
  std::fill_n(columns, scaling.columns, 0.0f);
  for (std::size_t feature = 0; feature < scaling.mean.size(); ++feature) {
    const float value = features[feature];
    const std::int32_t indicator = scaling.indicator[feature];
    if (value != value) {
      if (indicator >= 0) columns[indicator] = 1;
      continue;
    }
    const double scaled =
        (static_cast<double>(squeezed(scaling, feature, value)) - scaling.mean[feature])
        * scaling.per_deviation[feature];
    columns[feature] = static_cast<float>(std::clamp(scaled, -most_deviations, most_deviations));
  }
}

MlpTable prepared(const Rows& rows, const MlpScaling& scaling, MlpPrecision precision) {
  check_features(rows, scaling);
  assert(rows.count <= most_rows);
  MlpTable table;
  table.count = rows.count;
  table.columns = scaling.columns;
  table.precision = precision;
  try {
    table.values = Bytes(std::max<std::size_t>(1, table.bytes()));
    table.labels.resize(static_cast<std::size_t>(rows.count));
  } catch (const std::bad_alloc&) {
    throw Failure(fmt::format("no room for {} rows of {} columns: they take {:.2f} GB of memory",
                              rows.count, table.columns,
                              mlp_table_bytes(rows.count, table.columns, precision) * 1e-9));
  }
  switch (precision) {
  case MlpPrecision::fp32:
    fill<float>(rows, scaling, table);
    break;
  case MlpPrecision::bf16:
    fill<Bf16>(rows, scaling, table);
    break;
  case MlpPrecision::fp16:
    fill<Fp16>(rows, scaling, table);
    break;
  }
  return table;
}

double mlp_table_bytes(std::int64_t rows, int columns, MlpPrecision precision) {
  return static_cast<double>(rows)
         * (static_cast<double>(columns) * bytes_per_value(precision) + 1);
}

// ---- hashed columns ----

namespace {

std::uint32_t bucket_of(std::uint32_t key, std::uint32_t feature, float code,
                        std::uint32_t buckets) {
  const float plain = code + 0.0f; // -0 is the code 0
  const std::uint32_t bits = code == code ? bits_of(plain) : 0x7FC0'0000u;
  const std::uint32_t hash = scrambled(scrambled(bits ^ key) + feature * 0x9E37'79B9u);
  return static_cast<std::uint32_t>(std::uint64_t{hash} * buckets >> 32);
}

void check_hashed(const Rows& rows, const HashedColumns& columns) {
  if (columns.buckets < 1)
    throw BadInput("hashed columns", 0, std::to_string(columns.buckets) + " buckets", "1 or more");
  std::vector<int> sorted = columns.features;
  std::sort(sorted.begin(), sorted.end());
  for (const int feature : sorted)
    if (feature < 0 || feature >= rows.features())
      throw BadInput("hashed columns", 0, "feature " + std::to_string(feature),
                     "0 to " + std::to_string(rows.features() - 1));
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throw BadInput("hashed columns", 0, "feature " + std::to_string(*twice) + " twice",
                   "each feature once");
}

} // namespace

Rows hashed(const Rows& rows, const HashedColumns& columns) {
  check_hashed(rows, columns);
  const auto features = static_cast<std::size_t>(rows.features());
  std::vector<char> is_hashed(features, 0);
  for (const int feature : columns.features)
    is_hashed[static_cast<std::size_t>(feature)] = 1;
  Rows out;
  out.count = rows.count;
  for (std::size_t feature = 0; feature < features; ++feature)
    if (is_hashed[feature] == 0) out.feature_names.push_back(rows.feature_names[feature]);
  for (int bucket = 0; bucket < columns.buckets; ++bucket)
    out.feature_names.push_back("hashed#" + std::to_string(bucket));
  const std::uint32_t key = philox4x32({0, 0, 0, 0x48'53'48'00u}, columns.seed).x;
  const auto buckets = static_cast<std::uint32_t>(columns.buckets);
  out.read = [read = rows.read, is_hashed, features, key,
              buckets](std::int64_t begin, std::int64_t end, float* values, std::uint8_t* labels) {
    std::vector<float> span(static_cast<std::size_t>(rows_at_once) * features);
    for (std::int64_t first = begin; first < end; first += rows_at_once) {
      const std::int64_t last = std::min(end, first + rows_at_once);
      read(first, last, span.data(), labels + (first - begin));
      for (std::int64_t row = 0; row < last - first; ++row) {
        const float* const from = &span[static_cast<std::size_t>(row) * features];
        for (std::size_t feature = 0; feature < features; ++feature)
          if (is_hashed[feature] == 0) *values++ = from[feature];
        std::fill_n(values, buckets, 0.0f);
        for (std::size_t feature = 0; feature < features; ++feature)
          if (is_hashed[feature] != 0)
            values[bucket_of(key, static_cast<std::uint32_t>(feature), from[feature], buckets)] +=
                1;
        values += buckets;
      }
    }
  };
  return out;
}

} // namespace breakeven::risk
