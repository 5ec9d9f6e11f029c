// launch(): how every hand-written kernel is started. A kernel is a function object with
// `DEVICE_ONLY void operator()(const Thread& thread, Args...) const`. Under nvcc this is a real
// launch and Thread is a thin cover over CUDA's built-ins; elsewhere host_kernels/ runs the same
// source block by block and checks it. Grids and blocks have one dimension; a block is a multiple
// of 32 threads, at most 1024. The two sides live in different inline namespaces, so that one
// binary may hold both.
#pragma once

#include "workloads/host_device.h"

#if !defined(__CUDACC__)
#include "workloads/host_kernels/thread.h"
#else

#include "sim/errors.h"

#include <cuda_runtime.h>

#include <string>

namespace breakeven::inline cuda_api {

template <class T>
class SharedArray {
public:
  DEVICE_ONLY SharedArray(T* data, std::size_t count) : data_(data), count_(count) {}
  DEVICE_ONLY T& operator[](std::size_t index) const { return data_[index]; }
  DEVICE_ONLY std::size_t size() const { return count_; }

private:
  T* data_;
  std::size_t count_;
};

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

class Thread {
public:
  static constexpr unsigned full_warp = 0xFFFFFFFFu;
  DEVICE_ONLY int thread_index() const { return static_cast<int>(threadIdx.x); }
  DEVICE_ONLY int block_size() const { return static_cast<int>(blockDim.x); }
  DEVICE_ONLY std::int64_t block_index() const { return blockIdx.x; }
  DEVICE_ONLY std::int64_t grid_size() const { return gridDim.x; }
  DEVICE_ONLY std::int64_t global_index() const {
    return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  }
  DEVICE_ONLY int lane() const { return static_cast<int>(threadIdx.x % 32); }
  DEVICE_ONLY int warp() const { return static_cast<int>(threadIdx.x / 32); }
  DEVICE_ONLY void sync() const { __syncthreads(); }
  DEVICE_ONLY void sync_warp() const { __syncwarp(); }
  template <class T>
  DEVICE_ONLY T shuffle(T value, int lane) const {
    return __shfl_sync(full_warp, value, lane);
  }
  template <class T>
  DEVICE_ONLY T shuffle_xor(T value, int mask) const {
    return __shfl_xor_sync(full_warp, value, mask);
  }
  template <class T>
  DEVICE_ONLY T shuffle_down(T value, int delta) const {
    return __shfl_down_sync(full_warp, value, delta);
  }
  template <class T>
  DEVICE_ONLY T shuffle_up(T value, int delta) const {
    return __shfl_up_sync(full_warp, value, delta);
  }
  DEVICE_ONLY std::uint32_t ballot(bool value) const { return __ballot_sync(full_warp, value); }
  DEVICE_ONLY bool any(bool value) const { return __any_sync(full_warp, value) != 0; }
  DEVICE_ONLY bool all(bool value) const { return __all_sync(full_warp, value) != 0; }
  template <class T>
  DEVICE_ONLY SharedArray<T> shared(std::size_t byte_offset, std::size_t count) const {
    return {reinterpret_cast<T*>(dynamic_shared_memory + byte_offset), count};
  }
};

template <class T>
DEVICE_ONLY T atomic_add(T* address, T value) {
  return atomicAdd(address, value);
}
template <class T>
DEVICE_ONLY T atomic_min(T* address, T value) {
  return atomicMin(address, value);
}
template <class T>
DEVICE_ONLY T atomic_max(T* address, T value) {
  return atomicMax(address, value);
}
template <class T>
DEVICE_ONLY T atomic_exchange(T* address, T value) {
  return atomicExch(address, value);
}
template <class T>
DEVICE_ONLY T atomic_cas(T* address, T expected, T value) {
  return atomicCAS(address, expected, value);
}
// CUDA's 64-bit atomics take unsigned long long, which std::uint64_t need not be.
DEVICE_ONLY inline std::uint64_t atomic_add(std::uint64_t* address, std::uint64_t value) {
  return atomicAdd(reinterpret_cast<unsigned long long*>(address),
                   static_cast<unsigned long long>(value));
}
DEVICE_ONLY inline std::uint64_t atomic_max(std::uint64_t* address, std::uint64_t value) {
  return atomicMax(reinterpret_cast<unsigned long long*>(address),
                   static_cast<unsigned long long>(value));
}
template <class T>
DEVICE_ONLY T atomic_add(const SharedArray<T>& array, std::size_t index, T value) {
  return atomic_add(&array[index], value);
}
template <class T>
DEVICE_ONLY T atomic_min(const SharedArray<T>& array, std::size_t index, T value) {
  return atomic_min(&array[index], value);
}
template <class T>
DEVICE_ONLY T atomic_max(const SharedArray<T>& array, std::size_t index, T value) {
  return atomic_max(&array[index], value);
}
DEVICE_ONLY inline void thread_fence() { __threadfence(); }

using Stream = cudaStream_t;

template <class Kernel, class... Args>
__global__ void run_kernel(Kernel kernel, Args... args) {
  kernel(Thread{}, args...);
}

template <class Kernel, class... Args>
void launch(std::int64_t grid, int block, std::size_t shared_bytes, Stream stream,
            const Kernel& kernel, Args... args) {
  if (grid == 0) return;
  run_kernel<<<static_cast<unsigned>(grid), static_cast<unsigned>(block), shared_bytes, stream>>>(
      kernel, args...);
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw Failure("a kernel could not be launched: " + std::string(cudaGetErrorString(error)) + " ("
                  + cudaGetErrorName(error) + ")");
}

} // namespace breakeven::inline cuda_api

#endif
