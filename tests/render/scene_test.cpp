#include "sim/errors.h"
#include "tests/test_folder.h"
#include "workloads/partial_file.h"
#include "workloads/render/image.h"
#include "workloads/render/procedural.h"
#include "workloads/render/settings.h"

#include <doctest/doctest.h>
#include <png.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace breakeven;
using namespace breakeven::render;

namespace {

Settings small(double scale = 1) {
  Settings settings;
  settings.triangles = 50'000;
  settings.frames = {1};
  settings.scale = scale;
  return settings;
}

} // namespace

TEST_CASE("the procedural scene has the triangles that were asked for, within 2 %") {
  for (const std::int64_t triangles : {50'000, 200'000, 850'000}) {
    CAPTURE(triangles);
    Settings settings = small();
    settings.triangles = triangles;
    const auto made = static_cast<double>(make_scene(settings).mesh.triangles.size());
    CHECK(std::fabs(made / static_cast<double>(triangles) - 1) < 0.02);
  }
}

TEST_CASE("every index of a scene is in range and every vertex finite") {
  const RenderScene scene = make_scene(small());
  for (const Triangle& triangle : scene.mesh.triangles)
    for (const std::uint32_t index : {triangle.a, triangle.b, triangle.c})
      REQUIRE(index < scene.mesh.positions.size());
  for (const std::uint32_t material : scene.mesh.materials)
    REQUIRE(material < scene.materials.size());
  for (const Float3& position : scene.mesh.positions)
    REQUIRE(std::isfinite(position.x + position.y + position.z));
  CHECK(scene.vehicle_vertices > 0);
  CHECK(scene.vehicle_triangles < scene.mesh.triangles.size());
}

TEST_CASE("the vehicle's triangles use the vehicle's vertices and no others") {
  const RenderScene scene = make_scene(small());
  for (std::size_t i = 0; i < scene.mesh.triangles.size(); ++i) {
    const Triangle& triangle = scene.mesh.triangles[i];
    const bool vehicle = i < scene.vehicle_triangles;
    for (const std::uint32_t index : {triangle.a, triangle.b, triangle.c})
      REQUIRE((index < scene.vehicle_vertices) == vehicle);
  }
}

TEST_CASE("before the impact the vehicle is rigid, at the impact its speed does not jump") {
  Crush crush;
  crush.front_x = -0.6f;
  const Float3 rest{-2, 0.3f, 0.5f};
  const float impact_s = (crush.pole_x - crush.front_x) / crush.speed;
  CHECK(crushed(crush, rest, 0).x == rest.x);
  CHECK(crushed(crush, rest, impact_s / 2).x
        == doctest::Approx(rest.x + crush.speed * impact_s / 2));
  const float step = 1e-4f;
  const float before =
      (crushed(crush, rest, impact_s).x - crushed(crush, rest, impact_s - step).x) / step;
  const float after =
      (crushed(crush, rest, impact_s + step).x - crushed(crush, rest, impact_s).x) / step;
  CHECK(before == doctest::Approx(crush.speed).epsilon(0.02));
  CHECK(after == doctest::Approx(crush.speed).epsilon(0.02));
}

TEST_CASE("the crush folds nothing over and comes to rest after its depth") {
  Crush crush;
  crush.front_x = -0.6f;
  crush.depth = crush.zone / 2;
  for (const float beside : {0.0f, 0.2f, 0.6f}) {
    float last = 1e9f;
    for (float behind = 0; behind < 3; behind += 0.01f) {
      const float x = crushed(crush, {crush.front_x - behind, beside, 0.5f}, 10).x;
      CHECK(x <= last); // a point further behind stays further behind
      last = x;
    }
  }
  // The undamaged rear has moved by the gap and the depth.
  const Float3 rear{-4, 0, 0.5f};
  CHECK(crushed(crush, rear, 10).x == doctest::Approx(rear.x + 0.6 + crush.depth));
}

TEST_CASE("the front's middle stops at the pole") {
  Crush crush;
  crush.front_x = -0.6f;
  for (float time_s = 0; time_s < 0.5f; time_s += 0.01f)
    CHECK(crushed(crush, {crush.front_x, crush.pole_y, 0.5f}, time_s).x <= crush.pole_x + 1e-5f);
}

TEST_CASE("a scene at another scale is the same scene, larger or smaller") {
  const RenderScene one = make_scene(small(1));
  for (const double scale : {0.01, 100.0}) {
    const RenderScene scaled = make_scene(small(scale));
    REQUIRE(scaled.mesh.triangles.size() == one.mesh.triangles.size());
    for (std::size_t i = 0; i < one.mesh.positions.size(); i += 97)
      CHECK(scaled.mesh.positions[i].x
            == doctest::Approx(one.mesh.positions[i].x * scale).epsilon(1e-5));
    CHECK(scaled.crush.depth == doctest::Approx(one.crush.depth * scale));
    CHECK(scaled.camera.forward.x == doctest::Approx(one.camera.forward.x));
  }
}

TEST_CASE("the camera's axes are orthonormal") {
  const Camera camera = make_scene(small()).camera;
  CHECK(length(camera.forward) == doctest::Approx(1));
  CHECK(length(camera.right) == doctest::Approx(1));
  CHECK(dot(camera.right, camera.up) == doctest::Approx(0));
  CHECK(dot(camera.right, camera.forward) == doctest::Approx(0));
  CHECK(cross(camera.right, camera.forward).z * camera.up.z > 0);
}

TEST_CASE("a PNG decodes to the pixels that were encoded, the same bytes every time") {
  const std::vector<Float3> radiance{
      {0, 0, 0}, {1, 0, 0}, {0, 0.5f, 0}, {std::nanf(""), 100, 0.18f}, {0.18f, 0.18f, 0.18f},
      {-1, 0, 0}};
  const std::string png = encode_png(3, 2, radiance);
  CHECK(png == encode_png(3, 2, radiance));
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&image, png.data(), png.size()));
  image.format = PNG_FORMAT_RGB;
  REQUIRE(image.width == 3);
  REQUIRE(image.height == 2);
  std::vector<unsigned char> pixels(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr));
  CHECK(pixels[0] == 0);
  CHECK(pixels[9] == 0);    // NaN shows as black
  CHECK(pixels[10] == 255); // over-exposed
  CHECK(pixels[12] == pixels[13]);
  // sRGB of 0.18 linear: 1.055 x 0.18^(1/2.4) - 0.055 = 0.4614, times 255 = 117.6.
  CHECK(pixels[12] >= 117);
  CHECK(pixels[12] <= 118);
}

TEST_CASE("a PFM reads back to the bit, and one that is cut short is refused") {
  const TestFolder folder;
  const std::filesystem::path file = folder / "a.pfm";
  const std::vector<Float3> radiance{{0.1f, 2, -3}, {1e30f, 1e-30f, 0}, {4, 5, 6}, {7, 8, 9}};
  const std::string pfm = encode_pfm(2, 2, radiance);
  write_whole_file(file, pfm);
  const Picture picture = read_pfm(file);
  CHECK(picture.width == 2);
  CHECK(std::memcmp(picture.radiance.data(), radiance.data(), sizeof(Float3) * 4) == 0);
  write_whole_file(file, pfm.substr(0, pfm.size() - 1));
  CHECK_THROWS_AS(read_pfm(file), BadInput);
  CHECK_THROWS_AS(write_whole_file(file / "b.png", pfm), Failure);
}
