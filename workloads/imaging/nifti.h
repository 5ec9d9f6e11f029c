// NIfTI-1 and NIfTI-2 files (.nii, .nii.gz; nifti1.h and nifti2.h of the NIfTI Data Format Working
// Group): CT volumes and labels in, labels out. Leaves out .hdr/.img pairs, time series, complex
// and colour voxels, which are refused with the reason.
#pragma once

#include "workloads/imaging/volume.h"

#include <cstdint>
#include <filesystem>

namespace breakeven::imaging {

/// Integer and real voxels of any byte order. Orientation from the sform, else the qform, else
/// pixdim alone, which is noted. Throws BadInput naming the field.
CtImage read_nifti_ct(const std::filesystem::path& path);

/// Voxels whose scaled values are whole numbers from 0 to 2^32 - 1; anything else is BadInput.
Volume<std::uint32_t> read_nifti_labels(const std::filesystem::path& path);

/// NIfTI-1, gzipped where the name ends in .gz, of the smallest unsigned type that holds the
/// greatest label. The sform is the volume's geometry, in single precision; so is the qform, unless
/// the axes are not at right angles. Same labels, same bytes. Throws Failure.
void write_nifti_labels(const std::filesystem::path& path, const Volume<std::uint32_t>& labels);

} // namespace breakeven::imaging
