// The question, read from a TOML file: what work, how much of it is measured, what the business
// runs, on which machines, and which claims it concerns. Takes a file and --set overrides, gives a
// Scenario or throws BadInput. Leaves the workload's own keys to the workload.
#pragma once

#include "sim/scenario/section.h"

#include <optional>
#include <string>
#include <vector>

namespace breakeven {

struct MeasureSettings {
  bool full = false;        ///< slice = "full": run the whole job; else "auto"
  double time_limit_s = 60; ///< cap on measuring, per path
  int threads = 0;          ///< OpenMP threads; 0 means all the machine offers
};

/// When the units of a steady service arrive; throughput.h states each profile.
enum class Arrivals { even, poisson, working_hours, night_batch };
std::string to_string(Arrivals arrivals); ///< "even", "poisson", "working-hours", "night-batch"

struct Job {
  double runs_per_month = 1;
  std::optional<double> deadline_s; ///< of one run, from set-up to download
  double input_bytes = 0;
  double input_change = 1; ///< share of the input that is new in each run
  double output_bytes = 0;
  double setup_s = 0; ///< boot and installation, per run
  // The same work as a steady service, beside the runs: unset where nobody asks.
  std::optional<double> units_per_day; ///< arriving, on average
  Arrivals arrivals = Arrivals::poisson;
  std::optional<double> turnaround_deadline_s; ///< 95 % of units are to be done within it
};

/// One machine to compare: the first is the baseline, the others are candidates.
struct Target {
  std::string instance;             ///< "aws:c6i.32xlarge", or "local"
  std::string option = "on-demand"; ///< "on-demand" or "spot"
  int count = 1;                    ///< machines of this kind working side by side
  std::optional<Money> price;       ///< overrides the catalog; needed for "local" to be priced
  long line = 0;                    ///< where the scenario names it
};

/// Somebody's published figure, kept with the study; nothing is computed from it yet.
struct Claim {
  std::string quantity, from, to, source;
};

struct Scenario {
  std::string file; ///< as the user gave it
  std::string name; ///< names the result folder
  std::string title;
  /// Over the effective keys (after --set, sorted) and the bytes of every input file, so that two
  /// results with one hash answer one question.
  std::string sha256;
  /// Over [workload] and its input files alone: measurements of one hash may be used again.
  std::string workload_sha256;
  std::string workload_kind;
  std::optional<Section> workload; ///< always present after read_scenario
  MeasureSettings measure;
  Job job;
  std::vector<Target> targets;
  std::vector<Claim> claims;
};

/// The keys that [workload] may hold for one kind; `kind` itself is common to all. The bytes of a
/// key whose type is exactly "file", and of every file in a "folder", are part of
/// Scenario::sha256.
struct WorkloadKeys {
  std::string kind;
  std::vector<Key> keys;
};

/// `overrides` are "section.key=value" texts from --set; a value is TOML, and bare text that is
/// not TOML is taken as a string, so --set job.deadline="1 h" needs no inner quotes. Targets and
/// claims count from 1: "target[1].count=2". An absent section is made.
Scenario read_scenario(const std::string& file, const std::vector<std::string>& overrides,
                       const std::vector<WorkloadKeys>& workloads);

/// Every section of a scenario but [workload], for the reader and for scenarios/README.md:
/// {"", ...top level}, {"measure", ...}, {"job", ...}, {"target", ...}, {"claim", ...}.
struct SectionKeys {
  std::string section;
  std::vector<Key> keys;
};
const std::vector<SectionKeys>& scenario_keys();

/// SHA-256 of bytes, in lower-case hexadecimal.
std::string sha256_of(const std::string& bytes);

} // namespace breakeven
