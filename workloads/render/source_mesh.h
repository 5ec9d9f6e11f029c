// A mesh as an input gives it, in the input's own units and axes, before it is placed in the scene:
// what the readers of files and the procedural generator hand to make_scene(). Leaves out where it
// goes and how it looks; materials.h chooses that from the names.
#pragma once

#include "workloads/render/scene.h"

#include <filesystem>
#include <optional>

namespace breakeven::render {

/// What [[workload.material]] matches: the file name of the texture, without folders, where there
/// is one; else the name of the material; else that of the object or part.
struct SourceMaterial {
  std::string name;
  std::optional<Float3> colour; ///< linear diffuse colour, where the input states one that counts
  float opacity = 1;
};

struct SourceMesh {
  Mesh mesh;
  std::vector<SourceMaterial> materials;
  std::size_t degenerate_triangles = 0; ///< without area, left out of `mesh`
};

// Both engines index vertices and triangle corners with 32 bits, and Embree wants buffers below
// 2^31 elements.
constexpr std::size_t most_indices = (std::size_t{1} << 31) - 1;

/// The index of a material by its name; added where it is new.
std::uint32_t material_index(SourceMesh& mesh, const SourceMaterial& material);

/// Takes away what cannot be rendered: triangles without area and vertices that no triangle uses;
/// vertices at the same place become one. Throws BadInput, naming `file`, where a vertex is not
/// finite, an index out of range, or nothing is left.
void tidy(SourceMesh& mesh, const std::filesystem::path& file);

} // namespace breakeven::render
