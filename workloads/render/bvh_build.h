// Builds and refits a Bvh on the device: parallel locally-ordered clustering (Meister and Bittner,
// "Parallel Locally-Ordered Clustering for Bounding Volume Hierarchy Construction", TVCG 2018;
// Benthin et al., "PLOC++", HPG 2022). Triangles are sorted along a Morton curve; then, round by
// round, neighbours that are each other's best partner are joined. Unlike a radix tree over the
// codes (Karras 2012) it weighs surface area, and its rounds make every pass free of races and
// atomics: the same input gives the same tree on any number of threads.
//
// About 250 bytes a triangle while building (2.5 GB for 10 million), of which up to 112 are the
// result.
#pragma once

#include "workloads/render/bvh_kernels.h"

#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>

#include <cassert>
#include <cstdint>
#include <vector>

namespace breakeven::ON_PATH::wavefront {

namespace thrust = THRUST_NS_QUALIFIER;

template <class T>
using Device = thrust::device_vector<T>;

template <class T>
T* raw(Device<T>& vector) {
  return thrust::raw_pointer_cast(vector.data());
}

using Index = thrust::counting_iterator<std::uint32_t>;

/// f(i) for each i in [begin, end). The policy is spelt out: counting iterators alone would run on
/// Thrust's host system, that is on one thread of the host.
template <class Function>
void for_each_index(std::uint32_t begin, std::uint32_t end, Function f) {
  thrust::for_each(thrust::device, Index(begin), Index(end), f);
}

constexpr double bytes_per_triangle_built = 256;

// What Thrust launches for one call on a GPU (CUB): one for for_each; sums and scans in two; a
// radix sort of 64-bit keys in 8 passes of one kernel after a histogram and its scan, 32-bit keys
// in 4.
constexpr double reduce_launches = 2, scan_launches = 2, sort_64_launches = 10,
                 sort_32_launches = 6;

class Bvh {
public:
  void build(const Float3* positions, const Triangle* triangles, std::uint32_t count) {
    allocate(count);
    const BoxOfTriangle box_of{positions, triangles};
    sort_by_morton_code(box_of);
    for_each_index(0, count, StartLeaf{box_of, tree()});
    cluster();
    place();
    write(box_of);
  }

  /// New boxes and triangles for the same tree, after vertices have moved.
  void refit(const Float3* positions, const Triangle* triangles) {
    const BoxOfTriangle box_of{positions, triangles};
    launches_ = 0;
    for_each_index(0, count_, BoxOfLeaf{box_of, tree()});
    for (std::size_t round = 0; round + 1 < round_starts_.size(); ++round)
      for_each_index(round_starts_[round], round_starts_[round + 1], BoxOfInner{tree()});
    launches_ += static_cast<double>(round_starts_.size());
    write(box_of);
  }

  BvhView view() { return {raw(nodes_), raw(triangles_)}; }
  const Box& bounds() const { return bounds_; } ///< when built
  bool built() const { return count_ > 0; }
  int rounds() const { return static_cast<int>(round_starts_.size()) - 1; }
  /// Levels of inner nodes.
  int height() const { return heights_[2 * (count_ - 1)]; }
  double launches() const { return launches_; }                   ///< of the last build or refit
  double clusters_searched() const { return clusters_searched_; } ///< summed over the rounds
  double bytes() const {
    return static_cast<double>(nodes_.size() * sizeof(Node)
                               + triangles_.size() * sizeof(LeafTriangle));
  }
  BvhCopy copy() const {
    BvhCopy copy{std::vector<Node>(nodes_.size()), std::vector<LeafTriangle>(triangles_.size()),
                 rounds(), height()};
    thrust::copy(nodes_.begin(), nodes_.end(), copy.nodes.begin());
    thrust::copy(triangles_.begin(), triangles_.end(), copy.triangles.begin());
    return copy;
  }

private:
  void allocate(std::uint32_t count) {
    const std::size_t ids = 2 * std::size_t{count} - 1;
    count_ = count;
    order_.resize(count);
    codes_.resize(count);
    boxes_.resize(ids);
    children_.resize(count - 1);
    triangles_below_.resize(ids);
    inner_.resize(ids);
    heights_.resize(ids);
    costs_.resize(ids);
    places_.resize(ids);
    clusters_.resize(count);
    next_.resize(count);
    nearest_.resize(count);
    offsets_.resize(std::size_t{count} + 1);
    triangles_.resize(count);
    launches_ = clusters_searched_ = 0;
  }

  Tree tree() {
    return {count_,      raw(order_),   raw(boxes_), raw(children_), raw(triangles_below_),
            raw(inner_), raw(heights_), raw(costs_), raw(places_)};
  }

  void sort_by_morton_code(const BoxOfTriangle& box_of) {
    bounds_ = thrust::transform_reduce(thrust::device, Index(0), Index(count_), box_of, empty_box(),
                                       UniteBoxes{});
    for_each_index(0, count_, MortonCode{box_of, bounds_, raw(codes_), raw(order_)});
    // Stable: triangles of the same code stay in the order of their indices.
    thrust::stable_sort_by_key(codes_.begin(), codes_.end(), order_.begin());
    launches_ += reduce_launches + 1 + sort_64_launches + 1; // and the leaves' start
  }

  /// Joins best partners until one cluster is left. A round adds at most one level, and joining
  /// neighbours blindly halves what is left: so few rounds of searching bound the height, at the
  /// price of a worse tree. That is needed only for freaks, such as triangles that double in size
  /// along a line.
  void cluster() {
    constexpr int patient = 256, bounded = highest_tree - 29;
    static_assert(most_triangles < 1u << 29);
    cluster(patient);
    if (height() > highest_tree) cluster(bounded);
    assert(height() <= highest_tree);
  }

  void cluster(int search_rounds) {
    round_starts_.assign(1, count_);
    thrust::sequence(clusters_.begin(), clusters_.end());
    std::uint32_t left = count_;
    for (int round = 0; left > 1; ++round) {
      find_partners(left, round < search_rounds);
      left = merge_partners(left);
    }
  }

  void find_partners(std::uint32_t left, bool search) {
    if (!search) return for_each_index(0, left, PairNeighbours{left, raw(nearest_)});
    for_each_index(0, left, FindNearest{raw(boxes_), raw(clusters_), left, raw(nearest_)});
    clusters_searched_ += left;
  }

  /// Gives how many clusters are left.
  std::uint32_t merge_partners(std::uint32_t left) {
    const RoundResult result{left, raw(nearest_)};
    thrust::transform_exclusive_scan(thrust::device, Index(0), Index(left + 1), offsets_.begin(),
                                     result, std::uint64_t{0}, thrust::plus<std::uint64_t>());
    const std::uint32_t first_id = round_starts_.back();
    for_each_index(0, left,
                   MergePairs{tree(), result, raw(offsets_), raw(clusters_), first_id, raw(next_)});
    const std::uint64_t totals = offsets_[left];
    round_starts_.push_back(first_id + static_cast<std::uint32_t>(totals >> 32));
    clusters_.swap(next_);
    launches_ += 1 + scan_launches + 1;
    return static_cast<std::uint32_t>(totals);
  }

  void place() {
    const std::uint32_t root = 2 * (count_ - 1);
    const std::uint32_t root_inner = inner_[root];
    places_[root] = Place{root_inner > 0 ? 0 : no_reference, 0};
    for (std::size_t round = round_starts_.size() - 1; round > 0; --round)
      for_each_index(round_starts_[round - 1], round_starts_[round], PlaceChildren{tree()});
    nodes_.resize(root_inner > 0 ? root_inner : 1);
    launches_ += static_cast<double>(round_starts_.size());
  }

  void write(const BoxOfTriangle& box_of) {
    const std::uint32_t root = 2 * (count_ - 1);
    for_each_index(count_, root + 1, WriteNode{tree(), raw(nodes_)});
    if (inner_[root] == 0) for_each_index(0, 1, WriteLonelyLeaf{tree(), root, raw(nodes_)});
    for_each_index(0, count_, WriteTriangle{box_of, tree(), raw(triangles_)});
    launches_ += 2;
  }

  std::uint32_t count_ = 0;
  Device<std::uint32_t> order_, triangles_below_, inner_, clusters_, next_, nearest_;
  Device<std::uint64_t> codes_, offsets_;
  Device<Box> boxes_;
  Device<Children> children_;
  Device<std::uint16_t> heights_;
  Device<float> costs_;
  Device<Place> places_;
  Device<Node> nodes_;
  Device<LeafTriangle> triangles_;
  std::vector<std::uint32_t> round_starts_; ///< ids of the inner nodes created in each round
  Box bounds_ = empty_box();
  double launches_ = 0, clusters_searched_ = 0;
};

} // namespace breakeven::ON_PATH::wavefront
