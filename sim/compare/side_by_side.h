// What running several units side by side here has shown, beside what the same units take one after
// the other and what the queues of throughput.h make of that. Takes the rows of measurements alone,
// and compares like with like: one path, one part of a unit, this machine.
#pragma once

#include "sim/compare/throughput.h"

#include <string>
#include <vector>

namespace breakeven {

struct SideBySideCheck {
  Path path = Path::openmp;
  std::string slice;        ///< how many units, and how much of each
  bool whole_units = false; ///< else parts of units, whose times say nothing of whole ones
  double units = 0;
  int threads = 0;                         ///< of the machine
  double cpu_threads = 0, gpu_feeders = 0; ///< that were at work
  bool verified = false;                   ///< where false there are no times
  std::string verification;
  double wall_s = 0;                ///< measured, one run
  double one_after_the_other_s = 0; ///< measured, median, for as many units
  double phases_s = 0;              ///< of that, the medians of their phases
  double by_queues_s =
      0; ///< until the last of them is done, all arriving at once; from these phases
};

/// One for each path that was run so; none where its other rows are missing.
std::vector<SideBySideCheck> side_by_side_checks(const std::vector<Measurement>& measurements);

} // namespace breakeven
