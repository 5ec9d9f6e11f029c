#include "sim/report/text_table.h"

#include "sim/report/format.h"

#include <algorithm>
#include <sstream>

namespace breakeven {

namespace {

using Widths = std::vector<int>; ///< 0: not shown

constexpr int gap = 2;
constexpr int narrowest = 6;

bool goes_across(const std::vector<std::string>& cells, const Widths& widths) {
  return cells.size() != widths.size();
}

int total_of(const Widths& widths) {
  int total = -gap;
  for (const int width : widths)
    total += width > 0 ? width + gap : 0;
  return total;
}

Widths widths_for(const TextTable& table, int width) {
  Widths widths(table.rows.front().size());
  for (const auto& cells : table.rows)
    for (std::size_t i = 0; i < widths.size() && !goes_across(cells, widths); ++i)
      widths[i] = std::max(widths[i], width_of(on_one_line(cells[i])));
  int& shortened = widths[table.shortened];
  const int wanted = std::min(shortened, table.wanted_width);
  for (const std::size_t spare : table.spare) {
    if (total_of(widths) - shortened + wanted <= width) break;
    widths[spare] = 0;
  }
  shortened -= std::clamp(total_of(widths) - width, 0, std::max(0, shortened - narrowest));
  return widths;
}

std::string line_of(const TextTable& table, const std::vector<std::string>& cells,
                    const Widths& widths, int width) {
  std::string line;
  if (goes_across(cells, widths)) return fitted(cells.front(), width) + "\n";
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (widths[i] == 0) continue;
    const std::string cell = fitted(cells[i], widths[i]);
    const std::string padding(static_cast<std::size_t>(widths[i] - width_of(cell)), ' ');
    const bool is_name = std::find(table.names.begin(), table.names.end(), i) != table.names.end();
    line +=
        (line.empty() ? "" : std::string(gap, ' ')) + (is_name ? cell + padding : padding + cell);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

} // namespace

std::string text_of(const TextTable& table, int width) {
  const Widths widths = widths_for(table, width);
  std::string text;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (i == table.headers)
      text += std::string(static_cast<std::size_t>(total_of(widths)), '-') + "\n";
    text += line_of(table, table.rows[i], widths, width);
  }
  return text;
}

std::string wrapped(const std::string& text, int width, const std::string& indent) {
  std::istringstream words(on_one_line(text));
  std::string word, line, all;
  while (words >> word) {
    word = fitted(word, width - width_of(indent));
    if (!line.empty() && width_of(line) + 1 + width_of(word) > width) {
      all += line + "\n";
      line = indent + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return all + line + "\n";
}

} // namespace breakeven
