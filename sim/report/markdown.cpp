#include "sim/report/document.h"

#include <algorithm>

namespace breakeven {

namespace {

/// CommonMark escapes every ASCII punctuation character with a backslash; '&' would start an
/// entity,
/// '~' strikes through and '|' ends a cell in the GitHub dialect. Line breaks become spaces, so no
/// text can start a block of its own.
std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ') {
      safe += ' ';
      continue;
    }
    if (std::string("\\`*_[]<>|#&~!").find(c) != std::string::npos) safe += '\\';
    safe += c;
  }
  return safe;
}

std::string with_lead(const std::string& lead, const std::string& text) {
  if (lead.empty()) return escaped(text);
  return "**" + escaped(lead) + "**" + (text.empty() ? "" : " " + escaped(text));
}

std::string table_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells)
    row += " " + escaped(cell) + " |";
  return row + "\n";
}

/// A fence longer than any run of backticks inside.
std::string fenced(const std::string& text) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + "\n" + text + "\n" + fence + "\n\n";
}

struct Writer {
  std::string operator()(const Heading& heading) const {
    return std::string(static_cast<std::size_t>(heading.level), '#') + " " + escaped(heading.text)
           + "\n\n";
  }
  std::string operator()(const Paragraph& paragraph) const {
    return with_lead(paragraph.lead, paragraph.text) + "\n\n";
  }
  std::string operator()(const Callout& callout) const {
    std::string text = "> " + with_lead(callout.lead, "") + "\n";
    for (const std::string& line : callout.lines)
      text += ">\n> " + escaped(line) + "\n";
    return text + "\n";
  }
  std::string operator()(const Table& table) const {
    std::string text = table_row(table.header) + "|";
    for (std::size_t i = 0; i < table.header.size(); ++i)
      text += "---|";
    text += "\n";
    for (const auto& row : table.rows)
      text += table_row(row);
    return text + "\n";
  }
  std::string operator()(const List& list) const {
    std::string text;
    for (const Paragraph& item : list.items)
      text += "- " + with_lead(item.lead, item.text) + "\n";
    return text + "\n";
  }
  std::string operator()(const Code& code) const { return fenced(code.text); }
  std::string operator()(const Chart& chart) const {
    return "![" + escaped(chart.caption) + "](" + chart.file + ")\n\n";
  }
};

} // namespace

std::string markdown(const std::vector<Block>& blocks) {
  std::string text;
  for (const Block& block : blocks)
    text += std::visit(Writer{}, block);
  text.pop_back(); // one line break at the end, not two
  return text;
}

} // namespace breakeven
