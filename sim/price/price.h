// From seconds to time-to-result and money. Takes projections, offers and the job, gives what one
// run of the job takes from set-up to download and what it costs. Leaves out what excluded() lists.
#pragma once

#include "sim/project/projection.h"

#include <string>
#include <vector>

namespace breakeven {

struct Priced {
  Projection projection;
  std::string option;         ///< "on-demand" or "spot"
  bool priced = false;        ///< false: no price is known; costs stay unset, never zero
  double price_usd_per_h = 0; ///< of one machine
  double price_original_per_h = 0;
  std::string currency, price_as_of, price_source, region;
  double usd_per_currency = 1;
  std::string rate_as_of, rate_source;
  int billing_step_s = 1, billing_minimum_s = 0;
  Interval interruptions_per_h; ///< of one machine
  Interval time_to_result_s;    ///< one run: set-up, ingest, compute, rework, download
  Interval cost_usd;            ///< one run, `count` machines
  // The parts of time to result, at their likely values.
  // Their sum is time_to_result_s.likely.
  double setup_s = 0, ingest_s = 0, compute_s = 0, rework_s = 0, download_s = 0;
  std::string interruption_source;
  std::string note; ///< why there is no price, or what weakens it; "; " between
};

/// Seconds that `count` workers side by side need for `units` units when each unit keeps one worker
/// for `per_unit_s`, at one quantile point: fixed + ceil(units / count) * per unit. The general
/// case, machines of several GPUs that share CPU cores, is compute_seconds(Projection) of
/// projection.h.
double compute_seconds(double fixed_s, double per_unit_s, double units, int count);

/// What is billed for `seconds` on one machine: rounded up to the step, at least the minimum.
double billed_seconds(double seconds, int billing_step_s, int billing_minimum_s);

/// One run at the likely values.
struct LikelyRun {
  double compute_s = 0, rework_s = 0, time_to_result_s = 0;
  double cost_usd = 0; ///< 0 where there is no price
};
/// The run for another number of units, and with all computing taking `compute_scale` times as
/// long. Ingest stays (the input belongs to the job), the download grows with the units. At the
/// job's own units and scale 1 this is the likely point of `priced`. Never decreases with either
/// argument.
LikelyRun likely_run(const Priced& priced, double units, double compute_scale = 1);

/// One Priced per projection, in their order. What is assumed:
/// - time to result = set-up + ingest + compute + rework + download, one after the other; the
/// machine
///   is billed for all of it, each machine alone: count * billed_seconds(time) * price.
/// - ingest = input * input_change over the instance's own network (every machine needs all of it),
///   download = output / count; both at a share of the nominal rate. An unknown network leaves both
///   out, with a note.
/// - a spot interruption costs its machine the set-up, what a job pays once (loading, cold start)
/// and
///   half of the units in flight; the input need not be sent again. Rework is the expected one,
///   rate times compute hours, so `count` machines lose `count` times as much machine time.
/// - "local" and "local-gpu" hold the data and are set up: neither set-up, ingest nor download.
std::vector<Priced> price(const Scenario& scenario, const std::vector<Projection>& projections,
                          const Catalog& catalog);

/// What the price leaves out, for the memo: one line each.
std::vector<std::string> excluded();

} // namespace breakeven
