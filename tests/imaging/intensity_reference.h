// The intensity stages as one loop over voxels each, straight from their definition, and volumes to
// try them on. Slow; shares with the product only the maths of a single voxel where bits must
// agree, and nothing at all where a name says `in_double`.
#pragma once

#include "workloads/imaging/host_memory.h"
#include "workloads/imaging/intensity.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace breakeven::imaging::reference {

using Floats = std::vector<float>;

inline View<const float> view(const Floats& voxels, const Extent& extent) {
  return {voxels.data(), extent};
}
inline View<float> view(Floats& voxels, const Extent& extent) { return {voxels.data(), extent}; }

/// Tissue, bone, metal and air in stripes and a ball, with noise that is no whole number.
inline Floats ct_like(const Extent& extent, std::uint32_t seed) {
  std::mt19937 generator(seed);
  Floats voxels;
  for (std::int64_t z = 0; z < extent.z; ++z)
    for (std::int64_t y = 0; y < extent.y; ++y)
      for (std::int64_t x = 0; x < extent.x; ++x) {
        const float noise = static_cast<float>(generator() >> 8) * 0x1p-24f - 0.5f;
        const bool in_ball = (x - 9) * (x - 9) + (y - 8) * (y - 8) + (z - 5) * (z - 5) < 36;
        const bool in_stripe = (x / 5 + y / 7 + z / 3) % 4 == 0;
        const float tissue = in_ball ? 700.0f : in_stripe ? -1000.0f : 40.0f;
        voxels.push_back(generator() % 512 == 0 ? 3071.0f : tissue + 60 * noise);
      }
  return voxels;
}

inline bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}
inline float largest_difference(const Floats& a, const Floats& b) {
  float largest = a.size() == b.size() ? 0.0f : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    if (!(difference <= largest)) largest = difference; // NaN too
  }
  return largest;
}

/// A volume that repeats its border.
struct Bordered {
  View<const float> view;
  float operator()(std::int64_t x, std::int64_t y, std::int64_t z) const {
    const Extent& e = view.extent;
    const auto inside = [](std::int64_t i, std::int64_t count) {
      return std::clamp<std::int64_t>(i, 0, count - 1);
    };
    return view.data[(inside(z, e.z) * e.y + inside(y, e.y)) * e.x + inside(x, e.x)];
  }
};

template <class Function>
Floats for_each_voxel(const Extent& extent, Function value_at) {
  Floats out;
  for (std::int64_t z = 0; z < extent.z; ++z)
    for (std::int64_t y = 0; y < extent.y; ++y)
      for (std::int64_t x = 0; x < extent.x; ++x)
        out.push_back(value_at(x, y, z));
  return out;
}

inline Floats gaussian(const Floats& in, const Extent& extent, const GaussianTaps& taps) {
  Floats now = in;
  const auto filter = [&](const Floats& axis_taps, std::int64_t dx, std::int64_t dy,
                          std::int64_t dz) {
    const Bordered at{view(std::as_const(now), extent)};
    now = for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
      float sum = axis_taps[0] * at(x, y, z);
      for (std::size_t tap = 1; tap < axis_taps.size(); ++tap) {
        const auto i = static_cast<std::int64_t>(tap);
        sum = std::fma(
            axis_taps[tap],
            at(x - i * dx, y - i * dy, z - i * dz) + at(x + i * dx, y + i * dy, z + i * dz), sum);
      }
      return sum;
    });
  };
  filter(taps.y, 0, 1, 0);
  filter(taps.x, 1, 0, 0);
  filter(taps.z, 0, 0, 1);
  return now;
}

inline Floats median(const Floats& in, const Extent& extent) {
  const Bordered at{view(in, extent)};
  return for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    Floats box;
    for (std::int64_t k = -1; k <= 1; ++k)
      for (std::int64_t j = -1; j <= 1; ++j)
        for (std::int64_t i = -1; i <= 1; ++i)
          box.push_back(at(x + i, y + j, z + k));
    std::nth_element(box.begin(), box.begin() + 13, box.end());
    return box[13] == 0 ? 0.0f : box[13]; // the product has no -0
  });
}

/// `weight(difference, spatial index)`.
template <class Real, class Weight>
Floats bilateral_by(const Floats& in, const Extent& extent, int radius, Weight weight) {
  const Bordered at{view(in, extent)};
  return for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    Real weights = 0, differences = 0;
    std::size_t tap = 0;
    for (std::int64_t k = -radius; k <= radius; ++k)
      for (std::int64_t j = -radius; j <= radius; ++j)
        for (std::int64_t i = -radius; i <= radius; ++i, ++tap) {
          const Real difference =
              static_cast<Real>(at(x + i, y + j, z + k)) - static_cast<Real>(at(x, y, z));
          const Real w = weight(difference, tap);
          weights += w;
          differences = std::fma(w, difference, differences);
        }
    return static_cast<float>(static_cast<Real>(at(x, y, z)) + differences / weights);
  });
}
inline Floats bilateral(const Floats& in, const Extent& extent, const BilateralKernel& kernel) {
  const Floats logs = log2_of(kernel.spatial_weights);
  const float range = range_factor(kernel);
  return bilateral_by<float>(in, extent, kernel.radius, [&](float difference, std::size_t tap) {
    return exp2_of_negative(std::fma(difference * difference, range, logs[tap]));
  });
}
inline Floats bilateral_in_double(const Floats& in, const Extent& extent,
                                  const BilateralKernel& kernel) {
  return bilateral_by<double>(in, extent, kernel.radius, [&](double difference, std::size_t tap) {
    const double sigmas = difference / static_cast<double>(kernel.sigma_hu);
    return static_cast<double>(kernel.spatial_weights[tap]) * std::exp(-0.5 * sigmas * sigmas);
  });
}

inline Floats diffuse(const Floats& in, const Extent& extent, const DiffusionStep& step) {
  const Bordered at{view(in, extent)};
  const DiffusionFactors factors = diffusion_factors(step);
  // From (x, y, z) one voxel along `axis`; other axes in rising order.
  const auto flux = [&](std::int64_t x, std::int64_t y, std::int64_t z, int axis) {
    const std::int64_t next[3] = {x + (axis == 0), y + (axis == 1), z + (axis == 2)};
    float across[2], factor[2];
    int count = 0;
    for (int other = 0; other < 3; ++other) {
      if (other == axis) continue;
      const std::int64_t i = other == 0, j = other == 1, k = other == 2;
      across[count] =
          (at(x + i, y + j, z + k) - at(x - i, y - j, z - k))
          + (at(next[0] + i, next[1] + j, next[2] + k) - at(next[0] - i, next[1] - j, next[2] - k));
      factor[count++] = factors.across[other];
    }
    return diffusion_flux(at(x, y, z), at(next[0], next[1], next[2]), across[0], across[1],
                          factors.along[axis], factor[0], factor[1]);
  };
  return for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    const auto in_from = [](std::int64_t i, auto value) { return i < 0 ? 0.0f : value(); };
    return diffused(at(x, y, z), x + 1 < extent.x ? flux(x, y, z, 0) : 0,
                    in_from(x - 1, [&] { return flux(x - 1, y, z, 0); }),
                    y + 1 < extent.y ? flux(x, y, z, 1) : 0,
                    in_from(y - 1, [&] { return flux(x, y - 1, z, 1); }),
                    z + 1 < extent.z ? flux(x, y, z, 2) : 0,
                    in_from(z - 1, [&] { return flux(x, y, z - 1, 2); }), factors);
  });
}

/// Mean squared gradient and one step as itk::ScalarAnisotropicDiffusionFunction and
/// itk::GradientNDAnisotropicDiffusionFunction (ITK 5) define them.
inline double mean_squared_gradient_in_double(const Floats& in, const Extent& extent,
                                              const std::array<double, 3>& per_mm) {
  const Bordered at{view(in, extent)};
  double sum = 0;
  for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    for (std::int64_t axis = 0; axis < 3; ++axis) {
      const std::int64_t i = axis == 0, j = axis == 1, k = axis == 2;
      const double difference = static_cast<double>(at(x + i, y + j, z + k))
                                - static_cast<double>(at(x - i, y - j, z - k));
      const double gradient = difference / 2 * per_mm[static_cast<std::size_t>(axis)];
      sum += gradient * gradient;
    }
    return 0.0f;
  });
  return sum / static_cast<double>(extent.voxels());
}
inline Floats diffuse_in_double(const Floats& in, const Extent& extent,
                                const std::array<double, 3>& per_mm, double conductance,
                                double time_step) {
  const Bordered bordered{view(in, extent)};
  const auto at = [&](const std::array<std::int64_t, 3>& p) {
    return static_cast<double>(bordered(p[0], p[1], p[2]));
  };
  const auto moved = [](std::array<std::int64_t, 3> p, std::size_t axis, std::int64_t by) {
    p[axis] += by;
    return p;
  };
  const double k =
      -2 * conductance * conductance * mean_squared_gradient_in_double(in, extent, per_mm);
  return for_each_voxel(extent, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    const std::array<std::int64_t, 3> here{x, y, z};
    const auto central = [&](const std::array<std::int64_t, 3>& p, std::size_t axis) {
      return (at(moved(p, axis, 1)) - at(moved(p, axis, -1))) / 2 * per_mm[axis];
    };
    double change = 0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (const std::int64_t side : {1, -1}) {
        const auto there = moved(here, axis, side);
        const double difference = (at(there) - at(here)) * per_mm[axis];
        double squared = difference * difference;
        for (std::size_t other = 0; other < 3; ++other) {
          if (other == axis) continue;
          const double sum = central(here, other) + central(there, other);
          squared += 0.25 * sum * sum;
        }
        change += difference * std::exp(squared / k);
      }
    return bordered(x, y, z) + static_cast<float>(static_cast<float>(change) * time_step);
  });
}

inline std::int64_t gradient_sum(const Floats& in, const Extent& extent, std::int64_t z_begin,
                                 std::int64_t z_end, const DiffusionStep& step) {
  const Bordered at{view(in, extent)};
  std::int64_t sum = 0;
  for (std::int64_t z = z_begin; z < z_end; ++z)
    for (std::int64_t y = 0; y < extent.y; ++y)
      for (std::int64_t x = 0; x < extent.x; ++x)
        sum +=
            squared_gradient(at(x + 1, y, z) - at(x - 1, y, z), at(x, y + 1, z) - at(x, y - 1, z),
                             at(x, y, z + 1) - at(x, y, z - 1), half_per_mm(step).axis);
  return sum;
}

inline Floats resample(const Floats& in, const Extent& from, const Extent& to,
                       const ResampleTables& tables) {
  const Bordered at{view(in, from)};
  return for_each_voxel(to, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    const auto i = static_cast<std::size_t>(x), j = static_cast<std::size_t>(y),
               k = static_cast<std::size_t>(z);
    const std::int32_t lx = tables.x.lower[i], ly = tables.y.lower[j], lz = tables.z.lower[k];
    const auto mix = [](float a, float b, float weight) { return std::fma(weight, b - a, a); };
    const auto along_z = [&](std::int64_t px, std::int64_t py) {
      return mix(at(px, py, lz), at(px, py, lz + 1), tables.z.weight[k]);
    };
    const auto along_y = [&](std::int64_t px) {
      return mix(along_z(px, ly), along_z(px, ly + 1), tables.y.weight[j]);
    };
    return mix(along_y(lx), along_y(lx + 1), tables.x.weight[i]);
  });
}
inline ResampleTables tables_between(const Extent& from, const Extent& to) {
  const auto table = [](std::int64_t input, std::int64_t count) {
    const double step = static_cast<double>(input) / static_cast<double>(count);
    return axis_table(input, count, 0.5 * step - 0.5, step);
  };
  return {table(from.x, to.x), table(from.y, to.y), table(from.z, to.z)};
}

} // namespace breakeven::imaging::reference
