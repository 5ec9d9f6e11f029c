// Guards the symbol trap: two Thrust back ends in one binary must not share symbols, or one of them
// silently runs as the other.
#include "workloads/render/engine.h"

#include <doctest/doctest.h>
#include <omp.h>

TEST_CASE("Thrust runs on one thread in the serial build and on several in the host build") {
  omp_set_num_threads(2);
  CHECK(breakeven::on_serial::threads_used() == 1);
  CHECK(breakeven::on_host::threads_used() == 2);
  // In the other order too: which one ran first must not matter.
  CHECK(breakeven::on_serial::threads_used() == 1);
}
