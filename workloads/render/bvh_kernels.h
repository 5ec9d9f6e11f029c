// The steps of building a Bvh, each a functor over one triangle, cluster or node. Raw device arrays
// in, raw device arrays out; bvh_build.h says in which order they run.
#pragma once

#include "workloads/render/bvh.h"

namespace breakeven::ON_PATH::wavefront {

using namespace render;

// Cost of a node visit and of a triangle test, in instructions.
constexpr float node_cost = 32, triangle_cost = 45;

/// A place in the final arrays: a node's own index (`no_reference` inside a leaf) and the first of
/// its triangles.
struct Place {
  std::uint32_t node, triangle;
};

struct Children {
  std::uint32_t left, right;
};

/// The tree while it grows. Ids below `leaves` are single triangles in Morton order; inner ids
/// follow in the order of creation, so that children always have lower ids than their parent.
struct Tree {
  std::uint32_t leaves;
  const std::uint32_t* order; ///< scene triangle of a leaf
  Box* boxes;
  Children* children;       ///< of inner ids, from 0
  std::uint32_t* triangles; ///< how many below
  std::uint32_t* inner;     ///< how many final nodes below and including; 0 for a leaf
  std::uint16_t* heights;
  float* costs;
  Place* places;
};

HOST_DEVICE inline Box triangle_box(const Float3* positions, const Triangle& triangle) {
  const Float3 a = positions[triangle.a], b = positions[triangle.b], c = positions[triangle.c];
  return {minimum(a, minimum(b, c)), maximum(a, maximum(b, c))};
}

/// Spreads the low 21 bits three apart.
HOST_DEVICE inline std::uint64_t spread(std::uint32_t value) {
  std::uint64_t x = value & 0x1F'FFFFu;
  x = (x | x << 32) & 0x001F'0000'0000'FFFFull;
  x = (x | x << 16) & 0x001F'0000'FF00'00FFull;
  x = (x | x << 8) & 0x100F'00F0'0F00'F00Full;
  x = (x | x << 4) & 0x10C3'0C30'C30C'30C3ull;
  return (x | x << 2) & 0x1249'2492'4924'9249ull;
}

HOST_DEVICE inline std::uint32_t cell(float distance, float cells_per_unit, float most) {
  return static_cast<std::uint32_t>(fminf(fmaxf(distance * cells_per_unit, 0.0f), most));
}

/// 63 bits: a car of a million triangles on a street is too fine for the usual 30 (5 cm cells in a
/// 50 m scene). Cubic cells, so that near in the code is near in space.
HOST_DEVICE inline std::uint64_t morton_code(Float3 point, const Box& bounds) {
  const Float3 size = bounds.high - bounds.low;
  const float largest = fmaxf(size.x, fmaxf(size.y, size.z));
  constexpr float most = (1u << 21) - 1;
  const float scale = largest > 0 ? most / largest : 0.0f;
  const Float3 from = point - bounds.low;
  return spread(cell(from.x, scale, most)) << 2 | spread(cell(from.y, scale, most)) << 1
         | spread(cell(from.z, scale, most));
}

struct BoxOfTriangle {
  const Float3* positions;
  const Triangle* triangles;
  HOST_DEVICE Box operator()(std::uint32_t i) const {
    return triangle_box(positions, triangles[i]);
  }
};

struct UniteBoxes {
  HOST_DEVICE Box operator()(const Box& a, const Box& b) const { return united(a, b); }
};

struct MortonCode {
  BoxOfTriangle box_of;
  Box bounds;
  std::uint64_t* codes;
  std::uint32_t* order;
  HOST_DEVICE void operator()(std::uint32_t i) const {
    const Box box = box_of(i);
    codes[i] = morton_code(0.5f * (box.low + box.high), bounds);
    order[i] = i;
  }
};

struct StartLeaf {
  BoxOfTriangle box_of;
  Tree tree;
  HOST_DEVICE void operator()(std::uint32_t leaf) const {
    tree.boxes[leaf] = box_of(tree.order[leaf]);
    tree.triangles[leaf] = 1;
    tree.inner[leaf] = 0;
    tree.heights[leaf] = 0;
    tree.costs[leaf] = triangle_cost * half_area(tree.boxes[leaf]);
  }
};

struct BoxOfLeaf {
  BoxOfTriangle box_of;
  Tree tree;
  HOST_DEVICE void operator()(std::uint32_t leaf) const {
    tree.boxes[leaf] = box_of(tree.order[leaf]);
  }
};

struct BoxOfInner {
  Tree tree;
  HOST_DEVICE void operator()(std::uint32_t id) const {
    const Children child = tree.children[id - tree.leaves];
    tree.boxes[id] = united(tree.boxes[child.left], tree.boxes[child.right]);
  }
};

// How far along the Morton order a cluster looks for its partner, each way. On 830,000 triangles of
// lumpy balls 16 and 64 gave slightly more node visits a ray than 8, not fewer.
constexpr std::uint32_t search_radius = 8;

/// Each cluster's best partner: the one whose union with it is smallest. Ties go to the smaller XOR
/// of positions: then a pair of equal clusters prefers each other, so that any number of identical
/// triangles halves in every round, and the best pair of all is always mutual.
///
/// Neighbouring lanes read almost the same 17 boxes, so that the L1 cache serves nearly all of it
/// and no tile in shared memory is needed.
struct FindNearest {
  const Box* boxes;
  const std::uint32_t* clusters;
  std::uint32_t count;
  std::uint32_t* nearest;

  HOST_DEVICE void operator()(std::uint32_t own) const {
    const std::uint32_t first = own > search_radius ? own - search_radius : 0;
    const std::uint32_t last = count - 1 - own > search_radius ? own + search_radius : count - 1;
    const Box box = boxes[clusters[own]];
    std::uint32_t best = own;
    float best_area = no_bound;
    for (std::uint32_t other = first; other <= last; ++other) {
      if (other == own) continue;
      const float area = half_area(united(box, boxes[clusters[other]]));
      const bool nearer = area < best_area || (area == best_area && (other ^ own) < (best ^ own));
      if (best == own || nearer) {
        best = other;
        best_area = area;
      }
    }
    nearest[own] = best;
  }
};

/// Partner by position alone; the odd one out stays single.
struct PairNeighbours {
  std::uint32_t count;
  std::uint32_t* nearest;
  HOST_DEVICE void operator()(std::uint32_t i) const { nearest[i] = (i ^ 1u) < count ? i ^ 1u : i; }
};

// Two counters in one word, so that one scan numbers both the new nodes and the clusters that stay.
constexpr std::uint64_t one_created = 1ull << 32, one_kept = 1;

/// What position i adds to the counters: the lower of a mutual pair becomes their parent, the upper
/// goes away, others stay. One past the end adds nothing, so that an exclusive scan ends in the
/// sum.
struct RoundResult {
  std::uint32_t count;
  const std::uint32_t* nearest;
  HOST_DEVICE std::uint64_t operator()(std::uint32_t i) const {
    if (i == count) return 0;
    const std::uint32_t partner = nearest[i];
    if (partner == i || nearest[partner] != i) return one_kept;
    return i < partner ? one_created + one_kept : 0;
  }
};

/// Carries out a round: writes the new nodes and the next, shorter cluster list. A subtree of up to
/// four triangles becomes one leaf where testing them all is expected to be cheaper (surface area
/// heuristic; Goldsmith and Salmon 1987).
struct MergePairs {
  Tree tree;
  RoundResult result;
  const std::uint64_t* offsets;
  const std::uint32_t* clusters;
  std::uint32_t first_id;
  std::uint32_t* next;

  HOST_DEVICE void operator()(std::uint32_t i) const {
    const std::uint64_t outcome = result(i);
    if (outcome == 0) return;
    const auto kept = static_cast<std::uint32_t>(offsets[i]);
    if (outcome == one_kept) {
      next[kept] = clusters[i];
      return;
    }
    const std::uint32_t id = first_id + static_cast<std::uint32_t>(offsets[i] >> 32);
    next[kept] = id;
    create(id, {clusters[i], clusters[result.nearest[i]]});
  }

  HOST_DEVICE void create(std::uint32_t id, Children child) const {
    const Box box = united(tree.boxes[child.left], tree.boxes[child.right]);
    const float area = half_area(box);
    const std::uint32_t below = tree.triangles[child.left] + tree.triangles[child.right];
    const float split = node_cost * area + tree.costs[child.left] + tree.costs[child.right];
    const float whole = triangle_cost * static_cast<float>(below) * area;
    const bool as_leaf = below <= most_leaf_triangles && whole <= split;
    tree.children[id - tree.leaves] = child;
    tree.boxes[id] = box;
    tree.triangles[id] = below;
    tree.inner[id] = as_leaf ? 0 : 1 + tree.inner[child.left] + tree.inner[child.right];
    tree.costs[id] = as_leaf ? whole : split;
    const std::uint16_t left = tree.heights[child.left], right = tree.heights[child.right];
    tree.heights[id] = static_cast<std::uint16_t>((left > right ? left : right) + 1);
  }
};

/// Gives both children of an inner id their places: nodes depth first, so that a ray going down
/// reads on, triangles in the order of the leaves.
struct PlaceChildren {
  Tree tree;
  HOST_DEVICE void operator()(std::uint32_t id) const {
    const Children child = tree.children[id - tree.leaves];
    const Place place = tree.places[id];
    const bool split = tree.inner[id] > 0 && place.node != no_reference;
    const bool left = split && tree.inner[child.left] > 0;
    const bool right = split && tree.inner[child.right] > 0;
    tree.places[child.left] = {left ? place.node + 1 : no_reference, place.triangle};
    tree.places[child.right] = {right ? place.node + 1 + tree.inner[child.left] : no_reference,
                                place.triangle + tree.triangles[child.left]};
  }
};

struct WriteNode {
  Tree tree;
  Node* nodes;

  HOST_DEVICE std::uint32_t reference(std::uint32_t id) const {
    return tree.inner[id] > 0 ? tree.places[id].node
                              : leaf_reference(tree.places[id].triangle, tree.triangles[id]);
  }
  HOST_DEVICE void operator()(std::uint32_t id) const {
    if (tree.inner[id] == 0 || tree.places[id].node == no_reference) return;
    const Children child = tree.children[id - tree.leaves];
    nodes[tree.places[id].node] = make_node(tree.boxes[child.left], tree.boxes[child.right],
                                            reference(child.left), reference(child.right));
  }
};

/// A scene that is one leaf still needs a node: beside it stands an empty box, which no ray enters.
struct WriteLonelyLeaf {
  Tree tree;
  std::uint32_t root;
  Node* nodes;
  HOST_DEVICE void operator()(std::uint32_t) const {
    nodes[0] = make_node(tree.boxes[root], empty_box(), leaf_reference(0, tree.triangles[root]),
                         leaf_reference(0, 1));
  }
};

struct WriteTriangle {
  BoxOfTriangle source;
  Tree tree;
  LeafTriangle* written;
  HOST_DEVICE void operator()(std::uint32_t leaf) const {
    const std::uint32_t index = tree.order[leaf];
    const Triangle triangle = source.triangles[index];
    const Float3 a = source.positions[triangle.a];
    const Float3 edge_1 = source.positions[triangle.b] - a;
    const Float3 edge_2 = source.positions[triangle.c] - a;
    written[tree.places[leaf].triangle] = {{a.x, a.y, a.z, float_of(index)},
                                           {edge_1.x, edge_1.y, edge_1.z, 0},
                                           {edge_2.x, edge_2.y, edge_2.z, 0}};
  }
};

} // namespace breakeven::ON_PATH::wavefront
