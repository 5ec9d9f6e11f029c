#include "workloads/imaging/job.h"

#include "workloads/imaging/engines.h"
#include "workloads/imaging/memory_plan.h"
#include "workloads/imaging/thin.h"

#include <fmt/format.h>
#include <omp.h>

namespace breakeven::imaging {

Stages& stages_for(Job& job, Path path) {
  const auto found = job.stages.find(path);
  if (found != job.stages.end()) return found->second;
  return job.stages.emplace(path, make_stages(path)).first->second;
}

UNetEngine& network_for(Job& job, Path path) {
  const auto found = job.networks.find(path);
  if (found != job.networks.end()) return found->second;
  return job.networks.emplace(path, make_network(job.settings, path, omp_get_max_threads()))
      .first->second;
}

std::filesystem::path stored_scan(Job& job, std::int64_t slices) {
  if (!job.settings.scan.empty()) return job.settings.scan;
  const auto found = job.phantoms.find(slices);
  if (found != job.phantoms.end()) return found->second;
  const std::filesystem::path folder = job.scratch.path() / fmt::format("{}_slices", slices);
  std::filesystem::create_directory(folder);
  const std::int64_t first = (job.scan.extent.z - slices) / 2;
  write_dicom_series(folder, make_phantom_slices(job.settings.phantom, first, first + slices),
                     job.settings.compression);
  return job.phantoms.emplace(slices, folder).first->second;
}

Segmentation segment_case(const Settings& settings, Stages& stages, UNetEngine* network,
                          const CtImage& image, const Tiling& tiling) {
  if (network == nullptr) return segment(stages, image, settings.recipe, tiling);
  Labeller labeller;
  labeller.most_label = static_cast<std::uint32_t>(settings.unet.classes - 1);
  labeller.run = [network](View<const float> hu, View<std::uint32_t> labels) {
    return network->segment(hu, labels).phases;
  };
  return segment_with(stages, image, settings.recipe, labeller, tiling);
}

double bytes_per_voxel(Job& job, Path path, const CtImage& image) {
  const auto found = job.bytes_per_voxel.find(path);
  if (found != job.bytes_per_voxel.end()) return found->second;
  const CtImage small = middle_of(image, counted_part);
  const double peak = preview_peak_bytes(stages_for(job, path), small, job.settings.recipe);
  return job.bytes_per_voxel
      .emplace(path, peak / static_cast<double>(small.geometry.extent.voxels()))
      .first->second;
}

double network_bytes(const Settings& settings, const Geometry& scan, Path path) {
  if (settings.model != Model::unet) return 0;
  const Extent extent = working_geometry(scan, settings.recipe).extent;
  return static_cast<double>(
      predict_memory(settings.unet, extent, path, settings.precision).total());
}

} // namespace breakeven::imaging
