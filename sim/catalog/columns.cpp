#include "sim/catalog/columns.h"

#include <algorithm>

namespace breakeven {

namespace {

// Readers by kind of cell, for one member of a row.
template <class Row>
auto text(std::string Row::*member) {
  return [member](Row& row, const CsvRow& line, const std::string& column) {
    row.*member = line.required_text(column);
  };
}
template <class Row>
auto optional_text(std::string Row::*member) {
  return [member](Row& row, const CsvRow& line, const std::string& column) {
    row.*member = line.text(column);
  };
}
template <class Row>
auto date(std::string Row::*member) {
  return [member](Row& row, const CsvRow& line, const std::string& column) {
    row.*member = line.date(column);
  };
}
template <class Row>
auto number(double Row::*member, double low, double high) {
  return [=](Row& row, const CsvRow& line, const std::string& column) {
    row.*member = line.number(column, low, high);
  };
}
template <class Row>
auto optional_number(std::optional<double> Row::*member, double low, double high) {
  return [=](Row& row, const CsvRow& line, const std::string& column) {
    row.*member = line.optional_number(column, low, high);
  };
}
template <class Row>
auto integer(int Row::*member, long low, long high) {
  return [=](Row& row, const CsvRow& line, const std::string& column) {
    row.*member = static_cast<int>(line.integer(column, low, high));
  };
}
template <class Row>
auto one_of(std::string Row::*member, std::vector<std::string> choices) {
  return [=](Row& row, const CsvRow& line, const std::string& column) {
    row.*member = line.text(column);
    if (std::find(choices.begin(), choices.end(), row.*member) != choices.end()) return;
    std::string expected;
    for (const std::string& choice : choices)
      expected += (expected.empty() ? "'" : " or '") + choice + "'";
    line.fail(column, expected);
  };
}

/// "USD": three capital letters.
template <class Row>
auto currency_code(std::string Row::*member) {
  return [member](Row& row, const CsvRow& line, const std::string& column) {
    row.*member = line.text(column);
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if ((row.*member).size() != 3
        || !std::all_of((row.*member).begin(), (row.*member).end(), is_capital))
      line.fail(column, "three capital letters, such as USD");
  };
}

} // namespace

const std::vector<CatalogColumn<Gpu>>& gpu_columns() {
  static const std::vector<CatalogColumn<Gpu>> columns = {
      {"name", "GPU model, as instances.csv refers to it", text(&Gpu::name)},
      {"compute_capability", "CUDA compute capability", number(&Gpu::compute_capability, 3, 20)},
      {"multiprocessors", "streaming multiprocessors", integer(&Gpu::multiprocessors, 1, 1000)},
      {"clock_mhz", "boost clock", number(&Gpu::clock_mhz, 100, 10000)},
      {"sustained_clock_mhz",
       "clock that a power cap leaves when every lane multiplies and adds, where a measurement "
       "shows one",
       optional_number(&Gpu::sustained_clock_mhz, 100, 10000)},
      {"fp32_tflops", "peak single precision", number(&Gpu::fp32_tflops, 0.1, 1000)},
      {"tensor_fp16_tflops",
       "what dense products of large 16-bit matrices reach on tensor cores; empty: it has none",
       optional_number(&Gpu::tensor_fp16_tflops, 0.1, 20000), true},
      {"tensor_tf32_tflops", "the same for TF32",
       optional_number(&Gpu::tensor_tf32_tflops, 0.1, 20000), true},
      {"memory_gib", "device memory", number(&Gpu::memory_gib, 1, 2000)},
      {"memory_gb_per_s", "device memory bandwidth", number(&Gpu::memory_gb_per_s, 10, 50000)},
      {"memory_evidence", "how that bandwidth is known: measured or assumed",
       one_of(&Gpu::memory_evidence, {"measured", "assumed"})},
      {"l2_mb", "level-2 cache", number(&Gpu::l2_mb, 0.1, 2000)},
      {"l2_gb_per_s", "measured level-2 bandwidth", optional_number(&Gpu::l2_gb_per_s, 10, 100000)},
      {"dram_latency_ns", "measured latency of device memory",
       optional_number(&Gpu::dram_latency_ns, 10, 5000)},
      {"l2_latency_ns", "measured latency of the level-2 cache",
       optional_number(&Gpu::l2_latency_ns, 10, 5000)},
      {"launch_us", "measured time from one kernel launch to the next",
       optional_number(&Gpu::launch_us, 0.1, 1000)},
      {"max_threads_per_multiprocessor", "resident threads",
       integer(&Gpu::max_threads_per_multiprocessor, 256, 8192)},
      {"host_link_gb_per_s",
       "best pinned host-to-device copy seen, one way; stands in where the instance has none",
       number(&Gpu::host_link_gb_per_s, 1, 1000)},
      {"nvlink_gb_per_s",
       "NVLink from one GPU to all others of its machine together, one way, as in data sheets; "
       "empty: none, or only bridges between pairs",
       optional_number(&Gpu::nvlink_gb_per_s, 1, 100000), true},
      {"source", "where the figures come from", text(&Gpu::source)},
      {"as_of", "date of the figures", date(&Gpu::as_of)},
  };
  return columns;
}

const std::vector<CatalogColumn<Cpu>>& cpu_columns() {
  static const std::vector<CatalogColumn<Cpu>> columns = {
      {"name", "CPU model, as instances.csv refers to it", text(&Cpu::name)},
      {"microarchitecture", "the maker's generation", text(&Cpu::microarchitecture)},
      {"cores_per_socket", "physical cores of one socket",
       integer(&Cpu::cores_per_socket, 1, 1024)},
      {"threads_per_core", "hardware threads a core", integer(&Cpu::threads_per_core, 1, 8)},
      {"all_core_ghz", "clock with every core busy", number(&Cpu::all_core_ghz, 0.5, 10)},
      {"clock_evidence", "how that clock is known: published or assumed",
       one_of(&Cpu::clock_evidence, {"published", "assumed"})},
      {"simd_bits", "widest vector registers", integer(&Cpu::simd_bits, 64, 4096)},
      {"bf16", "what multiplies bf16: amx, avx512 or none (none known)",
       one_of(&Cpu::bf16, {"amx", "avx512", "none"})},
      {"memory_read_gb_per_s_per_socket", "measured read bandwidth of one socket",
       optional_number(&Cpu::memory_read_gb_per_s_per_socket, 1, 5000)},
      {"source", "where the figures come from", text(&Cpu::source)},
      {"as_of", "date of the figures", date(&Cpu::as_of)},
  };
  return columns;
}

const std::vector<CatalogColumn<Instance>>& instance_columns() {
  static const std::vector<CatalogColumn<Instance>> columns = {
      {"id", "provider:type, as scenarios name it", text(&Instance::id)},
      {"provider", "cloud provider", text(&Instance::provider)},
      {"type", "the provider's name for the machine", text(&Instance::type)},
      {"vcpus", "virtual CPUs", integer(&Instance::vcpus, 1, 2048)},
      {"physical_cores", "cores behind them", integer(&Instance::physical_cores, 1, 2048)},
      {"cpu", "a name from cpus.csv", text(&Instance::cpu)},
      {"memory_gib", "main memory", number(&Instance::memory_gib, 0.5, 50000)},
      {"gpu", "a name from gpus.csv; empty for a CPU instance", optional_text(&Instance::gpu)},
      {"gpu_count", "GPUs in the machine", integer(&Instance::gpu_count, 0, 64)},
      {"host_link_gb_per_s", "measured pinned copy to one GPU on this instance, one way",
       optional_number(&Instance::host_link_gb_per_s, 1, 1000)},
      {"network_gbit_per_s",
       "nominal network bandwidth (AWS: the baseline, not the burst); 0 where unknown",
       number(&Instance::network_gbit_per_s, 0, 10000)},
      {"billing_step_s", "time is billed in steps of this",
       integer(&Instance::billing_step_s, 1, 86400)},
      {"billing_minimum_s", "least time billed", integer(&Instance::billing_minimum_s, 0, 86400)},
      {"source", "where the figures come from", text(&Instance::source)},
      {"as_of", "date of the figures", date(&Instance::as_of)},
  };
  return columns;
}

const std::vector<CatalogColumn<Offer>>& offer_columns() {
  static const std::vector<CatalogColumn<Offer>> columns = {
      {"instance", "an id from instances.csv", text(&Offer::instance)},
      {"option", "on-demand or spot", one_of(&Offer::option, {"on-demand", "spot"})},
      {"region", "where the price holds", text(&Offer::region)},
      {"price_per_h", "price of one machine for an hour", number(&Offer::price_per_h, 1e-4, 1e5)},
      {"currency", "of the price; needs a row in exchange_rates.csv",
       currency_code(&Offer::currency)},
      {"interruptions_per_h_low", "spot interruptions of one machine in an hour, low",
       number(&Offer::interruptions_per_h_low, 0, 100)},
      {"interruptions_per_h_likely", "the same, likely",
       number(&Offer::interruptions_per_h_likely, 0, 100)},
      {"interruptions_per_h_high", "the same, high",
       number(&Offer::interruptions_per_h_high, 0, 100)},
      {"interruption_source", "where the rates come from, published and assumed parts told apart",
       optional_text(&Offer::interruption_source)},
      {"source", "where the price comes from", text(&Offer::source)},
      {"as_of", "date of the price", date(&Offer::as_of)},
  };
  return columns;
}

const std::vector<CatalogColumn<ExchangeRate>>& exchange_rate_columns() {
  static const std::vector<CatalogColumn<ExchangeRate>> columns = {
      {"currency", "three capital letters, as in ISO 4217", currency_code(&ExchangeRate::currency)},
      {"usd", "US dollars for one unit of it", number(&ExchangeRate::usd, 1e-6, 1e4)},
      {"source", "where the rate comes from", text(&ExchangeRate::source)},
      {"as_of", "date of the rate", date(&ExchangeRate::as_of)},
  };
  return columns;
}

} // namespace breakeven
