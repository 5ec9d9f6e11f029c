#include "tests/host_kernels/support.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

using namespace breakeven;
using namespace breakeven::tests;
using host_kernels::KernelFault;
using host_kernels::Order;
using host_kernels::Schedule;

TEST_CASE("every thread of every block runs once and knows where it is") {
  constexpr int blocks = 5, threads = 96;
  std::vector<int> seen(blocks * threads, 0);
  launch(blocks, threads, 0, Stream{}, [&](const Thread& thread) {
    const bool right =
        thread.global_index() == thread.block_index() * threads + thread.thread_index()
        && thread.lane() == thread.thread_index() % 32
        && thread.warp() == thread.thread_index() / 32 && thread.block_size() == threads
        && thread.grid_size() == blocks;
    seen[static_cast<std::size_t>(thread.global_index())] += right ? 1 : 100;
  });
  CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

TEST_CASE("a grid of no blocks does nothing") {
  launch(0, 32, 0, Stream{}, [](const Thread&) { FAIL("ran"); });
}

TEST_CASE("sizes that no GPU takes are refused") {
  const auto nothing = [](const Thread&) {};
  CHECK_THROWS_AS(launch(1, 0, 0, Stream{}, nothing), Failure);
  CHECK_THROWS_AS(launch(1, 33, 0, Stream{}, nothing), Failure);
  CHECK_THROWS_AS(launch(1, 1056, 0, Stream{}, nothing), Failure);
  CHECK_THROWS_AS(launch(-1, 32, 0, Stream{}, nothing), Failure);
  CHECK_THROWS_AS(launch(std::int64_t{1} << 31, 32, 0, Stream{}, nothing), Failure);
  CHECK_THROWS_AS(launch(1, 32, 228 * 1024, Stream{}, nothing), Failure);
}

TEST_CASE("a reduction through shared memory and barriers gives the sum") {
  for (const int threads : {32, 64, 96, 416, 992, 1024}) {
    CAPTURE(threads);
    std::vector<int> values(static_cast<std::size_t>(4 * threads)), sums(4);
    std::iota(values.begin(), values.end(), 1);
    launch(4, threads, static_cast<std::size_t>(threads) * sizeof(int), Stream{}, BlockSum{},
           values.data(), sums.data());
    const int total = 4 * threads;
    CHECK(std::accumulate(sums.begin(), sums.end(), 0) == total * (total + 1) / 2);
  }
}

TEST_CASE("arguments reach every thread by value") {
  std::vector<float> out(64, 0);
  launch(
      2, 32, 0, Stream{},
      [](const Thread& thread, float* to, float a, std::int64_t b) {
        to[thread.global_index()] = a + static_cast<float>(b);
      },
      out.data(), 0.5f, 2);
  CHECK(std::all_of(out.begin(), out.end(), [](float value) { return value == 2.5f; }));
}

TEST_CASE("the order of threads shows in a wrong kernel and not in a right one") {
  const Schedule schedules[] = {
      {Order::forward}, {Order::reverse}, {Order::shuffled, 1}, {Order::shuffled, 2}};
  std::vector<int> values(128), sums(1);
  std::iota(values.begin(), values.end(), 0);
  std::vector<std::vector<int>> orders;
  for (const Schedule& schedule : schedules) {
    host_kernels::set_schedule(schedule);
    launch(1, 128, 512, Stream{}, BlockSum{}, values.data(), sums.data());
    CHECK(sums[0] == 127 * 128 / 2);
    std::vector<int> order; // of the second half of a kernel: after a barrier and a shuffle
    launch(1, 128, 0, Stream{}, [&](const Thread& thread) {
      thread.shuffle(0, 0);
      thread.sync();
      order.push_back(thread.thread_index());
    });
    CHECK(order.size() == 128);
    orders.push_back(order);
  }
  host_kernels::set_schedule({});
  CHECK(orders[0] == values);
  CHECK(std::equal(orders[1].rbegin(), orders[1].rend(), values.begin()));
  for (std::size_t a = 0; a < orders.size(); ++a)
    for (std::size_t b = a + 1; b < orders.size(); ++b)
      CHECK(orders[a] != orders[b]);
}

TEST_CASE("atomics of many blocks add up") {
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(4);
  constexpr int blocks = 50, threads = 128, all = blocks * threads;
  std::uint64_t total = 0, high = 0, low = ~std::uint64_t{0};
  std::int32_t largest = -1, smallest = 1 << 30, swapped = 0;
  std::uint32_t wins = 0, bits = 0;
  float sum = 0;
  launch(blocks, threads, 8, Stream{}, [&](const Thread& thread) {
    const auto id = static_cast<std::int32_t>(thread.global_index());
    const auto count = thread.shared<std::uint32_t>(0, 2);
    if (id % threads == 0) count[0] = 0;
    if (id % threads == 1) count[1] = 0;
    thread.sync();
    atomic_add(count, 0, 1);
    atomic_max(count, 1, own_index(thread));
    thread.sync();
    if (id % threads == 0) atomic_add(&total, count[0] + count[1]);
    atomic_max(&largest, id);
    atomic_min(&smallest, id);
    atomic_max(&high, static_cast<std::uint64_t>(id) << 33);
    atomic_min(&low, static_cast<std::uint64_t>(id) << 33 | 1);
    atomic_add(&sum, 1.0f);
    if (atomic_cas(&swapped, 0, id + 1) == 0) atomic_add(&wins, 1);
    atomic_exchange(&bits, 7);
  });
  omp_set_num_threads(threads_before);
  CHECK(total == blocks * (threads + threads - 1));
  CHECK(largest == all - 1);
  CHECK(smallest == 0);
  CHECK(high == static_cast<std::uint64_t>(all - 1) << 33);
  CHECK(low == 1);
  CHECK(sum == all);
  CHECK(wins == 1);
  CHECK(bits == 7);
}

// The threadFenceReduction pattern: whichever block finishes last adds up what the others left.
TEST_CASE("the last block sees what the others wrote before a fence") {
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(4);
  constexpr int blocks = 64;
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<int> partial(blocks, 0);
    std::uint32_t finished = 0;
    int total = 0;
    launch(blocks, 32, 0, Stream{}, [&](const Thread& thread) {
      if (thread.lane() != 0) return;
      partial[static_cast<std::size_t>(thread.block_index())] = 3;
      thread_fence();
      if (atomic_add(&finished, 1) == blocks - 1)
        total = std::accumulate(partial.begin(), partial.end(), 0);
    });
    CHECK(total == 3 * blocks);
  }
  omp_set_num_threads(threads_before);
}

TEST_CASE("an exception leaves the launch, stacks unwind and the emulator stays usable") {
  struct Counted {
    std::int32_t* alive;
    explicit Counted(std::int32_t* count) : alive(count) { atomic_add(alive, 1); }
    ~Counted() { atomic_add(alive, -1); }
  };
  std::vector<int> values(64, 2), sums(1);
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::int32_t alive = 0;
    const auto kernel = [&](const Thread& thread) {
      const Counted here(&alive);
      const std::vector<int> on_the_heap(100);
      thread.sync();
      if (thread.global_index() == 200) throw std::out_of_range("kernel");
      thread.sync();
    };
    CHECK_THROWS_AS(launch(8, 64, 0, Stream{}, kernel), std::out_of_range);
    CHECK(alive == 0);
    launch(1, 64, 256, Stream{}, BlockSum{}, values.data(), sums.data());
    CHECK(sums[0] == 128);
  }
}

TEST_CASE("a kernel that catches everything cannot hold up a block that has failed") {
  const auto kernel = [](const Thread& thread) {
    try {
      thread.sync();
    } catch (...) {
    }
    if (thread.thread_index() == 0) throw std::out_of_range("kernel");
    try {
      thread.sync();
    } catch (...) {
    }
    thread.sync();
  };
  CHECK_THROWS_AS(launch(1, 64, 0, Stream{}, kernel), std::out_of_range);
}

TEST_CASE("a launch inside a parallel region runs on its thread alone") {
  int counts[2] = {0, 0};
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 2; ++i)
    launch(4, 32, 0, Stream{}, [&counts, i](const Thread& thread) {
      thread.sync();
      ++counts[i];
    });
  CHECK(counts[0] == 128);
  CHECK(counts[1] == 128);
}

TEST_CASE("a launch from within a kernel is a fault") {
  CHECK(contains(fault_in([](const Thread&) { launch(1, 32, 0, Stream{}, [](const Thread&) {}); }),
                 "cannot launch"));
}
