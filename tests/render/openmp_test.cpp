// The CPU side's engine: what it answers for rays against brute force, what it renders against
// closed forms, and that nothing depends on threads or on which pixels are asked for.
#include "workloads/render/brute_force.h"
#include "workloads/render/embree.h"
#include "workloads/render/shading.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace breakeven;
using namespace breakeven::render;

namespace {

void add_triangle(Mesh& mesh, Float3 a, Float3 b, Float3 c, std::uint32_t material) {
  const auto first = static_cast<std::uint32_t>(mesh.positions.size());
  mesh.positions.insert(mesh.positions.end(), {a, b, c});
  mesh.triangles.push_back({first, first + 1, first + 2});
  mesh.materials.push_back(material);
}

/// A square in the plane z = height, about the z axis.
void add_plate(Mesh& mesh, float half_width, float height, std::uint32_t material) {
  const auto first = static_cast<std::uint32_t>(mesh.positions.size());
  const float w = half_width;
  mesh.positions.insert(mesh.positions.end(),
                        {{-w, -w, height}, {w, -w, height}, {w, w, height}, {-w, w, height}});
  mesh.triangles.insert(mesh.triangles.end(),
                        {{first, first + 1, first + 2}, {first, first + 2, first + 3}});
  mesh.materials.insert(mesh.materials.end(), {material, material});
}

void add_sphere(Mesh& mesh, Float3 centre, float radius, int rings, std::uint32_t material) {
  const auto first = static_cast<std::uint32_t>(mesh.positions.size());
  const int columns = 2 * rings;
  for (int ring = 0; ring <= rings; ++ring)
    for (int column = 0; column < columns; ++column) {
      const float polar = pi * static_cast<float>(ring) / static_cast<float>(rings);
      const float around = 2 * pi * static_cast<float>(column) / static_cast<float>(columns);
      const Float3 outward{std::sin(polar) * std::cos(around), std::sin(polar) * std::sin(around),
                           std::cos(polar)};
      mesh.positions.push_back(centre + radius * outward);
    }
  const auto at = [&](int ring, int column) {
    return first + static_cast<std::uint32_t>(ring * columns + column % columns);
  };
  const auto add = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    mesh.triangles.push_back({a, b, c});
    mesh.materials.push_back(material);
  };
  for (int ring = 0; ring < rings; ++ring)
    for (int column = 0; column < columns; ++column) {
      if (ring > 0) add(at(ring, column), at(ring + 1, column), at(ring, column + 1));
      if (ring + 1 < rings)
        add(at(ring, column + 1), at(ring + 1, column), at(ring + 1, column + 1));
    }
}

Camera camera_at(Float3 position, Float3 target) {
  const Float3 forward = normalized(target - position);
  const Float3 right = normalized(cross(forward, {0, 0, 1}));
  return {position, right, cross(right, forward), forward, 0.5f};
}

/// Straight down on the origin.
Camera camera_above(float height) {
  return {{0, 0, height}, {1, 0, 0}, {0, 1, 0}, {0, 0, -1}, 0.2f};
}

/// A "vehicle" of one sphere before a pole, on a ground plate, some more spheres about.
std::shared_ptr<RenderScene> crash_scene(float scale = 1) {
  auto scene = std::make_shared<RenderScene>();
  scene->materials = {{{0.7f, 0.2f, 0.1f}, 0.04f, 0.2f}, {{0.5f, 0.5f, 0.5f}, 0, 0.2f}};
  add_sphere(scene->mesh, {-1.5f, 0, 0.8f}, 0.7f, 12, 0);
  scene->vehicle_vertices = static_cast<std::uint32_t>(scene->mesh.positions.size());
  scene->vehicle_triangles = static_cast<std::uint32_t>(scene->mesh.triangles.size());
  add_sphere(scene->mesh, {0.3f, 0, 1}, 0.3f, 8, 1);
  add_sphere(scene->mesh, {-1, 2, 0.5f}, 0.5f, 8, 0);
  add_plate(scene->mesh, 10, 0, 1);
  for (Float3& position : scene->mesh.positions)
    position = position * scale;
  Crush& crush = scene->crush;
  crush.front_x = -0.8f * scale;
  crush.pole_x = 0;
  for (float* value : {&crush.speed, &crush.depth, &crush.zone, &crush.width, &crush.ripple_length})
    *value *= scale;
  scene->camera = camera_at(Float3{2, -4, 2} * scale, Float3{-0.8f, 0, 0.6f} * scale);
  scene->light.to_sun = normalized({-0.4f, -0.3f, 0.8f});
  return scene;
}
constexpr std::int64_t frame_before_impact = 3, frame_in_crash = 25;

FrameRequest small_request(std::int64_t frame = frame_in_crash) {
  FrameRequest request;
  request.frame = frame;
  request.width = 45; // no multiple of any tile
  request.height = 29;
  request.samples = 5;
  request.seed = 3;
  request.want_squares = true;
  return request;
}

template <class T>
bool equal_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// From all about the scene, in all directions.
std::vector<Ray> random_rays(std::size_t count, float scale) {
  std::mt19937 generator(5);
  std::uniform_real_distribution<float> place(-3, 3);
  std::normal_distribution<float> part;
  std::vector<Ray> rays;
  for (std::size_t i = 0; i < count; ++i) {
    const Float3 origin{place(generator), place(generator), 0.1f + std::fabs(place(generator))};
    const Float3 direction = normalized({part(generator), part(generator), part(generator)});
    rays.push_back({origin * scale, 0.0f, direction, infinite_distance});
  }
  return rays;
}

/// White light from everywhere, no sun.
Light constant_sky() {
  Light light;
  light.sun_irradiance = {0, 0, 0};
  light.horizon = light.zenith = light.ground = {1, 1, 1};
  return light;
}

struct Average {
  double mean, standard_error;
};
/// Luminance over the whole image, from the samples' own variance.
Average average(const FrameResult& result, int samples) {
  double sum = 0, variance = 0;
  for (std::size_t i = 0; i < result.radiance.size(); ++i) {
    const double mean = luminance(result.radiance[i]);
    sum += mean;
    variance += std::max(0.0, result.luminance_square_mean[i] - mean * mean) / (samples - 1);
  }
  const auto pixels = static_cast<double>(result.radiance.size());
  return {sum / pixels, std::sqrt(variance) / pixels};
}

void check_within_four_errors(const FrameResult& result, int samples, double expected) {
  const Average found = average(result, samples);
  CAPTURE(found.mean);
  CAPTURE(found.standard_error);
  CHECK(std::fabs(found.mean - expected) <= 4 * found.standard_error + 1e-5 * expected);
}

} // namespace

TEST_CASE("one thread and two give the same image to the last bit") {
  const auto scene = crash_scene();
  const FrameRequest request = small_request();
  const FrameResult one = make_embree_engine(scene, Acceleration::rebuild, 1).render(request);
  const FrameResult two = make_embree_engine(scene, Acceleration::rebuild, 2).render(request);
  CHECK(equal_bits(one.radiance, two.radiance));
  CHECK(equal_bits(one.luminance_square_mean, two.luminance_square_mean));
}

TEST_CASE("chosen pixels come in the order asked for and equal those of the whole image") {
  const Engine engine = make_embree_engine(crash_scene(), Acceleration::rebuild, 2);
  for (const int samples : {1, 5, 37}) {
    CAPTURE(samples);
    FrameRequest request = small_request();
    request.samples = samples;
    const FrameResult whole = engine.render(request);
    request.pixels = {1304, 7, 600, 601, 3, 45};
    for (std::uint32_t pixel = 0; pixel < 1305; pixel += 3)
      request.pixels.push_back(pixel);
    const FrameResult part = engine.render(request);
    REQUIRE(part.radiance.size() == request.pixels.size());
    std::vector<Float3> expected;
    for (const std::uint32_t pixel : request.pixels)
      expected.push_back(whole.radiance[pixel]);
    CHECK(equal_bits(part.radiance, expected));
  }
}

TEST_CASE("samples rendered in two halves average to those rendered at once") {
  const Engine engine = make_embree_engine(crash_scene(), Acceleration::rebuild, 2);
  FrameRequest request = small_request();
  request.samples = 8;
  const FrameResult whole = engine.render(request);
  request.samples = 4;
  const FrameResult first = engine.render(request);
  request.first_sample = 4;
  const FrameResult second = engine.render(request);
  for (std::size_t i = 0; i < whole.radiance.size(); ++i)
    CHECK(luminance(whole.radiance[i])
          == doctest::Approx(luminance(first.radiance[i] * 0.5f + second.radiance[i] * 0.5f))
                 .epsilon(1e-5));
}

TEST_CASE("refitting and rebuilding give the same hits, whatever frame came before") {
  const auto scene = crash_scene();
  const Engine rebuilt = make_embree_engine(scene, Acceleration::rebuild, 2);
  const Engine refitted = make_embree_engine(scene, Acceleration::refit, 2);
  const std::vector<Ray> rays = random_rays(20'000, 1);
  for (const std::int64_t frame : {std::int64_t{0}, frame_in_crash, frame_before_impact}) {
    CAPTURE(frame);
    const std::vector<Hit> a = rebuilt.intersect(frame, rays, RayKind::closest);
    const std::vector<Hit> b = refitted.intersect(frame, rays, RayKind::closest);
    std::size_t different = 0, hits = 0;
    for (std::size_t i = 0; i < rays.size(); ++i) {
      hits += a[i].triangle != no_triangle;
      different += a[i].triangle != b[i].triangle;
    }
    CHECK(hits > 5'000);
    CHECK(different <= 2); // of equal distance, on a shared edge
  }
}

TEST_CASE("hits agree with brute force in double precision at any scale, before and in the crash") {
  for (const float scale : {0.01f, 1.0f, 100.0f})
    for (const std::int64_t frame : {frame_before_impact, frame_in_crash}) {
      CAPTURE(scale);
      CAPTURE(frame);
      const auto scene = crash_scene(scale);
      const Engine engine = make_embree_engine(scene, Acceleration::rebuild, 2);
      const std::vector<Ray> rays = random_rays(20'000, scale);
      const std::vector<Hit> found = engine.intersect(frame, rays, RayKind::closest);
      const std::vector<Hit> any = engine.intersect(frame, rays, RayKind::any);
      const std::vector<Hit> expected = brute_force_hits(*scene, frame, rays);
      std::size_t different = 0, ties = 0, far = 0, occlusion = 0;
      for (std::size_t i = 0; i < rays.size(); ++i) {
        const Hit &a = found[i], &b = expected[i];
        occlusion += (any[i].triangle == no_triangle) != (b.triangle == no_triangle);
        if (a.triangle != b.triangle) {
          const bool tie = a.triangle != no_triangle && b.triangle != no_triangle
                           && std::fabs(a.t - b.t) <= 1e-5f * b.t;
          ++(tie ? ties : different);
        } else if (a.triangle != no_triangle) {
          far += std::fabs(a.t - b.t) > 1e-4f * b.t || std::fabs(a.u - b.u) > 1e-3f
                 || std::fabs(a.v - b.v) > 1e-3f;
        }
      }
      INFO("ties: ", ties);
      CHECK(different <= 2); // 99.99 % of 20 000
      CHECK(occlusion <= 2);
      CHECK(far <= 2); // rays along a surface
    }
}

TEST_CASE("u counts towards the second corner and v towards the third") {
  auto scene = std::make_shared<RenderScene>();
  scene->materials.resize(1);
  add_triangle(scene->mesh, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}, 0);
  for (const Acceleration acceleration : {Acceleration::rebuild, Acceleration::refit}) {
    const Engine engine = make_embree_engine(scene, acceleration, 1);
    const std::vector<Hit> hits =
        engine.intersect(0,
                         {{{0.5f, 0.25f, 2}, 0, {0, 0, -1}, infinite_distance},
                          {{2, 2, 2}, 0, {0, 0, -1}, infinite_distance},
                          {{0.5f, 0.25f, 2}, 0, {0, 0, -1}, 1.5f},
                          {{0.5f, 0.25f, 2}, 2.5f, {0, 0, -1}, infinite_distance}},
                         RayKind::closest);
    CHECK(hits[0].triangle == 0);
    CHECK(hits[0].t == doctest::Approx(2));
    CHECK(hits[0].u == doctest::Approx(0.5));
    CHECK(hits[0].v == doctest::Approx(0.25));
    CHECK(hits[1].triangle == no_triangle);
    CHECK(hits[2].triangle == no_triangle); // ends before
    CHECK(hits[3].triangle == no_triangle); // starts behind
  }
}

TEST_CASE("a vehicle of one triangle alone is rendered before and after the impact") {
  auto scene = std::make_shared<RenderScene>();
  scene->materials.resize(1);
  add_triangle(scene->mesh, {-1, -1, 0}, {-1, 1, 0}, {-0.5f, 0, 0.5f}, 0);
  scene->vehicle_vertices = 3;
  scene->vehicle_triangles = 1;
  scene->crush.front_x = -0.5f;
  scene->camera = camera_at({-1, -3, 1}, {-0.5f, 0, 0});
  for (const Acceleration acceleration : {Acceleration::rebuild, Acceleration::refit})
    for (const std::int64_t frame : {0, 40}) {
      FrameRequest request = small_request(frame);
      const FrameResult result = make_embree_engine(scene, acceleration, 2).render(request);
      CHECK(result.phases.back().work.count("hits") > 0);
      for (const Float3& radiance : result.radiance)
        REQUIRE(std::isfinite(luminance(radiance)));
    }
}

TEST_CASE("a diffuse plane under a constant sky reflects its albedo") {
  auto scene = std::make_shared<RenderScene>();
  scene->materials = {{{0.6f, 0.6f, 0.6f}, 0, 0.2f}};
  scene->light = constant_sky();
  add_plate(scene->mesh, 10, 0, 0);
  scene->camera = camera_above(5);
  FrameRequest request = small_request(0);
  request.samples = 16;
  const FrameResult result = make_embree_engine(scene, Acceleration::rebuild, 2).render(request);
  check_within_four_errors(result, 16, 0.6);
}

TEST_CASE("in a white furnace a closed convex body of albedo a reflects a") {
  auto scene = std::make_shared<RenderScene>();
  scene->materials = {{{0.8f, 0.8f, 0.8f}, 0, 0.2f}};
  scene->light = constant_sky();
  add_sphere(scene->mesh, {0, 0, 0}, 1, 24, 0);
  scene->camera = camera_above(10);
  scene->camera.half_width_tangent = 0.03f; // sees nothing else
  FrameRequest request = small_request(0);
  request.samples = 16;
  const FrameResult result = make_embree_engine(scene, Acceleration::rebuild, 2).render(request);
  check_within_four_errors(result, 16, 0.8);
}

TEST_CASE("a coat under a white sky neither creates light nor loses more than a rough coat may") {
  auto scene = std::make_shared<RenderScene>();
  scene->materials = {{{1, 1, 1}, 0.04f, 0.2f}};
  scene->light = constant_sky();
  add_plate(scene->mesh, 10, 0, 0);
  scene->camera = camera_above(5);
  FrameRequest request = small_request(0);
  request.samples = 256;
  const Average found =
      average(make_embree_engine(scene, Acceleration::rebuild, 2).render(request), 256);
  CHECK(found.mean <= 1 + 4 * found.standard_error);
  CHECK(found.mean >= 0.9);
}

TEST_CASE("the sun lights a diffuse plane by its cosine, and not under a plate") {
  auto scene = std::make_shared<RenderScene>();
  scene->materials = {{{0.5f, 0.5f, 0.5f}, 0, 0.2f}, {{0, 0, 0}, 0, 0.2f}};
  Light& light = scene->light;
  light.horizon = light.zenith = light.ground = {0, 0, 0};
  light.sun_irradiance = {2, 2, 2};
  light.to_sun = normalized({0.6f, 0, 0.8f});
  add_plate(scene->mesh, 10, 0, 0);
  scene->camera = camera_above(5);
  FrameRequest request = small_request(0);
  request.samples = 16;
  const FrameResult open = make_embree_engine(scene, Acceleration::rebuild, 2).render(request);
  check_within_four_errors(open, 16, 0.5 / std::acos(-1.0) * 2 * 0.8);

  add_plate(scene->mesh, 30, 20, 1); // above the camera: unseen, and between plane and sun
  const FrameResult shaded = make_embree_engine(scene, Acceleration::rebuild, 2).render(request);
  for (const Float3& radiance : shaded.radiance)
    REQUIRE(luminance(radiance) == 0);
  CHECK(shaded.phases.back().work.count("shadow_rays")
        >= shaded.phases.back().work.count("primary_rays"));
}

TEST_CASE("no bounces means direct light only") {
  auto scene = std::make_shared<RenderScene>();
  scene->materials = {{{0.5f, 0.5f, 0.5f}, 0, 0.2f}};
  scene->light = constant_sky(); // would only come by a bounce
  scene->light.sun_irradiance = {1, 1, 1};
  add_plate(scene->mesh, 10, 0, 0);
  scene->camera = camera_above(5);
  FrameRequest request = small_request(0);
  request.max_bounces = 0;
  const FrameResult result = make_embree_engine(scene, Acceleration::rebuild, 2).render(request);
  CHECK(result.phases.back().work.count("bounce_rays") == 0);
  check_within_four_errors(result, request.samples, 0.5 / std::acos(-1.0));
}

TEST_CASE("every ray is counted: hits are at most rays, shadow rays at most hits") {
  const Engine engine = make_embree_engine(crash_scene(), Acceleration::rebuild, 2);
  const FrameRequest request = small_request();
  const FrameResult result = engine.render(request);
  REQUIRE(result.phases.size() == 3);
  CHECK(result.phases[0].name == "deform");
  CHECK(result.phases[1].name == "build");
  CHECK(result.phases[2].name == "render");
  for (const Phase& phase : result.phases) {
    CHECK(phase.processor == Processor::cpu);
    CHECK(phase.end_to_end_s == phase.kernel_s);
    CHECK(phase.kernel_s > 0);
  }
  const Work& work = result.phases[2].work;
  CHECK(work.count("primary_rays") == 45 * 29 * 5);
  CHECK(work.count("hits") <= work.count("primary_rays") + work.count("bounce_rays"));
  CHECK(work.count("bounce_rays") <= work.count("hits"));
  CHECK(work.count("shadow_rays") <= work.count("hits"));
  CHECK(work.working_set_bytes > 0);
}

TEST_CASE("camera rays come pixel by pixel, all samples of each, and equal camera_ray()") {
  const auto scene = crash_scene();
  const Engine engine = make_embree_engine(scene, Acceleration::rebuild, 1);
  FrameRequest request = small_request();
  request.samples = 150; // more than a batch
  request.first_sample = 2;
  request.pixels = {17, 1300, 0};
  std::vector<Ray> expected;
  for (const std::uint32_t pixel : request.pixels)
    for (std::uint32_t sample = 2; sample < 152; ++sample)
      expected.push_back(camera_ray(scene->camera, request.width, request.height,
                                    {request.seed, frame_in_crash, pixel, sample}));
  CHECK(equal_bits(engine.camera_rays(request), expected));
}

TEST_CASE("the lanes of a vector register take the same step as one path alone, to the last bit") {
  // The image of the engine, path by path, from path_step() and the engine's own hits.
  const auto scene = crash_scene();
  const Engine engine = make_embree_engine(scene, Acceleration::rebuild, 1);
  FrameRequest request = small_request();
  request.samples = 1;
  const FrameResult result = engine.render(request);
  const std::vector<Float3> positions = positions_at(*scene, request.frame);
  const SceneView view{positions.data(),
                       scene->mesh.triangles.data(),
                       scene->mesh.materials.data(),
                       scene->materials.data(),
                       scene->camera,
                       scene->light};
  const std::vector<Ray> camera_rays = engine.camera_rays(request);
  std::size_t different = 0;
  for (std::uint32_t pixel = 0; pixel < camera_rays.size(); ++pixel) {
    const SampleKey key{request.seed, frame_in_crash, pixel, 0};
    Ray ray = camera_rays[pixel];
    Float3 radiance{0, 0, 0}, throughput{1, 1, 1};
    for (int bounce = 0;; ++bounce) {
      const Hit hit = engine.intersect(request.frame, {ray}, RayKind::closest)[0];
      if (hit.triangle == no_triangle) {
        radiance += throughput * sky_radiance(view.light, ray.direction);
        break;
      }
      const Step step = path_step(view, ray, hit, throughput, key, bounce, request.max_bounces);
      if (step.shadow.t_max > 0
          && engine.intersect(request.frame, {step.shadow}, RayKind::any)[0].triangle
                 == no_triangle)
        radiance += step.sun;
      if (!step.alive) break;
      ray = step.next;
      throughput = step.throughput;
    }
    different += std::memcmp(&radiance, &result.radiance[pixel], sizeof radiance) != 0;
  }
  CHECK(different == 0);
}

TEST_CASE("the sine and cosine of a part of a turn are the library's") {
  for (int i = 0; i <= 4096; ++i) {
    const float turn = static_cast<float>(i) / 4096;
    float sine, cosine;
    sine_cosine_of_turn(turn, sine, cosine);
    const double angle = 2 * std::acos(-1.0) * turn;
    REQUIRE(std::fabs(sine - std::sin(angle)) < 3e-7);
    REQUIRE(std::fabs(cosine - std::cos(angle)) < 3e-7);
  }
}

#if defined(__SSE__)
TEST_CASE("the caller's floating-point modes are as before after rendering and intersecting") {
  const unsigned modes = _mm_getcsr() & ~0x3Fu; // without the sticky exception flags
  const Engine engine = make_embree_engine(crash_scene(), Acceleration::rebuild, 2);
  engine.render(small_request());
  CHECK((_mm_getcsr() & ~0x3Fu) == modes);
  engine.intersect(1, random_rays(10, 1), RayKind::closest);
  CHECK((_mm_getcsr() & ~0x3Fu) == modes);
  {
    const FlushDenormals flush;
    CHECK((_mm_getcsr() & 0x8040u) == 0x8040u); // FTZ and DAZ
  }
  CHECK((_mm_getcsr() & ~0x3Fu) == modes);
}
#endif
