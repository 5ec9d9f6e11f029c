#include "workloads/imaging/portion.h"

#include "workloads/imaging/pipeline.h"
#include "workloads/imaging/unet_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::imaging {

namespace {

// Thick enough for every halo and for objects that end within it.
constexpr std::int64_t fewest_slices = 48;

/// Units of effort in one case.
std::int64_t steps_in_case(const Settings& settings, const Geometry& scan) {
  return settings.model == Model::unet ? windows_of(settings, scan) : scan.extent.z;
}

std::int64_t fewest_steps(const Settings& settings, const Geometry& scan) {
  if (!settings.scan.empty()) return steps_in_case(settings, scan);
  return settings.model == Model::unet ? 1 : std::min(fewest_slices, scan.extent.z);
}

/// A part of a case is one window wide, so it has no more of them than fit along z.
std::int64_t most_in_part(const Settings& settings, const Geometry& scan) {
  if (settings.model != Model::unet) return scan.extent.z;
  const Geometry grid = working_geometry(scan, settings.recipe);
  return static_cast<std::int64_t>(plan_windows(settings.unet, grid.extent).starts_z.size());
}

/// Voxels of the scan under `windows` windows, one behind the other along z.
Extent under_windows(const Settings& settings, const Geometry& scan, std::int64_t windows) {
  const Geometry grid = working_geometry(scan, settings.recipe);
  const std::array<double, 3> fine = scan.spacing_mm(), coarse = grid.spacing_mm();
  const UNetSpec& spec = settings.unet;
  const double depth =
      static_cast<double>(spec.patch.z) * (1 + spec.step * static_cast<double>(windows - 1));
  const auto voxels = [](double count, double ratio, std::int64_t most) {
    return std::clamp<std::int64_t>(std::llround(count * ratio), 1, most);
  };
  return {voxels(static_cast<double>(spec.patch.x), coarse[0] / fine[0], scan.extent.x),
          voxels(static_cast<double>(spec.patch.y), coarse[1] / fine[1], scan.extent.y),
          voxels(depth, coarse[2] / fine[2], scan.extent.z)};
}

std::string label_of(const Settings& settings, const Geometry& scan, const Slice& slice) {
  const std::int64_t cases = static_cast<std::int64_t>(slice.units.size());
  const std::int64_t steps = steps_in_case(settings, scan);
  const std::string of_cases =
      fmt::format("{} of {} {}", cases, settings.cases, settings.cases == 1 ? "case" : "cases");
  if (slice.repeats >= steps) return of_cases;
  return fmt::format("{} of {} {} of {}", slice.repeats, steps,
                     settings.model == Model::unet ? "windows" : "slices", of_cases);
}

} // namespace

std::int64_t windows_of(const Settings& settings, const Geometry& scan) {
  if (settings.model != Model::unet) return 0;
  return plan_windows(settings.unet, working_geometry(scan, settings.recipe).extent).windows();
}

Slice slice_of(const Settings& settings, const Geometry& scan, double effort) {
  const std::int64_t steps = steps_in_case(settings, scan);
  const double wanted =
      std::floor(effort * static_cast<double>(steps) * static_cast<double>(settings.cases));
  Slice slice;
  slice.repeats = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(wanted, 1e15)),
                                           fewest_steps(settings, scan), steps);
  if (slice.repeats < steps) slice.repeats = std::min(slice.repeats, most_in_part(settings, scan));
  const std::int64_t cases =
      slice.repeats < steps
          ? 1
          : std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted / static_cast<double>(steps)),
                                     1, settings.cases);
  for (std::int64_t number = 1; number <= cases; ++number)
    slice.units.push_back(number);
  slice.whole_job = slice.repeats == steps && cases == settings.cases;
  slice.label = label_of(settings, scan, slice);
  return slice;
}

Extent part_of_case(const Settings& settings, const Geometry& scan, const Slice& slice) {
  if (slice.repeats >= steps_in_case(settings, scan)) return scan.extent;
  if (settings.model == Model::unet) return under_windows(settings, scan, slice.repeats);
  return {scan.extent.x, scan.extent.y, slice.repeats};
}

} // namespace breakeven::imaging
