// Stands in for the ITK side where ITK is not installed. No operation has a way.
#include "peers/imaging_itk.h"

namespace breakeven::peers {

bool itk_found() { return false; }
std::string itk_version() { return {}; }
void set_itk_threads(int) {}

ItkWays<float> itk_median(In<float>) { return {}; }
ItkWays<float> itk_gaussian(In<float>, double, int) { return {}; }
ItkWays<float> itk_recursive_gaussian(In<float>, double) { return {}; }
ItkWays<float> itk_diffusion(In<float>, int, double, double) { return {}; }
ItkWays<float> itk_resample(In<float>, const imaging::Extent&, const std::array<double, 3>&) {
  return {};
}
ItkWays<std::uint8_t> itk_threshold(In<float>, float, float) { return {}; }
ItkWays<std::uint8_t> itk_otsu(In<float>, int, float, float, float*) { return {}; }
ItkWays<std::uint8_t> itk_dilate_box(In<std::uint8_t>, int) { return {}; }
ItkWays<std::uint8_t> itk_region_growing(In<float>, const std::array<std::int64_t, 3>&, float,
                                         float) {
  return {};
}
ItkWays<std::uint8_t> itk_region_by_components(In<float>, const std::array<std::int64_t, 3>&, float,
                                               float) {
  return {};
}
ItkWays<std::uint32_t> itk_components(In<std::uint8_t>) { return {}; }
ItkWays<float> itk_signed_distance(In<std::uint8_t>) { return {}; }
ItkWays<ItkLabelStatistics> itk_label_statistics(In<std::uint32_t>, In<float>, std::uint32_t) {
  return {};
}
ItkWays<std::uint32_t> itk_classical(In<float>, const ClassicalSteps&) { return {}; }

} // namespace breakeven::peers
