// A small study by hand, for the report's tests: a baseline and twelve candidates of every kind
// that a report must show (migrate, stay, undecided, spot, several machines, another currency, CPU,
// measured GPU, implausible, without a price, without a time), and the measurements behind them.
#pragma once

#include "sim/report/report.h"

#include <fmt/format.h>

#include <string>

namespace breakeven::example {

inline const char* const everyone_leaves_out =
    "porting the code, and validating its results; taxes and support plans";

inline Comparison common() {
  Comparison row;
  row.study = "example";
  row.title = "Crash-test rendering, with a comma and a \"quote\"";
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
  row.baseline_time_s = {4100, 5400, 7300};
  row.baseline_time_to_result_s = {4450, 5760, 7700};
  row.baseline_cost_usd = Interval{6.72, 8.7, 11.6};
  row.baseline_price_usd_per_h = 5.44;
  row.baseline_price_as_of = "2026-07-20";
  row.baseline_price_source = "aws price list, us-east-1";
  row.baseline_p_meets_deadline = 0.83;
  row.units_per_day = 4800;
  row.arrivals = "working-hours";
  row.turnaround_deadline_s = 900;
  row.baseline_throughput = {
      Interval{2900, 4000, 5300}, 1.2, "cpu: render", turnaround_unbounded, {}, {}, {}, {}, {}};
  row.candidate_option = "on-demand";
  row.excluded = everyone_leaves_out;
  row.stop_reason = "converged";
  row.version = "0.1.0";
  return row;
}

struct Machine {
  std::string instance, option, device;
  double compute_s, usd_per_h;
  Verdict verdict;
  double p_cheaper;
};

/// A projected candidate with all its figures, computed as the earlier stages would.
inline Comparison projected(const Machine& machine) {
  Comparison row = common();
  row.candidate_path = "host";
  row.candidate_instance = machine.instance;
  row.candidate_option = machine.option;
  row.candidate_device = machine.device;
  row.candidate_evidence = "projected";
  const double compute_s = machine.compute_s;
  row.candidate_kernel_s = Interval{0.6 * compute_s, 0.9 * compute_s, 1.4 * compute_s};
  row.candidate_end_to_end_s = Interval{0.7 * compute_s, compute_s, 1.5 * compute_s};
  row.candidate_cold_s = 1.5;
  row.candidate_time_to_result_s =
      Interval{330 + 0.7 * compute_s, 360 + compute_s, 420 + 1.5 * compute_s};
  row.setup_s = 300;
  row.ingest_s = 12;
  row.compute_s = compute_s;
  row.rework_s = 0;
  row.download_s = 48;
  const double usd_per_s = machine.usd_per_h / 3600;
  const Interval& time_s = *row.candidate_time_to_result_s;
  row.candidate_cost_usd =
      Interval{time_s.low * usd_per_s, time_s.likely * usd_per_s, time_s.high * usd_per_s};
  row.bound_by = "latency";
  row.candidate_floor_s = Interval{0.4, 0.5, 0.6};
  row.candidate_throughput = {Interval{4000, 14000, 24000},
                              0.34,
                              "gpu: intersect",
                              turnaround_bounded,
                              60.5,
                              720,
                              540,
                              {},
                              345600};
  row.speedup = Interval{5400 / (1.6 * compute_s), 5400 / compute_s, 5400 / (0.6 * compute_s)};
  row.envelope_max = 40;
  row.break_even_speedup = 5400 / (8.7 / usd_per_s);
  row.break_even_price_usd_per_h = 8.7 / time_s.likely * 3600;
  row.crossover_size = 31;
  row.p_cheaper = machine.p_cheaper;
  row.p_meets_deadline = 0.9999;
  row.saving_usd_per_month = (8.7 - row.candidate_cost_usd->likely) * 22;
  row.verdict = machine.verdict;
  row.verdict_reason = fmt::format(
      "cheaper with probability {:.2f}; breaks even from a speed-up of {:.3g}, likely {:.3g}",
      machine.p_cheaper, *row.break_even_speedup, row.speedup->likely);
  row.excluded = "outside the calibrated range; " + std::string(everyone_leaves_out);
  row.price_usd_per_h = row.price_original_per_h = machine.usd_per_h;
  row.price_currency = "USD";
  row.price_region = "us-east-1";
  row.price_as_of = "2026-07-20";
  row.price_source = "aws price list, us-east-1";
  row.usd_per_currency = 1;
  row.verified = true;
  row.verification = "openmp: the reference; host: 0 of 64 rays unequal";
  return row;
}

inline std::vector<Comparison> comparisons() {
  using enum Verdict;
  std::vector<Comparison> rows;
  rows.push_back(projected({"aws:g5.xlarge", "on-demand", "A10G", 1500, 1.006, migrate, 0.999}));
  rows.push_back(projected({"aws:g4dn.xlarge", "on-demand", "T4", 3600, 0.526, migrate, 0.98}));
  rows.push_back(
      projected({"aws:p4de.24xlarge", "on-demand", "A100-SXM4-80GB", 180, 52.5, undecided, 0.55}));
  rows.push_back(
      projected({"aws:p4de.24xlarge", "spot", "A100-SXM4-80GB", 180, 9.6, migrate, 0.97}));
  rows.back().interruptions_per_h_low = 0;
  rows.back().interruptions_per_h_likely = 0.000114;
  rows.back().interruptions_per_h_high = 0.31;
  rows.back().interruption_source = "published band; high assumed";
  rows.back().rework_s = 0.1;
  rows.push_back(projected({"aws:p5.48xlarge", "on-demand", "H100-SXM5", 140, 98.3, stay, 0.001}));
  rows.back().break_even_speedup = {};
  rows.back().crossover_size = {};
  rows.back().verdict_reason =
      "cheaper with probability below 0.01; no speed-up would make it cheaper";
  rows.push_back(projected({"aws:p5en.48xlarge", "on-demand", "H200-SXM5", 60, 93.3, stay, 0.02}));
  rows.back().verdict = undecided;
  rows.back().implausible = true;
  rows.back().verdict_reason = "the likely speed-up of 90 is above the 40 that the ceilings allow";
  rows.push_back(projected(
      {"alibaba:ecs.gn7e-c16g1.32xlarge", "on-demand", "A100-SXM4-80GB", 230, 68.35, stay, 0.06}));
  rows.back().price_region = "cn-hangzhou";
  rows.back().price_source = "alibaba price list";
  rows.back().price_original_per_h = 495.3;
  rows.back().price_currency = "CNY";
  rows.back().usd_per_currency = 0.138;
  rows.back().rate_as_of = "2026-08";
  rows.back().rate_source = "a price script, not official";
  rows.push_back(
      projected({"tencent:GN7.2XLARGE32", "on-demand", "T4", 3550, 1.25, migrate, 0.98}));
  rows.push_back(
      projected({"aws:c7a.48xlarge", "on-demand", "EPYC 9R14", 2900, 9.85, undecided, 0.4}));
  rows.back().candidate_path = "openmp";
  rows.back().candidate_count = 2; // the price is of one machine
  rows.back().price_usd_per_h = rows.back().price_original_per_h = 4.925;
  rows.back().break_even_price_usd_per_h = *rows.back().break_even_price_usd_per_h / 2;
  rows.back().candidate_in_range = true;
  rows.back().excluded = everyone_leaves_out;

  Comparison unpriced = projected({"local-gpu", "on-demand", "NVIDIA H200", 70, 1, undecided, 0});
  unpriced.candidate_path = "cuda";
  unpriced.candidate_evidence = "measured";
  unpriced.candidate_in_range = true;
  unpriced.candidate_cost_usd = {};
  unpriced.price_usd_per_h = unpriced.price_original_per_h = unpriced.usd_per_currency = {};
  unpriced.price_currency = unpriced.price_region = unpriced.price_as_of = unpriced.price_source =
      "";
  unpriced.p_cheaper = unpriced.break_even_price_usd_per_h = unpriced.break_even_speedup = {};
  unpriced.crossover_size = unpriced.saving_usd_per_month = {};
  unpriced.verdict_reason = "the candidate cannot be priced: this machine has no price";
  rows.push_back(unpriced);

  Comparison slow = unpriced;
  slow.candidate_instance = "local";
  slow.candidate_path = "openmp";
  slow.candidate_device = "AMD EPYC";
  slow.candidate_evidence = "extrapolated";
  slow.candidate_end_to_end_s = slow.candidate_kernel_s = Interval{220000, 240000, 260000};
  slow.candidate_time_to_result_s = slow.candidate_end_to_end_s;
  slow.compute_s = 240000;
  slow.speedup = Interval{0.017, 0.0225, 0.03};
  slow.p_meets_deadline = 0;
  rows.push_back(slow);

  Comparison unavailable = common();
  unavailable.candidate_path = "host";
  unavailable.candidate_instance = "tencent:GT4.4XLARGE96";
  unavailable.candidate_device = "A100-SXM4-40GB";
  unavailable.verified = true;
  unavailable.verdict_reason = "the candidate has no time: needs 45.0 GiB of memory";
  unavailable.excluded = "needs 45.0 GiB of memory; " + std::string(everyone_leaves_out);
  rows.push_back(unavailable);
  for (Comparison& row : rows) {
    if (row.candidate_path != "openmp") continue;
    row.candidate_floor_s = {};
    row.candidate_throughput.bottleneck = "cpu: render";
    row.candidate_throughput.capacity_without_gpu_time = {};
  }
  return rows;
}

/// A frame: 20 s of tracing, 2 s of building and 0.5 s of encoding on the baseline; on the GPU 6 s
/// of tracing and the same encoding. The numbers need not agree with the rows' above.
inline std::vector<PhaseTime> phases() {
  PhaseTime common_row;
  common_row.study = common().study;
  common_row.scenario_sha256 = common().scenario_sha256;
  common_row.unit = common().unit;
  common_row.option = "on-demand";
  common_row.evidence = "projected";
  common_row.cores = 64;
  const auto row = [&](const char* phase, Processor processor, Scaling scaling,
                       const Interval& seconds, const char* bound_by) {
    PhaseTime time = common_row;
    time.phase = phase;
    time.processor = processor;
    time.scaling = scaling;
    time.alone_s = seconds;
    time.job_s = 240.0 * seconds;
    time.bound_by = bound_by;
    return time;
  };
  const auto once = [](PhaseTime time, const char* evidence) {
    time.repeats = Repeats::per_job;
    time.job_s = time.alone_s;
    time.evidence = evidence;
    return time;
  };
  using enum Processor;
  const Scaling serial = Scaling::serial, parallel = Scaling::parallel;
  std::vector<PhaseTime> rows;
  common_row.is_baseline = true;
  common_row.instance = "aws:c6i.32xlarge";
  common_row.path = "openmp";
  common_row.device = "Xeon Platinum 8375C";
  rows.push_back(once(row("load", cpu, serial, {2.5, 3, 4}, "cpu"), "projected"));
  rows.push_back(row("build", cpu, parallel, {1.5, 2, 3}, "cpu"));
  rows.push_back(row("render", cpu, parallel, {15, 20, 27}, "dram"));
  rows.push_back(row("encode", cpu, serial, {0.4, 0.5, 0.6}, "cpu"));
  common_row.is_baseline = false;
  common_row.path = "host";
  common_row.cores = 2;
  common_row.gpus = 1;
  for (const char* instance : {"aws:g5.xlarge", "aws:g4dn.xlarge"}) {
    common_row.instance = instance;
    common_row.device = instance == std::string("aws:g5.xlarge") ? "A10G" : "T4";
    const double factor = common_row.device == "T4" ? 2 : 1;
    rows.push_back(once(row("cold start", gpu, parallel, {0.2, 0.5, 1.5}, "launch"), "assumed"));
    rows.push_back(once(row("load", cpu, serial, {2.5, 3, 4}, "cpu"), "projected"));
    rows.push_back(row("intersect", gpu, parallel, factor * Interval{3, 5, 9}, "latency"));
    rows.push_back(row("shade", gpu, parallel, factor * Interval{0.6, 1, 1.6}, "dram"));
    rows.push_back(row("encode", cpu, serial, {0.4, 0.5, 0.6}, "cpu"));
  }
  return rows;
}

inline Environment environment() {
  Environment machine;
  machine.cpu_model = "AMD EPYC 9V74";
  machine.isa = "AVX-512";
  machine.physical_cores = 2;
  machine.logical_cpus = 4;
  machine.clock_ghz = 3.7;
  machine.memory_gib = 23.4;
  machine.memory_read_gb_per_s = 31.25;
  machine.os = "Linux 6.1";
  machine.compiler = "GNU 12.2.0";
  machine.flags = "-O3 -march=native";
  machine.version = "0.1.0";
  machine.commit = "abcdef0";
  machine.measured_on = "2026-11-30";
  return machine;
}

inline Measurement measured(Path path, const std::string& phase) {
  const Comparison question = common();
  Measurement row;
  row.study = question.study;
  row.title = question.title;
  row.scenario_sha256 = question.scenario_sha256;
  row.workload_sha256 = "fedcba9876543210";
  row.workload = question.workload;
  row.unit = question.unit;
  row.job_units = question.job_units;
  row.path = path;
  row.phase = phase;
  row.slice = question.slice;
  row.threads = 4;
  row.verified = true;
  row.verification = "0 of 64 camera rays unequal";
  row.checksum = 18446744073709551615ull;
  row.environment = environment();
  return row;
}

inline Measurement timed(const std::string& phase, double median_s) {
  Measurement row = measured(Path::openmp, phase);
  for (const double factor : {1.1, 1.0, 0.97, 1.0, 0.1 + 0.9, 1.03, 1.01, 0.99, 1.02})
    row.samples_s.push_back(median_s * factor);
  row.kernel_samples_s = row.samples_s;
  row.cold_s = 1.5 * median_s;
  row.end_to_end_s = {median_s, 0.97 * median_s, 1.1 * median_s};
  row.stop_reason = "converged";
  row.job_over_slice = 1000.0 / 3;
  row.job_s = median_s * row.job_over_slice;
  row.evidence = "extrapolated";
  return row;
}

/// Eight frames at once on four threads in 5 s; one after the other 8 / 3 x 2.7 s, of it 2.4 s in
/// phases.
inline Measurement side_by_side() {
  Measurement row = measured(Path::openmp, side_by_side_phase);
  row.slice = "8 of 240 frames";
  row.samples_s = {5};
  row.end_to_end_s = {5, 5, 5};
  row.stop_reason = "one run";
  row.verification = "0 of 8 frames side by side differ";
  row.work.counts = {{"units", 8},       {"units_alone", 3}, {"alone_wall_s", 2.7},
                     {"whole_units", 1}, {"cpu_threads", 4}, {"gpu_feeders", 0}};
  return row;
}

inline std::vector<Measurement> measurements() {
  std::vector<Measurement> rows{timed("total", 2.4), timed("build", 0.2), timed("render", 2.2)};
  rows[2].work.counts = {{"primary_rays", 1e6}, {"bounce_rays", 1234567.25}};
  rows.push_back(measured(Path::host, "total"));
  rows.back().stop_reason = "counting only";
  rows.push_back(measured(Path::host, "intersect"));
  rows.back().stop_reason = "counting only";
  rows.back().processor = Processor::gpu;
  rows.back().repeats = Repeats::per_job;
  rows.back().scaling = Scaling::serial;
  rows.back().work = {1.25e9, 0.31, 8e8,    3e12,  5e11,           3e6, 9e8, 4e7, 2e8, 12, 5, 1e6,
                      2e6,    600,  2.25e9, 65536, {{"rays", 2e6}}};
  rows.push_back(measured(Path::cuda, "total"));
  rows.back().verified = false;
  rows.back().stop_reason = "not verified";
  rows.back().verification = "3 of 100 camera rays unequal";
  rows.push_back(side_by_side());
  return rows;
}

} // namespace breakeven::example
