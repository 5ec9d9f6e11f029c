// The convolutions of the GPU side: cuDNN's under nvcc, oneDNN's on the host. The part of the
// network that asks which compiler reads it. A CUDA build without cuDNN has none, and says so when
// a network is made.
#pragma once

#include "workloads/imaging/device.h"
#include "workloads/imaging/unet_kernels.h"

#if defined(__CUDACC__)
#if defined(BREAKEVEN_CUDNN)
#include <cudnn.h>
#endif
#else
#include "workloads/imaging/unet_onednn.h"
#endif

#include <array>
#include <memory>
#include <optional>

namespace breakeven::ON_PATH::unet {

using imaging_device::to_path;

inline void convert(const std::vector<float>& values, std::vector<float>& to) { to = values; }
inline void convert(const std::vector<float>& values, std::vector<Half>& to) {
  to.clear();
  for (const float value : values)
    to.push_back({half_bits(value)});
}

#if defined(__CUDACC__) && defined(BREAKEVEN_CUDNN)

inline void check(cudnnStatus_t code, const char* doing) {
  if (code == CUDNN_STATUS_SUCCESS) return;
  throw Failure(std::string(doing) + ": cuDNN error " + std::to_string(static_cast<int>(code))
                + ": " + cudnnGetErrorString(code));
}

/// An owner of one of cuDNN's handles.
template <class Handle, cudnnStatus_t (*create)(Handle*), cudnnStatus_t (*destroy)(Handle)>
class Owned {
public:
  Owned() { check(create(&handle_), "make a cuDNN descriptor"); }
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) destroy(handle_);
  }
  Handle get() const { return handle_; }

private:
  Handle handle_ = nullptr;
};
using TensorShape =
    Owned<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterShape =
    Owned<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvolutionShape = Owned<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor,
                               cudnnDestroyConvolutionDescriptor>;

template <class T>
class Convolutions {
public:
  Convolutions(Precision precision, Memory& memory) : precision_(precision), memory_(&memory) {
    check(cudnnSetStream(handle_.get(), Stream{}.handle), "choose cuDNN's stream");
  }

  /// Chooses the fastest algorithm by running them all on these buffers, whose contents are lost.
  void add(const UNetLayer& layer, const std::vector<float>& weight, const T* source, T* target) {
    Step step;
    step.is_transposed = layer.kind == LayerKind::transposed;
    std::vector<T> converted;
    convert(weight, converted);
    step.weight = to_path(converted, *memory_);
    set_shape(step.source, layer.in, layer.input);
    set_shape(step.target, layer.out, layer.output);
    // A transposed convolution is the gradient of a strided one from its output to its input.
    const std::array<int, 5> filter{step.is_transposed ? layer.in : layer.out,
                                    step.is_transposed ? layer.out : layer.in, layer.kernel,
                                    layer.kernel, layer.kernel};
    check(cudnnSetFilterNdDescriptor(step.filter.get(), type, CUDNN_TENSOR_NCHW, 5, filter.data()),
          "describe weights to cuDNN");
    const int padding = layer.kind == LayerKind::convolution ? 1 : 0;
    const std::array<int, 3> paddings{padding, padding, padding},
        strides{layer.stride, layer.stride, layer.stride}, dilations{1, 1, 1};
    check(cudnnSetConvolutionNdDescriptor(step.convolution.get(), 3, paddings.data(),
                                          strides.data(), dilations.data(), CUDNN_CROSS_CORRELATION,
                                          CUDNN_DATA_FLOAT),
          "describe a convolution to cuDNN");
    set_math(step, wanted_math());
    choose(step, source, target);
    steps_.push_back(std::move(step));
  }

  /// Once, after the last add().
  void finish() {
    trial_ = {};
    workspace_ = Block<std::byte>(*memory_, std::max<std::size_t>(1, workspace_bytes_));
  }

  void run(std::size_t i, const T* source, T* target) {
    const Step& step = steps_[i];
    const float one = 1, zero = 0;
    if (step.is_transposed)
      check(cudnnConvolutionBackwardData(handle_.get(), &one, step.filter.get(), step.weight.data(),
                                         step.source.get(), source, step.convolution.get(),
                                         step.backward, workspace_.data(), workspace_.bytes(),
                                         &zero, step.target.get(), target),
            "run a transposed convolution");
    else
      check(cudnnConvolutionForward(handle_.get(), &one, step.source.get(), source,
                                    step.filter.get(), step.weight.data(), step.convolution.get(),
                                    step.forward, workspace_.data(), workspace_.bytes(), &zero,
                                    step.target.get(), target),
            "run a convolution");
  }

private:
  static constexpr cudnnDataType_t type = sizeof(T) == 2 ? CUDNN_DATA_HALF : CUDNN_DATA_FLOAT;

  struct Step {
    bool is_transposed = false;
    TensorShape source, target;
    FilterShape filter;
    ConvolutionShape convolution;
    Block<T> weight;
    cudnnConvolutionFwdAlgo_t forward{};
    cudnnConvolutionBwdDataAlgo_t backward{};
  };

  static void set_shape(const TensorShape& shape, int channels, const Extent& extent) {
    const auto x = static_cast<int>(extent.x), y = static_cast<int>(extent.y),
               z = static_cast<int>(extent.z);
    const std::array<int, 5> sides{1, channels, z, y, x},
        strides{channels * z * y * x, z * y * x, y * x, x, 1};
    check(cudnnSetTensorNdDescriptor(shape.get(), type, 5, sides.data(), strides.data()),
          "describe activations to cuDNN");
  }

  cudnnMathType_t wanted_math() const {
    switch (precision_) {
    case Precision::fp32:
      return CUDNN_FMA_MATH;
    case Precision::tf32:
      return CUDNN_DEFAULT_MATH; // for floats, TF32 where there is any
    case Precision::fp16:
      return CUDNN_TENSOR_OP_MATH;
    }
    return CUDNN_DEFAULT_MATH;
  }

  static void set_math(const Step& step, cudnnMathType_t math) {
    check(cudnnSetConvolutionMathType(step.convolution.get(), math), "choose cuDNN's precision");
  }

  void choose(Step& step, const T* source, T* target) {
    if (trial_.size() == 0)
      trial_ = Block<std::byte>(*memory_, static_cast<std::size_t>(convolution_workspace_bytes));
    if (step.is_transposed) {
      std::array<cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> tried;
      int count = 0;
      check(cudnnFindConvolutionBackwardDataAlgorithmEx(
                handle_.get(), step.filter.get(), step.weight.data(), step.source.get(), source,
                step.convolution.get(), step.target.get(), target, static_cast<int>(tried.size()),
                &count, tried.data(), trial_.data(), trial_.bytes()),
            "try cuDNN's transposed convolutions");
      step.backward = fastest(step, tried, count);
    } else {
      std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> tried;
      int count = 0;
      check(cudnnFindConvolutionForwardAlgorithmEx(
                handle_.get(), step.source.get(), source, step.filter.get(), step.weight.data(),
                step.convolution.get(), step.target.get(), target, static_cast<int>(tried.size()),
                &count, tried.data(), trial_.data(), trial_.bytes()),
            "try cuDNN's convolutions");
      step.forward = fastest(step, tried, count);
    }
  }

  /// They come fastest first.
  template <class Tried>
  auto fastest(const Step& step, const Tried& tried, int count) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto& one = tried[i];
      const bool right_math = precision_ != Precision::fp32 || one.mathType == CUDNN_FMA_MATH;
      if (one.status != CUDNN_STATUS_SUCCESS || !right_math || one.memory > trial_.bytes())
        continue;
      set_math(step, one.mathType);
      workspace_bytes_ = std::max(workspace_bytes_, one.memory);
      return one.algo;
    }
    throw Failure("cuDNN has no algorithm for one of the network's convolutions");
  }

  Owned<cudnnHandle_t, cudnnCreate, cudnnDestroy> handle_; ///< on the thread's own stream
  Precision precision_;
  Memory* memory_;
  std::vector<Step> steps_;
  Block<std::byte> trial_, workspace_;
  std::size_t workspace_bytes_ = 0;
};

#elif defined(__CUDACC__)

template <class T>
class Convolutions {
public:
  Convolutions(Precision, Memory&) {
    throw Failure("this build has no cuDNN, which the U-Net needs on a GPU");
  }
  void add(const UNetLayer&, const std::vector<float>&, const T*, T*) {}
  void finish() {}
  void run(std::size_t, const T*, T*) {}
};

#else

/// To the 10 bits of fraction that TF32 keeps.
inline float rounded_to_tf32(float value) {
  const std::uint32_t bits = bits_of(value);
  return float_of((bits + 0x0FFFu + ((bits >> 13) & 1u)) & ~0x1FFFu);
}

/// Inputs rounded as the GPU's tensor cores see them, sums in float.
template <class T>
class Convolutions {
public:
  Convolutions(Precision precision, Memory&) : precision_(precision) {}

  void add(const UNetLayer& layer, const std::vector<float>& weight, const T*, T*) {
    std::vector<float> seen;
    for (const float value : weight)
      seen.push_back(as_seen(value));
    steps_.push_back({layer, PlainConvolution(layer, seen.data())});
  }
  void finish() {}

  void run(std::size_t i, const T* source, T* target) {
    const Step& step = steps_[i];
    std::vector<float> in(static_cast<std::size_t>(step.layer.input.voxels() * step.layer.in)),
        out(static_cast<std::size_t>(step.layer.output.voxels() * step.layer.out));
    for (std::size_t at = 0; at < in.size(); ++at)
      in[at] = as_seen(loaded(source[at]));
    step.convolution.run(in.data(), out.data());
    for (std::size_t at = 0; at < out.size(); ++at)
      target[at] = stored<T>(out[at]);
  }

private:
  struct Step {
    UNetLayer layer;
    PlainConvolution convolution;
  };

  float as_seen(float value) const {
    switch (precision_) {
    case Precision::fp32:
      return value;
    case Precision::tf32:
      return rounded_to_tf32(value);
    case Precision::fp16:
      return half_value(half_bits(value));
    }
    return value;
  }

  Precision precision_;
  std::vector<Step> steps_;
};

#endif

} // namespace breakeven::ON_PATH::unet
