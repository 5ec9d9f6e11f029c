// Places names beside the points of a chart so that they cover neither each other nor the points.
// Greedy: each name takes the best of many places around its point. Pixels, y upwards.
#pragma once

#include <string>
#include <vector>

namespace breakeven {

struct Box {
  double left = 0, bottom = 0, right = 0, top = 0;
};

struct NamedPoint {
  std::string name;
  double x = 0, y = 0;
  Box bars; ///< ends of the error bars through the point
};

struct PlacedLabel {
  Box box;
  bool led = false;              ///< far enough to need a line to its point
  double line_x = 0, line_y = 0; ///< where that line meets the box
};

/// Width of a name at a font size, for a sans-serif font that is not known.
double text_width(const std::string& text, double font_size);

/// `lines`: what is drawn besides the points and is better not covered.
std::vector<PlacedLabel> place_labels(const std::vector<NamedPoint>& points, const Box& frame,
                                      double font_size, const std::vector<Box>& lines = {});

} // namespace breakeven
