// The GPU side of the renderer. Its serial loop, which openmp.cpp runs depth first:
//
//   for (sample s of each pixel p) {
//     Ray ray = camera_ray(p, s);  Float3 throughput = 1, radiance = 0;
//     for (int bounce = 0;; ++bounce) {
//       Hit hit = nearest(ray);
//       if (!hit) { radiance += throughput * sky(ray.direction); break; }
//       Step step = path_step(ray, hit, throughput, bounce);
//       if (step.shadow.t_max > 0 && !any(step.shadow)) radiance += step.sun;
//       if (!step.alive) break;
//       ray = step.next;  throughput = step.throughput;
//     }
//     pixel[p] += radiance / samples;
//   }
//
// Here the loop over bounces is outside: a wave of up to `paths_in_flight` paths takes each step
// together, one launch a step, so that lanes of a warp run the same code (Laine, Karras and Aila,
// "Megakernels Considered Harmful", HPG 2013), and paths that ended leave the queue.
#include "workloads/render/bvh_build.h"
#include "workloads/render/wavefront_device.h"
#include "workloads/render/wavefront_kernels.h"
#include "workloads/render/wavefront_work.h"

#include <thrust/copy.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>

#include <algorithm>
#include <new>

namespace breakeven::ON_PATH {

namespace wavefront {

// Whether the queue is sorted by CoherenceKey before each bounce. Counted on 830,000 triangles with
// 920,000 paths in flight, four bounces: 0.50 of the lanes are of use in `intersect` without it,
// 0.57 with it, or 12 % fewer instructions issued. Of the 1 to 3 ms that tracing those rays should
// take at 1 to 3 Grays/s that is 0.1 to 0.4 ms, what four radix sorts cost too. Estimated, not yet
// timed on a GPU.
constexpr bool sorts_bounces = false;

enum class Transfer { none, only };

/// Runs one step and adds its time to a phase. Both ends wait for the device: a few microseconds a
/// step, against hundreds for a full wave, buy times that mean what they say.
template <class Function>
void timed(Phase& phase, Transfer transfer, Function step) {
  synchronise(phase.name.c_str());
  const double start_s = seconds_now();
  DeviceClock clock;
  clock.start();
  step();
  const double device_s = clock.stop_s();
  synchronise(phase.name.c_str());
  phase.end_to_end_s += seconds_now() - start_s;
  if (transfer == Transfer::none) phase.kernel_s += device_s;
}

Phase phase_named(const char* name) {
  Phase phase;
  phase.name = name;
  phase.processor = Processor::gpu;
  return phase;
}

struct FramePhases {
  Phase deform = phase_named("deform"), build = phase_named("build"),
        generate = phase_named("generate"), intersect = phase_named("intersect"),
        occlude = phase_named("occlude"), shade = phase_named("shade"),
        compact = phase_named("compact"), download = phase_named("download");
  std::vector<Phase> list() const {
    return {deform, build, generate, intersect, occlude, shade, compact, download};
  }
};

template <class T>
Device<T> to_device(const std::vector<T>& values) {
  return Device<T>(values.begin(), values.end());
}

template <class T>
std::vector<T> to_host(const Device<T>& values) {
  std::vector<T> copy(values.size());
  thrust::copy(values.begin(), values.end(), copy.begin());
  return copy;
}

template <class T>
double bytes_of(const std::vector<T>& values) {
  return static_cast<double>(values.size() * sizeof(T));
}

template <class T>
Device<T>& grown(Device<T>& vector, std::size_t size) {
  if (vector.size() < size) vector.resize(size);
  return vector;
}

constexpr double bytes_per_path = 3 * sizeof(Float3) + 2 * sizeof(Ray) + sizeof(Hit)
                                  + sizeof(PathOf) + 4 * sizeof(std::uint32_t) + 1;

class Renderer {
public:
  Renderer(std::shared_ptr<const RenderScene> scene, Acceleration acceleration)
      : scene_(std::move(scene)),
        acceleration_(acceleration) {
    if (scene_->mesh.triangles.empty() || scene_->mesh.triangles.size() > most_triangles)
      throw Failure("the renderer takes 1 to " + std::to_string(most_triangles)
                    + " triangles, the scene has " + std::to_string(scene_->mesh.triangles.size()));
    require_memory();
    upload_ = phase_named("upload");
    upload_.repeats = Repeats::per_job;
    timed(upload_, Transfer::only, [&] { upload(); });
  }

  const Phase& upload_phase() const { return upload_; }

  FrameResult render(const FrameRequest& request) {
    FramePhases phases;
    pose(request.frame, phases);
    timed(phases.generate, Transfer::none, [&] { choose_pixels(request); });
    phases.generate.work = choosing_work(pixel_count(), bytes_of(request.pixels));
    const std::uint64_t paths =
        std::uint64_t{pixel_count()} * static_cast<std::uint64_t>(std::max(0, request.samples));
    allocate(request, paths);
    constexpr std::uint64_t wave_size = paths_in_flight;
    for (std::uint64_t begin = 0; begin < paths; begin += wave_size)
      trace_wave(request, begin, static_cast<std::uint32_t>(std::min(wave_size, paths - begin)),
                 phases);
    FrameResult result;
    timed(phases.download, Transfer::only, [&] { download(request, result); });
    const double returned = bytes_of(result.radiance) + bytes_of(result.luminance_square_mean);
    phases.download.work = streamed(pixel_count(), 10, 2 * sizeof(Float3), 1);
    phases.download.work.device_to_host_bytes = returned;
    result.phases = phases.list();
    return result;
  }

  std::vector<Hit> intersect(std::int64_t frame, const std::vector<Ray>& rays, RayKind kind) {
    if (!bvh_.built() || frame != posed_frame_) {
      FramePhases unused;
      pose(frame, unused);
    }
    Device<Ray> given = to_device(rays);
    Device<Hit> hits(rays.size());
    const auto count = static_cast<std::uint32_t>(rays.size());
    if (kind == RayKind::any)
      launch_trace(count, TraceGiven<RayKind::any>{}, count, raw(given), raw(hits));
    else
      launch_trace(count, TraceGiven<RayKind::closest>{}, count, raw(given), raw(hits));
    synchronise("trace given rays");
    return to_host(hits);
  }

  std::vector<Ray> camera_rays(const FrameRequest& request) {
    choose_pixels(request);
    const std::size_t paths =
        std::size_t{pixel_count()} * static_cast<std::size_t>(request.samples);
    if (paths > no_pixel)
      throw Failure("more camera rays asked for at once than 32 bits can number");
    rays_.resize(std::max(rays_.size(), paths));
    allocate(request, paths, paths);
    for_each_index(0, static_cast<std::uint32_t>(paths), generator(request, 0));
    synchronise("make camera rays");
    std::vector<Ray> rays(paths);
    thrust::copy_n(rays_.begin(), paths, rays.begin());
    return by_pixel(request, rays);
  }

private:
  // Scene ---------------------------------------------------------------------------------------

  void require_memory() const {
    const double needed =
        static_cast<double>(scene_->mesh.triangles.size())
            * (bytes_per_triangle_built + sizeof(Triangle) + sizeof(std::uint32_t))
        + 2.0 * static_cast<double>(scene_->mesh.positions.size()) * sizeof(Float3)
        + static_cast<double>(paths_in_flight) * bytes_per_path;
    const double free = free_bytes();
    if (needed <= free) return;
    const auto mebibytes = [](double bytes) {
      return std::to_string(static_cast<std::int64_t>(bytes / 1048576)) + " MiB";
    };
    throw Failure("rendering needs " + mebibytes(needed) + " of GPU memory, " + mebibytes(free)
                  + " are free");
  }

  void upload() {
    const Mesh& mesh = scene_->mesh;
    rest_ = to_device(mesh.positions);
    positions_ = rest_;
    triangles_ = to_device(mesh.triangles);
    triangle_materials_ = to_device(mesh.materials);
    materials_ = to_device(scene_->materials);
    upload_.work.host_to_device_bytes = bytes_of(mesh.positions) + bytes_of(mesh.triangles)
                                        + bytes_of(mesh.materials) + bytes_of(scene_->materials);
    upload_.work.dram_bytes = upload_.work.host_to_device_bytes + 2 * bytes_of(mesh.positions);
  }

  /// Vertices and hierarchy of a frame. A refitted tree is the first frame's; hits do not depend on
  /// which one that was (traversal.h).
  void pose(std::int64_t frame, FramePhases& phases) {
    const auto moving = scene_->vehicle_vertices;
    timed(phases.deform, Transfer::none, [&] {
      for_each_index(
          0, moving,
          DeformVertex{scene_->crush, frame_time_s(*scene_, frame), raw(rest_), raw(positions_)});
    });
    phases.deform.work = streamed(moving, instructions_per_deformed, 2 * sizeof(Float3), 1);
    const auto count = static_cast<std::uint32_t>(triangles_.size());
    const bool refits = acceleration_ == Acceleration::refit && bvh_.built();
    timed(phases.build, Transfer::none, [&] {
      if (refits)
        bvh_.refit(raw(positions_), raw(triangles_));
      else
        bvh_.build(raw(positions_), raw(triangles_), count);
    });
    phases.build.work = refits ? refitting_work(bvh_, count) : building_work(bvh_, count);
    posed_frame_ = frame;
  }

  SceneView view() {
    return {raw(positions_), raw(triangles_), raw(triangle_materials_),
            raw(materials_), scene_->camera,  scene_->light};
  }

  double scene_bytes() const {
    return bytes_of(scene_->mesh.positions) + bytes_of(scene_->mesh.triangles)
           + bytes_of(scene_->mesh.materials);
  }

  // Paths ---------------------------------------------------------------------------------------

  std::uint32_t pixel_count() const { return static_cast<std::uint32_t>(pixels_.size()); }

  /// The requested pixels, or all of them in blocks, each then going to its own place in the image.
  void choose_pixels(const FrameRequest& request) {
    if (!request.pixels.empty()) {
      pixels_ = to_device(request.pixels);
      targets_.clear();
      return;
    }
    const auto blocks_across = (request.width + block_width - 1) / block_width;
    const auto blocks_down = (request.height + block_height - 1) / block_height;
    const auto padded =
        static_cast<std::uint32_t>(blocks_across * blocks_down * block_width * block_height);
    pixels_.resize(padded);
    thrust::transform(thrust::device, Index(0), Index(padded), pixels_.begin(),
                      PixelInBlockOrder{request.width, request.height, blocks_across});
    targets_.resize(static_cast<std::size_t>(request.width)
                    * static_cast<std::size_t>(request.height));
    thrust::copy_if(pixels_.begin(), pixels_.end(), targets_.begin(), IsPixel{});
    pixels_ = targets_;
  }

  void allocate(const FrameRequest& request, std::uint64_t paths,
                std::uint64_t most = paths_in_flight) {
    const auto in_flight = static_cast<std::size_t>(std::min(paths, most));
    grown(rays_, in_flight);
    grown(hits_, in_flight);
    grown(throughput_, in_flight);
    grown(radiance_, in_flight);
    grown(of_, in_flight);
    grown(shadow_rays_, in_flight);
    grown(sun_, in_flight);
    grown(queue_, in_flight);
    grown(next_queue_, in_flight);
    grown(shadow_queue_, in_flight);
    grown(flags_, in_flight);
    if constexpr (sorts_bounces) grown(keys_, in_flight);
    if constexpr (counts_visits == Counting::yes) grown(visits_, in_flight);
    sums_.assign(pixel_count(), Float3{0, 0, 0});
    square_sums_.assign(request.want_squares ? pixel_count() : 0, 0.0f);
  }

  Paths paths() {
    return {raw(rays_), raw(hits_),        raw(throughput_), raw(radiance_),
            raw(of_),   raw(shadow_rays_), raw(sun_)};
  }

  PixelSums sums() { return {raw(sums_), square_sums_.empty() ? nullptr : raw(square_sums_)}; }

  GeneratePath generator(const FrameRequest& request, std::uint64_t begin) {
    return {paths(),
            scene_->camera,
            request.width,
            request.height,
            request.first_sample,
            request.seed,
            begin,
            static_cast<std::uint32_t>(request.frame),
            pixel_count(),
            raw(pixels_),
            raw(queue_)};
  }

  template <class Kernel, class... Arguments>
  void launch_trace(std::uint32_t rays, Kernel kernel, Arguments... arguments) {
    if (rays == 0) return;
    launch((rays + trace_block - 1) / trace_block, static_cast<int>(trace_block), 0, Stream{},
           kernel, bvh_.view(), arguments...);
  }

  void trace_wave(const FrameRequest& request, std::uint64_t begin, std::uint32_t size,
                  FramePhases& phases) {
    timed(phases.generate, Transfer::none,
          [&] { for_each_index(0, size, generator(request, begin)); });
    add(phases.generate.work,
        streamed(size, instructions_per_generated_path,
                 sizeof(Ray) + 2 * sizeof(Float3) + sizeof(PathOf) + 2 * sizeof(std::uint32_t), 1));
    std::uint32_t alive = size;
    for (int bounce = 0; alive > 0; ++bounce) {
      const WarpTotals totals = find_hits(bounce, alive, phases.intersect);
      shade(request, bounce, alive, totals, phases.shade);
      const std::uint32_t shadows = compact(alive, phases.compact);
      occlude(shadows, phases.occlude);
    }
    const std::uint32_t touched = std::min(size, pixel_count());
    timed(phases.compact, Transfer::none, [&] {
      for_each_index(0, touched, AddToPixel{raw(radiance_), begin, size, pixel_count(), sums()});
    });
    add(phases.compact.work, streamed(size, 10, 2 * sizeof(Float3), 1));
  }

  WarpTotals find_hits(int bounce, std::uint32_t alive, Phase& phase) {
    timed(phase, Transfer::none, [&] {
      launch_trace(alive, Intersect<counts_visits>{}, raw(queue_), alive, raw(rays_), raw(hits_),
                   raw(visits_));
    });
    const WarpTotals totals = count_visits(alive);
    add(phase.work,
        tracing_work(bounce == 0 ? "primary" : "bounce", alive,
                     sizeof(std::uint32_t) + sizeof(Ray) + sizeof(Hit), bvh_.bytes(), totals));
    return totals;
  }

  void shade(const FrameRequest& request, int bounce, std::uint32_t alive, const WarpTotals& totals,
             Phase& phase) {
    timed(phase, Transfer::none, [&] {
      for_each_index(0, alive,
                     ShadePath{view(), paths(), request.seed,
                               static_cast<std::uint32_t>(request.frame), bounce,
                               request.max_bounces, raw(queue_), raw(flags_)});
    });
    add(phase.work, shading_work(alive, scene_bytes(), totals));
  }

  /// Leaves the living paths in queue_ (and their number in `alive`), those with a shadow ray to
  /// trace in shadow_queue_, whose length it gives.
  std::uint32_t compact(std::uint32_t& alive, Phase& phase) {
    const std::uint32_t before = alive;
    std::uint32_t shadows = 0;
    timed(phase, Transfer::none, [&] {
      shadows = select<sun_may_arrive>(before, shadow_queue_);
      alive = select<path_goes_on>(before, next_queue_);
      queue_.swap(next_queue_);
      if constexpr (sorts_bounces) sort_queue(alive);
    });
    add(phase.work, compacting_work(before));
    if constexpr (sorts_bounces)
      add(phase.work, streamed(alive, 20 + 4 * 20, 36 + 4 * 2 * 8, sort_32_launches + 1));
    return shadows;
  }

  template <std::uint8_t flag>
  std::uint32_t select(std::uint32_t count, Device<std::uint32_t>& into) {
    const auto end = thrust::copy_if(queue_.begin(), queue_.begin() + count, flags_.begin(),
                                     into.begin(), HasFlag<flag>{});
    return static_cast<std::uint32_t>(end - into.begin());
  }

  void sort_queue(std::uint32_t alive) {
    thrust::transform(queue_.begin(), queue_.begin() + alive, keys_.begin(),
                      CoherenceKey{raw(rays_), bvh_.bounds()});
    thrust::stable_sort_by_key(keys_.begin(), keys_.begin() + alive, queue_.begin());
  }

  void occlude(std::uint32_t shadows, Phase& phase) {
    timed(phase, Transfer::none, [&] {
      launch_trace(shadows, Occlude<counts_visits>{}, raw(shadow_queue_), shadows,
                   raw(shadow_rays_), raw(sun_), raw(radiance_), raw(visits_));
    });
    if (shadows == 0) return;
    add(phase.work,
        tracing_work("shadow", shadows, sizeof(std::uint32_t) + sizeof(Ray) + 3 * sizeof(Float3),
                     bvh_.bytes(), count_visits(shadows)));
  }

  WarpTotals count_visits(std::uint32_t rays) {
    if constexpr (counts_visits == Counting::yes) return totals_of(raw(visits_), rays);
    (void)rays;
    return {};
  }

  // Results -------------------------------------------------------------------------------------

  void download(const FrameRequest& request, FrameResult& result) {
    Device<Float3> radiance(pixel_count());
    Device<float> squares(square_sums_.size());
    for_each_index(0, pixel_count(),
                   WriteMean{sums(), static_cast<float>(request.samples),
                             targets_.empty() ? nullptr : raw(targets_), raw(radiance),
                             squares.empty() ? nullptr : raw(squares)});
    result.radiance = to_host(radiance);
    result.luminance_square_mean = to_host(squares);
  }

  /// From sample by sample over pixels_ to pixel by pixel in the order asked, all samples of each.
  std::vector<Ray> by_pixel(const FrameRequest& request, const std::vector<Ray>& rays) const {
    const std::vector<std::uint32_t> targets = to_host(targets_);
    const auto samples = static_cast<std::size_t>(request.samples);
    const std::size_t slots = pixels_.size();
    std::vector<Ray> ordered(rays.size());
    for (std::size_t sample = 0; sample < samples; ++sample)
      for (std::size_t slot = 0; slot < slots; ++slot) {
        const std::size_t place = targets.empty() ? slot : targets[slot];
        ordered[place * samples + sample] = rays[sample * slots + slot];
      }
    return ordered;
  }

  std::shared_ptr<const RenderScene> scene_;
  Acceleration acceleration_;
  Phase upload_;
  Device<Float3> rest_, positions_;
  Device<Triangle> triangles_;
  Device<std::uint32_t> triangle_materials_;
  Device<Material> materials_;
  Bvh bvh_;
  std::int64_t posed_frame_ = 0;

  Device<std::uint32_t> pixels_, targets_; ///< targets_ empty: results in the order of pixels_
  Device<Ray> rays_, shadow_rays_;
  Device<Hit> hits_;
  Device<Float3> throughput_, radiance_, sun_, sums_;
  Device<float> square_sums_;
  Device<PathOf> of_;
  Device<std::uint32_t> queue_, next_queue_, shadow_queue_, keys_;
  Device<std::uint8_t> flags_;
  Device<Visits> visits_;
};

/// Thrust's exceptions as ours, with CUDA's own code and text.
template <class Function>
auto reporting_failures(const char* doing, Function f) {
  try {
    return f();
  } catch (const thrust::system_error& error) {
    throw Failure(std::string(doing) + ": error " + std::to_string(error.code().value()) + ": "
                  + error.what());
  } catch (const std::bad_alloc& error) {
    throw Failure(std::string(doing) + ": not enough memory: " + error.what());
  }
}

} // namespace wavefront

render::Engine make_wavefront_engine(std::shared_ptr<const render::RenderScene> scene,
                                     render::Acceleration acceleration) {
  using namespace wavefront;
  const auto renderer = reporting_failures("prepare the scene", [&] {
    return std::make_shared<Renderer>(std::move(scene), acceleration);
  });
  Engine engine;
  engine.start_phases = {renderer->upload_phase()};
  engine.render = [renderer](const FrameRequest& request) {
    return reporting_failures("render a frame", [&] { return renderer->render(request); });
  };
  engine.intersect = [renderer](std::int64_t frame, const std::vector<Ray>& rays, RayKind kind) {
    return reporting_failures("trace rays", [&] { return renderer->intersect(frame, rays, kind); });
  };
  engine.camera_rays = [renderer](const FrameRequest& request) {
    return reporting_failures("make camera rays", [&] { return renderer->camera_rays(request); });
  };
  return engine;
}

int threads_used() { return wavefront::count_threads(); }

render::BvhCopy build_bvh(const render::Mesh& mesh) {
  using namespace wavefront;
  const Device<Float3> positions = to_device(mesh.positions);
  const Device<Triangle> triangles = to_device(mesh.triangles);
  Bvh bvh;
  bvh.build(thrust::raw_pointer_cast(positions.data()), thrust::raw_pointer_cast(triangles.data()),
            static_cast<std::uint32_t>(mesh.triangles.size()));
  return bvh.copy();
}

} // namespace breakeven::ON_PATH
