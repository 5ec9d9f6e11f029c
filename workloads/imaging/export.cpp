#include "workloads/imaging/export.h"

#include "sim/errors.h"
#include "workloads/imaging/load.h"
#include "workloads/imaging/measurements.h"
#include "workloads/imaging/montage.h"
#include "workloads/partial_file.h"

#include <fmt/format.h>

namespace breakeven::imaging {

namespace {

std::string name_of(std::int64_t number) { return fmt::format("case_{:04}", number); }

} // namespace

void export_labels(const std::filesystem::path& folder, std::int64_t number,
                   const Segmentation& result) {
  write_labels(folder / (name_of(number) + "_labels.nii.gz"), result.labels);
}

void export_report(const std::filesystem::path& folder, std::int64_t number, const CtImage& image,
                   const Segmentation& result, const Settings& settings) {
  const std::string name = name_of(number);
  write_whole_file(folder / (name + "_labels.csv"),
                   measurements_csv(result.sums, result.labels.geometry));
  const Window window{static_cast<float>(settings.window_level_hu),
                      static_cast<float>(settings.window_width_hu)};
  write_whole_file(folder / (name + ".png"), montage_png(image, view_of(result.labels), window));
}

} // namespace breakeven::imaging
