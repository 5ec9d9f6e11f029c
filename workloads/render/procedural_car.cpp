// The car of the procedural scene. Lower body and cabin are made alike: a wall that runs around an
// outline seen from above, closed by a lid. Windows, lamps and grilles are rectangles in the wall's
// own coordinates: s along the outline, t upwards.
#include "workloads/render/patches.h"
#include "workloads/render/procedural.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace breakeven::render {

namespace {

constexpr double pi = std::numbers::pi;

// Metres; x = 0 is midway between the ends.
constexpr double half_length = 2.22, half_width = 0.90;
constexpr double front_axle_x = 1.36, rear_axle_x = -1.30;
constexpr double wheel_radius = 0.325, arch_radius = 0.385, wheel_y = 0.775,
                 tyre_half_width = 0.105;
constexpr double sill_z = 0.19;

/// A smooth curve through points of rising x (cubic Hermite, slopes from neighbours).
class Curve {
public:
  explicit Curve(std::vector<std::array<double, 2>> points) : points_(std::move(points)) {}
  double operator()(double x) const {
    std::size_t i = 0;
    while (i + 2 < points_.size() && x > points_[i + 1][0])
      ++i;
    const double width = points_[i + 1][0] - points_[i][0];
    const double t = std::clamp((x - points_[i][0]) / width, 0.0, 1.0);
    const double t2 = t * t, t3 = t2 * t;
    return (2 * t3 - 3 * t2 + 1) * points_[i][1] + (t3 - 2 * t2 + t) * width * slope(i)
           + (3 * t2 - 2 * t3) * points_[i + 1][1] + (t3 - t2) * width * slope(i + 1);
  }

private:
  double slope(std::size_t i) const {
    const std::size_t before = i > 0 ? i - 1 : i, after = std::min(i + 1, points_.size() - 1);
    return (points_[after][1] - points_[before][1]) / (points_[after][0] - points_[before][0]);
  }
  std::vector<std::array<double, 2>> points_;
};

/// Height of the shoulder line: tail, boot, doors, bonnet, nose.
double shoulder_z(double x) {
  static const Curve curve({{-2.22, 0.90},
                            {-2.0, 0.965},
                            {-1.5, 0.985},
                            {-0.5, 0.96},
                            {0.6, 0.925},
                            {1.1, 0.885},
                            {1.7, 0.79},
                            {2.05, 0.70},
                            {2.22, 0.62}});
  return curve(x);
}

/// Half of an outline seen from above, |x/a|^n + |y/b|^n = 1 for y >= 0: s from 0 at the front,
/// where y = 0, over the side (1 to 2) to the rear, where y = 0 again at 3.
struct Outline {
  double a, b, middle_x;
  static constexpr double n = 5;

  /// The front piece ends where the outline runs at 45 degrees.
  double corner_x() const { return a * std::pow(1 + std::pow(b / a, n / (n - 1)), -1 / n); }
  double corner_y() const { return y_at(corner_x()); }
  double y_at(double x) const {
    return b * std::pow(std::max(0.0, 1 - std::pow(std::abs(x) / a, n)), 1 / n);
  }
  double x_at(double y) const {
    return a * std::pow(std::max(0.0, 1 - std::pow(std::abs(y) / b, n)), 1 / n);
  }
  Point operator()(double s) const {
    if (s <= 1) return {middle_x + x_at(s * corner_y()), s * corner_y(), 0};
    if (s >= 2) return {middle_x - x_at((3 - s) * corner_y()), (3 - s) * corner_y(), 0};
    const double x = corner_x() * (3 - 2 * s);
    return {middle_x + x, y_at(x), 0};
  }
  double s_of_x(double x) const { return 1.5 - (x - middle_x) / (2 * corner_x()); }
  /// Outwards, unit length.
  Point normal(double s) const {
    const Point p = (*this)(s);
    const double x = (p.x - middle_x) / a, y = p.y / b;
    const double nx = std::copysign(std::pow(std::abs(x), n - 1), x) / a;
    const double ny = std::pow(y, n - 1) / b;
    const double length = std::hypot(nx, ny);
    return {nx / length, ny / length, 0};
  }
};

Point mirrored(Point p) { return {p.x, -p.y, p.z}; }

/// How far the lower body's wall stands back from the outline at a height.
double inset_at(double z, double top, double shoulder_radius) {
  const double tuck_height = 0.42;
  const double tuck = z < tuck_height ? 0.055 * std::pow((tuck_height - z) / 0.23, 2) : 0;
  const double lean = z > 0.55 ? 0.10 * std::pow(z - 0.55, 2) : 0;
  // A shallow crease along the doors, where light changes.
  const double crease = 0.012 * std::exp(-std::pow((z - 0.66) / 0.035, 2));
  const double below_top = std::max(0.0, top - z);
  double round = 0;
  if (below_top < shoulder_radius)
    round = shoulder_radius
            - std::sqrt(std::max(0.0, shoulder_radius * shoulder_radius
                                          - std::pow(shoulder_radius - below_top, 2)));
  return tuck + lean + crease + round;
}

class Car {
public:
  Car() {
    lower_body();
    cabin();
    for (const double x : {front_axle_x, rear_axle_x})
      for (const double side : {-1.0, 1.0}) {
        wheel({x, side * wheel_y, wheel_radius}, side);
        wheel_well(x, side);
      }
    fittings();
  }
  const Patches& patches() const { return patches_; }

private:
  /// A patch on both sides of the car.
  void add_both(std::uint32_t material, Side u, Side v, const Surface& surface,
                Collapsed collapsed = {}) {
    patches_.add(material, u, v, surface, collapsed);
    patches_.add(
        material, u, v, [surface](double a, double b) { return mirrored(surface(a, b)); },
        collapsed);
  }

  // --- lower body

  static constexpr Outline outline{half_length, half_width, 0};
  static constexpr double shoulder_radius = 0.075;
  static constexpr double straight_part = 0.78; ///< of t; above it the wall rounds over

  /// The wheel arch that covers x, or nothing: its axle.
  static std::optional<double> arch_over(double x) {
    for (const double axle : {front_axle_x, rear_axle_x})
      if (std::abs(x - axle) < arch_radius) return axle;
    return {};
  }

  static Point wall(double s, double t, std::optional<double> arch) {
    const Point edge = outline(s);
    const double top = shoulder_z(edge.x);
    double bottom = sill_z;
    if (arch)
      bottom = wheel_radius
               + std::sqrt(std::max(0.0, arch_radius * arch_radius - std::pow(edge.x - *arch, 2)));
    bottom = std::min(bottom, top - shoulder_radius);
    double z = 0;
    if (t < straight_part) {
      z = bottom + (top - shoulder_radius - bottom) * t / straight_part;
    } else {
      const double angle = (t - straight_part) / (1 - straight_part) * pi / 2;
      z = top - shoulder_radius + shoulder_radius * std::sin(angle);
    }
    const Point normal = outline.normal(s);
    const Point p = edge - normal * inset_at(z, top, shoulder_radius);
    // On the middle line the two halves must meet.
    return {p.x, s <= 0 || s >= 3 ? 0 : std::max(0.0, p.y), z};
  }

  const char* wall_material(double s, double t) const {
    const bool front = s<1.07, rear = s> 1.93;
    if (t < 0.10) return "trim";
    if (front) {
      if (s < 0.66 && t > 0.14 && t < 0.34) return "grille";
      if (s < 0.44 && t > 0.55 && t < straight_part) return "grille";
      if (s > 0.56 && t > 0.55 && t < straight_part) return "headlamp";
      return "paint";
    }
    if (rear) {
      if (s < 2.5 && t > 0.55 && t < straight_part) return "tail_lamp";
      return "paint";
    }
    for (const double x : door_edges)
      if (std::abs(outline(s).x - x) < 0.006) return "trim";
    return "paint";
  }

  static constexpr std::array<double, 3> door_edges = {0.87, -0.12, -0.90};

  /// Where the wall's strips begin and end, along the outline.
  static std::vector<double> wall_stations() {
    std::vector<double> stations = {0, 0.44, 0.56, 0.66, 1, 1.07, 1.93, 2, 2.5, 3};
    for (const double x : door_edges)
      for (const double side : {-0.005, 0.005})
        stations.push_back(outline.s_of_x(x + side));
    for (const double axle : {front_axle_x, rear_axle_x})
      for (const double side : {-arch_radius, arch_radius})
        stations.push_back(outline.s_of_x(axle + side));
    std::sort(stations.begin(), stations.end());
    return stations;
  }

  void lower_body() {
    const std::vector<double> stations = wall_stations();
    const std::array<double, 8> levels = {0, 0.10, 0.14, 0.34, 0.55, straight_part, 0.92, 1};
    for (std::size_t i = 0; i + 1 < stations.size(); ++i) {
      const double from = stations[i], to = stations[i + 1];
      const Point begin = outline(from), end = outline(to), middle = outline(0.5 * (from + to));
      const double length = std::hypot(end.x - begin.x, end.y - begin.y);
      const auto arch = arch_over(middle.x);
      // Evenly in angle over an arch, whose edge would else be coarse where it is steep.
      const auto station = [=](double u) {
        return arch ? outline.s_of_x(*arch + arch_radius * std::cos(pi * u))
                    : from + (to - from) * u;
      };
      const Side along{arch ? 1.3 * length : length, arch ? 8 : 1};
      for (std::size_t k = 0; k + 1 < levels.size(); ++k) {
        const double low = levels[k], high = levels[k + 1];
        const auto material =
            patches_.material(wall_material(0.5 * (from + to), 0.5 * (low + high)));
        add_both(material, along, {0.62 * (high - low), 1}, [=](double u, double v) {
          return wall(station(u), low + (high - low) * v, arch);
        });
      }
      lid(from, to, station, along, arch);
    }
    underbody();
  }

  /// Bonnet, boot and what the cabin stands on: from shoulder to shoulder, slightly crowned.
  void lid(double from, double to, const std::function<double(double)>& station, Side along,
           std::optional<double> arch) {
    const std::array<double, 6> across = {0, 0.83, 0.837, 1, 1, 1};
    for (std::size_t k = 0; k < 3; ++k) {
      const double low = across[k], high = across[k + 1];
      const double x = outline(0.5 * (from + to)).x;
      const bool bonnet = x > 0.9 && x < 2.1;
      const auto material = patches_.material(k == 1 && bonnet ? "trim" : "paint");
      const Collapsed collapsed{from <= 0, to >= 3};
      add_both(
          material, along, {0.8 * (high - low), 1},
          [=](double u, double v) {
            const Point edge = wall(station(u), 1, arch);
            const double share = low + (high - low) * v;
            // Two flat folds give the bonnet its shape.
            const double crown = 0.045 * (1 - std::pow(share, 2.4))
                                 + 0.012 * std::exp(-std::pow((share - 0.55) / 0.08, 2));
            return Point{edge.x, edge.y * share, edge.z + crown * std::min(1.0, edge.y / 0.5)};
          },
          collapsed);
    }
  }

  void underbody() {
    const auto trim = patches_.material("trim");
    patches_.add(trim, {3.9, 1}, {1.1, 1}, [](double u, double v) {
      return Point{-1.95 + 3.9 * u, -0.55 + 1.1 * v, sill_z + 0.03};
    });
  }

  // --- cabin

  static constexpr Outline cabin_base{1.44, 0.80, -0.40}, roof_edge{0.74, 0.575, -0.46};

  static Point cabin_wall(double s, double t) {
    const Point low = cabin_base(s), high = roof_edge(s);
    const double roof_z = 1.375 - 0.03 * std::pow((high.x + 0.3) / 0.9, 2);
    const Point base{low.x, low.y, shoulder_z(low.x) - 0.02}, top{high.x, high.y, roof_z};
    const Point p = between(base, top, t) + cabin_base.normal(s) * (0.14 * t * (1 - t));
    return {p.x, s <= 0 || s >= 3 ? 0 : p.y, p.z};
  }

  static const char* cabin_material(double s, double t) {
    const bool windscreen = s<0.93, rear_window = s> 2.1, side = s > 1.1 && s < 1.87;
    if (windscreen || rear_window) return t > 0.05 && t < 0.93 ? "glass" : "trim";
    if (!side) return t > 0.05 ? "paint" : "trim";
    if (t < 0.06) return "trim";
    if (t > 0.90) return "paint";
    return s > 1.47 && s < 1.51 ? "trim" : "glass";
  }

  void cabin() {
    const std::array<double, 9> stations = {0, 0.93, 1, 1.1, 1.47, 1.51, 1.87, 2.1, 3};
    const std::array<double, 6> levels = {0, 0.05, 0.06, 0.90, 0.93, 1};
    for (std::size_t i = 0; i + 1 < stations.size(); ++i) {
      const double from = stations[i], to = stations[i + 1];
      const Point begin = cabin_base(from), end = cabin_base(to);
      const Side along{std::hypot(end.x - begin.x, end.y - begin.y), 1};
      for (std::size_t k = 0; k + 1 < levels.size(); ++k) {
        const double low = levels[k], high = levels[k + 1];
        const auto material =
            patches_.material(cabin_material(0.5 * (from + to), 0.5 * (low + high)));
        add_both(material, along, {0.75 * (high - low), 1}, [=](double u, double v) {
          return cabin_wall(from + (to - from) * u, low + (high - low) * v);
        });
      }
      add_both(patches_.material("paint"), along, {0.55, 2},
               [=](double u, double v) {
                 const Point edge = cabin_wall(from + (to - from) * u, 1);
                 const double crown = std::min(1.0, edge.y / 0.35) * 0.055 * (1 - v * v);
                 return Point{edge.x, edge.y * v, edge.z + crown};
               },
               {from <= 0, to >= 3});
    }
  }

  // --- wheels

  /// A profile of (radius, y) points turned around the axle; `outward` is the side it faces.
  void turned(std::uint32_t material, Point centre, double outward, Side along,
              const std::function<std::array<double, 2>(double)>& profile,
              Collapsed collapsed = {}) {
    patches_.add(
        material, along, {2 * pi * 0.28, 16},
        [=](double u, double v) {
          const auto [radius, y] = profile(u);
          return centre
                 + Point{radius * std::cos(2 * pi * v), outward * y, radius * std::sin(2 * pi * v)};
        },
        collapsed);
  }

  void wheel(Point centre, double outward) {
    const auto rubber = patches_.material("tyre"), alloy = patches_.material("rim"),
               dark = patches_.material("trim");
    constexpr double rim_radius = 0.222;
    // Sidewall, tread and sidewall: a squarish ring.
    turned(rubber, centre, outward, {0.42, 8}, [](double u) {
      const double angle = pi * (u - 0.5) * 1.02;
      const double y = std::copysign(std::pow(std::abs(std::sin(angle)), 0.55), angle);
      const double r = std::pow(std::max(0.0, std::cos(angle)), 0.45);
      return std::array{rim_radius + (wheel_radius - rim_radius) * r, tyre_half_width * y};
    });
    turned(alloy, centre, outward, {0.08, 2}, [](double u) { // lip and barrel
      return std::array{rim_radius - 0.015 * u, tyre_half_width - 0.005 - 0.06 * u * u};
    });
    turned(dark, centre, outward, {0.2, 1},
           [](double u) {
             return std::array{(rim_radius - 0.01) * u, tyre_half_width - 0.065};
           },
           {true, false});
    turned(alloy, centre, outward, {0.06, 2},
           [](double u) {
             return std::array{0.052 * std::sin(0.5 * pi * u),
                               tyre_half_width - 0.03 + 0.018 * std::cos(0.5 * pi * u)};
           },
           {true, false});
    constexpr int spokes = 10;
    for (int i = 0; i < spokes; ++i)
      spoke(alloy, centre, outward, 2 * pi * i / spokes);
  }

  /// A bowed bar from the hub to the lip, with its two flanks.
  void spoke(std::uint32_t material, Point centre, double outward, double angle) {
    const auto place = [=](double radius, double aside, double y) {
      return centre
             + Point{radius * std::cos(angle) - aside * std::sin(angle), outward * y,
                     radius * std::sin(angle) + aside * std::cos(angle)};
    };
    const auto radius = [](double u) { return 0.04 + 0.175 * u; };
    const auto half = [](double u) { return 0.020 - 0.008 * std::sin(pi * u); };
    const auto height = [](double u) { return tyre_half_width - 0.022 + 0.012 * std::sin(pi * u); };
    patches_.add(material, {0.18, 2}, {0.04, 2}, [=](double u, double v) {
      const double aside = half(u) * (2 * v - 1);
      return place(radius(u), aside, height(u) - 0.006 * std::pow(2 * v - 1, 2));
    });
    for (const double flank : {-1.0, 1.0})
      patches_.add(material, {0.18, 2}, {0.04, 1}, [=](double u, double v) {
        return place(radius(u), flank * half(u), height(u) - 0.006 - 0.036 * v);
      });
  }

  void wheel_well(double x, double side) {
    const auto trim = patches_.material("trim");
    patches_.add(trim, {pi * arch_radius, 8}, {0.36, 1}, [=](double u, double v) {
      const double angle = pi * u, y = 0.50 + (0.865 - 0.50) * v;
      return Point{x + arch_radius * std::cos(angle), side * y,
                   wheel_radius + arch_radius * std::sin(angle)};
    });
    patches_.add(trim, {pi * arch_radius, 8}, {0.4, 1}, [=](double u, double v) {
      const double angle = pi * u;
      return Point{x + arch_radius * std::cos(angle), side * 0.50,
                   sill_z + v * (wheel_radius + arch_radius * std::sin(angle) - sill_z)};
    });
    for (const double end : {-1.0, 1.0}) // below the half circle the well has upright ends
      patches_.quad(trim, {x + end * arch_radius, side * 0.50, sill_z},
                    {x + end * arch_radius, side * 0.86, sill_z},
                    {x + end * arch_radius, side * 0.86, wheel_radius},
                    {x + end * arch_radius, side * 0.50, wheel_radius});
  }

  // --- what is stuck on

  void fittings() {
    const auto paint = patches_.material("paint"), trim = patches_.material("trim"),
               plate = patches_.material("plate");
    for (const double side : {-1.0, 1.0}) {
      patches_.ellipsoid(paint, {0.66, side * 0.965, 1.00}, {0.075, 0.095, 0.062}, 12);
      patches_.tube(trim, {0.67, side * 0.80, 0.945}, {0.66, side * 0.93, 0.985}, 0.02, 0.02,
                    {0.1, 6});
      for (const double x : {0.02, -0.76})
        patches_.ellipsoid(trim, {x, side * 0.878, 0.80}, {0.095, 0.018, 0.014}, 8);
    }
    patches_.box(plate, {half_length - 0.03, -0.26, 0.375}, {half_length + 0.008, 0.26, 0.485});
    patches_.box(plate, {-half_length - 0.008, -0.26, 0.56}, {-half_length + 0.03, 0.26, 0.67});
  }

  Patches patches_;
};

} // namespace

SourceMesh procedural_car(std::int64_t triangles) { return Car().patches().mesh_with(triangles); }

} // namespace breakeven::render
