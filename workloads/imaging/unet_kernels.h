// The GPU side's kernels around the convolutions: borders, norm, bias, the head and the sums over
// windows. Activations are [channel][z][y][x], float or half, summed in float.
#pragma once

#include "workloads/imaging/unet_maths.h"
#include "workloads/imaging/unet_memory.h"
#include "workloads/launch.h"

#if defined(__CUDACC__)
#include <cuda_fp16.h>
#endif

namespace breakeven::ON_PATH::unet {

using namespace ::breakeven::imaging;

/// IEEE binary16 as it is stored.
struct Half {
  std::uint16_t bits;
};

HOST_DEVICE inline float loaded(float value) { return value; }
HOST_DEVICE inline float loaded(Half value) {
#if defined(__CUDACC__)
  return __half2float(__ushort_as_half(value.bits));
#else
  return half_value(value.bits);
#endif
}
template <class T>
HOST_DEVICE inline T stored(float value);
template <>
HOST_DEVICE inline float stored<float>(float value) {
  return value;
}
template <>
HOST_DEVICE inline Half stored<Half>(float value) {
#if defined(__CUDACC__)
  return {__half_as_ushort(__float2half_rn(value))};
#else
  return {half_bits(value)};
#endif
}

/// A grid-stride loop over `count` voxels: blocks stay few where there are billions.
template <class Function>
HOST_DEVICE inline void each_index(const Thread& thread, std::int64_t count, Function function) {
  const std::int64_t step = thread.grid_size() * thread.block_size();
  for (std::int64_t i = thread.global_index(); i < count; i += step)
    function(i);
}

struct Normalise {
  HOST_DEVICE void operator()(const Thread& thread, float* hu, std::int64_t voxels,
                              CtNormalisation scheme) const {
    const NormaliseHu normalise{scheme};
    each_index(thread, voxels, [&](std::int64_t i) { hu[i] = normalise(hu[i]); });
  }
};

template <class T>
struct Gather {
  HOST_DEVICE void operator()(const Thread& thread, const float* volume, Extent extent,
                              Window window, unsigned mirror, T* input, Extent patch) const {
    each_index(thread, patch.x * patch.y * patch.z, [&](std::int64_t i) {
      const std::int64_t x = window.x + mirrored(i % patch.x, patch.x, mirror & 1u);
      const std::int64_t y = window.y + mirrored(i / patch.x % patch.y, patch.y, mirror & 2u);
      const std::int64_t z = window.z + mirrored(i / (patch.x * patch.y), patch.z, mirror & 4u);
      const bool inside =
          x >= 0 && x < extent.x && y >= 0 && y < extent.y && z >= 0 && z < extent.z;
      input[i] = stored<T>(inside ? volume[(z * extent.y + y) * extent.x + x] : 0.0f);
    });
  }
};

constexpr int norm_block = 256;
constexpr int norm_values_per_thread = static_cast<int>(norm_chunk_voxels) / norm_block;

/// Sum over a block of 256 in a fixed order; all threads get it. `shared` holds 8 floats.
HOST_DEVICE inline float block_sum(const Thread& thread, const SharedArray<float>& shared,
                                   float value) {
  for (int delta = threads_per_warp / 2; delta > 0; delta /= 2)
    value += thread.shuffle_xor(value, delta);
  thread.sync(); // the last call's sums have been read
  if (thread.lane() == 0) shared[static_cast<std::size_t>(thread.warp())] = value;
  thread.sync();
  float sum = 0;
  for (std::size_t warp = 0; warp < norm_block / threads_per_warp; ++warp) {
    const float of_warp = shared[warp];
    sum += of_warp;
  }
  return sum;
}

/// Mean and squared deviations of one chunk of one channel a block. The chunk is read once and kept
/// in registers, so deviations are from its true mean.
template <class T>
struct NormSums {
  HOST_DEVICE void operator()(const Thread& thread, const T* values, std::int64_t voxels,
                              std::int64_t chunks, float* means, float* squares) const {
    const SharedArray<float> shared = thread.shared<float>(0, norm_block / threads_per_warp);
    const std::int64_t channel = thread.block_index() / chunks;
    const std::int64_t first = thread.block_index() % chunks * norm_chunk_voxels;
    const std::int64_t rest = voxels - first;
    const std::int64_t count = rest < norm_chunk_voxels ? rest : norm_chunk_voxels;
    const T* from = values + channel * voxels + first;
    float kept[norm_values_per_thread];
    float sum = 0;
    for (int i = 0; i < norm_values_per_thread; ++i) {
      const std::int64_t at = i * norm_block + thread.thread_index();
      kept[i] = at < count ? loaded(from[at]) : 0.0f;
      sum += kept[i];
    }
    const float mean = block_sum(thread, shared, sum) / static_cast<float>(count);
    float square = 0;
    for (int i = 0; i < norm_values_per_thread; ++i) {
      const bool inside = i * norm_block + thread.thread_index() < count;
      const float deviation = inside ? kept[i] - mean : 0.0f;
      square = fused(deviation, deviation, square);
    }
    square = block_sum(thread, shared, square);
    if (thread.thread_index() != 0) return;
    means[thread.block_index()] = mean;
    squares[thread.block_index()] = square;
  }
};

/// Joins the chunks of a channel in order (Chan, Golub and LeVeque 1979): a thread a channel. At
/// most a few hundred chunks, in double, of no weight beside the passes over the voxels.
struct NormJoin {
  HOST_DEVICE void operator()(const Thread& thread, int channels, std::int64_t voxels,
                              std::int64_t chunks, const float* means, const float* squares,
                              const float* scale, const float* shift, float* factors) const {
    each_index(thread, channels, [&](std::int64_t channel) {
      double count = 0, mean = 0, square = 0;
      for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        const std::int64_t rest = voxels - chunk * norm_chunk_voxels;
        const auto more = static_cast<double>(rest < norm_chunk_voxels ? rest : norm_chunk_voxels);
        const std::int64_t at = channel * chunks + chunk;
        const double delta = static_cast<double>(means[at]) - mean, total = count + more;
        mean += delta * more / total;
        square += static_cast<double>(squares[at]) + delta * delta * count * more / total;
        count = total;
      }
      const double factor = static_cast<double>(scale[channel])
                            / sqrt(square / count + static_cast<double>(norm_epsilon));
      factors[2 * channel] = static_cast<float>(factor);
      factors[2 * channel + 1] =
          static_cast<float>(static_cast<double>(shift[channel]) - mean * factor);
    });
  }
};

template <class T>
struct NormApply {
  HOST_DEVICE void operator()(const Thread& thread, T* values, int channels, std::int64_t voxels,
                              const float* factors) const {
    each_index(thread, channels * voxels, [&](std::int64_t i) {
      const std::int64_t channel = i / voxels;
      const float value = fused(loaded(values[i]), factors[2 * channel], factors[2 * channel + 1]);
      values[i] = stored<T>(value > 0 ? value : negative_slope * value);
    });
  }
};

template <class T>
struct AddBias {
  HOST_DEVICE void operator()(const Thread& thread, T* values, int channels, std::int64_t voxels,
                              const float* bias) const {
    each_index(thread, channels * voxels, [&](std::int64_t i) {
      values[i] = stored<T>(loaded(values[i]) + bias[i / voxels]);
    });
  }
};

constexpr int head_classes = 8; ///< accumulators a thread

/// One class of the head at a time would read the features once a class; so eight are summed
/// together. Weights are [class][feature], the same for all threads of a warp: broadcasts from L1.
template <class T, class Use>
HOST_DEVICE inline void head(const T* features, std::int64_t voxel, std::int64_t voxels,
                             int channels, int classes, const float* weight, const float* bias,
                             Use use) {
  for (int first = 0; first < classes; first += head_classes) {
    float sums[head_classes];
    for (int c = 0; c < head_classes; ++c)
      sums[c] = first + c < classes ? bias[first + c] : 0.0f;
    for (int k = 0; k < channels; ++k) {
      const float feature = loaded(features[k * voxels + voxel]);
      for (int c = 0; c < head_classes; ++c)
        if (first + c < classes)
          sums[c] = fused(weight[(first + c) * channels + k], feature, sums[c]);
    }
    for (int c = 0; c < head_classes; ++c)
      if (first + c < classes) use(first + c, sums[c]);
  }
}

struct HeadWeights {
  const float *weight, *bias;
  int channels, classes;
};

template <class T>
struct HeadLogits {
  HOST_DEVICE void operator()(const Thread& thread, const T* features, std::int64_t voxels,
                              HeadWeights weights, float* logits) const {
    each_index(thread, voxels, [&](std::int64_t i) {
      head(features, i, voxels, weights.channels, weights.classes, weights.weight, weights.bias,
           [&](int c, float logit) { logits[c * voxels + i] = logit; });
    });
  }
};

/// A WindowPlan's figures, plain.
struct LogitsShape {
  Extent volume;
  std::int64_t slices, rows, row_begin;
  int classes;
  HOST_DEVICE std::int64_t at(int c, std::int64_t x, std::int64_t y, std::int64_t z) const {
    return ((z % slices * classes + c) * rows + y - row_begin) * volume.x + x;
  }
};

struct Importance {
  const float *x, *y, *z;
  float share_of_mirror;
};

/// Adds a window's logits to the strip's: a thread a voxel of the strip, so that no two add to the
/// same, and neighbours lie side by side in features and logits alike.
template <class T>
struct AddWindow {
  HOST_DEVICE void operator()(const Thread& thread, const T* features, Extent patch, Window window,
                              unsigned mirror, WindowPart part, HeadWeights weights,
                              Importance importance, LogitsShape shape, float* logits) const {
    const std::int64_t width = part.end[0] - part.begin[0], height = part.end[1] - part.begin[1],
                       depth = part.end[2] - part.begin[2];
    each_index(thread, width * height * depth, [&](std::int64_t i) {
      const std::int64_t x = part.begin[0] + i % width, y = part.begin[1] + i / width % height,
                         z = part.begin[2] + i / (width * height);
      const std::int64_t in_x = x - window.x, in_y = y - window.y, in_z = z - window.z;
      const float of_row =
          row_importance(importance.z[in_z], importance.y[in_y], importance.share_of_mirror);
      const float of_voxel = of_row * importance.x[in_x];
      const std::int64_t voxel =
          (mirrored(in_z, patch.z, mirror & 4u) * patch.y + mirrored(in_y, patch.y, mirror & 2u))
              * patch.x
          + mirrored(in_x, patch.x, mirror & 1u);
      head(features, voxel, patch.x * patch.y * patch.z, weights.channels, weights.classes,
           weights.weight, weights.bias, [&](int c, float logit) {
             float& sum = logits[shape.at(c, x, y, z)];
             sum = fused(of_voxel, logit, sum);
           });
    });
  }
};

/// Labels of complete slices: the first class of the greatest logits, which are then cleared.
struct Label {
  HOST_DEVICE void operator()(const Thread& thread, LogitsShape shape, std::int64_t row_end,
                              std::int64_t z_begin, std::int64_t z_end, float* logits,
                              std::uint32_t* labels) const {
    const std::int64_t width = shape.volume.x, height = row_end - shape.row_begin;
    each_index(thread, width * height * (z_end - z_begin), [&](std::int64_t i) {
      const std::int64_t x = i % width, y = shape.row_begin + i / width % height,
                         z = z_begin + i / (width * height);
      float greatest = 0;
      std::uint32_t label = 0;
      for (int c = 0; c < shape.classes; ++c) {
        float& logit = logits[shape.at(c, x, y, z)];
        if (c == 0 || logit > greatest) {
          greatest = logit;
          label = static_cast<std::uint32_t>(c);
        }
        logit = 0;
      }
      labels[(z * shape.volume.y + y) * shape.volume.x + x] = label;
    });
  }
};

struct Clear {
  HOST_DEVICE void operator()(const Thread& thread, float* values, std::int64_t count) const {
    each_index(thread, count, [&](std::int64_t i) { values[i] = 0; });
  }
};

} // namespace breakeven::ON_PATH::unet
