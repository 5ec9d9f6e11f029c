// ITK's filters for objects: components, distances, statistics of labels; and the whole pipeline.
#include "peers/imaging_itk_filters.h"

#include <itkConnectedComponentImageFilter.h>
#include <itkLabelStatisticsImageFilter.h>
#include <itkSignedMaurerDistanceMapImageFilter.h>

#include <memory>

namespace breakeven::peers {

namespace {

using Statistics = itk::LabelStatisticsImageFilter<ItkImage<float>, ItkImage<std::uint32_t>>;

ItkLabelStatistics statistics_of(const Statistics& filter, std::uint32_t label) {
  ItkLabelStatistics statistics;
  if (!filter.HasLabel(label)) return statistics;
  statistics.voxels = static_cast<std::int64_t>(filter.GetCount(label));
  statistics.mean = filter.GetMean(label);
  const auto bounds = filter.GetBoundingBox(label); // low x, high x, low y, ...
  for (std::size_t axis = 0; axis < 3; ++axis) {
    statistics.first[axis] = static_cast<std::int32_t>(bounds[2 * axis]);
    statistics.last[axis] = static_cast<std::int32_t>(bounds[2 * axis + 1]);
  }
  return statistics;
}

} // namespace

ItkFilter<std::uint32_t> components_filter(const ItkImage<std::uint8_t>* in,
                                           Neighbours neighbours) {
  auto filter =
      itk::ConnectedComponentImageFilter<ItkImage<std::uint8_t>, ItkImage<std::uint32_t>>::New();
  filter->SetInput(in);
  filter->SetFullyConnected(neighbours == Neighbours::all);
  filter->SetBackgroundValue(0);
  return filter.GetPointer();
}
ItkWays<std::uint32_t> itk_components(In<std::uint8_t> mask) {
  return one_way<std::uint32_t>("ConnectedComponentImageFilter",
                                components_filter(itk_image(mask), Neighbours::all));
}

ItkFilter<float> distance_filter(const ItkImage<std::uint8_t>* in) {
  auto filter =
      itk::SignedMaurerDistanceMapImageFilter<ItkImage<std::uint8_t>, ItkImage<float>>::New();
  filter->SetInput(in);
  filter->SetBackgroundValue(0);
  filter->SetSquaredDistance(true);
  filter->SetUseImageSpacing(false);
  filter->SetInsideIsPositive(false);
  return filter.GetPointer();
}
ItkWays<float> itk_signed_distance(In<std::uint8_t> mask) {
  return one_way<float>("SignedMaurerDistanceMapImageFilter", distance_filter(itk_image(mask)));
}

itk::ProcessObject::Pointer statistics_filter(const ItkImage<std::uint32_t>* labels,
                                              const ItkImage<float>* hu) {
  auto filter = Statistics::New();
  filter->SetInput(hu);
  filter->SetLabelInput(labels);
  return filter.GetPointer();
}
ItkWays<ItkLabelStatistics> itk_label_statistics(In<std::uint32_t> labels, In<float> hu,
                                                 std::uint32_t label_count) {
  const itk::ProcessObject::Pointer filter = statistics_filter(itk_image(labels), itk_image(hu));
  const auto table = std::make_shared<std::vector<ItkLabelStatistics>>();
  return {{"LabelStatisticsImageFilter",
           [=] {
             filter->Modified();
             filter->Update();
           },
           [=]() -> std::span<const ItkLabelStatistics> {
             table->clear();
             for (std::uint32_t label = 0; label < label_count; ++label)
               table->push_back(
                   statistics_of(static_cast<const Statistics&>(*filter.GetPointer()), label));
             return *table;
           }}};
}

namespace {

/// The filters up to Otsu's threshold, and those after it, which start again from `mask`.
struct Classical {
  ItkFilter<float> resampled, denoised;
  ItkFilter<std::uint8_t> mask, opened_part, opened, closed_part, closed;
  ItkFilter<std::uint32_t> labels;
  ItkFilter<float> distance;
  itk::ProcessObject::Pointer statistics;
};

} // namespace

// Each filter's output is the next one's input, so the last ones pull all that is before them.
ItkWays<std::uint32_t> itk_classical(In<float> in, const ClassicalSteps& steps) {
  const auto all = std::make_shared<Classical>();
  all->resampled = resample_filter(itk_image(in), steps.resampled, steps.step);
  const ItkImage<float>* resampled = all->resampled->GetOutput();
  all->denoised = steps.denoise == Denoise::gaussian
                      ? gaussian_filter(resampled, steps.sigma, steps.gaussian_radius)
                      : median_filter(resampled);
  return {{"whole pipeline",
           [=] {
             all->resampled->Modified();
             all->denoised->Update();
             const ItkImage<float>* denoised = all->denoised->GetOutput();
             const float threshold = otsu_of(denoised, steps.bins, steps.low, steps.high);
             all->mask =
                 threshold_filter(denoised, threshold, std::numeric_limits<float>::infinity());
             all->opened_part = erode_filter(all->mask->GetOutput(), steps.opening_radius);
             all->opened = dilate_filter(all->opened_part->GetOutput(), steps.opening_radius);
             all->closed_part = dilate_filter(all->opened->GetOutput(), steps.closing_radius);
             all->closed = erode_filter(all->closed_part->GetOutput(), steps.closing_radius);
             all->labels = components_filter(all->closed->GetOutput(), Neighbours::all);
             all->distance = distance_filter(all->closed->GetOutput());
             all->statistics = statistics_filter(all->labels->GetOutput(), denoised);
             all->distance->Update();
             all->statistics->Update();
           },
           [=] { return voxels_of<std::uint32_t>(all->labels->GetOutput()); }}};
}

} // namespace breakeven::peers
