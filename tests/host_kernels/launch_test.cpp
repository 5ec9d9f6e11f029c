#include "workloads/launch.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <vector>

using namespace breakeven;
using host_kernels::KernelFault;
using host_kernels::Order;

namespace {

/// The textbook tree reduction of a block.
struct BlockSum {
  DEVICE_ONLY void operator()(const Thread& thread, const int* values, int* sums) const {
    const auto partial = thread.shared<int>(0, static_cast<std::size_t>(thread.block_size()));
    const auto own = static_cast<std::size_t>(thread.thread_index());
    partial[own] = values[thread.global_index()];
    for (int half = thread.block_size() / 2; half > 0; half /= 2) {
      thread.sync();
      if (thread.thread_index() < half)
        partial[own] += partial[own + static_cast<std::size_t>(half)];
    }
    if (own == 0) sums[thread.block_index()] = partial[0];
  }
};

std::string fault_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const KernelFault& fault) {
    return fault.what();
  }
  return "no fault";
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

template <class Kernel>
std::string fault_in(Kernel kernel, int block = 64, std::size_t shared_bytes = 1024) {
  return fault_of([&] { launch(1, block, shared_bytes, Stream{}, kernel); });
}

} // namespace

TEST_CASE("every thread of every block runs once and knows where it is") {
  constexpr int blocks = 5, threads = 96;
  std::vector<int> seen(blocks * threads, 0);
  launch(blocks, threads, 0, Stream{}, [&](const Thread& thread) {
    ++seen[static_cast<std::size_t>(thread.global_index())];
    CHECK(thread.global_index() == thread.block_index() * threads + thread.thread_index());
    CHECK(thread.lane() == thread.thread_index() % 32);
    CHECK(thread.warp() == thread.thread_index() / 32);
    CHECK(thread.grid_size() == blocks);
  });
  CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

TEST_CASE("a grid of no blocks does nothing") {
  launch(0, 32, 0, Stream{}, [](const Thread&) { FAIL("ran"); });
}

TEST_CASE("a reduction through shared memory and barriers gives the sum") {
  for (const int threads : {32, 64, 128, 1024}) {
    CAPTURE(threads);
    std::vector<int> values(static_cast<std::size_t>(4 * threads)), sums(4);
    std::iota(values.begin(), values.end(), 1);
    launch(4, threads, static_cast<std::size_t>(threads) * sizeof(int), Stream{}, BlockSum{},
           values.data(), sums.data());
    const int total = 4 * threads;
    CHECK(std::accumulate(sums.begin(), sums.end(), 0) == total * (total + 1) / 2);
  }
}

TEST_CASE("correct kernels do not depend on the order of threads, others do") {
  std::vector<int> values(128, 1), sums(1);
  std::set<int> last_written;
  for (const auto& schedule :
       {host_kernels::Schedule{Order::forward, 0}, host_kernels::Schedule{Order::reverse, 0},
        host_kernels::Schedule{Order::shuffled, 1}, host_kernels::Schedule{Order::shuffled, 2}}) {
    host_kernels::set_schedule(schedule);
    launch(1, 128, 512, Stream{}, BlockSum{}, values.data(), sums.data());
    CHECK(sums[0] == 128);
    int last = -1;
    launch(1, 128, 0, Stream{}, [&](const Thread& thread) { last = thread.thread_index(); });
    last_written.insert(last);
  }
  host_kernels::set_schedule({});
  CHECK(last_written.size() > 1);
}

TEST_CASE("shuffles move values between the 32 lanes of a warp") {
  launch(1, 64, 0, Stream{}, [](const Thread& thread) {
    const int lane = thread.lane(), warp = thread.warp();
    CHECK(thread.shuffle(100 * warp + lane, 5) == 100 * warp + 5);
    CHECK(thread.shuffle_xor(lane, 1) == (lane ^ 1));
    CHECK(thread.shuffle_down(lane, 4) == (lane + 4 < 32 ? lane + 4 : lane));
    CHECK(thread.shuffle_up(lane, 4) == (lane >= 4 ? lane - 4 : lane));
    CHECK(thread.shuffle(0.5 * lane, 31) == 15.5);
    int sum = lane;
    for (int mask = 16; mask > 0; mask /= 2)
      sum += thread.shuffle_xor(sum, mask);
    CHECK(sum == 31 * 32 / 2);
  });
}

TEST_CASE("votes see every lane of their warp and no other") {
  launch(1, 64, 0, Stream{}, [](const Thread& thread) {
    CHECK(thread.ballot(thread.lane() % 2 == 0) == 0x55555555u);
    CHECK(thread.any(thread.thread_index() == 40) == (thread.warp() == 1));
    CHECK(thread.all(thread.thread_index() < 32) == (thread.warp() == 0));
  });
}

TEST_CASE("a barrier that half a block skips is caught") {
  const std::string fault = fault_in([](const Thread& thread) {
    if (thread.thread_index() < 32) thread.sync();
  });
  CHECK(contains(fault, "divergent barrier"));
  CHECK(contains(fault, "threads 0-31 wait at sync()"));
  CHECK(contains(fault, "threads 32-63 have returned"));
}

TEST_CASE("two barriers met by one block are caught") {
  const std::string fault = fault_in([](const Thread& thread) {
    if (thread.thread_index() % 2 == 0)
      thread.sync();
    else
      thread.sync();
  });
  CHECK(contains(fault, "divergent barrier"));
}

TEST_CASE("a barrier against a warp operation is caught") {
  CHECK(contains(fault_in([](const Thread& thread) {
                   if (thread.warp() == 0 && thread.lane() == 0)
                     thread.sync();
                   else
                     thread.sync_warp();
                 }),
                 "divergent barrier"));
}

TEST_CASE("a shuffle that one lane misses is caught") {
  CHECK(contains(fault_in([](const Thread& thread) {
                   if (thread.lane() != 3) thread.shuffle(1, 0);
                 }),
                 "divergent barrier"));
}

TEST_CASE("shared memory out of range is caught") {
  CHECK(contains(fault_in([](const Thread& thread) {
                   thread.shared<int>(0, 16)[static_cast<std::size_t>(thread.thread_index())] = 1;
                 }),
                 "shared index 16 of 16"));
  CHECK(contains(fault_in([](const Thread& thread) { thread.shared<int>(0, 257); }),
                 "exceed the 1024 bytes"));
  CHECK(
      contains(fault_in([](const Thread& thread) { thread.shared<double>(4, 1); }), "not aligned"));
}

TEST_CASE("a lost update is caught") {
  const std::string fault = fault_in([](const Thread& thread) {
    const auto counter = thread.shared<int>(0, 1);
    if (thread.thread_index() == 0) counter[0] = 0;
    thread.sync();
    counter[0] += 1;
  });
  CHECK(contains(fault, "shared word 0"));
  CHECK(contains(fault, "no barrier between"));
}

TEST_CASE("a read that misses its barrier is caught") {
  // Half the lanes read a word before it is written, the other half after: either way a fault.
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto values = thread.shared<int>(0, 64);
                   const auto own = static_cast<std::size_t>(thread.thread_index());
                   values[own] = 1;
                   (void)static_cast<int>(values[own ^ 1]);
                 }),
                 "read before anything was written"));
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto values = thread.shared<int>(0, 64);
                   const auto own = static_cast<std::size_t>(thread.thread_index());
                   values[own] = 1;
                   if (own > 0) (void)static_cast<int>(values[own - 1]);
                 }),
                 "no barrier between"));
}

TEST_CASE("a write over what other lanes still read is caught") {
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto values = thread.shared<int>(0, 1);
                   if (thread.thread_index() == 0) values[0] = 1;
                   thread.sync();
                   (void)static_cast<int>(values[0]);
                   if (thread.thread_index() == 63) values[0] = 2;
                 }),
                 "no barrier between"));
}

TEST_CASE("lanes of a warp may exchange through shared memory across a warp barrier") {
  launch(1, 64, 256, Stream{}, [](const Thread& thread) {
    const auto values = thread.shared<int>(0, 64);
    const auto own = static_cast<std::size_t>(thread.thread_index());
    values[own] = thread.lane();
    thread.sync_warp();
    CHECK(values[own ^ 1] == (thread.lane() ^ 1));
    thread.sync_warp();
    values[own ^ 1] = 7;
  });
}

TEST_CASE("a warp barrier does not order other warps") {
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto values = thread.shared<int>(0, 64);
                   const auto own = static_cast<std::size_t>(thread.thread_index());
                   values[own] = 1;
                   thread.sync_warp();
                   (void)static_cast<int>(values[own ^ 32]);
                 }),
                 "no barrier between"));
}

TEST_CASE("shared memory nobody wrote is caught, in every block anew") {
  CHECK(contains(fault_of([] {
                   launch(2, 32, 64, Stream{}, [](const Thread& thread) {
                     const auto values = thread.shared<int>(0, 1);
                     if (thread.block_index() == 0 && thread.lane() == 0) values[0] = 1;
                     if (thread.block_index() == 1) (void)static_cast<int>(values[0]);
                   });
                 }),
                 "read before anything was written"));
}

TEST_CASE("shared atomics count without a fault, global ones over all blocks") {
  omp_set_num_threads(2);
  std::uint64_t total = 0;
  int largest = -1, smallest = 1 << 30;
  launch(50, 128, 4, Stream{}, [&](const Thread& thread) {
    const auto count = thread.shared<int>(0, 1);
    if (thread.thread_index() == 0) count[0] = 0;
    thread.sync();
    atomic_add(count, 0, 1);
    thread.sync();
    if (thread.thread_index() == 0)
      atomic_add(&total, static_cast<std::uint64_t>(static_cast<int>(count[0])));
    atomic_max(&largest, static_cast<int>(thread.global_index()));
    atomic_min(&smallest, static_cast<int>(thread.global_index()));
  });
  CHECK(total == 50 * 128);
  CHECK(largest == 50 * 128 - 1);
  CHECK(smallest == 0);
}

TEST_CASE("an exception leaves the launch and the emulator stays usable") {
  for (int attempt = 0; attempt < 3; ++attempt) {
    CHECK_THROWS_AS(launch(8, 64, 0, Stream{},
                           [](const Thread& thread) {
                             const std::vector<int> unwound(100);
                             thread.sync();
                             if (thread.global_index() == 200) throw std::out_of_range("kernel");
                             thread.sync();
                           }),
                    std::out_of_range);
  }
  std::vector<int> values(64, 2), sums(1);
  launch(1, 64, 256, Stream{}, BlockSum{}, values.data(), sums.data());
  CHECK(sums[0] == 128);
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
