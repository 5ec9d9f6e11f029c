// The GPU side's hierarchy, built on both host back ends: its structure, and its hits against every
// triangle tested in double precision.
#include "workloads/render/brute_force.h"
#include "workloads/render/bvh.h"
#include "workloads/render/shading.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

using namespace breakeven;
using namespace breakeven::render;

namespace {

using Generator = std::mt19937;

float uniform(Generator& generator, float low, float high) {
  // Not std::uniform_real_distribution, whose numbers depend on the library.
  return low + (high - low) * static_cast<float>(generator() >> 8) * 0x1p-24f;
}

Float3 point_in(Generator& generator, float size) {
  return {uniform(generator, -size, size), uniform(generator, -size, size),
          uniform(generator, -size, size)};
}

Float3 direction_of(Generator& generator) {
  for (;;) {
    const Float3 point = point_in(generator, 1);
    if (length(point) > 0.01f && length(point) < 1) return normalized(point);
  }
}

void add_triangle(Mesh& mesh, Float3 a, Float3 b, Float3 c) {
  const auto first = static_cast<std::uint32_t>(mesh.positions.size());
  mesh.positions.insert(mesh.positions.end(), {a, b, c});
  mesh.triangles.push_back({first, first + 1, first + 2});
  mesh.materials.push_back(0);
}

/// `count` triangles of about `edge` in a cube of half-width `size`.
Mesh soup(int count, float size, float edge, std::uint32_t seed) {
  Generator generator(seed);
  Mesh mesh;
  for (int i = 0; i < count; ++i) {
    const Float3 centre = point_in(generator, size);
    add_triangle(mesh, centre + point_in(generator, edge), centre + point_in(generator, edge),
                 centre + point_in(generator, edge));
  }
  return mesh;
}

Mesh copies(int count) {
  Mesh mesh;
  for (int i = 0; i < count; ++i)
    add_triangle(mesh, {-0.5f, -0.5f, 0.1f}, {0.5f, -0.5f, 0.1f}, {0, 0.5f, 0.1f});
  return mesh;
}

/// A flat grid: boxes without thickness, edges shared, planes that axis-parallel rays lie in.
Mesh flat_grid(int cells) {
  Mesh mesh;
  for (int y = 0; y < cells; ++y)
    for (int x = 0; x < cells; ++x) {
      const float left = static_cast<float>(x) / static_cast<float>(cells) - 0.5f;
      const float low = static_cast<float>(y) / static_cast<float>(cells) - 0.5f;
      const float step = 1.0f / static_cast<float>(cells);
      add_triangle(mesh, {left, low, 0}, {left + step, low, 0}, {left, low + step, 0});
      add_triangle(mesh, {left + step, low, 0}, {left + step, low + step, 0},
                   {left, low + step, 0});
    }
  return mesh;
}

/// Triangles that double in size along a line: the worst case for the height of a tree that joins
/// what is small first.
Mesh doubling_line() {
  Mesh mesh;
  for (int i = 0; i < 120; ++i) {
    const float at = std::exp2(static_cast<float>(i - 60));
    add_triangle(mesh, {at, 0, 0}, {at, at * 0.1f, 0}, {at, 0, at * 0.1f});
  }
  return mesh;
}

Mesh degenerate() {
  Mesh mesh = soup(50, 1, 0.3f, 3);
  for (int i = 0; i < 20; ++i) {
    const Float3 point{0.1f * static_cast<float>(i), 0, 0};
    add_triangle(mesh, point, point, point);
    add_triangle(mesh, point, point + Float3{0, 1, 0}, point + Float3{0, 2, 0});
  }
  return mesh;
}

struct Named {
  const char* name;
  Mesh mesh;
  float size;
};

std::vector<Named> meshes() {
  return {{"one triangle", soup(1, 0.2f, 1, 1), 1},
          {"two triangles", soup(2, 0.5f, 1, 2), 1},
          {"five triangles", soup(5, 0.5f, 1, 2), 1},
          {"a soup of 1000", soup(1000, 1, 0.2f, 4), 1},
          {"a soup of 3000 at scale 0.01", soup(3000, 0.01f, 0.001f, 5), 0.01f},
          {"a soup of 3000 at scale 100", soup(3000, 100, 10, 6), 100},
          {"700 identical triangles", copies(700), 1},
          {"a flat grid", flat_grid(20), 1},
          {"points and needles among triangles", degenerate(), 2},
          {"a line of doubling sizes", doubling_line(), 1}};
}

std::vector<Ray> test_rays(float size, int count, std::uint32_t seed) {
  Generator generator(seed);
  const Float3 axes[] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {-0.0f, 0, -1}};
  std::vector<Ray> rays;
  for (int i = 0; i < count; ++i) {
    const Float3 direction = i % 4 == 0 ? axes[(i / 4) % 6] : direction_of(generator);
    rays.push_back({point_in(generator, 1.5f * size), 0, direction, infinite_distance});
    if (i % 7 == 0) rays.back().t_max = size; // some end inside the scene
  }
  return rays;
}

RenderScene scene_of(Mesh mesh) {
  RenderScene scene;
  scene.mesh = std::move(mesh);
  scene.materials.resize(1);
  scene.material_names = {"grey"};
  return scene;
}

bool contains(const Box& outer, const Box& inner) {
  return outer.low.x <= inner.low.x && outer.low.y <= inner.low.y && outer.low.z <= inner.low.z
         && outer.high.x >= inner.high.x && outer.high.y >= inner.high.y
         && outer.high.z >= inner.high.z;
}

Box box_of(const Mesh& mesh, std::uint32_t index) {
  const Triangle t = mesh.triangles[index];
  const Float3 a = mesh.positions[t.a], b = mesh.positions[t.b], c = mesh.positions[t.c];
  return {minimum(a, minimum(b, c)), maximum(a, maximum(b, c))};
}

/// Walks the whole tree and counts what is wrong with it.
struct Inspection {
  const Mesh& mesh;
  const BvhCopy& bvh;
  std::vector<int> seen = std::vector<int>(mesh.triangles.size());
  int boxes_too_small = 0, height = 0;

  void walk(std::uint32_t reference, const Box& box, int depth) {
    height = std::max(height, depth);
    if (is_leaf(reference)) {
      for (std::uint32_t i = 0; i < leaf_count(reference); ++i) {
        const auto index = bits_of(bvh.triangles.at(leaf_first(reference) + i).corner.w);
        ++seen.at(index);
        boxes_too_small += !contains(box, box_of(mesh, index));
      }
      return;
    }
    const Node& node = bvh.nodes.at(reference);
    walk_child(node.children.left, left_box(node), box, depth);
    walk_child(node.children.right, right_box(node), box, depth);
  }
  void walk_child(std::uint32_t reference, const Box& own, const Box& outer, int depth) {
    if (own.low.x > own.high.x) return; // the empty box beside a lonely leaf
    boxes_too_small += !contains(outer, own);
    walk(reference, own, depth + 1);
  }
};

/// Whether a hit is so near an edge that single and double precision may disagree about it.
bool near_edge(const Hit& hit) {
  return hit.triangle != no_triangle && std::min(hit.u, std::min(hit.v, 1 - hit.u - hit.v)) < 1e-4f;
}

/// Rays whose answers differ though no rounding explains it.
std::size_t wrong_hits(const std::vector<Hit>& expected, const std::vector<Hit>& found) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].triangle == found[i].triangle) continue;
    if (near_edge(expected[i]) || near_edge(found[i])) continue;
    const bool both = expected[i].triangle != no_triangle && found[i].triangle != no_triangle;
    wrong += !(both && std::fabs(expected[i].t - found[i].t) <= 1e-5f * expected[i].t);
  }
  return wrong;
}

bool same_bits(const std::vector<Hit>& a, const std::vector<Hit>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Hit)) == 0;
}

} // namespace

TEST_CASE("every triangle is in exactly one leaf and every box contains what is below it") {
  for (const Named& named : meshes()) {
    CAPTURE(named.name);
    const BvhCopy bvh = on_host::build_bvh(named.mesh);
    Inspection inspection{named.mesh, bvh};
    const Box everything{{-no_bound, -no_bound, -no_bound}, {no_bound, no_bound, no_bound}};
    inspection.walk(0, everything, 0);
    CHECK(inspection.boxes_too_small == 0);
    for (const int times : inspection.seen)
      CHECK(times == 1);
    CHECK(inspection.height <= bvh.height + 1); // a lonely leaf still has a node above it
    CHECK(bvh.height <= highest_tree);
  }
}

TEST_CASE("identical triangles are halved in every round of building") {
  // 700 -> 350 -> 175 -> 88 -> 44 -> 22 -> 11 -> 6 -> 3 -> 2 -> 1
  CHECK(on_host::build_bvh(copies(700)).rounds == 10);
}

TEST_CASE("a tree that would be too high for the stack is built again, lower") {
  // Joining what is small first gives one level a triangle here: 120, with 64 allowed.
  const Mesh mesh = doubling_line();
  const BvhCopy bvh = on_host::build_bvh(mesh);
  CHECK(mesh.triangles.size() > highest_tree + 1);
  CHECK(bvh.height <= highest_tree);
  CHECK(bvh.rounds < 64);
}

TEST_CASE("both host back ends build the same tree to the bit") {
  for (const Named& named : meshes()) {
    CAPTURE(named.name);
    const BvhCopy a = on_host::build_bvh(named.mesh), b = on_serial::build_bvh(named.mesh);
    REQUIRE(a.nodes.size() == b.nodes.size());
    CHECK(std::memcmp(a.nodes.data(), b.nodes.data(), a.nodes.size() * sizeof(Node)) == 0);
    CHECK(std::memcmp(a.triangles.data(), b.triangles.data(),
                      a.triangles.size() * sizeof(LeafTriangle))
          == 0);
  }
}

TEST_CASE("nearest hits are those of testing every triangle in double precision") {
  for (const Named& named : meshes()) {
    CAPTURE(named.name);
    const auto scene = std::make_shared<const RenderScene>(scene_of(named.mesh));
    const Engine engine = on_host::make_wavefront_engine(scene, Acceleration::rebuild);
    const std::vector<Ray> rays = test_rays(named.size, 2000, 11);
    const std::vector<Hit> expected = brute_force_hits(*scene, 0, rays);
    const std::vector<Hit> found = engine.intersect(0, rays, RayKind::closest);
    CHECK(wrong_hits(expected, found) == 0);
  }
}

TEST_CASE("any-hit finds something exactly where nearest-hit does") {
  for (const Named& named : meshes()) {
    CAPTURE(named.name);
    const auto scene = std::make_shared<const RenderScene>(scene_of(named.mesh));
    const Engine engine = on_host::make_wavefront_engine(scene, Acceleration::rebuild);
    const std::vector<Ray> rays = test_rays(named.size, 2000, 12);
    const std::vector<Hit> nearest = engine.intersect(0, rays, RayKind::closest);
    const std::vector<Hit> any = engine.intersect(0, rays, RayKind::any);
    std::size_t different = 0;
    for (std::size_t i = 0; i < rays.size(); ++i)
      different += (nearest[i].triangle == no_triangle) != (any[i].triangle == no_triangle);
    CHECK(different == 0);
  }
}

TEST_CASE("of triangles at one distance the lowest index is hit") {
  const auto scene = std::make_shared<const RenderScene>(scene_of(copies(700)));
  const Engine engine = on_host::make_wavefront_engine(scene, Acceleration::rebuild);
  const std::vector<Hit> hits =
      engine.intersect(0, {{{0, 0, 1}, 0, {0, 0, -1}, infinite_distance}}, RayKind::closest);
  REQUIRE(hits.size() == 1);
  CHECK(hits[0].triangle == 0);
  CHECK(hits[0].t == doctest::Approx(0.9f));
}

TEST_CASE("an axis-parallel ray in the plane of a box's side is not lost") {
  // Straight down onto the vertices' grid lines: the origin lies exactly in sides of many boxes.
  const auto scene = std::make_shared<const RenderScene>(scene_of(flat_grid(16)));
  const Engine engine = on_host::make_wavefront_engine(scene, Acceleration::rebuild);
  std::vector<Ray> rays;
  for (int y = 1; y < 16; ++y)
    for (int x = 1; x < 16; ++x)
      rays.push_back({{static_cast<float>(x) / 16 - 0.5f, static_cast<float>(y) / 16 - 0.5f, 1},
                      0,
                      {0, 0, -1},
                      infinite_distance});
  for (const Hit& hit : engine.intersect(0, rays, RayKind::closest))
    CHECK(hit.t == 1.0f);
}

TEST_CASE("nothing is hit at or beyond t_max, or at or before t_min") {
  const auto scene = std::make_shared<const RenderScene>(scene_of(copies(1)));
  const Engine engine = on_host::make_wavefront_engine(scene, Acceleration::rebuild);
  const Float3 above{0, 0, 1.1f}, down{0, 0, -1};
  const float t = engine.intersect(0, {{above, 0, down, infinite_distance}}, RayKind::closest)[0].t;
  const std::vector<Hit> hits = engine.intersect(
      0, {{above, 0, down, t}, {above, t, down, infinite_distance}, {above, 0, down, t * 1.001f}},
      RayKind::closest);
  CHECK(hits[0].triangle == no_triangle);
  CHECK(hits[1].triangle == no_triangle);
  CHECK(hits[2].triangle == 0);
}

TEST_CASE("a refitted tree gives the hits of a rebuilt one to the bit") {
  RenderScene moving = scene_of(soup(2000, 1, 0.1f, 9));
  moving.vehicle_vertices = 3000;
  moving.vehicle_triangles = 1000;
  moving.crush.front_x = 1.1f;
  moving.crush.pole_x = 1.3f;
  const auto scene = std::make_shared<const RenderScene>(moving);
  const Engine rebuilt = on_host::make_wavefront_engine(scene, Acceleration::rebuild);
  const Engine refitted = on_host::make_wavefront_engine(scene, Acceleration::refit);
  const std::vector<Ray> rays = test_rays(1, 4000, 13);
  for (const std::int64_t frame : {0, 5, 40, 2}) {
    CAPTURE(frame);
    const std::vector<Hit> hits = rebuilt.intersect(frame, rays, RayKind::closest);
    CHECK(same_bits(hits, refitted.intersect(frame, rays, RayKind::closest)));
    CHECK(wrong_hits(brute_force_hits(*scene, frame, rays), hits) == 0);
  }
}
