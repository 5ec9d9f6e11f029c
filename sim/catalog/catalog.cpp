#include "sim/catalog/catalog.h"

#include "sim/catalog/csv.h"
#include "sim/catalog/columns.h"
#include "sim/errors.h"

#include <algorithm>
#include <functional>
#include <set>

namespace breakeven {

namespace {

/// The first whose member equals `name`; nullptr where there is none.
template <class Row>
const Row* find_by(const std::vector<Row>& rows, std::string Row::* member, const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.*member == name; });
  return found == rows.end() ? nullptr : &*found;
}

/// Reads one file; `key` names what may not stand twice.
template <class Row, class Key>
std::vector<Row> read_rows(const std::filesystem::path& file,
                           const std::vector<CatalogColumn<Row>>& columns, Key key,
                           const std::function<void(const Row&, const CsvRow&)>& check) {
  std::vector<std::string> names;
  for (const auto& column : columns)
    names.push_back(column.name);
  const auto csv = read_csv(file, names);
  std::vector<Row> rows;
  std::set<std::string> seen;
  for (const CsvRow& line : csv->rows) {
    Row row;
    for (const auto& column : columns)
      column.read(row, line, column.name);
    if (!seen.insert(key(row)).second)
      throw BadInput(line.file(), line.line(), "'" + key(row) + "' a second time", "each once");
    check(row, line);
    rows.push_back(std::move(row));
  }
  if (rows.empty()) throw BadInput(file.string(), 1, "no rows", "at least one row");
  return rows;
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
  const auto nothing_more = [](const auto&, const CsvRow&) {};
  catalog.gpus = read_rows<Gpu>(
      folder / "gpus.csv", gpu_columns(), [](const Gpu& gpu) { return gpu.name; }, nothing_more);
  catalog.cpus = read_rows<Cpu>(
      folder / "cpus.csv", cpu_columns(), [](const Cpu& cpu) { return cpu.name; }, nothing_more);
  catalog.exchange_rates = read_rows<ExchangeRate>(
      folder / "exchange_rates.csv", exchange_rate_columns(),
      [](const ExchangeRate& rate) { return rate.currency; }, nothing_more);
  catalog.instances = read_rows<Instance>(
      folder / "instances.csv", instance_columns(),
      [](const Instance& instance) { return instance.id; },
      [&](const Instance& instance, const CsvRow& line) {
        if (catalog.cpu(instance.cpu) == nullptr) line.fail("cpu", "a name from cpus.csv");
        if (!instance.gpu.empty() && catalog.gpu(instance.gpu) == nullptr)
          line.fail("gpu", "a name from gpus.csv, or an empty cell");
        if (instance.gpu.empty() != (instance.gpu_count == 0))
          line.fail("gpu_count", "0 without a GPU, at least 1 with one");
        if (instance.physical_cores > instance.vcpus)
          line.fail("physical_cores", "at most the vCPUs");
        if (instance.id != instance.provider + ":" + instance.type)
          line.fail("id", "provider:type");
      });
  catalog.offers = read_rows<Offer>(
      folder / "offers.csv", offer_columns(),
      [](const Offer& offer) { return offer.instance + " " + offer.option + " " + offer.region; },
      [&](const Offer& offer, const CsvRow& line) {
        if (catalog.instance(offer.instance) == nullptr)
          line.fail("instance", "an id from instances.csv");
        if (find_by(catalog.exchange_rates, &ExchangeRate::currency, offer.currency) == nullptr)
          line.fail("currency", "one with a row in exchange_rates.csv");
        const double in_usd = offer.price_per_h * catalog.usd_per(offer.currency);
        if (in_usd < 0.005 || in_usd > 500)
          line.fail("price_per_h", "a price between 0.005 and 500 USD an hour");
        if (offer.interruptions_per_h_low > offer.interruptions_per_h_likely
            || offer.interruptions_per_h_likely > offer.interruptions_per_h_high)
          line.fail("interruptions_per_h_likely", "low <= likely <= high");
      });
  return catalog;
}

} // namespace breakeven
