// What the GPU side counts as it trains and scores, and the memory it is predicted to take.
#include "sim/errors.h"
#include "tests/risk/gbdt_examples.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/risk/gbdt_paths.h"
#include "workloads/risk/gbdt_work.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace breakeven;
using namespace breakeven::risk;
using namespace breakeven::risk::gbdt_examples;

namespace {

struct CountedRun {
  GpuTraining run;
  double peak_bytes = 0;
};

CountedRun train(const Table& table, const Cuts& cuts, const GbdtParameters& parameters,
                 const Table* validation = nullptr, double most_bytes = 0) {
  imaging::Memory memory = imaging::host_memory();
  const BinnedRows bins = binned(rows_of(table), cuts);
  CountedRun counted;
  if (validation != nullptr) {
    const BinnedRows validation_bins = binned(rows_of(*validation), cuts);
    counted.run = on_host::train_gbdt(bins, cuts, parameters, &validation_bins, memory, most_bytes);
  } else {
    counted.run = on_host::train_gbdt(bins, cuts, parameters, nullptr, memory, most_bytes);
  }
  counted.peak_bytes = static_cast<double>(memory.peak_bytes);
  return counted;
}

/// Every row so many times, one copy of the table after the other.
Table repeated(const Table& table, int times) {
  Table all{table.rows * times, table.features, {}, {}};
  for (int i = 0; i < times; ++i) {
    all.values.insert(all.values.end(), table.values.begin(), table.values.end());
    all.labels.insert(all.labels.end(), table.labels.begin(), table.labels.end());
  }
  return all;
}

/// Splits stay what they are where every row counts twice.
GbdtParameters unregularised(int rounds, int depth) {
  GbdtParameters p = parameters_of(rounds, depth);
  p.l2 = 0;
  p.min_child_weight = 0;
  return p;
}

} // namespace

TEST_CASE("more nodes cost more to search, and no more rows") {
  GbdtCounts counts;
  counts.features = 4;
  counts.rows_summed = 100;
  counts.rounds = counts.levels = 2;
  counts.nodes_searched = 3;
  counts.node_features = 12;
  counts.pair_features = 4;
  const GbdtCounts more = with_nodes(counts, 5);
  CHECK(more.node_features == 60);
  CHECK(more.rows_summed == 100);
  CHECK(gbdt_splits_work(more).lane_instructions
        == doctest::Approx(5 * gbdt_splits_work(counts).lane_instructions));
  CHECK(with_nodes(counts, 1) == counts);
}

TEST_CASE("a tree of one split sums all rows once and sorts none") {
  const Table table = table_of({500, 6}, 1);
  const GbdtCounts c =
      train(table, quantile_cuts(rows_of(table), 64), parameters_of(3, 1)).run.counts;
  CHECK(c.rounds == 3);
  CHECK(c.levels == 3);
  CHECK(c.rows_summed == 3 * 500);
  CHECK(c.rows_in_order == 3 * 500);
  CHECK(c.row_features == 3 * 500 * 6);
  CHECK(c.row_words == 3 * 500 * 2); // six features are two words of four
  CHECK(c.row_groups == 3 * 500);
  CHECK(c.rows_sorted == 0);
  CHECK(c.gradient_rows == 3 * 500);
  CHECK(c.margin_rows == 3 * 500);
  CHECK(c.margin_splits == 3 * 500);
  CHECK(c.nodes_searched == 3);
  CHECK(c.node_features == 3 * 6);
  CHECK(c.pair_features == 0);
  CHECK(c.walk_steps == 0);
}

TEST_CASE("at most half of the rows are summed below the root, and each is sorted once a level") {
  const Table table = table_of({2000, 5}, 2);
  const GbdtCounts c =
      train(table, quantile_cuts(rows_of(table), 64), unregularised(1, 3)).run.counts;
  CHECK(c.levels == 3);
  CHECK(c.nodes_searched == 1 + 2 + 4);
  CHECK(c.pair_features == (1 + 2) * 5);
  CHECK(c.rows_sorted == 2 * 2000);
  CHECK(c.rows_summed > 2000);
  CHECK(c.rows_summed <= 2000 + 2 * 1000);
  CHECK(c.rows_in_order == 2000);
}

TEST_CASE("rows left out and validation rows go down each tree") {
  const Table table = table_of({800, 5}, 3), validation = table_of({100, 5}, 4);
  GbdtParameters parameters = parameters_of(2, 4);
  parameters.row_share = 0.5f;
  const GbdtCounts c =
      train(table, quantile_cuts(rows_of(table), 64), parameters, &validation).run.counts;
  CHECK(c.walked_rows == 2 * 800 - c.gradient_rows + 2 * 100);
  CHECK(c.walk_steps == 4 * c.walked_rows);
  CHECK(c.draws == 2 * 2 * 800);
}

TEST_CASE("counts of some rows and rounds tell those of more") {
  const Table table = table_of({900, 6, 0.05}, 5), three_times = repeated(table, 3);
  const Cuts cuts = quantile_cuts(rows_of(table), 32);
  const GbdtCounts some = train(table, cuts, unregularised(1, 4)).run.counts;
  CHECK(scaled_to(some, 900, 900, 1, 1) == some);
  const GbdtCounts all = train(three_times, cuts, unregularised(1, 4)).run.counts;
  const GbdtCounts predicted = scaled_to(some, 900, 2700, 1, 1);
  CHECK(predicted.rows == all.rows);
  CHECK(predicted.rows_summed == all.rows_summed);
  CHECK(predicted.row_features == all.row_features);
  CHECK(predicted.rows_sorted == all.rows_sorted);
  CHECK(predicted.margin_rows == all.margin_rows);
  CHECK(predicted.nodes_searched == all.nodes_searched);
  CHECK(predicted.launches == all.launches);
  CHECK(predicted.copies == all.copies);
  CHECK(std::fabs(predicted.tiles - all.tiles) <= 3); // none is whole yet
  const GbdtCounts rounds = scaled_to(some, 900, 900, 1, 10);
  CHECK(rounds.rows_summed == 10 * some.rows_summed);
  CHECK(rounds.nodes_searched == 10 * some.nodes_searched);
  CHECK(rounds.tiles == 10 * some.tiles);
  CHECK(rounds.rows == some.rows);
}

TEST_CASE("tiles grow with rows once there are many in a node") {
  const Table table = table_of({6000, 3}, 6), three_times = repeated(table, 3);
  const Cuts cuts = quantile_cuts(rows_of(table), 255);
  const GbdtParameters parameters = unregularised(1, 2);
  const GbdtCounts some = train(table, cuts, parameters).run.counts;
  const GbdtCounts all = train(three_times, cuts, parameters).run.counts;
  const GbdtCounts predicted = scaled_to(some, 6000, 18000, 1, 1);
  // Each node's last tile is somewhere between empty and whole, before and after.
  CHECK(std::fabs(predicted.tiles - all.tiles) <= 5);
  CHECK(std::fabs(predicted.tiles_summed - all.tiles_summed) <= 2);
  CHECK(predicted.flushed_bins == doctest::Approx(all.flushed_bins).epsilon(0.3));
}

TEST_CASE("phases of a training: what was copied in, and what was done there") {
  const Table table = table_of({1000, 9}, 7), validation = table_of({200, 9}, 8);
  const CountedRun counted =
      train(table, quantile_cuts(rows_of(table), 64), parameters_of(2, 4), &validation);
  const std::vector<Phase>& phases = counted.run.phases;
  REQUIRE(phases.size() == 3);
  CHECK(phases[0].name == "transfer");
  CHECK(phases[0].repeats == Repeats::per_job);
  CHECK(phases[0].work.host_to_device_bytes == 1200 * (16 + 1)); // nine features fill 16 bytes
  CHECK(phases[1].name == "histograms");
  CHECK(phases[2].name == "splits");
  for (const Phase& phase : phases) {
    CAPTURE(phase.name);
    CHECK(phase.processor == Processor::gpu);
    CHECK(phase.end_to_end_s > 0);
    CHECK(phase.work.simt_efficiency > 0);
    CHECK(phase.work.simt_efficiency <= 1);
  }
  CHECK(phases[1].repeats == Repeats::per_unit);
  CHECK(phases[1].work.count("row_features") == counted.run.counts.row_features);
  CHECK(phases[1].work.launches + phases[2].work.launches
        == counted.run.counts.launches + counted.run.counts.copies);
  // Nine features in three words of four.
  CHECK(phases[1].work.simt_efficiency < 1);
}

TEST_CASE("rows make the histograms dearer, not the splits") {
  GbdtCounts counts;
  counts.features = counts.rounds = counts.levels = 1;
  counts.rows_summed = counts.row_features = counts.row_words = counts.row_groups = 1e6;
  counts.node_features = counts.nodes_searched = 100;
  const GbdtCounts more = scaled_to(counts, 1, 10, 1, 1);
  CHECK(gbdt_histograms_work(more).lane_instructions
        > 9 * gbdt_histograms_work(counts).lane_instructions);
  CHECK(gbdt_splits_work(more).lane_instructions == gbdt_splits_work(counts).lane_instructions);
}

TEST_CASE("memory of the GPU side is predicted before it is taken") {
  const Table validation = table_of({3000, 20}, 9);
  struct Case {
    const char* name;
    TableShape shape;
    int depth;
    float row_share, column_share;
    bool has_validation;
  };
  for (const Case& c : {Case{"shallow", {30000, 20}, 3, 1, 1, false},
                        Case{"validation", {30000, 20}, 3, 1, 1, true},
                        Case{"drawn rows", {30000, 20}, 3, 0.7f, 1, false},
                        Case{"drawn columns", {30000, 20}, 3, 1, 0.5f, false},
                        Case{"mostly sums", {6000, 20}, 6, 1, 1, false}}) {
    CAPTURE(c.name);
    const Table table = table_of(c.shape, 10);
    GbdtParameters parameters = unregularised(1, c.depth);
    parameters.row_share = c.row_share;
    parameters.column_share = c.column_share;
    const double predicted = gbdt_memory_bytes(
        c.shape.rows, c.shape.features, c.has_validation ? 3000 : 0, parameters, Path::host, 1);
    const double peak = train(table, quantile_cuts(rows_of(table), 64), parameters,
                              c.has_validation ? &validation : nullptr)
                            .peak_bytes;
    CHECK(peak <= predicted * 1.001); // odds and ends of a few bytes
    CHECK(peak >= predicted * 0.95);
  }
}

TEST_CASE("training keeps within the memory it was given, and says where that cannot be") {
  const Table table = table_of({20000, 24}, 11);
  const Cuts cuts = quantile_cuts(rows_of(table), 64);
  const GbdtParameters parameters = parameters_of(1, 2);
  const GbdtGpuMemory needed = gbdt_gpu_memory(20000, 24, 0, parameters);
  CHECK(needed.rows == 20000 * 29);
  CHECK(needed.bins == 20000 * 24);
  for (const double share_of_bins : {0.9, 0.3}) {
    const double most_bytes = needed.rows + needed.nodes + share_of_bins * needed.bins;
    const CountedRun counted = train(table, cuts, parameters, nullptr, most_bytes);
    CHECK(counted.peak_bytes <= most_bytes * 1.001);
    CHECK(counted.run.counts.streamed_bytes > 0);
    // A pass to sum the root, to sort, to sum a child and to add values.
    CHECK(counted.run.counts.streamed_bytes <= 4 * needed.bins);
    CHECK(counted.run.phases[1].work.host_to_device_bytes >= counted.run.counts.streamed_bytes);
  }
  CHECK_THROWS_AS(train(table, cuts, parameters, nullptr, needed.rows), Failure);
}

TEST_CASE("the CPU path holds bins twice, and no sums for nodes that there are not") {
  GbdtParameters parameters = parameters_of(1, 6);
  const double bytes = gbdt_memory_bytes(1'000'000, 28, 0, parameters, Path::openmp, 2);
  // 32 + 28 bytes of bins, a label and 28 of state a row; then 32 nodes' sums of 28 x 256 x 16.
  CHECK(bytes >= 1e6 * (32 + 28 + 1 + 28) + 32.0 * 28 * 256 * 16);
  CHECK(bytes <= 1.01 * (1e6 * (32 + 28 + 1 + 28) + 32.0 * 28 * 256 * 16));
  parameters.depth = 40;
  CHECK(gbdt_memory_bytes(1000, 28, 0, parameters, Path::openmp, 2) < 1e9);
}

TEST_CASE("scoring is counted by the depth of its trees") {
  Gbdt model;
  model.feature_names = {"a", "b"};
  Tree stump(3);
  stump[0].feature = 0;
  stump[0].left = 1;
  model.trees = {stump, Tree(1), stump};
  CHECK(deepest_steps(model) == 2);
  const Work work = gbdt_score_work(model, 1000, 4);
  CHECK(work.dependent_accesses == 1000 * (2 + 3)); // and each tree's root
  CHECK(work.host_to_device_bytes == 1000 * 2 * 4 + 7 * 16);
  CHECK(work.device_to_host_bytes == 1000 * 4);
  CHECK(work.launches == 4);
}
