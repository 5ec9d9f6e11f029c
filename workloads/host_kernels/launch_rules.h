// What a launch may ask for, the same on both sides of launch(): sizes, and the types that atomics
// and shuffles take. A kernel that the CPU accepts so compiles and starts on a GPU too.
#pragma once

#include "sim/errors.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace breakeven {

constexpr int threads_per_warp = 32;
constexpr int largest_block = 1024;
constexpr std::int64_t largest_grid = 2'147'483'647;
/// Of compute capability 9.0, the most that any has; a T4 has 64 KiB. Table "Technical
/// Specifications per Compute Capability" of the CUDA C++ Programming Guide.
constexpr std::size_t largest_shared_bytes = 227 * 1024;

template <class T>
concept AtomicInteger =
    std::same_as<T, std::int32_t> || std::same_as<T, std::uint32_t> || std::same_as<T,
                                                                                    std::uint64_t>;
template <class T>
concept AtomicNumber = AtomicInteger<T> || std::same_as<T, float>;

/// What fits into one or two registers.
template <class T>
concept Shufflable = std::is_trivially_copyable_v<T> && sizeof(T) <= 8;

inline void check_launch(std::int64_t grid, int block, std::size_t shared_bytes) {
  if (grid < 0 || grid > largest_grid)
    throw Failure("start a kernel: a grid of " + std::to_string(grid) + " blocks, expected 0 to "
                  + std::to_string(largest_grid));
  if (block < threads_per_warp || block > largest_block || block % threads_per_warp != 0)
    throw Failure("start a kernel: a block of " + std::to_string(block)
                  + " threads, expected a multiple of 32 up to " + std::to_string(largest_block));
  if (shared_bytes > largest_shared_bytes)
    throw Failure("start a kernel: " + std::to_string(shared_bytes)
                  + " bytes of shared memory, expected at most "
                  + std::to_string(largest_shared_bytes));
}

} // namespace breakeven
