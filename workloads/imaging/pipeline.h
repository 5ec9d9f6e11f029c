// The classical segmentation of one case on one path: the stages of a recipe, one after the other,
// on volumes that stay in the path's memory, or, where they do not fit, slab by slab with copies in
// and out. Both ways and every path give the same labels to the bit. Leaves out files (load.h,
// export.h) and many cases (case_pool.h).
#pragma once

#include "workloads/imaging/recipe.h"
#include "workloads/imaging/stages.h"

#include <filesystem>
#include <functional>

namespace breakeven::imaging {

/// How a case is cut. Zero slices: it is not cut.
struct Tiling {
  std::int64_t slab_slices = 0;         ///< slices of a slab, without its halo
  std::filesystem::path scratch_folder; ///< where the volumes lie meanwhile; empty: in RAM
  double predicted_peak_bytes = 0;      ///< of the path's memory; 0 where nobody predicted it
};

struct Segmentation {
  Volume<std::uint32_t> labels; ///< on the grid of the input; 0 is background
  std::vector<LabelSums> sums;  ///< an entry a label, 0 included; HU before any denoising
  std::vector<Phase> phases;    ///< in the order of first use; a name once
  double otsu_hu = 0;           ///< the last threshold that Otsu's method chose
  double peak_bytes = 0;        ///< of the path's memory, as counted
};

/// Runs the recipe. Every stage's time has both its ends synchronised. Throws Failure where memory
/// does not suffice, BadInput never: `image` was checked when it was read.
Segmentation segment(Stages& stages, const CtImage& image, const Recipe& recipe,
                     const Tiling& tiling);

/// Sets labels, 0 to `most_label`, for HU on the grid after the recipe's resampling; both lie on
/// the host. Gives its phases.
struct Labeller {
  std::uint32_t most_label = 1;
  std::function<std::vector<Phase>(View<const float> hu, View<std::uint32_t> labels)> run;
};
/// Runs the recipe, which makes no mask, and then the labeller in place of further stages. Labels
/// are the labeller's, brought back to the grid of the input.
Segmentation segment_with(Stages& stages, const CtImage& image, const Recipe& recipe,
                          const Labeller& labeller, const Tiling& tiling);

/// The grid after the recipe's resampling, if it has one.
Geometry working_geometry(const Geometry& geometry, const Recipe& recipe);

} // namespace breakeven::imaging
