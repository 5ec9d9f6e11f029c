// One picture of a case: an axial, a coronal and a sagittal slice with the labels over them, as a
// radiologist hangs them: patient's right on the left, front or head up, front on the left of the
// sagittal. Takes a scan as it was read and labels on its grid, gives the bytes of a PNG. Leaves
// out everything that tells who was scanned, and resampling of oblique scans: slices are the scan's
// own planes.
#pragma once

#include "workloads/imaging/volume.h"

#include <string>

namespace breakeven::imaging {

struct Window {
  float level_hu = 40, width_hu = 400; ///< width > 0; the grey scale's middle and range
};

/// Slices cut the largest label where most of it lies; without labels (or with a View of nothing)
/// the middle of the volume. All three have one scale: the longest side is 512 pixels. Throws
/// Failure where the PNG cannot be made. The same voxels give the same bytes.
std::string montage_png(const CtImage& image, View<const std::uint32_t> labels,
                        const Window& window);

/// Of its three slices, which its time grows with.
std::int64_t montage_pixels(const Geometry& geometry);

} // namespace breakeven::imaging
