// Whether a path's labels may be used.
#pragma once

#include "workloads/imaging/settings.h"
#include "workloads/workload.h"

namespace breakeven::imaging {

/// Of a network's labels on this path; the classical model's are the same to the bit.
double least_dice(const Settings& settings, Path path);

/// Classical: the scan, thinned out to some 64 voxels a side, segmented by the OpenMP path on all
/// threads, is the reference; the same on one thread and in slabs, or on `path` whole and in slabs,
/// must give the same labels and sums to the bit, and some; where the thin scan has none, the
/// middle of the scan is taken instead. U-Net: one window against the OpenMP path on one
/// thread, by Dice. Deterministic.
Verification verify_path(const Settings& settings, const CtImage& scan, Path path);

} // namespace breakeven::imaging
