// A memo as a list of blocks, written as Markdown or as self-contained HTML. Text in blocks is
// plain: each writer escapes it, so a hostile name is only ever a name. Leaves out what a memo
// says.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace breakeven {

struct Heading {
  int level;
  std::string text;
};
struct Paragraph {
  std::string lead; ///< in bold, before the text; may be empty
  std::string text;
};
/// What the reader must not miss.
struct Callout {
  std::string lead;
  std::vector<std::string> lines;
};
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};
struct List {
  std::vector<Paragraph> items;
};
struct Code {
  std::string text;
};
struct Chart {
  std::string file, caption, svg; ///< file: relative to the memo
};
using Block = std::variant<Heading, Paragraph, Callout, Table, List, Code, Chart>;

std::string markdown(const std::vector<Block>& blocks);
std::string html(const std::string& title, const std::vector<Block>& blocks);

} // namespace breakeven
