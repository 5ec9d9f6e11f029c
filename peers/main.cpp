// The command line of the peer benchmarks. CSV on stdout, progress on stderr.
#include "peers/imaging.h"
#include "peers/peers.h"
#include "peers/risk.h"
#include "sim/errors.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <map>

namespace {

using namespace breakeven::peers;

void add_common(CLI::App& command, int& pairs, std::vector<int>& threads, Clock& clock) {
  command.add_option("--pairs", pairs, "Interleaved repetitions; the median is printed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_option("--threads", threads, "Thread counts (default: 1, 2, 4 ... all)")
      ->check(CLI::Range(1, 4096));
  command.add_option("--clock", clock, "wall, or cpu on a machine that is not idle")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Clock>{{"wall", Clock::wall}, {"cpu", Clock::cpu}}));
}

CLI::App* add_render(CLI::App& app, RenderOptions& options) {
  CLI::App* render = app.add_subcommand("render", "Our renderer beside bare Embree loops");
  render->add_option("--scene-triangles", options.scene_triangles, "Size of the procedural scene")
      ->check(CLI::Range(1'000, 100'000'000))
      ->capture_default_str();
  render->add_option("--frame", options.frame, "Frame of the crash sequence")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  render->add_option("--width", options.width, "Image width in pixels")
      ->check(CLI::Range(16, 16'384))
      ->capture_default_str();
  render->add_option("--height", options.height, "Image height in pixels")
      ->check(CLI::Range(16, 16'384))
      ->capture_default_str();
  render->add_option("--samples", options.samples, "Samples per pixel")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  add_common(*render, options.pairs, options.threads, options.clock);
  return render;
}

CLI::App* add_imaging(CLI::App& app, ImagingOptions& options, std::vector<std::int64_t>& size) {
  CLI::App* imaging =
      app.add_subcommand("imaging", "Our imaging stages beside ITK, cc3d, edt and a copy");
  imaging->add_option("--input", options.input, "A CT (default: the built-in phantom)")
      ->check(CLI::ExistingPath);
  imaging->add_option("--size", size, "Voxels of the phantom along x, y and z")
      ->expected(3)
      ->check(CLI::Range(8, 4096))
      ->capture_default_str();
  imaging->add_option("--rows", options.rows, "Only rows whose names start like one of these");
  imaging->add_option("--python", options.python, "A Python that has cc3d and edt")
      ->capture_default_str();
  add_common(*imaging, options.pairs, options.threads, options.clock);
  return imaging;
}

CLI::App* add_risk(CLI::App& app, RiskOptions& options) {
  CLI::App* risk =
      app.add_subcommand("risk", "Our boosted trees and VaR beside XGBoost and QuantLib");
  risk->add_option("--uci", options.uci, "UCI's credit card defaults as CSV, for the rows on them")
      ->check(CLI::ExistingFile);
  risk->add_option("--rows", options.rows, "Only rows whose names start like one of these");
  risk->add_option("--python", options.python, "A Python that has xgboost")->capture_default_str();
  risk->add_option("--long-pairs", options.long_pairs,
                   "Repetitions of rows whose pass takes half a minute")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_common(*risk, options.pairs, options.threads, options.clock);
  return risk;
}

void print(const std::vector<RowName>& rows) {
  for (const RowName& row : rows)
    std::cout << row.name << "  " << row.meaning << '\n';
}

} // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Sets our CPU code beside the field's best libraries, in one run on the same input.\n"
      "Example: OMP_WAIT_POLICY=passive breakeven-peers render --pairs 7"};
  app.require_subcommand(0, 1);
  bool list = false;
  app.add_flag("--list", list, "List the rows that can be printed, and stop");
  RenderOptions render_options;
  CLI::App* render = add_render(app, render_options);
  ImagingOptions imaging_options;
  std::vector<std::int64_t> size{imaging_options.size.x, imaging_options.size.y,
                                 imaging_options.size.z};
  CLI::App* imaging = add_imaging(app, imaging_options, size);
  RiskOptions risk_options;
  CLI::App* risk = add_risk(app, risk_options);
  for (CLI::App* command : {render, imaging, risk})
    command->add_flag("--list", list, "List the rows, and stop");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  imaging_options.size = {size[0], size[1], size[2]};

  try {
    if (list) {
      const bool all = app.get_subcommands().empty();
      if (all || render->parsed()) print(render_rows());
      if (all || imaging->parsed()) print(imaging_rows());
      if (all || risk->parsed()) print(risk_rows());
    } else if (render->parsed()) {
      compare_render(render_options, std::cout, std::cerr);
    } else if (imaging->parsed()) {
      return compare_imaging(imaging_options, std::cout, std::cerr) ? 0 : 1;
    } else if (risk->parsed()) {
      return compare_risk(risk_options, std::cout, std::cerr) ? 0 : 1;
    } else {
      std::cout << app.help();
    }
    return 0;
  } catch (const breakeven::BadInput& error) {
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
