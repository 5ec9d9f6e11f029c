#include "workloads/imaging/imaging.h"

#include "sim/errors.h"
#include "workloads/clock.h"
#include "workloads/imaging/case_pool.h"
#include "workloads/imaging/export.h"
#include "workloads/imaging/job.h"
#include "workloads/imaging/load.h"
#include "workloads/imaging/memory_plan.h"
#include "workloads/imaging/montage.h"
#include "workloads/imaging/portion.h"
#include "workloads/imaging/side_by_side.h"
#include "workloads/imaging/thin.h"
#include "workloads/imaging/verify.h"
#include "workloads/paths.h"

#include <omp.h>

#include <algorithm>
#include <memory>

namespace breakeven::imaging {

namespace {

// ---- phases ----

struct TimedCase {
  CtImage image;
  double decode_s = 0;
};
TimedCase decode(Job& job, const Extent& part) {
  const std::filesystem::path files = stored_scan(job, part.z);
  TimedCase decoded;
  const double start = seconds_now();
  decoded.image = read_ct(files, omp_get_max_threads());
  decoded.decode_s = seconds_now() - start;
  return decoded;
}

Segmentation segment_part(Job& job, Path path, const CtImage& part, const Tiling& tiling) {
  UNetEngine* const network = job.settings.model == Model::unet ? &network_for(job, path) : nullptr;
  return segment_case(job.settings, stages_for(job, path), network, part, tiling);
}

constexpr const char* labels_file = "labels file";
constexpr const char* report = "report";

std::vector<Phase> export_phases(Job& job, std::int64_t number, const CtImage& image,
                                 const Segmentation& result, const std::filesystem::path& output) {
  const std::filesystem::path& folder = output.empty() ? job.scratch.path() : output;
  const double start = seconds_now();
  export_labels(folder, number, result);
  const double between = seconds_now();
  export_report(folder, number, image, result, job.settings);
  std::vector<Phase> phases{cpu_phase(labels_file, Scaling::parallel, between - start),
                            cpu_phase(report, Scaling::serial, seconds_now() - between)};
  phases[0].work.counts = {{"voxels", static_cast<double>(result.labels.voxels.size())}};
  phases[1].work.counts = {{"labels", static_cast<double>(result.sums.size() - 1)},
                           {"pixels", static_cast<double>(montage_pixels(image.geometry))}};
  return phases;
}

/// Whole job over what was run, for each phase by what its time grows with.
void set_scales(const Job& job, const Slice& slice, const Extent& part, std::int64_t voxels_run,
                std::vector<Phase>& phases) {
  const double cases =
      static_cast<double>(job.settings.cases) / static_cast<double>(slice.units.size());
  const double windows = static_cast<double>(windows_of(job.settings, job.scan));
  for (Phase& phase : phases) {
    const double windows_run = phase.work.count("windows");
    if (phase.name == "decode")
      phase.job_over_slice =
          cases * static_cast<double>(job.scan.extent.z) / static_cast<double>(part.z);
    else if (phase.name == report)
      phase.job_over_slice = static_cast<double>(job.settings.cases)
                             * static_cast<double>(montage_pixels(job.scan))
                             / phase.work.count("pixels");
    else if (windows_run > 0)
      phase.job_over_slice = static_cast<double>(job.settings.cases) * windows / windows_run;
    else
      phase.job_over_slice =
          cases * static_cast<double>(job.scan.extent.voxels()) / static_cast<double>(voxels_run);
  }
}

/// A small part was counted; a whole case has as many launches, and its width.
void as_whole_case(const Job& job, std::int64_t voxels_run, std::vector<Phase>& phases) {
  const double growth =
      static_cast<double>(job.scan.extent.voxels()) / static_cast<double>(voxels_run);
  for (Phase& phase : phases) {
    if (phase.work.count("windows") > 0) continue;
    phase.work.launches /= growth;
    phase.work.parallel_width *= growth;
  }
}

void note_memory(double whole_case_bytes, std::vector<Phase>& phases) {
  for (Phase& phase : phases)
    if (phase.processor == Processor::gpu)
      phase.work.counts.emplace_back("state_bytes", whole_case_bytes);
    else
      phase.work.working_set_bytes = whole_case_bytes;
}

// ---- runs ----

Run run_counted(Job& job, Path path, const Slice& slice) {
  const Extent part = part_of_case(job.settings, job.scan, slice);
  CtImage image = decode(job, part).image;
  image = middle_of(image, job.settings.model == Model::unet ? part : counted_part);
  const Segmentation result = segment_part(job, path, image, {});
  Run run;
  run.checksum = checksum_of_cases({checksum_of(result)});
  // They stay on the CPU; its path has their times.
  run.phases.push_back(cpu_phase("decode", Scaling::parallel, 0));
  for (const Phase& phase : result.phases)
    run.phases.push_back(phase);
  run.phases.push_back(cpu_phase(labels_file, Scaling::parallel, 0));
  run.phases.push_back(cpu_phase(report, Scaling::serial, 0));
  run.phases.back().work.counts = {{"pixels", static_cast<double>(montage_pixels(image.geometry))}};
  const std::int64_t voxels = image.geometry.extent.voxels();
  Slice one = slice;
  one.units.resize(1);
  set_scales(job, one, part, voxels, run.phases);
  as_whole_case(job, voxels, run.phases);
  note_memory(result.peak_bytes / static_cast<double>(voxels)
                      * static_cast<double>(job.scan.extent.voxels())
                  + network_bytes(job.settings, job.scan, Path::cuda),
              run.phases);
  return run;
}

Run run_timed(Job& job, Path path, const Slice& slice, const std::filesystem::path& output) {
  const Extent part = part_of_case(job.settings, job.scan, slice);
  Run run;
  std::vector<std::uint64_t> checksums;
  stored_scan(job, part.z); // made before the clock starts
  const double start = seconds_now();
  double predicted = 0, peak = 0;
  std::int64_t voxels = 1;
  for (const std::int64_t number : slice.units) {
    TimedCase decoded = decode(job, part);
    if (job.settings.model == Model::unet) decoded.image = middle_of(decoded.image, part);
    const CtImage& image = decoded.image;
    voxels = image.geometry.extent.voxels();
    const Tiling tiling = tiling_for(stages_for(job, path), image.geometry, job.settings.recipe,
                                     bytes_per_voxel(job, path, image), job.settings.memory_bytes,
                                     job.scratch.path());
    predicted = tiling.predicted_peak_bytes;
    const Segmentation result = segment_part(job, path, image, tiling);
    peak = std::max(peak, result.peak_bytes);
    checksums.push_back(checksum_of(result));
    add_phase(run.phases, cpu_phase("decode", Scaling::parallel, decoded.decode_s));
    for (const Phase& phase : result.phases)
      add_phase(run.phases, phase);
    for (const Phase& phase : export_phases(job, number, image, result, output))
      add_phase(run.phases, phase);
    if (interrupted()) break;
  }
  run.wall_s = seconds_now() - start;
  run.checksum = checksum_of_cases(checksums);
  set_scales(job, slice, part, voxels, run.phases);
  note_memory(bytes_per_voxel(job, path, {}) * static_cast<double>(job.scan.extent.voxels())
                  + network_bytes(job.settings, job.scan, path),
              run.phases);
  run.phases.front().work.counts = {
      {"slices", static_cast<double>(part.z) * static_cast<double>(slice.units.size())},
      {"predicted_peak_bytes", predicted},
      {"measured_peak_bytes", peak}};
  return run;
}

} // namespace

Workload make_imaging_workload(const Section& section) {
  const auto job = std::make_shared<Job>();
  job->settings = read_settings(section);
  job->scan = job->settings.scan.empty()
                  ? geometry_of(job->settings.phantom)
                  : read_ct(job->settings.scan, omp_get_max_threads()).geometry;

  Workload workload;
  workload.kind = "imaging";
  workload.unit = "case";
  workload.job_units = job->settings.cases;
  workload.paths = usable_paths();
  workload.slice = [job](double effort) { return slice_of(job->settings, job->scan, effort); };
  workload.run = [job](Path path, const Slice& slice, const std::filesystem::path& output) {
    return path == Path::host ? run_counted(*job, path, slice)
                              : run_timed(*job, path, slice, output);
  };
  workload.run_side_by_side = [job](Path path, const Slice& slice, std::int64_t units) {
    return run_side_by_side(*job, path, slice, units);
  };
  workload.verify = [job](Path path) {
    const Slice smallest = slice_of(job->settings, job->scan, 0);
    const CtImage image = decode(*job, part_of_case(job->settings, job->scan, smallest)).image;
    Verification verification = verify_path(job->settings, image, path);
    // What reading it corrected or assumed goes where the results go.
    for (const std::string& note : image.notes)
      verification.evidence += "; scan: " + note;
    return verification;
  };
  return workload;
}

} // namespace breakeven::imaging
