// What both paths of the network compute alike, to the bit: the order of rows, activations,
// gradients of rows, Adam, and the scale of the loss. Leaves out sums of products, whose order is a
// library's.
//
// As in gbdt.h, a product that meets a sum is an argument of fused(); a product as its third
// argument cannot be contracted.
#pragma once

#include "workloads/risk/gbdt.h"

namespace breakeven::risk {

// ---- the order in which an epoch meets the rows ----

/// MurmurHash3's finaliser for 32 bits (Appleby, public domain): every bit of the input moves every
/// bit of the result.
HOST_DEVICE inline std::uint32_t scrambled(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85EB'CA6Bu;
  x ^= x >> 13;
  x *= 0xC2B2'AE35u;
  return x ^ x >> 16;
}

/// A permutation of [0, rows) that needs no memory: a Feistel network of six rounds over the least
/// power of four that holds them, walked on until it lands on a row (cycle walking; at most four
/// steps on average). Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.
struct RowOrder {
  static constexpr int rounds = 6;
  std::uint32_t keys[rounds] = {};
  std::uint32_t half_bits = 0; ///< of a number; 0: rows in their order
  std::int64_t rows = 0;
};

/// Rows below 2^32.
inline RowOrder row_order(std::uint64_t seed, int epoch, std::int64_t rows) {
  constexpr std::uint32_t stream = 0x4D'4C'50'00u; // names these draws among others of a seed
  RowOrder order;
  order.rows = rows;
  order.half_bits = 1;
  while (std::int64_t{1} << (2 * order.half_bits) < rows)
    ++order.half_bits;
  for (std::uint32_t half = 0; half < 2; ++half) {
    const Random4 four = philox4x32({static_cast<std::uint32_t>(epoch), half, 0, stream}, seed);
    const std::uint32_t words[] = {four.x, four.y, four.z};
    for (std::uint32_t i = 0; i < 3; ++i)
      order.keys[3 * half + i] = words[i];
  }
  return order;
}

HOST_DEVICE inline std::int64_t row_at(const RowOrder& order, std::int64_t place) {
  if (order.half_bits == 0) return place;
  const std::uint32_t mask = static_cast<std::uint32_t>((1ull << order.half_bits) - 1);
  std::uint64_t number = static_cast<std::uint64_t>(place);
  do {
    auto left = static_cast<std::uint32_t>(number >> order.half_bits);
    auto right = static_cast<std::uint32_t>(number) & mask;
    for (int round = 0; round < RowOrder::rounds; ++round) {
      const std::uint32_t mixed = left ^ (scrambled(right ^ order.keys[round]) & mask);
      left = right;
      right = mixed;
    }
    number = static_cast<std::uint64_t>(left) << order.half_bits | right;
  } while (number >= static_cast<std::uint64_t>(order.rows));
  return static_cast<std::int64_t>(number);
}

// ---- rows and activations ----

HOST_DEVICE inline float activation(float product, float bias) {
  const float sum = product + bias;
  return sum > 0 ? sum : 0;
}
HOST_DEVICE inline float through_activation(float gradient, float activation) {
  return activation > 0 ? gradient : 0;
}

/// Of the loss by the margin, times `factor`. NaN where the margin is not finite, so that a step
/// that overflowed is seen.
HOST_DEVICE inline float row_gradient(float margin, std::uint8_t label, float positive_weight,
                                      float factor) {
  const float zero = margin - margin;
  return zero == 0 ? gradient_of(margin, label, positive_weight).gradient * factor : zero;
}

/// loss_quanta() of a margin held within +-64: a sure and wrong answer, or a NaN, costs 64.
HOST_DEVICE inline std::int64_t held_loss_quanta(float margin, std::uint8_t label) {
  constexpr float most = 64;
  const float wrong = label != 0 ? -most : most;
  const float below = margin < most ? margin : most;
  const float held = below > -most ? below : -most;
  return loss_quanta(margin == margin ? held : wrong, label);
}

// ---- the scale of the loss, and Adam ----

/// What a step needs to know of the parameters (mlp.h).
struct StepRules {
  float learning_rate, beta1, beta2, epsilon, l2;
  bool scales_loss;     ///< fp16: gradients of small size would become 0
  double rate_fall = 0; ///< a step, as a share of learning_rate
};

constexpr float first_loss_scale = 0x1p15f, most_loss_scale = 0x1p24f;
constexpr std::int32_t clean_steps_to_grow = 2000;

struct StepState {
  float loss_scale = 1;
  std::int32_t clean_steps = 0;        ///< since the scale last changed
  std::int64_t taken = 0, skipped = 0; ///< steps
  double rest1 = 0, rest2 = 0;         ///< 1 - beta1^t and 1 - beta2^t after t steps taken
};

inline StepState first_state(const StepRules& rules) {
  StepState state;
  if (rules.scales_loss) state.loss_scale = first_loss_scale;
  return state;
}

/// Of one step, for every parameter.
struct AdamRates {
  bool is_skipped = false;
  float unscale = 1; ///< of gradients
  float beta1 = 0, rest1 = 0, beta2 = 0, rest2 = 0;
  float step = 0;            ///< the step's learning rate over 1 - beta1^t
  float root_correction = 0; ///< 1 / sqrt(1 - beta2^t)
  float epsilon = 0;
  float kept = 1; ///< of a weight that decays
};

/// Ends a step whose gradients were made with state.loss_scale. One that overflowed is skipped and
/// halves the scale, down to 1; after 2000 clean ones it doubles (Micikevicius et al., "Mixed
/// precision training", ICLR 2018, with the constants of TensorFlow's DynamicLossScale). Adam's
/// corrections are Kingma and Ba's (ICLR 2015), the decay is decoupled (Loshchilov and Hutter, ICLR
/// 2019).
HOST_DEVICE inline AdamRates end_step(StepState& state, const StepRules& rules, bool overflowed) {
  AdamRates rates;
  const auto done = static_cast<double>(state.taken + state.skipped);
  if (overflowed) {
    rates.is_skipped = true;
    ++state.skipped;
    state.clean_steps = 0;
    if (rules.scales_loss && state.loss_scale > 1) state.loss_scale *= 0.5f;
    return rates;
  }
  ++state.taken;
  const auto beta1 = static_cast<double>(rules.beta1), beta2 = static_cast<double>(rules.beta2);
  state.rest1 = fma(beta1, state.rest1, 1 - beta1);
  state.rest2 = fma(beta2, state.rest2, 1 - beta2);
  rates.unscale = 1 / state.loss_scale; // a power of two
  rates.beta1 = rules.beta1;
  rates.rest1 = 1 - rules.beta1;
  rates.beta2 = rules.beta2;
  rates.rest2 = 1 - rules.beta2;
  const double rate = static_cast<double>(rules.learning_rate) * fma(-rules.rate_fall, done, 1.0);
  rates.step = static_cast<float>(rate / state.rest1);
  rates.root_correction = static_cast<float>(1 / sqrt(state.rest2));
  rates.epsilon = rules.epsilon;
  rates.kept = fused(-static_cast<float>(rate), rules.l2, 1.0f);
  if (rules.scales_loss && ++state.clean_steps == clean_steps_to_grow) {
    state.clean_steps = 0;
    if (state.loss_scale < most_loss_scale) state.loss_scale *= 2;
  }
  return rates;
}

/// `kept` is rates.kept or, for biases, 1.
HOST_DEVICE inline void adam_step(const AdamRates& rates, float kept, float gradient, float& weight,
                                  float& mean, float& square) {
  const float g = gradient * rates.unscale;
  mean = fused(rates.beta1, mean, rates.rest1 * g);
  square = fused(rates.beta2, square, rates.rest2 * (g * g));
  const float spread = fused(sqrtf(square), rates.root_correction, rates.epsilon);
  weight = fused(-rates.step, mean / spread, kept * weight);
}

/// Infinite or NaN.
HOST_DEVICE inline bool has_overflowed(float gradient) {
  return (bits_of(gradient) & 0x7F80'0000u) == 0x7F80'0000u;
}

} // namespace breakeven::risk
