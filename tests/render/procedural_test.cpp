#include "workloads/render/patches.h"
#include "workloads/render/procedural.h"
#include "workloads/render/settings.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <chrono>
#include <cmath>
#include <cstring>

using namespace breakeven::render;

namespace {

bool equal(const Mesh& a, const Mesh& b) {
  return a.positions.size() == b.positions.size() && a.triangles.size() == b.triangles.size()
         && std::memcmp(a.positions.data(), b.positions.data(), a.positions.size() * sizeof(Float3))
                == 0
         && std::memcmp(a.triangles.data(), b.triangles.data(),
                        a.triangles.size() * sizeof(Triangle))
                == 0
         && a.materials == b.materials;
}

Settings asking_for(std::int64_t triangles) {
  Settings settings;
  settings.triangles = triangles;
  return settings;
}

} // namespace

TEST_CASE("the car has a car's size, stands on the ground and is the same on both sides") {
  const SourceMesh car = procedural_car(60'000);
  Float3 low = car.mesh.positions[0], high = low;
  for (const Float3& p : car.mesh.positions) {
    low = minimum(low, p);
    high = maximum(high, p);
  }
  CHECK(high.x - low.x == doctest::Approx(4.45).epsilon(0.02));
  CHECK(high.y - low.y == doctest::Approx(2.1).epsilon(0.03)); // with mirrors
  CHECK(high.z == doctest::Approx(1.43).epsilon(0.02));
  CHECK(low.z == doctest::Approx(0).scale(1).epsilon(0.01));
  CHECK(high.y == doctest::Approx(-low.y));
}

TEST_CASE("the same scene comes out on one thread and on several") {
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const RenderScene one = make_scene(asking_for(100'000));
  omp_set_num_threads(4);
  const RenderScene four = make_scene(asking_for(100'000));
  omp_set_num_threads(threads);
  CHECK(equal(one.mesh, four.mesh));
}

TEST_CASE("most triangles are in the vehicle, and nearly all in a large scene") {
  const RenderScene small = make_scene(asking_for(50'000)), large = make_scene(asking_for(850'000));
  CHECK(small.vehicle_triangles * 2 > small.mesh.triangles.size());
  CHECK(large.vehicle_triangles > 0.85 * static_cast<double>(large.mesh.triangles.size()));
}

TEST_CASE("any number of triangles is met within 2 %") {
  for (std::int64_t triangles = 50'000; triangles < 2'000'000; triangles = triangles * 17 / 10) {
    CAPTURE(triangles);
    const auto made = static_cast<double>(make_scene(asking_for(triangles)).mesh.triangles.size());
    CHECK(made == doctest::Approx(static_cast<double>(triangles)).epsilon(0.02));
  }
}

TEST_CASE("every material of the scene has a look of its own and none is left to a palette") {
  for (const std::string& name : make_scene(asking_for(200'000)).material_names) {
    CAPTURE(name);
    CHECK(procedural_material(name));
  }
}

TEST_CASE("no triangle of the generated scene is without area") {
  const RenderScene scene = make_scene(asking_for(50'000));
  std::size_t without_area = 0;
  for (const Triangle& t : scene.mesh.triangles) {
    const Float3 a = scene.mesh.positions[t.a];
    const Float3 area = cross(scene.mesh.positions[t.b] - a, scene.mesh.positions[t.c] - a);
    without_area += length(area) > 0 ? 0 : 1;
  }
  CHECK(without_area == 0);
}

TEST_CASE("a patch counts its triangles before it makes them, collapsed rows included") {
  Patches patches;
  const auto material = patches.material("m");
  patches.ellipsoid(material, {0, 0, 0}, {1, 1, 1}, 8);
  patches.box(material, {0, 0, 0}, {1, 1, 1});
  for (const double density : {0.0, 3.0, 20.0}) {
    const SourceMesh mesh = patches.mesh_at(density);
    CHECK(mesh.mesh.triangles.size() == static_cast<std::size_t>(patches.triangles_at(density)));
    CHECK(mesh.mesh.materials.size() == mesh.mesh.triangles.size());
  }
}
