// Rows as the network is fed them: standardised, without missing values, rounded to the format that
// products take, in memory. Takes rows from any source a chunk at a time. Leaves out one-hot
// columns, which a table can give itself (table.h); hashed ones are made here.
#pragma once

#include "workloads/risk/binned.h"
#include "workloads/risk/rows.h"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::risk {

enum class MlpPrecision { fp32, bf16, fp16 };
std::string to_string(MlpPrecision precision);
inline int bytes_per_value(MlpPrecision precision) {
  return precision == MlpPrecision::fp32 ? 4 : 2;
}

/// What happens to a feature's values before they are standardised. Sums of money and counts have
/// tails so long that most rows are alike once they are divided by their deviation; the logarithm
/// sign(x) ln(1 + |x| / unit), where the unit is an eighth of the mean of |x|, keeps them apart.
enum class Tails { as_they_are, logarithmic };

/// How features become columns: (value - mean) / standard deviation, held within +-10, and 0 where
/// the value is missing; behind these, a column for each feature that misses anywhere in the rows
/// it was learnt from, 1 where it does; then zeros up to a multiple of 16. A feature of one value,
/// or of none, is 0. One that misses only in later rows has its mean there.
struct MlpScaling {
  std::vector<std::string> feature_names;
  std::vector<float> per_unit;             ///< one a feature; empty: no logarithm
  std::vector<double> mean, per_deviation; ///< one a feature, behind the logarithm
  std::vector<std::int32_t> indicator;     ///< its column, or -1
  int used = 0;                            ///< columns before the zeros
  int columns = 0;                         ///< of a prepared row

  int features() const { return static_cast<int>(mean.size()); }
};
constexpr double most_deviations = 10;

/// Of all rows, by all threads; does not depend on their number. Reads them twice for logarithms.
/// At least one row (Failure).
MlpScaling scaling_of(const Rows& rows, Tails tails = Tails::as_they_are);

/// Throws Failure where the rows' features are others than those it was learnt from.
void check_features(const Rows& rows, const MlpScaling& scaling);

/// Columns of a prepared row, for features of which so many miss somewhere.
int mlp_columns(int features, int features_that_miss);

/// One row of `scaling.columns` floats, not rounded, from one of features.
void scale_row(const MlpScaling& scaling, const float* features, float* columns);

struct MlpTable {
  std::int64_t count = 0;
  int columns = 0;
  MlpPrecision precision = MlpPrecision::fp32;
  Bytes values; ///< row by row, in the format of the precision
  std::vector<std::uint8_t> labels;

  std::size_t bytes() const {
    return static_cast<std::size_t>(count) * static_cast<std::size_t>(columns)
           * static_cast<std::size_t>(bytes_per_value(precision));
  }
};

/// Reads `rows` in chunks, in all threads. At most most_rows, with the features that the scaling
/// was learnt from (Failure).
MlpTable prepared(const Rows& rows, const MlpScaling& scaling, MlpPrecision precision);

/// What prepared() will hold.
double mlp_table_bytes(std::int64_t rows, int columns, MlpPrecision precision);

struct HashedColumns {
  std::vector<int> features; ///< whose values are codes of categories
  int buckets = 64;          ///< columns that take their place, 1 or more
  std::uint64_t seed = 1;
};

/// Codes of any number as a few columns: the other features as they are, then `buckets` columns,
/// hashed#0 on, each the number of the row's codes that fall into it. A feature and a code (a
/// missing one is a code too) fall into the bucket that scrambled(scrambled(code's bits ^ key) +
/// feature x 0x9E3779B9) says, its upper bits times the number of buckets, with a key drawn by the
/// seed: "feature hashing" of Weinberger et al., ICML 2009, without signs. A code that training
/// never met has its bucket too. Throws BadInput for features that are not there or named twice,
/// and for no buckets.
Rows hashed(const Rows& rows, const HashedColumns& columns);

} // namespace breakeven::risk
