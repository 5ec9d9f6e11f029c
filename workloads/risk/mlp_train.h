// The steps of a training, one after the other: what both paths share above the loops over rows and
// units. Takes an engine that knows those, gives the run.
#pragma once

#include "sim/errors.h"
#include "workloads/clock.h"
#include "workloads/risk/mlp_maths.h"
#include "workloads/risk/mlp_paths.h"

#include <algorithm>

namespace breakeven::risk {

/// A slice has the rates of the job's first steps.
inline StepRules rules_of(const MlpParameters& p, std::int64_t rows) {
  const auto steps = static_cast<double>(steps_per_epoch(rows, p) * p.epochs);
  return {p.learning_rate,
          p.beta1,
          p.beta2,
          p.epsilon,
          p.l2,
          p.precision == MlpPrecision::fp16,
          (1 - static_cast<double>(p.last_rate_share)) / steps};
}
inline std::int64_t batch_of(std::int64_t rows, const MlpParameters& parameters) {
  return std::min(rows, parameters.batch_rows);
}

/// Of the job, or of the slice of it.
inline std::int64_t most_steps_of(const MlpJob& job, const MlpParameters& parameters) {
  const std::int64_t all = steps_per_epoch(job.rows->count, parameters) * parameters.epochs;
  return job.most_steps > 0 ? std::min(job.most_steps, all) : all;
}

/// A run before its first step: the model's layout and first weights. Checks the job.
inline MlpRun untrained_run(const MlpJob& job, const MlpParameters& parameters) {
  check_mlp(parameters, "mlp");
  for (const MlpTable* const table : {job.rows, job.validation})
    if (table != nullptr
        && (table->precision != parameters.precision || table->columns != job.scaling->columns))
      throw Failure("rows were prepared for a network of another precision or other columns");
  MlpRun run;
  run.model.parameters = parameters;
  run.model.scaling = *job.scaling;
  run.model.layout = mlp_layout(job.scaling->columns, parameters.hidden);
  run.model.weights = first_weights(run.model.layout, parameters, *job.scaling, *job.rows);
  return run;
}

/// Each engine has the members that train_with() calls:
///
///   void step(const RowOrder&, std::int64_t first, std::int64_t number);
///     trains on batch_rows rows from place `first` of the order on; may only queue it
///   double validation_loss();
///     mean of the validation rows
///   void wait();
///     for all that is queued
template <class Engine>
class MlpTraining {
public:
  MlpTraining(Engine& engine, const MlpJob& job, const MlpParameters& parameters,
              Processor processor)
      : engine_(engine),
        job_(job),
        parameters_(parameters),
        batch_(batch_of(job.rows->count, parameters)),
        steps_per_epoch_(risk::steps_per_epoch(job.rows->count, parameters)),
        all_steps_(steps_per_epoch_ * parameters.epochs),
        most_steps_(most_steps_of(job, parameters)) {
    training_.name = "training";
    validation_.name = "validation";
    training_.processor = validation_.processor = processor;
  }

  /// Sets all of the run but its model and the losses of its steps.
  void run(MlpRun& run) {
    engine_.wait();
    for (int epoch = 0; run.steps < most_steps_; ++epoch) {
      const double start_s = seconds_now();
      const bool is_interrupted = train_epoch(epoch, run.steps);
      engine_.wait();
      training_.end_to_end_s += seconds_now() - start_s;
      if (is_interrupted) break;
      validate(run);
    }
    add_phases(run);
  }

private:
  bool train_epoch(int epoch, std::int64_t& steps) {
    const RowOrder order = row_order(parameters_.seed, epoch, job_.rows->count);
    for (std::int64_t step = 0; step < steps_per_epoch_ && steps < most_steps_; ++step) {
      if (interrupted()) return true;
      engine_.step(order, step * batch_, steps++);
    }
    return false;
  }

  void validate(MlpRun& run) {
    if (job_.validation == nullptr) return;
    const double start_s = seconds_now();
    run.validation_losses.push_back(engine_.validation_loss());
    validation_.end_to_end_s += seconds_now() - start_s;
    add(validation_.work, mlp_validation_work(run.model.layout, job_.validation->count, batch_,
                                              parameters_.precision));
  }

  void add_phases(MlpRun& run) {
    const auto steps = static_cast<double>(run.steps);
    training_.kernel_s = training_.end_to_end_s;
    validation_.kernel_s = validation_.end_to_end_s;
    training_.work = times(mlp_step_work(run.model.layout, batch_, parameters_.precision), steps);
    training_.work.counts = {{"steps", steps},
                             {"flops", steps * mlp_step_flops(run.model.layout, batch_)}};
    if (run.steps > 0) training_.job_over_slice = static_cast<double>(all_steps_) / steps;
    run.phases.push_back(training_);
    if (run.validation_losses.empty()) return;
    validation_.job_over_slice =
        static_cast<double>(parameters_.epochs) / static_cast<double>(run.validation_losses.size());
    run.phases.push_back(validation_);
  }

  static Work times(Work work, double factor) {
    for (double* const counted :
         {&work.lane_instructions, &work.fp32_flops, &work.tensor_fp16_flops, &work.dram_bytes,
          &work.cached_bytes, &work.atomics, &work.launches})
      *counted *= factor;
    return work;
  }

  Engine& engine_;
  const MlpJob& job_;
  const MlpParameters& parameters_;
  std::int64_t batch_, steps_per_epoch_, all_steps_, most_steps_;
  Phase training_, validation_;
};

} // namespace breakeven::risk
