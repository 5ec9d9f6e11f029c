// The sizes of a sweep, as the command line has them: "workload.rows=10_000,100_000" is one key and
// the values that it takes in turn. Takes the text, gives the sizes in ascending order, or throws
// BadInput. Leaves out whether the key exists and takes such values, which read_scenario says.
#pragma once

#include <string>
#include <vector>

namespace breakeven {

/// A value with a place on an axis: a number, or a number with a unit.
struct Size {
  std::string text;  ///< as --set takes it: "10_000", "2 h"
  double amount = 0; ///< above 0; in `unit`
  std::string unit;  ///< "" for a bare number, else "s", "B", "USD/h" or "CNY/h"
};

struct Sizes {
  std::string key;       ///< "workload.rows", "target[2].count"
  std::vector<Size> all; ///< ascending, 2 to 100 of them, of one unit
};

/// `over` is "section.key=value,value,...", as after --over.
Sizes parse_sizes(const std::string& over);

/// "10000", "2h", "0.8USD_per_h": one folder for each text of a size, whatever its spacing.
std::string folder_name(const Size& size);

} // namespace breakeven
