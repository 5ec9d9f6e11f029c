#include "sim/errors.h"
#include "workloads/risk/metrics.h"

#include <doctest/doctest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace breakeven;
using namespace breakeven::risk;

namespace {

struct Scored {
  std::vector<float> scores;
  std::vector<std::uint8_t> labels;
};

/// Positives score higher on average; `levels` different scores, 0 for any.
Scored scored(std::size_t count, double positive_rate, int levels, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  Scored made;
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_positive = uniform(random) < positive_rate;
    const double score = normal(random) + (is_positive ? 1 : 0);
    made.labels.push_back(is_positive);
    made.scores.push_back(
        static_cast<float>(levels == 0 ? score : std::round(score * levels / 4) * 4 / levels));
  }
  return made;
}

/// Pair by pair.
double textbook_auc(const Scored& data) {
  double above = 0, pairs = 0;
  for (std::size_t i = 0; i < data.scores.size(); ++i)
    for (std::size_t j = 0; j < data.scores.size(); ++j) {
      if (data.labels[i] != 1 || data.labels[j] != 0) continue;
      ++pairs;
      above += data.scores[i] > data.scores[j] ? 1 : data.scores[i] == data.scores[j] ? 0.5 : 0;
    }
  return above / pairs;
}

/// Threshold by threshold.
double textbook_average_precision(const Scored& data) {
  std::vector<float> thresholds = data.scores;
  std::sort(thresholds.begin(), thresholds.end(), std::greater<>());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  const auto positives =
      static_cast<double>(std::count(data.labels.begin(), data.labels.end(), std::uint8_t{1}));
  double area = 0, last_recall = 0;
  for (const float threshold : thresholds) {
    double found = 0, flagged = 0;
    for (std::size_t i = 0; i < data.scores.size(); ++i)
      if (data.scores[i] >= threshold) {
        ++flagged;
        found += data.labels[i];
      }
    area += (found / positives - last_recall) * found / flagged;
    last_recall = found / positives;
  }
  return area;
}

/// Rows that scikit-learn was given, too.
Scored known() {
  Scored data;
  for (std::int64_t i = 0; i < 5000; ++i) {
    const std::int64_t score = i * 7919 % 1009;
    data.scores.push_back(static_cast<float>(score) / 1009.0f);
    data.labels.push_back((i * i * 31 + i * 17) % 997 < score / 3);
  }
  return data;
}

} // namespace

TEST_CASE("four rows have the area that can be counted by hand") {
  // Pairs: 0.35 > 0.1, 0.35 < 0.4, 0.8 > both: 3 of 4. Precision 1 at the first, 2/3 at the second.
  const RankingQuality quality = ranking_quality(std::vector<float>{0.1f, 0.4f, 0.35f, 0.8f},
                                                 std::vector<std::uint8_t>{0, 0, 1, 1});
  CHECK(quality.auc == 0.75);
  CHECK(quality.average_precision == doctest::Approx((1 + 2.0 / 3) / 2).epsilon(1e-15));
}

TEST_CASE("areas are those counted pair by pair and threshold by threshold, with ties or not") {
  for (const std::size_t count : {2u, 3u, 17u, 400u, 1000u})
    for (const int levels : {0, 1, 16})
      for (const double rate : {0.02, 0.5, 0.95}) {
        Scored data = scored(count, rate, levels, static_cast<unsigned>(count) + 5);
        data.labels[0] = 1; // both kinds are there
        data.labels[1] = 0;
        CAPTURE(count);
        CAPTURE(levels);
        CAPTURE(rate);
        const RankingQuality quality = ranking_quality(data.scores, data.labels);
        CHECK(quality.auc == doctest::Approx(textbook_auc(data)).epsilon(1e-13));
        CHECK(quality.average_precision
              == doctest::Approx(textbook_average_precision(data)).epsilon(1e-13));
      }
}

TEST_CASE("areas and loss are scikit-learn's") {
  // scikit-learn 1.9.1: roc_auc_score, average_precision_score, log_loss over known(), and the
  // first two again with scores cut down to eighths.
  Scored data = known();
  CHECK(std::count(data.labels.begin(), data.labels.end(), std::uint8_t{1}) == 874);
  const RankingQuality quality = ranking_quality(data.scores, data.labels);
  CHECK(quality.auc == doctest::Approx(0.7032991655306362).epsilon(1e-14));
  CHECK(quality.average_precision == doctest::Approx(0.29325250503688355).epsilon(1e-14));
  CHECK(log_loss(data.scores, data.labels) == doctest::Approx(0.822123305027773).epsilon(1e-14));
  for (float& score : data.scores)
    score = std::floor(score * 8) / 8;
  const RankingQuality tied = ranking_quality(data.scores, data.labels);
  CHECK(tied.auc == doctest::Approx(0.6994042634141255).epsilon(1e-14));
  CHECK(tied.average_precision == doctest::Approx(0.283096026039394).epsilon(1e-14));
}

TEST_CASE("results are the same to the bit for one, two and three threads") {
  Scored data = scored(300'000, 0.3, 0, 8);
  for (std::size_t i = 0; i < data.scores.size(); i += 3)
    data.scores[i] = std::round(data.scores[i] * 4) / 4; // long ties across stretches
  std::vector<float> probabilities;
  for (const float score : data.scores)
    probabilities.push_back(std::clamp(score / 8 + 0.5f, 0.0f, 1.0f));
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const RankingQuality one = ranking_quality(data.scores, data.labels);
  const double loss = log_loss(probabilities, data.labels);
  for (const int more : {2, 3}) {
    omp_set_num_threads(more);
    const RankingQuality many = ranking_quality(data.scores, data.labels);
    CHECK(many.auc == one.auc);
    CHECK(many.average_precision == one.average_precision);
    CHECK(log_loss(probabilities, data.labels) == loss);
  }
  omp_set_num_threads(threads);
  // The sorted lists are longer than those sorted by comparison: against ranks.
  std::vector<std::pair<float, int>> ranked;
  for (std::size_t i = 0; i < data.scores.size(); ++i)
    ranked.emplace_back(data.scores[i], data.labels[i]);
  std::sort(ranked.begin(), ranked.end());
  double rank_sum = 0, positives = 0;
  for (std::size_t i = 0, j = 0; i < ranked.size(); i = j) {
    double group = 0;
    for (; j < ranked.size() && ranked[j].first == ranked[i].first; ++j)
      group += ranked[j].second;
    rank_sum += group * static_cast<double>(i + 1 + j) / 2;
    positives += group;
  }
  const double negatives = static_cast<double>(ranked.size()) - positives;
  CHECK(one.auc
        == doctest::Approx((rank_sum - positives * (positives + 1) / 2) / positives / negatives)
               .epsilon(1e-12));
}

TEST_CASE("equal scores say nothing, and perfect ones all") {
  const std::vector<std::uint8_t> labels{1, 0, 0, 0};
  const RankingQuality equal = ranking_quality(std::vector<float>(4, 0.3f), labels);
  CHECK(equal.auc == 0.5);
  CHECK(equal.average_precision == 0.25);
  const RankingQuality perfect = ranking_quality(std::vector<float>{3, -1, 0, 2}, labels);
  CHECK(perfect.auc == 1);
  CHECK(perfect.average_precision == 1);
}

TEST_CASE("zeros of both signs are equal, and infinite scores are the ends") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(ranking_quality(std::vector<float>{-0.0f, 0.0f}, std::vector<std::uint8_t>{0, 1}).auc
        == 0.5);
  CHECK(ranking_quality(std::vector<float>{-infinity, infinity, -1e38f, 1e38f},
                        std::vector<std::uint8_t>{0, 1, 1, 0})
            .auc
        == 0.75);
}

TEST_CASE("scores that are not numbers and labels of one kind have no quality") {
  const std::vector<std::uint8_t> labels{0, 1};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(ranking_quality(std::vector<float>{nan, 1}, labels), Failure);
  CHECK_THROWS_AS(ranking_quality(std::vector<float>{1, -nan}, labels), Failure);
  CHECK_THROWS_AS(ranking_quality(std::vector<float>{1, 2}, std::vector<std::uint8_t>{1, 1}),
                  Failure);
  CHECK_THROWS_AS(ranking_quality(std::vector<float>{1, 2}, std::vector<std::uint8_t>{0, 0}),
                  Failure);
  CHECK_THROWS_AS(ranking_quality(std::vector<float>{}, std::vector<std::uint8_t>{}), Failure);
  CHECK_THROWS_AS(ranking_quality(std::vector<float>{1}, labels), Failure);
  CHECK_THROWS_AS(log_loss(std::vector<float>{nan, 1}, labels), Failure);
  CHECK_THROWS_AS(log_loss(std::vector<float>{0, 1.5f}, labels), Failure);
  CHECK_THROWS_AS(log_loss(std::vector<float>{-0.5f, 1}, labels), Failure);
  CHECK_THROWS_AS(log_loss(std::vector<float>{}, std::vector<std::uint8_t>{}), Failure);
}

TEST_CASE("the log loss is the mean of logarithms, and a sure wrong answer costs 24 bits") {
  std::vector<float> probabilities;
  std::vector<std::uint8_t> labels;
  double sum = 0;
  for (int i = 1; i < 4000; ++i) {
    probabilities.push_back(static_cast<float>(std::exp2(-i / 200.0)));
    labels.push_back(i % 3 == 0);
    const auto probability = static_cast<double>(probabilities.back());
    sum -= std::log(i % 3 == 0 ? probability : 1 - probability);
  }
  CHECK(log_loss(probabilities, labels) == doctest::Approx(sum / 3999).epsilon(1e-14));
  CHECK(log_loss(std::vector<float>{0}, std::vector<std::uint8_t>{1})
        == doctest::Approx(24 * std::log(2)).epsilon(1e-15));
  CHECK(log_loss(std::vector<float>{1}, std::vector<std::uint8_t>{0})
        == doctest::Approx(24 * std::log(2)).epsilon(1e-15));
  CHECK(log_loss(std::vector<float>{0.25f}, std::vector<std::uint8_t>{1})
        == doctest::Approx(std::log(4.0)).epsilon(1e-15));
}
