// Three-component vectors for host and device. Products and sums are written with fused() where a
// result must be bit-equal on every path (camera rays); elsewhere plain operators are used.
#pragma once

#include "workloads/host_device.h"

namespace breakeven::render {

struct Float3 {
  float x, y, z;
};

HOST_DEVICE inline Float3 operator+(Float3 a, Float3 b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
HOST_DEVICE inline Float3 operator-(Float3 a, Float3 b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
HOST_DEVICE inline Float3 operator*(Float3 a, Float3 b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}
HOST_DEVICE inline Float3 operator*(Float3 a, float s) { return {a.x * s, a.y * s, a.z * s}; }
HOST_DEVICE inline Float3 operator*(float s, Float3 a) { return a * s; }
HOST_DEVICE inline Float3 operator-(Float3 a) { return {-a.x, -a.y, -a.z}; }
HOST_DEVICE inline Float3& operator+=(Float3& a, Float3 b) { return a = a + b; }

/// a * s + b, each component with one rounding.
HOST_DEVICE inline Float3 fused(Float3 a, float s, Float3 b) {
  return {breakeven::fused(a.x, s, b.x), breakeven::fused(a.y, s, b.y),
          breakeven::fused(a.z, s, b.z)};
}

HOST_DEVICE inline float dot(Float3 a, Float3 b) {
  return breakeven::fused(a.x, b.x, breakeven::fused(a.y, b.y, a.z * b.z));
}

HOST_DEVICE inline Float3 cross(Float3 a, Float3 b) {
  return {breakeven::fused(a.y, b.z, -(a.z * b.y)), breakeven::fused(a.z, b.x, -(a.x * b.z)),
          breakeven::fused(a.x, b.y, -(a.y * b.x))};
}

HOST_DEVICE inline float length(Float3 a) { return sqrtf(dot(a, a)); }
HOST_DEVICE inline Float3 normalized(Float3 a) { return a * (1.0f / length(a)); }
HOST_DEVICE inline Float3 minimum(Float3 a, Float3 b) {
  return {fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z)};
}
HOST_DEVICE inline Float3 maximum(Float3 a, Float3 b) {
  return {fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z)};
}
HOST_DEVICE inline float largest_magnitude(Float3 a) {
  return fmaxf(fabsf(a.x), fmaxf(fabsf(a.y), fabsf(a.z)));
}
/// Rec. 709 luminance of linear RGB.
HOST_DEVICE inline float luminance(Float3 c) {
  return 0.2126f * c.x + 0.7152f * c.y + 0.0722f * c.z;
}

} // namespace breakeven::render
