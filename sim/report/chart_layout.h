// What all charts share: their width, where the axes cross, text at a place in pixels. The margins
// are fixed so that places can be computed before drawing.
#pragma once

#include "sim/report/labels.h"

#include <string>

namespace breakeven {

constexpr int chart_width = 860;
constexpr double chart_font_size = 11;

struct Layout {
  int height = 0;
  Box frame; ///< pixels, y upwards
};

std::string layout_commands(const Layout& layout); ///< gnuplot's margins
/// `style`: alignment, size and colour, as gnuplot has them.
std::string text_at(const Layout& layout, double x, double y, const std::string& text,
                    const std::string& style);
/// An SVG that only says why nothing is drawn. `text` is ours, not the user's.
std::string empty_chart(const char* text);

} // namespace breakeven
