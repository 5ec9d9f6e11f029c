// The jobs of kind "risk", one for each model and task, as workloads. Leaves out what they run.
#pragma once

#include "workloads/risk/settings.h"
#include "workloads/workload.h"

namespace breakeven::risk {

/// Boosted trees, trained again and again on the same rows. A unit is a training.
Workload make_training_job(const Settings& settings);
/// A network, trained again and again on the same rows. A unit is a training.
Workload make_network_job(const Settings& settings);
/// Rows of a file, scored with a trained model. A unit is a batch: a file.
Workload make_scoring_job(const Settings& settings);
/// Value at risk and expected shortfall of a portfolio. A unit is a book.
Workload make_var_job(const Settings& settings);

} // namespace breakeven::risk
