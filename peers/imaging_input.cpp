#include "peers/imaging_input.h"

#include "workloads/imaging/load.h"
#include "workloads/imaging/phantom.h"

#include <cmath>

namespace breakeven::peers {

using namespace imaging;

namespace {

std::uint64_t mixed(std::uint64_t value) { // SplitMix64
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

/// A chest in a field of view of 333 mm across and 300 mm along, whatever the number of voxels.
CtImage phantom(const Extent& size) {
  PhantomSpec spec;
  spec.extent = size;
  const double in_slice_mm = 333 / static_cast<double>(size.x);
  spec.spacing_mm = {in_slice_mm, in_slice_mm, 300 / static_cast<double>(size.z)};
  return make_phantom(spec);
}

} // namespace

Volume<float> imaging_input(const std::filesystem::path& path, const Extent& size, Stages& stages) {
  const CtImage ct = path.empty() ? phantom(size) : read_ct(path);
  const Extent& extent = ct.geometry.extent;
  Volume<float> hu;
  hu.geometry = ct.geometry;
  hu.voxels.resize(static_cast<std::size_t>(extent.voxels()));
  if (ct.float_stored.empty())
    stages.rescale({ct.stored.data(), extent}, view_of(hu), ct.rescale, ct, stages.memory);
  else
    stages.rescale_float({ct.float_stored.data(), extent}, view_of(hu), ct.rescale, ct,
                         stages.memory);
  return hu;
}

Mask noise_mask(const Extent& extent, double probability) {
  Mask mask;
  mask.geometry.extent = extent;
  mask.voxels.resize(static_cast<std::size_t>(extent.voxels()));
  const auto limit = static_cast<std::uint64_t>(std::ldexp(probability, 64));
#pragma omp parallel for
  for (std::size_t i = 0; i < mask.voxels.size(); ++i)
    mask.voxels[i] = mixed(i) < limit ? 1 : 0;
  return mask;
}

Volume<float> beyond_caches(const Volume<float>& volume) {
  constexpr std::size_t voxels = std::size_t{1} << 26; // 256 MiB
  Volume<float> tall = volume;
  tall.voxels.reserve(voxels + volume.voxels.size());
  while (tall.voxels.size() < voxels) {
    tall.voxels.insert(tall.voxels.end(), volume.voxels.begin(), volume.voxels.end());
    tall.geometry.extent.z += volume.geometry.extent.z;
  }
  return tall;
}

} // namespace breakeven::peers
