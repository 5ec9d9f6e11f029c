#include "workloads/risk/table_libsvm.h"

#include "sim/errors.h"
#include "workloads/risk/label_rule.h"

#include <omp.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <utility>

namespace breakeven::risk {

namespace {

struct PartEntries {
  std::vector<std::int64_t> ends; ///< of each row's entries
  std::vector<std::uint32_t> places;
  std::vector<float> values;
  std::vector<std::uint8_t> labels;
  std::uint32_t features = 0; ///< one more than the largest place
};

constexpr std::string_view blanks = " \t\r";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

class LibsvmReader {
public:
  LibsvmReader(const std::filesystem::path& file, const LibsvmSettings& settings)
      : file_(file.string()),
        settings_(settings),
        blocks_(file, Quotes::none, settings.block_bytes),
        labels_(settings.positive, settings.negative) {}

  SparseTable read() {
    table_.first_index = settings_.first_index;
    TextPart block;
    while (blocks_.next(block))
      read_block(block);
    finish();
    return std::move(table_);
  }

private:
  void read_block(const TextPart& block) {
    const std::size_t smallest_part = settings_.block_bytes / 64 + 1;
    const std::size_t most = 4 * static_cast<std::size_t>(omp_get_max_threads());
    const std::vector<TextPart> parts =
        parts_of(block, static_cast<int>(std::min(most, block.text.size() / smallest_part + 1)),
                 Quotes::none);
    std::vector<LabelRule> labels(parts.size(), LabelRule(settings_.positive, labels_.negative()));
    parts_.resize(std::max(parts_.size(), parts.size()));
    const std::vector<std::exception_ptr> errors = for_each_part(
        parts.size(), [&](std::size_t i) { read_part(parts[i], labels[i], parts_[i]); });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      labels_.add(labels[i], file_);
      if (errors[i]) std::rethrow_exception(errors[i]);
    }
    append(parts.size(), block.text.size());
  }

  void read_part(const TextPart& part, LabelRule& labels, PartEntries& entries) const {
    entries.ends.clear();
    entries.places.clear();
    entries.values.clear();
    entries.labels.clear();
    entries.features = 0;
    long number = part.line;
    for (std::string_view text = part.text; !text.empty(); ++number) {
      const std::size_t length = text.find('\n');
      read_line(text.substr(0, length), number, labels, entries);
      text.remove_prefix(length + 1);
    }
  }

  void read_line(std::string_view line, long number, LabelRule& labels,
                 PartEntries& entries) const {
    line = line.substr(0, line.find('#'));
    const std::string_view label = next_word(line);
    if (label.empty()) return;
    float ignored = 0;
    if (read_number(label, ignored) != NumberText::finite)
      throw BadInput(file_, number, "label " + shown(label), "a number");
    entries.labels.push_back(labels(label, file_, number));
    std::int64_t least = 0;
    for (;;) {
      while (!line.empty() && is_blank(line.front()))
        line.remove_prefix(1);
      if (line.empty()) break;
      if (const char* end = read_plain_entry(line, least, entries))
        line.remove_prefix(static_cast<std::size_t>(end - line.data()));
      else
        read_entry(next_word(line), number, least, entries);
      least = std::int64_t{entries.places.back()} + 1;
    }
    entries.ends.push_back(static_cast<std::int64_t>(entries.places.size()));
  }

  /// The quick way for most entries: where the entry ends, or null where read_entry() must look.
  const char* read_plain_entry(std::string_view line, std::int64_t least,
                               PartEntries& entries) const {
    constexpr std::ptrdiff_t most_digits = 9;
    const char* const end_of_line = line.data() + line.size(); // a character is there
    const char* at = line.data();
    std::int64_t index = 0;
    for (; *at >= '0' && *at <= '9' && at - line.data() < most_digits; ++at)
      index = index * 10 + (*at - '0');
    if (at == line.data() || *at != ':') return nullptr;
    float value = 0;
    const char* const end = read_plain_number(at + 1, value);
    if (!end || (end != end_of_line && !is_blank(*end))) return nullptr;
    const std::int64_t place = index - settings_.first_index;
    if (place < least || place >= most_features()) return nullptr;
    add_entry(place, value, entries);
    return end;
  }

  int most_features() const {
    return settings_.features > 0 ? settings_.features : settings_.features_at_most;
  }

  static void add_entry(std::int64_t place, float value, PartEntries& entries) {
    entries.places.push_back(static_cast<std::uint32_t>(place));
    entries.values.push_back(value);
    entries.features = std::max(entries.features, static_cast<std::uint32_t>(place) + 1);
  }

  /// Its place is `least` or more.
  void read_entry(std::string_view word, long line, std::int64_t least,
                  PartEntries& entries) const {
    const std::size_t colon = word.find(':');
    std::int64_t index = 0;
    const char* const end = word.data() + std::min(colon, word.size());
    const auto [stop, error] = std::from_chars(word.data(), end, index);
    if (colon == std::string_view::npos || error != std::errc() || stop != end)
      throw BadInput(file_, line, shown(word), "index:value");
    check_index(word, line, index, least);
    float value = std::numeric_limits<float>::quiet_NaN();
    const NumberText kind = read_number(word.substr(colon + 1), value);
    if (word.size() == colon + 1 || kind == NumberText::not_a_number)
      throw BadInput(file_, line, shown(word), "index:value, with a number");
    if (kind == NumberText::infinite)
      throw BadInput(file_, line, shown(word), "a finite number of 32 bits");
    add_entry(index - settings_.first_index, value, entries);
  }

  void check_index(std::string_view word, long line, std::int64_t index, std::int64_t least) const {
    const std::int64_t first = settings_.first_index;
    const std::int64_t last = first + most_features() - 1;
    if (index < first || index > last)
      throw BadInput(file_, line, "index " + std::to_string(index) + " in " + shown(word),
                     std::to_string(first) + " to " + std::to_string(last)
                         + (settings_.features > 0 ? ", as in training" : ""));
    if (index - first < least)
      throw BadInput(file_, line,
                     "index " + std::to_string(index) + " after "
                         + std::to_string(least - 1 + first),
                     "indices that rise");
  }

  void append(std::size_t parts, std::size_t block_bytes) {
    std::vector<std::size_t> first_rows(parts), first_entries(parts);
    std::size_t rows = table_.labels.size(), entries = table_.places.size();
    for (std::size_t i = 0; i < parts; ++i) {
      first_rows[i] = rows;
      first_entries[i] = entries;
      rows += parts_[i].labels.size();
      entries += parts_[i].places.size();
      table_.features = std::max(table_.features, static_cast<int>(parts_[i].features));
    }
    if (static_cast<std::int64_t>(rows) > settings_.rows_at_most)
      throw BadInput(file_, 0, "more than " + grouped(settings_.rows_at_most) + " rows",
                     "at most so many");
    reserve(rows, entries, block_bytes);
    table_.labels.resize(rows);
    table_.starts.resize(rows + 1);
    table_.places.resize(entries);
    table_.values.resize(entries);
#pragma omp parallel for schedule(dynamic) if (parts > 1)
    for (std::size_t i = 0; i < parts; ++i)
      place(parts_[i], first_rows[i], first_entries[i]);
  }

  /// Once, for all the file: growing would hold the entries twice. What is too much is not touched.
  void reserve(std::size_t rows_so_far, std::size_t entries_so_far, std::size_t block_bytes) {
    if (table_.values.capacity() > 0 || entries_so_far == 0) return;
    const double blocks =
        std::max(1.0, static_cast<double>(blocks_.file_bytes()) / static_cast<double>(block_bytes));
    const double share = blocks > 1 ? 1.25 * blocks : 1;
    const auto rows = static_cast<std::size_t>(share * static_cast<double>(rows_so_far)) + 1;
    const auto entries = static_cast<std::size_t>(share * static_cast<double>(entries_so_far));
    table_.labels.reserve(rows);
    table_.starts.reserve(rows + 1);
    table_.places.reserve(entries);
    table_.values.reserve(entries);
  }

  void place(const PartEntries& part, std::size_t first_row, std::size_t first_entry) {
    std::copy(part.labels.begin(), part.labels.end(), table_.labels.data() + first_row);
    std::copy(part.places.begin(), part.places.end(), table_.places.data() + first_entry);
    std::copy(part.values.begin(), part.values.end(), table_.values.data() + first_entry);
    for (std::size_t row = 0; row < part.ends.size(); ++row)
      table_.starts[first_row + row + 1] = static_cast<std::int64_t>(first_entry) + part.ends[row];
  }

  void finish() {
    if (table_.count() == 0) throw BadInput(file_, 0, "0 rows", "at least one");
    table_.negative = labels_.negative();
    if (settings_.features > 0) {
      table_.features = settings_.features;
      return;
    }
    labels_.check_both(file_);
    if (table_.places.empty())
      throw BadInput(file_, 0, "rows without an entry", "index:value in one row at least");
  }

  const std::string file_;
  const LibsvmSettings& settings_;
  TextBlocks blocks_;
  LabelRule labels_;
  SparseTable table_;
  std::vector<PartEntries> parts_; ///< kept, so that blocks don't allocate
};

void read_rows(const SparseTable& table, std::int64_t begin, std::int64_t end, float* values,
               std::uint8_t* labels) {
  std::fill_n(values, (end - begin) * table.features, std::numeric_limits<float>::quiet_NaN());
  for (std::int64_t row = begin; row < end; ++row, values += table.features) {
    const auto at = static_cast<std::size_t>(row);
    for (std::int64_t entry = table.starts[at]; entry < table.starts[at + 1]; ++entry)
      values[table.places[static_cast<std::size_t>(entry)]] =
          table.values[static_cast<std::size_t>(entry)];
    *labels++ = table.labels[at];
  }
}

} // namespace

SparseTable read_libsvm_table(const std::filesystem::path& file, const LibsvmSettings& settings) {
  return LibsvmReader(file, settings).read();
}

Rows rows_of(SparseTable table) {
  Rows rows;
  rows.count = table.count();
  for (int feature = 0; feature < table.features; ++feature)
    rows.feature_names.push_back("feature_" + std::to_string(feature + table.first_index));
  rows.read = [held = std::make_shared<const SparseTable>(std::move(table))](
                  std::int64_t begin, std::int64_t end, float* values, std::uint8_t* labels) {
    read_rows(*held, begin, end, values, labels);
  };
  return rows;
}

} // namespace breakeven::risk
