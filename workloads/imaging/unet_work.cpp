// The network's layers, what each computes and moves, and how much memory an engine holds.
#include "sim/errors.h"
#include "workloads/imaging/unet.h"
#include "workloads/imaging/unet_maths.h"
#include "workloads/imaging/unet_memory.h"
#include "workloads/imaging/unet_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::imaging {

int UNetSpec::features_of(int stage) const { return std::min(most_features, features << stage); }

void check_unet(const UNetSpec& spec, const std::string& file) {
  const auto require = [&](bool right, const std::string& found, const std::string& expected) {
    if (!right) throw BadInput(file, 0, found, expected);
  };
  const auto in_range = [&](const char* name, int value, int low, int high) {
    require(value >= low && value <= high, fmt::format("{} = {}", name, value),
            fmt::format("{} to {}", low, high));
  };
  in_range("stages", spec.stages, 2, 6);
  in_range("features", spec.features, 1, 256);
  in_range("most_features", spec.most_features, spec.features, 2048);
  in_range("classes", spec.classes, 2, 256);
  const std::int64_t unit = std::int64_t{1} << (spec.stages - 1);
  for (const std::int64_t side : {spec.patch.x, spec.patch.y, spec.patch.z})
    require(side >= unit && side <= 1024 && side % unit == 0,
            fmt::format("a patch side of {}", side),
            fmt::format("a multiple of {} up to 1024", unit));
  require(spec.step > 0 && spec.step <= 1, fmt::format("step = {}", spec.step),
          "above 0 and at most 1");
  const CtNormalisation& scheme = spec.normalisation;
  for (const float value : {scheme.clip_low_hu, scheme.clip_high_hu, scheme.mean_hu, scheme.sd_hu})
    require(std::isfinite(value), fmt::format("normalisation by {}", value), "finite numbers");
  require(scheme.clip_low_hu < scheme.clip_high_hu,
          fmt::format("clipping to {} .. {} HU", scheme.clip_low_hu, scheme.clip_high_hu),
          "the lower one first");
  require(scheme.sd_hu > 0, fmt::format("sd_hu = {}", scheme.sd_hu), "above 0");
  require(spec.logits_limit_bytes > 0,
          fmt::format("logits_limit_bytes = {}", spec.logits_limit_bytes), "above 0");
}

std::size_t UNetLayer::weights() const {
  return static_cast<std::size_t>(in) * static_cast<std::size_t>(out)
         * static_cast<std::size_t>(kernel * kernel * kernel);
}

std::vector<UNetLayer> unet_layers(const UNetSpec& spec) {
  const auto extent_at = [&](int stage) {
    return Extent{spec.patch.x >> stage, spec.patch.y >> stage, spec.patch.z >> stage};
  };
  std::vector<UNetLayer> layers;
  for (int stage = 0; stage < spec.stages; ++stage) {
    const int features = spec.features_of(stage);
    const bool first = stage == 0;
    const std::string name = fmt::format("encoder.stages.{}.0.convs.", stage);
    layers.push_back({LayerKind::convolution, name + "0", stage,
                      first ? 1 : spec.features_of(stage - 1), features, 3, first ? 1 : 2,
                      extent_at(first ? 0 : stage - 1), extent_at(stage)});
    layers.push_back({LayerKind::convolution, name + "1", stage, features, features, 3, 1,
                      extent_at(stage), extent_at(stage)});
  }
  for (int stage = spec.stages - 2; stage >= 0; --stage) {
    const int features = spec.features_of(stage), step = spec.stages - 2 - stage;
    layers.push_back({LayerKind::transposed, fmt::format("decoder.transpconvs.{}", step), stage,
                      spec.features_of(stage + 1), features, 2, 2, extent_at(stage + 1),
                      extent_at(stage)});
    for (int i = 0; i < 2; ++i)
      layers.push_back({LayerKind::convolution, fmt::format("decoder.stages.{}.convs.{}", step, i),
                        stage, i == 0 ? 2 * features : features, features, 3, 1, extent_at(stage),
                        extent_at(stage)});
  }
  layers.push_back({LayerKind::head, fmt::format("decoder.seg_layers.{}", spec.stages - 2), 0,
                    spec.features, spec.classes, 1, 1, extent_at(0), extent_at(0)});
  return layers;
}

LayerWork layer_work(const UNetLayer& layer, double bytes_per_value) {
  const double inputs = static_cast<double>(layer.input.voxels()) * layer.in;
  const double outputs = static_cast<double>(layer.output.voxels()) * layer.out;
  // Each output of a transposed convolution of stride 2 and kernel 2 has one tap an input channel.
  const double taps = layer.kind == LayerKind::convolution ? 27 : 1;
  LayerWork work;
  work.flops = 2 * taps * layer.in * outputs;
  work.weight_bytes = static_cast<double>(layer.weights()) * bytes_per_value;
  // The norm reads its input for the mean and variance, then reads and writes it. The head's logits
  // are added to those of the volume, which "aggregate" counts.
  const double passes = layer.kind == LayerKind::convolution  ? 4
                        : layer.kind == LayerKind::transposed ? 1
                                                              : 0;
  work.activation_bytes = (inputs + passes * outputs) * bytes_per_value;
  return work;
}

double unet_flops(const UNetSpec& spec) {
  double flops = 0;
  for (const UNetLayer& layer : unet_layers(spec))
    flops += layer_work(layer, 4).flops;
  return flops;
}

std::string to_string(Precision precision) {
  switch (precision) {
  case Precision::fp32:
    return "fp32";
  case Precision::tf32:
    return "tf32";
  case Precision::fp16:
    return "fp16";
  }
  return "";
}

ActivationPlan plan_activations(const UNetSpec& spec, int channel_block) {
  ActivationPlan plan;
  const auto values_at = [&](int stage, int channels) {
    return static_cast<std::size_t>(spec.patch.voxels() >> (3 * stage))
           * static_cast<std::size_t>((channels + channel_block - 1) / channel_block
                                      * channel_block);
  };
  plan.input = static_cast<std::size_t>(spec.patch.voxels());
  for (int stage = 0; stage < spec.stages; ++stage) {
    plan.half.push_back(values_at(stage, spec.features_of(stage)));
    if (stage + 1 < spec.stages) plan.spare = std::max(plan.spare, plan.half.back());
  }
  return plan;
}

std::size_t ActivationPlan::values() const {
  std::size_t sum = input + spare;
  for (const std::size_t values : half)
    sum += 2 * values;
  return sum;
}

UNetPhases::UNetPhases(Processor processor) {
  const auto named = [&](const char* name) {
    Phase phase;
    phase.name = name;
    phase.processor = processor;
    return phase;
  };
  normalise = named("normalise");
  infer = named("infer");
  aggregate = named("aggregate");
  transfer = named("transfer");
}

Work normalise_work(const Extent& volume) {
  const auto voxels = static_cast<double>(volume.voxels());
  Work work;
  work.lane_instructions = 5 * voxels; // two comparisons, a difference, a quotient, a store
  work.dram_bytes = 8 * voxels;
  work.launches = 1;
  work.parallel_width = voxels;
  return work;
}

Work network_work(const UNetSpec& spec, Precision precision) {
  const double bytes_per_value = precision == Precision::fp16 ? 2 : 4;
  Work work;
  double flops = 0;
  for (const UNetLayer& layer : unet_layers(spec)) {
    if (layer.kind == LayerKind::head) continue;
    const LayerWork more = layer_work(layer, bytes_per_value);
    flops += more.flops;
    work.dram_bytes += more.activation_bytes + more.weight_bytes;
    // A convolution, the norm's three kernels; a transposed convolution and its bias.
    work.launches += layer.kind == LayerKind::convolution ? 4 : 2;
    work.parallel_width =
        std::max(work.parallel_width, static_cast<double>(layer.output.voxels()) * layer.out);
  }
  const auto voxels = static_cast<double>(spec.patch.voxels());
  work.dram_bytes += voxels * (4 + bytes_per_value);
  work.launches += 1;
  switch (precision) {
  case Precision::fp32:
    work.lane_instructions = flops / 2;
    work.fp32_flops = flops;
    break;
  case Precision::tf32:
    work.tensor_tf32_flops = flops;
    break;
  case Precision::fp16:
    work.tensor_fp16_flops = flops;
    break;
  }
  work.counts = {{"flops", flops}};
  return work;
}

Work aggregate_work(const UNetSpec& spec, const WindowPlan& plan, const Window& window,
                    const Strip& strip, double bytes_per_value) {
  const WindowPart part = part_in(plan, window, strip);
  double voxels = 1;
  for (std::size_t axis = 0; axis < 3; ++axis)
    voxels *= static_cast<double>(part.end[axis] - part.begin[axis]);
  const double products = voxels * spec.features * spec.classes;
  Work work;
  work.lane_instructions = products + voxels * spec.classes;
  work.fp32_flops = 2 * products;
  work.dram_bytes = voxels * (spec.features * bytes_per_value + 8.0 * spec.classes);
  work.launches = 1;
  work.parallel_width = voxels;
  work.counts = {{"flops", 2 * products}};
  return work;
}

Work finish_work(const WindowPlan& plan, std::int64_t z_begin, std::int64_t z_end,
                 const Strip& strip) {
  const auto voxels =
      static_cast<double>(plan.volume.x * (strip.row_end - strip.row_begin) * (z_end - z_begin));
  Work work;
  work.lane_instructions = 3 * voxels * plan.classes;
  work.dram_bytes = voxels * (8.0 * plan.classes + 4);
  work.launches = 1;
  work.parallel_width = voxels;
  return work;
}

namespace {

double partials_of(const UNetSpec& spec, Path path) {
  double most = 0;
  for (const UNetLayer& layer : unet_layers(spec))
    if (layer.kind == LayerKind::convolution)
      most = std::max(most, std::ceil(static_cast<double>(layer.output.voxels())
                                      / static_cast<double>(norm_chunk_voxels))
                                * (layer.out + (path == Path::openmp ? 16 : 0)));
  return most;
}

} // namespace

UNetMemory predict_memory(const UNetSpec& spec, const Extent& volume, Path path,
                          Precision precision) {
  const bool on_cpu = path == Path::openmp;
  // oneDNN's blocks hold up to 16 channels.
  const int block = on_cpu ? 16 : 1;
  const std::int64_t value_bytes = precision == Precision::fp16 && !on_cpu ? 2 : 4;
  const auto padded = [&](int channels) {
    return static_cast<std::int64_t>((channels + block - 1) / block * block);
  };
  UNetMemory memory;
  memory.logits_bytes = plan_windows(spec, volume).logits_bytes();
  memory.volume_bytes = volume.voxels() * (on_cpu ? 4 : 8);
  memory.activation_bytes =
      static_cast<std::int64_t>(plan_activations(spec, block).values()) * value_bytes
      + static_cast<std::int64_t>(partials_of(spec, path)) * 24;
  for (const UNetLayer& layer : unet_layers(spec)) {
    std::int64_t in = layer.in == 1 ? 1 : padded(layer.in);
    if (layer.kind == LayerKind::convolution && layer.in == 2 * layer.out)
      in = 2 * padded(layer.out);
    if (layer.kind == LayerKind::head)
      memory.weight_bytes += (static_cast<std::int64_t>(layer.weights()) + layer.out) * 4;
    else
      memory.weight_bytes +=
          in * padded(layer.out) * layer.kernel * layer.kernel * layer.kernel * value_bytes
          + 4 * 4 * padded(layer.out);
  }
  memory.weight_bytes += 4 * (spec.patch.x + spec.patch.y + spec.patch.z);
  memory.workspace_bytes = path == Path::cuda ? convolution_workspace_bytes : 0;
  return memory;
}

} // namespace breakeven::imaging
