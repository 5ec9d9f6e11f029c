// Where a target's time goes, phase by phase: one PhaseTime per target and phase, which is a row of
// phases.csv. The memo draws its timeline from these rows. Takes priced targets; leaves out targets
// without a time.
#pragma once

#include "sim/price/price.h"

#include <optional>
#include <string>
#include <vector>

namespace breakeven {

struct PhaseTime {
  std::string study, scenario_sha256, unit;
  bool is_baseline = false;
  std::string instance, option, path, device;
  int count = 1;
  int cores = 1, gpus = 0; ///< of one machine
  int gpus_per_unit = 1;   ///< that one unit alone on the machine is divided among in this phase
  std::string phase;       ///< in the order in which a unit meets them
  Processor processor = Processor::cpu;
  Scaling scaling = Scaling::parallel;
  Repeats repeats = Repeats::per_unit;
  std::string evidence; ///< as of a time; "assumed" for a cold start
  Interval alone_s;     ///< one unit (once a job: the job) with nothing else on the machine
  Interval job_s;       ///< its part of the whole job on all machines
  std::string bound_by;
};

std::vector<PhaseTime> phase_times(const Scenario& scenario,
                                   const std::vector<Measurement>& measurements,
                                   const std::vector<Priced>& priced);

} // namespace breakeven
