// Work on another number of OpenMP threads, for checks that a result does not depend on it.
#pragma once

#include <omp.h>

namespace breakeven {

/// Runs `work` on so many OpenMP threads.
template <class Work>
auto on_threads(int threads, Work work) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  auto result = work();
  omp_set_num_threads(before);
  return result;
}

} // namespace breakeven
