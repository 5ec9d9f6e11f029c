// Which part of an animation is really rendered, and how its counts scale to the whole job.
#pragma once

#include "workloads/render/settings.h"
#include "workloads/workload.h"

namespace breakeven::render {

/// `effort` in [0, 1] of the job's frames x samples: at least one sample of one frame, then up to
/// three frames spread over the sequence (the crush changes what rays meet), then more samples,
/// then more frames.
Slice slice_of(const Settings& settings, double effort);

/// Pixels for counting on the host path: square tiles spread evenly over the image, in the order
/// in which the GPU groups them, at most about `budget` pixels; all pixels when they fit.
std::vector<std::uint32_t> counting_pixels(int width, int height, std::int64_t budget);

/// Whole job over slice, for work that happens once a frame and for work that happens once a path.
double frames_over_slice(const Settings& settings, const Slice& slice);
double paths_over_slice(const Settings& settings, const Slice& slice, std::size_t pixels);

/// A counting run has few pixels, so its waves are short and many launches do little. Rewrites the
/// launches and the parallel width of the per-path phases to what the whole job's full waves have.
void as_full_waves(const Settings& settings, const Slice& slice, std::size_t pixels,
                   std::vector<Phase>& phases);

/// Whether a phase happens once a path (tracing, shading) rather than once a frame (building).
bool is_per_path(const std::string& phase);

} // namespace breakeven::render
