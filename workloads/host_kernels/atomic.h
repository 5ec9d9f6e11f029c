// Atomics of a kernel on the CPU, on global memory and on elements of shared arrays. They are real,
// because blocks run side by side. Each gives the old value.
#pragma once

#include "workloads/host_kernels/thread.h"

#include <atomic>
#include <type_traits>

namespace breakeven {
inline namespace host_kernels_api {

// CUDA's atomics are relaxed and kernels that hand data from block to block add thread_fence().
// ThreadSanitizer does not know fences, so here the atomics themselves order what is around them.
constexpr std::memory_order atomic_order = std::memory_order_acq_rel;

template <AtomicNumber T>
T atomic_add(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).fetch_add(value, atomic_order);
}
template <AtomicNumber T>
T atomic_exchange(T* address, std::type_identity_t<T> value) {
  return std::atomic_ref<T>(*address).exchange(value, atomic_order);
}
template <AtomicInteger T>
T atomic_cas(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  std::atomic_ref<T>(*address).compare_exchange_strong(expected, value, atomic_order,
                                                       std::memory_order_acquire);
  return expected;
}
template <AtomicInteger T>
T atomic_min(T* address, std::type_identity_t<T> value) {
  const std::atomic_ref<T> target(*address);
  T old = target.load(std::memory_order_acquire);
  while (value < old
         && !target.compare_exchange_weak(old, value, atomic_order, std::memory_order_acquire)) {
  }
  return old;
}
template <AtomicInteger T>
T atomic_max(T* address, std::type_identity_t<T> value) {
  const std::atomic_ref<T> target(*address);
  T old = target.load(std::memory_order_acquire);
  while (old < value
         && !target.compare_exchange_weak(old, value, atomic_order, std::memory_order_acquire)) {
  }
  return old;
}

template <AtomicNumber T>
T atomic_add(const SharedArray<T>& array, std::size_t index, std::type_identity_t<T> value) {
  return atomic_add(array.touch_atomically(index), value);
}
template <AtomicNumber T>
T atomic_exchange(const SharedArray<T>& array, std::size_t index, std::type_identity_t<T> value) {
  return atomic_exchange(array.touch_atomically(index), value);
}
template <AtomicInteger T>
T atomic_cas(const SharedArray<T>& array, std::size_t index, std::type_identity_t<T> expected,
             std::type_identity_t<T> value) {
  return atomic_cas(array.touch_atomically(index), expected, value);
}
template <AtomicInteger T>
T atomic_min(const SharedArray<T>& array, std::size_t index, std::type_identity_t<T> value) {
  return atomic_min(array.touch_atomically(index), value);
}
template <AtomicInteger T>
T atomic_max(const SharedArray<T>& array, std::size_t index, std::type_identity_t<T> value) {
  return atomic_max(array.touch_atomically(index), value);
}

/// What this thread wrote before is seen by whoever sees what it writes later.
inline void thread_fence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

} // namespace host_kernels_api
} // namespace breakeven
