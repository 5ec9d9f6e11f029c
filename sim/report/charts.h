// The memo's two charts as SVG, drawn by gnuplot from the rows alone. The same rows give the same
// bytes with the same gnuplot.
#pragma once

#include "sim/compare/comparison.h"

#include <string>
#include <vector>

namespace breakeven {

/// Time to result with its 10-90 % interval, a line a machine, the deadline as a vertical line.
std::string time_chart(const std::vector<Comparison>& rows);
/// Cost of a run against time to result, intervals both ways.
std::string cost_chart(const std::vector<Comparison>& rows);

} // namespace breakeven
