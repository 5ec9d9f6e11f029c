// The phases of one target out of all rows of phases.csv, and what they say together: a unit's
// time, what of it stays on the CPU, what is paid once a run. Used by the memo and its chart.
#pragma once

#include "sim/compare/comparison.h"
#include "sim/compare/phase_times.h"

#include <functional>
#include <vector>

namespace breakeven {

using Phases = std::vector<PhaseTime>;

Phases phases_of_baseline(const Phases& phases);
Phases phases_of_candidate(const Comparison& row, const Phases& phases);

bool is_once_a_run(const PhaseTime& phase);
bool is_per_unit(const PhaseTime& phase);
bool is_on_cpu_per_unit(const PhaseTime& phase);

/// Of the phases that `counts`.
Interval sum_alone_s(const Phases& phases, const std::function<bool(const PhaseTime&)>& counts);

/// Candidates with a GPU and phases, in the order of `rows`.
std::vector<const Comparison*> gpu_candidates(const std::vector<Comparison>& rows,
                                              const Phases& phases);

} // namespace breakeven
