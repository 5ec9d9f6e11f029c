// Finds what a ray meets in a Bvh: the nearest triangle, or whether there is any. One lane a ray, a
// stack of its own, nearer child first ("while-while" of Aila and Laine, HPG 2009). No absolute
// distance anywhere, so that scenes of any scale work.
//
// Of triangles at the same distance (duplicates, or the common edge of two) the one with the lowest
// index in the scene wins, so that the answer depends on the triangles and not on the tree. The
// triangle test is not watertight: about one ray in a million passes between two triangles that
// share an edge, on every path alike.
#pragma once

#include "workloads/render/bvh.h"
#include "workloads/render/engine.h"

namespace breakeven::render {

/// What one ray cost. A node visit tests two boxes.
struct Visits {
  std::uint32_t nodes = 0, leaves = 0, triangles = 0, hit = 0;
};

/// Whether a kernel counts its visits. A template argument: the timed kernels carry no counters.
enum class Counting { no, yes };

/// A ray prepared for boxes: t = plane * inverse + offset, in one fused operation.
struct SlabRay {
  Float3 inverse, near_offset, far_offset;
};

/// Directions with components below this are as good as parallel; a finite inverse keeps 0 * inf
/// (NaN) out of the box test.
constexpr float least_direction = 0x1p-80f;

/// One axis. origin * inverse is rounded once, so its offset may be wrong by 2^-24 of itself;
/// moving the near offset down and the far offset up by twice that keeps the interval conservative.
HOST_DEVICE inline void prepare_axis(float origin, float direction, float& inverse,
                                     float& near_offset, float& far_offset) {
  const float least = copysignf(least_direction, direction);
  inverse = 1.0f / (fabsf(direction) < least_direction ? least : direction);
  const float offset = -origin * inverse;
  const float slack = fabsf(offset) * 0x1p-23f;
  near_offset = offset - slack;
  far_offset = offset + slack;
}

HOST_DEVICE inline SlabRay prepared(const Ray& ray) {
  SlabRay slab;
  prepare_axis(ray.origin.x, ray.direction.x, slab.inverse.x, slab.near_offset.x,
               slab.far_offset.x);
  prepare_axis(ray.origin.y, ray.direction.y, slab.inverse.y, slab.near_offset.y,
               slab.far_offset.y);
  prepare_axis(ray.origin.z, ray.direction.z, slab.inverse.z, slab.near_offset.z,
               slab.far_offset.z);
  return slab;
}

/// 1 + 2 gamma(3): what rounding can take from the far distance. Ize, "Robust BVH Ray Traversal",
/// JCGT 2(2), 2013.
constexpr float far_slack = 1.0f + 2.0f * (3 * 0x1p-24f / (1 - 3 * 0x1p-24f));

/// Distance at which the ray enters a box, and whether it does so before `t_max`.
HOST_DEVICE inline bool enters(const SlabRay& slab, float low_x, float high_x, float low_y,
                               float high_y, float low_z, float high_z, float t_min, float t_max,
                               float& entry) {
  const bool left_x = slab.inverse.x < 0, left_y = slab.inverse.y < 0, left_z = slab.inverse.z < 0;
  const float near_x =
      breakeven::fused(left_x ? high_x : low_x, slab.inverse.x, slab.near_offset.x);
  const float near_y =
      breakeven::fused(left_y ? high_y : low_y, slab.inverse.y, slab.near_offset.y);
  const float near_z =
      breakeven::fused(left_z ? high_z : low_z, slab.inverse.z, slab.near_offset.z);
  const float far_x = breakeven::fused(left_x ? low_x : high_x, slab.inverse.x, slab.far_offset.x);
  const float far_y = breakeven::fused(left_y ? low_y : high_y, slab.inverse.y, slab.far_offset.y);
  const float far_z = breakeven::fused(left_z ? low_z : high_z, slab.inverse.z, slab.far_offset.z);
  entry = fmaxf(fmaxf(near_x, near_y), fmaxf(near_z, t_min));
  const float exit = fminf(fminf(far_x, far_y), fminf(far_z, t_max));
  return entry <= exit * far_slack;
}

/// Moeller and Trumbore, "Fast, Minimum Storage Ray/Triangle Intersection", JGT 2(1), 1997, without
/// a division before the hit is sure. Rejects an exactly edge-on triangle only: the determinant
/// scales with the scene, so any other threshold is wrong at some scale. Every product is inside a
/// fused operation, so that hits are bit-equal on all paths.
HOST_DEVICE inline bool meets(const Ray& ray, const LeafTriangle& triangle, Hit& hit) {
  const Float3 edge_1{triangle.edge_1.x, triangle.edge_1.y, triangle.edge_1.z};
  const Float3 edge_2{triangle.edge_2.x, triangle.edge_2.y, triangle.edge_2.z};
  const Float3 corner{triangle.corner.x, triangle.corner.y, triangle.corner.z};
  const Float3 p = cross(ray.direction, edge_2);
  const float determinant = dot(edge_1, p);
  const float size = fabsf(determinant), sign = copysignf(1.0f, determinant);
  const Float3 to_origin = ray.origin - corner;
  const float u = dot(to_origin, p) * sign;
  const Float3 q = cross(to_origin, edge_1);
  const float v = dot(ray.direction, q) * sign;
  if (!(size > 0 && u >= 0 && v >= 0 && u + v <= size)) return false;
  const float inverse = 1.0f / size;
  hit = {bits_of(triangle.corner.w), dot(edge_2, q) * sign * inverse, u * inverse, v * inverse};
  return hit.t > ray.t_min && hit.t < ray.t_max;
}

/// Subtrees still to visit, with the distance at which the ray enters each.
struct TraversalStack {
  std::uint32_t references[stack_entries];
  float entries[stack_entries];
  int size = 0;

  HOST_DEVICE void push(std::uint32_t reference, float entry) {
    references[size] = reference;
    entries[size++] = entry;
  }
  /// The next subtree that begins before `limit`; `no_reference` when none is left. Reading the
  /// distance back (8 bytes an entry, not 4) saves fetching nodes behind a hit found meanwhile.
  HOST_DEVICE std::uint32_t pop(float limit) {
    while (size > 0)
      if (entries[--size] <= limit) return references[size];
    return no_reference;
  }
};

/// Tests the boxes of a node's children, remembers the farther and gives the nearer.
HOST_DEVICE inline std::uint32_t descend(const Node& node, const SlabRay& slab, float t_min,
                                         float t_max, TraversalStack& stack) {
  float left_entry, right_entry;
  const bool left = enters(slab, node.left_xy.x, node.left_xy.y, node.left_xy.z, node.left_xy.w,
                           node.both_z.x, node.both_z.y, t_min, t_max, left_entry);
  const bool right =
      enters(slab, node.right_xy.x, node.right_xy.y, node.right_xy.z, node.right_xy.w,
             node.both_z.z, node.both_z.w, t_min, t_max, right_entry);
  if (!left && !right) return stack.pop(t_max * far_slack);
  const bool right_first = right && (!left || right_entry < left_entry);
  if (left && right) {
    stack.push(right_first ? node.children.left : node.children.right,
               right_first ? left_entry : right_entry);
  }
  return right_first ? node.children.right : node.children.left;
}

/// Follows one ray. With RayKind::any it stops at the first triangle met.
template <RayKind kind, Counting counting>
HOST_DEVICE inline Hit trace(const BvhView& bvh, const Ray& ray, Visits& visits) {
  TraversalStack stack;
  const SlabRay slab = prepared(ray);
  Hit nearest{no_triangle, ray.t_max, 0, 0};
  std::uint32_t current = 0;
  while (current != no_reference) {
    while (!is_leaf(current)) {
      if constexpr (counting == Counting::yes) ++visits.nodes;
      current = descend(bvh.nodes[current], slab, ray.t_min, nearest.t, stack);
    }
    if (current == no_reference) break;
    const std::uint32_t first = leaf_first(current), end = first + leaf_count(current);
    if constexpr (counting == Counting::yes) ++visits.leaves;
    for (std::uint32_t i = first; i < end; ++i) {
      if constexpr (counting == Counting::yes) ++visits.triangles;
      Hit hit;
      if (!meets(ray, bvh.triangles[i], hit)) continue;
      if constexpr (kind == RayKind::any) return hit;
      if (hit.t < nearest.t || (hit.t == nearest.t && hit.triangle < nearest.triangle))
        nearest = hit;
    }
    current = stack.pop(nearest.t * far_slack);
  }
  return nearest;
}

} // namespace breakeven::render
