#include "workloads/imaging/side_by_side.h"

#include "workloads/imaging/case_pool.h"
#include "workloads/imaging/engines.h"
#include "workloads/imaging/export.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/imaging/load.h"
#include "workloads/imaging/memory_plan.h"
#include "workloads/imaging/portion.h"
#include "workloads/imaging/thin.h"
#include "workloads/imaging/verify.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>

namespace breakeven::imaging {

namespace {

// What is free now may not be free a moment later.
constexpr double share_of_free = 0.8;

/// What a thread that segments has of its own.
struct Engines {
  Stages stages;
  std::optional<UNetEngine> network;
};

UNetEngine* network_in(Engines& engines) { return engines.network ? &*engines.network : nullptr; }

/// On the calling thread, which is then the one to use and destroy them.
std::shared_ptr<Engines> make_engines(const Settings& settings, Path path) {
  const auto engines = std::make_shared<Engines>();
  engines->stages = make_stages(path);
  if (settings.model == Model::unet)
    engines->network = make_network(settings, path, omp_get_max_threads());
  return engines;
}

CtImage part_of(const Settings& settings, CtImage image, const Extent& part) {
  return settings.model == Model::unet ? middle_of(image, part) : std::move(image);
}

/// What one case of a slice is and needs, found with a case that has the machine to itself.
struct OneCase {
  std::filesystem::path files;
  Extent part;
  PoolMemory memory;
  double bytes_per_voxel = 0; ///< of the path's memory
  Segmentation alone;         ///< what every case must give
};

OneCase one_case(Job& job, Path path, const Slice& slice) {
  const Settings& settings = job.settings;
  OneCase one;
  one.part = part_of_case(settings, job.scan, slice);
  one.files = stored_scan(job, one.part.z);
  CtImage read = read_ct(one.files, omp_get_max_threads());
  one.memory.open_case_bytes = open_case_bytes(read.geometry.extent);
  const CtImage image = part_of(settings, std::move(read), one.part);
  const Geometry& geometry = image.geometry;
  Stages& stages = stages_for(job, path);
  one.bytes_per_voxel = bytes_per_voxel(job, path, image);
  one.memory.segmenting_bytes = one.bytes_per_voxel * static_cast<double>(geometry.extent.voxels())
                                + network_bytes(settings, geometry, path);
  UNetEngine* const network = settings.model == Model::unet ? &network_for(job, path) : nullptr;
  const Tiling tiling = tiling_for(stages, geometry, settings.recipe, one.bytes_per_voxel,
                                   settings.memory_bytes, job.scratch.path());
  one.alone = segment_case(settings, stages, network, image, tiling);
  one.memory.ram_bytes = share_of_free * available_ram_bytes();
  one.memory.path_bytes = settings.memory_bytes > 0 ? settings.memory_bytes
                                                    : share_of_free * stages.memory.free_bytes();
  return one;
}

PoolPlan plan_for(Path path, const PoolMemory& memory) {
  constexpr int gpus = 1; // as one case after the other has
  const int threads = omp_get_max_threads();
  return path == Path::openmp ? plan_whole_cases(threads, memory)
                              : plan_fed_gpu(threads, gpus, memory);
}

/// Cases with other labels than one alone, and the least Dice of those.
class Differences {
public:
  explicit Differences(const Volume<std::uint32_t>& expected) : expected_(expected) {}

  /// By several threads at once.
  void add(const Segmentation& result) {
    if (result.labels.voxels == expected_.voxels) return;
    const double reached = dice(view_of(expected_), view_of(result.labels));
    const std::lock_guard lock(mutex_);
    ++cases_;
    least_dice_ = std::min(least_dice_, reached);
  }
  std::int64_t cases() const { return cases_; }
  double least_dice() const { return least_dice_; }

private:
  const Volume<std::uint32_t>& expected_;
  std::mutex mutex_;
  std::int64_t cases_ = 0;
  double least_dice_ = 1;
};

Verification agreement_by_checksum(const PoolRun& run, const Segmentation& alone) {
  const std::uint64_t expected = checksum_of(alone);
  const auto unequal = std::count_if(run.checksums.begin(), run.checksums.end(),
                                     [&](std::uint64_t checksum) { return checksum != expected; });
  return {unequal == 0, fmt::format("labels of {} of {} cases side by side differ from those of "
                                    "one alone",
                                    unequal, run.checksums.size())};
}

/// A network's sums have no promised order, so that one thread may find other labels than several.
Verification agreement_by_dice(const PoolRun& run, const Differences& differences, double least) {
  return {differences.least_dice() >= least,
          fmt::format("labels of {} of {} cases side by side differ from those of one alone, Dice "
                      "{:.6f} (at least {})",
                      differences.cases(), run.checksums.size(), differences.least_dice(), least)};
}

std::string label_of(const Job& job, const Slice& slice, const Extent& part, std::int64_t units) {
  const std::int64_t windows = windows_of(job.settings, job.scan);
  const std::int64_t steps = windows > 0 ? windows : job.scan.extent.z;
  std::string label = fmt::format("{} of {} cases", units, job.settings.cases);
  if (part != job.scan.extent)
    label += fmt::format(", {} of {} {} of each", slice.repeats, steps,
                         windows > 0 ? "windows" : "slices");
  return label;
}

} // namespace

SideBySide run_side_by_side(Job& job, Path path, const Slice& slice, std::int64_t units) {
  const Settings& settings = job.settings;
  const OneCase one = one_case(job, path, slice);
  const PoolPlan plan = plan_for(path, one.memory);
  const int segmenting = plan.feeders > 0 ? plan.feeders : plan.cpu_threads;
  const bool is_exact = settings.model == Model::classical;
  Differences differences(one.alone.labels);

  CaseSteps steps;
  steps.decode = [&](std::int64_t) { return part_of(settings, read_ct(one.files, 1), one.part); };
  steps.make_segmenter = [&]() -> Segmenter {
    return [&, engines = make_engines(settings, path)](const CtImage& image) {
      const Tiling tiling =
          tiling_for(engines->stages, image.geometry, settings.recipe, one.bytes_per_voxel,
                     one.memory.path_bytes / segmenting, job.scratch.path());
      return segment_case(settings, engines->stages, network_in(*engines), image, tiling);
    };
  };
  steps.store = [&](std::int64_t number, const CtImage& image, const Segmentation& result) {
    export_labels(job.scratch.path(), number, result);
    export_report(job.scratch.path(), number, image, result, settings);
    if (!is_exact) differences.add(result);
  };
  std::vector<std::int64_t> cases(static_cast<std::size_t>(units));
  std::iota(cases.begin(), cases.end(), 1);

  const PoolRun run = run_side_by_side(plan, steps, cases);
  SideBySide found;
  found.units = static_cast<std::int64_t>(run.checksums.size());
  found.label = label_of(job, slice, one.part, found.units);
  found.whole_units = one.part == job.scan.extent;
  found.wall_s = run.wall_s;
  found.cpu_threads = plan.cpu_threads;
  found.gpu_feeders = plan.feeders;
  found.checksum = checksum_of_cases(run.checksums);
  found.agreement = is_exact ? agreement_by_checksum(run, one.alone)
                             : agreement_by_dice(run, differences, least_dice(settings, path));
  return found;
}

} // namespace breakeven::imaging
