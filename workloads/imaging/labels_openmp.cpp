// The stages from HU to masks and from labels to sums on the CPU. All but the histogram, on few
// threads, and the sums are as fast as memory; what is done for that is said at each.
#include "workloads/imaging/labels_openmp.h"

#include "workloads/imaging/labels.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace breakeven::imaging {

namespace {

// ---- histogram ----

constexpr std::int64_t voxels_at_once = 1024; ///< whose bin numbers are held in L1

/// Counts voxels in `copies` interleaved tables. Neighbouring voxels often share a bin, and an
/// increment must wait for the one before it of the same number; so neighbours go to different
/// tables.
template <int copies>
void count_bins(const Bins& bins, const float* values, std::int64_t count, std::uint32_t* counts) {
  std::int32_t places[voxels_at_once];
  for (std::int64_t begin = 0; begin < count; begin += voxels_at_once) {
    const std::int64_t here = std::min(voxels_at_once, count - begin);
    for (std::int64_t i = 0; i < here; ++i)
      places[i] = bin_of(bins, values[begin + i]) * copies;
    // The processor fetches ahead while it reads on, but here it would rest; so ask for the next.
    const float* const next = values + begin + here;
    std::int64_t i = 0;
    for (; i + copies <= here; i += copies) {
      __builtin_prefetch(next + i);
      for (int copy = 0; copy < copies; ++copy)
        ++counts[places[i + copy] + copy];
    }
    for (; i < here; ++i)
      ++counts[places[i]];
  }
}

/// The bins of 64 voxels, four to a word, of voxels 16 apart. Each half of a word is a pair.
struct PairBlock {
  static constexpr std::int64_t words = 16, voxels = 4 * words;
  alignas(64) std::uint32_t word[words];
};

#if defined(__AVX512F__)
constexpr __mmask16 all_lanes = 0xFFFF;

/// bin_of() of 16 voxels, to the bit: a maximum or minimum with NaN is its second operand. GCC 12
/// makes comparisons and masked moves of bin_of()'s conditions instead, which take longer; and it
/// warns of its own header where these have no mask.
__m512i bins_of_16(const Bins& bins, const float* values) {
  const __m512 above = _mm512_sub_ps(_mm512_loadu_ps(values), _mm512_set1_ps(bins.low));
  const __m512 position = _mm512_mul_ps(above, _mm512_set1_ps(bins.per_hu));
  const __m512 not_below = _mm512_maskz_max_ps(all_lanes, position, _mm512_setzero_ps());
  return _mm512_maskz_cvttps_epi32(
      all_lanes, _mm512_maskz_min_ps(all_lanes, not_below, _mm512_set1_ps(bins.last)));
}
void find_bins(const Bins& bins, const float* values, PairBlock& block) {
  const auto shifted = [&](std::int64_t begin, unsigned bits) {
    return _mm512_maskz_slli_epi32(all_lanes, bins_of_16(bins, values + begin), bits);
  };
  const __m512i high = _mm512_or_si512(shifted(0, 24), shifted(16, 16));
  const __m512i low = _mm512_or_si512(shifted(32, 8), bins_of_16(bins, values + 48));
  _mm512_store_si512(block.word, _mm512_or_si512(high, low));
}
#else
void find_bins(const Bins& bins, const float* values, PairBlock& block) {
  const auto bin = [&](std::int64_t i) {
    return static_cast<std::uint32_t>(bin_of(bins, values[i]));
  };
  for (std::int64_t i = 0; i < PairBlock::words; ++i)
    block.word[i] = bin(i) << 24 | bin(i + 16) << 16 | bin(i + 32) << 8 | bin(i + 48);
}
#endif

/// Counts pairs of voxels in tables of pairs of bins: half as many increments, which are what a
/// histogram is bound by. A scan has few frequent pairs, so what is in use of the tables lies in
/// L1. An increment must wait for the one before it of the same place, some eight cycles, so eight
/// tables take turns. They lie a little more than their size apart: places of equal low
/// address bits would wait for each other too. Bins are found seven blocks ahead of their
/// increments, which leave the vector units idle.
class PairCounts {
  static constexpr std::size_t side = 256, tables = 8, table_stride = side * side + 80;
  static constexpr std::uint64_t blocks_in_work = 8;

public:
  static constexpr std::size_t most_bins = side;
  static constexpr std::size_t places = tables * table_stride;

  /// `counts` has room for so many places, and is cleared.
  explicit PairCounts(std::uint32_t* counts) : counts_(counts), single_(side, 0) {
    std::fill_n(counts, places, 0u);
  }

  void add(const Bins& bins, const float* values, std::int64_t count) {
    PairBlock blocks[blocks_in_work];
    const auto place = [&](std::int64_t number) -> PairBlock& {
      return blocks[static_cast<std::uint64_t>(number) % blocks_in_work];
    };
    const std::int64_t all = count / PairBlock::voxels;
    const std::int64_t lead = std::min<std::int64_t>(blocks_in_work - 1, all);
    for (std::int64_t block = 0; block < lead; ++block)
      find_bins(bins, values + block * PairBlock::voxels, place(block));
    for (std::int64_t block = lead; block < all; ++block) {
      const float* const from = values + block * PairBlock::voxels;
      prefetch(from);
      find_bins(bins, from, place(block));
      count_pairs(place(block - lead));
    }
    for (std::int64_t block = all - lead; block < all; ++block)
      count_pairs(place(block));
    for (std::int64_t i = all * PairBlock::voxels; i < count; ++i)
      ++single_[static_cast<std::size_t>(bin_of(bins, values[i]))];
  }

  void add_to(std::vector<std::uint64_t>& counts) const {
    for (std::size_t a = 0; a < counts.size(); ++a) {
      counts[a] += single_[a];
      for (std::size_t b = 0; b < counts.size(); ++b) {
        std::uint64_t pairs = 0;
        for (std::size_t table = 0; table < tables; ++table)
          pairs += counts_[table * table_stride + a * side + b];
        counts[a] += pairs;
        counts[b] += pairs;
      }
    }
  }

private:
  /// The increments keep the processor from fetching far enough ahead by itself. Into L2, as L1 is
  /// full of counts; 5.5 KiB ahead, not a multiple of 4 KiB, which would share low address bits
  /// with what is read now.
  static void prefetch(const float* from) {
    constexpr std::int64_t ahead = 1408, line = 16;
    for (std::int64_t i = 0; i < PairBlock::voxels; i += line)
      __builtin_prefetch(from + ahead + i, 0, 2);
  }

  void count_pairs(const PairBlock& block) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < PairBlock::words; i += 2) {
      std::uint64_t four = 0; // one load for four places: loads are scarce too
      std::memcpy(&four, block.word + i, sizeof four);
      std::uint32_t* const table = counts_ + 2 * i % tables * table_stride;
      ++table[four & 0xFFFF];
      ++table[table_stride + (four >> 16 & 0xFFFF)];
      ++table[2 * table_stride + (four >> 32 & 0xFFFF)];
      ++table[3 * table_stride + (four >> 48)];
    }
  }

  std::uint32_t* counts_;
  std::vector<std::uint32_t> single_;
};

/// Where there are few voxels, clearing and adding up tables of pairs would be most of the work.
bool counts_pairs(std::size_t bins, std::int64_t voxels) {
  return bins <= PairCounts::most_bins && voxels >= std::int64_t{1} << 22;
}

int copies_for(std::size_t bins) { return bins <= 512 ? 8 : bins <= 4096 ? 4 : 1; }

Work histogram(View<const float> in, std::int64_t z_begin, std::int64_t z_end, Histogram& histogram,
               Memory& memory) {
  const Bins bins = bins_of(histogram);
  const std::size_t bin_count = histogram.counts.size();
  const int copies = copies_for(bin_count);
  const float* const values = in.data + z_begin * in.extent.slice();
  const std::int64_t voxels = (z_end - z_begin) * in.extent.slice();
  const int threads = omp_get_max_threads();
  const bool by_pairs = counts_pairs(bin_count, voxels / threads);
  // In pages as large as a path's memory has: a table is on more small ones than a core remembers.
  const Block<std::uint32_t> tables(
      memory, by_pairs ? static_cast<std::size_t>(threads) * PairCounts::places : 0);
#pragma omp parallel num_threads(threads)
  {
    const std::int64_t parts = omp_get_num_threads(), part = omp_get_thread_num();
    const std::int64_t begin = voxels * part / parts, end = voxels * (part + 1) / parts;
    if (by_pairs) {
      PairCounts pairs(tables.data() + static_cast<std::size_t>(part) * PairCounts::places);
      pairs.add(bins, values + begin, end - begin);
#pragma omp critical(imaging_histogram)
      pairs.add_to(histogram.counts);
    } else {
      std::vector<std::uint32_t> counts(bin_count * static_cast<std::size_t>(copies), 0);
      if (copies == 8) count_bins<8>(bins, values + begin, end - begin, counts.data());
      if (copies == 4) count_bins<4>(bins, values + begin, end - begin, counts.data());
      if (copies == 1) count_bins<1>(bins, values + begin, end - begin, counts.data());
#pragma omp critical(imaging_histogram)
      for (std::size_t i = 0; i < counts.size(); ++i)
        histogram.counts[i / static_cast<std::size_t>(copies)] += counts[i];
    }
  }
  return histogram_work(voxels, bin_count);
}

// ---- threshold ----

Work threshold(View<const float> in, View<std::uint8_t> mask, float low, float high, Memory&) {
  const std::int64_t voxels = in.extent.voxels();
  const float* const values = in.data;
  std::uint8_t* const out = mask.data;
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < voxels; ++i)
    out[i] = is_within(values[i], low, high);
  return threshold_work(voxels);
}

// ---- relabel ----

Work relabel(View<std::uint32_t> labels, const std::vector<std::uint32_t>& table, Memory&) {
  const std::int64_t voxels = labels.extent.voxels();
  const std::uint32_t* const to = table.data();
  std::uint32_t* const values = labels.data;
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < voxels; ++i)
    values[i] = to[values[i]];
  return relabel_work(voxels, table.size());
}

// ---- sums ----

/// Sums of the labels that a thread met last, each in the one place that its number allows. Few
/// labels all stay here; of a million, those in turn do, so no thread needs a table of its own.
class RecentSums {
  static constexpr std::size_t places = 512, locks = 512;

public:
  using Locks = std::array<std::mutex, locks>;

  RecentSums(std::vector<LabelSums>& all, Locks& locks_of_all)
      : all_(all),
        locks_(locks_of_all),
        recent_(places) {}
  ~RecentSums() {
    for (const Entry& entry : recent_)
      write_back(entry);
  }
  RecentSums(const RecentSums&) = delete;

  LabelSums& of(std::uint32_t label) {
    Entry& entry = recent_[label % places];
    if (entry.label != label) {
      write_back(entry);
      entry = {label, {}};
    }
    return entry.sums;
  }

private:
  struct Entry {
    std::uint32_t label = 0;
    LabelSums sums;
  };

  void write_back(const Entry& entry) {
    if (entry.sums.voxels == 0) return;
    assert(entry.label < all_.size());
    const std::lock_guard<std::mutex> lock(locks_[entry.label % locks]);
    add(all_[entry.label], entry.sums);
  }

  std::vector<LabelSums>& all_;
  Locks& locks_;
  std::vector<Entry> recent_;
};

/// How many voxels from the first on have the first's label. Whole groups are compared without a
/// branch, which the compiler turns into vectors.
std::int64_t stretch_length(const std::uint32_t* labels, std::int64_t count) {
  constexpr std::int64_t group = 16;
  const std::uint32_t label = labels[0];
  std::int64_t length = 1;
  for (; length + group <= count; length += group) {
    std::uint32_t differences = 0;
    for (std::int64_t i = 0; i < group; ++i)
      differences |= labels[length + i] ^ label;
    if (differences != 0) break;
  }
  while (length < count && labels[length] == label)
    ++length;
  return length;
}

/// HU of neighbours with one label. 32-bit lanes: squares have at most 31 bits and are summed in
/// two halves.
struct StretchSums {
  static constexpr std::int64_t most_voxels_at_once = 32768;
  std::int32_t hu = 0, low = 32768, high = -32768;
  std::uint32_t low_halves = 0, high_halves = 0; ///< of the squares

  StretchSums(const float* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int32_t rounded = rounded_hu(values[i]);
      const auto square = static_cast<std::uint32_t>(rounded * rounded);
      hu += rounded;
      low_halves += square & 0xFFFF;
      high_halves += square >> 16;
      low = rounded < low ? rounded : low;
      high = rounded > high ? rounded : high;
    }
  }
  std::int64_t hu_squared() const {
    return static_cast<std::int64_t>(low_halves) + (static_cast<std::int64_t>(high_halves) << 16);
  }
};

void add_stretch(LabelSums& sums, const StretchSums& hu, std::int64_t x, std::int64_t count,
                 std::int32_t y, std::int32_t z) {
  const auto first = static_cast<std::int32_t>(x), last = static_cast<std::int32_t>(x + count - 1);
  if (sums.voxels == 0) {
    sums.low_hu = hu.low;
    sums.high_hu = hu.high;
    sums.first = {first, y, z};
    sums.last = {last, y, z};
  }
  sums.voxels += count;
  sums.hu += hu.hu;
  sums.hu_squared += hu.hu_squared();
  sums.x += count * (x + x + count - 1) / 2;
  sums.y += count * y;
  sums.z += count * z;
  sums.low_hu = std::min(sums.low_hu, hu.low);
  sums.high_hu = std::max(sums.high_hu, hu.high);
  sums.first = {std::min(sums.first[0], first), std::min(sums.first[1], y),
                std::min(sums.first[2], z)};
  sums.last = {std::max(sums.last[0], last), std::max(sums.last[1], y), std::max(sums.last[2], z)};
}

Work label_sums(View<const std::uint32_t> labels, View<const float> hu, std::int64_t z_of_first,
                std::vector<LabelSums>& sums, Memory&) {
  const Extent extent = labels.extent;
  const std::int64_t rows = extent.y * extent.z;
  std::int64_t stretches = 0;
  RecentSums::Locks locks;
#pragma omp parallel reduction(+ : stretches)
  {
    RecentSums recent(sums, locks);
#pragma omp for schedule(static)
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::uint32_t* const row_labels = labels.data + row * extent.x;
      const float* const row_hu = hu.data + row * extent.x;
      const auto y = static_cast<std::int32_t>(row % extent.y);
      const auto z = static_cast<std::int32_t>(row / extent.y + z_of_first);
      for (std::int64_t x = 0; x < extent.x; ++stretches) {
        const std::int64_t count = stretch_length(
            row_labels + x, std::min(StretchSums::most_voxels_at_once, extent.x - x));
        add_stretch(recent.of(row_labels[x]), StretchSums(row_hu + x, count), x, count, y, z);
        x += count;
      }
    }
  }
  return label_sums_work(extent.voxels(), stretches, sums.size());
}

} // namespace

void add_openmp_labels(Stages& stages) {
  stages.histogram = histogram;
  stages.threshold = threshold;
  stages.components = components_openmp;
  stages.relabel = relabel;
  stages.label_sums = label_sums;
}

} // namespace breakeven::imaging
