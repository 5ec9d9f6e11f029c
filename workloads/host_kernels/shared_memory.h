// A block's shared memory with a shadow that knows who touched what since when. Takes every access,
// gives its address or a KernelFault: for what lies outside, for a read of what the block never
// wrote, and for two threads that touch the same bytes, one writing, with no barrier between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::host_kernels {

enum class Access { read, write, atomic };

class SharedMemory {
public:
  /// Fills the memory with 0xCD and forgets all accesses.
  void begin_block(std::int64_t block_index, int threads, std::size_t bytes);

  /// Orders all that was touched before and all that is touched later.
  void block_barrier() { ++epoch_; }
  /// Orders the accesses of one warp. That is what __syncwarp promises; shuffles and votes move
  /// values but "do not imply a memory barrier" (CUDA C++ Programming Guide), so they order
  /// nothing.
  void warp_barrier(int warp) { ++warp_epochs_[static_cast<std::size_t>(warp)]; }

  /// `count` objects at byte `offset` lie inside the memory and are aligned.
  void check_view(int thread, std::size_t offset, std::size_t count, std::size_t object_bytes,
                  std::size_t alignment) const;
  void check_index(int thread, std::size_t index, std::size_t count) const {
    if (index >= count) index_fault(thread, index, count);
  }
  /// Checks and notes one access inside a checked view; gives its address.
  std::byte* touch(int thread, std::size_t offset, std::size_t bytes, Access access);

private:
  struct Now {
    int thread, warp;
    std::uint32_t epoch, warp_epoch;
  };
  /// The threads that made one kind of access to a word since the last barrier of the block. Two
  /// names are enough: a second warp is in conflict with everybody, and within one warp only the
  /// stretch since its last barrier counts.
  struct Touched {
    std::uint32_t epoch = 0, warp_epoch = 0;
    std::int16_t thread = 0, other = none;

    void note(const Now& now);
    /// A thread that touched this and is not ordered before `now`, or `none`.
    int unordered_with(const Now& now) const;
  };
  struct Cell {
    Touched read, write, atomic;
    std::uint32_t split_epoch = 0; ///< since when the word's four bytes have cells of their own
  };
  static constexpr std::int16_t none = -1;

  void check(Cell& cell, const Now& now, std::size_t offset, Access access);
  void check_bytes(std::size_t word, std::size_t first, std::size_t last, const Now& now,
                   Access access);
  bool of_this_block(std::uint32_t epoch) const { return epoch >= first_epoch_; }
  [[noreturn]] void index_fault(int thread, std::size_t index, std::size_t count) const;
  [[noreturn]] void race_fault(int earlier, Access earlier_access, int thread, Access access,
                               std::size_t offset) const;
  [[noreturn]] void fault(int thread, const std::string& what) const;

  std::int64_t block_index_ = 0;
  std::vector<std::byte> memory_;
  std::size_t bytes_ = 0;
  // One cell a word, then, from the first access to part of a word on, one a byte. Epochs go on
  // counting from block to block, so that nothing need be cleared.
  std::vector<Cell> cells_, byte_cells_;
  std::uint32_t epoch_ = 1, first_epoch_ = 1;
  std::vector<std::uint32_t> warp_epochs_;
};

} // namespace breakeven::host_kernels
