#include "tests/documented_keys.h"
#include "workloads/risk/settings.h"

#include <doctest/doctest.h>

using namespace breakeven;

TEST_CASE("scenarios/README.md documents exactly the keys of the risk workload") {
  auto documented = documented_keys();
  CHECK(documented["`[workload]` with kind = \"risk\""] == rows_of(risk::risk_keys()));
  CHECK(documented["`[workload.gbdt]` with kind = \"risk\""] == rows_of(risk::gbdt_keys()));
  CHECK(documented["`[workload.mlp]` with kind = \"risk\""] == rows_of(risk::mlp_keys()));
  CHECK(documented["`[workload.var]` with kind = \"risk\""] == rows_of(risk::var_keys()));
}
