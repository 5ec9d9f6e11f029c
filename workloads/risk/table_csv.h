// CSV files and their like into a table in memory (table.h), by several threads, at the memory of
// its numbers: RFC 4180 with LF or CRLF, quoted cells that hold separators, doubled quotes and line
// breaks, missing values. Leaves out what the columns mean, and files that don't fit in memory.
#pragma once

#include "workloads/risk/table.h"

#include <cstddef>
#include <filesystem>

namespace breakeven::risk {

/// A file of separators alone must not fill the memory.
constexpr std::size_t most_columns = 1 << 16;
/// Codes are exact floats.
constexpr std::int64_t most_categories = 1 << 24;

enum class HeaderLine { first, none };         ///< without one, columns are column_1, column_2, ...
enum class LabelColumn { required, optional }; ///< a file to be scored may lack it

struct CsvSettings {
  std::string label;                    ///< name of its column
  std::string positive = "1";           ///< the value that is label 1; one other value is label 0
  std::vector<std::string> categorical; ///< names; other columns are numbers
  std::vector<std::string> drop;        ///< names of columns that are not read
  char separator = ',';                 ///< ' ': any number of blanks and tabs
  HeaderLine header = HeaderLine::first;
  LabelColumn label_column = LabelColumn::required;
  std::int64_t rows_at_most = most_rows;
  std::size_t block_bytes = std::size_t{16} << 20; ///< held of the file; a record must fit
};

/// Missing are empty cells, `?`, `NA` and `NaN`, in capitals or not, quoted or not. Blanks around
/// unquoted cells are cut off, lines with nothing on them skipped. Throws BadInput with the line
/// and the column's name for: rows of other lengths, a cell that is no number or not finite, a
/// label that is missing or a third value, labels of one kind, a column without any value, no rows
/// or too many, a column named twice or not there, a quote left open or inside a cell, a NUL byte,
/// no such file. With an optional label the file is one to be scored: then it may lack the label, and
/// labels of one kind and columns without values will do. Categories get codes of their own file all
/// the same.
Table read_csv_table(const std::filesystem::path& file, const CsvSettings& settings);

/// A later file, to test on or score: the columns and categories are those of the first, which it
/// must have (BadInput), labels of one kind will do, and so will columns without values.
Table read_csv_table(const std::filesystem::path& file, const CsvSettings& settings,
                     const TableSchema& first);

} // namespace breakeven::risk
