// breakeven: should this workload move to GPU instances? This file is the map: one subcommand, one
// short pipeline. Only main() catches; exit 0 done, 1 failed, 2 bad input.
#include "build_info.h"
#include "sim/errors.h"
#include "sim/report/report.h"
#include "sim/terminal.h"
#include "workloads/list.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <omp.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <optional>

namespace breakeven {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> scenarios, overrides;
  std::string out = "results", from, catalog, folder;
  bool json = false;
};

/// Where a workload puts what it makes of its units (frames, cases) while the old ones are still in
/// place.
class UnitFolder {
public:
  UnitFolder(const fs::path& results, const std::string& unit)
      : final_(results / (unit + "s")),
        partial_(results / ("." + unit + "s.partial")) {
    std::error_code error;
    fs::create_directories(results, error);
    if (!error) fs::remove_all(partial_, error);
    if (!error) fs::create_directory(partial_, error);
    check(error);
  }
  ~UnitFolder() {
    std::error_code ignored;
    fs::remove_all(partial_, ignored);
  }
  UnitFolder(const UnitFolder&) = delete;
  UnitFolder& operator=(const UnitFolder&) = delete;

  const fs::path& path() const { return partial_; }

  /// Puts the new ones in place of the old ones, once all other results are written.
  void publish() const {
    std::error_code error;
    if (fs::is_empty(partial_, error)) return;
    if (!error) fs::remove_all(final_, error);
    if (!error) fs::rename(partial_, final_, error);
    check(error);
  }

private:
  void check(const std::error_code& error) const {
    if (error) throw Failure("cannot write " + final_.string() + ": " + error.message());
  }
  fs::path final_, partial_;
};

fs::path catalog_folder(const Options& options) {
  return options.catalog.empty() ? fs::path(build_info::catalog_folder) : fs::path(options.catalog);
}

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
                                      const fs::path& folder) {
  if (scenario.measure.threads > 0) omp_set_num_threads(scenario.measure.threads);
  ProgressLine line;
  line.show("reading the input", -1);
  const Workload workload = make_workload(scenario);
  // Only now: input that is wrong must leave nothing behind.
  units.emplace(folder, workload.unit);
  return measure(scenario, workload, units->path(),
                 [&](const std::string& what, double share) { line.show(what, share); });
}

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

void print_answer(const Options& options, const std::vector<Comparison>& comparisons,
                  const std::vector<Measurement>& measurements) {
  if (options.json)
    fmt::print("{}\n", comparison_json(comparisons));
  else
    fmt::print("{}", terminal_table(comparisons, measurements, terminal_width()));
}

void run_study(const Options& options, const std::string& file) {
  const Scenario scenario = read_scenario(file, options.overrides, workload_keys());
  const Catalog catalog = read_catalog(catalog_folder(options));
  check_targets(scenario, catalog);
  const fs::path folder = fs::path(options.out) / scenario.name;
  std::optional<UnitFolder> units;
  const auto measurements =
      options.from.empty()
          ? measure_here(scenario, units, folder)
          : measurements_for(scenario, read_measurements(options.from), options.from);
  const auto projections = project(scenario, measurements, catalog);
  const auto priced = price(scenario, projections, catalog);
  const auto comparisons = compare(scenario, measurements, priced);
  const auto phases = phase_times(scenario, measurements, priced);
  write_results(folder, result_files(comparisons, measurements, phases));
  if (units) units->publish();
  print_answer(options, comparisons, measurements);
  if (!options.json)
    fmt::print("\nCSV   {}\nmemo  {}\n", (folder / "comparison.csv").string(),
               (folder / "memo.html").string());
}

void run(const Options& options) {
  stop_politely_on_interrupt();
  for (const std::string& file : options.scenarios)
    run_study(options, file);
}

void show(const Options& options) {
  const fs::path folder = options.folder;
  print_answer(options, read_comparison(folder / "comparison.csv"),
               read_measurements(folder / "measurements.csv"));
}

void write_memo(const Options& options) {
  const fs::path folder = options.folder;
  const auto comparisons = read_comparison(folder / "comparison.csv");
  write_results(folder, memo(comparisons, read_measurements(folder / "measurements.csv"),
                             read_phases(folder / "phases.csv", comparisons)));
  fmt::print("{}\n{}\n", (folder / "memo.md").string(), (folder / "memo.html").string());
}

void add_run(CLI::App& app, Options& options) {
  CLI::App* command = app.add_subcommand("run", "measure, project, price and compare");
  command->add_option("scenario", options.scenarios, "scenario files (TOML)")->required();
  command->add_option("--out", options.out, "folder for result folders")->capture_default_str();
  command->add_option("--set", options.overrides, "override a key: --set job.deadline=\"1 h\"")
      ->allow_extra_args(false);
  command->add_option("--from", options.from, "skip measuring: rows of this measurements.csv");
  command->add_option("--catalog", options.catalog, "folder of the catalog's CSV files");
  command->add_flag("--json", options.json, "print the comparison as JSON");
  command->footer("Example: breakeven run scenarios/crash_render.toml --set job.deadline=\"1 h\"\n"
                  "Exit code: 0 done, 1 failed, 2 bad input.");
  command->callback([&options] { run(options); });
}

void add_show(CLI::App& app, Options& options) {
  CLI::App* command = app.add_subcommand("show", "print a result folder's verdict and table");
  command->add_option("folder", options.folder, "result folder")->required();
  command->add_flag("--json", options.json, "print the comparison as JSON");
  command->footer("Example: breakeven show results/crash_render");
  command->callback([&options] { show(options); });
}

void add_memo(CLI::App& app, Options& options) {
  CLI::App* command = app.add_subcommand("memo", "rebuild the memo from a result folder's CSV");
  command->add_option("folder", options.folder, "result folder")->required();
  command->footer("Example: breakeven memo results/crash_render");
  command->callback([&options] { write_memo(options); });
}

int run_command_line(int argc, char** argv) {
  CLI::App app{
      "breakeven: should this workload move to GPU instances, to which, and from what size, "
      "price or utilisation on does it pay?"};
  Options options;
  app.set_version_flag("--version",
                       fmt::format("breakeven {} ({})", build_info::version, build_info::commit));
  app.require_subcommand(1);
  add_run(app, options);
  add_show(app, options);
  add_memo(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 has its own exit codes; ours are 0 for help and 2 for a command line that is wrong.
    return app.exit(error) == 0 ? 0 : 2;
  }
  return 0;
}

int report_error(const char* message, int code) {
  fmt::print(stderr, "breakeven: {}\n", message);
  return code;
}

} // namespace
} // namespace breakeven

int main(int argc, char** argv) {
  using namespace breakeven;
  // A file that grows past a limit is then an error with a text, not the end of the program.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return run_command_line(argc, argv);
  } catch (const BadInput& error) {
    return report_error(error.what(), 2);
  } catch (const std::bad_alloc&) {
    return report_error("out of memory", 1);
  } catch (const std::exception& error) {
    return report_error(error.what(), 1);
  }
}
