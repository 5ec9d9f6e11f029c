// One imaging job while it is run here: its settings, and what is made at first use and kept for
// later runs. Leaves out running it (imaging.cpp, side_by_side.h).
#pragma once

#include "workloads/imaging/pipeline.h"
#include "workloads/imaging/settings.h"
#include "workloads/scratch_folder.h"

#include <map>

namespace breakeven::imaging {

// The GPU side's source is checked as it runs on the host, at about a microsecond a thread.
constexpr Extent counted_part{96, 96, 24};

struct Job {
  Settings settings;
  Geometry scan; ///< of a whole case
  ScratchFolder scratch{"imaging"};
  std::map<std::int64_t, std::filesystem::path> phantoms; ///< by slices: where they are stored
  std::map<Path, Stages> stages;                          ///< made at first use, likewise below
  std::map<Path, UNetEngine> networks;
  std::map<Path, double> bytes_per_voxel; ///< of the scan, while a case is segmented
};

Stages& stages_for(Job& job, Path path);
UNetEngine& network_for(Job& job, Path path);

/// The scan as files: the user's, or the middle `slices` of the phantom.
std::filesystem::path stored_scan(Job& job, std::int64_t slices);

/// Segments with what belongs to one thread; `network` is null for the classical model.
Segmentation segment_case(const Settings& settings, Stages& stages, UNetEngine* network,
                          const CtImage& image, const Tiling& tiling);

/// What one voxel of a scan takes in the path's memory, seen on a small one.
double bytes_per_voxel(Job& job, Path path, const CtImage& image);

/// What the network itself takes for a scan; 0 for the classical model.
double network_bytes(const Settings& settings, const Geometry& scan, Path path);

} // namespace breakeven::imaging
