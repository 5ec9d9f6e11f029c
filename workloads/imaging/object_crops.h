// Objects of a labelled volume, cut out one by one, so that a stage which needs a whole object
// never needs the whole volume. Takes host memory; works in place.
#pragma once

#include "workloads/imaging/stages.h"

#include <vector>

namespace breakeven::imaging {

/// The bounding box of one object; squared distances of everything else in it are 0.
struct Crop {
  Extent extent;
  std::array<std::int32_t, 3> first{}; ///< voxel of the volume where the box begins
  std::vector<std::int32_t> squared;
};

class ObjectCrops {
public:
  /// `labels` number the objects; `squared` is of the same extent.
  ObjectCrops(View<std::uint32_t> labels, View<const std::int32_t> squared);

  Crop cut_out(std::uint32_t object, const LabelSums& sums) const;
  /// Replaces the object by its parts, 1 to `count`, 0 where there is none.
  void put_back(const Crop& crop, const std::vector<std::uint32_t>& parts, std::uint32_t count);
  /// Numbers all parts by their first voxel in raster order; gives how many there are.
  std::uint32_t finish();

private:
  View<std::uint32_t> labels_;
  View<const std::int32_t> squared_;
  std::uint32_t parts_ = 0;
};

} // namespace breakeven::imaging
