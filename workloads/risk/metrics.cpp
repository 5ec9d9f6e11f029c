#include "workloads/risk/metrics.h"

#include "sim/errors.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <vector>

namespace breakeven::risk {

namespace {

/// Sums of floating-point numbers are made stretch by stretch and then over the stretches, so that
/// they do not depend on the threads.
constexpr std::size_t stretch = 1 << 14;

std::size_t stretches(std::size_t count) { return (count + stretch - 1) / stretch; }

void check_sizes(std::size_t numbers, std::size_t labels) {
  if (numbers != labels || numbers == 0)
    throw Failure(std::to_string(numbers) + " scores for " + std::to_string(labels) + " labels");
}

// ---- keys ----

/// Orders as the floats do; -0 and 0 are equal. NaN of either sign is above or below all of them.
std::uint32_t key_of(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0f);
  return bits ^ (static_cast<std::uint32_t>(static_cast<std::int32_t>(bits) >> 31) | 0x80000000u);
}
constexpr std::uint32_t infinity_key = 0xFF800000u, minus_infinity_key = 0x007FFFFFu;

struct Keys {
  std::vector<std::uint32_t> positives, negatives;
};

/// Every thread's rows are consecutive, so that it may write its own share of both lists.
Keys keys_of(std::span<const float> scores, std::span<const std::uint8_t> labels) {
  const std::size_t parts = stretches(scores.size());
  std::vector<std::size_t> positives_before(parts + 1);
#pragma omp parallel for schedule(static)
  for (std::size_t part = 0; part < parts; ++part) {
    std::size_t positives = 0;
    for (std::size_t i = part * stretch; i < std::min(scores.size(), (part + 1) * stretch); ++i)
      positives += labels[i] != 0;
    positives_before[part + 1] = positives;
  }
  for (std::size_t part = 0; part < parts; ++part)
    positives_before[part + 1] += positives_before[part];
  const std::size_t positives = positives_before[parts];
  if (positives == 0 || positives == scores.size())
    throw Failure("all " + std::to_string(scores.size()) + " labels are "
                  + (positives == 0 ? "0" : "1") + ": they have no order");
  Keys keys;
  keys.positives.resize(positives);
  keys.negatives.resize(scores.size() - positives);
  bool has_nan = false;
#pragma omp parallel for schedule(static) reduction(|| : has_nan)
  for (std::size_t part = 0; part < parts; ++part) {
    std::size_t next[2] = {part * stretch - positives_before[part], positives_before[part]};
    std::uint32_t* const lists[2] = {keys.negatives.data(), keys.positives.data()};
    for (std::size_t i = part * stretch; i < std::min(scores.size(), (part + 1) * stretch); ++i) {
      const std::uint32_t key = key_of(scores[i]);
      has_nan = has_nan || key > infinity_key || key < minus_infinity_key;
      const std::size_t list = labels[i] != 0 ? 1 : 0;
      lists[list][next[list]++] = key;
    }
  }
  if (has_nan) throw Failure("a score is not a number");
  return keys;
}

// ---- sorting ----

constexpr unsigned digit_bits = 11;
constexpr std::size_t digits = std::size_t{1} << digit_bits;

/// One pass of a stable radix sort: a thread counts and moves its consecutive share.
void sort_by_digit(const std::vector<std::uint32_t>& from, std::vector<std::uint32_t>& to,
                   unsigned shift) {
  const std::size_t threads = static_cast<std::size_t>(omp_get_max_threads());
  const std::size_t share = from.size() / threads + 1;
  std::vector<std::array<std::size_t, digits>> places(threads);
  const auto digit_of = [shift](std::uint32_t key) { return key >> shift & (digits - 1); };
#pragma omp parallel for schedule(static)
  for (std::size_t thread = 0; thread < threads; ++thread) {
    std::array<std::size_t, digits>& counts = places[thread];
    counts.fill(0);
    for (std::size_t i = thread * share; i < std::min(from.size(), (thread + 1) * share); ++i)
      ++counts[digit_of(from[i])];
  }
  std::size_t place = 0;
  for (std::size_t digit = 0; digit < digits; ++digit)
    for (std::array<std::size_t, digits>& counts : places) {
      const std::size_t count = counts[digit];
      counts[digit] = place;
      place += count;
    }
#pragma omp parallel for schedule(static)
  for (std::size_t thread = 0; thread < threads; ++thread) {
    std::array<std::size_t, digits>& next = places[thread];
    for (std::size_t i = thread * share; i < std::min(from.size(), (thread + 1) * share); ++i)
      to[next[digit_of(from[i])]++] = from[i];
  }
}

void sort(std::vector<std::uint32_t>& keys) {
  constexpr std::size_t few = 4096; // digits would be counted for longer than keys are compared
  if (keys.size() < few) {
    std::sort(keys.begin(), keys.end());
    return;
  }
  std::vector<std::uint32_t> others(keys.size());
  for (unsigned shift = 0; shift < 32; shift += digit_bits) {
    sort_by_digit(keys, others, shift);
    keys.swap(others);
  }
}

// ---- areas ----

struct Areas {
  std::uint64_t half_pairs = 0; ///< twice the pairs in order, ties once: at most 2^63
  double precision = 0;         ///< summed over positives
};

/// Of the groups of equal keys that start among positives [begin, end).
Areas areas_of(const Keys& keys, std::size_t begin, std::size_t end) {
  const std::vector<std::uint32_t>&positives = keys.positives, &negatives = keys.negatives;
  while (begin > 0 && begin < end && positives[begin] == positives[begin - 1])
    ++begin;
  Areas areas;
  if (begin == end) return areas;
  auto below = static_cast<std::size_t>(
      std::lower_bound(negatives.begin(), negatives.end(), positives[begin]) - negatives.begin());
  for (std::size_t i = begin; i < end;) {
    const std::uint32_t key = positives[i];
    std::size_t group_end = i + 1;
    while (group_end < positives.size() && positives[group_end] == key)
      ++group_end;
    while (below < negatives.size() && negatives[below] < key)
      ++below;
    std::size_t not_above = below;
    while (not_above < negatives.size() && negatives[not_above] == key)
      ++not_above;
    const std::size_t group = group_end - i;
    areas.half_pairs += static_cast<std::uint64_t>(group) * (below + not_above);
    const std::size_t found = positives.size() - i; // by a threshold at this key
    const std::size_t false_alarms = negatives.size() - below;
    areas.precision += static_cast<double>(group) * static_cast<double>(found)
                       / static_cast<double>(found + false_alarms);
    below = not_above;
    i = group_end;
  }
  return areas;
}

// ---- log loss ----

/// Natural logarithm of a normal number, within 3e-16 or, relative, 3e-16: x = 2^k m with m in
/// [sqrt(1/2), sqrt(2)), ln m = 2 artanh(s) with s = (m - 1) / (m + 1), by its series to s^21. Not
/// the C library's, of which there are several.
double natural_log(double x) {
  constexpr std::int64_t root_of_half = 0x3FE6A09E667F3BCD;
  const auto bits = std::bit_cast<std::int64_t>(x);
  const std::int64_t exponent = (bits - root_of_half) >> 52;
  const auto m = std::bit_cast<double>(bits - (exponent << 52));
  const double s = (m - 1) / (m + 1);
  const double z = s * s;
  double series = 1.0 / 21;
  series = series * z + 1.0 / 19;
  series = series * z + 1.0 / 17;
  series = series * z + 1.0 / 15;
  series = series * z + 1.0 / 13;
  series = series * z + 1.0 / 11;
  series = series * z + 1.0 / 9;
  series = series * z + 1.0 / 7;
  series = series * z + 1.0 / 5;
  series = series * z + 1.0 / 3;
  return static_cast<double>(exponent) * 0.69314718055994530942 + (2 * s + 2 * s * z * series);
}

struct Loss {
  double sum = 0;
  bool is_valid = true;
};

Loss loss_of(std::span<const float> probabilities, std::span<const std::uint8_t> labels) {
  constexpr double least = 0x1p-24;
  Loss loss;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    const auto probability = static_cast<double>(probabilities[i]);
    loss.is_valid = loss.is_valid && probability >= 0 && probability <= 1;
    const double own = labels[i] != 0 ? probability : 1 - probability;
    loss.sum -= natural_log(std::clamp(own, least, 1 - least));
  }
  return loss;
}

} // namespace

RankingQuality ranking_quality(std::span<const float> scores,
                               std::span<const std::uint8_t> labels) {
  check_sizes(scores.size(), labels.size());
  Keys keys = keys_of(scores, labels);
  sort(keys.positives);
  sort(keys.negatives);
  const std::size_t positives = keys.positives.size();
  std::vector<Areas> areas(stretches(positives));
#pragma omp parallel for schedule(dynamic)
  for (std::size_t part = 0; part < areas.size(); ++part)
    areas[part] = areas_of(keys, part * stretch, std::min(positives, (part + 1) * stretch));
  Areas all;
  for (const Areas& part : areas) {
    all.half_pairs += part.half_pairs;
    all.precision += part.precision;
  }
  const auto found = static_cast<double>(positives);
  const auto others = static_cast<double>(keys.negatives.size());
  return {static_cast<double>(all.half_pairs) / 2 / found / others, all.precision / found};
}

double log_loss(std::span<const float> probabilities, std::span<const std::uint8_t> labels) {
  check_sizes(probabilities.size(), labels.size());
  std::vector<Loss> losses(stretches(probabilities.size()));
#pragma omp parallel for schedule(static)
  for (std::size_t part = 0; part < losses.size(); ++part) {
    const std::size_t begin = part * stretch;
    const std::size_t count = std::min(stretch, probabilities.size() - begin);
    losses[part] = loss_of(probabilities.subspan(begin, count), labels.subspan(begin, count));
  }
  double sum = 0;
  for (const Loss& loss : losses) {
    if (!loss.is_valid) throw Failure("a score is not a probability");
    sum += loss.sum;
  }
  return sum / static_cast<double>(probabilities.size());
}

} // namespace breakeven::risk
