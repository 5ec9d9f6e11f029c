// How the outputs of both sides of a row compare: the same to the bit, close, or overlapping.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>

namespace breakeven::peers {

/// What is printed of it; a failure begins with FAIL.
struct Check {
  bool passed = false;
  std::string text;
};

template <class T, class Same>
Check count_differing(std::span<const T> ours, std::size_t peer_count, const Same& same) {
  if (ours.size() != peer_count)
    return {false, fmt::format("FAIL: {} voxels beside {}", ours.size(), peer_count)};
  std::int64_t differing = 0;
#pragma omp parallel for reduction(+ : differing)
  for (std::size_t i = 0; i < ours.size(); ++i)
    differing += same(i) ? 0 : 1;
  if (differing == 0) return {true, "identical"};
  return {false, fmt::format("FAIL: {} of {} voxels differ", differing, ours.size())};
}
template <class T>
Check identical(std::span<const T> ours, std::span<const T> peer) {
  return count_differing(ours, peer.size(), [&](std::size_t i) { return ours[i] == peer[i]; });
}
/// Of whole numbers, one side's in float.
Check identical(std::span<const std::int32_t> ours, std::span<const float> peer);

/// By root mean square and by the largest difference, in HU.
Check close(std::span<const float> ours, std::span<const float> peer, double most_rmse,
            double most_difference);

/// By Dice's coefficient of what is labelled at all.
Check overlapping(std::span<const std::uint32_t> ours, std::span<const std::uint32_t> peer,
                  double least_dice);

} // namespace breakeven::peers
