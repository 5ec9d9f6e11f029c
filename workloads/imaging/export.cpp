#include "workloads/imaging/export.h"

#include "sim/errors.h"
#include "workloads/imaging/load.h"
#include "workloads/imaging/measurements.h"
#include "workloads/imaging/montage.h"
#include "workloads/partial_file.h"

#include <fmt/format.h>

namespace breakeven::imaging {

void export_case(const std::filesystem::path& folder, std::int64_t number,
                 const Segmentation& result, const Settings& settings) {
  const std::string name = fmt::format("case_{:04}", number);
  const Geometry& geometry = result.labels.geometry;
  write_labels(folder / (name + "_labels.nii.gz"), result.labels);
  write_whole_file(folder / (name + "_labels.csv"), measurements_csv(result.sums, geometry));
  const Window window{static_cast<float>(settings.window_level_hu),
                      static_cast<float>(settings.window_width_hu)};
  write_whole_file(folder / (name + ".png"), montage_png({result.hu.data(), geometry.extent},
                                                         view_of(result.labels), geometry, window));
}

} // namespace breakeven::imaging
