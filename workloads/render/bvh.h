// The bounding volume hierarchy of the GPU side: two children a node, up to four triangles a leaf.
// Plain layout, shared by the builder (bvh_build.h), the traversal (traversal.h) and the tests.
// Takes and gives world-space single precision; leaves out instancing and motion.
#pragma once

#include "workloads/render/scene.h"

#include <limits>

namespace breakeven::render {

struct alignas(8) Box {
  Float3 low, high;
};
constexpr float no_bound = std::numeric_limits<float>::infinity();
HOST_DEVICE inline Box empty_box() {
  return {{no_bound, no_bound, no_bound}, {-no_bound, -no_bound, -no_bound}};
}

HOST_DEVICE inline Box united(const Box& a, const Box& b) {
  return {minimum(a.low, b.low), maximum(a.high, b.high)};
}
/// Half the surface. Proportional to how many random lines meet the box.
HOST_DEVICE inline float half_area(const Box& box) {
  const Float3 size = box.high - box.low;
  return breakeven::fused(size.x, size.y, breakeven::fused(size.y, size.z, size.z * size.x));
}

/// 16-byte pieces, so that a GPU lane fetches each in one instruction.
struct alignas(16) Float4 {
  float x, y, z, w;
};
struct alignas(16) ChildPair {
  std::uint32_t left, right; ///< NodeReference
  std::uint32_t spare[2];
};

/// Both children's boxes in the parent: one 64-byte fetch decides about two subtrees (Aila and
/// Laine, "Understanding the Efficiency of Ray Traversal on GPUs", HPG 2009). 64 bytes are two
/// sectors of a 128-byte line, so that incoherent lanes fetch nothing they do not use.
struct Node {
  Float4 left_xy; ///< low x, high x, low y, high y
  Float4 right_xy;
  Float4 both_z; ///< left low, left high, right low, right high
  ChildPair children;
};
static_assert(sizeof(Node) == 64);

/// A triangle as the ray test wants it, in leaf order: a corner, its two edges, the scene's index.
/// 48 bytes against 12 (indices) + 36 (vertices) and one dependent fetch less.
struct LeafTriangle {
  Float4 corner; ///< w: bits of the triangle's index in the scene
  Float4 edge_1, edge_2;
};
static_assert(sizeof(LeafTriangle) == 48);

// A NodeReference is an inner node's index, or, with the top bit set, a leaf: its first triangle
// (29 bits) and its number of triangles less one (2 bits).
constexpr std::uint32_t leaf_bit = 0x8000'0000u;
constexpr std::uint32_t most_leaf_triangles = 4;
constexpr std::uint32_t most_triangles = (1u << 29) - 1; ///< keeps `no_reference` free
constexpr std::uint32_t no_reference = 0xFFFF'FFFFu;

HOST_DEVICE inline std::uint32_t leaf_reference(std::uint32_t first, std::uint32_t count) {
  return leaf_bit | (first << 2) | (count - 1);
}
HOST_DEVICE inline bool is_leaf(std::uint32_t reference) { return (reference & leaf_bit) != 0; }
HOST_DEVICE inline std::uint32_t leaf_first(std::uint32_t reference) {
  return (reference & ~leaf_bit) >> 2;
}
HOST_DEVICE inline std::uint32_t leaf_count(std::uint32_t reference) {
  return (reference & 3u) + 1;
}

HOST_DEVICE inline Box left_box(const Node& node) {
  return {{node.left_xy.x, node.left_xy.z, node.both_z.x},
          {node.left_xy.y, node.left_xy.w, node.both_z.y}};
}
HOST_DEVICE inline Box right_box(const Node& node) {
  return {{node.right_xy.x, node.right_xy.z, node.both_z.z},
          {node.right_xy.y, node.right_xy.w, node.both_z.w}};
}
HOST_DEVICE inline Node make_node(const Box& left, const Box& right, std::uint32_t left_reference,
                                  std::uint32_t right_reference) {
  return {{left.low.x, left.high.x, left.low.y, left.high.y},
          {right.low.x, right.high.x, right.low.y, right.high.y},
          {left.low.z, left.high.z, right.low.z, right.high.z},
          {left_reference, right_reference, {0, 0}}};
}

// A traversal keeps at most one entry a level, so that its stack cannot overflow in a tree that is
// not higher than this. The builder measures the height and, where it is greater, builds again in a
// way that bounds it (Bvh::cluster). A million triangles of cars and streets give about 40.
constexpr int highest_tree = 64;
constexpr int stack_entries = highest_tree;

/// What a lane needs to trace. Node 0 is the root.
struct BvhView {
  const Node* nodes;
  const LeafTriangle* triangles;
};

/// A hierarchy copied to the host, for tests and studies.
struct BvhCopy {
  std::vector<Node> nodes;
  std::vector<LeafTriangle> triangles;
  int rounds = 0; ///< of the builder
  int height = 0; ///< levels of nodes, before subtrees of few triangles became leaves
};

} // namespace breakeven::render

// One builder a Thrust back end, as with the engines.
#define BREAKEVEN_DECLARE_BVH(path)                                                                \
  namespace breakeven::path {                                                                      \
  render::BvhCopy build_bvh(const render::Mesh& mesh);                                             \
  }
BREAKEVEN_DECLARE_BVH(on_host)
BREAKEVEN_DECLARE_BVH(on_serial)
BREAKEVEN_DECLARE_BVH(on_cuda)
#undef BREAKEVEN_DECLARE_BVH
