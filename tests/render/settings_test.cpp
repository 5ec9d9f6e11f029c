// The keys of [workload] with kind = "render": what is accepted, and that each error names file,
// line, what was found and what was expected.
#include "sim/errors.h"
#include "sim/scenario/scenario.h"
#include "tests/test_folder.h"
#include "workloads/render/settings.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace breakeven;
using namespace breakeven::render;
namespace fs = std::filesystem;

namespace {

const std::string one_triangle = "v 0 0 0\nv 4 0 0\nv 0 2 1\nf 1 2 3\n";

/// A scenario whose [workload] holds these lines, the first of them line 5 of the file.
Settings read(const TestFolder& folder, const std::string& lines) {
  folder.write("car.obj", one_triangle);
  folder.write("town.glb", "x");
  folder.write("notes.txt", "x");
  const fs::path file =
      folder.write("s.toml", "schema = 1\nname = \"s\"\n[workload]\n"
                             "kind = \"render\"\n"
                                 + lines + "\n[[target]]\ninstance = \"local\"\n");
  const Scenario scenario = read_scenario(file.string(), {}, {{"render", render_keys()}});
  return read_settings(*scenario.workload);
}

Settings read(const std::string& lines) {
  const TestFolder folder;
  return read(folder, lines);
}

/// From "s.toml:" on, or "" where the lines are accepted.
std::string error_of(const std::string& lines) {
  try {
    read(lines);
  } catch (const BadInput& error) {
    const std::string message = error.what();
    return message.substr(std::min(message.find("s.toml"), message.size()));
  }
  return "";
}

bool is_refused(const std::string& lines, const std::string& place, const std::string& words) {
  const std::string message = error_of(lines);
  CAPTURE(message);
  const bool right = message.starts_with(place) && message.find(words) != std::string::npos;
  CHECK(right);
  return right;
}

const std::string built_in = "scene = \"procedural:crash\"\nframes = \"1-3\"\n";
const std::string from_file = "file = \"car.obj\"\nframes = \"1-3\"\n";

} // namespace

TEST_CASE("a scene and frames are enough, and the rest is what the README says") {
  const Settings settings = read(built_in);
  CHECK(settings.procedural);
  CHECK(settings.frames == std::vector<std::int64_t>{1, 2, 3});
  CHECK(settings.triangles == 850'000);
  CHECK(settings.width == 1920);
  CHECK(settings.height == 1080);
  CHECK(settings.samples_per_pixel == 64);
  CHECK(settings.max_bounces == 4);
  CHECK(settings.frames_per_second == 250);
  CHECK(settings.speed_m_per_s == doctest::Approx(56 / 3.6));
  CHECK(settings.crush_depth_m == 0.5);
  CHECK(settings.crush_zone_m == 1.4);
  CHECK(settings.gap_m == 0.6);
  CHECK(settings.pole_radius_m == 0.127);
  CHECK(settings.acceleration == Acceleration::rebuild);
  CHECK(settings.format == ImageFormat::png);
  CHECK(settings.seed == 1);
}

TEST_CASE("a file and surroundings are read with their own units, axes and places") {
  const Settings settings =
      read(from_file
           + "vehicle_unit_m = 0.001\nvehicle_up = \"y\"\nvehicle_heading_deg = 180\n"
             "vehicle_clearance_m = 0.2\nsurroundings = \"town.glb\"\nsurroundings_unit_m = 0.01\n"
             "surroundings_heading_deg = -30\nsurroundings_position = [1, -2, 3.5]");
  CHECK_FALSE(settings.procedural);
  CHECK(settings.vehicle.file.filename() == "car.obj");
  CHECK(settings.vehicle.metres_per_unit == 0.001);
  CHECK(settings.vehicle.up == UpAxis::y);
  CHECK(settings.vehicle.heading_deg == 180);
  CHECK(settings.vehicle.position.z == 0.2f);
  CHECK(settings.surroundings.up == UpAxis::y); // as glTF defines
  CHECK(settings.surroundings.position.y == -2);
  CHECK(read(from_file).vehicle.up == UpAxis::z);
}

TEST_CASE("exactly one of scene and file is asked for") {
  is_refused("frames = \"1\"", "s.toml:3:", "found neither scene nor file in [workload]");
  is_refused(built_in + "file = \"car.obj\"", "s.toml:7:", "found both scene and file");
  is_refused("scene = \"procedural:crush\"\nframes = \"1\"",
             "s.toml:5:", "did you mean \"procedural:crash\"");
}

TEST_CASE("a key that has nothing to act on is an error, not ignored") {
  is_refused(from_file + "triangles = 100_000",
             "s.toml:7:", "triangles without scene = \"procedural:crash\"");
  is_refused(built_in + "vehicle_unit_m = 1.0", "s.toml:7:", "vehicle_unit_m without file");
  is_refused(built_in + "surroundings_up = \"y\"",
             "s.toml:7:", "surroundings_up without surroundings");
}

TEST_CASE("a file that is not there or no mesh is refused where it is named") {
  is_refused("file = \"van.obj\"\nframes = \"1\"", "s.toml:5:", "which does not exist");
  is_refused("file = \"notes.txt\"\nframes = \"1\"", "s.toml:5:", "expected a mesh");
  is_refused(built_in + "surroundings = \"notes.txt\"", "s.toml:7:", "expected a mesh");
}

TEST_CASE("numbers out of range are refused with the range") {
  const struct {
    const char *line, *expected;
  } cases[] = {
      {"triangles = 49_999", "an integer from 50000 to 10000000"},
      {"triangles = 10_000_001", "an integer from 50000 to 10000000"},
      {"width = 0", "an integer from 1 to 16384"},
      {"height = 16385", "an integer from 1 to 16384"},
      {"samples_per_pixel = 65537", "an integer from 1 to 65536"},
      {"max_bounces = -1", "an integer from 0 to 64"},
      {"frames_per_second = 0", "a number from 0.01"},
      {"speed_km_per_h = 0", "a number from 0.1 to 1000"},
      {"speed_km_per_h = nan", "a number from 0.1 to 1000"},
      {"gap_m = -0.1", "a number from 0 to 1000"},
      {"pole_radius_m = inf", "a number from 0.01 to 5"},
      {"field_of_view_deg = 180", "a number from 1 to 170"},
      {"sun_elevation_deg = 0", "a number from 1 to 90"},
      {"scale = 0", "a number from 0.0001 to 10000"},
      {"camera_position = [1, 2]", "3 numbers"},
      {"acceleration = \"refitt\"", "did you mean \"refit\""},
      {"image = \"jpg\"", "\"png\""},
      {"seed = -1", "an integer"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.line);
    is_refused(built_in + one.line, "s.toml:7:", one.expected);
  }
}

TEST_CASE("frames must be there, sensible, and not more than 100 000") {
  is_refused("scene = \"procedural:crash\"", "s.toml:3:", "no key 'frames'");
  is_refused("scene = \"procedural:crash\"\nframes = \"9-1\"", "s.toml:6:", "ranges such as");
  is_refused("scene = \"procedural:crash\"\nframes = \"0-100000\"", "s.toml:6:", "at most 100000");
  CHECK(read("scene = \"procedural:crash\"\nframes = \"0-99999\"").frames.size() == 100'000);
}

TEST_CASE("a crush deeper than half its zone would fold the car over and is refused") {
  is_refused(built_in + "crush_depth_m = 0.71",
             "s.toml:7:", "at most half of crush_zone_m, which is 1.4");
  CHECK(read(built_in + "crush_depth_m = 0.7").crush_depth_m == 0.7);
  CHECK(read(built_in + "crush_depth_m = 1\ncrush_zone_m = 2").crush_zone_m == 2);
}

TEST_CASE("a camera that looks at itself is refused") {
  is_refused(built_in + "camera_position = [1, 2, 3]\ncamera_target = [1, 2, 3]",
             "s.toml:8:", "a point that the camera can look at");
}

TEST_CASE("materials are read in order, with the line that names them") {
  const Settings settings =
      read(built_in
           + "[[workload.material]]\nmatch = \"glass\"\nalbedo = [0, 0.1, 1]\n"
             "[[workload.material]]\nmatch = \"*\"\nalbedo = [0.5, 0.5, 0.5]\n"
             "coat_reflectance = 0.04\ncoat_roughness = 0.3");
  REQUIRE(settings.materials.size() == 2);
  CHECK(settings.materials[0].match == "glass");
  CHECK(settings.materials[0].material.albedo.y == 0.1f);
  CHECK(settings.materials[0].material.coat_reflectance == 0);
  CHECK(settings.materials[1].material.coat_roughness == 0.3f);
  CHECK(settings.materials[1].line == 11);
  is_refused(built_in + "[[workload.material]]\nmatch = \"\"\nalbedo = [0, 0, 0]",
             "s.toml:8:", "an empty match");
  is_refused(built_in + "[[workload.material]]\nmatch = \"a\"\nalbedo = [0, 0, 1.1]",
             "s.toml:9:", "from 0 to 1");
  is_refused(built_in + "[[workload.material]]\nalbedo = [0, 0, 1]", "s.toml:7:", "match");
}

TEST_CASE("a material that nothing has is refused, with names that there are") {
  const TestFolder folder;
  Settings settings =
      read(folder, built_in
                       + "triangles = 50_000\n[[workload.material]]\nmatch = \"piant\"\nalbedo = "
                         "[0, 0, 0]");
  std::string message;
  try {
    make_scene(settings);
  } catch (const BadInput& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("s.toml:9: found match = 'piant', which fits no material")
        != std::string::npos);
  CHECK(message.find("'asphalt'") != std::string::npos);
  settings.materials[0].match = "PAINT";
  settings.materials[0].material.albedo = {0.25f, 0.5f, 0.75f};
  const RenderScene scene = make_scene(settings);
  for (std::size_t i = 0; i < scene.materials.size(); ++i)
    CHECK((scene.material_names[i] == "paint") == (scene.materials[i].albedo.z == 0.75f));
}

TEST_CASE("a vehicle in the wrong unit is refused with a hint") {
  const TestFolder folder;
  Settings settings = read(folder, from_file);
  settings.vehicle.metres_per_unit = 1000;
  std::string message;
  try {
    make_scene(settings);
  } catch (const BadInput& error) {
    message = error.what();
  }
  CAPTURE(message);
  CHECK(message.find("found a vehicle 4000 m long") != std::string::npos);
  CHECK(message.find("vehicle_unit_m") != std::string::npos);
}

TEST_CASE("a vehicle is turned, lifted and put in front of the pole by its bounding box") {
  const TestFolder folder;
  Settings settings = read(folder, from_file
                                       + "vehicle_heading_deg = 90\nvehicle_clearance_m = 0.25\n"
                                         "pole_offset_m = -0.5\npole_radius_m = 0.2\ngap_m = 0.3");
  const RenderScene scene = make_scene(settings);
  REQUIRE(scene.vehicle_vertices == 3);
  REQUIRE(scene.vehicle_triangles == 1);
  Float3 low = scene.mesh.positions[0], high = low;
  for (std::size_t i = 0; i < 3; ++i) {
    low = minimum(low, scene.mesh.positions[i]);
    high = maximum(high, scene.mesh.positions[i]);
  }
  // 4 m along x and 2 m along y become 4 m along y and 2 m along x.
  CHECK(high.x - low.x == doctest::Approx(2));
  CHECK(high.y - low.y == doctest::Approx(4));
  CHECK(high.x == doctest::Approx(-0.5));                 // radius and gap
  CHECK(0.5f * (low.y + high.y) == doctest::Approx(0.5)); // the pole is to its right
  CHECK(low.z == doctest::Approx(0.25));
  CHECK(scene.crush.pole_x == doctest::Approx(-0.2));
  CHECK(scene.crush.front_x == high.x);
}
