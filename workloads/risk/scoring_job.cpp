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
#include "workloads/risk/source_rows.h"
#include "workloads/scratch_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

namespace breakeven::risk {

namespace {

constexpr std::int64_t fewest_rows = 4096;
constexpr std::int64_t counted_rows = 4096;
constexpr std::int64_t checked_rows = 20'000;

constexpr const char* read_phase = "read";
constexpr const char* store_phase = "scores file";

struct Job {
  Settings settings;
  std::int64_t rows = 0; ///< of a batch
  Gbdt model;
  ScratchFolder scratch{"risk"};
  std::map<std::int64_t, std::filesystem::path> batches; ///< by rows: where they are stored

  bool is_made_up() const { return settings.data.source == Source::transactions; }
};

// ---- batches as files ----

/// Transactions as the CSV file that a batch comes in.
void write_batch(const std::filesystem::path& file, const Rows& rows) {
  PartialFile out(file, file.string());
  fmt::memory_buffer text;
  const auto append = [&](std::string_view part) {
    text.append(part.data(), part.data() + part.size());
  };
  for (const std::string& name : rows.feature_names) {
    append(name);
    append(",");
  }
  append("fraud\n");
  const auto features = static_cast<std::size_t>(rows.features());
  std::vector<float> values(transaction_block * features);
  std::vector<std::uint8_t> labels(transaction_block);
  for (std::int64_t begin = 0; begin < rows.count; begin += transaction_block) {
    const std::int64_t end = std::min(rows.count, begin + transaction_block);
    rows.read(begin, end, values.data(), labels.data());
    for (std::int64_t row = begin; row < end; ++row) {
      const auto at = static_cast<std::size_t>(row - begin);
      for (std::size_t feature = 0; feature < features; ++feature) {
        const float value = values[at * features + feature];
        if (value == value) fmt::format_to(std::back_inserter(text), "{}", value);
        append(",");
      }
      append(labels[at] != 0 ? "1\n" : "0\n");
    }
    out.write({text.data(), text.size()});
    text.clear();
  }
  out.publish();
}

/// The user's file, or so many of the transactions.
std::filesystem::path stored_batch(Job& job, std::int64_t rows) {
  if (!job.is_made_up()) return job.settings.data.file;
  const auto found = job.batches.find(rows);
  if (found != job.batches.end()) return found->second;
  const std::filesystem::path file = job.scratch.path() / fmt::format("{}_rows.csv", rows);
  write_batch(file, part_of(rows_of(job.settings.data), 0, rows));
  return job.batches.emplace(rows, file).first->second;
}

/// A batch in memory, with the model's features in the model's order. Labels are not needed, and
/// not looked at.
Rows read_batch(const Job& job, const std::filesystem::path& file) {
  DataSettings data = job.settings.data;
  data.file = file;
  if (data.source == Source::libsvm) {
    data.libsvm.features = static_cast<int>(job.model.feature_names.size());
    return rows_of(data);
  }
  if (job.is_made_up()) data.csv.label = "fraud";
  data.source = Source::csv;
  if (!data.csv.label.empty()) data.csv.drop.push_back(std::exchange(data.csv.label, ""));
  data.csv.label_column = LabelColumn::optional;
  return rows_of(data);
}

void check_features(const Settings& settings, const Gbdt& model, const Rows& rows) {
  const auto wanted = model.feature_names.size();
  const std::string file = settings.data.file.string();
  if (rows.feature_names.size() != wanted)
    throw BadInput(file, 0, fmt::format("{} features", rows.feature_names.size()),
                   fmt::format("the {} of {}", wanted, settings.model_file.string()));
  for (std::size_t i = 0; i < wanted; ++i)
    if (rows.feature_names[i] != model.feature_names[i])
      throw BadInput(file, 1, "feature '" + rows.feature_names[i] + "'",
                     "'" + model.feature_names[i] + "', as in " + settings.model_file.string());
}

// ---- the model ----

/// On transactions that are none of the batch's.
Gbdt trained_model(const Settings& settings) {
  TransactionSettings history = settings.data.transactions;
  history.rows = settings.training_rows;
  history.seed += 1;
  const Rows rows = transactions(history);
  const Cuts cuts = quantile_cuts(rows, settings.gbdt.bins);
  GbdtParameters parameters = settings.gbdt.parameters;
  parameters.early_stopping_rounds = 0;
  Gbdt model = train_gbdt_openmp(binned(rows, cuts), cuts, parameters).model;
  model.feature_names = rows.feature_names;
  return model;
}

// ---- how much is run ----

std::int64_t rows_run(const Job& job, const Slice& slice) {
  return job.is_made_up() ? std::clamp(slice.repeats, std::min(fewest_rows, job.rows), job.rows)
                          : job.rows;
}

Slice slice_of(const Job& job, double effort) {
  const auto batches = static_cast<double>(job.settings.units);
  const auto rows = static_cast<double>(job.rows);
  const double wanted = effort * batches * rows;
  Slice slice;
  slice.repeats = static_cast<std::int64_t>(std::min(wanted, rows));
  slice.repeats = rows_run(job, slice);
  const auto units =
      std::clamp(static_cast<std::int64_t>(wanted / rows), std::int64_t{1}, job.settings.units);
  slice.units.resize(static_cast<std::size_t>(units));
  std::iota(slice.units.begin(), slice.units.end(), std::int64_t{1});
  slice.whole_job = units == job.settings.units && slice.repeats == job.rows;
  slice.label = fmt::format("{} of {} files, {} of {} rows of each", units, job.settings.units,
                            slice.repeats, job.rows);
  return slice;
}

void set_scales(const Job& job, double batches_run, std::int64_t rows, std::vector<Phase>& phases) {
  for (Phase& phase : phases)
    phase.job_over_slice = static_cast<double>(job.settings.units) / batches_run
                           * static_cast<double>(job.rows) / static_cast<double>(rows);
}

/// Rows as numbers with their margins, and the trees.
double memory_bytes(const Job& job, std::int64_t rows) {
  const double row = 4 * static_cast<double>(job.model.feature_names.size()) + 4 + 1;
  return row * static_cast<double>(rows);
}

void check_memory(const Job& job) {
  const double bytes = memory_bytes(job, job.rows), free = imaging::available_ram_bytes();
  if (bytes > free)
    throw Failure(fmt::format("no room for a batch of {} rows: it needs {:.2f} GB of memory, "
                              "{:.2f} GB are free",
                              job.rows, bytes * 1e-9, free * 1e-9));
}

// ---- runs ----

std::uint64_t checksum_of(const std::vector<float>& margins) {
  Checksum checksum;
  for (const float margin : margins)
    checksum.take(bits_of(margin));
  return checksum.value();
}

void write_scores(const std::filesystem::path& file, std::vector<float>& margins) {
#pragma omp parallel for
  for (std::size_t i = 0; i < margins.size(); ++i)
    margins[i] = probability_of(margins[i]);
  PartialFile out(file, file.string());
  fmt::memory_buffer text;
  constexpr std::size_t block = std::size_t{1} << 20;
  out.write("row,probability\n");
  for (std::size_t i = 0; i < margins.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{},{:.7g}\n", i, margins[i]);
    if (text.size() < block) continue;
    out.write({text.data(), text.size()});
    text.clear();
  }
  out.write({text.data(), text.size()});
  out.publish();
}

Run run_timed(Job& job, Path path, const Slice& slice, const std::filesystem::path& output) {
  const std::int64_t rows = rows_run(job, slice);
  const std::filesystem::path file = stored_batch(job, rows); // made before the clock starts
  const std::filesystem::path& folder = output.empty() ? job.scratch.path() : output;
  Run run;
  Checksum checksum;
  for (const std::int64_t number : slice.units) {
    const double start_s = seconds_now();
    const Rows batch = read_batch(job, file);
    const double read_s = seconds_now();
    std::vector<float> margins(static_cast<std::size_t>(batch.count));
    const std::vector<Phase> scoring = score_gbdt(path, job.model, batch, margins);
    checksum.take(checksum_of(margins));
    const double scored_s = seconds_now();
    write_scores(folder / fmt::format("scores_{:04}.csv", number), margins);
    const double end_s = seconds_now();
    add_phase(run.phases, cpu_phase(read_phase, Scaling::parallel, read_s - start_s));
    for (const Phase& phase : scoring)
      add_phase(run.phases, phase);
    add_phase(run.phases, cpu_phase(store_phase, Scaling::serial, end_s - scored_s));
    if (interrupted()) break;
  }
  run.checksum = checksum.value();
  set_scales(job, static_cast<double>(slice.units.size()), rows, run.phases);
  for (Phase& phase : run.phases)
    if (phase.processor == Processor::cpu)
      phase.work.working_set_bytes = memory_bytes(job, job.rows);
  return run;
}

/// Some rows of a batch for the GPU side's source.
Rows few_rows(Job& job, std::int64_t wanted) {
  const Rows batch = read_batch(job, stored_batch(job, std::min(wanted, job.rows)));
  return part_of(batch, 0, std::min(wanted, batch.count));
}

Run run_counted(Job& job) {
  const Rows batch = few_rows(job, counted_rows);
  std::vector<float> margins(static_cast<std::size_t>(batch.count));
  Run run;
  // What stays on the CPU has its time from that path.
  run.phases.push_back(cpu_phase(read_phase, Scaling::parallel, 0));
  for (Phase phase : score_gbdt(Path::host, job.model, batch, margins)) {
    if (phase.processor != Processor::gpu) continue;
    // Of a whole batch, by its sizes.
    const std::int64_t chunk = score_chunk_rows(batch.features());
    const std::int64_t chunks = (job.rows + chunk - 1) / chunk;
    phase.work = gbdt_score_work(job.model, job.rows, chunks);
    // Two chunks on their way; the trees are the working set.
    phase.work.counts.emplace_back("state_bytes", memory_bytes(job, 2 * std::min(chunk, job.rows)));
    run.phases.push_back(phase);
  }
  run.phases.push_back(cpu_phase(store_phase, Scaling::serial, 0));
  run.checksum = checksum_of(margins);
  set_scales(job, 1, job.rows, run.phases);
  return run;
}

// ---- checks ----

Verification verify(Job& job, Path path) {
  const Rows batch = few_rows(job, path == Path::host ? counted_rows : checked_rows);
  std::vector<float> expected(static_cast<std::size_t>(batch.count)), found(expected.size());
  std::vector<float> values(static_cast<std::size_t>(batch.features()));
  for (std::int64_t row = 0; row < batch.count; ++row) { // the plain walk, a row at a time
    std::uint8_t label = 0;
    batch.read(row, row + 1, values.data(), &label);
    expected[static_cast<std::size_t>(row)] = margin_of(job.model, values.data());
  }
  score_gbdt(path, job.model, batch, found);
  std::size_t different = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    different += bits_of(found[i]) != bits_of(expected[i]);
  return {different == 0 && !found.empty(),
          fmt::format("margins of {} of {} rows by {} trees differ from a plain walk through them",
                      different, found.size(), job.model.trees.size())};
}

} // namespace

Workload make_scoring_job(const Settings& settings) {
  const auto job = std::make_shared<Job>();
  job->settings = settings;
  if (settings.model_file.empty()) {
    job->model = trained_model(settings);
    job->rows = settings.data.transactions.rows;
  } else {
    job->model = read_model(settings.model_file);
    const Rows rows = job->is_made_up() ? transactions(settings.data.transactions)
                                        : read_batch(*job, settings.data.file);
    check_features(settings, job->model, rows);
    job->rows = rows.count;
  }
  check_memory(*job);

  Workload workload;
  workload.kind = "risk";
  workload.unit = "file"; // a batch is one
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
