#include "sim/catalog/catalog.h"

#include "sim/catalog/columns.h"
#include "sim/catalog/csv.h"
#include "sim/errors.h"

#include <algorithm>
#include <functional>
#include <set>

namespace breakeven {

namespace {

/// The first whose member equals `name`; nullptr where there is none.
template <class Row>
const Row* find_by(const std::vector<Row>& rows, std::string Row::*member,
                   const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.*member == name; });
  return found == rows.end() ? nullptr : &*found;
}

/// Reads one file; `key` names what may not stand twice.
template <class Row, class Key>
std::vector<Row> read_rows(const std::filesystem::path& file,
                           const std::vector<CatalogColumn<Row>>& columns, Key key,
                           const std::function<void(const Row&, const CsvRow&)>& check) {
  std::vector<std::string> required;
  for (const auto& column : columns)
    if (!column.later) required.push_back(column.name);
  const auto csv = read_csv(file, required);
  const auto is_there = [&](const std::string& name) {
    return std::find(csv->header.begin(), csv->header.end(), name) != csv->header.end();
  };
  std::vector<Row> rows;
  std::set<std::string> seen;
  for (const CsvRow& line : csv->rows) {
    Row row;
    for (const auto& column : columns)
      if (!column.later || is_there(column.name)) column.read(row, line, column.name);
    if (!seen.insert(key(row)).second)
      throw BadInput(line.file(), line.line(), "'" + key(row) + "' a second time", "each once");
    check(row, line);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw BadInput(file.string(), 1, "no rows", "at least one row");
  return rows;
}

void check_gpu(const Gpu& gpu, const CsvRow& row) {
  if (gpu.sustained_clock_mhz > gpu.clock_mhz) row.fail("sustained_clock_mhz", "at most clock_mhz");
}

void check_rate(const ExchangeRate& rate, const CsvRow& row) {
  if (rate.currency == "USD" && rate.usd != 1) row.fail("usd", "1 for USD");
}

void check_instance(const Catalog& catalog, const Instance& instance, const CsvRow& row) {
  if (instance.id != instance.provider + ":" + instance.type) row.fail("id", "provider:type");
  if (catalog.cpu(instance.cpu) == nullptr) row.fail("cpu", "a name from cpus.csv");
  if (!instance.gpu.empty() && catalog.gpu(instance.gpu) == nullptr)
    row.fail("gpu", "a name from gpus.csv, or an empty cell");
  if (instance.gpu.empty() != (instance.gpu_count == 0))
    row.fail("gpu_count", "0 without a GPU, at least 1 with one");
  if (instance.host_link_gb_per_s && instance.gpu.empty())
    row.fail("host_link_gb_per_s", "an empty cell for a machine without a GPU");
  if (instance.physical_cores > instance.vcpus) row.fail("physical_cores", "at most the vCPUs");
}

void check_offer_names(const Catalog& catalog, const Offer& offer, const CsvRow& row) {
  if (catalog.instance(offer.instance) == nullptr) row.fail("instance", "an id from instances.csv");
  if (find_by(catalog.exchange_rates, &ExchangeRate::currency, offer.currency) == nullptr)
    row.fail("currency", "one with a row in exchange_rates.csv");
}

/// Catches a price a month, a day or a minute in the cell of the hour, and a wrong currency or
/// decimal point. The limits are ours: well outside what clouds charged in 2026 (0.01 to 114 USD an
/// hour, about 12 for the dearest GPU).
void check_price(const Catalog& catalog, const Offer& offer, const CsvRow& row) {
  const Instance& instance = *catalog.instance(offer.instance);
  const double usd_per_h = offer.price_per_h * catalog.usd_per(offer.currency);
  if (usd_per_h < 0.005 || usd_per_h > 500)
    row.fail("price_per_h", "a price between 0.005 and 500 USD an hour");
  if (instance.gpu_count > 0 && usd_per_h > 100.0 * instance.gpu_count)
    row.fail("price_per_h", "at most 100 USD an hour for each GPU");
  if (instance.gpu_count == 0 && usd_per_h > 2.0 * instance.vcpus)
    row.fail("price_per_h", "at most 2 USD an hour for each vCPU");
}

void check_interruptions(const Offer& offer, const CsvRow& row) {
  if (offer.interruptions_per_h_low > offer.interruptions_per_h_likely
      || offer.interruptions_per_h_likely > offer.interruptions_per_h_high)
    row.fail("interruptions_per_h_likely", "low <= likely <= high");
  if (offer.option == "on-demand" && offer.interruptions_per_h_high > 0)
    row.fail("interruptions_per_h_high", "0 for a machine on demand");
  if (offer.option == "spot" && offer.interruptions_per_h_high == 0)
    row.fail("interruptions_per_h_high", "a rate above 0 for a spot machine");
  if (offer.option == "spot") row.required_text("interruption_source");
}

} // namespace

const Gpu* Catalog::gpu(const std::string& name) const { return find_by(gpus, &Gpu::name, name); }
const Cpu* Catalog::cpu(const std::string& name) const { return find_by(cpus, &Cpu::name, name); }
const Instance* Catalog::instance(const std::string& id) const {
  return find_by(instances, &Instance::id, id);
}

const Offer* Catalog::offer(const std::string& instance, const std::string& option) const {
  const Offer* cheapest = nullptr;
  const auto usd = [&](const Offer& offer) { return offer.price_per_h * usd_per(offer.currency); };
  for (const Offer& offer : offers)
    if (offer.instance == instance && offer.option == option
        && (cheapest == nullptr || usd(offer) < usd(*cheapest)))
      cheapest = &offer;
  return cheapest;
}

double Catalog::usd_per(const std::string& currency) const {
  if (const ExchangeRate* rate = find_by(exchange_rates, &ExchangeRate::currency, currency))
    return rate->usd;
  throw Failure("no exchange rate for " + currency);
}

Catalog read_catalog(const std::filesystem::path& folder) {
  Catalog catalog;
  catalog.gpus = read_rows<Gpu>(
      folder / "gpus.csv", gpu_columns(), [](const Gpu& gpu) { return gpu.name; }, check_gpu);
  catalog.cpus = read_rows<Cpu>(
      folder / "cpus.csv", cpu_columns(), [](const Cpu& cpu) { return cpu.name; },
      [](const Cpu&, const CsvRow&) {});
  catalog.exchange_rates = read_rows<ExchangeRate>(
      folder / "exchange_rates.csv", exchange_rate_columns(),
      [](const ExchangeRate& rate) { return rate.currency; }, check_rate);
  catalog.instances = read_rows<Instance>(
      folder / "instances.csv", instance_columns(),
      [](const Instance& instance) { return instance.id; },
      [&](const Instance& instance, const CsvRow& row) { check_instance(catalog, instance, row); });
  catalog.offers = read_rows<Offer>(
      folder / "offers.csv", offer_columns(),
      [](const Offer& offer) { return offer.instance + " " + offer.option + " " + offer.region; },
      [&](const Offer& offer, const CsvRow& row) {
        check_offer_names(catalog, offer, row);
        check_price(catalog, offer, row);
        check_interruptions(offer, row);
      });
  return catalog;
}

} // namespace breakeven
