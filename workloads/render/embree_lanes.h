// Float, bits and vectors for several paths side by side, with the operations that shading.h asks
// of its number type. GCC's and Clang's vector extensions do the arithmetic on any processor; only
// the square root and the fused product need the instruction spelt out.
#pragma once

#include "workloads/render/shading.h"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace breakeven::render {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#else
constexpr int lanes = 8;
#endif

using NativeFloats = float __attribute__((vector_size(4 * lanes)));
using NativeInts = std::int32_t __attribute__((vector_size(4 * lanes)));
using NativeBits = std::uint32_t __attribute__((vector_size(4 * lanes)));

struct WideFlag {
  NativeInts value; ///< -1 or 0 a lane

  friend WideFlag operator&&(WideFlag a, WideFlag b) { return {a.value & b.value}; }
  friend WideFlag operator||(WideFlag a, WideFlag b) { return {a.value | b.value}; }
};

struct WideFloat {
  NativeFloats value;

  WideFloat() = default;
  WideFloat(float everywhere) : value(NativeFloats{} + everywhere) {}
  WideFloat(NativeFloats native) : value(native) {}

  friend WideFloat operator+(WideFloat a, WideFloat b) { return a.value + b.value; }
  friend WideFloat operator-(WideFloat a, WideFloat b) { return a.value - b.value; }
  friend WideFloat operator*(WideFloat a, WideFloat b) { return a.value * b.value; }
  friend WideFloat operator/(WideFloat a, WideFloat b) { return a.value / b.value; }
  friend WideFloat operator-(WideFloat a) { return -a.value; }
  friend WideFlag operator<(WideFloat a, WideFloat b) { return {a.value < b.value}; }
  friend WideFlag operator>(WideFloat a, WideFloat b) { return {a.value > b.value}; }
  friend WideFlag operator>=(WideFloat a, WideFloat b) { return {a.value >= b.value}; }
  friend WideFlag operator==(WideFloat a, WideFloat b) { return {a.value == b.value}; }
};

struct WideBits {
  NativeBits value;
  friend WideBits operator>>(WideBits a, int by) { return {a.value >> by}; }
  friend WideFlag operator==(WideBits a, std::uint32_t b) { return {a.value == b}; }
};

/// Bit i is lane i.
inline unsigned mask_of(WideFlag flag) {
#if defined(__AVX512F__)
  return _mm512_test_epi32_mask(__m512i(flag.value), __m512i(flag.value));
#elif defined(__AVX__)
  return static_cast<unsigned>(_mm256_movemask_ps(__m256(flag.value)));
#else
  unsigned mask = 0;
  for (int lane = 0; lane < lanes; ++lane)
    mask |= (flag.value[lane] & 1u) << lane;
  return mask;
#endif
}
inline bool any(WideFlag flag) { return mask_of(flag) != 0; }
inline WideFloat select(WideFlag flag, WideFloat yes, WideFloat no) {
  return flag.value ? yes.value : no.value;
}
/// The lanes of a mask moved together to the front, in order; zeros behind.
inline WideFloat compress(unsigned mask, WideFloat a) {
#if defined(__AVX512F__)
  return NativeFloats(_mm512_maskz_compress_ps(static_cast<__mmask16>(mask), a.value));
#else
  WideFloat together(0.0f);
  int to = 0;
  for (int lane = 0; lane < lanes; ++lane)
    if (mask >> lane & 1) together.value[to++] = a.value[lane];
  return together;
#endif
}
inline WideBits compress(unsigned mask, WideBits a) {
  return {NativeBits(compress(mask, WideFloat(NativeFloats(a.value))).value)};
}
inline WideFloat larger(WideFloat a, WideFloat b) { return select(a > b, a, b); }
inline WideFloat smaller(WideFloat a, WideFloat b) { return select(a < b, a, b); }
inline WideFloat magnitude(WideFloat a) { return NativeFloats(NativeBits(a.value) & 0x7FFF'FFFFu); }
inline WideFloat square_root(WideFloat a) {
#if defined(__AVX512F__)
  // Not _mm512_sqrt_ps, whose body GCC 12 warns of.
  return NativeFloats(_mm512_maskz_sqrt_ps(0xFFFF, a.value));
#elif defined(__AVX__)
  return NativeFloats(_mm256_sqrt_ps(a.value));
#else
  for (int lane = 0; lane < lanes; ++lane)
    a.value[lane] = sqrtf(a.value[lane]);
  return a;
#endif
}
inline WideFloat fused(WideFloat a, WideFloat b, WideFloat c) {
#if defined(__AVX512F__)
  return NativeFloats(_mm512_fmadd_ps(a.value, b.value, c.value));
#elif defined(__FMA__)
  return NativeFloats(_mm256_fmadd_ps(a.value, b.value, c.value));
#else
  for (int lane = 0; lane < lanes; ++lane)
    c.value[lane] = breakeven::fused(a.value[lane], b.value[lane], c.value[lane]);
  return c;
#endif
}

/// As their namesakes for one number. Both fit a signed integer, which more processors convert.
inline WideFloat unit_float(WideBits bits) {
  return __builtin_convertvector(NativeInts(bits.value >> 8), NativeFloats) * 0x1p-24f;
}
inline WideFloat low_half(WideBits bits) {
  return __builtin_convertvector(NativeInts(bits.value & 0xFFFFu), NativeFloats);
}

struct WideFloat3 {
  WideFloat x, y, z;

  WideFloat3() = default;
  WideFloat3(WideFloat x, WideFloat y, WideFloat z) : x(x), y(y), z(z) {}
  WideFloat3(Float3 everywhere) : x(everywhere.x), y(everywhere.y), z(everywhere.z) {}

  friend WideFloat3 operator+(WideFloat3 a, WideFloat3 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
  }
  friend WideFloat3 operator-(WideFloat3 a, WideFloat3 b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
  friend WideFloat3 operator*(WideFloat3 a, WideFloat3 b) {
    return {a.x * b.x, a.y * b.y, a.z * b.z};
  }
  friend WideFloat3 operator-(WideFloat3 a) { return {-a.x, -a.y, -a.z}; }
};
inline WideFloat3 operator*(WideFloat3 a, WideFloat s) { return {a.x * s, a.y * s, a.z * s}; }
inline WideFloat3 fused(WideFloat3 a, WideFloat s, WideFloat3 b) {
  return {fused(a.x, s, b.x), fused(a.y, s, b.y), fused(a.z, s, b.z)};
}
inline WideFloat dot(WideFloat3 a, WideFloat3 b) {
  return fused(a.x, b.x, fused(a.y, b.y, a.z * b.z));
}
inline WideFloat3 cross(WideFloat3 a, WideFloat3 b) {
  return {fused(a.y, b.z, -(a.z * b.y)), fused(a.z, b.x, -(a.x * b.z)),
          fused(a.x, b.y, -(a.y * b.x))};
}
inline WideFloat length(WideFloat3 a) { return square_root(dot(a, a)); }
inline WideFloat3 normalized(WideFloat3 a) { return a * (1.0f / length(a)); }
inline WideFloat largest_coordinate(WideFloat3 a) {
  return larger(magnitude(a.x), larger(magnitude(a.y), magnitude(a.z)));
}
inline WideFloat luminance(WideFloat3 c) { return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z; }
inline WideFloat3 select(WideFlag flag, WideFloat3 yes, WideFloat3 no) {
  return {select(flag, yes.x, no.x), select(flag, yes.y, no.y), select(flag, yes.z, no.z)};
}

inline WideFloat3 compress(unsigned mask, WideFloat3 a) {
  return {compress(mask, a.x), compress(mask, a.y), compress(mask, a.z)};
}

struct WideMaterial {
  WideFloat3 albedo;
  WideFloat coat_reflectance, coat_roughness;
};

template <>
struct Over<WideFloat> {
  using Vector = WideFloat3;
  using Flag = WideFlag;
  using Bits = WideBits;
  using Surface = WideMaterial;
};

} // namespace breakeven::render
