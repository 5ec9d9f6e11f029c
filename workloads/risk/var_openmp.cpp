// VaR on the CPU: a block of paths at a time goes from normals to profits within a core's cache,
// every loop vectorised over the paths.
#include "sim/errors.h"
#include "workloads/clock.h"
#include "workloads/risk/var.h"
#include "workloads/risk/var_result.h"
#include "workloads/risk/var_work.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <new>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace breakeven::risk {

namespace {

// ---- scenarios ----

/// Floats of a vector register, or a multiple: rows in scratch memory have whole ones, so that
/// inner loops have no ragged end.
constexpr std::int64_t lanes = 16;
#if defined(__AVX512F__)
constexpr std::int64_t lanes_a_register = 16;
#elif defined(__AVX__)
constexpr std::int64_t lanes_a_register = 8;
#else
constexpr std::int64_t lanes_a_register = 4;
#endif
constexpr std::int64_t most_block_paths = 256, least_block_paths = 64;

/// Paths whose returns fit 256 KiB of a second cache, half of the smallest of current server cores.
std::int64_t block_paths_for(const VarBook& book) {
  constexpr std::int64_t floats = 64 * 1024;
  return std::clamp(floats / book.rows() / lanes * lanes, least_block_paths, most_block_paths);
}

/// A thread's memory: a row of paths for each factor, the spots of one factor, the profits.
class BlockMemory {
public:
  explicit BlockMemory(const VarBook& book)
      // One vector more than the paths: rows a power of 2 apart would share sets of the cache.
      : pitch_(block_paths_for(book) + lanes),
        floats_(
            std::make_unique<Row[]>(static_cast<std::size_t>((book.rows() + 1) * pitch_ / lanes))) {
  }
  float* row(std::int64_t factor) const { return floats_[0].value + factor * pitch_; }
  float* spots(const VarBook& book) const { return row(book.rows()); }
  std::int64_t* profits() { return profits_; }
  std::int32_t* worths() { return worths_; }

private:
  struct alignas(64) Row {
    float value[lanes];
  };
  std::int64_t pitch_;
  std::unique_ptr<Row[]> floats_;
  alignas(64) std::int64_t profits_[most_block_paths];
  alignas(64) std::int32_t worths_[most_block_paths]; ///< of up to worths_a_sum positions
};

// Philox on numbers of 32 bits in lanes of 64: what is above them is never looked at, so that a
// product and its two halves are two instructions. GCC makes five times as many of philox4x32().
using Words = std::uint64_t __attribute__((vector_size(8 * lanes_a_register / 2)));
using HalfWords = std::uint32_t __attribute__((vector_size(4 * lanes_a_register / 2)));
constexpr std::int64_t words_a_register = lanes_a_register / 2;

inline Words product(Words a, std::uint32_t b) {
#if defined(__AVX512F__)
  // Masked by all ones, because GCC 12 warns of the unmasked one's own header (bug 105593).
  return Words(_mm512_maskz_mul_epu32(0xFF, __m512i(a), __m512i(Words{} + b)));
#elif defined(__AVX2__)
  return Words(_mm256_mul_epu32(__m256i(a), __m256i(Words{} + b)));
#else
  return (a & 0xFFFF'FFFFu) * b;
#endif
}

/// draws_of() for one path a lane.
struct WideDraws {
  Words x, y, z, w;

  WideDraws(std::uint64_t seed, Words path, std::uint32_t quad)
      : x(path),
        y(path >> 32),
        z(Words{} + quad),
        w(Words{} + var_stream) {
    std::uint32_t key_low = static_cast<std::uint32_t>(seed);
    std::uint32_t key_high = static_cast<std::uint32_t>(seed >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const Words product_x = product(x, 0xD2511F53u), product_z = product(z, 0xCD9E8D57u);
      x = (product_z >> 32) ^ y ^ key_low;
      z = (product_x >> 32) ^ w ^ key_high;
      y = product_z;
      w = product_x;
      key_low += 0x9E3779B9u;
      key_high += 0xBB67AE85u;
    }
  }
};

void store(Words words, float* to) {
  const HalfWords low = __builtin_convertvector(words, HalfWords);
  std::memcpy(to, &low, sizeof low);
}

/// Bits first, four rows at once, which then become normals in their place.
void draw_normals(std::uint64_t seed, std::uint64_t first_path, std::uint32_t quad,
                  std::int64_t paths, float* rows, std::int64_t pitch) {
  Words path = Words{} + first_path;
  for (std::int64_t lane = 0; lane < words_a_register; ++lane)
    path[lane] += static_cast<std::uint64_t>(lane);
  for (std::int64_t i = 0; i < paths; i += words_a_register) {
    const WideDraws draws(seed, path + static_cast<std::uint64_t>(i), quad);
    store(draws.x, rows + i);
    store(draws.y, rows + pitch + i);
    store(draws.z, rows + 2 * pitch + i);
    store(draws.w, rows + 3 * pitch + i);
  }
  for (std::int64_t row = 0; row < 4; ++row) {
    float* values = rows + row * pitch;
#pragma omp simd
    for (std::int64_t i = 0; i < paths; ++i)
      values[i] = normal_of(bits_of(values[i]));
  }
}

/// Eight factors' returns from the normals of all factors up to theirs; they take the place of
/// their own normals. `columns` of the tile are read.
void correlate(const float* tile, std::int64_t columns, const FactorTerms* terms, float* normals,
               std::int64_t pitch, std::int64_t paths) {
  float* out = normals + (columns - rows_a_tile) * pitch;
  for (std::int64_t begin = 0; begin < paths; begin += lanes_a_register) {
    // Eight registers: indices are known once the loops over rows and lanes are unrolled.
    float sums[rows_a_tile][lanes_a_register];
    for (int row = 0; row < rows_a_tile; ++row)
      for (std::int64_t i = 0; i < lanes_a_register; ++i)
        sums[row][i] = terms[row].log_drift;
    for (std::int64_t j = 0; j < columns; ++j) {
      const float* z = normals + j * pitch + begin;
      const float* column = tile + j * rows_a_tile;
#pragma GCC unroll 8
      for (int row = 0; row < rows_a_tile; ++row)
#pragma omp simd
        for (std::int64_t i = 0; i < lanes_a_register; ++i)
          sums[row][i] = fused(column[row], z[i], sums[row][i]);
    }
    for (std::int64_t row = 0; row < rows_a_tile; ++row)
      std::copy_n(sums[row], lanes_a_register, out + row * pitch + begin);
  }
}

/// Holds the returns within their limits, leaves the factor's spots and sets the worths.
void revalue_equity(const FactorTerms& terms_of_factor, float* log_returns, float* spots,
                    std::int32_t* worths, std::int64_t paths) {
  const FactorTerms terms = terms_of_factor;
#pragma omp simd
  for (std::int64_t i = 0; i < paths; ++i) {
    log_returns[i] = held_within(log_returns[i], terms);
    const float growth = growth_of(log_returns[i]);
    spots[i] = spot_after(growth, terms);
    worths[i] = equity_profit(growth, terms);
  }
}

void add_option(const OptionTerms& terms, const float* log_returns, const float* spots,
                std::int32_t* worths, std::int64_t paths) {
#pragma omp simd
  for (std::int64_t i = 0; i < paths; ++i)
    worths[i] += option_worth(log_returns[i], spots[i], terms);
}

/// Empties the worths into the profits.
void add_worths(std::int32_t* worths, std::int64_t* profits, std::int64_t paths) {
#pragma omp simd
  for (std::int64_t i = 0; i < paths; ++i) {
    profits[i] += worths[i];
    worths[i] = 0;
  }
}

/// A factor's shares and options.
void revalue_factor(const VarBook& book, std::int64_t factor, std::int64_t paths,
                    BlockMemory& memory) {
  const auto f = static_cast<std::size_t>(factor);
  float* log_returns = memory.row(factor);
  float* spots = memory.spots(book);
  std::int32_t* worths = memory.worths();
  revalue_equity(book.factor_terms[f], log_returns, spots, worths, paths);
  int summed = 1;
  for (std::int32_t option = book.first_option[f]; option < book.first_option[f + 1]; ++option) {
    if (summed == worths_a_sum) {
      add_worths(worths, memory.profits(), paths);
      summed = 0;
    }
    add_option(book.options[static_cast<std::size_t>(option)], log_returns, spots, worths, paths);
    ++summed;
  }
  add_worths(worths, memory.profits(), paths);
}

void run_block(const VarBook& book, std::uint64_t seed, std::int64_t first_path, std::int64_t paths,
               BlockMemory& memory) {
  const std::int64_t pitch = memory.row(1) - memory.row(0);
  for (std::int64_t factor = 0; factor < book.rows(); factor += 4)
    draw_normals(seed, static_cast<std::uint64_t>(first_path),
                 static_cast<std::uint32_t>(factor / 4), paths, memory.row(factor), pitch);
  // From the last factors to the first, which need no normals of later ones.
  for (std::int64_t tile = book.tiles() - 1; tile >= 0; --tile)
    correlate(book.loadings.data() + tile_begin(tile), (tile + 1) * rows_a_tile,
              book.factor_terms.data() + tile * rows_a_tile, memory.row(0), pitch, paths);
  std::fill_n(memory.profits(), paths, -book.options_value_now);
  for (std::int64_t factor = 0; factor < book.factors; ++factor)
    revalue_factor(book, factor, paths, memory);
}

// ---- quantiles ----

struct Spread {
  std::int64_t low, high;
};

Spread spread_of(const std::int64_t* values, std::int64_t count) {
  std::int64_t low = values[0], high = values[0];
#pragma omp parallel for reduction(min : low) reduction(max : high)
  for (std::int64_t i = 0; i < count; ++i) {
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  return {low, high};
}

ProfitSum sum_of(const std::int64_t* profits, std::int64_t count) {
  std::int64_t high = 0, low = 0;
#pragma omp parallel for reduction(+ : high, low)
  for (std::int64_t i = 0; i < count; ++i) {
    const ProfitSum one = as_sum(profits[i]);
    high += one.high;
    low += one.low;
  }
  return {high, low};
}

constexpr int bin_bits = 12;

/// 4096 bins of equal width between the smallest and the largest value.
struct Bins {
  std::int64_t low;
  int shift;
  explicit Bins(const Spread& spread)
      : low(spread.low),
        shift(std::max(0, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(spread.high)
                                                          - static_cast<std::uint64_t>(spread.low)))
                              - bin_bits)) {}
  std::size_t of(std::int64_t value) const {
    return static_cast<std::size_t>(
        (static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(low)) >> shift);
  }
};

/// Where each bin begins in a row of them all.
std::vector<std::int64_t> bin_begins(const std::int64_t* values, std::int64_t count,
                                     const Bins& bins) {
  constexpr std::size_t all = std::size_t{1} << bin_bits;
  std::int64_t counts[all] = {};
#pragma omp parallel for reduction(+ : counts)
  for (std::int64_t i = 0; i < count; ++i)
    ++counts[bins.of(values[i])];
  std::vector<std::int64_t> begins(all + 1, 0);
  for (std::size_t bin = 0; bin < all; ++bin)
    begins[bin + 1] = begins[bin] + counts[bin];
  return begins;
}

} // namespace

// Values go to their bins up to the one with the last that is wanted; then bins are sorted apart.
std::vector<std::int64_t> openmp_smallest(const std::int64_t* values, std::int64_t count,
                                          std::int64_t wanted) {
  if (wanted == 0) return {};
  const Bins bins(spread_of(values, count));
  const std::vector<std::int64_t> begins = bin_begins(values, count, bins);
  const auto end_bin = static_cast<std::size_t>(
      std::lower_bound(begins.begin(), begins.end(), wanted) - begins.begin());
  std::vector<std::int64_t> smallest(static_cast<std::size_t>(begins[end_bin]));
  std::vector<std::int64_t> next(begins.begin(), begins.begin() + static_cast<long>(end_bin));
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t bin = bins.of(values[i]);
    if (bin >= end_bin) continue;
    std::int64_t at = 0;
#pragma omp atomic capture
    at = next[bin]++;
    smallest[static_cast<std::size_t>(at)] = values[i];
  }
#pragma omp parallel for schedule(dynamic)
  for (std::size_t bin = 0; bin < end_bin; ++bin) {
    const auto begin = smallest.begin() + begins[bin], end = smallest.begin() + begins[bin + 1];
    const auto sorted_end = smallest.begin() + std::min(begins[bin + 1], wanted);
    if (sorted_end != end) std::nth_element(begin, sorted_end, end);
    std::sort(begin, sorted_end);
  }
  smallest.resize(static_cast<std::size_t>(wanted));
  return smallest;
}

void openmp_var_profits(const VarBook& book, std::uint64_t seed, std::int64_t first_path,
                        std::int64_t paths, std::int64_t* profits) {
  const std::int64_t block_paths = block_paths_for(book);
  const std::int64_t blocks = (paths + block_paths - 1) / block_paths;
  // Taken before the threads start, so that what it throws has a place to go.
  std::vector<BlockMemory> memories;
  const int threads = omp_get_max_threads();
  memories.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i)
    memories.emplace_back(book);
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t block = 0; block < blocks; ++block) {
    BlockMemory& memory = memories[static_cast<std::size_t>(omp_get_thread_num())];
    const std::int64_t begin = block * block_paths;
    const std::int64_t count = std::min(block_paths, paths - begin);
    // Whole vectors: paths beyond the last are run and dropped.
    run_block(book, seed, first_path + begin, (count + lanes - 1) / lanes * lanes, memory);
    std::copy_n(memory.profits(), count, profits + begin);
  }
}

VarRun openmp_var(const VarBook& book, const VarSettings& settings) {
  try {
    const double start_s = seconds_now();
    const auto profits =
        std::make_unique_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(settings.paths));
    openmp_var_profits(book, settings.seed, 0, settings.paths, profits.get());
    const double priced_s = seconds_now();
    VarRun run;
    run.tail.paths = settings.paths;
    run.tail.sum = sum_of(profits.get(), settings.paths);
    run.tail.worst_profits =
        openmp_smallest(profits.get(), settings.paths, worst_paths_needed(settings));
    const double end_s = seconds_now();
    run.phases = {var_phase("scenarios", Processor::cpu, priced_s - start_s,
                            cpu_scenarios_work(settings.paths)),
                  var_phase("quantiles", Processor::cpu, end_s - priced_s,
                            cpu_quantiles_work(settings.paths))};
    return run;
  } catch (const std::bad_alloc&) {
    throw no_room_for(book, settings, Path::openmp);
  }
}

} // namespace breakeven::risk
