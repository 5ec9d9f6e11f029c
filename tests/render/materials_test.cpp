#include "workloads/render/materials.h"

#include <doctest/doctest.h>

using namespace breakeven::render;

TEST_CASE("a pattern matches with * for any text, ? for one character, in any case") {
  CHECK(matches("road", "Road"));
  CHECK(matches("tr-road*", "tr-road1_n.rgb"));
  CHECK(matches("*.rgb", "a.rgb"));
  CHECK(matches("*", ""));
  CHECK(matches("a*b*c", "aXXbYYbZc"));
  CHECK(matches("building?.rgb", "building7.rgb"));
  CHECK_FALSE(matches("building?.rgb", "building.rgb"));
  CHECK_FALSE(matches("road", "roads"));
  CHECK_FALSE(matches("", "a"));
  CHECK_FALSE(matches("a*b", "acc"));
}

TEST_CASE("a pattern of many stars does not take for ever") {
  CHECK_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

TEST_CASE("a stated colour is kept, within what can be reflected") {
  const Material material = default_material({"Paint", Float3{0.2f, 5, -1}, 1}, 0);
  CHECK(material.albedo.x == 0.2f);
  CHECK(material.albedo.y == 0.9f);
  CHECK(material.albedo.z == 0);
  CHECK(material.coat_reflectance == 0);
}

TEST_CASE("names tell glass from grass, and see-through is glass") {
  const Material glass = default_material({"Windows", {}, 1}, 0);
  CHECK(glass.coat_reflectance > 0);
  CHECK(default_material({"any", Float3{1, 1, 1}, 0.3f}, 0).albedo.x == glass.albedo.x);
  const Material grass = default_material({"grass-aa.rgb", {}, 1}, 0);
  CHECK(grass.albedo.y > grass.albedo.x);
  CHECK(default_material({"street.png", {}, 1}, 0).albedo.y < 0.12f); // not a tree
}

TEST_CASE("neighbouring parts without a name that tells get different paints") {
  CHECK(default_material({"Body", {}, 1}, 0).albedo.x
        != default_material({"Body", {}, 1}, 1).albedo.x);
}

TEST_CASE("of two overrides that match the first wins") {
  RenderScene scene;
  scene.materials.resize(2);
  scene.material_names = {"hood", "roof"};
  MaterialOverride hood, all;
  hood.match = "hood";
  hood.material.albedo = {0.1f, 0.1f, 0.1f};
  all.match = "*";
  all.material.albedo = {0.2f, 0.2f, 0.2f};
  apply_overrides({hood, all}, scene);
  CHECK(scene.materials[0].albedo.x == 0.1f);
  CHECK(scene.materials[1].albedo.x == 0.2f);
}
