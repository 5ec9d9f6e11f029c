// A small study by hand: a baseline and candidates of every kind that a report must show.
#pragma once

#include "sim/report/report.h"

#include <string>

namespace breakeven::example {

inline Comparison common() {
  Comparison row;
  row.study = "example";
  row.title = "Example, with a comma and a \"quote\"";
  row.scenario_sha256 = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
  row.workload = "render";
  row.unit = "frame";
  row.job_units = 240;
  row.runs_per_month = 22;
  row.deadline_s = 7200;
  row.slice = "frames 1, 120, 240 of 240 at 2 of 64 samples";
  row.baseline_path = "openmp";
  row.baseline_device = "Xeon Platinum 8375C";
  row.baseline_instance = "aws:c6i.32xlarge";
  row.baseline_option = "on-demand";
  row.baseline_threads = 128;
  row.baseline_isa = "AVX-512";
  row.baseline_evidence = "projected";
  row.baseline_time_s = {400, 600, 900};
  row.baseline_time_to_result_s = {710, 920, 1230};
  row.baseline_cost_usd = Interval{1.07, 1.39, 1.86};
  row.baseline_price_usd_per_h = 5.44;
  row.baseline_price_as_of = "2026-07-20";
  row.baseline_price_source = "a price list";
  row.candidate_path = "cuda";
  row.candidate_evidence = "projected";
  row.verified = true;
  row.verification = "all rungs passed";
  row.stop_reason = "converged";
  row.version = "0.1.0";
  return row;
}

inline Comparison priced(const std::string& instance, const std::string& option, double usd_per_h) {
  Comparison row = common();
  row.candidate_instance = instance;
  row.candidate_option = option;
  row.candidate_device = "A100-SXM4-80GB";
  row.candidate_kernel_s = Interval{30, 60, 120};
  row.candidate_end_to_end_s = Interval{40, 75, 140};
  row.candidate_cold_s = 0.5;
  row.candidate_time_to_result_s = Interval{350, 400, 470};
  row.candidate_cost_usd =
      Interval{usd_per_h * 350 / 3600, usd_per_h * 400 / 3600, usd_per_h * 470 / 3600};
  row.setup_s = 300;
  row.ingest_s = 10;
  row.compute_s = 75;
  row.rework_s = 0.1;
  row.download_s = 15;
  row.bound_by = "issue";
  row.speedup = Interval{4, 8, 16};
  row.envelope_max = 12.5;
  row.break_even_speedup = 2.5;
  row.break_even_price_usd_per_h = 12.4;
  row.crossover_size = 31;
  row.p_cheaper = 0.95;
  row.p_meets_deadline = 1;
  row.baseline_p_meets_deadline = 0.999;
  row.saving_usd_per_month = -12.25;
  row.verdict = Verdict::undecided;
  row.verdict_reason = "cheaper with probability 0.95";
  row.excluded = "outside the calibrated range; A100 link assumed";
  row.price_usd_per_h = usd_per_h;
  row.price_original_per_h = usd_per_h;
  row.price_currency = "USD";
  row.price_region = "us-east-1";
  row.price_as_of = "2026-07-20";
  row.price_source = "a price list";
  row.usd_per_currency = 1;
  row.rate_as_of = "2026-08";
  row.rate_source = "by definition";
  row.interruptions_per_h_low = row.interruptions_per_h_likely = row.interruptions_per_h_high = 0;
  return row;
}

inline std::vector<Comparison> comparisons() {
  std::vector<Comparison> rows;
  rows.push_back(priced("aws:p4de.24xlarge", "on-demand", 27.44705));
  rows.push_back(priced("aws:p4de.24xlarge", "spot", 9.6));
  rows.back().verdict = Verdict::migrate;
  rows.back().interruptions_per_h_high = 0.31;
  rows.back().interruption_source = "published band; high assumed";
  rows.push_back(priced("alibaba:ecs.gn7e-c16g1.32xlarge", "on-demand", 38.35));
  rows.back().verdict = Verdict::stay;
  rows.back().price_currency = "CNY";
  rows.back().usd_per_currency = 0.138;
  rows.push_back(priced("aws:g4dn.xlarge", "on-demand", 0.526));
  rows.back().break_even_speedup = {};
  rows.back().crossover_size = {};
  rows.push_back(priced("aws:p5en.48xlarge", "on-demand", 63.3));
  rows.back().implausible = true;
  rows.back().speedup = Interval{20, 40, 80};

  Comparison unpriced = priced("local", "on-demand", 1);
  unpriced.candidate_path = "openmp";
  unpriced.candidate_device = "AMD EPYC";
  unpriced.candidate_evidence = "extrapolated";
  unpriced.candidate_cost_usd = {};
  unpriced.price_usd_per_h = unpriced.price_original_per_h = {};
  unpriced.p_cheaper = unpriced.break_even_price_usd_per_h = {};
  unpriced.verdict_reason = "no price is known for local";
  rows.push_back(unpriced);

  Comparison unavailable = common();
  unavailable.candidate_instance = "tencent:GT4.4XLARGE96";
  unavailable.candidate_option = "on-demand";
  unavailable.candidate_evidence = "";
  unavailable.verdict_reason = "no projection";
  unavailable.excluded = "the scene needs 45 GB, the device has 40 GB";
  rows.push_back(unavailable);
  return rows;
}

inline Measurement measured(Path path, const std::string& phase) {
  Measurement row;
  row.study = "example";
  row.title = "Example, with a comma and a \"quote\"";
  row.scenario_sha256 = "0123456789abcdef";
  row.workload_sha256 = "fedcba9876543210";
  row.workload = "render";
  row.unit = "frame";
  row.job_units = 240;
  row.path = path;
  row.phase = phase;
  row.slice = "frames 1, 120, 240 of 240 at 2 of 64 samples";
  row.threads = 2;
  row.verified = true;
  row.verification = "0 of 64 rays differ";
  row.checksum = 18446744073709551615ull;
  row.environment.cpu_model = "AMD EPYC";
  row.environment.isa = "AVX-512";
  row.environment.physical_cores = 2;
  row.environment.logical_cpus = 2;
  row.environment.clock_ghz = 3.7;
  row.environment.memory_gib = 23.4;
  row.environment.memory_read_gb_per_s = 31.25;
  row.environment.os = "Linux";
  row.environment.compiler = "GNU 12.2.0";
  row.environment.flags = "-O3";
  row.environment.version = "0.1.0";
  row.environment.commit = "abc";
  row.environment.measured_on = "2026-11-30";
  row.work.counts = {{"primary_rays", 1e6}, {"bounce_rays", 1234567.25}};
  return row;
}

inline std::vector<Measurement> measurements() {
  std::vector<Measurement> rows;
  for (const char* phase : {"total", "build", "render"}) {
    Measurement row = measured(Path::openmp, phase);
    row.samples_s = {1.1, 1.0, 0.1 + 0.2};
    row.kernel_samples_s = row.samples_s;
    row.cold_s = 1.5;
    row.end_to_end_s = {1.0, 0.1 + 0.2, 1.1};
    row.stop_reason = "time limit";
    row.job_over_slice = 1000.0 / 3;
    row.job_s = row.end_to_end_s.value * row.job_over_slice;
    row.evidence = "extrapolated";
    rows.push_back(row);
  }
  for (const char* phase : {"total", "intersect"}) {
    Measurement row = measured(Path::host, phase);
    row.processor = Processor::gpu;
    row.stop_reason = "counting only";
    row.work.lane_instructions = 1e9;
    row.work.simt_efficiency = 0.31;
    row.work.launches = 5;
    rows.push_back(row);
  }
  Measurement unverified = measured(Path::cuda, "total");
  unverified.verified = false;
  unverified.stop_reason = "not verified";
  unverified.verification = "3 of 100 rays differ";
  rows.push_back(unverified);
  return rows;
}

} // namespace breakeven::example
