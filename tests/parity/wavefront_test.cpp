// The wavefront engine on the CPU: the same image on any number of threads, and radiance that can
// be worked out by hand.
#include "workloads/render/engine.h"
#include "workloads/render/shading.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace breakeven;
using namespace breakeven::render;

namespace {

std::uint32_t add_vertex(Mesh& mesh, Float3 position) {
  mesh.positions.push_back(position);
  return static_cast<std::uint32_t>(mesh.positions.size() - 1);
}

void add_quad(Mesh& mesh, Float3 a, Float3 b, Float3 c, Float3 d, std::uint32_t material) {
  const std::uint32_t first = add_vertex(mesh, a);
  for (const Float3 corner : {b, c, d})
    add_vertex(mesh, corner);
  mesh.triangles.push_back({first, first + 1, first + 2});
  mesh.triangles.push_back({first, first + 2, first + 3});
  mesh.materials.insert(mesh.materials.end(), 2, material);
}

void add_sphere(Mesh& mesh, Float3 centre, float radius, int rings, std::uint32_t material) {
  const int segments = 2 * rings;
  const auto first = static_cast<std::uint32_t>(mesh.positions.size());
  for (int ring = 0; ring <= rings; ++ring)
    for (int segment = 0; segment <= segments; ++segment) {
      const float polar = pi * static_cast<float>(ring) / static_cast<float>(rings);
      const float around = 2 * pi * static_cast<float>(segment) / static_cast<float>(segments);
      add_vertex(mesh, centre
                           + radius
                                 * Float3{std::sin(polar) * std::cos(around),
                                          std::sin(polar) * std::sin(around), std::cos(polar)});
    }
  const auto row = static_cast<std::uint32_t>(segments + 1);
  for (std::uint32_t ring = 0; ring < static_cast<std::uint32_t>(rings); ++ring)
    for (std::uint32_t segment = 0; segment + 1 < row; ++segment) {
      const std::uint32_t corner = first + ring * row + segment;
      mesh.triangles.push_back({corner, corner + row, corner + row + 1});
      mesh.triangles.push_back({corner, corner + row + 1, corner + 1});
      mesh.materials.insert(mesh.materials.end(), 2, material);
    }
}

Camera camera_at(Float3 position, Float3 target) {
  const Float3 forward = normalized(target - position);
  const Float3 right = normalized(cross(forward, {0, 0, 1}));
  return {position, right, cross(right, forward), forward, 0.6f};
}

/// A shiny ball, the moving part, on grey ground under sun and sky.
RenderScene ball_on_ground() {
  RenderScene scene;
  scene.materials = {{{0.7f, 0.2f, 0.1f}, 0.04f, 0.1f}, {{0.5f, 0.5f, 0.5f}, 0, 0.2f}};
  scene.material_names = {"paint", "ground"};
  add_sphere(scene.mesh, {0, 0, 1}, 1, 24, 0);
  scene.vehicle_vertices = static_cast<std::uint32_t>(scene.mesh.positions.size());
  scene.vehicle_triangles = static_cast<std::uint32_t>(scene.mesh.triangles.size());
  add_quad(scene.mesh, {-20, -20, 0}, {20, -20, 0}, {20, 20, 0}, {-20, 20, 0}, 1);
  scene.crush.front_x = 1;
  scene.crush.pole_x = 1.2f;
  scene.camera = camera_at({-3, -5, 2.5f}, {0.5f, 0, 0.8f});
  scene.light.to_sun = normalized({0.4f, -0.5f, 0.8f});
  return scene;
}

Light constant_sky(float radiance) {
  Light light;
  light.sun_irradiance = {0, 0, 0};
  light.horizon = light.zenith = light.ground = {radiance, radiance, radiance};
  return light;
}

FrameRequest request_of(int width, int height, int samples, int max_bounces) {
  FrameRequest request;
  request.width = width;
  request.height = height;
  request.samples = samples;
  request.max_bounces = max_bounces;
  request.seed = 17;
  return request;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

const Phase& phase_named(const FrameResult& result, const std::string& name) {
  const auto found = std::find_if(result.phases.begin(), result.phases.end(),
                                  [&](const Phase& phase) { return phase.name == name; });
  REQUIRE(found != result.phases.end());
  return *found;
}

struct BothBackEnds {
  explicit BothBackEnds(RenderScene made, Acceleration acceleration = Acceleration::rebuild)
      : scene(std::make_shared<const RenderScene>(std::move(made))),
        several(on_host::make_wavefront_engine(scene, acceleration)),
        one(on_serial::make_wavefront_engine(scene, acceleration)) {}
  std::shared_ptr<const RenderScene> scene;
  Engine several, one;
};

} // namespace

TEST_CASE("an image is the same to the bit on one thread and on several") {
  const BothBackEnds engines(ball_on_ground());
  for (const int bounces : {0, 1, 4})
    for (const std::int64_t frame : {0, 20}) {
      CAPTURE(bounces);
      CAPTURE(frame);
      FrameRequest request = request_of(33, 17, 5, bounces);
      request.frame = frame;
      request.want_squares = true;
      const FrameResult a = engines.several.render(request), b = engines.one.render(request);
      CHECK(a.radiance.size() == 33 * 17);
      CHECK(same_bits(a.radiance, b.radiance));
      CHECK(same_bits(a.luminance_square_mean, b.luminance_square_mean));
      CHECK(phase_named(a, "intersect").work.count("node_visits")
            == phase_named(b, "intersect").work.count("node_visits"));
    }
}

TEST_CASE("requested pixels equal the same pixels of the whole image, in the order asked") {
  const BothBackEnds engines(ball_on_ground());
  FrameRequest request = request_of(33, 17, 3, 2);
  const std::vector<Float3> whole = engines.several.render(request).radiance;
  request.pixels = {560, 3, 100, 101, 7, 100};
  const std::vector<Float3> some = engines.several.render(request).radiance;
  REQUIRE(some.size() == request.pixels.size());
  for (std::size_t i = 0; i < some.size(); ++i)
    CHECK(std::memcmp(&some[i], &whole[request.pixels[i]], sizeof(Float3)) == 0);
}

TEST_CASE("frames do not depend on which frames came before, rebuilt or refitted") {
  for (const Acceleration acceleration : {Acceleration::rebuild, Acceleration::refit}) {
    const BothBackEnds engines(ball_on_ground(), acceleration);
    FrameRequest request = request_of(32, 20, 2, 3);
    const std::vector<Float3> first = engines.several.render(request).radiance;
    request.frame = 30;
    const std::vector<Float3> later = engines.several.render(request).radiance;
    CHECK_FALSE(same_bits(first, later));
    CHECK(same_bits(later, engines.one.render(request).radiance)); // its first
    request.frame = 0;
    CHECK(same_bits(first, engines.several.render(request).radiance));
  }
}

TEST_CASE("camera rays come pixel by pixel, all samples of each, and equal camera_ray()") {
  const BothBackEnds engines(ball_on_ground());
  FrameRequest request = request_of(13, 7, 2, 0);
  request.first_sample = 4;
  request.frame = 3;
  const std::vector<Ray> rays = engines.several.camera_rays(request);
  REQUIRE(rays.size() == 2 * 13 * 7);
  for (std::uint32_t sample = 0; sample < 2; ++sample)
    for (std::uint32_t pixel = 0; pixel < 13 * 7; ++pixel) {
      const Ray expected = camera_ray(engines.scene->camera, 13, 7, {17, 3, pixel, 4 + sample});
      CHECK(std::memcmp(&expected, &rays[pixel * 2 + sample], sizeof(Ray)) == 0);
    }
}

TEST_CASE("more paths than fit in flight give the sum of their parts") {
  const BothBackEnds engines(ball_on_ground());
  // 64 x 48 pixels x 400 samples are 1.2 million paths: two waves, the second beginning mid-image.
  FrameRequest request = request_of(64, 48, 400, 0);
  const std::vector<Float3> all = engines.several.render(request).radiance;
  request.samples = 200;
  const std::vector<Float3> first = engines.several.render(request).radiance;
  request.first_sample = 200;
  const std::vector<Float3> second = engines.several.render(request).radiance;
  for (std::size_t i = 0; i < all.size(); ++i)
    CHECK(all[i].x == doctest::Approx(0.5f * (first[i].x + second[i].x)).epsilon(1e-4));
}

TEST_CASE("an open plane under a constant sky reflects albedo times the sky") {
  RenderScene scene;
  scene.materials = {{{0.6f, 0.6f, 0.6f}, 0, 0.2f}};
  add_quad(scene.mesh, {-50, -50, 0}, {50, -50, 0}, {50, 50, 0}, {-50, 50, 0}, 0);
  scene.camera = camera_at({0, -1, 3}, {0, 0, 0});
  scene.light = constant_sky(2);
  const BothBackEnds engines(std::move(scene));
  // Cosine-distributed directions cancel the cosine: each sample is 0.6 x 2 exactly but for
  // rounding.
  for (const Float3 radiance : engines.several.render(request_of(16, 16, 4, 1)).radiance)
    CHECK(radiance.y == doctest::Approx(1.2f).epsilon(1e-5));
}

TEST_CASE("direct light alone leaves a plane with the sun at its irradiance over pi") {
  RenderScene scene;
  scene.materials = {{{0.5f, 0.5f, 0.5f}, 0, 0.2f}};
  add_quad(scene.mesh, {-50, -50, 0}, {50, -50, 0}, {50, 50, 0}, {-50, 50, 0}, 0);
  scene.camera = camera_at({0, -1, 3}, {0, 0, 0});
  scene.light = constant_sky(0);
  scene.light.sun_irradiance = {3, 3, 3};
  scene.light.to_sun = normalized({0, 0.6f, 0.8f});
  scene.light.sun_cosine = 0.9999999f;
  const BothBackEnds engines(std::move(scene));
  // 0.5 / pi x 3 x cos = 0.5 / pi x 3 x 0.8
  const float expected = 0.5f / pi * 3 * 0.8f;
  for (const Float3 radiance : engines.several.render(request_of(16, 16, 4, 0)).radiance)
    CHECK(radiance.y == doctest::Approx(expected).epsilon(1e-3));
}

TEST_CASE("no light leaks into a closed shell") {
  // Only the one ray in a million that slips between two triangles may see the sky.
  RenderScene scene;
  scene.materials = {{{0.9f, 0.9f, 0.9f}, 0, 0.2f}};
  add_sphere(scene.mesh, {0, 0, 0}, 2, 16, 0);
  scene.camera = camera_at({0, 0, 0}, {1, 0, 0});
  scene.light = constant_sky(1);
  scene.light.sun_irradiance = {5, 5, 5};
  const BothBackEnds engines(std::move(scene));
  double leaked = 0;
  for (const Float3 radiance : engines.several.render(request_of(32, 32, 16, 8)).radiance)
    leaked += luminance(radiance);
  CHECK(leaked / (32 * 32) < 1e-4);
}

TEST_CASE("a white furnace stays white: a ball of albedo 1 cannot be told from the sky") {
  RenderScene scene;
  scene.materials = {{{1, 1, 1}, 0, 0.2f}};
  add_sphere(scene.mesh, {0, 0, 0}, 1, 24, 0);
  scene.camera = camera_at({0, -3, 0}, {0, 0, 0});
  scene.light = constant_sky(1);
  const BothBackEnds engines(std::move(scene));
  FrameRequest request = request_of(24, 24, 64, 64);
  request.want_squares = true;
  const FrameResult result = engines.several.render(request);
  double mean = 0, variance = 0;
  for (std::size_t i = 0; i < result.radiance.size(); ++i) {
    const double value = luminance(result.radiance[i]);
    mean += value / 576;
    variance += std::max(0.0, result.luminance_square_mean[i] - value * value) / (64.0 * 576 * 576);
  }
  CHECK(std::fabs(mean - 1) < 4 * std::sqrt(variance) + 1e-4);
}

TEST_CASE("counts are consistent: rays, hits, lane use, bytes and launches") {
  const BothBackEnds engines(ball_on_ground());
  const FrameResult result = engines.several.render(request_of(64, 32, 2, 3));
  const Work& intersect = phase_named(result, "intersect").work;
  const Work& occlude = phase_named(result, "occlude").work;
  const Work& shade = phase_named(result, "shade").work;
  CHECK(intersect.count("primary_rays") == 64 * 32 * 2);
  CHECK(intersect.count("bounce_rays") > 0);
  CHECK(intersect.count("bounce_rays") < 3 * 64 * 32 * 2);
  CHECK(occlude.count("shadow_rays") <= shade.count("hits"));
  CHECK(shade.count("hits") == intersect.count("hits"));
  CHECK(intersect.count("node_visits")
        == intersect.count("primary_node_visits") + intersect.count("bounce_node_visits"));
  for (const Work* work : {&intersect, &occlude, &shade}) {
    CHECK(work->simt_efficiency > 0);
    CHECK(work->simt_efficiency <= 1);
    CHECK(work->lane_instructions > 0);
    CHECK(work->cached_bytes > 0);
    CHECK(work->working_set_bytes > 0);
  }
  CHECK(intersect.launches == 4); // first hits and three bounces
  CHECK(intersect.parallel_width == 64 * 32 * 2);
  CHECK(phase_named(result, "download").work.device_to_host_bytes == 64 * 32 * 12);
  REQUIRE(engines.several.start_phases.size() == 1);
  CHECK(engines.several.start_phases[0].work.host_to_device_bytes > 0);
  CHECK(engines.several.start_phases[0].repeats == Repeats::per_job);
}
