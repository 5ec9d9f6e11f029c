// RFC 4180 in and out. The reader knows the file and line of every cell, so that a bad value can be
// reported where it stands. Text cells that a spreadsheet would run as a formula are written with a
// leading apostrophe, which the reader takes off again.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace breakeven {

class CsvRow {
public:
  CsvRow(const std::string* file, long line, const std::vector<std::string>* header,
         std::vector<std::string> cells);
  /// Each throws BadInput for a missing column, an empty cell, a wrong type or a range.
  const std::string& text(const std::string& column) const;   ///< may be empty
  std::string required_text(const std::string& column) const; ///< not only white space
  double number(const std::string& column, double low, double high) const;
  std::optional<double> optional_number(const std::string& column, double low, double high) const;
  long integer(const std::string& column, long low, long high) const;
  std::string date(const std::string& column) const; ///< YYYY, YYYY-MM or YYYY-MM-DD, from 2000 on
  [[noreturn]] void fail(const std::string& column, const std::string& expected) const;
  const std::string& file() const { return *file_; }
  long line() const { return line_; }

private:
  const std::string* file_;
  long line_;
  const std::vector<std::string>* header_;
  std::vector<std::string> cells_;
};

struct CsvFile {
  std::string file;
  std::vector<std::string> header;
  std::vector<CsvRow> rows; ///< valid as long as the CsvFile lives and is not moved
  CsvFile() = default;
  CsvFile(const CsvFile&) = delete;
  CsvFile& operator=(const CsvFile&) = delete;
};

/// Throws BadInput when the file is missing, empty, has ragged rows, an unclosed quote, a repeated
/// or missing header column, or is not UTF-8. LF, CRLF, a byte-order mark and a missing last
/// newline are all the same to it; lines with nothing on them are skipped; columns beyond the
/// required ones are allowed.
std::unique_ptr<CsvFile> read_csv(const std::filesystem::path& file,
                                  const std::vector<std::string>& required_columns);

/// A text as a cell: guarded against formulas, quoted where needed. Not for numbers.
std::string csv_cell(const std::string& text);
/// Joins finished cells: texts through csv_cell(), numbers through csv_number(), so that a negative
/// number stays a number. Ends in "\n".
std::string csv_line(const std::vector<std::string>& cells);
/// The shortest decimal that reads back to the same double; "" for an unset value. Never "nan".
std::string csv_number(std::optional<double> value);

} // namespace breakeven
