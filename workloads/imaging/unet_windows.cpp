#include "workloads/imaging/unet_windows.h"

#include "sim/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::imaging {

std::vector<std::int64_t> window_starts(std::int64_t side, std::int64_t patch, double step) {
  if (side <= patch) return {-((patch - side) / 2)};
  const double target = static_cast<double>(patch) * step;
  const auto last = static_cast<double>(side - patch);
  const auto count = static_cast<std::int64_t>(std::ceil(last / target)) + 1;
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < count; ++i)
    starts.push_back(std::llrint(last / static_cast<double>(count - 1) * static_cast<double>(i)));
  // Steps below half a voxel round to the same start.
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

std::vector<float> window_importance(std::int64_t patch) {
  std::vector<float> importance;
  const double sigma = static_cast<double>(patch) / 8;
  for (std::int64_t i = 0; i < patch; ++i) {
    const double distance = static_cast<double>(i - patch / 2) / sigma;
    importance.push_back(static_cast<float>(std::exp(-0.5 * distance * distance)));
  }
  return importance;
}

namespace {

template <class Function>
void each_strip(const WindowPlan& plan, Function function) {
  for (std::int64_t row = 0; row < plan.volume.y; row += plan.rows)
    function(Strip{row, std::min(plan.volume.y, row + plan.rows)});
}

std::vector<std::int64_t> starts_in(const WindowPlan& plan, const Strip& strip) {
  std::vector<std::int64_t> starts;
  for (const std::int64_t y : plan.starts_y)
    if (y < strip.row_end && y + plan.patch.y > strip.row_begin) starts.push_back(y);
  return starts;
}

} // namespace

std::int64_t WindowPlan::windows() const {
  std::size_t of_rows = 0;
  each_strip(*this, [&](const Strip& strip) { of_rows += starts_in(*this, strip).size(); });
  return static_cast<std::int64_t>(starts_x.size() * of_rows * starts_z.size());
}

WindowPlan plan_windows(const UNetSpec& spec, const Extent& volume) {
  WindowPlan plan;
  plan.volume = volume;
  plan.patch = spec.patch;
  plan.classes = spec.classes;
  plan.starts_x = window_starts(volume.x, spec.patch.x, spec.step);
  plan.starts_y = window_starts(volume.y, spec.patch.y, spec.step);
  plan.starts_z = window_starts(volume.z, spec.patch.z, spec.step);
  plan.slices = std::min(volume.z, spec.patch.z);
  const std::int64_t row_bytes = plan.slices * spec.classes * volume.x * 4;
  if (row_bytes > spec.logits_limit_bytes)
    throw BadInput("logits_limit_bytes", 0, std::to_string(spec.logits_limit_bytes),
                   fmt::format("at least {}, one row of {} slices and {} classes", row_bytes,
                               plan.slices, spec.classes));
  const std::int64_t most_rows = std::min(volume.y, spec.logits_limit_bytes / row_bytes);
  const std::int64_t strips = (volume.y + most_rows - 1) / most_rows;
  plan.rows = (volume.y + strips - 1) / strips;
  return plan;
}

void run_windows(const WindowPlan& plan, const std::array<bool, 3>& mirror,
                 const WindowSteps& steps) {
  std::vector<unsigned> mirrors;
  for (unsigned bits = 0; bits < 8; ++bits)
    if ((mirror[0] || !(bits & 1)) && (mirror[1] || !(bits & 2)) && (mirror[2] || !(bits & 4)))
      mirrors.push_back(bits);
  each_strip(plan, [&](const Strip& strip) {
    const auto starts_y = starts_in(plan, strip);
    for (std::size_t i = 0; i < plan.starts_z.size(); ++i) {
      const std::int64_t z = plan.starts_z[i];
      for (const std::int64_t y : starts_y)
        for (const std::int64_t x : plan.starts_x) {
          if (interrupted()) return;
          for (const unsigned bits : mirrors) {
            steps.infer({x, y, z}, bits);
            steps.aggregate({x, y, z}, bits, strip);
          }
        }
      const bool is_last = i + 1 == plan.starts_z.size();
      steps.finish(std::max<std::int64_t>(0, z), is_last ? plan.volume.z : plan.starts_z[i + 1],
                   strip);
    }
  });
}

WindowPart part_in(const WindowPlan& plan, const Window& window, const Strip& strip) {
  return {{std::max<std::int64_t>(0, window.x), std::max(strip.row_begin, window.y),
           std::max<std::int64_t>(0, window.z)},
          {std::min(plan.volume.x, window.x + plan.patch.x),
           std::min(strip.row_end, window.y + plan.patch.y),
           std::min(plan.volume.z, window.z + plan.patch.z)}};
}

double agreement(View<const std::uint32_t> a, View<const std::uint32_t> b) {
  const std::int64_t voxels = a.extent.voxels();
  if (voxels == 0) return 1;
  std::int64_t same = 0;
  for (std::int64_t i = 0; i < voxels; ++i)
    same += a.data[i] == b.data[i];
  return static_cast<double>(same) / static_cast<double>(voxels);
}

double dice(View<const std::uint32_t> a, View<const std::uint32_t> b) {
  std::vector<std::array<std::int64_t, 3>> counts; // in a, in b, in both
  const auto count_of = [&](std::uint32_t label) -> std::array<std::int64_t, 3>& {
    if (label >= counts.size()) counts.resize(label + std::size_t{1});
    return counts[label];
  };
  for (std::int64_t i = 0; i < a.extent.voxels(); ++i) {
    ++count_of(a.data[i])[0];
    ++count_of(b.data[i])[1];
    if (a.data[i] == b.data[i]) ++count_of(a.data[i])[2];
  }
  double sum = 0;
  int classes = 0;
  for (std::size_t label = 1; label < counts.size(); ++label) {
    const auto& [in_a, in_b, in_both] = counts[label];
    if (in_a + in_b == 0) continue;
    sum += 2 * static_cast<double>(in_both) / static_cast<double>(in_a + in_b);
    ++classes;
  }
  return classes == 0 ? 1 : sum / classes;
}

} // namespace breakeven::imaging
