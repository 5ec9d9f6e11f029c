#include "workloads/imaging/settings.h"

#include "sim/scenario/refuse_without.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace breakeven::imaging {

namespace {

constexpr std::int64_t highest_seed = std::numeric_limits<std::int64_t>::max();

void read_phantom(const Section& section, Settings& settings) {
  PhantomSpec& phantom = settings.phantom;
  const std::vector<double> size = section.numbers("size_voxels", 3, 16, 2048);
  for (const double side : size)
    if (side != std::floor(side))
      section.fail("size_voxels", fmt::format("a side of {} voxels", side), "whole numbers");
  phantom.extent = {static_cast<std::int64_t>(size[0]), static_cast<std::int64_t>(size[1]),
                    static_cast<std::int64_t>(size[2])};
  if (phantom.extent.voxels() > most_voxels)
    section.fail("size_voxels", fmt::format("{} voxels", phantom.extent.voxels()),
                 fmt::format("at most {} voxels", most_voxels));
  const std::vector<double> spacing = section.numbers("spacing_mm", 3, 0.05, 50);
  phantom.spacing_mm = {spacing[0], spacing[1], spacing[2]};
  phantom.nodules = static_cast<int>(section.integer("nodules", 0, most_nodules, phantom.nodules));
  phantom.noise_hu = section.number("noise_hu", 0, 500, phantom.noise_hu);
  // Where absent edges are linear, which no number of points gives.
  if (section.has("partial_volume_samples"))
    phantom.partial_volume_samples =
        static_cast<int>(section.integer("partial_volume_samples", 1, most_partial_volume_samples));
  phantom.contrast = section.boolean("contrast", phantom.contrast);
  phantom.seed = static_cast<std::uint64_t>(section.integer("seed", 0, highest_seed, 1));
  settings.compression =
      compression_from(section.one_of("compression", compression_names(), "jpeg-2000"));
}

void read_input(const Section& section, Settings& settings) {
  const std::vector<std::string> sources{"phantom", "folder", "file"};
  std::vector<std::string> given;
  for (const std::string& source : sources)
    if (section.has(source)) given.push_back(source);
  if (given.size() != 1)
    section.fail(given.empty() ? "phantom" : given[1],
                 given.empty() ? std::string("neither phantom, folder nor file in [workload]")
                               : "both " + given[0] + " and " + given[1] + " in [workload]",
                 "phantom = \"thorax\", a folder with a DICOM series or a NIfTI file, one of them");
  const bool phantom = given[0] == "phantom";
  refuse_without(section, phantom,
                 {"size_voxels", "spacing_mm", "nodules", "noise_hu", "partial_volume_samples",
                  "contrast", "seed", "compression"},
                 "phantom");
  if (phantom) {
    section.one_of("phantom", {"thorax"});
    read_phantom(section, settings);
  } else {
    settings.scan = given[0] == "folder" ? section.folder("folder") : section.file("file");
  }
}

Extent read_patch(const Section& section, const Extent& fallback) {
  const std::vector<double> sides = section.numbers(
      "patch", 3, 8, 512,
      std::vector<double>{static_cast<double>(fallback.x), static_cast<double>(fallback.y),
                          static_cast<double>(fallback.z)});
  for (const double side : sides)
    if (side != std::floor(side))
      section.fail("patch", fmt::format("a side of {} voxels", side), "whole numbers");
  return {static_cast<std::int64_t>(sides[0]), static_cast<std::int64_t>(sides[1]),
          static_cast<std::int64_t>(sides[2])};
}

void read_normalisation(const Section& section, CtNormalisation& normalisation) {
  constexpr double farthest_hu = 32768;
  const std::vector<double> clip =
      section.numbers("clip_hu", 2, -farthest_hu, farthest_hu,
                      std::vector<double>{static_cast<double>(normalisation.clip_low_hu),
                                          static_cast<double>(normalisation.clip_high_hu)});
  if (!(clip[0] < clip[1])) section.fail("clip_hu", "a range that is empty", "[low, high]");
  normalisation.clip_low_hu = static_cast<float>(clip[0]);
  normalisation.clip_high_hu = static_cast<float>(clip[1]);
  normalisation.mean_hu = static_cast<float>(section.number(
      "mean_hu", -farthest_hu, farthest_hu, static_cast<double>(normalisation.mean_hu)));
  normalisation.sd_hu = static_cast<float>(
      section.number("sd_hu", 1e-3, farthest_hu, static_cast<double>(normalisation.sd_hu)));
}

void read_unet(const Section& workload, Settings& settings) {
  const std::optional<Section> table = workload.table("unet", unet_keys());
  if (!table) workload.fail("unet", "model = \"unet\" without [workload.unet]", "the network");
  const Section& section = *table;
  UNetSpec& spec = settings.unet;
  spec.features = static_cast<int>(section.integer("features", 1, 512, spec.features));
  spec.most_features =
      static_cast<int>(section.integer("most_features", 1, 2048, spec.most_features));
  spec.stages = static_cast<int>(section.integer("stages", 2, 6, spec.stages));
  spec.classes = static_cast<int>(section.integer("classes", 2, 256));
  spec.patch = read_patch(section, spec.patch);
  spec.step = section.number("step", 0.05, 1, spec.step);
  const std::string mirror = section.one_of("mirror", {"none", "xyz"}, "none");
  spec.mirror.fill(mirror == "xyz");
  spec.logits_limit_bytes = static_cast<std::int64_t>(
      section.bytes("logits_limit", static_cast<double>(spec.logits_limit_bytes)));
  read_normalisation(section, spec.normalisation);
  check_unet(spec, section.file_name());
  const std::string precision = section.one_of("precision", {"fp32", "tf32", "fp16"}, "fp32");
  settings.precision = precision == "fp32"   ? Precision::fp32
                       : precision == "tf32" ? Precision::tf32
                                             : Precision::fp16;
  const bool seeded = section.has("weights_seed");
  if (seeded == workload.has("weights"))
    section.fail("weights_seed",
                 seeded ? "both weights and unet.weights_seed" : "neither weights nor weights_seed",
                 "a file of weights in [workload], or a seed here, one of them");
  settings.weights =
      seeded ? seeded_weights(
          spec, static_cast<std::uint64_t>(section.integer("weights_seed", 0, highest_seed)))
             : read_weights(workload.file("weights"), spec);
}

void check_model(const Section& section, const Settings& settings) {
  const bool masks = std::any_of(
      settings.recipe.stages.begin(), settings.recipe.stages.end(), [](const StageSettings& stage) {
        return stage.kind == StageKind::otsu || stage.kind == StageKind::threshold;
      });
  if (settings.model == Model::classical && !masks)
    section.fail("stage", "no otsu and no threshold in [[workload.stage]]",
                 "at least one stage that gives a mask");
  if (settings.model == Model::unet && masks)
    section.fail("stage", "a mask before the network",
                 "with model = \"unet\" only resample and denoising");
}

} // namespace

const std::vector<Key>& imaging_keys() {
  static const std::vector<Key> keys = {
      {"model", "classical or unet", "how a case is segmented"},
      {"phantom", "thorax",
       "the built-in scan, stored as a DICOM series and decoded for each case"},
      {"folder", "folder", "a DICOM series, the case; its files lie directly in the folder"},
      {"file", "file", "a NIfTI volume (.nii, .nii.gz), the case"},
      {"cases", "integer from 1 to 1000000",
       "the job; every case is the same scan; 1 where absent"},
      {"size_voxels", "[3 numbers]", "phantom: columns, rows and slices, from 16 to 2048"},
      {"spacing_mm", "[3 numbers]", "phantom: sides of a voxel, from 0.05 to 50"},
      {"nodules", "integer from 0 to 32", "phantom: in the lungs; 6 where absent"},
      {"noise_hu", "number from 0 to 500", "phantom: standard deviation; 15 where absent"},
      {"partial_volume_samples", "integer from 1 to 16",
       "phantom: points along each side of a voxel whose HU are averaged, 1 is no partial volume; "
       "where absent edges change linearly over a voxel"},
      {"contrast", "true or false", "phantom: contrast agent in the blood; false where absent"},
      {"seed", "integer >= 0", "phantom: of its noise; 1 where absent"},
      {"compression", "none, jpeg-2000 or jpeg-ls",
       "phantom: of its slices, all lossless; jpeg-2000 where absent"},
      {"memory", "amount of data",
       "what a case may take in the memory of its path; above it the volume is cut into slabs; "
       "what "
       "is free where absent"},
      {"window_level_hu", "number from -2000 to 4000", "of the pictures; 40 where absent"},
      {"window_width_hu", "number from 1 to 8000", "of the pictures; 400 where absent"},
      {"weights", "file", "unet: trained weights (.npz, .safetensors)"},
      {"unet", "section", "the network, as below"},
      {"stage", "sections", "what is done, one after the other, as below"},
  };
  return keys;
}

const std::vector<Key>& unet_keys() {
  static const std::vector<Key> keys = {
      {"features", "integer from 1 to 512", "of the first stage, doubled a stage; 32 where absent"},
      {"most_features", "integer from 1 to 2048", "no stage has more; 320 where absent"},
      {"stages", "integer from 2 to 6", "resolutions; 6 where absent"},
      {"classes", "integer from 2 to 256", "the background included"},
      {"patch", "[3 numbers]",
       "voxels of a window, multiples of 2^(stages - 1); [128, 128, 128] where absent"},
      {"step", "number from 0.05 to 1", "between windows, in windows; 0.5 where absent"},
      {"mirror", "none or xyz",
       "xyz runs every window in all 8 reflections and averages; none where absent"},
      {"precision", "fp32, tf32 or fp16",
       "of the GPU side's convolutions; the CPU side computes in fp32; fp32 where absent"},
      {"logits_limit", "amount of data", "of the logits that are kept at once; 4 GiB where absent"},
      {"clip_hu", "[2 numbers]", "HU are clipped to this range first; [-1000, 1000] where absent"},
      {"mean_hu", "number from -32768 to 32768", "then this is subtracted; 0 where absent"},
      {"sd_hu", "number from 0.001 to 32768", "and then divided by this; 500 where absent"},
      {"weights_seed", "integer >= 0",
       "random weights, for timing: the labels mean nothing; in place of weights"},
  };
  return keys;
}

Settings read_settings(const Section& section) {
  Settings settings;
  settings.model =
      section.one_of("model", {"classical", "unet"}) == "unet" ? Model::unet : Model::classical;
  read_input(section, settings);
  settings.cases = section.integer("cases", 1, 1'000'000, settings.cases);
  settings.memory_bytes = section.bytes("memory", 0.0);
  settings.window_level_hu =
      section.number("window_level_hu", -2000, 4000, settings.window_level_hu);
  settings.window_width_hu = section.number("window_width_hu", 1, 8000, settings.window_width_hu);
  settings.recipe = read_recipe(section);
  refuse_without(section, settings.model == Model::unet, {"unet", "weights"}, "model = \"unet\"");
  if (settings.model == Model::unet) read_unet(section, settings);
  check_model(section, settings);
  return settings;
}

} // namespace breakeven::imaging
