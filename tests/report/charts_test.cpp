#include "sim/errors.h"
#include "sim/report/axis.h"
#include "sim/report/charts.h"
#include "sim/report/labels.h"
#include "tests/report/example_rows.h"
#include "tests/report/support.h"

#include <cstdlib>

using namespace breakeven;

namespace {

/// PATH for the length of a test.
class PathVariable {
public:
  explicit PathVariable(const std::string& value) : before_(std::getenv("PATH")) {
    setenv("PATH", value.c_str(), 1);
  }
  ~PathVariable() { setenv("PATH", before_.c_str(), 1); }

private:
  std::string before_;
};

bool overlap(const Box& a, const Box& b) {
  return a.left < b.right && b.left < a.right && a.bottom < b.top && b.bottom < a.top;
}

} // namespace

TEST_CASE("the same rows give the same drawing, without the version of gnuplot in it") {
  const auto rows = example::comparisons();
  CHECK((time_chart(rows) == time_chart(rows)));
  CHECK((cost_chart(rows) == cost_chart(rows)));
  CHECK_FALSE(contains(time_chart(rows), "GNUPLOT"));
}

TEST_CASE("both charts name every machine that they draw, the deadline and the kinds of point") {
  const auto rows = example::comparisons();
  const std::string time = time_chart(rows), cost = cost_chart(rows);
  for (const char* text : {"aws:c6i.32xlarge", "aws:p4de.24xlarge spot", "2 x aws:c7a.48xlarge",
                           "deadline 2 h", "baseline", "GPU spot", "GPU on-demand"}) {
    CHECK(contains(time, text));
    CHECK(contains(cost, text));
  }
  CHECK(contains(time, "local-gpu"));
  CHECK_FALSE(contains(cost, "local-gpu"));
  CHECK_FALSE(contains(time, "GT4.4XLARGE96"));
  CHECK(contains(time, "(logarithmic)"));
}

TEST_CASE("a narrow range of times is drawn on a linear axis from zero") {
  CHECK_FALSE(seconds_axis(100, 700).logarithmic);
  CHECK(seconds_axis(100, 700).from == 0);
  CHECK(contains(seconds_axis(100, 700).marks, "\"2 min\" 120"));
  CHECK(seconds_axis(100, 900).logarithmic);
  CHECK(contains(amount_axis(0.02, 30).marks, "\"0.1\" 0.1"));
}

TEST_CASE("names are placed inside the frame and cover neither each other nor a point") {
  const Box frame{80, 50, 840, 480};
  std::vector<NamedPoint> points;
  for (int i = 0; i < 12; ++i) {
    const double x = 120 + 30 * (i % 4), y = 200 + 22 * (i / 4);
    points.push_back({"aws:p4de.24xlarge spot", x, y, {x - 20, y - 20, x + 20, y + 20}});
  }
  const auto labels = place_labels(points, frame, 11);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const Box& box = labels[i].box;
    CHECK((box.left >= frame.left && box.right <= frame.right));
    CHECK((box.bottom >= frame.bottom && box.top <= frame.top));
    for (std::size_t j = 0; j < labels.size(); ++j) {
      if (i != j) CHECK_FALSE(overlap(box, labels[j].box));
      const NamedPoint& point = points[j];
      CHECK_FALSE(overlap(box, {point.x - 3, point.y - 3, point.x + 3, point.y + 3}));
    }
  }
}

TEST_CASE("without gnuplot the charts fail with the package to install") {
  const PathVariable nowhere("/nonexistent");
  CHECK_THROWS_WITH_AS(time_chart(example::comparisons()), doctest::Contains("gnuplot-nox"),
                       Failure);
}

TEST_CASE("when gnuplot fails, its own message is passed on") {
  const TestFolder folder;
  const auto program = folder.write("gnuplot", "#!/bin/sh\necho 'no such terminal' >&2\nexit 3\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const PathVariable fake(folder.path().string() + ":/bin:/usr/bin");
  CHECK_THROWS_WITH_AS(cost_chart(example::comparisons()), doctest::Contains("no such terminal"),
                       Failure);
}

TEST_CASE("drawing leaves no temporary files behind") {
  const auto count = [] {
    long found = 0;
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::temp_directory_path()))
      found += contains(entry.path().filename().string(), "breakeven-chart-");
    return found;
  };
  const long before = count();
  time_chart(example::comparisons());
  CHECK(count() <= before);
}

TEST_CASE("the chart of phases has a bar for the baseline and for each GPU machine with a time") {
  const auto rows = example::comparisons();
  const std::string chart = phase_chart(rows, example::phases());
  CHECK((phase_chart(rows, example::phases()) == chart));
  for (const char* text : {"aws:c6i.32xlarge (baseline)", "aws:g5.xlarge", "aws:g4dn.xlarge",
                           "encode (CPU)", "intersect (GPU)", "22 s", "6.5 s"})
    CHECK(contains(chart, text));
  CHECK_FALSE(contains(chart, "p5.48xlarge"));
  CHECK_FALSE(contains(chart, "cold start"));
  CHECK(contains(phase_chart(rows, {}), "No machine has the times of its phases."));
}
