// A rendering engine: one path's way of turning a scene into radiance. Made once for a job, asked
// once per frame. All engines share the maths of shading.h, the random numbers of philox.h and this
// interface, and differ in how they find the nearest triangle and in what order they trace.
#pragma once

#include "workloads/render/settings.h"
#include "workloads/workload.h"

#include <functional>
#include <memory>

namespace breakeven::render {

struct Ray {
  Float3 origin;
  float t_min;
  Float3 direction; ///< unit length
  float t_max;
};

struct Hit {
  std::uint32_t triangle; ///< into RenderScene::mesh.triangles; `no_triangle` for a miss
  float t, u, v;          ///< point = (1 - u - v) a + u b + v c
};
constexpr std::uint32_t no_triangle = 0xFFFFFFFFu;

/// Paths that a wavefront engine keeps in flight; what a frame has more is done in further waves.
constexpr std::int64_t paths_in_flight = std::int64_t{1} << 20;

struct FrameRequest {
  std::int64_t frame = 0;
  int width = 0, height = 0;
  int samples = 1; ///< per pixel, numbered from first_sample
  int first_sample = 0;
  int max_bounces = 4;
  std::uint64_t seed = 1;
  /// Which pixels (y * width + x) to render, in this order; empty means all of them.
  std::vector<std::uint32_t> pixels;
  bool want_squares = false; ///< also sum the squared luminance of samples, for tests of variance
};

struct FrameResult {
  std::vector<Float3> radiance; ///< mean over samples, one per requested pixel (or width * height)
  std::vector<float> luminance_square_mean; ///< only where wanted
  std::vector<Phase> phases;                ///< job_over_slice left at 1; the caller sets it
};

/// Rays for a test or a benchmark, by kind.
enum class RayKind { closest, any };

struct Engine {
  std::function<FrameResult(const FrameRequest&)> render;
  /// Traces given rays against the scene as it stands at a frame. For RayKind::any a hit is
  /// reported as some triangle != no_triangle, without t, u, v.
  std::function<std::vector<Hit>(std::int64_t frame, const std::vector<Ray>&, RayKind)> intersect;
  /// Camera rays as the engine makes them, for the bit-equality test.
  std::function<std::vector<Ray>(const FrameRequest&)> camera_rays;
  /// One-off work before the first frame (scene upload, pools), as per_job phases.
  std::vector<Phase> start_phases;
};

/// Depth-first tiles under OpenMP over Embree: the baseline of every speed-up.
Engine make_embree_engine(std::shared_ptr<const RenderScene> scene, Acceleration acceleration,
                          int threads);

} // namespace breakeven::render

// The wavefront engine of wavefront.cu, once per Thrust back end (see cmake/targets.cmake).
#define BREAKEVEN_DECLARE_WAVEFRONT(path)                                                          \
  namespace breakeven::path {                                                                      \
  render::Engine make_wavefront_engine(std::shared_ptr<const render::RenderScene> scene,           \
                                       render::Acceleration acceleration);                         \
  int threads_used();                                                                              \
  }
BREAKEVEN_DECLARE_WAVEFRONT(on_host)
BREAKEVEN_DECLARE_WAVEFRONT(on_serial)
BREAKEVEN_DECLARE_WAVEFRONT(on_cuda)
#undef BREAKEVEN_DECLARE_WAVEFRONT
