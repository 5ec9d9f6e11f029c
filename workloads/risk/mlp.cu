// Training the network on the GPU. Its serial loop, for each step:
//
//   for (row r of the batch) {
//     for (layer l) a[l + 1][r] = rounded(relu(a[l][r] x weights[l] + bias[l]));
//     margin = dot(a[last][r], head) + head bias;  loss += loss_of(margin, label[r]);
//     for (layer l from the last) d[l][r] = rounded(relu'(a[l + 1][r]) x (what flows back));
//   }
//   for (layer l) gradient[l] = sum over rows of a[l][r] x d[l][r];
//   for (number w) adam_step(gradient[w], w);
//
// The table is resident, so a batch is a gather on the device. Whether a step overflowed, and what
// scale the next one has, is decided on the device: the host queues step after step and never
// waits.
#include "workloads/imaging/device_memory.h"
#include "workloads/risk/mlp_kernels.h"
#include "workloads/risk/mlp_paths.h"
#include "workloads/risk/mlp_products.h"
#include "workloads/risk/mlp_train.h"

#include <algorithm>
#include <type_traits>

namespace breakeven::ON_PATH {

namespace risk_mlp {

using imaging::Block;
using imaging::Memory;
using imaging_device::blocks_for;
using imaging_device::to_host;
using imaging_device::to_path;

template <class Kernel, class... Args>
void launch_lanes(std::int64_t lanes, const Kernel& kernel, Args... args) {
  launch(blocks_for(lanes, block_size), block_size, 0, Stream{}, kernel, args...);
}

/// A table in the path's memory.
template <class T>
struct ResidentTable {
  std::int64_t count;
  Block<T> values;
  Block<std::uint8_t> labels;

  ResidentTable(const MlpTable& table, Memory& memory)
      : count(table.count),
        values(memory, std::max<std::size_t>(1, table.bytes() / sizeof(T))),
        labels(to_path(table.labels, memory)) {
    memory.copy_in(values.data(), table.values.data(), table.bytes());
  }
};

/// The engine of MlpTraining on the GPU side.
template <class T>
class Trainer {
public:
  Trainer(const MlpJob& job, const MlpParameters& parameters, const MlpLayout& layout,
          const std::vector<float>& weights, std::int64_t most_steps, Products<T>& products,
          Memory& memory)
      : parameters_(parameters),
        layout_(layout),
        rules_(rules_of(parameters, job.rows->count)),
        batch_(batch_of(job.rows->count, parameters)),
        memory_(memory),
        products_(products),
        rows_(*job.rows, memory),
        validation_(validation_of(job)),
        numbers_(to_path(weights, memory)),
        means_(zeros(layout.size)),
        squares_(zeros(layout.size)),
        gradients_(zeros(layout.size)),
        strip_sums_(zeros(strips_of(batch_) * layout.sums())),
        products_of_layer_(memory, at(batch_ * layout.widest())),
        row_numbers_(memory, at(batch_)),
        row_labels_(memory, at(batch_)),
        row_gradients_(memory, at(batch_)),
        // One more for the validation rows.
        losses_(to_path(std::vector<std::uint64_t>(at(most_steps) + 1, 0), memory)),
        states_(to_path(std::vector<StepState>{first_state(rules_)}, memory)),
        rates_(to_path(std::vector<AdamRates>(1), memory)),
        overflows_(to_path(std::vector<std::uint32_t>{0}, memory)) {
    if constexpr (!std::is_same_v<T, float>) rounded_ = to_path(rounded(weights), memory);
    activations_.emplace_back(memory, at(batch_ * layout.columns()));
    for (const MlpLayer& layer : layout.layers) {
      activations_.emplace_back(memory, at(batch_ * layer.out));
      layer_gradients_.emplace_back(memory, at(batch_ * layer.out));
    }
  }
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  void wait() { memory_.synchronise(); }

  void step(const RowOrder& order, std::int64_t first, std::int64_t number) {
    forward(rows_, order, first, batch_, losses_.data() + number);
    backward();
    const std::int64_t size = layout_.size;
    constexpr std::int64_t most_blocks = 132 * 8; // enough for any GPU; lanes stride over the rest
    launch(std::min(most_blocks, blocks_for(size / 4, block_size)), block_size, 0, Stream{},
           FindOverflow{}, static_cast<const float*>(gradients_.data()), size, overflows_.data());
    launch(1, threads_per_warp, 0, Stream{}, EndStep{}, states_.data(), rules_, overflows_.data(),
           rates_.data());
    launch_lanes(size / 4, MoveWeights<T>{}, static_cast<const AdamRates*>(rates_.data()),
                 static_cast<const float*>(gradients_.data()), layout_.weights, size,
                 numbers_.data(), means_.data(), squares_.data(), weights());
  }

  double validation_loss() {
    std::uint64_t* const loss = losses_.data() + losses_.size() - 1;
    const std::uint64_t zero = 0;
    memory_.copy_in(loss, &zero, sizeof zero);
    RowOrder in_order;
    in_order.rows = validation_.count;
    for (std::int64_t first = 0; first < validation_.count; first += batch_)
      forward(validation_, in_order, first, std::min(batch_, validation_.count - first), loss);
    memory_.synchronise();
    return mean_loss(to_host(loss, 1, memory_).front(), validation_.count);
  }

  void finish(MlpRun& run) {
    run.model.weights = to_host(numbers_.data(), at(layout_.size), memory_);
    const StepState state = to_host(states_.data(), 1, memory_).front();
    run.skipped_steps = state.skipped;
    run.loss_scale = state.loss_scale;
    for (const std::uint64_t loss : to_host(losses_.data(), at(run.steps), memory_))
      run.step_losses.push_back(mean_loss(loss, batch_));
    run.peak_bytes = static_cast<std::int64_t>(memory_.peak_bytes);
  }

private:
  static std::size_t at(std::int64_t count) { return static_cast<std::size_t>(count); }
  Block<float> zeros(std::int64_t count) {
    Block<float> block(memory_, at(count));
    launch_lanes(count, Clear{}, block.data(), count);
    return block;
  }
  std::vector<T> rounded(const std::vector<float>& weights) const {
    std::vector<T> rounded;
    for (std::size_t i = 0; i < at(layout_.weights); ++i)
      rounded.push_back(stored_as<T>(weights[i]));
    return rounded;
  }
  ResidentTable<T> validation_of(const MlpJob& job) {
    MlpTable none;
    none.precision = parameters_.precision;
    return {job.validation != nullptr ? *job.validation : none, memory_};
  }
  static double mean_loss(std::uint64_t quanta, std::int64_t rows) {
    return static_cast<double>(quanta) * 0x1p-30 / static_cast<double>(rows);
  }

  /// What products take.
  T* weights() {
    if constexpr (std::is_same_v<T, float>)
      return numbers_.data();
    else
      return rounded_.data();
  }
  const T* activations(std::size_t layer) const { return activations_[layer].data(); }

  void forward(const ResidentTable<T>& table, const RowOrder& order, std::int64_t first,
               std::int64_t count, std::uint64_t* loss) {
    launch_lanes(count, DrawRows{}, order, first, count,
                 static_cast<const std::uint8_t*>(table.labels.data()), row_numbers_.data(),
                 row_labels_.data());
    launch_lanes(count * (layout_.columns() / 4), GatherRows<T>{},
                 static_cast<const T*>(table.values.data()),
                 static_cast<const std::uint32_t*>(row_numbers_.data()), count, layout_.columns(),
                 activations_[0].data());
    for (std::size_t i = 0; i < layout_.layers.size(); ++i) {
      const MlpLayer& layer = layout_.layers[i];
      products_.multiply(Transposed::neither, {count, layer.out, layer.in}, activations(i),
                         weights() + layer.weight, products_of_layer_.data());
      launch_lanes(count * (layer.out / 4), Activate<T>{},
                   static_cast<const float*>(products_of_layer_.data()),
                   static_cast<const float*>(numbers_.data() + layer.bias), count, layer.out,
                   activations_[i + 1].data());
    }
    launch(blocks_for(count, warps), block_size, 0, Stream{}, FindMargins<T>{},
           activations(layout_.layers.size()),
           static_cast<const T*>(weights() + layout_.head_weight),
           static_cast<const float*>(numbers_.data() + layout_.head_bias), layout_.last(),
           static_cast<const std::uint8_t*>(row_labels_.data()), count, parameters_.positive_weight,
           static_cast<const StepState*>(states_.data()), 1.0f / static_cast<float>(batch_),
           row_gradients_.data(), loss);
  }

  SumPlaces places_of(std::size_t layer) const {
    return {layout_.sums(), 0, layout_.layers[layer].bias - layout_.head_weight,
            layout_.head_bias - layout_.head_weight};
  }

  void backward() {
    const std::size_t last = layout_.layers.size() - 1;
    const std::int64_t strips = strips_of(batch_);
    launch_lanes(strips * (layout_.last() / 4), HeadBackward<T>{},
                 static_cast<const float*>(row_gradients_.data()), activations(last + 1),
                 static_cast<const T*>(weights() + layout_.head_weight), batch_, layout_.last(),
                 places_of(last), layer_gradients_[last].data(), strip_sums_.data());
    for (std::size_t i = last + 1; i-- > 0;) {
      const MlpLayer& layer = layout_.layers[i];
      const T* const gradients = layer_gradients_[i].data();
      products_.multiply(Transposed::first, {layer.in, layer.out, batch_}, activations(i),
                         gradients, gradients_.data() + layer.weight);
      if (i == 0) break;
      products_.multiply(Transposed::second, {batch_, layer.in, layer.out}, gradients,
                         weights() + layer.weight, products_of_layer_.data());
      launch_lanes(strips * (layer.in / 4), LayerBackward<T>{},
                   static_cast<const float*>(products_of_layer_.data()), activations(i), batch_,
                   layer.in, places_of(i - 1), layer_gradients_[i - 1].data(), strip_sums_.data());
    }
    launch(blocks_for(layout_.sums(), threads_per_warp), block_size, AddStrips::shared_bytes,
           Stream{}, AddStrips{}, static_cast<const float*>(strip_sums_.data()), strips,
           layout_.sums(), gradients_.data() + layout_.head_weight);
  }

  const MlpParameters& parameters_;
  const MlpLayout& layout_;
  StepRules rules_;
  std::int64_t batch_;
  Memory& memory_;
  Products<T>& products_;
  ResidentTable<T> rows_, validation_;
  Block<float> numbers_, means_, squares_, gradients_;
  Block<T> rounded_; ///< the weights that products take; none for fp32
  /// Of each strip of rows: its part of the gradients that are sums.
  Block<float> strip_sums_;
  Block<float> products_of_layer_;
  Block<std::uint32_t> row_numbers_;
  Block<std::uint8_t> row_labels_;
  Block<float> row_gradients_;
  std::vector<Block<T>> activations_, layer_gradients_;
  Block<std::uint64_t> losses_; ///< of each step, in quanta
  Block<StepState> states_;
  Block<AdamRates> rates_;
  Block<std::uint32_t> overflows_;
};

template <class T>
void train(const MlpJob& job, const MlpParameters& parameters, MlpRun& run, Memory& memory) {
  constexpr Processor processor = Processor::gpu;
  Phase transfer;
  transfer.name = "transfer";
  transfer.processor = processor;
  transfer.repeats = Repeats::per_job;
  const std::int64_t steps = most_steps_of(job, parameters);
  Products<T> products; // starts the library: no transfer
  memory.synchronise();
  const double start_s = seconds_now();
  Trainer<T> trainer(job, parameters, run.model.layout, run.model.weights, steps, products, memory);
  memory.synchronise();
  transfer.end_to_end_s = seconds_now() - start_s;
  MlpTraining training(trainer, job, parameters, processor);
  training.run(run);
  const double trained_s = seconds_now();
  trainer.finish(run);
  transfer.end_to_end_s += seconds_now() - trained_s;
  transfer.work = mlp_transfer_work(run.model.layout, job.rows->count,
                                    job.validation != nullptr ? job.validation->count : 0,
                                    run.steps, parameters.precision);
  run.phases.insert(run.phases.begin(), transfer);
}

} // namespace risk_mlp

risk::MlpRun train_mlp(const risk::MlpJob& job, const risk::MlpParameters& parameters,
                       imaging::Memory& memory) {
  risk::MlpRun run = risk::untrained_run(job, parameters);
  switch (parameters.precision) {
  case risk::MlpPrecision::fp32:
    risk_mlp::train<float>(job, parameters, run, memory);
    break;
  case risk::MlpPrecision::bf16:
    risk_mlp::train<risk::Bf16>(job, parameters, run, memory);
    break;
  case risk::MlpPrecision::fp16:
    risk_mlp::train<risk::Fp16>(job, parameters, run, memory);
    break;
  }
  return run;
}

} // namespace breakeven::ON_PATH
