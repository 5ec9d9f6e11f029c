// The label stages of the OpenMP path against the simplest code that does the same: a flood fill, a
// count, a sum. Sizes around the width of a word and of a bundle; one thread and two.
#include "tests/imaging/labels_examples.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/imaging/labels.h"
#include "workloads/imaging/stages.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <numeric>

using namespace breakeven;
using namespace breakeven::imaging;
using namespace breakeven::imaging::label_examples;

namespace {

Stages stages_under_test() {
  Stages stages;
  stages.memory = host_memory();
  add_openmp_labels(stages);
  return stages;
}

/// Runs `test` with one thread and with two, then as before.
template <class Test>
void with_threads(Test test) {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 5}) {
    CAPTURE(threads);
    omp_set_num_threads(threads);
    test();
  }
  omp_set_num_threads(before);
}

Labelled labelled(const Mask& mask, Connectivity connectivity) {
  Stages stages = stages_under_test();
  Labelled result{std::vector<std::uint32_t>(mask.voxels.size(), 77), 0};
  stages.components(mask.view(), {result.labels.data(), mask.extent}, connectivity, result.count,
                    stages.memory);
  CHECK(stages.memory.in_use_bytes == 0);
  return result;
}

} // namespace

TEST_CASE("components are a flood fill's, numbered by first voxel") {
  with_threads([] {
    for (const Example& example : examples()) {
      CAPTURE(example.name);
      for (const Connectivity connectivity : all_connectivities) {
        CAPTURE(static_cast<int>(connectivity));
        const Labelled expected = flood_filled(example.mask, connectivity);
        const Labelled found = labelled(example.mask, connectivity);
        CHECK(found.count == expected.count);
        CHECK(found.labels == expected.labels);
      }
    }
  });
}

TEST_CASE("components of random voxels are a flood fill's at every density and odd size") {
  with_threads([] {
    std::uint64_t seed = 1;
    for (const Extent extent :
         {Extent{131, 9, 7}, Extent{64, 6, 6}, Extent{63, 7, 5}, Extent{1, 40, 40},
          Extent{200, 1, 9}, Extent{3, 50, 2}, Extent{129, 30, 1}})
      for (const int percent : {1, 10, 30, 50, 90})
        for (const Connectivity connectivity : all_connectivities) {
          CAPTURE(extent.x);
          CAPTURE(extent.y);
          CAPTURE(percent);
          CAPTURE(static_cast<int>(connectivity));
          const Mask mask = random_mask(extent, percent, ++seed);
          CHECK(labelled(mask, connectivity) == flood_filled(mask, connectivity));
        }
  });
}

TEST_CASE("components count any voxel that is not 0") {
  Mask mask = filled({70, 3, 3}, 0);
  for (std::size_t i = 0; i < mask.voxels.size(); ++i)
    mask.voxels[i] = static_cast<std::uint8_t>(i % 5 == 0 ? 0 : 1u << i % 8);
  Mask ones = mask;
  for (std::uint8_t& voxel : ones.voxels)
    voxel = voxel != 0;
  CHECK(labelled(mask, Connectivity::six) == flood_filled(ones, Connectivity::six));
}

TEST_CASE("components report how many runs were joined") {
  Stages stages = stages_under_test();
  const Mask mask = filled({100, 4, 4}, 1);
  std::vector<std::uint32_t> labels(mask.voxels.size());
  std::uint32_t count = 0;
  const Work work = stages.components(mask.view(), {labels.data(), mask.extent},
                                      Connectivity::twenty_six, count, stages.memory);
  // 2 x 2 bundles of one run each, and each bundle touches each.
  CHECK(work.count("component_runs") == 4);
  CHECK(work.count("components") == 1);
  CHECK(work.count("run_joints") == 6);
  CHECK(work.dram_bytes >= 5.0 * 1600);
}

TEST_CASE("a histogram counts every voxel in the bin that holds it") {
  with_threads([] {
    for (const std::size_t bins : {2, 256, 1024, 5000}) {
      CAPTURE(bins);
      Stages stages = stages_under_test();
      const std::vector<float> hu = random_hu(31 * 17 * 9, bins);
      Histogram histogram{-500, 700, std::vector<std::uint64_t>(bins, 3)};
      Histogram expected = histogram;
      stages.histogram({hu.data(), {31, 17, 9}}, 2, 8, histogram, stages.memory);
      for (std::size_t i = 2 * 31 * 17; i < 8 * 31 * 17; ++i) {
        const double bin =
            std::floor((static_cast<double>(hu[i]) + 500) / 1200 * static_cast<double>(bins));
        ++expected.counts[static_cast<std::size_t>(
            std::clamp(bin, 0.0, static_cast<double>(bins - 1)))];
      }
      // Values lie at thirds of a unit, so none is so near an edge that float rounds it across,
      // but for those on an edge.
      std::uint64_t moved = 0;
      for (std::size_t bin = 0; bin < bins; ++bin)
        moved += histogram.counts[bin] > expected.counts[bin]
                     ? histogram.counts[bin] - expected.counts[bin]
                     : 0;
      CHECK(moved <= hu.size() / 100);
      CHECK(std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::uint64_t{0})
            == 3 * bins + 6 * 31 * 17);
    }
  });
}

TEST_CASE("a histogram of many voxels counts each once, with NaN in the first bin") {
  // More than a thread of two needs for counting in pairs, and no multiple of their block.
  const Extent extent{1031, 1021, 9};
  std::vector<float> hu = random_hu(static_cast<std::size_t>(extent.voxels()), 4);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float beyond[]{std::numeric_limits<float>::quiet_NaN(), infinity, -infinity, 3e38f, -3e38f};
  for (std::size_t i = 0; i < hu.size(); i += 977)
    hu[i] = beyond[i % std::size(beyond)];
  std::fill(hu.begin() + 100'000, hu.begin() + 400'000, -1024.0f);
  with_threads([&] {
    for (const std::size_t bins : {1, 100, 256, 257}) {
      CAPTURE(bins);
      Stages stages = stages_under_test();
      Histogram histogram{-500, 700, std::vector<std::uint64_t>(bins, 3)};
      Histogram expected = histogram;
      for (const float value : hu)
        ++expected.counts[static_cast<std::size_t>(bin_of(bins_of(expected), value))];
      stages.histogram({hu.data(), extent}, 0, extent.z, histogram, stages.memory);
      CHECK(histogram.counts == expected.counts);
    }
  });
}

TEST_CASE("bins start at whole HU where there is one a unit, and the end bins take the rest") {
  const Bins bins = bins_of({-1024, 3072, std::vector<std::uint64_t>(4096)});
  for (int hu = -1024; hu < 3072; ++hu) {
    REQUIRE(bin_of(bins, static_cast<float>(hu)) == hu + 1024);
    REQUIRE(bin_of(bins, static_cast<float>(hu) + 0.5f) == hu + 1024);
  }
  CHECK(bin_of(bins, -1e30f) == 0);
  CHECK(bin_of(bins, 1e30f) == 4095);
  CHECK(bin_of(bins, std::numeric_limits<float>::infinity()) == 4095);
  CHECK(bin_of(bins, std::numeric_limits<float>::quiet_NaN()) == 0);
}

TEST_CASE("a threshold takes its lower end and leaves its upper") {
  with_threads([] {
    Stages stages = stages_under_test();
    for (const std::size_t size : {1, 7, 64, 1000, 4099}) {
      std::vector<float> hu = random_hu(size, size);
      hu[0] = -100;
      hu[size / 2] = 200;
      hu[size - 1] = std::numeric_limits<float>::quiet_NaN();
      std::vector<std::uint8_t> mask(size, 9);
      const Extent extent{static_cast<std::int64_t>(size), 1, 1};
      stages.threshold({hu.data(), extent}, {mask.data(), extent}, -100, 200, stages.memory);
      for (std::size_t i = 0; i < size; ++i)
        REQUIRE(mask[i] == (hu[i] >= -100 && hu[i] < 200 ? 1 : 0));
    }
  });
}

TEST_CASE("Otsu's threshold is the upper edge of the lower class's last bin") {
  Histogram histogram{0, 100, std::vector<std::uint64_t>(10, 0)};
  histogram.counts[1] = 50;
  histogram.counts[2] = 30;
  histogram.counts[7] = 40;
  // Every split from bin 2 to bin 6 is as good; the first counts.
  CHECK(otsu_threshold(histogram) == 30);
}

TEST_CASE("Otsu's threshold maximises the variance between classes") {
  for (const std::size_t bins : {2, 17, 256}) {
    Histogram histogram{-1024, 3071, std::vector<std::uint64_t>(bins, 0)};
    const std::vector<float> hu = random_hu(5000, bins);
    for (const float value : hu)
      ++histogram.counts[static_cast<std::size_t>(bin_of(bins_of(histogram), value))];
    double best = -1;
    std::size_t best_bin = 0;
    for (std::size_t split = 0; split < bins; ++split) {
      double below = 0, above = 0, sum_below = 0, sum_above = 0;
      for (std::size_t bin = 0; bin < bins; ++bin) {
        const auto count = static_cast<double>(histogram.counts[bin]);
        (bin <= split ? below : above) += count;
        (bin <= split ? sum_below : sum_above) += count * static_cast<double>(bin);
      }
      if (below == 0 || above == 0) continue;
      const double apart = sum_below / below - sum_above / above;
      if (below * above * apart * apart <= best * (1 + 1e-12)) continue;
      best = below * above * apart * apart;
      best_bin = split;
    }
    const double width = 4095.0 / static_cast<double>(bins);
    CHECK(otsu_threshold(histogram)
          == static_cast<float>(-1024 + static_cast<double>(best_bin + 1) * width));
  }
}

TEST_CASE("Otsu's threshold of volumes beyond 32 bits does not overflow") {
  Histogram histogram{0, 65536, std::vector<std::uint64_t>(65536, 0)};
  histogram.counts[10] = std::uint64_t{1} << 39;
  histogram.counts[65535] = std::uint64_t{1} << 39;
  CHECK(otsu_threshold(histogram) == 11);
}

TEST_CASE("a histogram of one value is split after it") {
  Histogram histogram{0, 10, std::vector<std::uint64_t>(10, 0)};
  CHECK(otsu_threshold(histogram) == 1); // of nothing, the first bin
  histogram.counts[4] = 8;
  CHECK(otsu_threshold(histogram) == 1);
}

TEST_CASE("relabelling looks every label up") {
  with_threads([] {
    Stages stages = stages_under_test();
    std::vector<std::uint32_t> labels(1003), expected(1003);
    const std::vector<std::uint32_t> table{0, 5, 4, 4000000000u};
    for (std::size_t i = 0; i < labels.size(); ++i) {
      labels[i] = static_cast<std::uint32_t>(i * 7 % 4);
      expected[i] = table[labels[i]];
    }
    stages.relabel({labels.data(), {17, 59, 1}}, table, stages.memory);
    CHECK(labels == expected);
  });
}

TEST_CASE("HU are rounded to the nearest integer, halves to even") {
  for (const auto& [value, rounded] :
       std::vector<std::pair<float, int>>{{0.5f, 0},
                                          {1.5f, 2},
                                          {-0.5f, 0},
                                          {-1.5f, -2},
                                          {-1023.7f, -1024},
                                          {3071, 3071},
                                          {32767.4f, 32767},
                                          {1e9f, 32768},
                                          {-1e9f, -32768},
                                          {-std::numeric_limits<float>::infinity(), -32768},
                                          {std::numeric_limits<float>::quiet_NaN(), -32768}}) {
    const float hu = value;
    CAPTURE(hu);
    CHECK(rounded_hu(hu) == rounded);
  }
}

TEST_CASE("label sums are the sums, bounds and extremes over each label's voxels") {
  with_threads([] {
    Stages stages = stages_under_test();
    for (const SumsExample& example : sums_examples()) {
      CAPTURE(example.name);
      std::vector<LabelSums> sums(example.label_count);
      const Work work = stages.label_sums(example.label_view(), example.hu_view(),
                                          example.z_of_first, sums, stages.memory);
      CHECK(sums == simple_sums(example));
      CHECK(work.count("label_stretches") > 0);
    }
  });
}

TEST_CASE("label sums of two tiles are those of the whole") {
  Stages stages = stages_under_test();
  const SumsExample whole = sums_examples().front();
  std::vector<LabelSums> sums(whole.label_count);
  const std::int64_t cut = 2, slice = whole.extent.slice();
  const Extent lower{whole.extent.x, whole.extent.y, cut};
  const Extent upper{whole.extent.x, whole.extent.y, whole.extent.z - cut};
  stages.label_sums({whole.labels.data() + cut * slice, upper},
                    {whole.hu.data() + cut * slice, upper}, whole.z_of_first + cut, sums,
                    stages.memory);
  stages.label_sums({whole.labels.data(), lower}, {whole.hu.data(), lower}, whole.z_of_first, sums,
                    stages.memory);
  CHECK(sums == simple_sums(whole));
}

TEST_CASE("sums of a long row of the greatest HU do not overflow") {
  Stages stages = stages_under_test();
  const Extent extent{100000, 1, 1};
  const std::vector<std::uint32_t> labels(100000, 1);
  const std::vector<float> hu(100000, -40000);
  std::vector<LabelSums> sums(2);
  stages.label_sums({labels.data(), extent}, {hu.data(), extent}, 0, sums, stages.memory);
  CHECK(sums[1].hu == -32768ll * 100000);
  CHECK(sums[1].hu_squared == (1ll << 30) * 100000);
  CHECK(sums[1].x == 99999ll * 100000 / 2);
}
