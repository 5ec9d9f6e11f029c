#include "workloads/render/patches.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace breakeven::render {

namespace {

constexpr double pi = std::numbers::pi;

std::int64_t cells(Side side, double density) {
  return std::clamp<std::int64_t>(std::llround(side.length * density), side.fewest, side.most);
}

} // namespace

std::uint32_t Patches::material(const std::string& name) {
  const auto known = std::find_if(materials_.begin(), materials_.end(),
                                  [&](const SourceMaterial& m) { return m.name == name; });
  if (known != materials_.end()) return static_cast<std::uint32_t>(known - materials_.begin());
  materials_.push_back({name, {}, 1});
  return static_cast<std::uint32_t>(materials_.size() - 1);
}

void Patches::add(std::uint32_t material, Side u, Side v, Surface surface, Collapsed collapsed) {
  patches_.push_back({material, u, v, std::move(surface), collapsed});
}

void Patches::quad(std::uint32_t material, Point a, Point b, Point c, Point d) {
  add(material, {0, 1, 1}, {0, 1, 1},
      [=](double u, double v) { return between(between(a, b, u), between(d, c, u), v); });
}

void Patches::box(std::uint32_t material, Point low, Point high) {
  const auto corner = [&](int x, int y, int z) {
    return Point{x ? high.x : low.x, y ? high.y : low.y, z ? high.z : low.z};
  };
  quad(material, corner(0, 0, 0), corner(0, 1, 0), corner(1, 1, 0), corner(1, 0, 0));
  quad(material, corner(0, 0, 1), corner(1, 0, 1), corner(1, 1, 1), corner(0, 1, 1));
  quad(material, corner(0, 0, 0), corner(1, 0, 0), corner(1, 0, 1), corner(0, 0, 1));
  quad(material, corner(1, 1, 0), corner(0, 1, 0), corner(0, 1, 1), corner(1, 1, 1));
  quad(material, corner(1, 0, 0), corner(1, 1, 0), corner(1, 1, 1), corner(1, 0, 1));
  quad(material, corner(0, 1, 0), corner(0, 0, 0), corner(0, 0, 1), corner(0, 1, 1));
}

void Patches::tube(std::uint32_t material, Point from, Point to, double radius_from,
                   double radius_to, Side around) {
  const Point axis = to - from;
  const double length = std::sqrt(axis.x * axis.x + axis.y * axis.y + axis.z * axis.z);
  const Point along = axis * (1 / length);
  // Any direction across the axis will do.
  const Point helper = std::abs(along.z) < 0.9 ? Point{0, 0, 1} : Point{1, 0, 0};
  Point across{helper.y * along.z - helper.z * along.y, helper.z * along.x - helper.x * along.z,
               helper.x * along.y - helper.y * along.x};
  across =
      across * (1 / std::sqrt(across.x * across.x + across.y * across.y + across.z * across.z));
  const Point other{along.y * across.z - along.z * across.y,
                    along.z * across.x - along.x * across.z,
                    along.x * across.y - along.y * across.x};
  add(material, around, {length, 1, around.most == around.fewest ? 1 : 1 << 20},
      [=](double u, double v) {
        const double radius = radius_from + (radius_to - radius_from) * v, angle = 2 * pi * u;
        return between(from, to, v) + across * (radius * std::cos(angle))
               + other * (radius * std::sin(angle));
      });
}

void Patches::ellipsoid(std::uint32_t material, Point centre, Point radii, int fewest_around) {
  const double around = 2 * pi * std::max({radii.x, radii.y, radii.z});
  add(material, {around / 2, std::max(2, fewest_around / 2)}, {around, fewest_around},
      [=](double u, double v) {
        const double polar = pi * u, angle = 2 * pi * v;
        return centre
               + Point{radii.x * std::sin(polar) * std::cos(angle),
                       radii.y * std::sin(polar) * std::sin(angle), radii.z * std::cos(polar)};
      },
      {true, true});
}

Patches::Grid Patches::grid_at(const Patch& patch, double density) {
  return {cells(patch.u, density), cells(patch.v, density)};
}

std::int64_t Patches::triangles_of(const Patch& patch, Grid grid) {
  const int collapsed_rows = (patch.collapsed.at_start ? 1 : 0) + (patch.collapsed.at_end ? 1 : 0);
  return (2 * grid.u - collapsed_rows) * grid.v;
}

std::int64_t Patches::triangles_at(double density) const {
  std::int64_t total = 0;
  for (const Patch& patch : patches_)
    total += triangles_of(patch, grid_at(patch, density));
  return total;
}

SourceMesh Patches::mesh_with(std::int64_t triangles) const {
  double low = 0, high = 1e5;
  for (int step = 0; step < 60; ++step) {
    const double middle = 0.5 * (low + high);
    (triangles_at(middle) < triangles ? low : high) = middle;
  }
  const bool low_is_nearer = triangles - triangles_at(low) < triangles_at(high) - triangles;
  return mesh_at(low_is_nearer ? low : high);
}

SourceMesh Patches::mesh_at(double density) const {
  SourceMesh result;
  result.materials = materials_;
  std::vector<Grid> grids;
  std::vector<std::size_t> first_vertex(1, 0), first_triangle(1, 0);
  for (const Patch& patch : patches_) {
    const Grid grid = grid_at(patch, density);
    grids.push_back(grid);
    first_vertex.push_back(first_vertex.back()
                           + static_cast<std::size_t>((grid.u + 1) * (grid.v + 1)));
    first_triangle.push_back(first_triangle.back()
                             + static_cast<std::size_t>(triangles_of(patch, grid)));
  }
  result.mesh.positions.resize(first_vertex.back());
  result.mesh.triangles.resize(first_triangle.back());
  result.mesh.materials.resize(first_triangle.back());
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i = 0; i < patches_.size(); ++i)
    fill(patches_[i], grids[i], first_vertex[i], first_triangle[i], result.mesh);
  return result;
}

void Patches::fill(const Patch& patch, Grid grid, std::size_t first_vertex,
                   std::size_t first_triangle, Mesh& mesh) {
  const auto columns = static_cast<std::size_t>(grid.v) + 1;
  std::size_t vertex = first_vertex, triangle = first_triangle;
  for (std::int64_t i = 0; i <= grid.u; ++i)
    for (std::int64_t j = 0; j <= grid.v; ++j) {
      const Point p = patch.surface(static_cast<double>(i) / static_cast<double>(grid.u),
                                    static_cast<double>(j) / static_cast<double>(grid.v));
      mesh.positions[vertex++] = {static_cast<float>(p.x), static_cast<float>(p.y),
                                  static_cast<float>(p.z)};
    }
  const auto add = [&](std::size_t a, std::size_t b, std::size_t c) {
    mesh.triangles[triangle] = {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b),
                                static_cast<std::uint32_t>(c)};
    mesh.materials[triangle++] = patch.material;
  };
  for (std::int64_t i = 0; i < grid.u; ++i)
    for (std::size_t j = 0; j + 1 < columns; ++j) {
      const std::size_t a = first_vertex + static_cast<std::size_t>(i) * columns + j;
      const std::size_t b = a + columns;
      const bool start_is_point = i == 0 && patch.collapsed.at_start;
      const bool end_is_point = i + 1 == grid.u && patch.collapsed.at_end;
      if (!end_is_point) add(a, b, b + 1);
      if (!start_is_point) add(a, b + 1, a + 1);
    }
}

} // namespace breakeven::render
