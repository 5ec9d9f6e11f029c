// Gradient-boosted trees for a binary target by histograms: what both paths share. Gradients are
// whole numbers, so sums of them do not depend on their order, and every path and any number of
// threads grow the same trees to the bit. Takes binned rows (binned.h), gives a model. Leaves out
// where rows come from, and files.
//
// Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics
// 2001; gain of second order as in Chen and Guestrin, "XGBoost: a scalable tree boosting system",
// KDD 2016; gradients rounded before they are summed as in XGBoost's GPU trainer.
#pragma once

#include "workloads/host_device.h"
#include "workloads/philox.h"
#include "workloads/risk/binned.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace breakeven::risk {

struct GbdtParameters {
  int rounds = 100; ///< trees at most
  int depth = 6;    ///< levels of splits
  float learning_rate = 0.1f;
  float l2 = 1;                          ///< on leaf values
  float min_child_weight = 1;            ///< least sum of hessians in a child
  float min_gain = 0;                    ///< a split must gain more
  float positive_weight = 1;             ///< of rows with label 1, against a rare class
  float row_share = 1, column_share = 1; ///< drawn anew for each tree
  float base_margin = 0;                 ///< log-odds before the first tree
  std::uint64_t seed = 1;
  int early_stopping_rounds = 0; ///< rounds without a lower validation loss; 0: all rounds
};

/// A leaf has no feature. Node 0 is the root.
struct TreeNode {
  std::int32_t feature = -1;
  std::int32_t bin = 0;  ///< rows of bins up to this one go left; -1 in a model from a file
  float cut = 0;         ///< the same by value: rows below it go left
  std::int32_t left = 0; ///< the right child follows it
  bool missing_goes_left = false;
  float value = 0;    ///< of a leaf: what it adds to the margin
  double gain = 0;    ///< of its split
  double hessian = 0; ///< of its rows
  bool operator==(const TreeNode&) const = default;
};
using Tree = std::vector<TreeNode>;

struct Gbdt {
  std::vector<std::string> feature_names;
  float base_margin = 0;
  std::vector<Tree> trees;
};

// ---- arithmetic that both paths share ----
// A product that meets a sum would be contracted by nvcc and not by the C++ build, so each is an
// argument of fused() here, or is rounded before by a power of two, or meets no sum. A sum of 0
// rounds a product on its own. workloads/CMakeLists.txt also tells nvcc to contract nothing here.

/// e^-x for x >= 0: 2^y for y = -x log2(e), by a polynomial of degree 5 on [-1/2, 1/2]. Relative
/// error at most 1e-5 up to x = 87, most of it from rounding y; beyond, as at 87.
HOST_DEVICE inline float exp_of_negative(float x) {
  constexpr float log2_of_e = 1.44269504f, most = 87.0f;
  constexpr float to_nearest = 12582912.0f; // 1.5 * 2^23: the sum has no bits below 1
  const float y = fused(-(x < most ? x : most), log2_of_e, 0.0f);
  const float shifted = y + to_nearest;
  const float f = y - (shifted - to_nearest);
  float power = fused(1.32647273e-3f, f, 9.67151299e-3f);
  power = fused(power, f, 5.55073358e-2f);
  power = fused(power, f, 0.240222424f);
  power = fused(power, f, 0.693147004f);
  power = fused(power, f, 1.0f);
  return float_of(bits_of(power) + (bits_of(shifted) << 23)); // its low bits are the exponent
}

/// 1 / (1 + e^-margin).
HOST_DEVICE inline float probability_of(float margin) {
  const float e = exp_of_negative(margin < 0 ? -margin : margin);
  const float larger = 1.0f / (1.0f + e);
  return margin < 0 ? 1.0f - larger : larger;
}

/// log(1 + e^-x) for x >= 0: twice the inverse hyperbolic tangent of e / (2 + e), by its series up
/// to the 13th power. Absolute error at most 2e-7.
HOST_DEVICE inline float log_of_one_and_exp(float x) {
  const float e = exp_of_negative(x);
  const float z = e / (2.0f + e), squared = z * z;
  float series = fused(squared, 1.0f / 13, 1.0f / 11);
  series = fused(series, squared, 1.0f / 9);
  series = fused(series, squared, 1.0f / 7);
  series = fused(series, squared, 1.0f / 5);
  series = fused(series, squared, 1.0f / 3);
  series = fused(series, squared, 1.0f);
  return fused(2.0f * z, series, 0.0f); // loss_quanta() adds to it
}

/// Logistic loss of a row in quanta of 2^-30, rounded down, so that sums do not depend on order.
HOST_DEVICE inline std::int64_t loss_quanta(float margin, std::uint8_t label) {
  const float against = label != 0 ? -margin : margin; // what the margin says against the label
  const float loss =
      log_of_one_and_exp(margin < 0 ? -margin : margin) + (against > 0 ? against : 0.0f);
  return static_cast<std::int64_t>(loss * 0x1p30f);
}

struct Gradient {
  float gradient, hessian;
};
/// Of the logistic loss by the margin.
HOST_DEVICE inline Gradient gradient_of(float margin, std::uint8_t label, float positive_weight) {
  const float p = probability_of(margin);
  const float weight = label != 0 ? positive_weight : 1.0f;
  const float rest = 1.0f - p;
  return {(label != 0 ? -rest : p) * weight, p * rest * weight};
}

/// Gradients and hessians as whole numbers of at most 2^quantum_bits quanta, so that the sums of
/// rows_before_overflow rows fit 32 bits each and go side by side in one 64-bit number.
constexpr int quantum_bits = 18;
constexpr std::int64_t rows_before_overflow = (std::int64_t{1} << (31 - quantum_bits)) - 1;

/// The greatest power of two by which `most`, the largest magnitude, stays below 2^quantum_bits.
inline float quanta_in_one(float most) {
  if (!(most > 0)) return 1;
  int exponent = 0;
  std::frexp(most, &exponent); // most < 2^exponent
  return std::ldexp(1.0f, quantum_bits - exponent);
}

HOST_DEVICE inline std::int64_t packed(std::int64_t gradient, std::int64_t hessian) {
  return gradient * (std::int64_t{1} << 32) + hessian;
}
/// Halves to even. Below 2^22 in size.
HOST_DEVICE inline std::int32_t rounded(float value) {
  constexpr float to_nearest = 12582912.0f;
  return static_cast<std::int32_t>(bits_of(value + to_nearest)) - 0x4B40'0000;
}
/// A hessian has at least one quantum: a split where all were rounded away would have no weight.
HOST_DEVICE inline std::int64_t packed_gradient(const Gradient& g, float gradient_quanta,
                                                float hessian_quanta) {
  const std::int32_t hessian = rounded(g.hessian * hessian_quanta);
  return packed(rounded(g.gradient * gradient_quanta), hessian > 1 ? hessian : 1);
}

/// Sums in quanta.
struct GradientSum {
  std::int64_t gradient = 0, hessian = 0;
  HOST_DEVICE GradientSum operator-(const GradientSum& other) const {
    return {gradient - other.gradient, hessian - other.hessian};
  }
  HOST_DEVICE GradientSum operator+(const GradientSum& other) const {
    return {gradient + other.gradient, hessian + other.hessian};
  }
  bool operator==(const GradientSum&) const = default;
};
HOST_DEVICE inline GradientSum unpacked(std::int64_t sums) {
  const auto hessian = static_cast<std::int64_t>(static_cast<std::uint32_t>(sums));
  return {(sums - hessian) >> 32, hessian};
}

/// Quanta in a gradient and a hessian of 1. Gradients are at most a weight, hessians a quarter.
struct Quanta {
  float gradient = 1, hessian = 1;
};
inline Quanta quanta_of(const GbdtParameters& parameters) {
  const float most = parameters.positive_weight > 1 ? parameters.positive_weight : 1.0f;
  const float quanta = quanta_in_one(most);
  return {quanta, 4 * quanta};
}

/// Mean of losses from their sum in quanta.
inline double mean_loss(std::int64_t quanta, std::int64_t rows) {
  return static_cast<double>(quanta) * 0x1p-30 / static_cast<double>(rows);
}

/// What a tree's quanta are worth, and the rules for splits.
struct SplitRules {
  double gradient_quantum = 1, hessian_quantum = 1; ///< powers of two
  double l2 = 1, min_child_weight = 1, min_gain = 0;
};
inline SplitRules rules_of(const GbdtParameters& parameters) {
  const Quanta quanta = quanta_of(parameters);
  return {1.0 / static_cast<double>(quanta.gradient), 1.0 / static_cast<double>(quanta.hessian),
          static_cast<double>(parameters.l2), static_cast<double>(parameters.min_child_weight),
          static_cast<double>(parameters.min_gain)};
}
/// Loss that a leaf saves, twice, over one of value 0.
HOST_DEVICE inline double score_of(double gradient, double hessian, double l2) {
  return gradient * gradient / (hessian + l2);
}
HOST_DEVICE inline double score_of(const SplitRules& rules, const GradientSum& node) {
  return score_of(static_cast<double>(node.gradient) * rules.gradient_quantum,
                  static_cast<double>(node.hessian) * rules.hessian_quantum, rules.l2);
}
/// What a split's score must exceed.
HOST_DEVICE inline double least_score(const SplitRules& rules, const GradientSum& node) {
  return score_of(rules, node) + rules.min_gain;
}
/// Score of both children, or -1 where one is too light.
HOST_DEVICE inline double score_of_split(const SplitRules& rules, const GradientSum& node,
                                         const GradientSum& left) {
  const double left_gradient = static_cast<double>(left.gradient) * rules.gradient_quantum;
  const double left_hessian = static_cast<double>(left.hessian) * rules.hessian_quantum;
  const double right_gradient =
      static_cast<double>(node.gradient - left.gradient) * rules.gradient_quantum;
  const double right_hessian =
      static_cast<double>(node.hessian - left.hessian) * rules.hessian_quantum;
  const double score = score_of(left_gradient, left_hessian, rules.l2)
                       + score_of(right_gradient, right_hessian, rules.l2);
  return left_hessian >= rules.min_child_weight && right_hessian >= rules.min_child_weight ? score
                                                                                           : -1;
}
HOST_DEVICE inline double leaf_value(const SplitRules& rules, const GradientSum& node) {
  return -(static_cast<double>(node.gradient) * rules.gradient_quantum)
         / (static_cast<double>(node.hessian) * rules.hessian_quantum + rules.l2);
}

// ---- what is drawn for each tree ----

/// How many of 2^32 numbers are a share.
inline std::uint64_t share_of_2_32(float share) {
  return static_cast<std::uint64_t>(static_cast<double>(share) * 0x1p32);
}
/// Whether a tree is grown on a row.
HOST_DEVICE inline bool row_is_drawn(std::uint64_t seed, std::uint64_t share, int round,
                                     std::int64_t row) {
  const Random4 four =
      philox4x32({static_cast<std::uint32_t>(row >> 2), static_cast<std::uint32_t>(row >> 34),
                  static_cast<std::uint32_t>(round), 0},
                 seed);
  const std::uint32_t lane = static_cast<std::uint32_t>(row & 3);
  const std::uint32_t number = lane == 0   ? four.x
                               : lane == 1 ? four.y
                               : lane == 2 ? four.z
                                           : four.w;
  return number < share;
}

/// Features that a tree may split by, ascending; at least one.
std::vector<std::int32_t> drawn_columns(int features, const GbdtParameters& parameters, int round);

} // namespace breakeven::risk
