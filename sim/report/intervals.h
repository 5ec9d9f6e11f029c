// An interval as three columns, name_p10_unit, name_p50_unit and name_p90_unit: all filled or all
// empty, and in order. Used by the column table of comparison.csv.
#pragma once

#include "sim/report/cells.h"

namespace breakeven::cells {

struct IntervalPoint {
  const char *quantile, *words;
  double Interval::*at;
};
inline constexpr IntervalPoint interval_points[] = {{"p10", ", 10 % point", &Interval::low},
                                                    {"p50", ", likely", &Interval::likely},
                                                    {"p90", ", 90 % point", &Interval::high}};

/// Checks the three cells of an interval; `read` is the value that was made of them.
inline void check_interval(const CsvRow& line, const std::string& before, const std::string& after,
                           const Interval& read) {
  int filled = 0;
  for (const IntervalPoint& point : interval_points)
    filled += !line.text(before + point.quantile + after).empty();
  const std::string last = before + "p90" + after;
  if (filled != 0 && filled != 3) line.fail(last, "all three points of an interval, or none");
  if (!(read.low <= read.likely && read.likely <= read.high)) line.fail(last, "p10 <= p50 <= p90");
}

/// `shown` gives the interval to write, or null; `field` the one to fill.
template <class Row>
std::vector<Column<Row>> interval_columns(const std::string& before, const std::string& after,
                                          const std::string& meaning,
                                          std::function<const Interval*(const Row&)> shown,
                                          std::function<Interval&(Row&)> field) {
  std::vector<Column<Row>> columns;
  for (const IntervalPoint& point : interval_points)
    columns.push_back({before + point.quantile + after, meaning + point.words, Cell::number,
                       [=](const Row& row) {
                         const Interval* interval = shown(row);
                         return interval ? csv_number(interval->*point.at) : std::string();
                       },
                       [=](Row& row, const CsvRow& line, const std::string& column) {
                         if (const auto value = line.optional_number(column, 0, no_limit))
                           field(row).*point.at = *value;
                       }});
  // Only the last column has all three.
  const auto read_last = columns.back().read;
  columns.back().read = [=](Row& row, const CsvRow& line, const std::string& column) {
    read_last(row, line, column);
    const Interval* interval = shown(row);
    check_interval(line, before, after, interval ? *interval : Interval{});
  };
  return columns;
}

template <class Row>
std::vector<Column<Row>> optional_interval(const std::string& before, const std::string& after,
                                           const std::string& meaning,
                                           std::optional<Interval> Row::*member) {
  return interval_columns<Row>(
      before, after, meaning,
      [=](const Row& row) { return row.*member ? &*(row.*member) : nullptr; },
      [=](Row& row) -> Interval& {
        if (!(row.*member)) row.*member = Interval{};
        return *(row.*member);
      });
}

/// An interval that is all zero where unknown: its cells are then empty, since a missing time is
/// never a zero.
template <class Row>
std::vector<Column<Row>> interval(const std::string& before, const std::string& after,
                                  const std::string& meaning, Interval Row::*member) {
  return interval_columns<Row>(
      before, after, meaning,
      [=](const Row& row) {
        const Interval& value = row.*member;
        const bool known = value.low != 0 || value.likely != 0 || value.high != 0;
        return known ? &value : nullptr;
      },
      [=](Row& row) -> Interval& { return row.*member; });
}

} // namespace breakeven::cells
