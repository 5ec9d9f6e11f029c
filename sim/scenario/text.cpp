#include "sim/scenario/text.h"

#include <algorithm>

namespace breakeven {

namespace {

constexpr std::size_t longest_shown_text = 60;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Insertions, deletions and replacements that turn one text into the other (Levenshtein).
std::size_t edits_between(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

} // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string in_quotes(std::string_view text, char quote) {
  std::size_t length = text.size();
  if (length > longest_shown_text) {
    length = longest_shown_text;
    while (length > 0 && continues_character(text[length]))
      --length; // half a UTF-8 character is no text
  }
  std::string result(1, quote);
  for (const char c : text.substr(0, length))
    result += static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
  if (length < text.size()) result += "...";
  return result + quote;
}

std::string listed_with_or(const std::vector<std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < names.size(); ++i)
    result += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return result;
}

std::string nearest(std::string_view text, const std::vector<std::string>& names) {
  // Two slips in a long word, one in a short one; "x" is no slip of "to".
  const std::size_t most_edits = text.size() >= 5 ? 2 : text.size() >= 3 ? 1 : 0;
  std::string best;
  std::size_t fewest = most_edits + 1;
  for (const std::string& name : names) {
    // Lengths alone tell a hopeless pair apart; a key may be a megabyte long.
    if (name.size() > text.size() + most_edits || text.size() > name.size() + most_edits) continue;
    const std::size_t edits = edits_between(text, name);
    if (edits < fewest) {
      fewest = edits;
      best = name;
    }
  }
  return best;
}

} // namespace breakeven
