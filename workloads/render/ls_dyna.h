// LS-DYNA keyword decks ("LS-DYNA Keyword User's Manual", volume I: *NODE, *ELEMENT_SHELL,
// *ELEMENT_SOLID, *PART). Gives what one sees of the model: shells, and the faces of solids that no
// two solids share; parts become materials, by their titles. Columns of standard, I10 and LONG
// format, or numbers between commas. Leaves out beams, rigid walls, loads and everything else of
// the physics, and refuses *INCLUDE.
#pragma once

#include "workloads/render/source_mesh.h"

#include <string_view>

namespace breakeven::render {

/// `file` only names the source in errors. Not yet tidy().
SourceMesh parse_ls_dyna(std::string_view bytes, const std::filesystem::path& file);

} // namespace breakeven::render
