// Reads a mesh file: LS-DYNA decks (.k, .key, .dyn), AC3D (.ac, and .acc as TORCS writes it) and
// PLY with our own readers, Wavefront OBJ, STL and glTF (.gltf, .glb) with Assimp. Gives triangles
// in the file's own units and axes, placed by the file's own node transforms; a material without
// any name has the file's. Leaves out textures, normals, animation, points and lines.
#pragma once

#include "workloads/render/source_mesh.h"

#include <filesystem>

namespace breakeven::render {

/// Whether the file name is one that load_mesh_file() can read, and which way is up in such files
/// where a scenario does not say: y for glTF and AC3D, whose formats define it so, else z.
bool is_mesh_file(const std::filesystem::path& file);
bool is_y_up(const std::filesystem::path& file);

/// Throws BadInput (with the line, where the format is text that we read ourselves) for a file that
/// cannot be used, and Failure where there is not enough memory for it. The result is tidy().
SourceMesh load_mesh_file(const std::filesystem::path& file);

} // namespace breakeven::render
