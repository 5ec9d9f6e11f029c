// What is measured of each label, as CSV: volume, place and HU. Takes the sums of a segmentation.
// Leaves out shape and texture, and everything that tells who was scanned.
#pragma once

#include "workloads/imaging/stages.h"

#include <string>
#include <vector>

namespace breakeven::imaging {

/// A row for each label from 1 that has voxels; sums[0] is the background. Centroids are in
/// millimetres RAS; boxes hold the outer faces of their voxels, in millimetres, and the first and
/// last index in voxels. The standard deviation is that of the voxels themselves (divided by n).
std::string measurements_csv(const std::vector<LabelSums>& sums, const Geometry& geometry);

} // namespace breakeven::imaging
