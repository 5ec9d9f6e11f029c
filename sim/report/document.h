// A memo as a list of blocks, written as Markdown or as self-contained HTML. Text is plain: each
// writer escapes it, so a hostile name is only ever a name.
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
  std::string text;
  bool strong = false;
};
struct Table {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};
struct List {
  std::vector<std::string> items;
};
struct Chart {
  std::string file, caption, svg; ///< file: relative to the memo
};
using Block = std::variant<Heading, Paragraph, Table, List, Chart>;

std::string markdown(const std::vector<Block>& blocks);
std::string html(const std::string& title, const std::vector<Block>& blocks);

} // namespace breakeven
