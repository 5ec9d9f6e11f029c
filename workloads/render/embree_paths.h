// The depth-first path loop of the CPU side, over any tracer with closest(ray) and occluded(ray). The
// renderer gives it Embree; the peer benchmark gives it a recorder and a replayer, to tell tracing
// time from shading time.
#pragma once

#include "workloads/render/embree_scene.h"
#include "workloads/render/shading.h"

namespace breakeven::render {

/// Single rays through Embree: incoherent closest hits and any-hits.
class SingleRayTracer {
public:
  explicit SingleRayTracer(const EmbreeScene& scene)
      : scene_(scene), query_(scene.handle(), Coherence::incoherent) {}

  Hit closest(const Ray& ray) {
    RTCRayHit found;
    set_ray(found.ray, ray);
    found.hit.geomID = RTC_INVALID_GEOMETRY_ID;
    found.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
    query_.intersect(found);
    return scene_.hit_of(found);
  }

  bool occluded(const Ray& ray) {
    RTCRay shadow;
    set_ray(shadow, ray);
    query_.occluded(shadow);
    return shadow.tfar < 0; // Embree sets -infinity on a hit
  }

private:
  const EmbreeScene& scene_;
  EmbreeQuery query_;
};

struct RayCounts {
  double primary = 0, bounce = 0, shadow = 0, hits = 0;
};

/// Radiance along a camera ray whose first hit is known. The sum is the path's own, in path order.
template <class Tracer>
Float3 path_radiance(const SceneView& view, Ray ray, Hit hit, SampleKey key, int max_bounces,
                     Tracer& tracer, RayCounts& counts) {
  Float3 radiance{0, 0, 0}, throughput{1, 1, 1};
  for (int bounce = 0;; ++bounce) {
    if (hit.triangle == no_triangle) return radiance + throughput * sky_radiance(view.light, ray.direction);
    ++counts.hits;
    const Step step = path_step(view, ray, hit, throughput, key, bounce, max_bounces);
    if (step.shadow.t_max > 0) {
      ++counts.shadow;
      if (!tracer.occluded(step.shadow)) radiance += step.sun;
    }
    if (!step.alive) return radiance;
    ray = step.next;
    throughput = step.throughput;
    ++counts.bounce;
    hit = tracer.closest(ray);
  }
}

/// All pixels of an image, so that eight neighbours in the list are a block of 4 x 2 pixels and 256
/// are a square of 16 x 16: what a packet and a work unit of the OpenMP loop cover.
std::vector<std::uint32_t> tiled_pixels(int width, int height);

} // namespace breakeven::render
