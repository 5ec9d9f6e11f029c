// The 16-bit formats of mixed precision: bfloat16 (8 bits of significand, the exponents of a float)
// and IEEE binary16 (11 bits, magnitudes up to 65504). Rounds a float to the nearest value of a
// format, halves to even, and packs it: whole-number arithmetic alone, so that every path rounds to
// the same bits and compilers make vector code of it. Leaves out products of such numbers.
#pragma once

#include "workloads/host_device.h"

namespace breakeven::risk {

struct Bf16 {
  std::uint16_t bits;
};
struct Fp16 {
  std::uint16_t bits;
};

constexpr std::uint32_t float_sign = 0x8000'0000u, float_infinity = 0x7F80'0000u,
                        float_quiet = 0x0040'0000u;

/// The nearest value of a format (float, Bf16 or Fp16), as a float. What is too large becomes
/// infinite, a NaN stays one.
template <class Format>
HOST_DEVICE inline float rounded_to(float value);

template <>
HOST_DEVICE inline float rounded_to<float>(float value) {
  return value;
}

template <>
HOST_DEVICE inline float rounded_to<Bf16>(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t nearest = bits + 0x7FFFu + ((bits >> 16) & 1u);
  const bool is_nan = (bits & ~float_sign) > float_infinity;
  return float_of((is_nan ? bits | float_quiet : nearest) & 0xFFFF'0000u);
}

template <>
HOST_DEVICE inline float rounded_to<Fp16>(float value) {
  constexpr std::uint32_t least_normal = 0x3880'0000u; // 2^-14
  constexpr std::uint32_t overflow = 0x477F'F000u;     // 65520, half way from 65504 to 2^16
  const std::uint32_t bits = bits_of(value), sign = bits & float_sign, size = bits ^ sign;
  std::uint32_t nearest = (size + 0x0FFFu + ((size >> 13) & 1u)) & ~0x1FFFu;
  // Subnormal numbers are multiples of 2^-24, and so are floats of one half and a little more.
  const std::uint32_t subnormal = bits_of((float_of(size) + 0.5f) - 0.5f);
  nearest = size < least_normal ? subnormal : nearest;
  nearest = size >= overflow ? float_infinity : nearest;
  nearest = size > float_infinity ? float_infinity | float_quiet : nearest;
  return float_of(nearest | sign);
}

/// As it is stored.
template <class Format>
HOST_DEVICE inline Format stored_as(float value);

template <>
HOST_DEVICE inline float stored_as<float>(float value) {
  return value;
}
template <>
HOST_DEVICE inline Bf16 stored_as<Bf16>(float value) {
  return {static_cast<std::uint16_t>(bits_of(rounded_to<Bf16>(value)) >> 16)};
}
template <>
HOST_DEVICE inline Fp16 stored_as<Fp16>(float value) {
  constexpr std::uint32_t least_normal = 0x3880'0000u, exponent_shift = 112u << 23,
                          half = 126u << 23;
  const std::uint32_t bits = bits_of(rounded_to<Fp16>(value)), sign = bits & float_sign,
                      size = bits ^ sign;
  std::uint32_t packed = (size - exponent_shift) >> 13;
  packed = size < least_normal ? bits_of(float_of(size) + 0.5f) - half : packed;
  packed = size >= float_infinity ? 0x7C00u | (size > float_infinity ? 0x0200u : 0u) : packed;
  return {static_cast<std::uint16_t>(packed | sign >> 16)};
}

HOST_DEVICE inline float value_of(float stored) { return stored; }
HOST_DEVICE inline float value_of(Bf16 stored) {
  return float_of(static_cast<std::uint32_t>(stored.bits) << 16);
}
HOST_DEVICE inline float value_of(Fp16 stored) {
  const std::uint32_t size = stored.bits & 0x7FFFu;
  std::uint32_t bits = (size << 13) + (112u << 23);
  const float subnormal = static_cast<float>(static_cast<std::int32_t>(size)) * 0x1p-24f;
  bits = size < 0x0400u ? bits_of(subnormal) : bits;
  bits = size >= 0x7C00u ? float_infinity | (size & 0x03FFu) << 13 : bits;
  return float_of(bits | static_cast<std::uint32_t>(stored.bits & 0x8000u) << 16);
}

} // namespace breakeven::risk
