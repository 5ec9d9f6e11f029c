// Cuts and bins against their definitions.
#include "tests/risk/gbdt_examples.h"
#include "workloads/risk/binned.h"

#include <doctest/doctest.h>
#include <omp.h>

using namespace breakeven::risk;
using namespace breakeven::risk::gbdt_examples;

namespace {

Table column(std::vector<float> values) {
  Table table{static_cast<std::int64_t>(values.size()), 1, std::move(values), {}};
  table.labels.assign(table.values.size(), 0);
  return table;
}

std::vector<float> cuts_of(std::vector<float> values, int bins) {
  const Table table = column(std::move(values));
  return quantile_cuts(rows_of(table), bins).of_feature.front();
}

} // namespace

TEST_CASE("few distinct values have a cut each") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(cuts_of({3, 1, 2, 2, 3, 1}, most_bins) == std::vector<float>{2, 3});
  CHECK(cuts_of({3, nan, 2, nan}, most_bins) == std::vector<float>{3});
  CHECK(cuts_of({-0.0f, 0.0f, 1}, most_bins) == std::vector<float>{1});
  CHECK(cuts_of({-1, -2, 5, -3e30f}, 4) == std::vector<float>{-2, -1, 5});
  CHECK(cuts_of({7, 7, 7}, most_bins).empty());
  CHECK(cuts_of({nan, nan}, most_bins).empty());
}

TEST_CASE("many distinct values are cut at quantiles") {
  std::vector<float> values;
  for (int i = 0; i < 10'000; ++i)
    values.push_back(static_cast<float>((i * 7919) % 10'000));
  const std::vector<float> cuts = cuts_of(values, 100);
  REQUIRE(cuts.size() == 99);
  for (std::size_t i = 0; i < cuts.size(); ++i)
    CHECK(cuts[i] == static_cast<float>((i + 1) * 100));
}

TEST_CASE("a value that most rows have takes one bin") {
  std::vector<float> values(1000, 0);
  for (int i = 0; i < 300; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
  const std::vector<float> cuts = cuts_of(values, 10);
  CHECK(std::is_sorted(cuts.begin(), cuts.end()));
  CHECK(std::adjacent_find(cuts.begin(), cuts.end()) == cuts.end());
  CHECK(cuts.front() > 0);
}

TEST_CASE("a sample of many rows has nearly the quantiles of all") {
  // Values rise with the row, so a sample of one end would be far off.
  Rows rows;
  rows.count = 1'000'000;
  rows.feature_names = {"row"};
  rows.read = [](std::int64_t begin, std::int64_t end, float* values, std::uint8_t* labels) {
    for (std::int64_t row = begin; row < end; ++row) {
      values[row - begin] = static_cast<float>(row);
      labels[row - begin] = 0;
    }
  };
  const std::vector<float> cuts = quantile_cuts(rows, most_bins).of_feature.front();
  REQUIRE(cuts.size() == 254);
  for (std::size_t i = 0; i < cuts.size(); ++i)
    CHECK(static_cast<double>(cuts[i])
          == doctest::Approx(static_cast<double>(i + 1) * 1e6 / 255).epsilon(0.01));
}

TEST_CASE("bins hold the values from their cut on, row by row and feature by feature") {
  const int before = omp_get_max_threads();
  for (const int threads : {1, 2}) {
    omp_set_num_threads(threads);
    const Table table = table_of({2500, 11, 0.1}, 2);
    const Rows rows = rows_of(table);
    const Cuts cuts = quantile_cuts(rows, 40);
    const BinnedRows found = binned(rows, cuts);
    CHECK(found.row_bytes == 16);
    CHECK(found.labels == table.labels);
    std::int64_t wrong = 0, missing = 0;
    for (std::int64_t row = 0; row < table.rows; ++row)
      for (int feature = 0; feature < table.features; ++feature) {
        const float value = table.values[static_cast<std::size_t>(row * 11 + feature)];
        const auto& of_feature = cuts.of_feature[static_cast<std::size_t>(feature)];
        const auto expected = static_cast<std::uint8_t>(
            std::upper_bound(of_feature.begin(), of_feature.end(), value) - of_feature.begin());
        const std::uint8_t bin = std::isnan(value) ? missing_bin : expected;
        missing += std::isnan(value);
        wrong += found.row(row)[feature] != bin || found.feature(feature)[row] != bin;
      }
    CHECK(wrong == 0);
    CHECK(missing > 0);
    CHECK(std::count(found.has_missing.begin(), found.has_missing.end(), true) == 11);
  }
  omp_set_num_threads(before);
}
