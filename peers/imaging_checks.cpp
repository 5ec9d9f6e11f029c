#include "peers/imaging_checks.h"

#include "workloads/imaging/stages.h"

#include <algorithm>
#include <cmath>

namespace breakeven::peers {

using namespace imaging;

Check identical(std::span<const std::int32_t> ours, std::span<const float> peer) {
  return count_differing(ours, peer.size(), [&](std::size_t i) {
    return ours[i] == no_distance ? std::isinf(peer[i]) : static_cast<float>(ours[i]) == peer[i];
  });
}

Check close(std::span<const float> ours, std::span<const float> peer, double most_rmse,
            double most_difference) {
  if (ours.size() != peer.size())
    return {false, fmt::format("FAIL: {} voxels beside {}", ours.size(), peer.size())};
  double squares = 0, most = 0;
#pragma omp parallel for reduction(+ : squares) reduction(max : most)
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double difference = std::abs(static_cast<double>(ours[i]) - static_cast<double>(peer[i]));
    squares += difference * difference;
    most = std::max(most, difference);
  }
  const double rmse = std::sqrt(squares / static_cast<double>(ours.size()));
  const bool passed = rmse <= most_rmse && most <= most_difference;
  return {passed, fmt::format("{}rmse {:.2g} HU; largest difference {:.2g} HU",
                              passed ? "" : "FAIL: ", rmse, most)};
}

Check overlapping(std::span<const std::uint32_t> ours, std::span<const std::uint32_t> peer,
                  double least_dice) {
  if (ours.size() != peer.size())
    return {false, fmt::format("FAIL: {} voxels beside {}", ours.size(), peer.size())};
  std::int64_t both = 0, sum = 0;
  std::uint32_t our_count = 0, peer_count = 0;
#pragma omp parallel for reduction(+ : both, sum) reduction(max : our_count, peer_count)
  for (std::size_t i = 0; i < ours.size(); ++i) {
    both += ours[i] != 0 && peer[i] != 0;
    sum += (ours[i] != 0) + (peer[i] != 0);
    our_count = std::max(our_count, ours[i]);
    peer_count = std::max(peer_count, peer[i]);
  }
  const double dice = sum == 0 ? 1 : 2 * static_cast<double>(both) / static_cast<double>(sum);
  const bool passed = dice >= least_dice;
  return {passed, fmt::format("{}Dice {:.6f}; {} and {} components", passed ? "" : "FAIL: ", dice,
                              our_count, peer_count)};
}

} // namespace breakeven::peers
