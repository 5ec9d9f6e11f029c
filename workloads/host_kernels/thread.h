// What a kernel sees on the CPU: its indices, barriers, warp operations and checked shared memory.
// The same names, in an inline namespace of their own, as the CUDA side of launch.h.
#pragma once

#include "workloads/host_kernels/block.h"
#include "workloads/host_kernels/launch_rules.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace breakeven {
inline namespace host_kernels_api {

/// One element of a SharedArray, for use on the spot: reads and writes go through the checks. It
/// only works as a temporary: `const auto x = array[i]` would be a value on the GPU but a reference
/// here, so it does not compile. Write the type.
template <class T>
class SharedElement {
public:
  SharedElement(host_kernels::SharedMemory& memory, int thread, std::size_t offset)
      : memory_(memory),
        thread_(thread),
        offset_(offset) {}
  SharedElement(const SharedElement&) = delete;

  operator T() const&& { return read(); }
  T operator=(const T& value) && { return write(value); }
  T operator=(SharedElement&& other) && { return write(other.read()); }
  T operator+=(const T& value) && { return write(static_cast<T>(read() + value)); }
  T operator-=(const T& value) && { return write(static_cast<T>(read() - value)); }
  T operator*=(const T& value) && { return write(static_cast<T>(read() * value)); }
  T operator/=(const T& value) && { return write(static_cast<T>(read() / value)); }
  T operator|=(const T& value) && { return write(static_cast<T>(read() | value)); }
  T operator&=(const T& value) && { return write(static_cast<T>(read() & value)); }
  T operator^=(const T& value) && { return write(static_cast<T>(read() ^ value)); }
  T operator++() && { return write(static_cast<T>(read() + 1)); }
  T operator--() && { return write(static_cast<T>(read() - 1)); }
  T operator++(int) && {
    const T old = read();
    write(static_cast<T>(old + 1));
    return old;
  }
  T operator--(int) && {
    const T old = read();
    write(static_cast<T>(old - 1));
    return old;
  }

private:
  T read() const {
    std::remove_const_t<T> value;
    std::memcpy(&value, memory_.touch(thread_, offset_, sizeof(T), host_kernels::Access::read),
                sizeof(T));
    return value;
  }
  T write(const T& value) const {
    std::memcpy(memory_.touch(thread_, offset_, sizeof(T), host_kernels::Access::write), &value,
                sizeof(T));
    return value;
  }

  host_kernels::SharedMemory& memory_;
  int thread_;
  std::size_t offset_;
};

/// `count` objects in the block's dynamic shared memory, uninitialised at the start of a block.
template <class T>
class SharedArray {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  SharedArray(host_kernels::SharedMemory& memory, int thread, std::size_t byte_offset,
              std::size_t count)
      : memory_(&memory),
        thread_(thread),
        offset_(byte_offset),
        count_(count) {
    memory.check_view(thread, byte_offset, count, sizeof(T), alignof(T));
  }

  SharedElement<T> operator[](std::size_t index) const {
    memory_->check_index(thread_, index, count_);
    return {*memory_, thread_, offset_ + index * sizeof(T)};
  }
  std::size_t size() const { return count_; }

  /// For atomic.h: where the element is, noted as atomically read and written.
  T* touch_atomically(std::size_t index) const {
    memory_->check_index(thread_, index, count_);
    return reinterpret_cast<T*>(memory_->touch(thread_, offset_ + index * sizeof(T), sizeof(T),
                                               host_kernels::Access::atomic));
  }

private:
  host_kernels::SharedMemory* memory_;
  int thread_;
  std::size_t offset_, count_;
};

class Thread {
public:
  using Site = host_kernels::Site;

  Thread(host_kernels::Block& block, int thread) : block_(block), thread_(thread) {}

  int thread_index() const { return thread_; }
  int block_size() const { return block_.threads(); }
  std::int64_t block_index() const { return block_.index(); }
  std::int64_t grid_size() const { return block_.grid_blocks(); }
  std::int64_t global_index() const { return block_index() * block_size() + thread_; }
  int lane() const { return thread_ % threads_per_warp; }
  int warp() const { return thread_ / threads_per_warp; }

  void sync(Site site = Site::current()) const { block_.barrier(thread_, site); }
  void sync_warp(Site site = Site::current()) const { block_.warp_barrier(thread_, site); }

  /// The value of a lane; the lane's number is taken modulo 32.
  template <Shufflable T>
  T shuffle(T value, int lane, Site site = Site::current()) const {
    return exchange(value, lane & (threads_per_warp - 1), site);
  }
  // Where the source lies outside the warp, these give the lane its own value.
  template <Shufflable T>
  T shuffle_down(T value, int delta, Site site = Site::current()) const {
    return exchange(value, lane() + delta, site);
  }
  template <Shufflable T>
  T shuffle_up(T value, int delta, Site site = Site::current()) const {
    return exchange(value, lane() - delta, site);
  }
  template <Shufflable T>
  T shuffle_xor(T value, int mask, Site site = Site::current()) const {
    return exchange(value, lane() ^ mask, site);
  }

  /// Bit i is set if lane i says true.
  std::uint32_t ballot(bool value, Site site = Site::current()) const {
    return block_.vote(thread_, value, site);
  }
  bool any(bool value, Site site = Site::current()) const {
    return block_.vote(thread_, value, site) != 0;
  }
  bool all(bool value, Site site = Site::current()) const {
    return block_.vote(thread_, value, site) == 0xFFFF'FFFFu;
  }

  template <class T>
  SharedArray<T> shared(std::size_t byte_offset, std::size_t count) const {
    return {block_.shared(), thread_, byte_offset, count};
  }

private:
  template <class T>
  T exchange(T value, int source, const Site& site) const {
    const bool inside = source >= 0 && source < threads_per_warp;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = block_.shuffle(thread_, bits, inside ? source : lane(), site);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }

  host_kernels::Block& block_;
  int thread_;
};

/// Blocks run at once, so there is nothing to queue on.
struct Stream {};

/// Runs `kernel(thread, args...)` for every thread of `grid` blocks and returns when all are done.
/// Throws Failure for a size that no GPU takes, host_kernels::KernelFault for a broken rule, and
/// whatever a kernel throws.
template <class Kernel, class... Args>
void launch(std::int64_t grid, int block, std::size_t shared_bytes, Stream, const Kernel& kernel,
            Args... args) {
  check_launch(grid, block, shared_bytes);
  if (grid == 0) return;
  host_kernels::run_grid({grid, block, shared_bytes},
                         [&](host_kernels::Block& emulated, int thread) {
                           kernel(Thread(emulated, thread), std::as_const(args)...);
                         });
}

} // namespace host_kernels_api
} // namespace breakeven
