#include "sim/catalog/csv.h"

#include "sim/errors.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>

namespace breakeven {

namespace {

constexpr std::uintmax_t largest_file = std::uintmax_t{64} << 20;

std::string bytes_of(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    throw BadInput(file.string(), 0,
                   std::filesystem::exists(file, error) ? "something that is not a file"
                                                        : "no such file",
                   "a CSV file");
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (!error && size > largest_file)
    throw BadInput(file.string(), 0, std::to_string(size) + " bytes", "at most 64 MiB");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw BadInput(file.string(), 0, "a file that cannot be read", "a CSV file");
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (bytes.rfind("\xEF\xBB\xBF", 0) == 0) bytes.erase(0, 3);
  return bytes;
}

/// Length of the UTF-8 sequence at `at`, 0 where there is none (RFC 3629: no overlong forms, no
/// surrogates, nothing above U+10FFFF).
std::size_t utf8_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return 0;
  std::uint32_t code = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(at + i) & 0x3Fu);
  }
  const std::uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < smallest[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return 0;
  return length;
}

void check_text(const std::string& file, const std::string& bytes) {
  long line = 1;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = utf8_length(bytes, at);
    if (length == 0 || bytes[at] == '\0')
      throw BadInput(file, line, "bytes that are not text", "UTF-8");
    line += bytes[at] == '\n';
    at += length;
  }
}

struct Record {
  long line;
  std::vector<std::string> cells;
};

/// RFC 4180 with LF or CRLF, one pass over the bytes.
class Parser {
public:
  Parser(const std::string& file, const std::string& bytes) : file_(file), bytes_(bytes) {}

  std::vector<Record> records() {
    std::vector<Record> all;
    while (at_ < bytes_.size()) {
      Record record{line_, {}};
      const bool blank = at_end_of_line();
      do
        record.cells.push_back(cell());
      while (take(','));
      end_of_record();
      if (!blank) all.push_back(std::move(record));
    }
    return all;
  }

private:
  bool take(char wanted) {
    if (at_ >= bytes_.size() || bytes_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  /// LF, CRLF or the end of the file; a CR before anything else belongs to its cell.
  bool at_end_of_line() const {
    const std::size_t end = at_ < bytes_.size() && bytes_[at_] == '\r' ? at_ + 1 : at_;
    return end >= bytes_.size() || bytes_[end] == '\n';
  }

  void end_of_record() {
    take('\r');
    if (at_ < bytes_.size() && !take('\n'))
      throw BadInput(file_, line_, "text after a closing quote", "',' or the end of the line");
    ++line_;
  }

  std::string cell() { return at_ < bytes_.size() && bytes_[at_] == '"' ? quoted() : plain(); }

  std::string plain() {
    const std::size_t start = at_;
    while (!at_end_of_line() && bytes_[at_] != ',') {
      if (bytes_[at_] == '"')
        throw BadInput(file_, line_, "a quote inside a cell", "a quoted cell");
      ++at_;
    }
    return bytes_.substr(start, at_ - start);
  }

  std::string quoted() {
    const long opened = line_;
    std::string text;
    ++at_;
    for (;;) {
      if (at_ >= bytes_.size()) throw BadInput(file_, opened, "a quote that is not closed", "'\"'");
      const char c = bytes_[at_++];
      if (c == '"' && !take('"')) return text;
      line_ += c == '\n';
      text += c;
    }
  }

  const std::string& file_;
  const std::string& bytes_;
  std::size_t at_ = 0;
  long line_ = 1;
};

/// Takes off the apostrophe that csv_cell() put before a text which looks like a formula. A text
/// that began with apostrophes itself has got one more.
std::string unguarded(std::string cell) {
  const std::size_t apostrophes = cell.find_first_not_of('\'');
  if (cell.size() > 1 && cell[0] == '\'' && apostrophes != std::string::npos
      && std::string("=+-@").find(cell[apostrophes]) != std::string::npos)
    cell.erase(0, 1);
  return cell;
}

void check_header(const std::string& file, const std::vector<std::string>& header,
                  const std::vector<std::string>& required) {
  std::set<std::string> seen;
  for (const std::string& column : header)
    if (column.empty())
      throw BadInput(file, 1, "a column without a name", "a name for each column");
    else if (!seen.insert(column).second)
      throw BadInput(file, 1, "column '" + column + "' twice", "each column once");
  for (const std::string& column : required)
    if (!seen.count(column))
      throw BadInput(file, 1, "no column '" + column + "'", "a header with that column");
}

/// At most 60 bytes of a cell, cut where a UTF-8 character ends.
std::string shown(const std::string& cell) {
  if (cell.empty()) return "an empty cell";
  std::size_t end = std::min<std::size_t>(cell.size(), 60);
  while (end < cell.size() && (static_cast<unsigned char>(cell[end]) & 0xC0) == 0x80)
    --end;
  return "'" + cell.substr(0, end) + (end < cell.size() ? "...'" : "'");
}

/// YYYY, YYYY-MM or YYYY-MM-DD of a day that exists, in this century.
bool is_date(const std::string& cell) {
  const std::string pattern = "20dd-dd-dd";
  if (cell.size() != 4 && cell.size() != 7 && cell.size() != 10) return false;
  for (std::size_t i = 0; i < cell.size(); ++i)
    if (pattern[i] == 'd' ? cell[i] < '0' || cell[i] > '9' : cell[i] != pattern[i]) return false;
  const auto two_digits = [&](std::size_t at) {
    return static_cast<unsigned>((cell[at] - '0') * 10 + cell[at + 1] - '0');
  };
  const std::chrono::year year(2000 + static_cast<int>(two_digits(2)));
  const std::chrono::month month(cell.size() >= 7 ? two_digits(5) : 1);
  const std::chrono::day day(cell.size() == 10 ? two_digits(8) : 1);
  return (year / month / day).ok();
}

std::string range_text(double low, double high) {
  return "a number from " + csv_number(low) + " to " + csv_number(high);
}

} // namespace

CsvRow::CsvRow(const std::string* file, long line, const std::vector<std::string>* header,
               std::vector<std::string> cells)
    : file_(file),
      line_(line),
      header_(header),
      cells_(std::move(cells)) {}

const std::string& CsvRow::text(const std::string& column) const {
  const auto found = std::find(header_->begin(), header_->end(), column);
  if (found == header_->end())
    throw BadInput(*file_, 1, "no column '" + column + "'", "a header with that column");
  return cells_[static_cast<std::size_t>(found - header_->begin())];
}

void CsvRow::fail(const std::string& column, const std::string& expected) const {
  throw BadInput(*file_, line_, column + " is " + shown(text(column)), expected);
}

std::string CsvRow::required_text(const std::string& column) const {
  const std::string& cell = text(column);
  if (cell.find_first_not_of(" \t\r\n") == std::string::npos) fail(column, "some text");
  return cell;
}

std::optional<double> CsvRow::optional_number(const std::string& column, double low,
                                              double high) const {
  const std::string& cell = text(column);
  if (cell.empty()) return {};
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value)
      || value < low || value > high)
    fail(column, range_text(low, high));
  return value;
}

double CsvRow::number(const std::string& column, double low, double high) const {
  const std::optional<double> value = optional_number(column, low, high);
  if (!value) fail(column, range_text(low, high));
  return *value;
}

long CsvRow::integer(const std::string& column, long low, long high) const {
  const double value = number(column, static_cast<double>(low), static_cast<double>(high));
  if (value != std::floor(value)) fail(column, "a whole number");
  return static_cast<long>(value);
}

std::string CsvRow::date(const std::string& column) const {
  const std::string& cell = text(column);
  if (!is_date(cell)) fail(column, "a date: YYYY, YYYY-MM or YYYY-MM-DD");
  return cell;
}

std::unique_ptr<CsvFile> read_csv(const std::filesystem::path& file,
                                  const std::vector<std::string>& required_columns) {
  auto csv = std::make_unique<CsvFile>();
  csv->file = file.string();
  const std::string bytes = bytes_of(file);
  check_text(csv->file, bytes);
  std::vector<Record> records = Parser(csv->file, bytes).records();
  if (records.empty()) throw BadInput(csv->file, 1, "an empty file", "a header line");
  csv->header = records.front().cells;
  check_header(csv->file, csv->header, required_columns);
  for (std::size_t i = 1; i < records.size(); ++i) {
    Record& record = records[i];
    if (record.cells.size() != csv->header.size())
      throw BadInput(csv->file, record.line, std::to_string(record.cells.size()) + " cells",
                     std::to_string(csv->header.size()) + " as in the header");
    std::transform(record.cells.begin(), record.cells.end(), record.cells.begin(), unguarded);
    csv->rows.emplace_back(&csv->file, record.line, &csv->header, std::move(record.cells));
  }
  return csv;
}

std::string csv_cell(const std::string& text) {
  std::string cell = text;
  const std::size_t first = cell.find_first_not_of('\'');
  if (first != std::string::npos && std::string("=+-@").find(cell[first]) != std::string::npos)
    cell.insert(0, "'");
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& cells) {
  // A line with nothing on it is no record to the reader.
  if (cells.size() == 1 && cells[0].empty()) return "\"\"\n";
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i)
    line += (i ? "," : "") + cells[i];
  return line + "\n";
}

std::string csv_number(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return "";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, *value).ptr};
}

} // namespace breakeven
