// The render workload: an animation of a car crash, path traced. Takes the [workload] section,
// gives the contract of workload.h: slices are some of the frames at some of the samples, phases
// are deform, build, render (or its GPU parts) and output, and verification climbs three rungs:
// equal random numbers and camera rays, equal hits, and a z-test between images.
#pragma once

#include "workloads/render/engine.h"

namespace breakeven::render {

Workload make_render_workload(const Section& section);

/// The three rungs, for one engine against the reference. Deterministic.
Verification compare_engines(const RenderScene& scene, const Settings& settings,
                             const Engine& reference, const Engine& candidate);

} // namespace breakeven::render
