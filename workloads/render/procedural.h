// The built-in scene, "procedural:crash": a car, the lamp post that it hits, and the street around.
// Made from formulas, so a study needs no files and can have any number of triangles; most of them
// are in the car, as in a finite-element model. Metres, z up. Deterministic on any number of
// threads.
#pragma once

#include "workloads/render/source_mesh.h"

namespace breakeven::render {

/// A saloon that drives towards +x, its middle at y = 0 and its wheels on z = 0. Within 1 % of
/// `triangles`, from about 4'000 on.
SourceMesh procedural_car(std::int64_t triangles);

/// A street along x. The post's foot is at x = y = 0, in a parking strip 2.7 m wide, with the lanes
/// on the -y side. `detail` from 0.3 (about 20'000 triangles) to 8 (about 110'000).
SourceMesh procedural_street(double detail);

/// The post alone: a pole of this radius and height with its lamp.
SourceMesh procedural_pole(double radius, double height);

/// How the generator's materials look, by its own names; nothing for other names.
std::optional<Material> procedural_material(const std::string& name);

} // namespace breakeven::render
