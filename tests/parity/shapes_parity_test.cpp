// The stages on shapes of the GPU side's source, over several threads and one, give the OpenMP
// path's bits.
#include "tests/imaging/shapes_reference.h"
#include "workloads/host_kernels/emulator.h"

#include <doctest/doctest.h>

using namespace breakeven;
using namespace breakeven::imaging;
using namespace breakeven::imaging::reference;

namespace {

struct Paths {
  Runner openmp{add_openmp_shapes};
  std::array<Runner, 2> gpu_side{Runner(on_host::add_shapes), Runner(on_serial::add_shapes)};
};

Extent ct_like() { return {45, 38, 20}; }
Mask body() {
  Mask mask = mask_of_balls(ct_like(), {{20, 18, 9, 15}, {33, 22, 11, 8}, {6, 30, 14, 4}});
  const Mask lung = mask_of_balls(ct_like(), {{18, 17, 9, 6}});
  for (std::size_t i = 0; i < mask.size(); ++i)
    mask[i] &= static_cast<std::uint8_t>(lung[i] ^ 1);
  return mask;
}

} // namespace

TEST_CASE("boxes are the same to the bit on every path") {
  Paths paths;
  for (const Extent& extent : odd_extents())
    for (const std::array<int, 3>& radius : std::vector<std::array<int, 3>>{
             {0, 0, 0}, {1, 2, 3}, {31, 1, 1}, {32, 30, 40}, {90, 0, 0}})
      for (const MorphologyOperation operation :
           {MorphologyOperation::dilate, MorphologyOperation::erode}) {
        CAPTURE(extent.x);
        CAPTURE(radius[0]);
        const double density = operation == MorphologyOperation::dilate ? 0.03 : 0.97;
        const Mask mask = random_mask(extent, density, 4);
        const Mask expected = paths.openmp.box(extent, mask, operation, radius);
        for (Runner& gpu_side : paths.gpu_side)
          REQUIRE(gpu_side.box(extent, mask, operation, radius) == expected);
      }
}

TEST_CASE("squared distances are the same to the bit on every path, for every metric") {
  Paths paths;
  for (const Extent& extent : odd_extents())
    for (const double density : densities())
      for (const DistanceMetric& metric :
           std::vector<DistanceMetric>{{1, 1, 1, 1}, {7, 7, 15, 1}, {14, 14, 100, 1}})
        for (const Distance to : {Distance::to_background, Distance::to_foreground}) {
          CAPTURE(extent.x);
          CAPTURE(density);
          CAPTURE(metric.z);
          const Mask mask = random_mask(extent, density, 6);
          const Squared slices = paths.openmp.distance_in_slices(extent, mask, to, metric);
          const Squared expected = paths.openmp.distance(extent, mask, to, metric);
          for (Runner& gpu_side : paths.gpu_side) {
            REQUIRE(gpu_side.distance_in_slices(extent, mask, to, metric) == slices);
            REQUIRE(gpu_side.distance(extent, mask, to, metric) == expected);
          }
        }
}

TEST_CASE("distances through thick objects and balls are the same to the bit on every path") {
  Paths paths;
  const Mask mask = body();
  for (const DistanceMetric& metric : std::vector<DistanceMetric>{{1, 1, 1, 1}, {14, 14, 100, 1}})
    for (const Distance to : {Distance::to_background, Distance::to_foreground}) {
      const Squared expected = paths.openmp.distance(ct_like(), mask, to, metric);
      const Mask near = paths.openmp.within(ct_like(), expected, 300, false),
                 far = paths.openmp.within(ct_like(), expected, 300, true);
      CHECK(near != far);
      for (Runner& gpu_side : paths.gpu_side) {
        CHECK(gpu_side.distance(ct_like(), mask, to, metric) == expected);
        CHECK(gpu_side.within(ct_like(), expected, 300, false) == near);
        CHECK(gpu_side.within(ct_like(), expected, 300, true) == far);
      }
    }
}

TEST_CASE("the longest line and distance that a metric allows agree on every path") {
  Paths paths;
  const Extent line{1, 1, 46'341};
  Mask mask(size_of(line), 1);
  mask.back() = 0;
  const Squared expected = paths.openmp.distance(line, mask, Distance::to_background, {});
  CHECK(expected.front() == 2147395600);
  for (Runner& gpu_side : paths.gpu_side)
    CHECK(gpu_side.distance(line, mask, Distance::to_background, {}) == expected);
}

TEST_CASE("a watershed has the same labels on every path, for noise and for objects") {
  Paths paths;
  std::vector<std::pair<Extent, Mask>> masks{{ct_like(), body()}};
  for (const Extent& extent : odd_extents())
    for (const double density : {0.0, 0.4, 0.9, 1.0})
      masks.emplace_back(extent, random_mask(extent, density, 9));
  for (const auto& [size, mask] : masks)
    for (const double least_height : {0.0, 0.4, 1.0}) {
      const Extent& extent = size;
      CAPTURE(extent.x);
      CAPTURE(least_height);
      const Squared squared =
          paths.openmp.distance(extent, mask, Distance::to_background, {1, 1, 2, 1});
      const Partition expected = paths.openmp.watershed(extent, squared, least_height);
      for (Runner& gpu_side : paths.gpu_side) {
        const Partition found = gpu_side.watershed(extent, squared, least_height);
        REQUIRE(found.count == expected.count);
        REQUIRE(found.labels == expected.labels);
      }
    }
}

TEST_CASE("the kernels on shapes do not depend on the order of threads") {
  Paths paths;
  const Squared squared =
      paths.openmp.distance(ct_like(), body(), Distance::to_background, {1, 1, 1, 1});
  const Partition expected = paths.openmp.watershed(ct_like(), squared, 0.3);
  const Mask grown = paths.openmp.box(ct_like(), body(), MorphologyOperation::dilate, {2, 1, 3});
  const host_kernels::Schedule before = host_kernels::current_schedule();
  for (const host_kernels::Schedule schedule :
       {host_kernels::Schedule{host_kernels::Order::reverse, 0},
        host_kernels::Schedule{host_kernels::Order::shuffled, 3}}) {
    host_kernels::set_schedule(schedule);
    Runner& gpu_side = paths.gpu_side[0];
    CHECK(gpu_side.distance(ct_like(), body(), Distance::to_background, {1, 1, 1, 1}) == squared);
    CHECK(gpu_side.watershed(ct_like(), squared, 0.3).labels == expected.labels);
    CHECK(gpu_side.box(ct_like(), body(), MorphologyOperation::dilate, {2, 1, 3}) == grown);
  }
  host_kernels::set_schedule(before);
}

TEST_CASE("both paths count the same work") {
  Paths paths;
  const Squared squared = paths.openmp.distance(ct_like(), body(), Distance::to_background, {});
  Labels labels(squared.size());
  std::uint32_t count = 0;
  const auto work_of = [&](Runner& runner) {
    return runner.stages.watershed({squared.data(), ct_like()}, {labels.data(), ct_like()}, 0.3,
                                   count, runner.stages.memory);
  };
  const Work openmp = work_of(paths.openmp), host = work_of(paths.gpu_side[0]);
  CHECK(openmp.count("basins") == host.count("basins"));
  CHECK(openmp.count("saddles") == host.count("saddles"));
  CHECK(openmp.count("basins") > 3);
  CHECK(openmp.lane_instructions == host.lane_instructions);
}
