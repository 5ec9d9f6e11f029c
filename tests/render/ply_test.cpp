// PLY in its three formats, and what damaged files are told.
#include "sim/errors.h"
#include "workloads/render/ply.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>

using namespace breakeven;
using namespace breakeven::render;

namespace {

SourceMesh parse(const std::string& bytes) { return parse_ply(bytes, "a.ply"); }

std::string error_of(const std::string& bytes) {
  try {
    parse(bytes);
  } catch (const BadInput& error) {
    return error.what();
  }
  return "";
}

std::string header(const std::string& format) {
  return "ply\nformat " + format
         + " 1.0\ncomment a square\nelement vertex 4\nproperty float x\nproperty uchar red\n"
           "property float y\nproperty double z\nelement face 1\n"
           "property list uchar int vertex_indices\nend_header\n";
}

template <class Number>
void put(std::string& bytes, Number number, bool big_endian) {
  char raw[sizeof number];
  std::memcpy(raw, &number, sizeof number);
  if (big_endian) std::reverse(raw, raw + sizeof number);
  bytes.append(raw, sizeof number);
}

std::string binary_square(bool big_endian) {
  std::string bytes = header(big_endian ? "binary_big_endian" : "binary_little_endian");
  for (int i = 0; i < 4; ++i) {
    put(bytes, static_cast<float>(i / 2), big_endian);
    put(bytes, std::uint8_t{200}, big_endian);
    put(bytes, i == 1 || i == 2 ? 1.0f : 0.0f, big_endian);
    put(bytes, 0.25, big_endian);
  }
  put(bytes, std::uint8_t{4}, big_endian);
  for (std::int32_t i = 0; i < 4; ++i)
    put(bytes, i, big_endian);
  return bytes;
}

const std::string text_square = header("ascii")
                                + "0 200 0 .25\n0 200 1 .25\n1 200 1 .25\n"
                                  "1 200 0 .25\n4 0 1 2 3\n";

} // namespace

TEST_CASE("the same square comes out of text and of both byte orders") {
  for (const std::string& bytes : {text_square, binary_square(false), binary_square(true)}) {
    const Mesh mesh = parse(bytes).mesh;
    REQUIRE(mesh.positions.size() == 4);
    REQUIRE(mesh.triangles.size() == 2);
    CHECK(mesh.positions[2].x == 1);
    CHECK(mesh.positions[2].y == 1);
    CHECK(mesh.positions[2].z == 0.25f);
    CHECK(mesh.triangles[1].a == 0);
    CHECK(mesh.triangles[1].c == 3);
  }
}

TEST_CASE("elements and lists that are not ours are read past") {
  const std::string text =
      "ply\nformat ascii 1.0\nelement camera 1\nproperty list uchar float view\nproperty int id\n"
      "element vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n"
      "property uchar flags\nproperty list uchar uint vertex_index\nproperty list uchar float uv\n"
      "end_header\n2 .5 .5 7\n0 0 0\n1 0 0\n0 1 0\n9 3 0 1 2 2 .1 .2\n";
  CHECK(parse(text).mesh.triangles.size() == 1);
}

TEST_CASE("what is wrong in a PLY file is named by line, or by element where it is binary") {
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const std::string binary = binary_square(false);
  const struct {
    std::string bytes, message;
  } cases[] = {
      {"solid\n", "a.ply:1: found no 'ply' at the start, expected a PLY file"},
      {"ply\nformat ascii 1.0\n", "a.ply:2: found the end of the file, expected 'end_header'"},
      {with(text_square, "ascii", "utf8"), "a.ply:2: found format 'utf8'"},
      {with(text_square, "uchar red", "byte red"), "a.ply:6: found type 'byte'"},
      {with(text_square, "vertex 4", "vertex -4"), "a.ply:4: found '-4' as a number of elements"},
      // A face taken for a vertex, and then nothing for the sixth.
      {with(text_square, "vertex 4", "vertex 6"), "a.ply:16: found the end of the file, expected "
                                                  "vertex 6 of 6"},
      {with(text_square, "4 0 1 2 3", "4 0 1 2"), "a.ply:16: found 4 numbers, expected more, for "
                                                  "face 1 of 1"},
      {with(text_square, "4 0 1 2 3", "4 0 1 2 -3"), "a.ply:16: found vertex -3 in face 1 of 1"},
      {with(text_square, "1 200 1", "nan 200 1"),
       "a.ply:14: found 'nan', expected a finite number"},
      {with(text_square, "1 200 1", "1e39 200 1"), "a.ply:14: found 1e+39 as x of vertex 3 of 4"},
      {binary.substr(0, binary.size() - 1),
       "a.ply: found the end of the file, expected face 1 of 1"},
      {with(binary, "vertex 4", "vertex 4000000000"), "a.ply: found the end of the file"},
      {with(binary, "face 1\n", "face 9000000000000000000\n"), "a.ply: found the end of the file"},
  };
  for (const auto& one : cases) {
    const std::string message = error_of(one.bytes);
    CAPTURE(message);
    CHECK(message.starts_with(one.message));
  }
}

TEST_CASE("no mutation of a PLY file does worse than BadInput") {
  std::mt19937 random(9);
  for (const std::string& whole : {text_square, binary_square(false), binary_square(true)}) {
    int accepted = 0;
    for (int i = 0; i < 4000; ++i) {
      std::string bytes = whole;
      for (std::uint32_t change = 0; change < 1 + random() % 3; ++change) {
        const std::size_t at = random() % bytes.size();
        if (random() % 3 == 0)
          bytes.erase(at, 1 + random() % 9);
        else
          bytes[at] = static_cast<char>(random() % 256);
        if (bytes.empty()) bytes = " ";
      }
      try {
        SourceMesh mesh = parse(bytes);
        tidy(mesh, "a.ply");
        ++accepted;
      } catch (const BadInput&) {
      }
    }
    CHECK(accepted > 20);
  }
}
