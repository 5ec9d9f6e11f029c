// The machines that can be rented and what they cost: devices (GPU models and CPU models with
// their ceilings), instances (what a provider calls a machine), offers (a price, dated and with its
// source) and exchange rates. Takes the CSV files of scenarios/catalog, gives plain vectors; every
// row carries its source, and a bad row is BadInput with its line. Leaves out: choosing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace breakeven {

/// gpus.csv. Ceilings of one GPU model. Optional figures are unknown, never zero.
struct Gpu {
  std::string name; ///< "A100-SXM4-80GB"
  double compute_capability = 0;
  int multiprocessors = 0;
  double clock_mhz = 0;                      ///< boost
  std::optional<double> sustained_clock_mhz; ///< under a power cap, where measured rates show one
  double fp32_tflops = 0;
  /// What matrix products reach on tensor cores, FP32 sums; unset where a GPU has none for them.
  std::optional<double> tensor_fp16_tflops, tensor_tf32_tflops;
  double memory_gib = 0;
  double memory_gb_per_s = 0;  ///< measured where `memory_evidence` says so
  std::string memory_evidence; ///< "measured" or "assumed"
  double l2_mb = 0;
  std::optional<double> l2_gb_per_s;
  std::optional<double> dram_latency_ns, l2_latency_ns;
  std::optional<double> launch_us; ///< back-to-back kernel launch
  int max_threads_per_multiprocessor = 0;
  double host_link_gb_per_s = 0; ///< best pinned copy seen, when the instance's is unknown
  /// One way, to all other GPUs of a machine together; unset where they only meet over the host.
  std::optional<double> nvlink_gb_per_s;
  std::string source, as_of;
};

/// cpus.csv. One CPU model as clouds sell it.
struct Cpu {
  std::string name; ///< "Xeon Platinum 8375C"
  std::string microarchitecture;
  int cores_per_socket = 0;
  int threads_per_core = 0;
  double all_core_ghz = 0;
  std::string clock_evidence; ///< "published" or "assumed"
  int simd_bits = 0;
  std::string bf16 = "none"; ///< what multiplies bf16: "amx", "avx512" or "none"
  std::optional<double> memory_read_gb_per_s_per_socket;
  std::string source, as_of;
};

/// instances.csv.
struct Instance {
  std::string id; ///< "aws:p4d.24xlarge"
  std::string provider, type;
  int vcpus = 0;
  int physical_cores = 0;
  std::string cpu; ///< a Cpu's name
  double memory_gib = 0;
  std::string gpu; ///< a Gpu's name; empty for a CPU instance
  int gpu_count = 0;
  std::optional<double> host_link_gb_per_s; ///< measured one-way copy per GPU on this instance
  double network_gbit_per_s = 0;
  int billing_step_s = 1;
  int billing_minimum_s = 0;
  std::string source, as_of;
};

/// offers.csv. A price for one instance, option and region.
struct Offer {
  std::string instance, option, region; ///< option: "on-demand" or "spot"
  double price_per_h = 0;
  std::string currency, as_of, source;
  /// Interruptions of one machine in an hour; low, likely, high. All zero for on-demand.
  double interruptions_per_h_low = 0, interruptions_per_h_likely = 0, interruptions_per_h_high = 0;
  std::string interruption_source;
};

/// exchange_rates.csv. One unit of `currency` in US dollars.
struct ExchangeRate {
  std::string currency;
  double usd = 0;
  std::string as_of, source;
};

struct Catalog {
  std::vector<Gpu> gpus;
  std::vector<Cpu> cpus;
  std::vector<Instance> instances;
  std::vector<Offer> offers;
  std::vector<ExchangeRate> exchange_rates;

  const Gpu* gpu(const std::string& name) const; ///< nullptr where unknown
  const Cpu* cpu(const std::string& name) const;
  const Instance* instance(const std::string& id) const;
  /// The cheapest offer (in USD) for this instance and option; nullptr where none is known.
  const Offer* offer(const std::string& instance, const std::string& option) const;
  double usd_per(const std::string& currency) const; ///< throws Failure where unknown
};

/// Reads the five files of `folder` and checks that they refer to each other.
Catalog read_catalog(const std::filesystem::path& folder);

} // namespace breakeven
