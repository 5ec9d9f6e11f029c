// Counts the work of the wavefront engine's phases, for projection. Per ray: 60 instructions to set
// up, 32 a node visit, 45 a triangle test, the constants of the calibrated model. The others
// are counted by hand from the functors, to about 20 %. Bytes are those the code asks for.
#pragma once

#include "workloads/render/bvh_build.h"
#include "workloads/render/wavefront_kernels.h"
#include "workloads/workload.h"

#include <string>

namespace breakeven::ON_PATH::wavefront {

constexpr double instructions_per_node = 32, instructions_per_triangle = 45,
                 instructions_per_ray = 60;
// path_step(): Philox 110, triangle and normal 50, two frames 40, sun sample 40, material twice 60,
// direction and roulette 50. A miss evaluates the sky.
constexpr double instructions_per_hit = 350, instructions_per_miss = 40;
constexpr double instructions_per_generated_path = 180, instructions_per_compacted = 20;
constexpr double instructions_per_deformed = 60;
constexpr double select_launches = 2; // CUB: set-up and one sweep
constexpr std::uint32_t warp_lanes = 32;

/// Sums over groups of 32 neighbouring rays of a launch, one GPU warp each. Integers, so that the
/// sums do not depend on the order of adding.
struct WarpTotals {
  std::uint64_t nodes = 0, leaves = 0, triangles = 0, hits = 0;
  std::uint64_t issued = 0;         ///< 32 x what the busiest lane of each warp needs
  std::uint64_t issued_shading = 0; ///< likewise for one shading step of the same rays
};

struct AddTotals {
  HOST_DEVICE WarpTotals operator()(const WarpTotals& a, const WarpTotals& b) const {
    return {a.nodes + b.nodes, a.leaves + b.leaves, a.triangles + b.triangles,
            a.hits + b.hits,   a.issued + b.issued, a.issued_shading + b.issued_shading};
  }
};

/// One warp's sums, read from its rays' records rather than exchanged by shuffles: the counted
/// kernel then differs from the timed one by a single store.
struct TotalsOfWarp {
  const Visits* visits;
  std::uint32_t count;
  HOST_DEVICE WarpTotals operator()(std::uint32_t warp) const {
    WarpTotals totals;
    std::uint32_t most_nodes = 0, most_triangles_tested = 0;
    const std::uint32_t begin = warp * warp_lanes;
    const std::uint32_t end = count - begin > warp_lanes ? begin + warp_lanes : count;
    for (std::uint32_t i = begin; i < end; ++i) {
      const Visits ray = visits[i];
      totals.nodes += ray.nodes;
      totals.leaves += ray.leaves;
      totals.triangles += ray.triangles;
      totals.hits += ray.hit;
      most_nodes = ray.nodes > most_nodes ? ray.nodes : most_nodes;
      if (ray.triangles > most_triangles_tested) most_triangles_tested = ray.triangles;
    }
    totals.issued =
        warp_lanes
        * (static_cast<std::uint64_t>(instructions_per_node) * most_nodes
           + static_cast<std::uint64_t>(instructions_per_triangle) * most_triangles_tested
           + static_cast<std::uint64_t>(instructions_per_ray));
    const bool any_hit = totals.hits > 0, any_miss = totals.hits < end - begin;
    totals.issued_shading =
        warp_lanes
        * ((any_hit ? static_cast<std::uint64_t>(instructions_per_hit) : 0)
           + (any_miss ? static_cast<std::uint64_t>(instructions_per_miss) : 0));
    return totals;
  }
};

inline WarpTotals totals_of(const Visits* visits, std::uint32_t count) {
  return thrust::transform_reduce(thrust::device, Index(0),
                                  Index((count + warp_lanes - 1) / warp_lanes),
                                  TotalsOfWarp{visits, count}, WarpTotals{}, AddTotals{});
}

inline Work streamed(double lanes, double instructions_per_lane, double bytes_per_lane,
                     double launches) {
  Work work;
  work.lane_instructions = lanes * instructions_per_lane;
  work.dram_bytes = lanes * bytes_per_lane;
  work.launches = launches;
  work.parallel_width = lanes;
  return work;
}

/// The pixels of a frame: copied in, or enumerated block by block with those outside dropped.
inline Work choosing_work(double pixels, double bytes_uploaded) {
  Work work;
  work.host_to_device_bytes = bytes_uploaded;
  if (bytes_uploaded == 0)
    work = streamed(pixels, 30, 5 * sizeof(std::uint32_t), 1 + select_launches + 1);
  return work;
}

/// One tracing launch. `kind`: primary, bounce or shadow.
inline Work tracing_work(const std::string& kind, double rays, double bytes_per_ray,
                         double bvh_bytes, const WarpTotals& totals) {
  Work work = streamed(rays, 0, bytes_per_ray, 1);
  work.working_set_bytes = bvh_bytes;
  work.counts = {{kind + "_rays", rays}};
  if (totals.issued == 0) return work; // not counted in this build
  const auto nodes = static_cast<double>(totals.nodes);
  const auto triangles = static_cast<double>(totals.triangles);
  work.lane_instructions = instructions_per_node * nodes + instructions_per_triangle * triangles
                           + instructions_per_ray * rays;
  work.simt_efficiency = work.lane_instructions / static_cast<double>(totals.issued);
  work.cached_bytes = sizeof(Node) * nodes + sizeof(LeafTriangle) * triangles;
  work.dependent_accesses = nodes + static_cast<double>(totals.leaves);
  work.counts.insert(work.counts.end(), {{kind + "_node_visits", nodes},
                                         {kind + "_triangle_tests", triangles},
                                         {"node_visits", nodes},
                                         {"triangle_tests", triangles},
                                         {"hits", static_cast<double>(totals.hits)}});
  return work;
}

/// One shading launch over the rays that `totals` is of.
inline Work shading_work(double rays, double scene_bytes, const WarpTotals& totals) {
  // In: queue, ray, hit, throughput, path. Out: ray, throughput, shadow ray, sun, flags.
  Work work = streamed(rays, 0,
                       sizeof(std::uint32_t) + 3 * sizeof(Ray) + sizeof(Hit) + 3 * sizeof(Float3)
                           + sizeof(PathOf) + 1,
                       1);
  if (totals.issued == 0) return work;
  const auto hits = static_cast<double>(totals.hits);
  work.lane_instructions = instructions_per_hit * hits + instructions_per_miss * (rays - hits);
  work.simt_efficiency = work.lane_instructions / static_cast<double>(totals.issued_shading);
  work.cached_bytes = hits
                      * static_cast<double>(sizeof(Triangle) + 3 * sizeof(Float3)
                                            + sizeof(std::uint32_t) + sizeof(Material));
  work.working_set_bytes = scene_bytes;
  work.dependent_accesses = 2 * hits; // indices, then vertices
  work.counts = {{"hits", hits}};
  return work;
}

/// Compaction of a queue into the next queue and the shadow queue: each a select that reads queue
/// and flags and writes about half.
inline Work compacting_work(double paths) {
  return streamed(paths, 2 * instructions_per_compacted,
                  2 * (1.5 * sizeof(std::uint32_t) + sizeof(std::uint8_t)), 2 * select_launches);
}

/// Building: one pass of Morton codes, a radix sort of 12-byte pairs in 8 passes (read and
/// written), the rounds over what clusters are left, and the output.
inline Work building_work(const Bvh& bvh, double triangles) {
  constexpr double instructions_per_box_pair = 22, per_merge = 60, per_sort_pass = 20;
  const double searched = bvh.clusters_searched();
  Work work =
      streamed(triangles, 60 + 8 * per_sort_pass + 150, 48 + 8 * 2 * 12 + 200, bvh.launches());
  work.lane_instructions += searched * (2 * search_radius * instructions_per_box_pair + per_merge);
  work.dram_bytes +=
      searched * (sizeof(Box) + 3 * sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t));
  work.counts = {{"triangles", triangles}, {"build_rounds", static_cast<double>(bvh.rounds())}};
  return work;
}

inline Work refitting_work(const Bvh& bvh, double triangles) {
  // A box a triangle, one a node (read two, write one), nodes and triangles written again.
  Work work = streamed(triangles, 150, 48 + 3 * sizeof(Box) + 48 + 200, bvh.launches());
  work.counts = {{"triangles", triangles}, {"build_rounds", static_cast<double>(bvh.rounds())}};
  return work;
}

} // namespace breakeven::ON_PATH::wavefront
