// The network of the GPU side's source, on both host back ends, against that of the CPU: what they
// share to the bit, sums of products within bounds. The CPU side is held to double precision in
// tests/risk.
#include "tests/risk/mlp_examples.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/risk/metrics.h"
#include "workloads/risk/mlp_train.h"

#include <doctest/doctest.h>
#include <omp.h>

using namespace breakeven;
using namespace breakeven::risk;
using namespace breakeven::risk::mlp_examples;

namespace {

constexpr MlpPrecision precisions[] = {MlpPrecision::fp32, MlpPrecision::bf16, MlpPrecision::fp16};

MlpRun on_path(decltype(&on_host::train_mlp) train, const MlpJob& job, const MlpParameters& p) {
  imaging::Memory memory = imaging::host_memory();
  MlpRun run = train(job, p, memory);
  CHECK(memory.in_use_bytes == 0);
  return run;
}

double auc_of(const Mlp& model, const Rows& rows, const MlpTable& table) {
  std::vector<float> margins(static_cast<std::size_t>(rows.count));
  find_margins(model, rows, margins);
  return ranking_quality(margins, table.labels).auc;
}

} // namespace

// With one row a step and one unit in the last layer no sum has two terms whose order matters, but
// for those of OpenBLAS, which is asked for the same sizes. What is left is what the paths share:
// the order of rows, activations, gradients of the loss, rounding, Adam, the scale of the loss.
TEST_CASE("without sums over rows the paths' networks are equal to the bit") {
  const Rows rows = example_rows({160, 6, 0.1}, 3);
  for (const MlpPrecision precision : precisions) {
    CAPTURE(to_string(precision));
    const Prepared all = prepare(rows, precision);
    MlpParameters p = parameters_of({12, 1}, 1, 2);
    p.precision = precision;
    p.l2 = 0.01f;
    p.positive_weight = 2;
    p.seed = 3;
    const MlpRun expected = train_mlp_openmp(all.job(), p);
    std::size_t moved = 0;
    const std::vector<float> before =
        first_weights(expected.model.layout, p, all.scaling, all.rows);
    for (std::size_t i = 0; i < before.size(); ++i)
      moved += expected.model.weights[i] != before[i];
    CHECK(moved > 100);
    for (const auto& train : {on_host::train_mlp, on_serial::train_mlp}) {
      const MlpRun found = on_path(train, all.job(), p);
      CHECK(found.model.weights == expected.model.weights);
      CHECK(found.step_losses == expected.step_losses);
    }
  }
}

TEST_CASE("with sums over rows losses and quality agree within what their order makes") {
  const Rows rows = example_rows({1500, 9, 0.1}, 5), other = example_rows({1200, 9, 0.1}, 6);
  for (const MlpPrecision precision : precisions) {
    CAPTURE(to_string(precision));
    const Prepared all = prepare(rows, other, precision);
    MlpParameters p = parameters_of({32, 20}, 150, 3);
    p.precision = precision;
    const MlpRun expected = train_mlp_openmp(all.job(), p);
    const MlpRun found = on_path(on_host::train_mlp, all.job(), p);
    REQUIRE(found.step_losses.size() == 30);
    REQUIRE(found.validation_losses.size() == 3);
    for (std::size_t step = 0; step < 30; ++step)
      CHECK(std::fabs(found.step_losses[step] - expected.step_losses[step]) < 1e-3);
    for (std::size_t epoch = 0; epoch < 3; ++epoch)
      CHECK(std::fabs(found.validation_losses[epoch] - expected.validation_losses[epoch]) < 1e-3);
    CHECK(std::fabs(auc_of(found.model, other, all.validation)
                    - auc_of(expected.model, other, all.validation))
          < 5e-4);
    CHECK(found.skipped_steps == 0);
    CHECK(found.loss_scale == expected.loss_scale);
  }
}

TEST_CASE("the GPU side's network does not depend on threads or the host back end") {
  const Rows rows = example_rows({400, 5, 0.1}, 7);
  const Prepared all = prepare(rows, MlpPrecision::fp16);
  MlpParameters p = parameters_of({20, 18}, 70, 2); // five strips, the last of them short
  p.precision = MlpPrecision::fp16;
  const MlpRun expected = on_path(on_serial::train_mlp, all.job(), p);
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    const MlpRun found = on_path(on_host::train_mlp, all.job(), p);
    CHECK(found.model.weights == expected.model.weights);
    CHECK(found.step_losses == expected.step_losses);
  }
  omp_set_num_threads(before);
}

TEST_CASE("both paths skip the steps that overflow") {
  const Rows rows = example_rows({300, 5, 0, -0.6}, 8);
  const Prepared all = prepare(rows, MlpPrecision::fp16);
  MlpParameters p = parameters_of({16}, 1, 1);
  p.precision = MlpPrecision::fp16;
  p.positive_weight = 100;
  const MlpRun expected = train_mlp_openmp(all.job(), p),
               found = on_path(on_host::train_mlp, all.job(), p);
  CHECK(expected.skipped_steps > 1);
  CHECK(found.skipped_steps == expected.skipped_steps);
  CHECK(found.loss_scale == expected.loss_scale);
}

TEST_CASE("the GPU side says what it copied, and holds what was predicted") {
  const Rows rows = example_rows({900, 9, 0.1}, 9), other = example_rows({250, 9, 0.1}, 10);
  for (const MlpPrecision precision : precisions) {
    CAPTURE(to_string(precision));
    const Prepared all = prepare(rows, other, precision);
    MlpParameters p = parameters_of({32}, 100, 2);
    p.precision = precision;
    MlpJob job = all.job();
    job.most_steps = 12;
    const MlpRun run = on_path(on_host::train_mlp, job, p);
    REQUIRE(run.phases.size() == 3);
    CHECK(run.phases[0].name == "transfer");
    CHECK(run.phases[0].repeats == Repeats::per_job);
    CHECK(run.phases[0].work.host_to_device_bytes
          == static_cast<double>(all.rows.bytes() + all.validation.bytes()) + 900 + 250
                 + 4.0 * static_cast<double>(run.model.layout.size));
    CHECK(run.phases[1].name == "training");
    CHECK(run.phases[1].processor == Processor::gpu);
    CHECK(run.phases[1].job_over_slice == doctest::Approx(18.0 / 12));
    CHECK(run.phases[2].name == "validation");
    CHECK(run.phases[2].job_over_slice == 1); // after one epoch and at the end of the slice
    const double predicted = mlp_memory_bytes(900, 250, all.scaling.columns, p, Path::host);
    CHECK(static_cast<double>(run.peak_bytes) == doctest::Approx(predicted).epsilon(0.01));
  }
}
