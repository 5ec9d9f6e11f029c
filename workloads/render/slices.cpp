#include "workloads/render/slices.h"

#include "workloads/render/engine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace breakeven::render {

namespace {

constexpr int tile_edge = 64;

std::vector<std::int64_t> spread_over(const std::vector<std::int64_t>& frames, std::size_t count) {
  if (count >= frames.size()) return frames;
  if (count == 1) return {frames[frames.size() / 2]};
  std::vector<std::int64_t> chosen;
  for (std::size_t i = 0; i < count; ++i)
    chosen.push_back(frames[i * (frames.size() - 1) / (count - 1)]);
  return chosen;
}

std::string label_of(const Settings& settings, const Slice& slice) {
  if (slice.whole_job)
    return fmt::format("all {} frames at {} samples", settings.frames.size(),
                       settings.samples_per_pixel);
  const std::string frames = slice.units.size() <= 4
                                 ? fmt::format("{}", fmt::join(slice.units, ", "))
                                 : fmt::format("{} ... {} ({} frames)", slice.units.front(),
                                               slice.units.back(), slice.units.size());
  return fmt::format("{} {} of {} at {} of {} samples",
                     slice.units.size() == 1 ? "frame" : "frames", frames, settings.frames.size(),
                     slice.repeats, settings.samples_per_pixel);
}

} // namespace

Slice slice_of(const Settings& settings, double effort) {
  const auto frames = static_cast<double>(settings.frames.size());
  const double samples = settings.samples_per_pixel;
  const double frame_samples = std::max(1.0, std::floor(effort * frames * samples));
  double chosen_frames = std::min({frames, 3.0, frame_samples});
  double chosen_samples = std::min(samples, std::floor(frame_samples / chosen_frames));
  if (chosen_samples >= samples)
    chosen_frames = std::clamp(std::floor(frame_samples / samples), chosen_frames, frames);
  Slice slice;
  slice.units = spread_over(settings.frames, static_cast<std::size_t>(chosen_frames));
  slice.repeats = static_cast<std::int64_t>(chosen_samples);
  slice.whole_job = chosen_frames >= frames && chosen_samples >= samples;
  slice.label = label_of(settings, slice);
  return slice;
}

std::vector<std::uint32_t> counting_pixels(int width, int height, std::int64_t budget) {
  const int columns = (width + tile_edge - 1) / tile_edge,
            rows = (height + tile_edge - 1) / tile_edge;
  const std::int64_t tiles = static_cast<std::int64_t>(columns) * rows;
  const std::int64_t wanted = std::clamp<std::int64_t>(budget / (tile_edge * tile_edge), 1, tiles);
  std::vector<std::uint32_t> pixels;
  for (std::int64_t chosen = 0; chosen < wanted; ++chosen) {
    // The middle of each of `wanted` equal shares of the tile sequence.
    const std::int64_t tile = (2 * chosen + 1) * tiles / (2 * wanted);
    const int left = static_cast<int>(tile % columns) * tile_edge;
    const int top = static_cast<int>(tile / columns) * tile_edge;
    // 8 x 4 pixels are one group of 32 lanes.
    for (int block_top = top; block_top < std::min(top + tile_edge, height); block_top += 4)
      for (int block_left = left; block_left < std::min(left + tile_edge, width); block_left += 8)
        for (int y = block_top; y < std::min(block_top + 4, height); ++y)
          for (int x = block_left; x < std::min(block_left + 8, width); ++x)
            pixels.push_back(static_cast<std::uint32_t>(y) * static_cast<std::uint32_t>(width)
                             + static_cast<std::uint32_t>(x));
  }
  return pixels;
}

double frames_over_slice(const Settings& settings, const Slice& slice) {
  return static_cast<double>(settings.frames.size()) / static_cast<double>(slice.units.size());
}

double paths_over_slice(const Settings& settings, const Slice& slice, std::size_t pixels) {
  const double whole_frame = static_cast<double>(settings.width) * settings.height;
  return frames_over_slice(settings, slice) * settings.samples_per_pixel
         / static_cast<double>(slice.repeats) * whole_frame / static_cast<double>(pixels);
}

bool is_per_path(const std::string& phase) {
  for (const char* name :
       {"render", "generate", "intersect", "occlude", "shade", "compact", "download"})
    if (phase == name) return true;
  return false;
}

void as_full_waves(const Settings& settings, const Slice& slice, std::size_t pixels,
                   std::vector<Phase>& phases) {
  const double cap = static_cast<double>(paths_in_flight);
  const double job_paths =
      static_cast<double>(settings.width) * settings.height * settings.samples_per_pixel;
  const double slice_paths = static_cast<double>(pixels) * static_cast<double>(slice.repeats);
  const double wave_growth = std::ceil(job_paths / cap) / std::ceil(slice_paths / cap);
  const double width_growth = std::min(cap, job_paths) / std::min(cap, slice_paths);
  for (Phase& phase : phases) {
    if (!is_per_path(phase.name)) continue;
    // job_over_slice multiplies by the paths' growth; launches only grow with the waves.
    phase.work.launches *= wave_growth * slice_paths / job_paths;
    phase.work.parallel_width *= width_growth;
  }
}

} // namespace breakeven::render
