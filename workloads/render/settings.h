// The [workload] keys of kind "render", read and checked, and the scene they describe.
#pragma once

#include "sim/scenario/section.h"
#include "workloads/render/scene.h"

#include <filesystem>
#include <optional>

namespace breakeven::render {

enum class Acceleration { rebuild, refit };
enum class ImageFormat { png, pfm, both };
enum class UpAxis { y, z };

struct MaterialOverride {
  std::string match; ///< glob (* and ?, upper case as lower case) against a material's name
  Material material;
  std::string file; ///< the scenario and the line that say so, for messages
  long line = 0;
};

/// Where a file's mesh goes. Surroundings go where `position` says; a vehicle is placed by its own
/// bounding box, in front of the pole, and only position.z counts: its clearance.
struct MeshInput {
  std::filesystem::path file; ///< empty: none
  double metres_per_unit = 1;
  UpAxis up = UpAxis::z;
  double heading_deg = 0;   ///< turned about the up axis, counter-clockwise, after up -> z
  Float3 position{0, 0, 0}; ///< metres; where the file's origin (after turning) goes
};

struct Settings {
  bool procedural = true; ///< scene = "procedural:crash"
  std::int64_t triangles = 850'000;
  MeshInput vehicle, surroundings;
  int width = 1920, height = 1080;
  int samples_per_pixel = 64;
  int max_bounces = 4; ///< scattering events after the first hit; 0 is direct light only
  std::vector<std::int64_t> frames;
  double frames_per_second = 250; ///< of simulated time
  double speed_m_per_s = 56 / 3.6, crush_depth_m = 0.5, crush_zone_m = 1.4;
  double gap_m = 0.6; ///< free way to the pole at frame 0
  double pole_radius_m = 0.127, pole_height_m = 6;
  double pole_offset_m = 0; ///< of the pole from the vehicle's middle, to the driver's left
  /// Metres, from the pole's foot.
  Float3 camera_position{3.8f, -5.0f, 1.75f}, camera_target{-2.1f, 0.3f, 0.75f};
  double field_of_view_deg = 50; ///< horizontal
  double sun_azimuth_deg = 215;  ///< from +x, counter-clockwise
  double sun_elevation_deg = 42;
  double scale = 1; ///< world units per metre
  Acceleration acceleration = Acceleration::rebuild;
  ImageFormat format = ImageFormat::png;
  std::uint64_t seed = 1;
  std::vector<MaterialOverride> materials; ///< first match wins
};

const std::vector<Key>& render_keys();          ///< of [workload] with kind = "render"
const std::vector<Key>& render_material_keys(); ///< of [[workload.material]]

Settings read_settings(const Section& section);

/// Loads or builds the scene; a vehicle without surroundings stands in the procedural street.
/// Throws BadInput for files that cannot be used (no triangles, NaN vertices, indices out of range,
/// a size that no vehicle has) and Failure when there is not enough memory for it.
RenderScene make_scene(const Settings& settings);

} // namespace breakeven::render
