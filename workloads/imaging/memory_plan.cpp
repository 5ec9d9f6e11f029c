#include "workloads/imaging/memory_plan.h"

#include "sim/errors.h"
#include "workloads/imaging/host_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::imaging {

namespace {

// What is free now may not be free a moment later.
constexpr double share_of_free = 0.8;

std::int64_t halo_of(const StageSettings& stage, const std::array<double, 3>& spacing_mm) {
  switch (stage.kind) {
  case StageKind::gaussian:
    return gaussian_taps(stage.sigma_mm, spacing_mm).radius_z();
  case StageKind::bilateral:
    return stage.radius_voxels;
  case StageKind::median:
  case StageKind::diffusion:
  case StageKind::resample:
    return 1;
  case StageKind::dilate:
  case StageKind::erode:
  case StageKind::open:
  case StageKind::close:
    return stage.ball ? 0 : static_cast<std::int64_t>(stage.radius_mm / spacing_mm[2]);
  default:
    return 0;
  }
}

std::int64_t largest_halo(const Geometry& scan, const Recipe& recipe) {
  const std::array<double, 3> spacing = working_geometry(scan, recipe).spacing_mm();
  std::int64_t halo = 0;
  for (const StageSettings& stage : recipe.stages)
    halo = std::max(halo, halo_of(stage, spacing));
  return halo;
}

} // namespace

double preview_peak_bytes(Stages& stages, const CtImage& small, const Recipe& recipe) {
  Labeller none;
  none.run = [](View<const float>, View<std::uint32_t> labels) {
    std::fill_n(labels.data, labels.extent.voxels(), 0u);
    return std::vector<Phase>{};
  };
  const bool masks =
      std::any_of(recipe.stages.begin(), recipe.stages.end(), [](const StageSettings& stage) {
        return stage.kind == StageKind::otsu || stage.kind == StageKind::threshold;
      });
  return masks ? segment(stages, small, recipe, {}).peak_bytes
               : segment_with(stages, small, recipe, none, {}).peak_bytes;
}

Tiling tiling_for(Stages& stages, const Geometry& scan, const Recipe& recipe,
                  double bytes_per_voxel, double limit_bytes,
                  const std::filesystem::path& scratch) {
  const double limit = limit_bytes > 0 ? limit_bytes : share_of_free * stages.memory.free_bytes();
  const double whole = bytes_per_voxel * static_cast<double>(scan.extent.voxels());
  if (whole <= limit) return {0, {}, whole};
  const double slice = bytes_per_voxel * static_cast<double>(scan.extent.slice());
  const std::int64_t halo = largest_halo(scan, recipe);
  const auto fitting = static_cast<std::int64_t>(std::floor(limit / slice)) - 2 * halo;
  if (fitting < 1)
    throw Failure(fmt::format("a case needs {:.2f} GB of memory, in slabs of one slice {:.2f} GB, "
                              "and may take {:.2f} GB",
                              whole * 1e-9, slice * static_cast<double>(1 + 2 * halo) * 1e-9,
                              limit * 1e-9));
  Tiling tiling;
  tiling.slab_slices = std::min(fitting, scan.extent.z);
  tiling.predicted_peak_bytes = slice * static_cast<double>(tiling.slab_slices + 2 * halo);
  const bool fits_ram =
      stages.path != Path::openmp && whole <= share_of_free * available_ram_bytes();
  if (!fits_ram) tiling.scratch_folder = scratch;
  return tiling;
}

} // namespace breakeven::imaging
