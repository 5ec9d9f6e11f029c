#include "workloads/risk/table_csv.h"

#include "sim/errors.h"
#include "workloads/risk/category_codes.h"
#include "workloads/risk/csv_columns.h"
#include "workloads/risk/csv_records.h"
#include "workloads/risk/label_rule.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace breakeven::risk {

namespace {

/// Rows of one part; categories as codes of its own dictionaries.
struct PartRows {
  std::vector<float> values;
  std::vector<std::uint8_t> labels;
  std::vector<CategoryCodes> dictionaries;     ///< a column each
  std::vector<std::vector<float>> final_codes; ///< a column each, by own code
  std::vector<std::uint8_t> has_value;         ///< a column each
};

class CsvTableReader {
public:
  CsvTableReader(const std::filesystem::path& file, const CsvSettings& settings,
                 const TableSchema* first)
      : file_(file.string()),
        settings_(settings),
        first_(first),
        blocks_(file, Quotes::hold_line_breaks, settings.block_bytes),
        labels_(first ? first->positive : settings.positive, first ? first->negative : "") {}

  Table read() {
    TextPart block;
    read_header(block);
    while (!block.text.empty() || blocks_.next(block)) {
      read_block(block);
      block.text = {};
    }
    finish();
    return std::move(table_);
  }

private:
  /// Leaves in the block what follows the header.
  void read_header(TextPart& block) {
    CsvHeader header;
    while (header.names.empty() && blocks_.next(block)) {
      CsvRecords records(file_, block, settings_.separator);
      if (!records.next()) continue;
      header.line = settings_.header == HeaderLine::first ? records.line() : 0;
      while (!records.is_over()) {
        const std::string_view cell = records.cell();
        const std::string numbered = "column_" + std::to_string(header.names.size() + 1);
        header.names.emplace_back(header.line == 0 || cell.empty() ? numbered : std::string(cell));
        if (header.names.size() > most_columns)
          throw BadInput(file_, records.line(), "more than " + grouped(most_columns) + " columns",
                         "at most so many");
      }
      if (header.line > 0) skip_to(records.position(), block);
    }
    if (header.names.empty()) throw BadInput(file_, 0, "an empty file", "a table");
    set_columns(header);
  }

  static void skip_to(const char* position, TextPart& block) {
    const auto length = static_cast<std::size_t>(position - block.text.data());
    const std::string_view skipped = block.text.substr(0, length);
    block.line += static_cast<long>(std::count(skipped.begin(), skipped.end(), '\n'));
    block.text.remove_prefix(length);
  }

  void set_columns(const CsvHeader& header) {
    if (first_) {
      table_.schema = *first_;
      sources_ =
          sources_of(names_as_in_first(file_, header, *first_, settings_.label_column), *first_);
      known_.resize(first_->columns.size());
      for (std::size_t column = 0; column < known_.size(); ++column)
        for (const std::string& category : first_->columns[column].categories)
          known_[column].code_of(category);
    } else {
      table_.schema = schema_of(file_, header, settings_);
      sources_ = sources_of(header.names, table_.schema);
      known_.resize(table_.schema.columns.size());
    }
    has_value_.assign(known_.size(), 0);
    table_.has_labels = std::any_of(sources_.begin(), sources_.end(),
                                    [](const SourceColumn& s) { return s.use == Use::label; });
  }

  void read_block(const TextPart& block) {
    const std::size_t smallest_part = settings_.block_bytes / 64 + 1;
    const std::size_t most = 4 * static_cast<std::size_t>(omp_get_max_threads());
    const std::vector<TextPart> parts =
        parts_of(block, static_cast<int>(std::min(most, block.text.size() / smallest_part + 1)),
                 Quotes::hold_line_breaks);
    std::vector<LabelRule> labels(parts.size(),
                                  LabelRule(table_.schema.positive, labels_.negative()));
    parts_.resize(std::max(parts_.size(), parts.size()));
    const std::vector<std::exception_ptr> errors = for_each_part(
        parts.size(), [&](std::size_t i) { read_part(parts[i], labels[i], parts_[i]); });
    for (std::size_t i = 0; i < parts.size(); ++i) {
      labels_.add(labels[i], file_);
      if (errors[i]) std::rethrow_exception(errors[i]);
    }
    append(parts.size(), block.text.size());
  }

  void read_part(const TextPart& part, LabelRule& labels, PartRows& rows) const {
    const std::size_t columns = known_.size();
    rows.values.clear();
    rows.labels.clear();
    rows.dictionaries.assign(columns, {});
    rows.has_value.assign(columns, 0);
    CsvRecords records(file_, part, settings_.separator);
    while (records.next()) {
      const std::size_t start = rows.values.size();
      rows.values.resize(start + columns);
      std::uint8_t label = 0;
      for (std::size_t i = 0; i < sources_.size(); ++i) {
        if (records.is_over()) refuse_length(records, i);
        read_cell(records, sources_[i], labels, rows, &rows.values[start], label);
      }
      if (!records.is_over()) refuse_length(records, sources_.size());
      rows.labels.push_back(label);
    }
  }

  void read_cell(CsvRecords& records, const SourceColumn& source, LabelRule& labels, PartRows& rows,
                 float* values, std::uint8_t& label) const {
    switch (source.use) {
    case Use::number:
      values[source.feature] = number(records, source);
      break;
    case Use::category:
      values[source.feature] = category(records, source, rows.dictionaries[source.feature]);
      break;
    case Use::label: {
      const std::string_view cell = records.cell();
      label = labels(cell, file_, records.line());
      return;
    }
    case Use::dropped:
      records.cell();
      return;
    }
    if (!std::isnan(values[source.feature])) rows.has_value[source.feature] = 1;
  }

  float number(CsvRecords& records, const SourceColumn& source) const {
    float value = std::numeric_limits<float>::quiet_NaN();
    if (records.plain_number(value)) return value;
    const std::string_view cell = records.cell();
    switch (read_number(cell, value)) {
    case NumberText::finite:
    case NumberText::missing:
      break;
    case NumberText::infinite:
      throw BadInput(file_, records.line(), shown(cell) + " in column " + shown(source.name),
                     "a finite number of 32 bits");
    case NumberText::not_a_number:
      throw BadInput(file_, records.line(), shown(cell) + " in column " + shown(source.name),
                     "a number");
    }
    return value;
  }

  float category(CsvRecords& records, const SourceColumn& source, CategoryCodes& own) const {
    const std::string_view cell = records.cell();
    if (is_missing(cell)) return std::numeric_limits<float>::quiet_NaN();
    if (!first_) return static_cast<float>(own.code_of(cell));
    if (const std::uint32_t* code = known_[source.feature].find(cell))
      return static_cast<float>(*code);
    throw BadInput(file_, records.line(),
                   "category " + shown(cell) + " in column " + shown(source.name),
                   "one seen in training: " + listed(known_[source.feature].names()));
  }

  [[noreturn]] void refuse_length(CsvRecords& records, std::size_t cells) const {
    const long line = records.line();
    for (; !records.is_over(); ++cells)
      records.cell();
    throw BadInput(file_, line, std::to_string(cells) + " cells",
                   std::to_string(sources_.size()) + ", as many as columns");
  }

  void append(std::size_t parts, std::size_t block_bytes) {
    std::vector<std::size_t> first_rows(parts);
    std::size_t rows = table_.labels.size();
    for (std::size_t i = 0; i < parts; ++i) {
      first_rows[i] = rows;
      rows += parts_[i].labels.size();
      merge_dictionaries(parts_[i]);
    }
    if (static_cast<std::int64_t>(rows) > settings_.rows_at_most)
      throw BadInput(file_, 0, "more than " + grouped(settings_.rows_at_most) + " rows",
                     "at most so many");
    reserve(rows, block_bytes);
    table_.labels.resize(rows);
    table_.values.resize(rows * known_.size());
#pragma omp parallel for schedule(dynamic) if (parts > 1)
    for (std::size_t i = 0; i < parts; ++i)
      place(parts_[i], first_rows[i]);
  }

  void merge_dictionaries(PartRows& part) {
    part.final_codes.assign(known_.size(), {});
    for (std::size_t column = 0; column < known_.size(); ++column) {
      has_value_[column] |= part.has_value[column];
      for (const std::string& name : part.dictionaries[column].names())
        part.final_codes[column].push_back(static_cast<float>(known_[column].code_of(name)));
      if (static_cast<std::int64_t>(known_[column].names().size()) > most_categories)
        throw BadInput(file_, 0,
                       "more than " + grouped(most_categories) + " categories in column "
                           + shown(table_.schema.columns[column].name),
                       "at most so many");
    }
  }

  /// Once, for all the file: growing would hold the numbers twice. What is too much is not touched.
  void reserve(std::size_t rows_so_far, std::size_t block_bytes) {
    if (table_.values.capacity() > 0 || rows_so_far == 0) return;
    const double blocks =
        std::max(1.0, static_cast<double>(blocks_.file_bytes()) / static_cast<double>(block_bytes));
    const double spare = blocks > 1 ? 1.25 : 1;
    const auto rows =
        static_cast<std::size_t>(blocks * spare * static_cast<double>(rows_so_far)) + 1;
    table_.labels.reserve(rows);
    table_.values.reserve(rows * known_.size());
  }

  void place(const PartRows& part, std::size_t first_row) {
    const std::size_t columns = known_.size();
    std::copy(part.labels.begin(), part.labels.end(), table_.labels.data() + first_row);
    float* const values = table_.values.data() + first_row * columns;
    std::copy(part.values.begin(), part.values.end(), values);
    for (std::size_t column = 0; column < columns; ++column)
      if (!part.final_codes[column].empty())
        recode(part.final_codes[column], values + column, part.labels.size());
  }

  /// A column of consecutive rows.
  void recode(const std::vector<float>& codes, float* values, std::size_t rows) const {
    for (std::size_t row = 0; row < rows; ++row) {
      float& value = values[row * known_.size()];
      if (!std::isnan(value)) value = codes[static_cast<std::size_t>(value)];
    }
  }

  void finish() {
    if (table_.count() == 0) throw BadInput(file_, 0, "0 rows", "at least one below the header");
    table_.schema.negative = labels_.negative();
    if (first_) return;
    const bool is_to_be_scored = settings_.label_column == LabelColumn::optional;
    if (!is_to_be_scored) labels_.check_both(file_);
    for (std::size_t column = 0; column < known_.size(); ++column) {
      TableColumn& described = table_.schema.columns[column];
      if (!has_value_[column] && !is_to_be_scored)
        throw BadInput(file_, 0, "column " + shown(described.name) + " without a value",
                       "a value in one row at least, or the column dropped");
      if (described.is_categorical) sort_categories(column);
    }
  }

  void sort_categories(std::size_t column) {
    const std::vector<std::string>& names = known_[column].names();
    const std::vector<std::uint32_t> order = rising_order(names);
    std::vector<float> codes(names.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      codes[order[i]] = static_cast<float>(i);
      table_.schema.columns[column].categories.push_back(names[order[i]]);
    }
    const std::int64_t count = table_.count();
    constexpr std::int64_t stretch = 1 << 16;
#pragma omp parallel for schedule(static) if (count > stretch)
    for (std::int64_t begin = 0; begin < count; begin += stretch)
      recode(codes, table_.values.data() + static_cast<std::size_t>(begin) * known_.size() + column,
             static_cast<std::size_t>(std::min(stretch, count - begin)));
  }

  const std::string file_;
  const CsvSettings& settings_;
  const TableSchema* first_;
  TextBlocks blocks_;
  LabelRule labels_;
  Table table_;
  std::vector<SourceColumn> sources_;
  std::vector<CategoryCodes> known_; ///< a column each
  std::vector<std::uint8_t> has_value_;
  std::vector<PartRows> parts_; ///< kept, so that blocks don't allocate
};

} // namespace

Table read_csv_table(const std::filesystem::path& file, const CsvSettings& settings) {
  return CsvTableReader(file, settings, nullptr).read();
}

Table read_csv_table(const std::filesystem::path& file, const CsvSettings& settings,
                     const TableSchema& first) {
  return CsvTableReader(file, settings, &first).read();
}

} // namespace breakeven::risk
