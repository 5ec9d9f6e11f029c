// Connected components on the CPU: runs of bundled rows (component_runs.h), 64 voxels to a word.
// The bundles are cut into one range a thread. A thread joins the runs of its range, then those of
// its first bundles with the range before, by compare-and-swap; the rest is one pass each over
// runs, then over the labels. Runs point to smaller runs only, so roots, and with them the labels,
// do not depend on the cut.
#include "workloads/imaging/component_runs.h"
#include "workloads/imaging/labels_openmp.h"

#include <omp.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

namespace breakeven::imaging {

namespace {

using Word = std::uint64_t;
constexpr int word_bits = bits_in<Word>;
constexpr std::uint32_t no_voxel = 0xFFFF'FFFF;

// ---- bits of voxels ----

/// Bit i tells whether voxel i of 8 is not 0. Adding 0x7F to a byte's low bits carries into its top
/// bit unless all are 0; the product gathers the eight top bits, moved down, in its top byte.
[[maybe_unused]] Word eight_bits(const std::uint8_t* voxels) {
  static_assert(std::endian::native == std::endian::little);
  constexpr Word low_bits = 0x7F7F'7F7F'7F7F'7F7F;
  Word bytes;
  std::memcpy(&bytes, voxels, sizeof bytes);
  const Word top_bits = (((bytes & low_bits) + low_bits) | bytes) & ~low_bits;
  return ((top_bits >> 7) * 0x0102'0408'1020'4080) >> 56;
}

Word whole_word(const std::uint8_t* voxels) {
#if defined(__AVX2__)
  Word zeros = 0;
  for (int i = 0; i < word_bits; i += 32) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(voxels + i));
    const int are_zero = _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()));
    zeros |= static_cast<Word>(static_cast<std::uint32_t>(are_zero)) << i;
  }
  return ~zeros;
#else
  Word word = 0;
  for (int i = 0; i < word_bits; i += 8)
    word |= eight_bits(voxels + i) << i;
  return word;
#endif
}

Word word_of(const std::uint8_t* voxels, std::int64_t count) {
  if (count >= word_bits) return whole_word(voxels);
  Word word = 0;
  for (std::int64_t i = 0; i < count; ++i)
    word |= static_cast<Word>(voxels[i] != 0) << i;
  return word;
}

// Labels of a volume that no cache holds go past the caches: memory then needs not be read before
// it is written. Only whole lines do: a line that is written both ways takes much longer.
constexpr std::int64_t voxels_in_caches = 4 << 20;
constexpr std::int64_t line_labels = 16;

bool has_rows_of_lines(View<std::uint32_t> labels) {
  constexpr std::uintptr_t line_bytes = line_labels * sizeof(std::uint32_t);
  return labels.extent.voxels() > voxels_in_caches && labels.extent.x % line_labels == 0
         && reinterpret_cast<std::uintptr_t>(labels.data) % line_bytes == 0;
}

#if defined(__AVX2__)
/// out[i] = ids[i] where bit i is set, else 0, of whole lines, past the caches.
void stream_labels(std::uint32_t* out, const std::uint32_t* ids, Word word, std::int64_t count) {
  const __m256i bit_of_lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  for (std::int64_t i = 0; i < count; i += 8) {
    const __m256i bits = _mm256_set1_epi32(static_cast<int>(word >> i & 0xFF));
    const __m256i is_set = _mm256_cmpeq_epi32(_mm256_and_si256(bits, bit_of_lane), bit_of_lane);
    const __m256i id = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ids + i));
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out + i), _mm256_and_si256(id, is_set));
  }
}
#endif

/// out[i] = ids[i] where bit i is set, else 0. 32 bits at a time, so that a shift has as many lanes
/// as a store.
void write_labels(std::uint32_t* __restrict out, const std::uint32_t* __restrict ids, Word word,
                  std::int64_t count) {
  if (word == 0) {
    std::fill_n(out, count, 0u);
    return;
  }
  if (count < word_bits) {
    for (std::int64_t i = 0; i < count; ++i)
      out[i] = ids[i] & (0u - static_cast<std::uint32_t>(word >> i & 1));
    return;
  }
  for (int half = 0; half < word_bits; half += 32) {
    const auto bits = static_cast<std::uint32_t>(word >> half);
    for (std::uint32_t i = 0; i < 32; ++i)
      out[static_cast<std::uint32_t>(half) + i] =
          ids[static_cast<std::uint32_t>(half) + i] & (0u - (bits >> i & 1));
  }
}

// ---- union-find ----

std::uint32_t load(const std::uint32_t& value) {
  return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(value))
      .load(std::memory_order_relaxed);
}
void store(std::uint32_t& value, std::uint32_t to) {
  std::atomic_ref<std::uint32_t>(value).store(to, std::memory_order_relaxed);
}

/// Root of a run; halves the path on its way (van Leeuwen and van der Weide). Other threads may do
/// the same or join roots: whatever is read is an ancestor.
std::uint32_t root_of(std::uint32_t* parents, std::uint32_t run) {
  for (;;) {
    const std::uint32_t parent = load(parents[run]);
    if (parent == run) return run;
    const std::uint32_t grandparent = load(parents[parent]);
    if (grandparent == parent) return parent;
    store(parents[run], grandparent);
    run = grandparent;
  }
}

/// For runs that no other thread touches meanwhile.
struct UniteAlone {
  std::uint32_t* parents;
  std::uint64_t joints = 0;
  void operator()(std::uint32_t a, std::uint32_t b) {
    ++joints;
    if (parents[a] == parents[b]) return;
    a = root_of(parents, a);
    b = root_of(parents, b);
    if (a < b) parents[b] = a;
    if (b < a) parents[a] = b;
  }
};

/// Points the greater root to the lesser, unless another thread was first; then tries again.
struct UniteTogether {
  std::uint32_t* parents;
  std::uint64_t joints = 0;
  void operator()(std::uint32_t a, std::uint32_t b) {
    ++joints;
    for (;;) {
      a = root_of(parents, a);
      b = root_of(parents, b);
      if (a == b) return;
      if (a < b) std::swap(a, b);
      std::uint32_t expected = a;
      if (std::atomic_ref<std::uint32_t>(parents[a])
              .compare_exchange_strong(expected, b, std::memory_order_relaxed))
        return;
    }
  }
};

void lower_to(std::uint32_t& least, std::uint32_t value) {
  const std::atomic_ref<std::uint32_t> target(least);
  std::uint32_t old = target.load(std::memory_order_relaxed);
  while (value < old && !target.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
}

// ---- the passes ----

struct Range {
  std::int64_t begin = 0, end = 0;
};
Range part_of(std::int64_t count, int part, int parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

/// The words of one row.
struct Stretches {
  const Word* words;
  std::int64_t count;
  [[gnu::always_inline]] Stretch<Word> at(std::int64_t w) const {
    return {w > 0 ? words[w - 1] : 0, words[w], w + 1 < count ? words[w + 1] : 0};
  }
};

template <Connectivity connectivity>
class Labeller {
  static constexpr int rows = Bundle<connectivity>::rows;
  using Rows = BundleWord<Word, rows>;

public:
  Labeller(View<const std::uint8_t> mask, View<std::uint32_t> labels, Memory& memory)
      : mask_(mask.data),
        labels_(labels.data),
        streams_(has_rows_of_lines(labels)),
        memory_(memory),
        grid_(bundle_grid<connectivity, Word>(squeezed(mask.extent))),
        parts_(omp_get_max_threads()),
        bits_(memory, static_cast<std::size_t>(grid_.bundle_words())),
        any_(memory, static_cast<std::size_t>(grid_.bundle_words())),
        first_starts_(memory, static_cast<std::size_t>(grid_.bundle_words())) {}

  Work run(std::uint32_t& count) {
    const std::vector<std::uint32_t> part_runs =
        for_each_part([&](int part) { return pack(part); });
    std::vector<std::uint32_t> first_runs(part_runs.size() + 1, 0);
    std::inclusive_scan(part_runs.begin(), part_runs.end(), first_runs.begin() + 1);
    runs_ = first_runs.back();
    parents_ = Block<std::uint32_t>(memory_, runs_);
    first_voxels_ = Block<std::uint32_t>(memory_, runs_);

    auto joints = for_each_part([&](int part) {
      start_runs(part, first_runs[static_cast<std::size_t>(part)],
                 first_runs[static_cast<std::size_t>(part) + 1]);
      return join_inside(part);
    });
    const auto more = for_each_part([&](int part) { return join_before(part); });
    joints.insert(joints.end(), more.begin(), more.end());
    for_each_part([&](int part) { return flatten(part), 0; });
    for_each_part([&](int part) { return find_first_voxels(part), 0; });
    count = number();
    for_each_part([&](int part) { return write(part), 0; });
    return components_work(
        grid_.extent.voxels(), rows, runs_,
        static_cast<double>(std::accumulate(joints.begin(), joints.end(), std::uint64_t{0})),
        count);
  }

private:
  template <class Function>
  auto for_each_part(Function function) -> std::vector<decltype(function(0))> {
    std::vector<decltype(function(0))> results(static_cast<std::size_t>(parts_));
#pragma omp parallel for schedule(static, 1) num_threads(parts_)
    for (int part = 0; part < parts_; ++part)
      results[static_cast<std::size_t>(part)] = function(part);
    return results;
  }
  Range bundles_of(int part) const { return part_of(grid_.bundles(), part, parts_); }
  Range runs_of(int part) const { return part_of(runs_, part, parts_); }
  Rows* bits_of_bundle(std::int64_t bundle) const { return bits_.data() + bundle * grid_.words; }
  Stretches any_of_bundle(std::int64_t bundle) const {
    return {any_.data() + bundle * grid_.words, grid_.words};
  }
  std::uint32_t* first_starts_of(std::int64_t bundle) const {
    return first_starts_.data() + bundle * grid_.words;
  }

  /// Where row r of a bundle begins; -1 outside the volume.
  std::int64_t row_begin(std::int64_t bundle, int r) const {
    using Shape = Bundle<connectivity>;
    const std::int64_t y = bundle % grid_.bundles_y * Shape::rows_y + r % Shape::rows_y;
    const std::int64_t z = bundle / grid_.bundles_y * Shape::rows_z + r / Shape::rows_y;
    if (y >= grid_.extent.y || z >= grid_.extent.z) return -1;
    return (z * grid_.extent.y + y) * grid_.extent.x;
  }

  /// Bits of a part's voxels, and how many of its runs start before each word. Gives its runs.
  std::uint32_t pack(int part) {
    const Range range = bundles_of(part);
    std::uint32_t runs = 0;
    for (std::int64_t bundle = range.begin; bundle < range.end; ++bundle) {
      Rows* const bits = bits_of_bundle(bundle);
      for (int r = 0; r < rows; ++r) {
        const std::int64_t begin = row_begin(bundle, r);
        for (std::int64_t w = 0; w < grid_.words; ++w) {
          const std::int64_t x = w * word_bits;
          bits[w].row[r] = begin < 0 ? 0 : word_of(mask_ + begin + x, grid_.extent.x - x);
        }
      }
      std::uint32_t* const first_starts = first_starts_of(bundle);
      Word* const any = any_.data() + bundle * grid_.words;
      Word before = 0;
      for (std::int64_t w = 0; w < grid_.words; ++w) {
        const Word here = any[w] = bits[w].any();
        first_starts[w] = runs;
        runs += static_cast<std::uint32_t>(ones(Stretch<Word>{before, here, 0}.starts()));
        before = here;
      }
    }
    return runs;
  }

  void start_runs(int part, std::uint32_t first_run, std::uint32_t end_run) {
    const Range range = bundles_of(part);
    std::uint32_t* const first_starts = first_starts_.data();
    for (std::int64_t w = range.begin * grid_.words; w < range.end * grid_.words; ++w)
      first_starts[w] += first_run;
    std::iota(parents_.data() + first_run, parents_.data() + end_run, first_run);
    std::fill(first_voxels_.data() + first_run, first_voxels_.data() + end_run, no_voxel);
  }

  std::uint64_t join_inside(int part) {
    const Range range = bundles_of(part);
    UniteAlone unite{parents_.data()};
    for (std::int64_t bundle = range.begin; bundle < range.end; ++bundle)
      join_earlier(bundle, range.begin, grid_.bundles(), unite);
    return unite.joints;
  }

  std::uint64_t join_before(int part) {
    const Range range = bundles_of(part);
    if (range.begin == 0) return 0;
    UniteTogether unite{parents_.data()};
    const std::int64_t farthest = grid_.bundles_y + 1;
    for (std::int64_t bundle = range.begin; bundle < std::min(range.end, range.begin + farthest);
         ++bundle)
      join_earlier(bundle, 0, range.begin, unite);
    return unite.joints;
  }

  /// Joins a bundle with those earlier ones that lie in [begin, end).
  template <class Unite>
  void join_earlier(std::int64_t bundle, std::int64_t begin, std::int64_t end, Unite& unite) {
    std::array<Neighbour, earlier_bundles<connectivity>> earlier;
    for (int which = 0; which < earlier_bundles<connectivity>; ++which)
      earlier[static_cast<std::size_t>(which)] = neighbour(bundle, which, begin, end);
    const Rows* const bits = bits_of_bundle(bundle);
    const Stretches any = any_of_bundle(bundle);
    for (std::int64_t w = 0; w < grid_.words; ++w) {
      if (any.words[w] == 0) continue;
      const Stretch<Word> all = any.at(w);
      const BundleStretch<Word, rows> voxels = stretch_of(bits, w);
      const WordRuns<Word> runs{all.here, all.starts(), first_starts_of(bundle)[w]};
      const auto join = [&]<int which>(std::integral_constant<int, which>) {
        if (earlier[which].bits != nullptr)
          join_word<which>(voxels, all, runs, earlier[which], w, unite);
      };
      join(std::integral_constant<int, 0>{});
      join(std::integral_constant<int, 1>{});
      if constexpr (earlier_bundles<connectivity> == 4) {
        join(std::integral_constant<int, 2>{});
        join(std::integral_constant<int, 3>{});
      }
    }
  }

  struct Neighbour {
    const Rows* bits = nullptr; ///< of its first word; null where there is no such bundle
    Stretches any{};
    const std::uint32_t* first_starts = nullptr;
    std::uint64_t last_pair = ~std::uint64_t{0}; ///< of runs that were joined
  };
  Neighbour neighbour(std::int64_t bundle, int which, std::int64_t begin, std::int64_t end) const {
    const Step step = earlier_bundle(which);
    const std::int64_t y = bundle % grid_.bundles_y + step.y;
    const std::int64_t z = bundle / grid_.bundles_y + step.z;
    const std::int64_t other = z * grid_.bundles_y + y;
    if (y < 0 || y >= grid_.bundles_y || z < 0 || other < begin || other >= end) return {};
    return {bits_of_bundle(other), any_of_bundle(other), first_starts_of(other)};
  }

  template <int which, class Unite>
  [[gnu::always_inline]] void join_word(const BundleStretch<Word, rows>& mine,
                                        const Stretch<Word>& all_mine, const WordRuns<Word>& runs,
                                        Neighbour& neighbour, std::int64_t w, Unite& unite) {
    // The same two runs often go on from word to word.
    const auto unite_once = [&](std::uint64_t run, std::uint64_t of) {
      const std::uint64_t pair = run << 32 | of;
      if (pair == neighbour.last_pair) return;
      neighbour.last_pair = pair;
      unite(static_cast<std::uint32_t>(run), static_cast<std::uint32_t>(of));
    };
    const Stretch<Word> all_theirs = neighbour.any.at(w);
    // Most words of a CT mask lie outside of all objects or inside one; these are quickly done.
    if ((all_theirs.here | all_theirs.at_left() | all_theirs.at_right()) == 0) return;
    const std::uint32_t first_start = neighbour.first_starts[w];
    if ((all_mine.here & all_theirs.here) == ~Word{0}
        && straight_joints<connectivity, which>(mine.here, neighbour.bits[w]) != 0) {
      unite_once(runs.first_start - (all_mine.before >> (word_bits - 1)),
                 first_start - (all_theirs.before >> (word_bits - 1)));
      return;
    }
    const Joints<Word> joints =
        joints_with<connectivity, which>(mine, stretch_of(neighbour.bits, w));
    if ((joints.joined | joints.left | joints.right) != 0)
      for_each_joint<Word>(joints, runs, {all_theirs.here, all_theirs.starts(), first_start},
                           unite_once);
  }

  [[gnu::always_inline]] BundleStretch<Word, rows> stretch_of(const Rows* bits,
                                                              std::int64_t w) const {
    return {w > 0 ? bits[w - 1] : Rows{}, bits[w], w + 1 < grid_.words ? bits[w + 1] : Rows{}};
  }

  void flatten(int part) {
    const Range range = runs_of(part);
    std::uint32_t* const parents = parents_.data();
    for (std::int64_t run = range.begin; run < range.end; ++run)
      store(parents[run], root_of(parents, static_cast<std::uint32_t>(run)));
  }

  /// A component's first voxel lies in the first layer of bundles that it is in, that of its root.
  void find_first_voxels(int part) {
    const Range range = bundles_of(part);
    const std::uint32_t* const parents = parents_.data();
    std::uint32_t* const first_voxels = first_voxels_.data();
    for (std::int64_t bundle = range.begin; bundle < range.end; ++bundle) {
      const std::uint32_t first_of_layer =
          *first_starts_of(bundle / grid_.bundles_y * grid_.bundles_y);
      for_each_word(bundle, [&](std::int64_t w, const Rows& voxels, const WordRuns<Word>& runs) {
        for_each_run(runs, [&](std::uint32_t run, Word bits) {
          const std::uint32_t root = parents[run];
          if (root >= first_of_layer)
            lower_to(first_voxels[root], first_voxel<connectivity>(grid_, bundle, w, voxels, bits));
        });
      });
    }
  }

  template <class Visit>
  void for_each_word(std::int64_t bundle, Visit visit) const {
    const Rows* const bits = bits_of_bundle(bundle);
    const Stretches any = any_of_bundle(bundle);
    const std::uint32_t* const first_starts = first_starts_of(bundle);
    for (std::int64_t w = 0; w < grid_.words; ++w)
      visit(w, bits[w], WordRuns<Word>{any.words[w], any.at(w).starts(), first_starts[w]});
  }

  /// Turns every run's root into its label: one more than how many roots have an earlier first
  /// voxel. Gives how many roots there are.
  std::uint32_t number() {
    const std::int64_t words = (grid_.extent.voxels() + word_bits - 1) / word_bits;
    const Block<Word> is_first(memory_, static_cast<std::size_t>(words));
    const Block<std::uint32_t> firsts_before(memory_, static_cast<std::size_t>(words));
    for_each_part([&](int part) {
      const Range range = part_of(words, part, parts_);
      std::fill(is_first.data() + range.begin, is_first.data() + range.end, Word{0});
      return 0;
    });
    for_each_part([&](int part) { return mark_firsts(part, is_first.data()), 0; });
    std::vector<std::uint32_t> counts = for_each_part([&](int part) {
      const Range range = part_of(words, part, parts_);
      std::uint32_t count = 0;
      for (std::int64_t w = range.begin; w < range.end; ++w) {
        firsts_before.data()[w] = count;
        count += static_cast<std::uint32_t>(ones(is_first.data()[w]));
      }
      return count;
    });
    std::vector<std::uint32_t> before(counts.size() + 1, 0);
    std::inclusive_scan(counts.begin(), counts.end(), before.begin() + 1);
    for_each_part([&](int part) {
      const Range range = part_of(words, part, parts_);
      for (std::int64_t w = range.begin; w < range.end; ++w)
        firsts_before.data()[w] += before[static_cast<std::size_t>(part)];
      return 0;
    });
    for_each_part([&](int part) {
      const Range range = runs_of(part);
      for (std::int64_t run = range.begin; run < range.end; ++run) {
        std::uint32_t& label = parents_.data()[run];
        const std::uint32_t voxel = first_voxels_.data()[label];
        const Word earlier = (Word{1} << voxel % word_bits) - 1;
        label = 1 + firsts_before.data()[voxel / word_bits]
                + static_cast<std::uint32_t>(ones(is_first.data()[voxel / word_bits] & earlier));
      }
      return 0;
    });
    return before.back();
  }

  void mark_firsts(int part, Word* is_first) {
    const Range range = runs_of(part);
    for (std::int64_t run = range.begin; run < range.end; ++run) {
      if (parents_.data()[run] != run) continue;
      const std::uint32_t voxel = first_voxels_.data()[run];
      std::atomic_ref<Word>(is_first[voxel / word_bits])
          .fetch_or(Word{1} << voxel % word_bits, std::memory_order_relaxed);
    }
  }

  void write(int part) {
    const Range range = bundles_of(part);
    const std::uint32_t* const run_labels = parents_.data();
    std::vector<std::uint32_t> ids(static_cast<std::size_t>(grid_.words * word_bits));
    for (std::int64_t bundle = range.begin; bundle < range.end; ++bundle) {
      for_each_word(bundle, [&](std::int64_t w, const Rows&, const WordRuns<Word>& runs) {
        std::uint32_t* const word_ids = ids.data() + w * word_bits;
        for_each_run(runs, [&](std::uint32_t run, Word bits) {
          const std::uint32_t label = run_labels[run];
          const int begin = trailing_zeros(bits), end = begin + ones(bits);
          for (int i = begin; i < end; ++i)
            word_ids[i] = label;
        });
      });
      const Rows* const bits = bits_of_bundle(bundle);
      for (int r = 0; r < rows; ++r) {
        const std::int64_t begin = row_begin(bundle, r);
        if (begin < 0) continue;
        for (std::int64_t w = 0; w < grid_.words; ++w) {
          const std::int64_t x = w * word_bits;
          const std::int64_t count = std::min<std::int64_t>(word_bits, grid_.extent.x - x);
          std::uint32_t* const out = labels_ + begin + x;
#if defined(__AVX2__)
          if (streams_) {
            stream_labels(out, ids.data() + x, bits[w].row[r], count);
            continue;
          }
#endif
          write_labels(out, ids.data() + x, bits[w].row[r], count);
        }
      }
    }
#if defined(__AVX2__)
    _mm_sfence();
#endif
  }

  const std::uint8_t* mask_;
  std::uint32_t* labels_;
  [[maybe_unused]] bool streams_; ///< past the caches
  Memory& memory_;
  BundleGrid grid_;
  int parts_;
  std::uint32_t runs_ = 0;
  Block<Rows> bits_;
  Block<Word> any_;                   ///< the rows of a bundle together
  Block<std::uint32_t> first_starts_; ///< of each word: runs that start before it
  Block<std::uint32_t> parents_, first_voxels_;
};

} // namespace

Work components_openmp(View<const std::uint8_t> mask, View<std::uint32_t> labels,
                       Connectivity connectivity, std::uint32_t& count, Memory& memory) {
  switch (connectivity) {
  case Connectivity::six:
    return Labeller<Connectivity::six>(mask, labels, memory).run(count);
  case Connectivity::eighteen:
    return Labeller<Connectivity::eighteen>(mask, labels, memory).run(count);
  case Connectivity::twenty_six:
    break;
  }
  return Labeller<Connectivity::twenty_six>(mask, labels, memory).run(count);
}

} // namespace breakeven::imaging
