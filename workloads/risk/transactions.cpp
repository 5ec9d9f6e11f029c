#include "workloads/risk/transactions.h"

#include "sim/errors.h"
#include "workloads/philox.h"
#include "workloads/risk/approximations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

namespace breakeven::risk {

namespace {

constexpr auto block_rows = static_cast<std::size_t>(transaction_block);
constexpr int base_columns = 8;
constexpr int trace_columns = 8; ///< kinds of columns behind them
constexpr std::size_t tile_rows = 128;
/// Not a multiple of 4 KiB and no power of two: a row's cells fall into different cache sets.
constexpr std::size_t tile_stride = tile_rows + 16;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// ---- random numbers ----

/// Which four words of a row.
enum Quad : std::uint32_t { first_quad, second_quad, hidden_quad, first_trace_quad };

using TileColumn = std::array<float, tile_rows>;
using TileWords = std::array<std::array<std::uint32_t, tile_rows>, 4>;

void draw(std::uint64_t seed, std::int64_t first_row, std::uint32_t quad, TileWords& words) {
  for (std::size_t i = 0; i < tile_rows; ++i) {
    const auto row = static_cast<std::uint64_t>(first_row) + i;
    const Random4 four = philox4x32(
        {static_cast<std::uint32_t>(row), static_cast<std::uint32_t>(row >> 32), quad, 0}, seed);
    words[0][i] = four.x;
    words[1][i] = four.y;
    words[2][i] = four.z;
    words[3][i] = four.w;
  }
}

/// The lowest eight bits are in no open_unit_float(): whether one of 256 events happens.
bool happens(std::uint32_t word, std::uint32_t of_256) { return (word & 0xFF) < of_256; }

/// first ? one : other, by bits: of a branch that leaves out arithmetic, which might trap,
/// compilers make no vector code.
float chosen(bool first, float one, float other) {
  const std::uint32_t mask = 0u - static_cast<std::uint32_t>(first);
  return float_of((bits_of(one) & mask) | (bits_of(other) & ~mask));
}
float positive_part(float x) { return chosen(x > 0, x, 0); }
float whole_part(float x) { return static_cast<float>(static_cast<std::int32_t>(x)); } // x >= 0

/// Exponential with mean 1.
float exponential_of(std::uint32_t word) { return -natural_log(open_unit_float(word)); }

// ---- the eight columns ----

enum Base { amount, hour, gap, distance, merchant, velocity, ratio, age };
constexpr std::array<const char*, base_columns> base_names{
    "amount_usd",      "hour_of_day",       "hours_since_last",
    "distance_km",     "merchant_category", "transactions_last_hour",
    "amount_to_usual", "account_age_days"};

/// Of a merchant category, by code: popular ones are first, and risk has nothing to do with that.
constexpr std::array<float, 24> merchant_risk{
    -0.6f, 0.2f,  -0.4f, -0.9f, 0.7f, -0.2f, 0.1f, -0.7f, 1.0f,  -0.5f, 0.3f,  -0.3f,
    0.8f,  -0.8f, 0.5f,  -0.1f, 0.9f, -0.6f, 0.4f, 0.0f,  -0.4f, 0.6f,  -0.9f, 0.7f};

struct Drift {
  float amount, distance, merchants;
};

/// The block that holds all rows: its base columns, what the traces follow, and labels.
struct Block {
  TransactionSettings settings;
  std::int64_t index = -1;
  std::vector<float> columns = std::vector<float>(base_columns * block_rows);
  std::vector<float> amount_level = std::vector<float>(block_rows); ///< in standard deviations
  std::vector<float> distance_level = std::vector<float>(block_rows);
  std::vector<float> score = std::vector<float>(block_rows);
  std::vector<std::uint32_t> lot = std::vector<std::uint32_t>(block_rows);
  std::vector<std::uint64_t> order = std::vector<std::uint64_t>(block_rows);
  std::vector<std::uint8_t> labels = std::vector<std::uint8_t>(block_rows);

  float* column(int place) { return &columns[static_cast<std::size_t>(place) * block_rows]; }
};

Drift drift_at(const TransactionSettings& settings, std::int64_t block) {
  const double share = static_cast<double>(block * transaction_block)
                       / static_cast<double>(settings.rows) * settings.drift;
  return {static_cast<float>(share), static_cast<float>(share / 2), static_cast<float>(share / 4)};
}

/// Rows [at, at + tile_rows) of the block.
void make_tile(Block& block, std::size_t at, Drift drift) {
  TileWords first, second, hidden;
  const std::int64_t row = block.index * transaction_block + static_cast<std::int64_t>(at);
  draw(block.settings.seed, row, first_quad, first);
  draw(block.settings.seed, row, second_quad, second);
  draw(block.settings.seed, row, hidden_quad, hidden);
  // In arrays of its own, which compilers know to be apart.
  std::array<TileColumn, base_columns> made;
  TileColumn amount_level, distance_level, score;
  for (std::size_t i = 0; i < tile_rows; ++i) {
    const float level = inverse_normal(first[0][i]) + drift.amount;
    const float habit = fused(0.6f, level, fused(0.8f, inverse_normal(first[1][i]), 0.0f));
    const float far = inverse_normal(second[0][i]) + drift.distance;
    amount_level[i] = level;
    distance_level[i] = far;
    made[amount][i] = power_of_two(fused(1.6f, level, 5.2f));

    // One in eight at any hour, the others around two in the afternoon.
    const float day = fused(4.2f, inverse_normal(first[2][i]), 14.0f + 24.0f);
    const float around = positive_part(fused(whole_part(fused(day, 1.0f / 24, 0.0f)), -24.0f, day));
    const float any = fused(24.0f, open_unit_float(hidden[2][i]), 0.0f);
    const float time = chosen(happens(first[2][i], 32), any, around);
    made[hour][i] = time;

    const float wait = exponential_of(first[3][i]);
    const float since = fused(wait, fused(wait, 20.0f, 0.0f), 0.0f);
    const float pace = 0.4f + 3.0f / (1.0f + since);
    const float count = whole_part(fused(pace, exponential_of(second[2][i]), 0.0f));
    made[velocity][i] = count;

    const float u = open_unit_float(second[1][i]);
    const float skewed = fused(u, u, 0.0f);
    const float place = fused(drift.merchants, u - skewed, skewed);
    const float code = whole_part(fused(24.0f, place, 0.0f));
    made[merchant][i] = code;
    const float risk = merchant_risk[static_cast<std::size_t>(static_cast<std::int32_t>(code))];

    const float young = open_unit_float(second[3][i]);
    const float days = fused(4000.0f, fused(young, young, 0.0f), 0.0f);
    made[age][i] = days;

    made[gap][i] = chosen(happens(first[3][i], 8), nan, since);
    made[distance][i] =
        chosen(happens(second[0][i], 20), nan, power_of_two(fused(2.2f, far, 3.0f)));
    made[ratio][i] = chosen(happens(first[1][i], 13), nan, power_of_two(fused(1.2f, habit, 0.0f)));

    const float above_habit = positive_part(habit - 0.5f);
    const float at_night = chosen(time < 5, positive_part(level + 0.5f), 0);
    const float too_soon = chosen(since < 1, positive_part(far), 0);
    const float new_and_risky = chosen(days < 150, positive_part(risk + 0.5f), 0);
    float sum = fused(1.5f, inverse_normal(hidden[0][i]), 0.0f); // what no column tells
    sum = fused(0.9f, above_habit, sum);
    sum = fused(0.8f, risk, sum);
    sum = fused(0.9f, at_night, sum);
    sum = fused(1.4f, too_soon, sum);
    sum = fused(1.0f, new_and_risky, sum);
    sum = fused(0.25f, chosen(count < 6, count, 6), sum);
    sum = fused(0.4f, fused(positive_part(habit), positive_part(far), 0.0f), sum);
    score[i] = sum;
  }
  for (int place = 0; place < base_columns; ++place)
    std::copy_n(made[static_cast<std::size_t>(place)].data(), tile_rows, block.column(place) + at);
  std::copy_n(amount_level.data(), tile_rows, &block.amount_level[at]);
  std::copy_n(distance_level.data(), tile_rows, &block.distance_level[at]);
  std::copy_n(score.data(), tile_rows, &block.score[at]);
  std::copy_n(hidden[1].data(), tile_rows, &block.lot[at]);
}

// ---- labels ----

/// Orders floats as whole numbers do.
std::uint32_t ordered(float value) {
  const std::uint32_t bits = bits_of(value);
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

/// How many of the block's rows, if the share is met as closely as can be from the first row on.
std::size_t share_of_block(std::int64_t block, double share) {
  const auto up_to = [share](std::int64_t blocks) {
    return std::floor(static_cast<double>(blocks * transaction_block) * share + 0.5);
  };
  return static_cast<std::size_t>(up_to(block + 1) - up_to(block));
}

void label(Block& block) {
  const TransactionSettings& settings = block.settings;
  const std::size_t positives = share_of_block(block.index, settings.positive_rate);
  const std::size_t wrong =
      std::min({share_of_block(block.index, settings.positive_rate * settings.label_noise),
                positives, block_rows - positives});
  const auto begin = block.order.begin();
  const auto end_of_positives = begin + static_cast<std::ptrdiff_t>(positives);
  for (std::size_t i = 0; i < block_rows; ++i)
    block.order[i] = static_cast<std::uint64_t>(ordered(block.score[i])) << 32 | i;
  if (positives < block_rows)
    std::nth_element(begin, end_of_positives, block.order.end(), std::greater<>());
  std::fill(block.labels.begin(), block.labels.end(), std::uint8_t{0});
  std::for_each(begin, end_of_positives,
                [&](std::uint64_t key) { block.labels[static_cast<std::uint32_t>(key)] = 1; });
  if (wrong == 0) return;
  // By lot, which has nothing to do with the score.
  for (std::uint64_t& key : block.order) {
    const auto i = static_cast<std::uint32_t>(key);
    key = static_cast<std::uint64_t>(block.lot[i]) << 32 | i;
  }
  for (const auto& [from, to] :
       {std::pair{begin, end_of_positives}, std::pair{end_of_positives, block.order.end()}}) {
    const auto end_of_wrong = from + static_cast<std::ptrdiff_t>(wrong);
    if (end_of_wrong < to) std::nth_element(from, end_of_wrong, to);
    std::for_each(from, end_of_wrong,
                  [&](std::uint64_t key) { block.labels[static_cast<std::uint32_t>(key)] ^= 1; });
  }
}

/// The thread's own; the last block made is kept, for readers of few rows at a time.
Block& block_of(const TransactionSettings& settings, std::int64_t index) {
  thread_local Block block;
  if (block.index == index && block.settings == settings) return block;
  block.settings = settings;
  block.index = index;
  const Drift drift = drift_at(settings, index);
  for (std::size_t at = 0; at < block_rows; at += tile_rows)
    make_tile(block, at, drift);
  label(block);
  return block;
}

// ---- the columns behind ----

constexpr std::array<const char*, trace_columns> trace_names{
    "mean_amount_", "count_", "level_", "code_", "mean_distance_", "share_", "sum_", "flag_"};

/// Column `kind` of eight, from one word a row; amounts and distances are the rows' own levels.
void make_trace(int kind, const std::uint32_t* words, const float* amounts, const float* distances,
                float* column) {
  const auto each = [&](const auto& value) {
    for (std::size_t i = 0; i < tile_rows; ++i)
      column[i] = value(i);
  };
  switch (kind) {
  case 0:
    return each([=](std::size_t i) {
      const float level = fused(0.8f, amounts[i], fused(0.6f, inverse_normal(words[i]), 0.0f));
      return power_of_two(fused(1.6f, level, 5.0f));
    });
  case 1:
    return each(
        [=](std::size_t i) { return whole_part(fused(3.0f, exponential_of(words[i]), 0.0f)); });
  case 2:
    return each([=](std::size_t i) { return inverse_normal(words[i]); });
  case 3:
    return each([=](std::size_t i) {
      const float u = open_unit_float(words[i]);
      return whole_part(fused(12.0f, fused(u, u, 0.0f), 0.0f));
    });
  case 4:
    return each([=](std::size_t i) {
      const float level = fused(0.7f, distances[i], fused(0.714f, inverse_normal(words[i]), 0.0f));
      return chosen(happens(words[i], 20), nan, power_of_two(fused(2.2f, level, 3.0f)));
    });
  case 5:
    return each([=](std::size_t i) { return open_unit_float(words[i]); });
  case 6:
    return each([=](std::size_t i) {
      return chosen(happens(words[i], 20), nan,
                    power_of_two(fused(2.0f, inverse_normal(words[i]), 0.0f)));
    });
  default:
    return each([=](std::size_t i) { return chosen(open_unit_float(words[i]) < 0.2f, 1, 0); });
  }
}

std::string column_name(int place) {
  if (place < base_columns) return base_names[static_cast<std::size_t>(place)];
  const int kind = (place - base_columns) % trace_columns;
  return trace_names[static_cast<std::size_t>(kind)] + std::to_string(place + 1);
}

/// All columns of rows [at, at + tile_rows) of the block, column by column.
void make_columns(Block& block, std::size_t at, std::vector<float>& tile) {
  const int columns = block.settings.columns;
  for (int place = 0; place < base_columns; ++place)
    std::copy_n(block.column(place) + at, tile_rows,
                &tile[static_cast<std::size_t>(place) * tile_stride]);
  TileWords words;
  for (int place = base_columns; place < columns; ++place) {
    const int trace = place - base_columns;
    if (trace % 4 == 0)
      draw(block.settings.seed, block.index * transaction_block + static_cast<std::int64_t>(at),
           first_trace_quad + static_cast<std::uint32_t>(trace / 4), words);
    make_trace(trace % trace_columns, words[static_cast<std::size_t>(trace % 4)].data(),
               &block.amount_level[at], &block.distance_level[at],
               &tile[static_cast<std::size_t>(place) * tile_stride]);
  }
}

void read_rows(const TransactionSettings& settings, std::int64_t begin, std::int64_t end,
               float* values, std::uint8_t* labels) {
  const auto columns = static_cast<std::size_t>(settings.columns);
  thread_local std::vector<float> tile;
  tile.resize(std::max(tile.size(), columns * tile_stride));
  for (std::int64_t row = begin; row < end;) {
    Block& block = block_of(settings, row / transaction_block);
    const auto in_block = static_cast<std::size_t>(row % transaction_block);
    const std::size_t at = in_block / tile_rows * tile_rows;
    const std::size_t first = in_block - at;
    const std::size_t last = std::min(tile_rows, first + static_cast<std::size_t>(end - row));
    make_columns(block, at, tile);
    for (std::size_t i = first; i < last; ++i)
      for (std::size_t place = 0; place < columns; ++place)
        *values++ = tile[place * tile_stride + i];
    labels = std::copy_n(block.labels.begin() + static_cast<std::ptrdiff_t>(in_block), last - first,
                         labels);
    row += static_cast<std::int64_t>(last - first);
  }
}

// ---- settings ----

void check_range(const char* name, double value, double low, double high) {
  const auto shown = [](double number) {
    std::string text = std::to_string(number);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
    return text;
  };
  if (!(value >= low && value <= high))
    throw BadInput("transactions", 0, std::string(name) + " " + shown(value),
                   shown(low) + " to " + shown(high));
}

} // namespace

Rows transactions(const TransactionSettings& settings) {
  check_range("rows", static_cast<double>(settings.rows), 1, 0xFFFFFFFF);
  check_range("columns", settings.columns, base_columns, 200);
  check_range("positive_rate", settings.positive_rate, 0.0001, 0.5);
  check_range("label_noise", settings.label_noise, 0, 0.5);
  check_range("drift", settings.drift, 0, 2);
  Rows rows;
  rows.count = settings.rows;
  for (int place = 0; place < settings.columns; ++place)
    rows.feature_names.push_back(column_name(place));
  rows.read = [settings](std::int64_t begin, std::int64_t end, float* values,
                         std::uint8_t* labels) { read_rows(settings, begin, end, values, labels); };
  return rows;
}

} // namespace breakeven::risk
