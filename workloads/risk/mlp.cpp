#include "workloads/risk/mlp.h"

#include "sim/errors.h"
#include "workloads/risk/approximations.h"
#include "workloads/risk/mlp_maths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::risk {

namespace {

constexpr int width_unit = 16;
constexpr int most_layers = 8, most_width = 16384;

int padded(int width) { return (width + width_unit - 1) / width_unit * width_unit; }

/// Normal numbers with this standard deviation in the first `rows` x `columns` of a matrix.
void draw(float* matrix, int rows, int columns, int pitch, float deviation, std::uint32_t layer,
          std::uint64_t seed) {
  constexpr std::uint32_t stream = 0x4D'4C'50'01u; // names these draws among others of a seed
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; column += 4) {
      const Random4 four = philox4x32(
          {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(column / 4), layer, stream},
          seed);
      const std::uint32_t words[] = {four.x, four.y, four.z, four.w};
      for (int i = 0; i < std::min(4, columns - column); ++i)
        matrix[static_cast<std::int64_t>(row) * pitch + column + i] =
            deviation * inverse_normal(words[i]);
    }
}

float log_odds(const MlpTable& rows, float positive_weight) {
  const auto positives = std::count(rows.labels.begin(), rows.labels.end(), std::uint8_t{1});
  const auto negatives = rows.count - positives;
  if (positives == 0 || negatives == 0)
    throw Failure(fmt::format("{} rows with label 1 and {} with label 0: a network needs both",
                              positives, negatives));
  return static_cast<float>(
      std::log(static_cast<double>(positives) * static_cast<double>(positive_weight)
               / static_cast<double>(negatives)));
}

} // namespace

void check_mlp(const MlpParameters& p, const std::string& file) {
  const auto require = [&](bool right, const std::string& found, const std::string& expected) {
    if (!right) throw BadInput(file, 0, found, expected);
  };
  const auto in_range = [&](const char* name, double value, double low, double high) {
    require(value >= low && value <= high, fmt::format("{} = {}", name, value),
            fmt::format("{} to {}", low, high));
  };
  require(!p.hidden.empty() && p.hidden.size() <= most_layers,
          fmt::format("{} hidden layers", p.hidden.size()), fmt::format("1 to {}", most_layers));
  for (const int width : p.hidden)
    in_range("a hidden width", width, 1, most_width);
  in_range("batch_rows", static_cast<double>(p.batch_rows), 1, 1 << 20);
  in_range("epochs", p.epochs, 1, 100'000);
  const auto above_0 = [&](const char* name, float value, double high) {
    require(value > 0 && static_cast<double>(value) <= high, fmt::format("{} = {}", name, value),
            fmt::format("above 0, at most {}", high));
  };
  above_0("learning_rate", p.learning_rate, 1);
  above_0("epsilon", p.epsilon, 1);
  above_0("positive_weight", p.positive_weight, 1e6);
  for (const auto& [name, beta] : {std::pair{"beta1", p.beta1}, std::pair{"beta2", p.beta2}})
    require(beta >= 0 && beta < 1, fmt::format("{} = {}", name, beta), "0 or more, below 1");
  in_range("last_rate_share", static_cast<double>(p.last_rate_share), 0, 1);
  in_range("l2", static_cast<double>(p.l2), 0, 1);
}

int MlpLayout::widest() const {
  int widest = 0;
  for (const MlpLayer& layer : layers)
    widest = std::max({widest, layer.in, layer.out});
  return widest;
}

MlpLayout mlp_layout(int columns, const std::vector<int>& hidden) {
  MlpLayout layout;
  int in = padded(columns);
  for (const int width : hidden) {
    const int out = padded(width);
    layout.layers.push_back({in, out, layout.size, 0});
    layout.size += static_cast<std::int64_t>(in) * out;
    in = out;
  }
  layout.head_weight = layout.size;
  layout.size += in;
  layout.weights = layout.size;
  for (MlpLayer& layer : layout.layers) {
    layer.bias = layout.size;
    layout.size += layer.out;
  }
  layout.head_bias = layout.size;
  layout.size += width_unit;
  return layout;
}

std::vector<float> first_weights(const MlpLayout& layout, const MlpParameters& parameters,
                                 const MlpScaling& scaling, const MlpTable& rows) {
  std::vector<float> weights(static_cast<std::size_t>(layout.size), 0.0f);
  int in = std::max(1, scaling.used);
  std::uint32_t number = 0;
  for (const MlpLayer& layer : layout.layers) {
    const int out = parameters.hidden[number];
    draw(&weights[static_cast<std::size_t>(layer.weight)], in, out, layer.out,
         std::sqrt(2.0f / static_cast<float>(in)), number, parameters.seed);
    in = out;
    ++number;
  }
  draw(&weights[static_cast<std::size_t>(layout.head_weight)], 1, in, layout.last(),
       std::sqrt(1.0f / static_cast<float>(in)), number, parameters.seed);
  weights[static_cast<std::size_t>(layout.head_bias)] = log_odds(rows, parameters.positive_weight);
  return weights;
}

std::int64_t steps_per_epoch(std::int64_t rows, const MlpParameters& parameters) {
  return std::max<std::int64_t>(1, rows / parameters.batch_rows);
}

} // namespace breakeven::risk
