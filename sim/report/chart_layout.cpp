#include "sim/report/chart_layout.h"

#include "sim/report/gnuplot.h"

#include <fmt/format.h>

namespace breakeven {

std::string layout_commands(const Layout& layout) {
  return fmt::format("set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n"
                     "set bmargin at screen {:.4f}\nset tmargin at screen {:.4f}\n",
                     layout.frame.left / chart_width, layout.frame.right / chart_width,
                     layout.frame.bottom / layout.height, layout.frame.top / layout.height);
}

std::string text_at(const Layout& layout, double x, double y, const std::string& text,
                    const std::string& style) {
  return fmt::format("set label \"{}\" at screen {:.4f},{:.4f} {}\n", gnuplot_text(text),
                     x / chart_width, y / layout.height, style);
}

std::string empty_chart(const char* text) {
  return fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"60\" "
                     "viewBox=\"0 0 {0} 60\"><text x=\"20\" y=\"35\" "
                     "font-family=\"sans-serif\">{1}</text></svg>\n",
                     chart_width, text);
}

} // namespace breakeven
