// What a step costs and holds, from its sizes. Instructions of the GPU's kernels are counted by
// hand from mlp_kernels.h, mlp_maths.h and mlp_format.h, to about 20 %; they are small beside bytes
// and products.
#include "workloads/risk/mlp_work.h"

#include "workloads/risk/mlp_maths.h"

#include <algorithm>

namespace breakeven::risk {

namespace {

/// Rounding and packing a float takes about 12 instructions, unpacking 8.
double rounding_instructions(MlpPrecision precision) {
  return precision == MlpPrecision::fp32 ? 0 : 12;
}
constexpr double feistel_instructions = 2 * RowOrder::rounds * 12; // two walks on average
constexpr double head_row_instructions = 40;                       // probability, loss, sums
constexpr double adam_instructions = 30; // a quotient and a root among them

double numbers_of(const MlpLayout& layout) { return static_cast<double>(layout.size); }
double products_of(const MlpLayer& layer) {
  return static_cast<double>(layer.in) * static_cast<double>(layer.out);
}

void add_products(Work& work, double flops, MlpPrecision precision) {
  if (precision == MlpPrecision::fp32) {
    work.fp32_flops += flops;
    work.lane_instructions += flops / 2;
  } else
    work.tensor_fp16_flops += flops;
}

/// From gathered rows to margins.
Work forward_work(const MlpLayout& layout, double rows, MlpPrecision precision) {
  const double value = bytes_per_value(precision), rounding = rounding_instructions(precision);
  Work work;
  double flops = 0;
  work.lane_instructions = rows * (feistel_instructions + layout.columns() * 2.0);
  work.dram_bytes = rows * (4 + 2 + 2 * value * layout.columns());
  work.launches = 2;
  for (const MlpLayer& layer : layout.layers) {
    flops += 2 * rows * products_of(layer);
    work.lane_instructions += rows * layer.out * (4 + rounding);
    // Inputs and weights, the product written and read, the activation written.
    work.dram_bytes +=
        value * (rows * layer.in + products_of(layer)) + rows * layer.out * (4 + 4 + value);
    work.launches += 2;
  }
  const double last = layout.last();
  work.lane_instructions += rows * (last * (3 + rounding / 2) + head_row_instructions);
  work.dram_bytes += rows * (last * value + 4 + 1);
  work.atomics = rows;
  work.launches += 1;
  add_products(work, flops, precision);
  work.parallel_width = rows * layout.widest() / 4;
  return work;
}

Work backward_work(const MlpLayout& layout, double rows, MlpPrecision precision) {
  const double value = bytes_per_value(precision), rounding = rounding_instructions(precision);
  const double strips = static_cast<double>(strips_of(static_cast<std::int64_t>(rows)));
  const double last = layout.last();
  Work work;
  double flops = 0;
  work.lane_instructions = rows * last * (8 + rounding);
  work.dram_bytes = rows * last * 2 * value;
  work.launches = 1;
  for (std::size_t i = 0; i < layout.layers.size(); ++i) {
    const MlpLayer& layer = layout.layers[i];
    // Gradients of weights: activations and gradients read, floats written.
    flops += 2 * rows * products_of(layer);
    work.dram_bytes += value * rows * (layer.in + layer.out) + 4 * products_of(layer);
    work.launches += 1;
    if (i == 0) continue;
    // Gradients of activations, written as floats, read with the activations, rounded.
    flops += 2 * rows * products_of(layer);
    work.dram_bytes +=
        value * (rows * layer.out + products_of(layer)) + rows * layer.in * (4 + 4 + 2 * value);
    work.lane_instructions += rows * layer.in * (6 + rounding);
    work.launches += 2;
  }
  const double sums = static_cast<double>(layout.sums());
  work.lane_instructions += strips * sums * 3;
  work.dram_bytes += 2 * 4 * strips * sums;
  work.launches += 1;
  add_products(work, flops, precision);
  return work;
}

/// The search for overflow, the end of the step, Adam.
Work update_work(const MlpLayout& layout, MlpPrecision precision) {
  const double numbers = numbers_of(layout);
  Work work;
  work.lane_instructions = numbers * (3 + adam_instructions + rounding_instructions(precision));
  work.dram_bytes =
      numbers * (4 + 4 * 4 + 3 * 4)
      + (precision == MlpPrecision::fp32 ? 0 : 2 * static_cast<double>(layout.weights));
  work.launches = 3;
  return work;
}

} // namespace

double mlp_step_flops(const MlpLayout& layout, std::int64_t batch_rows) {
  double products = 0;
  for (std::size_t i = 0; i < layout.layers.size(); ++i)
    products += (i == 0 ? 2 : 3) * products_of(layout.layers[i]);
  return 2 * static_cast<double>(batch_rows) * products;
}

Work mlp_step_work(const MlpLayout& layout, std::int64_t batch_rows, MlpPrecision precision) {
  Work work = forward_work(layout, static_cast<double>(batch_rows), precision);
  add(work, backward_work(layout, static_cast<double>(batch_rows), precision));
  add(work, update_work(layout, precision));
  work.working_set_bytes = mlp_step_bytes(layout, batch_rows, precision, Path::cuda);
  return work;
}

Work mlp_validation_work(const MlpLayout& layout, std::int64_t rows, std::int64_t batch_rows,
                         MlpPrecision precision) {
  const std::int64_t batches = (rows + batch_rows - 1) / batch_rows;
  Work work = forward_work(layout, static_cast<double>(rows), precision);
  work.launches *= static_cast<double>(batches);
  work.parallel_width /= static_cast<double>(batches);
  work.counts = {{"validation_rows", static_cast<double>(rows)}};
  return work;
}

Work mlp_transfer_work(const MlpLayout& layout, std::int64_t rows, std::int64_t validation_rows,
                       std::int64_t steps, MlpPrecision precision) {
  Work work;
  work.host_to_device_bytes =
      mlp_table_bytes(rows + validation_rows, layout.columns(), precision) + 4 * numbers_of(layout);
  work.device_to_host_bytes = 4 * numbers_of(layout) + 8 * static_cast<double>(steps);
  return work;
}

double mlp_step_bytes(const MlpLayout& layout, std::int64_t batch_rows, MlpPrecision precision,
                      Path path) {
  const auto rows = static_cast<double>(batch_rows);
  double widths = layout.columns(); // activations, and gradients of all but the input
  for (const MlpLayer& layer : layout.layers)
    widths += 2.0 * layer.out;
  const double numbers = numbers_of(layout), sums = static_cast<double>(layout.sums());
  const bool is_rounded = precision != MlpPrecision::fp32;
  const double rounded_weights = is_rounded ? static_cast<double>(layout.weights) : 0;
  if (path == Path::openmp) {
    const std::int64_t block = rows_a_block(batch_rows);
    const auto blocks = static_cast<double>((batch_rows + block - 1) / block);
    return 4 * (rows * widths + 4 * numbers + rounded_weights + blocks * sums);
  }
  // Products of a layer are floats before they are rounded; a row has its number, label, gradient.
  const double strips = static_cast<double>(strips_of(batch_rows));
  return rows * (bytes_per_value(precision) * widths + 4.0 * layout.widest() + 4 + 1 + 4)
         + 4 * (4 * numbers + strips * sums) + 2 * rounded_weights;
}

double mlp_memory_bytes(std::int64_t rows, std::int64_t validation_rows, int columns,
                        const MlpParameters& parameters, Path path) {
  const MlpLayout layout = mlp_layout(columns, parameters.hidden);
  return mlp_table_bytes(rows + validation_rows, layout.columns(), parameters.precision)
         + mlp_step_bytes(layout, std::min(rows, parameters.batch_rows), parameters.precision,
                          path);
}

} // namespace breakeven::risk
