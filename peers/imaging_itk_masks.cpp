// ITK's filters that make masks, and from masks to masks.
#include "peers/imaging_itk_filters.h"

#include <itkBinaryDilateImageFilter.h>
#include <itkBinaryThresholdImageFilter.h>
#include <itkConnectedThresholdImageFilter.h>
#include <itkFlatStructuringElement.h>
#include <itkGrayscaleDilateImageFilter.h>
#include <itkGrayscaleErodeImageFilter.h>
#include <itkImageToHistogramFilter.h>
#include <itkOtsuThresholdCalculator.h>

#include <cmath>

namespace breakeven::peers {

namespace {

using Mask = ItkImage<std::uint8_t>;
using Box = itk::FlatStructuringElement<3>;
using Dilate = itk::GrayscaleDilateImageFilter<Mask, Mask, Box>;
using Erode = itk::GrayscaleErodeImageFilter<Mask, Mask, Box>;
using Algorithm = itk::MathematicalMorphologyEnums::Algorithm;

float just_below(float value) { return std::nextafter(value, -INFINITY); }

Box box(int radius) {
  Box::RadiusType radii;
  radii.Fill(static_cast<itk::SizeValueType>(radius));
  return Box::Box(radii); // known to ITK as lines along the axes
}

template <class Filter>
ItkFilter<std::uint8_t> box_filter(const Mask* in, int radius, Algorithm algorithm) {
  auto filter = Filter::New();
  filter->SetInput(in);
  filter->SetKernel(box(radius));
  filter->SetAlgorithm(algorithm);
  return filter.GetPointer();
}

} // namespace

ItkFilter<std::uint8_t> threshold_filter(const ItkImage<float>* in, float low, float high) {
  auto filter = itk::BinaryThresholdImageFilter<ItkImage<float>, Mask>::New();
  filter->SetInput(in);
  filter->SetLowerThreshold(low);
  filter->SetUpperThreshold(high);
  filter->SetInsideValue(1);
  filter->SetOutsideValue(0);
  return filter.GetPointer();
}
ItkWays<std::uint8_t> itk_threshold(In<float> in, float low, float high) {
  return one_way<std::uint8_t>("BinaryThresholdImageFilter",
                               threshold_filter(itk_image(in), low, just_below(high)));
}

float otsu_of(const ItkImage<float>* in, int bins, float low, float high) {
  using Histogram = itk::Statistics::ImageToHistogramFilter<ItkImage<float>>;
  auto histogram = Histogram::New();
  histogram->SetInput(in);
  histogram->SetAutoMinimumMaximum(false); // or a pass more over the image
  Histogram::HistogramSizeType size(1);
  size.Fill(static_cast<itk::SizeValueType>(bins));
  histogram->SetHistogramSize(size);
  Histogram::HistogramMeasurementVectorType limit(1);
  limit.Fill(low);
  histogram->SetHistogramBinMinimum(limit);
  limit.Fill(high);
  histogram->SetHistogramBinMaximum(limit);
  histogram->Update();
  auto otsu = itk::OtsuThresholdCalculator<Histogram::HistogramType>::New();
  otsu->SetInput(histogram->GetOutput());
  otsu->Update();
  return static_cast<float>(otsu->GetThreshold());
}
ItkWays<std::uint8_t> itk_otsu(In<float> in, int bins, float low, float high, float* threshold) {
  using Threshold = itk::BinaryThresholdImageFilter<ItkImage<float>, Mask>;
  const ItkImage<float>::Pointer image = itk_image(in);
  const ItkFilter<std::uint8_t> filter = threshold_filter(image, 0, INFINITY);
  return {{"ImageToHistogramFilter + OtsuThresholdCalculator + BinaryThresholdImageFilter",
           [=] {
             *threshold = otsu_of(image, bins, low, high);
             static_cast<Threshold*>(filter.GetPointer())->SetLowerThreshold(*threshold);
             filter->Modified();
             filter->Update();
           },
           [=] { return voxels_of<std::uint8_t>(filter->GetOutput()); }}};
}

ItkFilter<std::uint8_t> dilate_filter(const Mask* in, int radius) {
  auto filter = itk::BinaryDilateImageFilter<Mask, Mask, Box>::New();
  filter->SetInput(in);
  filter->SetKernel(box(radius));
  filter->SetForegroundValue(1);
  filter->SetBackgroundValue(0);
  return filter.GetPointer();
}
ItkFilter<std::uint8_t> erode_filter(const Mask* in, int radius) {
  return box_filter<Erode>(in, radius, Algorithm::ANCHOR);
}
ItkWays<std::uint8_t> itk_dilate_box(In<std::uint8_t> in, int radius) {
  const Mask::Pointer image = itk_image(in);
  const ItkFilter<std::uint8_t> binary = dilate_filter(image, radius);
  const ItkFilter<std::uint8_t> anchor = box_filter<Dilate>(image, radius, Algorithm::ANCHOR);
  const ItkFilter<std::uint8_t> van_herk = box_filter<Dilate>(image, radius, Algorithm::VHGW);
  const ItkFilter<std::uint8_t> histogram = box_filter<Dilate>(image, radius, Algorithm::HISTO);
  return {
      way<std::uint8_t>("BinaryDilateImageFilter", binary.GetPointer(), binary),
      way<std::uint8_t>("GrayscaleDilateImageFilter, anchors", anchor.GetPointer(), anchor),
      way<std::uint8_t>("GrayscaleDilateImageFilter, van Herk", van_herk.GetPointer(), van_herk),
      way<std::uint8_t>("GrayscaleDilateImageFilter, histogram", histogram.GetPointer(),
                        histogram)};
}

ItkWays<std::uint8_t> itk_region_growing(In<float> in, const std::array<std::int64_t, 3>& seed,
                                         float low, float high) {
  auto filter = itk::ConnectedThresholdImageFilter<ItkImage<float>, Mask>::New();
  filter->SetInput(itk_image(in));
  filter->SetSeed({{seed[0], seed[1], seed[2]}});
  filter->SetLower(low);
  filter->SetUpper(just_below(high));
  filter->SetReplaceValue(1);
  return one_way<std::uint8_t>("ConnectedThresholdImageFilter", filter.GetPointer());
}
ItkWays<std::uint8_t> itk_region_by_components(In<float> in,
                                               const std::array<std::int64_t, 3>& seed, float low,
                                               float high) {
  const ItkFilter<std::uint8_t> soft = threshold_filter(itk_image(in), low, just_below(high));
  const ItkFilter<std::uint32_t> labels = components_filter(soft->GetOutput(), Neighbours::faces);
  auto one = itk::BinaryThresholdImageFilter<ItkImage<std::uint32_t>, Mask>::New();
  one->SetInput(labels->GetOutput());
  one->SetInsideValue(1);
  one->SetOutsideValue(0);
  return {
      {"BinaryThresholdImageFilter + ConnectedComponentImageFilter + BinaryThresholdImageFilter",
       [=] {
         soft->Modified();
         labels->Update();
         const std::uint32_t label = labels->GetOutput()->GetPixel({{seed[0], seed[1], seed[2]}});
         one->SetLowerThreshold(label);
         one->SetUpperThreshold(label);
         one->Update();
       },
       [=] { return voxels_of<std::uint8_t>(one->GetOutput()); }}};
}

} // namespace breakeven::peers
