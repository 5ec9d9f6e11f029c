// The [workload] keys of kind "imaging", read and checked, and the scan they describe.
#pragma once

#include "sim/scenario/section.h"
#include "workloads/imaging/dicom_write.h"
#include "workloads/imaging/phantom.h"
#include "workloads/imaging/recipe.h"
#include "workloads/imaging/unet.h"

#include <filesystem>

namespace breakeven::imaging {

enum class Model { classical, unet };

struct Settings {
  Model model = Model::classical;
  std::filesystem::path scan; ///< a file or a folder; empty: the phantom
  PhantomSpec phantom;
  PixelCompression compression = PixelCompression::jpeg_2000; ///< of the phantom's slices
  std::int64_t cases = 1;
  double memory_bytes = 0; ///< that a case may take in the path's memory; 0 is what is free
  Recipe recipe;           ///< unet: only what comes before the network
  UNetSpec unet;
  UNetWeights weights;
  Precision precision = Precision::fp32;
  double window_level_hu = 40, window_width_hu = 400; ///< of the pictures
};

const std::vector<Key>& imaging_keys(); ///< of [workload] with kind = "imaging"
const std::vector<Key>& unet_keys();    ///< of [workload.unet]

Settings read_settings(const Section& section);

} // namespace breakeven::imaging
