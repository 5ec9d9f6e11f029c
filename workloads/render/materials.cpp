#include "workloads/render/materials.h"

#include "sim/errors.h"
#include "workloads/render/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

namespace breakeven::render {

namespace {

struct NamedLook {
  const char* word; ///< anywhere in the name
  Material material;
};

// Albedos are typical of the stuff; coats are there for what shines. More special words come first:
// "street" before "tree".
const std::vector<NamedLook>& looks() {
  static const Material glass{{0.02f, 0.025f, 0.03f}, 0.06f, 0.03f};
  static const Material rubber{{0.025f, 0.025f, 0.027f}, 0.02f, 0.5f};
  static const Material asphalt{{0.09f, 0.09f, 0.095f}, 0, 0.2f};
  static const Material leaves{{0.06f, 0.13f, 0.03f}, 0, 0.2f};
  static const Material brick{{0.36f, 0.17f, 0.12f}, 0, 0.2f};
  static const Material concrete{{0.42f, 0.41f, 0.39f}, 0, 0.2f};
  static const Material metal{{0.50f, 0.51f, 0.53f}, 0.10f, 0.3f};
  static const std::vector<NamedLook> all = {
      {"glass", glass},
      {"wind", glass},
      {"tire", rubber},
      {"tyre", rubber},
      {"rubber", rubber},
      {"grass", leaves},
      {"street", asphalt},
      {"tree", leaves},
      {"leaf", leaves},
      {"arbor", concrete},
      {"asphalt", asphalt},
      {"road", asphalt},
      {"brick", brick},
      {"roof1", brick},
      {"house", brick},
      {"concrete", concrete},
      {"curb", concrete},
      {"kerb", concrete},
      {"wall", concrete},
      {"building", concrete},
      {"sand", {{0.50f, 0.42f, 0.30f}, 0, 0.2f}},
      {"gravel", concrete},
      {"steel", metal},
      {"metal", metal},
      {"chrome", metal},
      {"longeron", metal},
      {"barrier", metal},
      {"bumper", {{0.10f, 0.10f, 0.11f}, 0.04f, 0.3f}},
      {"grill", rubber},
  };
  return all;
}

// For what has no colour and no telling name: muted paints, far enough apart to tell parts.
constexpr float coat = 0.04f, coat_roughness = 0.12f;
constexpr std::array<Material, 6> palette = {{
    {{0.45f, 0.06f, 0.05f}, coat, coat_roughness},
    {{0.08f, 0.20f, 0.42f}, coat, coat_roughness},
    {{0.55f, 0.55f, 0.53f}, coat, coat_roughness},
    {{0.50f, 0.36f, 0.06f}, coat, coat_roughness},
    {{0.10f, 0.30f, 0.18f}, coat, coat_roughness},
    {{0.30f, 0.28f, 0.32f}, coat, coat_roughness},
}};

// Nothing reflects everything, and paths in a white room would never end.
constexpr float highest_albedo = 0.9f;
float as_albedo(float colour) {
  return colour > 0 ? std::min(colour, highest_albedo) : 0; // NaN is 0
}

bool same_character(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

std::string some_names(const RenderScene& scene) {
  constexpr std::size_t most = 12;
  const std::set<std::string> names(scene.material_names.begin(), scene.material_names.end());
  std::string text;
  std::size_t listed = 0;
  for (const std::string& name : names) {
    if (++listed > most) return text + fmt::format(" and {} more", names.size() - most);
    text += (text.empty() ? "'" : ", '") + name + "'";
  }
  return text;
}

} // namespace

Material default_material(const SourceMaterial& source, std::size_t number) {
  const std::string name = lower_case(source.name);
  const auto look = std::find_if(looks().begin(), looks().end(), [&](const NamedLook& candidate) {
    return name.find(candidate.word) != std::string::npos;
  });
  // What is see-through in the file is glass to us: dark, with a shine.
  if (source.opacity < 0.9f) return looks().front().material;
  if (source.colour) {
    Material material;
    material.albedo = {as_albedo(source.colour->x), as_albedo(source.colour->y),
                       as_albedo(source.colour->z)};
    return material;
  }
  return look != looks().end() ? look->material : palette[number % palette.size()];
}

bool matches(std::string_view pattern, std::string_view text) {
  // The usual walk with one way back: to the last star, taking one more character into it.
  std::size_t p = 0, t = 0, star = std::string_view::npos, after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || same_character(pattern[p], text[t]))) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

void apply_overrides(const std::vector<MaterialOverride>& overrides, RenderScene& scene) {
  for (const MaterialOverride& override : overrides)
    if (std::none_of(scene.material_names.begin(), scene.material_names.end(),
                     [&](const std::string& name) { return matches(override.match, name); }))
      throw BadInput(override.file, override.line,
                     fmt::format("match = '{}', which fits no material", override.match),
                     "one that fits " + some_names(scene));
  for (std::size_t i = 0; i < scene.materials.size(); ++i) {
    const auto first =
        std::find_if(overrides.begin(), overrides.end(), [&](const MaterialOverride& o) {
          return matches(o.match, scene.material_names[i]);
        });
    if (first != overrides.end()) scene.materials[i] = first->material;
  }
}

} // namespace breakeven::render
