// What the renderer asks of the device beyond Thrust and launch(): clocks, free memory, errors with
// CUDA's own code and text, and how many threads really ran. The part of the renderer that
// asks which compiler reads it.
#pragma once

#include "sim/errors.h"
#include "workloads/clock.h"
#include "workloads/render/bvh_build.h"
#include "workloads/render/traversal.h"

#include <mutex>
#include <set>
#include <string>
#include <thread>

namespace breakeven::ON_PATH::wavefront {

#if defined(__CUDACC__)

// Counters cost registers and a store a ray, so the timed kernels have none; the host builds count.
constexpr Counting counts_visits = Counting::no;

inline void check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return;
  throw Failure(std::string(doing) + ": CUDA error " + std::to_string(static_cast<int>(code)) + " ("
                + cudaGetErrorName(code) + "): " + cudaGetErrorString(code));
}

inline void synchronise(const char* doing) {
  check(cudaGetLastError(), doing);
  check(cudaDeviceSynchronize(), doing);
}

inline double free_bytes() {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "ask for free GPU memory");
  return static_cast<double>(free);
}

/// A GPU has no OpenMP threads; the number of its multiprocessors, 0 without a GPU.
inline int count_threads() {
  int device = 0, multiprocessors = 0;
  if (cudaGetDevice(&device) != cudaSuccess
      || cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device)
             != cudaSuccess)
    return 0;
  return multiprocessors;
}

/// Time between two points of the default stream, as the device sees it.
class DeviceClock {
public:
  DeviceClock() {
    check(cudaEventCreate(&start_), "create a CUDA event");
    check(cudaEventCreate(&stop_), "create a CUDA event");
  }
  ~DeviceClock() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  DeviceClock(const DeviceClock&) = delete;
  DeviceClock& operator=(const DeviceClock&) = delete;

  void start() { check(cudaEventRecord(start_), "record a CUDA event"); }
  double stop_s() {
    check(cudaEventRecord(stop_), "record a CUDA event");
    check(cudaEventSynchronize(stop_), "wait for a CUDA event");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start_, stop_), "read a CUDA event");
    return 1e-3 * static_cast<double>(milliseconds);
  }

private:
  cudaEvent_t start_, stop_;
};

#else

constexpr Counting counts_visits = Counting::yes;

inline void synchronise(const char*) {}

/// Not asked on the host: its allocator answers for itself.
inline double free_bytes() { return std::numeric_limits<double>::infinity(); }

struct SeenThreads {
  std::mutex mutex;
  std::set<std::thread::id> ids;
};

struct NoteThread {
  SeenThreads* seen;
  void operator()(int) const {
    const std::lock_guard<std::mutex> lock(seen->mutex);
    seen->ids.insert(std::this_thread::get_id());
  }
};

/// How many threads a for_each over device iterators, without a policy, ran on: the case that goes
/// wrong when two back ends' Thrust share symbols.
inline int count_threads() {
  SeenThreads seen;
  const Device<int> many(1 << 12);
  thrust::for_each(many.begin(), many.end(), NoteThread{&seen});
  return static_cast<int>(seen.ids.size());
}

class DeviceClock {
public:
  void start() { start_s_ = seconds_now(); }
  double stop_s() const { return seconds_now() - start_s_; }

private:
  double start_s_ = 0;
};

#endif

} // namespace breakeven::ON_PATH::wavefront
