#include "workloads/render/settings.h"

#include "sim/errors.h"
#include "workloads/render/mesh_file.h"

#include <fmt/format.h>

#include <limits>

namespace breakeven::render {

namespace {

constexpr std::int64_t fewest_triangles = 50'000, most_triangles_asked = 10'000'000;
constexpr std::int64_t highest_frame = 1'000'000;
constexpr std::size_t most_frames = 100'000;
constexpr std::int64_t highest_seed = std::numeric_limits<std::int64_t>::max();
constexpr double farthest_m = 1e6;

std::string name_of(UpAxis up) { return up == UpAxis::y ? "y" : "z"; }

Float3 point(const Section& section, const std::string& key, Float3 fallback) {
  const std::vector<double> p = section.numbers(
      key, 3, -farthest_m, farthest_m, std::vector<double>{fallback.x, fallback.y, fallback.z});
  return {static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2])};
}

/// Keys that say something about a thing that is not there.
void refuse_without(const Section& section, bool present, const std::vector<std::string>& keys,
                    const std::string& what) {
  if (present) return;
  for (const std::string& key : keys)
    if (section.has(key)) section.fail(key, "workload." + key + " without " + what, what);
}

MeshInput read_mesh_input(const Section& section, const std::string& key,
                          const std::string& prefix) {
  MeshInput input;
  input.file = section.file(key);
  if (!is_mesh_file(input.file))
    section.fail(key, "workload." + key + " = \"" + section.text(key) + "\"",
                 "a mesh (.obj, .ply, .stl, .gltf, .glb, .ac, .acc) or an LS-DYNA deck (.k, .key, "
                 ".dyn)");
  input.metres_per_unit = section.number(prefix + "_unit_m", 1e-6, 1e3, 1.0);
  const UpAxis usual = is_y_up(input.file) ? UpAxis::y : UpAxis::z;
  input.up =
      section.one_of(prefix + "_up", {"y", "z"}, name_of(usual)) == "y" ? UpAxis::y : UpAxis::z;
  input.heading_deg = section.number(prefix + "_heading_deg", -360, 360, 0.0);
  return input;
}

void read_inputs(const Section& section, Settings& settings) {
  if (section.has("scene") == section.has("file"))
    section.fail(section.has("scene") ? "file" : "scene",
                 section.has("scene") ? "both scene and file in [workload]"
                                      : "neither scene nor file in [workload]",
                 "scene = \"procedural:crash\" or a file, one of them");
  settings.procedural = section.has("scene");
  if (settings.procedural) section.one_of("scene", {"procedural:crash"});
  refuse_without(section, settings.procedural, {"triangles"}, "scene = \"procedural:crash\"");
  refuse_without(section, !settings.procedural,
                 {"vehicle_unit_m", "vehicle_up", "vehicle_heading_deg", "vehicle_clearance_m"},
                 "file");
  if (settings.procedural) {
    settings.triangles =
        section.integer("triangles", fewest_triangles, most_triangles_asked, settings.triangles);
  } else {
    settings.vehicle = read_mesh_input(section, "file", "vehicle");
    settings.vehicle.position.z =
        static_cast<float>(section.number("vehicle_clearance_m", 0, 10, 0.0));
  }
  refuse_without(section, section.has("surroundings"),
                 {"surroundings_unit_m", "surroundings_up", "surroundings_heading_deg",
                  "surroundings_position"},
                 "surroundings");
  if (section.has("surroundings")) {
    settings.surroundings = read_mesh_input(section, "surroundings", "surroundings");
    settings.surroundings.position = point(section, "surroundings_position", {0, 0, 0});
  }
}

void read_picture(const Section& section, Settings& settings) {
  settings.width = static_cast<int>(section.integer("width", 1, 16384, settings.width));
  settings.height = static_cast<int>(section.integer("height", 1, 16384, settings.height));
  settings.samples_per_pixel =
      static_cast<int>(section.integer("samples_per_pixel", 1, 65536, settings.samples_per_pixel));
  settings.max_bounces =
      static_cast<int>(section.integer("max_bounces", 0, 64, settings.max_bounces));
  settings.frames = section.ranges("frames", 0, highest_frame, most_frames);
  const std::string format = section.one_of("image", {"png", "pfm", "both"}, "png");
  settings.format = format == "png"   ? ImageFormat::png
                    : format == "pfm" ? ImageFormat::pfm
                                      : ImageFormat::both;
  settings.acceleration = section.one_of("acceleration", {"rebuild", "refit"}, "rebuild") == "refit"
                              ? Acceleration::refit
                              : Acceleration::rebuild;
  settings.seed = static_cast<std::uint64_t>(
      section.integer("seed", 0, highest_seed, static_cast<std::int64_t>(settings.seed)));
}

void read_crash(const Section& section, Settings& settings) {
  settings.frames_per_second =
      section.number("frames_per_second", 0.01, 1e6, settings.frames_per_second);
  settings.speed_m_per_s =
      section.number("speed_km_per_h", 0.1, 1000, settings.speed_m_per_s * 3.6) / 3.6;
  settings.crush_zone_m = section.number("crush_zone_m", 0.02, 20, settings.crush_zone_m);
  settings.crush_depth_m = section.number("crush_depth_m", 0.01, 10, settings.crush_depth_m);
  if (settings.crush_depth_m > 0.5 * settings.crush_zone_m)
    section.fail("crush_depth_m",
                 fmt::format("workload.crush_depth_m = {}", settings.crush_depth_m),
                 fmt::format("at most half of crush_zone_m, which is {}", settings.crush_zone_m));
  settings.gap_m = section.number("gap_m", 0, 1000, settings.gap_m);
  settings.pole_radius_m = section.number("pole_radius_m", 0.01, 5, settings.pole_radius_m);
  settings.pole_height_m = section.number("pole_height_m", 0.1, 100, settings.pole_height_m);
  settings.pole_offset_m = section.number("pole_offset_m", -10, 10, settings.pole_offset_m);
}

void read_view(const Section& section, Settings& settings) {
  settings.camera_position = point(section, "camera_position", settings.camera_position);
  settings.camera_target = point(section, "camera_target", settings.camera_target);
  if (!(length(settings.camera_target - settings.camera_position) > 0))
    section.fail(section.has("camera_target") ? "camera_target" : "camera_position",
                 "workload.camera_target at camera_position",
                 "a point that the camera can look at");
  settings.field_of_view_deg =
      section.number("field_of_view_deg", 1, 170, settings.field_of_view_deg);
  settings.sun_azimuth_deg = section.number("sun_azimuth_deg", -360, 360, settings.sun_azimuth_deg);
  settings.sun_elevation_deg =
      section.number("sun_elevation_deg", 1, 90, settings.sun_elevation_deg);
  settings.scale = section.number("scale", 1e-4, 1e4, settings.scale);
}

MaterialOverride read_override(const Section& section) {
  MaterialOverride override;
  override.match = section.text("match");
  if (override.match.empty())
    section.fail("match", "an empty match", "a name or a pattern such as \"tr-road*\"");
  const std::vector<double> albedo = section.numbers("albedo", 3, 0, 1);
  Material& material = override.material;
  material.albedo = {static_cast<float>(albedo[0]), static_cast<float>(albedo[1]),
                     static_cast<float>(albedo[2])};
  material.coat_reflectance = static_cast<float>(section.number("coat_reflectance", 0, 1, 0.0));
  material.coat_roughness = static_cast<float>(section.number("coat_roughness", 0.02, 1, 0.2));
  override.file = section.file_name();
  override.line = section.line_of("match");
  return override;
}

} // namespace

const std::vector<Key>& render_keys() {
  static const std::vector<Key> keys = {
      {"scene", "procedural:crash", "the built-in scene: a car, a lamp post and a street"},
      {"triangles", "integer from 50000 to 10000000",
       "of the built-in scene, within 2 %; 850000 where absent"},
      {"file", "file", "the vehicle, in place of the built-in scene"},
      {"vehicle_unit_m", "number from 1e-6 to 1000", "metres per unit of the file; 1 where absent"},
      {"vehicle_up", "y or z",
       "the file's upward axis; y for .gltf, .glb, .ac and .acc, else z, where absent"},
      {"vehicle_heading_deg", "number from -360 to 360",
       "turns the vehicle about the upward axis, counter-clockwise from above, until it drives "
       "towards +x; 0 where absent"},
      {"vehicle_clearance_m", "number from 0 to 10",
       "height of the vehicle's lowest point above the ground; 0 where absent"},
      {"surroundings", "file", "what stands around, in place of the built-in street"},
      {"surroundings_unit_m", "number from 1e-6 to 1000",
       "metres per unit of the file; 1 where absent"},
      {"surroundings_up", "y or z", "as vehicle_up"},
      {"surroundings_heading_deg", "number from -360 to 360",
       "turns the surroundings, as vehicle_heading_deg"},
      {"surroundings_position", "[3 numbers]",
       "metres; where the file's origin goes, once turned; [0, 0, 0] where absent"},
      {"width", "integer from 1 to 16384", "pixels; 1920 where absent"},
      {"height", "integer from 1 to 16384", "pixels; 1080 where absent"},
      {"samples_per_pixel", "integer from 1 to 65536", "paths per pixel; 64 where absent"},
      {"max_bounces", "integer from 0 to 64",
       "how often a path is scattered after its first hit; 0 is direct light only; 4 where absent"},
      {"frames", "ranges", "the job; numbers from 0 to 1000000, at most 100000 of them"},
      {"frames_per_second", "number from 0.01 to 1e6", "of simulated time; 250 where absent"},
      {"speed_km_per_h", "number from 0.1 to 1000", "of the impact; 56 where absent"},
      {"crush_depth_m", "number from 0.01 to 10",
       "by how much the front gets shorter, at most half of crush_zone_m; 0.5 where absent"},
      {"crush_zone_m", "number from 0.02 to 20",
       "length of the part that can deform, from the front; 1.4 where absent"},
      {"gap_m", "number from 0 to 1000", "free way to the pole at frame 0; 0.6 where absent"},
      {"pole_radius_m", "number from 0.01 to 5", "0.127 where absent"},
      {"pole_height_m", "number from 0.1 to 100", "from 3 m on with a lamp; 6 where absent"},
      {"pole_offset_m", "number from -10 to 10",
       "of the pole from the vehicle's middle, to the driver's left; 0 where absent"},
      {"camera_position", "[3 numbers]", "metres, from the pole's foot, z up"},
      {"camera_target", "[3 numbers]", "what the camera looks at, likewise"},
      {"field_of_view_deg", "number from 1 to 170", "horizontal; 50 where absent"},
      {"sun_azimuth_deg", "number from -360 to 360",
       "where the sun is: 0 ahead of the vehicle, 90 to the driver's left; 215 where absent"},
      {"sun_elevation_deg", "number from 1 to 90", "height of the sun; 42 where absent"},
      {"scale", "number from 1e-4 to 1e4",
       "world units per metre; changes no picture, and is there to show that; 1 where absent"},
      {"acceleration", "rebuild or refit",
       "per frame: build the search tree anew or move its boxes; rebuild where absent"},
      {"image", "png, pfm or both",
       "8-bit sRGB to look at, 32-bit linear to compute with; png where absent"},
      {"seed", "integer >= 0", "the same seed gives the same pixels; 1 where absent"},
      {"material", "sections", "how materials look, as below"},
  };
  return keys;
}

const std::vector<Key>& render_material_keys() {
  static const std::vector<Key> keys = {
      {"match", "text", "which materials, by name; * is any text, ? any character"},
      {"albedo", "[3 numbers]", "red, green and blue from 0 to 1, linear: what is reflected"},
      {"coat_reflectance", "number from 0 to 1",
       "of a clear coat, seen straight; 0.04 is lacquer, 0 no coat; 0 where absent"},
      {"coat_roughness", "number from 0.02 to 1",
       "GGX alpha of the coat: 0.02 mirrors, 0.5 is satin; 0.2 where absent"},
  };
  return keys;
}

Settings read_settings(const Section& section) {
  Settings settings;
  read_inputs(section, settings);
  read_picture(section, settings);
  read_crash(section, settings);
  read_view(section, settings);
  for (const Section& material : section.tables("material", render_material_keys()))
    settings.materials.push_back(read_override(material));
  return settings;
}

} // namespace breakeven::render
