// The network's input, arithmetic and training on the CPU against double precision, and what its
// precisions cost in quality.
#include "tests/risk/mlp_examples.h"
#include "tests/risk/real_data.h"
#include "workloads/imaging/unet.h"
#include "workloads/risk/metrics.h"
#include "workloads/risk/mlp_train.h"
#include "workloads/risk/mlp_work.h"
#include "workloads/risk/table_csv.h"
#include "workloads/risk/transactions.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <limits>
#include <set>

using namespace breakeven;
using namespace breakeven::risk;
using namespace breakeven::risk::mlp_examples;

namespace {

constexpr MlpPrecision precisions[] = {MlpPrecision::fp32, MlpPrecision::bf16, MlpPrecision::fp16};
constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

template <class Function>
void on_threads(std::initializer_list<int> numbers, Function function) {
  const int before = omp_get_max_threads();
  for (const int threads : numbers) {
    omp_set_num_threads(threads);
    CAPTURE(threads);
    function();
  }
  omp_set_num_threads(before);
}

/// The value on a grid of 2^-digits of its own power of two that is nearest, halves to even.
float nearest(double value, int digits, int least_exponent) {
  int exponent = 0;
  std::frexp(value, &exponent);
  const double unit = std::ldexp(1.0, std::max(exponent, least_exponent) - digits);
  return static_cast<float>(std::nearbyint(value / unit) * unit);
}

double auc_of(const Mlp& model, const Rows& rows) {
  std::vector<float> margins(static_cast<std::size_t>(rows.count));
  std::vector<std::uint8_t> labels(margins.size());
  std::vector<float> values(margins.size() * static_cast<std::size_t>(rows.features()));
  rows.read(0, rows.count, values.data(), labels.data());
  find_margins(model, rows, margins);
  return ranking_quality(margins, labels).auc;
}

} // namespace

// ---- formats ----

TEST_CASE("every 16-bit number keeps its bits, and what lies half way goes to the even one") {
  for (std::uint32_t i = 0; i < 0x7F80; ++i) {
    const Bf16 low{static_cast<std::uint16_t>(i)}, high{static_cast<std::uint16_t>(i + 1)};
    REQUIRE(stored_as<Bf16>(value_of(low)).bits == i);
    REQUIRE(stored_as<Bf16>(-value_of(low)).bits == (i | 0x8000));
    const float middle = float_of((i << 16) + 0x8000);
    REQUIRE(stored_as<Bf16>(middle).bits == (i % 2 == 0 ? low : high).bits);
    REQUIRE(stored_as<Bf16>(float_of((i << 16) + 0x7FFF)).bits == low.bits);
    REQUIRE(stored_as<Bf16>(float_of((i << 16) + 0x8001)).bits == high.bits);
  }
  for (std::uint32_t i = 0; i < 0x7C00; ++i) {
    const Fp16 low{static_cast<std::uint16_t>(i)}, high{static_cast<std::uint16_t>(i + 1)};
    const float value = value_of(low);
    REQUIRE(stored_as<Fp16>(value).bits == i);
    REQUIRE(stored_as<Fp16>(-value).bits == (i | 0x8000));
    const float above = i == 0x7BFF ? 65536.0f : value_of(high);
    const float middle = (value + above) / 2;
    REQUIRE(stored_as<Fp16>(middle).bits == (i % 2 == 0 ? low : high).bits);
    REQUIRE(stored_as<Fp16>(std::nextafter(middle, 0.0f)).bits == low.bits);
    REQUIRE(stored_as<Fp16>(std::nextafter(middle, infinity)).bits == high.bits);
  }
}

TEST_CASE("known numbers round to known bits") {
  CHECK(stored_as<Bf16>(1.0f).bits == 0x3F80);
  CHECK(stored_as<Bf16>(3.14159265f).bits == 0x4049);
  CHECK(stored_as<Bf16>(3.4e38f).bits == 0x7F80); // above the largest, 3.39e38
  CHECK(stored_as<Bf16>(-infinity).bits == 0xFF80);
  CHECK(stored_as<Bf16>(float_of(1)).bits == 0); // the least float
  CHECK(std::isnan(rounded_to<Bf16>(nan_value)));
  CHECK(std::isnan(rounded_to<Bf16>(float_of(0x7F800001)))); // whose upper half says infinite
  CHECK(stored_as<Fp16>(1.0f).bits == 0x3C00);
  CHECK(stored_as<Fp16>(-2.0f).bits == 0xC000);
  CHECK(stored_as<Fp16>(3.14159265f).bits == 0x4248);
  CHECK(stored_as<Fp16>(65504.0f).bits == 0x7BFF);
  CHECK(stored_as<Fp16>(65519.0f).bits == 0x7BFF);
  CHECK(stored_as<Fp16>(65520.0f).bits == 0x7C00);
  CHECK(stored_as<Fp16>(-1e30f).bits == 0xFC00);
  CHECK(stored_as<Fp16>(0x1p-24f).bits == 0x0001);
  CHECK(stored_as<Fp16>(0x1p-25f).bits == 0x0000);
  CHECK(stored_as<Fp16>(-0x1.8p-24f).bits == 0x8002);
  CHECK(stored_as<Fp16>(0x1p-14f).bits == 0x0400);
  CHECK(std::isnan(value_of(stored_as<Fp16>(nan_value))));
  CHECK(value_of(Fp16{0x7C00}) == infinity);
  CHECK(value_of(Fp16{0xFC00}) == -infinity);
}

TEST_CASE("any float rounds to the nearest, as double precision and another rounding have it") {
  gbdt_examples::Random random{3};
  for (int i = 0; i < 200'000; ++i) {
    const float value = float_of(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    CAPTURE(value);
    const float bf16 = nearest(static_cast<double>(value), 8, -125);
    const float fp16 = nearest(static_cast<double>(value), 11, -13);
    REQUIRE(bits_of(rounded_to<Bf16>(value)) == bits_of(bf16));
    REQUIRE(bits_of(rounded_to<Fp16>(value))
            == bits_of(std::fabs(fp16) > 65504 ? std::copysign(infinity, value) : fp16));
    REQUIRE(stored_as<Fp16>(value).bits == imaging::half_bits(value));
    REQUIRE(bits_of(value_of(stored_as<Fp16>(value))) == bits_of(rounded_to<Fp16>(value)));
    REQUIRE(bits_of(value_of(stored_as<Bf16>(value))) == bits_of(rounded_to<Bf16>(value)));
  }
}

// ---- order, Adam, the scale of the loss ----

TEST_CASE("an epoch meets every row once, in an order of its own") {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 16, 17, 1000, 4096, 4097}) {
    CAPTURE(rows);
    std::set<std::int64_t> met;
    std::int64_t in_place = 0, as_before = 0;
    const RowOrder order = row_order(7, 0, rows), next = row_order(7, 1, rows);
    for (std::int64_t place = 0; place < rows; ++place) {
      met.insert(row_at(order, place));
      in_place += row_at(order, place) == place;
      as_before += row_at(order, place) == row_at(next, place);
    }
    CHECK(static_cast<std::int64_t>(met.size()) == rows);
    CHECK(*met.begin() == 0);
    CHECK(*met.rbegin() == rows - 1);
    if (rows >= 1000) {
      CHECK(in_place < 10); // 1 is to be expected
      CHECK(as_before < 10);
    }
  }
  const std::int64_t most = 0xFFFF'FFFF;
  const std::int64_t row = row_at(row_order(1, 0, most), most - 1);
  CHECK((row >= 0 && row < most));
}

TEST_CASE("places near each other are rows far apart") {
  // Correlation of a place with its row, and the mean distance of neighbours, which is a third of
  // the rows in a random order.
  const std::int64_t rows = 100'000;
  const RowOrder order = row_order(3, 2, rows);
  double product = 0, distance = 0;
  for (std::int64_t place = 0; place + 1 < rows; ++place) {
    const auto row = static_cast<double>(row_at(order, place));
    product += (static_cast<double>(place) / rows - 0.5) * (row / rows - 0.5);
    distance += std::fabs(row - static_cast<double>(row_at(order, place + 1)));
  }
  CHECK(std::fabs(product / rows * 12) < 0.02);
  CHECK(distance / rows / rows == doctest::Approx(1.0 / 3).epsilon(0.02));
}

TEST_CASE("steps of Adam are those of double precision") {
  const StepRules rules{0.01f, 0.9f, 0.999f, 1e-8f, 0.1f, false, 0.01};
  StepState state = first_state(rules);
  float weight = 0.7f, mean = 0, square = 0, bias = 0.7f, bias_mean = 0, bias_square = 0;
  double w = static_cast<double>(weight), b = w, m = 0, v = 0;
  gbdt_examples::Random random{5};
  for (int step = 1; step <= 50; ++step) {
    const auto gradient = static_cast<float>(random.unit() - 0.3);
    const AdamRates rates = end_step(state, rules, false);
    adam_step(rates, rates.kept, gradient, weight, mean, square);
    adam_step(rates, 1, gradient, bias, bias_mean, bias_square);
    const auto g = static_cast<double>(gradient);
    const double beta1 = static_cast<double>(rules.beta1), beta2 = static_cast<double>(rules.beta2),
                 rate = static_cast<double>(rules.learning_rate) * (1 - (step - 1) / 100.0);
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    const double move =
        m / (1 - std::pow(beta1, step))
        / (std::sqrt(v / (1 - std::pow(beta2, step))) + static_cast<double>(rules.epsilon));
    w = w - rate * move - rate * static_cast<double>(rules.l2) * w;
    b = b - rate * move;
    CHECK(static_cast<double>(weight) == doctest::Approx(w).epsilon(1e-5));
    CHECK(static_cast<double>(bias) == doctest::Approx(b).epsilon(1e-5));
  }
  CHECK(state.taken == 50);
}

TEST_CASE("a step that overflows is skipped and halves the scale of the loss") {
  const StepRules rules{0.01f, 0.9f, 0.999f, 1e-8f, 0, true, 0};
  StepState state = first_state(rules);
  CHECK(state.loss_scale == 32768);
  for (int i = 0; i < 1999; ++i)
    CHECK_FALSE(end_step(state, rules, false).is_skipped);
  CHECK(state.loss_scale == 32768);
  const AdamRates skipped = end_step(state, rules, true);
  CHECK(skipped.is_skipped);
  CHECK(state.loss_scale == 16384);
  CHECK(state.skipped == 1);
  CHECK(state.taken == 1999);
  // The count of clean steps begins anew.
  for (int i = 0; i < 1999; ++i)
    end_step(state, rules, false);
  CHECK(state.loss_scale == 16384);
  const AdamRates grown = end_step(state, rules, false);
  CHECK(grown.unscale == 1.0f / 16384); // of the step that ends, not of the next
  CHECK(state.loss_scale == 32768);
  for (int i = 0; i < 40; ++i)
    end_step(state, rules, true);
  CHECK(state.loss_scale == 1);
  for (int i = 0; i < 30 * 2000; ++i)
    end_step(state, rules, false);
  CHECK(state.loss_scale == 0x1p24f);
}

TEST_CASE("without a scale a step that overflows is skipped all the same") {
  const StepRules rules{0.01f, 0.9f, 0.999f, 1e-8f, 0, false, 0};
  StepState state = first_state(rules);
  CHECK(end_step(state, rules, true).is_skipped);
  CHECK(state.loss_scale == 1);
}

TEST_CASE("infinite and missing margins are seen as overflow and cost a bounded loss") {
  CHECK(has_overflowed(row_gradient(infinity, 0, 1, 1)));
  CHECK(has_overflowed(row_gradient(nan_value, 1, 1, 1)));
  CHECK_FALSE(has_overflowed(row_gradient(1e30f, 0, 1, 1)));
  CHECK(held_loss_quanta(nan_value, 0) == held_loss_quanta(infinity, 0));
  CHECK(held_loss_quanta(nan_value, 1) == held_loss_quanta(-infinity, 1));
  CHECK(static_cast<double>(held_loss_quanta(-infinity, 1)) * 0x1p-30 == doctest::Approx(64));
  CHECK(held_loss_quanta(infinity, 1) == 0);
}

// ---- input ----

TEST_CASE("columns have mean 0 and deviation 1, and missing values are 0 with a flag beside") {
  const Rows rows = example_rows({20'000, 6, 0.2}, 4);
  const Prepared all = prepare(rows, MlpPrecision::fp32);
  CHECK(all.scaling.columns == 16);
  const auto* const values = reinterpret_cast<const float*>(all.rows.values.data());
  std::vector<float> raw(static_cast<std::size_t>(rows.count) * 6);
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(rows.count));
  rows.read(0, rows.count, raw.data(), labels.data());
  CHECK(all.rows.labels == labels);
  for (std::size_t feature = 0; feature < 6; ++feature) {
    double sum = 0, squares = 0, there = 0;
    for (std::size_t row = 0; row < labels.size(); ++row) {
      const float value = values[row * 16 + feature], flag = values[row * 16 + 6 + feature];
      const bool is_missing = std::isnan(raw[row * 6 + feature]);
      REQUIRE(flag == (is_missing ? 1.0f : 0.0f));
      if (is_missing) REQUIRE(value == 0);
      sum += static_cast<double>(value);
      squares += static_cast<double>(value) * static_cast<double>(value);
      there += is_missing ? 0 : 1;
    }
    CHECK(std::fabs(sum / there) < 1e-2); // the tail is cut at 10 deviations
    CHECK(squares / there == doctest::Approx(1).epsilon(0.02));
  }
  for (std::size_t row = 0; row < labels.size(); ++row)
    for (std::size_t column = 12; column < 16; ++column)
      REQUIRE(values[row * 16 + column] == 0);
}

TEST_CASE("constant, empty and far features are no trouble") {
  std::vector<float> values;
  std::vector<std::uint8_t> labels;
  for (int row = 0; row < 5000; ++row) {
    values.insert(values.end(), {0.1f, nan_value, 1.7e9f + 128.0f * static_cast<float>(row % 3),
                                 row == 17 ? 1e30f : 0.0f, row % 5000 == 0 ? nan_value : 3.0f});
    labels.push_back(static_cast<std::uint8_t>(row % 2));
  }
  const Rows rows = rows_of(5, std::move(values), std::move(labels));
  const MlpScaling scaling = scaling_of(rows);
  CHECK(scaling.indicator == std::vector<std::int32_t>{-1, 5, -1, -1, 6});
  std::vector<float> features(5), columns(16);
  std::uint8_t label = 0;
  rows.read(17, 18, features.data(), &label);
  scale_row(scaling, features.data(), columns.data());
  CHECK(columns[0] == 0);
  CHECK(columns[1] == 0);
  CHECK(columns[5] == 1);
  CHECK(columns[2] == doctest::Approx(1.2247).epsilon(0.01)); // of -1, 0, 1 over sqrt(2/3)
  CHECK(columns[3] == most_deviations);
  CHECK(columns[4] == 0);
  CHECK(columns[6] == 0);
  features = {7, 7, nan_value, 0, nan_value};
  scale_row(scaling, features.data(), columns.data());
  CHECK(columns[0] == 0); // no deviation to measure it by
  CHECK(columns[2] == 0); // never missed in training: as the mean
  CHECK(columns[6] == 1);
}

TEST_CASE("logarithms of long tails keep order, signs and what is missing") {
  std::vector<float> values;
  for (int row = 0; row < 4000; ++row)
    values.insert(values.end(),
                  {std::exp2(static_cast<float>(row % 40 - 10)), static_cast<float>(row % 5 - 2),
                   0.0f, row % 10 == 0 ? nan_value : 1e30f});
  const Rows rows = rows_of(4, std::move(values), std::vector<std::uint8_t>(4000, 1));
  const MlpScaling plain = scaling_of(rows), squeezed = scaling_of(rows, Tails::logarithmic);
  std::vector<float> features(4), columns(16), next(16);
  std::uint8_t label = 0;
  const auto scaled = [&](const MlpScaling& scaling, std::int64_t row) {
    rows.read(row, row + 1, features.data(), &label);
    scale_row(scaling, features.data(), columns.data());
    return columns;
  };
  // 2^-10 to 2^29 with mean 2^29 / 20: without logarithms half of the rows are as one.
  CHECK(std::fabs(scaled(plain, 20)[0] - scaled(plain, 0)[0]) < 1e-4);
  CHECK(scaled(squeezed, 20)[0] < scaled(squeezed, 25)[0]);
  CHECK(scaled(squeezed, 39)[0] - scaled(squeezed, 25)[0] > 1);
  CHECK(scaled(squeezed, 1)[1] == doctest::Approx(-scaled(squeezed, 3)[1]).epsilon(1e-5));
  CHECK(scaled(squeezed, 4)[1] > scaled(squeezed, 3)[1]);
  CHECK(scaled(squeezed, 2)[2] == 0);
  CHECK(scaled(squeezed, 10)[4] == 1);
  CHECK(scaled(squeezed, 11)[4] == 0);
  features = {0, 3e38f, 3e38f, 3e38f}; // larger than anything in training
  scale_row(squeezed, features.data(), columns.data());
  for (const float column : columns)
    CHECK(std::fabs(column) <= most_deviations);
}

TEST_CASE("the scale of features does not depend on threads") {
  const Rows rows = example_rows({30'000, 5, 0.1}, 6);
  const MlpScaling expected = scaling_of(rows, Tails::logarithmic);
  on_threads({1, 2, 3}, [&] {
    const MlpScaling found = scaling_of(rows, Tails::logarithmic);
    CHECK(found.per_unit == expected.per_unit);
    CHECK(found.mean == expected.mean);
    CHECK(found.per_deviation == expected.per_deviation);
  });
}

TEST_CASE("hashed columns count a row's codes and keep the other features") {
  std::vector<float> values;
  for (int row = 0; row < 6000; ++row) {
    const float code = row == 5 ? nan_value : static_cast<float>(row % 1000);
    values.insert(values.end(), {code, static_cast<float>(row),
                                 row == 1000 ? -0.0f : static_cast<float>(row % 7)});
  }
  const Rows rows = rows_of(3, values, std::vector<std::uint8_t>(6000, 1));
  const Rows some = hashed(rows, {{0, 2}, 8, 5});
  CHECK(some.features() == 9);
  CHECK(some.feature_names[0] == "feature 1");
  CHECK(some.feature_names[8] == "hashed#7");
  std::vector<float> all(6000 * 9);
  std::vector<std::uint8_t> labels(6000);
  some.read(0, 6000, all.data(), labels.data());
  std::vector<double> in_bucket(8, 0);
  for (std::size_t row = 0; row < 6000; ++row) {
    CHECK(all[row * 9] == static_cast<float>(row));
    float sum = 0;
    for (std::size_t bucket = 0; bucket < 8; ++bucket) {
      sum += all[row * 9 + 1 + bucket];
      in_bucket[bucket] += static_cast<double>(all[row * 9 + 1 + bucket]);
    }
    REQUIRE(sum == 2);
  }
  for (const double count : in_bucket)
    CHECK(count / 1500 == doctest::Approx(1).epsilon(0.7)); // a thousand codes and seven
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::equal(&all[a * 9 + 1], &all[a * 9 + 9], &all[b * 9 + 1]);
  };
  CHECK(same(1000, 0)); // codes 0 and -0
  std::size_t different = 0;
  for (std::size_t row = 0; row < 999; ++row)
    different += same(row, row + 1) ? 0 : 1;
  CHECK(different > 600);
  // Read in parts, the same.
  std::vector<float> part(9 * 100);
  some.read(4050, 4150, part.data(), labels.data());
  CHECK(std::equal(part.begin(), part.end(), &all[4050 * 9]));
  // One and the same code falls into buckets of its feature's and the seed's own.
  const auto bucket_of_code = [](int feature, std::uint64_t seed) {
    const Rows one = rows_of(2, {41, 41}, {1});
    const Rows made = hashed(one, {{feature}, 1 << 16, seed});
    std::vector<float> found((1 << 16) + 1);
    std::uint8_t label = 0;
    made.read(0, 1, found.data(), &label);
    return std::find(found.begin() + 1, found.end(), 1.0f) - found.begin();
  };
  CHECK(bucket_of_code(0, 1) == bucket_of_code(0, 1));
  CHECK(bucket_of_code(0, 1) != bucket_of_code(1, 1));
  CHECK(bucket_of_code(0, 1) != bucket_of_code(0, 2));
}

TEST_CASE("hashed columns that cannot be are refused") {
  const Rows rows = example_rows({10, 3}, 1);
  CHECK_THROWS_AS(hashed(rows, {{3}, 8, 1}), BadInput);
  CHECK_THROWS_AS(hashed(rows, {{-1}, 8, 1}), BadInput);
  CHECK_THROWS_AS(hashed(rows, {{1, 2, 1}, 8, 1}), BadInput);
  CHECK_THROWS_AS(hashed(rows, {{1}, 0, 1}), BadInput);
}

// ---- training ----

TEST_CASE("gradients are those of finite differences in double precision") {
  const Rows rows = example_rows({90, 5, 0.1}, 8);
  const Prepared all = prepare(rows, MlpPrecision::fp32);
  MlpParameters p = parameters_of({7, 20, 3}, 90, 1);
  p.positive_weight = 3;
  // With these Adam moves a number by g / (|g| + 1), which tells g.
  p.learning_rate = 1;
  p.beta1 = p.beta2 = 0;
  p.epsilon = 1;
  const MlpLayout layout = mlp_layout(all.scaling.columns, p.hidden);
  const std::vector<float> before = first_weights(layout, p, all.scaling, all.rows);
  const std::vector<float> after = train_mlp_openmp(all.job(), p).model.weights;
  std::vector<double> weights(before.begin(), before.end());
  const auto* const values = reinterpret_cast<const float*>(all.rows.values.data());
  const auto loss = [&] {
    double sum = 0;
    for (std::int64_t row = 0; row < 90; ++row) {
      const std::uint8_t label = all.rows.labels[static_cast<std::size_t>(row)];
      sum += (label != 0 ? 3 : 1)
             * reference_loss(reference_margin(layout, weights, values + row * layout.columns()),
                              label);
    }
    return sum / 90;
  };
  std::size_t moved = 0;
  for (std::size_t i = 0; i < weights.size(); i += i < 300 ? 3 : 1) {
    CAPTURE(i);
    const double step = 1e-5, weight = weights[i];
    weights[i] = weight + step;
    const double above = loss();
    weights[i] = weight - step;
    const double below = loss();
    weights[i] = weight;
    const double move = static_cast<double>(before[i]) - static_cast<double>(after[i]);
    const double gradient = move / (1 - std::fabs(move));
    // The head's bias has 16 places, of which one is its own.
    if (i > static_cast<std::size_t>(layout.head_bias)) {
      CHECK(move == 0);
      continue;
    }
    REQUIRE(std::fabs(gradient - (above - below) / (2 * step)) < 1e-6);
    moved += move != 0;
  }
  CHECK(moved > 100);
}

TEST_CASE("models do not depend on the number of threads") {
  const Rows rows = example_rows({3000, 9, 0.1}, 9), other = example_rows({700, 9, 0.1}, 10);
  for (const MlpPrecision precision : precisions) {
    CAPTURE(to_string(precision));
    const Prepared all = prepare(rows, other, precision);
    MlpParameters p = parameters_of({200, 48}, 500, 3); // two tiles of weights, eight blocks
    p.precision = precision;
    p.l2 = 0.01f;
    std::vector<MlpRun> runs;
    on_threads({1, 2, 3}, [&] { runs.push_back(train_mlp_openmp(all.job(), p)); });
    std::vector<float> margins(700);
    find_margins(runs[0].model, other, margins);
    for (const MlpRun& run : runs) {
      CHECK(run.model.weights == runs[0].model.weights);
      CHECK(run.step_losses == runs[0].step_losses);
      CHECK(run.validation_losses == runs[0].validation_losses);
    }
    on_threads({1, 3}, [&] {
      std::vector<float> again(700);
      find_margins(runs[0].model, other, again);
      CHECK(again == margins);
    });
  }
}

TEST_CASE("margins and validation losses are those of double precision") {
  const Rows rows = example_rows({2000, 7, 0.1}, 11), other = example_rows({600, 7, 0.1}, 12);
  const Prepared all = prepare(rows, other, MlpPrecision::fp32);
  const MlpRun run = train_mlp_openmp(all.job(), parameters_of({40, 20}, 256, 4));
  CHECK(run.validation_losses.size() == 4);
  CHECK(run.validation_losses.back() < run.validation_losses.front());
  std::vector<float> margins(600);
  find_margins(run.model, other, margins);
  const std::vector<double> weights(run.model.weights.begin(), run.model.weights.end());
  const auto* const values = reinterpret_cast<const float*>(all.validation.values.data());
  double loss = 0;
  for (std::size_t row = 0; row < 600; ++row) {
    const double margin =
        reference_margin(run.model.layout, weights,
                         values + static_cast<std::int64_t>(row) * run.model.layout.columns());
    CHECK(static_cast<double>(margins[row]) == doctest::Approx(margin).epsilon(1e-4));
    loss += reference_loss(margin, all.validation.labels[row]);
  }
  CHECK(run.validation_losses.back() == doctest::Approx(loss / 600).epsilon(1e-4));
}

TEST_CASE("padded units stay without weight") {
  const Prepared all = prepare(example_rows({1000, 5}, 13), MlpPrecision::bf16);
  MlpParameters p = parameters_of({10, 3}, 100, 3);
  p.precision = MlpPrecision::bf16;
  const Mlp model = train_mlp_openmp(all.job(), p).model;
  const MlpLayout& layout = model.layout;
  CHECK(layout.layers[0].out == 16);
  const auto at = [&](std::int64_t place) {
    return model.weights[static_cast<std::size_t>(place)];
  };
  for (int out = 0; out < 16; ++out) {
    for (int in = 0; in < 16; ++in) {
      if (in >= 5 || out >= 10) CHECK(at(layout.layers[0].weight + in * 16 + out) == 0);
      if (in >= 10 || out >= 3) CHECK(at(layout.layers[1].weight + in * 16 + out) == 0);
    }
    if (out >= 10) CHECK(at(layout.layers[0].bias + out) == 0);
    if (out >= 3) CHECK(at(layout.head_weight + out) == 0);
  }
}

TEST_CASE("a network learns what no sum of features tells") {
  const Rows rows = quadrants(4000, 1), other = quadrants(2000, 2);
  std::vector<float> values(4000), sums(2000), differences(2000);
  std::vector<std::uint8_t> labels(2000);
  other.read(0, 2000, values.data(), labels.data());
  for (std::size_t row = 0; row < 2000; ++row) {
    sums[row] = values[2 * row] + values[2 * row + 1];
    differences[row] = values[2 * row] - values[2 * row + 1];
  }
  CHECK(std::fabs(ranking_quality(sums, labels).auc - 0.5) < 0.05);
  CHECK(std::fabs(ranking_quality(differences, labels).auc - 0.5) < 0.05);
  for (const MlpPrecision precision : precisions) {
    CAPTURE(to_string(precision));
    const Prepared all = prepare(rows, precision);
    MlpParameters p = parameters_of({32, 16}, 128, 20);
    p.learning_rate = 5e-3f;
    p.precision = precision;
    CHECK(auc_of(train_mlp_openmp(all.job(), p).model, other) > 0.99);
  }
}

TEST_CASE("fp16 finds a scale of the loss that its gradients bear") {
  const Rows rows = example_rows({2000, 6, 0, -0.6}, 14);
  const Prepared all = prepare(rows, MlpPrecision::fp16);
  MlpParameters p = parameters_of({24}, 1, 2);
  p.precision = MlpPrecision::fp16;
  p.positive_weight = 100; // a row's gradient is up to 100 times the scale
  const MlpRun run = train_mlp_openmp(all.job(), p);
  CHECK(run.skipped_steps >= 2);
  CHECK(run.skipped_steps < run.steps / 20);
  CHECK(run.loss_scale < first_loss_scale);
  CHECK(run.loss_scale > 1);
  for (const float weight : run.model.weights)
    REQUIRE(std::isfinite(weight));
}

TEST_CASE("a slice stops after its steps and says what part of the job it was") {
  const Rows rows = example_rows({1000, 6}, 15), other = example_rows({300, 6}, 16);
  const Prepared all = prepare(rows, other, MlpPrecision::fp32);
  const MlpParameters p = parameters_of({16}, 100, 5);
  MlpJob job = all.job();
  job.most_steps = 13;
  const MlpRun part = train_mlp_openmp(job, p);
  CHECK(part.steps == 13);
  CHECK(part.step_losses.size() == 13);
  CHECK(part.validation_losses.size() == 2);
  REQUIRE(part.phases.size() == 2);
  CHECK(part.phases[0].name == "training");
  CHECK(part.phases[0].processor == Processor::cpu);
  CHECK(part.phases[0].end_to_end_s > 0);
  CHECK(part.phases[0].job_over_slice == doctest::Approx(50.0 / 13));
  CHECK(part.phases[0].work.count("steps") == 13);
  CHECK(part.phases[1].name == "validation");
  CHECK(part.phases[1].job_over_slice == doctest::Approx(5.0 / 2));
  job.most_steps = 0;
  const MlpRun whole = train_mlp_openmp(job, p);
  CHECK(whole.steps == 50);
  CHECK(whole.phases[0].job_over_slice == 1);
  CHECK(std::equal(part.step_losses.begin(), part.step_losses.end(), whole.step_losses.begin()));
}

TEST_CASE("fewer rows than a batch are a batch") {
  const Prepared all = prepare(example_rows({30, 4}, 17), MlpPrecision::fp32);
  const MlpRun run = train_mlp_openmp(all.job(), parameters_of({8}, 4096, 3));
  CHECK(run.steps == 3);
  CHECK(run.step_losses[2] < run.step_losses[0]);
}

TEST_CASE("what cannot be trained is refused") {
  const Rows rows = example_rows({50, 4}, 18);
  CHECK_THROWS_AS(scaling_of(part_of(rows, 0, 0)), Failure);
  const Rows one_kind = rows_of(1, {1, 2, 3}, {1, 1, 1});
  const Prepared all_ones = prepare(one_kind, MlpPrecision::fp32);
  CHECK_THROWS_WITH_AS(train_mlp_openmp(all_ones.job(), parameters_of({8}, 16, 1)),
                       "3 rows with label 1 and 0 with label 0: a network needs both", Failure);
  const Prepared all = prepare(rows, MlpPrecision::fp32);
  CHECK_THROWS_AS(prepared(one_kind, all.scaling, MlpPrecision::fp32), Failure);
  MlpParameters p = parameters_of({8}, 16, 1);
  p.precision = MlpPrecision::bf16;
  CHECK_THROWS_AS(train_mlp_openmp(all.job(), p), Failure);
  p.precision = MlpPrecision::fp32;
  const Mlp model = train_mlp_openmp(all.job(), p).model;
  std::vector<float> margins(3);
  CHECK_THROWS_AS(find_margins(model, one_kind, margins), Failure);
  const auto refused = [](const auto& change) {
    MlpParameters wrong;
    change(wrong);
    CHECK_THROWS_AS(check_mlp(wrong, "study.toml"), BadInput);
  };
  CHECK_NOTHROW(check_mlp(MlpParameters{}, "study.toml"));
  refused([](auto& w) { w.hidden.clear(); });
  refused([](auto& w) { w.hidden.assign(9, 4); });
  refused([](auto& w) { w.hidden[1] = 0; });
  refused([](auto& w) { w.hidden[1] = 20'000; });
  refused([](auto& w) { w.batch_rows = 0; });
  refused([](auto& w) { w.epochs = 0; });
  refused([](auto& w) { w.learning_rate = 0; });
  refused([](auto& w) { w.learning_rate = nan_value; });
  refused([](auto& w) { w.last_rate_share = 2; });
  refused([](auto& w) { w.beta1 = 1; });
  refused([](auto& w) { w.beta2 = nan_value; });
  refused([](auto& w) { w.epsilon = 0; });
  refused([](auto& w) { w.l2 = -1; });
  refused([](auto& w) { w.positive_weight = infinity; });
}

// ---- what it costs ----

TEST_CASE("memory is what was predicted") {
  const Rows rows = example_rows({3000, 20, 0.1}, 19);
  for (const MlpPrecision precision : precisions) {
    const Prepared all = prepare(rows, precision);
    MlpParameters p = parameters_of({100, 30}, 700, 1);
    p.precision = precision;
    const MlpRun run = train_mlp_openmp(all.job(), p);
    CHECK(static_cast<double>(run.peak_bytes)
          == mlp_step_bytes(run.model.layout, 700, precision, Path::openmp));
    CHECK(static_cast<double>(all.rows.bytes() + all.rows.labels.size())
          == mlp_table_bytes(3000, all.scaling.columns, precision));
    CHECK(mlp_memory_bytes(3000, 0, all.scaling.columns, p, Path::openmp)
          == mlp_table_bytes(3000, all.scaling.columns, precision)
                 + static_cast<double>(run.peak_bytes));
  }
}

TEST_CASE("products count for tensor cores where their inputs have 16 bits, else for the lanes") {
  const MlpLayout layout = mlp_layout(48, {512, 256});
  // Forward and gradients of weights of both layers, gradients of activations of the second.
  const double flops = 2.0 * 1024 * (2 * 48 * 512 + 3 * 512 * 256);
  CHECK(mlp_step_flops(layout, 1024) == flops);
  const Work plain = mlp_step_work(layout, 1024, MlpPrecision::fp32),
             half = mlp_step_work(layout, 1024, MlpPrecision::fp16),
             brain = mlp_step_work(layout, 1024, MlpPrecision::bf16);
  CHECK(plain.fp32_flops == flops);
  CHECK(plain.tensor_fp16_flops == 0);
  CHECK(plain.lane_instructions > flops / 2);
  CHECK(half.tensor_fp16_flops == flops);
  CHECK(brain.tensor_fp16_flops == flops);
  CHECK(half.fp32_flops == 0);
  CHECK(half.dram_bytes < plain.dram_bytes);
  CHECK(half.launches == plain.launches);
  const Work transfer = mlp_transfer_work(layout, 1000, 200, 10, MlpPrecision::fp16);
  CHECK(transfer.host_to_device_bytes == 1200 * (48 * 2 + 1) + 4 * layout.size);
}

// ---- precisions against each other ----

namespace {

/// Mean AUC over two seeds, for each precision. One training's AUC moves by some 1e-4 for whatever
/// changes its last bits.
std::vector<double> aucs_of(const Rows& training, const Rows& other, MlpParameters parameters) {
  std::vector<double> aucs;
  for (const MlpPrecision precision : precisions) {
    const Prepared all = prepare(training, precision, Tails::logarithmic);
    parameters.precision = precision;
    double sum = 0;
    for (const std::uint64_t seed : {1, 2}) {
      parameters.seed = seed;
      sum += auc_of(train_mlp_openmp(all.job(), parameters).model, other);
    }
    aucs.push_back(sum / 2);
  }
  return aucs;
}

} // namespace

TEST_CASE("16-bit precisions tell fraud as well as floats do") {
  TransactionSettings settings;
  settings.rows = 60'000;
  const Rows rows = transactions(settings);
  const std::vector<double> aucs =
      aucs_of(all_but_every(rows, 3, 0), every(rows, 3, 0), parameters_of({64, 32}, 256, 4));
  CHECK(aucs[0] > 0.84);
  CHECK(std::fabs(aucs[1] - aucs[0]) <= 5e-4);
  CHECK(std::fabs(aucs[2] - aucs[0]) <= 5e-4);
}

TEST_CASE("16-bit precisions tell defaulting clients as well as floats do") {
  std::filesystem::path file;
  if (!has_real_data("uci_credit_card_default.csv", file)) return;
  CsvSettings csv;
  csv.label = "fraud";
  csv.drop = {"ID"};
  csv.categorical = {"SEX", "EDUCATION", "MARRIAGE"};
  const Rows rows = risk::rows_of(read_csv_table(file, csv), Categories::one_hot);
  const std::vector<double> aucs =
      aucs_of(all_but_every(rows, 5, 0), every(rows, 5, 0), parameters_of({64, 32}, 128, 5));
  CHECK(aucs[0] > 0.755); // of boosted trees 0.774
  CHECK(std::fabs(aucs[1] - aucs[0]) <= 5e-4);
  CHECK(std::fabs(aucs[2] - aucs[0]) <= 5e-4);
}
