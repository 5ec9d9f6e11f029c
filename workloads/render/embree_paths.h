// The path loop of the CPU side: small batches of paths that stay in the nearest cache, over any
// tracer with primary(), bounced() and shadows(). The renderer gives it Embree; the peer benchmark
// gives it a recorder and a replayer, to tell tracing time from shading time.
//
// A batch takes one step for all its paths before the next step, so that shading runs on vector
// registers with a path a lane, and triangles are fetched ahead. One path at a time, shading took
// 37 % of the frame; so it takes 15 %. Nothing leaves the cache, unlike in a wavefront, which
// on a CPU loses far more to memory than it gains.
#pragma once

#include "workloads/render/embree_lanes.h"
#include "workloads/render/embree_scene.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>

namespace breakeven::render {

constexpr int paths_in_batch = 128;
static_assert(paths_in_batch % lanes == 0);

/// One value a slot. Loads and stores a register's worth from any slot on, hence the spare room.
template <class T, class Wide>
struct alignas(64) OfBatch : std::array<T, paths_in_batch + lanes> {
  Wide load(int slot) const {
    Wide wide;
    std::memcpy(&wide, this->data() + slot, sizeof wide);
    return wide;
  }
  void store(int slot, Wide wide) { std::memcpy(this->data() + slot, &wide, sizeof wide); }
};
using FloatsOfBatch = OfBatch<float, WideFloat>;
using BitsOfBatch = OfBatch<std::uint32_t, WideBits>;

struct VectorsOfBatch {
  FloatsOfBatch x, y, z;
  WideFloat3 load(int slot) const { return {x.load(slot), y.load(slot), z.load(slot)}; }
  void store(int slot, WideFloat3 wide) {
    x.store(slot, wide.x);
    y.store(slot, wide.y);
    z.store(slot, wide.z);
  }
  Float3 get(int slot) const { return {x[slot], y[slot], z[slot]}; }
};
/// Rays without end, as all of a path are.
struct RaysOfBatch {
  VectorsOfBatch origin, direction;
};
struct HitsOfBatch {
  BitsOfBatch triangle;
  FloatsOfBatch u, v;
};
using AnswersOfBatch = std::array<bool, paths_in_batch>;

/// Embree's answers for a batch. Camera rays go in packets that share their way through the tree,
/// 4x faster than one by one. Scattered rays share nothing; in a packet marked incoherent Embree
/// traces each alone, but is called once for all: +8 % for nearest hits, +40 % towards the sun
/// (breakeven-peers render, Zen 4, AVX-512). What a lane answers does not depend on the others.
template <class Packet>
class EmbreeTracer {
public:
  explicit EmbreeTracer(const EmbreeScene& scene)
      : scene_(scene),
        coherent_(scene.handle(), Coherence::coherent),
        incoherent_(scene.handle(), Coherence::incoherent) {
    // What no query changes is set once.
    for (int lane = 0; lane < width; ++lane)
      set_lane(packet_, lane, Ray{});
  }

  // Each for the rays of slots [0, count).
  void primary(const RaysOfBatch& rays, int count, HitsOfBatch& hits) {
    nearest(coherent_, rays, count, hits);
  }
  void bounced(const RaysOfBatch& rays, int count, HitsOfBatch& hits) {
    nearest(incoherent_, rays, count, hits);
  }
  void shadows(const RaysOfBatch& rays, int count, AnswersOfBatch& occluded) {
    for (int first = 0; first < count; first += width) {
      fill_packet(rays, first, count);
      incoherent_.occluded(valid_, packet_.ray);
      for (int lane = 0; lane < width; ++lane)
        occluded[first + lane] = is_end_of_occluded(packet_.ray.tfar[lane]);
    }
  }

private:
  static constexpr int width = packet_width<Packet>;
  static_assert(paths_in_batch % width == 0);

  void nearest(EmbreeQuery& query, const RaysOfBatch& rays, int count, HitsOfBatch& hits) {
    for (int first = 0; first < count; first += width) {
      fill_packet(rays, first, count);
      query.intersect(valid_, packet_);
      for (int lane = 0; lane < width; ++lane)
        hits.triangle[first + lane] =
            scene_.triangle_of(packet_.hit.geomID[lane], packet_.hit.primID[lane]);
      std::copy_n(packet_.hit.u, width, &hits.u[first]);
      std::copy_n(packet_.hit.v, width, &hits.v[first]);
    }
  }

  void fill_packet(const RaysOfBatch& rays, int first, int count) {
    std::copy_n(&rays.origin.x[first], width, packet_.ray.org_x);
    std::copy_n(&rays.origin.y[first], width, packet_.ray.org_y);
    std::copy_n(&rays.origin.z[first], width, packet_.ray.org_z);
    std::copy_n(&rays.direction.x[first], width, packet_.ray.dir_x);
    std::copy_n(&rays.direction.y[first], width, packet_.ray.dir_y);
    std::copy_n(&rays.direction.z[first], width, packet_.ray.dir_z);
    for (int lane = 0; lane < width; ++lane) {
      valid_[lane] = first + lane < count ? -1 : 0;
      packet_.ray.tfar[lane] = infinite_distance;
      packet_.hit.geomID[lane] = RTC_INVALID_GEOMETRY_ID;
    }
  }

  const EmbreeScene& scene_;
  EmbreeQuery coherent_, incoherent_;
  alignas(64) Packet packet_;
  alignas(64) int valid_[width];
};

struct RayCounts {
  double primary = 0, bounce = 0, shadow = 0, hits = 0;
};

/// What all paths of a frame share.
struct PathSettings {
  std::uint64_t seed;
  std::uint32_t frame;
  int width, height, max_bounces;
};
inline PathSettings settings_of(const FrameRequest& request) {
  return {request.seed, static_cast<std::uint32_t>(request.frame), request.width, request.height,
          request.max_bounces};
}

/// Some samples of some pixels, from camera rays to the paths' ends.
class PathBatch {
public:
  void clear() { count_ = 0; }
  int size() const { return count_; }
  /// Samples [first, first + count) of a pixel.
  void add(std::uint32_t pixel, int image_width, int first_sample, int count) {
    const auto width = static_cast<std::uint32_t>(image_width);
    const auto column = static_cast<float>(pixel % width), row = static_cast<float>(pixel / width);
    for (int i = 0; i < count; ++i, ++count_) {
      pixel_[count_] = pixel;
      sample_[count_] = static_cast<std::uint32_t>(first_sample + i);
      column_[count_] = column;
      row_[count_] = row;
    }
  }
  /// After trace(): of the i-th sample added.
  const Float3& radiance(int i) const { return radiance_[i]; }
  template <class Tracer>
  void trace(const SceneView& view, const PathSettings& settings, Tracer& tracer,
             RayCounts& counts) {
    make_camera_rays(view.camera, settings);
    tracer.primary(rays_, count_, hits_);
    counts.primary += count_;
    start();
    for (int bounce = 0;; ++bounce) {
      keep_hits(view);
      counts.hits += alive_;
      if (alive_ == 0) return;
      draw(settings, alive_, 1 + static_cast<std::uint32_t>(bounce));
      shade(view, bounce, settings.max_bounces);
      tracer.shadows(shadow_rays_, shadows_, occluded_);
      counts.shadow += shadows_;
      for (int i = 0; i < shadows_; ++i)
        if (!occluded_[i]) radiance_[shadow_path_[i]] += sun_.get(i);
      if (alive_ == 0) return;
      tracer.bounced(rays_, alive_, hits_);
      counts.bounce += alive_;
    }
  }

  /// Camera rays of the samples added, alone.
  void make_camera_rays(const Camera& camera, const PathSettings& settings) {
    for (int i = 0; i < count_; ++i)
      path_[i] = static_cast<std::uint32_t>(i);
    draw(settings, count_, 0);
    for (int slot = 0; slot < count_; slot += lanes) {
      const RandomOf<WideFloat> random = random_at(slot);
      rays_.origin.store(slot, WideFloat3(camera.position));
      rays_.direction.store(slot,
                            camera_direction<WideFloat>(camera, settings.width, settings.height,
                                                        column_.load(slot) + unit_float(random.x),
                                                        row_.load(slot) + unit_float(random.y)));
    }
  }
  Ray camera_ray(int i) const {
    return {rays_.origin.get(i), 0.0f, rays_.direction.get(i), infinite_distance};
  }

private:
  /// The lanes of a register from `slot` on that are below `count`.
  static unsigned lanes_below(int slot, int count) {
    return count - slot >= lanes ? (1u << lanes) - 1 : (1u << (count - slot)) - 1;
  }

  void start() {
    alive_ = count_;
    std::fill_n(radiance_.begin(), count_, Float3{0, 0, 0});
    for (int slot = 0; slot < count_; slot += lanes)
      throughput_.store(slot, WideFloat3(Float3{1, 1, 1}));
  }

  /// Gives the sky to the paths that missed and closes up the rest. A register's worth is stored no
  /// further up than it was loaded, so that it can be done in place.
  void keep_hits(const SceneView& view) {
    int kept = 0;
    for (int slot = 0; slot < alive_; slot += lanes) {
      const WideBits triangle = hits_.triangle.load(slot), path = path_.load(slot);
      const WideFloat u = hits_.u.load(slot), v = hits_.v.load(slot);
      const WideFloat3 direction = rays_.direction.load(slot), throughput = throughput_.load(slot);
      const unsigned used = lanes_below(slot, alive_);
      const unsigned missed = mask_of(triangle == no_triangle) & used, hit = used & ~missed;
      if (missed != 0) add(missed, path, throughput * sky_over<WideFloat>(view.light, direction));
      hits_.triangle.store(kept, compress(hit, triangle));
      hits_.u.store(kept, compress(hit, u));
      hits_.v.store(kept, compress(hit, v));
      rays_.direction.store(kept, compress(hit, direction));
      throughput_.store(kept, compress(hit, throughput));
      path_.store(kept, compress(hit, path));
      kept += std::popcount(hit);
    }
    alive_ = kept;
    for (int slot = 0; slot < alive_; ++slot) {
      __builtin_prefetch(&view.triangles[hits_.triangle[slot]]);
      __builtin_prefetch(&view.triangle_materials[hits_.triangle[slot]]);
    }
  }

  void add(unsigned mask, WideBits path, WideFloat3 radiance) {
    for (; mask != 0; mask &= mask - 1) {
      const int lane = std::countr_zero(mask);
      radiance_[path.value[lane]] +=
          Float3{radiance.x.value[lane], radiance.y.value[lane], radiance.z.value[lane]};
    }
  }

  /// The blocks of random numbers of a dimension, for slots [0, count).
  void draw(const PathSettings& settings, int count, std::uint32_t dimension) {
    for (int i = 0; i < count; ++i) {
      random_x_[i] = pixel_[path_[i]];
      random_y_[i] = sample_[path_[i]];
    }
    // Whole registers' worth, and plainly in a row, so that the compiler does several at once.
    const int whole = (count + lanes - 1) / lanes * lanes;
    for (int i = 0; i < whole; ++i) {
      const Random4 drawn =
          philox4x32({random_x_[i], random_y_[i], dimension, settings.frame}, settings.seed);
      random_x_[i] = drawn.x;
      random_y_[i] = drawn.y;
      random_z_[i] = drawn.z;
      random_w_[i] = drawn.w;
    }
  }
  RandomOf<WideFloat> random_at(int slot) const {
    return {random_x_.load(slot), random_y_.load(slot), random_z_.load(slot), random_w_.load(slot)};
  }

  /// One step of the paths alive; keeps those that go on, in place as keep_hits() does.
  [[gnu::flatten]] void shade(const SceneView& view, int bounce, int max_bounces) {
    for (int i = 0; i < alive_; ++i) {
      const Triangle& triangle = view.triangles[hits_.triangle[i]];
      __builtin_prefetch(&view.positions[triangle.a]);
      __builtin_prefetch(&view.positions[triangle.b]);
      __builtin_prefetch(&view.positions[triangle.c]);
    }
    int kept = 0;
    shadows_ = 0;
    for (int slot = 0; slot < alive_; slot += lanes) {
      const StepOf<WideFloat> step =
          step_at<WideFloat>(view.light, arrival_at(view, slot), throughput_.load(slot),
                             random_at(slot), bounce, max_bounces);
      const WideBits path = path_.load(slot);
      const unsigned used = lanes_below(slot, alive_);
      const unsigned faces_sun = mask_of(step.faces_sun) & used, on = mask_of(step.alive) & used;
      sun_.store(shadows_, compress(faces_sun, step.sun));
      shadow_rays_.origin.store(shadows_, compress(faces_sun, step.shadow_origin));
      shadow_rays_.direction.store(shadows_, compress(faces_sun, step.to_sun));
      shadow_path_.store(shadows_, compress(faces_sun, path));
      shadows_ += std::popcount(faces_sun);
      rays_.origin.store(kept, compress(on, step.origin));
      rays_.direction.store(kept, compress(on, step.direction));
      throughput_.store(kept, compress(on, step.throughput));
      path_.store(kept, compress(on, path));
      kept += std::popcount(on);
    }
    alive_ = kept;
  }

  /// Gathers what a step needs for a register's worth of slots from `slot` on.
  Arrival<WideFloat> arrival_at(const SceneView& view, int slot) const {
    Arrival<WideFloat> at;
    at.u = hits_.u.load(slot);
    at.v = hits_.v.load(slot);
    at.direction = rays_.direction.load(slot);
    alignas(64) float a[3][lanes], b[3][lanes], c[3][lanes], albedo[3][lanes], coat[2][lanes];
    const auto set = [](float(&to)[3][lanes], int lane, Float3 from) {
      to[0][lane] = from.x;
      to[1][lane] = from.y;
      to[2][lane] = from.z;
    };
    for (int lane = 0; lane < lanes; ++lane) {
      // Lanes past the last path repeat one, so that every read is in bounds.
      const std::uint32_t hit = hits_.triangle[std::min(slot + lane, alive_ - 1)];
      const Triangle triangle = view.triangles[hit];
      set(a, lane, view.positions[triangle.a]);
      set(b, lane, view.positions[triangle.b]);
      set(c, lane, view.positions[triangle.c]);
      const Material& material = view.materials[view.triangle_materials[hit]];
      set(albedo, lane, material.albedo);
      coat[0][lane] = material.coat_reflectance;
      coat[1][lane] = material.coat_roughness;
    }
    std::memcpy(&at.a, a, sizeof a);
    std::memcpy(&at.b, b, sizeof b);
    std::memcpy(&at.c, c, sizeof c);
    std::memcpy(&at.material.albedo, albedo, sizeof albedo);
    std::memcpy(&at.material.coat_reflectance, coat, sizeof coat);
    return at;
  }

  int count_ = 0, alive_ = 0, shadows_ = 0;
  // By path, in the order they were added.
  BitsOfBatch pixel_{}, sample_{};
  FloatsOfBatch column_{}, row_{};
  std::array<Float3, paths_in_batch> radiance_{};
  // By slot; `path_` says whose a slot is. Slots [0, alive_) and [0, shadows_) are in use.
  BitsOfBatch path_{}, shadow_path_{};
  RaysOfBatch rays_{}, shadow_rays_{};
  HitsOfBatch hits_{};
  VectorsOfBatch throughput_{}, sun_{};
  BitsOfBatch random_x_{}, random_y_{}, random_z_{}, random_w_{};
  AnswersOfBatch occluded_{};
};

/// Sums of one pixel over its samples, in sample order.
struct PixelSum {
  Float3 radiance{0, 0, 0};
  float luminance_square = 0;
};

inline void add_sample(PixelSum& sum, Float3 radiance) {
  const float light = luminance(radiance);
  sum.radiance += radiance;
  sum.luminance_square += light * light;
}

/// A packet of one pixel's samples is more coherent than one of neighbours, and repeats its memory.
constexpr int samples_of_a_pixel_in_batch = 16;
constexpr std::size_t pixels_per_work_unit = 256;

/// All samples of some pixels, added to `sums`.
template <class Tracer>
void render_pixels(const SceneView& view, const FrameRequest& request,
                   std::span<const std::uint32_t> pixels, Tracer& tracer, PixelSum* sums,
                   RayCounts& counts) {
  PathBatch batch;
  const PathSettings settings = settings_of(request);
  const int most_samples = std::min(request.samples, samples_of_a_pixel_in_batch);
  const std::size_t most_pixels = paths_in_batch / static_cast<std::size_t>(most_samples);
  for (std::size_t begin = 0; begin < pixels.size(); begin += most_pixels) {
    const std::size_t end = std::min(begin + most_pixels, pixels.size());
    for (int first = 0; first < request.samples; first += most_samples) {
      const int samples = std::min(most_samples, request.samples - first);
      batch.clear();
      for (std::size_t i = begin; i < end; ++i)
        batch.add(pixels[i], request.width, request.first_sample + first, samples);
      batch.trace(view, settings, tracer, counts);
      for (std::size_t i = begin; i < end; ++i)
        for (int sample = 0; sample < samples; ++sample)
          add_sample(sums[i], batch.radiance(static_cast<int>(i - begin) * samples + sample));
    }
  }
}

/// Calls `use` with the tracer of the widest packets that the processor has registers for.
template <class Use>
void with_tracer(const EmbreeScene& scene, Use use) {
  if (scene.has_packets_of_16())
    use(EmbreeTracer<RTCRayHit16>(scene));
  else
    use(EmbreeTracer<RTCRayHit8>(scene));
}

/// All pixels of an image, so that 16 neighbours in the list are a block of 4 x 4 pixels and 256
/// are a square of 16 x 16: what a packet and a work unit of the OpenMP loop cover.
std::vector<std::uint32_t> tiled_pixels(int width, int height);

} // namespace breakeven::render
