// Many cases side by side: a pool of threads that decode, segment and store them. Takes the three
// steps of a case and how many threads go about them, gives the wall time and a checksum a case,
// which do not depend on that number. Leaves out what the steps do and how their times split up
// (imaging.cpp times them one case after the other).
#pragma once

#include "workloads/imaging/pipeline.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace breakeven::imaging {

/// Which thread segments a case. Of a path of the CPU: the one that also decodes and stores it, so
/// that nothing waits for anything. Of a path of the GPU: one of few that feed the GPU and do
/// nothing else; the CPU's threads decode ahead of them and store what they have finished.
enum class PoolShape { whole_cases, fed_gpu };

struct PoolPlan {
  PoolShape shape = PoolShape::whole_cases;
  int cpu_threads = 1;
  int feeders = 0; ///< of the GPU; only where it is fed
  /// Cases whose decoding has begun and that are not stored yet, whatever they are at or wait for:
  /// what bounds RAM, and how far decoding runs ahead. Up to it threads of the CPU begin cases
  /// before they store any, so a feeder waits for the disk only where it is reached.
  int most_open = 1;
};

/// RAM that an open case takes at most: stored values as float and labels, four bytes a voxel each.
double open_case_bytes(const Extent& scan);

/// What a case takes while it is segmented, and what there is.
struct PoolMemory {
  double ram_bytes = 0, open_case_bytes = 0;
  double path_bytes = 0, segmenting_bytes = 0; ///< of the path's memory, on a GPU its own
};
/// A thread of `threads` a case; fewer where memory is short, at least one. The path's memory and
/// RAM are one on the CPU.
PoolPlan plan_whole_cases(int threads, const PoolMemory& memory);
/// Two feeders a GPU, so that one copies while the other computes, one where its memory is short;
/// the threads that they leave, at least one, decode and store. As many cases are open as these
/// threads hold and two for each feeder, fewer where RAM is short, at least one.
PoolPlan plan_fed_gpu(int threads, int gpus, const PoolMemory& memory);

/// `decode` and `store` are called by several threads at once. Each thread that segments makes a
/// Segmenter of its own, uses and destroys it; all are made before the clock starts. Every thread
/// has one OpenMP thread.
using Segmenter = std::function<Segmentation(const CtImage&)>;
struct CaseSteps {
  std::function<CtImage(std::int64_t number)> decode;
  std::function<Segmenter()> make_segmenter;
  std::function<void(std::int64_t number, const CtImage& image, const Segmentation& result)> store;
  std::function<bool()> is_interrupted = interrupted; ///< asked before each case
};

struct PoolRun {
  double wall_s = 0;                    ///< from the first decode to the last store
  std::vector<std::uint64_t> checksums; ///< of the cases done, the first so many, in their order
};

/// Begins the cases in their order. Once interrupted it begins no further one, finishes those that
/// are open and gives them. When a step throws, cases after that one are dropped, those before it
/// are finished, and the first exception in the order of cases is thrown here, after all threads
/// ended.
PoolRun run_side_by_side(const PoolPlan& plan, const CaseSteps& steps,
                         const std::vector<std::int64_t>& cases);

/// Of a case's labels.
std::uint64_t checksum_of(const Segmentation& result);
/// Of a run, from its cases in their order.
std::uint64_t checksum_of_cases(const std::vector<std::uint64_t>& cases);

} // namespace breakeven::imaging
