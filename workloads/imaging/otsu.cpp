#include "workloads/imaging/stages.h"

#include <cassert>

namespace breakeven::imaging {

namespace {

// A volume has fewer than 2^40 voxels and a histogram at most 2^16 bins, so sums times counts need
// 96 bits.
__extension__ using Wide = __int128;

struct Moments {
  Wide voxels = 0, bins = 0; ///< how many, and the sum of their bins' numbers
  void add(std::uint64_t count, std::size_t bin) {
    voxels += count;
    bins += static_cast<Wide>(count) * static_cast<Wide>(bin);
  }
};

/// Between-class variance of `below` and the rest, times the square of all voxels: with w of N
/// voxels below, s and S the sums of bin numbers, (N s - w S)^2 / (w (N - w)). Otsu, "A Threshold
/// Selection Method from Gray-Level Histograms", 1979, equation 18. Only the three conversions, the
/// square and the quotient round, so equal splits give equal values.
double between_class_variance(const Moments& below, const Moments& all) {
  const Wide above = all.voxels - below.voxels;
  if (below.voxels == 0 || above == 0) return -1;
  const auto difference = static_cast<double>(all.voxels * below.bins - below.voxels * all.bins);
  return difference * difference / static_cast<double>(below.voxels * above);
}

} // namespace

// ITK's OtsuThresholdImageFilter gives the same edge when its histogram has the same bins (its
// ReturnBinMidpoint is off by default since ITK 5, and gives half a bin less when on). It then
// takes value <= threshold for inside where masks here are value >= threshold, which differs only
// for voxels right on the edge. Its own histogram spans the data's minimum to maximum, ours a given
// range.
float otsu_threshold(const Histogram& histogram) {
  assert(!histogram.counts.empty() && histogram.low < histogram.high);
  Moments all;
  for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin)
    all.add(histogram.counts[bin], bin);
  Moments below;
  std::size_t best_bin = 0;
  double best = -1;
  for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
    below.add(histogram.counts[bin], bin);
    const double variance = between_class_variance(below, all);
    if (variance <= best) continue;
    best = variance;
    best_bin = bin;
  }
  const auto low = static_cast<double>(histogram.low);
  const double width =
      (static_cast<double>(histogram.high) - low) / static_cast<double>(histogram.counts.size());
  return static_cast<float>(low + static_cast<double>(best_bin + 1) * width);
}

} // namespace breakeven::imaging
