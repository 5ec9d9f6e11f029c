// Card transactions made up, with a label each that says fraud or not: any number of rows without a
// file or memory for them. Every row depends on the seed, its number and the settings alone, to the
// bit on every machine. Leaves out any claim that a bank's data look like this.
#pragma once

#include "workloads/risk/rows.h"

namespace breakeven::risk {

struct TransactionSettings {
  std::int64_t rows = 1'000'000; ///< 1 to 2^32 - 1
  int columns = 28;              ///< 8 to 200
  double positive_rate = 0.02;   ///< 0.0001 to 0.5
  /// Share of the positives whose label is wrong; as many negatives are labelled positive, so that
  /// the rate stays. 0 to 0.5.
  double label_noise = 0;
  /// From the first row to the last, amounts and distances grow by so many, and by half so many,
  /// standard deviations of their logarithms, and purchases spread to rarer merchants. 0 to 2.
  double drift = 0;
  std::uint64_t seed = 1;

  bool operator==(const TransactionSettings&) const = default;
};

/// Rows are labelled in blocks of so many: reading makes whole blocks.
constexpr std::int64_t transaction_block = 4096;

/// Columns: amount_usd (log-normal), hour_of_day, hours_since_last (3 % missing), distance_km (8 %
/// missing), merchant_category (a code of 24), transactions_last_hour, amount_to_usual (5 %
/// missing), account_age_days. Behind these eight, in turns of eight and named with their place:
/// noisy traces of amount and distance, and counts, codes, flags and numbers that say nothing; two
/// of the eight miss 8 %.
///
/// Fraud is a threshold on a score with interactions (a sum above the card's habit, at night, far
/// away too soon, at risky merchants with a new account) plus what no column tells. The threshold
/// is each block's own, so that the rate is met in every block of 4096 to one row: with one
/// threshold for all, chance alone would move the rate of 1 M rows at 2 % by 0.7 %, and drift by
/// more.
///
/// With the settings' defaults XGBoost 3.2 (100 trees of depth 6, eta 0.1, 200,000 rows) tells
/// fraud with an AUC of 0.92; rarer fraud is easier to tell, and wrong labels are not to be told.
///
/// Throws BadInput for a setting out of its range. A thread that reads keeps 350 KiB.
Rows transactions(const TransactionSettings& settings);

} // namespace breakeven::risk
