#include "workloads/checksum.h"
#include "workloads/clock.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/on_threads.h"
#include "workloads/partial_file.h"
#include "workloads/paths.h"
#include "workloads/risk/jobs.h"
#include "workloads/risk/metrics.h"
#include "workloads/risk/mlp_paths.h"
#include "workloads/risk/path_memory.h"
#include "workloads/risk/source_rows.h"
#include "workloads/scratch_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace breakeven::risk {

namespace {

constexpr std::int64_t most_sliced_rows = 1'000'000;
constexpr std::int64_t fewest_steps = 2;
// Enough for an AUC to three digits even where one row in a thousand is a fraud.
constexpr std::int64_t most_evaluated_rows = 262'144;
constexpr std::int64_t checked_rows = 20'000;
constexpr std::int64_t checked_steps = 30, checked_batch = 256;
// What the paths may differ by, whose sums run in another order. The precisions differ by more
// where a network overfits; that difference is told, not judged.
constexpr double most_auc_difference = 5e-4;

constexpr const char* read_phase = "read";
constexpr const char* prepare_phase = "prepare";
constexpr const char* validation_phase = "validation";
constexpr const char* evaluation_phase = "evaluation";

struct Job {
  Settings settings;
  std::int64_t rows = 0; ///< of the whole job, those held out too
  int columns = 0;       ///< of the prepared table
  std::int64_t measured_rows = 0;
  ScratchFolder scratch{"risk"};

  const MlpParameters& parameters() const { return settings.mlp.parameters; }
  bool is_from_file() const { return settings.data.source != Source::transactions; }
  std::int64_t held_out() const { return rows / settings.data.validation_every; }
  std::int64_t steps() const {
    return steps_per_epoch(rows - held_out(), parameters()) * parameters().epochs;
  }
};

/// With categories hashed where the scenario asks for it.
Rows network_rows(const Settings& settings) {
  const Rows rows = rows_of(settings.data);
  if (settings.mlp.hash_buckets == 0) return rows;
  HashedColumns columns;
  columns.buckets = settings.mlp.hash_buckets;
  for (const std::string& name : settings.data.csv.categorical) {
    const auto found = std::find(rows.feature_names.begin(), rows.feature_names.end(), name);
    columns.features.push_back(static_cast<int>(found - rows.feature_names.begin()));
  }
  return hashed(rows, columns);
}

struct Data {
  MlpScaling scaling;
  MlpTable training, validation;
};
Data prepare(const Settings& settings, const Rows& rows, MlpPrecision precision) {
  const Rows training = training_rows(rows, settings.data);
  Data data;
  data.scaling = scaling_of(training, settings.mlp.tails);
  data.training = prepared(training, data.scaling, precision);
  data.validation = prepared(validation_rows(rows, settings.data), data.scaling, precision);
  return data;
}

// ---- how much is run ----

/// Trainings of a search differ by their seed. The CPU path would only emulate a 16-bit format,
/// which makes it slower: nobody would run that, so it is timed in fp32.
MlpParameters parameters_of(const Settings& settings, Path path, std::int64_t number) {
  MlpParameters parameters = settings.mlp.parameters;
  if (path == Path::openmp) parameters.precision = MlpPrecision::fp32;
  parameters.seed += static_cast<std::uint64_t>(number - 1);
  return parameters;
}

double memory_bytes(const Job& job, std::int64_t rows, Path path) {
  const std::int64_t held_out = rows / job.settings.data.validation_every;
  return mlp_memory_bytes(rows - held_out, held_out, job.columns,
                          parameters_of(job.settings, path, 1), path);
}

std::int64_t measured_rows(const Job& job) {
  std::int64_t rows = job.is_from_file() ? job.rows : std::min(job.rows, most_sliced_rows);
  const double free = imaging::available_ram_bytes(), bytes = memory_bytes(job, rows, Path::openmp);
  if (bytes > free)
    throw Failure(fmt::format("no room to train on {} rows: they need {:.2f} GB of memory, {:.2f} "
                              "GB are free",
                              rows, bytes * 1e-9, free * 1e-9));
  return rows;
}

/// Slice::repeats is steps of each training.
Slice slice_of(const Job& job, double effort) {
  const auto steps = static_cast<double>(job.steps());
  const double wanted = effort * static_cast<double>(job.settings.units) * steps;
  Slice slice;
  slice.repeats = std::clamp(static_cast<std::int64_t>(std::min(wanted, steps)),
                             std::min(fewest_steps, job.steps()), job.steps());
  const auto units =
      std::clamp(static_cast<std::int64_t>(wanted / steps), std::int64_t{1}, job.settings.units);
  slice.units.resize(static_cast<std::size_t>(units));
  std::iota(slice.units.begin(), slice.units.end(), std::int64_t{1});
  slice.whole_job =
      units == job.settings.units && slice.repeats == job.steps() && job.measured_rows == job.rows;
  slice.label =
      fmt::format("{} of {} trainings on {} of {} rows, {} of {} steps", units, job.settings.units,
                  job.measured_rows, job.rows, slice.repeats, job.steps());
  return slice;
}

double evaluated_rows(const Job& job, std::int64_t rows) {
  return static_cast<double>(
      std::min(rows / job.settings.data.validation_every, most_evaluated_rows));
}

void set_scales(const Job& job, const Slice& slice, std::vector<Phase>& phases) {
  const double trainings =
      static_cast<double>(job.settings.units) / static_cast<double>(slice.units.size());
  const double rows = static_cast<double>(job.rows) / static_cast<double>(job.measured_rows);
  const double steps = static_cast<double>(job.steps()) / static_cast<double>(slice.repeats);
  // After each epoch, and once where a slice ends.
  const std::int64_t an_epoch = steps_per_epoch(job.measured_rows, job.parameters());
  const auto validations = static_cast<double>((slice.repeats + an_epoch - 1) / an_epoch);
  for (Phase& phase : phases) {
    if (phase.name == read_phase)
      phase.job_over_slice = 1;
    else if (phase.repeats == Repeats::per_job)
      phase.job_over_slice = rows;
    else if (phase.name == validation_phase)
      phase.job_over_slice = trainings * rows * job.parameters().epochs / validations;
    else if (phase.name == evaluation_phase)
      phase.job_over_slice =
          trainings * evaluated_rows(job, job.rows) / evaluated_rows(job, job.measured_rows);
    else
      phase.job_over_slice = trainings * steps;
  }
}

// ---- runs ----

Phase once(Phase phase) {
  phase.repeats = Repeats::per_job;
  return phase;
}

MlpRun train(Path path, const Data& data, const MlpParameters& parameters, std::int64_t steps) {
  const MlpJob job{&data.training, &data.scaling, &data.validation, steps};
  if (path == Path::openmp) return train_mlp_openmp(job, parameters);
  imaging::Memory memory = path_memory(path);
  return path == Path::host ? on_host::train_mlp(job, parameters, memory)
                            : on_cuda::train_mlp(job, parameters, memory);
}

/// Of the first rows held out.
RankingQuality quality_of(const Mlp& model, const Rows& held_out,
                          const std::vector<std::uint8_t>& labels) {
  const std::int64_t count = std::min(held_out.count, most_evaluated_rows);
  std::vector<float> margins(static_cast<std::size_t>(count));
  find_margins(model, part_of(held_out, 0, count), margins);
  return ranking_quality(margins, {labels.data(), margins.size()});
}

Run run_timed(Job& job, Path path, const Slice& slice, const std::filesystem::path& output) {
  const Settings& settings = job.settings;
  Run run;
  const double start_s = seconds_now();
  const Rows all = network_rows(settings);
  const double read_s = seconds_now();
  if (job.is_from_file())
    run.phases.push_back(once(cpu_phase(read_phase, Scaling::parallel, read_s - start_s)));
  const Rows rows = part_of(all, 0, job.measured_rows);
  const Data data = prepare(settings, rows, parameters_of(settings, path, 1).precision);
  run.phases.push_back(once(cpu_phase(prepare_phase, Scaling::parallel, seconds_now() - read_s)));
  const Rows held_out = validation_rows(rows, settings.data);
  Checksum checksum;
  for (const std::int64_t number : slice.units) {
    const MlpRun done = train(path, data, parameters_of(settings, path, number), slice.repeats);
    for (Phase phase : done.phases) {
      // Timed in FP32 here; other CPUs have instructions for what the scenario asks for.
      if (path == Path::openmp && job.parameters().precision == MlpPrecision::bf16)
        phase.work.counts.emplace_back("bf16_allowed", 1);
      add_phase(run.phases, phase);
    }
    for (const float weight : done.model.weights)
      checksum.take(bits_of(weight));
    const double trained_s = seconds_now();
    const RankingQuality quality = quality_of(done.model, held_out, data.validation.labels);
    add_phase(run.phases,
              cpu_phase(evaluation_phase, Scaling::parallel, seconds_now() - trained_s));
    if (!output.empty())
      write_whole_file(output / fmt::format("quality_{:04}.csv", number),
                       fmt::format("steps,rows,auc,average_precision,log_loss\n{},{},{:.6f},{:.6f},"
                                   "{:.6f}\n",
                                   done.steps, rows.count, quality.auc, quality.average_precision,
                                   done.validation_losses.back()));
    if (interrupted()) break;
  }
  run.checksum = checksum.value();
  set_scales(job, slice, run.phases);
  for (Phase& phase : run.phases)
    if (phase.processor == Processor::cpu)
      phase.work.working_set_bytes = memory_bytes(job, job.rows, Path::openmp);
  return run;
}

Phase gpu_phase(const std::string& name, const Work& work, double job_over_slice) {
  Phase phase;
  phase.name = name;
  phase.processor = Processor::gpu;
  phase.work = work;
  phase.job_over_slice = job_over_slice;
  return phase;
}

/// A step's work follows from its sizes alone.
Run run_counted(const Job& job) {
  const MlpParameters& parameters = job.parameters();
  const MlpLayout layout = mlp_layout(job.columns, parameters.hidden);
  const std::int64_t held_out = job.held_out(), rows = job.rows - held_out;
  const std::int64_t batch = std::min(parameters.batch_rows, rows);
  const auto trainings = static_cast<double>(job.settings.units);
  Run run;
  // What stays on the CPU has its time from that path.
  if (job.is_from_file()) run.phases.push_back(once(cpu_phase(read_phase, Scaling::parallel, 0)));
  run.phases.push_back(once(cpu_phase(prepare_phase, Scaling::parallel, 0)));
  run.phases.push_back(once(
      gpu_phase("transfer",
                mlp_transfer_work(layout, rows, held_out, job.steps(), parameters.precision), 1)));
  Work step = mlp_step_work(layout, batch, parameters.precision);
  // Divided by rows, GPUs add up the gradients of all numbers.
  if (parameters.precision == MlpPrecision::bf16) step.counts.emplace_back("bf16_products", 1);
  step.all_reduces = 1;
  step.all_reduce_bytes = sizeof(float) * static_cast<double>(layout.size);
  run.phases.push_back(gpu_phase("training", step, trainings * static_cast<double>(job.steps())));
  run.phases.push_back(gpu_phase(validation_phase,
                                 mlp_validation_work(layout, held_out, batch, parameters.precision),
                                 trainings * parameters.epochs));
  for (Phase& phase : run.phases)
    if (phase.processor == Processor::gpu)
      phase.work.counts.emplace_back("state_bytes", memory_bytes(job, job.rows, Path::cuda));
  run.phases.push_back(cpu_phase(evaluation_phase, Scaling::parallel, 0));
  return run;
}

// ---- checks ----

struct Checked {
  double auc = 0, loss = 0;
};

/// Trained on few rows, and what became of it on those held out.
Checked checked(const Settings& settings, const Rows& rows, Path path, MlpPrecision precision) {
  const Data data = prepare(settings, rows, precision);
  MlpParameters parameters = settings.mlp.parameters;
  parameters.precision = precision;
  parameters.batch_rows = std::min(parameters.batch_rows, checked_batch);
  const MlpRun done = train(path, data, parameters, checked_steps);
  const RankingQuality quality =
      quality_of(done.model, validation_rows(rows, settings.data), data.validation.labels);
  return {quality.auc, done.validation_losses.back()};
}

/// What the rounding of inputs does to the AUC; "" where nothing is rounded.
std::string told_of_precision(const Settings& settings, const Rows& rows, const Checked& found) {
  const MlpPrecision precision = settings.mlp.parameters.precision;
  if (precision == MlpPrecision::fp32) return "";
  const Checked exact = checked(settings, rows, Path::openmp, MlpPrecision::fp32);
  return fmt::format(" and, by {}, by {:.1e} from fp32's", to_string(precision),
                     std::abs(found.auc - exact.auc));
}

Verification verify(const Job& job, Path path) {
  const Settings& settings = job.settings;
  const Rows all = network_rows(settings);
  const Rows rows = job.is_from_file()
                        ? every(all, std::max<std::int64_t>(1, all.count / checked_rows), 0)
                        : part_of(all, 0, std::min(all.count, checked_rows));
  const MlpPrecision precision = job.parameters().precision;
  const Checked expected = checked(settings, rows, Path::openmp, precision);
  const Checked found =
      path == Path::openmp ? on_threads(1, [&] { return checked(settings, rows, path, precision); })
                           : checked(settings, rows, path, precision);
  const double between_paths = std::abs(found.auc - expected.auc);
  return {between_paths <= most_auc_difference && std::isfinite(found.loss),
          fmt::format("after {} steps on {} rows the AUC of {:.5f} differs by {:.1e} (at most "
                      "{:.0e}) from the OpenMP path's on {} threads{}; loss {:.5f}",
                      checked_steps, rows.count, found.auc, between_paths, most_auc_difference,
                      omp_get_max_threads(), told_of_precision(settings, rows, found), found.loss)};
}

} // namespace

Workload make_network_job(const Settings& settings) {
  const auto job = std::make_shared<Job>();
  job->settings = settings;
  const Rows rows = network_rows(settings);
  check_both_labels(rows, settings);
  job->rows = rows.count;
  job->columns = scaling_of(part_of(rows, 0, std::min(rows.count, most_sliced_rows))).columns;
  job->measured_rows = measured_rows(*job);

  Workload workload;
  workload.kind = "risk";
  workload.unit = "training";
  workload.job_units = settings.units;
  workload.paths = usable_paths();
  workload.slice = [job](double effort) { return slice_of(*job, effort); };
  workload.run = [job](Path path, const Slice& slice, const std::filesystem::path& output) {
    return path == Path::host ? run_counted(*job) : run_timed(*job, path, slice, output);
  };
  workload.verify = [job](Path path) { return verify(*job, path); };
  return workload;
}

} // namespace breakeven::risk
