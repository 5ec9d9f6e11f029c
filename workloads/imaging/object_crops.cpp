#include "workloads/imaging/object_crops.h"

namespace breakeven::imaging {

namespace {

// Parts are told from objects that still wait by their highest bit; a volume has fewer voxels.
constexpr std::uint32_t part_bit = 0x8000'0000u;

std::int64_t row_of(const Extent& volume, const Crop& crop, std::int64_t y, std::int64_t z) {
  return ((crop.first[2] + z) * volume.y + crop.first[1] + y) * volume.x + crop.first[0];
}

} // namespace

ObjectCrops::ObjectCrops(View<std::uint32_t> labels, View<const std::int32_t> squared)
    : labels_(labels),
      squared_(squared) {}

Crop ObjectCrops::cut_out(std::uint32_t object, const LabelSums& sums) const {
  Crop crop;
  crop.first = sums.first;
  crop.extent = {sums.last[0] - sums.first[0] + 1, sums.last[1] - sums.first[1] + 1,
                 sums.last[2] - sums.first[2] + 1};
  crop.squared.reserve(static_cast<std::size_t>(crop.extent.voxels()));
  for (std::int64_t z = 0; z < crop.extent.z; ++z)
    for (std::int64_t y = 0; y < crop.extent.y; ++y) {
      const std::int64_t row = row_of(labels_.extent, crop, y, z);
      for (std::int64_t x = 0; x < crop.extent.x; ++x)
        crop.squared.push_back(labels_.data[row + x] == object ? squared_.data[row + x] : 0);
    }
  return crop;
}

void ObjectCrops::put_back(const Crop& crop, const std::vector<std::uint32_t>& parts,
                           std::uint32_t count) {
  std::size_t i = 0;
  for (std::int64_t z = 0; z < crop.extent.z; ++z)
    for (std::int64_t y = 0; y < crop.extent.y; ++y) {
      std::uint32_t* row = labels_.data + row_of(labels_.extent, crop, y, z);
      for (std::int64_t x = 0; x < crop.extent.x; ++x, ++i)
        if (parts[i] != 0) row[x] = part_bit | (parts_ + parts[i]);
    }
  parts_ += count;
}

std::uint32_t ObjectCrops::finish() {
  std::vector<std::uint32_t> id_of_part(std::size_t{parts_} + 1, 0);
  std::uint32_t count = 0;
  const std::int64_t voxels = labels_.extent.voxels();
  for (std::int64_t i = 0; i < voxels; ++i) {
    std::uint32_t& label = labels_.data[i];
    if ((label & part_bit) == 0) {
      label = 0;
      continue;
    }
    std::uint32_t& id = id_of_part[label ^ part_bit];
    if (id == 0) id = ++count;
    label = id;
  }
  return count;
}

} // namespace breakeven::imaging
