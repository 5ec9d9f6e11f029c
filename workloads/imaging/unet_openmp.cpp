// The CPU side's sliding window: borders, the head and the sums over windows. The head is linear,
// so it is applied where its logits are added up and they are never stored for a window.
#include "workloads/clock.h"
#include "workloads/host_device.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/imaging/unet_maths.h"
#include "workloads/imaging/unet_memory.h"
#include "workloads/imaging/unet_onednn.h"
#include "workloads/imaging/unet_windows.h"

#include <omp.h>

#include <algorithm>
#include <cassert>
#include <memory>

namespace breakeven::imaging {

namespace {

constexpr int tile = 16;           ///< voxels along x whose logits are computed together
constexpr int classes_at_once = 8; ///< accumulators: 8 vectors of a tile

class OpenMpUNet {
public:
  OpenMpUNet(const UNetSpec& spec, const UNetWeights& weights, int threads)
      : spec_(spec),
        threads_(threads),
        memory_(std::make_unique<Memory>(host_memory())),
        network_(spec, weights, threads, *memory_),
        head_weight_(weights.layers.back().weight),
        head_bias_(weights.layers.back().shift),
        importance_x_(window_importance(spec.patch.x)),
        importance_y_(window_importance(spec.patch.y)),
        importance_z_(window_importance(spec.patch.z)),
        layer_work_(network_work(spec, Precision::fp32)) {}

  UNetRun segment(View<const float> hu, View<std::uint32_t> labels) {
    assert(hu.extent == labels.extent);
    UNetRun run;
    if (hu.extent.voxels() == 0) return run;
    memory_->peak_bytes = memory_->in_use_bytes;
    const WindowPlan plan = plan_windows(spec_, hu.extent);
    const UNetPhases names(Processor::cpu);
    Phase normalise = names.normalise, infer = names.infer, aggregate = names.aggregate;
    Block<float> volume(*memory_, static_cast<std::size_t>(hu.extent.voxels()));
    Block<float> logits(*memory_, static_cast<std::size_t>(plan.logits()));

    timed(normalise, [&] {
      const NormaliseHu normalise_hu{spec_.normalisation};
#pragma omp parallel for schedule(static) num_threads(threads_)
      for (std::int64_t i = 0; i < hu.extent.voxels(); ++i)
        volume.data()[i] = normalise_hu(hu.data[i]);
    });
    normalise.work = normalise_work(hu.extent);
    timed(aggregate, [&] { clear(logits); });

    const View<const float> normalised{volume.data(), hu.extent};
    run_windows(
        plan, spec_.mirror,
        {[&](const Window& window, unsigned mirror) {
           timed(infer, [&] {
             gather(normalised, window, mirror);
             network_.run();
           });
           add(infer.work, layer_work_);
         },
         [&](const Window& window, unsigned mirror, const Strip& strip) {
           timed(aggregate, [&] { add_window(plan, window, mirror, strip, logits.data()); });
           add(aggregate.work, aggregate_work(spec_, plan, window, strip, 4));
           if (mirror == 0) ++run.windows;
         },
         [&](std::int64_t z_begin, std::int64_t z_end, const Strip& strip) {
           timed(aggregate, [&] { label(plan, z_begin, z_end, strip, logits.data(), labels); });
           add(aggregate.work, finish_work(plan, z_begin, z_end, strip));
         }});
    run.phases = {normalise, infer, aggregate};
    run.peak_bytes = static_cast<std::int64_t>(memory_->peak_bytes);
    run.logits_bytes = static_cast<std::int64_t>(logits.bytes());
    return run;
  }

  std::vector<float> logits(View<const float> patch) {
    assert(patch.extent == spec_.patch);
    gather(patch, {}, 0);
    network_.run();
    const Extent& extent = spec_.patch;
    std::vector<float> logits(static_cast<std::size_t>(extent.voxels() * spec_.classes));
    each_row(extent.y * extent.z, [&](std::int64_t row, float* features) {
      for (std::int64_t x = 0; x < extent.x; x += tile) {
        const auto count = static_cast<int>(std::min<std::int64_t>(tile, extent.x - x));
        load_tile(row, x, 1, count, features);
        head(features, [&](int c, const float* of_class) {
          std::copy_n(of_class, count,
                      logits.data() + (c * extent.z * extent.y + row) * extent.x + x);
        });
      }
    });
    return logits;
  }

private:
  template <class Function>
  static void timed(Phase& phase, Function function) {
    const double start_s = seconds_now();
    function();
    phase.end_to_end_s += seconds_now() - start_s;
    phase.kernel_s = phase.end_to_end_s;
  }

  /// Rows of anything, each with room for a tile of features.
  template <class Function>
  void each_row(std::int64_t rows, Function function) const {
#pragma omp parallel num_threads(threads_)
    {
      alignas(64) float features[256 * tile];
#pragma omp for schedule(static)
      for (std::int64_t row = 0; row < rows; ++row)
        function(row, features);
    }
  }

  void clear(const Block<float>& logits) const {
    const auto count = static_cast<std::int64_t>(logits.size());
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t i = 0; i < count; ++i)
      logits.data()[i] = 0;
  }

  /// The network's input: zeros outside the volume, as nnU-Net pads.
  void gather(View<const float> volume, const Window& window, unsigned mirror) {
    const Extent& extent = spec_.patch;
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t row = 0; row < extent.y * extent.z; ++row) {
      const std::int64_t y = window.y + mirrored(row % extent.y, extent.y, mirror & 2);
      const std::int64_t z = window.z + mirrored(row / extent.y, extent.z, mirror & 4);
      float* to = network_.input() + row * extent.x;
      std::fill_n(to, extent.x, 0.0f);
      if (y < 0 || y >= volume.extent.y || z < 0 || z >= volume.extent.z) continue;
      const float* from = volume.data + (z * volume.extent.y + y) * volume.extent.x;
      const std::int64_t begin = std::max<std::int64_t>(0, window.x);
      const std::int64_t end = std::min(volume.extent.x, window.x + extent.x);
      if (mirror & 1)
        std::reverse_copy(from + begin, from + end, to + (window.x + extent.x - end));
      else
        std::copy(from + begin, from + end, to + (begin - window.x));
    }
  }

  /// features[k][j] of the voxels x + direction * j of a row of the window; zero from `count` on.
  void load_tile(std::int64_t row, std::int64_t x, int direction, int count,
                 float* features) const {
    const std::int64_t block = network_.channel_block();
    if (count < tile) std::fill_n(features, spec_.features * tile, 0.0f);
    for (std::int64_t k = 0; k < spec_.features; ++k) {
      const float* from = network_.features()
                          + (k / block * spec_.patch.voxels() + row * spec_.patch.x + x) * block
                          + k % block;
      for (std::int64_t j = 0; j < count; ++j)
        features[k * tile + j] = from[direction * j * block];
    }
  }

  /// Calls `use(class, logits of the tile)` for every class.
  template <class Use>
  void head(const float* features, Use use) const {
    const int channels = spec_.features;
    for (int first = 0; first < spec_.classes; first += classes_at_once) {
      const int count = std::min(classes_at_once, spec_.classes - first);
      alignas(64) float sums[classes_at_once][tile];
      for (int c = 0; c < count; ++c) {
        for (int j = 0; j < tile; ++j)
          sums[c][j] = head_bias_[static_cast<std::size_t>(first + c)];
        const float* weight = head_weight_.data() + (first + c) * channels;
        for (int k = 0; k < channels; ++k)
          for (int j = 0; j < tile; ++j)
            sums[c][j] = fused(weight[k], features[k * tile + j], sums[c][j]);
      }
      for (int c = 0; c < count; ++c)
        use(first + c, sums[c]);
    }
  }

  void add_window(const WindowPlan& plan, const Window& window, unsigned mirror, const Strip& strip,
                  float* logits) const {
    const WindowPart part = part_in(plan, window, strip);
    const Extent& extent = spec_.patch;
    const std::int64_t rows = part.end[1] - part.begin[1];
    const float share = 1.0f / static_cast<float>(spec_.mirrors());
    each_row(rows * (part.end[2] - part.begin[2]), [&](std::int64_t i, float* features) {
      const std::int64_t y = part.begin[1] + i % rows, z = part.begin[2] + i / rows;
      const std::int64_t in_y = mirrored(y - window.y, extent.y, mirror & 2);
      const std::int64_t in_z = mirrored(z - window.z, extent.z, mirror & 4);
      const float of_row =
          row_importance(importance_z_[static_cast<std::size_t>(z - window.z)],
                         importance_y_[static_cast<std::size_t>(y - window.y)], share);
      for (std::int64_t x = part.begin[0]; x < part.end[0]; x += tile) {
        const auto count = static_cast<int>(std::min<std::int64_t>(tile, part.end[0] - x));
        load_tile(in_z * extent.y + in_y, mirrored(x - window.x, extent.x, mirror & 1),
                  mirror & 1 ? -1 : 1, count, features);
        const float* of_x = importance_x_.data() + (x - window.x);
        head(features, [&](int c, const float* of_class) {
          float* to = logits
                      + ((z % plan.slices * plan.classes + c) * plan.rows + y - strip.row_begin)
                            * plan.volume.x
                      + x;
          for (int j = 0; j < count; ++j)
            to[j] = fused(of_row * of_x[j], of_class[j], to[j]);
        });
      }
    });
  }

  void label(const WindowPlan& plan, std::int64_t z_begin, std::int64_t z_end, const Strip& strip,
             float* logits, View<std::uint32_t> labels) const {
    const std::int64_t rows = strip.row_end - strip.row_begin, width = plan.volume.x;
    const std::int64_t class_stride = plan.rows * width;
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t i = 0; i < rows * (z_end - z_begin); ++i) {
      const std::int64_t z = z_begin + i / rows, row = i % rows;
      float* from = logits + (z % plan.slices * plan.classes * plan.rows + row) * width;
      std::uint32_t* to = labels.data + (z * plan.volume.y + strip.row_begin + row) * width;
      // `from` of class 0 holds the greatest so far.
      std::fill_n(to, width, 0u);
      for (int c = 1; c < plan.classes; ++c) {
        float* of_class = from + c * class_stride;
        for (std::int64_t x = 0; x < width; ++x) {
          const bool is_greater = of_class[x] > from[x];
          from[x] = is_greater ? of_class[x] : from[x];
          to[x] = is_greater ? static_cast<std::uint32_t>(c) : to[x];
          of_class[x] = 0;
        }
      }
      std::fill_n(from, width, 0.0f);
    }
  }

  UNetSpec spec_;
  int threads_;
  std::unique_ptr<Memory> memory_; ///< blocks point to it, so it must not move
  OneDnnNetwork network_;
  std::vector<float> head_weight_, head_bias_;
  std::vector<float> importance_x_, importance_y_, importance_z_;
  Work layer_work_;
};

} // namespace

UNetEngine make_openmp_unet(const UNetSpec& spec, const UNetWeights& weights, int threads) {
  check_unet(spec, "unet");
  const auto unet = std::make_shared<OpenMpUNet>(spec, weights, threads);
  UNetEngine engine;
  engine.segment = [unet](View<const float> hu, View<std::uint32_t> labels) {
    return unet->segment(hu, labels);
  };
  engine.logits = [unet](View<const float> patch) { return unet->logits(patch); };
  return engine;
}

} // namespace breakeven::imaging
