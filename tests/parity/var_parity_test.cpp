// The GPU side's VaR kernels, on both host back ends, against the OpenMP side: the same profits of
// every path and the same tail, to the bit. The OpenMP side is held to closed forms in tests/risk.
#include "workloads/risk/var_portfolio.h"
#include "workloads/risk/var_result.h"
#include "workloads/risk/var_work.h"

#include <doctest/doctest.h>
#include <omp.h>

using namespace breakeven;
using namespace breakeven::risk;

namespace {

struct GpuSource {
  const char* name;
  decltype(&on_host::var_profits) profits;
  decltype(&on_host::var) run;
};
const GpuSource gpu_sources[] = {{"host", on_host::var_profits, on_host::var},
                                 {"serial", on_serial::var_profits, on_serial::var}};

VarBook book_of(int factors, int positions, double equity_share, const VarSettings& settings) {
  PortfolioSettings portfolio;
  portfolio.factors = factors;
  portfolio.positions = positions;
  portfolio.sectors = factors < 3 ? 1 : 3;
  portfolio.equity_share = equity_share;
  portfolio.seed = static_cast<std::uint64_t>(factors + positions);
  return make_book(built_in_portfolio(portfolio, "book.toml"), settings, "book.toml");
}

void check_same_profits(const VarBook& book, std::int64_t first_path, std::int64_t paths,
                        std::int64_t chunk_paths) {
  const auto count = static_cast<std::size_t>(paths);
  std::vector<std::int64_t> expected(count), profits(count);
  openmp_var_profits(book, 42, first_path, paths, expected.data());
  for (const GpuSource& source : gpu_sources) {
    CAPTURE(source.name);
    source.profits(book, 42, first_path, paths, chunk_paths, profits.data());
    CHECK(profits == expected);
  }
}

void check_same_work(const Work& a, const Work& b) {
  CHECK(a.lane_instructions == b.lane_instructions);
  CHECK(a.fp32_flops == b.fp32_flops);
  CHECK(a.dram_bytes == b.dram_bytes);
  CHECK(a.launches == b.launches);
}

const Phase& phase_named(const VarRun& run, const std::string& name) {
  for (const Phase& phase : run.phases)
    if (phase.name == name) return phase;
  FAIL("no phase " << name);
  return run.phases.front();
}

} // namespace

// One factor, a tile less, just and more, a group of four tiles and more, more columns than a
// stage; no option, less and more than a stage of them.
TEST_CASE("kernels in tiles and stages give the CPU's profits for all sizes of book") {
  struct Size {
    int factors, positions;
    double equity_share;
  };
  for (const Size& size : {Size{1, 1, 1}, Size{1, 140, 0}, Size{7, 9, 0.5}, Size{8, 30, 1},
                           Size{9, 129, 0}, Size{33, 300, 0.3}, Size{70, 80, 0.3}}) {
    CAPTURE(size.factors);
    CAPTURE(size.positions);
    check_same_profits(book_of(size.factors, size.positions, size.equity_share, {}), 0, 150, 150);
  }
}

TEST_CASE("any division of the paths into chunks gives the CPU's profits") {
  const VarBook book = book_of(11, 40, 0.3, {});
  for (const std::int64_t paths : {1, 31, 129, 300})
    for (const std::int64_t chunk : {1, 64, 257}) {
      if (paths > 31 && chunk == 1) continue;
      CAPTURE(paths);
      CAPTURE(chunk);
      check_same_profits(book, 0, paths, chunk);
    }
  check_same_profits(book, (std::int64_t{1} << 32) - 70, 140, 50);
}

TEST_CASE("long horizons and deep options give the same profits") {
  VarSettings settings;
  settings.horizon_days = 500;
  Portfolio portfolio;
  portfolio.market.factors = {{100, 0.9, 0.3}, {3, 0.1, -0.2}};
  portfolio.market.correlation = {1, -0.4, -0.4, 1};
  portfolio.market.rate = 0.1;
  for (const double strike : {0.5, 3.0, 90.0, 2000.0})
    for (const double maturity_years : {1.985, 3.0, 50.0})
      for (const int factor : {0, 1})
        for (const PositionKind kind : {PositionKind::call, PositionKind::put})
          portfolio.positions.push_back(
              {factor, kind, factor == 0 ? -3.5 : 20, strike, maturity_years});
  check_same_profits(make_book(portfolio, settings, "book.toml"), 0, 1000, 400);
}

TEST_CASE("a run gives the same tail and figures on every path, and its work by its sizes") {
  VarSettings settings;
  settings.paths = 3001;
  settings.seed = 7;
  const VarBook book = book_of(12, 50, 0.3, settings);
  const VarRun expected = openmp_var(book, settings);
  for (const int threads : {1, 2, 3}) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    for (const GpuSource& source : gpu_sources) {
      CAPTURE(source.name);
      const VarRun run = source.run(book, settings);
      CHECK(run.tail.worst_profits == expected.tail.worst_profits);
      CHECK(run.tail.sum == expected.tail.sum);
      CHECK(checksum_of(run.tail) == checksum_of(expected.tail));
      check_same_work(phase_named(run, "scenarios").work, scenarios_work(book, settings.paths));
      check_same_work(phase_named(run, "quantiles").work,
                      quantiles_work(settings.paths, worst_paths_needed(settings)));
      CHECK(phase_named(run, "transfer").work.host_to_device_bytes > 0);
    }
    omp_set_num_threads(before);
  }
}
