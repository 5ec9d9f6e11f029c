// A volume as a DICOM CT series (PS3.5, PS3.10), one file a slice, so that the built-in phantom is
// decoded like a scan. Names no patient: names and ids are empty, UIDs are fixed numbers.
#pragma once

#include "workloads/imaging/volume.h"

#include <filesystem>
#include <string>
#include <vector>

namespace breakeven::imaging {

enum class PixelCompression { none, jpeg_2000, jpeg_ls }; ///< all lossless
/// As scenarios say: "none", "jpeg-2000", "jpeg-ls".
const std::vector<std::string>& compression_names();
PixelCompression compression_from(const std::string& name);

/// Writes `image`, whose stored values are int16, as `folder`/slice_NNNN.dcm. The folder exists.
/// Throws Failure.
void write_dicom_series(const std::filesystem::path& folder, const CtImage& image,
                        PixelCompression compression);

} // namespace breakeven::imaging
