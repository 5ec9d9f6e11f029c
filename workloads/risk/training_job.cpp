#include "workloads/checksum.h"
#include "workloads/clock.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/on_threads.h"
#include "workloads/partial_file.h"
#include "workloads/paths.h"
#include "workloads/risk/gbdt_engines.h"
#include "workloads/risk/gbdt_model.h"
#include "workloads/risk/gbdt_score.h"
#include "workloads/risk/gbdt_work.h"
#include "workloads/risk/jobs.h"
#include "workloads/risk/metrics.h"
#include "workloads/risk/source_rows.h"
#include "workloads/scratch_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace breakeven::risk {

namespace {

// Far beyond every cache, so that time grows with rows from here on.
constexpr std::int64_t most_sliced_rows = 2'000'000;
// Enough for trees that split as large ones do.
constexpr std::int64_t fewest_sliced_rows = 32'768;
constexpr double fewest_positives = 200;
constexpr int fewest_rounds = 2;
// The GPU side's source runs on the host at about a microsecond a thread and kernel.
constexpr std::int64_t counted_rows = 16'384;
// The CPU's trees on so many tell how many nodes large trees have.
constexpr std::int64_t most_node_rows = 500'000;
constexpr std::int64_t checked_rows = 20'000;
constexpr int checked_rounds = 5;

constexpr const char* read_phase = "read";
constexpr const char* quantiles_phase = "quantiles";
constexpr const char* bin_phase = "bin";
constexpr const char* evaluation_phase = "evaluation";
constexpr const char* store_phase = "model file";

struct Job {
  Settings settings;
  std::int64_t rows = 0; ///< of the whole job, those held out too
  int features = 0;
  std::int64_t measured_rows = 0; ///< at most, here
  ScratchFolder scratch{"risk"};

  const GbdtParameters& parameters() const { return settings.gbdt.parameters; }
  bool is_from_file() const { return settings.data.source != Source::transactions; }
};

// ---- how much is run ----

double memory_bytes(const Job& job, std::int64_t rows, Path path) {
  const std::int64_t held_out = rows / job.settings.data.validation_every;
  return gbdt_memory_bytes(rows - held_out, job.features, held_out, job.parameters(), path,
                           omp_get_max_threads());
}

/// A file's rows may lie in an order that says something, so they are always all used.
std::int64_t fewest_rows(const Job& job) {
  if (job.is_from_file()) return job.rows;
  const double rate = job.settings.data.transactions.positive_rate;
  const auto wanted =
      std::max(fewest_sliced_rows, static_cast<std::int64_t>(std::ceil(fewest_positives / rate)));
  return std::min(wanted, job.rows);
}

/// As many as this machine's memory takes.
std::int64_t measured_rows(const Job& job) {
  std::int64_t rows = std::clamp(most_sliced_rows, fewest_rows(job), job.rows);
  const double free = imaging::available_ram_bytes();
  while (rows > fewest_rows(job) && memory_bytes(job, rows, Path::openmp) > free)
    rows /= 2;
  rows = std::max(rows, fewest_rows(job));
  const double bytes = memory_bytes(job, rows, Path::openmp);
  if (bytes > free)
    throw Failure(fmt::format("no room to train on {} rows: they need {:.2f} GB of memory, {:.2f} "
                              "GB are free",
                              rows, bytes * 1e-9, free * 1e-9));
  return rows;
}

/// What a slice runs of each training. Slice::repeats counts rows times rounds.
struct Part {
  std::int64_t rows = 0;
  int rounds = 0;
};
Part part_of_training(const Job& job, const Slice& slice) {
  const auto most_rounds = std::int64_t{job.parameters().rounds};
  const std::int64_t rounds =
      std::clamp(slice.repeats / job.measured_rows,
                 std::min<std::int64_t>(fewest_rounds, most_rounds), most_rounds);
  return {std::clamp(slice.repeats / rounds, fewest_rows(job), job.measured_rows),
          static_cast<int>(rounds)};
}

Slice slice_of(const Job& job, double effort) {
  const auto rounds = static_cast<double>(job.parameters().rounds);
  const auto trainings = static_cast<double>(job.settings.units);
  const double one_training = static_cast<double>(job.measured_rows) * rounds;
  const double wanted = effort * trainings * static_cast<double>(job.rows) * rounds;
  Slice slice;
  slice.repeats = static_cast<std::int64_t>(std::min(wanted, one_training));
  const auto units = std::clamp(static_cast<std::int64_t>(wanted / one_training), std::int64_t{1},
                                job.settings.units);
  slice.units.resize(static_cast<std::size_t>(units));
  std::iota(slice.units.begin(), slice.units.end(), std::int64_t{1});
  const Part part = part_of_training(job, slice);
  slice.whole_job = units == job.settings.units && part.rows == job.rows
                    && part.rounds == job.parameters().rounds;
  slice.label =
      fmt::format("{} of {} trainings on {} of {} rows, {} of {} rounds", units, job.settings.units,
                  part.rows, job.rows, part.rounds, job.parameters().rounds);
  return slice;
}

double sampled_rows(std::int64_t rows) {
  return static_cast<double>(std::min(rows, most_sampled_rows));
}

/// Whole job over what was run, for each phase by what its time grows with.
void set_scales(const Job& job, double trainings_run, const Part& part,
                std::vector<Phase>& phases) {
  const double trainings = static_cast<double>(job.settings.units) / trainings_run;
  const double rows = static_cast<double>(job.rows) / static_cast<double>(part.rows);
  const double rounds = job.parameters().rounds / static_cast<double>(part.rounds);
  for (Phase& phase : phases) {
    if (phase.name == read_phase)
      phase.job_over_slice = 1;
    else if (phase.name == quantiles_phase)
      phase.job_over_slice = sampled_rows(job.rows) / sampled_rows(part.rows);
    else if (phase.repeats == Repeats::per_job)
      phase.job_over_slice = rows;
    else if (phase.name == evaluation_phase)
      phase.job_over_slice = trainings * rows * rounds; // sorting, which does not grow so, is small
    else if (phase.name == store_phase || phase.name == splits_phase)
      phase.job_over_slice = trainings * rounds;
    else
      phase.job_over_slice = trainings * rows * rounds;
  }
}

// ---- phases ----

/// Values read, as floats, and bins written twice.
Work binning_work(std::int64_t rows, int features) {
  Work work;
  work.dram_bytes = static_cast<double>(rows) * features * (4 + 2);
  return work;
}

Phase once(Phase phase) {
  phase.repeats = Repeats::per_job;
  return phase;
}

struct Data {
  std::vector<std::string> feature_names;
  Cuts cuts;
  BinnedRows training, validation;
  double quantiles_s = 0, bin_s = 0;
};
Data bin_rows(const Settings& settings, const Rows& rows) {
  const double start_s = seconds_now();
  const Rows training = training_rows(rows, settings.data);
  Data data;
  data.feature_names = rows.feature_names;
  data.cuts = quantile_cuts(training, settings.gbdt.bins);
  const double cut_s = seconds_now();
  data.training = binned(training, data.cuts);
  data.validation = binned(validation_rows(rows, settings.data), data.cuts);
  data.quantiles_s = cut_s - start_s;
  data.bin_s = seconds_now() - cut_s;
  return data;
}

/// Trainings of a search differ by their seed. Where they may stop early, every one runs all its
/// rounds with a look at the rows held out after each, and keeps the trees up to the lowest loss:
/// how early the others of a search would stop is not known.
GbdtParameters parameters_of(const Settings& settings, std::int64_t number, int rounds) {
  GbdtParameters parameters = settings.gbdt.parameters;
  parameters.seed += static_cast<std::uint64_t>(number - 1);
  parameters.rounds = rounds;
  if (parameters.early_stopping_rounds > 0) parameters.early_stopping_rounds = rounds;
  return parameters;
}

/// The rows held out, where training looks at them.
const BinnedRows* looked_at(const GbdtParameters& parameters, const Data& data) {
  return parameters.early_stopping_rounds > 0 ? &data.validation : nullptr;
}

/// Some rows for a check or a count: the first generated ones, or a file's at equal distances.
Rows few_rows(const Job& job, const Rows& all, std::int64_t wanted) {
  if (!job.is_from_file())
    return part_of(all, 0, std::min(all.count, std::max(wanted, fewest_rows(job))));
  return every(all, std::max<std::int64_t>(1, all.count / wanted), 0);
}

struct Quality {
  RankingQuality ranking;
  double log_loss = 0;
};
Quality quality_of(const Gbdt& model, const BinnedRows& rows) {
  std::vector<float> margins(static_cast<std::size_t>(rows.count));
  find_margins_of_bins(model, rows, margins);
  Quality quality;
  quality.ranking = ranking_quality(margins, rows.labels);
#pragma omp parallel for
  for (std::size_t i = 0; i < margins.size(); ++i)
    margins[i] = probability_of(margins[i]);
  quality.log_loss = log_loss(margins, rows.labels);
  return quality;
}

void store(const std::filesystem::path& folder, std::int64_t number, const Gbdt& model,
           const Quality& quality, const Part& part) {
  write_model(folder / fmt::format("model_{:04}.json", number), model);
  write_whole_file(folder / fmt::format("quality_{:04}.csv", number),
                   fmt::format("trees,rows,auc,average_precision,log_loss\n{},{},{:.6f},{:.6f},"
                               "{:.6f}\n",
                               model.trees.size(), part.rows, quality.ranking.auc,
                               quality.ranking.average_precision, quality.log_loss));
}

std::uint64_t checksum_of(const Gbdt& model) {
  Checksum checksum;
  for (const Tree& tree : model.trees)
    for (const TreeNode& node : tree) {
      checksum.take(static_cast<std::uint64_t>(node.feature));
      checksum.take(static_cast<std::uint64_t>(node.bin) * 2 + (node.missing_goes_left ? 1 : 0));
      checksum.take(bits_of(node.value));
    }
  return checksum.value();
}

// ---- runs ----

Run run_timed(Job& job, Path path, const Slice& slice, const std::filesystem::path& output) {
  const Settings& settings = job.settings;
  const Part part = part_of_training(job, slice);
  Run run;
  const double start_s = seconds_now();
  const Rows all = rows_of(settings.data);
  const double read_s = seconds_now();
  if (job.is_from_file())
    run.phases.push_back(once(cpu_phase(read_phase, Scaling::parallel, read_s - start_s)));
  const Data data = bin_rows(settings, part_of(all, 0, part.rows));
  run.phases.push_back(once(cpu_phase(quantiles_phase, Scaling::parallel, data.quantiles_s)));
  run.phases.push_back(once(cpu_phase(bin_phase, Scaling::parallel, data.bin_s)));
  run.phases.back().work = binning_work(part.rows, job.features);
  Checksum checksum;
  for (const std::int64_t number : slice.units) {
    const GbdtParameters parameters = parameters_of(settings, number, part.rounds);
    GpuTraining done =
        train_gbdt(path, data.training, data.cuts, parameters, looked_at(parameters, data));
    for (const Phase& phase : done.phases)
      add_phase(run.phases, phase);
    Gbdt& model = done.training.model;
    model.feature_names = data.feature_names;
    checksum.take(checksum_of(model));
    const double trained_s = seconds_now();
    const Quality quality = quality_of(model, data.validation);
    const double evaluated_s = seconds_now();
    store(output.empty() ? job.scratch.path() : output, number, model, quality, part);
    add_phase(run.phases, cpu_phase(evaluation_phase, Scaling::parallel, evaluated_s - trained_s));
    add_phase(run.phases, cpu_phase(store_phase, Scaling::serial, seconds_now() - evaluated_s));
    if (interrupted()) break;
  }
  run.checksum = checksum.value();
  set_scales(job, static_cast<double>(slice.units.size()), part, run.phases);
  for (Phase& phase : run.phases)
    if (phase.processor == Processor::cpu)
      phase.work.working_set_bytes = memory_bytes(job, job.rows, Path::openmp);
  return run;
}

std::size_t nodes_of(const Gbdt& model) {
  std::size_t nodes = 0;
  for (const Tree& tree : model.trees)
    nodes += tree.size();
  return nodes;
}

/// Nodes of the CPU's trees on many rows over those of the same trees on few.
double nodes_of_many_rows(const Job& job, const Rows& all, const GbdtParameters& parameters,
                          const Gbdt& of_few) {
  const Data many = bin_rows(job.settings, few_rows(job, all, std::min(job.rows, most_node_rows)));
  const Gbdt trees = train_gbdt_openmp(many.training, many.cuts, parameters).model;
  return std::max(1.0,
                  static_cast<double>(nodes_of(trees)) / static_cast<double>(nodes_of(of_few)));
}

/// Few rows on the GPU side's source; what grows with rows and rounds is scaled to a training.
Run run_counted(const Job& job) {
  const Settings& settings = job.settings;
  const Rows all = rows_of(settings.data);
  const Rows rows = few_rows(job, all, counted_rows);
  const Part part{rows.count, std::min(fewest_rounds, job.parameters().rounds)};
  const Data data = bin_rows(settings, rows);
  const GbdtParameters parameters = parameters_of(settings, 1, part.rounds);
  const GpuTraining done =
      train_gbdt(Path::host, data.training, data.cuts, parameters, looked_at(parameters, data));
  Run run;
  run.checksum = checksum_of(done.training.model);
  // What stays on the CPU has its time from that path.
  if (job.is_from_file()) run.phases.push_back(once(cpu_phase(read_phase, Scaling::parallel, 0)));
  run.phases.push_back(once(cpu_phase(quantiles_phase, Scaling::parallel, 0)));
  run.phases.push_back(once(cpu_phase(bin_phase, Scaling::parallel, 0)));
  const GbdtCounts counts =
      with_nodes(done.counts, nodes_of_many_rows(job, all, parameters, done.training.model));
  const GbdtCounts whole =
      scaled_to(counts, static_cast<double>(part.rows), static_cast<double>(job.rows), part.rounds,
                job.parameters().rounds);
  for (Phase phase : gbdt_phases(whole, {})) {
    phase.job_over_slice =
        phase.repeats == Repeats::per_job ? 1 : static_cast<double>(settings.units);
    phase.work.counts.emplace_back("state_bytes", memory_bytes(job, job.rows, Path::cuda));
    run.phases.push_back(phase);
  }
  for (const auto& [name, scaling] :
       {std::pair{evaluation_phase, Scaling::parallel}, std::pair{store_phase, Scaling::serial}})
    run.phases.push_back(cpu_phase(name, scaling, 0));
  return run;
}

// ---- checks ----

Gbdt saved_and_read(const Job& job, const Gbdt& model) {
  const std::filesystem::path file = job.scratch.path() / "checked.json";
  write_model(file, model);
  return read_model(file);
}

/// Margins of rows as raw values.
std::vector<float> margins_of(const Gbdt& model, const Rows& rows) {
  std::vector<float> margins(static_cast<std::size_t>(rows.count));
  find_margins(model, rows, margins);
  return margins;
}

Verification verify(const Job& job, Path path) {
  const Settings& settings = job.settings;
  const Rows all = rows_of(settings.data);
  const Rows rows = few_rows(job, all, checked_rows);
  const Data data = bin_rows(settings, rows);
  const GbdtParameters parameters =
      parameters_of(settings, 1, std::min(checked_rounds, job.parameters().rounds));
  const auto train = [&](Path on) {
    Gbdt model =
        train_gbdt(on, data.training, data.cuts, parameters, &data.validation).training.model;
    model.feature_names = data.feature_names;
    return model;
  };
  const Gbdt expected = train(Path::openmp);
  const Gbdt found =
      path == Path::openmp ? on_threads(1, [&] { return train(path); }) : train(path);
  const bool same_trees = found.trees == expected.trees;
  // From its file, on raw values: what a bank's scoring would see.
  const Rows held_out = validation_rows(rows, settings.data);
  const std::vector<float> margins = margins_of(saved_and_read(job, found), held_out);
  const bool same_margins = margins == margins_of(expected, held_out);
  const double auc = ranking_quality(margins, data.validation.labels).auc;
  return {same_trees && same_margins && nodes_of(found) > found.trees.size(),
          fmt::format("{} trees with {} nodes on {} rows {} those of the OpenMP path on {} threads "
                      "to the bit{}; margins of {} rows held out {} after saving and loading; "
                      "AUC {:.4f} there{}",
                      found.trees.size(), nodes_of(found), data.training.count,
                      same_trees ? "equal" : "differ from", omp_get_max_threads(),
                      path == Path::openmp ? ", grown on one" : "", margins.size(),
                      same_margins ? "the same" : "differ", auc,
                      nodes_of(found) > found.trees.size() ? "" : "; but no tree splits")};
}

} // namespace

Workload make_training_job(const Settings& settings) {
  const auto job = std::make_shared<Job>();
  job->settings = settings;
  const Rows rows = rows_of(settings.data);
  job->rows = rows.count;
  job->features = rows.features();
  check_both_labels(rows, settings);
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
