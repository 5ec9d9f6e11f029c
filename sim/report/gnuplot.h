// Runs gnuplot on a script and gives back the SVG, without what differs between calls or
// installations. Leaves out what is drawn (charts.h).
#pragma once

#include <string>

namespace breakeven {

/// `name` marks the drawing's identifiers, so that several fit into one HTML page; `size` is
/// "width,height" in pixels. Failure with gnuplot's own message where it is missing or fails.
std::string svg_from_gnuplot(const std::string& name, const std::string& size,
                             const std::string& script);

/// Text for a double-quoted string of gnuplot. Nothing in it can end the string or be expanded.
std::string gnuplot_text(const std::string& text);

} // namespace breakeven
