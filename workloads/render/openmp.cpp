// The CPU side: depth-first paths over Embree under OpenMP. In serial form:
//
//   for each pixel, for each sample:
//     ray = camera_ray(pixel, sample); hit = nearest triangle along ray
//     loop: miss -> add sky, stop; hit -> path_step(): add sun if unoccluded; stop or go on
//
// Primary rays go through Embree in packets (neighbouring pixels, one sample), the rest one by one:
// packets gain 1.6-1.9x on primary rays and nothing on scattered ones.
#include "workloads/render/embree_paths.h"

#include <omp.h>

#include <algorithm>
#include <chrono>

namespace breakeven::render {

namespace {

constexpr std::size_t pixels_per_work_unit = 256;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Packet8 {
  using Rays = RTCRayHit8;
  static constexpr int width = 8;
};
struct Packet16 {
  using Rays = RTCRayHit16;
  static constexpr int width = 16;
};

SampleKey key_of(const FrameRequest& request, std::uint32_t pixel, int sample) {
  return {request.seed, static_cast<std::uint32_t>(request.frame), pixel,
          static_cast<std::uint32_t>(request.first_sample + sample)};
}

/// Sums of one pixel over its samples, in sample order.
struct PixelSum {
  Float3 radiance{0, 0, 0};
  float luminance_square = 0;
};

/// One packet's worth of pixels, all their samples.
template <class Packet>
void render_pixels(const EmbreeScene& scene, const SceneView& view, const FrameRequest& request,
                   const std::uint32_t* pixels, int count, PixelSum* sums, RayCounts& counts) {
  EmbreeQuery primary(scene.handle(), Coherence::coherent);
  SingleRayTracer tracer(scene);
  alignas(64) typename Packet::Rays packet;
  alignas(64) int valid[Packet::width];
  Ray rays[Packet::width];
  for (int lane = 0; lane < Packet::width; ++lane)
    valid[lane] = lane < count ? -1 : 0;
  for (int sample = 0; sample < request.samples; ++sample) {
    for (int lane = 0; lane < count; ++lane) {
      rays[lane] = camera_ray(view.camera, request.width, request.height,
                              key_of(request, pixels[lane], sample));
      set_lane(packet, lane, rays[lane]);
    }
    primary.intersect(valid, packet);
    counts.primary += count;
    for (int lane = 0; lane < count; ++lane) {
      const Float3 radiance =
          path_radiance(view, rays[lane], scene.hit_of(packet, lane),
                        key_of(request, pixels[lane], sample), request.max_bounces, tracer, counts);
      sums[lane].radiance += radiance;
      const float light = luminance(radiance);
      sums[lane].luminance_square += light * light;
    }
  }
}

class EmbreeEngine {
public:
  EmbreeEngine(std::shared_ptr<const RenderScene> source, Acceleration acceleration, int threads)
      : source_(source), scene_(source, acceleration, threads), threads_(threads) {}

  FrameResult render(const FrameRequest& request) {
    FrameResult result;
    result.phases = prepare(request.frame);
    const double start = seconds_now();
    const RayCounts counts = trace(request, result);
    Phase phase = timed("render", seconds_now() - start);
    phase.work.working_set_bytes = scene_.bytes();
    phase.work.parallel_width = static_cast<double>(result.radiance.size()) * request.samples;
    phase.work.counts = {{"primary_rays", counts.primary},
                         {"bounce_rays", counts.bounce},
                         {"shadow_rays", counts.shadow},
                         {"hits", counts.hits}};
    result.phases.push_back(phase);
    return result;
  }

  std::vector<Hit> intersect(std::int64_t frame, const std::vector<Ray>& rays, RayKind kind) {
    prepare(frame);
    std::vector<Hit> hits(rays.size());
#pragma omp parallel num_threads(threads_)
    {
      const FlushDenormals flush;
      SingleRayTracer tracer(scene_);
#pragma omp for schedule(static)
      for (std::size_t i = 0; i < rays.size(); ++i)
        hits[i] = kind == RayKind::closest
                      ? tracer.closest(rays[i])
                      : Hit{tracer.occluded(rays[i]) ? 0 : no_triangle, 0, 0, 0};
    }
    return hits;
  }

  std::vector<Ray> camera_rays(const FrameRequest& request) const {
    const std::vector<std::uint32_t> pixels = wanted_pixels(request);
    std::vector<Ray> rays;
    for (const std::uint32_t pixel : pixels)
      for (int sample = 0; sample < request.samples; ++sample)
        rays.push_back(camera_ray(source_->camera, request.width, request.height,
                                  key_of(request, pixel, sample)));
    return rays;
  }

private:
  static std::vector<std::uint32_t> wanted_pixels(const FrameRequest& request) {
    if (!request.pixels.empty()) return request.pixels;
    std::vector<std::uint32_t> all(static_cast<std::size_t>(request.width) * request.height);
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<std::uint32_t>(i);
    return all;
  }

  static Phase timed(const char* name, double seconds) {
    Phase phase;
    phase.name = name;
    phase.end_to_end_s = phase.kernel_s = seconds;
    return phase;
  }

  std::vector<Phase> prepare(std::int64_t frame) {
    const double start = seconds_now();
    scene_.deform(frame, threads_);
    const double deformed = seconds_now();
    scene_.build();
    std::vector<Phase> phases{timed("deform", deformed - start),
                              timed("build", seconds_now() - deformed)};
    phases[0].work.counts = {{"vertices", static_cast<double>(source_->vehicle_vertices)}};
    phases[1].work.counts = {{"triangles", static_cast<double>(source_->mesh.triangles.size())}};
    phases[1].work.working_set_bytes = scene_.bytes();
    return phases;
  }

  RayCounts trace(const FrameRequest& request, FrameResult& result) {
    const bool whole_image = request.pixels.empty();
    const std::vector<std::uint32_t> pixels =
        whole_image ? tiled_pixels(request.width, request.height) : request.pixels;
    std::vector<PixelSum> sums(pixels.size());
    const SceneView view{scene_.positions().data(),       source_->mesh.triangles.data(),
                         source_->mesh.materials.data(), source_->materials.data(),
                         source_->camera,                source_->light};
    double primary = 0, bounce = 0, shadow = 0, hit = 0;
#pragma omp parallel num_threads(threads_) reduction(+ : primary, bounce, shadow, hit)
    {
      const FlushDenormals flush;
      RayCounts counts;
#pragma omp for schedule(dynamic)
      for (std::size_t first = 0; first < pixels.size(); first += pixels_per_work_unit) {
        const std::size_t last = std::min(first + pixels_per_work_unit, pixels.size());
        if (scene_.has_packets_of_16())
          render_unit<Packet16>(view, request, pixels, first, last, sums, counts);
        else
          render_unit<Packet8>(view, request, pixels, first, last, sums, counts);
      }
      primary += counts.primary;
      bounce += counts.bounce;
      shadow += counts.shadow;
      hit += counts.hits;
    }
    gather(request, pixels, sums, whole_image, result);
    return {primary, bounce, shadow, hit};
  }

  template <class Packet>
  void render_unit(const SceneView& view, const FrameRequest& request,
                   const std::vector<std::uint32_t>& pixels, std::size_t first, std::size_t last,
                   std::vector<PixelSum>& sums, RayCounts& counts) const {
    for (std::size_t i = first; i < last; i += Packet::width)
      render_pixels<Packet>(scene_, view, request, pixels.data() + i,
                            static_cast<int>(std::min<std::size_t>(Packet::width, last - i)),
                            sums.data() + i, counts);
  }

  static void gather(const FrameRequest& request, const std::vector<std::uint32_t>& pixels,
                     const std::vector<PixelSum>& sums, bool whole_image, FrameResult& result) {
    const float share = 1.0f / static_cast<float>(request.samples);
    result.radiance.resize(pixels.size());
    if (request.want_squares) result.luminance_square_mean.resize(pixels.size());
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::size_t to = whole_image ? pixels[i] : i;
      result.radiance[to] = sums[i].radiance * share;
      if (request.want_squares) result.luminance_square_mean[to] = sums[i].luminance_square * share;
    }
  }

  std::shared_ptr<const RenderScene> source_;
  EmbreeScene scene_;
  int threads_;
};

} // namespace

std::vector<std::uint32_t> tiled_pixels(int width, int height) {
  constexpr int tile = 16, block_width = 4, block_height = 2;
  std::vector<std::uint32_t> pixels;
  pixels.reserve(static_cast<std::size_t>(width) * height);
  const auto add_block = [&](int left, int top) {
    for (int y = top; y < std::min(top + block_height, height); ++y)
      for (int x = left; x < std::min(left + block_width, width); ++x)
        pixels.push_back(static_cast<std::uint32_t>(y) * static_cast<std::uint32_t>(width)
                         + static_cast<std::uint32_t>(x));
  };
  for (int tile_top = 0; tile_top < height; tile_top += tile)
    for (int tile_left = 0; tile_left < width; tile_left += tile)
      for (int top = tile_top; top < std::min(tile_top + tile, height); top += block_height)
        for (int left = tile_left; left < std::min(tile_left + tile, width); left += block_width)
          add_block(left, top);
  return pixels;
}

Engine make_embree_engine(std::shared_ptr<const RenderScene> scene, Acceleration acceleration,
                          int threads) {
  if (threads <= 0) threads = omp_get_max_threads();
  const auto engine = std::make_shared<EmbreeEngine>(std::move(scene), acceleration, threads);
  return {[engine](const FrameRequest& request) { return engine->render(request); },
          [engine](std::int64_t frame, const std::vector<Ray>& rays, RayKind kind) {
            return engine->intersect(frame, rays, kind);
          },
          [engine](const FrameRequest& request) { return engine->camera_rays(request); },
          {}};
}

} // namespace breakeven::render
