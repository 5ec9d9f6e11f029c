#include "sim/report/labels.h"

#include "sim/report/format.h"

#include <algorithm>
#include <cmath>

namespace breakeven {

namespace {

constexpr double pi = 3.14159265358979323846;
constexpr double mark_radius = 6; ///< what a point's own symbol covers
constexpr double needs_line = 16; ///< distance from which a name no longer seems to belong

double overlap(const Box& a, const Box& b) {
  const double wide = std::min(a.right, b.right) - std::max(a.left, b.left);
  const double high = std::min(a.top, b.top) - std::max(a.bottom, b.bottom);
  return wide > 0 && high > 0 ? wide * high : 0;
}

Box around(double x, double y, double half_width, double half_height) {
  return {x - half_width, y - half_height, x + half_width, y + half_height};
}

/// A box whose nearest point lies `distance` from (x, y) in direction `angle`.
Box beside(double x, double y, double angle, double distance, double width, double height) {
  const double along_x = std::cos(angle), along_y = std::sin(angle);
  const double center_x =
      x + along_x * distance + (std::fabs(along_x) < 0.3 ? 0 : std::copysign(width / 2, along_x));
  const double center_y =
      y + along_y * distance + (std::fabs(along_y) < 0.3 ? 0 : std::copysign(height / 2, along_y));
  return around(center_x, center_y, width / 2, height / 2);
}

double outside(const Box& box, const Box& frame) {
  return std::max(0.0, frame.left - box.left) + std::max(0.0, box.right - frame.right)
         + std::max(0.0, frame.bottom - box.bottom) + std::max(0.0, box.top - frame.top);
}

/// The bars of all points, as thin boxes, and `lines`.
std::vector<Box> lines_of(const std::vector<NamedPoint>& points, std::vector<Box> lines) {
  for (const NamedPoint& point : points) {
    lines.push_back({point.bars.left, point.y - 1, point.bars.right, point.y + 1});
    lines.push_back({point.x - 1, point.bars.bottom, point.x + 1, point.bars.top});
  }
  return lines;
}

/// What names must keep off, besides each other.
struct Drawn {
  const std::vector<NamedPoint>& points;
  std::vector<Box> lines;
  Box frame;
};

/// What a place would cover: names on names are worst, lines are only thin.
double badness(const Box& box, double distance, const Drawn& drawn,
               const std::vector<PlacedLabel>& placed) {
  double sum = 1000 * outside(box, drawn.frame) + 1.5 * distance;
  for (const PlacedLabel& other : placed) {
    const Box roomy{other.box.left - 4, other.box.bottom - 1, other.box.right + 4,
                    other.box.top + 1};
    sum += 100 * overlap(box, roomy);
  }
  for (const NamedPoint& point : drawn.points)
    sum += 40 * overlap(box, around(point.x, point.y, mark_radius, mark_radius));
  for (const Box& line : drawn.lines)
    sum += 2 * overlap(box, line);
  return sum;
}

PlacedLabel best_place(const NamedPoint& point, const Drawn& drawn,
                       const std::vector<PlacedLabel>& placed, double font_size) {
  const double width = text_width(point.name, font_size), height = font_size + 3;
  PlacedLabel best;
  double least = -1;
  for (const double distance : {8.0, 14.0, 22.0, 32.0, 45.0, 60.0, 80.0, 105.0, 135.0, 170.0})
    for (int direction = 0; direction < 16; ++direction) {
      const Box box = beside(point.x, point.y, direction * pi / 8, distance, width, height);
      const double cost = badness(box, distance, drawn, placed);
      if (least >= 0 && cost >= least) continue;
      least = cost;
      best = {box, distance > needs_line, std::clamp(point.x, box.left, box.right),
              std::clamp(point.y, box.bottom, box.top)};
    }
  return best;
}

} // namespace

double text_width(const std::string& text, double font_size) {
  return 0.6 * font_size * width_of(text); // as wide as the widest common sans-serif, DejaVu
}

std::vector<PlacedLabel> place_labels(const std::vector<NamedPoint>& points, const Box& frame,
                                      double font_size, const std::vector<Box>& lines) {
  const Drawn drawn{points, lines_of(points, lines), frame};
  std::vector<PlacedLabel> placed;
  for (const NamedPoint& point : points)
    placed.push_back(best_place(point, drawn, placed, font_size));
  return placed;
}

} // namespace breakeven
