// The three rungs of agreement. Each is stricter where it can be and looser where it must be:
// random numbers and camera rays are equal to the bit; rays may differ where two triangles share an
// edge; images from different seeds differ by noise of a known size.
#include "workloads/render/render.h"
#include "workloads/render/shading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace breakeven::render {

namespace {

constexpr double needed_hit_share = 0.9999;
// Mitsuba 3's image test: 1 % family-wise error by Sidak, 99.75 % of the pixels must pass.
constexpr double family_error = 0.01;
constexpr double needed_pixel_share = 0.9975;
constexpr double whole_image_sigmas = 4;

FrameRequest small_request(const Settings& settings, std::int64_t frame, int width, int samples) {
  FrameRequest request;
  request.frame = frame;
  request.width = width;
  request.height = std::max(1, width * settings.height / settings.width);
  request.samples = samples;
  request.max_bounces = settings.max_bounces;
  request.seed = settings.seed;
  return request;
}

bool equal_bits(const Ray& a, const Ray& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

std::size_t unequal_rays(const std::vector<Ray>& a, const std::vector<Ray>& b) {
  if (a.size() != b.size()) return std::max(a.size(), b.size());
  std::size_t unequal = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    unequal += !equal_bits(a[i], b[i]);
  return unequal;
}

/// The next rays of the paths that the reference's hits start: bounces and sun connections.
struct NextRays {
  std::vector<Ray> closest, any;
};

NextRays next_rays(const RenderScene& scene, std::int64_t frame, const std::vector<Ray>& rays,
                   const std::vector<Hit>& hits, std::uint64_t seed) {
  const std::vector<Float3> positions = positions_at(scene, frame);
  const SceneView view{positions.data(),
                       scene.mesh.triangles.data(),
                       scene.mesh.materials.data(),
                       scene.materials.data(),
                       scene.camera,
                       scene.light};
  NextRays next;
  for (std::size_t i = 0; i < rays.size(); ++i) {
    if (hits[i].triangle == no_triangle) continue;
    const SampleKey key{seed, static_cast<std::uint32_t>(frame), static_cast<std::uint32_t>(i), 0};
    const Step step = path_step(view, rays[i], hits[i], {1, 1, 1}, key, 0, 1);
    if (step.shadow.t_max > 0) next.any.push_back(step.shadow);
    if (step.alive) next.closest.push_back(step.next);
  }
  return next;
}

struct HitAgreement {
  std::size_t rays = 0, different = 0, ties = 0;
  double share() const {
    return rays ? 1.0 - static_cast<double>(different) / static_cast<double>(rays) : 1.0;
  }
};

/// Two triangles at one distance are a tie: coincident or sharing the edge that was hit.
void compare_hits(const std::vector<Hit>& a, const std::vector<Hit>& b, RayKind kind,
                  HitAgreement& agreement) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    ++agreement.rays;
    const bool hit_a = a[i].triangle != no_triangle, hit_b = b[i].triangle != no_triangle;
    if (kind == RayKind::any ? hit_a == hit_b : a[i].triangle == b[i].triangle) continue;
    if (kind == RayKind::closest && hit_a && hit_b
        && std::fabs(a[i].t - b[i].t) <= 1e-5f * std::fabs(a[i].t))
      ++agreement.ties;
    else
      ++agreement.different;
  }
}

/// Two-sided quantile of the normal distribution: |z| that is exceeded with `probability`.
double two_sided_z(double probability) {
  double low = 0, high = 40;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) > probability ? low : high) = middle;
  }
  return low;
}

struct ImageAgreement {
  double passing_share = 0, whole_image_z = 0;
};

ImageAgreement compare_images(const FrameResult& a, const FrameResult& b, int samples) {
  const std::size_t pixels = a.radiance.size();
  const double limit =
      two_sided_z(1 - std::pow(1 - family_error, 1.0 / static_cast<double>(pixels)));
  std::size_t passing = 0;
  double difference_sum = 0, variance_sum = 0;
  for (std::size_t i = 0; i < pixels; ++i) {
    const double mean_a = luminance(a.radiance[i]), mean_b = luminance(b.radiance[i]);
    const auto variance = [&](double mean, float square_mean) {
      return std::max(0.0, square_mean - mean * mean) / (samples - 1);
    };
    const double sum =
        variance(mean_a, a.luminance_square_mean[i]) + variance(mean_b, b.luminance_square_mean[i]);
    const double difference = mean_a - mean_b;
    difference_sum += difference;
    variance_sum += sum;
    // A pixel without noise (plain sky) must agree to rounding.
    const double sigma = std::sqrt(sum) + 1e-4 * std::max(mean_a, mean_b) / limit;
    passing += std::isfinite(difference) && std::fabs(difference) <= limit * sigma;
  }
  return {static_cast<double>(passing) / static_cast<double>(pixels),
          variance_sum > 0 ? difference_sum / std::sqrt(variance_sum) : 0};
}

/// Root of the mean squared difference, relative to the mean of the reference.
double relative_difference(const FrameResult& a, const FrameResult& b) {
  double squares = 0, mean = 0;
  for (std::size_t i = 0; i < a.radiance.size(); ++i) {
    const double difference = luminance(a.radiance[i]) - luminance(b.radiance[i]);
    squares += difference * difference;
    mean += luminance(a.radiance[i]);
  }
  const auto count = static_cast<double>(a.radiance.size());
  return mean > 0 ? std::sqrt(squares / count) / (mean / count) : 0;
}

} // namespace

Verification compare_engines(const RenderScene& scene, const Settings& settings,
                             const Engine& reference, const Engine& candidate) {
  std::size_t camera_rays = 0, unequal = 0;
  HitAgreement hits;
  // First frame, last frame and one inside the crash.
  for (const std::int64_t frame :
       {settings.frames.front(), settings.frames[settings.frames.size() / 2],
        settings.frames.back()}) {
    const FrameRequest request = small_request(settings, frame, 192, 1);
    const std::vector<Ray> rays = reference.camera_rays(request);
    camera_rays += rays.size();
    unequal += unequal_rays(rays, candidate.camera_rays(request));
    const std::vector<Hit> primary = reference.intersect(frame, rays, RayKind::closest);
    compare_hits(primary, candidate.intersect(frame, rays, RayKind::closest), RayKind::closest,
                 hits);
    const NextRays next = next_rays(scene, frame, rays, primary, settings.seed);
    compare_hits(reference.intersect(frame, next.closest, RayKind::closest),
                 candidate.intersect(frame, next.closest, RayKind::closest), RayKind::closest,
                 hits);
    compare_hits(reference.intersect(frame, next.any, RayKind::any),
                 candidate.intersect(frame, next.any, RayKind::any), RayKind::any, hits);
  }

  constexpr int samples = 64;
  FrameRequest request =
      small_request(settings, settings.frames[settings.frames.size() / 2], 64, samples);
  request.want_squares = true;
  const FrameResult image = reference.render(request);
  const double same_seed = relative_difference(image, candidate.render(request));
  request.seed = settings.seed + 1;
  const ImageAgreement images = compare_images(image, candidate.render(request), samples);

  Verification result;
  result.passed = unequal == 0 && hits.share() >= needed_hit_share
                  && images.passing_share >= needed_pixel_share
                  && std::fabs(images.whole_image_z) <= whole_image_sigmas;
  result.evidence = fmt::format(
      "{} of {} camera rays unequal in any bit; {:.4f} % of {} rays hit the same triangle ({} ties "
      "at "
      "one distance); {:.2f} % of {} pixels within the z-test (99.75 % needed), whole image {:.1f} "
      "standard errors apart; equal seeds differ by {:.2e} of the mean",
      unequal, camera_rays, 100 * hits.share(), hits.rays, hits.ties, 100 * images.passing_share,
      image.radiance.size(), std::fabs(images.whole_image_z), same_seed);
  return result;
}

} // namespace breakeven::render
