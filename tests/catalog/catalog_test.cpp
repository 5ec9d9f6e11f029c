#include "sim/catalog/catalog.h"
#include "sim/catalog/columns.h"
#include "sim/errors.h"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

using namespace breakeven;
namespace fs = std::filesystem;

namespace {

const fs::path shipped = fs::path(BREAKEVEN_SOURCE_DIR) / "scenarios" / "catalog";

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A copy of the shipped catalog that a test may spoil.
struct CatalogCopy {
  fs::path folder;
  CatalogCopy() {
    std::string pattern = (fs::temp_directory_path() / "breakeven-catalog-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
    for (const auto& entry : fs::directory_iterator(shipped))
      fs::copy(entry.path(), folder);
  }
  ~CatalogCopy() { fs::remove_all(folder); }
  void replace(const char* file, const std::string& from, const std::string& to) const {
    std::string text = bytes_of(folder / file);
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    std::ofstream(folder / file, std::ios::binary) << text;
  }
  std::string error() const {
    try {
      read_catalog(folder);
    } catch (const BadInput& error) {
      return error.what();
    }
    return "";
  }
};

} // namespace

TEST_CASE("every shipped row loads and refers to rows that exist") {
  const Catalog catalog = read_catalog(shipped);
  CHECK(catalog.instances.size() >= 40);
  for (const Instance& instance : catalog.instances) {
    CAPTURE(instance.id);
    CHECK(catalog.cpu(instance.cpu) != nullptr);
    CHECK((instance.gpu.empty() || catalog.gpu(instance.gpu) != nullptr));
  }
}

TEST_CASE("at least twenty instances of three providers have a price with date and source") {
  const Catalog catalog = read_catalog(shipped);
  std::map<std::string, std::set<std::string>> priced;
  for (const Offer& offer : catalog.offers) {
    CHECK_FALSE(offer.as_of.empty());
    CHECK_FALSE(offer.source.empty());
    priced[catalog.instance(offer.instance)->provider].insert(offer.instance);
  }
  std::size_t total = 0;
  for (const char* provider : {"aws", "alibaba", "tencent"}) {
    CHECK(priced[provider].size() >= 5);
    total += priced[provider].size();
  }
  CHECK(total >= 20);
}

TEST_CASE("the GPUs and CPUs that the first studies need are there") {
  const Catalog catalog = read_catalog(shipped);
  for (const char* gpu : {"T4", "V100-SXM2-16GB", "A10G", "L4", "A100-SXM4-40GB", "A100-SXM4-80GB",
                          "H100-SXM5", "H200-SXM5"})
    CHECK(catalog.gpu(gpu) != nullptr);
  CHECK(catalog.cpus.size() >= 6);
}

TEST_CASE("GN10Xp carries V100s and gn7 carries A100s, whatever articles say") {
  const Catalog catalog = read_catalog(shipped);
  CHECK(catalog.instance("tencent:GN10Xp.2XLARGE40")->gpu == "V100-SXM2-32GB");
  CHECK(catalog.instance("alibaba:ecs.gn7-c12g1.3xlarge")->gpu == "A100-SXM4-40GB");
}

TEST_CASE("a spot price is the on-demand price less the advisor's average saving") {
  const Catalog catalog = read_catalog(shipped);
  // g5.xlarge, us-east-1: 1.006 x (1 - 0.59) = 0.41246.
  CHECK(catalog.offer("aws:g5.xlarge", "spot")->price_per_h == doctest::Approx(0.4125));
}

TEST_CASE("the cheapest offer is chosen in one currency") {
  Catalog catalog;
  catalog.exchange_rates = {{"USD", 1, "2026", "x"}, {"CNY", 0.14, "2026", "x"}};
  Offer dollars, yuan;
  dollars.instance = yuan.instance = "a:b";
  dollars.option = yuan.option = "on-demand";
  dollars.currency = "USD";
  dollars.price_per_h = 1.0;
  yuan.currency = "CNY";
  yuan.price_per_h = 7.0; // 0.98 USD
  catalog.offers = {dollars, yuan};
  CHECK(catalog.offer("a:b", "on-demand")->currency == "CNY");
  catalog.offers[1].price_per_h = 7.2; // 1.008 USD
  CHECK(catalog.offer("a:b", "on-demand")->currency == "USD");
  CHECK(catalog.offer("a:b", "spot") == nullptr);
  CHECK_THROWS_AS(catalog.usd_per("EUR"), Failure);
}

TEST_CASE("a bad row is refused with its file and line") {
  const struct {
    const char *file, *from, *to, *message;
  } cases[] = {
      {"gpus.csv", "T4,7.5,40", "T4,7.5,-40", "gpus.csv:2: found multiprocessors is '-40'"},
      {"gpus.csv", "T4,7.5,40", "T4,7.5,nan", "gpus.csv:2: found multiprocessors is 'nan'"},
      {"gpus.csv", ",measured,", ",guessed,", "expected 'measured' or 'assumed'"},
      {"instances.csv", "Xeon Platinum 8275CL", "Xeon Unknown", "instances.csv:2: found cpu is 'Xeon Unknown'"},
      {"instances.csv", "aws:c5.24xlarge,aws", "aws:c5.24xlarge,gcp", "expected provider:type"},
      {"offers.csv", "aws:c5.24xlarge", "aws:c5.99xlarge", "offers.csv:2: found instance is 'aws:c5.99xlarge'"},
      {"offers.csv", ",4.08,USD", ",0,USD", "offers.csv:2: found price_per_h is '0'"},
      {"offers.csv", ",4.08,USD", ",4.08,EUR", "exchange_rates.csv"},
      {"offers.csv", ",4.08,USD", ",9999,USD", "between 0.005 and 500"},
      {"offers.csv", "c5.24xlarge,on-demand", "c5.24xlarge,free", "expected 'on-demand' or 'spot'"},
      {"exchange_rates.csv", "0.138", "", "exchange_rates.csv:3: found usd is an empty cell"},
      {"exchange_rates.csv", "CNY", "USD", "'USD' a second time"},
      {"cpus.csv", "2026-08", "last year", "cpus.csv:2: found as_of is 'last year'"},
  };
  for (const auto& bad : cases) {
    CAPTURE(bad.to);
    const CatalogCopy copy;
    copy.replace(bad.file, bad.from, bad.to);
    const std::string error = copy.error();
    CAPTURE(error);
    CHECK(error.find(bad.message) != std::string::npos);
  }
}

TEST_CASE("a missing file, a folder in its place and an empty file are refused") {
  const CatalogCopy copy;
  fs::remove(copy.folder / "offers.csv");
  CHECK(copy.error().find("offers.csv: found no such file") != std::string::npos);
  fs::create_directory(copy.folder / "offers.csv");
  CHECK(copy.error().find("something that is not a file") != std::string::npos);
  fs::remove(copy.folder / "offers.csv");
  std::ofstream(copy.folder / "offers.csv").flush();
  CHECK(copy.error().find("an empty file") != std::string::npos);
}

TEST_CASE("the catalog's README documents exactly the columns that are read") {
  std::set<std::string> documented, read;
  std::istringstream readme(bytes_of(shipped / "README.md"));
  std::string line, section;
  while (std::getline(readme, line)) {
    if (line.rfind("## `", 0) == 0) section = line.substr(4, line.find('`', 4) - 4);
    if (line.rfind("| `", 0) == 0) documented.insert(section + " " + line);
  }
  const auto add = [&](const char* file, const auto& columns) {
    for (const auto& column : columns)
      read.insert(std::string(file) + " | `" + column.name + "` | " + column.meaning + " |");
  };
  add("gpus.csv", gpu_columns());
  add("cpus.csv", cpu_columns());
  add("instances.csv", instance_columns());
  add("offers.csv", offer_columns());
  add("exchange_rates.csv", exchange_rate_columns());
  CHECK(documented == read);
}
