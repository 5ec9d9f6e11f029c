// What the imaging kernels ask of the device beyond Thrust and launch(): copies of small tables,
// and errors with CUDA's own code and text. The part of imaging that asks which compiler reads it.
#pragma once

#include "sim/errors.h"
#include "workloads/imaging/stages.h"
#include "workloads/launch.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace breakeven::ON_PATH::imaging_device {

using namespace ::breakeven::imaging;

/// Streams, events and copies of this path.
#if defined(__CUDACC__)
inline void check(cudaError_t code, const char* doing) {
  if (code == cudaSuccess) return;
  throw Failure(std::string(doing) + ": CUDA error " + std::to_string(static_cast<int>(code)) + " ("
                + cudaGetErrorName(code) + "): " + cudaGetErrorString(code));
}
#endif

/// A host table in the path's memory. The copy is done when this returns.
template <class T>
Block<T> to_path(const std::vector<T>& values, Memory& memory) {
  Block<T> block(memory, std::max<std::size_t>(1, values.size()));
  memory.copy_in(block.data(), values.data(), values.size() * sizeof(T));
  return block;
}
/// Waits for the kernels that wrote it.
template <class T>
std::vector<T> to_host(const T* data, std::size_t count, Memory& memory) {
  std::vector<T> values(count);
  memory.copy_out(values.data(), data, count * sizeof(T));
  return values;
}

constexpr int usual_block = 256;
inline std::int64_t blocks_for(std::int64_t lanes, int block = usual_block) {
  return (lanes + block - 1) / block;
}

} // namespace breakeven::ON_PATH::imaging_device
