// Boosted trees on the CPU against the simplest code that grows the same trees, to the bit.
#include "tests/risk/gbdt_examples.h"
#include "workloads/risk/gbdt_paths.h"

#include <doctest/doctest.h>
#include <omp.h>

using namespace breakeven::risk;
using namespace breakeven::risk::gbdt_examples;

namespace {

GbdtParameters parameters(int rounds, int depth) {
  GbdtParameters p;
  p.rounds = rounds;
  p.depth = depth;
  return p;
}

} // namespace

TEST_CASE("trees are those of a search of every split, on any number of threads") {
  const int before = omp_get_max_threads();
  for (const Example& example : examples()) {
    CAPTURE(example.name);
    const Table table = table_of(example.shape, 3);
    const Rows rows = rows_of(table);
    const Cuts cuts = quantile_cuts(rows, example.bins);
    const std::vector<Tree> expected = ReferenceTrainer{table, cuts, example.parameters}.run();
    for (const int threads : {1, 2, 3}) {
      CAPTURE(threads);
      omp_set_num_threads(threads);
      const Training found = train_gbdt_openmp(binned(rows, cuts), cuts, example.parameters);
      CHECK(found.model.trees == expected);
    }
  }
  omp_set_num_threads(before);
}

TEST_CASE("sums of more rows than 32 bits hold are exact") {
  // The margin is as far as can be from the labels of every other row, whose gradients are the
  // largest there are.
  Table table{6 * rows_before_overflow + 17, 2, {}, {}};
  for (std::int64_t row = 0; row < table.rows; ++row) {
    table.values.push_back(static_cast<float>(row % 2));
    table.values.push_back(0);
    table.labels.push_back(static_cast<std::uint8_t>(row % 2));
  }
  GbdtParameters p = parameters(1, 1);
  p.base_margin = -80;
  p.min_child_weight = 0;
  const Rows rows = rows_of(table);
  const Cuts cuts = quantile_cuts(rows, most_bins);
  const Training found = train_gbdt_openmp(binned(rows, cuts), cuts, p);
  const std::vector<Tree> expected = ReferenceTrainer{table, cuts, p}.run();
  CHECK(found.model.trees == expected);
  REQUIRE(found.model.trees[0].size() == 3);
}

TEST_CASE("training stops at the lowest validation loss") {
  const Table table = table_of({600, 6}, 5), other = table_of({300, 6}, 6);
  GbdtParameters p = parameters(300, 6);
  p.learning_rate = 0.5f;
  p.early_stopping_rounds = 5;
  const Rows rows = rows_of(table), validation_rows = rows_of(other);
  const Cuts cuts = quantile_cuts(rows, most_bins);
  const BinnedRows validation = binned(validation_rows, cuts);
  const Training found = train_gbdt_openmp(binned(rows, cuts), cuts, p, &validation);
  const auto& losses = found.validation_losses;
  const auto lowest = std::min_element(losses.begin(), losses.end());
  CHECK(found.model.trees.size() == static_cast<std::size_t>(lowest - losses.begin()) + 1);
  CHECK(losses.size() == found.model.trees.size() + 5);
  CHECK(losses.size() < 300);
}

TEST_CASE("validation losses are the logistic loss of the margins") {
  const Table table = table_of({500, 6}, 7), other = table_of({200, 6, 0.1}, 8);
  GbdtParameters p = parameters(20, 4);
  p.learning_rate = 0.7f;
  const Rows rows = rows_of(table), validation_rows = rows_of(other);
  const Cuts cuts = quantile_cuts(rows, most_bins);
  const BinnedRows validation = binned(validation_rows, cuts);
  const Training found = train_gbdt_openmp(binned(rows, cuts), cuts, p, &validation);
  const ReferenceTrainer scorer{other, cuts, p};
  std::vector<double> margins(200, 0);
  for (std::size_t round = 0; round < 20; ++round) {
    double loss = 0;
    for (std::int64_t row = 0; row < 200; ++row) {
      const auto i = static_cast<std::size_t>(row);
      margins[i] += static_cast<double>(scorer.value_of(found.model.trees[round], row));
      loss += std::log1p(std::exp(other.labels[i] != 0 ? -margins[i] : margins[i]));
    }
    CHECK(found.validation_losses[round] == doctest::Approx(loss / 200).epsilon(1e-5));
  }
}

TEST_CASE("the shared exponential, probability and loss are near the library's") {
  for (double x = 0; x < 86; x += 0.0173) {
    CAPTURE(x);
    const auto value = static_cast<float>(x);
    CHECK(static_cast<double>(exp_of_negative(value))
          == doctest::Approx(std::exp(-static_cast<double>(value))).epsilon(1e-5));
    CHECK(static_cast<double>(probability_of(value))
          == doctest::Approx(1 / (1 + std::exp(-static_cast<double>(value)))).epsilon(3e-7));
    const double exact = std::log1p(std::exp(-static_cast<double>(value)));
    CHECK(std::fabs(static_cast<double>(log_of_one_and_exp(value)) - exact) <= 2e-7);
  }
  CHECK(probability_of(0) == 0.5f);
  CHECK(probability_of(1000) == 1.0f);
  CHECK(probability_of(-1000) == 0.0f);
}

TEST_CASE("rows and columns are drawn in their shares") {
  std::int64_t drawn = 0;
  for (std::int64_t row = 0; row < 100'000; ++row)
    drawn += row_is_drawn(7, share_of_2_32(0.3f), 5, row);
  CHECK(drawn == doctest::Approx(30'000).epsilon(0.02));
  GbdtParameters p;
  p.column_share = 0.25f;
  CHECK(drawn_columns(40, p, 3).size() == 10);
  CHECK(drawn_columns(40, p, 3) != drawn_columns(40, p, 4));
  CHECK(drawn_columns(1, p, 0) == std::vector<std::int32_t>{0});
  p.column_share = 1;
  CHECK(drawn_columns(5, p, 0) == std::vector<std::int32_t>{0, 1, 2, 3, 4});
}
