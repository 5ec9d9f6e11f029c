#include "workloads/imaging/phantom.h"
#include "workloads/imaging/verify.h"

#include <doctest/doctest.h>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

Settings bone_above(double low_hu) {
  Settings settings;
  settings.phantom.extent = {48, 40, 32};
  settings.phantom.spacing_mm = {8, 8, 8};
  StageSettings threshold;
  threshold.low_hu = low_hu;
  threshold.high_hu = 32767;
  settings.recipe.stages = {threshold};
  return settings;
}

} // namespace

TEST_CASE("both paths pass on the phantom's bones") {
  const Settings settings = bone_above(200);
  const CtImage scan = make_phantom(settings.phantom);
  for (const Path path : {Path::openmp, Path::host}) {
    const Verification verification = verify_path(settings, scan, path);
    CAPTURE(verification.evidence);
    CHECK(verification.passed);
  }
}

TEST_CASE("a recipe that labels nothing verifies nothing") {
  const Settings settings = bone_above(3500);
  const Verification verification =
      verify_path(settings, make_phantom(settings.phantom), Path::openmp);
  CHECK_FALSE(verification.passed);
  CHECK(verification.evidence.find("0 labels on 0 voxels") != std::string::npos);
}
