#include "sim/sized_studies.h"

#include "sim/errors.h"
#include "sim/study.h"
#include "sim/terminal.h"
#include "workloads/list.h"

#include <algorithm>
#include <optional>

namespace breakeven {

namespace fs = std::filesystem;

namespace {

void check_inputs(const std::vector<SizedStudy>& studies) {
  ProgressLine line;
  for (const SizedStudy& study : studies) {
    line.show("reading the input of size " + study.size.text, -1);
    make_workload(study.scenario);
  }
}

/// Of the size's folder in `from`; none where it has none.
std::vector<Measurement> measured_before(const fs::path& from, const SizedStudy& study) {
  const fs::path file = from / folder_name(study.size) / "measurements.csv";
  if (!fs::exists(file)) return {};
  return measurements_for(study.scenario, read_measurements(file), file.string());
}

void write_sweep(const fs::path& folder, const std::vector<SizeRow>& rows) {
  std::vector<ResultFile> files{{"sweep.csv", sweep_csv(rows)}};
  for (ResultFile& file : sweep_document(rows))
    files.push_back(std::move(file));
  write_results(folder, files);
}

/// Whether what was measured for one study holds for the other: a sweep over prices or deadlines
/// measures once.
bool are_measured_alike(const Scenario& a, const Scenario& b) {
  return a.workload_sha256 == b.workload_sha256 && a.measure.full == b.measure.full
         && a.measure.time_limit_s == b.measure.time_limit_s
         && a.measure.threads == b.measure.threads
         && a.job.units_per_day.has_value() == b.job.units_per_day.has_value();
}

} // namespace

std::vector<SizedStudy> read_studies(const std::string& file, const std::vector<std::string>& set,
                                     const Sizes& sizes, const Catalog& catalog) {
  std::vector<SizedStudy> studies;
  for (const Size& size : sizes.all) {
    std::vector<std::string> overrides = set;
    overrides.push_back(sizes.key + "=" + size.text);
    SizedStudy study{size, read_scenario(file, overrides, workload_keys()), {}};
    check_targets(study.scenario, catalog);
    if (study.scenario.targets.size() < 2)
      throw BadInput(study.scenario.file, 0, "one [[target]]",
                     "a baseline and at least one candidate");
    const auto projections = project(study.scenario, {}, catalog);
    study.comparisons = compare(study.scenario, {}, price(study.scenario, projections, catalog));
    studies.push_back(std::move(study));
  }
  return studies;
}

void measure_sweep(const Sizes& sizes, std::vector<SizedStudy>& studies, const Catalog& catalog,
                   const fs::path& folder) {
  check_inputs(studies);
  std::vector<Measurement> measurements;
  const Scenario* measured = nullptr;
  for (SizedStudy& study : studies) {
    if (interrupted()) return;
    const fs::path own_folder = folder / "sweep" / folder_name(study.size);
    std::optional<UnitFolder> units;
    if (measured != nullptr && are_measured_alike(*measured, study.scenario))
      measurements = measurements_for(study.scenario, measurements, own_folder.string());
    else
      measurements = measure_here(study.scenario, units, own_folder,
                                  sizes.key + " = " + study.size.text + ": ");
    if (interrupted()) return; // a size that was cut short is no size
    measured = &study.scenario;
    study.comparisons = conclude(study.scenario, catalog, measurements, own_folder);
    if (units) units->publish();
    study.finished = true;
    write_sweep(folder, rows_of(sizes, studies));
  }
}

void replay_sweep(const fs::path& from, const Sizes& sizes, std::vector<SizedStudy>& studies,
                  const Catalog& catalog, const fs::path& folder) {
  for (SizedStudy& study : studies) {
    const auto measurements = measured_before(from, study);
    if (measurements.empty()) continue;
    study.comparisons =
        conclude(study.scenario, catalog, measurements, folder / "sweep" / folder_name(study.size));
    study.finished = true;
  }
  if (any_finished(studies)) write_sweep(folder, rows_of(sizes, studies));
}

std::vector<SizeRow> rows_of(const Sizes& sizes, const std::vector<SizedStudy>& studies) {
  std::vector<SizeRow> rows;
  for (const SizedStudy& study : studies)
    for (SizeRow& row : size_rows(sizes.key, study.size, study.comparisons))
      rows.push_back(std::move(row));
  return rows;
}

bool any_finished(const std::vector<SizedStudy>& studies) {
  return std::any_of(studies.begin(), studies.end(),
                     [](const SizedStudy& study) { return study.finished; });
}

void check_finished(const std::string& from, const Sizes& sizes,
                    const std::vector<SizedStudy>& studies) {
  std::string missing;
  for (const SizedStudy& study : studies)
    if (!study.finished) missing += (missing.empty() ? "" : ", ") + study.size.text;
  if (missing.empty()) return;
  if (!any_finished(studies) && !from.empty())
    throw BadInput(from, 0, "measurements of none of the sizes",
                   "a folder that a sweep wrote, with "
                       + (fs::path(folder_name(studies.front().size)) / "measurements.csv").string()
                       + " in it");
  if (from.empty()) throw Failure("interrupted; not measured: " + sizes.key + " = " + missing);
}

} // namespace breakeven
