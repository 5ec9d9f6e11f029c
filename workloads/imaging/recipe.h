// What a segmentation does, stage by stage, in the order of the scenario. Takes the
// [[workload.stage]] sections, gives a checked list. Leaves out how a stage is computed (stages.h).
#pragma once

#include "sim/scenario/section.h"
#include "workloads/imaging/stages.h"

#include <string>
#include <vector>

namespace breakeven::imaging {

enum class StageKind {
  resample,
  gaussian,
  median,
  bilateral,
  diffusion,
  otsu,
  threshold,
  dilate,
  erode,
  open,
  close,
  fill_holes,
  components,
  keep,
  watershed
};
std::string to_string(StageKind kind); ///< "fill-holes", as scenarios say

/// One stage; only the fields of its kind are read.
struct StageSettings {
  StageKind kind = StageKind::threshold;
  double spacing_mm = 1;                 ///< resample: of the cubic voxels
  double sigma_mm = 1;                   ///< gaussian, bilateral
  double sigma_hu = 60;                  ///< bilateral
  int radius_voxels = 2;                 ///< bilateral
  int iterations = 5;                    ///< diffusion
  double conductance = 3;                ///< diffusion
  double time_step = 0.0625;             ///< diffusion
  int bins = 256;                        ///< otsu
  double low_hu = -1024, high_hu = 3071; ///< otsu: of the histogram; threshold: [low, high)
  bool inside = false;                   ///< threshold: only where the mask was set before
  bool unfiltered = false;               ///< threshold, otsu: of the HU before any denoising
  bool ball = true;                      ///< morphology: a ball or a box
  double radius_mm = 1;                  ///< morphology
  Connectivity connectivity = Connectivity::twenty_six;
  std::vector<std::array<double, 3>> seeds_mm; ///< keep: objects that hold one of these; RAS
  int largest = 0;                             ///< keep: so many of the largest; 0 is all
  double least_ml = 0;                         ///< keep
  bool off_sides = false;     ///< keep: not those that touch the volume's x and y sides
  double least_height_mm = 1; ///< watershed
};

struct Recipe {
  std::vector<StageSettings> stages;
};

const std::vector<Key>& stage_keys(); ///< of [[workload.stage]]

/// Throws BadInput for keys that a stage does not take, for values out of range and for an order
/// that gives a stage nothing to work on (components before any mask).
Recipe read_recipe(const Section& workload);

} // namespace breakeven::imaging
