#include "tests/documented_keys.h"
#include "workloads/imaging/settings.h"

#include <doctest/doctest.h>

using namespace breakeven;

TEST_CASE("scenarios/README.md documents exactly the keys of the imaging workload") {
  auto documented = documented_keys();
  CHECK(documented["`[workload]` with kind = \"imaging\""] == rows_of(imaging::imaging_keys()));
  CHECK(documented["`[[workload.stage]]` with kind = \"imaging\""]
        == rows_of(imaging::stage_keys()));
  CHECK(documented["`[workload.unet]` with kind = \"imaging\""] == rows_of(imaging::unet_keys()));
}
