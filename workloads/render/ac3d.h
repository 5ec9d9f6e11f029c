// AC3D text files (Inivis, "The AC3D file format"), also as TORCS and Speed Dreams write them for
// cars and tracks: surfaces of type 4 are triangle strips, vertices may carry a normal, corners
// several texture coordinates, and an object several textures. Our own reader because Assimp 5.2
// loses the name of every texture that is followed by a layer ("tr-road1.rgb" base), and those
// names are all that tells asphalt from grass. Takes bytes, gives triangles; leaves out lines.
#pragma once

#include "workloads/render/source_mesh.h"

#include <string_view>

namespace breakeven::render {

/// `file` only names the source in errors. Polygons are taken as convex. Not yet tidy().
SourceMesh parse_ac3d(std::string_view bytes, const std::filesystem::path& file);

} // namespace breakeven::render
