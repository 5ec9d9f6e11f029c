// What the engines of both sides compute alike around the convolutions, and how it is counted.
#pragma once

#include "workloads/host_device.h"
#include "workloads/imaging/unet_windows.h"

namespace breakeven::imaging {

/// HU to what the network is fed. No product is added to, so no compiler can contract it.
struct NormaliseHu {
  CtNormalisation scheme;
  HOST_DEVICE float operator()(float hu) const {
    // NaN, which readers refuse, becomes the lower end.
    const float low = hu > scheme.clip_low_hu ? hu : scheme.clip_low_hu;
    const float clipped = low < scheme.clip_high_hu ? low : scheme.clip_high_hu;
    return (clipped - scheme.mean_hu) / scheme.sd_hu;
  }
};

/// Place i of a side of n voxels, seen in the mirror or not.
HOST_DEVICE inline std::int64_t mirrored(std::int64_t i, std::int64_t n, unsigned is_mirrored) {
  return is_mirrored != 0 ? n - 1 - i : i;
}

/// What a row's voxels count, before importance along x.
HOST_DEVICE inline float row_importance(float z, float y, float share_of_mirror) {
  return z * y * share_of_mirror;
}

struct UNetPhases {
  Phase normalise, infer, aggregate, transfer;
  explicit UNetPhases(Processor processor);
};

Work normalise_work(const Extent& volume);
/// Of one window and mirror, all layers but the head. Convolutions are tensor work but in fp32.
Work network_work(const UNetSpec& spec, Precision precision);
/// Of the head and the sums of one window and mirror.
Work aggregate_work(const UNetSpec& spec, const WindowPlan& plan, const Window& window,
                    const Strip& strip, double bytes_per_value);
Work finish_work(const WindowPlan& plan, std::int64_t z_begin, std::int64_t z_end,
                 const Strip& strip);

} // namespace breakeven::imaging
