// Components of a volume that is labelled slab by slab along z, because it doesn't fit into memory:
// takes each slab's own ids and which of them touch across the cuts, gives the ids that the whole
// volume would have had, bit for bit. Runs on the host; leaves out the labelling itself.
#pragma once

#include "workloads/imaging/stages.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace breakeven::imaging {

/// A label of the slab below a cut and one of the slab above it, neither 0.
using TouchingLabels = std::pair<std::uint32_t, std::uint32_t>;

/// What one slab contributes. Its labels are 1 to `count`, as Stages::components gives them.
struct SlabComponents {
  std::uint32_t count = 0;
  /// Labels of the slab before (first) that touch labels of this slab (second); empty for the first
  /// slab. In any order, any number of times.
  std::vector<TouchingLabels> touching;
};

/// The pairs of labels that touch between the last slice of one slab and the first slice of the
/// next, each pair once. Both slices have extent (x, y, 1) and lie on the host.
std::vector<TouchingLabels> touching_labels(View<const std::uint32_t> last_slice,
                                            View<const std::uint32_t> first_slice, Connectivity);

struct MergedComponents {
  /// Of each slab, for Stages::relabel: entry i is the whole volume's id of the slab's label i.
  std::vector<std::vector<std::uint32_t>> tables;
  std::uint32_t count = 0;
};

/// Ids 1, 2, ... in the order of each component's first voxel in the raster order of the whole
/// volume. `slabs` are in the order of z. Throws Failure where all labels together do not fit 32
/// bits.
MergedComponents merge_components(const std::vector<SlabComponents>& slabs);

} // namespace breakeven::imaging
