#include "workloads/risk/gbdt_engines.h"

#include "workloads/clock.h"
#include "workloads/risk/gbdt_score.h"
#include "workloads/risk/path_memory.h"

#include <stdexcept>

namespace breakeven::risk {

namespace {

/// What growing trees streams through a CPU's memory, for the ceiling that it sets to many cores:
/// the row's bins for every level but the first by halves, numbers and gradients of rows there and
/// back for each level, and a byte of the split's feature by its row's number, a line of which is
/// fetched. Counted from gbdt_openmp.cpp; caches that hold a level are not.
Work cpu_training_work(const BinnedRows& rows, const GbdtParameters& parameters) {
  const double drawn = static_cast<double>(rows.count) * static_cast<double>(parameters.row_share);
  const double passes = 1 + 0.5 * (parameters.depth - 1);
  constexpr double number = 4, gradient = 8, line = 64, margin = 4, label = 1;
  const double row = passes * (static_cast<double>(rows.row_bytes) + number + gradient)
                     + parameters.depth * (2 * (number + gradient) + line) + 2 * margin + label
                     + gradient;
  Work work;
  work.dram_bytes = drawn * parameters.rounds * row;
  work.counts = {{"rows_x_rounds", drawn * parameters.rounds}};
  return work;
}

GpuTraining train_on_cpu(const BinnedRows& rows, const Cuts& cuts, const GbdtParameters& parameters,
                         const BinnedRows* validation) {
  GpuTraining run;
  GbdtSeconds seconds;
  run.training = train_gbdt_openmp(rows, cuts, parameters, validation, &seconds);
  run.phases = {cpu_phase(histograms_phase, Scaling::parallel, seconds.histograms),
                cpu_phase(splits_phase, Scaling::parallel, seconds.splits)};
  run.phases[0].work = cpu_training_work(rows, parameters);
  return run;
}

} // namespace

GpuTraining train_gbdt(Path path, const BinnedRows& rows, const Cuts& cuts,
                       const GbdtParameters& parameters, const BinnedRows* validation) {
  if (path == Path::openmp) return train_on_cpu(rows, cuts, parameters, validation);
  imaging::Memory memory = path_memory(path);
  return path == Path::host ? on_host::train_gbdt(rows, cuts, parameters, validation, memory)
                            : on_cuda::train_gbdt(rows, cuts, parameters, validation, memory);
}

std::vector<Phase> score_gbdt(Path path, const Gbdt& model, const Rows& rows,
                              std::span<float> margins) {
  if (path == Path::openmp) {
    const double start_s = seconds_now();
    find_margins(model, rows, margins);
    return {cpu_phase("score", Scaling::parallel, seconds_now() - start_s)};
  }
  imaging::Memory memory = path_memory(path);
  return path == Path::host ? on_host::score_gbdt(model, rows, margins, memory)
                            : on_cuda::score_gbdt(model, rows, margins, memory);
}

} // namespace breakeven::risk
