// A table for a terminal: cells in columns, no wider than asked. Columns that another document has
// too are left out where they do not fit, and then the names are shortened. Leaves out what the
// cells say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace breakeven {

struct TextTable {
  std::vector<std::size_t> names; ///< columns aligned to the left; numbers go to the right
  std::vector<std::size_t> spare; ///< left out where the table is too wide, in this order
  /// The column whose cells lose their middle where leaving out is not enough, and the width that
  /// it should keep.
  std::size_t shortened = 0;
  int wanted_width = 20;
  std::size_t headers = 2; ///< rows above the line
  /// As many cells each as there are columns, or one that goes across all of them.
  std::vector<std::vector<std::string>> rows;
};

std::string text_of(const TextTable& table, int width);

/// Breaks text at spaces so that no line is wider than `width`; longer words lose their middle.
std::string wrapped(const std::string& text, int width, const std::string& indent = "");

} // namespace breakeven
