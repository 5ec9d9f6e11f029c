// Published times of XGBoost's GPU trainer against the projection of our own: szilard/GBM-perf,
// commit 0e9d8ad905f9, analysis/2024_updates/results.txt (2024-06; the V100 in results.txt),
// airline delays, 100 trees of depth 10, learning rate 0.1. Others' code, which met the eight
// columns as some 690 of zeros and ones with eight ones a row; ours meets eight columns. Its times
// contain quantiles and the compression of its table, which are the CPU's in ours and not here. So
// this says whether the projection is of the right size, not how good it is. One constant was
// chosen after a look at these rows, though not fitted to them: 64 bytes, not 32, for a row met by
// its number. Published over likely: 1.1 to 1.4 at 100,000 rows, where both are mostly the start of
// the process, 1.9 to 2.0 at a million, 1.8 to 2.5 at ten million.
#include "sim/project/calibration.h"
#include "sim/project/gpu_model.h"
#include "tests/risk/gbdt_examples.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/risk/gbdt_paths.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace breakeven;
using namespace breakeven::risk;

namespace {

const struct {
  const char* gpu;
  double rows, published_s;
} published[] = {
    {"V100-SXM2-16GB", 0.1e6, 0.661},
    {"V100-SXM2-16GB", 1e6, 1.37},
    {"V100-SXM2-16GB", 10e6, 5.017},
    {"A100-SXM4-40GB", 0.1e6, 0.735},
    {"A100-SXM4-40GB", 1e6, 1.259},
    {"A100-SXM4-40GB", 10e6, 3.755},
    {"A10G", 0.1e6, 0.843},
    {"A10G", 1e6, 1.663},
    {"A10G", 10e6, 5.463},
    {"A10", 0.1e6, 0.825},
    {"A10", 1e6, 1.693},
    {"A10", 10e6, 5.69},
};

constexpr std::int64_t counted_rows = 20'000;

/// One round on a few rows whose labels are half noise, so that trees grow as full as they may.
GbdtCounts counted() {
  using namespace gbdt_examples;
  const Table table = table_of({counted_rows, 8}, 1);
  const Rows rows = rows_of(table);
  const Cuts cuts = quantile_cuts(rows, most_bins);
  imaging::Memory memory = imaging::host_memory();
  return on_host::train_gbdt(binned(rows, cuts), cuts, parameters_of(1, 10), nullptr, memory)
      .counts;
}

/// With creating the context, as the published times of a fresh process have it.
Interval projected_s(const GbdtCounts& counts, const Gpu& gpu) {
  const Interval link = host_link_gb_per_s(gpu, Instance{});
  Interval sum = calibration::cold_start_s;
  for (const Phase& phase : gbdt_phases(counts, {}))
    sum = sum + project_on_gpu(phase.work, gpu, link).end_to_end_s;
  return sum;
}

} // namespace

TEST_CASE(
    "XGBoost's published times lie in the projection's interval, within 2.6 of its likely value") {
  const Catalog catalog =
      read_catalog(std::filesystem::path(BREAKEVEN_SOURCE_DIR) / "scenarios" / "catalog");
  const GbdtCounts run = counted();
  for (const auto& row : published) {
    const GbdtCounts job = scaled_to(run, counted_rows, row.rows, 1, 100);
    const Interval seconds = projected_s(job, *catalog.gpu(row.gpu));
    CAPTURE(std::string(row.gpu));
    CAPTURE(row.rows);
    CAPTURE(seconds.likely);
    CHECK(row.published_s >= seconds.low);
    CHECK(row.published_s <= seconds.high);
    CHECK(std::fabs(std::log(row.published_s / seconds.likely)) <= std::log(2.6));
  }
}
