// The GPU kernels of VaR, over a chunk of paths whose normals and returns lie in global memory, a
// row a factor, so that the lanes of a warp, which are paths, read whole lines. All lanes of a warp
// revalue the same option at the same time, so none diverge.
#pragma once

#include "workloads/launch.h"
#include "workloads/risk/var.h"

// nvcc's pragma, which other compilers warn of: arrays live in registers only where every index is
// known, so their loops must be unrolled.
#if defined(__CUDACC__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

namespace breakeven::ON_PATH::risk_var {

using namespace ::breakeven::risk;

/// The book in the path's memory, and a chunk's rows: `pitch` paths apart, `paths` in use.
struct BookView {
  const float* loadings;
  const FactorTerms* factors;
  const std::int32_t* first_option;
  const OptionTerms* options;
  std::int64_t options_value_now;
  int factor_count, tiles;
};
struct Chunk {
  std::uint64_t first_path;
  std::int64_t paths, pitch;
};

constexpr int usual_block = 256;

/// A lane draws four factors of a path; neighbours are neighbouring paths.
struct DrawNormals {
  DEVICE_ONLY void operator()(const Thread& thread, std::uint64_t seed, Chunk chunk,
                              std::int64_t blocks_a_quad, float* normals) const {
    const std::int64_t quad = thread.block_index() / blocks_a_quad;
    const std::int64_t path =
        (thread.block_index() - quad * blocks_a_quad) * usual_block + thread.thread_index();
    if (path >= chunk.paths) return;
    const Random4 draws = draws_of(seed, chunk.first_path + static_cast<std::uint64_t>(path),
                                   static_cast<std::uint32_t>(quad));
    float* out = normals + 4 * quad * chunk.pitch + path;
    out[0] = normal_of(draws.x);
    out[chunk.pitch] = normal_of(draws.y);
    out[2 * chunk.pitch] = normal_of(draws.z);
    out[3 * chunk.pitch] = normal_of(draws.w);
  }
};

struct alignas(16) Four {
  float value[4];
};

/// A block has 4 tiles of 8 factors, a warp each, and 128 paths, 4 a lane: 32 results a lane, for
/// which a step needs 4 normals and 8 loadings. Normals and loadings are staged by 32 columns.
constexpr int correlate_warps = 4, correlate_block = correlate_warps * threads_per_warp;
constexpr int paths_a_lane = 4, correlate_paths = paths_a_lane * threads_per_warp;
constexpr int columns_a_stage = 32;

struct Correlate {
  static constexpr std::size_t loadings_at = columns_a_stage * correlate_paths * sizeof(float);
  static constexpr std::size_t loadings_a_warp = columns_a_stage * rows_a_tile;
  static constexpr std::size_t shared_bytes =
      loadings_at + correlate_warps * loadings_a_warp * sizeof(float);

  DEVICE_ONLY void operator()(const Thread& thread, BookView book, Chunk chunk,
                              std::int64_t path_blocks, const float* normals,
                              float* log_returns) const {
    const auto staged_normals =
        thread.shared<float>(0, static_cast<std::size_t>(columns_a_stage) * correlate_paths);
    const auto staged_loadings =
        thread.shared<Four>(loadings_at, correlate_warps * loadings_a_warp / 4);
    const std::int64_t tile_group = thread.block_index() / path_blocks;
    const std::int64_t first_path =
        (thread.block_index() - tile_group * path_blocks) * correlate_paths;
    const int tile = static_cast<int>(tile_group) * correlate_warps + thread.warp();
    const int lane = thread.lane();
    const int own_columns = tile < book.tiles ? (tile + 1) * rows_a_tile : 0;
    const int last_tile = static_cast<int>(tile_group + 1) * correlate_warps;
    const int all_columns = (last_tile < book.tiles ? last_tile : book.tiles) * rows_a_tile;

    float sums[rows_a_tile][paths_a_lane];
    UNROLL
    for (int row = 0; row < rows_a_tile; ++row) {
      const float drift = own_columns > 0 ? book.factors[tile * rows_a_tile + row].log_drift : 0.0f;
      UNROLL
      for (int p = 0; p < paths_a_lane; ++p)
        sums[row][p] = drift;
    }
    for (int begin = 0; begin < all_columns; begin += columns_a_stage) {
      stage_normals(thread, staged_normals, chunk, normals, first_path, begin, all_columns);
      stage_loadings(thread, staged_loadings, book, tile, begin, own_columns);
      thread.sync();
      const int left = own_columns - begin;
      const int columns = left < columns_a_stage ? left : columns_a_stage;
      for (int column = 0; column < columns; ++column) {
        float z[paths_a_lane];
        UNROLL
        for (int p = 0; p < paths_a_lane; ++p)
          z[p] = staged_normals[static_cast<std::size_t>(column * correlate_paths
                                                         + p * threads_per_warp + lane)];
        UNROLL
        for (int half = 0; half < rows_a_tile / 4; ++half) {
          const Four four =
              staged_loadings[(static_cast<std::size_t>(thread.warp()) * loadings_a_warp
                               + static_cast<std::size_t>(column) * rows_a_tile)
                                  / 4
                              + static_cast<std::size_t>(half)];
          UNROLL
          for (int row = 0; row < 4; ++row)
            UNROLL
          for (int p = 0; p < paths_a_lane; ++p)
            sums[4 * half + row][p] = fused(four.value[row], z[p], sums[4 * half + row][p]);
        }
      }
      thread.sync();
    }
    UNROLL
    for (int row = 0; row < rows_a_tile; ++row) {
      const int factor = tile * rows_a_tile + row;
      if (factor >= book.factor_count) continue;
      UNROLL
      for (int p = 0; p < paths_a_lane; ++p) {
        const std::int64_t path = first_path + p * threads_per_warp + lane;
        if (path < chunk.paths)
          log_returns[factor * chunk.pitch + path] =
              held_within(sums[row][p], book.factors[factor]);
      }
    }
  }

private:
  DEVICE_ONLY static void stage_normals(const Thread& thread, const SharedArray<float>& staged,
                                        const Chunk& chunk, const float* normals,
                                        std::int64_t first_path, int begin, int end) {
    for (int column = thread.warp(); column < columns_a_stage; column += correlate_warps) {
      if (begin + column >= end) break;
      UNROLL
      for (int p = 0; p < paths_a_lane; ++p) {
        const int at = p * threads_per_warp + thread.lane();
        const std::int64_t path = first_path + at;
        staged[static_cast<std::size_t>(column * correlate_paths + at)] =
            path < chunk.paths ? normals[(begin + column) * chunk.pitch + path] : 0.0f;
      }
    }
  }
  /// A warp stages its own tile's.
  DEVICE_ONLY static void stage_loadings(const Thread& thread, const SharedArray<Four>& staged,
                                         const BookView& book, int tile, int begin,
                                         int own_columns) {
    const auto* from = reinterpret_cast<const Four*>(book.loadings + tile_begin(tile))
                       + static_cast<std::int64_t>(begin) * rows_a_tile / 4;
    const int left = own_columns - begin;
    const int columns = left < columns_a_stage ? left : columns_a_stage;
    const int fours = columns * rows_a_tile / 4; // below 0 where the tile has ended
    for (int i = thread.lane(); i < fours; i += threads_per_warp)
      staged[static_cast<std::size_t>(thread.warp()) * loadings_a_warp / 4
             + static_cast<std::size_t>(i)] = from[i];
  }
};

/// A lane revalues all of one path. Options are staged by the block, 128 at a time, whatever their
/// factor.
constexpr int options_a_stage = 128;
struct Revalue {
  static constexpr std::size_t shared_bytes = options_a_stage * sizeof(OptionTerms);

  DEVICE_ONLY void operator()(const Thread& thread, BookView book, Chunk chunk,
                              const float* log_returns, std::int64_t* profits) const {
    const auto staged = thread.shared<OptionTerms>(0, options_a_stage);
    const std::int64_t path = thread.global_index();
    // Lanes beyond the last path revalue it too, because they are needed at the barriers.
    const std::int64_t own = path < chunk.paths ? path : chunk.paths - 1;
    const std::int32_t all_options = book.first_option[book.factor_count];
    std::int64_t profit = -book.options_value_now;
    std::int32_t stage_end = 0;
    for (int factor = 0; factor < book.factor_count; ++factor) {
      const FactorTerms terms = book.factors[factor];
      const float log_return = log_returns[factor * chunk.pitch + own];
      const float growth = growth_of(log_return);
      const float spot = spot_after(growth, terms);
      profit += equity_profit(growth, terms);
      const std::int32_t end = book.first_option[factor + 1];
      for (std::int32_t option = book.first_option[factor]; option < end;) {
        if (option == stage_end) { // the same for the whole block
          thread.sync();
          stage_end = stage_options(thread, staged, book, option, all_options);
          thread.sync();
        }
        const std::int32_t until = end < stage_end ? end : stage_end;
        for (; option < until; ++option) {
          const OptionTerms option_terms =
              staged[static_cast<std::size_t>(option % options_a_stage)];
          profit += option_worth(log_return, spot, option_terms);
        }
      }
    }
    if (path < chunk.paths) profits[path] = profit;
  }

private:
  /// Gives where the staged ones end. Stages begin at multiples of their size.
  DEVICE_ONLY static std::int32_t stage_options(const Thread& thread,
                                                const SharedArray<OptionTerms>& staged,
                                                const BookView& book, std::int32_t begin,
                                                std::int32_t all) {
    const std::int32_t full = begin + options_a_stage;
    const std::int32_t end = full < all ? full : all;
    for (std::int32_t i = begin + thread.thread_index(); i < end; i += thread.block_size())
      staged[static_cast<std::size_t>(i - begin)] = book.options[i];
    return end;
  }
};

struct AsSum {
  HOST_DEVICE ProfitSum operator()(std::int64_t profit) const { return as_sum(profit); }
};
struct AddSums {
  HOST_DEVICE ProfitSum operator()(const ProfitSum& a, const ProfitSum& b) const { return a + b; }
};

} // namespace breakeven::ON_PATH::risk_var
