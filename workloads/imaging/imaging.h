// The imaging workload: segmentation of CT cases. Takes the [workload] section, gives the contract
// of workload.h: a unit is a case, a slice is some of the cases or the middle of one, phases are
// decode, the stages of the recipe or the network, the labels file and the report. Classical paths
// are verified bit by bit, the network by Dice.
#pragma once

#include "sim/scenario/section.h"
#include "workloads/workload.h"

namespace breakeven::imaging {

Workload make_imaging_workload(const Section& section);

} // namespace breakeven::imaging
