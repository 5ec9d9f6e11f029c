#include "sim/errors.h"
#include "tests/test_folder.h"
#include "workloads/render/ls_dyna.h"
#include "workloads/render/mesh_file.h"

#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <random>

using namespace breakeven;
using namespace breakeven::render;
namespace fs = std::filesystem;

namespace {

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

std::string load_error(const std::string& name, const std::string& bytes) {
  const TestFolder folder;
  const fs::path file = folder.write(name, bytes);
  return error_of([&] { load_mesh_file(file); });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A square shell of part 7, in the standard columns.
const std::string deck = "*KEYWORD\n"
                         "*PART\n"
                         "$ a comment\n"
                         "bonnet\n"
                         "         7         1         1\n"
                         "*NODE\n"
                         "       1             0.0             0.0             0.0\n"
                         "       2             1.0             0.0             0.0\n"
                         "       3             1.0             1.0             0.0\n"
                         "       4             0.0             1.0             0.0\n"
                         "*ELEMENT_SHELL\n"
                         "       1       7       1       2       3       4\n"
                         "*END\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

SourceMesh parse(const std::string& bytes) {
  SourceMesh mesh = parse_ls_dyna(bytes, "deck.k");
  tidy(mesh, "deck.k");
  return mesh;
}
std::string parse_error(const std::string& bytes) {
  return error_of([&] { parse(bytes); });
}

fs::path shared_data() {
  return fs::path(BREAKEVEN_SOURCE_DIR).parent_path() / "shared" / "data" / "render";
}

bool have(const fs::path& file) {
  if (fs::exists(file)) return true;
  MESSAGE("skipped: " << file.filename().string() << " is not beside this checkout");
  return false;
}

} // namespace

TEST_CASE("a quadrilateral shell becomes two triangles of its part's material") {
  const SourceMesh mesh = parse(deck);
  CHECK(mesh.mesh.triangles.size() == 2);
  CHECK(mesh.mesh.positions.size() == 4);
  REQUIRE(mesh.materials.size() == 1);
  CHECK(mesh.materials[0].name == "bonnet");
}

TEST_CASE("a shell whose last node is repeated is one triangle") {
  CHECK(parse(replaced(deck, "       3       4\n*END", "       3       3\n*END"))
            .mesh.triangles.size()
        == 1);
}

TEST_CASE("numbers between commas and keywords in lower case are read alike") {
  const std::string commas =
      "*keyword\n*node\n1,0,0,0\n2,1,0,0\n3,1,1,0\n*element_shell\n1,7,1,2,3,3\n";
  CHECK(parse(commas).mesh.triangles.size() == 1);
}

TEST_CASE("of two solids that share a face only the outer faces are kept") {
  // Two unit cubes side by side: 12 faces less the shared two sides = 10 quadrilaterals.
  std::string cubes = "*NODE\n";
  for (int x = 0; x < 3; ++x)
    for (int y = 0; y < 2; ++y)
      for (int z = 0; z < 2; ++z)
        cubes += std::to_string(1 + x * 4 + y * 2 + z) + "," + std::to_string(x) + ","
                 + std::to_string(y) + "," + std::to_string(z) + "\n";
  cubes += "*ELEMENT_SOLID\n1,1,1,5,7,3,2,6,8,4\n2,1,5,9,11,7,6,10,12,8\n";
  CHECK(parse(cubes).mesh.triangles.size() == 20);
}

TEST_CASE("a deck that is wrong says in which line") {
  CHECK(contains(parse_error(replaced(deck, "       3       4\n*END", "       3       9\n*END")),
                 "deck.k:12:"));
  CHECK(
      contains(parse_error(replaced(deck, "       4             0.0", "       3             0.0")),
               "deck.k:10:"));
  CHECK(contains(parse_error(replaced(deck, "             1.0             1.0",
                                      "             1.0             nan")),
                 "deck.k:9:"));
  CHECK(contains(parse_error(replaced(deck, "             1.0             1.0",
                                      "             1.0             one")),
                 "deck.k:9:"));
  CHECK(contains(parse_error(replaced(deck, "*END", "*INCLUDE\nother.k")),
                 "deck.k:13: found '*include'"));
  CHECK(contains(parse_error("*KEYWORD\n*END\n"), "a deck without shells and solids"));
}

TEST_CASE("files that cannot be rendered are refused by name") {
  CHECK(contains(load_error("empty.obj", ""), "empty.obj"));
  CHECK(contains(load_error("points.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n"), "points.obj"));
  CHECK(contains(load_error("nan.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"), "nan.obj"));
  CHECK(contains(load_error("line.obj", "v 0 0 0\nv 1 1 1\nv 2 2 2\nf 1 2 3\n"), "line.obj"));
  CHECK(contains(load_error("text.stl", "solid nothing"), "text.stl"));
  CHECK(contains(load_error("model.xyz", "x"), "model.xyz"));
  const TestFolder folder;
  CHECK(contains(error_of([&] { load_mesh_file(folder / "none.obj"); }), "none.obj"));
  fs::create_directory(folder / "folder.obj");
  CHECK(contains(error_of([&] { load_mesh_file(folder / "folder.obj"); }), "folder.obj"));
}

TEST_CASE("a header that promises 2^31 indices is refused, not believed") {
  CHECK(contains(load_error("huge.ply",
                            "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty "
                            "float y\nproperty float z\nelement face 2147483648\nproperty list "
                            "uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"),
                 "huge.ply"));
}

TEST_CASE("OBJ, PLY and STL of one triangle give one triangle") {
  const TestFolder folder;
  const struct {
    const char *name, *bytes;
  } files[] = {
      {"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"},
      {"a.ply",
       "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty "
       "float z\nelement face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 "
       "0\n0 1 0\n3 0 1 2\n"},
      {"a.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 "
                "0\nendloop\nendfacet\nendsolid a\n"},
      {"a.ac",
       "AC3Db\nMATERIAL \"m\" rgb 1 0 0 amb 0 0 0 emis 0 0 0 spec 0 0 0 shi 0 trans 0\nOBJECT "
       "world\nkids 1\nOBJECT poly\nnumvert 3\n0 0 0\n1 0 0\n0 1 0\nnumsurf 1\nSURF 0x0\nmat "
       "0\nrefs 3\n0 0 0\n1 0 0\n2 0 0\nkids 0\n"}};
  for (const auto& file : files) {
    CAPTURE(file.name);
    CHECK(load_mesh_file(folder.write(file.name, file.bytes)).mesh.triangles.size() == 1);
  }
}

TEST_CASE("no mutation of a deck or a mesh does worse than BadInput") {
  std::mt19937 random(23);
  const auto mutated = [&](std::string bytes) {
    for (int change = 0; change < 3; ++change) {
      const std::size_t at = random() % bytes.size();
      if (random() % 3 == 0)
        bytes.erase(at, 1 + random() % 9);
      else
        bytes[at] = "0123456789 \n*,-e.$\xFF"[random() % 19];
      if (bytes.empty()) bytes = " ";
    }
    return bytes;
  };
  for (int i = 0; i < 3000; ++i)
    parse_error(mutated(deck));
  const TestFolder folder;
  for (int i = 0; i < 300; ++i)
    for (const auto& [name, bytes] :
         {std::pair{"a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2/1 4 3\n"},
          std::pair{"a.ac", "AC3Db\nMATERIAL \"m\" rgb 1 0 0 amb 0 0 0 emis 0 0 0 spec 0 0 0 shi 0 "
                            "trans 0\nOBJECT "
                            "world\nkids 1\nOBJECT poly\nnumvert 3\n0 0 0\n1 0 0\n0 1 0\nnumsurf "
                            "1\nSURF 0x0\nmat "
                            "0\nrefs 3\n0 0 0\n1 0 0\n2 0 0\nkids 0\n"}}) {
      const fs::path file = folder.write(name, mutated(bytes));
      error_of([&] { load_mesh_file(file); });
    }
}

TEST_CASE("the finite-element car loads with its nodes, shells and parts") {
  const fs::path file = shared_data() / "car6_crash_v223.k";
  if (!have(file)) return;
  const SourceMesh mesh = load_mesh_file(file);
  CHECK(mesh.materials.size() == 7);
  // 2,424 shells of three or four nodes on 2,378 nodes; nodes at one place become one.
  CHECK(mesh.mesh.triangles.size() > 4000);
  CHECK(mesh.mesh.triangles.size() <= 2 * 2424);
  CHECK(mesh.mesh.positions.size() <= 2378);
}

TEST_CASE("the street loads with its 29,247 triangles and a material per texture") {
  const fs::path file = shared_data() / "street-1.acc";
  if (!have(file)) return;
  const SourceMesh mesh = load_mesh_file(file);
  CHECK(mesh.mesh.triangles.size() + mesh.degenerate_triangles == 29'247);
  CHECK(mesh.materials.size() > 30);
}
