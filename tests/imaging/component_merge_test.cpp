// Slabs labelled one by one and merged give the whole volume's labels.
#include "sim/errors.h"
#include "tests/imaging/labels_examples.h"
#include "workloads/imaging/component_merge.h"

#include <doctest/doctest.h>

using namespace breakeven;
using namespace breakeven::imaging;
using namespace breakeven::imaging::label_examples;

namespace {

/// Labels slabs of `slices` slices, the last of what is left, merges and relabels them.
Labelled labelled_in_slabs(const Mask& mask, std::int64_t slices, Connectivity connectivity) {
  const std::int64_t slice = mask.extent.slice();
  const Extent one_slice{mask.extent.x, mask.extent.y, 1};
  std::vector<Labelled> labelled;
  std::vector<SlabComponents> slabs;
  for (std::int64_t z = 0; z < mask.extent.z; z += slices) {
    Mask slab;
    slab.extent = {mask.extent.x, mask.extent.y, std::min(slices, mask.extent.z - z)};
    slab.voxels.assign(mask.voxels.begin() + z * slice,
                       mask.voxels.begin() + (z + slab.extent.z) * slice);
    labelled.push_back(flood_filled(slab, connectivity));
    slabs.push_back({labelled.back().count, {}});
    if (z == 0) continue;
    const std::vector<std::uint32_t>& below = labelled[labelled.size() - 2].labels;
    slabs.back().touching =
        touching_labels({below.data() + below.size() - slice, one_slice},
                        {labelled.back().labels.data(), one_slice}, connectivity);
  }
  const MergedComponents merged = merge_components(slabs);
  Labelled whole{{}, merged.count};
  for (std::size_t slab = 0; slab < labelled.size(); ++slab)
    for (const std::uint32_t label : labelled[slab].labels)
      whole.labels.push_back(merged.tables[slab].at(label));
  return whole;
}

} // namespace

TEST_CASE("merged slabs have the labels of the whole volume") {
  for (const Example& example : examples())
    for (const Connectivity connectivity : all_connectivities)
      for (const std::int64_t slices : {1, 2, 3, 100}) {
        CAPTURE(example.name);
        CAPTURE(static_cast<int>(connectivity));
        CAPTURE(slices);
        CHECK(labelled_in_slabs(example.mask, slices, connectivity)
              == flood_filled(example.mask, connectivity));
      }
}

TEST_CASE("merged slabs of random voxels have the labels of the whole volume") {
  for (const int percent : {5, 15, 30, 50})
    for (const Connectivity connectivity : all_connectivities)
      for (const std::int64_t slices : {1, 2, 5}) {
        CAPTURE(percent);
        CAPTURE(static_cast<int>(connectivity));
        CAPTURE(slices);
        const Mask mask = random_mask({19, 11, 13}, percent, static_cast<std::uint64_t>(percent));
        CHECK(labelled_in_slabs(mask, slices, connectivity) == flood_filled(mask, connectivity));
      }
}

TEST_CASE("labels touch across a cut as their connectivity has it, each pair once") {
  // Below, label 1 in the middle of 3 x 3; above, labels 1 to 9 around it.
  const std::vector<std::uint32_t> below{0, 0, 0, 0, 1, 0, 0, 0, 0};
  const std::vector<std::uint32_t> above{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Extent extent{3, 3, 1};
  const auto touching = [&](Connectivity connectivity) {
    return touching_labels({below.data(), extent}, {above.data(), extent}, connectivity);
  };
  CHECK(touching(Connectivity::six) == std::vector<TouchingLabels>{{1, 5}});
  CHECK(touching(Connectivity::eighteen)
        == std::vector<TouchingLabels>{{1, 2}, {1, 4}, {1, 5}, {1, 6}, {1, 8}});
  CHECK(touching(Connectivity::twenty_six).size() == 9);
  const std::vector<std::uint32_t> all_one(9, 1);
  CHECK(
      touching_labels({all_one.data(), extent}, {all_one.data(), extent}, Connectivity::twenty_six)
      == std::vector<TouchingLabels>{{1, 1}});
}

TEST_CASE("two arms that meet in a later slab become one component, numbered by its first voxel") {
  // Slab 0 has labels 1 and 2, slab 1 joins both; slab 1's own label 2 is new.
  const MergedComponents merged = merge_components({{2, {}}, {2, {{2, 1}, {1, 1}, {2, 1}}}});
  CHECK(merged.count == 2);
  CHECK(merged.tables[0] == std::vector<std::uint32_t>{0, 1, 1});
  CHECK(merged.tables[1] == std::vector<std::uint32_t>{0, 1, 2});
}

TEST_CASE("no slabs and empty slabs have no components") {
  CHECK(merge_components({}).count == 0);
  const MergedComponents merged = merge_components({{0, {}}, {0, {}}});
  CHECK(merged.count == 0);
  CHECK(merged.tables == std::vector<std::vector<std::uint32_t>>{{0}, {0}});
}

TEST_CASE("more labels than 32 bits can number are refused") {
  CHECK_THROWS_AS(merge_components({{4'000'000'000u, {}}, {400'000'000u, {}}}), Failure);
}
