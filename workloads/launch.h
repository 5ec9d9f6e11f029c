// launch(): how every hand-written kernel is started, and the one header that kernels include. A
// kernel is a function object with `HOST_DEVICE void operator()(const Thread&, Args...) const`;
// under nvcc this is a real launch and Thread a thin cover over CUDA's built-ins, elsewhere
// host_kernels/ runs the same source on the CPU and checks it. Grids and blocks have one dimension.
// The two sides lie in inline namespaces of their own, so that one binary may hold both.
#pragma once

#include "workloads/host_device.h"

#if !defined(__CUDACC__)
#include "workloads/host_kernels/atomic.h"
#include "workloads/host_kernels/thread.h"
#else

#include "sim/errors.h"
#include "workloads/host_kernels/launch_rules.h"

#include <cuda_runtime.h>

#include <nv/target>
#include <string>
#include <type_traits>

// nvcc also compiles every HOST_DEVICE kernel for the CPU, where it never runs; there these calls
// are empty. Without that, nvcc warns of each call of a device function.
#define ON_DEVICE_RETURN(type, ...)                                                                \
  NV_IF_ELSE_TARGET(NV_IS_DEVICE, (return __VA_ARGS__;), (return type();))

namespace breakeven {
inline namespace cuda_api {

extern __shared__ __align__(16) unsigned char dynamic_shared_memory[];

/// A pointer into the block's dynamic shared memory. An element is a plain reference here; write
/// the type of what you read from it (`const float x = array[i]`), as the CPU side needs.
template <class T>
class SharedArray {
public:
  HOST_DEVICE SharedArray(T* data, std::size_t count) : data_(data), count_(count) {}
  HOST_DEVICE T& operator[](std::size_t index) const { return data_[index]; }
  HOST_DEVICE std::size_t size() const { return count_; }

private:
  T* data_;
  std::size_t count_;
};

class Thread {
public:
  HOST_DEVICE int thread_index() const { ON_DEVICE_RETURN(int, static_cast<int>(threadIdx.x)); }
  HOST_DEVICE int block_size() const { ON_DEVICE_RETURN(int, static_cast<int>(blockDim.x)); }
  HOST_DEVICE std::int64_t block_index() const { ON_DEVICE_RETURN(std::int64_t, blockIdx.x); }
  HOST_DEVICE std::int64_t grid_size() const { ON_DEVICE_RETURN(std::int64_t, gridDim.x); }
  HOST_DEVICE std::int64_t global_index() const {
    return block_index() * block_size() + thread_index();
  }
  HOST_DEVICE int lane() const { return thread_index() % threads_per_warp; }
  HOST_DEVICE int warp() const { return thread_index() / threads_per_warp; }

  HOST_DEVICE void sync() const { ON_DEVICE_RETURN(void, __syncthreads()); }
  HOST_DEVICE void sync_warp() const { ON_DEVICE_RETURN(void, __syncwarp()); }

  template <Shufflable T>
  HOST_DEVICE T shuffle(T value, int lane) const {
    ON_DEVICE_RETURN(T, of<T>(__shfl_sync(all_lanes, bits(value), lane)));
  }
  template <Shufflable T>
  HOST_DEVICE T shuffle_down(T value, int delta) const {
    ON_DEVICE_RETURN(T, of<T>(__shfl_down_sync(all_lanes, bits(value), delta)));
  }
  template <Shufflable T>
  HOST_DEVICE T shuffle_up(T value, int delta) const {
    ON_DEVICE_RETURN(T, of<T>(__shfl_up_sync(all_lanes, bits(value), delta)));
  }
  template <Shufflable T>
  HOST_DEVICE T shuffle_xor(T value, int mask) const {
    ON_DEVICE_RETURN(T, of<T>(__shfl_xor_sync(all_lanes, bits(value), mask)));
  }

  HOST_DEVICE std::uint32_t ballot(bool value) const {
    ON_DEVICE_RETURN(std::uint32_t, __ballot_sync(all_lanes, value));
  }
  HOST_DEVICE bool any(bool value) const {
    ON_DEVICE_RETURN(bool, __any_sync(all_lanes, value) != 0);
  }
  HOST_DEVICE bool all(bool value) const {
    ON_DEVICE_RETURN(bool, __all_sync(all_lanes, value) != 0);
  }

  template <class T>
  HOST_DEVICE SharedArray<T> shared(std::size_t byte_offset, std::size_t count) const {
    NV_IF_ELSE_TARGET(
        NV_IS_DEVICE,
        (return SharedArray<T>(reinterpret_cast<T*>(dynamic_shared_memory + byte_offset), count);),
        (return SharedArray<T>(nullptr, count);));
  }

private:
  static constexpr unsigned all_lanes = 0xFFFF'FFFFu;

  // CUDA shuffles built-in types only; one register or two hold any small value.
  template <class T>
  HOST_DEVICE static auto bits(T value) {
    std::conditional_t<(sizeof(T) <= 4), unsigned, unsigned long long> bits = 0;
    memcpy(&bits, &value, sizeof(T));
    return bits;
  }
  template <class T, class Bits>
  HOST_DEVICE static T of(Bits bits) {
    T value;
    memcpy(&value, &bits, sizeof(T));
    return value;
  }
};

// CUDA's 64-bit atomics take unsigned long long, which std::uint64_t is not on Linux.
template <class T>
using CudaInteger = std::conditional_t<std::is_same_v<T, std::uint64_t>, unsigned long long, T>;
template <class T>
HOST_DEVICE CudaInteger<T>* as_cuda(T* address) {
  return reinterpret_cast<CudaInteger<T>*>(address);
}

template <AtomicNumber T>
HOST_DEVICE T atomic_add(T* address, std::type_identity_t<T> value) {
  ON_DEVICE_RETURN(T, atomicAdd(as_cuda(address), static_cast<CudaInteger<T>>(value)));
}
template <AtomicNumber T>
HOST_DEVICE T atomic_exchange(T* address, std::type_identity_t<T> value) {
  ON_DEVICE_RETURN(T, atomicExch(as_cuda(address), static_cast<CudaInteger<T>>(value)));
}
template <AtomicInteger T>
HOST_DEVICE T atomic_cas(T* address, std::type_identity_t<T> expected,
                         std::type_identity_t<T> value) {
  ON_DEVICE_RETURN(T, atomicCAS(as_cuda(address), static_cast<CudaInteger<T>>(expected),
                                static_cast<CudaInteger<T>>(value)));
}
template <AtomicInteger T>
HOST_DEVICE T atomic_min(T* address, std::type_identity_t<T> value) {
  ON_DEVICE_RETURN(T, atomicMin(as_cuda(address), static_cast<CudaInteger<T>>(value)));
}
template <AtomicInteger T>
HOST_DEVICE T atomic_max(T* address, std::type_identity_t<T> value) {
  ON_DEVICE_RETURN(T, atomicMax(as_cuda(address), static_cast<CudaInteger<T>>(value)));
}

template <AtomicNumber T>
HOST_DEVICE T atomic_add(const SharedArray<T>& array, std::size_t index,
                         std::type_identity_t<T> value) {
  return atomic_add(&array[index], value);
}
template <AtomicNumber T>
HOST_DEVICE T atomic_exchange(const SharedArray<T>& array, std::size_t index,
                              std::type_identity_t<T> value) {
  return atomic_exchange(&array[index], value);
}
template <AtomicInteger T>
HOST_DEVICE T atomic_cas(const SharedArray<T>& array, std::size_t index,
                         std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return atomic_cas(&array[index], expected, value);
}
template <AtomicInteger T>
HOST_DEVICE T atomic_min(const SharedArray<T>& array, std::size_t index,
                         std::type_identity_t<T> value) {
  return atomic_min(&array[index], value);
}
template <AtomicInteger T>
HOST_DEVICE T atomic_max(const SharedArray<T>& array, std::size_t index,
                         std::type_identity_t<T> value) {
  return atomic_max(&array[index], value);
}
HOST_DEVICE inline void thread_fence() { ON_DEVICE_RETURN(void, __threadfence()); }

/// Where a kernel is queued. Unless told otherwise that is the calling host thread's own stream, so
/// that two threads with a case each overlap one's copies with the other's kernels. Thrust and the
/// runtime's copies follow through --default-stream=per-thread (cmake/targets.cmake); built without
/// it they use the legacy stream, which waits for this one and lets nothing pass: the same results,
/// and no overlap.
struct Stream {
  cudaStream_t handle = cudaStreamPerThread;
};

template <class Kernel, class... Args>
__global__ void run_kernel(Kernel kernel, Args... args) {
  kernel(Thread{}, args...);
}

inline void check_start(cudaError_t code) {
  if (code != cudaSuccess)
    throw Failure("start a kernel: CUDA error " + std::to_string(static_cast<int>(code)) + " ("
                  + cudaGetErrorName(code) + "): " + cudaGetErrorString(code));
}

/// Queues `kernel(thread, args...)` for every thread of `grid` blocks on `stream`. Throws Failure
/// for a size that no GPU takes and, with CUDA's code and text, for a launch that CUDA refuses.
template <class Kernel, class... Args>
void launch(std::int64_t grid, int block, std::size_t shared_bytes, Stream stream,
            const Kernel& kernel, Args... args) {
  check_launch(grid, block, shared_bytes);
  if (grid == 0) return;
  constexpr std::size_t granted_unasked = 48 * 1024;
  if (shared_bytes > granted_unasked)
    check_start(cudaFuncSetAttribute(run_kernel<Kernel, Args...>,
                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(shared_bytes)));
  // The call that <<<...>>> stands for, but it gives its own error and not an earlier one.
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid));
  config.blockDim = dim3(static_cast<unsigned>(block));
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream.handle;
  check_start(cudaLaunchKernelEx(&config, run_kernel<Kernel, Args...>, kernel, args...));
}

} // namespace cuda_api
} // namespace breakeven

#undef ON_DEVICE_RETURN
#endif
