#include "workloads/imaging/recipe.h"

#include <algorithm>
#include <map>
#include <utility>

namespace breakeven::imaging {

namespace {

constexpr std::size_t most_seeds = 1000;
constexpr double farthest_mm = 1e5;
constexpr double lowest_hu = -32768, highest_hu = 32767;

const std::vector<std::pair<StageKind, std::string>>& names() {
  static const std::vector<std::pair<StageKind, std::string>> all = {
      {StageKind::resample, "resample"},     {StageKind::gaussian, "gaussian"},
      {StageKind::median, "median"},         {StageKind::bilateral, "bilateral"},
      {StageKind::diffusion, "diffusion"},   {StageKind::otsu, "otsu"},
      {StageKind::threshold, "threshold"},   {StageKind::dilate, "dilate"},
      {StageKind::erode, "erode"},           {StageKind::open, "open"},
      {StageKind::close, "close"},           {StageKind::fill_holes, "fill-holes"},
      {StageKind::components, "components"}, {StageKind::keep, "keep"},
      {StageKind::watershed, "watershed"},
  };
  return all;
}

StageKind kind_of(const Section& section) {
  std::vector<std::string> choices;
  for (const auto& [kind, name] : names())
    choices.push_back(name);
  const std::string chosen = section.one_of("do", choices);
  return std::find_if(names().begin(), names().end(),
                      [&](const auto& entry) { return entry.second == chosen; })
      ->first;
}

const std::vector<std::string>& keys_of(StageKind kind) {
  static const std::vector<std::string> morphology{"element", "radius_mm"};
  static const std::map<StageKind, std::vector<std::string>> keys = {
      {StageKind::resample, {"spacing_mm"}},
      {StageKind::gaussian, {"sigma_mm"}},
      {StageKind::median, {}},
      {StageKind::bilateral, {"sigma_mm", "sigma_hu", "radius_voxels"}},
      {StageKind::diffusion, {"iterations", "conductance", "time_step"}},
      {StageKind::otsu, {"bins", "low_hu", "high_hu", "unfiltered"}},
      {StageKind::threshold, {"low_hu", "high_hu", "inside", "unfiltered"}},
      {StageKind::dilate, morphology},
      {StageKind::erode, morphology},
      {StageKind::open, morphology},
      {StageKind::close, morphology},
      {StageKind::fill_holes, {}},
      {StageKind::components, {"connectivity"}},
      {StageKind::keep, {"seeds_mm", "largest", "least_ml", "off_sides"}},
      {StageKind::watershed, {"least_height_mm"}},
  };
  return keys.at(kind);
}

void refuse_other_keys(const Section& section, StageKind kind) {
  const std::vector<std::string>& own = keys_of(kind);
  for (const Key& key : stage_keys()) {
    if (key.name == "do" || !section.has(key.name)) continue;
    if (std::find(own.begin(), own.end(), key.name) != own.end()) continue;
    std::string expected;
    for (const std::string& name : own)
      expected += (expected.empty() ? "only " : ", ") + name;
    section.fail(key.name, key.name + " in a stage that does \"" + to_string(kind) + "\"",
                 own.empty() ? "no further key there" : expected);
  }
}

void read_range(const Section& section, StageSettings& stage) {
  if (stage.kind == StageKind::threshold) {
    stage.low_hu = section.number("low_hu", lowest_hu, highest_hu);
    stage.high_hu = section.number("high_hu", lowest_hu, highest_hu, highest_hu);
    stage.inside = section.boolean("inside", false);
  } else {
    stage.low_hu = section.number("low_hu", lowest_hu, highest_hu, stage.low_hu);
    stage.high_hu = section.number("high_hu", lowest_hu, highest_hu, stage.high_hu);
    stage.bins = static_cast<int>(section.integer("bins", 2, 65536, stage.bins));
  }
  stage.unfiltered = section.boolean("unfiltered", false);
  if (!(stage.low_hu < stage.high_hu))
    section.fail(section.has("high_hu") ? "high_hu" : "low_hu", "low_hu not below high_hu",
                 "a range of HU from low to high");
}

Connectivity read_connectivity(const Section& section) {
  const std::int64_t neighbours = section.integer("connectivity", 6, 26, 26);
  if (neighbours != 6 && neighbours != 18 && neighbours != 26)
    section.fail("connectivity", "connectivity = " + std::to_string(neighbours), "6, 18 or 26");
  return static_cast<Connectivity>(neighbours);
}

StageSettings read_stage(const Section& section) {
  StageSettings stage;
  stage.kind = kind_of(section);
  refuse_other_keys(section, stage.kind);
  switch (stage.kind) {
  case StageKind::resample:
    stage.spacing_mm = section.number("spacing_mm", 0.05, 50);
    break;
  case StageKind::bilateral:
    stage.radius_voxels = static_cast<int>(section.integer("radius_voxels", 1, 4, 2));
    stage.sigma_hu = section.number("sigma_hu", 0.1, 10'000, stage.sigma_hu);
    [[fallthrough]];
  case StageKind::gaussian:
    stage.sigma_mm = section.number("sigma_mm", 0.05, 50);
    break;
  case StageKind::diffusion:
    stage.iterations = static_cast<int>(section.integer("iterations", 1, 1000, stage.iterations));
    stage.conductance = section.number("conductance", 0.01, 100, stage.conductance);
    stage.time_step = section.number("time_step", 1e-6, 0.125, stage.time_step);
    break;
  case StageKind::otsu:
  case StageKind::threshold:
    read_range(section, stage);
    break;
  case StageKind::dilate:
  case StageKind::erode:
  case StageKind::open:
  case StageKind::close:
    stage.ball = section.one_of("element", {"ball", "box"}, "ball") == "ball";
    stage.radius_mm = section.number("radius_mm", 0.05, 500);
    break;
  case StageKind::components:
    stage.connectivity = read_connectivity(section);
    break;
  case StageKind::keep:
    stage.seeds_mm = section.points("seeds_mm", most_seeds, -farthest_mm, farthest_mm);
    stage.largest = static_cast<int>(section.integer("largest", 0, 1'000'000'000, 0));
    stage.least_ml = section.number("least_ml", 0, 1e6, 0.0);
    stage.off_sides = section.boolean("off_sides", false);
    break;
  case StageKind::watershed:
    stage.least_height_mm = section.number("least_height_mm", 0, 1000, stage.least_height_mm);
    break;
  case StageKind::median:
  case StageKind::fill_holes:
    break;
  }
  return stage;
}

/// What a stage needs to be there.
enum class Needs { hu, mask, mask_if_inside, labels };
Needs needs_of(StageKind kind) {
  switch (kind) {
  case StageKind::resample:
  case StageKind::gaussian:
  case StageKind::median:
  case StageKind::bilateral:
  case StageKind::diffusion:
  case StageKind::otsu:
    return Needs::hu;
  case StageKind::threshold:
    return Needs::mask_if_inside;
  case StageKind::dilate:
  case StageKind::erode:
  case StageKind::open:
  case StageKind::close:
  case StageKind::fill_holes:
  case StageKind::components:
  case StageKind::watershed:
    return Needs::mask;
  case StageKind::keep:
    return Needs::labels;
  }
  return Needs::hu;
}

bool gives_labels(StageKind kind) {
  return kind == StageKind::components || kind == StageKind::keep || kind == StageKind::watershed;
}

void check_order(const Section& section, const std::vector<StageSettings>& before,
                 const StageSettings& stage) {
  const bool mask = std::any_of(before.begin(), before.end(), [](const StageSettings& earlier) {
    return earlier.kind == StageKind::otsu || earlier.kind == StageKind::threshold;
  });
  const bool labels = !before.empty() && gives_labels(before.back().kind);
  const Needs needs = needs_of(stage.kind);
  const std::string found = "\"" + to_string(stage.kind) + "\" here";
  if ((needs == Needs::mask || (needs == Needs::mask_if_inside && stage.inside)) && !mask)
    section.fail("do", found, "a threshold or otsu before it, which gives it a mask");
  if (needs == Needs::labels && !labels)
    section.fail("do", found, "components, watershed or keep right before it");
  if (stage.kind == StageKind::resample
      && std::any_of(before.begin(), before.end(), [](const StageSettings& earlier) {
           return needs_of(earlier.kind) != Needs::hu || earlier.kind == StageKind::otsu
                  || earlier.kind == StageKind::resample;
         }))
    section.fail("do", found, "one resampling, before any mask");
}

} // namespace

std::string to_string(StageKind kind) {
  return std::find_if(names().begin(), names().end(),
                      [&](const auto& entry) { return entry.first == kind; })
      ->second;
}

const std::vector<Key>& stage_keys() {
  static const std::vector<Key> keys = {
      {"do",
       "resample, gaussian, median, bilateral, diffusion, otsu, threshold, dilate, erode, open, "
       "close, fill-holes, components, keep or watershed",
       "what the stage does"},
      {"spacing_mm", "number from 0.05 to 50", "resample: side of the cubic voxels"},
      {"sigma_mm", "number from 0.05 to 50", "gaussian, bilateral: of the Gaussian in space"},
      {"sigma_hu", "number from 0.1 to 10000", "bilateral: of the Gaussian in HU; 60 where absent"},
      {"radius_voxels", "integer from 1 to 4", "bilateral: of its box; 2 where absent"},
      {"iterations", "integer from 1 to 1000", "diffusion: 5 where absent"},
      {"conductance", "number from 0.01 to 100",
       "diffusion: in units of the mean gradient, larger smooths stronger edges; 3 where absent"},
      {"time_step", "number from 1e-6 to 0.125", "diffusion: of an iteration; 0.0625 where absent"},
      {"bins", "integer from 2 to 65536", "otsu: of the histogram; 256 where absent"},
      {"low_hu", "number from -32768 to 32767",
       "threshold: the mask is low <= HU < high; otsu: start of the histogram, -1024 where absent"},
      {"high_hu", "number from -32768 to 32767",
       "threshold: 32767 where absent; otsu: end of the histogram, 3071 where absent"},
      {"inside", "true or false",
       "threshold: only where the mask so far is set; false where absent"},
      {"unfiltered", "true or false",
       "threshold, otsu: of the HU before any denoising; false where absent"},
      {"element", "ball or box", "dilate, erode, open, close: ball where absent"},
      {"radius_mm", "number from 0.05 to 500", "dilate, erode, open, close: of the element"},
      {"connectivity", "6, 18 or 26", "components: 26 where absent"},
      {"seeds_mm", "[[3 numbers], ...]",
       "keep: the objects that hold one of these points, each in millimetres to the patient's "
       "right, front and head"},
      {"largest", "integer from 0 to 1000000000",
       "keep: so many of the largest objects; all of them where 0 or absent"},
      {"least_ml", "number from 0 to 1e6", "keep: objects of at least this volume; 0 where absent"},
      {"off_sides", "true or false",
       "keep: only objects that do not touch the left, right, front or back side of the volume; "
       "false where absent"},
      {"least_height_mm", "number from 0 to 1000",
       "watershed: a peak of the distance map this much above its saddle is an object of its own; "
       "1 where absent"},
  };
  return keys;
}

Recipe read_recipe(const Section& workload) {
  Recipe recipe;
  for (const Section& section : workload.tables("stage", stage_keys())) {
    const StageSettings stage = read_stage(section);
    check_order(section, recipe.stages, stage);
    recipe.stages.push_back(stage);
  }
  return recipe;
}

} // namespace breakeven::imaging
