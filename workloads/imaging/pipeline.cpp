#include "workloads/imaging/pipeline.h"

#include "sim/errors.h"
#include "workloads/imaging/component_merge.h"
#include "workloads/imaging/fields.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/imaging/object_crops.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <set>

namespace breakeven::imaging {

namespace {

constexpr float above_all_hu = std::numeric_limits<float>::max();

using Hu = std::shared_ptr<Field<float>>;

/// Index of a point, given as (i, j, k), in a volume; nothing where it is outside.
std::optional<std::int64_t> index_of(const Geometry& geometry,
                                     const std::array<double, 3>& point_mm) {
  const std::array<double, 3> voxel = voxel_of(geometry, point_mm);
  const Extent& extent = geometry.extent;
  const std::int64_t x = std::llround(voxel[0]), y = std::llround(voxel[1]),
                     z = std::llround(voxel[2]);
  if (x < 0 || y < 0 || z < 0 || x >= extent.x || y >= extent.y || z >= extent.z) return {};
  return (z * extent.y + y) * extent.x + x;
}

/// Tables that bring a volume of `from` onto the grid of `to`; both have the same axes.
ResampleTables tables_between(const Geometry& from, const Geometry& to) {
  const std::array<double, 3> from_mm = from.spacing_mm(), to_mm = to.spacing_mm();
  const std::array<double, 3> first =
      voxel_of(from, {to.to_ras_mm[0][3], to.to_ras_mm[1][3], to.to_ras_mm[2][3]});
  return {axis_table(from.extent.x, to.extent.x, first[0], to_mm[0] / from_mm[0]),
          axis_table(from.extent.y, to.extent.y, first[1], to_mm[1] / from_mm[1]),
          axis_table(from.extent.z, to.extent.z, first[2], to_mm[2] / from_mm[2])};
}

AxisTable part_of(const AxisTable& table, std::int64_t begin, std::int64_t end,
                  std::int64_t first_input) {
  AxisTable part{{table.lower.begin() + begin, table.lower.begin() + end},
                 {table.weight.begin() + begin, table.weight.begin() + end}};
  for (std::int32_t& lower : part.lower)
    lower -= static_cast<std::int32_t>(first_input);
  return part;
}

class Pipeline {
public:
  Pipeline(Stages& stages, const CtImage& image, const Recipe& recipe, const Tiling& tiling)
      : image_(image),
        keeps_unfiltered_(std::any_of(recipe.stages.begin(), recipe.stages.end(),
                                      [](const StageSettings& s) { return s.unfiltered; })),
        store_(tiling.scratch_folder.empty() ? host_memory()
                                             : scratch_memory(tiling.scratch_folder)),
        sheet_(stages, tiling.slab_slices > 0 ? store_ : stages.memory, tiling.slab_slices),
        stages_(stages),
        geometry_(image.geometry) {
    if (geometry_.extent.voxels() > most_voxels)
      throw Failure(fmt::format("a volume of {} voxels is more than the stages can index, {}",
                                geometry_.extent.voxels(), most_voxels));
  }

  void load() {
    original_ = std::make_shared<Field<float>>(sheet_.field<float>(geometry_.extent));
    if (!image_.stored.empty())
      load_stored(image_.stored.data(), stages_.rescale);
    else
      load_stored(image_.float_stored.data(), stages_.rescale_float);
    hu_ = original_;
    if (keeps_unfiltered_) unfiltered_ = hu_;
  }

  void run(const StageSettings& stage) {
    switch (stage.kind) {
    case StageKind::resample:
      return resample(stage);
    case StageKind::gaussian:
      return gaussian(stage);
    case StageKind::median:
      return filter("median", 1,
                    [this](auto in, auto out) { return stages_.median(in, out, stages_.memory); });
    case StageKind::bilateral:
      return bilateral(stage);
    case StageKind::diffusion:
      return diffuse(stage);
    case StageKind::otsu:
      return otsu(stage);
    case StageKind::threshold:
      return threshold(source_of(stage), stage.low_hu, stage.high_hu, stage.inside);
    case StageKind::dilate:
    case StageKind::erode:
    case StageKind::open:
    case StageKind::close:
      return morphology(stage);
    case StageKind::fill_holes:
      return fill_holes();
    case StageKind::components:
      return components(stage.connectivity);
    case StageKind::keep:
      return keep(stage);
    case StageKind::watershed:
      return watershed(stage);
    }
  }

  void run(const Labeller& labeller) {
    const auto voxels = static_cast<std::size_t>(geometry_.extent.voxels());
    std::vector<float> hu(voxels);
    std::vector<std::uint32_t> labels(voxels);
    sheet_.clock.timed(leaving(), [&] { leave(hu.data(), *hu_); });
    for (const Phase& phase :
         labeller.run({hu.data(), geometry_.extent}, {labels.data(), geometry_.extent}))
      sheet_.clock.append(phase);
    labels_.emplace(sheet_.field<std::uint32_t>(geometry_.extent));
    sheet_.clock.timed(stages_.path == Path::openmp ? leaving() : "upload", [&] {
      if (sheet_.cut())
        std::copy(labels.begin(), labels.end(), labels_->data());
      else
        sheet_.copy_in(*labels_, labels.data());
    });
    count_ = labeller.most_label;
  }

  Segmentation finish() {
    if (!labels_) labels_from_mask();
    restore_grid();
    Segmentation result;
    result.labels.geometry = image_.geometry;
    result.sums = measured(*labels_, *original_, "statistics");
    const auto voxels = static_cast<std::size_t>(image_.geometry.extent.voxels());
    result.labels.voxels.resize(voxels);
    sheet_.clock.timed(leaving(), [&] { leave(result.labels.voxels.data(), *labels_); });
    result.otsu_hu = otsu_hu_;
    result.phases = sheet_.clock.take();
    result.peak_bytes = static_cast<double>(stages_.memory.peak_bytes);
    return result;
  }

private:
  // ---- HU ----

  template <class T>
  void load_stored(const T* stored,
                   Work (*rescale)(View<const T>, View<float>, const std::vector<Rescale>&,
                                   const CtImage&, Memory&)) {
    const Extent extent = geometry_.extent;
    const std::int64_t slices = sheet_.cut() ? sheet_.slab_slices() : extent.z;
    for (const Slab& slab : slabs_of(extent.z, slices, 0)) {
      const Extent part{extent.x, extent.y, slab.end - slab.begin};
      const T* host = stored + slab.begin * extent.slice();
      const std::vector<Rescale> lines(image_.rescale.begin() + slab.begin,
                                       image_.rescale.begin() + slab.end);
      // The OpenMP path reads the image where it is.
      std::optional<Field<T>> copy;
      if (stages_.path != Path::openmp) {
        copy.emplace(sheet_.piece<T>(part));
        sheet_.clock.timed("upload", [&] { sheet_.copy_in(*copy, host); });
      }
      const View<const T> in(copy ? copy->data() : host, part);
      sheet_.clock.timed("rescale", [&] {
        if (!sheet_.cut()) {
          sheet_.clock.kernel(
              [&] { return rescale(in, original_->view(), lines, image_, stages_.memory); });
          return;
        }
        const Field<float> hu = sheet_.piece<float>(part);
        sheet_.clock.kernel([&] { return rescale(in, hu.view(), lines, image_, stages_.memory); });
        sheet_.copy_out(original_->slices(slab.begin, slab.end).data, View<const float>(hu.view()));
      });
    }
  }

  template <class Call>
  void filter(const char* name, std::int64_t halo, Call call) {
    sheet_.clock.timed(name, [&] {
      auto out = std::make_shared<Field<float>>(sheet_.field<float>(geometry_.extent));
      sheet_.local(*hu_, *out, halo, call);
      hu_ = out;
    });
  }

  void resample(const StageSettings& stage) {
    Recipe only;
    only.stages = {stage};
    const Geometry coarse = working_geometry(geometry_, only);
    const ResampleTables tables = tables_between(geometry_, coarse);
    sheet_.clock.timed("resample", [&] {
      auto out = std::make_shared<Field<float>>(sheet_.field<float>(coarse.extent));
      onto_grid(*hu_, *out, tables, stages_.resample);
      hu_ = out;
      if (keeps_unfiltered_) unfiltered_ = out;
    });
    geometry_ = coarse;
  }

  template <class T>
  void onto_grid(const Field<T>& in, Field<T>& out, const ResampleTables& tables,
                 Work (*call)(View<const T>, View<T>, const ResampleTables&, Memory&)) {
    if (!sheet_.cut()) {
      sheet_.clock.kernel(
          [&] { return call(View<const T>(in.view()), out.view(), tables, stages_.memory); });
      return;
    }
    for (const Slab& slab : slabs_of(out.extent().z, sheet_.slab_slices(), 0)) {
      const std::int64_t first = tables.z.lower[static_cast<std::size_t>(slab.begin)];
      const std::int64_t last = std::min<std::int64_t>(
          in.extent().z, tables.z.lower[static_cast<std::size_t>(slab.end - 1)] + 2);
      const View<T> read = in.slices(first, last);
      const Field<T> slab_in = sheet_.piece<T>(read.extent);
      Field<T> slab_out = sheet_.piece<T>({out.extent().x, out.extent().y, slab.end - slab.begin});
      const ResampleTables part{tables.x, tables.y, part_of(tables.z, slab.begin, slab.end, first)};
      sheet_.copy_in(slab_in, read.data);
      sheet_.clock.kernel([&] {
        return call(View<const T>(slab_in.view()), slab_out.view(), part, stages_.memory);
      });
      sheet_.copy_out(out.slices(slab.begin, slab.end).data, View<const T>(slab_out.view()));
    }
  }

  void gaussian(const StageSettings& stage) {
    const GaussianTaps taps = gaussian_taps(stage.sigma_mm, geometry_.spacing_mm());
    filter("gaussian", taps.radius_z(),
           [&](auto in, auto out) { return stages_.gaussian(in, out, taps, stages_.memory); });
  }

  void bilateral(const StageSettings& stage) {
    const BilateralKernel kernel = bilateral_kernel(stage.radius_voxels, stage.sigma_mm,
                                                    stage.sigma_hu, geometry_.spacing_mm());
    filter("bilateral", kernel.radius,
           [&](auto in, auto out) { return stages_.bilateral(in, out, kernel, stages_.memory); });
  }

  void diffuse(const StageSettings& stage) {
    const std::array<double, 3> spacing = geometry_.spacing_mm();
    DiffusionStep step;
    step.time_step = static_cast<float>(stage.time_step);
    for (std::size_t axis = 0; axis < 3; ++axis)
      step.inverse_spacing[axis] = static_cast<float>(1 / spacing[axis]);
    for (int iteration = 0; iteration < stage.iterations; ++iteration) {
      std::int64_t sum = 0;
      sheet_.clock.timed("diffusion", [&] {
        sheet_.reduce(*hu_, 1, [&](auto in, auto, std::int64_t begin, std::int64_t end) {
          return stages_.diffusion_gradient(in, begin, end, step, sum, stages_.memory);
        });
      });
      step.conductance_k = diffusion_k(sum, geometry_.extent.voxels(), stage.conductance);
      filter("diffusion", 1,
             [&](auto in, auto out) { return stages_.diffuse(in, out, step, stages_.memory); });
    }
  }

  // ---- masks ----

  void otsu(const StageSettings& stage) {
    Histogram histogram;
    histogram.low = static_cast<float>(stage.low_hu);
    histogram.high = static_cast<float>(stage.high_hu);
    histogram.counts.assign(static_cast<std::size_t>(stage.bins), 0);
    sheet_.clock.timed("otsu", [&] {
      sheet_.reduce(source_of(stage), 0, [&](auto in, auto, std::int64_t begin, std::int64_t end) {
        return stages_.histogram(in, begin, end, histogram, stages_.memory);
      });
    });
    otsu_hu_ = otsu_threshold(histogram);
    threshold(source_of(stage), otsu_hu_, static_cast<double>(above_all_hu), false);
  }

  const Field<float>& source_of(const StageSettings& stage) const {
    return stage.unfiltered ? *unfiltered_ : *hu_;
  }

  void threshold(const Field<float>& source, double low_hu, double high_hu, bool inside) {
    std::optional<Field<std::uint8_t>> before;
    if (inside) before.emplace(take_mask());
    labels_.reset();
    sheet_.clock.timed("threshold", [&] {
      Field<std::uint8_t> mask = sheet_.field<std::uint8_t>(geometry_.extent);
      sheet_.local(source, mask, 0, [&](auto in, auto out) {
        return stages_.threshold(in, out, static_cast<float>(low_hu), static_cast<float>(high_hu),
                                 stages_.memory);
      });
      if (before) combine(*before, mask, MaskOperation::both);
      mask_.emplace(std::move(mask));
    });
  }

  /// b = a operation b.
  void combine(const Field<std::uint8_t>& a, Field<std::uint8_t>& b, MaskOperation operation) {
    sheet_.pairs(a, b, true, [&](auto first, auto second, auto) {
      return stages_.combine(first, View<const std::uint8_t>(second), second, operation,
                             stages_.memory);
    });
  }

  /// The mask so far, or that of the labels so far.
  Field<std::uint8_t> take_mask() {
    if (labels_) {
      Field<std::uint8_t> mask = mask_of(*labels_);
      labels_.reset();
      mask_.reset();
      return mask;
    }
    assert(mask_);
    Field<std::uint8_t> mask = std::move(*mask_);
    mask_.reset();
    return mask;
  }

  Field<std::uint8_t> mask_of(const Field<std::uint32_t>& labels) {
    Field<std::uint8_t> mask = sheet_.field<std::uint8_t>(labels.extent());
    sheet_.clock.timed("mask", [&] {
      sheet_.local(labels, mask, 0,
                   [&](auto in, auto out) { return stages_.mask_of(in, out, stages_.memory); });
    });
    return mask;
  }

  void morphology(const StageSettings& stage) {
    Field<std::uint8_t> mask = take_mask();
    const std::string name = to_string(stage.kind);
    const auto step = [&](MorphologyOperation operation) {
      mask = stage.ball ? by_ball(name, mask, operation, stage.radius_mm)
                        : by_box(name, mask, operation, stage.radius_mm);
    };
    if (stage.kind == StageKind::erode || stage.kind == StageKind::open)
      step(MorphologyOperation::erode);
    if (stage.kind != StageKind::erode) step(MorphologyOperation::dilate);
    if (stage.kind == StageKind::close) step(MorphologyOperation::erode);
    mask_.emplace(std::move(mask));
  }

  Field<std::uint8_t> by_box(const std::string& name, const Field<std::uint8_t>& mask,
                             MorphologyOperation operation, double radius_mm) {
    std::array<int, 3> radius{};
    const std::array<double, 3> spacing = geometry_.spacing_mm();
    for (std::size_t axis = 0; axis < 3; ++axis)
      radius[axis] = static_cast<int>(std::floor(radius_mm / spacing[axis]));
    Field<std::uint8_t> out = sheet_.field<std::uint8_t>(geometry_.extent);
    sheet_.clock.timed(name, [&] {
      sheet_.local(mask, out, radius[2], [&](auto in, auto result) {
        return stages_.box_morphology(in, result, operation, radius, stages_.memory);
      });
    });
    return out;
  }

  Field<std::uint8_t> by_ball(const std::string& name, const Field<std::uint8_t>& mask,
                              MorphologyOperation operation, double radius_mm) {
    const bool dilates = operation == MorphologyOperation::dilate;
    const DistanceMetric metric = distance_metric(geometry_.extent, geometry_.spacing_mm());
    const double radius = radius_mm / metric.unit_mm;
    const auto limit = static_cast<std::int32_t>(
        std::min(std::floor(radius * radius), static_cast<double>(no_distance - 1)));
    Field<std::uint8_t> out = sheet_.field<std::uint8_t>(geometry_.extent);
    sheet_.clock.timed(name, [&] {
      const Field<std::int32_t> squared =
          distance(mask, dilates ? Distance::to_foreground : Distance::to_background, metric);
      sheet_.local(squared, out, 0, [&](auto in, auto result) {
        return stages_.within(in, result, limit, !dilates, stages_.memory);
      });
    });
    return out;
  }

  Field<std::int32_t> distance(const Field<std::uint8_t>& mask, Distance to,
                               const DistanceMetric& metric) {
    Field<std::int32_t> squared = sheet_.field<std::int32_t>(mask.extent());
    sheet_.local(mask, squared, 0, [&](auto in, auto out) {
      return stages_.distance_in_slices(in, out, to, metric, stages_.memory);
    });
    along_z(squared, metric);
    return squared;
  }

  /// Whole columns; where the volume is cut, of some rows at a time.
  void along_z(Field<std::int32_t>& squared, const DistanceMetric& metric) {
    if (!sheet_.cut()) {
      sheet_.clock.kernel(
          [&] { return stages_.distance_along_z(squared.view(), metric, stages_.memory); });
      return;
    }
    const Extent extent = squared.extent();
    const std::int64_t rows_at_once =
        std::max<std::int64_t>(1, sheet_.slab_slices() * extent.y / extent.z);
    std::vector<std::int32_t> rows;
    for (std::int64_t begin = 0; begin < extent.y; begin += rows_at_once) {
      const std::int64_t count = std::min(rows_at_once, extent.y - begin);
      const Field<std::int32_t> piece = sheet_.piece<std::int32_t>({extent.x, count, extent.z});
      rows.resize(static_cast<std::size_t>(piece.extent().voxels()));
      const auto run = static_cast<std::size_t>(extent.x * count);
      for (std::int64_t z = 0; z < extent.z; ++z)
        std::copy_n(squared.data() + (z * extent.y + begin) * extent.x, run,
                    rows.begin() + z * extent.x * count);
      sheet_.copy_in(piece, rows.data());
      sheet_.clock.kernel(
          [&] { return stages_.distance_along_z(piece.view(), metric, stages_.memory); });
      sheet_.copy_out(rows.data(), View<const std::int32_t>(piece.view()));
      for (std::int64_t z = 0; z < extent.z; ++z)
        std::copy_n(rows.begin() + z * extent.x * count, run,
                    squared.data() + (z * extent.y + begin) * extent.x);
    }
  }

  /// Background that no path of faces joins to the outside becomes foreground.
  void fill_holes() {
    Field<std::uint8_t> mask = take_mask();
    sheet_.clock.timed("fill-holes", [&] {
      Field<std::uint8_t> background = sheet_.field<std::uint8_t>(mask.extent());
      sheet_.local(mask, background, 0, [&](auto in, auto out) {
        return stages_.combine(in, in, out, MaskOperation::not_first, stages_.memory);
      });
      std::uint32_t count = 0;
      Field<std::uint32_t> labels = labelled(background, Connectivity::six, count);
      const std::vector<LabelSums> sums = sums_of(labels, *hu_, count);
      std::vector<std::uint32_t> table(sums.size(), 0);
      for (std::size_t label = 1; label < sums.size(); ++label)
        table[label] = !touches(sums[label], mask.extent(), {true, true, true});
      relabel(labels, table);
      sheet_.local(labels, background, 0,
                   [&](auto in, auto out) { return stages_.mask_of(in, out, stages_.memory); });
      combine(background, mask, MaskOperation::either);
    });
    mask_.emplace(std::move(mask));
  }

  static bool touches(const LabelSums& sums, const Extent& extent,
                      const std::array<bool, 3>& axes) {
    const std::array<std::int64_t, 3> size{extent.x, extent.y, extent.z};
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (axes[axis] && (sums.first[axis] == 0 || sums.last[axis] == size[axis] - 1)) return true;
    return false;
  }

  // ---- objects ----

  void components(Connectivity connectivity) {
    const Field<std::uint8_t> mask = take_mask();
    sheet_.clock.timed("components",
                       [&] { labels_.emplace(labelled(mask, connectivity, count_)); });
  }

  /// A mask that the recipe leaves as it is: one label.
  void labels_from_mask() {
    if (!mask_) throw std::logic_error("a recipe that gives no mask");
    components(Connectivity::twenty_six);
    std::vector<std::uint32_t> table(std::size_t{count_} + 1, 1);
    table[0] = 0;
    sheet_.clock.timed("components", [&] { relabel(*labels_, table); });
    count_ = std::min<std::uint32_t>(count_, 1);
  }

  Field<std::uint32_t> labelled(const Field<std::uint8_t>& mask, Connectivity connectivity,
                                std::uint32_t& count) {
    Field<std::uint32_t> labels = sheet_.field<std::uint32_t>(mask.extent());
    std::vector<std::uint32_t> counts;
    sheet_.local(mask, labels, 0, [&](auto in, auto out) {
      counts.push_back(0);
      return stages_.components(in, out, connectivity, counts.back(), stages_.memory);
    });
    count = counts.front();
    if (sheet_.cut()) count = merge_slabs(labels, counts, connectivity);
    return labels;
  }

  /// Slabs were labelled one by one; where two of them touch, their labels become one.
  std::uint32_t merge_slabs(Field<std::uint32_t>& labels, const std::vector<std::uint32_t>& counts,
                            Connectivity connectivity) {
    const std::vector<Slab> slabs = slabs_of(labels.extent().z, sheet_.slab_slices(), 0);
    std::vector<SlabComponents> found(slabs.size());
    for (std::size_t i = 0; i < slabs.size(); ++i) {
      found[i].count = counts[i];
      const std::int64_t z = slabs[i].begin;
      if (z > 0)
        found[i].touching =
            touching_labels(labels.slices(z - 1, z), labels.slices(z, z + 1), connectivity);
    }
    const MergedComponents merged = merge_components(found);
    for (std::size_t i = 0; i < slabs.size(); ++i) {
      const View<std::uint32_t> part = labels.slices(slabs[i].begin, slabs[i].end);
      const Field<std::uint32_t> piece = sheet_.piece<std::uint32_t>(part.extent);
      sheet_.copy_in(piece, part.data);
      sheet_.clock.kernel(
          [&] { return stages_.relabel(piece.view(), merged.tables[i], stages_.memory); });
      sheet_.copy_out(part.data, View<const std::uint32_t>(piece.view()));
    }
    return merged.count;
  }

  void relabel(Field<std::uint32_t>& labels, const std::vector<std::uint32_t>& table) {
    if (!sheet_.cut()) {
      sheet_.clock.kernel([&] { return stages_.relabel(labels.view(), table, stages_.memory); });
      return;
    }
    for (const Slab& slab : slabs_of(labels.extent().z, sheet_.slab_slices(), 0)) {
      const View<std::uint32_t> part = labels.slices(slab.begin, slab.end);
      const Field<std::uint32_t> piece = sheet_.piece<std::uint32_t>(part.extent);
      sheet_.copy_in(piece, part.data);
      sheet_.clock.kernel([&] { return stages_.relabel(piece.view(), table, stages_.memory); });
      sheet_.copy_out(part.data, View<const std::uint32_t>(piece.view()));
    }
  }

  std::vector<LabelSums> sums_of(const Field<std::uint32_t>& labels, Field<float>& hu,
                                 std::uint32_t count) {
    std::vector<LabelSums> sums(std::size_t{count} + 1);
    sheet_.pairs(labels, hu, false, [&](auto first, auto second, std::int64_t z) {
      return stages_.label_sums(first, View<const float>(second), z, sums, stages_.memory);
    });
    return sums;
  }

  std::vector<LabelSums> measured(const Field<std::uint32_t>& labels, Field<float>& hu,
                                  const char* name) {
    std::vector<LabelSums> sums;
    sheet_.clock.timed(name, [&] { sums = sums_of(labels, hu, count_); });
    return sums;
  }

  void keep(const StageSettings& stage) {
    std::vector<LabelSums> sums = measured(*labels_, *hu_, "keep");
    std::vector<std::uint32_t> kept = candidates(stage, sums);
    if (stage.largest > 0 && kept.size() > static_cast<std::size_t>(stage.largest)) {
      std::stable_sort(kept.begin(), kept.end(), [&](std::uint32_t a, std::uint32_t b) {
        return sums[a].voxels > sums[b].voxels;
      });
      kept.resize(static_cast<std::size_t>(stage.largest));
      std::sort(kept.begin(), kept.end());
    }
    std::vector<std::uint32_t> table(sums.size(), 0);
    for (std::size_t i = 0; i < kept.size(); ++i)
      table[kept[i]] = static_cast<std::uint32_t>(i + 1);
    sheet_.clock.timed("keep", [&] { relabel(*labels_, table); });
    count_ = static_cast<std::uint32_t>(kept.size());
  }

  std::vector<std::uint32_t> candidates(const StageSettings& stage,
                                        const std::vector<LabelSums>& sums) {
    std::set<std::uint32_t> seeded;
    for (const std::array<double, 3>& seed_mm : stage.seeds_mm)
      seeded.insert(label_at(seed_mm));
    const double voxel_ml = geometry_.voxel_ml();
    std::vector<std::uint32_t> kept;
    for (std::uint32_t label = 1; label < sums.size(); ++label) {
      if (!stage.seeds_mm.empty() && seeded.count(label) == 0) continue;
      if (static_cast<double>(sums[label].voxels) * voxel_ml < stage.least_ml) continue;
      if (stage.off_sides && touches(sums[label], geometry_.extent, {true, true, false})) continue;
      kept.push_back(label);
    }
    return kept;
  }

  std::uint32_t label_at(const std::array<double, 3>& point_mm) {
    const std::optional<std::int64_t> index = index_of(geometry_, point_mm);
    std::uint32_t label = 0;
    if (!index) return label;
    if (sheet_.cut()) return labels_->data()[*index];
    stages_.memory.copy_out(&label, labels_->data() + *index, sizeof label);
    return label;
  }

  void watershed(const StageSettings& stage) {
    const DistanceMetric metric = distance_metric(geometry_.extent, geometry_.spacing_mm());
    const Field<std::uint8_t> mask = take_mask();
    const double least_height = stage.least_height_mm / metric.unit_mm;
    sheet_.clock.timed("watershed", [&] {
      Field<std::int32_t> squared = distance(mask, Distance::to_background, metric);
      if (sheet_.cut()) {
        watershed_by_objects(mask, squared, least_height);
        return;
      }
      labels_.emplace(sheet_.field<std::uint32_t>(geometry_.extent));
      sheet_.clock.kernel([&] {
        return stages_.watershed(View<const std::int32_t>(squared.view()), labels_->view(),
                                 least_height, count_, stages_.memory);
      });
    });
  }

  /// Objects that do not touch split apart from each other, so each may be cut out.
  void watershed_by_objects(const Field<std::uint8_t>& mask, Field<std::int32_t>& squared,
                            double least_height) {
    std::uint32_t objects = 0;
    labels_.emplace(labelled(mask, Connectivity::twenty_six, objects));
    const std::vector<LabelSums> sums = sums_of(*labels_, *hu_, objects);
    ObjectCrops crops(labels_->view(), View<const std::int32_t>(squared.view()));
    for (std::uint32_t object = 1; object <= objects; ++object) {
      const Crop crop = crops.cut_out(object, sums[object]);
      const Field<std::int32_t> piece = sheet_.piece<std::int32_t>(crop.extent);
      const Field<std::uint32_t> parts = sheet_.piece<std::uint32_t>(crop.extent);
      std::uint32_t count = 0;
      sheet_.copy_in(piece, crop.squared.data());
      sheet_.clock.kernel([&] {
        return stages_.watershed(View<const std::int32_t>(piece.view()), parts.view(), least_height,
                                 count, stages_.memory);
      });
      std::vector<std::uint32_t> labels(crop.squared.size());
      sheet_.copy_out(labels.data(), View<const std::uint32_t>(parts.view()));
      crops.put_back(crop, labels, count);
    }
    count_ = crops.finish();
  }

  // ---- the end ----

  /// Labels on the grid of the input.
  void restore_grid() {
    if (geometry_.extent == image_.geometry.extent
        && geometry_.to_ras_mm == image_.geometry.to_ras_mm)
      return;
    const ResampleTables tables = tables_between(geometry_, image_.geometry);
    sheet_.clock.timed("restore grid", [&] {
      Field<std::uint32_t> out = sheet_.field<std::uint32_t>(image_.geometry.extent);
      onto_grid(*labels_, out, tables, stages_.resample_labels);
      labels_.emplace(std::move(out));
    });
  }

  const char* leaving() const { return stages_.path == Path::openmp ? "hand over" : "download"; }

  template <class T>
  void leave(T* host, const Field<T>& field) {
    if (sheet_.cut())
      std::copy_n(field.data(), static_cast<std::size_t>(field.extent().voxels()), host);
    else
      sheet_.copy_out(host, View<const T>(field.view()));
  }

  const CtImage& image_;
  bool keeps_unfiltered_;
  Memory store_;
  Worksheet sheet_;
  Stages& stages_;
  Geometry geometry_; ///< of the fields that the stages now work on
  Hu original_, hu_;
  Hu unfiltered_; ///< on the grid of hu_, before denoising; where the recipe asks for it
  std::optional<Field<std::uint8_t>> mask_;
  std::optional<Field<std::uint32_t>> labels_;
  std::uint32_t count_ = 0;
  double otsu_hu_ = 0;
};

} // namespace

Geometry working_geometry(const Geometry& geometry, const Recipe& recipe) {
  Geometry working = geometry;
  for (const StageSettings& stage : recipe.stages) {
    if (stage.kind != StageKind::resample) continue;
    const std::array<double, 3> spacing = working.spacing_mm();
    std::array<std::int64_t*, 3> sides{&working.extent.x, &working.extent.y, &working.extent.z};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double ratio = stage.spacing_mm / spacing[axis];
      *sides[axis] =
          std::max<std::int64_t>(1, std::llround(static_cast<double>(*sides[axis]) / ratio));
      // The outer faces stay; the first centre moves by half of what the voxel grew.
      const double shift = 0.5 * (ratio - 1);
      for (auto& row : working.to_ras_mm) {
        row[3] += shift * row[axis];
        row[axis] *= ratio;
      }
    }
  }
  return working;
}

Segmentation segment(Stages& stages, const CtImage& image, const Recipe& recipe,
                     const Tiling& tiling) {
  stages.memory.peak_bytes = stages.memory.in_use_bytes;
  Pipeline pipeline(stages, image, recipe, tiling);
  pipeline.load();
  for (const StageSettings& stage : recipe.stages)
    pipeline.run(stage);
  return pipeline.finish();
}

Segmentation segment_with(Stages& stages, const CtImage& image, const Recipe& recipe,
                          const Labeller& labeller, const Tiling& tiling) {
  stages.memory.peak_bytes = stages.memory.in_use_bytes;
  Pipeline pipeline(stages, image, recipe, tiling);
  pipeline.load();
  for (const StageSettings& stage : recipe.stages)
    pipeline.run(stage);
  pipeline.run(labeller);
  return pipeline.finish();
}

} // namespace breakeven::imaging
