// One thread block on the CPU: its threads as fibres, its barriers and warp operations, its shared
// memory. What CUDA leaves undefined (a barrier that some threads miss, a warp operation without
// all 32 lanes) becomes a KernelFault. Leaves out global memory, which the sanitizers watch.
#pragma once

#include "workloads/host_kernels/emulator.h"
#include "workloads/host_kernels/fibre.h"
#include "workloads/host_kernels/shared_memory.h"

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace breakeven::host_kernels {

enum class Operation { none, barrier, warp_barrier, shuffle, vote };

/// Where a kernel calls. Not std::source_location, which Clang 14 cannot compile.
struct Site {
  const char* file;
  int line;
  static constexpr Site current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

class Block {
public:
  /// Runs `body(*this, thread)` for every thread of block `index` and rethrows the first exception.
  /// One Block runs many blocks, one after the other, and keeps its stacks and memory.
  void run(const GridShape& grid, std::int64_t index, Schedule schedule,
           const std::function<void(Block&, int thread)>& body);
  bool is_running() const { return body_ != nullptr; }

  // For the threads ------------------------------------------------------------------------------
  std::int64_t index() const { return index_; }
  int threads() const { return grid_.threads_per_block; }
  std::int64_t grid_blocks() const { return grid_.blocks; }
  SharedMemory& shared() { return shared_; }

  /// Waits until every thread of the block is at this very barrier.
  void barrier(int thread, const Site& site);
  /// The other operations wait until all 32 lanes of the warp are at this very call.
  void warp_barrier(int thread, const Site& site);
  /// Hands `value` to the warp and gives the value of lane `source`, 0 to 31.
  std::uint64_t shuffle(int thread, std::uint64_t value, int source, const Site& site);
  /// Gives one bit a lane.
  std::uint32_t vote(int thread, bool value, const Site& site);

private:
  struct ThreadState {
    Operation waits_for = Operation::none;
    bool ended = false;
    int source = 0;
    Site site{};
    std::uint64_t value = 0, result = 0;
    Fibre* fibre = nullptr; ///< that it waits on
  };

  void choose_order(Schedule schedule);
  void start_threads();
  void run_threads_not_started();
  void go_on();
  bool complete_warp(int warp);
  void exchange(ThreadState* lanes, int warp);
  bool complete_barrier();
  void resume(int thread);
  void wait(int thread, Operation operation, const Site& site);
  void unwind_waiting();
  [[noreturn]] void divergence_fault() const;
  std::string whereabouts(int first, int last) const;
  ThreadState& state(int thread) { return states_[static_cast<std::size_t>(thread)]; }
  const ThreadState& state(int thread) const { return states_[static_cast<std::size_t>(thread)]; }

  GridShape grid_{};
  std::int64_t index_ = 0;
  const std::function<void(Block&, int)>* body_ = nullptr;
  std::vector<int> order_;         ///< in which threads start
  std::vector<int> order_in_warp_; ///< the same, sorted by warp
  std::vector<ThreadState> states_;
  int started_ = 0, ended_ = 0;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  Fibre* running_ = nullptr;
  std::exception_ptr exception_;
  bool unwinding_ = false;
  SharedMemory shared_;
};

} // namespace breakeven::host_kernels
