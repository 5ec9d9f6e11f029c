#include "sim/report/document.h"

#include <algorithm>

namespace breakeven {

namespace {

constexpr std::size_t longest_short_cell = 24;

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
    case '&':
      safe += "&amp;";
      break;
    case '<':
      safe += "&lt;";
      break;
    case '>':
      safe += "&gt;";
      break;
    case '"':
      safe += "&quot;";
      break;
    default:
      safe += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return safe;
}

std::string with_lead(const std::string& lead, const std::string& text) {
  if (lead.empty()) return escaped(text);
  return "<strong>" + escaped(lead) + "</strong>" + (text.empty() ? "" : " " + escaped(text));
}

/// The range of "0.52 (0.48-0.61)" goes below its value, so that neither is broken up.
std::string with_range_below(const std::string& text) {
  const std::size_t range = text.find(" (");
  if (range == std::string::npos || text.back() != ')' || text.size() > longest_short_cell)
    return escaped(text);
  return escaped(text.substr(0, range)) + "<br>" + escaped(text.substr(range + 1));
}

/// Short cells keep their words together; verdicts are coloured.
std::string cell_of(const std::string& text) {
  std::string kind = text.size() <= longest_short_cell ? "short" : "";
  for (const char* verdict : {"migrate", "stay", "undecided"})
    if (!kind.empty() && text.rfind(verdict, 0) == 0) kind = kind + " " + verdict;
  return "<td" + (kind.empty() ? "" : " class=\"" + kind + "\"") + ">" + with_range_below(text)
         + "</td>";
}

std::string code_of(const std::string& text) {
  std::string safe;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    safe += escaped(text.substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return safe;
}

struct Writer {
  std::string operator()(const Heading& heading) const {
    const std::string tag = "h" + std::to_string(heading.level);
    return "<" + tag + ">" + escaped(heading.text) + "</" + tag + ">\n";
  }
  std::string operator()(const Paragraph& paragraph) const {
    return "<p>" + with_lead(paragraph.lead, paragraph.text) + "</p>\n";
  }
  std::string operator()(const Callout& callout) const {
    std::string text =
        "<div class=\"callout\"><p class=\"lead\">" + escaped(callout.lead) + "</p>\n";
    for (const std::string& line : callout.lines)
      text += "<p>" + escaped(line) + "</p>\n";
    return text + "</div>\n";
  }
  std::string operator()(const Table& table) const {
    std::string text = "<div class=\"scroll\"><table>\n<thead><tr>";
    for (const std::string& cell : table.header)
      text += "<th>" + escaped(cell) + "</th>";
    text += "</tr></thead>\n<tbody>\n";
    for (const auto& row : table.rows) {
      text += "<tr>";
      for (const std::string& cell : row)
        text += cell_of(cell);
      text += "</tr>\n";
    }
    return text + "</tbody></table></div>\n";
  }
  std::string operator()(const List& list) const {
    std::string text = "<ul>\n";
    for (const Paragraph& item : list.items)
      text += "<li>" + with_lead(item.lead, item.text) + "</li>\n";
    return text + "</ul>\n";
  }
  std::string operator()(const Code& code) const {
    return "<pre>" + code_of(code.text) + "</pre>\n";
  }
  std::string operator()(const Chart& chart) const {
    // An XML prologue does not belong inside HTML.
    const std::size_t start = chart.svg.find("<svg");
    return "<figure><div class=\"scroll\">"
           + (start == std::string::npos ? "" : chart.svg.substr(start)) + "</div><figcaption>"
           + escaped(chart.caption) + "</figcaption></figure>\n";
  }
};

constexpr const char* style = R"(
body { font: 16px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #222;
  max-width: 60rem; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.75rem; line-height: 1.25; margin-bottom: .3rem; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p, li { max-width: 46rem; overflow-wrap: anywhere; }
.callout { background: #eef4f7; border-left: 5px solid #1f6f8b; padding: .6rem 1.2rem; margin: 1rem 0; }
.callout p { margin: .4rem 0; } .callout .lead { font-size: 1.3rem; font-weight: 700; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .8rem; line-height: 1.35; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .4rem; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; vertical-align: bottom; }
td { font-variant-numeric: tabular-nums; } td.short { white-space: nowrap; }
td.migrate { color: #1b6b3a; font-weight: 700; } td.stay { color: #8a3a14; font-weight: 700; }
td.undecided { color: #6b5b00; font-weight: 700; }
pre { background: #f5f5f5; padding: .7rem 1rem; overflow-x: auto; font-size: .82rem; }
figure { margin: 1.2rem 0; } figcaption { font-size: .85rem; color: #555; max-width: 46rem; }
svg { display: block; width: 100%; min-width: 640px; height: auto; }
@media (max-width: 640px) { body { margin: 1rem auto; padding: 0 .8rem; } h1 { font-size: 1.4rem; } }
@page { margin: 15mm; }
@media print {
  body { max-width: none; margin: 0; padding: 0; font-size: 10pt; }
  table { font-size: 7.5pt; } th, td { padding: .2rem .3rem; }
  .scroll { overflow: visible; } svg { min-width: 0; }
  h2, h3 { break-after: avoid; } tr, figure, .callout { break-inside: avoid; }
}
)";

} // namespace

std::string html(const std::string& title, const std::vector<Block>& blocks) {
  std::string text =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>"
      + escaped(title) + "</title>\n<style>" + style + "</style>\n</head>\n<body>\n";
  for (const Block& block : blocks)
    text += std::visit(Writer{}, block);
  return text + "</body>\n</html>\n";
}

} // namespace breakeven
