// How well scores tell the rows with label 1 from the others. Takes a score and a label a row;
// gives the same bits for any number of threads and on every machine. Leaves out where scores come
// from.
#pragma once

#include <cstdint>
#include <span>

namespace breakeven::risk {

struct RankingQuality {
  /// Area under the receiver operating curve: the share of pairs of a positive and a negative in
  /// which the positive has the higher score, where equal scores count half (Mann and Whitney).
  /// The count of pairs is exact.
  double auc = 0;
  /// Area under the precision-recall curve as average precision, sum over falling thresholds of
  /// (recall_k - recall_(k-1)) precision_k, without interpolation, rows of equal score together:
  /// scikit-learn's average_precision_score.
  double average_precision = 0;
};

/// Any scores in which higher means more likely positive: margins or probabilities, infinite ones
/// too. Rows below 2^32. Two radix sorts, O(n); takes 8 bytes a row while it runs. Throws Failure
/// for a score that is NaN, and where the labels (0 or 1) are of one kind or the sizes differ.
RankingQuality ranking_quality(std::span<const float> scores, std::span<const std::uint8_t> labels);

/// Mean of -ln of the probability given to the row's own label. Probabilities are kept within
/// [2^-24, 1 - 2^-24], the nearest floats to 0 and 1 that tell them apart: a sure and wrong answer
/// costs 16.6. Takes next to no memory. Throws Failure for one below 0, above 1 or NaN, for no
/// rows, and where the sizes differ.
double log_loss(std::span<const float> probabilities, std::span<const std::uint8_t> labels);

} // namespace breakeven::risk
