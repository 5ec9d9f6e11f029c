// ITK's filters from HU to HU.
#include "peers/imaging_itk_filters.h"

#include <itkDiscreteGaussianImageFilter.h>
#include <itkGaussianOperator.h>
#include <itkGradientAnisotropicDiffusionImageFilter.h>
#include <itkLinearInterpolateImageFunction.h>
#include <itkMedianImageFilter.h>
#include <itkMultiThreaderBase.h>
#include <itkResampleImageFilter.h>
#include <itkSmoothingRecursiveGaussianImageFilter.h>
#include <itkVersion.h>

namespace breakeven::peers {

namespace {

/// The largest error for which ITK's Gaussian has taps up to `radius`.
double error_for_radius(double sigma, int radius) {
  for (double error = 0.1; error > 1e-12; error *= 0.9) {
    itk::GaussianOperator<double, 3> gaussian;
    gaussian.SetVariance(sigma * sigma);
    gaussian.SetMaximumError(error);
    gaussian.SetMaximumKernelWidth(64);
    gaussian.CreateDirectional();
    if (gaussian.GetRadius(0) >= static_cast<unsigned>(radius)) return error;
  }
  return 1e-12;
}

} // namespace

bool itk_found() { return true; }
std::string itk_version() { return itk::Version::GetITKVersion(); }

void set_itk_threads(int threads) {
  // The pool would add its threads to the one that waits for them.
  itk::MultiThreaderBase::SetGlobalDefaultThreader(itk::MultiThreaderBase::ThreaderEnum::Platform);
  const auto count = static_cast<itk::ThreadIdType>(threads);
  itk::MultiThreaderBase::SetGlobalMaximumNumberOfThreads(count);
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(count);
}

ItkFilter<float> median_filter(const ItkImage<float>* in) {
  auto filter = itk::MedianImageFilter<ItkImage<float>, ItkImage<float>>::New();
  filter->SetInput(in);
  filter->SetRadius(1);
  return filter.GetPointer();
}
ItkWays<float> itk_median(In<float> in) {
  return one_way<float>("MedianImageFilter", median_filter(itk_image(in)));
}

ItkFilter<float> gaussian_filter(const ItkImage<float>* in, double sigma, int radius) {
  auto filter = itk::DiscreteGaussianImageFilter<ItkImage<float>, ItkImage<float>>::New();
  filter->SetInput(in);
  filter->SetVariance(sigma * sigma);
  filter->SetUseImageSpacing(false);
  filter->SetMaximumKernelWidth(64);
  filter->SetMaximumError(error_for_radius(sigma, radius));
  return filter.GetPointer();
}
ItkWays<float> itk_gaussian(In<float> in, double sigma, int radius) {
  return one_way<float>("DiscreteGaussianImageFilter",
                        gaussian_filter(itk_image(in), sigma, radius));
}

ItkWays<float> itk_recursive_gaussian(In<float> in, double sigma) {
  auto filter = itk::SmoothingRecursiveGaussianImageFilter<ItkImage<float>, ItkImage<float>>::New();
  filter->SetInput(itk_image(in));
  filter->SetSigma(sigma);
  return one_way<float>("SmoothingRecursiveGaussianImageFilter", filter.GetPointer());
}

ItkWays<float> itk_diffusion(In<float> in, int iterations, double time_step, double conductance) {
  auto filter =
      itk::GradientAnisotropicDiffusionImageFilter<ItkImage<float>, ItkImage<float>>::New();
  filter->SetInput(itk_image(in));
  filter->SetNumberOfIterations(static_cast<itk::IdentifierType>(iterations));
  filter->SetTimeStep(time_step);
  filter->SetConductanceParameter(conductance);
  return one_way<float>("GradientAnisotropicDiffusionImageFilter", filter.GetPointer());
}

ItkFilter<float> resample_filter(const ItkImage<float>* in, const imaging::Extent& out,
                                 const std::array<double, 3>& step) {
  auto filter =
      itk::ResampleImageFilter<ItkImage<float>, ItkImage<float>>::New(); // identity, linear
  filter->SetInput(in);
  ItkImage<float>::SizeType size;
  size[0] = static_cast<itk::SizeValueType>(out.x);
  size[1] = static_cast<itk::SizeValueType>(out.y);
  size[2] = static_cast<itk::SizeValueType>(out.z);
  filter->SetSize(size);
  filter->SetOutputSpacing(step.data());
  filter->SetOutputOrigin(in->GetOrigin());
  filter->SetOutputDirection(in->GetDirection());
  return filter.GetPointer();
}
ItkWays<float> itk_resample(In<float> in, const imaging::Extent& out,
                            const std::array<double, 3>& step) {
  return one_way<float>("ResampleImageFilter", resample_filter(itk_image(in), out, step));
}

} // namespace breakeven::peers
