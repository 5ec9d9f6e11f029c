// CT volumes and labels from files of any format, labels to files.
#pragma once

#include "workloads/imaging/volume.h"

#include <cstdint>
#include <filesystem>

namespace breakeven::imaging {

/// A folder is one DICOM series; a file that ends in .nii or .nii.gz is NIfTI; any other file is
/// one DICOM slice. What was corrected, assumed or skipped is in the image's notes. Throws BadInput
/// naming file, field, found and expected; no message or note holds a UID or any text of the file,
/// and UIDs in paths are cut (shown_path()).
CtImage read_ct(const std::filesystem::path& path);
/// Decodes DICOM slices in that many threads; the result does not depend on it.
CtImage read_ct(const std::filesystem::path& path, int threads);

/// Labels of a NIfTI file. Throws BadInput.
Volume<std::uint32_t> read_labels(const std::filesystem::path& path);

/// Labels as NIfTI-1, gzipped where the name ends in .gz: see write_nifti_labels(). Throws BadInput
/// for another ending, Failure where the file cannot be written; then no file of that name is left
/// half written.
void write_labels(const std::filesystem::path& path, const Volume<std::uint32_t>& labels);

} // namespace breakeven::imaging
