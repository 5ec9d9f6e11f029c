// Whole recipes against what is known: the phantom's nodules, and an aorta marked by others.
#include "tests/imaging/real_data.h"
#include "workloads/imaging/engines.h"
#include "workloads/imaging/load.h"
#include "workloads/imaging/phantom.h"
#include "workloads/imaging/pipeline.h"
#include "workloads/imaging/thin.h"
#include "workloads/imaging/unet.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <numbers>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

StageSettings stage(StageKind kind) {
  StageSettings settings;
  settings.kind = kind;
  return settings;
}

StageSettings between(double low_hu, double high_hu) {
  StageSettings settings = stage(StageKind::threshold);
  settings.low_hu = low_hu;
  settings.high_hu = high_hu;
  return settings;
}

StageSettings ball(StageKind kind, double radius_mm) {
  StageSettings settings = stage(kind);
  settings.radius_mm = radius_mm;
  return settings;
}

StageSettings components(Connectivity connectivity) {
  StageSettings settings = stage(StageKind::components);
  settings.connectivity = connectivity;
  return settings;
}

StageSettings watershed(double least_height_mm) {
  StageSettings settings = stage(StageKind::watershed);
  settings.least_height_mm = least_height_mm;
  return settings;
}

/// Lungs, then what is dense inside them: as scenarios/ct_segmentation.toml.
Recipe nodule_recipe() {
  StageSettings lungs = stage(StageKind::keep);
  lungs.off_sides = true;
  lungs.largest = 2;
  StageSettings dense = between(-410, 32767);
  dense.inside = true;
  dense.unfiltered = true;
  return {{stage(StageKind::median), between(-1100, -400), components(Connectivity::six), lungs,
           ball(StageKind::close, 10), stage(StageKind::fill_holes), dense,
           components(Connectivity::twenty_six)}};
}

std::uint32_t label_at(const Segmentation& result, const std::array<double, 3>& point_mm) {
  const std::array<double, 3> voxel = voxel_of(result.labels.geometry, point_mm);
  const Extent& extent = result.labels.geometry.extent;
  const auto index = (std::llround(voxel[2]) * extent.y + std::llround(voxel[1])) * extent.x
                     + std::llround(voxel[0]);
  return result.labels.voxels[static_cast<std::size_t>(index)];
}

} // namespace

TEST_CASE("nodules are found with their volume, to within what a tenth of a voxel at the wall is") {
  PhantomSpec spec;
  spec.extent = {320, 224, 280};
  spec.spacing_mm = {1, 1, 1};
  spec.nodules = 8;
  spec.noise_hu = 20;
  Stages stages = openmp_stages();
  const Segmentation result = segment(stages, make_phantom(spec), nodule_recipe(), {});
  for (const Nodule& nodule : nodules_of(spec)) {
    CAPTURE(nodule.radius_mm);
    const std::uint32_t label = label_at(result, nodule.centre_mm);
    REQUIRE(label > 0);
    const double found_ml = 1e-3 * static_cast<double>(result.sums[label].voxels);
    const double wall_mm2 = 4 * std::numbers::pi * nodule.radius_mm * nodule.radius_mm;
    CHECK(std::fabs(found_ml - nodule.volume_ml()) <= 1e-3 * 0.1 * wall_mm2);
  }
}

TEST_CASE("a classical recipe finds the aorta that others marked, with a Dice above 0.85") {
  std::filesystem::path ct, marked;
  if (!has_real_data("aorta_ct_cropped.nii.gz", ct)) return;
  if (!has_real_data("aorta_mask.nii.gz", marked)) return;
  // The case is a dissection with a stent, so the lumen's HU vary and no single threshold holds it.
  // The seeds were chosen with the mask in view and the figures tried on this case alone: an
  // in-sample figure, which says what the stages can do and not how well they do on other patients.
  StageSettings seeded = stage(StageKind::keep);
  seeded.seeds_mm = {{-21.342, 125.158, 744.2}, {-4.842, 183.658, 700.7}, {-1.842, 143.158, 546.2},
                     {-36.342, 99.658, 675.2},  {-7.842, 188.158, 675.2}, {-9.342, 137.158, 615.2}};
  const Recipe recipe{{stage(StageKind::median), between(100, 700), ball(StageKind::open, 3),
                       watershed(1), seeded, ball(StageKind::close, 9), ball(StageKind::open, 6)}};
  const CtImage scan = read_ct(ct);
  const Volume<std::uint32_t> mask = read_labels(marked);
  Stages stages = openmp_stages();
  const Segmentation found = segment(stages, scan, recipe, {});
  const double reached = dice(view_of(found.labels), view_of(mask));
  CAPTURE(reached);
  CHECK(reached > 0.85);

  // The same labels on one thread, and in slabs.
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  CHECK(segment(stages, scan, recipe, {}).labels.voxels == found.labels.voxels);
  omp_set_num_threads(threads);
  CHECK(segment(stages, scan, recipe, {37, {}}).labels.voxels == found.labels.voxels);
}

TEST_CASE("the GPU side's source gives a real scan's labels to the bit, whole and in slabs") {
  std::filesystem::path ct;
  if (!has_real_data("example_ct.nii.gz", ct)) return;
  const CtImage scan = thinned(read_ct(ct), {64, 64, 64});
  StageSettings gaussian = stage(StageKind::gaussian);
  gaussian.sigma_mm = 4;
  const Recipe recipe{{gaussian, between(150, 3000), ball(StageKind::close, 6),
                       stage(StageKind::fill_holes), watershed(3)}};
  Stages openmp = openmp_stages(), host = make_stages(Path::host);
  const Segmentation expected = segment(openmp, scan, recipe, {});
  CHECK(expected.sums.size() > 2);
  for (const std::int64_t slices : {0, 13}) {
    const Segmentation found = segment(host, scan, recipe, {slices, {}});
    CHECK(found.labels.voxels == expected.labels.voxels);
    CHECK(found.sums == expected.sums);
  }
}
