// How an input's materials look: the scenario's overrides first, then the colour that the file
// states, then words in the name ("asphalt", "glass"), then a small palette. Textures are not read;
// a textured surface is guessed from its texture's name.
#pragma once

#include "workloads/render/settings.h"
#include "workloads/render/source_mesh.h"

namespace breakeven::render {

/// `number` picks from the palette where nothing else tells.
Material default_material(const SourceMaterial& source, std::size_t number);

/// Whether `text` fits a pattern where * stands for any text and ? for one character. Upper and
/// lower case are the same.
bool matches(std::string_view pattern, std::string_view text);

/// Puts the overrides onto the scene's materials by their names; the first that matches wins.
/// Throws BadInput, with the override's line, for one that matches no name: a slip there would
/// otherwise change nothing in silence.
void apply_overrides(const std::vector<MaterialOverride>& overrides, RenderScene& scene);

} // namespace breakeven::render
