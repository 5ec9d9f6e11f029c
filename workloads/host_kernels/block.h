// One thread block on the CPU: its threads as fibres, its shared memory with a shadow that knows
// who touched what, its barriers and warp operations. Follows CUDA's rules and turns what CUDA
// leaves undefined (a barrier that some threads miss, an index out of range, a race, a read of
// memory nobody wrote) into a KernelFault. Leaves out global memory, which the sanitizers watch.
#pragma once

#include "workloads/host_kernels/fibre.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace breakeven::host_kernels {

/// A kernel broke a rule of CUDA's execution model.
struct KernelFault : std::logic_error {
  using std::logic_error::logic_error;
};

/// In which order the threads of a block start and go on. Correct kernels give the same result.
enum class Order { forward, reverse, shuffled };
struct Schedule {
  Order order = Order::forward;
  std::uint64_t seed = 0;
};
/// For tests; holds for later launches of the whole process.
void set_schedule(Schedule schedule);
Schedule current_schedule();

constexpr int warp_size = 32;

enum class Operation { none, barrier, warp_barrier, shuffle, vote };

class Block {
public:
  using Body = std::function<void(int thread)>;

  /// Runs `threads` calls of body(thread) with CUDA's block semantics; rethrows what they throw.
  /// A Block can run many blocks, one after the other.
  void run(std::int64_t block_index, int threads, std::size_t shared_bytes, const Body& body);

  // For threads, from inside body() -------------------------------------------------------------
  /// Waits until every thread of the block is at this very barrier.
  void barrier(int thread, const std::source_location& site);
  void warp_barrier(int thread, const std::source_location& site);
  /// Hands `value` to the warp and gives the value of lane `source` (0..31).
  std::uint64_t shuffle(int thread, std::uint64_t value, int source,
                        const std::source_location& site);
  /// One bit per lane.
  std::uint32_t vote(int thread, bool value, const std::source_location& site);

  /// `count` objects at `offset` exist and are aligned; else KernelFault.
  void check_shared_view(int thread, std::size_t offset, std::size_t count, std::size_t size,
                         std::size_t alignment) const;
  enum class Access { read, write, atomic };
  /// Checks one access and returns its address.
  std::byte* touch_shared(int thread, std::size_t offset, std::size_t bytes, Access access);

private:
  struct ThreadState {
    Operation waits_for = Operation::none;
    std::source_location site;
    std::uint64_t value = 0, result = 0;
    int source = 0;
    bool ended = false;
    Fibre* fibre = nullptr; ///< that it is suspended on
  };
  /// Who touched a 4-byte word since the last barrier.
  struct WordShadow {
    std::uint32_t write_epoch = 0, read_epoch = 0; ///< block epochs; 0: never
    std::uint32_t write_warp_epoch = 0, read_warp_epoch = 0;
    std::int32_t writer = -1, reader = -1;
    bool written = false, write_was_atomic = false;
    bool read_by_lanes = false, read_by_warps = false; ///< others than `reader` read too
  };

  void run_unstarted();
  void worker_loop();
  void resume(int thread);
  void abandon_waiting();
  void go_on_where_possible();
  bool complete_warps();
  bool complete_warp(int first, int last);
  bool complete_barrier();
  void wait(int thread, Operation operation, const std::source_location& site);
  void check_race(int thread, std::size_t word, Access access);
  void note_read(WordShadow& shadow, int thread, std::uint32_t warp_epoch) const;
  bool read_by_others(const WordShadow& shadow, int thread, std::uint32_t warp_epoch) const;
  bool ordered(int earlier, std::uint32_t earlier_epoch, std::uint32_t earlier_warp_epoch,
               int now) const;
  [[noreturn]] void fault(int thread, const std::string& what) const;
  std::string describe_waiting() const;

  const Body* body_ = nullptr;
  std::int64_t block_index_ = 0;
  int threads_ = 0, started_ = 0, running_thread_ = -1;
  Fibre* running_fibre_ = nullptr;
  std::vector<int> order_;
  std::vector<ThreadState> states_;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::exception_ptr exception_;
  bool abandoned_ = false;
  std::uint32_t epoch_ = 1;
  std::vector<std::uint32_t> warp_epochs_;
  std::vector<std::byte> shared_;
  std::vector<WordShadow> shadow_;
};

} // namespace breakeven::host_kernels
