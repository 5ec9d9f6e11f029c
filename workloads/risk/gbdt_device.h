// What boosted trees ask of the device beyond Thrust, launch() and Memory: copies that run beside
// kernels, host memory that such copies may come from, and clocks of kernels among copies.
// Elsewhere copies and kernels are done when they are asked for. Asks which compiler reads it.
#pragma once

#include "workloads/clock.h"
#include "workloads/imaging/device.h"
#include "workloads/risk/row_blocks.h"

#include <array>

namespace breakeven::ON_PATH::risk_device {

#if defined(__CUDACC__)

using imaging_device::check;

/// Host memory that copies read and write while the CPU goes on.
template <class T>
class PinnedBlock {
public:
  explicit PinnedBlock(std::size_t count) : count_(count) {
    check(cudaMallocHost(reinterpret_cast<void**>(&data_),
                         std::max<std::size_t>(1, count) * sizeof(T)),
          "allocate pinned memory");
  }
  PinnedBlock(const PinnedBlock&) = delete;
  ~PinnedBlock() { cudaFreeHost(data_); }
  T* data() const { return data_; }
  std::size_t size() const { return count_; }

private:
  T* data_ = nullptr;
  std::size_t count_;
};

/// Lets copies from host memory that lies there already run beside the CPU. Where CUDA refuses,
/// because little memory may be locked, they still copy, but one after the other.
class Pinned {
public:
  Pinned(const std::uint8_t* data, std::size_t bytes) : data_(const_cast<std::uint8_t*>(data)) {
    is_registered_ =
        bytes > 0 && cudaHostRegister(data_, bytes, cudaHostRegisterDefault) == cudaSuccess;
    cudaGetLastError(); // a refusal is no error of what comes next
  }
  Pinned(const Pinned&) = delete;
  ~Pinned() {
    if (is_registered_) cudaHostUnregister(data_);
  }

private:
  std::uint8_t* data_;
  bool is_registered_ = false;
};

/// A stream of its own, beside that of the calling thread.
class Queue {
public:
  Queue() {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "create an event");
  }
  Queue(const Queue&) = delete;
  ~Queue() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(event_);
    cudaStreamDestroy(stream_);
  }
  Stream stream() const { return {stream_}; }

  /// What is queued here from now on begins after all that the calling thread's stream has now.
  void wait_for_kernels() { wait(Stream{}.handle, stream_); }
  /// What is queued there from now on begins after all that is queued here now.
  void let_kernels_wait() { wait(stream_, Stream{}.handle); }

  void copy_in(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copy to the GPU");
  }
  void copy_out(void* to, const void* from, std::size_t bytes) {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "copy from the GPU");
  }
  void finish() { check(cudaStreamSynchronize(stream_), "wait for the GPU"); }

private:
  void wait(cudaStream_t for_stream, cudaStream_t waiting) {
    check(cudaEventRecord(event_, for_stream), "record an event");
    check(cudaStreamWaitEvent(waiting, event_, 0), "wait for an event");
  }
  cudaStream_t stream_{};
  cudaEvent_t event_{};
};

/// Time between two points of a queue.
class KernelClock {
public:
  KernelClock() {
    for (cudaEvent_t& event : events_)
      check(cudaEventCreate(&event), "create an event");
  }
  KernelClock(const KernelClock&) = delete;
  ~KernelClock() {
    for (cudaEvent_t event : events_)
      cudaEventDestroy(event);
  }
  void start(const Queue& queue) { record(0, queue); }
  void stop(const Queue& queue) { record(1, queue); }
  /// Once the queue is finished.
  double seconds() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "read a GPU's clock");
    return static_cast<double>(milliseconds) * 1e-3;
  }

private:
  void record(std::size_t which, const Queue& queue) {
    check(cudaEventRecord(events_[which], queue.stream().handle), "record an event");
  }
  std::array<cudaEvent_t, 2> events_{};
};

#else

template <class T>
class PinnedBlock {
public:
  explicit PinnedBlock(std::size_t count) : values_(count) {}
  T* data() { return values_.data(); }
  std::size_t size() const { return values_.size(); }

private:
  std::vector<T> values_;
};

struct Pinned {
  Pinned(const std::uint8_t*, std::size_t) {}
};

class Queue {
public:
  Stream stream() const { return {}; }
  void wait_for_kernels() {}
  void let_kernels_wait() {}
  void copy_in(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }
  void copy_out(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }
  void finish() {}

private:
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
};

class KernelClock {
public:
  void start(const Queue&) { start_s_ = seconds_now(); }
  void stop(const Queue&) { stop_s_ = seconds_now(); }
  double seconds() const { return stop_s_ - start_s_; }

private:
  double start_s_ = 0, stop_s_ = 0;
};

#endif

/// Copies pageable host memory to the path's, through two pinned blocks: threads of the CPU fill
/// one while the other is on its way. Done when it returns.
inline void upload(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  const std::size_t piece = std::min(std::size_t{4} << 20, bytes);
  if (bytes == 0) return;
  struct Lane {
    explicit Lane(std::size_t size) : block(size) {}
    PinnedBlock<std::uint8_t> block;
    Queue queue{};
  };
  Lane lanes[2] = {Lane(piece), Lane(piece)};
  for (Lane& lane : lanes)
    lane.queue.wait_for_kernels(); // `to` may be new on the thread's stream
  std::size_t next = 0;
  for (std::size_t begin = 0; begin < bytes; begin += piece) {
    Lane& lane = lanes[next];
    next = 1 - next;
    const std::size_t here = std::min(piece, bytes - begin);
    lane.queue.finish();
    risk::copy_bytes(lane.block.data(), from + begin, here);
    lane.queue.copy_in(to + begin, lane.block.data(), here);
  }
  for (Lane& lane : lanes)
    lane.queue.finish();
}

} // namespace breakeven::ON_PATH::risk_device
