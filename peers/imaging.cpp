// Our imaging stages beside ITK, cc3d and edt.
//
// The rules are the same for both sides. Input lies ready in memory. Filters and output arrays
// exist before the clock starts, and freed memory is kept by the process, so neither side pays the
// kernel for fresh pages. Each pass runs both sides once, short ones several times over, one after
// the other and in turn first. Outputs are compared off the clock: where both compute whole numbers
// or choose among the input's values they must be identical, elsewhere they must be close.
#include "peers/imaging.h"

#include "peers/imaging_checks.h"
#include "peers/imaging_input.h"
#include "peers/imaging_itk.h"
#include "peers/imaging_specialists.h"
#include "peers/imaging_unet.h"
#include "sim/errors.h"

#include <fmt/format.h>
#include <malloc.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

namespace breakeven::peers {

using namespace imaging;

namespace {

// HU of the masks: what is not air or lung, what is bone, and soft tissue.
constexpr float body_hu = -300, bone_hu = 200, soft_low_hu = -200, soft_high_hu = 300;
constexpr float all_hu = 1e9f;

/// One row: what is done on either side, and how the outputs compare after that.
struct Contest {
  std::string name, against;
  Extent size;
  double bar = 0; ///< ratio that is aimed at; 0 for none
  std::function<void()> ours;
  std::function<double(int repeats)> peer_s; ///< mean seconds of some calls
  std::function<Check()> check;
  double our_bytes = 0, peer_bytes = 0; ///< where rates are compared, not times
};

/// Some threads' work: everything that the rows need, made once.
class ImagingBench {
public:
  ImagingBench(const ImagingOptions& options, std::ostream& out, std::ostream& log)
      : options_(options),
        out_(out),
        log_(log),
        stages_(openmp_stages()),
        memory_(stages_.memory),
        hu_(imaging_input(options.input, options.size, stages_)),
        extent_(hu_.geometry.extent),
        body_(mask_of(body_hu)),
        bone_(mask_of(bone_hu)) {
    log_ << fmt::format("{} voxels; {}\n", size_text(extent_),
                        itk_found() ? "ITK " + itk_version() : "ITK not found");
    try {
      specialists_ = std::make_unique<Specialists>(options.python);
      log_ << specialists_->versions() << '\n';
    } catch (const Failure& failure) {
      no_specialists_ = failure.what();
    }
  }

  bool run() {
    out_ << row_header << ",ratio_low,ratio_high,bar,size,check,against\n";
    for (const int threads : thread_counts(options_.threads)) {
      threads_ = threads;
      omp_set_num_threads(threads);
      set_itk_threads(threads);
      denoising_rows();
      mask_rows();
      object_rows();
      pipeline_rows("itk.pipeline_gaussian", Denoise::gaussian);
      pipeline_rows("itk.pipeline_median", Denoise::median);
      specialist_rows();
      copy_rows();
      unet_rows();
    }
    return all_agree_;
  }

private:
  static std::string size_text(const Extent& extent) {
    return fmt::format("{}x{}x{}", extent.x, extent.y, extent.z);
  }
  Mask mask_of(float low) {
    Mask mask;
    mask.geometry = hu_.geometry;
    mask.voxels.resize(hu_.voxels.size());
    stages_.threshold(view_of(std::as_const(hu_)), view_of(mask), low, all_hu, memory_);
    return mask;
  }
  In<float> hu() const { return view_of(hu_); }
  template <class T>
  std::shared_ptr<Volume<T>> volume(const Extent& extent) const {
    auto volume = std::make_shared<Volume<T>>();
    volume->geometry.extent = extent;
    volume->voxels.resize(static_cast<std::size_t>(extent.voxels()));
    return volume;
  }
  template <class T>
  std::shared_ptr<Volume<T>> volume() const {
    return volume<T>(extent_);
  }

  bool wanted(const std::string& name) const {
    return options_.rows.empty()
           || std::any_of(options_.rows.begin(), options_.rows.end(),
                          [&](const std::string& start) { return name.starts_with(start); });
  }

  // ---- timing and printing ----

  double seconds(const std::function<void()>& work, int repeats) const {
    const bool wall = options_.clock == Clock::wall;
    const double start = wall ? wall_s() : process_cpu_s();
    for (int repeat = 0; repeat < repeats; ++repeat)
      work();
    const double spent = wall ? wall_s() - start : (process_cpu_s() - start) / threads_;
    return spent / repeats;
  }
  /// The first call is not kept and says how often to repeat, so that a turn takes 0.1 s or more.
  static Contender repeated(std::function<double(int repeats)> mean_s) {
    return [mean_s, repeats = 0](std::size_t) mutable {
      if (repeats > 0) return mean_s(repeats);
      const double once_s = mean_s(1);
      repeats = static_cast<int>(std::clamp(0.1 / std::max(once_s, 1e-6), 1.0, 50.0));
      return once_s;
    };
  }

  void run(const Contest& contest) {
    if (!wanted(contest.name)) return;
    const auto passes =
        Interleaved({repeated([&](int repeats) { return seconds(contest.ours, repeats); }),
                     repeated(contest.peer_s)},
                    1)
            .passes(options_.pairs, [](int) {});
    const Check check = contest.check();
    all_agree_ = all_agree_ && check.passed;
    std::vector<double> ours, peer, ratios;
    const bool rates = contest.our_bytes > 0;
    for (const std::vector<double>& pass : passes) {
      ours.push_back(rates ? 1e-9 * contest.our_bytes / pass[0] : 1e3 * pass[0]);
      peer.push_back(rates ? 1e-9 * contest.peer_bytes / pass[1] : 1e3 * pass[1]);
      ratios.push_back(rates ? ours.back() / peer.back() : peer.back() / ours.back());
    }
    const double ratio = rates ? median(ours) / median(peer) : median(peer) / median(ours);
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    out_ << to_csv(
        {contest.name, median(ours), median(peer), ratio, rates ? "GB/s" : "ms", threads_})
         << fmt::format(",{:.3f},{:.3f},{},{},{},{}\n", *low, *high, bar_text(contest.bar),
                        size_text(contest.size), check.text, contest.against);
    out_.flush();
    log_ << fmt::format("{} threads: {} done\n", threads_, contest.name);
  }
  static std::string bar_text(double bar) {
    return bar > 0 ? fmt::format("{:.2f}", bar) : std::string();
  }
  void not_run(const std::string& name, double bar, const std::string& reason) {
    if (!wanted(name)) return;
    out_ << fmt::format("{},,,,,{},,,{},,not run: {},\n", name, threads_, bar_text(bar), reason);
  }

  /// The fastest of ITK's ways, by one run each where there are several.
  template <class T>
  ItkWay<T> fastest(const std::string& name, const ItkWays<T>& ways) {
    if (ways.size() == 1) return ways.front();
    const ItkWay<T>* best = nullptr;
    double best_s = 0;
    for (const ItkWay<T>& way : ways) {
      const double way_s = seconds(way.run, 1);
      log_ << fmt::format("{}: {} {:.0f} ms\n", name, way.name, 1e3 * way_s);
      if (best == nullptr || way_s < best_s) {
        best = &way;
        best_s = way_s;
      }
    }
    return *best;
  }
  /// `compare` takes ITK's output.
  template <class T>
  void beside_itk(const std::string& name, double bar, const std::function<void()>& ours,
                  const std::function<ItkWays<T>()>& ways,
                  const std::function<Check(std::span<const T>)>& compare) {
    if (!wanted(name)) return;
    if (!itk_found()) return not_run(name, bar, "ITK not found");
    const ItkWay<T> peer = fastest(name, ways());
    std::string against = "ITK " + peer.name;
    std::replace(against.begin(), against.end(), ',', ';');
    run({name, against, extent_, bar, ours, [&](int repeats) { return seconds(peer.run, repeats); },
         [&] { return compare(peer.output()); }});
  }

  // ---- HU to HU ----

  void denoising_rows() {
    const auto out = volume<float>();
    const std::span<const float> ours = out->voxels;
    beside_itk<float>(
        "itk.median", 25, [&] { stages_.median(hu(), view_of(*out), memory_); },
        [&] { return itk_median(hu()); },
        [&](std::span<const float> peer) { return identical(ours, peer); });

    // In voxels, for both sides.
    const double sigma = 1.5;
    const GaussianTaps taps = gaussian_taps(sigma, {1, 1, 1});
    const auto gaussian = [&] { stages_.gaussian(hu(), view_of(*out), taps, memory_); };
    // ITK's discrete Gaussian and its recursive one are other kernels than the sampled Gaussian.
    const auto near = [&](std::span<const float> peer) { return close(ours, peer, 5, 100); };
    beside_itk<float>(
        "itk.gaussian", 6, gaussian, [&] { return itk_gaussian(hu(), sigma, taps.radius_z()); },
        near);
    beside_itk<float>(
        "itk.gaussian_recursive", 0, gaussian, [&] { return itk_recursive_gaussian(hu(), sigma); },
        near);

    const auto other = volume<float>();
    const double conductance = 2;
    const int iterations = 5; // odd, so that the result is in `out`
    beside_itk<float>(
        "itk.diffusion", 10,
        [&] {
          In<float> from = hu();
          for (int iteration = 0; iteration < iterations; ++iteration) {
            DiffusionStep step;
            std::int64_t sum = 0;
            stages_.diffusion_gradient(from, 0, extent_.z, step, sum, memory_);
            step.conductance_k = diffusion_k(sum, extent_.voxels(), conductance);
            Volume<float>& to = iteration % 2 == 0 ? *out : *other;
            stages_.diffuse(from, view_of(to), step, memory_);
            from = view_of(std::as_const(to));
          }
        },
        [&] { return itk_diffusion(hu(), iterations, DiffusionStep{}.time_step, conductance); },
        [&](std::span<const float> peer) { return close(ours, peer, 1e-3, 0.05); });

    const Resampling resampling = to_isotropic();
    const auto resampled = volume<float>(resampling.extent);
    beside_itk<float>(
        "itk.resample", 2,
        [&] { stages_.resample(hu(), view_of(*resampled), resampling.tables, memory_); },
        [&] { return itk_resample(hu(), resampling.extent, resampling.step); },
        [&](std::span<const float> peer) {
          return close(std::as_const(resampled->voxels), peer, 1e-3, 0.05);
        });
  }

  struct Resampling {
    Extent extent;
    std::array<double, 3> step{};
    ResampleTables tables;
  };
  /// To 1.5 mm along every axis, from the first voxel on.
  Resampling to_isotropic() const {
    const std::array<double, 3> spacing_mm = hu_.geometry.spacing_mm();
    const std::array<std::int64_t, 3> counts{extent_.x, extent_.y, extent_.z};
    Resampling resampling;
    std::array<std::int64_t, 3> out{};
    AxisTable* const tables[3]{&resampling.tables.x, &resampling.tables.y, &resampling.tables.z};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double step = 1.5 / spacing_mm[axis];
      resampling.step[axis] = step;
      out[axis] = static_cast<std::int64_t>(static_cast<double>(counts[axis] - 1) / step) + 1;
      *tables[axis] = axis_table(counts[axis], out[axis], 0, step);
    }
    resampling.extent = {out[0], out[1], out[2]};
    return resampling;
  }

  // ---- HU to masks, masks to masks ----

  static Histogram otsu_histogram() {
    return {-1024, 3072, std::vector<std::uint64_t>(256)}; // bins of 16 HU: exact edges
  }
  float otsu(In<float> in) {
    Histogram histogram = otsu_histogram();
    stages_.histogram(in, 0, in.extent.z, histogram, memory_);
    return otsu_threshold(histogram);
  }

  void mask_rows() {
    const auto out = volume<std::uint8_t>();
    const std::span<const std::uint8_t> ours = out->voxels;
    const auto same = [&](std::span<const std::uint8_t> peer) { return identical(ours, peer); };
    beside_itk<std::uint8_t>(
        "itk.threshold", 0.9,
        [&] { stages_.threshold(hu(), view_of(*out), soft_low_hu, soft_high_hu, memory_); },
        [&] { return itk_threshold(hu(), soft_low_hu, soft_high_hu); }, same);

    float our_threshold = 0, peer_threshold = 0;
    beside_itk<std::uint8_t>(
        "itk.otsu", 8,
        [&] {
          our_threshold = otsu(hu());
          stages_.threshold(hu(), view_of(*out), our_threshold, all_hu, memory_);
        },
        [&] {
          const Histogram histogram = otsu_histogram();
          return itk_otsu(hu(), static_cast<int>(histogram.counts.size()), histogram.low,
                          histogram.high, &peer_threshold);
        },
        [&](std::span<const std::uint8_t> peer) {
          Check check = same(peer);
          check.text += fmt::format("; thresholds {} and {} HU", our_threshold, peer_threshold);
          return check;
        });

    const int radius = 3;
    beside_itk<std::uint8_t>(
        "itk.dilate_box", 15,
        [&] {
          stages_.box_morphology(view_of(std::as_const(bone_)), view_of(*out),
                                 MorphologyOperation::dilate, {radius, radius, radius}, memory_);
        },
        [&] { return itk_dilate_box(view_of(std::as_const(bone_)), radius); }, same);

    if (!wanted("itk.region_growing") && !wanted("itk.region_growing_by_components")) return;
    const std::array<std::int64_t, 3> seed = seed_of_largest();
    const auto soft = volume<std::uint8_t>();
    const auto labels = volume<std::uint32_t>();
    const auto grow = [&] {
      stages_.threshold(hu(), view_of(*soft), soft_low_hu, soft_high_hu, memory_);
      std::uint32_t count = 0;
      stages_.components(view_of(std::as_const(*soft)), view_of(*labels), Connectivity::six, count,
                         memory_);
      select(*labels, labels->voxels[index_of(seed)], *out);
    };
    beside_itk<std::uint8_t>(
        "itk.region_growing", 20, grow,
        [&] { return itk_region_growing(hu(), seed, soft_low_hu, soft_high_hu); }, same);
    beside_itk<std::uint8_t>(
        "itk.region_growing_by_components", 0, grow,
        [&] { return itk_region_by_components(hu(), seed, soft_low_hu, soft_high_hu); }, same);
  }

  std::size_t index_of(const std::array<std::int64_t, 3>& voxel) const {
    return static_cast<std::size_t>((voxel[2] * extent_.y + voxel[1]) * extent_.x + voxel[0]);
  }
  static void select(const Volume<std::uint32_t>& labels, std::uint32_t label, Mask& mask) {
    const std::uint32_t* from = labels.voxels.data();
    std::uint8_t* to = mask.voxels.data();
    const std::size_t count = labels.voxels.size();
#pragma omp parallel for simd
    for (std::size_t i = 0; i < count; ++i)
      to[i] = from[i] == label ? 1 : 0;
  }
  /// A voxel of the largest piece of soft tissue.
  std::array<std::int64_t, 3> seed_of_largest() {
    const auto soft = volume<std::uint8_t>();
    const auto labels = volume<std::uint32_t>();
    std::uint32_t count = 0;
    stages_.threshold(hu(), view_of(*soft), soft_low_hu, soft_high_hu, memory_);
    stages_.components(view_of(std::as_const(*soft)), view_of(*labels), Connectivity::six, count,
                       memory_);
    std::vector<std::int64_t> sizes(count + 1);
    for (const std::uint32_t label : labels->voxels)
      ++sizes[label];
    sizes[0] = 0;
    const auto largest =
        static_cast<std::uint32_t>(std::max_element(sizes.begin(), sizes.end()) - sizes.begin());
    const std::int64_t index =
        std::find(labels->voxels.begin(), labels->voxels.end(), largest) - labels->voxels.begin();
    return {index % extent_.x, index / extent_.x % extent_.y, index / extent_.slice()};
  }

  // ---- objects ----

  void distance(In<std::uint8_t> mask, Volume<std::int32_t>& squared, Distance to) {
    const DistanceMetric metric; // voxels
    stages_.distance_in_slices(mask, view_of(squared), to, metric, memory_);
    stages_.distance_along_z(view_of(squared), metric, memory_);
  }

  void object_rows() {
    const auto labels = volume<std::uint32_t>();
    std::uint32_t count = 0;
    for (const auto& [name, mask] :
         {std::pair("itk.components_body", &body_), std::pair("itk.components_bone", &bone_)}) {
      const In<std::uint8_t> in = view_of(std::as_const(*mask));
      beside_itk<std::uint32_t>(
          name, 3,
          [&, in] {
            stages_.components(in, view_of(*labels), Connectivity::twenty_six, count, memory_);
          },
          [&, in] { return itk_components(in); },
          [&](std::span<const std::uint32_t> peer) {
            return identical(std::span<const std::uint32_t>(labels->voxels), peer);
          });
    }

    const In<std::uint8_t> body = view_of(std::as_const(body_));
    const auto squared = volume<std::int32_t>();
    const auto inside = volume<std::int32_t>();
    // ITK measures from the foreground's border voxels on either side: outside, that is the
    // distance to the foreground. Inside, ours measures to the background, which ITK has no filter
    // for.
    const auto same_outside = [&](std::span<const float> peer) {
      return count_differing(
          std::span<const std::int32_t>(squared->voxels), peer.size(), [&](std::size_t i) {
            return body_.voxels[i] != 0 ? squared->voxels[i] == 0
                                        : static_cast<float>(squared->voxels[i]) == peer[i];
          });
    };
    beside_itk<float>(
        "itk.distance", 4, [&] { distance(body, *squared, Distance::to_foreground); },
        [&] { return itk_signed_distance(body); }, same_outside);
    beside_itk<float>(
        "itk.distance_both_sides", 0,
        [&] {
          distance(body, *squared, Distance::to_foreground);
          distance(body, *inside, Distance::to_background);
        },
        [&] { return itk_signed_distance(body); }, same_outside);

    if (!wanted("itk.label_statistics")) return;
    stages_.components(view_of(std::as_const(bone_)), view_of(*labels), Connectivity::twenty_six,
                       count, memory_);
    std::vector<LabelSums> sums;
    beside_itk<ItkLabelStatistics>(
        "itk.label_statistics", 0,
        [&] {
          sums.assign(count + 1, {});
          stages_.label_sums(view_of(std::as_const(*labels)), hu(), 0, sums, memory_);
        },
        [&] { return itk_label_statistics(view_of(std::as_const(*labels)), hu(), count + 1); },
        [&](std::span<const ItkLabelStatistics> peer) { return same_statistics(sums, peer); });
  }

  /// Ours are sums of whole HU, so means differ by up to a half.
  static Check same_statistics(const std::vector<LabelSums>& ours,
                               std::span<const ItkLabelStatistics> peer) {
    double most = 0;
    for (std::size_t label = 0; label < ours.size(); ++label) {
      if (ours[label].voxels != peer[label].voxels || ours[label].first != peer[label].first
          || ours[label].last != peer[label].last)
        return {false, fmt::format("FAIL: label {} has another size or place", label)};
      const double mean =
          static_cast<double>(ours[label].hu) / static_cast<double>(ours[label].voxels);
      most = std::max(most, std::abs(mean - peer[label].mean));
    }
    return {most <= 0.5, fmt::format("{}counts and boxes identical; means within {:.2g} HU",
                                     most <= 0.5 ? "" : "FAIL: ", most)};
  }

  // ---- the whole pipeline ----

  void pipeline_rows(const char* name, Denoise denoise) {
    if (!wanted(name)) return;
    const Resampling resampling = to_isotropic();
    const Extent& extent = resampling.extent;
    ClassicalSteps steps;
    steps.resampled = extent;
    steps.step = resampling.step;
    steps.denoise = denoise;
    const GaussianTaps taps = gaussian_taps(steps.sigma, {1, 1, 1});
    steps.gaussian_radius = taps.radius_z();

    const auto resampled = volume<float>(extent), denoised = volume<float>(extent);
    const auto mask = volume<std::uint8_t>(extent), other = volume<std::uint8_t>(extent);
    const auto labels = volume<std::uint32_t>(extent);
    const auto squared = volume<std::int32_t>(extent);
    std::vector<LabelSums> sums;
    const auto morphology = [&](const Mask& from, Mask& to, MorphologyOperation operation,
                                int radius) {
      stages_.box_morphology(view_of(from), view_of(to), operation, {radius, radius, radius},
                             memory_);
    };
    beside_itk<std::uint32_t>(
        name, 8,
        [&] {
          stages_.resample(hu(), view_of(*resampled), resampling.tables, memory_);
          const In<float> in = view_of(std::as_const(*resampled));
          if (denoise == Denoise::gaussian)
            stages_.gaussian(in, view_of(*denoised), taps, memory_);
          else
            stages_.median(in, view_of(*denoised), memory_);
          const In<float> smooth = view_of(std::as_const(*denoised));
          stages_.threshold(smooth, view_of(*mask), otsu(smooth), all_hu, memory_);
          morphology(*mask, *other, MorphologyOperation::erode, steps.opening_radius);
          morphology(*other, *mask, MorphologyOperation::dilate, steps.opening_radius);
          morphology(*mask, *other, MorphologyOperation::dilate, steps.closing_radius);
          morphology(*other, *mask, MorphologyOperation::erode, steps.closing_radius);
          std::uint32_t count = 0;
          stages_.components(view_of(std::as_const(*mask)), view_of(*labels),
                             Connectivity::twenty_six, count, memory_);
          distance(view_of(std::as_const(*mask)), *squared, Distance::to_background);
          sums.assign(count + 1, {});
          stages_.label_sums(view_of(std::as_const(*labels)), smooth, 0, sums, memory_);
        },
        [&] { return itk_classical(hu(), steps); },
        [&](std::span<const std::uint32_t> peer) {
          // ITK's discrete Gaussian has other taps than ours, so masks differ along edges.
          return overlapping(labels->voxels, peer, denoise == Denoise::gaussian ? 0.995 : 0.99999);
        });
  }

  // ---- beside cc3d and edt ----

  void beside_specialist(const std::string& name, double bar, const Mask& mask,
                         const std::string& what, const std::function<void()>& ours,
                         const std::function<Check()>& check) {
    if (!wanted(name)) return;
    if (specialists_ == nullptr) return not_run(name, bar, no_specialists_);
    specialists_->load(view_of(mask));
    const bool single = what == "components" && threads_ > 1;
    run({name,
         single                 ? "cc3d on the one thread that it has"
         : what == "components" ? "cc3d"
                                : "edt",
         extent_, single ? 0 : bar, ours,
         [&](int repeats) {
           const CallSeconds call = specialists_->time(what, repeats, threads_);
           if (options_.clock == Clock::wall) return call.wall_s;
           return single ? call.cpu_s : call.cpu_s / threads_;
         },
         check});
  }

  void specialist_rows() {
    struct Case {
      const char* name;
      double bar;
      const Mask* mask;
    };
    // As a path's memory gives it.
    const Block<std::uint32_t> labels(memory_, static_cast<std::size_t>(extent_.voxels()));
    const bool noise_wanted =
        wanted("cc3d.components_noise_10") || wanted("cc3d.components_noise_50");
    const Mask sparse = noise_wanted ? noise_mask(extent_, 0.1) : Mask{};
    const Mask dense = noise_wanted ? noise_mask(extent_, 0.5) : Mask{};
    for (const Case& c :
         {Case{"cc3d.components_body", 3, &body_}, Case{"cc3d.components_bone", 3, &bone_},
          Case{"cc3d.components_noise_10", 0, &sparse},
          Case{"cc3d.components_noise_50", 1, &dense}}) {
      beside_specialist(
          c.name, c.bar, *c.mask, "components",
          [&] {
            std::uint32_t count = 0;
            stages_.components(view_of(*c.mask), {labels.data(), extent_}, Connectivity::twenty_six,
                               count, memory_);
          },
          [&] {
            const std::vector<std::uint32_t> peer = specialists_->labels();
            return identical(std::span<const std::uint32_t>(labels.data(), labels.size()),
                             std::span<const std::uint32_t>(peer));
          });
    }
    const auto squared = volume<std::int32_t>();
    for (const auto& [suffix, mask] : {std::pair("body", &body_), std::pair("bone", &bone_)}) {
      for (const std::string what : {"inside", "outside"}) {
        const Distance to = what == "inside" ? Distance::to_background : Distance::to_foreground;
        beside_specialist(
            fmt::format("edt.{}_{}", what, suffix), 1.5, *mask, what,
            [&, mask = mask] { distance(view_of(std::as_const(*mask)), *squared, to); },
            [&] {
              const std::vector<float> peer = specialists_->distances();
              return identical(std::span<const std::int32_t>(squared->voxels),
                               std::span<const float>(peer));
            });
      }
    }
  }

  // ---- beside a copy ----

  /// Bytes are those of the arrays read and written, for the stage and for the copy of the float
  /// volume alike; that a store may first read its line is counted for neither. memcpy streams past
  /// the caches at this size, so this is as fast as copies get.
  void copy_rows() {
    if (!wanted("copy.threshold") && !wanted("copy.rescale") && !wanted("copy.histogram")) return;
    const Volume<float> tall = beyond_caches(hu_);
    const Extent& extent = tall.geometry.extent;
    // Both sides' volumes lie in memory as a path gives it.
    const std::size_t count = tall.voxels.size();
    const Block<float> source(memory_, count), copied(memory_, count);
    std::copy(tall.voxels.begin(), tall.voxels.end(), source.data());
    const In<float> in{source.data(), extent};
    const auto voxels = static_cast<double>(extent.voxels());
    const auto copy = [&] {
#pragma omp parallel
      {
        const auto thread = static_cast<std::size_t>(omp_get_thread_num());
        const auto all = static_cast<std::size_t>(omp_get_num_threads());
        const std::size_t begin = count * thread / all, end = count * (thread + 1) / all;
        std::memcpy(copied.data() + begin, source.data() + begin, (end - begin) * sizeof(float));
      }
    };
    const auto beside_copy = [&](const char* name, double bytes_per_voxel,
                                 const std::function<void()>& ours,
                                 const std::function<Check()>& check) {
      run({name, "parallel memcpy of the float volume", extent, 0.7, ours,
           [&](int repeats) { return seconds(copy, repeats); }, check, bytes_per_voxel * voxels,
           8 * voxels});
    };

    const auto mask = volume<std::uint8_t>(extent);
    beside_copy(
        "copy.threshold", 4 + 1,
        [&] { stages_.threshold(in, view_of(*mask), soft_low_hu, soft_high_hu, memory_); },
        [&] {
          return count_differing(
              std::span<const std::uint8_t>(mask->voxels), tall.voxels.size(), [&](std::size_t i) {
                const bool inside = tall.voxels[i] >= soft_low_hu && tall.voxels[i] < soft_high_hu;
                return (mask->voxels[i] != 0) == inside;
              });
        });

    std::vector<std::int16_t> stored(tall.voxels.size());
    std::transform(tall.voxels.begin(), tall.voxels.end(), stored.begin(), [](float hu) {
      return static_cast<std::int16_t>(std::lrint(std::clamp(hu, -1024.0f, 3071.0f)) + 1024);
    });
    const std::vector<Rescale> rescale(static_cast<std::size_t>(extent.z), Rescale{1, -1024});
    const auto out = volume<float>(extent);
    const CtImage no_padding;
    beside_copy(
        "copy.rescale", 2 + 4,
        [&] {
          stages_.rescale({stored.data(), extent}, view_of(*out), rescale, no_padding, memory_);
        },
        [&] {
          return count_differing(std::span<const float>(out->voxels), stored.size(),
                                 [&](std::size_t i) {
                                   return out->voxels[i] == static_cast<float>(stored[i] - 1024);
                                 });
        });

    Histogram histogram = otsu_histogram();
    beside_copy(
        "copy.histogram", 4,
        [&] {
          std::fill(histogram.counts.begin(), histogram.counts.end(), 0);
          stages_.histogram(in, 0, extent.z, histogram, memory_);
        },
        [&] { return same_counts(tall, histogram); });
  }

  static Check same_counts(const Volume<float>& volume, const Histogram& histogram) {
    std::vector<std::uint64_t> counts(histogram.counts.size());
    const auto last = static_cast<float>(counts.size() - 1);
    const float scale = static_cast<float>(counts.size()) / (histogram.high - histogram.low);
    for (const float value : volume.voxels)
      ++counts[static_cast<std::size_t>(std::clamp((value - histogram.low) * scale, 0.0f, last))];
    if (counts == histogram.counts) return {true, "identical"};
    return {false, "FAIL: counts differ"};
  }

  // ---- U-Net ----

  void unet_rows() {
    if (!wanted("imaging.unet.convolutions") && !wanted("imaging.unet.library")) return;
    const imaging::UNetSpec spec = unet_of_peers();
    for (const Row& row : compare_unet(spec, threads_, options_.pairs, options_.clock))
      out_ << to_csv(row)
           << fmt::format(",,,0.90,{},,oneDNN's convolutions alone\n", size_text(spec.patch));
    out_.flush();
  }

  const ImagingOptions& options_;
  std::ostream& out_;
  std::ostream& log_;
  Stages stages_;
  Memory& memory_;
  Volume<float> hu_;
  Extent extent_;
  Mask body_, bone_;
  std::unique_ptr<Specialists> specialists_;
  std::string no_specialists_;
  int threads_ = 1;
  bool all_agree_ = true;
};

} // namespace

const std::vector<RowName>& imaging_rows() {
  static const std::vector<RowName> rows{
      {"itk.median", "median of 3 x 3 x 3, beside ITK"},
      {"itk.gaussian",
       "Gaussian of sigma 1.5 voxels, beside ITK's discrete Gaussian of the same radius"},
      {"itk.gaussian_recursive", "the same of ours, beside ITK's recursive Gaussian"},
      {"itk.diffusion", "gradient anisotropic diffusion, 5 iterations"},
      {"itk.resample", "trilinear, to 1.5 mm"},
      {"itk.threshold", "HU to a mask"},
      {"itk.otsu", "histogram of 256 bins, Otsu's threshold and the mask"},
      {"itk.dilate_box", "dilation of the bone mask by 7 x 7 x 7, beside ITK's fastest of four"},
      {"itk.region_growing", "soft tissue from one seed, beside ITK's flood fill"},
      {"itk.region_growing_by_components", "the same, beside ITK's threshold and components"},
      {"itk.components_body", "26-connected components of the body mask"},
      {"itk.components_bone", "and of the bone mask"},
      {"itk.distance", "squared distance to the body, beside ITK's signed distance"},
      {"itk.distance_both_sides", "and to what is outside the body: both of ours, beside the same"},
      {"itk.label_statistics", "sizes, places and mean HU of the bone mask's components"},
      {"itk.pipeline_gaussian",
       "resample, Gaussian, Otsu, open, close, components, distance, statistics"},
      {"itk.pipeline_median", "the same with a median"},
      {"cc3d.components_body", "26-connected components of the body mask, beside cc3d"},
      {"cc3d.components_bone", "and of the bone mask"},
      {"cc3d.components_noise_10", "and of noise with a tenth of the voxels set"},
      {"cc3d.components_noise_50", "and with half of them set"},
      {"edt.inside_body", "squared distance to the background within the body, beside edt"},
      {"edt.outside_body", "squared distance to the body"},
      {"edt.inside_bone", "within bone"},
      {"edt.outside_bone", "to bone"},
      {"copy.threshold",
       "bandwidth of the threshold, beside a copy's: 4 + 1 bytes a voxel and 4 + 4"},
      {"copy.rescale", "of int16 to HU: 2 + 4 bytes a voxel"},
      {"copy.histogram", "of the histogram: 4 bytes a voxel"},
      {"imaging.unet.convolutions",
       "a whole U-Net window, beside the sum of its convolutions alone"},
      {"imaging.unet.library", "the same, with oneDNN's convolutions throughout"},
  };
  return rows;
}

bool compare_imaging(const ImagingOptions& options, std::ostream& out, std::ostream& log) {
  for (const std::string& start : options.rows) {
    const std::vector<RowName>& rows = imaging_rows();
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const RowName& row) {
      return std::string(row.name).starts_with(start);
    });
    if (!known) throw BadInput("--rows", 0, start, "the start of a row's name (see --list)");
  }
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  return ImagingBench(options, out, log).run();
}

} // namespace breakeven::peers
