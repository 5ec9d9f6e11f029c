#include "tests/host_kernels/support.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace breakeven;
using namespace breakeven::tests;

TEST_CASE("a barrier that half a block skips is caught") {
  const std::string fault = fault_in([](const Thread& thread) {
    if (thread.thread_index() < 32) thread.sync();
  });
  CHECK(contains(fault, "block 0: divergent barrier"));
  CHECK(contains(fault, "threads 0-31 wait at sync() ("));
  CHECK(contains(fault, "fault_test.cpp:"));
  CHECK(contains(fault, "threads 32-63 have returned"));
}

TEST_CASE("two different barriers met by one block are caught") {
  const std::string fault = fault_in([](const Thread& thread) {
    if (thread.thread_index() % 2 == 0)
      thread.sync();
    else
      thread.sync();
  });
  CHECK(contains(fault, "divergent barrier: threads 0, 2, 4, 6 and 28 more wait at sync()"));
  CHECK(contains(fault, "threads 1, 3, 5, 7 and 28 more wait at sync()"));
}

TEST_CASE("a barrier against a warp operation is caught") {
  const std::string fault = fault_in([](const Thread& thread) {
    if (thread.thread_index() == 32)
      thread.sync();
    else if (thread.warp() == 1)
      thread.sync_warp();
  });
  CHECK(contains(fault, "block 0, warp 1: divergent warp operation: thread 32 waits at sync()"));
  CHECK(contains(fault, "threads 33-63 wait at sync_warp()"));
}

TEST_CASE("a shuffle after a lane has returned is caught") {
  const std::string fault = fault_in([](const Thread& thread) {
    if (thread.lane() == 3 && thread.warp() == 1) return;
    thread.shuffle(1, 0);
  });
  CHECK(contains(fault, "warp 1: divergent warp operation"));
  CHECK(contains(fault, "thread 35 has returned"));
}

TEST_CASE("a shuffle that some lanes meet as a vote is caught") {
  const std::string fault = fault_in([](const Thread& thread) {
    if (thread.lane() < 16)
      thread.shuffle(1, 0);
    else
      thread.any(true);
  });
  CHECK(contains(fault, "threads 0-15 wait at a shuffle"));
  CHECK(contains(fault, "threads 16-31 wait at a vote"));
}

TEST_CASE("a fault names the block it is in") {
  CHECK(contains(fault_in(
                     [](const Thread& thread) {
                       if (thread.block_index() == 6 && thread.thread_index() < 32) thread.sync();
                     },
                     64, 9),
                 "block 6: divergent barrier"));
}

TEST_CASE("shared memory out of range is caught") {
  CHECK(fault_in([](const Thread& thread) { thread.shared<int>(0, 16)[own_index(thread)] = 1; })
        == "block 0, thread 16: index 16 lies outside a shared array of 16");
  CHECK(fault_in([](const Thread& thread) {
          const int before = thread.thread_index() - 1;
          thread.shared<int>(0, 16)[static_cast<std::size_t>(before)] = 1;
        })
        == "block 0, thread 0: index -1 lies outside a shared array of 16");
  CHECK(contains(fault_in([](const Thread& thread) { thread.shared<int>(0, 257); }),
                 "257 objects of 4 bytes at byte 0 exceed the 1024 bytes of shared memory"));
  CHECK(contains(fault_in([](const Thread& thread) { thread.shared<int>(2048, 0); }), "exceed"));
  CHECK(contains(fault_in([](const Thread& thread) { thread.shared<double>(4, 1); }),
                 "not aligned to 8"));
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto values = thread.shared<int>(0, 1);
                   atomic_add(values, 1, 1);
                 }),
                 "index 1 lies outside"));
}

TEST_CASE("a lost update is caught") {
  const std::string fault = fault_in([](const Thread& thread) {
    const auto counter = thread.shared<int>(0, 8);
    if (thread.thread_index() == 0) counter[5] = 0;
    thread.sync();
    counter[5] += 1;
  });
  CHECK(contains(fault, "block 0: thread 0 writes and thread 1 reads shared word 5 with no barrier "
                        "between"));
}

TEST_CASE("two writes of one word are caught whatever the order of threads") {
  using host_kernels::Order;
  for (const Order order : {Order::forward, Order::reverse, Order::shuffled}) {
    host_kernels::set_schedule({order, 3});
    CHECK(contains(
        fault_in([](const Thread& thread) { thread.shared<int>(0, 1)[0] = thread.thread_index(); }),
        "both write shared word 0 with no barrier between"));
  }
  host_kernels::set_schedule({});
}

TEST_CASE("a read that misses its barrier is caught") {
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto values = thread.shared<int>(0, 64);
                   values[own_index(thread)] = 1;
                   if (thread.thread_index() > 0) values[own_index(thread)] += 1;
                   if (thread.thread_index() > 0) (void)int{values[own_index(thread) - 1]};
                 }),
                 "thread 0 writes and thread 1 reads shared word 0"));
}

TEST_CASE("a write over what others still read is caught") {
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto values = thread.shared<int>(0, 1);
                   if (thread.thread_index() == 0) values[0] = 1;
                   thread.sync();
                   (void)int{values[0]};
                   if (thread.thread_index() == 63) values[0] = 2;
                 }),
                 "thread 0 reads and thread 63 writes shared word 0"));
}

TEST_CASE("an atomic against a plain access is caught, against an atomic it is not") {
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto count = thread.shared<int>(0, 1);
                   if (thread.thread_index() == 0) count[0] = 0;
                   atomic_add(count, 0, 1);
                 }),
                 "thread 0 writes and thread 1 atomically updates shared word 0"));
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto count = thread.shared<int>(0, 1);
                   if (thread.thread_index() == 0) count[0] = 0;
                   thread.sync();
                   atomic_add(count, 0, 1);
                   (void)int{count[0]};
                 }),
                 "atomically updates"));
  CHECK(fault_in([](const Thread& thread) {
          const auto count = thread.shared<int>(0, 1);
          if (thread.thread_index() == 0) count[0] = 0;
          thread.sync();
          atomic_add(count, 0, 1);
          thread.sync();
          (void)int{count[0]};
        })
        == "no fault");
}

TEST_CASE("a warp barrier does not order other warps") {
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto values = thread.shared<int>(0, 64);
                   values[own_index(thread)] = 1;
                   thread.sync_warp();
                   if (thread.warp() == 1) (void)int{values[own_index(thread) - 32]};
                 }),
                 "thread 0 writes and thread 32 reads"));
}

TEST_CASE("a shuffle does not order shared memory") {
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto values = thread.shared<int>(0, 64);
                   values[own_index(thread)] = 1;
                   thread.shuffle(1, 0);
                   (void)int{values[own_index(thread) ^ 1]};
                 }),
                 "with no barrier between"));
}

TEST_CASE("two bytes of one word may belong to two threads, one byte may not") {
  CHECK(fault_in([](const Thread& thread) {
          const auto flags = thread.shared<std::uint8_t>(0, 64);
          flags[own_index(thread)] = 1;
          flags[own_index(thread)] += 1;
          thread.sync();
          (void)std::uint32_t{thread.shared<std::uint32_t>(0, 16)[own_index(thread) / 4]};
          thread.sync();
          if (thread.thread_index() < 16)
            thread.shared<std::uint32_t>(0, 16)[own_index(thread)] = 5;
        })
        == "no fault");
  CHECK(contains(fault_in([](const Thread& thread) {
                   const auto flags = thread.shared<std::uint8_t>(0, 64);
                   flags[own_index(thread) / 2] = 1;
                 }),
                 "both write"));
  CHECK(contains(fault_in([](const Thread& thread) {
                   if (thread.thread_index() == 0) thread.shared<std::uint32_t>(0, 1)[0] = 1;
                   if (thread.thread_index() == 1) thread.shared<std::uint8_t>(0, 4)[3] = 1;
                 }),
                 "both write"));
}

TEST_CASE("shared memory that nobody wrote is caught, in every block anew") {
  const std::string fault = fault_in(
      [](const Thread& thread) {
        const auto values = thread.shared<int>(0, 8);
        if (thread.block_index() == 0 && thread.lane() == 0) values[7] = 1;
        if (thread.block_index() == 1 && thread.lane() == 4) (void)int{values[7]};
      },
      32, 2);
  CHECK(fault == "block 1, thread 4: reads shared word 7, which nobody in this block has written");
}

TEST_CASE("shared memory is poisoned anew for every block") {
  // Looked at below the checks, which would call this a read of what nobody wrote.
  host_kernels::SharedMemory memory;
  for (std::int64_t block = 0; block < 2; ++block) {
    memory.begin_block(block, 32, 8);
    std::byte* const word = memory.touch(0, 4, 4, host_kernels::Access::write);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(word[i] == std::byte{0xCD});
      word[i] = std::byte{1};
    }
  }
}
