// The risk workload: boosted trees against fraud, and market risk by Monte Carlo.
#pragma once

#include "sim/scenario/section.h"
#include "workloads/workload.h"

namespace breakeven::risk {

/// Reads [workload] with kind = "risk". Throws BadInput for keys, files and models that cannot be
/// used, and Failure where there is not enough memory for the smallest part of the job.
Workload make_risk_workload(const Section& section);

} // namespace breakeven::risk
