// Pictures: linear radiance in, the bytes of a PNG (8-bit sRGB, to look at) or a PFM (32-bit float,
// to compute with) out. The same radiance gives the same bytes. Leaves out every other format, and
// reads only what it writes.
#pragma once

#include "workloads/render/vec.h"

#include <filesystem>
#include <string>
#include <vector>

namespace breakeven::render {

/// Linear up to 0.7, then a shoulder that approaches 1: what a picture shows of a radiance, before
/// the sRGB curve. The exposure is fixed, so that pictures can be compared. NaN shows as 0.
float tone_mapped(float radiance);

/// `radiance` row by row from the top left, width * height of them.
std::string encode_png(int width, int height, const std::vector<Float3>& radiance);
std::string encode_pfm(int width, int height, const std::vector<Float3>& radiance);

struct Picture {
  int width = 0, height = 0;
  std::vector<Float3> radiance;
};

/// Throws BadInput where `file` is not a colour PFM, Failure where it cannot be read.
Picture read_pfm(const std::filesystem::path& file);

} // namespace breakeven::render
