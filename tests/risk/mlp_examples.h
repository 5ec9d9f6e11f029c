// Small rows for the tests of the network, and the network once more in double precision.
#pragma once

#include "tests/risk/gbdt_examples.h"
#include "workloads/risk/mlp_format.h"
#include "workloads/risk/mlp_paths.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

namespace breakeven::risk::mlp_examples {

/// Rows that own their numbers.
inline Rows rows_of(int features, std::vector<float> values, std::vector<std::uint8_t> labels) {
  const auto table = std::make_shared<gbdt_examples::Table>();
  table->rows = static_cast<std::int64_t>(labels.size());
  table->features = features;
  table->values = std::move(values);
  table->labels = std::move(labels);
  Rows rows = gbdt_examples::rows_of(*table);
  rows.read = [table, read = rows.read](std::int64_t begin, std::int64_t end, float* to,
                                        std::uint8_t* to_labels) {
    read(begin, end, to, to_labels);
  };
  return rows;
}

inline Rows example_rows(const gbdt_examples::TableShape& shape, std::uint64_t seed) {
  gbdt_examples::Table table = gbdt_examples::table_of(shape, seed);
  return rows_of(table.features, std::move(table.values), std::move(table.labels));
}

/// Labels that no sum of the two features tells: positive where both have the same sign.
inline Rows quadrants(std::int64_t count, std::uint64_t seed) {
  gbdt_examples::Random random{seed};
  std::vector<float> values;
  std::vector<std::uint8_t> labels;
  for (std::int64_t row = 0; row < count; ++row) {
    const double x = random.unit() - 0.5, y = random.unit() - 0.5;
    values.push_back(static_cast<float>(x));
    values.push_back(static_cast<float>(y));
    labels.push_back((x > 0) == (y > 0) ? 1 : 0);
  }
  return rows_of(2, std::move(values), std::move(labels));
}

inline MlpParameters parameters_of(std::vector<int> hidden, std::int64_t batch_rows, int epochs) {
  MlpParameters p;
  p.hidden = std::move(hidden);
  p.batch_rows = batch_rows;
  p.epochs = epochs;
  return p;
}

/// What a training needs, prepared.
struct Prepared {
  MlpScaling scaling;
  MlpTable rows, validation;
  MlpJob job() const {
    MlpJob job;
    job.rows = &rows;
    job.scaling = &scaling;
    if (validation.count > 0) job.validation = &validation;
    return job;
  }
};
inline Prepared prepare(const Rows& rows, MlpPrecision precision,
                        Tails tails = Tails::as_they_are) {
  Prepared all;
  all.scaling = scaling_of(rows, tails);
  all.rows = prepared(rows, all.scaling, precision);
  return all;
}
inline Prepared prepare(const Rows& rows, const Rows& validation, MlpPrecision precision) {
  Prepared all = prepare(rows, precision);
  all.validation = prepared(validation, all.scaling, precision);
  return all;
}

/// The margin of a row of floats, in double.
inline double reference_margin(const MlpLayout& layout, const std::vector<double>& weights,
                               const float* row) {
  std::vector<double> now(row, row + layout.columns());
  for (const MlpLayer& layer : layout.layers) {
    std::vector<double> next;
    for (int out = 0; out < layer.out; ++out) {
      double sum = weights[static_cast<std::size_t>(layer.bias + out)];
      for (int in = 0; in < layer.in; ++in)
        sum += now[static_cast<std::size_t>(in)]
               * weights[static_cast<std::size_t>(layer.weight + in * layer.out + out)];
      next.push_back(std::max(0.0, sum));
    }
    now = std::move(next);
  }
  double margin = weights[static_cast<std::size_t>(layout.head_bias)];
  for (int in = 0; in < layout.last(); ++in)
    margin += now[static_cast<std::size_t>(in)]
              * weights[static_cast<std::size_t>(layout.head_weight + in)];
  return margin;
}

inline double reference_loss(double margin, std::uint8_t label) {
  return std::log1p(std::exp(label != 0 ? -margin : margin));
}

} // namespace breakeven::risk::mlp_examples
