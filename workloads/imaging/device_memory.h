// The path's Memory: the GPU's, from CUDA's stream-ordered pool, or the CPU's for the host build.
#pragma once

#include "workloads/imaging/device.h"
#include "workloads/imaging/host_memory.h"

#include <limits>

namespace breakeven::ON_PATH::imaging_device {

#if defined(__CUDACC__)

constexpr Path this_path = Path::cuda;

inline cudaMemPool_t memory_pool() {
  int device = 0;
  check(cudaGetDevice(&device), "ask for the GPU");
  cudaMemPool_t pool{};
  check(cudaDeviceGetDefaultMemPool(&pool, device), "ask for the GPU's memory pool");
  return pool;
}

/// Blocks come and go with every stage; the pool keeps them, so that only the first case pays.
inline void keep_freed_memory() {
  const cudaMemPool_t pool = memory_pool();
  std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold),
        "keep freed GPU memory");
}

/// What the pool keeps for the next block is free too, though the GPU counts it as taken.
inline double kept_bytes() {
  const cudaMemPool_t pool = memory_pool();
  std::uint64_t reserved = 0, used = 0;
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved),
        "ask what the GPU's memory pool holds");
  check(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used),
        "ask what the GPU's memory pool holds");
  return static_cast<double>(reserved) - static_cast<double>(used);
}

/// Done when it returns, both ways: the host's memory may be used again.
inline void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                 const char* doing) {
  check(cudaMemcpyAsync(to, from, bytes, kind, Stream{}.handle), doing);
  check(cudaStreamSynchronize(Stream{}.handle), doing);
}

/// Everything is queued on the stream of the host thread that calls, and waits for that one alone:
/// a Memory and its Blocks belong to one thread, and other threads' work on the GPU goes on
/// meanwhile.
inline Memory path_memory() {
  keep_freed_memory();
  Memory memory;
  memory.allocate = [](std::size_t bytes) {
    void* data = nullptr;
    check(cudaMallocAsync(&data, std::max<std::size_t>(bytes, 1), Stream{}.handle),
          "allocate GPU memory");
    return data;
  };
  // A block may die while an error is on its way; that one is the one to report.
  memory.release = [](void* data, std::size_t) { cudaFreeAsync(data, Stream{}.handle); };
  memory.copy_in = [](void* to, const void* host, std::size_t bytes) {
    copy(to, host, bytes, cudaMemcpyHostToDevice, "copy to the GPU");
  };
  memory.copy_out = [](void* host, const void* from, std::size_t bytes) {
    copy(host, from, bytes, cudaMemcpyDeviceToHost, "copy from the GPU");
  };
  memory.synchronise = [] {
    check(cudaGetLastError(), "start a kernel");
    check(cudaStreamSynchronize(Stream{}.handle), "wait for the GPU");
  };
  memory.free_bytes = [] {
    std::size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "ask for free GPU memory");
    return static_cast<double>(free) + kept_bytes();
  };
  return memory;
}

#else

constexpr Path this_path = Path::host;
inline Memory path_memory() { return host_memory(); }

#endif

} // namespace breakeven::ON_PATH::imaging_device
