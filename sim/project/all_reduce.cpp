#include "sim/project/all_reduce.h"

#include "sim/project/calibration.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace breakeven {

namespace {

namespace known = calibration;

/// A published table, and what it is of.
struct Table {
  std::span<const known::AllReduce> rows;
  Interval spread;
  const char* machine;
};

/// The table measured over this GPU's NVLink; without rows where nobody's was found.
Table table_for(const Gpu& gpu) {
  if (gpu.nvlink_gb_per_s == known::nvlink_3_gb_per_s)
    return {known::nvlink_3_all_reduces, known::nvlink_3_spread, "eight A100"};
  if (gpu.nvlink_gb_per_s == known::nvlink_4_gb_per_s)
    return {known::nvlink_4_all_reduces, known::nvlink_4_spread, "eight H200"};
  return {};
}

/// Log-log between the rows; the first row's time below them, its bandwidth above the last. A row
/// that is faster than a smaller payload's counts as equally fast.
double seconds_by(std::span<const known::AllReduce> rows, double bytes) {
  double below_us = rows.front().microseconds;
  if (bytes <= rows.front().bytes) return 1e-6 * below_us;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    const double above_us = std::max(below_us, rows[row].microseconds);
    if (bytes <= rows[row].bytes) {
      const double share =
          std::log(bytes / rows[row - 1].bytes) / std::log(rows[row].bytes / rows[row - 1].bytes);
      return 1e-6 * below_us * std::pow(above_us / below_us, share);
    }
    below_us = above_us;
  }
  return 1e-6 * below_us * (bytes / rows.back().bytes);
}

/// What every GPU has to send for each byte of payload, whatever the algorithm (nccl-tests,
/// doc/PERFORMANCE.md).
double bytes_sent_per_byte(int gpus) { return 2.0 * (gpus - 1) / gpus; }

/// Times of eight GPUs, for another number: by what each has to send. Latency falls at least that
/// much with fewer; with more it may grow as the way round a ring does.
Interval for_gpus(const Interval& of_eight, int gpus) {
  Interval seconds = bytes_sent_per_byte(gpus) / bytes_sent_per_byte(8) * of_eight;
  seconds.high *= std::max(1.0, (gpus - 1) / 7.0);
  return seconds;
}

Interval over_nvlink(double bytes, const Gpu& gpu, int gpus) {
  const Table table = table_for(gpu);
  if (!table.rows.empty())
    return for_gpus(around(seconds_by(table.rows, bytes), table.spread), gpus);
  const double as_if_bytes = bytes * known::nvlink_3_gb_per_s / *gpu.nvlink_gb_per_s;
  return for_gpus(
      around(seconds_by(known::nvlink_3_all_reduces, as_if_bytes), known::other_nvlink_spread),
      gpus);
}

Interval over_host_link(double bytes, const Interval& link_gb_per_s, int gpus) {
  const double gigabytes = bytes * 1e-9 * bytes_sent_per_byte(gpus);
  const Interval share = known::all_reduce_share_of_host_link;
  return known::host_link_all_reduce_latency_s
         + Interval{gigabytes / (share.high * link_gb_per_s.high),
                    gigabytes / (share.likely * link_gb_per_s.likely),
                    gigabytes / (share.low * link_gb_per_s.low)};
}

} // namespace

Interval all_reduce_seconds(double calls, double bytes, const Gpu& gpu,
                            const Interval& host_link_gb_per_s, int gpus) {
  const double each = bytes / calls;
  return calls
         * (gpu.nvlink_gb_per_s ? over_nvlink(each, gpu, gpus)
                                : over_host_link(each, host_link_gb_per_s, gpus));
}

std::string all_reduce_evidence(const Gpu& gpu, int gpus) {
  if (!gpu.nvlink_gb_per_s) return "all-reduces over the host link are assumed";
  const Table table = table_for(gpu);
  if (table.rows.empty()) return "all-reduces are derived from those of another NVLink";
  return std::string(gpus == 8 ? "all-reduces as published for "
                               : "all-reduces derived from those published for ")
         + table.machine;
}

} // namespace breakeven
