// The steps of wavefront path tracing, each a functor or kernel over one path, ray or pixel. State
// lies in one array a quantity, indexed by path; a queue lists the paths that a step is for. Rays
// and hits are 32 and 16 bytes, whole memory sectors or halves, so that a queue in any order wastes
// little.
#pragma once

#include "workloads/launch.h"
#include "workloads/render/shading.h"
#include "workloads/render/traversal.h"

namespace breakeven::ON_PATH::wavefront {

using namespace render;

struct DeformVertex {
  Crush crush;
  float time_s;
  const Float3* rest;
  Float3* positions;
  HOST_DEVICE void operator()(std::uint32_t i) const {
    positions[i] = crushed(crush, rest[i], time_s);
  }
};

// Pixels in blocks of 8 x 4: 32 neighbouring rays, one warp, see a compact part of the picture.
constexpr int block_width = 8, block_height = 4;

/// Position in block order, ragged blocks padded, to pixel; `no_pixel` outside the image.
constexpr std::uint32_t no_pixel = 0xFFFF'FFFFu;
struct PixelInBlockOrder {
  int width, height, blocks_across;
  HOST_DEVICE std::uint32_t operator()(std::uint32_t position) const {
    const int lane = static_cast<int>(position % (block_width * block_height));
    const int block = static_cast<int>(position / (block_width * block_height));
    const int x = block % blocks_across * block_width + lane % block_width;
    const int y = block / blocks_across * block_height + lane / block_width;
    if (x >= width || y >= height) return no_pixel;
    return static_cast<std::uint32_t>(y) * static_cast<std::uint32_t>(width)
           + static_cast<std::uint32_t>(x);
  }
};
struct IsPixel {
  HOST_DEVICE bool operator()(std::uint32_t pixel) const { return pixel != no_pixel; }
};

/// What a path is of: a pixel and one of its samples.
struct PathOf {
  std::uint32_t pixel, sample;
};

/// State of the paths in flight, one array each.
struct Paths {
  Ray* rays;
  Hit* hits;
  Float3* throughput;
  Float3* radiance;
  PathOf* of;
  Ray* shadow_rays;
  Float3* sun; ///< to add where the shadow ray meets nothing
};

/// Path `begin + i` of the frame, numbered sample by sample over all pixels.
struct GeneratePath {
  Paths paths;
  Camera camera;
  int width, height, first_sample;
  std::uint64_t seed, begin;
  std::uint32_t frame, pixel_count;
  const std::uint32_t* pixels;
  std::uint32_t* queue;

  HOST_DEVICE void operator()(std::uint32_t i) const {
    const std::uint64_t number = begin + i;
    const std::uint32_t pixel = pixels[number % pixel_count];
    const std::uint32_t sample =
        static_cast<std::uint32_t>(number / pixel_count) + static_cast<std::uint32_t>(first_sample);
    paths.of[i] = {pixel, sample};
    paths.rays[i] = camera_ray(camera, width, height, SampleKey{seed, frame, pixel, sample});
    paths.throughput[i] = {1, 1, 1};
    paths.radiance[i] = {0, 0, 0};
    queue[i] = i;
  }
};

// 128 lanes a block: register use allows many blocks a multiprocessor, and a block's slowest warp
// holds back only three others.
constexpr std::uint32_t trace_block = 128;

/// Nearest hits of the queue's rays.
template <Counting counting>
struct Intersect {
  DEVICE_ONLY void operator()(const Thread& thread, BvhView bvh, const std::uint32_t* queue,
                              std::uint32_t count, const Ray* rays, Hit* hits,
                              Visits* visits) const {
    const auto i = static_cast<std::uint32_t>(thread.global_index());
    if (i >= count) return;
    const std::uint32_t path = queue[i];
    Visits own;
    const Hit hit = trace<RayKind::closest, counting>(bvh, rays[path], own);
    hits[path] = hit;
    if constexpr (counting == Counting::yes) {
      own.hit = hit.triangle != no_triangle;
      visits[i] = own;
    }
  }
};

/// Any hit of the queue's shadow rays; sunlight arrives where there is none.
template <Counting counting>
struct Occlude {
  DEVICE_ONLY void operator()(const Thread& thread, BvhView bvh, const std::uint32_t* queue,
                              std::uint32_t count, const Ray* rays, const Float3* sun,
                              Float3* radiance, Visits* visits) const {
    const auto i = static_cast<std::uint32_t>(thread.global_index());
    if (i >= count) return;
    const std::uint32_t path = queue[i];
    Visits own;
    const Hit hit = trace<RayKind::any, counting>(bvh, rays[path], own);
    if (hit.triangle == no_triangle) radiance[path] += sun[path];
    if constexpr (counting == Counting::yes) {
      own.hit = hit.triangle != no_triangle;
      visits[i] = own;
    }
  }
};

/// Rays given from outside, in their order.
template <RayKind kind>
struct TraceGiven {
  DEVICE_ONLY void operator()(const Thread& thread, BvhView bvh, std::uint32_t count,
                              const Ray* rays, Hit* hits) const {
    const auto i = static_cast<std::uint32_t>(thread.global_index());
    if (i >= count) return;
    Visits none;
    hits[i] = trace<kind, Counting::no>(bvh, rays[i], none);
  }
};

constexpr std::uint8_t path_goes_on = 1, sun_may_arrive = 2;
template <std::uint8_t flag>
struct HasFlag {
  HOST_DEVICE bool operator()(std::uint8_t flags) const { return (flags & flag) != 0; }
};

/// One step of each path in the queue: the sky where its ray missed, else path_step().
struct ShadePath {
  SceneView scene;
  Paths paths;
  std::uint64_t seed;
  std::uint32_t frame;
  int bounce, max_bounces;
  const std::uint32_t* queue;
  std::uint8_t* flags;

  HOST_DEVICE void operator()(std::uint32_t i) const {
    const std::uint32_t path = queue[i];
    const Ray ray = paths.rays[path];
    const Hit hit = paths.hits[path];
    const Float3 throughput = paths.throughput[path];
    if (hit.triangle == no_triangle) {
      paths.radiance[path] += throughput * sky_radiance(scene.light, ray.direction);
      flags[i] = 0;
      return;
    }
    const PathOf of = paths.of[path];
    const Step step = path_step(scene, ray, hit, throughput,
                                SampleKey{seed, frame, of.pixel, of.sample}, bounce, max_bounces);
    const bool connects = step.shadow.t_max > 0;
    if (connects) {
      paths.shadow_rays[path] = step.shadow;
      paths.sun[path] = step.sun;
    }
    if (step.alive) {
      paths.rays[path] = step.next;
      paths.throughput[path] = step.throughput;
    }
    flags[i] = static_cast<std::uint8_t>((step.alive ? path_goes_on : 0)
                                         | (connects ? sun_may_arrive : 0));
  }
};

/// Rays with equal keys start near each other (9 bits an axis) and point into the same octant.
struct CoherenceKey {
  const Ray* rays;
  Box bounds;
  HOST_DEVICE std::uint32_t operator()(std::uint32_t path) const {
    const Ray ray = rays[path];
    const auto position = static_cast<std::uint32_t>(morton_code(ray.origin, bounds) >> 36);
    const std::uint32_t octant = (ray.direction.x < 0 ? 4u : 0u) | (ray.direction.y < 0 ? 2u : 0u)
                                 | (ray.direction.z < 0 ? 1u : 0u);
    return octant << 27 | position;
  }
};

/// What a pixel has gathered so far.
struct PixelSums {
  Float3* radiance;
  float* luminance_squares; ///< null where not wanted
};

/// Adds a wave's paths to pixel slot (begin + i) % pixel_count, in the order of the samples
/// whatever the wave's size: floating-point sums depend on order, and the image must not depend on
/// threads.
struct AddToPixel {
  const Float3* radiance;
  std::uint64_t begin;
  std::uint32_t wave_size, pixel_count;
  PixelSums sums;
  HOST_DEVICE void operator()(std::uint32_t i) const {
    const std::uint64_t slot = (begin + i) % pixel_count;
    Float3 sum = sums.radiance[slot];
    float squares = sums.luminance_squares ? sums.luminance_squares[slot] : 0.0f;
    for (std::uint64_t path = i; path < wave_size; path += pixel_count) {
      const float value = luminance(radiance[path]);
      sum += radiance[path];
      squares = fused(value, value, squares);
    }
    sums.radiance[slot] = sum;
    if (sums.luminance_squares) sums.luminance_squares[slot] = squares;
  }
};

/// Mean of slot i, to where the caller wants it.
struct WriteMean {
  PixelSums sums;
  float samples;
  const std::uint32_t* targets; ///< null: the slot itself
  Float3* radiance;
  float* luminance_squares;
  HOST_DEVICE void operator()(std::uint32_t i) const {
    const std::uint32_t target = targets ? targets[i] : i;
    radiance[target] = sums.radiance[i] * (1.0f / samples);
    if (luminance_squares) luminance_squares[target] = sums.luminance_squares[i] / samples;
  }
};

} // namespace breakeven::ON_PATH::wavefront
