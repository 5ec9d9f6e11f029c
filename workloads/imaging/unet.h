// The 3-D U-Net of nnU-Net (Isensee et al., Nature Methods 18, 2021), inference only: what the
// network is, its weights, how a volume is cut into windows, and the engines that run it. Labels
// are the class of the greatest logit, Gaussian-weighted over the windows that cover a voxel;
// neither probabilities nor training are here.
#pragma once

#include "workloads/imaging/volume.h"
#include "workloads/workload.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace breakeven::imaging {

/// nnU-Net's CT scheme: HU are clipped to two percentiles of the training data's foreground, then
/// the foreground's mean is subtracted and its standard deviation divided by.
struct CtNormalisation {
  float clip_low_hu = -1000, clip_high_hu = 1000;
  float mean_hu = 0, sd_hu = 500;
};

struct UNetSpec {
  int features = 32;           ///< of the first stage; doubled a stage
  int most_features = 320;     ///< up to this
  int stages = 6;              ///< 2 to 6 resolutions
  int classes = 2;             ///< 2 to 256, background included
  Extent patch{128, 128, 128}; ///< voxels; each side a multiple of 2^(stages - 1)
  double step = 0.5;           ///< between windows, in patches, in (0, 1]
  /// Axes (x, y, z) to mirror: every combination is run and the logits averaged.
  std::array<bool, 3> mirror{};
  CtNormalisation normalisation;
  /// Of the logits kept for open windows. Where a slab of whole slices needs more, the volume is
  /// done in strips of rows and windows across a border are run once for each strip.
  std::int64_t logits_limit_bytes = std::int64_t{4} << 30;

  int features_of(int stage) const;
  int mirrors() const { return (1 + mirror[0]) * (1 + mirror[1]) * (1 + mirror[2]); }
};
/// Throws BadInput{file} for what is out of range.
void check_unet(const UNetSpec& spec, const std::string& file);

// ---- layers and weights ----------------------------------------------------------------------

enum class LayerKind {
  convolution, ///< 3 x 3 x 3, zero padding, then instance norm and leaky ReLU
  transposed,  ///< 2 x 2 x 2, stride 2, with bias
  head         ///< 1 x 1 x 1, with bias
};

/// One layer, in the order of execution. `name` is that of its module in nnU-Net's PlainConvUNet:
/// "encoder.stages.0.0.convs.1", "decoder.transpconvs.4", "decoder.stages.4.convs.0",
/// "decoder.seg_layers.4".
struct UNetLayer {
  LayerKind kind = LayerKind::convolution;
  std::string name;
  int stage = 0;       ///< resolution of the output, 0 is the finest
  int in = 0, out = 0; ///< channels; a decoder's first convolution reads up-sampled, then skip
  int kernel = 3, stride = 1;
  Extent input, output; ///< voxels
  std::size_t weights() const;
};
std::vector<UNetLayer> unet_layers(const UNetSpec& spec);

/// Of a convolution: weight [out][in][z][y][x], and scale and shift [out] of its norm. Of a
/// transposed convolution: weight [in][out][z][y][x] and shift, its bias. Of the head: weight
/// [out][in] and shift. A convolution's own bias is taken out again by the norm's mean, so none is
/// kept.
struct LayerWeights {
  std::vector<float> weight, scale, shift;
};
struct UNetWeights {
  std::vector<LayerWeights> layers; ///< one for each of unet_layers()
};

/// Normal with He's variance for leaky ReLU (He et al., ICCV 2015), from Philox: the same on every
/// machine. Norms and biases are drawn close to their usual start, so that both matter in tests.
UNetWeights seeded_weights(const UNetSpec& spec, std::uint64_t seed);

/// From a .npz (stored or deflated members) or .safetensors file of f32 or f16 tensors, named as in
/// nnU-Net's PlainConvUNet:
///   <convolution>.conv.weight [out, in, 3, 3, 3], <convolution>.norm.weight and .norm.bias [out],
///   decoder.transpconvs.N.weight [in, out, 2, 2, 2] and .bias [out],
///   decoder.seg_layers.N.weight [classes, features, 1, 1, 1] and .bias [classes]; N of the finest.
/// Others (convolutions' biases, deep supervision's heads) are not read. Throws BadInput for a file
/// that is damaged, lacks a tensor or has it in another shape or type, or holds NaN or infinity.
UNetWeights read_weights(const std::filesystem::path& file, const UNetSpec& spec);

/// The same of a file already in memory; `name` is for messages. The format is told by the bytes.
UNetWeights parse_weights(const std::string& bytes, const std::string& name, const UNetSpec& spec);

/// Round-to-nearest-even, and back.
std::uint16_t half_bits(float value);
float half_value(std::uint16_t bits);

// ---- counted work and predicted memory -------------------------------------------------------

/// Of one layer of one window, one mirror.
struct LayerWork {
  double flops = 0;            ///< a multiply-add is two; padding's products are counted
  double activation_bytes = 0; ///< read and written, the norm's two passes included
  double weight_bytes = 0;
};
LayerWork layer_work(const UNetLayer& layer, double bytes_per_value);
double unet_flops(const UNetSpec& spec); ///< of one window, one mirror

enum class Precision { fp32, tf32, fp16 };
std::string to_string(Precision precision);

struct UNetMemory {
  std::int64_t logits_bytes = 0;     ///< of open windows; at most logits_limit_bytes
  std::int64_t volume_bytes = 0;     ///< the normalised volume; on a GPU the labels too
  std::int64_t activation_bytes = 0; ///< of one window
  std::int64_t weight_bytes = 0;
  std::int64_t workspace_bytes = 0; ///< of the library of convolutions, at most
  std::int64_t total() const {
    return logits_bytes + volume_bytes + activation_bytes + weight_bytes + workspace_bytes;
  }
};
/// The most that an engine holds while it segments, its input and its labels on the host left out.
/// Throws BadInput where one row of logits is above the limit.
UNetMemory predict_memory(const UNetSpec& spec, const Extent& volume, Path path,
                          Precision precision);

// ---- engines ---------------------------------------------------------------------------------

struct UNetRun {
  /// "normalise", "infer", "aggregate", and on a GPU "transfer"; job_over_slice is left at 1. FLOPs
  /// are counted as "flops"; and in fp32, as the head's always are, as lane_instructions, two to
  /// one (a fused multiply-add), else as those of tensor cores.
  std::vector<Phase> phases;
  std::int64_t windows = 0; ///< run, repeats for strips included; mirrors count as one
  std::int64_t peak_bytes = 0, logits_bytes = 0; ///< measured, as in UNetMemory
};

/// A network ready to run. Not for two threads at once. Labels may differ between paths, between
/// numbers of threads and between machines where two logits nearly tie: sums in float have no
/// promised order. They are the same from run to run.
struct UNetEngine {
  /// Both views lie on the host and have the same extent, any size; labels are class indices.
  std::function<UNetRun(View<const float> hu, View<std::uint32_t> labels)> segment;
  /// Logits [class][z][y][x] of one window of normalised values, neither mirrored nor weighted.
  std::function<std::vector<float>(View<const float> patch)> logits;
};

/// The CPU side: oneDNN's convolutions in blocked layouts, norms, borders and sums of our own.
UNetEngine make_openmp_unet(const UNetSpec& spec, const UNetWeights& weights, int threads);

/// Dice of all foreground labels, averaged over the classes that either holds; 1 where neither
/// holds any. Both have the same extent.
double dice(View<const std::uint32_t> a, View<const std::uint32_t> b);
/// Share of voxels with the same label.
double agreement(View<const std::uint32_t> a, View<const std::uint32_t> b);

} // namespace breakeven::imaging

// The GPU side, once for each way unet.cu is compiled. Convolutions are cuDNN's under nvcc and
// oneDNN's on the host, where tf32 and fp16 round as the GPU does.
#define BREAKEVEN_DECLARE_UNET(path)                                                               \
  namespace breakeven::path {                                                                      \
  imaging::UNetEngine make_unet_engine(const imaging::UNetSpec& spec,                              \
                                       const imaging::UNetWeights& weights,                        \
                                       imaging::Precision precision);                              \
  }
BREAKEVEN_DECLARE_UNET(on_host)
BREAKEVEN_DECLARE_UNET(on_serial)
BREAKEVEN_DECLARE_UNET(on_cuda)
#undef BREAKEVEN_DECLARE_UNET
