// The steps of a study that `run` and `sweep` share, each a call or two of the stages. Takes what
// the stages take, and writes the result folder. Leaves out reading the command line and printing.
#pragma once

#include "sim/report/report.h"
#include "sim/unit_folder.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace breakeven {

/// BadInput where the catalog does not have the instance of a target.
void check_targets(const Scenario& scenario, const Catalog& catalog);

/// Runs the workload here; what it makes of its units waits in `units`, to be published into
/// `folder`. `title` goes before what the progress line says. No rows where the user stopped it too
/// early.
std::vector<Measurement> measure_here(const Scenario& scenario, std::optional<UnitFolder>& units,
                                      const std::filesystem::path& folder,
                                      const std::string& title = "");

/// All that comes after measuring. Writes the result folder.
std::vector<Comparison> conclude(const Scenario& scenario, const Catalog& catalog,
                                 const std::vector<Measurement>& measurements,
                                 const std::filesystem::path& folder);

} // namespace breakeven
