// Columns by kind of cell, for one member of a row. Used by the two column tables, where each
// column is then one line.
#pragma once

#include "sim/report/columns.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace breakeven::cells {

constexpr double no_limit = std::numeric_limits<double>::max();

/// A member of a row, or a member of a member: anything that gives a reference to a field.
template <class Row, class Field>
using Access = std::function<Field&(Row&)>;

template <class Row, class Field>
Access<Row, Field> member(Field Row::*field) {
  return [field](Row& row) -> Field& { return row.*field; };
}
template <class Row, class Part, class Field>
Access<Row, Field> member(Part Row::*part, Field Part::*field) {
  return [=](Row& row) -> Field& { return row.*part.*field; };
}

/// Readers need a mutable row, and share the accessor with writers, which do not change it.
template <class Row, class Field>
const Field& get(const Access<Row, Field>& access, const Row& row) {
  return access(const_cast<Row&>(row));
}

template <class Row>
Column<Row> text(std::string name, std::string meaning, Access<Row, std::string> field) {
  return {name, meaning, Cell::text, [=](const Row& row) { return get(field, row); },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            field(row) = line.text(column);
          }};
}

/// YYYY, YYYY-MM or YYYY-MM-DD, or empty where unknown.
template <class Row>
Column<Row> date(std::string name, std::string meaning, Access<Row, std::string> field) {
  return {name, meaning, Cell::text, [=](const Row& row) { return get(field, row); },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            if (!line.text(column).empty()) field(row) = line.date(column);
          }};
}

/// One of a few words.
template <class Row>
Column<Row> word(std::string name, std::string meaning, Access<Row, std::string> field,
                 std::vector<std::string> words) {
  return {name, meaning, Cell::text, [=](const Row& row) { return get(field, row); },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            std::string expected;
            for (const std::string& known : words) {
              if (known == line.text(column)) {
                field(row) = known;
                return;
              }
              expected += (expected.empty() ? "'" : " or '") + known + "'";
            }
            line.fail(column, expected);
          }};
}

template <class Row>
Column<Row> number(std::string name, std::string meaning, Access<Row, double> field, double low = 0,
                   double high = no_limit) {
  return {name, meaning, Cell::number, [=](const Row& row) { return csv_number(get(field, row)); },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            field(row) = line.number(column, low, high);
          }};
}

template <class Row>
Column<Row> optional_number(std::string name, std::string meaning,
                            Access<Row, std::optional<double>> field, double low = 0,
                            double high = no_limit) {
  return {name, meaning, Cell::number, [=](const Row& row) { return csv_number(get(field, row)); },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            field(row) = line.optional_number(column, low, high);
          }};
}

/// Whole and not negative. Not read through double: a checksum needs all its 64 bits.
template <class Row, class Integer>
Column<Row> integer(std::string name, std::string meaning, Access<Row, Integer> field) {
  return {name, meaning, Cell::integer,
          [=](const Row& row) { return fmt::format("{}", get(field, row)); },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            const std::string& cell = line.text(column);
            const char* const end = cell.data() + cell.size();
            Integer value{};
            const auto [stopped, error] = std::from_chars(cell.data(), end, value);
            if (error != std::errc{} || stopped != end || value < Integer{})
              line.fail(column, "a whole number that is not negative");
            field(row) = value;
          }};
}

/// A value out of a few, by name.
template <class Row, class Value>
Column<Row> choice(std::string name, std::string meaning, Access<Row, Value> field,
                   std::vector<std::pair<Value, std::string>> names) {
  return {name, meaning, Cell::text,
          [=](const Row& row) {
            for (const auto& [value, text] : names)
              if (value == get(field, row)) return text;
            return std::string();
          },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            std::string expected;
            for (const auto& [value, text] : names) {
              if (text == line.text(column)) {
                field(row) = value;
                return;
              }
              expected += (expected.empty() ? "'" : " or '") + text + "'";
            }
            line.fail(column, expected);
          }};
}

template <class Row>
Column<Row> boolean(std::string name, std::string meaning, Access<Row, bool> field) {
  Column<Row> column = choice<Row, bool>(name, meaning, field, {{true, "true"}, {false, "false"}});
  column.cell = Cell::boolean;
  return column;
}

/// The number that fills [begin, end) and is finite and not negative; nothing where there is none.
inline std::optional<double> amount_in(const char* begin, const char* end) {
  double value = 0;
  const auto [stopped, error] = std::from_chars(begin, end, value);
  if (error != std::errc{} || stopped != end || !(value >= 0 && value <= no_limit)) return {};
  return value;
}

/// Numbers that are not negative, joined by spaces.
template <class Row>
Column<Row> numbers(std::string name, std::string meaning, Access<Row, std::vector<double>> field) {
  return {name, meaning, Cell::text,
          [=](const Row& row) {
            std::string cell;
            for (const double value : get(field, row))
              cell += (cell.empty() ? "" : " ") + csv_number(value);
            return cell;
          },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            std::string cell = line.text(column);
            if (cell.empty()) return;
            cell += ' ';
            for (std::size_t at = 0; at < cell.size();) {
              const std::size_t end = cell.find(' ', at);
              const auto value = amount_in(cell.data() + at, cell.data() + end);
              if (!value) line.fail(column, "numbers with a space between");
              field(row).push_back(*value);
              at = end + 1;
            }
          }};
}

} // namespace breakeven::cells
