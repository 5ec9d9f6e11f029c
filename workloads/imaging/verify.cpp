#include "workloads/imaging/verify.h"

#include "workloads/imaging/engines.h"
#include "workloads/imaging/pipeline.h"
#include "workloads/imaging/thin.h"
#include "workloads/on_threads.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

namespace breakeven::imaging {

namespace {

constexpr Extent checked{64, 64, 64};
constexpr std::int64_t checked_slab = 11; // does not divide 64, so that the last slab is thinner
constexpr double least_dice_fp32 = 0.9999, least_dice_fp16 = 0.995;

struct Differences {
  std::int64_t voxels = 0, sums = 0;
  void add(const Segmentation& a, const Segmentation& b) {
    for (std::size_t i = 0; i < a.labels.voxels.size(); ++i)
      voxels += a.labels.voxels[i] != b.labels.voxels[i];
    sums += a.sums != b.sums;
  }
};

std::int64_t labelled_voxels(const Segmentation& result) {
  return std::count_if(result.labels.voxels.begin(), result.labels.voxels.end(),
                       [](std::uint32_t label) { return label != 0; });
}

Verification verify_stages(const Settings& settings, const CtImage& scan, Path path) {
  CtImage small = thinned(scan, checked);
  Stages reference = make_stages(Path::openmp);
  Segmentation expected = segment(reference, small, settings.recipe, {});
  if (labelled_voxels(expected) == 0) { // objects too small for a coarse scan
    small = middle_of(scan, checked);
    expected = segment(reference, small, settings.recipe, {});
  }
  Stages stages = make_stages(path);
  const auto run = [&](const Tiling& tiling) {
    return segment(stages, small, settings.recipe, tiling);
  };
  Differences differences;
  differences.add(expected,
                  path == Path::openmp ? on_threads(1, [&] { return run({}); }) : run({}));
  differences.add(expected, run({checked_slab, {}}));
  const std::int64_t labelled = labelled_voxels(expected);
  // Equal and empty would say nothing.
  return {differences.voxels == 0 && differences.sums == 0 && labelled > 0,
          fmt::format("{} of 2 x {} voxels and {} of 2 tables of sums differ from the OpenMP path "
                      "on {} threads, {} and in slabs; {} labels on {} voxels",
                      differences.voxels, expected.labels.voxels.size(), differences.sums,
                      omp_get_max_threads(), path == Path::openmp ? "on one" : "whole",
                      expected.sums.size() - 1, labelled)};
}

std::vector<std::uint32_t> network_labels(const Settings& settings, Path path, int threads,
                                          const std::vector<float>& hu, const Extent& extent) {
  std::vector<std::uint32_t> labels(hu.size());
  make_network(settings, path, threads).segment({hu.data(), extent}, {labels.data(), extent});
  return labels;
}

Verification verify_network(const Settings& settings, const CtImage& scan, Path path) {
  const CtImage part = middle_of(scan, settings.unet.patch);
  const Extent extent = part.geometry.extent;
  std::vector<float> hu;
  Labeller keep_hu;
  keep_hu.run = [&](View<const float> in, View<std::uint32_t> labels) {
    hu.assign(in.data, in.data + in.extent.voxels());
    std::fill_n(labels.data, labels.extent.voxels(), 0u);
    return std::vector<Phase>{};
  };
  Stages stages = make_stages(Path::openmp);
  segment_with(stages, part, {}, keep_hu, {});
  const auto expected = network_labels(settings, Path::openmp, 1, hu, extent);
  const auto found = network_labels(settings, path, omp_get_max_threads(), hu, extent);
  const double least = least_dice(settings, path);
  const double reached = dice({expected.data(), extent}, {found.data(), extent});
  return {reached >= least,
          fmt::format(
              "Dice {:.6f} (at least {}) against the OpenMP path on one thread, {:.4f} % of "
              "{} voxels agree",
              reached, least, 100 * agreement({expected.data(), extent}, {found.data(), extent}),
              found.size())};
}

} // namespace

double least_dice(const Settings& settings, Path path) {
  return path != Path::openmp && settings.precision != Precision::fp32 ? least_dice_fp16
                                                                       : least_dice_fp32;
}

Verification verify_path(const Settings& settings, const CtImage& scan, Path path) {
  return settings.model == Model::classical ? verify_stages(settings, scan, path)
                                            : verify_network(settings, scan, path);
}

} // namespace breakeven::imaging
