// The maths that every path shares: camera rays, sky, the material model and one step of a path.
// Functions of their arguments alone, no memory of their own, so that tests call them without any
// back end and both paths trace the same paths from the same random numbers.
//
// A path step at a hit: draw one block of four random numbers; connect to the sun (a shadow ray,
// unless the surface faces away); sample the material for the next direction; play Russian roulette
// from the second bounce on. The sky is gathered by the rays that miss. The sun's disc is only ever
// sampled by connection, so rays that miss do not see it and nothing is counted twice.
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

constexpr float pi = 3.14159265358979f;
constexpr float infinite_distance = 1e30f;
constexpr int roulette_starts_at_bounce = 2;

/// A jittered ray through a pixel. Only fused and single operations, so it is bit-equal on all paths.
HOST_DEVICE inline Ray camera_ray(const Camera& camera, int width, int height, SampleKey key) {
  const Random4 random = random4(key.seed, key.frame, key.pixel, key.sample, 0);
  const float column = static_cast<float>(key.pixel % static_cast<std::uint32_t>(width));
  const float row = static_cast<float>(key.pixel / static_cast<std::uint32_t>(width));
  const float pixel_size = 2.0f * camera.half_width_tangent / static_cast<float>(width);
  const float across = (column + unit_float(random.x)) - 0.5f * static_cast<float>(width);
  const float down = (row + unit_float(random.y)) - 0.5f * static_cast<float>(height);
  const Float3 sideways = fused(camera.right, across * pixel_size, camera.forward);
  const Float3 direction = fused(camera.up, -down * pixel_size, sideways);
  return {camera.position, 0.0f, normalized(direction), infinite_distance};
}

/// Radiance of the sky without the sun's disc.
HOST_DEVICE inline Float3 sky_radiance(const Light& light, Float3 direction) {
  if (direction.z <= 0) return light.ground;
  const float height = sqrtf(direction.z);
  return light.horizon * (1.0f - height) + light.zenith * height;
}

/// Two unit vectors that form a right-handed frame with a unit normal. Duff et al., "Building an
/// Orthonormal Basis, Revisited", JCGT 6(1), 2017.
HOST_DEVICE inline void tangent_frame(Float3 normal, Float3& tangent, Float3& bitangent) {
  const float sign = copysignf(1.0f, normal.z);
  const float a = -1.0f / (sign + normal.z);
  const float b = normal.x * normal.y * a;
  tangent = {1.0f + sign * normal.x * normal.x * a, sign * b, -sign * normal.x};
  bitangent = {b, sign + normal.y * normal.y * a, -normal.y};
}

HOST_DEVICE inline float schlick_fresnel(float reflectance, float cosine) {
  const float rest = 1.0f - cosine;
  const float squared = rest * rest;
  return reflectance + (1.0f - reflectance) * squared * squared * rest;
}

/// GGX terms in the local frame (normal = z). Walter et al. 2007; Heitz, "Sampling the GGX
/// Distribution of Visible Normals", JCGT 7(4), 2018.
HOST_DEVICE inline float ggx_distribution(float alpha, float cosine_half) {
  const float squared = alpha * alpha;
  const float shape = cosine_half * cosine_half * (squared - 1.0f) + 1.0f;
  return squared / (pi * shape * shape);
}
HOST_DEVICE inline float ggx_lambda(float alpha, float cosine) {
  const float cosine_squared = cosine * cosine;
  const float tangent_squared = (1.0f - cosine_squared) / cosine_squared;
  return 0.5f * (sqrtf(1.0f + alpha * alpha * tangent_squared) - 1.0f);
}
HOST_DEVICE inline Float3 sample_visible_normal(float alpha, Float3 out, float u, float v) {
  const Float3 stretched = normalized({alpha * out.x, alpha * out.y, out.z});
  const float planar = stretched.x * stretched.x + stretched.y * stretched.y;
  const float inverse = planar > 0 ? 1.0f / sqrtf(planar) : 0.0f;
  const Float3 first = planar > 0 ? Float3{-stretched.y * inverse, stretched.x * inverse, 0}
                                  : Float3{1, 0, 0};
  const Float3 second = cross(stretched, first);
  const float radius = sqrtf(u), angle = 2.0f * pi * v;
  const float disc_x = radius * cosf(angle);
  const float blend = 0.5f * (1.0f + stretched.z);
  const float disc_y =
      (1.0f - blend) * sqrtf(fmaxf(0.0f, 1.0f - disc_x * disc_x)) + blend * radius * sinf(angle);
  const float disc_z = sqrtf(fmaxf(0.0f, 1.0f - disc_x * disc_x - disc_y * disc_y));
  const Float3 normal = first * disc_x + second * disc_y + stretched * disc_z;
  return normalized({alpha * normal.x, alpha * normal.y, fmaxf(1e-6f, normal.z)});
}

/// Reflected radiance per incident irradiance, times the cosine, and the density with which
/// sample_direction() chooses `in`. Both directions in the local frame, both above the surface.
struct MaterialValue {
  Float3 reflected;
  float density;
};

/// How often the coat is sampled rather than the base.
HOST_DEVICE inline float coat_probability(const Material& material, float cosine_out) {
  if (material.coat_reflectance <= 0) return 0;
  const float fresnel = schlick_fresnel(material.coat_reflectance, cosine_out);
  return fresnel / (fresnel + (1.0f - fresnel) * fmaxf(0.05f, luminance(material.albedo)));
}

HOST_DEVICE inline MaterialValue evaluate_material(const Material& material, Float3 out,
                                                   Float3 in) {
  const float diffuse_density = in.z * (1.0f / pi);
  if (material.coat_reflectance <= 0)
    return {material.albedo * diffuse_density, diffuse_density};
  const Float3 half = normalized(out + in);
  const float alpha = material.coat_roughness;
  const float fresnel = schlick_fresnel(material.coat_reflectance, dot(out, half));
  const float distribution = ggx_distribution(alpha, half.z);
  const float lambda_out = ggx_lambda(alpha, out.z);
  const float masking = 1.0f / (1.0f + lambda_out + ggx_lambda(alpha, in.z));
  const float coat = fresnel * distribution * masking / (4.0f * out.z);
  const float coat_density = distribution / ((1.0f + lambda_out) * 4.0f * out.z);
  const float base = (1.0f - fresnel) * diffuse_density;
  const float choose_coat = coat_probability(material, out.z);
  return {material.albedo * base + Float3{coat, coat, coat},
          choose_coat * coat_density + (1.0f - choose_coat) * diffuse_density};
}

HOST_DEVICE inline Float3 sample_direction(const Material& material, Float3 out, bool coat, float u,
                                           float v) {
  if (coat) {
    const Float3 half = sample_visible_normal(material.coat_roughness, out, u, v);
    return half * (2.0f * dot(out, half)) - out;
  }
  const float radius = sqrtf(u), angle = 2.0f * pi * v;
  return {radius * cosf(angle), radius * sinf(angle), sqrtf(fmaxf(0.0f, 1.0f - u))};
}

/// Uniform direction in the sun's disc.
HOST_DEVICE inline Float3 sample_sun(const Light& light, std::uint32_t bits) {
  const float u = static_cast<float>(bits >> 16) * 0x1p-16f;
  const float v = static_cast<float>(bits & 0xFFFFu) * 0x1p-16f;
  const float cosine = 1.0f - u * (1.0f - light.sun_cosine);
  const float sine = sqrtf(fmaxf(0.0f, 1.0f - cosine * cosine)), angle = 2.0f * pi * v;
  Float3 tangent, bitangent;
  tangent_frame(light.to_sun, tangent, bitangent);
  return tangent * (sine * cosf(angle)) + bitangent * (sine * sinf(angle)) + light.to_sun * cosine;
}

/// What one step of a path asks for next.
struct Step {
  Ray shadow;           ///< t_max 0 where no connection to the sun is possible
  Float3 sun;           ///< radiance to add if the shadow ray meets nothing
  Ray next;
  Float3 throughput;    ///< of the next ray
  bool alive;           ///< whether the path goes on
};

/// Moves a point off its triangle on the side of `direction`, by an amount that follows the size of
/// the coordinates (16 units in the last place of the largest), so that it works at any scale; an
/// absolute distance fails in small scenes.
HOST_DEVICE inline Float3 off_surface(Float3 point, Float3 normal, Float3 direction,
                                      float largest_coordinate) {
  const float distance = largest_coordinate * 0x1p-19f;
  return fused(normal, dot(normal, direction) >= 0 ? distance : -distance, point);
}

/// One step at a hit of `ray` (a camera ray or a bounce). `bounce` is 0 at the first hit.
HOST_DEVICE inline Step path_step(const SceneView& scene, const Ray& ray, const Hit& hit,
                                  Float3 throughput, SampleKey key, int bounce, int max_bounces) {
  const Triangle triangle = scene.triangles[hit.triangle];
  const Float3 a = scene.positions[triangle.a];
  const Float3 b = scene.positions[triangle.b];
  const Float3 c = scene.positions[triangle.c];
  const Material material = scene.materials[scene.triangle_materials[hit.triangle]];
  Step step{};
  step.shadow.t_max = 0;
  const Float3 area = cross(b - a, c - a);
  const float area_length = length(area);
  if (!(area_length > 0)) return step;
  Float3 normal = area * (1.0f / area_length);
  if (dot(normal, ray.direction) > 0) normal = -normal;

  const Float3 point = fused(b - a, hit.u, fused(c - a, hit.v, a));
  const float largest =
      fmaxf(largest_magnitude(a), fmaxf(largest_magnitude(b), largest_magnitude(c)));
  Float3 tangent, bitangent;
  tangent_frame(normal, tangent, bitangent);
  const Float3 out{-dot(tangent, ray.direction), -dot(bitangent, ray.direction),
                   fmaxf(1e-4f, -dot(normal, ray.direction))};
  const Random4 random =
      random4(key.seed, key.frame, key.pixel, key.sample, 1 + static_cast<std::uint32_t>(bounce));

  const Float3 to_sun = sample_sun(scene.light, random.w);
  const float sun_cosine = dot(normal, to_sun);
  if (sun_cosine > 0) {
    const Float3 in{dot(tangent, to_sun), dot(bitangent, to_sun), sun_cosine};
    step.sun = throughput * evaluate_material(material, out, in).reflected * scene.light.sun_irradiance;
    step.shadow = {off_surface(point, normal, to_sun, largest), 0.0f, to_sun, infinite_distance};
  }
  if (bounce >= max_bounces) return step;

  // One number chooses the lobe and, stretched back to [0, 1), plays Russian roulette.
  const float choose_coat = coat_probability(material, out.z);
  float choice = unit_float(random.z);
  const bool coat = choice < choose_coat;
  choice = coat ? choice / choose_coat : (choice - choose_coat) / (1.0f - choose_coat);
  const Float3 in =
      sample_direction(material, out, coat, unit_float(random.x), unit_float(random.y));
  if (!(in.z > 0)) return step;
  const MaterialValue value = evaluate_material(material, out, in);
  if (!(value.density > 0)) return step;
  step.throughput = throughput * value.reflected * (1.0f / value.density);
  if (bounce + 1 >= roulette_starts_at_bounce) {
    const float largest_share =
        fmaxf(step.throughput.x, fmaxf(step.throughput.y, step.throughput.z));
    const float survival = fminf(0.95f, fmaxf(0.05f, largest_share));
    if (choice >= survival) return step;
    step.throughput = step.throughput * (1.0f / survival);
  }
  const Float3 direction = normalized(tangent * in.x + bitangent * in.y + normal * in.z);
  step.next = {off_surface(point, normal, direction, largest), 0.0f, direction, infinite_distance};
  step.alive = true;
  return step;
}

} // namespace breakeven::render
