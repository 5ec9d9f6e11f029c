// The volumes and masks that the imaging rows run on.
#pragma once

#include "workloads/imaging/stages.h"

#include <filesystem>
#include <vector>

namespace breakeven::peers {

using Mask = imaging::Volume<std::uint8_t>;

/// HU of a CT file, or of the phantom where `path` is empty.
imaging::Volume<float> imaging_input(const std::filesystem::path& path, const imaging::Extent& size,
                                     imaging::Stages& stages);
/// 1 with the probability given, by voxel index.
Mask noise_mask(const imaging::Extent& extent, double probability);
/// The volume again and again along z, so that no cache holds it.
imaging::Volume<float> beyond_caches(const imaging::Volume<float>& volume);

} // namespace breakeven::peers
