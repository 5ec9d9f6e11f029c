// DICOM CT series: slices of a folder put in order and made one volume of even spacing. Leaves out
// how one file is read (dicom.h).
//
// Slices are ordered by their position along the normal of the image plane; names, instance numbers
// and slice thickness play no part. Rules for stacks that are not even:
// - two slices closer than 5 % of the usual (median) gap are duplicates: refused;
// - a gap that is a whole multiple (within 10 %) of the usual one has missing slices: refused;
// - any other gap above twice the usual one: refused;
// - slices farther than 1 % of a spacing (or 0.05 mm, which rounding of positions explains) from an
//   even grid are resampled to one linearly, padding and all between the same end slices;
// - slices that step sideways evenly (gantry tilt, up to 30 degrees) are shifted back by linear
//   interpolation within the slice, in a matrix enlarged to hold all of them; what was not scanned
//   becomes padding, thus air. Other sideways steps above 0.1 mm are refused.
// Every correction is in the image's notes.
#pragma once

#include "workloads/imaging/volume.h"

#include <filesystem>

namespace breakeven::imaging {

/// All CT slices that lie directly in `folder`, which must be of one series. Files that are no
/// DICOM images are skipped and counted in the notes. Decodes in `threads` threads; the result does
/// not depend on their number. Throws BadInput that names files without UIDs: by the first two
/// characters and the position in the folder's listing by name (LC_ALL=C ls).
CtImage read_dicom_folder(const std::filesystem::path& folder, int threads);

/// The slice of one file; its spacing along z is the slice thickness, which is noted.
CtImage read_dicom_file(const std::filesystem::path& file);

} // namespace breakeven::imaging
