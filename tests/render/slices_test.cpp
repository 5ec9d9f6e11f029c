#include "workloads/render/slices.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace breakeven;
using namespace breakeven::render;

namespace {

Settings animation(int frames, int samples) {
  Settings settings;
  settings.frames.resize(static_cast<std::size_t>(frames));
  std::iota(settings.frames.begin(), settings.frames.end(), 1);
  settings.samples_per_pixel = samples;
  return settings;
}

} // namespace

TEST_CASE("no effort renders one sample of a frame in the middle of the crash") {
  const Slice slice = slice_of(animation(240, 64), 0);
  CHECK(slice.units == std::vector<std::int64_t>{121});
  CHECK(slice.repeats == 1);
  CHECK_FALSE(slice.whole_job);
}

TEST_CASE("full effort is the whole job") {
  for (const int frames : {1, 2, 3, 240})
    for (const int samples : {1, 7, 64}) {
      CAPTURE(frames);
      CAPTURE(samples);
      const Slice slice = slice_of(animation(frames, samples), 1);
      CHECK(slice.units.size() == static_cast<std::size_t>(frames));
      CHECK(slice.repeats == samples);
      CHECK(slice.whole_job);
    }
}

TEST_CASE("a slice of three frames takes the first, one in the middle and the last") {
  // 240 x 64 x 0.001 = 15.4 sample-frames: 3 frames of 5 samples.
  const Slice slice = slice_of(animation(240, 64), 0.001);
  CHECK(slice.units == std::vector<std::int64_t>{1, 120, 240});
  CHECK(slice.repeats == 5);
}

TEST_CASE("a slice is never more than the effort asks, beyond its smallest unit") {
  const Settings settings = animation(240, 64);
  for (double effort = 1e-5; effort <= 1; effort *= 1.7) {
    const Slice slice = slice_of(settings, effort);
    const double share =
        static_cast<double>(slice.units.size()) * static_cast<double>(slice.repeats) / (240.0 * 64);
    CAPTURE(effort);
    CHECK(share <= std::max(effort, 1.0 / (240 * 64)) * 1.000001);
  }
}

TEST_CASE("counting pixels are distinct, inside the image and about as many as asked") {
  const auto pixels = counting_pixels(1920, 1080, 49'152);
  CHECK(std::set<std::uint32_t>(pixels.begin(), pixels.end()).size() == pixels.size());
  CHECK(*std::max_element(pixels.begin(), pixels.end()) < 1920u * 1080u);
  CHECK(pixels.size() > 40'000);
  CHECK(pixels.size() <= 49'152);
}

TEST_CASE("a small image is counted whole") {
  CHECK(counting_pixels(33, 17, 49'152).size() == 33u * 17u);
}

TEST_CASE("paths scale with frames, samples and pixels, frames only with frames") {
  const Settings settings = animation(240, 64); // 1920 x 1080
  Slice slice;
  slice.units = {1, 120, 240};
  slice.repeats = 2;
  CHECK(frames_over_slice(settings, slice) == 80);
  // 80 x (64 / 2) x (1920 x 1080 / 20736) = 80 x 32 x 100.
  CHECK(paths_over_slice(settings, slice, 20'736) == doctest::Approx(256'000));
}

TEST_CASE("launches of a counting run are restated for full waves") {
  const Settings settings = animation(240, 64); // 132.7 M paths a frame: 127 waves of 2^20
  Slice slice;
  slice.units = {121};
  slice.repeats = 1;
  Phase phase;
  phase.name = "intersect";
  phase.job_over_slice = paths_over_slice(settings, slice, 20'736); // 240 x 64 x 100
  phase.work.launches = 5;
  phase.work.parallel_width = 20'736;
  std::vector<Phase> phases{phase};
  as_full_waves(settings, slice, 20'736, phases);
  // 5 launches a wave x 127 waves x 240 frames.
  CHECK(phases[0].work.launches * phase.job_over_slice == doctest::Approx(5.0 * 127 * 240));
  CHECK(phases[0].work.parallel_width == doctest::Approx(1 << 20));
}
