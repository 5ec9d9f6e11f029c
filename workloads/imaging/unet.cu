// The GPU side of the U-Net. Its serial loop:
//
//   for (voxel v) volume[v] = normalised(hu[v]);
//   for (window w) {
//     for (layer l) {
//       a = convolved(a, weights[l]);                       // cuDNN
//       for (channel c) a[c] = leaky(scale * (a[c] - mean(a[c])) / sd(a[c]) + shift);
//     }
//     for (voxel v of w) for (class c)
//       logits[c][v] += importance[v - w] * dot(head[c], a[v - w]);
//   }
//   for (voxel v) labels[v] = argmax over c of logits[c][v];
//
// Activations are channel by channel, so that joining a skip is no more than lying side by side.
// Logits are kept for the slices of open windows only, and a slice's labels are set as soon as no
// window will add to it.
#include "workloads/clock.h"
#include "workloads/imaging/device_memory.h"
#include "workloads/imaging/unet_convolution.h"
#include "workloads/imaging/unet_kernels.h"

#include <algorithm>
#include <cassert>

namespace breakeven::ON_PATH {

namespace unet {

constexpr int usual_block = imaging_device::usual_block;

/// Enough blocks for any GPU; kernels stride over the rest.
inline std::int64_t grid_for(std::int64_t count) {
  constexpr std::int64_t most_blocks = std::int64_t{1} << 20;
  return std::min(most_blocks, imaging_device::blocks_for(count));
}

template <class T>
class Network {
public:
  Network(const UNetSpec& spec, const UNetWeights& weights, Precision precision)
      : spec_(spec),
        memory_(imaging_device::path_memory()),
        convolutions_(precision, memory_),
        importance_x_(to_path(window_importance(spec.patch.x), memory_)),
        importance_y_(to_path(window_importance(spec.patch.y), memory_)),
        importance_z_(to_path(window_importance(spec.patch.z), memory_)),
        head_weight_(to_path(weights.layers.back().weight, memory_)),
        head_bias_(to_path(weights.layers.back().shift, memory_)),
        work_(network_work(spec, precision)) {
    const ActivationPlan plan = plan_activations(spec, 1);
    input_ = Block<T>(memory_, plan.input);
    spare_ = Block<T>(memory_, plan.spare);
    half_ = plan.half;
    for (const std::size_t half : half_)
      stages_.emplace_back(memory_, 2 * half);
    const auto layers = unet_layers(spec);
    std::int64_t most_chunks = 0;
    int most_channels = 0;
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
      add_step(layers[i], weights.layers[i]);
      most_chunks = std::max(most_chunks, chunks_of(layers[i]) * layers[i].out);
      most_channels = std::max(most_channels, layers[i].out);
    }
    convolutions_.finish();
    means_ = Block<float>(memory_, static_cast<std::size_t>(most_chunks));
    squares_ = Block<float>(memory_, static_cast<std::size_t>(most_chunks));
    factors_ = Block<float>(memory_, 2 * static_cast<std::size_t>(most_channels));
    memory_.synchronise();
  }
  Network(const Network&) = delete; // blocks point to memory_
  Network& operator=(const Network&) = delete;

  UNetRun segment(View<const float> hu, View<std::uint32_t> labels) {
    assert(hu.extent == labels.extent);
    UNetRun run;
    const std::int64_t voxels = hu.extent.voxels();
    if (voxels == 0) return run;
    memory_.peak_bytes = memory_.in_use_bytes;
    const WindowPlan plan = plan_windows(spec_, hu.extent);
    UNetPhases phases(Processor::gpu);
    Block<float> volume(memory_, static_cast<std::size_t>(voxels));
    Block<std::uint32_t> found(memory_, static_cast<std::size_t>(voxels));
    Block<float> logits(memory_, static_cast<std::size_t>(plan.logits()));
    const std::size_t volume_bytes = static_cast<std::size_t>(voxels) * sizeof(float);

    timed(phases.transfer, [&] { memory_.copy_in(volume.data(), hu.data, volume_bytes); });
    timed(phases.normalise, [&] {
      launch(grid_for(voxels), usual_block, 0, Stream{}, Normalise{}, volume.data(), voxels,
             spec_.normalisation);
    });
    phases.normalise.work = normalise_work(hu.extent);
    timed(phases.aggregate, [&] {
      launch(grid_for(plan.logits()), usual_block, 0, Stream{}, Clear{}, logits.data(),
             plan.logits());
    });
    run_windows(
        plan, spec_.mirror,
        {[&](const Window& window, unsigned mirror) {
           timed(phases.infer, [&] {
             gather(volume.data(), hu.extent, window, mirror);
             infer();
           });
           add(phases.infer.work, work_);
         },
         [&](const Window& window, unsigned mirror, const Strip& strip) {
           timed(phases.aggregate, [&] { add_window(plan, window, mirror, strip, logits.data()); });
           add(phases.aggregate.work, aggregate_work(spec_, plan, window, strip, sizeof(T)));
           if (mirror == 0) ++run.windows;
         },
         [&](std::int64_t z_begin, std::int64_t z_end, const Strip& strip) {
           timed(phases.aggregate,
                 [&] { label(plan, z_begin, z_end, strip, logits.data(), found.data()); });
           add(phases.aggregate.work, finish_work(plan, z_begin, z_end, strip));
         }});
    timed(phases.transfer, [&] { memory_.copy_out(labels.data, found.data(), volume_bytes); });
    phases.transfer.kernel_s = 0;
    phases.transfer.work.host_to_device_bytes = static_cast<double>(volume_bytes);
    phases.transfer.work.device_to_host_bytes = static_cast<double>(volume_bytes);
    run.phases = {phases.normalise, phases.infer, phases.aggregate, phases.transfer};
    run.peak_bytes = static_cast<std::int64_t>(memory_.peak_bytes);
    run.logits_bytes = static_cast<std::int64_t>(logits.bytes());
    return run;
  }

  std::vector<float> logits(View<const float> patch) {
    assert(patch.extent == spec_.patch);
    const std::int64_t voxels = spec_.patch.voxels();
    Block<float> volume(memory_, static_cast<std::size_t>(voxels));
    Block<float> logits(memory_, static_cast<std::size_t>(voxels * spec_.classes));
    memory_.copy_in(volume.data(), patch.data, volume.bytes());
    gather(volume.data(), spec_.patch, {}, 0);
    infer();
    launch(grid_for(voxels), usual_block, 0, Stream{}, HeadLogits<T>{}, stages_.front().data(),
           voxels, head_weights(), logits.data());
    memory_.synchronise();
    return imaging_device::to_host(logits.data(), logits.size(), memory_);
  }

private:
  struct Step {
    UNetLayer layer;
    T *source = nullptr, *target = nullptr;
    Block<float> scale, shift;
  };

  /// Both ends wait for the device: microseconds a window, against milliseconds for its layers.
  template <class Function>
  void timed(Phase& phase, Function function) {
    memory_.synchronise();
    const double start_s = seconds_now();
    function();
    memory_.synchronise();
    phase.end_to_end_s += seconds_now() - start_s;
    phase.kernel_s = phase.end_to_end_s;
  }

  static std::int64_t chunks_of(const UNetLayer& layer) {
    return (layer.output.voxels() + norm_chunk_voxels - 1) / norm_chunk_voxels;
  }

  T* half_of(int stage, int which) const {
    const auto at = static_cast<std::size_t>(stage);
    return stages_[at].data() + (which == 0 ? 0 : half_[at]);
  }

  /// As unet_memory.h lays them out.
  void add_step(const UNetLayer& layer, const LayerWeights& weights) {
    Step step;
    step.layer = layer;
    const bool is_second = layer.kind == LayerKind::convolution && layer.name.ends_with(".1");
    if (layer.kind == LayerKind::transposed) {
      step.source = half_of(layer.stage + 1, layer.stage + 2 == spec_.stages ? 1 : 0);
      step.target = half_of(layer.stage, 0);
    } else if (layer.name.starts_with("decoder")) {
      step.source = is_second ? spare_.data() : half_of(layer.stage, 0);
      step.target = is_second ? half_of(layer.stage, 0) : spare_.data();
    } else {
      step.source = is_second          ? half_of(layer.stage, 0)
                    : layer.stage == 0 ? input_.data()
                                       : half_of(layer.stage - 1, 1);
      step.target = half_of(layer.stage, is_second ? 1 : 0);
    }
    step.scale = to_path(weights.scale, memory_);
    step.shift = to_path(weights.shift, memory_);
    convolutions_.add(layer, weights.weight, step.source, step.target);
    steps_.push_back(std::move(step));
  }

  void gather(const float* volume, const Extent& extent, const Window& window, unsigned mirror) {
    launch(grid_for(spec_.patch.voxels()), usual_block, 0, Stream{}, Gather<T>{}, volume, extent,
           window, mirror, input_.data(), spec_.patch);
  }

  void infer() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      convolutions_.run(i, step.source, step.target);
      const std::int64_t voxels = step.layer.output.voxels();
      if (step.layer.kind == LayerKind::convolution)
        normalise(step, voxels);
      else
        launch(grid_for(voxels * step.layer.out), usual_block, 0, Stream{}, AddBias<T>{},
               step.target, step.layer.out, voxels, step.shift.data());
    }
  }

  void normalise(const Step& step, std::int64_t voxels) {
    const std::int64_t chunks = chunks_of(step.layer);
    const int channels = step.layer.out;
    launch(channels * chunks, norm_block, norm_block / threads_per_warp * sizeof(float), Stream{},
           NormSums<T>{}, step.target, voxels, chunks, means_.data(), squares_.data());
    launch(grid_for(channels), usual_block, 0, Stream{}, NormJoin{}, channels, voxels, chunks,
           means_.data(), squares_.data(), step.scale.data(), step.shift.data(), factors_.data());
    launch(grid_for(voxels * channels), usual_block, 0, Stream{}, NormApply<T>{}, step.target,
           channels, voxels, factors_.data());
  }

  HeadWeights head_weights() const {
    return {head_weight_.data(), head_bias_.data(), spec_.features, spec_.classes};
  }
  static LogitsShape shape_of(const WindowPlan& plan, const Strip& strip) {
    return {plan.volume, plan.slices, plan.rows, strip.row_begin, plan.classes};
  }

  void add_window(const WindowPlan& plan, const Window& window, unsigned mirror, const Strip& strip,
                  float* logits) {
    const WindowPart part = part_in(plan, window, strip);
    const std::int64_t voxels = (part.end[0] - part.begin[0]) * (part.end[1] - part.begin[1])
                                * (part.end[2] - part.begin[2]);
    const Importance importance{importance_x_.data(), importance_y_.data(), importance_z_.data(),
                                1.0f / static_cast<float>(spec_.mirrors())};
    launch(grid_for(voxels), usual_block, 0, Stream{}, AddWindow<T>{}, stages_.front().data(),
           spec_.patch, window, mirror, part, head_weights(), importance, shape_of(plan, strip),
           logits);
  }

  void label(const WindowPlan& plan, std::int64_t z_begin, std::int64_t z_end, const Strip& strip,
             float* logits, std::uint32_t* labels) {
    const std::int64_t voxels =
        plan.volume.x * (strip.row_end - strip.row_begin) * (z_end - z_begin);
    launch(grid_for(voxels), usual_block, 0, Stream{}, Label{}, shape_of(plan, strip),
           strip.row_end, z_begin, z_end, logits, labels);
  }

  UNetSpec spec_;
  Memory memory_;
  Convolutions<T> convolutions_;
  Block<float> importance_x_, importance_y_, importance_z_, head_weight_, head_bias_;
  Work work_;
  Block<T> input_, spare_;
  std::vector<std::size_t> half_;
  std::vector<Block<T>> stages_;
  std::vector<Step> steps_;
  Block<float> means_, squares_, factors_;
};

template <class T>
UNetEngine engine_of(const UNetSpec& spec, const UNetWeights& weights, Precision precision) {
  const auto network = std::make_shared<Network<T>>(spec, weights, precision);
  UNetEngine engine;
  engine.segment = [network](View<const float> hu, View<std::uint32_t> labels) {
    return network->segment(hu, labels);
  };
  engine.logits = [network](View<const float> patch) { return network->logits(patch); };
  return engine;
}

} // namespace unet

imaging::UNetEngine make_unet_engine(const imaging::UNetSpec& spec,
                                     const imaging::UNetWeights& weights,
                                     imaging::Precision precision) {
  imaging::check_unet(spec, "unet");
  return precision == imaging::Precision::fp16
             ? unet::engine_of<unet::Half>(spec, weights, precision)
             : unet::engine_of<float>(spec, weights, precision);
}

} // namespace breakeven::ON_PATH
