// The path loop of the CPU side: small batches of paths that stay in the nearest cache, over any
// tracer with primary(), bounced() and shadows(). The renderer gives it Embree; the peer benchmark
// gives it a recorder and a replayer, to tell tracing time from shading time.
//
// A batch takes one step for all its paths before the next step, so that shading runs on vector
// registers with a path a lane, and triangles are fetched ahead. One path at a time, shading took
// 37 % of the frame; so it takes 10 to 15 %. Nothing leaves the cache, unlike in a wavefront, which
// on a CPU loses far more to memory than it gains.
#pragma once

#include "workloads/render/embree_lanes.h"
#include "workloads/render/embree_scene.h"

#include <algorithm>
#include <array>
#include <span>

namespace breakeven::render {

constexpr int paths_in_batch = 128;
static_assert(paths_in_batch % lanes == 0);
template <class T>
using OfBatch = std::array<T, paths_in_batch>; ///< one a slot

struct alignas(64) FloatsOfBatch : OfBatch<float> {
  WideFloat load(int slot) const {
    WideFloat wide;
    std::memcpy(&wide, data() + slot, sizeof wide);
    return wide;
  }
  void store(int slot, WideFloat wide) { std::memcpy(data() + slot, &wide, sizeof wide); }
};
struct VectorsOfBatch {
  FloatsOfBatch x, y, z;
  WideFloat3 load(int slot) const { return {x.load(slot), y.load(slot), z.load(slot)}; }
  void store(int slot, WideFloat3 wide) {
    x.store(slot, wide.x);
    y.store(slot, wide.y);
    z.store(slot, wide.z);
  }
  Float3 get(int slot) const { return {x[slot], y[slot], z[slot]}; }
  void set(int slot, Float3 value) {
    x[slot] = value.x;
    y[slot] = value.y;
    z[slot] = value.z;
  }
};
/// Rays without end, as all of a path are.
struct RaysOfBatch {
  VectorsOfBatch origin, direction;
};
struct HitsOfBatch {
  OfBatch<std::uint32_t> triangle;
  FloatsOfBatch u, v;
};
/// Which slots of a batch, in rising order.
struct SlotList {
  int count = 0;
  OfBatch<std::uint8_t> slots;
  /// Without a branch, which half the time would be predicted wrongly.
  void append_if(bool wanted, int slot) {
    slots[count] = static_cast<std::uint8_t>(slot);
    count += wanted;
  }
};
static_assert(paths_in_batch <= 256);

/// Embree's answers for a batch. Camera rays go in packets that share their way through the tree,
/// 3-4x faster than one by one. Scattered rays share nothing; in a packet marked incoherent Embree
/// traces each alone, but is called once for all: +7 % for nearest hits, +40 % towards the sun
/// (breakeven-peers render). What a lane answers does not depend on the others.
template <class Packet>
class EmbreeTracer {
public:
  explicit EmbreeTracer(const EmbreeScene& scene)
      : scene_(scene),
        coherent_(scene.handle(), Coherence::coherent),
        incoherent_(scene.handle(), Coherence::incoherent) {}

  /// The rays of slots [0, count).
  void primary(const RaysOfBatch& rays, int count, HitsOfBatch& hits) {
    SlotList all;
    for (int slot = 0; slot < count; ++slot)
      all.append_if(true, slot);
    nearest<Packet>(coherent_, rays, all, hits);
  }
  void bounced(const RaysOfBatch& rays, const SlotList& list, HitsOfBatch& hits) {
    nearest<RTCRayHit8>(incoherent_, rays, list, hits);
  }
  void shadows(const RaysOfBatch& rays, const SlotList& list, OfBatch<bool>& occluded) {
    alignas(64) Packet packet;
    for (int first = 0; first < list.count; first += packet_width<Packet>) {
      const int count = set_packet(packet, rays, list, first);
      incoherent_.occluded(valid_, packet.ray);
      for (int lane = 0; lane < count; ++lane)
        occluded[list.slots[first + lane]] = is_end_of_occluded(packet.ray.tfar[lane]);
    }
  }

private:
  template <class AnyPacket>
  void nearest(EmbreeQuery& query, const RaysOfBatch& rays, const SlotList& list,
               HitsOfBatch& hits) {
    alignas(64) AnyPacket packet;
    for (int first = 0; first < list.count; first += packet_width<AnyPacket>) {
      const int count = set_packet(packet, rays, list, first);
      query.intersect(valid_, packet);
      for (int lane = 0; lane < count; ++lane) {
        const int slot = list.slots[first + lane];
        hits.triangle[slot] = scene_.triangle_of(packet.hit.geomID[lane], packet.hit.primID[lane]);
        hits.u[slot] = packet.hit.u[lane];
        hits.v[slot] = packet.hit.v[lane];
      }
    }
  }

  /// Fills a packet from the list and gives how many lanes are used.
  template <class AnyPacket>
  int set_packet(AnyPacket& packet, const RaysOfBatch& rays, const SlotList& list, int first) {
    constexpr int width = packet_width<AnyPacket>;
    const int count = std::min(width, list.count - first);
    for (int lane = 0; lane < width; ++lane) {
      // Lanes past the last ray repeat it, switched off.
      const int slot = list.slots[first + std::min(lane, count - 1)];
      valid_[lane] = lane < count ? -1 : 0;
      set_lane(packet, lane,
               {rays.origin.get(slot), 0.0f, rays.direction.get(slot), infinite_distance});
    }
    return count;
  }

  const EmbreeScene& scene_;
  EmbreeQuery coherent_, incoherent_;
  alignas(64) int valid_[16];
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
      counts.hits += hit_count_;
      if (hit_count_ == 0) return;
      draw(settings, hit_count_, 1 + static_cast<std::uint32_t>(bounce));
      shade(view, bounce, settings.max_bounces);
      tracer.shadows(shadow_rays_, facing_sun_, occluded_);
      counts.shadow += facing_sun_.count;
      add_sun();
      if (alive_.count == 0) return;
      tracer.bounced(rays_, alive_, hits_);
      counts.bounce += alive_.count;
    }
  }

  /// Camera rays of the samples added, alone.
  void make_camera_rays(const Camera& camera, const PathSettings& settings) {
    for (int i = 0; i < count_; ++i)
      path_[i] = static_cast<std::uint8_t>(i);
    draw(settings, count_, 0);
    for (int slot = 0; slot < count_; slot += lanes) {
      const RandomOf<WideFloat> random = random_at(slot);
      rays_.origin.store(slot, camera.position);
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
  using BitsOfBatch = OfBatch<std::uint32_t>;

  void start() {
    alive_.count = 0;
    for (int i = 0; i < count_; ++i) {
      radiance_[i] = {0, 0, 0};
      throughput_.set(i, {1, 1, 1});
      alive_.append_if(true, i);
    }
  }

  /// Gives the sky to the paths that missed and closes up the rest to slots [0, hit_count_).
  void keep_hits(const SceneView& view) {
    SlotList missed, hit;
    for (int i = 0; i < alive_.count; ++i) {
      const int slot = alive_.slots[i];
      const bool is_missed = hits_.triangle[slot] == no_triangle;
      missed.append_if(is_missed, slot);
      hit.append_if(!is_missed, slot);
    }
    for (int i = 0; i < missed.count; ++i) {
      const int slot = missed.slots[i];
      radiance_[path_[slot]] +=
          throughput_.get(slot) * sky_radiance(view.light, rays_.direction.get(slot));
    }
    for (int kept = 0; kept < hit.count; ++kept) {
      const int slot = hit.slots[kept];
      const std::uint32_t triangle = hits_.triangle[slot];
      __builtin_prefetch(&view.triangles[triangle]);
      __builtin_prefetch(&view.triangle_materials[triangle]);
      hits_.triangle[kept] = triangle;
      hits_.u[kept] = hits_.u[slot];
      hits_.v[kept] = hits_.v[slot];
      rays_.direction.set(kept, rays_.direction.get(slot));
      throughput_.set(kept, throughput_.get(slot));
      path_[kept] = path_[slot];
    }
    hit_count_ = hit.count;
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
    const auto load = [&](const BitsOfBatch& bits) {
      WideBits wide;
      std::memcpy(&wide, &bits[slot], sizeof wide);
      return wide;
    };
    return {load(random_x_), load(random_y_), load(random_z_), load(random_w_)};
  }

  /// One step of the paths in slots [0, hit_count_).
  [[gnu::flatten]] void shade(const SceneView& view, int bounce, int max_bounces) {
    for (int i = 0; i < hit_count_; ++i) {
      const Triangle& triangle = view.triangles[hits_.triangle[i]];
      __builtin_prefetch(&view.positions[triangle.a]);
      __builtin_prefetch(&view.positions[triangle.b]);
      __builtin_prefetch(&view.positions[triangle.c]);
    }
    facing_sun_.count = alive_.count = 0;
    for (int slot = 0; slot < hit_count_; slot += lanes) {
      const StepOf<WideFloat> step =
          step_at<WideFloat>(view.light, arrival_at(view, slot), throughput_.load(slot),
                             random_at(slot), bounce, max_bounces);
      sun_.store(slot, step.sun);
      shadow_rays_.origin.store(slot, step.shadow_origin);
      shadow_rays_.direction.store(slot, step.to_sun);
      rays_.origin.store(slot, step.origin);
      rays_.direction.store(slot, step.direction);
      throughput_.store(slot, step.throughput);
      const unsigned faces_sun = mask_of(step.faces_sun), alive = mask_of(step.alive);
      for (int lane = 0; lane < std::min(lanes, hit_count_ - slot); ++lane) {
        facing_sun_.append_if(faces_sun >> lane & 1, slot + lane);
        alive_.append_if(alive >> lane & 1, slot + lane);
      }
    }
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
      const std::uint32_t hit = hits_.triangle[std::min(slot + lane, hit_count_ - 1)];
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

  void add_sun() {
    for (int i = 0; i < facing_sun_.count; ++i) {
      const int slot = facing_sun_.slots[i];
      if (!occluded_[slot]) radiance_[path_[slot]] += sun_.get(slot);
    }
  }

  int count_ = 0, hit_count_ = 0;
  // By path, in the order they were added.
  OfBatch<std::uint32_t> pixel_{}, sample_{};
  FloatsOfBatch column_{}, row_{};
  OfBatch<Float3> radiance_{};
  // By slot; `path_` says whose a slot is.
  OfBatch<std::uint8_t> path_{};
  SlotList alive_{}, facing_sun_{};
  RaysOfBatch rays_{}, shadow_rays_{};
  HitsOfBatch hits_{};
  VectorsOfBatch throughput_{}, sun_{};
  alignas(64) BitsOfBatch random_x_{};
  alignas(64) BitsOfBatch random_y_{};
  alignas(64) BitsOfBatch random_z_{};
  alignas(64) BitsOfBatch random_w_{};
  OfBatch<bool> occluded_{};
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
