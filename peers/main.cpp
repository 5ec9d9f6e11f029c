// The command line of the peer benchmarks. CSV on stdout, progress on stderr.
#include "peers/peers.h"
#include "sim/errors.h"

#include <CLI/CLI.hpp>

#include <iostream>
#include <map>

int main(int argc, char** argv) {
  using namespace breakeven::peers;
  CLI::App app{
      "Sets our CPU code beside the field's best libraries, in one run on the same input.\n"
      "Example: OMP_WAIT_POLICY=passive breakeven-peers render --pairs 7"};
  app.require_subcommand(0, 1);
  bool list = false;
  app.add_flag("--list", list, "List the rows that can be printed, and stop");

  RenderOptions options;
  CLI::App* render = app.add_subcommand("render", "Our renderer beside bare Embree loops");
  render->add_flag("--list", list, "List the rows, and stop");
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
  render->add_option("--pairs", options.pairs, "Interleaved repetitions; the median is printed")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  render->add_option("--threads", options.threads, "Thread counts (default: 1, 2, 4 ... all)")
      ->check(CLI::Range(1, 4096));
  render->add_option("--clock", options.clock, "wall, or cpu on a machine that is not idle")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Clock>{{"wall", Clock::wall}, {"cpu", Clock::cpu}}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  try {
    if (list) {
      for (const RowName& row : render_rows())
        std::cout << row.name << "  " << row.meaning << '\n';
    } else if (render->parsed()) {
      compare_render(options, std::cout, std::cerr);
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
