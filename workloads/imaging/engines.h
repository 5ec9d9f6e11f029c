// The stages and the network of a path, as a scenario asks for them.
#pragma once

#include "workloads/imaging/settings.h"
#include "workloads/imaging/stages.h"

namespace breakeven::imaging {

Stages make_stages(Path path);
UNetEngine make_network(const Settings& settings, Path path, int threads);

} // namespace breakeven::imaging
