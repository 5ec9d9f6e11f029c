#include "workloads/render/brute_force.h"

namespace breakeven::render {

namespace {

struct Double3 {
  double x, y, z;
};
Double3 wide(Float3 a) { return {a.x, a.y, a.z}; }
Double3 minus(Double3 a, Double3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
double dot(Double3 a, Double3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
Double3 cross(Double3 a, Double3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/// Moeller and Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection", JGT 2(1), 1997.
bool intersect(const Ray& ray, Double3 a, Double3 b, Double3 c, double& t, double& u, double& v) {
  const Double3 direction = wide(ray.direction);
  const Double3 edge_1 = minus(b, a), edge_2 = minus(c, a);
  const Double3 p = cross(direction, edge_2);
  const double determinant = dot(edge_1, p);
  if (determinant == 0) return false;
  const Double3 to_origin = minus(wide(ray.origin), a);
  u = dot(to_origin, p) / determinant;
  if (u < 0 || u > 1) return false;
  const Double3 q = cross(to_origin, edge_1);
  v = dot(direction, q) / determinant;
  if (v < 0 || u + v > 1) return false;
  t = dot(edge_2, q) / determinant;
  return t > ray.t_min && t < ray.t_max;
}

Hit nearest_hit(const std::vector<Float3>& positions, const std::vector<Triangle>& triangles,
                const Ray& ray) {
  Hit nearest{no_triangle, ray.t_max, 0, 0};
  double nearest_t = ray.t_max;
  for (std::size_t i = 0; i < triangles.size(); ++i) {
    double t, u, v;
    if (!intersect(ray, wide(positions[triangles[i].a]), wide(positions[triangles[i].b]),
                   wide(positions[triangles[i].c]), t, u, v)
        || t >= nearest_t)
      continue;
    nearest_t = t;
    nearest = {static_cast<std::uint32_t>(i), static_cast<float>(t), static_cast<float>(u),
               static_cast<float>(v)};
  }
  return nearest;
}

} // namespace

std::vector<Hit> brute_force_hits(const RenderScene& scene, std::int64_t frame,
                                  const std::vector<Ray>& rays) {
  const std::vector<Float3> positions = positions_at(scene, frame);
  std::vector<Hit> hits(rays.size());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < rays.size(); ++i)
    hits[i] = nearest_hit(positions, scene.mesh.triangles, rays[i]);
  return hits;
}

} // namespace breakeven::render
