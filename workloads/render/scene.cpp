// Puts a scene together: loads or builds the parts, places them around the pole's foot, and gives
// them looks. All of it in metres and double precision; the last step multiplies by `scale` and
// rounds to the single precision that the engines use.
#include "sim/errors.h"
#include "workloads/render/materials.h"
#include "workloads/render/mesh_file.h"
#include "workloads/render/patches.h"
#include "workloads/render/procedural.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <numbers>

namespace breakeven::render {

namespace {

constexpr double radians_per_degree = std::numbers::pi / 180;
constexpr double shortest_vehicle_m = 0.3, longest_vehicle_m = 100;
constexpr double widest_surroundings_m = 1e5;

/// A mesh on its way into the scene.
struct Part {
  SourceMesh source;
  std::vector<Point> positions; ///< metres, in the world's axes
  bool procedural = false;
};

struct Bounds {
  Point low{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
            std::numeric_limits<double>::infinity()};
  Point high{-low.x, -low.y, -low.z};
};

Bounds bounds_of(const std::vector<Point>& positions) {
  Bounds bounds;
  for (const Point& p : positions) {
    bounds.low = {std::min(bounds.low.x, p.x), std::min(bounds.low.y, p.y),
                  std::min(bounds.low.z, p.z)};
    bounds.high = {std::max(bounds.high.x, p.x), std::max(bounds.high.y, p.y),
                   std::max(bounds.high.z, p.z)};
  }
  return bounds;
}

double widest(const Bounds& bounds) {
  return std::max(
      {bounds.high.x - bounds.low.x, bounds.high.y - bounds.low.y, bounds.high.z - bounds.low.z});
}

void move(std::vector<Point>& positions, Point by) {
  for (Point& p : positions)
    p = p + by;
}

/// Turned upright, then to its heading, in metres; not yet at its place.
Part loaded(const MeshInput& input) {
  Part part;
  part.source = load_mesh_file(input.file);
  const double cosine = std::cos(input.heading_deg * radians_per_degree);
  const double sine = std::sin(input.heading_deg * radians_per_degree);
  part.positions.reserve(part.source.mesh.positions.size());
  for (const Float3& p : part.source.mesh.positions) {
    const Point upright =
        input.up == UpAxis::y ? Point{p.x, -double{p.z}, p.y} : Point{p.x, p.y, p.z};
    const Point turned{cosine * upright.x - sine * upright.y, sine * upright.x + cosine * upright.y,
                       upright.z};
    part.positions.push_back(turned * input.metres_per_unit);
  }
  return part;
}

Part generated(SourceMesh source) {
  Part part;
  part.procedural = true;
  part.positions.reserve(source.mesh.positions.size());
  for (const Float3& p : source.mesh.positions)
    part.positions.push_back({p.x, p.y, p.z});
  part.source = std::move(source);
  return part;
}

Part surroundings_of(const Settings& settings) {
  const MeshInput& input = settings.surroundings;
  if (input.file.empty()) {
    // Leaves and parked cars get finer with the scene, so that they never look coarse beside it.
    const double detail =
        settings.procedural ? static_cast<double>(settings.triangles) / 150'000 : 2.0;
    return generated(procedural_street(std::clamp(detail, 0.3, 8.0)));
  }
  Part part = loaded(input);
  move(part.positions, {input.position.x, input.position.y, input.position.z});
  const double size = widest(bounds_of(part.positions));
  if (size > widest_surroundings_m)
    throw BadInput(
        input.file.string(), 0, fmt::format("surroundings {:.4g} m wide", size),
        fmt::format("at most {:.4g} m (surroundings_unit_m says what the file counts in)",
                    widest_surroundings_m));
  return part;
}

Part vehicle_of(const Settings& settings, std::int64_t triangles_of_others) {
  if (settings.procedural)
    return generated(procedural_car(settings.triangles - triangles_of_others));
  Part part = loaded(settings.vehicle);
  const Bounds bounds = bounds_of(part.positions);
  const double length = bounds.high.x - bounds.low.x;
  if (!(widest(bounds) <= longest_vehicle_m && length >= shortest_vehicle_m))
    throw BadInput(settings.vehicle.file.string(), 0,
                   fmt::format("a vehicle {:.4g} m long and {:.4g} m in its largest size", length,
                               widest(bounds)),
                   fmt::format("{:.4g} to {:.4g} m (vehicle_unit_m says what the file counts in)",
                               shortest_vehicle_m, longest_vehicle_m));
  return part;
}

/// In front of the pole, which is at x = y = 0.
void place_vehicle(const Settings& settings, Part& vehicle) {
  const Bounds bounds = bounds_of(vehicle.positions);
  move(vehicle.positions, {-settings.pole_radius_m - settings.gap_m - bounds.high.x,
                           -settings.pole_offset_m - 0.5 * (bounds.low.y + bounds.high.y),
                           static_cast<double>(settings.vehicle.position.z) - bounds.low.z});
}

/// Takes the part's memory with it, for a scene can be large.
void append(Part part, double scale, RenderScene& scene) {
  Mesh& mesh = scene.mesh;
  if (mesh.positions.size() + part.positions.size() > most_indices
      || mesh.triangles.size() + part.source.mesh.triangles.size() > most_indices / 3)
    throw BadInput("[workload]", 0,
                   "vehicle and surroundings of more triangles than can be numbered",
                   fmt::format("at most {} indices", most_indices));
  const auto first_vertex = static_cast<std::uint32_t>(mesh.positions.size());
  const auto first_material = static_cast<std::uint32_t>(scene.materials.size());
  for (const Point& p : part.positions)
    mesh.positions.push_back({static_cast<float>(p.x * scale), static_cast<float>(p.y * scale),
                              static_cast<float>(p.z * scale)});
  for (const Triangle& t : part.source.mesh.triangles)
    mesh.triangles.push_back({first_vertex + t.a, first_vertex + t.b, first_vertex + t.c});
  for (const std::uint32_t material : part.source.mesh.materials)
    mesh.materials.push_back(first_material + material);
  for (const SourceMaterial& source : part.source.materials) {
    const std::size_t number = scene.materials.size() - first_material;
    const auto own = part.procedural ? procedural_material(source.name) : std::nullopt;
    scene.materials.push_back(own ? *own : default_material(source, number));
    scene.material_names.push_back(source.name);
  }
  scene.degenerate_triangles += part.source.degenerate_triangles;
}

Crush crush_of(const Settings& settings, const RenderScene& scene) {
  Crush crush;
  const double scale = settings.scale;
  crush.front_x = -std::numeric_limits<float>::infinity();
  for (std::uint32_t i = 0; i < scene.vehicle_vertices; ++i)
    crush.front_x = std::max(crush.front_x, scene.mesh.positions[i].x);
  // Rounding must not put the front behind the pole's near side.
  crush.pole_x = std::max(static_cast<float>(-settings.pole_radius_m * scale), crush.front_x);
  crush.pole_y = 0;
  crush.speed = static_cast<float>(settings.speed_m_per_s * scale);
  crush.depth = static_cast<float>(settings.crush_depth_m * scale);
  crush.zone = static_cast<float>(settings.crush_zone_m * scale);
  // As wide as the pole needs (see Crush) and no narrower than bumpers bend.
  const double needed = std::sqrt(2 * settings.crush_depth_m * settings.pole_radius_m);
  crush.width = static_cast<float>(std::max(0.45, needed) * scale);
  crush.ripple_length = static_cast<float>(0.3 * scale);
  return crush;
}

Float3 single(Point p) {
  return {static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)};
}

Point crossed(Point a, Point b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

Point unit(Point p) { return p * (1 / std::sqrt(p.x * p.x + p.y * p.y + p.z * p.z)); }

Camera camera_of(const Settings& settings) {
  const Float3 from = settings.camera_position, to = settings.camera_target;
  const Point forward = unit({double{to.x} - from.x, double{to.y} - from.y, double{to.z} - from.z});
  // Looking straight down (or up), the top of the picture is where the vehicle drives.
  const Point upwards = std::abs(forward.z) < 0.9999 ? Point{0, 0, 1} : Point{1, 0, 0};
  const Point right = unit(crossed(forward, upwards));
  Camera camera;
  camera.position = single(Point{from.x, from.y, from.z} * settings.scale);
  camera.right = single(right);
  camera.up = single(crossed(right, forward));
  camera.forward = single(forward);
  camera.half_width_tangent =
      static_cast<float>(std::tan(0.5 * settings.field_of_view_deg * radians_per_degree));
  return camera;
}

Light light_of(const Settings& settings) {
  const double azimuth = settings.sun_azimuth_deg * radians_per_degree;
  const double elevation = settings.sun_elevation_deg * radians_per_degree;
  Light light;
  light.to_sun = single({std::cos(elevation) * std::cos(azimuth),
                         std::cos(elevation) * std::sin(azimuth), std::sin(elevation)});
  return light;
}

RenderScene assembled(const Settings& settings) {
  Part surroundings = surroundings_of(settings);
  Part pole = generated(procedural_pole(settings.pole_radius_m, settings.pole_height_m));
  std::size_t others = pole.source.mesh.triangles.size();
  if (surroundings.procedural) others += surroundings.source.mesh.triangles.size();
  Part vehicle = vehicle_of(settings, static_cast<std::int64_t>(others));
  place_vehicle(settings, vehicle);

  RenderScene scene;
  append(std::move(vehicle), settings.scale, scene);
  scene.vehicle_vertices = static_cast<std::uint32_t>(scene.mesh.positions.size());
  scene.vehicle_triangles = static_cast<std::uint32_t>(scene.mesh.triangles.size());
  append(std::move(pole), settings.scale, scene);
  append(std::move(surroundings), settings.scale, scene);
  apply_overrides(settings.materials, scene);
  scene.crush = crush_of(settings, scene);
  scene.camera = camera_of(settings);
  scene.light = light_of(settings);
  scene.seconds_per_frame = 1 / settings.frames_per_second;
  return scene;
}

} // namespace

RenderScene make_scene(const Settings& settings) {
  try {
    return assembled(settings);
  } catch (const std::bad_alloc&) {
    throw Failure("not enough memory for the scene");
  }
}

} // namespace breakeven::render
