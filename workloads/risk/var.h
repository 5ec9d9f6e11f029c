// Monte Carlo value at risk: what both paths share. A market of risk factors whose log returns over
// the horizon are jointly normal, a portfolio of shares and European options on them, and the
// arithmetic of one path: normals, correlated returns, full revaluation of every option by Black
// and Scholes. A path's profit is a sum of whole quanta, so no order of adding changes it. Leaves
// out loops, quantiles (var_result.h) and where portfolios come from (var_portfolio.h).
//
// Why single precision: the standard error of a 99 % quantile of a million paths is 0.16 % of it,
// while a path's profit here is within 2e-5 of that quantile of what double precision gives
// (tests/risk/var_test.cpp; 1e-6 to 1e-5 are usual). Floats fill vector registers with twice the
// paths, and run 2 times as fast as doubles on an A100, 64 times on a T4. What needs more digits
// has them: prices of today are doubles, growth is computed without its 1, sums are whole numbers.
//
// nvcc contracts a product and a sum that follows it, the C++ build does not. So every product that
// meets a sum is an argument of fused(). nvcc 13.0 then makes the same machine code of var.cu for
// sm_90 with -fmad=true and with -fmad=false.
#pragma once

#include "workloads/host_device.h"
#include "workloads/philox.h"
#include "workloads/workload.h"

#include <cstdint>
#include <vector>

namespace breakeven::risk {

// ---- the question ----

struct RiskFactor {
  double spot = 0;       ///< currency
  double volatility = 0; ///< a year's, of the returns and implied by its options
  double drift = 0;      ///< a year's expected growth of the spot, continuously compounded
};

struct Market {
  std::vector<RiskFactor> factors;
  std::vector<double> correlation; ///< factors x factors, row by row
  double rate = 0;                 ///< a year's, continuously compounded, without risk
};

enum class PositionKind { equity, call, put };
struct Position {
  int factor = 0;
  PositionKind kind = PositionKind::equity;
  double quantity = 0; ///< below 0 where sold
  double strike = 0;   ///< of an option, currency
  double maturity_years = 0;
};

struct VarSettings {
  std::int64_t paths = 1'000'000;
  double horizon_days = 10; ///< trading days, 252 to a year
  std::vector<double> levels{0.95, 0.99, 0.999};
  std::uint64_t seed = 1;
};
constexpr double trading_days_per_year = 252;

// ---- the portfolio as it is revalued ----

/// All shares of one factor are one position.
struct FactorTerms {
  float spot;
  float equity;          ///< quanta for a growth of 1
  float log_drift;       ///< log return without its random part
  float lowest, highest; ///< log returns are held within 8 standard deviations
};

/// A put is a call with the signs of d1, d2 and the quantity turned. Aligned for wide loads.
struct alignas(16) OptionTerms {
  float slope, offset; ///< d1 = slope x log return + offset
  float gap;           ///< d2 = d1 - gap
  float strike;        ///< discounted from maturity to the horizon
  float quantity;      ///< quanta for a currency unit
};

/// Rows of the Cholesky factor, times the factors' volatilities over the horizon, in tiles of 8
/// rows: tile t has columns 0 to 8 t + 7, column by column, zeros where the triangle or the market
/// ends.
constexpr int rows_a_tile = 8;
constexpr std::int64_t tile_begin(std::int64_t tile) {
  return rows_a_tile * rows_a_tile * tile * (tile + 1) / 2;
}

struct VarBook {
  int factors = 0;
  std::vector<float> loadings;            ///< tile_begin(tiles())
  std::vector<FactorTerms> factor_terms;  ///< padded to whole tiles
  std::vector<std::int32_t> first_option; ///< factors + 1: options of a factor lie together
  std::vector<OptionTerms> options;
  std::int64_t options_value_now = 0; ///< quanta
  double quantum = 1;                 ///< currency, a power of 2
  std::int64_t positions = 0;         ///< that it was made of

  int tiles() const { return (factors + rows_a_tile - 1) / rows_a_tile; }
  int rows() const { return tiles() * rows_a_tile; }
};

// ---- normals ----

/// Names these draws among others of the same seed.
constexpr std::uint32_t var_stream = 0x56'61'52'00u;

/// Four draws of a path, for factors 4 quad to 4 quad + 3.
HOST_DEVICE inline Random4 draws_of(std::uint64_t seed, std::uint64_t path, std::uint32_t quad) {
  return philox4x32(
      {static_cast<std::uint32_t>(path), static_cast<std::uint32_t>(path >> 32), quad, var_stream},
      seed);
}

/// log2(p) for p in [2^-33, 1/2]. Absolute error at most 2.5e-6, which is the rounding of 33.
/// p = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log2(1 + f) is f times a polynomial of
/// degree 7, fitted for the least absolute error (4.8e-8).
HOST_DEVICE inline float log2_of_probability(float p) {
  constexpr std::uint32_t root_half = 0x3F35'04F3u, sign_and_exponent = 0xFF80'0000u;
  const std::uint32_t above = (bits_of(p) - root_half) & sign_and_exponent;
  const float f = float_of(bits_of(p) - above) - 1.0f;
  const auto n = static_cast<float>(static_cast<std::int32_t>(above) >> 23);
  float q = fused(-0.145745218f, f, 0.236891791f);
  q = fused(q, f, -0.25006938f);
  q = fused(q, f, 0.286707282f);
  q = fused(q, f, -0.360087186f);
  q = fused(q, f, 0.480939448f);
  q = fused(q, f, -0.721357167f);
  q = fused(q, f, 1.44269478f);
  return fused(q, f, n);
}

/// 1 / sqrt(x) to 1e-7 for x in [1/2, 64]: an estimate from the exponent and two steps of third
/// order. Not sqrtf, which may set errno and so keeps GCC from vectorising the loop around it.
HOST_DEVICE inline float inverse_root(float x) {
  const float estimate = float_of(0x5F37'5A86u - (bits_of(x) >> 1));
  const float error = fused(-(x * estimate), estimate, 1.0f);
  const float closer = fused(estimate, fused(0.375f, error, 0.5f) * error, estimate);
  const float small_error = fused(-(x * closer), closer, 1.0f);
  return fused(closer, fused(0.375f, small_error, 0.5f) * small_error, closer);
}

/// A standard normal from 32 uniform bits: one is the sign, 31 the distance of the probability from
/// 0, so that tails have a resolution of 2^-32 and |z| is at most 6.34. Absolute error at most
/// 1.5e-6. The inverse of the normal's distribution is a polynomial of degree 13 in sqrt(-log2(p)),
/// about the middle of its range, fitted for the least absolute error (4.1e-7).
HOST_DEVICE inline float normal_of(std::uint32_t bits) {
  const auto whole = static_cast<float>(static_cast<std::int32_t>(bits & 0x7FFF'FFFFu));
  const float p = fused(whole, 0x1p-32f, 0x1p-33f);
  const float bits_of_information = -log2_of_probability(p);
  const float s = fused(bits_of_information, inverse_root(bits_of_information), -3.375f);
  float z = fused(5.93999765e-8f, s, -1.58665046e-7f);
  z = fused(z, s, -5.79401785e-7f);
  z = fused(z, s, 1.04920468e-6f);
  z = fused(z, s, 5.10354403e-6f);
  z = fused(z, s, -1.15395414e-5f);
  z = fused(z, s, 9.79512242e-6f);
  z = fused(z, s, -6.63823375e-5f);
  z = fused(z, s, 3.36190424e-4f);
  z = fused(z, s, -1.3285561e-3f);
  z = fused(z, s, 5.50448382e-3f);
  z = fused(z, s, -2.39668954e-2f);
  z = fused(z, s, 1.2884376f);
  z = fused(z, s, 3.3724885f);
  return float_of(bits_of(z) ^ (bits & 0x8000'0000u));
}

// ---- exponentials ----

constexpr float log2_e = 1.44269504f;
/// 1.5 * 2^23: a sum with it has no bits below 1, and its low bits are the whole number.
constexpr float to_whole = 12582912.0f;

/// (2^f - 1) / f for f in [-1/2, 1/2], a polynomial of degree 5; 2^f has a relative error of 2e-9.
HOST_DEVICE inline float exp2_slope(float f) {
  float q = fused(1.53533707e-4f, f, 1.33988773e-3f);
  q = fused(q, f, 9.61843692e-3f);
  q = fused(q, f, 5.55033237e-2f);
  q = fused(q, f, 0.240226477f);
  return fused(q, f, 0.693147182f);
}

/// exp(x) - 1. Error at most 3e-7 of it or of |x|, whichever is larger, for |x| <= 3, so that small
/// returns keep their digits; 1e-6 for |x| <= 40.
HOST_DEVICE inline float growth_of(float x) {
  const float shifted = fused(x, log2_e, to_whole);
  const float f = fused(x, log2_e, to_whole - shifted);
  const float power = float_of((bits_of(shifted) << 23) + bits_of(1.0f)); // 2^n
  return fused(power, f * exp2_slope(f), power - 1.0f);
}

/// exp(-d^2 / 2), not below 2^-126. Relative error at most 2e-6 for |d| <= 5. Clamps here compare
/// bits, which order floats of one sign by magnitude: one instruction, where floats and their NaN
/// take several.
HOST_DEVICE inline float bell(float d) {
  constexpr std::uint32_t least_bits = 0xC2FA'0000u; // of -125
  const std::uint32_t bits = bits_of((d * (-0.5f * log2_e)) * d);
  const float y = float_of(bits < least_bits ? bits : least_bits);
  const float shifted = y + to_whole;
  const float f = y - (shifted - to_whole);
  const float power = fused(f, exp2_slope(f), 1.0f);
  return float_of(bits_of(power) + (bits_of(shifted) << 23));
}

// ---- Black and Scholes ----

/// exp(t^2 / 2) N(-t) for t = |d|, with the sign of d. A polynomial of degree 10, fitted for the
/// least error of N: N(-t) = bell(t) times it to 1e-7. Above 5.5, where bell is below 3e-7, it
/// stays what it is there.
HOST_DEVICE inline float scaled_tail(float d) {
  constexpr std::uint32_t sign = 0x8000'0000u, most_bits = 0x40B0'0000u; // of 5.5
  const std::uint32_t size_bits = bits_of(d) & ~sign;
  const float t = float_of(size_bits < most_bits ? size_bits : most_bits);
  float m = fused(1.62643209e-6f, t, -3.51253912e-5f);
  m = fused(m, t, 3.39201302e-4f);
  m = fused(m, t, -1.9727312e-3f);
  m = fused(m, t, 7.93543737e-3f);
  m = fused(m, t, -2.43089478e-2f);
  m = fused(m, t, 6.11511581e-2f);
  m = fused(m, t, -0.132512242f);
  m = fused(m, t, 0.249916464f);
  m = fused(m, t, -0.39893648f);
  m = fused(m, t, 0.49999994f);
  return float_of(bits_of(m) | (bits_of(d) & sign));
}

/// `value` where d has no sign, else 0.
HOST_DEVICE inline float if_positive(float d, float value) {
  const auto all_if_negative =
      static_cast<std::uint32_t>(static_cast<std::int32_t>(bits_of(d)) >> 31);
  return float_of(bits_of(value) & ~all_if_negative);
}

/// spot N(d1) - strike N(d2) of Black and Scholes, "The Pricing of Options and Corporate
/// Liabilities", 1973, eq. 13, with the strike discounted. Error at most 4e-7 of the larger of spot
/// and strike. With N(d) = 1 - bell(d) tail(d) for d >= 0 and bell(d) tail(-d) below it, the two
/// terms share one exponential, because spot bell(d1) = strike bell(d2).
HOST_DEVICE inline float option_value(float log_return, float spot, const OptionTerms& terms) {
  const float d1 = fused(log_return, terms.slope, terms.offset);
  const float d2 = d1 - terms.gap;
  const float certain = if_positive(d1, spot) - if_positive(d2, terms.strike);
  return fused(-(spot * bell(d1)), scaled_tail(d1) - scaled_tail(d2), certain);
}

/// What one position is worth in quanta stays below 2^worth_bits in size, so that the worths of 8
/// positions add up in 32 bits.
constexpr int worth_bits = 27, worths_a_sum = 8;

/// To the nearest whole number; |x| is below 2^31.
HOST_DEVICE inline std::int32_t quanta_of(float x) { return static_cast<std::int32_t>(rintf(x)); }

HOST_DEVICE inline float held_within(float log_return, const FactorTerms& terms) {
  const float above = log_return > terms.lowest ? log_return : terms.lowest;
  return above < terms.highest ? above : terms.highest;
}
HOST_DEVICE inline float spot_after(float growth, const FactorTerms& terms) {
  return fused(terms.spot, growth, terms.spot);
}
HOST_DEVICE inline std::int32_t equity_profit(float growth, const FactorTerms& terms) {
  return quanta_of(terms.equity * growth);
}
HOST_DEVICE inline std::int32_t option_worth(float log_return, float spot,
                                             const OptionTerms& terms) {
  return quanta_of(terms.quantity * option_value(log_return, spot, terms));
}

// ---- what a run gives ----

/// A sum of profits in quanta, as high x 2^20 + low, so that 2^36 paths cannot overflow it.
struct ProfitSum {
  std::int64_t high = 0, low = 0;
  HOST_DEVICE ProfitSum operator+(const ProfitSum& other) const {
    return {high + other.high, low + other.low};
  }
  bool operator==(const ProfitSum&) const = default;
};
HOST_DEVICE inline ProfitSum as_sum(std::int64_t profit) {
  return {profit >> 20, profit & ((std::int64_t{1} << 20) - 1)};
}

/// The smallest profits of all paths, smallest first, in quanta, and what else results need.
struct VarTail {
  std::vector<std::int64_t> worst_profits;
  ProfitSum sum;
  std::int64_t paths = 0;
};

struct VarRun {
  VarTail tail;
  std::vector<Phase> phases; ///< "transfer", "scenarios", "quantiles"
};

/// Profit of paths [first_path, first_path + paths), a number each, in quanta. The same numbers for
/// any threads and however paths are divided among calls.
void openmp_var_profits(const VarBook& book, std::uint64_t seed, std::int64_t first_path,
                        std::int64_t paths, std::int64_t* profits);
/// Runs settings.paths paths and keeps the worst that `settings` needs. Throws Failure where memory
/// is short (var_work.h predicts how much it takes).
VarRun openmp_var(const VarBook& book, const VarSettings& settings);

} // namespace breakeven::risk

// The GPU side, once per path that it is compiled for. `chunk_paths` go to the device at a time.
#define BREAKEVEN_DECLARE_VAR(path)                                                                \
  namespace breakeven::path {                                                                      \
  void var_profits(const risk::VarBook& book, std::uint64_t seed, std::int64_t first_path,         \
                   std::int64_t paths, std::int64_t chunk_paths, std::int64_t* profits);           \
  risk::VarRun var(const risk::VarBook& book, const risk::VarSettings& settings);                  \
  }
BREAKEVEN_DECLARE_VAR(on_host)
BREAKEVEN_DECLARE_VAR(on_serial)
BREAKEVEN_DECLARE_VAR(on_cuda)
#undef BREAKEVEN_DECLARE_VAR
