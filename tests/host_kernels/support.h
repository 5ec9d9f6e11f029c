// What the tests of host_kernels share: the fault a kernel ends in, as text, and a block's sum.
#pragma once

#include "workloads/launch.h"

#include <cstddef>
#include <string>

namespace breakeven::tests {

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr std::size_t test_shared_bytes = 1024;

/// Runs one block, or several, and gives the text of the KernelFault.
template <class Kernel>
std::string fault_in(const Kernel& kernel, int block = 64, std::int64_t grid = 1) {
  try {
    launch(grid, block, test_shared_bytes, Stream{}, kernel);
  } catch (const host_kernels::KernelFault& fault) {
    return fault.what();
  }
  return "no fault";
}

inline std::size_t own_index(const Thread& thread) {
  return static_cast<std::size_t>(thread.thread_index());
}

/// The textbook tree reduction of a block, for any block size.
struct BlockSum {
  HOST_DEVICE void operator()(const Thread& thread, const int* values, int* sums) const {
    const auto size = static_cast<std::size_t>(thread.block_size());
    const auto partial = thread.shared<int>(0, size);
    const std::size_t own = own_index(thread);
    partial[own] = values[thread.global_index()];
    for (std::size_t stride = 1; stride < size; stride *= 2) {
      thread.sync();
      if (own % (2 * stride) == 0 && own + stride < size) partial[own] += partial[own + stride];
    }
    if (own == 0) sums[thread.block_index()] = partial[0];
  }
};

} // namespace breakeven::tests
