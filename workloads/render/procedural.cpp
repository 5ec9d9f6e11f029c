// The street of the procedural scene, the lamp post, and how everything looks.
#include "workloads/render/procedural.h"

#include "workloads/render/patches.h"
#include "workloads/render/philox.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace breakeven::render {

namespace {

constexpr double pi = std::numbers::pi;

// Across the street, from the camera's side to the other: pavement, two lanes, the parking strip
// with the post, pavement. Metres.
constexpr double far_wall_y = -14, far_kerb_y = -10.4, lanes_end_y = -1.35, near_kerb_y = 1.4,
                 near_wall_y = 5.4;
constexpr double lane_middle_y = 0.5 * (far_kerb_y + lanes_end_y);
constexpr double pavement_z = 0.12, marking_z = 0.004;
constexpr double street_begin_x = -70, street_end_x = 80;

/// Numbers in [0, 1) that do not depend on the order in which things are built.
struct Dice {
  std::uint32_t thing;
  std::uint32_t roll = 0;
  double operator()() { return unit_float(random4(2024, thing, roll++, 0, 0).x); }
  double operator()(double low, double high) { return low + (high - low) * (*this)(); }
};

/// A wall with windows that stand back from it: `origin` is its lower left corner seen from the
/// street, `right` and `inwards` unit vectors.
struct Facade {
  Point origin, right, inwards;
  double width, height;
  int floors, bays;
  std::uint32_t wall, window, frame;
};

struct ParkedCar {
  double x, y, direction; ///< 1 looks towards +x, -1 the other way
  const char* paint;
};

class Street {
public:
  explicit Street(double detail) : detail_(detail) {
    ground();
    markings();
    int number = 0;
    for (double x = street_begin_x; x < street_end_x; ++number)
      x = building(x, near_wall_y, 1, number);
    for (double x = street_begin_x; x < street_end_x; ++number)
      x = building(x, far_wall_y, -1, number);
    cross_building(street_end_x, 1, number++);
    cross_building(street_begin_x, -1, number++);
    for (const double x : {-16.5, 9.0, 25.0, 41.0})
      tree({x, 2.4, pavement_z}, number++);
    for (const double x : {-27.0, -9.0, 8.0, 24.0})
      tree({x, -11.4, pavement_z}, number++);
  }

  SourceMesh mesh() const {
    SourceMesh mesh = patches_.mesh_at(0);
    for (const double x : {-32.0, 24.0, 48.0})
      append(mesh, procedural_pole(0.08, 6), {x, 0, 0}, 1, "");
    // Those that a small scene can do without come last.
    constexpr std::array<ParkedCar, 5> cars = {{{-12.5, 0.25, 1, "parked_1"},
                                                {9.5, 0.25, 1, "parked_2"},
                                                {15.6, 0.25, 1, "parked_3"},
                                                {30, 0.25, 1, "parked_1"},
                                                {21, -7.9, -1, "parked_2"}}};
    const SourceMesh car = procedural_car(static_cast<std::int64_t>(5000 * std::sqrt(detail_)));
    for (std::size_t i = 0; i < (detail_ < 1 ? 2 : cars.size()); ++i)
      append(mesh, car, {cars[i].x, cars[i].y, 0}, cars[i].direction, cars[i].paint);
    return mesh;
  }

private:
  /// `direction` -1 turns the mesh round; `paint` renames its paint.
  static void append(SourceMesh& to, const SourceMesh& from, Point at, double direction,
                     const std::string& paint) {
    const auto first = static_cast<std::uint32_t>(to.mesh.positions.size());
    for (const Float3& p : from.mesh.positions)
      to.mesh.positions.push_back({static_cast<float>(at.x + direction * p.x),
                                   static_cast<float>(at.y + direction * p.y),
                                   static_cast<float>(at.z + p.z)});
    std::vector<std::uint32_t> materials;
    for (const SourceMaterial& material : from.materials)
      materials.push_back(
          material_index(to, {material.name == "paint" ? paint : material.name, {}, 1}));
    for (std::size_t i = 0; i < from.mesh.triangles.size(); ++i) {
      const Triangle& t = from.mesh.triangles[i];
      to.mesh.triangles.push_back({first + t.a, first + t.b, first + t.c});
      to.mesh.materials.push_back(materials[from.mesh.materials[i]]);
    }
  }

  /// A level rectangle.
  void level(const char* material, double x0, double x1, double y0, double y1, double z) {
    patches_.quad(patches_.material(material), {x0, y0, z}, {x1, y0, z}, {x1, y1, z}, {x0, y1, z});
  }

  void ground() {
    const double x0 = street_begin_x - 40, x1 = street_end_x + 40;
    level("ground", -400, 400, -400, 400, -0.05);
    level("asphalt", x0, x1, far_kerb_y, lanes_end_y, 0);
    // Slabs of the parking strip and of the pavements, in two tones.
    for (int i = 0; i < 70; ++i) {
      const double from = street_begin_x + 2.15 * i, to = from + 2.15;
      level(i % 2 ? "paving_1" : "paving_2", from, to, lanes_end_y, near_kerb_y, 0);
    }
    const auto kerb = patches_.material("kerb");
    patches_.box(kerb, {x0, near_kerb_y, -0.05}, {x1, near_kerb_y + 0.15, pavement_z});
    patches_.box(kerb, {x0, far_kerb_y - 0.15, -0.05}, {x1, far_kerb_y, pavement_z});
    for (int i = 0; i < 60; ++i) {
      const double from = street_begin_x + 2.5 * i, to = from + 2.47;
      level("pavement", from, to, near_kerb_y + 0.15, near_wall_y + 1, pavement_z);
      level("pavement", from, to, far_wall_y - 1, far_kerb_y - 0.15, pavement_z);
    }
    level("joint", x0, x1, near_kerb_y + 0.15, near_wall_y + 1, pavement_z - 0.01);
    level("joint", x0, x1, far_wall_y - 1, far_kerb_y - 0.15, pavement_z - 0.01);
  }

  void markings() {
    for (double x = street_begin_x; x < street_end_x; x += 6)
      level("marking", x, x + 3, lane_middle_y - 0.07, lane_middle_y + 0.07, marking_z);
    level("marking", street_begin_x, street_end_x, lanes_end_y - 0.16, lanes_end_y - 0.04,
          marking_z);
    level("marking", street_begin_x, street_end_x, far_kerb_y + 0.25, far_kerb_y + 0.37, marking_z);
    for (double x = street_begin_x + 4; x < street_end_x; x += 6.1) // bays
      level("marking", x, x + 0.1, lanes_end_y, near_kerb_y, marking_z);
    for (double y = far_kerb_y + 0.6; y < lanes_end_y - 0.5; y += 1) // a zebra crossing
      level("marking", -25, -21.5, y, y + 0.5, marking_z);
  }

  static Point at(const Facade& f, double across, double up, double depth) {
    return f.origin + f.right * across + f.inwards * depth + Point{0, 0, up};
  }

  void rectangle(const Facade& f, std::uint32_t material, double x0, double x1, double z0,
                 double z1, double depth) {
    patches_.quad(material, at(f, x0, z0, depth), at(f, x1, z0, depth), at(f, x1, z1, depth),
                  at(f, x0, z1, depth));
  }

  /// One bay of one floor: four strips of wall around a hole, the hole's reveals, the pane, a bar.
  void bay(const Facade& f, double x0, double x1, double z0, double z1, double hole_width,
           double hole_low, double hole_high) {
    constexpr double recess = 0.22;
    const double middle = 0.5 * (x0 + x1), h0 = middle - 0.5 * hole_width,
                 h1 = middle + 0.5 * hole_width;
    const double l = z0 + hole_low, h = z0 + hole_high;
    rectangle(f, f.wall, x0, x1, z0, l, 0);
    rectangle(f, f.wall, x0, x1, h, z1, 0);
    rectangle(f, f.wall, x0, h0, l, h, 0);
    rectangle(f, f.wall, h1, x1, l, h, 0);
    const auto reveal = [&](double xa, double za, double xb, double zb) {
      patches_.quad(f.frame, at(f, xa, za, 0), at(f, xb, zb, 0), at(f, xb, zb, recess),
                    at(f, xa, za, recess));
    };
    reveal(h0, l, h1, l);
    reveal(h1, l, h1, h);
    reveal(h1, h, h0, h);
    reveal(h0, h, h0, l);
    rectangle(f, f.window, h0, h1, l, h, recess);
    rectangle(f, f.frame, middle - 0.035, middle + 0.035, l, h, recess - 0.03);
    rectangle(f, f.frame, h0, h1, l + 0.66 * (h - l), l + 0.66 * (h - l) + 0.05, recess - 0.03);
  }

  void facade(const Facade& f) {
    const double ground_floor = 3.8, bay_width = f.width / f.bays;
    const double floor_height = (f.height - ground_floor) / (f.floors - 1);
    for (int i = 0; i < f.bays; ++i) {
      const double x = bay_width * i;
      bay(f, x, x + bay_width, 0, ground_floor, bay_width - 0.6, i == f.bays / 2 ? 0.05 : 0.6, 3.0);
      for (int floor = 1; floor < f.floors; ++floor) {
        const double z = ground_floor + floor_height * (floor - 1);
        bay(f, x, x + bay_width, z, z + floor_height, 0.5 * bay_width, 0.8, floor_height - 0.5);
      }
    }
  }

  /// A house from x on, its street wall at y, `away` from the street along y. Gives where it ends.
  double building(double x, double y, double away, int number) {
    Dice dice{static_cast<std::uint32_t>(number)};
    const int bays = 3 + static_cast<int>(3 * dice()), floors = 3 + static_cast<int>(3 * dice());
    const double width = bays * dice(2.7, 3.2), height = 3.8 + (floors - 1) * dice(2.9, 3.3);
    const auto wall = patches_.material("facade_" + std::to_string(number % 5 + 1));
    const double depth = 12, end = x + width;
    const Point left{away > 0 ? x : end, y, 0}, right{away > 0 ? 1.0 : -1.0, 0, 0};
    facade({left,
            right,
            {0, away, 0},
            width,
            height,
            floors,
            bays,
            wall,
            patches_.material("window"),
            patches_.material("frame")});
    const auto roof = patches_.material("roof");
    const double back = y + away * depth;
    patches_.quad(wall, {x, y, 0}, {x, back, 0}, {x, back, height}, {x, y, height});
    patches_.quad(wall, {end, y, 0}, {end, back, 0}, {end, back, height}, {end, y, height});
    const auto sorted = [&](double from, double to, double z0, double z1, std::uint32_t material) {
      patches_.box(material, {x, std::min(from, to), z0}, {end, std::max(from, to), z1});
    };
    sorted(y - away * 0.25, y + away * 0.2, height - 0.05, height + 0.3,
           patches_.material("frame"));
    sorted(y - away * 0.1, y + away * 0.1, 3.45, 3.6, patches_.material("frame"));
    // A pitched roof over it.
    const double ridge_y = y + away * 0.5 * depth, ridge_z = height + 3.2;
    patches_.quad(roof, {x, y, height + 0.3}, {end, y, height + 0.3}, {end, ridge_y, ridge_z},
                  {x, ridge_y, ridge_z});
    patches_.quad(roof, {x, back, height + 0.3}, {end, back, height + 0.3}, {end, ridge_y, ridge_z},
                  {x, ridge_y, ridge_z});
    return end;
  }

  /// What closes the street at an end.
  void cross_building(double x, double away, int number) {
    const auto wall = patches_.material("facade_" + std::to_string(number % 5 + 1));
    const double width = near_wall_y - far_wall_y + 20;
    facade({{x + away * 12, away > 0 ? near_wall_y + 10 : far_wall_y - 10, 0},
            {0, -away, 0},
            {away, 0, 0},
            width,
            17,
            5,
            12,
            wall,
            patches_.material("window"),
            patches_.material("frame")});
  }

  void tree(Point foot, int number) {
    Dice dice{static_cast<std::uint32_t>(1000 + number)};
    const auto bark = patches_.material("bark"), leaves = patches_.material("leaves_1"),
               pale_leaves = patches_.material("leaves_2");
    const double height = dice(5.2, 6.6), trunk = 0.42 * height;
    const Point fork = foot + Point{dice(-0.2, 0.2), dice(-0.2, 0.2), trunk};
    patches_.tube(bark, foot, fork, 0.15, 0.09, {0, 8, 8});
    for (int i = 0; i < 5; ++i) {
      const double angle = 2 * pi * (i + dice()) / 5;
      patches_.tube(bark, fork, fork + Point{std::cos(angle), std::sin(angle), dice(0.8, 1.8)},
                    0.06, 0.02, {0, 5, 5});
    }
    // Leaves are single small squares through an egg-shaped crown, denser towards its surface.
    const Point middle = foot + Point{0, 0, 0.68 * height};
    const int count = static_cast<int>(260 * detail_);
    const double size = 0.62 / std::sqrt(detail_);
    for (int i = 0; i < count; ++i) {
      const double polar = std::acos(dice(-1, 1)), angle = dice(0, 2 * pi);
      const double distance = std::cbrt(dice(0.15, 1));
      const Point direction{std::sin(polar) * std::cos(angle), std::sin(polar) * std::sin(angle),
                            std::cos(polar)};
      const Point at =
          middle + Point{1.75 * direction.x, 1.75 * direction.y, 2.1 * direction.z} * distance;
      leaf(dice() < 0.6 ? leaves : pale_leaves, at, size * dice(0.6, 1.2), dice);
    }
  }

  void leaf(std::uint32_t material, Point at, double size, Dice& dice) {
    const double yaw = dice(0, 2 * pi), pitch = dice(-1.1, 1.1);
    const Point across = Point{std::cos(yaw), std::sin(yaw), 0} * (0.5 * size);
    const Point up =
        Point{-std::sin(yaw) * std::sin(pitch), std::cos(yaw) * std::sin(pitch), std::cos(pitch)}
        * (0.5 * size);
    patches_.quad(material, at - across - up, at + across - up, at + across + up, at - across + up);
  }

  Patches patches_;
  double detail_;
};

struct NamedMaterial {
  const char* name;
  Material material;
};

// Albedos are linear. 0.04 is a clear coat, glass and lacquer are a little above it.
const std::vector<NamedMaterial>& all_materials() {
  static const std::vector<NamedMaterial> all = {
      {"paint", {{0.50f, 0.035f, 0.025f}, 0.05f, 0.12f}},
      {"parked_1", {{0.06f, 0.11f, 0.24f}, 0.05f, 0.12f}},
      {"parked_2", {{0.52f, 0.53f, 0.54f}, 0.05f, 0.12f}},
      {"parked_3", {{0.05f, 0.05f, 0.055f}, 0.05f, 0.12f}},
      {"glass", {{0.015f, 0.02f, 0.022f}, 0.07f, 0.06f}},
      {"trim", {{0.02f, 0.02f, 0.021f}, 0.03f, 0.4f}},
      {"grille", {{0.012f, 0.012f, 0.013f}, 0.04f, 0.25f}},
      {"headlamp", {{0.72f, 0.74f, 0.76f}, 0.09f, 0.08f}},
      {"tail_lamp", {{0.42f, 0.008f, 0.008f}, 0.07f, 0.04f}},
      {"tyre", {{0.022f, 0.022f, 0.024f}, 0.02f, 0.5f}},
      {"rim", {{0.55f, 0.56f, 0.58f}, 0.12f, 0.2f}},
      {"plate", {{0.75f, 0.75f, 0.72f}, 0.04f, 0.2f}},
      {"asphalt", {{0.075f, 0.075f, 0.08f}, 0, 0.2f}},
      {"marking", {{0.68f, 0.68f, 0.66f}, 0, 0.2f}},
      {"paving_1", {{0.24f, 0.22f, 0.20f}, 0, 0.2f}},
      {"paving_2", {{0.27f, 0.25f, 0.23f}, 0, 0.2f}},
      {"pavement", {{0.38f, 0.37f, 0.35f}, 0, 0.2f}},
      {"joint", {{0.15f, 0.15f, 0.14f}, 0, 0.2f}},
      {"kerb", {{0.46f, 0.45f, 0.43f}, 0, 0.2f}},
      {"ground", {{0.20f, 0.20f, 0.18f}, 0, 0.2f}},
      {"facade_1", {{0.48f, 0.22f, 0.15f}, 0, 0.2f}},
      {"facade_2", {{0.66f, 0.60f, 0.48f}, 0, 0.2f}},
      {"facade_3", {{0.56f, 0.55f, 0.53f}, 0, 0.2f}},
      {"facade_4", {{0.62f, 0.46f, 0.28f}, 0, 0.2f}},
      {"facade_5", {{0.40f, 0.44f, 0.46f}, 0, 0.2f}},
      {"window", {{0.03f, 0.04f, 0.05f}, 0.08f, 0.10f}},
      {"frame", {{0.70f, 0.69f, 0.66f}, 0, 0.2f}},
      {"roof", {{0.20f, 0.11f, 0.09f}, 0, 0.2f}},
      {"bark", {{0.13f, 0.09f, 0.06f}, 0, 0.2f}},
      {"leaves_1", {{0.07f, 0.16f, 0.03f}, 0, 0.2f}},
      {"leaves_2", {{0.12f, 0.22f, 0.04f}, 0, 0.2f}},
      {"post", {{0.32f, 0.34f, 0.35f}, 0.06f, 0.25f}},
      {"lamp", {{0.85f, 0.83f, 0.76f}, 0.04f, 0.1f}},
  };
  return all;
}

} // namespace

SourceMesh procedural_street(double detail) { return Street(detail).mesh(); }

SourceMesh procedural_pole(double radius, double height) {
  Patches patches;
  const auto post = patches.material("post"), lamp = patches.material("lamp");
  patches.tube(post, {0, 0, 0}, {0, 0, height}, radius, radius, {0, 48, 48});
  patches.tube(post, {0, 0, 0}, {0, 0, 0.03}, 1.9 * radius, 1.9 * radius, {0, 32, 32});
  const auto disc = [&](double z, double r, int around) {
    patches.add(post, {0, 1, 1}, {0, around, around},
                [=](double u, double v) {
                  return Point{r * u * std::cos(2 * pi * v), r * u * std::sin(2 * pi * v), z};
                },
                {true, false});
  };
  disc(0.03, 1.9 * radius, 32);
  disc(height, radius, 48);
  // The arm reaches over the lanes and carries the lamp; on a short post there is none.
  if (height >= 3) {
    const double arm_z = height - 0.25;
    patches.tube(post, {0, 0, arm_z}, {0, -1.6, arm_z + 0.35}, 0.045, 0.03, {0, 12, 12});
    patches.box(post, {-0.13, -2.15, arm_z + 0.33}, {0.13, -1.5, arm_z + 0.43});
    patches.box(lamp, {-0.11, -2.12, arm_z + 0.31}, {0.11, -1.6, arm_z + 0.33});
  }
  return patches.mesh_at(0);
}

std::optional<Material> procedural_material(const std::string& name) {
  const auto found = std::find_if(all_materials().begin(), all_materials().end(),
                                  [&](const NamedMaterial& m) { return name == m.name; });
  if (found == all_materials().end()) return {};
  return found->material;
}

} // namespace breakeven::render
