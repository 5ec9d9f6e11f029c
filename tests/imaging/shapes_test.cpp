// Boxes, distances and balls of the OpenMP path against brute force, and metrics against numbers
// worked out by hand.
#include "sim/errors.h"
#include "tests/imaging/shapes_reference.h"

#include <doctest/doctest.h>
#include <omp.h>

using namespace breakeven;
using namespace breakeven::imaging;
using namespace breakeven::imaging::reference;

namespace {

struct Threads {
  explicit Threads(int count) : before(omp_get_max_threads()) { omp_set_num_threads(count); }
  ~Threads() { omp_set_num_threads(before); }
  int before;
};

const std::vector<DistanceMetric> metrics{
    {1, 1, 1, 1}, {7, 7, 15, 1}, {14, 14, 100, 1}, {5, 3, 2, 1}};

} // namespace

TEST_CASE("a box of any radius, beyond the volume too, equals brute force on 1 and 2 threads") {
  Runner openmp(add_openmp_shapes);
  for (const int threads : {1, 2}) {
    const Threads some(threads);
    for (const Extent& extent : odd_extents())
      for (const double density : {0.05, 0.95})
        for (const MorphologyOperation operation :
             {MorphologyOperation::dilate, MorphologyOperation::erode})
          for (const std::array<int, 3>& radius : std::vector<std::array<int, 3>>{{0, 0, 0},
                                                                                  {1, 0, 0},
                                                                                  {0, 2, 0},
                                                                                  {0, 0, 3},
                                                                                  {3, 4, 5},
                                                                                  {5, 1, 2},
                                                                                  {2, 5, 1},
                                                                                  {40, 30, 50}}) {
            const Mask mask = random_mask(extent, density, 5);
            REQUIRE(openmp.box(extent, mask, operation, radius)
                    == box(extent, mask, operation, radius));
          }
  }
}

TEST_CASE("a box wider than two words of a row reaches exactly its radius") {
  Runner openmp(add_openmp_shapes);
  const Extent extent{500, 1, 1};
  for (const int radius : {62, 63, 64, 65, 127, 128, 200, 499, 1'000'000'000}) {
    CAPTURE(radius);
    Mask mask(size_of(extent));
    mask[250] = 1;
    const Mask wide = openmp.box(extent, mask, MorphologyOperation::dilate, {radius, 0, 0});
    for (std::int64_t x = 0; x < extent.x; ++x)
      REQUIRE(wide[static_cast<std::size_t>(x)] == (std::abs(x - 250) <= radius));
    for (std::uint8_t& voxel : mask)
      voxel ^= 1;
    const Mask narrow = openmp.box(extent, mask, MorphologyOperation::erode, {radius, 0, 0});
    for (std::int64_t x = 0; x < extent.x; ++x)
      REQUIRE(narrow[static_cast<std::size_t>(x)] == (std::abs(x - 250) > radius));
  }
}

TEST_CASE(
    "squared distances equal brute force on random masks, for every metric and thread count") {
  Runner openmp(add_openmp_shapes);
  for (const int threads : {1, 2}) {
    const Threads some(threads);
    for (const Extent& extent : odd_extents())
      for (const double density : threads == 1 ? std::vector<double>{0.97} : densities())
        for (const DistanceMetric& metric : metrics)
          for (const Distance to : {Distance::to_background, Distance::to_foreground}) {
            CAPTURE(extent.x);
            CAPTURE(density);
            CAPTURE(metric.z);
            const Mask mask = random_mask(extent, density, 11);
            REQUIRE(openmp.distance_in_slices(extent, mask, to, metric)
                    == distance(extent, mask, to, metric, Reach::slice));
            REQUIRE(openmp.distance(extent, mask, to, metric)
                    == distance(extent, mask, to, metric));
          }
  }
}

TEST_CASE("far distances, through thick objects and from a single voxel, equal brute force") {
  Runner openmp(add_openmp_shapes);
  const Extent extent{70, 66, 40};
  const Mask balls = mask_of_balls(extent, {{30, 30, 20, 18}, {52.5, 40.5, 12.5, 9}});
  Mask corner(size_of(extent), 1);
  corner.front() = 0;
  for (const DistanceMetric& metric : metrics) {
    REQUIRE(openmp.distance(extent, balls, Distance::to_background, metric)
            == distance(extent, balls, Distance::to_background, metric));
    REQUIRE(openmp.distance(extent, corner, Distance::to_background, metric)
            == distance(extent, corner, Distance::to_background, metric));
  }
}

TEST_CASE("the longest distance that a metric allows is exact") {
  Runner openmp(add_openmp_shapes);
  // 46340^2 = 2,147,395,600, the largest square below 2^31 - 1.
  for (const Extent& extent : {Extent{2, 1, 1}, Extent{1, 2, 1}, Extent{1, 1, 2}}) {
    const Mask mask{0, 1};
    CHECK(openmp.distance(extent, mask, Distance::to_background, {46340, 46340, 46340, 1})
          == Squared{0, 2147395600});
  }
  const Extent line{1, 1, 46341};
  Mask mask(size_of(line), 1);
  mask.back() = 0;
  const Squared squared = openmp.distance(line, mask, Distance::to_background, {1, 1, 1, 1});
  CHECK(squared.front() == 2147395600);
  CHECK(squared[46339] == 1);
}

TEST_CASE("distances along z do not depend on how rows are cut into tiles") {
  Runner openmp(add_openmp_shapes);
  const Extent extent{37, 20, 13};
  const DistanceMetric metric{7, 7, 15, 1};
  const Mask mask = random_mask(extent, 0.97, 3);
  const Squared whole = openmp.distance(extent, mask, Distance::to_background, metric);
  Squared in_slices;
  for (std::int64_t z = 0; z < extent.z; ++z) { // slabs of a slice
    const auto begin = mask.begin() + z * extent.slice();
    const Squared slice = openmp.distance_in_slices(
        {extent.x, extent.y, 1}, {begin, begin + extent.slice()}, Distance::to_background, metric);
    in_slices.insert(in_slices.end(), slice.begin(), slice.end());
  }
  for (std::int64_t first = 0; first < extent.y; first += 7) { // tiles of up to seven rows
    const Extent tile{extent.x, std::min<std::int64_t>(7, extent.y - first), extent.z};
    Squared rows(size_of(tile));
    for_each_voxel(tile, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
      rows[at(tile, x, y, z)] = in_slices[at(extent, x, first + y, z)];
    });
    openmp.stages.distance_along_z({rows.data(), tile}, metric, openmp.stages.memory);
    for_each_voxel(tile, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
      REQUIRE(rows[at(tile, x, y, z)] == whole[at(extent, x, first + y, z)]);
    });
  }
}

TEST_CASE("a box of a slab with its halo equals the box of the volume") {
  Runner openmp(add_openmp_shapes);
  const Extent extent{20, 9, 30};
  const Mask mask = random_mask(extent, 0.3, 8);
  for (const MorphologyOperation operation :
       {MorphologyOperation::dilate, MorphologyOperation::erode}) {
    const Mask whole = openmp.box(extent, mask, operation, {2, 1, 3});
    const std::int64_t begin = 10, end = 17, halo = 3;
    const Extent slab{extent.x, extent.y, end - begin + 2 * halo};
    const auto first = mask.begin() + (begin - halo) * extent.slice();
    const Mask cut = openmp.box(slab, {first, first + slab.voxels()}, operation, {2, 1, 3});
    CHECK(std::equal(whole.begin() + begin * extent.slice(), whole.begin() + end * extent.slice(),
                     cut.begin() + halo * extent.slice()));
  }
}

TEST_CASE("within a distance is dilation, and beyond one erosion, by a ball") {
  Runner openmp(add_openmp_shapes);
  const Extent extent{23, 19, 14};
  for (const std::int32_t limit : {0, 1, 2, 3, 9, 14, 25}) {
    CAPTURE(limit);
    const Mask mask = mask_of_balls(extent, {{8, 8, 7, 5.5}, {17, 12, 6, 4}});
    const Squared to_mask = openmp.distance(extent, mask, Distance::to_foreground, {});
    CHECK(openmp.within(extent, to_mask, limit, false) == dilated_by_ball(extent, mask, limit));
    Mask background = mask;
    for (std::uint8_t& voxel : background)
      voxel ^= 1;
    Mask eroded = dilated_by_ball(extent, background, limit);
    for (std::uint8_t& voxel : eroded)
      voxel ^= 1;
    const Squared to_background = openmp.distance(extent, mask, Distance::to_background, {});
    CHECK(openmp.within(extent, to_background, limit, true) == eroded);
  }
}

TEST_CASE("equal spacings have the metric 1, 1, 1") {
  const DistanceMetric metric = distance_metric({512, 512, 800}, {0.75, 0.75, 0.75});
  CHECK(metric.x == 1);
  CHECK(metric.y == 1);
  CHECK(metric.z == 1);
  CHECK(metric.unit_mm == doctest::Approx(0.75));
}

TEST_CASE("spacings with a small common unit have exactly its multiples") {
  const DistanceMetric half = distance_metric({512, 512, 100}, {0.5, 0.5, 1.5});
  CHECK(half.x == 1);
  CHECK(half.y == 1);
  CHECK(half.z == 3);
  CHECK(half.unit_mm == doctest::Approx(0.5));
  const DistanceMetric tenths = distance_metric({512, 512, 100}, {0.7, 0.7, 1.5});
  CHECK(tenths.x == 7);
  CHECK(tenths.y == 7);
  CHECK(tenths.z == 15);
  CHECK(tenths.unit_mm == doctest::Approx(0.1));
}

TEST_CASE("a metric's squared distances fit, and its spacings are within a few percent") {
  for (const Extent& extent : {Extent{512, 512, 800}, Extent{512, 512, 60}, Extent{64, 64, 64}})
    for (const double thickness : {0.625, 1.0, 2.5, 5.0, 8.0}) {
      const std::array<double, 3> spacing{0.683594, 0.683594, thickness};
      const DistanceMetric metric = distance_metric(extent, spacing);
      const double x = static_cast<double>(extent.x - 1) * metric.x,
                   y = static_cast<double>(extent.y - 1) * metric.y,
                   z = static_cast<double>(extent.z - 1) * metric.z;
      CHECK(x * x + y * y + z * z < no_distance);
      CHECK(metric.x * metric.unit_mm == doctest::Approx(spacing[0]).epsilon(0.03));
      CHECK(metric.z * metric.unit_mm == doctest::Approx(spacing[2]).epsilon(0.03));
    }
}

TEST_CASE("the spacing along an axis of one voxel costs the others nothing") {
  const DistanceMetric metric = distance_metric({512, 512, 1}, {0.6, 0.6, 1234.5});
  CHECK(metric.x == 1);
  CHECK(metric.y == 1);
  CHECK(metric.unit_mm == doctest::Approx(0.6));
}

TEST_CASE("a volume whose diagonal no int32 holds is refused with its size") {
  CHECK_THROWS_WITH_AS(distance_metric({50'000, 1, 1}, {1, 1, 1}),
                       doctest::Contains("50000 x 1 x 1"), BadInput);
}
