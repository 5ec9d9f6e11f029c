// The label stages of the OpenMP path that have a file of their own.
#pragma once

#include "workloads/imaging/stages.h"

namespace breakeven::imaging {

Work components_openmp(View<const std::uint8_t> mask, View<std::uint32_t> labels, Connectivity,
                       std::uint32_t& count, Memory&);

} // namespace breakeven::imaging
