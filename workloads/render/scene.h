// What is rendered: one triangle mesh whose first part, the vehicle, moves and crushes; materials,
// camera, sun and sky. World units are metres times `scale`; z is up and the vehicle drives towards
// +x. Takes a mesh file, an LS-DYNA deck or the built-in procedural scene; gives plain arrays that
// either path can copy. Leaves out textures, instancing and moving cameras.
#pragma once

#include "workloads/render/vec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::render {

struct Triangle {
  std::uint32_t a, b, c; ///< counter-clockwise seen from outside; both sides are lit alike
};

struct Mesh {
  std::vector<Float3> positions;
  std::vector<Triangle> triangles;
  std::vector<std::uint32_t> materials; ///< one index per triangle
};

/// Lambertian base under an optional dielectric coat (GGX).
struct Material {
  Float3 albedo{0.6f, 0.6f, 0.6f};
  float coat_reflectance = 0;  ///< at normal incidence; 0 means purely diffuse, 0.04 a clear coat
  float coat_roughness = 0.2f; ///< GGX alpha in [0.02, 1]
};

/// The analytic crash. Until the front touches the pole the vehicle moves at `speed`; from then on
/// its undamaged part covers C(t) = depth (1 - exp(-speed t / depth)) more, which starts at the
/// impact speed and comes to rest after `depth`. In the vehicle's frame a point q behind the front
/// and y beside the pole is pushed back by C g(y) (1 - q / zone)^2 for q < zone, where
/// g(y) = exp(-(y / width)^2), and buckles upwards by ripple times that push times
/// sin(2 pi q / ripple_length). With depth <= zone / 2 the map folds nothing over (its derivative
/// along q stays positive), and with width^2 >= 2 depth (radius of the pole) nothing gets into the
/// pole that its near side has not pushed back. Not a finite-element solution: it drives geometry,
/// not safety claims.
struct Crush {
  float front_x = 0;    ///< rest x of the vehicle's foremost point
  float pole_x = 0;     ///< x of the pole's near side
  float pole_y = 0;     ///< lateral position of the pole's axis
  float speed = 15.6f;  ///< world units per second (56 km/h at scale 1)
  float depth = 0.5f;   ///< final crush, world units
  float zone = 1.4f;    ///< length of the part that can deform
  float width = 0.45f;  ///< half-width of the dent
  float ripple = 0.25f; ///< buckling, relative to the push
  float ripple_length = 0.3f;
};

struct Camera {
  Float3 position, right, up, forward; ///< orthonormal
  float half_width_tangent = 0.5f;     ///< tan(horizontal field of view / 2)
};

struct Light {
  Float3 to_sun{0, 0, 1};
  Float3 sun_irradiance{2.6f, 2.4f, 2.1f}; ///< on a surface facing the sun
  float sun_cosine = 0.99996f;             ///< cosine of the disc's angular radius
  Float3 horizon{0.75f, 0.80f, 0.88f}, zenith{0.18f, 0.35f, 0.75f}, ground{0.22f, 0.21f, 0.20f};
};

struct RenderScene {
  Mesh mesh;                          ///< rest pose; the vehicle's vertices and triangles first
  std::uint32_t vehicle_vertices = 0; ///< those that `crush` moves
  std::uint32_t vehicle_triangles = 0;
  std::vector<Material> materials;
  std::vector<std::string> material_names; ///< as the input named them
  Crush crush;
  Camera camera;
  Light light;
  double seconds_per_frame = 0.004;     ///< simulated time between frames
  std::size_t degenerate_triangles = 0; ///< of the input files, without area and so left out
};

/// Simulated time of a frame, as every path computes it.
inline float frame_time_s(const RenderScene& scene, std::int64_t frame) {
  return static_cast<float>(static_cast<double>(frame) * scene.seconds_per_frame);
}

/// Where a vehicle vertex is, `time_s` after frame 0. Host and device.
HOST_DEVICE inline Float3 crushed(const Crush& crush, Float3 rest, float time_s) {
  const float gap = crush.pole_x - crush.front_x;
  const float impact_s = gap / crush.speed;
  if (time_s <= impact_s) return {rest.x + crush.speed * time_s, rest.y, rest.z};
  const float travelled =
      crush.depth * (1.0f - expf(-crush.speed * (time_s - impact_s) / crush.depth));
  const float behind = crush.front_x - rest.x;
  float push = 0, lift = 0;
  if (behind < crush.zone) {
    const float beside = (rest.y - crush.pole_y) / crush.width;
    const float along = 1.0f - behind / crush.zone;
    push = travelled * expf(-beside * beside) * along * along;
    lift = crush.ripple * push * sinf(6.2831853f * behind / crush.ripple_length);
  }
  return {rest.x + gap + travelled - push, rest.y, rest.z + lift};
}

/// All vertices at a frame: the vehicle's crushed, the others at rest.
inline std::vector<Float3> positions_at(const RenderScene& scene, std::int64_t frame) {
  std::vector<Float3> positions = scene.mesh.positions;
  const float time_s = frame_time_s(scene, frame);
  for (std::uint32_t i = 0; i < scene.vehicle_vertices; ++i)
    positions[i] = crushed(scene.crush, positions[i], time_s);
  return positions;
}

} // namespace breakeven::render
