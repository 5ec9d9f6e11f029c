#include "workloads/checksum.h"
#include "workloads/clock.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/on_threads.h"
#include "workloads/partial_file.h"
#include "workloads/paths.h"
#include "workloads/risk/jobs.h"
#include "workloads/risk/var_portfolio.h"
#include "workloads/risk/var_result.h"
#include "workloads/risk/var_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace breakeven::risk {

namespace {

// The GPU side's source runs on the host at about a microsecond a thread and kernel.
constexpr std::int64_t counted_paths = 4096;
constexpr std::int64_t most_checked_paths = 20'000, most_fewest_paths = 4096;
constexpr double checked_instructions = 4e9; // seconds of a core
constexpr double most_standard_errors = 4;
constexpr const char* prepare = "prepare";

/// Books differ by what their seed draws.
Portfolio portfolio_of(const Settings& settings, std::int64_t book) {
  PortfolioSettings portfolio = settings.portfolio;
  portfolio.seed += static_cast<std::uint64_t>(book);
  return built_in_portfolio(portfolio, settings.scenario_file);
}

VarSettings simulation_of(const Settings& settings, std::int64_t book, std::int64_t paths) {
  VarSettings simulation = settings.var;
  simulation.paths = paths;
  simulation.seed += static_cast<std::uint64_t>(book);
  return simulation;
}

VarRun run_var(Path path, const VarBook& book, const VarSettings& simulation) {
  switch (path) {
  case Path::openmp:
    return openmp_var(book, simulation);
  case Path::host:
    return on_host::var(book, simulation);
  case Path::cuda:
    return on_cuda::var(book, simulation);
  }
  throw std::logic_error("a path without an engine");
}

// ---- how much is run ----

/// At most so many paths, fewer of a large book.
std::int64_t affordable_paths(const Settings& settings, std::int64_t most) {
  const auto factors = static_cast<double>(settings.portfolio.factors);
  const double path_instructions = 50.0 * settings.portfolio.positions + factors * factors;
  const auto paths = static_cast<std::int64_t>(checked_instructions / path_instructions);
  return std::min(settings.var.paths, std::clamp<std::int64_t>(paths, 1024, most));
}

Slice slice_of(const Settings& settings, double effort) {
  const auto books = static_cast<double>(settings.units);
  const auto paths = static_cast<double>(settings.var.paths);
  const double wanted = effort * books * paths;
  Slice slice;
  slice.repeats = std::clamp(static_cast<std::int64_t>(wanted),
                             affordable_paths(settings, most_fewest_paths), settings.var.paths);
  const auto units =
      std::clamp(static_cast<std::int64_t>(wanted / paths), std::int64_t{1}, settings.units);
  slice.units.resize(static_cast<std::size_t>(units));
  std::iota(slice.units.begin(), slice.units.end(), std::int64_t{1});
  slice.whole_job = units == settings.units && slice.repeats == settings.var.paths;
  slice.label = fmt::format("{} of {} books at {} of {} paths", units, settings.units,
                            slice.repeats, settings.var.paths);
  return slice;
}

void set_scales(const Settings& settings, const Slice& slice, std::vector<Phase>& phases) {
  const double books =
      static_cast<double>(settings.units) / static_cast<double>(slice.units.size());
  const double paths = static_cast<double>(settings.var.paths) / static_cast<double>(slice.repeats);
  for (Phase& phase : phases)
    phase.job_over_slice =
        phase.name == prepare || phase.name == "transfer" ? books : books * paths;
}

void note_memory(const Settings& settings, Path path, const VarBook& book,
                 std::vector<Phase>& phases) {
  const double bytes = var_memory_bytes(book, settings.var, path);
  for (Phase& phase : phases)
    if (phase.processor == Processor::gpu)
      phase.work.counts.emplace_back("state_bytes", bytes);
    else
      phase.work.working_set_bytes = bytes;
}

/// What a run would hold is known before it starts.
void check_memory(const VarBook& book, const VarSettings& simulation, Path path) {
  if (path != Path::cuda
      && var_memory_bytes(book, simulation, path) > imaging::available_ram_bytes())
    throw no_room_for(book, simulation, path);
}

// ---- runs ----

void write_result(const std::filesystem::path& folder, std::int64_t number,
                  const VarResult& result) {
  std::string text = "level,value_at_risk,value_at_risk_low,value_at_risk_high,"
                     "value_at_risk_standard_error,expected_shortfall,"
                     "expected_shortfall_standard_error,paths\n";
  for (const VarLevel& level : result.levels)
    text += fmt::format("{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{}\n", level.level,
                        level.value_at_risk, level.low, level.high, level.standard_error,
                        level.expected_shortfall, level.expected_shortfall_standard_error,
                        result.paths);
  write_whole_file(folder / fmt::format("book_{:04}.csv", number), text);
}

Run run_timed(const Settings& settings, Path path, const Slice& slice,
              const std::filesystem::path& output) {
  Run run;
  Checksum checksum;
  for (const std::int64_t number : slice.units) {
    const VarSettings simulation = simulation_of(settings, number, slice.repeats);
    const Portfolio portfolio = portfolio_of(settings, number);
    const double start_s = seconds_now();
    const VarBook book = make_book(portfolio, simulation, settings.scenario_file);
    add_phase(run.phases, cpu_phase(prepare, Scaling::serial, seconds_now() - start_s));
    check_memory(book, simulation, path);
    const VarRun done = run_var(path, book, simulation);
    for (const Phase& phase : done.phases)
      add_phase(run.phases, phase);
    checksum.take(checksum_of(done.tail));
    if (!output.empty()) write_result(output, number, var_result(book, simulation, done.tail));
    if (number == slice.units.back()) note_memory(settings, path, book, run.phases);
    if (interrupted()) break;
  }
  run.checksum = checksum.value();
  set_scales(settings, slice, run.phases);
  return run;
}

/// A small run for the checksum; a book's work follows from its sizes alone.
Run run_counted(const Settings& settings) {
  const std::int64_t number = 1;
  const Portfolio portfolio = portfolio_of(settings, number);
  const VarBook book = make_book(portfolio, simulation_of(settings, number, settings.var.paths),
                                 settings.scenario_file);
  const VarRun done = on_host::var(
      book, simulation_of(settings, number, affordable_paths(settings, counted_paths)));
  const std::int64_t worst = worst_paths_needed(settings.var);
  Run run;
  run.checksum = checksum_of(done.tail);
  run.phases = {
      cpu_phase(prepare, Scaling::serial, 0), // stays on the CPU, whose path has its time
      var_phase("transfer", Processor::gpu, 0, transfer_work(book, worst)),
      var_phase("scenarios", Processor::gpu, 0, scenarios_work(book, settings.var.paths)),
      var_phase("quantiles", Processor::gpu, 0, quantiles_work(settings.var.paths, worst))};
  note_memory(settings, Path::host, book, run.phases);
  for (Phase& phase : run.phases)
    phase.job_over_slice = static_cast<double>(settings.units);
  return run;
}

// ---- checks ----

struct Mean {
  double value = 0, standard_error = 0;
};
Mean mean_of(const std::vector<std::int64_t>& profits, double quantum) {
  const auto count = static_cast<double>(profits.size());
  const double mean = std::accumulate(profits.begin(), profits.end(), 0.0,
                                      [](double sum, std::int64_t profit) {
                                        return sum + static_cast<double>(profit);
                                      })
                      / count;
  const double squares =
      std::accumulate(profits.begin(), profits.end(), 0.0, [&](double sum, std::int64_t profit) {
        const double off = static_cast<double>(profit) - mean;
        return sum + off * off;
      });
  return {mean * quantum, std::sqrt(squares / (count - 1) / count) * quantum};
}

/// The mean profit has a closed form; and the tail may not depend on threads.
Verification verify_reference(const VarBook& book, const Portfolio& portfolio,
                              const VarSettings& simulation) {
  std::vector<std::int64_t> profits(static_cast<std::size_t>(simulation.paths));
  openmp_var_profits(book, simulation.seed, 0, simulation.paths, profits.data());
  const Mean mean = mean_of(profits, book.quantum);
  const double expected = expected_profit(portfolio, simulation);
  const double off = std::abs(mean.value - expected) / mean.standard_error;
  const std::uint64_t on_one =
      on_threads(1, [&] { return checksum_of(openmp_var(book, simulation).tail); });
  const bool same = on_one == checksum_of(openmp_var(book, simulation).tail);
  return {off <= most_standard_errors && same,
          fmt::format("mean profit of {} paths {:.1f} standard errors from its closed form (at "
                      "most {}); worst paths {} on one thread and on {}",
                      simulation.paths, off, most_standard_errors, same ? "the same" : "differ",
                      omp_get_max_threads())};
}

Verification verify(const Settings& settings, Path path) {
  const VarSettings simulation =
      simulation_of(settings, 1, affordable_paths(settings, most_checked_paths));
  const Portfolio portfolio = portfolio_of(settings, 1);
  const VarBook book = make_book(portfolio, simulation, settings.scenario_file);
  if (path == Path::openmp) return verify_reference(book, portfolio, simulation);
  VarSettings few = simulation;
  if (path == Path::host) few.paths = std::min(counted_paths, few.paths);
  const VarTail expected = openmp_var(book, few).tail, found = run_var(path, book, few).tail;
  const bool same = expected.worst_profits == found.worst_profits && expected.sum == found.sum;
  return {same, fmt::format("the {} worst of {} paths and the sum of all profits {} the OpenMP "
                            "path's to the bit",
                            found.worst_profits.size(), few.paths, same ? "are" : "are not")};
}

} // namespace

Workload make_var_job(const Settings& given) {
  const auto settings = std::make_shared<const Settings>(given);
  // What no run can use is said before anything is run.
  make_book(portfolio_of(given, 1), given.var, given.scenario_file);
  Workload workload;
  workload.kind = "risk";
  workload.unit = "book";
  workload.job_units = given.units;
  workload.paths = usable_paths();
  workload.slice = [settings](double effort) { return slice_of(*settings, effort); };
  workload.run = [settings](Path path, const Slice& slice, const std::filesystem::path& output) {
    return path == Path::host ? run_counted(*settings) : run_timed(*settings, path, slice, output);
  };
  workload.verify = [settings](Path path) { return verify(*settings, path); };
  return workload;
}

} // namespace breakeven::risk
