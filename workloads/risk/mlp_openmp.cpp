// The network on the CPU. A step takes two walks over its batch. The first takes blocks of rows, a
// thread each, through all layers and back, so that a block stays in a core's cache from layer to
// layer and threads meet once, not at every layer. The second multiplies activations by gradients,
// a tile of a layer's weights a thread. Blocks and tiles depend on sizes alone, and each product is
// one thread's, so the numbers are the same for any number of threads.

#include "workloads/imaging/host_memory.h"
#include "workloads/risk/mlp_blas.h"
#include "workloads/risk/mlp_format.h"
#include "workloads/risk/mlp_paths.h"
#include "workloads/risk/mlp_train.h"
#include "workloads/risk/mlp_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

namespace breakeven::risk {

namespace {

using imaging::Block;

constexpr std::int64_t scored_rows = 256;   ///< at once, a thread
constexpr std::int64_t adam_numbers = 8192; ///< at once, a thread

// ---- one layer, some rows ----

template <class Format>
void activate(float* products, const float* bias, std::int64_t rows, int width) {
  for (std::int64_t row = 0; row < rows; ++row, products += width) {
#pragma omp simd
    for (int i = 0; i < width; ++i)
      products[i] = rounded_to<Format>(activation(products[i], bias[i]));
  }
}

template <class Format>
void layer_forward(const MlpLayer& layer, const float* weights, const float* biases,
                   const float* input, float* output, std::int64_t rows) {
  multiply(Transposed::neither, {rows, layer.out, layer.in}, {input, layer.in},
           {weights + layer.weight, layer.out}, output, layer.out);
  activate<Format>(output, biases + layer.bias, rows, layer.out);
}

float margin_of(const float* activations, const float* weights, int width, float bias) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < width; ++i)
    sum = fused(activations[i], weights[i], sum);
  return sum + bias;
}

/// What the gradient of a row's margin does to the last layer: gradients there, and the row's part
/// of the sums of the head's weights and of the layer's biases.
template <class Format>
void head_backward(float gradient, const float* activations, const float* weights, int width,
                   float* gradients, float* weight_sums, float* bias_sums) {
#pragma omp simd
  for (int i = 0; i < width; ++i) {
    const float of_unit =
        through_activation(rounded_to<Format>(gradient * weights[i]), activations[i]);
    gradients[i] = of_unit;
    weight_sums[i] = fused(gradient, activations[i], weight_sums[i]);
    bias_sums[i] += of_unit;
  }
}

template <class Format>
void activation_backward(float* gradients, const float* activations, std::int64_t rows, int width,
                         float* bias_sums) {
  for (std::int64_t row = 0; row < rows; ++row, gradients += width, activations += width) {
#pragma omp simd
    for (int i = 0; i < width; ++i) {
      const float of_unit = through_activation(rounded_to<Format>(gradients[i]), activations[i]);
      gradients[i] = of_unit;
      bias_sums[i] += of_unit;
    }
  }
}

bool any_overflow(const float* numbers, std::int64_t count) {
  int found = 0;
#pragma omp simd reduction(| : found)
  for (std::int64_t i = 0; i < count; ++i)
    found |= has_overflowed(numbers[i]) ? 1 : 0;
  return found != 0;
}

template <class Format>
void copy_row(const MlpTable& table, std::int64_t row, float* to) {
  const Format* const from =
      reinterpret_cast<const Format*>(table.values.data()) + row * table.columns;
  for (int column = 0; column < table.columns; ++column)
    to[column] = value_of(from[column]);
}

template <class Format>
std::vector<float> rounded_weights(const std::vector<float>& weights, std::int64_t count) {
  std::vector<float> rounded(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < rounded.size(); ++i)
    rounded[i] = rounded_to<Format>(weights[i]);
  return rounded;
}

/// A thread's buffers for rows that are only scored.
class Scorer {
public:
  explicit Scorer(const MlpLayout& layout)
      : layout_(layout),
        now_(static_cast<std::size_t>(scored_rows * layout.widest())),
        next_(now_.size()) {}

  /// To be filled with rows of layout.columns() numbers, at most scored_rows.
  float* input() { return now_.data(); }

  /// Calls use(row, margin). `weights` are rounded, `biases` begin where the weights do.
  template <class Format, class Use>
  void score(std::int64_t rows, const float* weights, const float* biases, const Use& use) {
    for (const MlpLayer& layer : layout_.layers) {
      layer_forward<Format>(layer, weights, biases, now_.data(), next_.data(), rows);
      std::swap(now_, next_);
    }
    for (std::int64_t row = 0; row < rows; ++row)
      use(row, margin_of(now_.data() + row * layout_.last(), weights + layout_.head_weight,
                         layout_.last(), biases[layout_.head_bias]));
  }

private:
  const MlpLayout& layout_;
  std::vector<float> now_, next_;
};

// ---- training ----

/// A part of a layer's weights whose gradients one thread finds.
struct Tile {
  const MlpLayer* layer;
  std::size_t number; ///< of the layer
  int in_begin, in_count, out_begin, out_count;
};

std::vector<Tile> tiles_of(const MlpLayout& layout) {
  std::vector<Tile> tiles;
  for (std::size_t number = 0; number < layout.layers.size(); ++number) {
    const MlpLayer& layer = layout.layers[number];
    for (int in = 0; in < layer.in; in += tile_in)
      for (int out = 0; out < layer.out; out += tile_out)
        tiles.push_back({&layer, number, in, std::min(tile_in, layer.in - in), out,
                         std::min(tile_out, layer.out - out)});
  }
  return tiles;
}

/// The engine of MlpTraining on the CPU.
template <class Format>
class Trainer {
public:
  Trainer(const MlpJob& job, const MlpParameters& parameters, const MlpLayout& layout,
          const std::vector<float>& weights)
      : job_(job),
        parameters_(parameters),
        layout_(layout),
        rules_(rules_of(parameters, job.rows->count)),
        state_(first_state(rules_)),
        batch_(batch_of(job.rows->count, parameters)),
        block_rows_(rows_a_block(batch_)),
        blocks_((batch_ + block_rows_ - 1) / block_rows_),
        tiles_(tiles_of(layout_)),
        memory_(imaging::host_memory()),
        weights_(numbers(layout_.size)),
        means_(numbers(layout_.size)),
        squares_(numbers(layout_.size)),
        gradients_(numbers(layout_.size)),
        block_sums_(numbers(blocks_ * layout_.sums())),
        block_losses_(static_cast<std::size_t>(blocks_)) {
    if (rounds) rounded_ = numbers(layout_.weights);
    activations_.push_back(numbers(batch_ * layout_.columns()));
    for (const MlpLayer& layer : layout_.layers) {
      activations_.push_back(numbers(batch_ * layer.out));
      layer_gradients_.push_back(numbers(batch_ * layer.out));
    }
    std::copy(weights.begin(), weights.end(), weights_.data());
    for (std::int64_t i = 0; i < layout_.weights && rounds; ++i)
      rounded_.data()[i] = rounded_to<Format>(weights_.data()[i]);
    std::fill_n(means_.data(), layout_.size, 0.0f);
    std::fill_n(squares_.data(), layout_.size, 0.0f);
    std::fill_n(gradients_.data(), layout_.size, 0.0f);
  }
  Trainer(const Trainer&) = delete; // blocks point to memory_
  Trainer& operator=(const Trainer&) = delete;

  void wait() {}

  void step(const RowOrder& order, std::int64_t first, std::int64_t) {
    const float factor = state_.loss_scale / static_cast<float>(batch_);
    AdamRates rates;
    int overflowed = 0;
#pragma omp parallel
    {
#pragma omp for schedule(dynamic, 1)
      for (std::int64_t block = 0; block < blocks_; ++block)
        walk_block(order, first, block, factor);
#pragma omp for schedule(dynamic, 1) reduction(| : overflowed)
      for (std::size_t tile = 0; tile < tiles_.size(); ++tile)
        overflowed |= find_gradients(tiles_[tile]) ? 1 : 0;
#pragma omp single
      {
        add_blocks();
        overflowed |= any_overflow(gradients_.data() + layout_.head_weight, layout_.sums()) ? 1 : 0;
        rates = end_step(state_, rules_, overflowed != 0);
      }
#pragma omp for schedule(static)
      for (std::int64_t begin = 0; begin < layout_.size; begin += adam_numbers)
        if (!rates.is_skipped)
          move_weights(rates, begin, std::min(begin + adam_numbers, layout_.size));
    }
  }

  double validation_loss() {
    const MlpTable& table = *job_.validation;
    std::int64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
      Scorer scorer(layout_);
#pragma omp for schedule(dynamic, 1)
      for (std::int64_t begin = 0; begin < table.count; begin += scored_rows) {
        const std::int64_t count = std::min(scored_rows, table.count - begin);
        for (std::int64_t row = 0; row < count; ++row)
          copy_row<Format>(table, begin + row, scorer.input() + row * layout_.columns());
        scorer.score<Format>(
            count, products_weights(), weights_.data(), [&](std::int64_t row, float margin) {
              sum += held_loss_quanta(margin, table.labels[static_cast<std::size_t>(begin + row)]);
            });
      }
    }
    return static_cast<double>(sum) * 0x1p-30 / static_cast<double>(table.count);
  }

  /// What is left of the run once the steps are done.
  void finish(MlpRun& run) {
    run.model.weights.assign(weights_.data(), weights_.data() + layout_.size);
    run.step_losses = std::move(step_losses_);
    run.skipped_steps = state_.skipped;
    run.loss_scale = state_.loss_scale;
    run.peak_bytes = static_cast<std::int64_t>(memory_.peak_bytes);
  }

private:
  static constexpr bool rounds = !std::is_same_v<Format, float>;

  Block<float> numbers(std::int64_t count) {
    return Block<float>(memory_, static_cast<std::size_t>(count));
  }
  const float* products_weights() const { return rounds ? rounded_.data() : weights_.data(); }
  float* activations(std::size_t layer, std::int64_t row, int width) {
    return activations_[layer].data() + row * width;
  }
  float* layer_gradients(std::size_t layer, std::int64_t row) {
    return layer_gradients_[layer].data() + row * layout_.layers[layer].out;
  }

  void walk_block(const RowOrder& order, std::int64_t first, std::int64_t block, float factor) {
    const std::int64_t begin = block * block_rows_, rows = std::min(block_rows_, batch_ - begin);
    const int columns = layout_.columns();
    std::vector<std::uint8_t> labels(static_cast<std::size_t>(rows));
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t from = row_at(order, first + begin + row);
      copy_row<Format>(*job_.rows, from, activations(0, begin + row, columns));
      labels[static_cast<std::size_t>(row)] = job_.rows->labels[static_cast<std::size_t>(from)];
    }
    for (std::size_t i = 0; i < layout_.layers.size(); ++i) {
      const MlpLayer& layer = layout_.layers[i];
      layer_forward<Format>(layer, products_weights(), weights_.data(),
                            activations(i, begin, layer.in), activations(i + 1, begin, layer.out),
                            rows);
    }
    float* const sums = block_sums_.data() + block * layout_.sums();
    std::fill_n(sums, layout_.sums(), 0.0f);
    block_losses_[static_cast<std::size_t>(block)] =
        walk_head(labels.data(), begin, rows, factor, sums);
    for (std::size_t i = layout_.layers.size() - 1; i > 0; --i) {
      const MlpLayer& layer = layout_.layers[i];
      float* const gradients = layer_gradients(i - 1, begin);
      multiply(Transposed::second, {rows, layer.in, layer.out},
               {layer_gradients(i, begin), layer.out},
               {products_weights() + layer.weight, layer.out}, gradients, layer.in);
      activation_backward<Format>(gradients, activations(i, begin, layer.in), rows, layer.in,
                                  sums + (layout_.layers[i - 1].bias - layout_.head_weight));
    }
  }

  /// Gives the sum of the rows' losses.
  std::int64_t walk_head(const std::uint8_t* labels, std::int64_t begin, std::int64_t rows,
                         float factor, float* sums) {
    const int width = layout_.last();
    const std::size_t last = layout_.layers.size() - 1;
    const float* const weights = products_weights() + layout_.head_weight;
    const float bias = weights_.data()[layout_.head_bias];
    float* const bias_sums = sums + (layout_.layers[last].bias - layout_.head_weight);
    float& head_bias_sum = sums[layout_.head_bias - layout_.head_weight];
    std::int64_t loss = 0;
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* const of_row = activations(last + 1, begin + row, width);
      const float margin = margin_of(of_row, weights, width, bias);
      loss += held_loss_quanta(margin, labels[row]);
      const float gradient = rounded_to<Format>(
          row_gradient(margin, labels[row], parameters_.positive_weight, factor));
      head_backward<Format>(gradient, of_row, weights, width, layer_gradients(last, begin + row),
                            sums, bias_sums);
      head_bias_sum += gradient;
    }
    return loss;
  }

  /// Of a tile of weights; gives whether any overflowed.
  bool find_gradients(const Tile& tile) {
    const MlpLayer& layer = *tile.layer;
    float* const gradients = gradients_.data() + layer.weight
                             + static_cast<std::int64_t>(tile.in_begin) * layer.out
                             + tile.out_begin;
    multiply(Transposed::first, {tile.in_count, tile.out_count, batch_},
             {activations_[tile.number].data() + tile.in_begin, layer.in},
             {layer_gradients_[tile.number].data() + tile.out_begin, layer.out}, gradients,
             layer.out);
    bool overflowed = false;
    for (int row = 0; row < tile.in_count; ++row)
      overflowed |=
          any_overflow(gradients + static_cast<std::int64_t>(row) * layer.out, tile.out_count);
    return overflowed;
  }

  void add_blocks() {
    float* const sums = gradients_.data() + layout_.head_weight;
    std::copy_n(block_sums_.data(), layout_.sums(), sums);
    std::int64_t loss = block_losses_[0];
    for (std::int64_t block = 1; block < blocks_; ++block) {
      const float* const more = block_sums_.data() + block * layout_.sums();
#pragma omp simd
      for (std::int64_t i = 0; i < layout_.sums(); ++i)
        sums[i] += more[i];
      loss += block_losses_[static_cast<std::size_t>(block)];
    }
    step_losses_.push_back(static_cast<double>(loss) * 0x1p-30 / static_cast<double>(batch_));
  }

  void move_weights(const AdamRates& rates, std::int64_t begin, std::int64_t end) {
    const std::int64_t middle = std::clamp(layout_.weights, begin, end);
    const float* const gradients = gradients_.data();
    float *const weights = weights_.data(), *const means = means_.data(),
                 *const squares = squares_.data(), *const rounded = rounded_.data();
#pragma omp simd
    for (std::int64_t i = begin; i < middle; ++i) {
      adam_step(rates, rates.kept, gradients[i], weights[i], means[i], squares[i]);
      if constexpr (rounds) rounded[i] = rounded_to<Format>(weights[i]);
    }
#pragma omp simd
    for (std::int64_t i = middle; i < end; ++i)
      adam_step(rates, 1.0f, gradients[i], weights[i], means[i], squares[i]);
  }

  const MlpJob& job_;
  const MlpParameters& parameters_;
  const MlpLayout& layout_;
  StepRules rules_;
  StepState state_;
  std::int64_t batch_, block_rows_, blocks_;
  std::vector<Tile> tiles_;
  imaging::Memory memory_;
  Block<float> weights_, means_, squares_, gradients_;
  Block<float> rounded_;                      ///< the weights that products take; none for fp32
  std::vector<Block<float>> activations_;     ///< batch rows x width: the input, then of each layer
  std::vector<Block<float>> layer_gradients_; ///< of each layer's sums before ReLU
  Block<float> block_sums_; ///< of each block: its part of the gradients that are sums
  std::vector<std::int64_t> block_losses_;
  std::vector<double> step_losses_;
};

template <class Format>
void train(const MlpJob& job, const MlpParameters& parameters, MlpRun& run) {
  const ProductsInOneThread guard;
  Trainer<Format> trainer(job, parameters, run.model.layout, run.model.weights);
  MlpTraining training(trainer, job, parameters, Processor::cpu);
  training.run(run);
  trainer.finish(run);
}

template <class Format>
void score(const Mlp& model, const Rows& rows, std::span<float> margins) {
  const ProductsInOneThread guard;
  const MlpLayout& layout = model.layout;
  const std::vector<float> weights = rounded_weights<Format>(model.weights, layout.weights);
  const auto features = static_cast<std::size_t>(rows.features());
#pragma omp parallel
  {
    Scorer scorer(layout);
    std::vector<float> read(static_cast<std::size_t>(scored_rows) * features);
    std::vector<std::uint8_t> labels(static_cast<std::size_t>(scored_rows));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t begin = 0; begin < rows.count; begin += scored_rows) {
      const std::int64_t count = std::min(scored_rows, rows.count - begin);
      rows.read(begin, begin + count, read.data(), labels.data());
      for (std::int64_t row = 0; row < count; ++row) {
        float* const columns = scorer.input() + row * layout.columns();
        scale_row(model.scaling, &read[static_cast<std::size_t>(row) * features], columns);
        for (int column = 0; column < layout.columns(); ++column)
          columns[column] = rounded_to<Format>(columns[column]);
      }
      scorer.score<Format>(count, weights.data(), model.weights.data(),
                           [&](std::int64_t row, float margin) {
                             margins[static_cast<std::size_t>(begin + row)] = margin;
                           });
    }
  }
}

} // namespace

MlpRun train_mlp_openmp(const MlpJob& job, const MlpParameters& parameters) {
  MlpRun run = untrained_run(job, parameters);
  try {
    switch (parameters.precision) {
    case MlpPrecision::fp32:
      train<float>(job, parameters, run);
      break;
    case MlpPrecision::bf16:
      train<Bf16>(job, parameters, run);
      break;
    case MlpPrecision::fp16:
      train<Fp16>(job, parameters, run);
      break;
    }
  } catch (const std::bad_alloc&) {
    throw Failure(
        fmt::format("no room for the network: a step's buffers take {:.2f} GB of memory",
                    1e-9
                        * mlp_step_bytes(run.model.layout, batch_of(job.rows->count, parameters),
                                         parameters.precision, Path::openmp)));
  }
  return run;
}

void find_margins(const Mlp& model, const Rows& rows, std::span<float> margins) {
  assert(margins.size() == static_cast<std::size_t>(rows.count));
  check_features(rows, model.scaling);
  switch (model.parameters.precision) {
  case MlpPrecision::fp32:
    return score<float>(model, rows, margins);
  case MlpPrecision::bf16:
    return score<Bf16>(model, rows, margins);
  case MlpPrecision::fp16:
    return score<Fp16>(model, rows, margins);
  }
}

} // namespace breakeven::risk
