// How long the GPUs of one machine take to add up partial results that each of them holds. Takes
// the number of all-reduces, their payload and what connects the GPUs; gives seconds with an
// interval, from published tables where there is one for the link. Leaves out all-reduces between
// machines, any overlap with computing, and what frameworks and input pipelines lose on several
// GPUs: ResNet-50 on eight A100 is published at 84 to 98 % of linear where all-reduces explain 1 %.
#pragma once

#include "sim/catalog/catalog.h"
#include "sim/project/interval.h"

#include <string>

namespace breakeven {

/// `calls` all-reduces one after the other among `gpus` >= 2 GPUs, of `bytes` together, taken to be
/// equally large. Both above 0. Never falls when the payload grows.
Interval all_reduce_seconds(double calls, double bytes, const Gpu& gpu,
                            const Interval& host_link_gb_per_s, int gpus);

/// How those seconds are known, for a note.
std::string all_reduce_evidence(const Gpu& gpu, int gpus);

} // namespace breakeven
