#include "sim/study.h"

#include "sim/errors.h"
#include "sim/terminal.h"
#include "workloads/list.h"

#include <omp.h>

namespace breakeven {

namespace fs = std::filesystem;

namespace {

std::vector<ResultFile> result_files(const std::vector<Comparison>& comparisons,
                                     const std::vector<Measurement>& measurements,
                                     const std::vector<PhaseTime>& phases) {
  std::vector<ResultFile> files{{"measurements.csv", measurements_csv(measurements)},
                                {"comparison.csv", comparison_csv(comparisons)},
                                {"phases.csv", phases_csv(phases)},
                                {"machine.txt", machine_text(measurements)}};
  for (ResultFile& file : memo(comparisons, measurements, phases))
    files.push_back(std::move(file));
  return files;
}

} // namespace

void check_targets(const Scenario& scenario, const Catalog& catalog) {
  for (const Target& target : scenario.targets)
    if (target.instance != "local" && target.instance != "local-gpu"
        && catalog.instance(target.instance) == nullptr)
      throw BadInput(scenario.file, target.line, "unknown instance '" + target.instance + "'",
                     "an id from " + std::to_string(catalog.instances.size())
                         + " in scenarios/catalog/instances.csv, such as '"
                         + catalog.instances.front().id + "'");
}

std::vector<Measurement> measure_here(const Scenario& scenario, std::optional<UnitFolder>& units,
                                      const fs::path& folder, const std::string& title) {
  if (scenario.measure.threads > 0) omp_set_num_threads(scenario.measure.threads);
  ProgressLine line;
  line.show(title + "reading the input", -1);
  const Workload workload = make_workload(scenario);
  // Only now: input that is wrong must leave nothing behind.
  units.emplace(folder, workload.unit);
  return measure(scenario, workload, units->path(),
                 [&](const std::string& what, double share) { line.show(title + what, share); });
}

std::vector<Comparison> conclude(const Scenario& scenario, const Catalog& catalog,
                                 const std::vector<Measurement>& measurements,
                                 const fs::path& folder) {
  const auto projections = project(scenario, measurements, catalog);
  const auto priced = price(scenario, projections, catalog);
  const auto comparisons = compare(scenario, measurements, priced);
  const auto phases = phase_times(scenario, measurements, priced);
  write_results(folder, result_files(comparisons, measurements, phases));
  return comparisons;
}

} // namespace breakeven
