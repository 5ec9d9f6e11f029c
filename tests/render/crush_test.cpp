// The analytic crash as a whole car goes through it.
#include "workloads/render/settings.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace breakeven::render;

namespace {

Crush usual_crush() {
  Crush crush;
  crush.front_x = -0.727f;
  crush.pole_x = -0.127f;
  crush.speed = 15.6f;
  return crush;
}

float impact_s(const Crush& crush) { return (crush.pole_x - crush.front_x) / crush.speed; }

} // namespace

TEST_CASE("along the car the map's derivative stays positive at every time and place") {
  Crush crush = usual_crush();
  for (const float depth : {0.1f, 0.5f, 0.69f}) {
    crush.depth = depth;
    for (float time_s = 0; time_s < 0.4f; time_s += 0.02f)
      for (const float beside : {-0.8f, -0.1f, 0.0f, 0.3f})
        for (float behind = 0; behind < 2; behind += 0.01f) {
          const float step = 0.005f;
          const float here = crushed(crush, {crush.front_x - behind, beside, 0}, time_s).x;
          const float back = crushed(crush, {crush.front_x - behind - step, beside, 0}, time_s).x;
          REQUIRE((here - back) / step > 0);
        }
  }
}

TEST_CASE("speed never rises and ends at zero") {
  const Crush crush = usual_crush();
  const Float3 rear{-4, 0.2f, 0.5f};
  const float step = 0.001f;
  float speed = crush.speed * 1.001f;
  for (float time_s = 0; time_s < 1; time_s += step) {
    const float now =
        (crushed(crush, rear, time_s + step).x - crushed(crush, rear, time_s).x) / step;
    CHECK(now <= speed + 0.01f); // single-precision differences
    CHECK(now >= -0.01f);
    speed = std::min(speed, now);
  }
  CHECK(speed == doctest::Approx(0).epsilon(0.01));
}

TEST_CASE("nothing moves sideways, and behind the zone nothing bends") {
  const Crush crush = usual_crush();
  const float time_s = impact_s(crush) + 0.05f;
  CHECK(crushed(crush, {crush.front_x - 0.4f, 0.31f, 0.5f}, time_s).y == 0.31f);
  const Float3 a = crushed(crush, {crush.front_x - 1.5f, 0.3f, 0.5f}, time_s);
  const Float3 b = crushed(crush, {crush.front_x - 3.5f, -0.7f, 0.9f}, time_s);
  CHECK(a.x - b.x == doctest::Approx(2));
  CHECK(a.z == 0.5f);
  CHECK(b.z == 0.9f);
}

TEST_CASE("no part of the car enters the pole, thick or thin, at any frame") {
  for (const double radius : {0.05, 0.127, 0.3, 0.6}) {
    CAPTURE(radius);
    Settings settings;
    settings.triangles = 50'000;
    settings.pole_radius_m = radius;
    settings.crush_depth_m = 0.65;
    const RenderScene scene = make_scene(settings);
    for (std::int64_t frame = 0; frame <= 120; frame += 10) {
      const std::vector<Float3> positions = positions_at(scene, frame);
      double deepest = 0;
      for (std::uint32_t i = 0; i < scene.vehicle_vertices; ++i)
        if (positions[i].x > -radius)
          deepest = std::max(deepest, radius - std::hypot(positions[i].x, positions[i].y));
      CHECK(deepest < 1e-3);
    }
  }
}

TEST_CASE("only the vehicle moves") {
  Settings settings;
  settings.triangles = 50'000;
  const RenderScene scene = make_scene(settings);
  const std::vector<Float3> positions = positions_at(scene, 60);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < positions.size(); ++i)
    moved += positions[i].x != scene.mesh.positions[i].x ? 1 : 0;
  CHECK(moved == scene.vehicle_vertices);
}
