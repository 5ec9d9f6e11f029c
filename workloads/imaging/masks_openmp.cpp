#include "workloads/imaging/host_memory.h"
#include "workloads/imaging/masks.h"

namespace breakeven::imaging {

namespace {

Work mask_of(View<const std::uint32_t> labels, View<std::uint8_t> mask, Memory&) {
  const std::int64_t voxels = labels.extent.voxels();
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < voxels; ++i)
    mask.data[i] = mask_of_label(labels.data[i]);
  return mask_of_work(voxels);
}

template <MaskOperation operation>
void combine_all(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* out,
                 std::int64_t voxels) {
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < voxels; ++i)
    out[i] = combined(a[i], b[i], operation);
}

Work combine(View<const std::uint8_t> a, View<const std::uint8_t> b, View<std::uint8_t> out,
             MaskOperation operation, Memory&) {
  const std::int64_t voxels = a.extent.voxels();
  switch (operation) {
  case MaskOperation::both:
    combine_all<MaskOperation::both>(a.data, b.data, out.data, voxels);
    break;
  case MaskOperation::either:
    combine_all<MaskOperation::either>(a.data, b.data, out.data, voxels);
    break;
  case MaskOperation::first_only:
    combine_all<MaskOperation::first_only>(a.data, b.data, out.data, voxels);
    break;
  case MaskOperation::not_first:
    combine_all<MaskOperation::not_first>(a.data, b.data, out.data, voxels);
    break;
  }
  return combine_work(voxels);
}

} // namespace

void add_openmp_masks(Stages& stages) {
  stages.mask_of = mask_of;
  stages.combine = combine;
}

Stages openmp_stages() {
  Stages stages;
  stages.path = Path::openmp;
  stages.memory = host_memory();
  add_openmp_intensity(stages);
  add_openmp_masks(stages);
  add_openmp_labels(stages);
  add_openmp_shapes(stages);
  return stages;
}

} // namespace breakeven::imaging
