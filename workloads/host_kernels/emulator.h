// The emulator as its users see it: run a grid, choose the order of threads, and the fault that a
// broken kernel ends in. Leaves out what a kernel itself calls (thread.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>

namespace breakeven::host_kernels {

class Block;

/// A kernel broke a rule of CUDA's execution model; on a GPU its result would be undefined.
struct KernelFault : std::logic_error {
  using std::logic_error::logic_error;
};

/// In which order the threads of a block start and go on after a barrier.
enum class Order { forward, reverse, shuffled };
struct Schedule {
  Order order = Order::forward;
  std::uint64_t seed = 0; ///< of `shuffled`; every block has an order of its own
};
/// For tests: a correct kernel gives the same result under every schedule. Holds for the whole
/// process, so it is not for use while another thread launches.
void set_schedule(Schedule schedule);
Schedule current_schedule();

struct GridShape {
  std::int64_t blocks;
  int threads_per_block;
  std::size_t shared_bytes;
};

/// Runs `body(block, thread)` for every thread of the grid. Blocks are spread over OpenMP's
/// threads; inside a parallel region they run one after the other. The first exception of any
/// thread ends the grid and is thrown again here.
void run_grid(const GridShape& grid, const std::function<void(Block&, int thread)>& body);

} // namespace breakeven::host_kernels
