// Boosted trees of the GPU side's source on the host against those of the CPU, to the bit.
#include "sim/errors.h"
#include "tests/risk/gbdt_examples.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/risk/gbdt_score.h"
#include "workloads/risk/gbdt_paths.h"

#include <doctest/doctest.h>

#include <cstring>

using namespace breakeven;
using namespace breakeven::risk;
using namespace breakeven::risk::gbdt_examples;

namespace {

constexpr auto train_on = {on_host::train_gbdt, on_serial::train_gbdt};
constexpr auto score_on = {on_host::score_gbdt, on_serial::score_gbdt};

/// An example's rows, other rows of its kind, and the bins of both.
struct Binned {
  explicit Binned(const Example& example)
      : table(table_of(example.shape, 3)),
        other(table_of({150, example.shape.features, 0.1}, 4)),
        rows(rows_of(table)),
        validation_rows(rows_of(other)),
        cuts(quantile_cuts(rows, example.bins)),
        bins(binned(rows, cuts)),
        validation(binned(validation_rows, cuts)) {}
  Table table, other;
  Rows rows, validation_rows;
  Cuts cuts;
  BinnedRows bins, validation;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

} // namespace

TEST_CASE("trees are the same on both paths for every kind of table and parameters") {
  for (const Example& example : examples()) {
    CAPTURE(example.name);
    const Binned data(example);
    const Training expected =
        train_gbdt_openmp(data.bins, data.cuts, example.parameters, &data.validation);
    for (const auto& train : train_on) {
      imaging::Memory memory = imaging::host_memory();
      const GpuTraining found =
          train(data.bins, data.cuts, example.parameters, &data.validation, memory, 0);
      CHECK(found.training.model.trees == expected.model.trees);
      CHECK(found.training.validation_losses == expected.validation_losses);
      CHECK(found.counts.streamed_bytes == 0);
      CHECK(memory.in_use_bytes == 0);
    }
  }
}

TEST_CASE("trees of more rows than a tile has are the same on both paths") {
  const Table table = table_of({9000, 17, 0.05}, 5);
  GbdtParameters parameters = parameters_of(2, 5);
  const Rows rows = rows_of(table);
  const Cuts cuts = quantile_cuts(rows, most_bins);
  const BinnedRows bins = binned(rows, cuts);
  for (const float share : {1.0f, 0.8f}) {
    parameters.row_share = share;
    imaging::Memory memory = imaging::host_memory();
    CHECK(on_host::train_gbdt(bins, cuts, parameters, nullptr, memory).training.model.trees
          == train_gbdt_openmp(bins, cuts, parameters).model.trees);
  }
}

TEST_CASE("trees are the same where bins are copied in several pieces") {
  // Trees are grown on a few rows, but all go down them and are drawn for later ones.
  const Table table = table_of({400'000, 17, 0.05}, 8);
  GbdtParameters parameters = parameters_of(4, 3);
  parameters.row_share = 0.003f;
  const Rows rows = rows_of(table);
  const Cuts cuts = quantile_cuts(rows, 32);
  const BinnedRows bins = binned(rows, cuts);
  const Training expected = train_gbdt_openmp(bins, cuts, parameters, &bins);
  imaging::Memory memory = imaging::host_memory();
  const Training found = on_host::train_gbdt(bins, cuts, parameters, &bins, memory).training;
  CHECK(found.model.trees == expected.model.trees);
  CHECK(found.validation_losses == expected.validation_losses);
}

TEST_CASE("bins that do not fit are copied for each pass: the same trees in less memory") {
  double share_of_bins = 0.8;
  for (const Example& example : examples()) {
    CAPTURE(example.name);
    const Binned data(example);
    const Training expected =
        train_gbdt_openmp(data.bins, data.cuts, example.parameters, &data.validation);
    const GbdtGpuMemory needed = gbdt_gpu_memory(data.bins.count, data.bins.features,
                                                 data.validation.count, example.parameters);
    // Ten chunks or eighty, in turn, of which three stay and the others come for each pass.
    share_of_bins = share_of_bins > 0.5 ? 0.1 : 0.8;
    const double most_bytes = needed.rows + needed.nodes + share_of_bins * needed.bins;
    imaging::Memory memory = imaging::host_memory();
    const GpuTraining found = on_host::train_gbdt(data.bins, data.cuts, example.parameters,
                                                  &data.validation, memory, most_bytes);
    CHECK(found.training.model.trees == expected.model.trees);
    CHECK(found.training.validation_losses == expected.validation_losses);
    CHECK(found.counts.streamed_bytes > 0);
    CHECK(memory.in_use_bytes == 0);
  }
}

TEST_CASE("margins of scored rows are those of the CPU to the bit, whatever a chunk is") {
  for (const TableShape& shape :
       {TableShape{700, 7, 0.2}, TableShape{300, 96}, TableShape{260, 120, 0.1}}) {
    CAPTURE(shape.features);
    const Table table = table_of(shape, 6);
    const Rows rows = rows_of(table);
    const Cuts cuts = quantile_cuts(rows, 32);
    Gbdt model = train_gbdt_openmp(binned(rows, cuts), cuts, parameters_of(5, 4)).model;
    model.feature_names = rows.feature_names;
    model.base_margin = -0.3f;
    std::vector<float> expected(table.labels.size()), found(expected.size());
    find_margins(model, rows, expected);
    for (const auto& score : score_on)
      for (const std::int64_t chunk_rows : {0, 1000, 128, 37}) {
        CAPTURE(chunk_rows);
        std::fill(found.begin(), found.end(), 99.0f);
        imaging::Memory memory = imaging::host_memory();
        const std::vector<Phase> phases = score(model, rows, found, memory, chunk_rows);
        CHECK(same_bits(found, expected));
        CHECK(memory.in_use_bytes == 0);
        REQUIRE(phases.size() == 2);
        CHECK(phases[1].name == "score");
        CHECK(phases[1].kernel_s > 0);
        CHECK(phases[1].kernel_s <= phases[1].end_to_end_s);
      }
  }
}

TEST_CASE("no rows and no trees are scored too") {
  const Table table = table_of({50, 3}, 7);
  Rows rows = rows_of(table);
  Gbdt model;
  model.feature_names = rows.feature_names;
  model.base_margin = 0.25f;
  std::vector<float> margins(50);
  imaging::Memory memory = imaging::host_memory();
  on_host::score_gbdt(model, rows, margins, memory);
  CHECK(margins == std::vector<float>(50, 0.25f));
  rows.count = 0;
  on_host::score_gbdt(model, rows, {}, memory);
  CHECK(memory.in_use_bytes == 0);
}
