// Work of the kernels of boosted trees, counted by hand from gbdt_kernels.h and
// gbdt_score_kernels.h to about 20 %: arithmetic, loads and stores, and a share of addressing and
// loop control.
#include "workloads/risk/gbdt_work.h"

#include "workloads/risk/binned.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace breakeven::risk {

namespace {

constexpr double bins_of_feature = 256, sum_bytes = 16, split_bytes = 40, tree_node_bytes = 40;
constexpr double tile_bytes = 16, place_bytes = 16, left_bytes = 4, side_bytes = 512;
constexpr double number_bytes = 4, gradient_bytes = 8, margin_bytes = 4, label_bytes = 1;
/// What a row's bins, or a margin, met by their number take from DRAM, whatever is asked of them:
/// two sectors, which the memories of data centre GPUs give at once; a margin is written back as
/// one. Assumed. Bins and margins of a job worth a GPU are too large for its L2, so these are not
/// counted as cached; that is too high below some million rows, as it is near the root, where
/// neighbours in a node are neighbours in the table.
constexpr double gathered_bytes = 64, sector_bytes = 32;

/// Atomics on shared memory, of 32 lanes at once, that take as long as one that the model prices.
/// Conflict-free ones are native and take the 32 banks one clock. Lanes of a warp have the bins of
/// eight rows and four features at a time: on random banks the fullest one gets 3.5 of 32, features
/// of few values up to 8, so 5 clocks are likely. The model's rates, 0.02, 0.25 and 1 a clock, then
/// stand for 62 clocks (all lanes wait for one address, two clocks each), 5 and 1.25 (no
/// conflicts).
constexpr double shared_atomics_priced_as_one = 32 / (5 * 0.25);

double row_bytes_of(double features) { return std::ceil(features / 8) * 8; }

// A lane's turn at a word of four features: loop, place, number and the row's address in 64 bits
// (22), gradient and word (2), unpacking (6). A feature: byte, two addresses, guard, two atomics
// (9). Agrees with the PTX.
Work sums_work(const GbdtCounts& c) {
  constexpr double instructions_a_word = 30, instructions_a_feature = 9;
  // Of a bin of a tile: two words cleared (6), two read and tested (8); of one that has rows,
  // address, sign and two atomics on global memory (8).
  constexpr double instructions_a_bin = 14, instructions_a_flushed_bin = 8;
  Work work;
  if (c.row_groups <= 0) return work;
  const double features_in_group = c.row_features / c.row_groups;
  const double tile_bins = c.tiles_summed * features_in_group * bins_of_feature;
  work.lane_instructions =
      c.row_words * instructions_a_word + c.row_features * instructions_a_feature
      + tile_bins * instructions_a_bin + c.flushed_bins * instructions_a_flushed_bin;
  work.simt_efficiency = c.row_features / (4 * c.row_words); // lanes of a word with fewer features
  const double in_order = c.rows_in_order / c.rows_summed;
  const double bins_bytes =
      in_order * c.row_bytes * c.rows_summed / c.row_groups + (1 - in_order) * gathered_bytes;
  work.dram_bytes = c.row_groups * (gradient_bytes + (1 - in_order) * number_bytes + bins_bytes)
                    + c.node_features * bins_of_feature * sum_bytes; // cleared before
  work.dependent_accesses = c.row_words; // a number, then its row's word
  work.atomics = 2 * c.row_features / shared_atomics_priced_as_one + 2 * c.flushed_bins;
  return work;
}

// Side: number, address, byte, comparison, vote and its word (30). Move: the counts of eight warps
// (40), bit, place, number and gradient (30).
Work sort_work(const GbdtCounts& c) {
  Work work;
  work.lane_instructions = c.rows_sorted * (30 + 40 + 30);
  work.dram_bytes = c.rows_sorted
                    * (number_bytes + gathered_bytes                  // side
                       + 2 * (number_bytes + gradient_bytes) + 0.25); // moved; bits to and fro
  work.dependent_accesses = c.rows_sorted;
  return work;
}

// Exponential 14, a quotient 10, gradient and rounding 14, packing and sums of 64 bits 20, loads,
// store and loop 12.
Work gradients_work(const GbdtCounts& c) {
  Work work;
  work.lane_instructions = c.gradient_rows * 70;
  work.dram_bytes = c.gradient_rows * (margin_bytes + label_bytes + gradient_bytes);
  work.lane_instructions += c.draws * 100; // ten rounds of Philox
  work.dram_bytes += c.draws * number_bytes / 2;
  work.lane_instructions += c.taken_bytes * 90; // a division of 64 bits
  work.dram_bytes += c.taken_bytes * 2;
  return work;
}

Work margins_work(const GbdtCounts& c) {
  Work work;
  work.lane_instructions = c.margin_rows * 20 + c.margin_splits * 8;
  work.dram_bytes = c.margin_rows * (number_bytes + gathered_bytes + sector_bytes)
                    + c.margin_splits * gathered_bytes;
  work.dependent_accesses = c.margin_rows + c.margin_splits;
  // Down a tree: a node, then a bin of the row, which is in L1 after the first. Then the loss.
  constexpr double node_bytes = 32;
  work.lane_instructions += c.walk_steps * 14 + c.walked_rows * 60;
  work.dram_bytes += c.walked_rows * (std::max(c.row_bytes, sector_bytes) + 2 * margin_bytes);
  work.cached_bytes = c.walk_steps * (node_bytes + 1);
  work.working_set_bytes =
      c.walk_steps > 0 && c.rounds > 0 ? tree_node_bytes * 2 * c.nodes_searched / c.rounds : 0;
  work.dependent_accesses += 2 * c.walk_steps;
  return work;
}

/// Of a level: a difference, a search and a choice, each with a small table to or fro; a root has
/// no difference. The CPU waits for each copy, which takes at least as long as a launch, so it
/// counts as one.
double splits_launches(const GbdtCounts& c) { return 2 * std::max(0.0, 3 * c.levels - c.rounds); }

Phase phase_of(const std::string& name, Repeats repeats, double seconds, const Work& work) {
  Phase phase;
  phase.name = name;
  phase.processor = Processor::gpu;
  phase.repeats = repeats;
  phase.end_to_end_s = phase.kernel_s = seconds;
  phase.work = work;
  return phase;
}

int columns_in_use(int features, const GbdtParameters& parameters) {
  return static_cast<int>(drawn_columns(features, parameters, 0).size());
}

/// Nodes of the last level whose splits are searched, at most.
double most_nodes(std::int64_t rows, const GbdtParameters& parameters) {
  return std::min(std::ldexp(1.0, std::max(0, parameters.depth - 1)), static_cast<double>(rows));
}

} // namespace

GbdtCounts with_nodes(const GbdtCounts& counted, double ratio) {
  GbdtCounts more = counted;
  // On few rows nearly every tile is a node's only one.
  for (double GbdtCounts::*by_nodes :
       {&GbdtCounts::nodes_searched, &GbdtCounts::node_features, &GbdtCounts::pair_features,
        &GbdtCounts::tiles_summed, &GbdtCounts::tiles, &GbdtCounts::flushed_bins,
        &GbdtCounts::table_bytes_in, &GbdtCounts::table_bytes_out})
    more.*by_nodes *= ratio;
  return more;
}

GbdtCounts scaled_to(const GbdtCounts& counted, double rows_counted, double rows_of_job,
                     double rounds_counted, double rounds) {
  const double of_rounds = rounds / rounds_counted, of_rows = rows_of_job / rows_counted;
  GbdtCounts job = counted;
  job.rows *= of_rows;
  job.validation_rows *= of_rows;
  for (double GbdtCounts::*by_rows :
       {&GbdtCounts::rows_summed, &GbdtCounts::row_features, &GbdtCounts::row_words,
        &GbdtCounts::row_groups, &GbdtCounts::rows_sorted, &GbdtCounts::rows_in_order,
        &GbdtCounts::gradient_rows, &GbdtCounts::margin_rows, &GbdtCounts::margin_splits,
        &GbdtCounts::walked_rows, &GbdtCounts::walk_steps, &GbdtCounts::draws,
        &GbdtCounts::taken_bytes, &GbdtCounts::streamed_bytes})
    job.*by_rows *= of_rows * of_rounds;
  for (double GbdtCounts::*by_rounds :
       {&GbdtCounts::tiles_summed, &GbdtCounts::tiles, &GbdtCounts::flushed_bins,
        &GbdtCounts::table_bytes_in, &GbdtCounts::table_bytes_out, &GbdtCounts::rounds,
        &GbdtCounts::levels, &GbdtCounts::nodes_searched, &GbdtCounts::node_features,
        &GbdtCounts::pair_features, &GbdtCounts::launches, &GbdtCounts::copies})
    job.*by_rounds *= of_rounds;
  // More rows make more whole tiles; each node has one that is not whole, as before.
  const auto more_tiles = [&](double GbdtCounts::*rows) {
    return (job.*rows - counted.*rows * of_rounds) / gbdt_tile_rows;
  };
  const double more_summed = more_tiles(&GbdtCounts::row_groups);
  job.tiles_summed += more_summed;
  if (counted.row_groups > 0)
    job.flushed_bins +=
        more_summed * counted.bins / counted.features * counted.row_features / counted.row_groups;
  const double more_sorted = more_tiles(&GbdtCounts::rows_sorted);
  const double more_of_all =
      more_tiles(&GbdtCounts::rows_summed) + more_sorted + more_tiles(&GbdtCounts::margin_rows);
  job.tiles += more_of_all;
  job.table_bytes_in += more_of_all * tile_bytes + more_sorted * place_bytes;
  job.table_bytes_out += more_sorted * left_bytes;
  return job;
}

Work gbdt_transfer_work(const GbdtCounts& counts) {
  Work work;
  work.host_to_device_bytes =
      (counts.rows + counts.validation_rows) * (counts.row_bytes + label_bytes);
  return work;
}

Work gbdt_histograms_work(const GbdtCounts& counts) {
  Work work = sums_work(counts);
  for (const Work& more : {sort_work(counts), gradients_work(counts), margins_work(counts)})
    add(work, more);
  work.launches = counts.launches + counts.copies - splits_launches(counts);
  work.host_to_device_bytes = counts.streamed_bytes + counts.table_bytes_in;
  work.device_to_host_bytes = counts.table_bytes_out;
  work.parallel_width = counts.levels > 0 ? counts.row_words / counts.levels : 0;
  // Divided by rows, GPUs add up the sums of a level's nodes, those that are differences left out.
  work.all_reduces = counts.levels;
  work.all_reduce_bytes =
      bins_of_feature * sum_bytes * (counts.pair_features + counts.rounds * counts.features);
  work.counts = {{"row_features", counts.row_features},
                 {"rows_sorted", counts.rows_sorted},
                 {"margin_rows", counts.margin_rows + counts.walked_rows},
                 {"shared_atomics", 2 * counts.row_features}};
  return work;
}

// A bin of a difference: a division of 64 bits to find its pair (90), three loads or stores and two
// differences (14). A bin that is searched: the sum over lanes and warps (100), two splits scored
// by four quotients in double precision, the best of a block (85). An instruction in double
// precision counts twice, as on GPUs with half as many such lanes (V100, A100, H100); the T4, A10
// and L4 have a thirty-second or less, for which this is too low.
Work gbdt_splits_work(const GbdtCounts& counts) {
  constexpr double difference = 104, search = 100 + 200 + 85;
  Work work;
  work.lane_instructions =
      bins_of_feature * (counts.pair_features * difference + counts.node_features * search);
  work.dram_bytes = bins_of_feature * sum_bytes * (3 * counts.pair_features + counts.node_features)
                    + 2 * split_bytes * counts.node_features;
  work.launches = splits_launches(counts);
  work.parallel_width =
      counts.levels > 0 ? bins_of_feature * counts.node_features / counts.levels : 0;
  work.counts = {{"nodes_searched", counts.nodes_searched},
                 {"node_features", counts.node_features}};
  return work;
}

std::vector<Phase> gbdt_phases(const GbdtCounts& counts, const GbdtSeconds& seconds) {
  return {
      phase_of("transfer", Repeats::per_job, seconds.transfer, gbdt_transfer_work(counts)),
      phase_of("histograms", Repeats::per_unit, seconds.histograms, gbdt_histograms_work(counts)),
      phase_of("splits", Repeats::per_unit, seconds.splits, gbdt_splits_work(counts))};
}

// ---- memory ----

GbdtGpuMemory gbdt_gpu_memory(std::int64_t rows, int features, std::int64_t validation_rows,
                              const GbdtParameters& parameters) {
  const auto n = static_cast<double>(rows), v = static_cast<double>(validation_rows);
  const double columns = columns_in_use(features, parameters);
  const bool all_columns = columns == features, all_rows = parameters.row_share >= 1;
  GbdtGpuMemory memory;
  memory.bins = (n + v) * row_bytes_of(features) + (all_columns ? 0 : n * row_bytes_of(columns));
  memory.rows = n
                    * (label_bytes + margin_bytes + 2 * (number_bytes + gradient_bytes)
                       + (all_rows ? 0 : number_bytes))
                + v * (label_bytes + margin_bytes);
  const double nodes = most_nodes(rows, parameters),
               node_sums = columns * bins_of_feature * sum_bytes;
  const double parents = nodes > 1 ? nodes / 2 : 0;
  // Sums of a level and of its parents, and the tiles of half of the rows at most.
  const double summing =
      (nodes + parents) * node_sums + (n / 2 / gbdt_tile_rows + nodes) * tile_bytes + nodes * 8;
  const double searching = nodes * (node_sums + columns * split_bytes + split_bytes + sum_bytes);
  const double sorting =
      parents * node_sums
      + (n / gbdt_tile_rows + parents) * (side_bytes + tile_bytes + place_bytes + left_bytes);
  memory.nodes = std::max({summing, searching, parents > 0 ? sorting : 0});
  return memory;
}

Failure no_room_for_training(std::int64_t rows, const GbdtGpuMemory& needed, double there_are) {
  return Failure(fmt::format(
      "no room to train on {} rows: they need {:.4g} GB of the GPU's memory, "
      "or {:.4g} GB with their bins copied for each pass, and {:.4g} GB are "
      "free",
      rows, needed.all() * 1e-9, (needed.rows + needed.nodes) * 1e-9, there_are * 1e-9));
}

double gbdt_memory_bytes(std::int64_t rows, int features, std::int64_t validation_rows,
                         const GbdtParameters& parameters, Path path, int threads) {
  switch (path) {
  case Path::cuda:
  case Path::host:
    return gbdt_gpu_memory(rows, features, validation_rows, parameters).all();
  case Path::openmp: {
    const auto n = static_cast<double>(rows), v = static_cast<double>(validation_rows);
    const double columns = columns_in_use(features, parameters);
    const double left_out = 1 - std::min(1.0, static_cast<double>(parameters.row_share));
    // Packed sums of each thread, and its part of the wide ones.
    const double of_thread = columns * bins_of_feature * (gradient_bytes + sum_bytes);
    return binned_bytes(rows, features) + binned_bytes(validation_rows, features)
           + n * (margin_bytes + 2 * (number_bytes + gradient_bytes) + left_out * number_bytes)
           + v * margin_bytes + (columns < features ? n * row_bytes_of(columns) : 0)
           + most_nodes(rows, parameters) * columns * (bins_of_feature * sum_bytes + split_bytes)
           + threads * of_thread;
  }
  }
  return 0;
}

// ---- scoring ----

double deepest_steps(const Gbdt& model) {
  double steps = 0;
  for (const Tree& tree : model.trees) {
    // Children follow their parents, so depths can be told from the front.
    std::vector<int> depth(tree.size(), 0);
    for (std::size_t i = 0; i < tree.size(); ++i)
      if (tree[i].feature >= 0)
        for (int side = 0; side < 2; ++side)
          depth[static_cast<std::size_t>(tree[i].left + side)] = depth[i] + 1;
    steps += *std::max_element(depth.begin(), depth.end());
  }
  return steps;
}

// A step: node (1), value by feature (3), comparisons with the cut and for a missing one (6), child
// and loop (6). A warp walks as deep as its deepest lane, so all lanes are counted to go there.
std::int64_t score_chunk_rows(int features) {
  constexpr std::int64_t chunk_bytes = std::int64_t{16} << 20, value_bytes = 4;
  return std::max<std::int64_t>(1,
                                chunk_bytes / (std::max<std::int64_t>(1, features) * value_bytes));
}

Work gbdt_score_work(const Gbdt& model, std::int64_t rows, std::int64_t chunks) {
  constexpr double instructions_a_step = 16, instructions_a_tree = 8, instructions_a_value = 8;
  constexpr double node_bytes = 16, value_bytes = 4;
  const auto n = static_cast<double>(rows);
  const auto trees = static_cast<double>(model.trees.size());
  const auto features = static_cast<double>(model.feature_names.size());
  double nodes = 0;
  for (const Tree& tree : model.trees)
    nodes += static_cast<double>(tree.size());
  const double steps = deepest_steps(model);
  Work work;
  work.lane_instructions = n
                           * (steps * instructions_a_step + trees * instructions_a_tree
                              + features * instructions_a_value);
  work.dram_bytes = n * (features * value_bytes + margin_bytes);
  work.cached_bytes = n * (steps + trees) * node_bytes;
  work.working_set_bytes = nodes * node_bytes;
  work.dependent_accesses = n * (steps + trees);
  work.launches = static_cast<double>(chunks);
  work.host_to_device_bytes = n * features * value_bytes + nodes * node_bytes;
  work.device_to_host_bytes = n * margin_bytes;
  work.parallel_width = n / static_cast<double>(std::max<std::int64_t>(1, chunks));
  work.counts = {{"rows", n}, {"row_trees", n * trees}};
  return work;
}

} // namespace breakeven::risk
