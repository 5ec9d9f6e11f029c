#include "workloads/imaging/phantom.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

using namespace breakeven::imaging;

namespace {

PhantomSpec small_spec() {
  PhantomSpec spec;
  spec.extent = {96, 80, 60};
  spec.spacing_mm = {4, 4, 5};
  return spec;
}

double hu_at(const CtImage& image, std::int64_t x, std::int64_t y, std::int64_t z) {
  const Extent& e = image.geometry.extent;
  return image.stored[static_cast<std::size_t>((z * e.y + y) * e.x + x)] - 1024.0;
}

double hu_at(const CtImage& image, const std::array<double, 3>& point_mm) {
  const auto voxel = voxel_of(image.geometry, point_mm);
  return hu_at(image, std::lround(voxel[0]), std::lround(voxel[1]), std::lround(voxel[2]));
}

double distance_mm(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/// What lies around a nodule in a phantom without noise.
struct Shell {
  double inside_ml = 0;         ///< the share of each voxel that is nodule, from its HU, summed
  double nearest_wall_mm = 1e9; ///< from the nodule's surface to a voxel that is not lung
};

Shell measured(const Nodule& nodule, const PhantomSpec& spec, double reach_mm) {
  const Geometry whole = geometry_of(spec);
  const auto middle = voxel_of(whole, nodule.centre_mm);
  const double far_mm = nodule.radius_mm + reach_mm;
  const auto half = static_cast<std::int64_t>(far_mm / spec.spacing_mm[2]) + 1;
  const std::int64_t z = std::lround(middle[2]);
  const CtImage slab = make_phantom_slices(spec, z - half, z + half + 1);
  Shell shell;
  for (std::int64_t k = 0; k < slab.geometry.extent.z; ++k)
    for (std::int64_t j = 0; j < spec.extent.y; ++j)
      for (std::int64_t i = 0; i < spec.extent.x; ++i) {
        const double away =
            distance_mm(point_of(slab.geometry, {static_cast<double>(i), static_cast<double>(j),
                                                 static_cast<double>(k)}),
                        nodule.centre_mm);
        if (away > far_mm) continue;
        const double share = (hu_at(slab, i, j, k) + 850) / (30 + 850);
        const double edge_mm = 2;
        if (away < nodule.radius_mm + edge_mm)
          shell.inside_ml += share * slab.geometry.voxel_ml();
        else if (share > 0.2)
          shell.nearest_wall_mm = std::min(shell.nearest_wall_mm, away - nodule.radius_mm);
      }
  return shell;
}

} // namespace

TEST_CASE("the phantom is the same for one thread and several") {
  for (const int samples : {0, 3}) {
    CAPTURE(samples);
    PhantomSpec spec = small_spec();
    spec.partial_volume_samples = samples;
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const CtImage one = make_phantom(spec);
    omp_set_num_threads(3);
    const CtImage three = make_phantom(spec);
    omp_set_num_threads(threads);
    CHECK(one.stored == three.stored);
  }
}

TEST_CASE("slabs of any thickness are the slices of the whole, at their places") {
  for (const int samples : {0, 3}) {
    CAPTURE(samples);
    PhantomSpec spec = small_spec();
    spec.partial_volume_samples = samples;
    const CtImage whole = make_phantom(spec);
    for (const std::int64_t slices : {1, 7, 60}) {
      std::vector<std::int16_t> joined;
      for (std::int64_t z = 0; z < spec.extent.z; z += slices) {
        const CtImage slab = make_phantom_slices(spec, z, std::min(z + slices, spec.extent.z));
        joined.insert(joined.end(), slab.stored.begin(), slab.stored.end());
        CHECK(slab.rescale.size() == static_cast<std::size_t>(slab.geometry.extent.z));
        CHECK(distance_mm(point_of(slab.geometry, {3, 4, 0}),
                          point_of(whole.geometry, {3, 4, static_cast<double>(z)}))
              < 1e-9);
      }
      CHECK(joined == whole.stored);
    }
  }
}

TEST_CASE("the phantom's middle is the middle of the volume, left, back and head being last") {
  const Geometry geometry = geometry_of(small_spec());
  CHECK(distance_mm(point_of(geometry, {47.5, 39.5, 29.5}), {0, 0, 0}) < 1e-9);
  CHECK(geometry.spacing_mm() == std::array<double, 3>{4, 4, 5});
  CHECK(point_of(geometry, {95, 39, 29})[0] < -100);
  CHECK(point_of(geometry, {47, 79, 29})[1] < -100);
  CHECK(point_of(geometry, {47, 39, 59})[2] > 100);
}

TEST_CASE("a smaller field of view crops the thorax and does not shrink it") {
  PhantomSpec wide = small_spec(), narrow = small_spec();
  wide.noise_hu = narrow.noise_hu = 0;
  narrow.extent = {32, 40, 20};
  const CtImage all = make_phantom(wide), part = make_phantom(narrow);
  for (std::int64_t z = 0; z < 20; ++z)
    for (std::int64_t y = 0; y < 40; ++y)
      for (std::int64_t x = 0; x < 32; ++x)
        REQUIRE(hu_at(part, x, y, z) == hu_at(all, x + 32, y + 20, z + 20));
}

TEST_CASE("values are stored as scanners do") {
  const CtImage image = make_phantom(small_spec());
  CHECK(image.rescale.size() == 60);
  CHECK(image.rescale[0] == Rescale{1, -1024});
  CHECK(*std::min_element(image.stored.begin(), image.stored.end()) >= 0);
  CHECK(*std::max_element(image.stored.begin(), image.stored.end()) <= 4095);
}

TEST_CASE("tissues have their HU where they lie") {
  PhantomSpec spec = small_spec();
  spec.noise_hu = 0;
  spec.nodules = 0;
  const CtImage plain = make_phantom(spec);
  spec.contrast = true;
  const CtImage contrast = make_phantom(spec);
  CHECK(hu_at(plain, 0, 0, 0) <= -1000);         // outside
  CHECK(hu_at(plain, {105, 5, 0}) == -850);      // right lung
  CHECK(hu_at(plain, {-105, 5, 0}) == -850);     // left lung
  CHECK(hu_at(plain, {-18, 25, -45}) == 45);     // heart
  CHECK(hu_at(contrast, {-18, 25, -45}) == 300); // with contrast agent
  CHECK(hu_at(contrast, {105, 5, 0}) == -850);   // which lungs have none of
  CHECK(hu_at(plain, {0, -62, 0}) == 500);       // a vertebra
  CHECK(hu_at(plain, {0, 108, 0}) == doctest::Approx(-100).epsilon(0.2)); // fat under the skin
}

TEST_CASE("noise has the mean and the deviation asked for, and follows the seed alone") {
  PhantomSpec spec = small_spec();
  spec.noise_hu = 0;
  const CtImage clean = make_phantom(spec);
  spec.noise_hu = 20;
  const CtImage noisy = make_phantom(spec);
  double count = 0, sum = 0, squares = 0, neighbours = 0, last = 0;
  for (std::size_t i = 0; i < clean.stored.size(); ++i) {
    if (clean.stored[i] < 120) continue; // air is cut off at -1024
    const double noise = noisy.stored[i] - clean.stored[i];
    ++count;
    sum += noise;
    squares += noise * noise;
    neighbours += noise * last;
    last = noise;
  }
  // 1.3e5 voxels: a mean's standard error is 20 / sqrt(1.3e5) = 0.06, a deviation's 0.04.
  CHECK(count > 1e5);
  CHECK(std::fabs(sum / count) < 0.3);
  CHECK(std::sqrt(squares / count) == doctest::Approx(20).epsilon(0.01));
  CHECK(std::fabs(neighbours / squares) < 0.015);
  CHECK(make_phantom(spec).stored == noisy.stored);
  spec.seed = 2;
  CHECK(make_phantom(spec).stored != noisy.stored);
}

TEST_CASE("any number of nodules is placed, apart from each other, the fewer first of the more") {
  PhantomSpec spec;
  spec.nodules = most_nodules;
  const std::vector<Nodule> all = nodules_of(spec);
  REQUIRE(all.size() == static_cast<std::size_t>(most_nodules));
  for (std::size_t a = 0; a < all.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      CHECK(distance_mm(all[a].centre_mm, all[b].centre_mm)
            > all[a].radius_mm + all[b].radius_mm + 2);
  for (const int count : {0, 1, 6}) {
    spec.nodules = count;
    const std::vector<Nodule> some = nodules_of(spec);
    REQUIRE(some.size() == static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < some.size(); ++i)
      CHECK(some[i].centre_mm == all[i].centre_mm);
  }
  spec.seed = 99; // is the noise's
  CHECK(nodules_of(spec)[0].centre_mm == all[0].centre_mm);
}

TEST_CASE("nodules hold their volume within the error of partial volume and touch nothing") {
  PhantomSpec spec;
  spec.extent = {288, 192, 400};
  spec.spacing_mm = {1, 1, 1};
  spec.noise_hu = 0;
  spec.nodules = 8;
  for (const Nodule& nodule : nodules_of(spec)) {
    CAPTURE(nodule.radius_mm);
    CAPTURE(nodule.centre_mm[0]);
    CHECK(nodule.volume_ml()
          == doctest::Approx(4.18879e-3 * std::pow(nodule.radius_mm, 3)).epsilon(1e-5));
    const Shell shell = measured(nodule, spec, 3.5);
    // A linear edge of a voxel's width adds s^2 / (4 r^2): 2.8 % at r = 3 mm.
    CHECK(shell.inside_ml == doctest::Approx(nodule.volume_ml()).epsilon(0.04));
    CHECK(shell.nearest_wall_mm > 2.5);
  }
}

TEST_CASE("a phantom that leaves partial volume out of its keys stays the same to the bit") {
  // FNV-1a of the stored values of version 0.1.0: results are told apart by hashes of scenarios,
  // which say nothing of a phantom that changes.
  const auto hash_of = [](const CtImage& image) {
    std::uint64_t hash = 0xCBF29CE484222325ull;
    for (const std::int16_t value : image.stored)
      hash = (hash ^ static_cast<std::uint16_t>(value)) * 0x100000001B3ull;
    return hash;
  };
  PhantomSpec spec = small_spec();
  CHECK(hash_of(make_phantom(spec)) == 0xe8d3d021d24401a4ull);
  spec.spacing_mm = {3.3, 4.1, 6.7};
  spec.contrast = true;
  spec.nodules = 9;
  spec.seed = 4;
  CHECK(hash_of(make_phantom(spec)) == 0x8733814fd14c7b33ull);
}

TEST_CASE(
    "with one sample a voxel is of one tissue alone, with more or a linear edge not all are") {
  const std::set<double> tissues{-1024, -1000, -850, -100, 30, 45, 60, 80, 500};
  PhantomSpec spec = small_spec();
  spec.noise_hu = 0;
  const auto mixed = [&] {
    const CtImage image = make_phantom(spec);
    return std::count_if(image.stored.begin(), image.stored.end(),
                         [&](std::int16_t stored) { return !tissues.contains(stored - 1024.0); });
  };
  CHECK(mixed() > 10'000);
  spec.partial_volume_samples = 3;
  CHECK(mixed() > 10'000);
  spec.partial_volume_samples = 1;
  CHECK(mixed() == 0);
  const CtImage image = make_phantom(spec);
  const std::set<std::int16_t> found(image.stored.begin(), image.stored.end());
  CHECK(found.size() == tissues.size());
}

TEST_CASE("a voxel is the mean of its samples as voxels of their own") {
  PhantomSpec coarse = small_spec();
  coarse.noise_hu = 0;
  coarse.nodules = 12;
  for (const int samples : {2, 4}) { // powers of two, so that places are the same to the bit
    CAPTURE(samples);
    coarse.partial_volume_samples = samples;
    PhantomSpec fine = coarse;
    fine.partial_volume_samples = 1;
    const Extent& e = coarse.extent;
    fine.extent = {samples * e.x, samples * e.y, samples * e.z};
    for (double& spacing : fine.spacing_mm)
      spacing /= samples;
    const CtImage found = make_phantom(coarse), points = make_phantom(fine);
    std::vector<double> sums(found.stored.size());
    for (std::int64_t z = 0; z < fine.extent.z; ++z)
      for (std::int64_t y = 0; y < fine.extent.y; ++y)
        for (std::int64_t x = 0; x < fine.extent.x; ++x)
          sums[static_cast<std::size_t>((z / samples * e.y + y / samples) * e.x + x / samples)] +=
              points.stored[static_cast<std::size_t>((z * fine.extent.y + y) * fine.extent.x + x)];
    std::int64_t differ = 0;
    for (std::size_t i = 0; i < sums.size(); ++i)
      differ += found.stored[i] != std::floor(sums[i] / std::pow(samples, 3) + 0.5);
    CHECK(differ == 0);
  }
}

TEST_CASE("the more samples, the nearer a nodule's voxels come to its volume") {
  PhantomSpec spec;
  spec.extent = {144, 96, 200};
  spec.spacing_mm = {2, 2, 2};
  spec.noise_hu = 0;
  spec.nodules = 8;
  const auto worst_error = [&](int samples) {
    spec.partial_volume_samples = samples;
    double worst = 0;
    for (const Nodule& nodule : nodules_of(spec))
      worst = std::max(worst,
                       std::fabs(measured(nodule, spec, 3.5).inside_ml / nodule.volume_ml() - 1));
    return worst;
  };
  const double one = worst_error(1), four = worst_error(4), sixteen = worst_error(16);
  CAPTURE(one);
  CAPTURE(four);
  CAPTURE(sixteen);
  CHECK(one > 0.02); // a ball of radius 3 mm has but 14 voxels of 2 mm
  CHECK(four < one / 4);
  CHECK(sixteen < four / 4);
  CHECK(sixteen < 0.002);
}
