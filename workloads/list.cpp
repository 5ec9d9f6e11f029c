#include "workloads/list.h"

#include "sim/errors.h"
#include "workloads/imaging/imaging.h"
#include "workloads/imaging/settings.h"
#include "workloads/render/render.h"
#include "workloads/risk/risk.h"
#include "workloads/risk/settings.h"

namespace breakeven {

namespace {

struct Entry {
  WorkloadKeys keys;
  Workload (*make)(const Section& section);
};

// One line a workload.
const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {{"imaging", imaging::imaging_keys()}, imaging::make_imaging_workload},
      {{"render", render::render_keys()}, render::make_render_workload},
      {{"risk", risk::risk_keys()}, risk::make_risk_workload},
  };
  return all;
}

} // namespace

const std::vector<WorkloadKeys>& workload_keys() {
  static const std::vector<WorkloadKeys> keys = [] {
    std::vector<WorkloadKeys> all;
    for (const Entry& entry : entries())
      all.push_back(entry.keys);
    return all;
  }();
  return keys;
}

Workload make_workload(const Scenario& scenario) {
  for (const Entry& entry : entries())
    if (entry.keys.kind == scenario.workload_kind) return entry.make(*scenario.workload);
  scenario.workload->fail("kind", "'" + scenario.workload_kind + "'", "a known kind of workload");
}

} // namespace breakeven
