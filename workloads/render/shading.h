// The maths that every path shares: camera rays, sky, the material model and one step of a path.
// Functions of their arguments alone, no memory of their own, so that tests call them without any
// back end and both paths trace the same paths from the same random numbers.
//
// A path step at a hit: draw one block of four random numbers; connect to the sun (a shadow ray,
// unless the surface faces away); sample the material for the next direction; play Russian roulette
// from the second bounce on. The sky is gathered by the rays that miss. The sun's disc is only ever
// sampled by connection, so rays that miss do not see it and nothing is counted twice.
//
// Written once over a number type F: float on a GPU, where the threads of a warp are the lanes, and
// on the CPU a vector register of floats (embree_lanes.h), one path a lane. Hence select() in place
// of branches, and any() around what no lane may need.
#pragma once

#include "workloads/render/engine.h"
#include "workloads/render/philox.h"

namespace breakeven::render {

/// The scene as a path sees it: raw arrays on its own processor.
struct SceneView {
  const Float3* positions; ///< of the current frame
  const Triangle* triangles;
  const std::uint32_t* triangle_materials;
  const Material* materials;
  Camera camera;
  Light light;
};

/// Who a sample is: everything that its random numbers depend on.
struct SampleKey {
  std::uint64_t seed;
  std::uint32_t frame, pixel, sample;
};

using breakeven::fused;

constexpr float pi = 3.14159265358979f;
constexpr float infinite_distance = 1e30f;
constexpr int roulette_starts_at_bounce = 2;

/// The types that go with a number type.
template <class F>
struct Over;
template <>
struct Over<float> {
  using Vector = Float3;
  using Flag = bool;
  using Bits = std::uint32_t;
  using Surface = Material;
};
template <class F>
using VectorOf = typename Over<F>::Vector;
template <class F>
using FlagOf = typename Over<F>::Flag;
template <class F>
using SurfaceOf = typename Over<F>::Surface;

HOST_DEVICE inline bool any(bool flag) { return flag; }
HOST_DEVICE inline float select(bool flag, float yes, float no) { return flag ? yes : no; }
HOST_DEVICE inline Float3 select(bool flag, Float3 yes, Float3 no) { return flag ? yes : no; }
HOST_DEVICE inline float square_root(float a) { return sqrtf(a); }
HOST_DEVICE inline float magnitude(float a) { return fabsf(a); }
/// The second where a comparison with NaN leaves no order; unlike fmaxf() no call on a CPU.
HOST_DEVICE inline float larger(float a, float b) { return a > b ? a : b; }
HOST_DEVICE inline float smaller(float a, float b) { return a < b ? a : b; }

HOST_DEVICE inline float largest_coordinate(Float3 a) {
  return larger(magnitude(a.x), larger(magnitude(a.y), magnitude(a.z)));
}
/// The low 16 bits as a number.
HOST_DEVICE inline float low_half(std::uint32_t bits) { return static_cast<float>(bits & 0xFFFFu); }

/// Four numbers for each lane, as bits.
template <class F>
struct RandomOf {
  typename Over<F>::Bits x, y, z, w;
};

/// Direction through a point of the image, in pixels from its top left corner. Only fused and
/// single operations, so it is bit-equal on all paths.
template <class F>
HOST_DEVICE inline VectorOf<F> camera_direction(const Camera& camera, int width, int height,
                                                F column, F row) {
  const float pixel_size = 2.0f * camera.half_width_tangent / static_cast<float>(width);
  const F across = (column - 0.5f * static_cast<float>(width)) * pixel_size;
  const F down = (row - 0.5f * static_cast<float>(height)) * -pixel_size;
  const VectorOf<F> sideways = fused(camera.right, across, VectorOf<F>(camera.forward));
  return normalized(fused(camera.up, down, sideways));
}

/// A jittered ray through a pixel.
HOST_DEVICE inline Ray camera_ray(const Camera& camera, int width, int height, SampleKey key) {
  const Random4 random = random4(key.seed, key.frame, key.pixel, key.sample, 0);
  const auto column = static_cast<float>(key.pixel % static_cast<std::uint32_t>(width));
  const auto row = static_cast<float>(key.pixel / static_cast<std::uint32_t>(width));
  return {camera.position, 0.0f,
          camera_direction(camera, width, height, column + unit_float(random.x),
                           row + unit_float(random.y)),
          infinite_distance};
}

/// Radiance of the sky without the sun's disc.
template <class F>
HOST_DEVICE inline VectorOf<F> sky_over(const Light& light, const VectorOf<F>& direction) {
  const FlagOf<F> above = direction.z > 0.0f;
  const F height = square_root(select(above, direction.z, F(0.0f)));
  const VectorOf<F> sky = light.horizon * (1.0f - height) + light.zenith * height;
  return select(above, sky, VectorOf<F>(light.ground));
}
HOST_DEVICE inline Float3 sky_radiance(const Light& light, Float3 direction) {
  return sky_over<float>(light, direction);
}

/// Two unit vectors that form a right-handed frame with a unit normal. Duff et al., "Building an
/// Orthonormal Basis, Revisited", JCGT 6(1), 2017.
template <class V>
HOST_DEVICE inline void tangent_frame(V normal, V& tangent, V& bitangent) {
  const auto sign = select(normal.z < 0.0f, decltype(normal.z)(-1.0f), decltype(normal.z)(1.0f));
  const auto a = -1.0f / (sign + normal.z);
  const auto b = normal.x * normal.y * a;
  tangent = {1.0f + sign * normal.x * normal.x * a, sign * b, -sign * normal.x};
  bitangent = {b, sign + normal.y * normal.y * a, -normal.y};
}

/// Sine and cosine of a part of a full turn in [0, 1], to 2 units in the last place. The library's
/// take any angle and a third of the shading time, and differ from processor to processor. Cephes'
/// polynomials for an eighth of a turn either way, then the quarter.
template <class F>
HOST_DEVICE inline void sine_cosine_of_turn(F turn, F& sine, F& cosine) {
  const F quarters = turn * 4.0f + 0.5f;
  const F one(1.0f), zero(0.0f);
  const F quarter = select(quarters >= 1.0f, one, zero) + select(quarters >= 2.0f, one, zero)
                    + select(quarters >= 3.0f, one, zero) + select(quarters >= 4.0f, one, zero);
  const F angle = (turn - quarter * 0.25f) * (2.0f * pi);
  const F z = angle * angle;
  const F odd = fused(fused(F(-1.9515295891e-4f), z, F(8.3321608736e-3f)), z, F(-1.6666654611e-1f));
  const F even = fused(fused(F(2.443315711809948e-5f), z, F(-1.388731625493765e-3f)), z,
                       F(4.166664568298827e-2f));
  const F s = fused(odd * z, angle, angle);
  const F c = fused(even * z, z, 1.0f - 0.5f * z);
  const FlagOf<F> swapped = quarter == 1.0f || quarter == 3.0f;
  const FlagOf<F> sine_falls = quarter == 2.0f || quarter == 3.0f;
  const FlagOf<F> cosine_falls = quarter == 1.0f || quarter == 2.0f;
  sine = select(swapped, c, s);
  cosine = select(swapped, s, c);
  sine = select(sine_falls, -sine, sine);
  cosine = select(cosine_falls, -cosine, cosine);
}

template <class F>
HOST_DEVICE inline F schlick_fresnel(F reflectance, F cosine) {
  const F rest = 1.0f - cosine;
  const F squared = rest * rest;
  return reflectance + (1.0f - reflectance) * squared * squared * rest;
}

/// GGX terms in the local frame (normal = z). Walter et al. 2007; Heitz, "Sampling the GGX
/// Distribution of Visible Normals", JCGT 7(4), 2018.
template <class F>
HOST_DEVICE inline F ggx_distribution(F alpha, F cosine_half) {
  const F squared = alpha * alpha;
  const F shape = cosine_half * cosine_half * (squared - 1.0f) + 1.0f;
  return squared / (pi * shape * shape);
}
template <class F>
HOST_DEVICE inline F ggx_lambda(F alpha, F cosine) {
  const F cosine_squared = cosine * cosine;
  const F tangent_squared = (1.0f - cosine_squared) / cosine_squared;
  return 0.5f * (square_root(1.0f + alpha * alpha * tangent_squared) - 1.0f);
}
/// `disc_x` and `disc_y`: a uniform point of the unit disc.
template <class F>
HOST_DEVICE inline VectorOf<F> sample_visible_normal(F alpha, VectorOf<F> out, F disc_x, F disc_y) {
  using V = VectorOf<F>;
  const F zero(0.0f);
  const V stretched = normalized(V{alpha * out.x, alpha * out.y, out.z});
  const F planar = stretched.x * stretched.x + stretched.y * stretched.y;
  const F inverse = 1.0f / square_root(planar);
  const V first = select(planar > 0.0f, V{-stretched.y * inverse, stretched.x * inverse, zero},
                         V{F(1.0f), zero, zero});
  const V second = cross(stretched, first);
  const F blend = 0.5f * (1.0f + stretched.z);
  const F across = 1.0f - disc_x * disc_x;
  const F down = (1.0f - blend) * square_root(larger(zero, across)) + blend * disc_y;
  const F up = square_root(larger(zero, across - down * down));
  const V normal = first * disc_x + second * down + stretched * up;
  return normalized(V{alpha * normal.x, alpha * normal.y, larger(F(1e-6f), normal.z)});
}

/// Reflected radiance per incident irradiance, times the cosine, and the density with which
/// sample_direction() chooses `in`. Both directions in the local frame, both above the surface.
template <class F>
struct MaterialValue {
  VectorOf<F> reflected;
  F density;
};

/// How often the coat is sampled rather than the base.
template <class F>
HOST_DEVICE inline F coat_probability(const SurfaceOf<F>& material, F cosine_out) {
  const F fresnel = schlick_fresnel(F(material.coat_reflectance), cosine_out);
  const F base = (1.0f - fresnel) * larger(F(0.05f), luminance(material.albedo));
  return select(material.coat_reflectance > 0.0f, fresnel / (fresnel + base), F(0.0f));
}

template <class F>
HOST_DEVICE inline MaterialValue<F> evaluate_material(const SurfaceOf<F>& material, F choose_coat,
                                                      VectorOf<F> out, VectorOf<F> in) {
  const F diffuse_density = in.z * (1.0f / pi);
  const MaterialValue<F> diffuse{material.albedo * diffuse_density, diffuse_density};
  const FlagOf<F> coated = material.coat_reflectance > 0.0f;
  if (!any(coated)) return diffuse;
  const VectorOf<F> half = normalized(out + in);
  const F alpha = material.coat_roughness;
  const F fresnel = schlick_fresnel(F(material.coat_reflectance), dot(out, half));
  const F distribution = ggx_distribution(alpha, half.z);
  const F lambda_out = ggx_lambda(alpha, out.z);
  const F masking = 1.0f / (1.0f + lambda_out + ggx_lambda(alpha, in.z));
  const F coat = fresnel * distribution * masking / (4.0f * out.z);
  const F coat_density = distribution / ((1.0f + lambda_out) * 4.0f * out.z);
  const F base = (1.0f - fresnel) * diffuse_density;
  const VectorOf<F> reflected = material.albedo * base + VectorOf<F>{coat, coat, coat};
  return {select(coated, reflected, diffuse.reflected),
          select(coated, choose_coat * coat_density + (1.0f - choose_coat) * diffuse_density,
                 diffuse_density)};
}

template <class F>
HOST_DEVICE inline VectorOf<F> sample_direction(const SurfaceOf<F>& material, VectorOf<F> out,
                                                FlagOf<F> coat, F u, F v) {
  F sine, cosine;
  sine_cosine_of_turn(v, sine, cosine);
  const F radius = square_root(u);
  const F disc_x = radius * cosine, disc_y = radius * sine;
  const VectorOf<F> diffuse{disc_x, disc_y, square_root(larger(F(0.0f), 1.0f - u))};
  if (!any(coat)) return diffuse;
  const VectorOf<F> half = sample_visible_normal(F(material.coat_roughness), out, disc_x, disc_y);
  return select(coat, half * (2.0f * dot(out, half)) - out, diffuse);
}

/// Uniform direction in the sun's disc.
template <class F>
HOST_DEVICE inline VectorOf<F> sample_sun(const Light& light, typename Over<F>::Bits bits) {
  const F u = low_half(bits >> 16) * 0x1p-16f;
  const F v = low_half(bits) * 0x1p-16f;
  const F cosine = 1.0f - u * (1.0f - light.sun_cosine);
  const F radius = square_root(larger(F(0.0f), 1.0f - cosine * cosine));
  F sine_around, cosine_around;
  sine_cosine_of_turn(v, sine_around, cosine_around);
  Float3 tangent, bitangent;
  tangent_frame(light.to_sun, tangent, bitangent);
  return tangent * (radius * cosine_around) + bitangent * (radius * sine_around)
         + light.to_sun * cosine;
}

/// Moves a point off its triangle on the side of `direction`, by an amount that follows the size of
/// the coordinates (16 units in the last place of the largest), so that it works at any scale; an
/// absolute distance fails in small scenes.
template <class F>
HOST_DEVICE inline VectorOf<F> off_surface(VectorOf<F> point, VectorOf<F> normal,
                                           VectorOf<F> direction, F largest_coordinate) {
  const F distance = largest_coordinate * 0x1p-19f;
  return fused(normal, select(dot(normal, direction) >= 0.0f, distance, -distance), point);
}

/// Where a ray arrived: the triangle's corners, the hit's barycentrics, what is there.
template <class F>
struct Arrival {
  VectorOf<F> a, b, c;
  F u, v;
  SurfaceOf<F> material;
  VectorOf<F> direction; ///< of the ray
};

/// What one step of a path asks for next.
template <class F>
struct StepOf {
  FlagOf<F> faces_sun; ///< whether a connection to the sun is possible
  VectorOf<F> shadow_origin, to_sun;
  VectorOf<F> sun; ///< radiance to add if the shadow ray meets nothing
  FlagOf<F> alive; ///< whether the path goes on
  VectorOf<F> origin, direction;
  VectorOf<F> throughput; ///< of the next ray
};

/// `bounce` is 0 at the first hit. Where a flag is false its values mean nothing.
template <class F>
HOST_DEVICE inline StepOf<F> step_at(const Light& light, const Arrival<F>& at,
                                     VectorOf<F> throughput, const RandomOf<F>& random, int bounce,
                                     int max_bounces) {
  using V = VectorOf<F>;
  StepOf<F> step{};
  const V edge_b = at.b - at.a, edge_c = at.c - at.a;
  const V area = cross(edge_b, edge_c);
  const F area_length = length(area);
  const FlagOf<F> proper = area_length > 0.0f;
  const V outward = area * (1.0f / area_length);
  const V normal = select(dot(outward, at.direction) > 0.0f, -outward, outward);
  const V point = fused(edge_b, at.u, fused(edge_c, at.v, at.a));
  const F largest =
      larger(largest_coordinate(at.a), larger(largest_coordinate(at.b), largest_coordinate(at.c)));
  V tangent, bitangent;
  tangent_frame(normal, tangent, bitangent);
  const V out{-dot(tangent, at.direction), -dot(bitangent, at.direction),
              larger(F(1e-4f), -dot(normal, at.direction))};
  const F choose_coat = coat_probability<F>(at.material, out.z);

  step.to_sun = sample_sun<F>(light, random.w);
  const F sun_cosine = dot(normal, step.to_sun);
  step.faces_sun = proper && sun_cosine > 0.0f;
  if (any(step.faces_sun)) {
    const V in{dot(tangent, step.to_sun), dot(bitangent, step.to_sun), sun_cosine};
    step.sun = throughput * evaluate_material<F>(at.material, choose_coat, out, in).reflected
               * light.sun_irradiance;
    step.shadow_origin = off_surface<F>(point, normal, step.to_sun, largest);
  }
  if (bounce >= max_bounces) return step;

  // One number chooses the lobe and, stretched back to [0, 1), plays Russian roulette.
  const F number = unit_float(random.z);
  const FlagOf<F> coat = number < choose_coat;
  const F choice =
      select(coat, number / choose_coat, (number - choose_coat) / (1.0f - choose_coat));
  const V in =
      sample_direction<F>(at.material, out, coat, unit_float(random.x), unit_float(random.y));
  const MaterialValue<F> value = evaluate_material<F>(at.material, choose_coat, out, in);
  step.alive = proper && in.z > 0.0f && value.density > 0.0f;
  step.throughput = throughput * value.reflected * (1.0f / value.density);
  if (bounce + 1 >= roulette_starts_at_bounce) {
    const F share = larger(step.throughput.x, larger(step.throughput.y, step.throughput.z));
    const F survival = smaller(F(0.95f), larger(F(0.05f), share));
    step.alive = step.alive && choice < survival;
    step.throughput = step.throughput * (1.0f / survival);
  }
  step.direction = normalized(tangent * in.x + bitangent * in.y + normal * in.z);
  step.origin = off_surface<F>(point, normal, step.direction, largest);
  return step;
}

/// One step of one path, as rays.
struct Step {
  Ray shadow; ///< t_max 0 where no connection to the sun is possible
  Float3 sun; ///< radiance to add if the shadow ray meets nothing
  Ray next;
  Float3 throughput; ///< of the next ray
  bool alive;        ///< whether the path goes on
};

/// One step at a hit of `ray` (a camera ray or a bounce). `bounce` is 0 at the first hit.
HOST_DEVICE inline Step path_step(const SceneView& scene, const Ray& ray, const Hit& hit,
                                  Float3 throughput, SampleKey key, int bounce, int max_bounces) {
  const Triangle triangle = scene.triangles[hit.triangle];
  const Arrival<float> at{scene.positions[triangle.a],
                          scene.positions[triangle.b],
                          scene.positions[triangle.c],
                          hit.u,
                          hit.v,
                          scene.materials[scene.triangle_materials[hit.triangle]],
                          ray.direction};
  const Random4 random =
      random4(key.seed, key.frame, key.pixel, key.sample, 1 + static_cast<std::uint32_t>(bounce));
  const StepOf<float> step = step_at<float>(
      scene.light, at, throughput, {random.x, random.y, random.z, random.w}, bounce, max_bounces);
  return {{step.shadow_origin, 0.0f, step.to_sun, step.faces_sun ? infinite_distance : 0.0f},
          step.sun,
          {step.origin, 0.0f, step.direction, infinite_distance},
          step.throughput,
          step.alive};
}

} // namespace breakeven::render
