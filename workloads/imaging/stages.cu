// The GPU side's table of stages, its memory, and the stages on masks. Their serial loops:
//
//   for (voxel v) mask[v] = labels[v] != 0;
//   for (voxel v) out[v] = combined(a[v], b[v], operation);
#include "workloads/imaging/device.h"
#include "workloads/imaging/device_memory.h"
#include "workloads/imaging/masks.h"

namespace breakeven::ON_PATH {

namespace {

struct MaskOf {
  HOST_DEVICE void operator()(const Thread& thread, const std::uint32_t* labels, std::uint8_t* mask,
                              std::int64_t voxels) const {
    const std::int64_t i = thread.global_index();
    if (i < voxels) mask[i] = imaging::mask_of_label(labels[i]);
  }
};

struct Combine {
  HOST_DEVICE void operator()(const Thread& thread, const std::uint8_t* a, const std::uint8_t* b,
                              std::uint8_t* out, std::int64_t voxels,
                              imaging::MaskOperation operation) const {
    const std::int64_t i = thread.global_index();
    if (i < voxels) out[i] = imaging::combined(a[i], b[i], operation);
  }
};

using imaging_device::blocks_for;
using imaging_device::usual_block;

Work mask_of(imaging::View<const std::uint32_t> labels, imaging::View<std::uint8_t> mask,
             imaging::Memory&) {
  const std::int64_t voxels = labels.extent.voxels();
  launch(blocks_for(voxels), usual_block, 0, Stream{}, MaskOf{}, labels.data, mask.data, voxels);
  return imaging::mask_of_work(voxels);
}

Work combine(imaging::View<const std::uint8_t> a, imaging::View<const std::uint8_t> b,
             imaging::View<std::uint8_t> out, imaging::MaskOperation operation, imaging::Memory&) {
  const std::int64_t voxels = a.extent.voxels();
  launch(blocks_for(voxels), usual_block, 0, Stream{}, Combine{}, a.data, b.data, out.data, voxels,
         operation);
  return imaging::combine_work(voxels);
}

} // namespace

void add_masks(imaging::Stages& stages) {
  stages.mask_of = mask_of;
  stages.combine = combine;
}

imaging::Stages imaging_stages() {
  imaging::Stages stages;
  stages.path = imaging_device::this_path;
  stages.memory = imaging_device::path_memory();
  add_intensity(stages);
  add_masks(stages);
  add_labels(stages);
  add_shapes(stages);
  return stages;
}

} // namespace breakeven::ON_PATH
