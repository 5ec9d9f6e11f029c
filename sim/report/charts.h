// The memo's charts as SVG, drawn by gnuplot from the rows alone. The same rows give the same
// bytes with the same gnuplot.
#pragma once

#include "sim/compare/comparison.h"
#include "sim/report/phases.h"

#include <string>
#include <vector>

namespace breakeven {

/// Time to result with its 10-90 % interval, a line a machine, the deadline as a vertical line.
std::string time_chart(const std::vector<Comparison>& rows);
/// Cost of a run against time to result, intervals both ways.
std::string cost_chart(const std::vector<Comparison>& rows);
/// Where one unit's time goes, a bar a machine: each phase's share, CPU and GPU phases in colours
/// of their own. The baseline and every GPU candidate with a time.
std::string phase_chart(const std::vector<Comparison>& rows, const std::vector<PhaseTime>& phases);

} // namespace breakeven
