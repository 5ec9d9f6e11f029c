#include "tests/documented_keys.h"
#include "workloads/render/settings.h"

#include <doctest/doctest.h>

using namespace breakeven;

TEST_CASE("scenarios/README.md documents exactly the keys of the render workload") {
  auto documented = documented_keys();
  CHECK(documented["`[workload]` with kind = \"render\""] == rows_of(render::render_keys()));
  CHECK(documented["`[[workload.material]]` with kind = \"render\""]
        == rows_of(render::render_material_keys()));
}
