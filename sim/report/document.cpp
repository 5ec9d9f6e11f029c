#include "sim/report/document.h"

namespace breakeven {

namespace {

template <class... Writers>
struct ByType : Writers... {
  using Writers::operator()...;
};

std::string markdown_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ') {
      escaped += ' ';
      continue;
    }
    if (std::string("\\`*_[]<>|#").find(c) != std::string::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string html_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return escaped;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string row = "|";
  for (const std::string& cell : cells)
    row += " " + markdown_text(cell) + " |";
  return row + "\n";
}

std::string html_row(const std::vector<std::string>& cells, const char* tag) {
  std::string row = "<tr>";
  for (const std::string& cell : cells)
    row += std::string("<") + tag + ">" + html_text(cell) + "</" + tag + ">";
  return row + "</tr>\n";
}

/// The drawing itself, without the XML prologue that does not belong inside HTML.
std::string inline_svg(const std::string& svg) {
  const std::size_t start = svg.find("<svg");
  return start == std::string::npos ? "" : svg.substr(start);
}

constexpr const char* css = R"(
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.strong { font-size: 1.1rem; background: #eef5f7; border-left: 4px solid #1f6f8b; padding: .7rem 1rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; white-space: nowrap; }
figure { margin: 1.5rem 0; overflow-x: auto; } figcaption { font-size: .85rem; color: #555; }
svg { max-width: 100%; height: auto; }
@media print { body { max-width: none; margin: 0; } .scroll, figure { overflow: visible; } table { font-size: .7rem; } }
)";

} // namespace

std::string markdown(const std::vector<Block>& blocks) {
  std::string text;
  const ByType write{[&](const Heading& heading) {
                       text += std::string(static_cast<std::size_t>(heading.level), '#') + " "
                               + markdown_text(heading.text) + "\n\n";
                     },
                     [&](const Paragraph& paragraph) {
                       const char* mark = paragraph.strong ? "**" : "";
                       text += mark + markdown_text(paragraph.text) + mark + "\n\n";
                     },
                     [&](const Table& table) {
                       text += markdown_row(table.header) + "|";
                       for (std::size_t i = 0; i < table.header.size(); ++i)
                         text += "---|";
                       text += "\n";
                       for (const auto& row : table.rows)
                         text += markdown_row(row);
                       text += "\n";
                     },
                     [&](const List& list) {
                       for (const std::string& item : list.items)
                         text += "- " + markdown_text(item) + "\n";
                       text += "\n";
                     },
                     [&](const Chart& chart) {
                       text += "![" + markdown_text(chart.caption) + "](" + chart.file + ")\n\n";
                     }};
  for (const Block& block : blocks)
    std::visit(write, block);
  return text;
}

std::string html(const std::string& title, const std::vector<Block>& blocks) {
  std::string text =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"
      + html_text(title) + "</title>\n<style>" + css + "</style></head><body>\n";
  const ByType write{[&](const Heading& heading) {
                       const std::string tag = "h" + std::to_string(heading.level);
                       text += "<" + tag + ">" + html_text(heading.text) + "</" + tag + ">\n";
                     },
                     [&](const Paragraph& paragraph) {
                       text += std::string(paragraph.strong ? "<p class=\"strong\">" : "<p>")
                               + html_text(paragraph.text) + "</p>\n";
                     },
                     [&](const Table& table) {
                       text += "<div class=\"scroll\"><table>\n" + html_row(table.header, "th");
                       for (const auto& row : table.rows)
                         text += html_row(row, "td");
                       text += "</table></div>\n";
                     },
                     [&](const List& list) {
                       text += "<ul>\n";
                       for (const std::string& item : list.items)
                         text += "<li>" + html_text(item) + "</li>\n";
                       text += "</ul>\n";
                     },
                     [&](const Chart& chart) {
                       text += "<figure>" + inline_svg(chart.svg) + "<figcaption>"
                               + html_text(chart.caption) + "</figcaption></figure>\n";
                     }};
  for (const Block& block : blocks)
    std::visit(write, block);
  return text + "</body></html>\n";
}

} // namespace breakeven
