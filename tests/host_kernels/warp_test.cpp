#include "tests/host_kernels/support.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace breakeven;
using namespace breakeven::tests;

namespace {

/// How many threads of a block say true; the claim holds if all do.
template <class Claim>
int threads_where(int block, const Claim& claim) {
  std::vector<int> holds(static_cast<std::size_t>(block), 0);
  launch(1, block, test_shared_bytes, Stream{},
         [&](const Thread& thread) { holds[own_index(thread)] = claim(thread) ? 1 : 0; });
  int count = 0;
  for (const int one : holds)
    count += one;
  return count;
}

} // namespace

TEST_CASE("shuffles move values between the 32 lanes of a warp and no other") {
  const auto lanes_agree = [](const Thread& thread) {
    const int lane = thread.lane(), first = 100 * thread.warp();
    bool right = thread.shuffle(first + lane, 5) == first + 5;
    right &= thread.shuffle(first + lane, 37) == first + 5;
    right &= thread.shuffle(first + lane, (lane + 1) % 32) == first + (lane + 1) % 32;
    right &= thread.shuffle_xor(first + lane, 3) == first + (lane ^ 3);
    right &= thread.shuffle_down(first + lane, 4) == first + (lane + 4 < 32 ? lane + 4 : lane);
    right &= thread.shuffle_up(first + lane, 4) == first + (lane >= 4 ? lane - 4 : lane);
    return right;
  };
  CHECK(threads_where(96, lanes_agree) == 96);
}

TEST_CASE("shuffles carry any value of up to eight bytes") {
  struct Hit {
    float distance;
    std::uint16_t triangle;
  };
  const auto arrives = [](const Thread& thread) {
    const int lane = thread.lane();
    bool right = thread.shuffle(0.5 * lane, 31) == 15.5;
    right &= thread.shuffle(static_cast<std::uint8_t>(lane), 7) == 7;
    right &= thread.shuffle(std::uint64_t{1} << lane, 31) == std::uint64_t{1} << 31;
    right &= thread.shuffle(lane == 2, 2);
    const Hit hit =
        thread.shuffle(Hit{2.0f * static_cast<float>(lane), static_cast<std::uint16_t>(lane)}, 9);
    return right && hit.distance == 18 && hit.triangle == 9;
  };
  CHECK(threads_where(32, arrives) == 32);
}

TEST_CASE("a butterfly of shuffles gives every lane the warp's sum") {
  const auto sums_up = [](const Thread& thread) {
    int sum = thread.lane();
    for (int mask = 16; mask > 0; mask /= 2)
      sum += thread.shuffle_xor(sum, mask);
    return sum == 31 * 32 / 2;
  };
  CHECK(threads_where(1024, sums_up) == 1024);
}

TEST_CASE("votes see every lane of their warp and no other") {
  const auto votes_right = [](const Thread& thread) {
    bool right = thread.ballot(thread.lane() % 2 == 0) == 0x5555'5555u;
    right &= thread.any(thread.thread_index() == 40) == (thread.warp() == 1);
    right &= thread.all(thread.thread_index() < 32) == (thread.warp() == 0);
    return right;
  };
  CHECK(threads_where(64, votes_right) == 64);
}

TEST_CASE("warps go through different numbers of warp operations between two barriers") {
  const auto ends = [](const Thread& thread) {
    int sum = 0;
    for (int i = 0; i <= thread.warp(); ++i)
      sum += thread.shuffle(1, i);
    thread.sync();
    return sum == thread.warp() + 1;
  };
  CHECK(threads_where(256, ends) == 256);
}

TEST_CASE("lanes exchange through shared memory across a warp barrier") {
  const auto exchanged = [](const Thread& thread) {
    const auto values = thread.shared<int>(0, 64);
    const std::size_t own = own_index(thread);
    values[own] = thread.lane();
    thread.sync_warp();
    const bool right = values[own ^ 1] == (thread.lane() ^ 1);
    thread.sync_warp();
    values[own ^ 1] = 7;
    return right;
  };
  CHECK(threads_where(64, exchanged) == 64);
}
