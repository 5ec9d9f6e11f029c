#include "tests/test_folder.h"
#include "workloads/imaging/engines.h"
#include "workloads/imaging/load.h"
#include "workloads/imaging/memory_plan.h"
#include "workloads/imaging/phantom.h"
#include "workloads/imaging/pipeline.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <set>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

StageSettings stage(StageKind kind) {
  StageSettings settings;
  settings.kind = kind;
  return settings;
}

StageSettings resampled(double spacing_mm) {
  StageSettings settings = stage(StageKind::resample);
  settings.spacing_mm = spacing_mm;
  return settings;
}

StageSettings above(double low_hu, bool inside = false) {
  StageSettings settings = stage(StageKind::threshold);
  settings.low_hu = low_hu;
  settings.high_hu = 32767;
  settings.inside = inside;
  return settings;
}

StageSettings ball(StageKind kind, double radius_mm) {
  StageSettings settings = stage(kind);
  settings.radius_mm = radius_mm;
  return settings;
}

StageSettings box(StageKind kind, double radius_mm) {
  StageSettings settings = ball(kind, radius_mm);
  settings.ball = false;
  return settings;
}

StageSettings connected(Connectivity connectivity) {
  StageSettings settings = stage(StageKind::components);
  settings.connectivity = connectivity;
  return settings;
}

/// Balls of 100 HU in water, with some noise; two of them touch, one holds a hole.
CtImage balls() {
  struct Ball {
    double x, y, z, r;
  };
  const std::vector<Ball> all{{10, 10, 9, 6}, {20, 12, 9, 6}, {30, 24, 20, 8}, {12, 26, 24, 4}};
  CtImage image;
  image.geometry.extent = {41, 37, 33};
  image.geometry.to_ras_mm = {{{-0.8, 0, 0, 12}, {0, -0.8, 0, 7}, {0, 0, 1.25, -30}}};
  image.rescale.assign(33, {1, -1024});
  std::uint32_t noise = 1;
  for (int z = 0; z < 33; ++z)
    for (int y = 0; y < 37; ++y)
      for (int x = 0; x < 41; ++x) {
        double hu = 0;
        for (const Ball& b : all)
          if (std::hypot(x - b.x, y - b.y, 1.5 * (z - b.z)) <= b.r) hu = 100;
        if (std::hypot(x - 30, y - 24, z - 20) <= 2) hu = 0;
        noise = noise * 1664525u + 1013904223u;
        image.stored.push_back(static_cast<std::int16_t>(1024 + hu + (noise >> 28)));
      }
  return image;
}

/// Every stage there is, in one recipe or another.
std::vector<Recipe> recipes() {
  StageSettings gaussian = stage(StageKind::gaussian);
  gaussian.sigma_mm = 1.1;
  StageSettings bilateral = stage(StageKind::bilateral);
  bilateral.sigma_mm = 1;
  bilateral.radius_voxels = 1;
  StageSettings diffusion = stage(StageKind::diffusion);
  diffusion.iterations = 3;
  StageSettings keep = stage(StageKind::keep);
  keep.least_ml = 0.05;
  keep.largest = 2;
  StageSettings seeded = stage(StageKind::keep);
  seeded.seeds_mm = {{12 - 0.8 * 30, 7 - 0.8 * 28, -30 + 1.25 * 20},
                     {12 - 0.8 * 10, 7 - 0.8 * 10, -30 + 1.25 * 9}};
  StageSettings otsu = stage(StageKind::otsu);
  otsu.low_hu = -200;
  otsu.high_hu = 300;
  StageSettings unfiltered = above(60);
  unfiltered.unfiltered = true;
  return {
      {{resampled(1.1), gaussian, unfiltered, connected(Connectivity::six)}},
      {{gaussian, above(50), connected(Connectivity::twenty_six)}},
      {{stage(StageKind::median), otsu, ball(StageKind::open, 1), connected(Connectivity::six),
        keep}},
      {{resampled(1), bilateral, above(50), stage(StageKind::fill_holes),
        stage(StageKind::watershed), seeded}},
      {{diffusion, above(50), box(StageKind::close, 1.3), connected(Connectivity::eighteen), keep,
        ball(StageKind::dilate, 1.5), above(60, true), stage(StageKind::watershed)}},
      {{above(50), box(StageKind::erode, 0.9)}},
  };
}

bool same(const Segmentation& a, const Segmentation& b) {
  return a.labels.voxels == b.labels.voxels && a.sums == b.sums;
}

std::set<std::uint32_t> labels_of(const Segmentation& result) {
  return {result.labels.voxels.begin(), result.labels.voxels.end()};
}

} // namespace

TEST_CASE("a volume in slabs of any thickness gives the labels of the whole") {
  const CtImage image = balls();
  const TestFolder folder;
  Stages stages = make_stages(Path::openmp);
  for (const Recipe& recipe : recipes()) {
    const Segmentation whole = segment(stages, image, recipe, {});
    CHECK(labels_of(whole).size() >= 2);
    for (const std::int64_t slices : {1, 2, 7, 32, 33, 100}) {
      CAPTURE(slices);
      CAPTURE(&recipe - recipes().data());
      CHECK(same(whole, segment(stages, image, recipe, {slices, {}})));
    }
    CHECK(same(whole, segment(stages, image, recipe, {5, folder.path()})));
  }
}

TEST_CASE("one thread, several threads and the GPU side's source give the same labels") {
  const CtImage image = balls();
  Stages stages = make_stages(Path::openmp), host = make_stages(Path::host);
  for (const Recipe& recipe : recipes()) {
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const Segmentation one = segment(stages, image, recipe, {});
    omp_set_num_threads(3);
    const Segmentation three = segment(stages, image, recipe, {});
    omp_set_num_threads(threads);
    CHECK(same(one, three));
    CHECK(same(one, segment(host, image, recipe, {})));
    CHECK(same(one, segment(host, image, recipe, {9, {}})));
  }
}

TEST_CASE("labels come back on the grid of the scan") {
  const CtImage image = balls();
  Stages stages = make_stages(Path::openmp);
  const Segmentation result =
      segment(stages, image, {{resampled(0.9), above(50), connected(Connectivity::six)}}, {});
  CHECK(result.labels.geometry.extent == image.geometry.extent);
  CHECK(result.labels.geometry.to_ras_mm == image.geometry.to_ras_mm);
  // 4/3 pi 8^3 / 1.5 voxels, less 33 of its hole.
  std::int64_t largest = 0;
  for (std::size_t label = 1; label < result.sums.size(); ++label)
    largest = std::max(largest, result.sums[label].voxels);
  CHECK(static_cast<double>(largest) == doctest::Approx(1397).epsilon(0.05));
}

TEST_CASE("holes are filled, the outside is not") {
  const CtImage image = balls();
  Stages stages = make_stages(Path::openmp);
  const auto voxels = [&](const Recipe& recipe) {
    const Segmentation result = segment(stages, image, recipe, {});
    std::int64_t count = 0;
    for (std::size_t label = 1; label < result.sums.size(); ++label)
      count += result.sums[label].voxels;
    return count;
  };
  const std::int64_t open = voxels({{above(50)}});
  const std::int64_t filled = voxels({{above(50), stage(StageKind::fill_holes)}});
  // 33 voxels lie within 2 of the hole's middle.
  CHECK(filled == open + 33);
}

TEST_CASE("a seed outside the volume, or on the background, keeps nothing") {
  const CtImage image = balls();
  Stages stages = make_stages(Path::openmp);
  StageSettings keep = stage(StageKind::keep);
  for (const std::array<double, 3> seed : {std::array<double, 3>{900, 0, 0}, {12, 7, -30}}) {
    keep.seeds_mm = {seed};
    const Segmentation result =
        segment(stages, image, {{above(50), connected(Connectivity::six), keep}}, {});
    CHECK(labels_of(result) == std::set<std::uint32_t>{0});
    CHECK(result.sums.size() == 1);
  }
}

TEST_CASE("an empty mask and a full one go through every stage") {
  const CtImage image = balls();
  Stages stages = make_stages(Path::openmp), host = make_stages(Path::host);
  for (const double low_hu : {5000.0, -2000.0}) {
    const Recipe recipe{{above(low_hu), ball(StageKind::open, 2), stage(StageKind::fill_holes),
                         box(StageKind::close, 2), stage(StageKind::watershed)}};
    const Segmentation whole = segment(stages, image, recipe, {});
    CHECK(same(whole, segment(stages, image, recipe, {4, {}})));
    CHECK(same(whole, segment(host, image, recipe, {})));
    CHECK(labels_of(whole).count(0) == (low_hu > 0));
  }
}

TEST_CASE("every phase has a processor, and its time at both ends") {
  Stages stages = make_stages(Path::openmp), host = make_stages(Path::host);
  const Recipe recipe = recipes()[1];
  const Segmentation cpu = segment(stages, balls(), recipe, {});
  const Segmentation gpu = segment(host, balls(), recipe, {});
  std::set<std::string> names;
  for (const Phase& phase : cpu.phases) {
    CHECK(phase.processor == Processor::cpu);
    CHECK(phase.end_to_end_s >= phase.kernel_s);
    CHECK(names.insert(phase.name).second);
  }
  double uploaded = 0, downloaded = 0;
  for (const Phase& phase : gpu.phases) {
    CHECK(phase.processor == Processor::gpu);
    uploaded += phase.work.host_to_device_bytes;
    downloaded += phase.work.device_to_host_bytes;
  }
  // Stored int16 once and labels once; tables of slices, sums and bins are small.
  const double voxels = 41 * 37 * 33, tables = 8192;
  CHECK(uploaded >= 2 * voxels);
  CHECK(uploaded < 2 * voxels + tables);
  CHECK(downloaded >= 4 * voxels);
  CHECK(downloaded < 4 * voxels + tables);
}

TEST_CASE("memory is predicted from a small scan within a tenth, and slabs keep to their limit") {
  PhantomSpec spec;
  spec.extent = {128, 128, 96};
  spec.spacing_mm = {3, 3, 3};
  const CtImage image = make_phantom(spec);
  Stages stages = make_stages(Path::openmp);
  const Recipe recipe{{stage(StageKind::median), above(200), ball(StageKind::close, 4),
                       connected(Connectivity::twenty_six)}};
  PhantomSpec small_spec = spec;
  small_spec.extent = {64, 64, 48};
  small_spec.spacing_mm = {6, 6, 6};
  const CtImage small = make_phantom(small_spec);
  const double bytes_per_voxel = preview_peak_bytes(stages, small, recipe)
                                 / static_cast<double>(small.geometry.extent.voxels());
  const double predicted = bytes_per_voxel * static_cast<double>(image.geometry.extent.voxels());
  const Segmentation whole = segment(stages, image, recipe, {});
  CHECK(whole.peak_bytes == doctest::Approx(predicted).epsilon(0.1));

  const double limit = predicted / 4;
  const Tiling tiling = tiling_for(stages, image.geometry, recipe, bytes_per_voxel, limit, {});
  CHECK(tiling.slab_slices > 0);
  const Segmentation cut = segment(stages, image, recipe, tiling);
  CHECK(cut.peak_bytes <= limit);
  CHECK(same(whole, cut));
  CHECK(tiling_for(stages, image.geometry, recipe, bytes_per_voxel, 2 * predicted, {}).slab_slices
        == 0);
}
