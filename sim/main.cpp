// breakeven: should this workload move to GPU instances? This file is the map: one subcommand, one
// short pipeline. Only main() catches; exit 0 done, 1 failed, 2 bad input.
#include "build_info.h"
#include "sim/errors.h"
#include "sim/report/report.h"
#include "sim/sized_studies.h"
#include "sim/study.h"
#include "sim/terminal.h"
#include "workloads/list.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <new>
#include <optional>

namespace breakeven {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::vector<std::string> scenarios, overrides;
  std::string over, out = "results", from, catalog, folder;
  bool json = false;
};

fs::path catalog_folder(const Options& options) {
  return options.catalog.empty() ? fs::path(build_info::catalog_folder) : fs::path(options.catalog);
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
  if (measurements.empty()) throw Failure("interrupted before a run was finished");
  const auto comparisons = conclude(scenario, catalog, measurements, folder);
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

// ---- sweep ----

void print_sweep(const Options& options, const std::vector<SizeRow>& rows) {
  if (options.json)
    fmt::print("{}\n", sweep_json(rows));
  else
    fmt::print("{}", sweep_table(rows, terminal_width()));
}

void sweep(const Options& options) {
  const Sizes sizes = parse_sizes(options.over);
  const Catalog catalog = read_catalog(catalog_folder(options));
  std::vector<SizedStudy> studies =
      read_studies(options.scenarios.front(), options.overrides, sizes, catalog);
  const fs::path folder = fs::path(options.out) / studies.front().scenario.name;
  if (options.from.empty()) {
    stop_politely_on_interrupt();
    measure_sweep(sizes, studies, catalog, folder);
  } else {
    replay_sweep(options.from, sizes, studies, catalog, folder);
  }
  if (any_finished(studies)) {
    print_sweep(options, rows_of(sizes, studies));
    if (!options.json)
      fmt::print("\nCSV       {}\ndocument  {}\n", (folder / "sweep.csv").string(),
                 (folder / "sweep.html").string());
  }
  check_finished(options.from, sizes, studies);
}

// ---- result folders ----

/// A result folder has the results of a run, of a sweep or of both.
struct Found {
  bool run = false, sweep = false;
};

Found results_in(const fs::path& folder) {
  const bool sweep = fs::exists(folder / "sweep.csv");
  return {!sweep || fs::exists(folder / "comparison.csv"), sweep};
}

void show(const Options& options) {
  const fs::path folder = options.folder;
  const Found found = results_in(folder);
  if (found.run)
    print_answer(options, read_comparison(folder / "comparison.csv"),
                 read_measurements(folder / "measurements.csv"));
  if (found.run && found.sweep && options.json) return; // one JSON text
  if (found.sweep) print_sweep(options, read_sweep(folder / "sweep.csv"));
}

void write_memo(const Options& options) {
  const fs::path folder = options.folder;
  const Found found = results_in(folder);
  if (found.run) {
    const auto comparisons = read_comparison(folder / "comparison.csv");
    write_results(folder, memo(comparisons, read_measurements(folder / "measurements.csv"),
                               read_phases(folder / "phases.csv", comparisons)));
    fmt::print("{}\n{}\n", (folder / "memo.md").string(), (folder / "memo.html").string());
  }
  if (found.sweep) {
    write_results(folder, sweep_document(read_sweep(folder / "sweep.csv")));
    fmt::print("{}\n{}\n", (folder / "sweep.md").string(), (folder / "sweep.html").string());
  }
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

void add_sweep(CLI::App& app, Options& options) {
  CLI::App* command =
      app.add_subcommand("sweep", "run a study at several sizes: from which on is what faster?");
  command->add_option("scenario", options.scenarios, "scenario file (TOML)")
      ->required()
      ->expected(1);
  command->add_option("--over", options.over, "a key and its sizes: --over workload.cases=1,10,100")
      ->required();
  command->add_option("--out", options.out, "folder for result folders")->capture_default_str();
  command->add_option("--set", options.overrides, "override a key: --set job.deadline=\"1 h\"")
      ->allow_extra_args(false);
  command->add_option("--from", options.from, "skip measuring: the sweep folder of an earlier one");
  command->add_option("--catalog", options.catalog, "folder of the catalog's CSV files");
  command->add_flag("--json", options.json, "print rows and crossovers as JSON");
  command->footer("Example: breakeven sweep scenarios/fraud_sizes.toml --over "
                  "workload.rows=10_000,100_000,1_000_000\n"
                  "Again, without measuring: ... --from results/fraud_sizes/sweep\n"
                  "Exit code: 0 done, 1 failed or interrupted, 2 bad input.");
  command->callback([&options] { sweep(options); });
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
  add_sweep(app, options);
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
