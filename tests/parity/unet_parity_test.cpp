// The GPU side's U-Net on the CPU, kernel by kernel on the host's threads, against the CPU side's.
#include "workloads/imaging/unet.h"
#include "workloads/render/philox.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

UNetSpec small_spec() {
  UNetSpec spec;
  spec.features = 6;
  spec.most_features = 20;
  spec.stages = 3;
  spec.classes = 11; // more than one group of the head's
  spec.patch = {12, 8, 8};
  spec.normalisation = {-900, 700, 20, 300};
  return spec;
}

Volume<float> smooth_volume(const Extent& extent) {
  Volume<float> volume;
  volume.geometry.extent = extent;
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    const auto x = static_cast<double>(i % extent.x),
               y = static_cast<double>(i / extent.x % extent.y),
               z = static_cast<double>(i / extent.slice());
    const auto random = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 9}, 1);
    volume.voxels.push_back(
        static_cast<float>(500 * std::sin(0.4 * x) * std::cos(0.3 * y) + 300 * std::sin(0.5 * z))
        + 100 * render::unit_float(random.x));
  }
  return volume;
}

std::vector<std::uint32_t> labels_by(const UNetEngine& engine, const Volume<float>& hu) {
  std::vector<std::uint32_t> labels(hu.voxels.size(), 99);
  engine.segment(view_of(hu), {labels.data(), hu.geometry.extent});
  return labels;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::fabs(static_cast<double>(a[i] - b[i])));
  return largest;
}

} // namespace

TEST_CASE("the host path's logits in fp32 are the CPU side's but for the order of sums") {
  const UNetSpec spec = small_spec();
  const UNetWeights weights = seeded_weights(spec, 2);
  Volume<float> patch = smooth_volume(spec.patch);
  for (float& value : patch.voxels)
    value /= 300;
  const auto expected = make_openmp_unet(spec, weights, 2).logits(view_of(std::as_const(patch)));
  const auto host = on_host::make_unet_engine(spec, weights, Precision::fp32)
                        .logits(view_of(std::as_const(patch)));
  const auto serial = on_serial::make_unet_engine(spec, weights, Precision::fp32)
                          .logits(view_of(std::as_const(patch)));
  CHECK(largest_difference(host, expected) < 1e-4);
  CHECK(largest_difference(serial, expected) < 1e-4);
}

TEST_CASE("the host path's labels reach the gates of each precision") {
  UNetSpec spec = small_spec();
  spec.mirror = {true, false, false};
  const UNetWeights weights = seeded_weights(spec, 2);
  const Volume<float> hu = smooth_volume({17, 11, 8});
  const auto expected = labels_by(make_openmp_unet(spec, weights, 2), hu);
  CHECK(std::count(expected.begin(), expected.end(), expected.front())
        < static_cast<std::ptrdiff_t>(expected.size() * 9 / 10));
  const struct {
    Precision precision;
    double least_dice;
  } gates[]{{Precision::fp32, 0.9999}, {Precision::tf32, 0.995}, {Precision::fp16, 0.995}};
  for (const auto& gate : gates) {
    const auto found = labels_by(on_host::make_unet_engine(spec, weights, gate.precision), hu);
    const double share =
        agreement({found.data(), hu.geometry.extent}, {expected.data(), hu.geometry.extent});
    const double overlap =
        dice({found.data(), hu.geometry.extent}, {expected.data(), hu.geometry.extent});
    MESSAGE(to_string(gate.precision) << ": Dice " << overlap << ", agreement " << share);
    CHECK(overlap >= gate.least_dice);
  }
}

TEST_CASE("strips and volumes smaller than the patch agree on the host path too") {
  UNetSpec spec = small_spec();
  const UNetWeights weights = seeded_weights(spec, 2);
  for (const Extent& extent : {Extent{13, 11, 9}, Extent{5, 3, 1}}) {
    CAPTURE(extent.x);
    const Volume<float> hu = smooth_volume(extent);
    spec.logits_limit_bytes = std::int64_t{1} << 30;
    const auto expected = labels_by(make_openmp_unet(spec, weights, 2), hu);
    spec.logits_limit_bytes = std::min<std::int64_t>(8, extent.z) * 11 * 4 * extent.x * 6;
    const auto found = labels_by(on_host::make_unet_engine(spec, weights, Precision::fp32), hu);
    CHECK(dice({found.data(), extent}, {expected.data(), extent}) >= 0.9999);
  }
}

TEST_CASE("the host path holds no more memory than predicted") {
  const UNetSpec spec = small_spec();
  const Volume<float> hu = smooth_volume({17, 11, 8});
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    const UNetMemory predicted = predict_memory(spec, hu.geometry.extent, Path::host, precision);
    std::vector<std::uint32_t> labels(hu.voxels.size());
    const UNetRun run = on_host::make_unet_engine(spec, seeded_weights(spec, 2), precision)
                            .segment(view_of(hu), {labels.data(), hu.geometry.extent});
    CHECK(run.peak_bytes <= predicted.total());
    // oneDNN keeps the host path's weights, which are not counted.
    CHECK(static_cast<double>(run.peak_bytes)
          > 0.8 * static_cast<double>(predicted.total() - predicted.weight_bytes));
    REQUIRE(run.phases.size() == 4);
    CHECK(run.phases[3].name == "transfer");
    CHECK(run.phases[3].work.host_to_device_bytes == 4.0 * static_cast<double>(hu.voxels.size()));
  }
}

TEST_CASE("convolutions are tensor work in TF32 and FP16, and lane instructions in FP32") {
  const UNetSpec spec = small_spec();
  const Extent extent{12, 8, 8}; // one window
  const Volume<float> hu = smooth_volume(extent);
  const auto infer_work = [&](Precision precision) {
    std::vector<std::uint32_t> labels(hu.voxels.size());
    const UNetRun run = on_host::make_unet_engine(spec, seeded_weights(spec, 2), precision)
                            .segment(view_of(hu), {labels.data(), extent});
    REQUIRE(run.windows == 1);
    // The head runs on the lanes whatever the precision.
    CHECK(run.phases[2].work.tensor_fp16_flops + run.phases[2].work.tensor_tf32_flops == 0);
    CHECK(run.phases[2].work.fp32_flops == 2.0 * spec.features * spec.classes * 12 * 8 * 8);
    REQUIRE(run.phases[1].name == "infer");
    return run.phases[1].work;
  };
  const Work fp32 = infer_work(Precision::fp32), tf32 = infer_work(Precision::tf32),
             fp16 = infer_work(Precision::fp16);
  const double flops =
      unet_flops(spec) - 2.0 * spec.features * spec.classes * static_cast<double>(12 * 8 * 8);
  CHECK(fp32.fp32_flops == doctest::Approx(flops));
  CHECK(fp32.lane_instructions == doctest::Approx(flops / 2));
  CHECK(fp32.tensor_tf32_flops + fp32.tensor_fp16_flops == 0);
  CHECK(tf32.tensor_tf32_flops == doctest::Approx(flops));
  CHECK(tf32.lane_instructions + tf32.fp32_flops + tf32.tensor_fp16_flops == 0);
  CHECK(tf32.dram_bytes == fp32.dram_bytes);
  CHECK(fp16.tensor_fp16_flops == doctest::Approx(flops));
  CHECK(fp16.lane_instructions + fp16.fp32_flops + fp16.tensor_tf32_flops == 0);
  // Two bytes a value, but for the window's gathered HU.
  CHECK(2 * fp16.dram_bytes == fp32.dram_bytes + 4 * 12 * 8 * 8);
  for (const Work* work : {&fp32, &tf32, &fp16})
    CHECK(work->count("flops") == doctest::Approx(flops));
}
