#include "tests/risk/all_rows.h"
#include "workloads/philox.h"
#include "workloads/risk/approximations.h"
#include "workloads/risk/metrics.h"
#include "workloads/risk/transactions.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <cmath>
#include <numeric>

using namespace breakeven;
using namespace breakeven::risk;

namespace {

TransactionSettings small_settings() {
  TransactionSettings settings;
  settings.rows = 100'000;
  settings.columns = 28;
  settings.label_noise = 0.05;
  settings.drift = 0.5;
  return settings;
}

/// FNV-1a over the bits.
std::uint64_t checksum(const ReadRows& rows) {
  std::uint64_t sum = 0xCBF29CE484222325ull;
  const auto add = [&sum](std::uint32_t bits) { sum = (sum ^ bits) * 0x100000001B3ull; };
  for (const float value : rows.values)
    add(bits_of(value));
  for (const std::uint8_t label : rows.labels)
    add(label);
  return sum;
}

std::vector<float> column(const ReadRows& rows, int features, int place) {
  std::vector<float> values;
  for (std::size_t i = static_cast<std::size_t>(place); i < rows.values.size();
       i += static_cast<std::size_t>(features))
    values.push_back(rows.values[i]);
  return values;
}

double missing_share(const std::vector<float>& values) {
  const auto missing = std::count_if(values.begin(), values.end(), [](float x) { return x != x; });
  return static_cast<double>(missing) / static_cast<double>(values.size());
}

float median(std::vector<float> values) {
  std::erase_if(values, [](float x) { return x != x; });
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Of one column as a score; missing values in the middle.
double auc_of(std::vector<float> values, const std::vector<std::uint8_t>& labels) {
  const float middle = median(values);
  for (float& value : values)
    if (value != value) value = middle;
  return ranking_quality(values, labels).auc;
}

} // namespace

TEST_CASE("Philox gives the known answers of Random123") {
  const auto check = [](Random4 counter, std::uint64_t key, Random4 expected) {
    const Random4 four = philox4x32(counter, key);
    CHECK(four.x == expected.x);
    CHECK(four.y == expected.y);
    CHECK(four.z == expected.z);
    CHECK(four.w == expected.w);
  };
  check({0, 0, 0, 0}, 0, {0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
  check({~0u, ~0u, ~0u, ~0u}, ~0ull, {0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
  check({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, 0x299F31D0A4093822ull,
        {0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});
}

TEST_CASE("the approximations keep to their stated errors") {
  double log_error = 0, power_error = 0, normal_error = 0;
  for (int i = 0; i < 400'000; ++i) {
    const float x = std::exp2(static_cast<float>(i) * 2e-4f - 40);
    const double exact = std::log(static_cast<double>(x));
    log_error = std::max(log_error, std::abs(static_cast<double>(natural_log(x)) - exact)
                                        / std::max(1.0, std::abs(exact)));
    const float y = static_cast<float>(i) * 6e-4f - 120;
    power_error = std::max(
        power_error,
        std::abs(static_cast<double>(power_of_two(y)) / std::exp2(static_cast<double>(y)) - 1));
  }
  CHECK(log_error < 2e-7);
  CHECK(power_error < 2e-7);
  // Its own distribution function gives the probability back: error / density, to first order.
  constexpr std::uint32_t steps = 1u << 23;
  for (std::uint32_t k = 0; k < steps; k += k < 2000 || k > steps - 2000 ? 1 : 61) {
    const double probability = (static_cast<double>(k) + 0.5) / steps;
    CHECK(static_cast<double>(open_unit_float(k << 9)) == probability);
    const auto z = static_cast<double>(inverse_normal(k << 9));
    const double tail = std::min(probability, 1 - probability);
    const double reached = std::erfc(std::abs(z) / std::sqrt(2.0)) / 2;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979323846);
    CHECK_MESSAGE((z < 0) == (probability < 0.5), k);
    normal_error = std::max(normal_error, std::abs((reached - tail) / density / z));
  }
  CHECK(normal_error < 3e-5);
  CHECK(std::abs(inverse_normal(0)) < 5.3f);
  CHECK(inverse_normal(~0u) == -inverse_normal(0));
}

TEST_CASE("any range of rows is what is there when all are read") {
  const TransactionSettings settings = small_settings();
  const Rows rows = transactions(settings);
  const ReadRows all = read_rows(rows, 0, 13'000);
  const auto features = static_cast<std::size_t>(rows.features());
  for (const auto& [begin, end] :
       {std::pair{0, 1}, {5, 5}, {4095, 4097}, {100, 9000}, {8191, 8320}, {12'999, 13'000}}) {
    CAPTURE(begin);
    const ReadRows part = read_rows(rows, begin, end);
    const auto from = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(begin) * features);
    CHECK(same_values(part.values, {all.values.begin() + from,
                                    all.values.begin() + from
                                        + static_cast<std::ptrdiff_t>(part.values.size())}));
    CHECK(std::equal(part.labels.begin(), part.labels.end(), all.labels.begin() + begin));
  }
}

TEST_CASE("threads in any order make the same rows") {
  const Rows rows = transactions(small_settings());
  const ReadRows once = read_rows(rows);
  const auto features = static_cast<std::size_t>(rows.features());
  const int threads = omp_get_max_threads();
  for (const int more : {1, 2, 3}) {
    omp_set_num_threads(more);
    ReadRows shared{std::vector<float>(once.values.size()),
                    std::vector<std::uint8_t>(once.labels.size())};
    constexpr std::int64_t chunk = 1'000;
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t i = rows.count / chunk - 1; i >= 0; --i)
      rows.read(i * chunk, (i + 1) * chunk,
                &shared.values[static_cast<std::size_t>(i * chunk) * features],
                &shared.labels[static_cast<std::size_t>(i * chunk)]);
    CHECK(same_values(shared.values, once.values));
    CHECK(shared.labels == once.labels);
  }
  omp_set_num_threads(threads);
}

TEST_CASE("the rows are the same to the bit on every machine") {
  // Only exact operations of IEEE 754 are used; the sum was made once.
  CHECK(checksum(read_rows(transactions(small_settings()), 0, 10'000)) == 3063358779737454605ull);
}

TEST_CASE("rows don't depend on how many follow, nor on columns behind, without drift") {
  TransactionSettings settings = small_settings();
  settings.drift = 0;
  const ReadRows some = read_rows(transactions(settings), 0, 5'000);
  settings.rows *= 1000;
  CHECK(checksum(read_rows(transactions(settings), 0, 5'000)) == checksum(some));
  settings.columns = 8;
  const ReadRows narrow = read_rows(transactions(settings), 0, 5'000);
  for (int place = 0; place < 8; ++place)
    CHECK(same_values(column(narrow, 8, place), column(some, 28, place)));
  settings.seed = 2;
  CHECK(checksum(read_rows(transactions(settings), 0, 5'000)) != checksum(narrow));
}

TEST_CASE("the positive rate is met within one percent of a million rows, and in every part") {
  for (const double rate : {0.001, 0.02, 0.5})
    for (const double noise : {0.0, 0.3}) {
      TransactionSettings settings;
      settings.columns = 8;
      settings.positive_rate = rate;
      settings.label_noise = noise;
      settings.drift = 1;
      CAPTURE(rate);
      const Rows rows = transactions(settings);
      double positives = 0;
      std::vector<float> values(8 * 50'000);
      std::vector<std::uint8_t> labels(50'000);
      for (std::int64_t begin = 0; begin < rows.count; begin += 50'000) {
        rows.read(begin, begin + 50'000, values.data(), labels.data());
        positives += std::accumulate(labels.begin(), labels.end(), 0.0);
      }
      CHECK(positives == doctest::Approx(rate * 1e6).epsilon(0.01));
      const std::int64_t whole_blocks = 20 * transaction_block;
      const ReadRows part = read_rows(rows, 5 * transaction_block, 25 * transaction_block);
      CHECK(std::abs(std::accumulate(part.labels.begin(), part.labels.end(), 0)
                     - rate * static_cast<double>(whole_blocks))
            <= 1);
    }
}

TEST_CASE("wrong labels take away what their share says") {
  TransactionSettings settings = small_settings();
  settings.label_noise = 0;
  const ReadRows right = read_rows(transactions(settings));
  settings.label_noise = 0.25;
  const ReadRows noisy = read_rows(transactions(settings));
  CHECK(same_values(noisy.values, right.values));
  int lost = 0, added = 0, positives = 0;
  for (std::size_t i = 0; i < right.labels.size(); ++i) {
    positives += right.labels[i];
    lost += right.labels[i] == 1 && noisy.labels[i] == 0;
    added += right.labels[i] == 0 && noisy.labels[i] == 1;
  }
  CHECK(lost == doctest::Approx(0.25 * positives).epsilon(0.02));
  CHECK(added == doctest::Approx(0.25 * positives).epsilon(0.02));
}

TEST_CASE("columns have the distributions and the missing values that are documented") {
  TransactionSettings settings = small_settings();
  settings.drift = 0;
  const Rows rows = transactions(settings);
  CHECK(rows.feature_names[0] == "amount_usd");
  CHECK(rows.feature_names[8] == "mean_amount_9");
  CHECK(rows.feature_names[27] == "code_28");
  const ReadRows read = read_rows(rows);
  const double expected_missing[] = {0, 0, 8.0 / 256, 20.0 / 256, 0,          0, 13.0 / 256, 0,
                                     0, 0, 0,         0,          20.0 / 256, 0, 20.0 / 256, 0};
  for (int place = 0; place < 16; ++place) {
    CAPTURE(place);
    CHECK(std::abs(missing_share(column(read, 28, place)) - expected_missing[place]) < 0.004);
  }
  const std::vector<float> amounts = column(read, 28, 0);
  double mean = 0, square = 0;
  for (const float amount : amounts) {
    const double log_amount = std::log2(static_cast<double>(amount));
    mean += log_amount / static_cast<double>(amounts.size());
    square += log_amount * log_amount / static_cast<double>(amounts.size());
  }
  CHECK(mean == doctest::Approx(5.2).epsilon(0.005));
  CHECK(std::sqrt(square - mean * mean) == doctest::Approx(1.6).epsilon(0.01));
  const std::vector<float> hours = column(read, 28, 1), merchants = column(read, 28, 4);
  CHECK(*std::min_element(hours.begin(), hours.end()) >= 0);
  CHECK(*std::max_element(hours.begin(), hours.end()) <= 24);
  std::vector<int> purchases(24);
  for (const float code : merchants) {
    REQUIRE(code == std::floor(code));
    ++purchases.at(static_cast<std::size_t>(code));
  }
  CHECK(purchases.front() > 5 * purchases.back());
  CHECK(purchases.back() > 1000);
}

TEST_CASE("fraud shows in the columns that tell, together, and not in those that say nothing") {
  TransactionSettings settings = small_settings();
  settings.label_noise = settings.drift = 0;
  const Rows rows = transactions(settings);
  const ReadRows read = read_rows(rows);
  const auto auc = [&](int place) { return auc_of(column(read, 28, place), read.labels); };
  CHECK(auc(6) > 0.65);     // amount_to_usual
  CHECK(auc(3) > 0.65);     // distance_km
  CHECK(1 - auc(7) > 0.52); // account_age_days
  CHECK(auc(8) > 0.52);     // mean_amount_9 follows the amount
  for (const int place : {9, 10, 11, 13, 14, 15})
    CHECK(std::abs(auc(place) - 0.5) < 0.025); // 2000 positives: 4 standard errors
  // A far purchase tells more right after the last one: an interaction.
  const std::vector<float> gaps = column(read, 28, 2), distances = column(read, 28, 3);
  std::vector<float> soon, late;
  std::vector<std::uint8_t> soon_labels, late_labels;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (gaps[i] != gaps[i]) continue;
    (gaps[i] < 1 ? soon : late).push_back(distances[i]);
    (gaps[i] < 1 ? soon_labels : late_labels).push_back(read.labels[i]);
  }
  CHECK(auc_of(soon, soon_labels) > auc_of(late, late_labels) + 0.1);
}

TEST_CASE("drift moves amounts and distances from the first row to the last") {
  TransactionSettings settings = small_settings();
  settings.drift = 1;
  const Rows rows = transactions(settings);
  const ReadRows early = read_rows(rows, 0, 10'000), late = read_rows(rows, 90'000, 100'000);
  const auto moved = [&](int place) {
    return std::log2(median(column(late, 28, place)) / median(column(early, 28, place)));
  };
  CHECK(moved(0) == doctest::Approx(0.9 * 1.6).epsilon(0.08)); // 0.9 of the way
  CHECK(moved(3) == doctest::Approx(0.45 * 2.2).epsilon(0.12));
  CHECK(std::abs(moved(7)) < 0.1);
}

TEST_CASE("settings out of their range are refused") {
  const auto refused = [](const auto& change) {
    TransactionSettings settings;
    change(settings);
    return refusal([&] { transactions(settings); });
  };
  using Settings = TransactionSettings;
  CHECK(refused([](Settings&) {}) == "read");
  CHECK(refused([](Settings& s) { s.rows = 0; }) == ": found rows 0, expected 1 to 4294967295");
  CHECK(refused([](Settings& s) { s.rows = 1ll << 32; })
        == ": found rows 4294967296, expected 1 to 4294967295");
  CHECK(refused([](Settings& s) { s.columns = 7; }) == ": found columns 7, expected 8 to 200");
  CHECK(refused([](Settings& s) { s.columns = 201; }) == ": found columns 201, expected 8 to 200");
  CHECK(refused([](Settings& s) { s.positive_rate = 0; })
        == ": found positive_rate 0, expected 0.0001 to 0.5");
  CHECK(refused([](Settings& s) { s.positive_rate = std::nan(""); })
        == ": found positive_rate nan, expected 0.0001 to 0.5");
  CHECK(refused([](Settings& s) { s.label_noise = 0.6; })
        == ": found label_noise 0.6, expected 0 to 0.5");
  CHECK(refused([](Settings& s) { s.drift = -1; }) == ": found drift -1, expected 0 to 2");
}
