// Boosted trees of the GPU side's source on the host against those of the CPU, to the bit.
#include "tests/risk/gbdt_examples.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/risk/gbdt_paths.h"

#include <doctest/doctest.h>

using namespace breakeven;
using namespace breakeven::risk;
using namespace breakeven::risk::gbdt_examples;

TEST_CASE("trees are the same on both paths for every kind of table and parameters") {
  for (const Example& example : examples()) {
    CAPTURE(example.name);
    const Table table = table_of(example.shape, 3),
                other = table_of({150, example.shape.features, 0.1}, 4);
    const Rows rows = rows_of(table), validation_rows = rows_of(other);
    const Cuts cuts = quantile_cuts(rows, example.bins);
    const BinnedRows bins = binned(rows, cuts), validation = binned(validation_rows, cuts);
    const Training expected = train_gbdt_openmp(bins, cuts, example.parameters, &validation);
    for (const auto& train : {on_host::train_gbdt, on_serial::train_gbdt}) {
      imaging::Memory memory = imaging::host_memory();
      const Training found = train(bins, cuts, example.parameters, &validation, memory);
      CHECK(found.model.trees == expected.model.trees);
      CHECK(found.validation_losses == expected.validation_losses);
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
    CHECK(on_host::train_gbdt(bins, cuts, parameters, nullptr, memory).model.trees
          == train_gbdt_openmp(bins, cuts, parameters).model.trees);
  }
}
