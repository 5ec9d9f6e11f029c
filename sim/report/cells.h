// Writers and readers by kind of cell, for one member of a row. Used by the two column tables.
#pragma once

#include "sim/report/columns.h"

#include <fmt/format.h>

#include <algorithm>
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

/// Writers take a const row; the accessors above are shared with readers and need a mutable one.
template <class Row, class Field>
const Field& get(const Access<Row, Field>& access, const Row& row) {
  return access(const_cast<Row&>(row));
}

template <class Row>
Column<Row> text(std::string name, std::string meaning, Access<Row, std::string> field) {
  return {name, meaning, [=](const Row& row) { return csv_cell(get(field, row)); },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            field(row) = line.text(column);
          },
          [=](const Row& row) { return get(field, row); }};
}

template <class Row>
Column<Row> number(std::string name, std::string meaning, Access<Row, double> field, double low = 0,
                   double high = no_limit) {
  return {name, meaning, [=](const Row& row) { return csv_number(get(field, row)); },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            field(row) = line.number(column, low, high);
          }};
}

template <class Row>
Column<Row> optional_number(std::string name, std::string meaning,
                            Access<Row, std::optional<double>> field, double low = 0,
                            double high = no_limit) {
  return {name, meaning, [=](const Row& row) { return csv_number(get(field, row)); },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            field(row) = line.optional_number(column, low, high);
          }};
}

template <class Row, class Integer>
Column<Row> integer(std::string name, std::string meaning, Access<Row, Integer> field) {
  return {name, meaning, [=](const Row& row) { return fmt::format("{}", get(field, row)); },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            const std::string& cell = line.text(column);
            Integer value{};
            const auto [end, error] =
                std::from_chars(cell.data(), cell.data() + cell.size(), value);
            if (error != std::errc{} || end != cell.data() + cell.size() || value < Integer{})
              line.fail(column, "a whole number");
            field(row) = value;
          }};
}

/// A value out of a few, by name.
template <class Row, class Value>
Column<Row> choice(std::string name, std::string meaning, Access<Row, Value> field,
                   std::vector<std::pair<Value, std::string>> names) {
  return {name, meaning,
          [=](const Row& row) {
            const auto found = std::find_if(names.begin(), names.end(), [&](const auto& entry) {
              return entry.first == get(field, row);
            });
            return found == names.end() ? std::string() : csv_cell(found->second);
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
  return choice<Row, bool>(name, meaning, field, {{true, "true"}, {false, "false"}});
}

/// Three columns for an interval that may be unset: all filled, or all empty.
template <class Row>
std::vector<Column<Row>> optional_interval(const std::string& before, const std::string& after,
                                           const std::string& meaning,
                                           Access<Row, std::optional<Interval>> field) {
  const auto point = [=](const char* quantile, const char* words, double Interval::*at) {
    return Column<Row>{before + quantile + after, meaning + words,
                       [=](const Row& row) {
                         const std::optional<Interval>& interval = get(field, row);
                         return interval ? csv_number((*interval).*at) : std::string();
                       },
                       [=](Row& row, const CsvRow& line, const std::string& column) {
                         const std::optional<double> value =
                             line.optional_number(column, 0, no_limit);
                         if (value && !field(row)) field(row) = Interval{};
                         if (value) (*field(row)).*at = *value;
                       }};
  };
  std::vector<Column<Row>> columns{point("p10", ", 10 % point", &Interval::low),
                                   point("p50", ", likely", &Interval::likely),
                                   point("p90", ", 90 % point", &Interval::high)};
  // The last column sees all three: a number without its interval must not be read, or written.
  const auto read_high = columns.back().read;
  const std::string low = columns[0].name, likely = columns[1].name;
  columns.back().read = [=](Row& row, const CsvRow& line, const std::string& column) {
    read_high(row, line, column);
    const int filled =
        !line.text(low).empty() + !line.text(likely).empty() + !line.text(column).empty();
    if (filled != 0 && filled != 3) line.fail(column, "all three points of an interval, or none");
    if (field(row)
        && !(field(row)->low <= field(row)->likely && field(row)->likely <= field(row)->high))
      line.fail(column, "p10 <= p50 <= p90");
  };
  return columns;
}

/// Numbers joined by spaces.
template <class Row>
Column<Row> numbers(std::string name, std::string meaning, Access<Row, std::vector<double>> field) {
  return {name, meaning,
          [=](const Row& row) {
            std::string cell;
            for (const double value : get(field, row))
              cell += (cell.empty() ? "" : " ") + csv_number(value);
            return cell;
          },
          [=](Row& row, const CsvRow& line, const std::string& column) {
            const std::string& cell = line.text(column);
            const char* at = cell.data();
            const char* const end = at + cell.size();
            while (at != end) {
              double value = 0;
              const auto [next, error] = std::from_chars(at, end, value);
              if (error != std::errc{} || !(value >= 0 && value <= no_limit)
                  || (next != end && *next != ' '))
                line.fail(column, "numbers with a space between");
              field(row).push_back(value);
              at = next == end ? end : next + 1;
            }
          }};
}

} // namespace breakeven::cells
