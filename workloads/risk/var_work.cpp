// Work of the VaR kernels, counted by hand from var_kernels.h and var.h, to about 20 %: arithmetic,
// shared and global loads and stores, and a share of addressing and loop control. A minimum or
// maximum is one.
#include "workloads/risk/var_work.h"

#include "workloads/risk/var_result.h"

#include <fmt/format.h>

#include <algorithm>

namespace breakeven::risk {

namespace {

/// A round of Philox is two wide products (two each), four exclusive ors in two and two sums.
constexpr double philox_instructions = 10 * (4 + 2 + 2) + 8;
/// Bits to a probability is 3, the logarithm 14, the root 12, the polynomial 14, the sign 1; the
/// store 3.
constexpr double normal_instructions = 3 + 14 + 12 + 14 + 1 + 3, normal_fused = 1 + 8 + 6 + 14;
/// Growth 12, the spot, the shares' product, rounding, conversion and sum 6; loads of the return
/// and of the factor's terms 6; four of addressing and loop control.
constexpr double factor_instructions = 12 + 1 + 6 + 6 + 4, factor_fused = 9;
/// d1 and d2, the exponential 14, two tails of 13, eight to put them together, product, rounding,
/// conversion and a sum of two words 6; two wide loads of the terms, three of loop control.
constexpr double option_instructions = 2 + 14 + 2 * 13 + 8 + 6 + 5;
constexpr double option_fused = 1 + 6 + 2 * 10 + 1;

/// Multiply-adds of the triangle's tiles, zeros on the diagonal's upper side counted: the kernel
/// does them.
double tile_products(const VarBook& book) { return static_cast<double>(tile_begin(book.tiles())); }

double bytes_of(const VarBook& book) {
  return 4 * static_cast<double>(book.loadings.size())
         + sizeof(FactorTerms) * static_cast<double>(book.factor_terms.size())
         + 4 * static_cast<double>(book.first_option.size())
         + sizeof(OptionTerms) * static_cast<double>(book.options.size());
}

} // namespace

std::int64_t chunk_paths_for(const VarBook& book) {
  constexpr std::int64_t bytes = std::int64_t{1} << 30, unit = 1024;
  const std::int64_t paths = bytes / (2 * 4 * static_cast<std::int64_t>(book.rows()));
  return std::clamp<std::int64_t>(paths / unit * unit, unit, 1 << 20);
}

Work cpu_scenarios_work(std::int64_t paths) {
  Work work;
  work.dram_bytes = 8 * static_cast<double>(paths);
  work.counts = {{"paths", static_cast<double>(paths)}};
  return work;
}

// The sum, the extremes, the counts of bins and the way to them read all profits once each.
Work cpu_quantiles_work(std::int64_t paths) {
  Work work;
  work.dram_bytes = 4 * 8 * static_cast<double>(paths);
  return work;
}

Work scenarios_work(const VarBook& book, std::int64_t paths) {
  const auto n = static_cast<double>(paths);
  const auto rows = static_cast<double>(book.rows());
  const auto options = static_cast<double>(book.options.size());
  const double products = tile_products(book);
  // Of 12 shared loads for 32 multiply-adds, and staging them.
  constexpr double instructions_a_product = 1 + 12.0 / 32 + 0.1;
  Work work;
  work.lane_instructions =
      n
      * (rows / 4 * (philox_instructions + 10) + rows * normal_instructions
         + products * instructions_a_product + rows * 6 + book.factors * factor_instructions
         + options * option_instructions + 10);
  work.fp32_flops =
      2 * n
      * (rows * normal_fused + products + book.factors * factor_fused + options * option_fused);
  // Normals written and read, returns written and read, a profit written. A chunk of normals is
  // read again by every 32 rows that need it.
  const double reads = 1 + std::max(0.0, rows / 64 - 0.5);
  work.dram_bytes = n * (4 * rows * 4 + 8);
  work.cached_bytes = n * 4 * rows * (reads - 1) + n / 128 * 4 * products;
  const auto chunk = static_cast<double>(std::min(paths, chunk_paths_for(book)));
  work.working_set_bytes = 4 * rows * chunk;
  work.launches = 3 * std::max(1.0, n / chunk);
  work.parallel_width = chunk;
  work.counts = {{"paths", n},
                 {"option_revaluations", n * options},
                 {"normals", n * static_cast<double>(book.factors)}};
  return work;
}

// Thrust sorts 64-bit numbers in 8 passes, each reading and writing all, after one that counts.
Work quantiles_work(std::int64_t paths, std::int64_t worst_paths) {
  const auto n = static_cast<double>(paths);
  constexpr double sort_passes = 8, instructions_a_pass = 40;
  Work work;
  work.lane_instructions = n * (sort_passes * instructions_a_pass + 8 * 2 + 6);
  work.dram_bytes = n * (8 * 2 * sort_passes + 8 + 8);
  work.launches = 2 + sort_passes + 2;
  work.parallel_width = n;
  work.counts = {{"worst_paths", static_cast<double>(worst_paths)}};
  return work;
}

Work transfer_work(const VarBook& book, std::int64_t worst_paths) {
  Work work;
  work.host_to_device_bytes = bytes_of(book);
  work.device_to_host_bytes = 8 * static_cast<double>(worst_paths) + sizeof(ProfitSum);
  return work;
}

Phase var_phase(const std::string& name, Processor processor, double seconds, const Work& work) {
  Phase phase;
  phase.name = name;
  phase.processor = processor;
  phase.end_to_end_s = phase.kernel_s = seconds;
  phase.work = work;
  return phase;
}

double var_memory_bytes(const VarBook& book, const VarSettings& settings, Path path) {
  const double profits = 8 * static_cast<double>(settings.paths);
  const double worst = 8 * static_cast<double>(worst_paths_needed(settings));
  switch (path) {
  case Path::openmp:
    // The worst paths, and those that share a bin with the last of them.
    return profits + bytes_of(book) + 1.25 * worst;
  case Path::cuda:
  case Path::host: {
    const auto chunk = static_cast<double>(std::min(settings.paths, chunk_paths_for(book)));
    // A sort holds as much again.
    return bytes_of(book) + std::max(2 * profits, profits + 2 * 4 * book.rows() * chunk);
  }
  }
  return 0;
}

Failure no_room_for(const VarBook& book, const VarSettings& settings, Path path) {
  return Failure(fmt::format("no room for {} paths: they need {:.2f} GB of memory", settings.paths,
                             var_memory_bytes(book, settings, path) * 1e-9));
}

} // namespace breakeven::risk
