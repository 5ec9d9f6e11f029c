// The keys of [workload] with kind = "imaging": what is accepted, and that each error names file,
// line, what was found and what was expected.
#include "sim/errors.h"
#include "sim/scenario/scenario.h"
#include "tests/test_folder.h"
#include "workloads/imaging/settings.h"

#include <doctest/doctest.h>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

/// A scenario whose [workload] holds these lines, the first of them line 5 of the file.
Settings read(const std::string& lines) {
  const TestFolder folder;
  folder.write("scan.nii", "x");
  std::filesystem::create_directory(folder / "series");
  const auto file = folder.write("s.toml", "schema = 1\nname = \"s\"\n[workload]\n"
                                           "kind = \"imaging\"\n"
                                               + lines + "\n[[target]]\ninstance = \"local\"\n");
  const Scenario scenario = read_scenario(file.string(), {}, {{"imaging", imaging_keys()}});
  return read_settings(*scenario.workload);
}

bool is_refused(const std::string& lines, const std::string& place, const std::string& words) {
  std::string message;
  try {
    read(lines);
  } catch (const BadInput& error) {
    message = error.what();
    message = message.substr(std::min(message.find("s.toml"), message.size()));
  }
  CAPTURE(message);
  const bool right = message.starts_with(place) && message.find(words) != std::string::npos;
  CHECK(right);
  return right;
}

const std::string phantom = "model = \"classical\"\nphantom = \"thorax\"\n"
                            "size_voxels = [64, 64, 32]\nspacing_mm = [5, 5, 8]\n";
const std::string bone = "[[workload.stage]]\ndo = \"threshold\"\nlow_hu = 200\n";
const std::string network = "model = \"unet\"\nphantom = \"thorax\"\n"
                            "size_voxels = [64, 64, 32]\nspacing_mm = [5, 5, 8]\n";
const std::string small_net = "[workload.unet]\nfeatures = 2\nstages = 2\nclasses = 3\n"
                              "patch = [16, 16, 16]\nweights_seed = 1\n";

} // namespace

TEST_CASE("a phantom, a folder and a file are read, with what is usual for the rest") {
  const Settings a = read(phantom + bone);
  CHECK(a.model == Model::classical);
  CHECK(a.scan.empty());
  CHECK(a.phantom.extent == Extent{64, 64, 32});
  CHECK(a.phantom.spacing_mm[2] == 8);
  CHECK(a.compression == PixelCompression::jpeg_2000);
  CHECK(a.cases == 1);
  CHECK(a.memory_bytes == 0);
  CHECK(a.recipe.stages.size() == 1);
  CHECK(a.recipe.stages[0].high_hu == 32767);
  CHECK(read("model = \"classical\"\nfolder = \"series\"\n" + bone).scan.filename() == "series");
  CHECK(read("model = \"classical\"\nfile = \"scan.nii\"\nmemory = \"2 GiB\"\n" + bone).memory_bytes
        == 2.0 * 1024 * 1024 * 1024);
}

TEST_CASE("a network is read, with its weights from a seed") {
  const Settings a = read(network + small_net);
  CHECK(a.model == Model::unet);
  CHECK(a.unet.stages == 2);
  CHECK(a.unet.patch == Extent{16, 16, 16});
  CHECK(a.weights.layers.size() == unet_layers(a.unet).size());
  CHECK(a.precision == Precision::fp32);
}

TEST_CASE("one scan, and only keys that belong to it") {
  is_refused("model = \"classical\"\n" + bone, "s.toml:3", "neither phantom, folder nor file");
  is_refused(phantom + "file = \"scan.nii\"\n" + bone, "s.toml:9", "both phantom and file");
  is_refused("model = \"classical\"\nfile = \"scan.nii\"\nnodules = 3\n" + bone, "s.toml:7",
             "nodules without phantom");
  is_refused("model = \"classical\"\nfolder = \"scan.nii\"\n" + bone, "s.toml:6",
             "which is not a folder");
  is_refused("model = \"classical\"\nfile = \"series\"\n" + bone, "s.toml:6",
             "which is not a file");
  is_refused("model = \"classical\"\nfile = \"none.nii\"\n" + bone, "s.toml:6",
             "which does not exist");
}

TEST_CASE("sizes are whole numbers that the stages can index") {
  const std::string start = "model = \"classical\"\nphantom = \"thorax\"\nspacing_mm = [1, 1, 1]\n";
  is_refused(start + "size_voxels = [64, 64.5, 32]\n" + bone, "s.toml:8", "64.5");
  is_refused(start + "size_voxels = [2048, 2048, 2048]\n" + bone, "s.toml:8", "8589934592");
  is_refused(start + "size_voxels = [64, 64]\n" + bone, "s.toml:8", "3 numbers");
  is_refused(start + "size_voxels = [64, 64, 0]\n" + bone, "s.toml:8", "16");
}

TEST_CASE("partial volume is a linear edge unless a number of samples is asked for") {
  CHECK(read(phantom + bone).phantom.partial_volume_samples == 0);
  for (const int samples : {1, 16})
    CHECK(read(phantom + "partial_volume_samples = " + std::to_string(samples) + "\n" + bone)
              .phantom.partial_volume_samples
          == samples);
  for (const std::string value : {"0", "17", "-1", "2.5", "\"2\""})
    is_refused(phantom + "partial_volume_samples = " + value + "\n" + bone, "s.toml:9",
               "partial_volume_samples");
  is_refused(phantom + "partial_volume_samples = 17\n" + bone, "s.toml:9", "from 1 to 16");
  is_refused("model = \"classical\"\nfile = \"scan.nii\"\npartial_volume_samples = 2\n" + bone,
             "s.toml:7", "partial_volume_samples without phantom");
}

TEST_CASE("a stage takes its own keys and no others") {
  is_refused(phantom + "[[workload.stage]]\ndo = \"median\"\nradius_mm = 2\n" + bone, "s.toml:11",
             "radius_mm in a stage that does \"median\"");
  is_refused(phantom + "[[workload.stage]]\ndo = \"threshold\"\n", "s.toml", "low_hu");
  is_refused(phantom + "[[workload.stage]]\ndo = \"treshold\"\nlow_hu = 1\n", "s.toml:10",
             "did you mean \"threshold\"?");
  is_refused(phantom + bone + "[[workload.stage]]\ndo = \"components\"\nconnectivity = 8\n",
             "s.toml:14", "6, 18 or 26");
  is_refused(phantom + "[[workload.stage]]\ndo = \"threshold\"\nlow_hu = 300\nhigh_hu = 200\n",
             "s.toml:12", "low_hu not below high_hu");
}

TEST_CASE("a stage has something to work on") {
  is_refused(phantom + "[[workload.stage]]\ndo = \"open\"\nradius_mm = 1\n" + bone, "s.toml:10",
             "a threshold or otsu before it");
  is_refused(phantom + bone + "[[workload.stage]]\ndo = \"keep\"\nlargest = 1\n", "s.toml:13",
             "components, watershed or keep right before it");
  is_refused(phantom + bone + "[[workload.stage]]\ndo = \"resample\"\nspacing_mm = 1\n",
             "s.toml:13", "one resampling, before any mask");
  is_refused(phantom + "[[workload.stage]]\ndo = \"median\"\n", "s.toml",
             "no otsu and no threshold");
  is_refused(phantom + "[[workload.stage]]\ndo = \"threshold\"\nlow_hu = 1\ninside = true\n",
             "s.toml:10", "a threshold or otsu before it");
}

TEST_CASE("a network needs its table and its weights, and makes the masks itself") {
  is_refused(network, "s.toml", "[workload.unet]");
  is_refused(network + "[workload.unet]\nclasses = 2\npatch = [16, 16, 16]\nstages = 2\n", "s.toml",
             "neither weights nor weights_seed");
  is_refused(network + bone + small_net, "s.toml", "a mask before the network");
  is_refused(phantom + bone + small_net, "s.toml", "unet without model = \"unet\"");
}
