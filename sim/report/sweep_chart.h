// A sweep's charts as SVG, drawn by gnuplot from the rows alone: time and cost against size, both
// logarithmic where the values span enough, likely values with a 10-90 % band. So few candidates a
// chart that each can be told from the others; more candidates are more charts.
#pragma once

#include "sim/report/sweep.h"

#include <string>
#include <vector>

namespace breakeven {

enum class SweepQuantity { time, cost };

/// The candidates that have such values at any size, in groups for a chart each.
std::vector<std::vector<CandidateSweep>> in_charts(const std::vector<CandidateSweep>& candidates,
                                                   SweepQuantity quantity);

/// The baseline and one group of in_charts(). `name` marks the drawing's identifiers.
std::string sweep_chart(const std::string& name, const std::vector<CandidateSweep>& group,
                        SweepQuantity quantity);

} // namespace breakeven
