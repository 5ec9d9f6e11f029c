// The label stages give the same bits on the OpenMP path and on the GPU side's source, run on the
// CPU on several threads and on one.
#include "tests/imaging/labels_examples.h"
#include "workloads/host_kernels/emulator.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/imaging/stages.h"

#include <doctest/doctest.h>

using namespace breakeven;
using namespace breakeven::imaging;
using namespace breakeven::imaging::label_examples;

namespace {

struct NamedStages {
  std::string name;
  Stages stages;
};

std::vector<NamedStages> all_paths() {
  std::vector<NamedStages> paths(3);
  for (NamedStages& path : paths)
    path.stages.memory = host_memory();
  paths[0].name = "openmp";
  add_openmp_labels(paths[0].stages);
  paths[1].name = "host";
  on_host::add_labels(paths[1].stages);
  paths[2].name = "serial";
  on_serial::add_labels(paths[2].stages);
  return paths;
}

Labelled labelled(Stages& stages, const Mask& mask, Connectivity connectivity) {
  Labelled result{std::vector<std::uint32_t>(mask.voxels.size(), 77), 0};
  const Work work = stages.components(mask.view(), {result.labels.data(), mask.extent},
                                      connectivity, result.count, stages.memory);
  CHECK(work.count("components") == result.count);
  CHECK(stages.memory.in_use_bytes == 0);
  return result;
}

} // namespace

TEST_CASE("components have the same labels on every path") {
  std::vector<NamedStages> paths = all_paths();
  for (const Example& example : examples()) {
    CAPTURE(example.name);
    for (const Connectivity connectivity : all_connectivities) {
      CAPTURE(static_cast<int>(connectivity));
      const Labelled expected = flood_filled(example.mask, connectivity);
      for (NamedStages& path : paths) {
        CAPTURE(path.name);
        CHECK(labelled(path.stages, example.mask, connectivity) == expected);
      }
    }
  }
}

TEST_CASE("components of random voxels have the same labels on every path") {
  std::vector<NamedStages> paths = all_paths();
  for (const int percent : {1, 10, 30, 50, 90})
    for (const Extent extent : {Extent{45, 13, 9}, Extent{33, 6, 6}})
      for (const Connectivity connectivity : all_connectivities) {
        CAPTURE(percent);
        CAPTURE(static_cast<int>(connectivity));
        const Mask mask = random_mask(extent, percent, static_cast<std::uint64_t>(percent));
        const Labelled expected = flood_filled(mask, connectivity);
        for (NamedStages& path : paths) {
          CAPTURE(path.name);
          CHECK(labelled(path.stages, mask, connectivity) == expected);
        }
      }
}

TEST_CASE("components and sums on the GPU side do not depend on the order of threads") {
  Stages stages;
  stages.memory = host_memory();
  on_host::add_labels(stages);
  const Mask mask = random_mask({70, 9, 6}, 40, 3);
  const Labelled expected = flood_filled(mask, Connectivity::eighteen);
  const SumsExample sums_of = sums_examples().front();
  const host_kernels::Schedule before = host_kernels::current_schedule();
  for (const host_kernels::Order order :
       {host_kernels::Order::reverse, host_kernels::Order::shuffled}) {
    host_kernels::set_schedule({order, 11});
    CHECK(labelled(stages, mask, Connectivity::eighteen) == expected);
    std::vector<LabelSums> sums(sums_of.label_count);
    stages.label_sums(sums_of.label_view(), sums_of.hu_view(), sums_of.z_of_first, sums,
                      stages.memory);
    CHECK(sums == simple_sums(sums_of));
  }
  host_kernels::set_schedule(before);
}

TEST_CASE("histograms, masks, relabelled labels and sums are the same on every path") {
  std::vector<NamedStages> paths = all_paths();
  const Extent extent{37, 11, 5};
  const auto voxels = static_cast<std::size_t>(extent.voxels());
  const std::vector<float> hu = random_hu(voxels, 9);
  for (const std::size_t bins : {2, 256, 3000, 20000}) {
    CAPTURE(bins);
    Histogram first{-1000, 2000, std::vector<std::uint64_t>(bins, 1)};
    paths[0].stages.histogram({hu.data(), extent}, 1, 5, first, paths[0].stages.memory);
    for (NamedStages& path : paths) {
      CAPTURE(path.name);
      Histogram histogram{-1000, 2000, std::vector<std::uint64_t>(bins, 1)};
      path.stages.histogram({hu.data(), extent}, 1, 5, histogram, path.stages.memory);
      CHECK(histogram.counts == first.counts);
    }
  }
  // From the first voxel on and, as in a tile, from one that is not aligned.
  for (const std::size_t begin : {0, 1}) {
    const Extent row{static_cast<std::int64_t>(voxels - begin), 1, 1};
    for (NamedStages& path : paths) {
      CAPTURE(path.name);
      std::vector<std::uint8_t> mask(voxels, 9);
      path.stages.threshold({hu.data() + begin, row}, {mask.data() + begin, row}, -20, 500,
                            path.stages.memory);
      bool right = true;
      for (std::size_t i = begin; i < voxels; ++i)
        right = right && mask[i] == (hu[i] >= -20 && hu[i] < 500 ? 1 : 0);
      CHECK(right);
    }
  }
  const std::vector<std::uint32_t> table{3, 0, 7};
  for (NamedStages& path : paths) {
    CAPTURE(path.name);
    std::vector<std::uint32_t> labels(voxels);
    for (std::size_t i = 0; i < voxels; ++i)
      labels[i] = static_cast<std::uint32_t>(i % 3);
    path.stages.relabel({labels.data(), extent}, table, path.stages.memory);
    bool right = true;
    for (std::size_t i = 0; i < voxels; ++i)
      right = right && labels[i] == table[i % 3];
    CHECK(right);
  }
}

TEST_CASE("label sums are the same on every path") {
  std::vector<NamedStages> paths = all_paths();
  for (const SumsExample& example : sums_examples()) {
    CAPTURE(example.name);
    const std::vector<LabelSums> expected = simple_sums(example);
    for (NamedStages& path : paths) {
      CAPTURE(path.name);
      std::vector<LabelSums> sums(example.label_count);
      path.stages.label_sums(example.label_view(), example.hu_view(), example.z_of_first, sums,
                             path.stages.memory);
      CHECK(sums == expected);
    }
  }
}
