// Smaller scans made of a scan: for counting and for checks that take seconds.
#pragma once

#include "workloads/imaging/volume.h"

namespace breakeven::imaging {

/// The middle of a scan, at most `most` voxels along each side; the patient's coordinates stay.
CtImage middle_of(const CtImage& image, const Extent& most);
/// Every n-th voxel along each side, so that at most `most` are left: all of the anatomy, coarsely.
CtImage thinned(const CtImage& image, const Extent& most);

} // namespace breakeven::imaging
