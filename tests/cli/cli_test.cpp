// The program as a user meets it: exit codes, one-line errors, files that appear or stay away. Runs
// the built binary on a scenario small enough for sanitizers.
#include "tests/test_folder.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

using breakeven::TestFolder;
namespace fs = std::filesystem;

namespace {

struct Outcome {
  int exit_code = -1;
  std::string output; ///< stdout and stderr
};

Outcome shell(const std::string& command) {
  Outcome outcome;
  FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer;
  while (const std::size_t count = fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), count);
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string quoted(const fs::path& path) { return "'" + path.string() + "'"; }

Outcome program(const std::string& arguments) {
  return shell(quoted(fs::path(BREAKEVEN_BINARY_DIR) / "breakeven") + " " + arguments);
}

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const std::string small_scenario = R"(schema = 1
name = "small"
[workload]
kind = "render"
scene = "procedural:crash"
triangles = 50_000
width = 64
height = 36
samples_per_pixel = 2
max_bounces = 2
frames = "1-4"
seed = 3
[measure]
time_limit = "1 s"
[job]
runs_per_month = 10
deadline = "1 h"
[[target]]
instance = "aws:c6i.8xlarge"
[[target]]
instance = "aws:g5.xlarge"
)";

std::string with(const std::string& from, const std::string& to) {
  std::string text = small_scenario;
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

int lines_in(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

} // namespace

TEST_CASE("--version and --help succeed and say what the program is") {
  const Outcome version = program("--version");
  CHECK(version.exit_code == 0);
  CHECK(version.output.rfind("breakeven 0.", 0) == 0);
  const Outcome help = program("run --help");
  CHECK(help.exit_code == 0);
  CHECK(help.output.find("Example:") != std::string::npos);
  CHECK(help.output.find("--set") != std::string::npos);
}

TEST_CASE("a command line that is wrong exits with 2") {
  CHECK(program("").exit_code == 2);
  CHECK(program("fly").exit_code == 2);
  CHECK(program("run").exit_code == 2);
  CHECK(program("run --no-such-option x.toml").exit_code == 2);
}

TEST_CASE("bad input exits with 2, says so on one line and writes nothing") {
  const struct {
    const char *from, *to, *message;
  } cases[] = {
      {"seed = 3", "sed = 3", "sed"},
      {"width = 64", "width = \"wide\"", ":7: found"},
      {"width = 64", "width = -64", ":7: found"},
      {"frames = \"1-4\"", "frames = \"\"", ":11: found"},
      {"runs_per_month = 10", "runs_per_month = nan", ":16: found"},
      {"scene = \"procedural:crash\"\ntriangles = 50_000", "file = \"missing.obj\"", ":5: found"},
      {"aws:g5.xlarge", "aws:g9.xlarge", ":21: found unknown instance 'aws:g9.xlarge'"},
      {"schema = 1", "schema = 2", ":1: found"},
  };
  for (const auto& bad : cases) {
    CAPTURE(bad.to);
    const TestFolder folder;
    const fs::path file = folder.write("bad.toml", with(bad.from, bad.to));
    const Outcome outcome = program("run " + quoted(file) + " --out " + quoted(folder / "out"));
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK(lines_in(outcome.output) == 1);
    CHECK(outcome.output.find(bad.message) != std::string::npos);
    CHECK(outcome.output.find("expected") != std::string::npos);
    CHECK_FALSE(fs::exists(folder / "out"));
  }
}

TEST_CASE("a mesh that cannot be rendered exits with 2 and names it") {
  const struct {
    const char *name, *bytes;
  } meshes[] = {
      {"empty.obj", ""},
      {"points.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\n"},
      {"nan.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"},
  };
  for (const auto& mesh : meshes) {
    CAPTURE(mesh.name);
    const TestFolder folder;
    folder.write(mesh.name, mesh.bytes);
    const fs::path file =
        folder.write("bad.toml", with("scene = \"procedural:crash\"\ntriangles = 50_000",
                                      std::string("file = \"") + mesh.name + "\""));
    const Outcome outcome = program("run " + quoted(file) + " --out " + quoted(folder / "out"));
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK(lines_in(outcome.output) == 1);
    CHECK(outcome.output.find(mesh.name) != std::string::npos);
  }
}

TEST_CASE("a study runs from scenario to memo, and the memo replays byte for byte") {
  const TestFolder folder;
  const fs::path file = folder.write("small.toml", small_scenario);
  const Outcome outcome = program("run " + quoted(file) + " --out " + quoted(folder.path()));
  CAPTURE(outcome.output);
  REQUIRE(outcome.exit_code == 0);
  const fs::path results = folder / "small";
  for (const char* name :
       {"measurements.csv", "comparison.csv", "phases.csv", "memo.md", "memo.html", "machine.txt",
        "charts/time.svg", "charts/cost.svg", "charts/phases.svg"})
    CHECK(fs::exists(results / name));
  CHECK_FALSE(fs::is_empty(results / "frames"));
  CHECK(outcome.output.find("aws:g5.xlarge") != std::string::npos);
  CHECK(outcome.output.find('\r') == std::string::npos); // no progress line into a pipe

  const std::string markdown = bytes_of(results / "memo.md"),
                    html = bytes_of(results / "memo.html");
  const std::string chart = bytes_of(results / "charts/time.svg");
  fs::remove(results / "memo.md");
  fs::remove(results / "memo.html");
  fs::remove_all(results / "charts");
  REQUIRE(program("memo " + quoted(results)).exit_code == 0);
  CHECK(bytes_of(results / "memo.md") == markdown);
  CHECK(bytes_of(results / "memo.html") == html);
  CHECK(bytes_of(results / "charts/time.svg") == chart);

  SUBCASE("measured rows are used again without measuring") {
    const Outcome again =
        program("run " + quoted(file) + " --from " + quoted(results / "measurements.csv")
                + " --out " + quoted(folder / "again"));
    CAPTURE(again.output);
    REQUIRE(again.exit_code == 0);
    CHECK(bytes_of(folder / "again/small/comparison.csv") == bytes_of(results / "comparison.csv"));
    CHECK(bytes_of(folder / "again/small/memo.md") == markdown);
  }
  SUBCASE("a steady service adds its throughput to the answer and to the memo, which replays") {
    const Outcome asked =
        program("run " + quoted(file) + " --from " + quoted(results / "measurements.csv")
                + " --set job.units_per_day=1000 --set job.turnaround_deadline='1 min' --out "
                + quoted(folder / "again"));
    CAPTURE(asked.output);
    REQUIRE(asked.exit_code == 0);
    CHECK(asked.output.find("Throughput, 1,000 frames a day (poisson)") != std::string::npos);
    const fs::path memo = folder / "again/small/memo.md";
    const std::string text = bytes_of(memo);
    CHECK(text.find("## Throughput") != std::string::npos);
    fs::remove(memo);
    REQUIRE(program("memo " + quoted(folder / "again/small")).exit_code == 0);
    CHECK(bytes_of(memo) == text);
  }
  SUBCASE("phases of another scenario are refused, none are tolerated") {
    std::string phases = bytes_of(results / "phases.csv");
    const std::size_t hash = phases.find("small,", phases.find('\n')) + 6;
    phases[hash] = phases[hash] == '0' ? '1' : '0';
    std::ofstream(results / "phases.csv", std::ios::binary) << phases;
    CHECK(program("memo " + quoted(results)).exit_code == 2);
    fs::remove(results / "phases.csv");
    CHECK(program("memo " + quoted(results)).exit_code == 0);
    CHECK(bytes_of(results / "memo.md").find("not in this result folder") != std::string::npos);
  }
  SUBCASE("rows of another workload are refused") {
    const fs::path other = folder.write("other.toml", with("seed = 3", "seed = 4"));
    const Outcome refused =
        program("run " + quoted(other) + " --from " + quoted(results / "measurements.csv")
                + " --out " + quoted(folder / "again"));
    CHECK(refused.exit_code == 2);
  }
  SUBCASE("show prints the same answer") {
    const Outcome shown = program("show " + quoted(results));
    CHECK(shown.exit_code == 0);
    CHECK(outcome.output.find(shown.output) != std::string::npos);
  }
  SUBCASE("a disk that is full leaves earlier results as they were and exits with 1") {
    const std::string before = bytes_of(results / "comparison.csv");
    // A limit on file size fails writes as a full disk does.
    const Outcome full =
        shell("ulimit -f 1; " + quoted(fs::path(BREAKEVEN_BINARY_DIR) / "breakeven") + " run "
              + quoted(file) + " --from " + quoted(results / "measurements.csv") + " --out "
              + quoted(folder.path()));
    CAPTURE(full.output);
    CHECK(full.exit_code == 1);
    CHECK(bytes_of(results / "comparison.csv") == before);
    CHECK(bytes_of(results / "memo.html") == html);
  }
  SUBCASE("frames that do not fit leave the earlier frames and results as they were") {
    const auto frame = [&] { return bytes_of(fs::directory_iterator(results / "frames")->path()); };
    const std::string before = bytes_of(results / "comparison.csv"), picture = frame();
    const Outcome full =
        shell("ulimit -f 1; " + quoted(fs::path(BREAKEVEN_BINARY_DIR) / "breakeven") + " run "
              + quoted(file) + " --set workload.seed=9 --out " + quoted(folder.path()));
    CAPTURE(full.output);
    CHECK(full.exit_code == 1);
    CHECK(lines_in(full.output) == 1);
    CHECK(frame() == picture);
    CHECK(bytes_of(results / "comparison.csv") == before);
    CHECK_FALSE(fs::exists(results / ".frames.partial"));
  }
}

TEST_CASE("a sweep that is asked wrongly exits with 2 before anything is measured") {
  const struct {
    const char *over, *message;
  } cases[] = {
      {"workload.triangles", "no '='"},
      {"workload.triangles=50_000", "one value"},
      {"workload.triangles=50_000,many", "'many'"},
      {"workload.triangles=50_000,50000", "a second time"},
      {"workload.triangels=20_000,50_000", "did you mean 'triangles'"},
      {"workload.triangles=50_000,1e30", "triangles"},
      {"workload.triangles=20 GiB,50 GiB", "triangles"},
      {"workload.frames=1,2", "frames"},
      {"target[2].instance=1,2", "instance"},
      {"target[4].count=1,2", "target[4]"},
  };
  const TestFolder folder;
  const fs::path file = folder.write("small.toml", small_scenario);
  for (const auto& bad : cases) {
    CAPTURE(bad.over);
    const Outcome outcome = program("sweep " + quoted(file) + " --over '" + bad.over + "' --out "
                                    + quoted(folder / "out"));
    CAPTURE(outcome.output);
    CHECK(outcome.exit_code == 2);
    CHECK(lines_in(outcome.output) == 1);
    CHECK(outcome.output.find(bad.message) != std::string::npos);
    CHECK_FALSE(fs::exists(folder / "out"));
  }
  CHECK(program("sweep " + quoted(file)).exit_code == 2);
  const Outcome help = program("sweep --help");
  CHECK(help.exit_code == 0);
  CHECK(help.output.find("Example:") != std::string::npos);
}

TEST_CASE("a sweep is a study at each size, and replays from its folder byte for byte") {
  const TestFolder folder;
  const fs::path file = folder.write("small.toml", small_scenario);
  const std::string sweep = "sweep " + quoted(file) + " --over workload.triangles=60_000,50_000";
  const Outcome outcome = program(sweep + " --out " + quoted(folder.path()));
  CAPTURE(outcome.output);
  REQUIRE(outcome.exit_code == 0);
  const fs::path results = folder / "small";
  for (const char* name :
       {"sweep.md", "sweep.html", "charts/sweep_time.svg", "charts/sweep_cost.svg",
        "sweep/50000/memo.html", "sweep/50000/measurements.csv", "sweep/60000/comparison.csv"})
    CHECK(fs::exists(results / name));
  CHECK_FALSE(fs::is_empty(results / "sweep/50000/frames"));
  const std::string csv = bytes_of(results / "sweep.csv");
  CHECK(lines_in(csv) == 3);
  CHECK(csv.find("workload.triangles,50_000,50000,,2,small,") != std::string::npos);
  CHECK(outcome.output.find("aws:g5.xlarge (A10G)") != std::string::npos);
  CHECK(outcome.output.find('\r') == std::string::npos);

  // What each size was measured as belongs to its own scenario.
  CHECK(program("run " + quoted(file) + " --set workload.triangles=60_000 --from "
                + quoted(results / "sweep/60000/measurements.csv") + " --out "
                + quoted(folder / "one"))
            .exit_code
        == 0);
  CHECK(bytes_of(folder / "one/small/comparison.csv")
        == bytes_of(results / "sweep/60000/comparison.csv"));
  CHECK(program("run " + quoted(file) + " --from "
                + quoted(results / "sweep/60000/measurements.csv") + " --out "
                + quoted(folder / "one"))
            .exit_code
        == 2);

  const auto replay = [&](const std::string& more) {
    return program(sweep + " --from " + quoted(results / "sweep") + " --out "
                   + quoted(folder / "again") + more);
  };
  const Outcome again = replay("");
  CAPTURE(again.output);
  REQUIRE(again.exit_code == 0);
  for (const char* name : {"sweep.csv", "sweep.md", "sweep.html", "charts/sweep_time.svg",
                           "sweep/60000/comparison.csv", "sweep/60000/memo.md"})
    CHECK(bytes_of(folder / "again/small" / name) == bytes_of(results / name));
  CHECK(replay(" --json").output.find("\"crossovers\"") != std::string::npos);

  const Outcome shown = program("show " + quoted(results));
  CHECK(shown.exit_code == 0);
  CHECK(outcome.output.find(shown.output) == 0);
  const std::string markdown = bytes_of(results / "sweep.md");
  fs::remove(results / "sweep.md");
  CHECK(program("memo " + quoted(results)).exit_code == 0);
  CHECK(bytes_of(results / "sweep.md") == markdown);

  fs::remove_all(results / "sweep/60000");
  const Outcome partial = replay("");
  CHECK(partial.exit_code == 0);
  CHECK(partial.output.find("Not measured: workload.triangles = 60,000.") != std::string::npos);
  fs::remove_all(results / "sweep");
  const Outcome none = replay("");
  CHECK(none.exit_code == 2);
  CHECK(none.output.find("measurements of none of the sizes") != std::string::npos);
}

TEST_CASE("a sweep over what is not measured measures once, and says up to where it pays") {
  const TestFolder folder;
  const fs::path file = folder.write("small.toml", small_scenario);
  const Outcome outcome =
      program("sweep " + quoted(file) + " --over 'target[2].price=1 USD/h,1000 USD/h' --out "
              + quoted(folder.path()));
  CAPTURE(outcome.output);
  REQUIRE(outcome.exit_code == 0);
  const fs::path cheap = folder / "small/sweep/1USD_per_h",
                 dear = folder / "small/sweep/1000USD_per_h";
  const auto samples = [](const fs::path& results) {
    const std::string csv = bytes_of(results / "measurements.csv");
    return csv.substr(csv.find(",openmp,total,"), 300);
  };
  CHECK(samples(cheap) == samples(dear));
  CHECK(bytes_of(cheap / "comparison.csv") != bytes_of(dear / "comparison.csv"));
  CHECK(outcome.output.find("cheaper up to") != std::string::npos);
}

TEST_CASE("a sweep that is interrupted keeps the sizes that are finished and names the others") {
  const TestFolder folder;
  const fs::path file = folder.write("small.toml", small_scenario);
  const fs::path results = folder / "small";
  const Outcome outcome =
      shell(quoted(fs::path(BREAKEVEN_BINARY_DIR) / "breakeven") + " sweep " + quoted(file)
            + " --over workload.triangles=50_000,60_000,70_000 --out " + quoted(folder.path())
            + " & while kill -0 $! && [ ! -e " + quoted(results / "sweep.csv")
            + " ]; do sleep 0.05; done; kill -TERM $!; wait $!");
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 1);
  CHECK(outcome.output.find("interrupted; not measured: workload.triangles = 60_000, 70_000")
        != std::string::npos);
  CHECK(outcome.output.find("Not measured: workload.triangles = 60,000 and 70,000.")
        != std::string::npos);
  CHECK(fs::exists(results / "sweep/50000/memo.html"));
  CHECK_FALSE(fs::exists(results / "sweep/60000"));
  CHECK(lines_in(bytes_of(results / "sweep.csv")) == 4);
}

TEST_CASE("results that cannot be written exit with 1") {
  const TestFolder folder;
  const fs::path file = folder.write("small.toml", small_scenario);
  folder.write("blocked", "a file where a folder should be");
  const Outcome outcome = program("run " + quoted(file) + " --out " + quoted(folder / "blocked"));
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 1);
  CHECK(lines_in(outcome.output) == 1);
}

TEST_CASE("a result folder that is not one exits with 2") {
  const TestFolder folder;
  CHECK(program("memo " + quoted(folder.path())).exit_code == 2);
  CHECK(program("show " + quoted(folder / "nowhere")).exit_code == 2);
  folder.write("comparison.csv", "study,title\n\"unclosed");
  CHECK(program("memo " + quoted(folder.path())).exit_code == 2);
}
