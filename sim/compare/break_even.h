// Where the answer turns: the speed-up, the price and the size at which baseline and candidate cost
// the same, at likely values, with everything that is paid whatever the speed (set-up, ingest,
// download, billing steps) in it. Takes two priced targets; empty where there is no such point.
#pragma once

#include "sim/price/price.h"

#include <optional>

namespace breakeven {

/// Baseline's compute time over the longest compute time with which the candidate still costs no
/// more. Below 1 where the candidate may even be slower. Empty where either has no price, or where
/// the candidate costs more even if it computed in no time.
std::optional<double> break_even_speedup(const Priced& baseline, const Priced& candidate);

/// The candidate's USD per hour and machine at which both cost the same. Needs only the baseline's
/// price.
std::optional<double> break_even_price_usd_per_h(const Priced& baseline, const Priced& candidate);

/// The smallest number of units from which on, up to 1e9, the candidate is cheaper. Both costs are
/// staircases and may cross more than once; what counts is the last crossing. Empty: never (or the
/// two are closer than about a millionth over a long range, where a size would say nothing).
std::optional<double> crossover_size(const Priced& baseline, const Priced& candidate);

} // namespace breakeven
