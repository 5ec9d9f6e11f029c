// From seconds to time-to-result and money. Takes projections, offers and the job, gives what one
// run of the job takes from set-up to download and what it costs. Leaves out what excluded() lists.
#pragma once

#include "sim/project/projection.h"

#include <string>
#include <vector>

namespace breakeven {

struct Priced {
  Projection projection;
  std::string option;          ///< "on-demand" or "spot"
  bool priced = false;         ///< false: no price is known; costs stay unset, never zero
  double price_usd_per_h = 0;  ///< of one machine
  double price_original_per_h = 0;
  std::string currency, price_as_of, price_source, region;
  double usd_per_currency = 1;
  std::string rate_as_of, rate_source;
  int billing_step_s = 1, billing_minimum_s = 0;
  Interval interruptions_per_h; ///< of one machine
  Interval time_to_result_s;   ///< one run: set-up, ingest, compute, rework, download
  Interval cost_usd;           ///< one run, `count` machines
  // The parts of time to result, at their likely values.
  double setup_s = 0, ingest_s = 0, compute_s = 0, rework_s = 0, download_s = 0;
  std::string interruption_source;
  std::string note;            ///< why there is no price
};

/// Seconds that `count` machines need for `units` units, at one quantile point.
double compute_seconds(double fixed_s, double per_unit_s, double units, int count);

/// What is billed for `seconds` on one machine: rounded up to the step, at least the minimum.
double billed_seconds(double seconds, int billing_step_s, int billing_minimum_s);

std::vector<Priced> price(const Scenario& scenario, const std::vector<Projection>& projections,
                          const Catalog& catalog);

/// What the price leaves out, for the memo: one line each.
std::vector<std::string> excluded();

} // namespace breakeven
