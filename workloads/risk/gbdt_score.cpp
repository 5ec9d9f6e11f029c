// A block of 512 rows at a time goes from values to margins within a core's caches: raw values to
// columns of bytes, comparisons to bits, bits to leaves.
#include "workloads/risk/gbdt_score.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <memory>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace breakeven::risk {

namespace {

constexpr std::int64_t tile_features = 16; ///< whose values of a block fill the first cache
constexpr std::int64_t tile_pitch = block_rows + 16; ///< a power of 2 would share sets of it
/// Rows that one thread takes at once: at most a block of the generator's (transactions.h), which
/// makes whole ones.
constexpr std::int64_t most_task_rows = 4096;

/// A thread's memory. What lies behind the last row is from earlier ones and does no harm.
struct alignas(64) Block {
  float tile[tile_features][tile_pitch];
  float margins[block_rows];
  std::uint32_t nodes[block_rows];
  std::uint16_t walking[block_rows]; ///< rows that are not at a leaf yet
  std::uint8_t leaves[block_rows];
};

// ---- which leaf rows come to ----

#if defined(__AVX512BW__)
constexpr std::int64_t lanes = 64;
#elif defined(__AVX2__)
constexpr std::int64_t lanes = 32;
#else
constexpr std::int64_t lanes = 16;
#endif
using Lanes = std::uint8_t __attribute__((vector_size(lanes))); ///< a byte a row

inline Lanes load(const std::uint8_t* from) {
  Lanes all;
  std::memcpy(&all, from, sizeof all);
  return all;
}
inline Lanes four_each(std::uint32_t four) {
  using Words = std::uint32_t __attribute__((vector_size(lanes)));
  return Lanes(Words{} + four);
}

/// (a + b + 1) / 2. Of a byte and 255 less another its top bit says whether the byte is at least as
/// high, in half the time of AVX-512's comparison.
inline Lanes mean(Lanes a, Lanes b) {
#if defined(__AVX512BW__)
  return Lanes(_mm512_avg_epu8(__m512i(a), __m512i(b)));
#elif defined(__AVX2__)
  return Lanes(_mm256_avg_epu8(__m256i(a), __m256i(b)));
#else
  return (a | b) - ((a ^ b) >> 1);
#endif
}

/// By the top bit of each byte. The other bits may be any of both.
inline Lanes choose(Lanes top_bit, Lanes if_clear, Lanes if_set) {
#if defined(__AVX512BW__)
  constexpr int third_chooses = 0xD8; // bit by bit, between the first and the second
  return Lanes(_mm512_ternarylogic_epi64(__m512i(if_clear), __m512i(if_set), __m512i(top_bit),
                                         third_chooses));
#elif defined(__AVX2__)
  return Lanes(_mm256_blendv_epi8(__m256i(if_clear), __m256i(if_set), __m256i(top_bit)));
#else
  return (if_clear & ~top_bit) | (if_set & top_bit);
#endif
}

/// The top bits say whether rows go right at each level of a complete tree. Written out whole by
/// the compiler, so that all ways stay in registers.
template <int levels>
[[gnu::always_inline]] inline void find_ways(const ScoringTrees::Comparison* comparisons,
                                             const std::uint8_t* columns, Lanes* ways) {
  if constexpr (levels > 1) {
    Lanes left[levels - 1], right[levels - 1];
    find_ways<levels - 1>(comparisons + 1, columns, left);
    find_ways<levels - 1>(comparisons + (1 << (levels - 1)), columns, right);
    ways[0] = mean(load(columns + comparisons->column), four_each(comparisons->above));
    for (int level = 1; level < levels; ++level)
      ways[level] = choose(ways[0], left[level - 1], right[level - 1]);
  } else if constexpr (levels == 1) {
    ways[0] = mean(load(columns + comparisons->column), four_each(comparisons->above));
  }
}

/// Numbers of leaves from left to right.
template <int levels>
void find_leaves(const ScoringTrees::Comparison* comparisons, const std::uint8_t* columns,
                 std::int64_t rows, std::uint8_t* leaves) {
  for (std::int64_t row = 0; row < rows; row += lanes) {
    Lanes leaf{};
    if constexpr (levels > 0) {
      Lanes ways[levels];
      find_ways<levels>(comparisons, columns + row, ways);
      for (int level = levels - 1; level >= 0; --level)
        leaf = (leaf >> 1) | (ways[level] & 0x80);
      leaf = leaf >> (8 - levels);
    }
    std::memcpy(leaves + row, &leaf, sizeof leaf);
  }
}

#if defined(__AVX512BW__)
/// For masked conversions, because GCC 12 warns of the unmasked ones' own header (bug 105593).
constexpr __mmask16 all_lanes = 0xFFFF;

/// The low five bits of a leaf's number look its value up in tables of 32, the others choose one.
template <int levels>
void add_values(const std::uint8_t* leaves, const float* values, std::int64_t rows,
                float* margins) {
  constexpr int tables = levels > 5 ? 1 << (levels - 5) : 1;
  __m512 low[tables], high[tables];
  for (int table = 0; table < tables; ++table) {
    low[table] = _mm512_loadu_ps(values + table * cut_table);
    high[table] = _mm512_loadu_ps(values + table * cut_table + 16);
  }
  for (std::int64_t row = 0; row < rows; row += 16) {
    const __m512i leaf = _mm512_maskz_cvtepu8_epi32(
        all_lanes, _mm_load_si128(reinterpret_cast<const __m128i*>(leaves + row)));
    __m512 value[tables];
    for (int table = 0; table < tables; ++table)
      value[table] = _mm512_permutex2var_ps(low[table], leaf, high[table]);
    for (int left = tables / 2, bit = cut_table; left > 0; left /= 2, bit *= 2) {
      const __mmask16 is_set = _mm512_test_epi32_mask(leaf, _mm512_set1_epi32(bit));
      for (int table = 0; table < left; ++table)
        value[table] = _mm512_mask_blend_ps(is_set, value[2 * table], value[2 * table + 1]);
    }
    _mm512_store_ps(margins + row, _mm512_add_ps(_mm512_load_ps(margins + row), value[0]));
  }
}
#else
template <int levels>
void add_values(const std::uint8_t* leaves, const float* values, std::int64_t rows,
                float* margins) {
  for (std::int64_t row = 0; row < rows; ++row)
    margins[row] += values[leaves[row]];
}
#endif

struct TopFunctions {
  decltype(&find_leaves<0>) find;
  decltype(&add_values<0>) add;
};
template <int... levels>
constexpr auto functions_of(std::integer_sequence<int, levels...>) {
  return std::array{TopFunctions{find_leaves<levels>, add_values<levels>}...};
}
constexpr auto of_levels = functions_of(std::make_integer_sequence<int, most_top_levels + 1>());

// ---- bytes ----

/// The number of cuts up to each value, as bytes; 0 for a missing value.
template <int tables>
void find_ranks(const float* cuts, const float* values, std::int64_t count, std::uint8_t* ranks) {
  // The last table has every `tables`-th cut: how many of these are up to a value is found step by
  // step, and then how many of the cuts between.
  constexpr int last = tables - 1;
#if defined(__AVX512BW__)
  __m512 low[tables], high[tables];
  for (int table = 0; table < tables; ++table) {
    low[table] = _mm512_loadu_ps(cuts + table * cut_table);
    high[table] = _mm512_loadu_ps(cuts + table * cut_table + 16);
  }
  for (std::int64_t i = 0; i < count; i += 16) {
    const __m512 value = _mm512_load_ps(values + i);
    const auto is_up_to = [&](int table, __m512i place) {
      return _mm512_cmp_ps_mask(_mm512_permutex2var_ps(low[table], place, high[table]), value,
                                _CMP_LE_OQ);
    };
    __m512i place = _mm512_setzero_si512();
#pragma GCC unroll 5
    for (int step = cut_table / 2; step > 0; step /= 2)
      place = _mm512_mask_add_epi32(
          place, is_up_to(last, _mm512_add_epi32(place, _mm512_set1_epi32(step - 1))), place,
          _mm512_set1_epi32(step));
    __m512i rank = _mm512_mullo_epi32(place, _mm512_set1_epi32(tables));
#pragma GCC unroll 8
    for (int table = 0; table < last; ++table)
      rank = _mm512_mask_add_epi32(rank, is_up_to(table, place), rank, _mm512_set1_epi32(1));
    _mm_store_si128(reinterpret_cast<__m128i*>(ranks + i),
                    _mm512_maskz_cvtepi32_epi8(all_lanes, rank));
  }
#else
  for (std::int64_t i = 0; i < count; ++i) {
    // A truth value times a step: of a choice the compiler makes a branch that is mispredicted.
    const auto is_up_to = [&](std::int32_t table, std::int32_t place) {
      return static_cast<std::int32_t>(cuts[table * cut_table + place] <= values[i]);
    };
    std::int32_t place = 0, behind = 0;
    for (std::int32_t step = cut_table / 2; step > 0; step /= 2)
      place += is_up_to(last, place + step - 1) * step;
    for (std::int32_t step = tables / 2; step > 0; step /= 2)
      behind += is_up_to(behind + step - 1, place) * step;
    ranks[i] = static_cast<std::uint8_t>(place * tables + behind);
  }
#endif
}

void find_ranks_of(const ScoringTrees& trees, const ScoringTrees::Ranking& ranking,
                   const float* values, std::int64_t count, std::uint8_t* ranks) {
  const float* const cuts = trees.cuts.data() + ranking.first_cut;
  switch (ranking.tables) {
  case 1:
    return find_ranks<1>(cuts, values, count, ranks);
  case 2:
    return find_ranks<2>(cuts, values, count, ranks);
  case 4:
    return find_ranks<4>(cuts, values, count, ranks);
  }
  find_ranks<8>(cuts, values, count, ranks);
}

/// Ranks to the columns of a ranking, by where missing values go.
void put_ranks(const ScoringTrees& trees, const ScoringTrees::Ranking& ranking, const float* values,
               std::int64_t count, std::uint8_t* columns) {
  const bool has_left = ranking.left_column >= 0;
  std::uint8_t* const ranks =
      columns + (has_left ? ranking.left_column : ranking.right_column) * block_rows;
  find_ranks_of(trees, ranking, values, count, ranks);
  if (ranking.right_column < 0) return;
  std::uint8_t* const right = columns + ranking.right_column * block_rows;
  for (std::int64_t i = 0; i < count; ++i)
    right[i] = values[i] != values[i] ? missing_bin : ranks[i];
}

#if defined(__AVX512BW__)
/// Sixteen rows of up to sixteen features, in four rounds of exchanging ever larger parts.
void transpose_16(const float* values, std::int64_t pitch, __mmask16 features, float* tile) {
  __m512 in[16], pairs[16], fours[16];
  for (int row = 0; row < 16; ++row)
    in[row] = _mm512_maskz_loadu_ps(features, values + row * pitch);
  for (int row = 0; row < 16; row += 2) {
    pairs[row] = _mm512_maskz_unpacklo_ps(all_lanes, in[row], in[row + 1]);
    pairs[row + 1] = _mm512_maskz_unpackhi_ps(all_lanes, in[row], in[row + 1]);
  }
  for (int row = 0; row < 16; row += 4)
    for (int i = 0; i < 2; ++i) {
      const __m512d a = _mm512_castps_pd(pairs[row + i]), b = _mm512_castps_pd(pairs[row + 2 + i]);
      fours[row + 2 * i] = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(0xFF, a, b));
      fours[row + 2 * i + 1] = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(0xFF, a, b));
    }
  // fours[4 i + j] has rows 4 i to 4 i + 3 of features j, 4 + j, 8 + j and 12 + j.
  for (int j = 0; j < 4; ++j) {
    const __m512 *const a = &fours[j], *const b = a + 4, *const c = a + 8, *const d = a + 12;
    const __m512 low_ab = _mm512_maskz_shuffle_f32x4(all_lanes, *a, *b, 0x44);
    const __m512 low_cd = _mm512_maskz_shuffle_f32x4(all_lanes, *c, *d, 0x44);
    const __m512 high_ab = _mm512_maskz_shuffle_f32x4(all_lanes, *a, *b, 0xEE);
    const __m512 high_cd = _mm512_maskz_shuffle_f32x4(all_lanes, *c, *d, 0xEE);
    const auto put = [&](int feature, __m512 rows) {
      _mm512_store_ps(tile + feature * tile_pitch, rows);
    };
    put(j, _mm512_maskz_shuffle_f32x4(all_lanes, low_ab, low_cd, 0x88));
    put(j + 4, _mm512_maskz_shuffle_f32x4(all_lanes, low_ab, low_cd, 0xDD));
    put(j + 8, _mm512_maskz_shuffle_f32x4(all_lanes, high_ab, high_cd, 0x88));
    put(j + 12, _mm512_maskz_shuffle_f32x4(all_lanes, high_ab, high_cd, 0xDD));
  }
}
#endif

/// Row by row to feature by feature.
void transpose(const float* values, std::int64_t pitch, std::int64_t features, std::int64_t rows,
               float (*tile)[tile_pitch]) {
#if defined(__AVX512BW__)
  for (std::int64_t row = 0; row < rows; row += 16)
    transpose_16(values + row * pitch, pitch, static_cast<__mmask16>((1u << features) - 1),
                 &tile[0][row]);
#else
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t feature = 0; feature < features; ++feature)
      tile[feature][row] = values[row * pitch + feature];
#endif
}

void rank_values(const ScoringTrees& trees, const float* values, std::int64_t rows, Block& block,
                 std::uint8_t* columns) {
  std::int64_t tile = -1;
  for (const ScoringTrees::Ranking& ranking : trees.rankings) {
    const std::int64_t first = ranking.feature / tile_features * tile_features;
    if (first != tile) {
      tile = first;
      transpose(values + first, trees.features, std::min(tile_features, trees.features - first),
                rows, block.tile);
    }
    put_ranks(trees, ranking, block.tile[ranking.feature - first], rows, columns);
  }
}

void copy_bins(const ScoringTrees& trees, const BinnedRows& rows, std::int64_t begin,
               std::int64_t count, std::uint8_t* columns) {
  for (const ScoringTrees::Ranking& ranking : trees.rankings) {
    const std::uint8_t* const bins = rows.feature(ranking.feature) + begin;
    if (ranking.right_column >= 0)
      std::copy_n(bins, count, columns + ranking.right_column * block_rows);
    if (ranking.left_column < 0) continue;
    std::uint8_t* const left = columns + ranking.left_column * block_rows;
    for (std::int64_t i = 0; i < count; ++i)
      left[i] = bins[i] == missing_bin ? std::uint8_t{0} : bins[i];
  }
}

// ---- trees ----

/// Walks rows from the end of a tree's first levels on, all a step at a time.
void add_deep(const ScoringTrees& trees, const ScoringTrees::Top& top, std::int64_t rows,
              const std::uint8_t* columns, Block& block) {
  const ScoringTrees::DeepNode* const nodes = trees.deep_nodes.data();
  const std::uint32_t* const first = trees.deep_leaves.data() + top.first_leaf;
  std::int64_t walking = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    block.nodes[row] = first[block.leaves[row]];
    block.walking[walking] = static_cast<std::uint16_t>(row);
    walking += nodes[block.nodes[row]].left != 0 ? 1 : 0;
  }
  while (walking > 0) {
    std::int64_t left = 0;
    for (std::int64_t i = 0; i < walking; ++i) {
      const std::uint16_t row = block.walking[i];
      const ScoringTrees::DeepNode node = nodes[block.nodes[row]];
      const std::uint8_t byte = columns[(node.least >> 8) * block_rows + row];
      const std::uint32_t next = node.left + (byte >= (node.least & 0xFF) ? 1 : 0);
      block.nodes[row] = next;
      block.walking[left] = row;
      left += nodes[next].left != 0 ? 1 : 0;
    }
    walking = left;
  }
  for (std::int64_t row = 0; row < rows; ++row)
    block.margins[row] += float_of(nodes[block.nodes[row]].least);
}

void add_trees(const ScoringTrees& trees, std::int64_t rows, const std::uint8_t* columns,
               Block& block) {
  std::fill_n(block.margins, block_rows, trees.base_margin);
  for (const ScoringTrees::Top& top : trees.tops) {
    const TopFunctions& functions = of_levels[static_cast<std::size_t>(top.levels)];
    functions.find(trees.comparisons.data() + top.first_comparison, columns, rows, block.leaves);
    if (top.is_deep)
      add_deep(trees, top, rows, columns, block);
    else
      functions.add(block.leaves, trees.leaves.data() + top.first_leaf, rows, block.margins);
  }
}

/// Blocks of rows in all threads. `filler()` gives each thread a function that fills the columns of
/// rows [begin, end).
template <class Filler>
void find_in_blocks(const ScoringTrees& trees, std::int64_t rows, std::span<float> margins,
                    const Filler& filler) {
  constexpr std::int64_t tasks_a_thread = 4;
  const std::int64_t blocks = (rows + block_rows - 1) / block_rows;
  const std::int64_t wanted = blocks / (omp_get_max_threads() * tasks_a_thread) * block_rows;
  const std::int64_t task_rows = std::clamp(wanted, block_rows, most_task_rows);
#pragma omp parallel if (blocks > 1)
  {
    const auto block = std::make_unique<Block>();
    const std::size_t column_bytes = trees.columns * static_cast<std::size_t>(block_rows);
    Bytes columns(column_bytes);
    std::fill_n(columns.data(), column_bytes, std::uint8_t{0});
    auto fill = filler();
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t task = 0; task < rows; task += task_rows)
      for (std::int64_t begin = task; begin < std::min(rows, task + task_rows);
           begin += block_rows) {
        const std::int64_t end = std::min(rows, begin + block_rows);
        fill(begin, end, *block, columns.data());
        add_trees(trees, end - begin, columns.data(), *block);
        std::copy_n(block->margins, end - begin, margins.data() + begin);
      }
  }
}

} // namespace

float margin_of(const Gbdt& model, const float* values) {
  float margin = model.base_margin;
  for (const Tree& tree : model.trees) {
    const TreeNode* node = tree.data();
    while (node->feature >= 0) {
      const float value = values[node->feature];
      // NaN is below nothing.
      const bool is_left = value < node->cut || (value != value && node->missing_goes_left);
      node = tree.data() + node->left + (is_left ? 0 : 1);
    }
    margin += node->value;
  }
  return margin;
}

void find_margins(const ScoringTrees& trees, const Rows& rows, std::span<float> margins) {
  assert(rows.features() == trees.features);
  assert(trees.rankings.empty() || !trees.cuts.empty()); // else they are of bins
  assert(static_cast<std::int64_t>(margins.size()) == rows.count);
  find_in_blocks(trees, rows.count, margins, [&] {
    return [&,
            values = std::vector<float>(static_cast<std::size_t>(block_rows)
                                        * static_cast<std::size_t>(trees.features)),
            labels = std::vector<std::uint8_t>(static_cast<std::size_t>(block_rows))](
               std::int64_t begin, std::int64_t end, Block& block, std::uint8_t* columns) mutable {
      rows.read(begin, end, values.data(), labels.data());
      rank_values(trees, values.data(), end - begin, block, columns);
    };
  });
}

void find_margins(const Gbdt& model, const Rows& rows, std::span<float> margins) {
  find_margins(scoring_trees(model), rows, margins);
}

void find_margins_of_bins(const ScoringTrees& trees, const BinnedRows& rows,
                          std::span<float> margins) {
  assert(rows.features == trees.features && trees.cuts.empty());
  assert(static_cast<std::int64_t>(margins.size()) == rows.count);
  find_in_blocks(trees, rows.count, margins, [&] {
    return [&](std::int64_t begin, std::int64_t end, Block&, std::uint8_t* columns) {
      copy_bins(trees, rows, begin, end - begin, columns);
    };
  });
}

void find_margins_of_bins(const Gbdt& model, const BinnedRows& rows, std::span<float> margins) {
  find_margins_of_bins(scoring_trees_of_bins(model), rows, margins);
}

double scoring_bytes(const ScoringTrees& trees, int threads) {
  const auto bytes_of = [](const auto& all) {
    return static_cast<double>(all.size() * sizeof(all[0]));
  };
  const double values = static_cast<double>(block_rows)
                        * (static_cast<double>(trees.features) * sizeof(float) + trees.columns + 1);
  return bytes_of(trees.rankings) + bytes_of(trees.cuts) + bytes_of(trees.comparisons)
         + bytes_of(trees.tops) + bytes_of(trees.leaves) + bytes_of(trees.deep_leaves)
         + bytes_of(trees.deep_nodes) + threads * (values + sizeof(Block));
}

} // namespace breakeven::risk
