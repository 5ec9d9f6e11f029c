// Inside the ITK side only: images over the caller's voxels, and the filters that more than one
// file of it needs. Everything is at spacing 1, origin 0.
#pragma once

#include "peers/imaging_itk.h"

#include <itkImage.h>
#include <itkImageSource.h>
#include <itkImportImageContainer.h>

namespace breakeven::peers {

template <class T>
using ItkImage = itk::Image<T, 3>;
template <class T>
using ItkSource = itk::ImageSource<ItkImage<T>>;
template <class T>
using ItkFilter = typename ItkSource<T>::Pointer;

template <class T>
typename ItkImage<T>::Pointer itk_image(In<T> in) {
  auto image = ItkImage<T>::New();
  typename ItkImage<T>::SizeType size;
  size[0] = static_cast<itk::SizeValueType>(in.extent.x);
  size[1] = static_cast<itk::SizeValueType>(in.extent.y);
  size[2] = static_cast<itk::SizeValueType>(in.extent.z);
  image->SetRegions(size);
  // ITK's filters read their input only; its types do not say so.
  image->GetPixelContainer()->SetImportPointer(const_cast<T*>(in.data),
                                               static_cast<std::size_t>(in.extent.voxels()), false);
  return image;
}

template <class T>
std::span<const T> voxels_of(const ItkImage<T>* image) {
  return {image->GetBufferPointer(), image->GetLargestPossibleRegion().GetNumberOfPixels()};
}

/// `first` is the filter to start again from, `last` the one whose output is wanted.
template <class T>
ItkWay<T> way(std::string name, itk::ProcessObject::Pointer first, ItkFilter<T> last) {
  return {std::move(name),
          [first, last] {
            first->Modified();
            last->Update();
          },
          [last] { return voxels_of<T>(last->GetOutput()); }};
}
template <class T>
ItkWays<T> one_way(std::string name, ItkFilter<T> filter) {
  return {way<T>(std::move(name), filter.GetPointer(), filter)};
}

ItkFilter<float> resample_filter(const ItkImage<float>* in, const imaging::Extent& out,
                                 const std::array<double, 3>& step);
ItkFilter<float> gaussian_filter(const ItkImage<float>* in, double sigma, int radius);
ItkFilter<float> median_filter(const ItkImage<float>* in);
/// 1 where low <= value <= high.
ItkFilter<std::uint8_t> threshold_filter(const ItkImage<float>* in, float low, float high);
/// Otsu's threshold, counted afresh.
float otsu_of(const ItkImage<float>* in, int bins, float low, float high);
/// By boxes, with the filter that is fastest at radius 1.
ItkFilter<std::uint8_t> dilate_filter(const ItkImage<std::uint8_t>* in, int radius);
ItkFilter<std::uint8_t> erode_filter(const ItkImage<std::uint8_t>* in, int radius);
enum class Neighbours { faces, all };
ItkFilter<std::uint32_t> components_filter(const ItkImage<std::uint8_t>* in, Neighbours neighbours);
ItkFilter<float> distance_filter(const ItkImage<std::uint8_t>* in);
itk::ProcessObject::Pointer statistics_filter(const ItkImage<std::uint32_t>* labels,
                                              const ItkImage<float>* hu);

} // namespace breakeven::peers
