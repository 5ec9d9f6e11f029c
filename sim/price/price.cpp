#include "sim/price/price.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {

/// Share of the nominal network rate that a bulk copy gets. Assumed: protocol overhead, bursts that
/// run out and a far end that is slower.
constexpr Interval network_share{0.3, 0.6, 0.9};
constexpr double seconds_per_hour = 3600;

struct Parts {
  double setup_s = 0, ingest_s = 0, compute_s = 0, rework_s = 0, download_s = 0;
  double total() const { return setup_s + ingest_s + compute_s + rework_s + download_s; }
};

bool is_here(const std::string& instance) { return instance == "local" || instance == "local-gpu"; }

void add_note(Priced& priced, const std::string& note) {
  priced.note += (priced.note.empty() ? "" : "; ") + note;
}

// ---- price ----

const ExchangeRate* rate_for(const Catalog& catalog, const std::string& currency) {
  for (const ExchangeRate& rate : catalog.exchange_rates)
    if (rate.currency == currency) return &rate;
  return nullptr;
}

void set_price(Priced& priced, double amount_per_h, const std::string& currency,
               const Catalog& catalog) {
  priced.priced = true;
  priced.price_original_per_h = amount_per_h;
  priced.currency = currency;
  priced.usd_per_currency = currency == "USD" ? 1 : catalog.usd_per(currency);
  priced.price_usd_per_h = amount_per_h * priced.usd_per_currency;
  if (const ExchangeRate* rate = currency == "USD" ? nullptr : rate_for(catalog, currency)) {
    priced.rate_as_of = rate->as_of;
    priced.rate_source = rate->source;
  }
}

void price_from_offer(Priced& priced, const Offer& offer, const Catalog& catalog) {
  set_price(priced, offer.price_per_h, offer.currency, catalog);
  priced.price_as_of = offer.as_of;
  priced.price_source = offer.source;
  priced.region = offer.region;
}

void price_from_scenario(Priced& priced, const Scenario& scenario, const Target& target,
                         const Catalog& catalog) {
  set_price(priced, target.price->amount_per_h, target.price->currency, catalog);
  priced.price_source = target.line > 0
                            ? fmt::format("the scenario, {}:{}", scenario.file, target.line)
                            : "the scenario, " + scenario.file;
}

void set_interruptions(Priced& priced, const Offer* offer) {
  if (priced.option != "spot") return;
  if (offer == nullptr) {
    add_note(priced, "no interruption rate is known for this spot machine: none is counted");
    return;
  }
  priced.interruptions_per_h = {offer->interruptions_per_h_low, offer->interruptions_per_h_likely,
                                offer->interruptions_per_h_high};
  priced.interruption_source = offer->interruption_source;
}

void find_price(Priced& priced, const Scenario& scenario, const Target& target,
                const Catalog& catalog) {
  const Offer* offer =
      is_here(target.instance) ? nullptr : catalog.offer(target.instance, target.option);
  if (target.price)
    price_from_scenario(priced, scenario, target, catalog);
  else if (offer != nullptr)
    price_from_offer(priced, *offer, catalog);
  else if (is_here(target.instance))
    add_note(priced, "this machine has no price until its target gives one");
  else
    add_note(priced, fmt::format("no {} price is in the catalog", target.option));
  set_interruptions(priced, offer);
}

// ---- time ----

double rework_seconds(double interruptions_per_h, double compute_s, double setup_s, double fixed_s,
                      double unit_in_flight_s) {
  return interruptions_per_h * compute_s / seconds_per_hour
         * (setup_s + fixed_s + unit_in_flight_s / 2);
}

/// One unit on each worker of a machine, or divided among several: what is in flight when it is
/// interrupted.
double units_in_flight_s(const Projection& projection, double units, double Interval::*point) {
  return unit_on_workers_s(projection, units).*point
         + projection.workers * projection.shared_unit_s.*point;
}

Interval network_seconds(double bytes, const Instance& instance) {
  const double nominal_s = bytes * 8 / (instance.network_gbit_per_s * 1e9);
  return {nominal_s / network_share.high, nominal_s / network_share.likely,
          nominal_s / network_share.low};
}

struct Transfers {
  double setup_s = 0;
  Interval ingest_s, download_s;
};

Transfers transfers_of(Priced& priced, const Job& job, const Instance* instance) {
  Transfers transfers;
  if (is_here(priced.projection.instance)) return transfers;
  transfers.setup_s = job.setup_s;
  const double input = job.input_bytes * job.input_change;
  const double output = job.output_bytes / priced.projection.count;
  if (input + output <= 0) return transfers;
  if (instance == nullptr || instance->network_gbit_per_s <= 0) {
    add_note(priced, "network unknown: ingest and download are left out");
    return transfers;
  }
  transfers.ingest_s = network_seconds(input, *instance);
  transfers.download_s = network_seconds(output, *instance);
  return transfers;
}

Parts parts_at(const Priced& priced, const Transfers& transfers, double Interval::*point) {
  const Projection& projection = priced.projection;
  Parts parts;
  parts.setup_s = transfers.setup_s;
  parts.ingest_s = transfers.ingest_s.*point;
  parts.compute_s = projection.end_to_end_s.*point;
  parts.rework_s = rework_seconds(priced.interruptions_per_h.*point, parts.compute_s, parts.setup_s,
                                  projection.fixed_s.*point,
                                  units_in_flight_s(projection, projection.job_units, point));
  parts.download_s = transfers.download_s.*point;
  return parts;
}

double cost_usd(const Priced& priced, double seconds) {
  if (!priced.priced) return 0;
  return priced.projection.count
         * billed_seconds(seconds, priced.billing_step_s, priced.billing_minimum_s)
         * priced.price_usd_per_h / seconds_per_hour;
}

void set_times_and_cost(Priced& priced, const Transfers& transfers) {
  for (double Interval::*point : {&Interval::low, &Interval::likely, &Interval::high}) {
    const Parts parts = parts_at(priced, transfers, point);
    priced.time_to_result_s.*point = parts.total();
    priced.cost_usd.*point = cost_usd(priced, parts.total());
  }
  const Parts likely = parts_at(priced, transfers, &Interval::likely);
  priced.setup_s = likely.setup_s;
  priced.ingest_s = likely.ingest_s;
  priced.compute_s = likely.compute_s;
  priced.rework_s = likely.rework_s;
  priced.download_s = likely.download_s;
}

Priced price_one(const Scenario& scenario, const Target& target, const Projection& projection,
                 const Catalog& catalog) {
  const Instance* instance = catalog.instance(target.instance);
  Priced priced;
  priced.projection = projection;
  priced.option = target.option;
  if (instance != nullptr) {
    priced.billing_step_s = instance->billing_step_s;
    priced.billing_minimum_s = instance->billing_minimum_s;
  }
  find_price(priced, scenario, target, catalog);
  if (projection.available)
    set_times_and_cost(priced, transfers_of(priced, scenario.job, instance));
  return priced;
}

} // namespace

double compute_seconds(double fixed_s, double per_unit_s, double units, int count) {
  return fixed_s + std::ceil(units / count) * per_unit_s;
}

double billed_seconds(double seconds, int billing_step_s, int billing_minimum_s) {
  const double step = std::max(1, billing_step_s);
  // Sums of parts are not exact: a hair over a whole step is that step.
  constexpr double rounding_noise = 1e-9;
  return std::max<double>(std::ceil(seconds / step - rounding_noise) * step, billing_minimum_s);
}

LikelyRun likely_run(const Priced& priced, double units, double compute_scale) {
  const Projection& projection = priced.projection;
  LikelyRun run;
  run.compute_s = compute_scale * compute_seconds(projection, units, &Interval::likely);
  run.rework_s =
      rework_seconds(priced.interruptions_per_h.likely, run.compute_s, priced.setup_s,
                     compute_scale * projection.fixed_s.likely,
                     compute_scale * units_in_flight_s(projection, units, &Interval::likely));
  run.time_to_result_s = priced.setup_s + priced.ingest_s + run.compute_s + run.rework_s
                         + priced.download_s * units / projection.job_units;
  run.cost_usd = cost_usd(priced, run.time_to_result_s);
  return run;
}

std::vector<Priced> price(const Scenario& scenario, const std::vector<Projection>& projections,
                          const Catalog& catalog) {
  std::vector<Priced> priced;
  for (std::size_t i = 0; i < projections.size() && i < scenario.targets.size(); ++i)
    priced.push_back(price_one(scenario, scenario.targets[i], projections[i], catalog));
  return priced;
}

std::vector<std::string> excluded() {
  return {"porting the code, and validating its results",
          "software licences per core, machine or GPU",
          "storage at rest between runs",
          "egress fees for what is downloaded",
          "machines left running between runs",
          "waiting for capacity or for a spot machine to come back",
          "your own line, where it is slower than the machine's network",
          "preparing the data on your side",
          "the team's learning",
          "changes of spot prices and exchange rates after their date",
          "negotiated, reserved and committed-use discounts",
          "taxes and support plans",
          "energy and emissions"};
}

} // namespace breakeven
