#include "workloads/risk/risk.h"

#include "workloads/risk/jobs.h"

namespace breakeven::risk {

Workload make_risk_workload(const Section& section) {
  const Settings settings = read_settings(section);
  if (settings.model == Model::var) return make_var_job(settings);
  if (settings.model == Model::mlp) return make_network_job(settings);
  return settings.task == Task::train ? make_training_job(settings) : make_scoring_job(settings);
}

} // namespace breakeven::risk
