// Builds meshes out of curved patches: each is a function over the unit square, cut into a grid of
// cells of two triangles. One density for all decides how fine the grids are, so that a mesh can be
// asked for with a given number of triangles. Flat pieces are patches that stay at one cell.
#pragma once

#include "workloads/render/source_mesh.h"

#include <functional>

namespace breakeven::render {

/// Double precision while shapes are computed.
struct Point {
  double x = 0, y = 0, z = 0;
};
inline Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Point operator-(Point a, Point b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Point operator*(Point a, double s) { return {a.x * s, a.y * s, a.z * s}; }
inline Point between(Point a, Point b, double share) { return a * (1 - share) + b * share; }

using Surface = std::function<Point(double u, double v)>; ///< u and v from 0 to 1

/// A side of a patch: its length in metres sets the number of cells at a density, within bounds.
struct Side {
  double length = 0;
  int fewest = 1, most = 1 << 20;
};

/// Which rows of a patch shrink to a point (a pole, the middle of a disc): at u = 0, at u = 1.
struct Collapsed {
  bool at_start = false, at_end = false;
};

class Patches {
public:
  std::uint32_t material(const std::string& name);
  void add(std::uint32_t material, Side u, Side v, Surface surface, Collapsed collapsed = {});

  // Shapes that do not get finer: one cell a face.
  void quad(std::uint32_t material, Point a, Point b, Point c, Point d);
  void box(std::uint32_t material, Point low, Point high);
  /// A round bar from one point to another with its ends open; the radius may differ.
  void tube(std::uint32_t material, Point from, Point to, double radius_from, double radius_to,
            Side around);
  void ellipsoid(std::uint32_t material, Point centre, Point radii, int fewest_around);

  std::int64_t triangles_at(double density) const;
  /// The mesh with as near to `triangles` as the patches allow. The same on any number of threads.
  SourceMesh mesh_with(std::int64_t triangles) const;
  SourceMesh mesh_at(double density) const;

private:
  struct Patch {
    std::uint32_t material;
    Side u, v;
    Surface surface;
    Collapsed collapsed;
  };
  struct Grid {
    std::int64_t u = 1, v = 1; ///< cells
  };
  static Grid grid_at(const Patch& patch, double density);
  static std::int64_t triangles_of(const Patch& patch, Grid grid);
  static void fill(const Patch& patch, Grid grid, std::size_t first_vertex,
                   std::size_t first_triangle, Mesh& mesh);

  std::vector<SourceMaterial> materials_;
  std::vector<Patch> patches_;
};

} // namespace breakeven::render
