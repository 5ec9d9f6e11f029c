// The watershed of the OpenMP path: against brute force, and on objects whose split is known.
#include "tests/imaging/shapes_reference.h"
#include "workloads/imaging/watershed_merge.h"

#include <doctest/doctest.h>
#include <omp.h>

using namespace breakeven;
using namespace breakeven::imaging;
using namespace breakeven::imaging::reference;

namespace {

struct Split {
  Squared squared;
  Partition partition;
};
Split split(const Extent& extent, const Mask& mask, double least_height) {
  Runner openmp(add_openmp_shapes);
  Split result;
  result.squared = openmp.distance(extent, mask, Distance::to_background, {});
  result.partition = openmp.watershed(extent, result.squared, least_height);
  return result;
}

} // namespace

TEST_CASE("a watershed equals brute force on noise and balls, on 1 and 2 threads") {
  Runner openmp(add_openmp_shapes);
  std::vector<Extent> extents = odd_extents();
  extents.push_back({30, 24, 18});
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2}) {
    omp_set_num_threads(threads);
    for (const Extent& extent : extents)
      for (const double density : {0.3, 0.8, 0.97})
        for (const double least_height : {0.0, 0.3, 1.0}) {
          CAPTURE(extent.x);
          CAPTURE(density);
          CAPTURE(least_height);
          const Mask mask = random_mask(extent, density, 21);
          const Squared squared =
              openmp.distance(extent, mask, Distance::to_background, {1, 1, 2, 1});
          const Partition expected = reference::watershed(extent, squared, least_height),
                          found = openmp.watershed(extent, squared, least_height);
          REQUIRE(found.count == expected.count);
          REQUIRE(found.labels == expected.labels);
        }
  }
  omp_set_num_threads(before);
}

TEST_CASE("two balls that overlap are split within a voxel of the plane of their neck") {
  const Extent extent{60, 40, 40};
  // Spheres of radius 12 and 9 with centres 15 apart meet where x - 20 = (15^2 + 12^2 - 9^2) / 30
  // = 9.6, in a circle of radius 7.2: the smaller rises 1.8 above it.
  const Mask mask = mask_of_balls(extent, {{20, 20, 20, 12}, {35, 20, 20, 9}});
  const Partition partition = split(extent, mask, 1).partition;
  REQUIRE(partition.count == 2);
  const std::uint32_t left = partition.labels[at(extent, 20, 20, 20)],
                      right = partition.labels[at(extent, 35, 20, 20)];
  CHECK(left != right);
  for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    const std::uint32_t label = partition.labels[at(extent, x, y, z)];
    if (label == 0) return;
    CAPTURE(x);
    CAPTURE(y);
    CAPTURE(z);
    if (static_cast<double>(x) < 29.6 - 1.5) REQUIRE(label == left);
    if (static_cast<double>(x) > 29.6 + 1.5) REQUIRE(label == right);
  });
}

TEST_CASE("a single ball stays whole from a height of 1 voxel on") {
  const Extent extent{40, 40, 40};
  for (const double radius : {3.0, 5.5, 10.0, 14.3})
    for (const double off : {0.0, 0.3, 0.5}) {
      CAPTURE(radius);
      CAPTURE(off);
      const Mask mask = mask_of_balls(extent, {{20 + off, 20 - off, 20 + off, radius}});
      CHECK(split(extent, mask, 1).partition.count == 1);
    }
}

TEST_CASE("a plateau is one peak: boxes are not split even at height 0") {
  const Extent extent{40, 30, 24};
  for (const std::array<std::int64_t, 3>& sides : std::vector<std::array<std::int64_t, 3>>{
           {4, 4, 4}, {5, 5, 5}, {20, 6, 6}, {20, 20, 6}, {31, 7, 9}}) {
    CAPTURE(sides[0]);
    Mask mask(size_of(extent));
    for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
      mask[at(extent, x, y, z)] =
          x >= 2 && x < 2 + sides[0] && y >= 2 && y < 2 + sides[1] && z >= 2 && z < 2 + sides[2];
    });
    CHECK(split(extent, mask, 0).partition.count == 1);
  }
}

TEST_CASE("objects that do not touch never share a label, whatever the height") {
  const Extent extent{50, 20, 20};
  const Mask mask = mask_of_balls(extent, {{10, 10, 10, 6}, {24, 10, 10, 5}, {39, 9, 9, 7}});
  const Partition partition = split(extent, mask, 1000).partition;
  CHECK(partition.count == 3);
  CHECK(partition.labels[at(extent, 10, 10, 10)] != partition.labels[at(extent, 24, 10, 10)]);
  CHECK(partition.labels[at(extent, 24, 10, 10)] != partition.labels[at(extent, 39, 9, 9)]);
}

TEST_CASE("labels follow the raster order of first voxels and background has none") {
  const Extent extent{30, 24, 18};
  const Split result = split(extent, random_mask(extent, 0.9, 2), 0.2);
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < result.squared.size(); ++i) {
    const std::uint32_t label = result.partition.labels[i];
    REQUIRE((label == 0) == (result.squared[i] == 0));
    REQUIRE(label <= seen + 1);
    seen = std::max(seen, label);
  }
  CHECK(seen == result.partition.count);
  CHECK(seen > 10);
}

TEST_CASE("nothing to split has no label, and a volume without background has one") {
  const Extent extent{9, 8, 7};
  CHECK(split(extent, Mask(size_of(extent), 0), 1).partition.count == 0);
  const Partition full = split(extent, Mask(size_of(extent), 1), 0).partition;
  CHECK(full.count == 1);
  CHECK(full.labels == Labels(size_of(extent), 1));
}

TEST_CASE("basins join over the highest saddle first, the lower peak to the higher") {
  // Peaks 10, 7 and 9 in distance; saddles 6 between the first two, 5 between the last two.
  BasinGraph graph;
  graph.peak_squared = {100, 49, 81};
  graph.first_voxel = {50, 3, 10};
  graph.saddles = {{1, 2, 25}, {0, 1, 36}};
  // 7 - 6 <= 1 joins the second to the first; 9 - 5 > 1 keeps the third. The joined one has the
  // first voxel.
  const MergedBasins some = merge_basins(graph, 1);
  CHECK(some.count == 2);
  CHECK(some.label_of == Labels{1, 1, 2});
  CHECK(merge_basins(graph, 0.999).count == 3);
  CHECK(merge_basins(graph, 3.999).count == 2);
  CHECK(merge_basins(graph, 4).count == 1);
  CHECK(merge_basins(graph, 0.5).label_of == Labels{3, 1, 2});
}

TEST_CASE("of two peaks of one height, the one with the lower number joins the other") {
  BasinGraph graph;
  graph.peak_squared = {49, 49, 36};
  graph.first_voxel = {0, 1, 2};
  graph.saddles = {{0, 1, 49}, {0, 2, 30}};
  CHECK(merge_basins(graph, 0).label_of == Labels{1, 1, 2});
  CHECK(merge_basins(graph, 1).label_of == Labels{1, 1, 1});
}
