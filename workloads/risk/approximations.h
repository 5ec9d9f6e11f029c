// Logarithm, power of two and normal numbers for made-up data: the same bits on every machine,
// because no C library is asked, and quick, because compilers make vector code of them. Errors are
// stated; they are far below what any statistic of the data shows. Leaves out special values.
#pragma once

#include "workloads/host_device.h"

namespace breakeven::risk {

/// (k + 1/2) / 2^23 for the upper 23 bits k, exactly: never 0 nor 1, and 1/2 on average.
HOST_DEVICE inline float open_unit_float(std::uint32_t bits) {
  return fused(static_cast<float>(static_cast<std::int32_t>(bits >> 9)), 0x1p-23f, 0x1p-24f);
}

/// Natural logarithm of a positive normal number. Error at most 2e-7, relative or, where the result
/// is below 1, absolute. x = 2^k m with m in [2/3, 4/3); ln m is (m - 1) times a polynomial of
/// degree 7 in m - 1, fitted for the least relative error (1.7e-7).
HOST_DEVICE inline float natural_log(float x) {
  constexpr std::int32_t two_thirds = 0x3F2AAAAB;
  const auto bits = static_cast<std::int32_t>(bits_of(x));
  const std::int32_t exponent = (bits - two_thirds) >> 23;
  const float f = float_of(static_cast<std::uint32_t>(bits - (exponent << 23))) - 1.0f;
  float p = -0.15365687f;
  p = fused(p, f, 0.171111822f);
  p = fused(p, f, -0.164200872f);
  p = fused(p, f, 0.197950378f);
  p = fused(p, f, -0.250076205f);
  p = fused(p, f, 0.333379894f);
  p = fused(p, f, -0.499999374f);
  p = fused(p, f, 0.999999821f);
  return fused(static_cast<float>(exponent), 0.693147181f, fused(p, f, 0.0f));
}

/// 2^y for y in [-126, 127]; relative error at most 2e-7. y = n + f with n whole and f in
/// [-1/2, 1/2]; 2^f by a polynomial of degree 5, fitted for the least relative error (9.1e-8).
HOST_DEVICE inline float power_of_two(float y) {
  constexpr float to_whole = 12582912.0f; // 1.5 x 2^23: the sum's last bit is worth 1
  const float shifted = y + to_whole;
  const float f = y - (shifted - to_whole);
  float p = 0.00132647273f;
  p = fused(p, f, 0.00967151299f);
  p = fused(p, f, 0.0555073358f);
  p = fused(p, f, 0.240222424f);
  p = fused(p, f, 0.693147004f);
  p = fused(p, f, 1.0f);
  return float_of(bits_of(p) + (bits_of(shifted) << 23));
}

/// The number that a standard normal one is below with probability open_unit_float(bits); between
/// -5.3 and 5.3. Relative error at most 3e-5. With x = 2u - 1 it is x times a function of
/// w = -ln(1 - x^2), as Giles 2010 has it for the error function's inverse; here a polynomial of
/// degree 9 in w, fitted on [0, 16] for the least relative error (2e-5).
HOST_DEVICE inline float inverse_normal(std::uint32_t bits) {
  const float x = fused(open_unit_float(bits), 2.0f, -1.0f); // exact
  const float w = -natural_log(fused(1.0f - x, 1.0f + x, 0.0f));
  float p = 3.65968729e-10f;
  p = fused(p, w, -2.71085749e-8f);
  p = fused(p, w, 8.23097423e-7f);
  p = fused(p, w, -1.28035199e-5f);
  p = fused(p, w, 9.72831476e-5f);
  p = fused(p, w, -0.000105916966f);
  p = fused(p, w, -0.00374769466f);
  p = fused(p, w, 0.0170152821f);
  p = fused(p, w, 0.327782124f);
  p = fused(p, w, 1.25333869f);
  return fused(p, x, 0.0f);
}

} // namespace breakeven::risk
