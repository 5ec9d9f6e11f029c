#include "sim/catalog/catalog.h"
#include "sim/catalog/columns.h"
#include "sim/errors.h"
#include "tests/test_folder.h"

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
  TestFolder copies;
  fs::path folder = copies.path();
  CatalogCopy() {
    for (const auto& entry : fs::directory_iterator(shipped))
      fs::copy(entry.path(), folder);
  }
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

TEST_CASE("every shipped row carries a source and a date") {
  const Catalog catalog = read_catalog(shipped);
  const auto check = [](const auto& rows) {
    for (const auto& row : rows) {
      CAPTURE(row.source);
      CHECK(row.source.size() >= 10);
      CHECK(row.as_of >= "2020");
      CHECK(row.as_of < "2027");
      // No cell names a place on somebody's machine.
      CHECK(row.source.find("/work") == std::string::npos);
      CHECK(row.source.find("/home") == std::string::npos);
    }
  };
  check(catalog.gpus);
  check(catalog.cpus);
  check(catalog.instances);
  check(catalog.offers);
  check(catalog.exchange_rates);
}

TEST_CASE("an assumed figure says so in its source") {
  const Catalog catalog = read_catalog(shipped);
  for (const Gpu& gpu : catalog.gpus)
    if (gpu.memory_evidence == "assumed")
      CHECK(gpu.source.find("bandwidth assumed") != std::string::npos);
  for (const Gpu& gpu : catalog.gpus)
    if (gpu.sustained_clock_mhz) CHECK(gpu.source.find("sustained clock") != std::string::npos);
  for (const Cpu& cpu : catalog.cpus)
    if (cpu.clock_evidence == "assumed") CHECK(cpu.source.find("assumed") != std::string::npos);
  for (const Offer& offer : catalog.offers)
    if (offer.option == "spot") {
      CHECK(offer.interruption_source.find("published:") != std::string::npos);
      CHECK(offer.interruption_source.find("assumed") != std::string::npos);
    }
}

TEST_CASE("a GPU's peak is what its lanes do at its clock") {
  // 64 single-precision lanes a multiprocessor in Volta, Turing and A100, 128 in the others; two
  // operations a multiply-add.
  for (const Gpu& gpu : read_catalog(shipped).gpus) {
    CAPTURE(gpu.name);
    const double lanes = gpu.compute_capability <= 8.0 ? 64 : 128;
    const double tflops = gpu.multiprocessors * lanes * 2 * gpu.clock_mhz * 1e-6;
    // 4 %: the L4's printed peak belongs to a clock 3 % below the boost that drivers report.
    CHECK(gpu.fp32_tflops == doctest::Approx(tflops).epsilon(gpu.name == "L4" ? 0.04 : 0.01));
  }
}

TEST_CASE("tensor rates are below what the cores could do, and TF32 is half of FP16") {
  // Operations of a multiprocessor in a clock: 8 x 64 multiply-adds in Volta and Turing, 4 x 128 in
  // GA102 and Ada, 4 x 256 in the A100, 4 x 512 in Hopper. TF32 came with Ampere.
  int without_tf32 = 0;
  for (const Gpu& gpu : read_catalog(shipped).gpus) {
    CAPTURE(gpu.name);
    REQUIRE(gpu.tensor_fp16_tflops);
    const double per_clock = gpu.compute_capability >= 9.0   ? 4096
                             : gpu.compute_capability == 8.0 ? 2048
                                                             : 1024;
    const double peak = gpu.multiprocessors * per_clock * gpu.clock_mhz * 1e-6;
    CHECK(*gpu.tensor_fp16_tflops < peak);
    CHECK(*gpu.tensor_fp16_tflops > 0.3 * peak); // the 70 W of a T4 leave least, 0.38
    CHECK(gpu.tensor_tf32_tflops.has_value() == (gpu.compute_capability >= 8.0));
    if (gpu.tensor_tf32_tflops)
      CHECK(*gpu.tensor_tf32_tflops == doctest::Approx(*gpu.tensor_fp16_tflops / 2).epsilon(0.02));
    without_tf32 += !gpu.tensor_tf32_tflops;
    CHECK(gpu.source.find("FP16 tensor rate: ") != std::string::npos);
    if (gpu.tensor_tf32_tflops)
      CHECK(gpu.source.find("TF32 tensor rate derived: ") != std::string::npos);
  }
  CHECK(without_tf32 == 3); // T4 and two V100
}

TEST_CASE("a gpus.csv from before the tensor columns leaves their figures unknown") {
  const CatalogCopy copy;
  copy.replace("gpus.csv", ",tensor_fp16_tflops,", ",a_note,");
  copy.replace("gpus.csv", ",tensor_tf32_tflops,", ",another_note,");
  const Catalog catalog = read_catalog(copy.folder);
  CHECK_FALSE(catalog.gpu("A100-SXM4-80GB")->tensor_fp16_tflops);
  CHECK_FALSE(catalog.gpu("A100-SXM4-80GB")->tensor_tf32_tflops);
  CHECK(catalog.gpu("A100-SXM4-80GB")->fp32_tflops == 19.49);
}

TEST_CASE("the GPUs of SXM boards have NVLink among all of a machine, PCIe cards have none") {
  int with_nvlink = 0;
  for (const Gpu& gpu : read_catalog(shipped).gpus) {
    CAPTURE(gpu.name);
    CHECK(gpu.nvlink_gb_per_s.has_value() == (gpu.name.find("-SXM") != std::string::npos));
    if (!gpu.nvlink_gb_per_s) continue;
    ++with_nvlink;
    CHECK(gpu.source.find("; NVLink: ") != std::string::npos);
    // NVLink 2, 3 and 4.
    CHECK(*gpu.nvlink_gb_per_s
          == (gpu.compute_capability >= 9   ? 450
              : gpu.compute_capability >= 8 ? 300
                                            : 150));
  }
  CHECK(with_nvlink == 6);
}

TEST_CASE("a gpus.csv from before the NVLink column knows of none") {
  const CatalogCopy copy;
  copy.replace("gpus.csv", ",nvlink_gb_per_s,", ",a_note,");
  CHECK_FALSE(read_catalog(copy.folder).gpu("A100-SXM4-80GB")->nvlink_gb_per_s);
}

TEST_CASE("GPU figures are in their units") {
  for (const Gpu& gpu : read_catalog(shipped).gpus) {
    CAPTURE(gpu.name);
    CHECK(gpu.memory_gib >= 8);
    CHECK(gpu.memory_gb_per_s >= 200); // T4: 240 measured
    CHECK(gpu.memory_gb_per_s <= 8000);
    CHECK(gpu.l2_mb >= 4);
    CHECK(gpu.host_link_gb_per_s >= 10); // a PCIe 3 x16 slot gives 12
    CHECK(gpu.host_link_gb_per_s <= 63); // a PCIe 5 x16 slot cannot give more
    if (gpu.l2_gb_per_s) CHECK(*gpu.l2_gb_per_s > gpu.memory_gb_per_s);
    if (gpu.dram_latency_ns && gpu.l2_latency_ns) CHECK(*gpu.dram_latency_ns > *gpu.l2_latency_ns);
    if (gpu.launch_us) CHECK(*gpu.launch_us < 10);
  }
}

TEST_CASE("CPU figures are in their units") {
  for (const Cpu& cpu : read_catalog(shipped).cpus) {
    CAPTURE(cpu.name);
    CHECK(cpu.all_core_ghz >= 2);
    CHECK(cpu.all_core_ghz <= 5);
    CHECK((cpu.simd_bits == 256 || cpu.simd_bits == 512));
    CHECK(cpu.threads_per_core <= 2);
    // Six channels of DDR4-2666 to twelve of DDR5-4800.
    if (cpu.memory_read_gb_per_s_per_socket) {
      CHECK(*cpu.memory_read_gb_per_s_per_socket > 80);
      CHECK(*cpu.memory_read_gb_per_s_per_socket < 461);
    }
  }
}

TEST_CASE("an instance's vCPUs are the threads of its cores") {
  const Catalog catalog = read_catalog(shipped);
  for (const Instance& instance : catalog.instances) {
    CAPTURE(instance.id);
    CHECK(instance.vcpus == instance.physical_cores * catalog.cpu(instance.cpu)->threads_per_core);
    CHECK(instance.memory_gib >= 1.5 * instance.vcpus);
    if (instance.host_link_gb_per_s)
      CHECK(*instance.host_link_gb_per_s <= catalog.gpu(instance.gpu)->host_link_gb_per_s);
  }
}

TEST_CASE("a spot machine costs less than the same machine on demand") {
  const Catalog catalog = read_catalog(shipped);
  int spot = 0;
  for (const Offer& offer : catalog.offers) {
    if (offer.option != "spot") continue;
    ++spot;
    CAPTURE(offer.instance);
    const Offer* on_demand = catalog.offer(offer.instance, "on-demand");
    REQUIRE(on_demand != nullptr);
    CHECK(on_demand->region == offer.region);
    CHECK(on_demand->currency == offer.currency);
    // The advisor's savings lie between 40 % and 90 %.
    CHECK(offer.price_per_h <= 0.6 * on_demand->price_per_h);
    CHECK(offer.price_per_h >= 0.1 * on_demand->price_per_h);
    CHECK(offer.as_of <= on_demand->as_of);
  }
  CHECK(spot >= 20);
}

TEST_CASE("interruption rates follow from the monthly band") {
  const Catalog catalog = read_catalog(shipped);
  // p4d: 10-16 % a month. -ln(0.90) / 730 = 1.4433e-4, -ln(0.87) / 730 = 1.9077e-4.
  const Offer* p4d = catalog.offer("aws:p4d.24xlarge", "spot");
  CHECK(p4d->interruptions_per_h_low == doctest::Approx(1.4433e-4).epsilon(0.005));
  CHECK(p4d->interruptions_per_h_likely == doctest::Approx(1.9077e-4).epsilon(0.005));
  CHECK(p4d->interruptions_per_h_high == 0.31);
  // c7i.48xlarge: over 20 %, 30 % taken. -ln(0.80) / 730 = 3.0568e-4, -ln(0.70) / 730 = 4.8859e-4.
  const Offer* c7i = catalog.offer("aws:c7i.48xlarge", "spot");
  CHECK(c7i->interruptions_per_h_low == doctest::Approx(3.0568e-4).epsilon(0.005));
  CHECK(c7i->interruptions_per_h_likely == doctest::Approx(4.8859e-4).epsilon(0.005));
  CHECK(c7i->interruptions_per_h_high == 0.05);
}

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
  for (const char* gpu :
       {"T4", "V100-SXM2-16GB", "V100-SXM2-32GB", "A10", "A10G", "L4", "L40S", "A100-SXM4-40GB",
        "A100-SXM4-80GB", "A100-PCIE-80GB", "H100-SXM5", "H100-PCIE", "H200-SXM5"}) {
    CAPTURE(gpu);
    CHECK(catalog.gpu(gpu) != nullptr);
  }
  for (const char* cpu : {"Xeon Platinum 8275CL", "Xeon Platinum 8375C", "Xeon Platinum 8488C",
                          "Xeon Platinum 8369B", "EPYC 7R13", "EPYC 9R14", "Graviton3"}) {
    CAPTURE(cpu);
    CHECK(catalog.cpu(cpu) != nullptr);
  }
  CHECK(catalog.gpu("no such GPU") == nullptr);
  CHECK(catalog.cpu("") == nullptr);
  CHECK(catalog.instance("aws:") == nullptr);
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
  // p4d.24xlarge: 21.957642 x (1 - 0.67) = 7.2460.
  CHECK(catalog.offer("aws:p4d.24xlarge", "spot")->price_per_h == doctest::Approx(7.2460));
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
      {"instances.csv", "Xeon Platinum 8275CL", "Xeon Unknown",
       "instances.csv:2: found cpu is 'Xeon Unknown'"},
      {"instances.csv", "aws:c5.24xlarge,aws", "aws:c5.24xlarge,gcp", "expected provider:type"},
      {"offers.csv", "aws:c5.24xlarge", "aws:c5.99xlarge",
       "offers.csv:2: found instance is 'aws:c5.99xlarge'"},
      {"offers.csv", ",4.08,USD", ",0,USD", "offers.csv:2: found price_per_h is '0'"},
      {"offers.csv", ",4.08,USD", ",4.08,EUR", "exchange_rates.csv"},
      {"offers.csv", ",4.08,USD", ",9999,USD", "between 0.005 and 500"},
      {"offers.csv", "c5.24xlarge,on-demand", "c5.24xlarge,free", "expected 'on-demand' or 'spot'"},
      {"exchange_rates.csv", "0.138", "", "exchange_rates.csv:3: found usd is an empty cell"},
      {"exchange_rates.csv", "CNY", "USD", "'USD' a second time"},
      {"cpus.csv", "2026-08", "last year", "cpus.csv:2: found as_of is 'last year'"},
      {"exchange_rates.csv", "USD,1,", "USD,2,", "expected 1 for USD"},
      {"exchange_rates.csv", "CNY", "yuan", "three capital letters"},
      {"exchange_rates.csv", "by definition", "  ", "exchange_rates.csv:2: found source is"},
      {"gpus.csv", ",multiprocessors,", ",processors,", "gpus.csv:1: found no column 'multiproc"},
      {"gpus.csv", "T4,7.5,40,", "T4,7.5,", "gpus.csv:2: found 20 cells, expected 21"},
      {"gpus.csv", "T4,7.5,40", ",7.5,40", "gpus.csv:2: found name is an empty cell"},
      {"gpus.csv", "T4,7.5,40", "T4,7.5,inf", "gpus.csv:2: found multiprocessors is 'inf'"},
      {"gpus.csv", "T4,7.5,40", "T4,7.5,40.5", "expected a whole number"},
      {"gpus.csv", "T4,7.5,40", "T4,7.5,", "gpus.csv:2: found multiprocessors is an empty cell"},
      {"gpus.csv", "1590,801", "1590,1800", "sustained_clock_mhz is '1800', expected at most"},
      {"gpus.csv", "V100-SXM2-32GB", "V100-SXM2-16GB", "gpus.csv:4: found 'V100-SXM2-16GB' a sec"},
      {"gpus.csv", ",8.14,25,,", ",8.14,0,,", "gpus.csv:2: found tensor_fp16_tflops is '0'"},
      {"instances.csv", ",T4,1,6.3", ",T5,1,6.3", "gpu is 'T5', expected a name from gpus.csv"},
      {"instances.csv", ",T4,1,6.3", ",T4,0,6.3", "gpu_count is '0'"},
      {"instances.csv", ",T4,1,6.3", ",,0,6.3", "for a machine without a GPU"},
      {"instances.csv", "24xlarge,96,48,", "24xlarge,96,97,", "physical_cores is '97'"},
      {"offers.csv", ",4.08,USD,0,0,0", ",4.08,USD,0,0,0.1", "0 for a machine on demand"},
      {"offers.csv", ",7.03e-05,", ",0.2,", "expected low <= likely <= high"},
      {"offers.csv", ",0.05,", ",0.00001,", "expected low <= likely <= high"},
      {"offers.csv", "24xlarge,spot", "24xlarge,on-demand", "offers.csv:3: found 'aws:c5.24xlarge"},
      {"offers.csv", ",4.08,USD", ",-4.08,USD", "offers.csv:2: found price_per_h is '-4.08'"},
      {"offers.csv", ",4.08,USD", ",four,USD", "offers.csv:2: found price_per_h is 'four'"},
      {"offers.csv", ",4.08,USD", ",0.0049,USD", "between 0.005 and 500"},
      {"offers.csv", ",4.08,USD", ",200,USD", "at most 2 USD an hour for each vCPU"},
      {"offers.csv", ",0.526,USD", ",383.98,USD", "at most 100 USD an hour for each GPU"},
      {"offers.csv", ",2026-07-20", ",2026-02-30", "offers.csv:2: found as_of is '2026-02-30'"},
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

TEST_CASE("a spot row without a source for its interruptions is refused") {
  const CatalogCopy copy;
  const std::string row = "aws:p5.4xlarge,spot,us-east-1,3,USD,0,0.1,0.2,,somewhere,2026\n";
  std::ofstream(copy.folder / "offers.csv", std::ios::app) << row;
  CHECK(copy.error().find("found interruption_source is an empty cell") != std::string::npos);
}

TEST_CASE("line ends, a byte-order mark and a missing last newline leave the catalog as it is") {
  const CatalogCopy copy;
  for (const char* name : {"gpus.csv", "cpus.csv", "instances.csv", "offers.csv"}) {
    std::string text = "\xEF\xBB\xBF";
    for (const char c : bytes_of(shipped / name))
      text += c == '\n' ? "\r\n" : std::string(1, c);
    text.resize(text.size() - 2);
    std::ofstream(copy.folder / name, std::ios::binary) << text;
  }
  const Catalog expected = read_catalog(shipped), found = read_catalog(copy.folder);
  REQUIRE(found.offers.size() == expected.offers.size());
  for (std::size_t i = 0; i < found.offers.size(); ++i) {
    CHECK(found.offers[i].price_per_h == expected.offers[i].price_per_h);
    CHECK(found.offers[i].as_of == expected.offers[i].as_of);
    CHECK(found.offers[i].source == expected.offers[i].source);
  }
  CHECK(found.gpus.back().as_of == expected.gpus.back().as_of);
}

TEST_CASE("a source may span lines, and later lines keep their numbers") {
  const CatalogCopy copy;
  copy.replace("exchange_rates.csv", "by definition", "\"by\ndefinition\"");
  CHECK(read_catalog(copy.folder).exchange_rates[0].source == "by\ndefinition");
  copy.replace("exchange_rates.csv", "0.138", "much");
  CHECK(copy.error().find("exchange_rates.csv:4: found usd is 'much'") != std::string::npos);
}

TEST_CASE("a binary file and a header without rows are refused") {
  const CatalogCopy copy;
  const std::string binary = {'\x7F', 'E', 'L', 'F', '\0', '\1'};
  std::ofstream(copy.folder / "cpus.csv", std::ios::binary) << binary;
  CHECK(copy.error().find("cpus.csv:1: found bytes that are not text") != std::string::npos);
  const std::string header = bytes_of(shipped / "cpus.csv");
  std::ofstream(copy.folder / "cpus.csv", std::ios::binary) << header.substr(0, header.find('\n'));
  CHECK(copy.error().find("cpus.csv:1: found no rows") != std::string::npos);
}

TEST_CASE("no mutation of a catalog file does worse than BadInput") {
  const CatalogCopy copy;
  const std::string alphabet = "\",\n\r\t '=-+.0123456789eEinfNaUSD\xC3\xA9\xFF";
  std::mt19937 random(20260720);
  int accepted = 0, refused = 0;
  for (const char* name :
       {"gpus.csv", "cpus.csv", "instances.csv", "offers.csv", "exchange_rates.csv"}) {
    const std::string good = bytes_of(shipped / name);
    for (int variant = 0; variant < 500; ++variant) {
      std::string bytes = good;
      for (unsigned change = random() % 4; change < 4 && !bytes.empty(); ++change) {
        const std::size_t at = random() % bytes.size();
        switch (random() % 4) {
        case 0:
          bytes.erase(at, 1 + random() % 40);
          break;
        case 1:
          bytes.insert(at, 1, alphabet[random() % alphabet.size()]);
          break;
        case 2:
          bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 200));
          break;
        case 3:
          bytes[at] = alphabet[random() % alphabet.size()];
          break;
        }
      }
      std::ofstream(copy.folder / name, std::ios::binary) << bytes;
      try {
        read_catalog(copy.folder);
        ++accepted;
      } catch (const BadInput& error) {
        ++refused;
        CHECK(std::string(error.what()).find(".csv") != std::string::npos);
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
      }
    }
    std::ofstream(copy.folder / name, std::ios::binary) << good;
  }
  CHECK(accepted > 100); // most bytes of a file are source text
  CHECK(refused > 500);
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
