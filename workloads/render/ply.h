// PLY files (Turk, "The PLY Polygon File Format", 1994): text and binary of both byte orders,
// vertices with x, y and z, and faces of any number of corners. Our own reader because Assimp 5.2
// believes a header's counts and crashes on damaged binary files. Leaves out every other element
// and property.
#pragma once

#include "workloads/render/source_mesh.h"

#include <string_view>

namespace breakeven::render {

/// `file` only names the source in errors. Polygons are taken as convex. Not yet tidy().
SourceMesh parse_ply(std::string_view bytes, const std::filesystem::path& file);

} // namespace breakeven::render
