#include "workloads/render/render.h"

#include "sim/errors.h"
#include "workloads/clock.h"
#include "workloads/partial_file.h"
#include "workloads/paths.h"
#include "workloads/render/brute_force.h"
#include "workloads/render/image.h"
#include "workloads/render/shading.h"
#include "workloads/render/slices.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace breakeven::render {

namespace {

// Enough rays for steady averages of node visits and lane use, few enough for a second on two
// cores.
constexpr std::int64_t counting_pixels_per_frame = 49'152;
constexpr int brute_force_rays = 64;

struct Job {
  Settings settings;
  std::shared_ptr<const RenderScene> scene;
  double load_s = 0;
  std::map<Path, Engine> engines; ///< made at first use
};

Engine make_engine(const Job& job, Path path) {
  switch (path) {
  case Path::openmp:
    return make_embree_engine(job.scene, job.settings.acceleration, omp_get_max_threads());
  case Path::host:
    return on_host::make_wavefront_engine(job.scene, job.settings.acceleration);
  case Path::cuda:
    return on_cuda::make_wavefront_engine(job.scene, job.settings.acceleration);
  }
  throw std::logic_error("a path without an engine");
}

Engine& engine_for(Job& job, Path path) {
  auto found = job.engines.find(path);
  if (found == job.engines.end()) found = job.engines.emplace(path, make_engine(job, path)).first;
  return found->second;
}

std::uint64_t fnv1a(std::uint64_t hash, const void* bytes, std::size_t count) {
  const auto* byte = static_cast<const unsigned char*>(bytes);
  for (std::size_t i = 0; i < count; ++i)
    hash = (hash ^ byte[i]) * 0x100000001B3ull;
  return hash;
}

/// Encodes and writes a frame; with no folder it is encoded only, so that the phase is always
/// there.
Phase write_frame(const Settings& settings, const std::filesystem::path& folder, std::int64_t frame,
                  const std::vector<Float3>& radiance) {
  const double start = seconds_now();
  const std::string name = fmt::format("frame_{:04}", frame);
  if (settings.format != ImageFormat::pfm) {
    const std::string png = encode_png(settings.width, settings.height, radiance);
    if (!folder.empty()) write_whole_file(folder / (name + ".png"), png);
  }
  if (settings.format != ImageFormat::png) {
    const std::string pfm = encode_pfm(settings.width, settings.height, radiance);
    if (!folder.empty()) write_whole_file(folder / (name + ".pfm"), pfm);
  }
  Phase phase = cpu_phase("output", Scaling::serial, seconds_now() - start);
  phase.work.counts = {{"pixels", static_cast<double>(radiance.size())}};
  return phase;
}

Phase load_phase(double seconds) {
  Phase phase = cpu_phase("load", Scaling::serial, seconds);
  phase.repeats = Repeats::per_job;
  return phase;
}

void set_scales(const Settings& settings, const Slice& slice, std::size_t pixels,
                std::vector<Phase>& phases) {
  for (Phase& phase : phases)
    if (phase.repeats == Repeats::per_unit)
      phase.job_over_slice = is_per_path(phase.name) ? paths_over_slice(settings, slice, pixels)
                                                     : frames_over_slice(settings, slice);
}

Run run_slice(Job& job, Path path, const Slice& slice, const std::filesystem::path& folder) {
  const Settings& settings = job.settings;
  Engine& engine = engine_for(job, path);
  FrameRequest request;
  request.width = settings.width;
  request.height = settings.height;
  request.samples = static_cast<int>(slice.repeats);
  request.max_bounces = settings.max_bounces;
  request.seed = settings.seed;
  if (path == Path::host)
    request.pixels = counting_pixels(settings.width, settings.height, counting_pixels_per_frame);

  Run run;
  run.checksum = 0xCBF29CE484222325ull;
  run.phases.push_back(load_phase(job.load_s));
  for (const Phase& phase : engine.start_phases)
    run.phases.push_back(phase);
  std::size_t pixels = 0;
  for (const std::int64_t frame : slice.units) {
    request.frame = frame;
    const FrameResult result = engine.render(request);
    pixels = result.radiance.size();
    run.checksum = fnv1a(run.checksum, result.radiance.data(), pixels * sizeof(Float3));
    for (const Phase& phase : result.phases)
      add_phase(run.phases, phase);
    if (path != Path::host)
      add_phase(run.phases, write_frame(settings, folder, frame, result.radiance));
    if (interrupted()) break;
  }
  set_scales(settings, slice, pixels, run.phases);
  if (path == Path::host) as_full_waves(settings, slice, pixels, run.phases);
  return run;
}

/// Rays from the camera to the middles of triangles spread over the mesh: most hit something, and
/// what they hit is often not the triangle they were aimed at.
std::vector<Ray> rays_at_triangles(const RenderScene& scene, std::int64_t frame, int count) {
  const std::vector<Float3> positions = positions_at(scene, frame);
  const std::size_t triangles = scene.mesh.triangles.size();
  std::vector<Ray> rays;
  for (int i = 0; i < count; ++i) {
    const Triangle& triangle =
        scene.mesh
            .triangles[static_cast<std::size_t>(i) * triangles / static_cast<std::size_t>(count)];
    const Float3 middle =
        (positions[triangle.a] + positions[triangle.b] + positions[triangle.c]) * (1.0f / 3.0f);
    const Float3 way = middle - scene.camera.position;
    if (length(way) > 0)
      rays.push_back({scene.camera.position, 0.0f, normalized(way), infinite_distance});
  }
  return rays;
}

/// The reference answers to the simplest code there is: every triangle, in double precision.
Verification verify_reference(Job& job) {
  const Settings& settings = job.settings;
  const Engine& engine = engine_for(job, Path::openmp);
  const std::int64_t frame = settings.frames[settings.frames.size() / 2];
  const std::vector<Ray> rays = rays_at_triangles(*job.scene, frame, brute_force_rays);
  const std::vector<Hit> expected = brute_force_hits(*job.scene, frame, rays);
  const std::vector<Hit> found = engine.intersect(frame, rays, RayKind::closest);
  const std::vector<Hit> blocked = engine.intersect(frame, rays, RayKind::any);
  std::size_t different = 0, hits = 0;
  for (std::size_t i = 0; i < rays.size(); ++i) {
    const bool hit = expected[i].triangle != no_triangle;
    hits += hit;
    // Two triangles at one distance share the edge that was hit.
    different += (expected[i].triangle != found[i].triangle
                  && std::fabs(expected[i].t - found[i].t) > 1e-5f * expected[i].t)
                 || hit != (blocked[i].triangle != no_triangle);
  }
  return {different == 0 && hits > 0,
          fmt::format("{} of {} rays ({} hit something) differ from a brute-force search in double "
                      "precision",
                      different, rays.size(), hits)};
}

Verification verify(Job& job, Path path) {
  if (path == Path::openmp) return verify_reference(job);
  return compare_engines(*job.scene, job.settings, engine_for(job, Path::openmp),
                         engine_for(job, path));
}

} // namespace

Workload make_render_workload(const Section& section) {
  const auto job = std::make_shared<Job>();
  job->settings = read_settings(section);
  const double start = seconds_now();
  job->scene = std::make_shared<const RenderScene>(make_scene(job->settings));
  job->load_s = seconds_now() - start;

  Workload workload;
  workload.kind = "render";
  workload.unit = "frame";
  workload.job_units = static_cast<std::int64_t>(job->settings.frames.size());
  workload.paths = usable_paths();
  workload.slice = [job](double effort) { return slice_of(job->settings, effort); };
  workload.run = [job](Path path, const Slice& slice, const std::filesystem::path& output) {
    return run_slice(*job, path, slice, output);
  };
  workload.verify = [job](Path path) { return verify(*job, path); };
  return workload;
}

} // namespace breakeven::render
