// AC3D files as modellers and TORCS write them.
#include "sim/errors.h"
#include "workloads/render/ac3d.h"

#include <doctest/doctest.h>

using namespace breakeven;
using namespace breakeven::render;

namespace {

const std::string head =
    "AC3Db\nMATERIAL \"red\" rgb 1 0 0 amb 0 0 0 emis 0 0 0 spec 0 0 0 shi 0 trans 0.5\n"
    "OBJECT world\nkids 1\n";
const std::string five_vertices = "numvert 5\n0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 2 0\n";

SourceMesh parse(const std::string& bytes) { return parse_ac3d(bytes, "a.ac"); }

std::string error_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("a strip of five corners is three triangles that face the same way") {
  const Mesh mesh = parse(head + "OBJECT poly\n" + five_vertices
                          + "numsurf 1\nSURF 0x34\nmat 0\nrefs 5\n0 0 0\n1 0 0\n2 0 0\n3 0 0\n"
                            "4 0 0\nkids 0\n")
                        .mesh;
  REQUIRE(mesh.triangles.size() == 3);
  for (const Triangle& t : mesh.triangles)
    CHECK(
        cross(mesh.positions[t.b] - mesh.positions[t.a], mesh.positions[t.c] - mesh.positions[t.a])
            .z
        > 0);
}

TEST_CASE("a polygon is a fan, and lines are left out") {
  const std::string corners = "0 0 0\n1 0 0\n3 0 0\n2 0 0\n";
  const SourceMesh mesh =
      parse(head + "OBJECT poly\n" + five_vertices + "numsurf 2\nSURF 0x20\nmat 0\nrefs 4\n"
            + corners + "SURF 0x22\nmat 0\nrefs 4\n" + corners + "kids 0\n");
  CHECK(mesh.mesh.triangles.size() == 2);
  REQUIRE(mesh.materials.size() == 1);
  CHECK(mesh.materials[0].name == "red");
  REQUIRE(mesh.materials[0].colour);
  CHECK(mesh.materials[0].colour->x == 1);
  CHECK(mesh.materials[0].opacity == 0.5f);
}

TEST_CASE("of TORCS's texture layers the base names the material, and shadows and skids do not") {
  const std::string surface = "numsurf 1\nSURF 0x34\nmat 0\nrefs 3\n0 1 1 .5 .5\n1 1 1 .5 .5\n"
                              "2 1 1 .5 .5\nkids 0\n";
  const auto name = [&](const std::string& textures) {
    return parse(head + "OBJECT poly\nname \"hull\"\n" + textures + five_vertices + surface)
        .materials.at(0)
        .name;
  };
  CHECK(name("texture \"dir/road.rgb\" base\ntexture \"shadow2.rgb\" tiled\n"
             "texture empty_texture_no_mapping skids\n")
        == "road.rgb");
  CHECK(name("texture \"road.rgb\"\n") == "road.rgb");
  CHECK(name("texture empty_texture_no_mapping base\n") == "red");
}

TEST_CASE("an object's place and turn apply to its kids") {
  // A quarter turn about z (columns: x -> y, y -> -x), then 10 along x; the kid is 1 along its x.
  const Mesh mesh =
      parse(head
            + "OBJECT group\nloc 10 0 0\nrot 0 1 0 -1 0 0 0 0 1\nkids 1\n"
              "OBJECT poly\nloc 1 0 0\n"
            + five_vertices + "numsurf 1\nSURF 0\nmat 0\nrefs 3\n0 0 0\n1 0 0\n2 0 0\nkids 0\n")
          .mesh;
  CHECK(mesh.positions[0].x == doctest::Approx(10));
  CHECK(mesh.positions[0].y == doctest::Approx(1));
  CHECK(mesh.positions[1].x == doctest::Approx(10)); // its (1, 0) turned to (0, 1)
  CHECK(mesh.positions[1].y == doctest::Approx(2));
}

TEST_CASE("what is wrong in an AC3D file is named by its line") {
  const std::string object = "OBJECT poly\n" + five_vertices; // lines 5 to 11
  const struct {
    std::string bytes, message;
  } cases[] = {
      {"solid\n", "a.ac:1: found no 'AC3D' at the start"},
      {head + "OBJECT poly\nnumvert 2\n0 0 0\n0 nan 0\n", "a.ac:8: found 'nan', expected a finite"},
      {head + "OBJECT poly\nnumvert 2\n0 0 0\n0 1\n", "a.ac:8: found 2 numbers, expected more"},
      {head + "OBJECT poly\nnumvert 2\n0 0 0\n", "a.ac:7: found the end of the file"},
      {head + "OBJECT poly\nnumvert -2\n", "a.ac:6: found '-2' after 'numvert'"},
      {head + "OBJECT poly\nnumvert 99999999999\n", "a.ac:6: found the end of the file"},
      {head + object + "SURF 0x10\nmat 0\nrefs 3\n0\n1\n5\n",
       "a.ac:17: found vertex '5', expected"},
      {head + object + "SURF 0x10\nmat 7\nrefs 3\n0\n1\n2\n", "a.ac:17: found material 7"},
      {head + object + "SURF green\n", "a.ac:12: found SURF 'green'"},
      {head + object + "kids\n", "a.ac:12: found 'kids' alone"},
  };
  for (const auto& one : cases) {
    const std::string message = error_of(one.bytes);
    CAPTURE(message);
    CHECK(message.starts_with(one.message));
  }
}

TEST_CASE("objects nested a million deep are read without a stack") {
  std::string deep = head;
  for (int i = 0; i < 1'000'000; ++i)
    deep += "OBJECT group\nkids 1\n";
  CHECK(error_of(deep).empty());
}
