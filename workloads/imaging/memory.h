// The memory of one path, host or device, as the imaging stages see it: blocks that are counted, so
// that the peak is known, and copies in and out.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace breakeven::imaging {

struct Memory {
  std::function<void*(std::size_t bytes)> allocate; ///< throws Failure where there is not enough
  std::function<void(void* data, std::size_t bytes)> release;
  std::function<void(void* to, const void* host, std::size_t bytes)> copy_in;
  std::function<void(void* host, const void* from, std::size_t bytes)> copy_out;
  std::function<void()> synchronise;  ///< waits for all kernels and copies; throws their Failure
  std::function<double()> free_bytes; ///< that could still be allocated
  std::size_t in_use_bytes = 0, peak_bytes = 0;
};

/// A counted block of `count` elements, not initialised, aligned to 64 bytes; released at the end
/// of its life. Move only.
template <class T>
class Block {
public:
  Block() = default;
  Block(Memory& memory, std::size_t count) : memory_(&memory), count_(count) {
    data_ = static_cast<T*>(memory.allocate(bytes()));
    memory.in_use_bytes += bytes();
    if (memory.in_use_bytes > memory.peak_bytes) memory.peak_bytes = memory.in_use_bytes;
  }
  Block(Block&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        count_(std::exchange(other.count_, 0)) {}
  Block& operator=(Block&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Block() {
    if (memory_ == nullptr) return;
    memory_->release(data_, bytes());
    memory_->in_use_bytes -= bytes();
  }

  T* data() const { return data_; }
  std::size_t size() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }

private:
  Memory* memory_ = nullptr;
  T* data_ = nullptr;
  std::size_t count_ = 0;
};

} // namespace breakeven::imaging
