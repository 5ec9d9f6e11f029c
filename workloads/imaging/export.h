// What a case leaves behind: the labels as NIfTI, the measurements as CSV and a picture. Nothing in
// them or in their names tells who was scanned.
#pragma once

#include "workloads/imaging/pipeline.h"
#include "workloads/imaging/settings.h"

#include <filesystem>

namespace breakeven::imaging {

/// Writes case_NNNN_labels.nii.gz, in all threads. Throws Failure where the file cannot be written.
void export_labels(const std::filesystem::path& folder, std::int64_t number,
                   const Segmentation& result);

/// Writes case_NNNN_labels.csv and case_NNNN.png, in one thread. `image` is what was segmented.
/// Throws Failure likewise.
void export_report(const std::filesystem::path& folder, std::int64_t number, const CtImage& image,
                   const Segmentation& result, const Settings& settings);

} // namespace breakeven::imaging
