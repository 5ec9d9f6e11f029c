// A training step of the network beside OpenBLAS's products of the same shapes alone: what the step
// loses to everything that is no product.
#include "peers/risk_report.h"
#include "workloads/risk/mlp_paths.h"
#include "workloads/risk/transactions.h"

#include <cblas-openblas.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

namespace breakeven::peers {

using namespace risk;

namespace {

constexpr double bar = 0.6;
constexpr double flops_a_pass = 3e10; // by each thread

/// The products of a training step, forward and back, on numbers that do not matter.
class StepProducts {
public:
  StepProducts(const MlpLayout& layout, std::int64_t batch_rows)
      : layout_(layout),
        rows_(static_cast<int>(batch_rows)),
        weights_(static_cast<std::size_t>(layout.size), 0.01f),
        gradients_(weights_.size()) {
    activations_.push_back(numbers(layout.columns()));
    for (const MlpLayer& layer : layout.layers)
      activations_.push_back(numbers(layer.out));
    results_ = activations_;
  }

  void run() {
    for (std::size_t i = 0; i < layout_.layers.size(); ++i) {
      const MlpLayer& layer = layout_.layers[i];
      const float* const weights = weights_.data() + layer.weight;
      const float* const in = activations_[i].data();
      const float* const out = activations_[i + 1].data();
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows_, layer.out, layer.in, 1, in,
                  layer.in, weights, layer.out, 0, results_[i + 1].data(), layer.out);
      cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, layer.in, layer.out, rows_, 1, in,
                  layer.in, out, layer.out, 0, gradients_.data() + layer.weight, layer.out);
      if (i > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows_, layer.in, layer.out, 1, out,
                    layer.out, weights, layer.out, 0, results_[i].data(), layer.in);
    }
  }

private:
  std::vector<float> numbers(int columns) const {
    return std::vector<float>(static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns),
                              0.1f);
  }
  const MlpLayout& layout_;
  int rows_;
  std::vector<float> weights_, gradients_;
  std::vector<std::vector<float>> activations_, results_;
};

struct Network {
  MlpParameters parameters;
  MlpScaling scaling;
  MlpTable table;
  MlpLayout layout;
};
Network network(MlpPrecision precision) {
  TransactionSettings settings;
  settings.rows = 65'536;
  const Rows rows = transactions(settings);
  Network made;
  made.parameters.precision = precision;
  made.parameters.epochs = 1000; // more than are run
  made.scaling = scaling_of(rows);
  made.table = prepared(rows, made.scaling, precision);
  made.layout = mlp_layout(made.scaling.columns, made.parameters.hidden);
  return made;
}

void print_row(RiskReport& report, const std::string& name, const Network& made, int threads) {
  const std::int64_t batch_rows = made.parameters.batch_rows;
  const double flops = mlp_step_flops(made.layout, batch_rows);
  const auto steps =
      std::max<std::int64_t>(2, static_cast<std::int64_t>(flops_a_pass * threads / flops));
  StepProducts products(made.layout, batch_rows);
  const Clock clock = report.options().clock;
  omp_set_num_threads(threads);
  const auto passes = Interleaved({[&](std::size_t) {
                                     MlpJob job;
                                     job.rows = &made.table;
                                     job.scaling = &made.scaling;
                                     job.most_steps = steps;
                                     return seconds(clock, threads, [&] {
                                       train_mlp_openmp(job, made.parameters);
                                     });
                                   },
                                   [&](std::size_t) {
                                     openblas_set_num_threads(threads);
                                     return seconds(clock, threads, [&] {
                                       for (std::int64_t step = 0; step < steps; ++step)
                                         products.run();
                                     });
                                   }},
                                  1)
                          .passes(report.options().pairs, [](int) {});
  std::vector<double> ours, peer;
  const double gflop = 1e-9 * flops * static_cast<double>(steps);
  for (const std::vector<double>& pass : passes) {
    ours.push_back(gflop / pass[0]);
    peer.push_back(gflop / pass[1]);
  }
  RiskRow row = row_of_rates(name, "GFLOP/s", threads, ours, peer);
  row.bar = bar;
  row.size =
      fmt::format("{} rows a step; {} columns; 512-512-256-1", batch_rows, made.layout.columns());
  row.against = "OpenBLAS sgemm of the same shapes alone";
  report.print(row);
}

} // namespace

void print_mlp_rows(RiskReport& report) {
  for (const auto& [name, precision] : {std::pair{"openblas.mlp_fp32", MlpPrecision::fp32},
                                        {"openblas.mlp_bf16", MlpPrecision::bf16}}) {
    if (!report.is_wanted(name)) continue;
    const Network made = network(precision);
    for (const int threads : report.options().threads) {
      print_row(report, name, made, threads);
      report.say(fmt::format("{} threads: {} done", threads, name));
    }
  }
}

} // namespace breakeven::peers
