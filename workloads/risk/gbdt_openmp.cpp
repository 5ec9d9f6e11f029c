// Trees level by level. The rows of a node lie together, as numbers of rows with their gradients
// beside them, and each level writes them anew in the order of its children. All rows of a level
// are cut into one range a thread, whatever nodes they belong to, so that many small nodes keep all
// threads as busy as one large one.

#include "workloads/clock.h"
#include "workloads/risk/gbdt_grow.h"
#include "workloads/risk/gbdt_paths.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <numeric>
#include <utility>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace breakeven::risk {

namespace {

constexpr int bins_of_feature = 256;
constexpr std::int64_t rows_at_once = 2048; ///< whose bytes stay in L2 from group to group
constexpr int features_at_once = 16;        ///< whose packed sums fill L1
constexpr std::int64_t read_ahead = 16;     ///< rows that are asked for before they are needed

Range part_of(std::int64_t count, int part, int parts) {
  return {count * part / parts, count * (part + 1) / parts};
}

// ---- sums of gradients by bin ----

/// The features that a tree may split by, with the bytes of these alone in each row.
struct Columns {
  std::vector<std::int32_t> features;
  const std::uint8_t* by_row = nullptr;
  std::int64_t row_bytes = 0;
};

template <int count>
void add_word(std::int64_t* sums, std::uint64_t bins, std::int64_t gradient) {
#pragma GCC unroll 8
  for (int feature = 0; feature < count; ++feature, bins >>= 8)
    sums[feature * bins_of_feature + static_cast<int>(bins & 0xFF)] += gradient;
}

/// One group of features of some rows. Reads whole words of eight bytes.
template <int features, bool all_rows>
void add_rows(const std::uint8_t* bytes, std::int64_t row_bytes, const std::uint32_t* numbers,
              const std::int64_t* gradients, std::int64_t count, std::int64_t* sums) {
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (!all_rows)
      __builtin_prefetch(bytes + std::int64_t{numbers[i + read_ahead]} * row_bytes);
    const std::uint8_t* const row = bytes + (all_rows ? i : std::int64_t{numbers[i]}) * row_bytes;
    const std::int64_t gradient = gradients[i];
    std::uint64_t word = 0;
    std::memcpy(&word, row, sizeof word);
    add_word<std::min(features, 8)>(sums, word, gradient);
    if constexpr (features > 8) {
      std::memcpy(&word, row + 8, sizeof word);
      add_word<features - 8>(sums + 8 * bins_of_feature, word, gradient);
    }
  }
}

using AddRows = void (*)(const std::uint8_t*, std::int64_t, const std::uint32_t*,
                         const std::int64_t*, std::int64_t, std::int64_t*);
template <bool all_rows, int... features>
constexpr std::array<AddRows, sizeof...(features)> adders(std::integer_sequence<int, features...>) {
  return {add_rows<features + 1, all_rows>...};
}
constexpr auto every_width = std::make_integer_sequence<int, features_at_once>();
constexpr auto add_numbered_rows = adders<false>(every_width),
               add_all_rows = adders<true>(every_width);

/// Adds up to rows_at_once rows to packed sums, a group of features after the other.
void add_block(const std::uint8_t* bytes, std::int64_t row_bytes, int features,
               const std::uint32_t* numbers, const std::int64_t* gradients, std::int64_t count,
               std::int64_t* sums) {
  const auto& add = numbers != nullptr ? add_numbered_rows : add_all_rows;
  for (int feature = 0; feature < features; feature += features_at_once) {
    const int width = std::min(features_at_once, features - feature);
    add[static_cast<std::size_t>(width - 1)](bytes + feature, row_bytes, numbers, gradients, count,
                                             sums + feature * bins_of_feature);
  }
}

// ---- splits ----

/// The split of one feature with the highest score above `least_score`; of equal ones that with
/// missing values to the right, then the lowest bin.
Split best_split(const SplitRules& rules, const GradientSum& node, double least_score,
                 const GradientSum* sums, int cuts) {
  Split best;
  best.score = least_score;
  const GradientSum missing = sums[missing_bin];
  std::array<GradientSum, bins_of_feature> left;
  std::array<double, bins_of_feature> scores;
  for (const bool missing_goes_left : {false, true}) {
    if (missing_goes_left && missing.hessian == 0) break;
    GradientSum sum = missing_goes_left ? missing : GradientSum{};
    for (int bin = 0; bin < cuts; ++bin)
      left[static_cast<std::size_t>(bin)] = sum = sum + sums[bin];
    for (int bin = 0; bin < cuts; ++bin)
      scores[static_cast<std::size_t>(bin)] =
          score_of_split(rules, node, left[static_cast<std::size_t>(bin)]);
    double most = -1;
    for (int bin = 0; bin < cuts; ++bin)
      most = std::max(most, scores[static_cast<std::size_t>(bin)]);
    if (!(most > best.score)) continue;
    int bin = 0;
    while (scores[static_cast<std::size_t>(bin)] != most)
      ++bin;
    best = {most, 0, bin, missing_goes_left, left[static_cast<std::size_t>(bin)]};
  }
  return best;
}

// ---- which child rows go to ----

/// Writes rows in the order of their children.
struct Sorted {
  std::uint32_t* numbers;
  std::int64_t* gradients;
};

constexpr std::int64_t word_rows = 64;

/// Bit i: row i of up to 64 goes left.
std::uint64_t left_bits(const std::uint8_t* bins, const std::uint32_t* numbers, std::int64_t first,
                        std::int64_t count, const LeftBins& is_left) {
  std::uint64_t bits = 0;
  if (numbers == nullptr) {
    for (std::int64_t i = 0; i < count; ++i)
      bits |= std::uint64_t{is_left(bins[first + i])} << i;
    return bits;
  }
  for (std::int64_t i = 0; i < count; ++i)
    bits |= std::uint64_t{is_left(bins[numbers[first + i]])} << i;
  return bits;
}

/// Rows of a piece to the left child from `left` on, the others from `right` on.
struct Places {
  std::int64_t left = 0, right = 0;
};

void place_one_by_one(const std::uint32_t* numbers, const std::int64_t* gradients,
                      std::int64_t first, std::int64_t count, std::uint64_t bits, Places& places,
                      const Sorted& to) {
  for (std::int64_t i = first; i < first + count; ++i, bits >>= 1) {
    const std::int64_t is_left = static_cast<std::int64_t>(bits & 1);
    const std::int64_t place = is_left != 0 ? places.left : places.right;
    to.numbers[place] = numbers != nullptr ? numbers[i] : static_cast<std::uint32_t>(i);
    to.gradients[place] = gradients[i];
    places.left += is_left;
    places.right += 1 - is_left;
  }
}

#if defined(__AVX512F__)
__mmask16 low_lanes16(int count) { return static_cast<__mmask16>((1u << count) - 1); }
__mmask8 low_lanes8(int count) { return static_cast<__mmask8>((1u << count) - 1); }

/// Sixteen rows. Lanes are moved together in a register and stored under a mask: compressing stores
/// take some hundred cycles on AMD's Zen 4.
void place_sixteen(__m512i numbers, const std::int64_t* gradients, __mmask16 left, Places& places,
                   const Sorted& to) {
  const auto low = static_cast<__mmask8>(left), high = static_cast<__mmask8>(left >> 8);
  const int in_low = __builtin_popcount(low), in_high = __builtin_popcount(high);
  const __m512i low_gradients = _mm512_loadu_si512(gradients);
  const __m512i high_gradients = _mm512_loadu_si512(gradients + 8);
  const auto put_numbers = [&](std::int64_t place, __mmask16 lanes, int count) {
    _mm512_mask_storeu_epi32(to.numbers + place, low_lanes16(count),
                             _mm512_maskz_compress_epi32(lanes, numbers));
  };
  const auto put_gradients = [&](std::int64_t place, __mmask8 lanes, __m512i values, int count) {
    _mm512_mask_storeu_epi64(to.gradients + place, low_lanes8(count),
                             _mm512_maskz_compress_epi64(lanes, values));
  };
  put_numbers(places.left, left, in_low + in_high);
  put_numbers(places.right, static_cast<__mmask16>(~left), 16 - in_low - in_high);
  put_gradients(places.left, low, low_gradients, in_low);
  put_gradients(places.left + in_low, high, high_gradients, in_high);
  put_gradients(places.right, static_cast<__mmask8>(~low), low_gradients, 8 - in_low);
  put_gradients(places.right + 8 - in_low, static_cast<__mmask8>(~high), high_gradients,
                8 - in_high);
  places.left += in_low + in_high;
  places.right += 16 - in_low - in_high;
}

void place_word(const std::uint32_t* numbers, const std::int64_t* gradients, std::int64_t first,
                std::uint64_t bits, Places& places, const Sorted& to) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (std::int64_t i = first; i < first + word_rows; i += 16, bits >>= 16)
    place_sixteen(numbers != nullptr
                      ? _mm512_loadu_si512(numbers + i)
                      : _mm512_add_epi32(lane, _mm512_set1_epi32(static_cast<int>(i))),
                  gradients + i, static_cast<__mmask16>(bits), places, to);
}
#else
void place_word(const std::uint32_t* numbers, const std::int64_t* gradients, std::int64_t first,
                std::uint64_t bits, Places& places, const Sorted& to) {
  place_one_by_one(numbers, gradients, first, word_rows, bits, places, to);
}
#endif

// ---- scoring bins ----

float value_of(const Tree& tree, const std::uint8_t* bins) {
  const TreeNode* node = tree.data();
  while (node->feature >= 0) {
    const std::uint8_t bin = bins[node->feature];
    const bool is_left = bin == missing_bin ? node->missing_goes_left : bin <= node->bin;
    node = tree.data() + node->left + (is_left ? 0 : 1);
  }
  return node->value;
}

/// Adds a tree's values to the margins of the rows that `numbers` gives, of the first ones where it
/// is null.
void add_tree(const Tree& tree, const BinnedRows& rows, const std::uint32_t* numbers,
              std::int64_t count, std::vector<float>& margins) {
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t row = numbers != nullptr ? std::int64_t{numbers[i]} : i;
    margins[static_cast<std::size_t>(row)] += value_of(tree, rows.row(row));
  }
}

// ---- a level ----

using Sums = std::vector<GradientSum>; ///< by feature and bin

/// Part of a node's rows that one thread has.
struct Piece {
  std::size_t node = 0; ///< of the level
  Range rows;
  bool is_whole = false;
};

/// The pieces of a part of the rows of some nodes, as if these lay one after the other.
std::vector<Piece> pieces_of(const Level& level, const std::vector<std::size_t>& nodes, int part,
                             int parts) {
  std::int64_t all = 0;
  for (const std::size_t node : nodes)
    all += level[node].rows.count();
  const Range wanted = part_of(all, part, parts);
  std::vector<Piece> pieces;
  std::int64_t start = 0;
  for (const std::size_t node : nodes) {
    const Range rows = level[node].rows;
    const std::int64_t begin = std::max(wanted.begin, start);
    const std::int64_t end = std::min(wanted.end, start + rows.count());
    if (begin < end)
      pieces.push_back({node,
                        {rows.begin + begin - start, rows.begin + end - start},
                        end - begin == rows.count()});
    start += rows.count();
  }
  return pieces;
}

/// The engine of TreeGrower on the CPU.
class OpenmpEngine {
public:
  OpenmpEngine(const BinnedRows& rows, const Cuts& cuts, const GbdtParameters& parameters,
               const BinnedRows* validation)
      : rows_(rows),
        cuts_(cuts),
        parameters_(parameters),
        validation_(validation),
        threads_(omp_get_max_threads()),
        quanta_(quanta_of(parameters)),
        rules_(rules_of(parameters)),
        share_(share_of_2_32(parameters.row_share)),
        margins_(static_cast<std::size_t>(rows.count), parameters.base_margin),
        packed_(static_cast<std::size_t>(threads_)) {
    if (validation != nullptr)
      validation_margins_.assign(static_cast<std::size_t>(validation->count),
                                 parameters.base_margin);
    const auto padded = static_cast<std::size_t>(rows.count + read_ahead);
    for (int i = 0; i < 2; ++i) {
      numbers_[i].resize(padded);
      gradients_[i].resize(static_cast<std::size_t>(rows.count));
    }
  }

  const SplitRules& rules() const { return rules_; }
  const GbdtSeconds& seconds() const { return seconds_; }

  RootRows begin(int round, const std::vector<std::int32_t>& columns) {
    take_columns(columns);
    const GradientSum sum = parameters_.row_share < 1 ? draw_rows(round) : take_all_rows();
    return {rows_.count - static_cast<std::int64_t>(left_out_.size()), sum};
  }

  void find_splits(Level& level, const std::vector<Siblings>& siblings) {
    std::vector<Sums> sums(level.size());
    std::vector<std::size_t> summed;
    for (const Siblings& pair : siblings) {
      sums[pair.other] = std::move(sums_[pair.parent]);
      summed.push_back(pair.summed);
    }
    if (siblings.empty()) summed.push_back(0);
    sums_ = std::move(sums);
    sum_by_bins(level, summed);
    const double start_s = seconds_now();
    search(level, siblings);
    seconds_.splits += seconds_now() - start_s;
  }

  void add_values(const Level& level, const std::vector<std::size_t>& nodes, const Tree& tree) {
    add_to_margins(level, nodes, [&](const LevelNode& node, std::int64_t) {
      return tree[static_cast<std::size_t>(node.node)].value;
    });
  }
  void add_values_of_children(const Level& level, const std::vector<std::size_t>& nodes,
                              const Tree& tree) {
    add_to_margins(level, nodes, [&](const LevelNode& node, std::int64_t row) {
      const std::uint8_t bin = rows_.feature(node.split.feature)[row];
      const auto left = static_cast<std::size_t>(tree[static_cast<std::size_t>(node.node)].left);
      return LeftBins(node.split)(bin) ? tree[left].value : tree[left + 1].value;
    });
  }

  /// Rows and gradients in the order of the children, which learn where theirs lie.
  void move_rows(const Level& level, const std::vector<std::size_t>& nodes, Level& children) {
    const std::uint32_t* const row_numbers = numbers();
    const std::int64_t* const row_gradients = gradients();
    const Sorted to{numbers_[1 - now_].data(), gradients_[1 - now_].data()};
    std::vector<std::vector<Piece>> pieces(static_cast<std::size_t>(threads_));
    std::vector<std::vector<std::int64_t>> lefts(pieces.size());
    std::vector<std::int64_t> place_of_node(level.size(), 0);
    std::int64_t next_place = 0;
    for (const std::size_t node : nodes) {
      place_of_node[node] = next_place;
      next_place += level[node].rows.count();
    }
#pragma omp parallel num_threads(threads_)
    {
      const auto part = static_cast<std::size_t>(omp_get_thread_num());
      std::vector<Piece>& mine = pieces[part];
      mine = pieces_of(level, nodes, omp_get_thread_num(), omp_get_num_threads());
      std::vector<std::uint64_t> bits;
      for (const Piece& piece : mine) {
        const Split& split = level[piece.node].split;
        const LeftBins is_left(split);
        std::int64_t left = 0;
        for (std::int64_t i = piece.rows.begin; i < piece.rows.end; i += word_rows) {
          bits.push_back(left_bits(rows_.feature(split.feature), row_numbers, i,
                                   std::min(word_rows, piece.rows.end - i), is_left));
          left += __builtin_popcountll(bits.back());
        }
        lefts[part].push_back(left);
      }
#pragma omp barrier
#pragma omp single
      find_places(level, nodes, pieces, lefts, place_of_node, children);
      auto word = bits.begin();
      for (std::size_t i = 0; i < mine.size(); ++i) {
        Places places = places_[part][i];
        std::int64_t row = mine[i].rows.begin;
        for (; row + word_rows <= mine[i].rows.end; row += word_rows)
          place_word(row_numbers, row_gradients, row, *word++, places, to);
        if (row < mine[i].rows.end)
          place_one_by_one(row_numbers, row_gradients, row, mine[i].rows.end - row, *word++, places,
                           to);
      }
    }
    now_ = 1 - now_;
    all_rows_ = false;
    std::fill_n(numbers_[now_].begin() + next_place, read_ahead, 0u);
  }

  /// Mean loss of the validation rows with one tree more.
  double validation_loss(const Tree& tree) {
    const BinnedRows& rows = *validation_;
    add_tree(tree, rows, nullptr, rows.count, validation_margins_);
    std::int64_t sum = 0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (std::int64_t row = 0; row < rows.count; ++row)
      sum += loss_quanta(validation_margins_[static_cast<std::size_t>(row)],
                         rows.labels[static_cast<std::size_t>(row)]);
    return mean_loss(sum, rows.count);
  }

  void end(const Tree& tree) {
    add_tree(tree, rows_, left_out_.data(), static_cast<std::int64_t>(left_out_.size()), margins_);
  }

private:
  void take_columns(const std::vector<std::int32_t>& features_in_use) {
    columns_.features = features_in_use;
    columns_.by_row = rows_.by_row.data();
    columns_.row_bytes = rows_.row_bytes;
    const std::size_t features = columns_.features.size();
    if (features == static_cast<std::size_t>(rows_.features)) return;
    columns_.row_bytes = static_cast<std::int64_t>((features + 7) / 8 * 8);
    drawn_by_row_ = Bytes(static_cast<std::size_t>(rows_.count * columns_.row_bytes));
    columns_.by_row = drawn_by_row_.data();
#pragma omp parallel for schedule(static) num_threads(threads_)
    for (std::int64_t row = 0; row < rows_.count; ++row) {
      const std::uint8_t* const from = rows_.row(row);
      std::uint8_t* const to = drawn_by_row_.data() + row * columns_.row_bytes;
      for (std::size_t i = 0; i < features; ++i)
        to[i] = from[columns_.features[i]];
    }
  }

  std::int64_t packed_gradient_of(std::int64_t row) const {
    return packed_gradient(gradient_of(margins_[static_cast<std::size_t>(row)],
                                       rows_.labels[static_cast<std::size_t>(row)],
                                       parameters_.positive_weight),
                           quanta_.gradient, quanta_.hessian);
  }

  /// Gradients of all rows by their margins; gives the sum.
  GradientSum take_all_rows() {
    all_rows_ = true;
    std::int64_t gradient = 0, hessian = 0;
    const float* const margins = margins_.data();
    const std::uint8_t* const labels = rows_.labels.data();
    std::int64_t* const gradients = gradients_[now_].data();
#pragma omp parallel for simd schedule(static) reduction(+ : gradient, hessian)
    for (std::int64_t row = 0; row < rows_.count; ++row) {
      const Gradient g = gradient_of(margins[row], labels[row], parameters_.positive_weight);
      const std::int64_t both = packed_gradient(g, quanta_.gradient, quanta_.hessian);
      gradients[row] = both;
      const GradientSum sum = unpacked(both);
      gradient += sum.gradient;
      hessian += sum.hessian;
    }
    return {gradient, hessian};
  }

  /// Numbers and gradients of the rows drawn for a tree, and the numbers of the others.
  GradientSum draw_rows(int round) {
    all_rows_ = false;
    std::vector<std::int64_t> drawn_before(static_cast<std::size_t>(threads_) + 1, 0);
    std::int64_t gradient = 0, hessian = 0;
#pragma omp parallel num_threads(threads_) reduction(+ : gradient, hessian)
    {
      const int part = omp_get_thread_num();
      const Range range = part_of(rows_.count, part, threads_);
      std::int64_t drawn = 0;
      for (std::int64_t row = range.begin; row < range.end; ++row)
        drawn += row_is_drawn(parameters_.seed, share_, round, row);
      drawn_before[static_cast<std::size_t>(part) + 1] = drawn;
#pragma omp barrier
#pragma omp single
      {
        std::partial_sum(drawn_before.begin(), drawn_before.end(), drawn_before.begin());
        left_out_.resize(static_cast<std::size_t>(rows_.count - drawn_before.back()));
        std::fill_n(numbers_[now_].begin() + drawn_before.back(), read_ahead, 0u);
      }
      std::int64_t place = drawn_before[static_cast<std::size_t>(part)];
      std::int64_t left_out = range.begin - place;
      for (std::int64_t row = range.begin; row < range.end; ++row) {
        const auto number = static_cast<std::uint32_t>(row);
        if (!row_is_drawn(parameters_.seed, share_, round, row)) {
          left_out_[static_cast<std::size_t>(left_out++)] = number;
          continue;
        }
        const std::int64_t both = packed_gradient_of(row);
        numbers_[now_][static_cast<std::size_t>(place)] = number;
        gradients_[now_][static_cast<std::size_t>(place++)] = both;
        gradient += unpacked(both).gradient;
        hessian += unpacked(both).hessian;
      }
    }
    return {gradient, hessian};
  }

  const std::uint32_t* numbers() const { return all_rows_ ? nullptr : numbers_[now_].data(); }
  const std::int64_t* gradients() const { return gradients_[now_].data(); }
  std::size_t bins() const { return columns_.features.size() * bins_of_feature; }

  /// Sums of the rows of some nodes.
  void sum_by_bins(Level& level, const std::vector<std::size_t>& nodes) {
    for (const std::size_t node : nodes)
      sums_[node].resize(bins());
    std::vector<std::uint8_t> begun(level.size(), 0); // by several threads
#pragma omp parallel num_threads(threads_)
    {
      const int part = omp_get_thread_num();
      std::vector<std::int64_t>& packed = packed_[static_cast<std::size_t>(part)];
      packed.assign(bins(), 0);
      Sums own;
      for (const Piece& piece : pieces_of(level, nodes, part, omp_get_num_threads())) {
        Sums& sums = sums_[piece.node];
        if (piece.is_whole) {
          sum_piece(piece.rows, packed, sums);
          continue;
        }
        own.resize(bins());
        sum_piece(piece.rows, packed, own);
#pragma omp critical(risk_sum_by_bins)
        if (std::exchange(begun[piece.node], std::uint8_t{1}) == 0)
          std::copy(own.begin(), own.end(), sums.begin());
        else
          std::transform(own.begin(), own.end(), sums.begin(), sums.begin(),
                         [](const GradientSum& a, const GradientSum& b) { return a + b; });
      }
    }
  }

  void sum_piece(const Range& rows, std::vector<std::int64_t>& packed, Sums& sums) const {
    std::int64_t since = 0;
    bool is_first = true;
    const auto flush = [&] {
      unpack(packed, sums, std::exchange(is_first, false));
      since = 0;
    };
    for (std::int64_t begin = rows.begin; begin < rows.end; begin += rows_at_once) {
      const std::int64_t here = std::min(rows_at_once, rows.end - begin);
      if (since + here > rows_before_overflow) flush();
      add_block(columns_.by_row + (all_rows_ ? begin * columns_.row_bytes : 0), columns_.row_bytes,
                static_cast<int>(columns_.features.size()), all_rows_ ? nullptr : numbers() + begin,
                gradients() + begin, here, packed.data());
      since += here;
    }
    flush();
  }

  /// Moves packed sums to wide ones and clears them.
  static void unpack(std::vector<std::int64_t>& packed, Sums& sums, bool is_first) {
    std::int64_t* const from = packed.data();
    GradientSum* const to = sums.data();
    const std::size_t count = packed.size();
    if (is_first)
      for (std::size_t i = 0; i < count; ++i)
        to[i] = unpacked(from[i]);
    else
      for (std::size_t i = 0; i < count; ++i)
        to[i] = to[i] + unpacked(from[i]);
    std::fill(packed.begin(), packed.end(), 0);
  }

  /// Of a pair, `other` has its parent's sums yet.
  void search(Level& level, const std::vector<Siblings>& siblings) {
    const std::size_t features = columns_.features.size();
    const std::size_t pairs = std::max<std::size_t>(1, siblings.size());
    std::vector<Split> splits(level.size() * features);
#pragma omp parallel for schedule(dynamic, 4) num_threads(threads_)
    for (std::size_t task = 0; task < pairs * features; ++task) {
      const std::size_t feature = task % features, first_bin = feature * bins_of_feature;
      const auto search_node = [&](std::size_t node) {
        splits[node * features + feature] =
            best_split(rules_, level[node].sum, least_score(rules_, level[node].sum),
                       sums_[node].data() + first_bin, cut_count(columns_.features[feature]));
      };
      if (siblings.empty()) {
        search_node(0);
        continue;
      }
      const Siblings& pair = siblings[task / features];
      const GradientSum* const summed = sums_[pair.summed].data() + first_bin;
      GradientSum* const rest = sums_[pair.other].data() + first_bin;
      for (int bin = 0; bin < bins_of_feature; ++bin)
        rest[bin] = rest[bin] - summed[bin];
      search_node(pair.summed);
      search_node(pair.other);
    }
    for (std::size_t node = 0; node < level.size(); ++node)
      for (std::size_t feature = 0; feature < features; ++feature) {
        const Split& split = splits[node * features + feature];
        if (split.feature < 0 || !(split.score > level[node].split.score)) continue;
        level[node].split = split;
        level[node].split.feature = columns_.features[feature];
      }
  }
  int cut_count(std::int32_t feature) const {
    return static_cast<int>(cuts_.of_feature[static_cast<std::size_t>(feature)].size());
  }
  /// Adds to the margins of the rows of some nodes.
  template <class Value>
  void add_to_margins(const Level& level, const std::vector<std::size_t>& nodes,
                      const Value& value) {
    if (nodes.empty()) return;
    const std::uint32_t* const row_numbers = numbers();
#pragma omp parallel num_threads(threads_)
    for (const Piece& piece :
         pieces_of(level, nodes, omp_get_thread_num(), omp_get_num_threads())) {
      const LevelNode& node = level[piece.node];
      for (std::int64_t i = piece.rows.begin; i < piece.rows.end; ++i) {
        const std::int64_t row = row_numbers != nullptr ? std::int64_t{row_numbers[i]} : i;
        margins_[static_cast<std::size_t>(row)] += value(node, row);
      }
    }
  }
  /// Where each piece's rows go, after those of the pieces before it.
  void find_places(const Level& level, const std::vector<std::size_t>& nodes,
                   const std::vector<std::vector<Piece>>& pieces,
                   const std::vector<std::vector<std::int64_t>>& lefts,
                   const std::vector<std::int64_t>& place_of_node, Level& children) {
    std::vector<std::int64_t> left_rows(level.size(), 0);
    for (std::size_t part = 0; part < pieces.size(); ++part)
      for (std::size_t i = 0; i < pieces[part].size(); ++i)
        left_rows[pieces[part][i].node] += lefts[part][i];
    std::vector<Places> next(level.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::size_t node = nodes[i];
      const std::int64_t begin = place_of_node[node], middle = begin + left_rows[node];
      const std::int64_t end = begin + level[node].rows.count();
      next[node] = {begin, middle};
      children[2 * i].rows = {begin, middle};
      children[2 * i + 1].rows = {middle, end};
    }
    places_.assign(pieces.size(), {});
    for (std::size_t part = 0; part < pieces.size(); ++part)
      for (std::size_t i = 0; i < pieces[part].size(); ++i) {
        const Piece& piece = pieces[part][i];
        places_[part].push_back(next[piece.node]);
        next[piece.node].left += lefts[part][i];
        next[piece.node].right += piece.rows.count() - lefts[part][i];
      }
  }

  const BinnedRows& rows_;
  const Cuts& cuts_;
  const GbdtParameters& parameters_;
  const BinnedRows* validation_;
  int threads_;
  Quanta quanta_;
  SplitRules rules_;
  std::uint64_t share_;
  Columns columns_;
  std::vector<Sums> sums_; ///< of the nodes of a level
  Bytes drawn_by_row_;     ///< where not all columns are in use
  std::vector<float> margins_, validation_margins_;
  std::vector<std::uint32_t> left_out_; ///< rows that were not drawn
  /// Of the rows, in the order of the nodes of a level; each level writes the other one.
  std::vector<std::uint32_t> numbers_[2];
  std::vector<std::int64_t> gradients_[2];
  int now_ = 0;
  bool all_rows_ = true;                          ///< row i is number i
  std::vector<std::vector<std::int64_t>> packed_; ///< sums of each thread
  std::vector<std::vector<Places>> places_;
  GbdtSeconds seconds_;
};

} // namespace

Training train_gbdt_openmp(const BinnedRows& rows, const Cuts& cuts,
                           const GbdtParameters& parameters, const BinnedRows* validation,
                           GbdtSeconds* seconds) {
  const double start_s = seconds_now();
  OpenmpEngine engine(rows, cuts, parameters, validation);
  Training training = train_with(engine, cuts, parameters, engine.rules(), validation != nullptr);
  if (seconds != nullptr) {
    seconds->splits = engine.seconds().splits;
    seconds->histograms = seconds_now() - start_s - seconds->splits;
  }
  return training;
}

} // namespace breakeven::risk
