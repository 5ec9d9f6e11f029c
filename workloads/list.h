// Every workload there is. A new one is a folder and one line in list.cpp.
#pragma once

#include "sim/scenario/scenario.h"
#include "workloads/workload.h"

namespace breakeven {

/// Makes the workload that `scenario.workload` describes; reads its keys and its input files.
/// Throws BadInput for an unknown kind or a bad value.
Workload make_workload(const Scenario& scenario);

/// The keys that [workload] may hold, by kind; for read_scenario and for scenarios/README.md.
const std::vector<WorkloadKeys>& workload_keys();

} // namespace breakeven
