#include "workloads/host_kernels/emulator.h"

#include "workloads/host_kernels/block.h"

#include <omp.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

namespace breakeven::host_kernels {

namespace {

Schedule schedule_of_all_launches;

/// This OS thread's block; it lives on between launches for the sake of its stacks.
Block& own_block() {
  thread_local Block block;
  return block;
}

/// Keeps the first exception of several threads.
class FirstException {
public:
  void keep_current() {
    const std::lock_guard lock(mutex_);
    if (!exception_) exception_ = std::current_exception();
    any_ = true;
  }
  bool any() const { return any_; }
  void rethrow() {
    const std::lock_guard lock(mutex_);
    if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
  }

private:
  std::mutex mutex_;
  std::exception_ptr exception_;
  std::atomic<bool> any_{false};
};

} // namespace

void set_schedule(Schedule schedule) { schedule_of_all_launches = schedule; }
Schedule current_schedule() { return schedule_of_all_launches; }

void run_grid(const GridShape& grid, const std::function<void(Block&, int)>& body) {
  if (own_block().is_running()) throw KernelFault("a kernel cannot launch a kernel");
  const Schedule schedule = current_schedule();
  FirstException first;
#pragma omp parallel for schedule(dynamic) if (grid.blocks > 1 && !omp_in_parallel())
  for (std::int64_t index = 0; index < grid.blocks; ++index) {
    if (first.any()) continue;
    try {
      own_block().run(grid, index, schedule, body);
    } catch (...) {
      first.keep_current();
    }
  }
  first.rethrow();
}

} // namespace breakeven::host_kernels
