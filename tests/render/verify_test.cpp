// The gate itself: compare_engines() must let an equal engine through and stop one that is wrong in
// a single respect.
#include "workloads/render/render.h"

#include <doctest/doctest.h>

#include <numeric>

using namespace breakeven;
using namespace breakeven::render;

namespace {

Settings small_settings() {
  Settings settings;
  settings.triangles = 50'000;
  settings.width = 192;
  settings.height = 108;
  settings.samples_per_pixel = 4;
  settings.max_bounces = 2;
  settings.frames.resize(60);
  std::iota(settings.frames.begin(), settings.frames.end(), 1);
  settings.seed = 11;
  return settings;
}

struct Fixture {
  Settings settings = small_settings();
  std::shared_ptr<const RenderScene> scene =
      std::make_shared<const RenderScene>(make_scene(settings));
  Engine reference = make_embree_engine(scene, Acceleration::rebuild, 2);
  Engine candidate = make_embree_engine(scene, Acceleration::refit, 1);
  Verification verdict() const { return compare_engines(*scene, settings, reference, candidate); }
};

} // namespace

TEST_CASE("an engine that differs only in its acceleration structure and threads passes") {
  const Fixture fixture;
  const Verification verdict = fixture.verdict();
  CAPTURE(verdict.evidence);
  CHECK(verdict.passed);
}

TEST_CASE("one bit of one camera ray is enough to fail") {
  Fixture fixture;
  const auto camera_rays = fixture.candidate.camera_rays;
  fixture.candidate.camera_rays = [camera_rays](const FrameRequest& request) {
    std::vector<Ray> rays = camera_rays(request);
    rays[7].direction.x = std::nextafter(rays[7].direction.x, 2.0f);
    return rays;
  };
  CHECK_FALSE(fixture.verdict().passed);
}

TEST_CASE("missing three rays in ten thousand fails") {
  Fixture fixture;
  const auto intersect = fixture.candidate.intersect;
  fixture.candidate.intersect = [intersect](std::int64_t frame, const std::vector<Ray>& rays,
                                            RayKind kind) {
    std::vector<Hit> hits = intersect(frame, rays, kind);
    int hit_count = 0;
    for (Hit& hit : hits)
      if (hit.triangle != no_triangle && ++hit_count % 3333 == 0) hit.triangle = no_triangle;
    return hits;
  };
  CHECK_FALSE(fixture.verdict().passed);
}

TEST_CASE("an image 3 % too dark fails though every pixel is within its own noise") {
  Fixture fixture;
  const auto render = fixture.candidate.render;
  fixture.candidate.render = [render](const FrameRequest& request) {
    FrameResult result = render(request);
    for (Float3& radiance : result.radiance)
      radiance = radiance * 0.97f;
    return result;
  };
  CHECK_FALSE(fixture.verdict().passed);
}

TEST_CASE("a not-a-number pixel fails") {
  Fixture fixture;
  const auto render = fixture.candidate.render;
  fixture.candidate.render = [render](const FrameRequest& request) {
    FrameResult result = render(request);
    for (std::size_t i = 0; i < result.radiance.size(); i += 40)
      result.radiance[i].x = std::nanf("");
    return result;
  };
  CHECK_FALSE(fixture.verdict().passed);
}
