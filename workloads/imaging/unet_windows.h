// Where the windows of a sliding-window inference lie, how much each of their voxels counts, and in
// which order they are run so that logits are kept for a slab of slices only. Engines fill in the
// steps.
#pragma once

#include "workloads/imaging/unet.h"

namespace breakeven::imaging {

/// First voxels of the windows along one axis: as few as overlap by at least 1 - step, spread
/// evenly, rounded half to even (nnU-Net's compute_steps_for_sliding_window). A side shorter than
/// the patch has one window, which begins (patch - side) / 2 voxels before it.
std::vector<std::int64_t> window_starts(std::int64_t side, std::int64_t patch, double step);

/// Importance along one axis of a window: a Gaussian about voxel patch / 2 with sigma patch / 8, 1
/// at its middle. A voxel's importance is the product over the axes.
std::vector<float> window_importance(std::int64_t patch);

struct Window {
  std::int64_t x = 0, y = 0, z = 0; ///< of its first voxel; may be negative
};

/// Logits are laid out [slice mod slices][class][row - first row][x].
struct WindowPlan {
  Extent volume, patch;
  int classes = 0;
  std::vector<std::int64_t> starts_x, starts_y, starts_z;
  std::int64_t slices = 0; ///< kept at once
  std::int64_t rows = 0;   ///< of a strip; volume.y where there is one strip
  std::int64_t logits() const { return slices * classes * rows * volume.x; }
  std::int64_t logits_bytes() const { return logits() * 4; }
  std::int64_t windows() const; ///< to be run, mirrors as one
};
/// The fewest strips whose logits stay within the limit. Throws BadInput where even one row does
/// not.
WindowPlan plan_windows(const UNetSpec& spec, const Extent& volume);

/// Rows and slices of the volume whose logits are kept at the moment.
struct Strip {
  std::int64_t row_begin = 0, row_end = 0;
};

struct WindowSteps {
  /// Runs a window, its x, y and z mirrored as the bits 1, 2, 4 say, and keeps the result.
  std::function<void(const Window&, unsigned mirror)> infer;
  /// Adds it to the logits of the strip.
  std::function<void(const Window&, unsigned mirror, const Strip&)> aggregate;
  /// Slices [z_begin, z_end) of the strip are complete: sets their labels and clears their logits.
  std::function<void(std::int64_t z_begin, std::int64_t z_end, const Strip&)> finish;
};
/// Runs every window of every strip, z outermost, and every mirror of each. Stops after the window
/// at hand once interrupted().
void run_windows(const WindowPlan& plan, const std::array<bool, 3>& mirror,
                 const WindowSteps& steps);

/// The part of a window inside a strip: [begin, end) along each axis, in voxels of the volume.
struct WindowPart {
  std::array<std::int64_t, 3> begin, end;
};
WindowPart part_in(const WindowPlan& plan, const Window& window, const Strip& strip);

} // namespace breakeven::imaging
