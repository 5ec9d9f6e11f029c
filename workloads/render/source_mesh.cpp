#include "workloads/render/source_mesh.h"

#include "sim/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

namespace breakeven::render {

namespace {

struct Place {
  std::uint32_t x, y, z; // bits
  bool operator==(const Place&) const = default;
};

struct HashOfPlace {
  std::size_t operator()(const Place& place) const {
    std::uint64_t hash = (std::uint64_t{place.x} << 32 | place.y) * 0x9E3779B97F4A7C15ull;
    hash = (hash ^ (hash >> 29) ^ place.z) * 0xBF58476D1CE4E5B9ull;
    return hash ^ (hash >> 32);
  }
};

bool is_finite(Float3 p) { return std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.z); }

/// Adding zero makes -0 and 0 the same place.
Place place_of(Float3 p) { return {bits_of(p.x + 0.0f), bits_of(p.y + 0.0f), bits_of(p.z + 0.0f)}; }

/// In double precision, so that only triangles without any area in their own numbers count.
bool has_area(Float3 a, Float3 b, Float3 c) {
  const double ab[3] = {double{b.x} - a.x, double{b.y} - a.y, double{b.z} - a.z};
  const double ac[3] = {double{c.x} - a.x, double{c.y} - a.y, double{c.z} - a.z};
  return ab[1] * ac[2] != ab[2] * ac[1] || ab[2] * ac[0] != ab[0] * ac[2]
         || ab[0] * ac[1] != ab[1] * ac[0];
}

void check_sizes(const SourceMesh& mesh, const std::filesystem::path& file) {
  if (mesh.mesh.triangles.empty() && mesh.degenerate_triangles == 0)
    throw BadInput(file.string(), 0, "no triangles", "a mesh with at least one");
  if (mesh.mesh.triangles.size() > most_indices / 3 || mesh.mesh.positions.size() > most_indices)
    throw BadInput(file.string(), 0,
                   fmt::format("{} triangles and {} vertices", mesh.mesh.triangles.size(),
                               mesh.mesh.positions.size()),
                   fmt::format("at most {} indices", most_indices));
}

void check_indices(const Mesh& mesh, const std::filesystem::path& file) {
  for (std::size_t i = 0; i < mesh.triangles.size(); ++i) {
    const Triangle& triangle = mesh.triangles[i];
    for (const std::uint32_t corner : {triangle.a, triangle.b, triangle.c}) {
      if (corner >= mesh.positions.size())
        throw BadInput(file.string(), 0, fmt::format("vertex {} in triangle {}", corner, i),
                       fmt::format("an index below {}", mesh.positions.size()));
      if (!is_finite(mesh.positions[corner]))
        throw BadInput(file.string(), 0,
                       fmt::format("vertex {} that is not a number or too large", corner),
                       "finite coordinates in single precision");
    }
  }
}

} // namespace

std::uint32_t material_index(SourceMesh& mesh, const SourceMaterial& material) {
  const auto same = [&](const SourceMaterial& other) {
    const auto is_equal = [](Float3 a, Float3 b) { return a.x == b.x && a.y == b.y && a.z == b.z; };
    return other.name == material.name && other.opacity == material.opacity
           && other.colour.has_value() == material.colour.has_value()
           && (!material.colour || is_equal(*other.colour, *material.colour));
  };
  const auto found = std::find_if(mesh.materials.begin(), mesh.materials.end(), same);
  if (found != mesh.materials.end())
    return static_cast<std::uint32_t>(found - mesh.materials.begin());
  mesh.materials.push_back(material);
  return static_cast<std::uint32_t>(mesh.materials.size() - 1);
}

void tidy(SourceMesh& source, const std::filesystem::path& file) {
  check_sizes(source, file);
  check_indices(source.mesh, file);
  Mesh tidied;
  std::unordered_map<Place, std::uint32_t, HashOfPlace> index_of;
  index_of.reserve(source.mesh.positions.size());
  const auto joined = [&](std::uint32_t corner) {
    const Float3 position = source.mesh.positions[corner];
    const auto next = static_cast<std::uint32_t>(tidied.positions.size());
    const auto [entry, is_new] = index_of.try_emplace(place_of(position), next);
    if (is_new) tidied.positions.push_back(position);
    return entry->second;
  };
  for (std::size_t i = 0; i < source.mesh.triangles.size(); ++i) {
    const Triangle& triangle = source.mesh.triangles[i];
    if (!has_area(source.mesh.positions[triangle.a], source.mesh.positions[triangle.b],
                  source.mesh.positions[triangle.c])) {
      ++source.degenerate_triangles;
      continue;
    }
    const std::uint32_t a = joined(triangle.a), b = joined(triangle.b), c = joined(triangle.c);
    tidied.triangles.push_back({a, b, c});
    tidied.materials.push_back(source.mesh.materials[i]);
  }
  if (tidied.triangles.empty())
    throw BadInput(file.string(), 0,
                   fmt::format("{} triangles, all without area", source.degenerate_triangles),
                   "a mesh with at least one triangle");
  source.mesh = std::move(tidied);
}

} // namespace breakeven::render
