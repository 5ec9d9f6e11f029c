// The qualifiers that let one function body serve the CPU and the GPU, and the few maths functions
// whose result must be the same to the last bit on both. Which compiler reads the code is asked
// here, in launch.h, in paths.cpp and where a library or an instruction set forces it, nowhere
// else.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define HOST_DEVICE __host__ __device__
#define DEVICE_ONLY __device__
#else
#define HOST_DEVICE
#define DEVICE_ONLY
#endif

namespace breakeven {

/// a * b + c with one rounding on every path. Written out wherever results must be bit-equal,
/// because nvcc contracts a product and a sum of its own accord and the C++ build forbids it.
HOST_DEVICE inline float fused(float a, float b, float c) { return fmaf(a, b, c); }

HOST_DEVICE inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

HOST_DEVICE inline float float_of(std::uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

} // namespace breakeven
