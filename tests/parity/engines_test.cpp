// The GPU side's source on the CPU against the Embree path: all three rungs, at three scene scales.
#include "workloads/render/render.h"
#include "workloads/render/shading.h"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>

using namespace breakeven;
using namespace breakeven::render;

namespace {

Settings crash_at(double scale) {
  Settings settings;
  settings.scale = scale;
  settings.triangles = 50'000;
  settings.width = 320;
  settings.height = 180;
  settings.samples_per_pixel = 4;
  settings.max_bounces = 3;
  settings.frames.resize(60);
  std::iota(settings.frames.begin(), settings.frames.end(), 1);
  settings.seed = 5;
  return settings;
}

} // namespace

TEST_CASE("Philox4x32-10 gives the known answers of its authors' test vectors") {
  // Random123 kat_vectors: zero, all ones, and digits of pi.
  const Random4 zero = philox4x32({0, 0, 0, 0}, 0);
  CHECK(zero.x == 0x6627e8d5u);
  CHECK(zero.y == 0xe169c58du);
  CHECK(zero.z == 0xbc57ac4cu);
  CHECK(zero.w == 0x9b00dbd8u);
  const Random4 ones = philox4x32({~0u, ~0u, ~0u, ~0u}, ~0ull);
  CHECK(ones.x == 0x408f276du);
  CHECK(ones.y == 0x41c83b0eu);
  CHECK(ones.z == 0xa20bc7c6u);
  CHECK(ones.w == 0x6d5451fdu);
  const Random4 digits =
      philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0x299f31d0a4093822ull);
  CHECK(digits.x == 0xd16cfe09u);
  CHECK(digits.y == 0x94fdccebu);
  CHECK(digits.z == 0x5001e420u);
  CHECK(digits.w == 0x24126ea1u);
}

TEST_CASE("the host path climbs all three rungs at scene scales 0.01, 1 and 100") {
  for (const double scale : {0.01, 1.0, 100.0}) {
    CAPTURE(scale);
    const Settings settings = crash_at(scale);
    const auto scene = std::make_shared<const RenderScene>(make_scene(settings));
    const Verification verdict =
        compare_engines(*scene, settings, make_embree_engine(scene, settings.acceleration, 2),
                        on_host::make_wavefront_engine(scene, settings.acceleration));
    MESSAGE("scale " << scale << ": " << verdict.evidence);
    CHECK(verdict.passed);
  }
}

TEST_CASE("the host path agrees when the acceleration structure is refitted") {
  Settings settings = crash_at(1);
  settings.acceleration = Acceleration::refit;
  const auto scene = std::make_shared<const RenderScene>(make_scene(settings));
  const Verification verdict =
      compare_engines(*scene, settings, make_embree_engine(scene, Acceleration::refit, 2),
                      on_host::make_wavefront_engine(scene, Acceleration::refit));
  CAPTURE(verdict.evidence);
  CHECK(verdict.passed);
}

TEST_CASE("the same scene at another scale gives the same picture") {
  const auto picture = [](double scale) {
    const Settings settings = crash_at(scale);
    const auto scene = std::make_shared<const RenderScene>(make_scene(settings));
    FrameRequest request;
    request.frame = 30;
    request.width = 64;
    request.height = 36;
    request.samples = 16;
    request.seed = settings.seed;
    return make_embree_engine(scene, settings.acceleration, 2).render(request).radiance;
  };
  const auto reference = picture(1);
  for (const double scale : {0.01, 100.0}) {
    CAPTURE(scale);
    const auto scaled = picture(scale);
    double difference = 0, sum = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
      difference += std::fabs(luminance(scaled[i]) - luminance(reference[i]));
      sum += luminance(reference[i]);
    }
    // Equal random numbers: only paths whose rounding flips a decision may differ.
    CHECK(difference / sum < 0.01);
  }
}
