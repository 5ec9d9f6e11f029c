// The GPU side's kernels around the products. Activations and gradients of a batch lie row by row
// in the format of the products; lanes take four numbers of a row at once, and widths are multiples
// of 16. Sums over rows are made by strips of rows, then over strips in their order, so that a
// training repeats to the bit. What is shared with the CPU is in mlp_maths.h and mlp_format.h.
#pragma once

#include "workloads/launch.h"
#include "workloads/risk/mlp_format.h"
#include "workloads/risk/mlp_maths.h"
#include "workloads/risk/mlp_work.h"

namespace breakeven::ON_PATH::risk_mlp {

using namespace ::breakeven::risk;

constexpr int block_size = 256;
constexpr int warps = block_size / threads_per_warp;

template <class T>
struct alignas(4 * sizeof(T)) Four {
  T value[4];
};
template <class T>
HOST_DEVICE inline Four<T> four_at(const T* numbers, std::int64_t place) {
  return *reinterpret_cast<const Four<T>*>(numbers + place);
}
template <class T>
HOST_DEVICE inline void put_four(T* numbers, std::int64_t place, const Four<T>& four) {
  *reinterpret_cast<Four<T>*>(numbers + place) = four;
}

struct Clear {
  DEVICE_ONLY void operator()(const Thread& thread, float* numbers, std::int64_t count) const {
    const std::int64_t i = thread.global_index();
    if (i < count) numbers[i] = 0;
  }
};

/// A lane a row of the batch.
struct DrawRows {
  DEVICE_ONLY void operator()(const Thread& thread, RowOrder order, std::int64_t first,
                              std::int64_t count, const std::uint8_t* labels,
                              std::uint32_t* row_numbers, std::uint8_t* row_labels) const {
    const std::int64_t i = thread.global_index();
    if (i >= count) return;
    const std::int64_t row = row_at(order, first + i);
    row_numbers[i] = static_cast<std::uint32_t>(row);
    row_labels[i] = labels[row];
  }
};

/// A lane four columns of a row.
template <class T>
struct GatherRows {
  DEVICE_ONLY void operator()(const Thread& thread, const T* table,
                              const std::uint32_t* row_numbers, std::int64_t count, int columns,
                              T* batch) const {
    const std::int64_t fours = columns / 4, i = thread.global_index();
    if (i >= count * fours) return;
    const std::int64_t from = std::int64_t{row_numbers[i / fours]} * columns + 4 * (i % fours);
    put_four(batch, 4 * i, four_at(table, from));
  }
};

/// A lane four units of a row.
template <class T>
struct Activate {
  DEVICE_ONLY void operator()(const Thread& thread, const float* products, const float* bias,
                              std::int64_t count, int width, T* activations) const {
    const std::int64_t i = thread.global_index();
    if (i >= count * (width / 4)) return;
    const Four<float> product = four_at(products, 4 * i);
    const Four<float> of_unit = four_at(bias, 4 * (i % (width / 4)));
    Four<T> four;
    for (int k = 0; k < 4; ++k)
      four.value[k] = stored_as<T>(activation(product.value[k], of_unit.value[k]));
    put_four(activations, 4 * i, four);
  }
};

/// A warp a row: its margin, the gradient of that, and its loss, added to `loss`.
template <class T>
struct FindMargins {
  DEVICE_ONLY void operator()(const Thread& thread, const T* activations, const T* weights,
                              const float* bias, int width, const std::uint8_t* labels,
                              std::int64_t count, float positive_weight, const StepState* state,
                              float per_row, float* gradients, std::uint64_t* loss) const {
    const std::int64_t row = thread.block_index() * warps + thread.warp();
    float sum = 0;
    if (row < count)
      for (int i = 4 * thread.lane(); i < width; i += 4 * threads_per_warp) {
        const Four<T> activation = four_at(activations, row * width + i),
                      weight = four_at(weights, i);
        for (int k = 0; k < 4; ++k)
          sum = fused(value_of(activation.value[k]), value_of(weight.value[k]), sum);
      }
    for (int delta = threads_per_warp / 2; delta > 0; delta /= 2)
      sum += thread.shuffle_xor(sum, delta);
    if (row >= count || thread.lane() != 0) return;
    const float margin = sum + bias[0];
    const std::uint8_t label = labels[row];
    gradients[row] =
        rounded_to<T>(row_gradient(margin, label, positive_weight, state->loss_scale * per_row));
    atomic_add(loss, static_cast<std::uint64_t>(held_loss_quanta(margin, label)));
  }
};

/// Places in the sums of one strip: of the head's weights, of the biases of a layer, of the head's
/// bias; -1 where the kernel has none.
struct SumPlaces {
  std::int64_t pitch, weights, biases, head_bias;
};

/// A lane four units of a strip of rows: gradients of the last layer, from the margins'.
template <class T>
struct HeadBackward {
  DEVICE_ONLY void operator()(const Thread& thread, const float* row_gradients,
                              const T* activations, const T* weights, std::int64_t count, int width,
                              SumPlaces places, T* gradients, float* strip_sums) const {
    const std::int64_t fours = width / 4, i = thread.global_index();
    const std::int64_t strip = i / fours, first = strip * strip_rows, unit = 4 * (i % fours);
    if (first >= count) return;
    const std::int64_t end = first + strip_rows < count ? first + strip_rows : count;
    const Four<T> weight = four_at(weights, unit);
    Four<float> weight_sums{}, bias_sums{};
    float margin_sum = 0;
    for (std::int64_t row = first; row < end; ++row) {
      const float gradient = row_gradients[row];
      const Four<T> activation = four_at(activations, row * width + unit);
      Four<T> four;
      for (int k = 0; k < 4; ++k) {
        const float a = value_of(activation.value[k]);
        const float of_unit =
            through_activation(rounded_to<T>(gradient * value_of(weight.value[k])), a);
        weight_sums.value[k] = fused(gradient, a, weight_sums.value[k]);
        bias_sums.value[k] += of_unit;
        four.value[k] = stored_as<T>(of_unit);
      }
      put_four(gradients, row * width + unit, four);
      margin_sum += gradient;
    }
    float* const sums = strip_sums + strip * places.pitch;
    put_four(sums, places.weights + unit, weight_sums);
    put_four(sums, places.biases + unit, bias_sums);
    if (unit == 0) put_four(sums, places.head_bias, Four<float>{{margin_sum, 0, 0, 0}});
  }
};

/// A lane four units of a strip of rows: gradients of a layer, from the product with the weights
/// of the next one.
template <class T>
struct LayerBackward {
  DEVICE_ONLY void operator()(const Thread& thread, const float* products, const T* activations,
                              std::int64_t count, int width, SumPlaces places, T* gradients,
                              float* strip_sums) const {
    const std::int64_t fours = width / 4, i = thread.global_index();
    const std::int64_t strip = i / fours, first = strip * strip_rows, unit = 4 * (i % fours);
    if (first >= count) return;
    const std::int64_t end = first + strip_rows < count ? first + strip_rows : count;
    Four<float> bias_sums{};
    for (std::int64_t row = first; row < end; ++row) {
      const Four<float> product = four_at(products, row * width + unit);
      const Four<T> activation = four_at(activations, row * width + unit);
      Four<T> four;
      for (int k = 0; k < 4; ++k) {
        const float of_unit =
            through_activation(rounded_to<T>(product.value[k]), value_of(activation.value[k]));
        bias_sums.value[k] += of_unit;
        four.value[k] = stored_as<T>(of_unit);
      }
      put_four(gradients, row * width + unit, four);
    }
    put_four(strip_sums + strip * places.pitch, places.biases + unit, bias_sums);
  }
};

/// A block 32 sums: its warps take every eighth strip, and are added in their order.
struct AddStrips {
  static constexpr std::size_t shared_bytes = block_size * sizeof(float);

  DEVICE_ONLY void operator()(const Thread& thread, const float* strip_sums, std::int64_t strips,
                              std::int64_t count, float* sums) const {
    const auto parts = thread.shared<float>(0, block_size);
    const std::int64_t place = thread.block_index() * threads_per_warp + thread.lane();
    float part = 0;
    if (place < count)
      for (std::int64_t strip = thread.warp(); strip < strips; strip += warps)
        part += strip_sums[strip * count + place];
    parts[static_cast<std::size_t>(thread.thread_index())] = part;
    thread.sync();
    if (thread.warp() != 0 || place >= count) return;
    float sum = 0;
    for (int warp = 0; warp < warps; ++warp) {
      const float more = parts[static_cast<std::size_t>(warp * threads_per_warp + thread.lane())];
      sum += more;
    }
    sums[place] = sum;
  }
};

/// Sets `found` where any of the gradients is infinite or NaN.
struct FindOverflow {
  DEVICE_ONLY void operator()(const Thread& thread, const float* gradients, std::int64_t count,
                              std::uint32_t* found) const {
    const std::int64_t stride = thread.grid_size() * thread.block_size();
    bool overflowed = false;
    for (std::int64_t i = thread.global_index(); i < count / 4; i += stride) {
      const Four<float> four = four_at(gradients, 4 * i);
      for (int k = 0; k < 4; ++k)
        overflowed = overflowed || has_overflowed(four.value[k]);
    }
    if (overflowed) atomic_add(found, 1u);
  }
};

/// One lane.
struct EndStep {
  DEVICE_ONLY void operator()(const Thread& thread, StepState* state, StepRules rules,
                              std::uint32_t* overflows, AdamRates* rates) const {
    if (thread.global_index() != 0) return;
    *rates = end_step(*state, rules, *overflows != 0);
    *overflows = 0;
  }
};

/// A lane four numbers, which decay before `weights` and are rounded for products there.
template <class T>
struct MoveWeights {
  DEVICE_ONLY void operator()(const Thread& thread, const AdamRates* rates, const float* gradients,
                              std::int64_t weights, std::int64_t count, float* numbers,
                              float* means, float* squares, T* rounded) const {
    const std::int64_t i = 4 * thread.global_index();
    if (i >= count) return;
    const AdamRates now = *rates;
    if (now.is_skipped) return;
    const Four<float> gradient = four_at(gradients, i);
    Four<float> number = four_at(numbers, i), mean = four_at(means, i),
                square = four_at(squares, i);
    const float kept = i < weights ? now.kept : 1.0f;
    for (int k = 0; k < 4; ++k)
      adam_step(now, kept, gradient.value[k], number.value[k], mean.value[k], square.value[k]);
    put_four(numbers, i, number);
    put_four(means, i, mean);
    put_four(squares, i, square);
    if (i >= weights) return;
    Four<T> four;
    for (int k = 0; k < 4; ++k)
      four.value[k] = stored_as<T>(number.value[k]);
    put_four(rounded, i, four);
  }
};

} // namespace breakeven::ON_PATH::risk_mlp
