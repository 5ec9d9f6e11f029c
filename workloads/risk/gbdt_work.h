// What training and scoring of boosted trees cost a GPU: counts that the GPU side's engine makes as
// it runs, the Work of its phases by these, and the memory that either path will take. A run on
// some rows and rounds tells of a job of more. Leaves out time.
#pragma once

#include "sim/errors.h"
#include "workloads/risk/gbdt.h"
#include "workloads/workload.h"

#include <cstdint>
#include <vector>

namespace breakeven::risk {

/// Rows that one block of a kernel takes, of one node.
constexpr std::int64_t gbdt_tile_rows = 4096;

/// What one training did on the GPU side. Rows are counted once for every time they are met.
struct GbdtCounts {
  // The table.
  double rows = 0, validation_rows = 0;
  double features = 0;
  double row_bytes = 0; ///< of the bins of a row
  double bins = 0;      ///< of all features together, that of missing values with them

  // These grow with the rows.
  double rows_summed = 0;     ///< by bins
  double rows_in_order = 0;   ///< of these, those that lay in the table's order
  double row_features = 0;    ///< rows summed x features: two atomics each
  double row_words = 0;       ///< rows summed x words of four features: a lane's turn each
  double row_groups = 0;      ///< rows summed x groups of sixteen features: a kernel each
  double rows_sorted = 0;     ///< to one of two children
  double gradient_rows = 0;   ///< whose gradients were found
  double margin_rows = 0;     ///< whose margins were added to by leaf
  double margin_splits = 0;   ///< of these: by a split's side
  double walked_rows = 0;     ///< that went down a tree: left out of it, or validation rows
  double walk_steps = 0;      ///< of these, all together
  double draws = 0;           ///< rows asked whether a tree is grown on them
  double taken_bytes = 0;     ///< bins copied because not all columns were drawn
  double streamed_bytes = 0;  ///< bins copied to the GPU again, which did not fit its memory
  double tiles_summed = 0;    ///< x groups of features
  double tiles = 0;           ///< of all kernels that take tiles
  double flushed_bins = 0;    ///< of tiles' sums, at most: two atomics on global memory each
  double table_bytes_in = 0;  ///< small tables to the GPU
  double table_bytes_out = 0; ///< and back

  // These grow with the nodes.
  double rounds = 0, levels = 0;
  double nodes_searched = 0;
  double node_features = 0; ///< nodes searched x features
  double pair_features = 0; ///< pairs of siblings, of which one is a difference, x features
  double launches = 0;      ///< kernels
  double copies = 0;        ///< of small tables, which the CPU waits for
  bool operator==(const GbdtCounts&) const = default;
};

/// Counts of a job of `rows` and `rounds` by those of a run on some of its rows, with as large a
/// share of validation rows: what grows with rows grows, what grows with nodes does not, though
/// more rows may split nodes that fewer did not. Tables that did not fit a GPU's memory are taken
/// to be streamed again. with_nodes() comes first.
GbdtCounts scaled_to(const GbdtCounts& counted, double rows_counted, double rows_of_job,
                     double rounds_counted, double rounds);

/// As if its trees had had `ratio` times as many nodes: few rows split fewer than many do.
GbdtCounts with_nodes(const GbdtCounts& counted, double ratio);

/// Bins and labels to the GPU.
Work gbdt_transfer_work(const GbdtCounts& counts);
/// Gradients, sums by bin, sorted rows, margins.
Work gbdt_histograms_work(const GbdtCounts& counts);
/// Sums of siblings, splits searched and chosen.
Work gbdt_splits_work(const GbdtCounts& counts);

struct GbdtSeconds {
  double transfer = 0, histograms = 0, splits = 0;
};
/// "transfer", "histograms" and "splits". The seconds are those with what goes to and fro
/// meanwhile, small tables that the kernels wait for, and so are the kernels'.
std::vector<Phase> gbdt_phases(const GbdtCounts& counts, const GbdtSeconds& seconds);

// ---- memory ----

/// Bytes that training holds at most on the GPU side, in the path's memory.
struct GbdtGpuMemory {
  double bins = 0;  ///< of rows and validation rows, and of drawn columns
  double rows = 0;  ///< state of each row: 29 bytes, 33 where not all are drawn; of validation, 5
  double nodes = 0; ///< tables of the largest level that there may be
  double all() const { return bins + rows + nodes; }
};
GbdtGpuMemory gbdt_gpu_memory(std::int64_t rows, int features, std::int64_t validation_rows,
                              const GbdtParameters& parameters);

/// The error where the GPU side is short of memory, with the figures.
Failure no_room_for_training(std::int64_t rows, const GbdtGpuMemory& needed, double there_are);

/// Bytes that training on a path holds at most: on the GPU side in the GPU's memory, with the bins
/// there; on the CPU with the binned rows, on `threads` threads.
double gbdt_memory_bytes(std::int64_t rows, int features, std::int64_t validation_rows,
                         const GbdtParameters& parameters, Path path, int threads = 1);

// ---- scoring ----

/// Rows that go to the GPU at a time: a copy of 16 MiB reaches the link's rate, and is small enough
/// that the first and last chunk, which nothing hides, cost little.
std::int64_t score_chunk_rows(int features);
/// Levels that rows go down at most, in all trees together.
double deepest_steps(const Gbdt& model);
/// Values to the GPU, down all trees, margins back.
Work gbdt_score_work(const Gbdt& model, std::int64_t rows, std::int64_t chunks);

} // namespace breakeven::risk
