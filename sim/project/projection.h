// From counted work and local times to seconds on machines that are not here. Takes measurements
// and the catalog, gives a Projection with low, likely and high for the whole job; a measurement
// taken here becomes one too, with its own spread. Leaves out money, and any number without an
// interval.
#pragma once

#include "sim/catalog/catalog.h"
#include "sim/measure/measurement.h"

#include <string>
#include <vector>

namespace breakeven {

/// 10 %, 50 % and 90 % points.
struct Interval {
  double low = 0, likely = 0, high = 0;
};

/// One phase of the whole job on the projected machine.
struct PhaseProjection {
  std::string phase;
  Repeats repeats = Repeats::per_unit;
  Processor processor = Processor::gpu;
  Interval kernel_s, end_to_end_s; ///< whole job
  std::string bound_by; ///< "issue", "dram", "l2", "latency", "launch", "link", "cpu"
};

/// The whole job on one target.
struct Projection {
  std::string instance; ///< "aws:p4d.24xlarge" or "local"
  int count = 1;        ///< machines side by side
  std::string device;   ///< what does the heavy phases: a GPU's or CPU's name
  Path path = Path::openmp;
  int threads = 0;      ///< CPU threads used
  std::string evidence; ///< "measured", "extrapolated" or "projected"
  bool in_range = false; ///< inside what the model was calibrated on
  std::string bound_by;  ///< of the phase that takes longest
  Interval fixed_s;      ///< once per job, whatever its size
  Interval per_unit_s;   ///< each further unit (frame), on one machine
  Interval kernel_s, end_to_end_s; ///< whole job on `count` machines
  double cold_s = 0;     ///< context creation, first launch; part of fixed_s
  double envelope_max = 0; ///< largest plausible speed-up over the baseline: ratio of ceilings
  std::vector<PhaseProjection> phases;
  std::string note;      ///< why there is no projection: an unknown device, not enough memory...
  bool available = false; ///< false: `note` says why, and the row stays, labelled
};

/// One Projection per target, in the scenario's order; the first is the baseline.
std::vector<Projection> project(const Scenario& scenario,
                                const std::vector<Measurement>& measurements,
                                const Catalog& catalog);

} // namespace breakeven
