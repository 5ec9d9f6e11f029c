// The label stages of the GPU side. Their serial loops:
//
//   for (voxel v) ++counts[bin_of(bins, hu[v])];                                  // histogram
//   for (voxel v) mask[v] = low <= hu[v] && hu[v] < high;                         // threshold
//   for (voxel v) for (earlier neighbour n) if (mask[v] && mask[n]) unite(v, n);  // components
//   for (voxel v) if (mask[v]) label[v] = is_first(root(v)) ? ++count : label[root(v)];
//   for (voxel v) label[v] = table[label[v]];                                     // relabel
//   for (voxel v) add(sums[label[v]], hu[v], position(v));                        // label sums
//
// Components are labelled by runs of bundled rows (component_runs.h): bits are packed, runs
// numbered by a scan, joined without rounds, and labels follow from a second scan over the bits of
// first voxels. 1 byte is read and 4 are written a voxel; all else together is about one byte more.
#include "workloads/imaging/device.h"
#include "workloads/imaging/labels_kernels.h"

#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/transform_scan.h>

#include <cassert>
#include <cstdint>
#include <vector>

namespace breakeven::ON_PATH {

namespace imaging_labels {

namespace thrust = THRUST_NS_QUALIFIER;

using imaging_device::blocks_for;
using imaging_device::to_host;
using imaging_device::to_path;
using imaging_device::usual_block;

template <class Kernel, class... Args>
void launch_lanes(std::int64_t lanes, const Kernel& kernel, Args... args) {
  launch(blocks_for(lanes), usual_block, 0, Stream{}, kernel, args...);
}

template <class T>
Block<T> zeros(std::int64_t count, Memory& memory) {
  Block<T> block(memory, static_cast<std::size_t>(count));
  launch_lanes(count, Fill<T>{}, block.data(), count, T{0});
  return block;
}

/// out[i] = f(0) + ... + f(i - 1).
template <class Function>
void sum_before(std::int64_t count, Function f, std::uint32_t* out) {
  const thrust::counting_iterator<std::int64_t> begin(0);
  thrust::transform_exclusive_scan(thrust::device, begin, begin + count, out, f, std::uint32_t{0},
                                   thrust::plus<std::uint32_t>());
}

template <class T>
T value_of(const T* data, Memory& memory) {
  T value{};
  memory.copy_out(&value, data, sizeof value);
  return value;
}

// More blocks than a GPU holds at once (132 multiprocessors of an H200, a few blocks each) would
// only add tables to merge; the emulator is given as many as there is work for.
constexpr std::int64_t most_blocks = 132 * 8;

// ---- histogram ----

/// As many tables as fit the shared memory that every GPU grants unasked to several blocks.
int copies_for(std::size_t bins) {
  constexpr std::size_t enough_bytes = 32 * 1024;
  int copies = threads_per_warp;
  while (copies > 1
         && bins * static_cast<std::size_t>(copies) * sizeof(std::uint32_t) > enough_bytes)
    copies /= 2;
  return copies;
}

Work histogram(View<const float> in, std::int64_t z_begin, std::int64_t z_end, Histogram& histogram,
               Memory& memory) {
  constexpr std::size_t most_shared_bytes = 48 * 1024;
  const Bins bins = bins_of(histogram);
  const std::size_t bin_count = histogram.counts.size();
  const float* const values = in.data + z_begin * in.extent.slice();
  const std::int64_t voxels = (z_end - z_begin) * in.extent.slice();
  const Block<std::uint64_t> counts =
      zeros<std::uint64_t>(static_cast<std::int64_t>(bin_count), memory);
  const int copies = copies_for(bin_count);
  const int bins_here = static_cast<int>(bin_count);
  const std::size_t shared_bytes = CountBins::places(bins_here, copies) * sizeof(std::uint32_t);
  if (shared_bytes <= most_shared_bytes) {
    const std::int64_t voxels_a_block = usual_block * CountBins::voxels_a_thread;
    const std::int64_t blocks =
        std::min(most_blocks, (voxels + voxels_a_block - 1) / voxels_a_block);
    launch(blocks, usual_block, shared_bytes, Stream{}, CountBins{}, values, voxels, bins,
           bins_here, copies, counts.data());
  } else {
    launch_lanes(voxels, CountBinsInGlobalMemory{}, values, voxels, bins, counts.data());
  }
  const std::vector<std::uint64_t> added = to_host(counts.data(), bin_count, memory);
  for (std::size_t bin = 0; bin < bin_count; ++bin)
    histogram.counts[bin] += added[bin];
  return histogram_work(voxels, bin_count);
}

// ---- a voxel at a time ----

bool is_aligned(const void* data, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
}

Work threshold(View<const float> in, View<std::uint8_t> mask, float low, float high, Memory&) {
  const std::int64_t voxels = in.extent.voxels();
  std::int64_t done = 0;
  if (is_aligned(in.data, sizeof(FourFloats)) && is_aligned(mask.data, sizeof(FourBytes))) {
    const std::int64_t groups = voxels / 4;
    launch_lanes(groups, ThresholdFour{}, reinterpret_cast<const FourFloats*>(in.data),
                 reinterpret_cast<FourBytes*>(mask.data), groups, low, high);
    done = groups * 4;
  }
  launch_lanes(voxels - done, Threshold{}, in.data + done, mask.data + done, voxels - done, low,
               high);
  return threshold_work(voxels);
}

Work relabel(View<std::uint32_t> labels, const std::vector<std::uint32_t>& table, Memory& memory) {
  const std::int64_t voxels = labels.extent.voxels();
  const Block<std::uint32_t> to = to_path(table, memory);
  launch_lanes(voxels, Relabel{}, labels.data, voxels, to.data());
  return relabel_work(voxels, table.size());
}

// ---- components ----

template <Connectivity connectivity>
class Labeller {
public:
  Labeller(View<const std::uint8_t> mask, View<std::uint32_t> labels, Memory& memory)
      : mask_(mask.data),
        labels_(labels.data),
        memory_(memory),
        grid_(bundle_grid<connectivity, Word>(squeezed(mask.extent))),
        bits_(memory, static_cast<std::size_t>(grid_.bundle_words())),
        first_starts_(memory, static_cast<std::size_t>(grid_.bundle_words() + 1)) {}

  Work run(std::uint32_t& count) {
    find_runs();
    const double joints = join_runs();
    count = number_runs();
    launch_lanes(grid_.bundle_words(), WriteLabels<connectivity>{}, grid_, bits_.data(),
                 first_starts_.data(), parents_.data(), labels_);
    return components_work(grid_.extent.voxels(), Bundle<connectivity>::rows,
                           static_cast<double>(runs_), joints, count);
  }

private:
  void find_runs() {
    launch_lanes(grid_.bundle_words(), Pack<connectivity>{}, grid_, mask_, bits_.data());
    sum_before(grid_.bundle_words() + 1, StartsInWord<connectivity>{grid_, bits_.data()},
               first_starts_.data());
    runs_ = value_of(first_starts_.data() + grid_.bundle_words(), memory_);
    parents_ = Block<std::uint32_t>(memory_, static_cast<std::size_t>(runs_));
    first_voxels_ = Block<std::uint32_t>(memory_, static_cast<std::size_t>(runs_));
    launch_lanes(runs_, StartRuns{}, runs_, parents_.data(), first_voxels_.data());
  }

  double join_runs() {
    const Block<std::uint64_t> joints = zeros<std::uint64_t>(1, memory_);
    launch(blocks_for(grid_.bundle_words()), usual_block, JoinRuns<connectivity>::shared_bytes,
           Stream{}, JoinRuns<connectivity>{}, grid_, bits_.data(), first_starts_.data(),
           parents_.data(), joints.data());
    launch_lanes(grid_.bundle_words(), FindFirstVoxels<connectivity>{}, grid_, bits_.data(),
                 first_starts_.data(), parents_.data(), first_voxels_.data());
    return static_cast<double>(value_of(joints.data(), memory_));
  }

  std::uint32_t number_runs() {
    const std::int64_t words = (grid_.extent.voxels() + bits_in<Word> - 1) / bits_in<Word>;
    const Block<Word> is_first = zeros<Word>(words, memory_);
    const Block<std::uint32_t> firsts_before(memory_, static_cast<std::size_t>(words + 1));
    launch_lanes(runs_, MarkFirstVoxels{}, runs_, parents_.data(), first_voxels_.data(),
                 is_first.data());
    sum_before(words + 1, FirstsInWord{is_first.data(), words}, firsts_before.data());
    launch_lanes(runs_, NumberRuns{}, runs_, parents_.data(), first_voxels_.data(), is_first.data(),
                 firsts_before.data());
    return value_of(firsts_before.data() + words, memory_);
  }

  const std::uint8_t* mask_;
  std::uint32_t* labels_;
  Memory& memory_;
  BundleGrid grid_;
  std::int64_t runs_ = 0;
  Block<Rows<connectivity>> bits_;
  Block<std::uint32_t> first_starts_; ///< of each bundle word: runs that start before it
  Block<std::uint32_t> parents_, first_voxels_;
};

Work components(View<const std::uint8_t> mask, View<std::uint32_t> labels,
                Connectivity connectivity, std::uint32_t& count, Memory& memory) {
  switch (connectivity) {
  case Connectivity::six:
    return Labeller<Connectivity::six>(mask, labels, memory).run(count);
  case Connectivity::eighteen:
    return Labeller<Connectivity::eighteen>(mask, labels, memory).run(count);
  case Connectivity::twenty_six:
    break;
  }
  return Labeller<Connectivity::twenty_six>(mask, labels, memory).run(count);
}

// ---- sums ----

LabelSums sums_of(const std::vector<std::uint64_t>& sums, const std::vector<std::int32_t>& bounds,
                  std::size_t label, std::size_t labels) {
  const auto sum = [&](std::size_t number) {
    return static_cast<std::int64_t>(sums[number * labels + label]);
  };
  const auto bound = [&](std::size_t number) { return bounds[number * labels + label]; };
  LabelSums all;
  all.voxels = sum(0);
  if (all.voxels == 0) return all;
  all.hu = sum(1);
  all.hu_squared = sum(2);
  all.x = sum(3);
  all.y = sum(4);
  all.z = sum(5);
  all.low_hu = bound(0);
  all.first = {bound(1), bound(2), bound(3)};
  all.high_hu = bound(4);
  all.last = {bound(5), bound(6), bound(7)};
  return all;
}

Work label_sums(View<const std::uint32_t> labels, View<const float> hu, std::int64_t z_of_first,
                std::vector<LabelSums>& sums, Memory& memory) {
  const Extent extent = labels.extent;
  const Block<std::uint64_t> label_sums(memory, sums.size() * sums_a_label);
  const Block<std::int32_t> label_bounds(memory, sums.size() * bounds_a_label);
  const LabelTable table{label_sums.data(), label_bounds.data(),
                         static_cast<std::int64_t>(sums.size())};
  launch_lanes(table.labels, ClearLabelTable{}, table);
  const Block<std::uint64_t> stretches = zeros<std::uint64_t>(1, memory);
  // A block has 8 warps and should take some pieces each, so that its table pays.
  constexpr std::int64_t pieces_a_block = 8 * 4;
  const std::int64_t pieces =
      extent.y * extent.z * ((extent.x + AddLabelSums::piece - 1) / AddLabelSums::piece);
  const std::int64_t blocks = std::min(most_blocks, (pieces + pieces_a_block - 1) / pieces_a_block);
  launch(blocks, usual_block, AddLabelSums::shared_bytes, Stream{}, AddLabelSums{}, labels.data,
         hu.data, extent, z_of_first, table, stretches.data());
  const auto all_sums = to_host(label_sums.data(), label_sums.size(), memory);
  const auto all_bounds = to_host(label_bounds.data(), label_bounds.size(), memory);
  for (std::size_t label = 0; label < sums.size(); ++label)
    add(sums[label], sums_of(all_sums, all_bounds, label, sums.size()));
  return label_sums_work(
      extent.voxels(), static_cast<std::int64_t>(value_of(stretches.data(), memory)), sums.size());
}

} // namespace imaging_labels

void add_labels(imaging::Stages& stages) {
  stages.histogram = imaging_labels::histogram;
  stages.threshold = imaging_labels::threshold;
  stages.components = imaging_labels::components;
  stages.relabel = imaging_labels::relabel;
  stages.label_sums = imaging_labels::label_sums;
}

} // namespace breakeven::ON_PATH
