// How much of a job is run at a given effort: whole cases, or the middle of one. Leaves out running
// it.
#pragma once

#include "workloads/imaging/settings.h"
#include "workloads/workload.h"

namespace breakeven::imaging {

/// The part of every case that a slice runs, in voxels of the scan: the middle of it.
Extent part_of_case(const Settings& settings, const Geometry& scan, const Slice& slice);

/// Classical: Slice::repeats is slices of each case. U-Net: windows of each case, one behind the
/// other along z. At least the smallest part with all phases; a scan from files is always whole.
Slice slice_of(const Settings& settings, const Geometry& scan, double effort);

/// Windows of a case of this size, mirrors as one; 0 for the classical model.
std::int64_t windows_of(const Settings& settings, const Geometry& scan);

} // namespace breakeven::imaging
