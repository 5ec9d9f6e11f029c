// Whether a case fits into a path's memory, found out before it is run, and how it is cut if not.
#pragma once

#include "workloads/imaging/pipeline.h"

namespace breakeven::imaging {

/// Peak of the path's memory, in bytes, as a small scan takes it; larger ones take as much a voxel.
double preview_peak_bytes(Stages& stages, const CtImage& small, const Recipe& recipe);

/// Slabs so thin that a stage with its halo stays within `limit_bytes`, or no cut where the whole
/// case does. Volumes of a cut case lie in RAM, or in `scratch` where RAM is too small for them.
/// Throws Failure, with the figures, where not even one slice fits.
Tiling tiling_for(Stages& stages, const Geometry& scan, const Recipe& recipe,
                  double bytes_per_voxel, double limit_bytes, const std::filesystem::path& scratch);

} // namespace breakeven::imaging
