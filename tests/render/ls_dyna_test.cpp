// What decks may look like beyond the plain case in mesh_file_test.cpp: formats of cards, options
// that add cards, and the shapes of solids.
#include "sim/errors.h"
#include "workloads/render/ls_dyna.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <random>

using namespace breakeven;
using namespace breakeven::render;

namespace {

SourceMesh parse(const std::string& bytes) { return parse_ls_dyna(bytes, "deck.k"); }

std::string error_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

/// Corners of a unit cube, numbered 1 to 8 as an element wants them.
const std::string cube_nodes = "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n"
                               "5,0,0,1\n6,1,0,1\n7,1,1,1\n8,0,1,1\n";
const std::string square = "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n";

std::size_t triangles(const std::string& elements) {
  return parse(cube_nodes + elements).mesh.triangles.size();
}

} // namespace

TEST_CASE("shells with options are read past the cards that the options add") {
  const std::string card = "1,1,1,2,3,4\n", options = "0.,0.,0.,0.,0.\n";
  for (const auto& [name, cards] : {std::pair<const char*, int>{"*ELEMENT_SHELL", 0},
                                    {"*ELEMENT_SHELL_THICKNESS", 1},
                                    {"*ELEMENT_SHELL_BETA", 1},
                                    {"*ELEMENT_SHELL_THICKNESS_MCID", 1},
                                    {"*ELEMENT_SHELL_OFFSET", 1},
                                    {"*ELEMENT_SHELL_THICKNESS_OFFSET", 2},
                                    {"*Element_Shell_Beta_Offset", 2}}) {
    const char* const keyword = name;
    CAPTURE(keyword);
    std::string element = card;
    for (int i = 0; i < cards; ++i)
      element += options;
    CHECK(parse(square + keyword + "\n" + element + element + "*END\n").mesh.triangles.size() == 4);
  }
}

TEST_CASE("a shell with nodes between its corners has a second card of thicknesses") {
  const std::string element = "1,1,1,2,3,4,1,2,3,4\n0.,0.,0.,0.,0.\n0.,0.,0.,0.\n";
  CHECK(parse(square + "*ELEMENT_SHELL_THICKNESS\n" + element + element).mesh.triangles.size()
        == 4);
}

TEST_CASE("options whose cards cannot be counted are refused by name") {
  CHECK(error_of(square + "*ELEMENT_SHELL_COMPOSITE\n1,1,1,2,3,4\n")
            .starts_with("deck.k:6: found *ELEMENT_SHELL with option 'composite'"));
  CHECK(error_of(cube_nodes + "*ELEMENT_SOLID_H8TOH20\n")
            .starts_with("deck.k:10: found *ELEMENT_SOLID with option 'h8toh20'"));
}

TEST_CASE("an element whose option card is missing is refused where the card should be") {
  CHECK(error_of(square + "*ELEMENT_SHELL_THICKNESS\n1,1,1,2,3,4\n*END\n")
            .starts_with("deck.k:8: found keyword '*END', expected the shell's card of options"));
}

TEST_CASE("solids of every shape show their faces: hexahedron, pentahedron, pyramid, tetrahedron") {
  CHECK(triangles("*ELEMENT_SOLID\n1,1,1,2,3,4,5,6,7,8\n") == 12); // six quadrilaterals
  // The ridge 5-7 over the base: two triangles at the ends, three quadrilaterals.
  CHECK(triangles("*ELEMENT_SOLID\n1,1,1,2,3,4,5,5,7,7\n") == 8);
  CHECK(triangles("*ELEMENT_SOLID\n1,1,1,2,3,4,5,5,5,5\n") == 6); // a base and four triangles
  CHECK(triangles("*ELEMENT_SOLID\n1,1,1,2,3,5,5,5,5,5\n") == 4);
}

TEST_CASE("two tetrahedra that share a face show six") {
  CHECK(triangles("*ELEMENT_SOLID\n1,1,1,2,3,5,5,5,5,5\n2,1,2,3,5,7,7,7,7,7\n") == 6);
}

TEST_CASE("a solid may have its nodes on a second card, ten of them in a quadratic tetrahedron") {
  CHECK(triangles("*ELEMENT_SOLID\n1,1\n1,2,3,4,5,6,7,8\n") == 12);
  CHECK(triangles("*ELEMENT_SOLID\n1,1\n1,2,3,5,6,7,8,4,6,7\n") == 4);
  CHECK(triangles("*ELEMENT_SOLID_ORTHO\n1,1,1,2,3,4,5,6,7,8\n0,0,0\n0,0,0\n") == 12);
}

TEST_CASE("standard, I10 and LONG columns give the same mesh") {
  const std::array<std::array<double, 3>, 3> corners = {{{0, 0, 0}, {1.5, 0, 0}, {0, 2.5, 0}}};
  const auto deck = [&](const char* format, int integers, int reals) {
    std::string text = fmt::format("*KEYWORD {}\n*NODE\n", format);
    for (std::size_t i = 0; i < 3; ++i)
      text += fmt::format("{:>{}}{:>{}}{:>{}}{:>{}}\n", i + 1, integers, corners[i][0], reals,
                          corners[i][1], reals, corners[i][2], reals);
    text += "*ELEMENT_SHELL\n";
    for (const int field : {1, 1, 1, 2, 3, 3})
      text += fmt::format("{:>{}}", field, integers);
    return text + "\n*END\n";
  };
  for (const std::string& text : {deck("", 8, 16), deck("I10=Y", 10, 16), deck("LONG=Y", 20, 20)}) {
    const SourceMesh mesh = parse(text);
    REQUIRE(mesh.mesh.triangles.size() == 1);
    CHECK(mesh.mesh.positions[2].y == 2.5f);
  }
}

TEST_CASE("one keyword alone can be in LONG columns, marked by a plus") {
  std::string text = "*NODE+\n";
  for (int i = 0; i < 3; ++i)
    text += fmt::format("{:>20}{:>20}{:>20}{:>20}\n", i + 1, i, i * i, 0);
  CHECK(parse(text + "*ELEMENT_SHELL\n       1       1       1       2       3       3\n")
            .mesh.triangles.size()
        == 1);
}

TEST_CASE("numbers as Fortran writes them are numbers") {
  const SourceMesh mesh = parse("*NODE\n1,1.5D1,+2.,-1.5-3\n2,1.,0.,0.\n3,0.,1.,1.E+2\n"
                                "*ELEMENT_SHELL\n1,1,1,2,3,3\n");
  CHECK(mesh.mesh.positions[0].x == 15);
  CHECK(mesh.mesh.positions[0].y == 2);
  CHECK(mesh.mesh.positions[0].z == -0.0015f);
  CHECK(mesh.mesh.positions[2].z == 100);
}

TEST_CASE("line ends of any system, blank lines and comments make no difference") {
  std::string text = "$ c\n" + square + "\n$ c\n*ELEMENT_SHELL\n$ c\n1,1,1,2,3,4\n\n*END\nrubbish";
  CHECK(parse(text).mesh.triangles.size() == 2);
  std::string windows;
  for (const char c : text)
    windows += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(parse(windows).mesh.triangles.size() == 2);
}

TEST_CASE("a part without a title is named by its number") {
  const SourceMesh mesh = parse(square + "*ELEMENT_SHELL\n1,12,1,2,3,4\n");
  REQUIRE(mesh.materials.size() == 1);
  CHECK(mesh.materials[0].name == "part 12");
}

TEST_CASE("cards that are short or no numbers are refused by line, column's name and text") {
  const struct {
    const char *deck, *message;
  } cases[] = {
      {"*NODE\n1,0,0\n", "deck.k:2: found a card without z, expected a node's id, x, y and z"},
      {"*NODE\n1\n", "deck.k:2: found a card without x"},
      {"*NODE\n1,0,0,&height\n", "deck.k:2: found '&height' as z, expected a finite number"},
      {"*NODE\n1,0,0,1e39\n", "deck.k:2: found '1e39' as z, expected a finite number"},
      {"*NODE\n1,0,0,inf\n", "deck.k:2: found 'inf' as z, expected a finite number"},
      {"*NODE\n-1,0,0,0\n", "deck.k:2: found '-1' as a node's id, expected a whole number"},
      {"*NODE\n1,0,0,0\n1,1,0,0\n", "deck.k:3: found node 1 for the second time"},
      {"*ELEMENT_SHELL\n1,1,1,2\n", "deck.k:2: found a card without n3"},
      {"*ELEMENT_SHELL\n1,1,1,2,3,4\n",
       "deck.k:2: found node 1 in element 1, expected a node that"},
      {"*ELEMENT_SOLID\n1,1\n", "deck.k:2: found the end of the file, expected the solid's nodes"},
      {"*INCLUDE_PATH\nx\n", "deck.k:1: found '*include_path', expected one deck in one file"},
  };
  for (const auto& one : cases) {
    const std::string message = error_of(one.deck);
    CAPTURE(message);
    CHECK(message.starts_with(one.message));
  }
}

TEST_CASE("no mutation of a deck with solids and options does worse than BadInput") {
  const std::string deck =
      "*KEYWORD\n*PART\nbody\n         1         1         1\n" + cube_nodes
      + "*ELEMENT_SHELL_THICKNESS\n       1       1       1       2       3       4\n"
        "             0.0             0.0             0.0             0.0\n"
        "*ELEMENT_SOLID\n1,1\n1,2,3,4,5,6,7,8,0,0\n2,1,1,2,3,5,5,5,5,5\n*END\n";
  REQUIRE(error_of(deck).empty());
  std::mt19937 random(5);
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string bytes = deck;
    for (std::uint32_t change = 0; change < 1 + random() % 4; ++change) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
      case 0:
        bytes.erase(at, 1 + random() % 20);
        break;
      case 1:
        bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 40));
        break;
      default:
        bytes[at] = static_cast<char>(random() % 256);
      }
      if (bytes.empty()) bytes = "*";
    }
    accepted += error_of(bytes).empty() ? 1 : 0;
  }
  CHECK(accepted > 100); // some are harmless, or the mutations would test only the first check
  CHECK(accepted < 4900);
}
