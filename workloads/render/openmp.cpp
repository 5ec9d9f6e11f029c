// The CPU side: depth-first paths over Embree under OpenMP. In serial form:
//
//   for each pixel, for each sample:
//     ray = camera_ray(pixel, sample); hit = nearest triangle along ray
//     loop: miss -> add sky, stop; hit -> path_step(): add sun if unoccluded; stop or go on
//
// A thread takes a tile of the image, and of it a batch of paths at a time (embree_paths.h).
#include "workloads/clock.h"
#include "workloads/render/embree_paths.h"

#include <omp.h>

#include <algorithm>
#include <optional>

namespace breakeven::render {

namespace {

class EmbreeEngine {
public:
  EmbreeEngine(std::shared_ptr<const RenderScene> source, Acceleration acceleration, int threads)
      : source_(source),
        scene_(source, acceleration, threads),
        threads_(threads) {}

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
    if (frame != built_frame_) prepare(frame);
    std::vector<Hit> hits(rays.size());
#pragma omp parallel num_threads(threads_)
    {
      const FlushDenormals flush;
      EmbreeQuery query(scene_.handle(), Coherence::incoherent);
#pragma omp for schedule(static)
      for (std::size_t i = 0; i < rays.size(); ++i)
        hits[i] = kind == RayKind::closest ? closest_hit(query, rays[i]) : any_hit(query, rays[i]);
    }
    return hits;
  }

  std::vector<Ray> camera_rays(const FrameRequest& request) const {
    const PathSettings settings = settings_of(request);
    std::vector<Ray> rays;
    PathBatch batch;
    for (const std::uint32_t pixel : wanted_pixels(request))
      for (int first = 0; first < request.samples; first += paths_in_batch) {
        batch.clear();
        batch.add(pixel, request.width, request.first_sample + first,
                  std::min(paths_in_batch, request.samples - first));
        batch.make_camera_rays(source_->camera, settings);
        for (int i = 0; i < batch.size(); ++i)
          rays.push_back(batch.camera_ray(i));
      }
    return rays;
  }

private:
  Hit closest_hit(EmbreeQuery& query, const Ray& ray) const {
    RTCRayHit found;
    set_ray(found.ray, ray);
    clear_hit(found.hit);
    query.intersect(found);
    return {scene_.triangle_of(found.hit.geomID, found.hit.primID), found.ray.tfar, found.hit.u,
            found.hit.v};
  }
  static Hit any_hit(EmbreeQuery& query, const Ray& ray) {
    RTCRay shadow;
    set_ray(shadow, ray);
    query.occluded(shadow);
    return {is_end_of_occluded(shadow.tfar) ? 0 : no_triangle, 0, 0, 0};
  }

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
    built_frame_.reset();
    scene_.build();
    built_frame_ = frame;
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
    const SceneView view = scene_.view();
    double primary = 0, bounce = 0, shadow = 0, hit = 0;
#pragma omp parallel num_threads(threads_) reduction(+ : primary, bounce, shadow, hit)
    {
      const FlushDenormals flush;
      RayCounts counts;
#pragma omp for schedule(dynamic)
      for (std::size_t first = 0; first < pixels.size(); first += pixels_per_work_unit) {
        const std::size_t last = std::min(first + pixels_per_work_unit, pixels.size());
        const std::span unit(pixels.data() + first, last - first);
        with_tracer(scene_, [&](auto tracer) {
          render_pixels(view, request, unit, tracer, sums.data() + first, counts);
        });
      }
      primary += counts.primary;
      bounce += counts.bounce;
      shadow += counts.shadow;
      hit += counts.hits;
    }
    gather(request, pixels, sums, whole_image, result);
    return {primary, bounce, shadow, hit};
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
  std::optional<std::int64_t> built_frame_;
};

} // namespace

std::vector<std::uint32_t> tiled_pixels(int width, int height) {
  constexpr int tile = 16, block = 4;
  std::vector<std::uint32_t> pixels;
  pixels.reserve(static_cast<std::size_t>(width) * height);
  const auto add_block = [&](int left, int top) {
    for (int y = top; y < std::min(top + block, height); ++y)
      for (int x = left; x < std::min(left + block, width); ++x)
        pixels.push_back(static_cast<std::uint32_t>(y) * static_cast<std::uint32_t>(width)
                         + static_cast<std::uint32_t>(x));
  };
  for (int tile_top = 0; tile_top < height; tile_top += tile)
    for (int tile_left = 0; tile_left < width; tile_left += tile)
      for (int top = tile_top; top < std::min(tile_top + tile, height); top += block)
        for (int left = tile_left; left < std::min(tile_left + tile, width); left += block)
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
