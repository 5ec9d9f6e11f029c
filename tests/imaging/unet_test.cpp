// The U-Net of the CPU side against a network of plain loops in double, and its sliding window
// against one that keeps every logit.
#include "sim/errors.h"
#include "workloads/imaging/unet.h"
#include "workloads/imaging/unet_memory.h"
#include "workloads/imaging/unet_windows.h"
#include "workloads/render/philox.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

UNetSpec tiny_spec() {
  UNetSpec spec;
  spec.features = 5; // no multiple of a vector
  spec.most_features = 12;
  spec.stages = 3;
  spec.classes = 3;
  spec.patch = {20, 12, 8};
  spec.normalisation = {-900, 700, 20, 300};
  return spec;
}

Volume<float> noisy_volume(const Extent& extent, std::uint64_t seed) {
  Volume<float> volume;
  volume.geometry.extent = extent;
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const auto random = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 9}, seed);
    const auto wave = std::sin(0.3 * static_cast<double>(i % extent.x))
                      * std::cos(0.2 * static_cast<double>(i / extent.x % extent.y));
    volume.voxels.push_back(static_cast<float>(600 * wave)
                            + 800 * (render::unit_float(random.x) - 0.5f));
  }
  return volume;
}

/// The reference: channels of voxels in double.
struct Map {
  Extent extent;
  int channels = 0;
  std::vector<double> values;
  Map(const Extent& e, int c)
      : extent(e),
        channels(c),
        values(static_cast<std::size_t>(e.voxels() * c)) {}
  double& at(int c, std::int64_t x, std::int64_t y, std::int64_t z) {
    return values[static_cast<std::size_t>(((c * extent.z + z) * extent.y + y) * extent.x + x)];
  }
  double padded(int c, std::int64_t x, std::int64_t y, std::int64_t z) {
    const bool inside = x >= 0 && y >= 0 && z >= 0 && x < extent.x && y < extent.y && z < extent.z;
    return inside ? at(c, x, y, z) : 0;
  }
};

template <class Function>
void each_voxel(const Extent& extent, Function function) {
  for (std::int64_t z = 0; z < extent.z; ++z)
    for (std::int64_t y = 0; y < extent.y; ++y)
      for (std::int64_t x = 0; x < extent.x; ++x)
        function(x, y, z);
}

Map convolved(Map in, const UNetLayer& layer, const LayerWeights& weights) {
  Map out(layer.output, layer.out);
  for (int o = 0; o < layer.out; ++o)
    each_voxel(out.extent, [&](auto x, auto y, auto z) {
      double sum = 0;
      for (int i = 0; i < layer.in; ++i)
        for (int tap = 0; tap < 27; ++tap)
          sum += static_cast<double>(
                     weights.weight[static_cast<std::size_t>((o * layer.in + i) * 27 + tap)])
                 * in.padded(i, layer.stride * x + tap % 3 - 1, layer.stride * y + tap / 3 % 3 - 1,
                             layer.stride * z + tap / 9 - 1);
      out.at(o, x, y, z) = sum;
    });
  const auto voxels = static_cast<double>(out.extent.voxels());
  for (int o = 0; o < layer.out; ++o) {
    double mean = 0, variance = 0;
    each_voxel(out.extent, [&](auto x, auto y, auto z) { mean += out.at(o, x, y, z) / voxels; });
    each_voxel(out.extent, [&](auto x, auto y, auto z) {
      variance += std::pow(out.at(o, x, y, z) - mean, 2) / voxels;
    });
    each_voxel(out.extent, [&](auto x, auto y, auto z) {
      const auto channel = static_cast<std::size_t>(o);
      const double value = (out.at(o, x, y, z) - mean) / std::sqrt(variance + 1e-5)
                               * static_cast<double>(weights.scale[channel])
                           + static_cast<double>(weights.shift[channel]);
      out.at(o, x, y, z) = value > 0 ? value : 0.01 * value;
    });
  }
  return out;
}

Map up_sampled(Map in, const UNetLayer& layer, const LayerWeights& weights) {
  Map out(layer.output, layer.out);
  for (int o = 0; o < layer.out; ++o)
    each_voxel(out.extent, [&](auto x, auto y, auto z) {
      double sum = static_cast<double>(weights.shift[static_cast<std::size_t>(o)]);
      for (int i = 0; i < layer.in; ++i)
        sum += in.at(i, x / 2, y / 2, z / 2)
               * static_cast<double>(weights.weight[static_cast<std::size_t>(
                   (i * layer.out + o) * 8 + z % 2 * 4 + y % 2 * 2 + x % 2)]);
      out.at(o, x, y, z) = sum;
    });
  return out;
}

Map joined(const Map& first, const Map& second) {
  Map both(first.extent, first.channels + second.channels);
  std::copy(first.values.begin(), first.values.end(), both.values.begin());
  std::copy(second.values.begin(), second.values.end(),
            both.values.begin() + static_cast<std::ptrdiff_t>(first.values.size()));
  return both;
}

std::vector<double> reference_logits(const UNetSpec& spec, const UNetWeights& weights,
                                     const std::vector<float>& patch) {
  const auto layers = unet_layers(spec);
  Map map(spec.patch, 1);
  std::copy(patch.begin(), patch.end(), map.values.begin());
  std::vector<Map> skips;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const UNetLayer& layer = layers[i];
    switch (layer.kind) {
    case LayerKind::convolution:
      map = convolved(map, layer, weights.layers[i]);
      if (layer.name.starts_with("encoder") && layer.name.ends_with("convs.1"))
        skips.push_back(map);
      break;
    case LayerKind::transposed:
      map = joined(up_sampled(map, layer, weights.layers[i]),
                   skips[static_cast<std::size_t>(layer.stage)]);
      break;
    case LayerKind::head: {
      Map logits(spec.patch, spec.classes);
      for (int c = 0; c < spec.classes; ++c)
        each_voxel(spec.patch, [&](auto x, auto y, auto z) {
          double sum = static_cast<double>(weights.layers[i].shift[static_cast<std::size_t>(c)]);
          for (int k = 0; k < spec.features; ++k)
            sum += map.at(k, x, y, z)
                   * static_cast<double>(
                       weights.layers[i].weight[static_cast<std::size_t>(c * spec.features + k)]);
          logits.at(c, x, y, z) = sum;
        });
      map = logits;
      break;
    }
    }
  }
  return map.values;
}

void check_logits(const UNetSpec& spec, int threads) {
  const UNetWeights weights = seeded_weights(spec, 2);
  Volume<float> patch = noisy_volume(spec.patch, 4);
  for (float& value : patch.voxels)
    value /= 300;
  const auto expected = reference_logits(spec, weights, patch.voxels);
  const auto found = make_openmp_unet(spec, weights, threads).logits(view_of(patch));
  REQUIRE(found.size() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    worst = std::max(worst, std::fabs(static_cast<double>(found[i]) - expected[i]));
  CHECK(worst < 2e-4);
  const auto voxels = static_cast<std::size_t>(spec.patch.voxels());
  std::size_t clear = 0, equal = 0;
  for (std::size_t v = 0; v < voxels; ++v) {
    std::vector<double> sorted;
    std::size_t of_found = 0, of_expected = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(spec.classes); ++c) {
      sorted.push_back(expected[c * voxels + v]);
      if (found[c * voxels + v] > found[of_found * voxels + v]) of_found = c;
      if (expected[c * voxels + v] > expected[of_expected * voxels + v]) of_expected = c;
    }
    std::sort(sorted.rbegin(), sorted.rend());
    if (sorted[0] - sorted[1] <= 1e-3) continue;
    ++clear;
    equal += of_found == of_expected;
  }
  CHECK(clear > voxels * 9 / 10);
  CHECK(equal == clear);
}

/// The labels of a sliding window that keeps the logits of the whole volume.
std::vector<std::uint32_t> labels_of_kept_logits(const UNetSpec& spec, const UNetEngine& engine,
                                                 const Volume<float>& hu) {
  const Extent &extent = hu.geometry.extent, &patch = spec.patch;
  const auto voxels = static_cast<std::size_t>(extent.voxels());
  std::vector<float> sums(voxels * static_cast<std::size_t>(spec.classes));
  const auto importance_x = window_importance(patch.x), importance_y = window_importance(patch.y),
             importance_z = window_importance(patch.z);
  const auto index = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const auto mirror = [](bool is, std::int64_t i, std::int64_t n) { return is ? n - 1 - i : i; };
  for (const auto z0 : window_starts(extent.z, patch.z, spec.step))
    for (const auto y0 : window_starts(extent.y, patch.y, spec.step))
      for (const auto x0 : window_starts(extent.x, patch.x, spec.step))
        for (unsigned bits = 0; bits < 8; ++bits) {
          const bool mx = bits & 1, my = bits & 2, mz = bits & 4;
          if ((mx && !spec.mirror[0]) || (my && !spec.mirror[1]) || (mz && !spec.mirror[2]))
            continue;
          Volume<float> window;
          window.geometry.extent = patch;
          each_voxel(patch, [&](auto x, auto y, auto z) {
            const auto vx = x0 + mirror(mx, x, patch.x), vy = y0 + mirror(my, y, patch.y),
                       vz = z0 + mirror(mz, z, patch.z);
            const bool inside =
                vx >= 0 && vy >= 0 && vz >= 0 && vx < extent.x && vy < extent.y && vz < extent.z;
            float value = 0;
            if (inside) {
              const CtNormalisation& scheme = spec.normalisation;
              value = hu.voxels[index((vz * extent.y + vy) * extent.x + vx)];
              value = (std::clamp(value, scheme.clip_low_hu, scheme.clip_high_hu) - scheme.mean_hu)
                      / scheme.sd_hu;
            }
            window.voxels.push_back(value);
          });
          const auto logits = engine.logits(view_of(std::as_const(window)));
          const float share = 1.0f / static_cast<float>(spec.mirrors());
          each_voxel(patch, [&](auto x, auto y, auto z) {
            const auto vx = x0 + x, vy = y0 + y, vz = z0 + z;
            if (vx < 0 || vy < 0 || vz < 0 || vx >= extent.x || vy >= extent.y || vz >= extent.z)
              return;
            const float weight =
                importance_z[index(z)] * importance_y[index(y)] * share * importance_x[index(x)];
            const auto from =
                index((mirror(mz, z, patch.z) * patch.y + mirror(my, y, patch.y)) * patch.x
                      + mirror(mx, x, patch.x));
            const auto to = index((vz * extent.y + vy) * extent.x + vx);
            for (std::size_t c = 0; c < static_cast<std::size_t>(spec.classes); ++c)
              sums[c * voxels + to] =
                  std::fma(weight, logits[c * index(patch.voxels()) + from], sums[c * voxels + to]);
          });
        }
  std::vector<std::uint32_t> labels(voxels);
  for (std::size_t v = 0; v < voxels; ++v)
    for (std::uint32_t c = 1; c < static_cast<std::uint32_t>(spec.classes); ++c)
      if (sums[c * voxels + v] > sums[labels[v] * voxels + v]) labels[v] = c;
  return labels;
}

struct Labelled {
  std::vector<std::uint32_t> labels;
  UNetRun run;
};
Labelled segmented(const UNetEngine& engine, const Volume<float>& hu) {
  Labelled result;
  // What no window set would show.
  result.labels.assign(hu.voxels.size(), 99);
  result.run = engine.segment(view_of(hu), {result.labels.data(), hu.geometry.extent});
  return result;
}

bool holds_several_classes(const std::vector<std::uint32_t>& labels) {
  return std::count(labels.begin(), labels.end(), labels.front())
         < static_cast<std::ptrdiff_t>(labels.size() * 95 / 100);
}

} // namespace

TEST_CASE("the network of oneDNN agrees with plain loops in double") {
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    check_logits(tiny_spec(), threads);
  }
}

TEST_CASE("channels that fill vectors, patches narrower than one and 20 classes agree too") {
  UNetSpec spec = tiny_spec();
  spec.features = 16;
  spec.most_features = 32;
  spec.stages = 2;
  spec.classes = 20;
  spec.patch = {6, 4, 10};
  check_logits(spec, 2);
}

TEST_CASE("a deepest stage of one voxel has the norm's shift, not a division by zero") {
  UNetSpec spec = tiny_spec();
  spec.patch = {4, 4, 4};
  check_logits(spec, 1);
}

TEST_CASE("windows lie where nnU-Net puts them") {
  using Starts = std::vector<std::int64_t>;
  // 299 - 128 = 171 in steps of at most 64: ceil(171 / 64) = 3 steps of 57.
  CHECK(window_starts(299, 128, 0.5) == Starts{0, 57, 114, 171});
  // 333 - 128 = 205 at 0.8: ceil(205 / 102.4) = 3 steps of 68.33.
  CHECK(window_starts(333, 128, 0.8) == Starts{0, 68, 137, 205});
  // Halves round to even: 0, 2.5, 5.
  CHECK(window_starts(13, 8, 0.5) == Starts{0, 2, 5});
  CHECK(window_starts(128, 128, 0.5) == Starts{0});
  // 27 voxels too few: 13 before and 14 after.
  CHECK(window_starts(101, 128, 0.5) == Starts{-13});
}

TEST_CASE("a window counts most at its middle and falls off by a sigma of an eighth") {
  const auto importance = window_importance(64);
  CHECK(importance[32] == 1.0f);
  CHECK(importance[24] == doctest::Approx(std::exp(-0.5)));
  CHECK(importance[40] == importance[24]);
  CHECK(importance[0] == doctest::Approx(std::exp(-8.0)));
  CHECK(importance[0] > 0);
}

TEST_CASE("labels streamed by slabs are those of logits kept whole, to the last voxel") {
  const UNetSpec spec = tiny_spec();
  const Volume<float> hu = noisy_volume({31, 17, 21}, 8);
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    const UNetEngine engine = make_openmp_unet(spec, seeded_weights(spec, 2), threads);
    const auto expected = labels_of_kept_logits(spec, engine, hu);
    CHECK(holds_several_classes(expected));
    const Labelled found = segmented(engine, hu);
    CHECK(found.labels == expected);
    CHECK(found.run.windows == 3 * 2 * 5); // 11 / 10, 5 / 6 and 13 / 4, rounded up, and one each
    CHECK(segmented(engine, hu).labels == expected);
  }
}

TEST_CASE("every mirror of a window is run, mirrored back and averaged") {
  UNetSpec spec = tiny_spec();
  spec.mirror = {true, true, true};
  const Volume<float> hu = noisy_volume({23, 13, 11}, 8);
  const UNetEngine engine = make_openmp_unet(spec, seeded_weights(spec, 2), 2);
  const auto expected = labels_of_kept_logits(spec, engine, hu);
  const Labelled found = segmented(engine, hu);
  CHECK(found.labels == expected);
  CHECK(found.run.windows == 2 * 2 * 2);
  spec.mirror = {false, false, false};
  const UNetEngine unmirrored = make_openmp_unet(spec, seeded_weights(spec, 2), 2);
  CHECK(segmented(unmirrored, hu).labels != expected);
}

TEST_CASE("volumes smaller than the patch, down to one voxel, are padded as nnU-Net pads") {
  const UNetSpec spec = tiny_spec();
  const UNetEngine engine = make_openmp_unet(spec, seeded_weights(spec, 2), 2);
  for (const Extent& extent : {Extent{1, 1, 1}, Extent{23, 1, 3}, Extent{1, 30, 1}}) {
    CAPTURE(extent.x);
    const Volume<float> hu = noisy_volume(extent, 5);
    CHECK(segmented(engine, hu).labels == labels_of_kept_logits(spec, engine, hu));
  }
}

TEST_CASE("a limit on logits makes strips with the same labels and is kept") {
  UNetSpec spec = tiny_spec();
  spec.mirror = {true, false, false};
  const Volume<float> hu = noisy_volume({31, 17, 13}, 8);
  const UNetWeights weights = seeded_weights(spec, 2);
  const Labelled whole = segmented(make_openmp_unet(spec, weights, 2), hu);
  const std::int64_t row = 8 * 3 * 31 * 4; // slices, classes, x, bytes
  CHECK(whole.run.logits_bytes == 17 * row);
  for (const std::int64_t rows : {9, 4}) {
    CAPTURE(rows);
    spec.logits_limit_bytes = rows * row + 3;
    const Labelled strips = segmented(make_openmp_unet(spec, weights, 2), hu);
    CHECK(strips.run.logits_bytes <= spec.logits_limit_bytes);
    CHECK(strips.labels == whole.labels);
    CHECK(strips.run.windows > whole.run.windows);
    CHECK(strips.run.windows == plan_windows(spec, hu.geometry.extent).windows());
  }
  spec.logits_limit_bytes = row - 1;
  CHECK_THROWS_AS(plan_windows(spec, hu.geometry.extent), BadInput);
}

TEST_CASE("one and two threads agree to a Dice of 0.9999") {
  const UNetSpec spec = tiny_spec();
  const UNetWeights weights = seeded_weights(spec, 2);
  const Volume<float> hu = noisy_volume({40, 30, 20}, 6);
  const Labelled one = segmented(make_openmp_unet(spec, weights, 1), hu);
  const Labelled two = segmented(make_openmp_unet(spec, weights, 2), hu);
  CHECK(holds_several_classes(one.labels));
  CHECK(dice({one.labels.data(), hu.geometry.extent}, {two.labels.data(), hu.geometry.extent})
        >= 0.9999);
}

TEST_CASE("the memory predicted holds what is measured, and not much more") {
  UNetSpec spec = tiny_spec();
  for (const int features : {5, 16}) {
    spec.features = features;
    spec.most_features = 2 * features;
    const Volume<float> hu = noisy_volume({40, 30, 20}, 6);
    const UNetMemory predicted =
        predict_memory(spec, hu.geometry.extent, Path::openmp, Precision::fp32);
    const Labelled result = segmented(make_openmp_unet(spec, seeded_weights(spec, 2), 2), hu);
    CHECK(result.run.peak_bytes <= predicted.total());
    CHECK(static_cast<double>(result.run.peak_bytes)
          > 0.4 * static_cast<double>(predicted.total()));
    CHECK(result.run.logits_bytes == predicted.logits_bytes);
  }
}

TEST_CASE("nnU-Net's 3d_fullres network takes 0.954 TFLOP a window of 128^3") {
  UNetSpec spec;
  spec.classes = 105;
  // GFLOP, 2 x 27 x in x out x voxels each.
  const double v0 = 2097152, v1 = v0 / 8, v2 = v1 / 8, v3 = v2 / 8, v4 = v3 / 8, v5 = v4 / 8;
  const double encoder =
      54
      * ((1 * 32 + 32 * 32) * v0 + (32 * 64 + 64 * 64) * v1 + (64 * 128 + 128 * 128) * v2
         + (128 * 256 + 256 * 256) * v3 + (256 * 320 + 320 * 320) * v4 + 2 * (320 * 320) * v5);
  const double decoder =
      54 * 3 * (320 * 320 * v4 + 256 * 256 * v3 + 128 * 128 * v2 + 64 * 64 * v1 + 32 * 32 * v0);
  // One tap an output: a kernel of 2 at a stride of 2.
  const double up =
      2 * (320 * 320 * v4 + 320 * 256 * v3 + 256 * 128 * v2 + 128 * 64 * v1 + 64 * 32 * v0);
  const double head = 2 * 32 * 105 * v0;
  CHECK(unet_flops(spec) == doctest::Approx(encoder + decoder + up + head));
  CHECK(encoder + decoder + up == doctest::Approx(0.954e12).epsilon(0.001));
  // The published estimate of 1.065 TFLOP counts all eight taps of a transposed convolution for
  // each of its outputs.
  CHECK(encoder + decoder + 8 * up == doctest::Approx(1.065e12).epsilon(0.001));
}

TEST_CASE("phases carry the work that was counted") {
  const UNetSpec spec = tiny_spec();
  const Volume<float> hu = noisy_volume({31, 17, 21}, 8);
  const Labelled result = segmented(make_openmp_unet(spec, seeded_weights(spec, 2), 1), hu);
  REQUIRE(result.run.phases.size() == 3);
  const auto& [normalise, infer, aggregate] =
      std::tie(result.run.phases[0], result.run.phases[1], result.run.phases[2]);
  CHECK(normalise.name == "normalise");
  CHECK(infer.name == "infer");
  CHECK(aggregate.name == "aggregate");
  const double head = 2.0 * 5 * 3 * static_cast<double>(spec.patch.voxels());
  CHECK(infer.work.count("flops") == doctest::Approx(30 * (unet_flops(spec) - head)));
  CHECK(infer.work.lane_instructions == doctest::Approx(infer.work.count("flops") / 2));
  CHECK(infer.work.fp32_flops == infer.work.count("flops"));
  CHECK(aggregate.work.count("flops") == doctest::Approx(30 * head));
  for (const Phase& phase : result.run.phases) {
    CHECK(phase.end_to_end_s > 0);
    CHECK(phase.work.dram_bytes > 0);
  }
}

TEST_CASE("Dice and agreement count voxels") {
  const std::vector<std::uint32_t> a{0, 1, 1, 2}, b{0, 1, 2, 2}, none{0, 0, 0, 0};
  const Extent extent{4, 1, 1};
  const View<const std::uint32_t> of_a{a.data(), extent}, of_b{b.data(), extent},
      of_none{none.data(), extent};
  // Class 1: 2 x 1 / (2 + 1); class 2: 2 x 1 / (1 + 2).
  CHECK(dice(of_a, of_b) == doctest::Approx(2.0 / 3));
  CHECK(agreement(of_a, of_b) == 0.75);
  CHECK(dice(of_none, of_none) == 1);
  CHECK(dice(of_a, of_none) == 0);
}

TEST_CASE("a network that cannot be is refused with the value and what was expected") {
  const auto refused = [](auto change) {
    UNetSpec spec = tiny_spec();
    change(spec);
    try {
      check_unet(spec, "ct.toml");
    } catch (const BadInput& error) {
      return std::string(error.what()).starts_with("ct.toml: found ");
    }
    return false;
  };
  CHECK(refused([](UNetSpec& spec) { spec.stages = 7; }));
  CHECK(refused([](UNetSpec& spec) { spec.stages = 1; }));
  CHECK(refused([](UNetSpec& spec) { spec.classes = 1; }));
  CHECK(refused([](UNetSpec& spec) { spec.classes = 257; }));
  CHECK(refused([](UNetSpec& spec) { spec.features = 0; }));
  CHECK(refused([](UNetSpec& spec) { spec.most_features = 4; }));
  CHECK(refused([](UNetSpec& spec) { spec.patch.y = 10; }));
  CHECK(refused([](UNetSpec& spec) { spec.patch.z = 0; }));
  CHECK(refused([](UNetSpec& spec) { spec.step = 0; }));
  CHECK(refused([](UNetSpec& spec) { spec.step = std::nan(""); }));
  CHECK(refused([](UNetSpec& spec) { spec.normalisation.sd_hu = 0; }));
  CHECK(refused([](UNetSpec& spec) { spec.normalisation.clip_low_hu = 9000; }));
  CHECK(refused([](UNetSpec& spec) { spec.normalisation.mean_hu = HUGE_VALF; }));
  CHECK_FALSE(refused([](UNetSpec&) {}));
}
