// What a kernel sees of its thread on the CPU: indices, barriers, warp operations, checked shared
// memory, atomics. The same names as the CUDA side in launch.h.
#pragma once

#include "workloads/host_kernels/block.h"

#include <omp.h>

#include <atomic>
#include <cassert>
#include <cstring>
#include <mutex>
#include <type_traits>

namespace breakeven::inline host_kernels_api {

using host_kernels::Block;

/// One element of shared memory: reads and writes go through the block's checks.
template <class T>
class SharedElement {
public:
  SharedElement(Block* block, int thread, std::size_t offset)
      : block_(block),
        thread_(thread),
        offset_(offset) {}
  operator T() const {
    T value;
    std::memcpy(&value, block_->touch_shared(thread_, offset_, sizeof(T), Block::Access::read),
                sizeof(T));
    return value;
  }
  SharedElement& operator=(const T& value) {
    std::memcpy(block_->touch_shared(thread_, offset_, sizeof(T), Block::Access::write), &value,
                sizeof(T));
    return *this;
  }
  SharedElement& operator=(const SharedElement& other) { return *this = static_cast<T>(other); }
  SharedElement(const SharedElement&) = default;
  SharedElement& operator+=(const T& value) { return *this = static_cast<T>(*this) + value; }
  SharedElement& operator-=(const T& value) { return *this = static_cast<T>(*this) - value; }
  SharedElement& operator*=(const T& value) { return *this = static_cast<T>(*this) * value; }

private:
  Block* block_;
  int thread_;
  std::size_t offset_;
};

/// `count` objects in the block's dynamic shared memory.
template <class T>
class SharedArray {
  static_assert(std::is_trivially_copyable_v<T>);

public:
  SharedArray(Block* block, int thread, std::size_t offset, std::size_t count)
      : block_(block),
        thread_(thread),
        offset_(offset),
        count_(count) {
    block_->check_shared_view(thread, offset, count, sizeof(T), alignof(T));
  }
  SharedElement<T> operator[](std::size_t index) const {
    check(index);
    return {block_, thread_, offset_ + index * sizeof(T)};
  }
  std::size_t size() const { return count_; }
  /// For atomics: the address, marked as atomically written.
  T* atomic_address(std::size_t index) const {
    check(index);
    return reinterpret_cast<T*>(block_->touch_shared(thread_, offset_ + index * sizeof(T),
                                                     sizeof(T), Block::Access::atomic));
  }

private:
  void check(std::size_t index) const {
    if (index >= count_)
      throw host_kernels::KernelFault("thread " + std::to_string(thread_) + ": shared index "
                                      + std::to_string(index) + " of " + std::to_string(count_));
  }
  Block* block_;
  int thread_;
  std::size_t offset_, count_;
};

class Thread {
public:
  using Site = std::source_location;
  Thread(Block* block, std::int64_t block_index, int thread, int block_size, std::int64_t grid_size)
      : block_(block),
        block_index_(block_index),
        grid_size_(grid_size),
        thread_(thread),
        block_size_(block_size) {}

  int thread_index() const { return thread_; }
  int block_size() const { return block_size_; }
  std::int64_t block_index() const { return block_index_; }
  std::int64_t grid_size() const { return grid_size_; }
  std::int64_t global_index() const { return block_index_ * block_size_ + thread_; }
  int lane() const { return thread_ % host_kernels::warp_size; }
  int warp() const { return thread_ / host_kernels::warp_size; }

  void sync(Site site = Site::current()) const { block_->barrier(thread_, site); }
  void sync_warp(Site site = Site::current()) const { block_->warp_barrier(thread_, site); }

  template <class T>
  T shuffle(T value, int lane, Site site = Site::current()) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    bits = block_->shuffle(thread_, bits, lane, site);
    std::memcpy(&value, &bits, sizeof(T));
    return value;
  }
  template <class T>
  T shuffle_xor(T value, int mask, Site site = Site::current()) const {
    return shuffle(value, lane() ^ mask, site);
  }
  /// Lanes whose source would lie outside the warp keep their own value, as on the GPU.
  template <class T>
  T shuffle_down(T value, int delta, Site site = Site::current()) const {
    return shuffle(value, lane() + delta < host_kernels::warp_size ? lane() + delta : lane(), site);
  }
  template <class T>
  T shuffle_up(T value, int delta, Site site = Site::current()) const {
    return shuffle(value, lane() - delta >= 0 ? lane() - delta : lane(), site);
  }
  std::uint32_t ballot(bool value, Site site = Site::current()) const {
    return block_->vote(thread_, value, site);
  }
  bool any(bool value, Site site = Site::current()) const { return ballot(value, site) != 0; }
  bool all(bool value, Site site = Site::current()) const { return ballot(value, site) == ~0u; }

  template <class T>
  SharedArray<T> shared(std::size_t byte_offset, std::size_t count) const {
    return {block_, thread_, byte_offset, count};
  }

private:
  Block* block_;
  std::int64_t block_index_, grid_size_;
  int thread_, block_size_;
};

// Atomics on global memory are real: blocks run side by side. Each returns the old value.
template <class T>
T atomic_add(T* address, T value) {
  return std::atomic_ref<T>(*address).fetch_add(value);
}
template <class T>
T atomic_exchange(T* address, T value) {
  return std::atomic_ref<T>(*address).exchange(value);
}
template <class T>
T atomic_cas(T* address, T expected, T value) {
  std::atomic_ref<T>(*address).compare_exchange_strong(expected, value);
  return expected;
}
template <class T>
T atomic_min(T* address, T value) {
  std::atomic_ref<T> target(*address);
  T old = target.load();
  while (value < old && !target.compare_exchange_weak(old, value)) {
  }
  return old;
}
template <class T>
T atomic_max(T* address, T value) {
  std::atomic_ref<T> target(*address);
  T old = target.load();
  while (old < value && !target.compare_exchange_weak(old, value)) {
  }
  return old;
}
template <class T>
T atomic_add(const SharedArray<T>& array, std::size_t index, T value) {
  return atomic_add(array.atomic_address(index), value);
}
template <class T>
T atomic_min(const SharedArray<T>& array, std::size_t index, T value) {
  return atomic_min(array.atomic_address(index), value);
}
template <class T>
T atomic_max(const SharedArray<T>& array, std::size_t index, T value) {
  return atomic_max(array.atomic_address(index), value);
}
/// What this thread wrote is seen by whoever sees what it writes next.
inline void thread_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

struct Stream {};

/// Runs `kernel(thread, args...)` for every thread of `grid` blocks of `block` threads. Blocks are
/// spread over OpenMP's threads; inside a parallel region they run one after the other. The first
/// exception of any block is thrown again here.
template <class Kernel, class... Args>
void launch(std::int64_t grid, int block, std::size_t shared_bytes, Stream, const Kernel& kernel,
            Args... args) {
  assert(block > 0 && block <= 1024 && block % host_kernels::warp_size == 0);
  assert(grid >= 0 && grid < (std::int64_t{1} << 31));
  std::exception_ptr first;
  std::mutex mutex;
  std::atomic<bool> stop{false};
#pragma omp parallel if (grid > 1 && !omp_in_parallel())
  {
    Block emulated;
#pragma omp for schedule(dynamic)
    for (std::int64_t index = 0; index < grid; ++index) {
      if (stop.load(std::memory_order_relaxed)) continue;
      try {
        emulated.run(index, block, shared_bytes, [&](int thread) {
          kernel(Thread(&emulated, index, thread, block, grid), args...);
        });
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
        stop = true;
      }
    }
  }
  if (first) std::rethrow_exception(first);
}

} // namespace breakeven::inline host_kernels_api
