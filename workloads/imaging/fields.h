// Volumes on their way through a pipeline, and the loops that run a stage over them: at once where
// they lie in the path's memory, slab by slab where they lie on the host.
#pragma once

#include "workloads/clock.h"
#include "workloads/imaging/stages.h"

#include <algorithm>
#include <string>
#include <vector>

namespace breakeven::imaging {

template <class T>
class Field {
public:
  Field(Memory& memory, const Extent& extent)
      : extent_(extent),
        block_(memory, static_cast<std::size_t>(extent.voxels())) {}
  const Extent& extent() const { return extent_; }
  T* data() const { return block_.data(); }
  View<T> view() const { return {block_.data(), extent_}; }
  /// Slices [begin, end).
  View<T> slices(std::int64_t begin, std::int64_t end) const {
    return {block_.data() + begin * extent_.slice(), {extent_.x, extent_.y, end - begin}};
  }

private:
  Extent extent_;
  Block<T> block_;
};

/// The phases of a run, in the order of first use; the ends of every timed piece are synchronised.
class PhaseClock {
public:
  explicit PhaseClock(Stages& stages) : stages_(stages) {}

  /// Time and work inside `piece` are the phase's. Within it, kernel() times what computes.
  template <class Piece>
  void timed(const std::string& name, Piece piece) {
    current_ = find(name);
    stages_.memory.synchronise();
    const double start_s = seconds_now();
    piece();
    stages_.memory.synchronise();
    phases_[current_].end_to_end_s += seconds_now() - start_s;
  }
  template <class Call>
  void kernel(Call call) {
    stages_.memory.synchronise();
    const double start_s = seconds_now();
    const Work work = call();
    stages_.memory.synchronise();
    phases_[current_].kernel_s += seconds_now() - start_s;
    add(phases_[current_].work, work);
  }
  /// A phase that was timed elsewhere.
  void append(const Phase& phase) { phases_.push_back(phase); }
  void note_copied_in(std::size_t bytes) { note_copy(&Work::host_to_device_bytes, bytes); }
  void note_copied_out(std::size_t bytes) { note_copy(&Work::device_to_host_bytes, bytes); }
  std::vector<Phase> take() { return std::move(phases_); }

private:
  std::size_t find(const std::string& name) {
    for (std::size_t i = 0; i < phases_.size(); ++i)
      if (phases_[i].name == name) return i;
    Phase phase;
    phase.name = name;
    phase.processor = stages_.path == Path::openmp ? Processor::cpu : Processor::gpu;
    phases_.push_back(phase);
    return phases_.size() - 1;
  }
  void note_copy(double Work::*bytes, std::size_t count) {
    if (stages_.path != Path::openmp) phases_[current_].work.*bytes += static_cast<double>(count);
  }

  Stages& stages_;
  std::vector<Phase> phases_;
  std::size_t current_ = 0;
};

/// Slabs of a volume: [begin, end) is computed, [first, last) read.
struct Slab {
  std::int64_t begin, end, first, last;
};
inline std::vector<Slab> slabs_of(std::int64_t depth, std::int64_t slices, std::int64_t halo) {
  std::vector<Slab> slabs;
  for (std::int64_t begin = 0; begin < depth; begin += slices) {
    const std::int64_t end = std::min(depth, begin + slices);
    slabs.push_back(
        {begin, end, std::max<std::int64_t>(0, begin - halo), std::min(depth, end + halo)});
  }
  return slabs;
}

/// Where fields lie and how stages go over them.
class Worksheet {
public:
  Worksheet(Stages& stages, Memory& store, std::int64_t slab_slices)
      : stages(stages),
        clock(stages),
        store_(store),
        slab_slices_(slab_slices) {}

  Stages& stages;
  PhaseClock clock;

  bool cut() const { return slab_slices_ > 0; }
  std::int64_t slab_slices() const { return slab_slices_; }
  template <class T>
  Field<T> field(const Extent& extent) const {
    return {store_, extent};
  }
  /// Of a slab, in the path's memory.
  template <class T>
  Field<T> piece(const Extent& extent) const {
    return {stages.memory, extent};
  }

  template <class T>
  void copy_in(const Field<T>& to, const T* host) {
    const std::size_t bytes = static_cast<std::size_t>(to.extent().voxels()) * sizeof(T);
    stages.memory.copy_in(to.data(), host, bytes);
    clock.note_copied_in(bytes);
  }
  template <class T>
  void copy_out(T* host, View<const T> from) {
    const std::size_t bytes = static_cast<std::size_t>(from.extent.voxels()) * sizeof(T);
    stages.memory.copy_out(host, from.data, bytes);
    clock.note_copied_out(bytes);
  }

  /// out = call(in), a local stage with `halo`.
  template <class In, class Out, class Call>
  void local(const Field<In>& in, Field<Out>& out, std::int64_t halo, Call call) {
    if (!cut()) {
      clock.kernel([&] { return call(View<const In>(in.view()), out.view()); });
      return;
    }
    for (const Slab& slab : slabs_of(in.extent().z, slab_slices_, halo)) {
      const View<In> read = in.slices(slab.first, slab.last);
      const Field<In> slab_in = piece<In>(read.extent);
      Field<Out> slab_out = piece<Out>(read.extent);
      copy_in(slab_in, read.data);
      clock.kernel([&] { return call(View<const In>(slab_in.view()), slab_out.view()); });
      const View<const Out> kept = slab_out.slices(slab.begin - slab.first, slab.end - slab.first);
      copy_out(out.slices(slab.begin, slab.end).data, kept);
    }
  }

  /// call(in, first slice, [begin, end) of the view), for sums over the volume.
  template <class In, class Call>
  void reduce(const Field<In>& in, std::int64_t halo, Call call) {
    if (!cut()) {
      clock.kernel([&] { return call(View<const In>(in.view()), 0, 0, in.extent().z); });
      return;
    }
    for (const Slab& slab : slabs_of(in.extent().z, slab_slices_, halo)) {
      const View<In> read = in.slices(slab.first, slab.last);
      const Field<In> slab_in = piece<In>(read.extent);
      copy_in(slab_in, read.data);
      clock.kernel([&] {
        return call(View<const In>(slab_in.view()), slab.first, slab.begin - slab.first,
                    slab.end - slab.first);
      });
    }
  }

  /// call(a, b, first slice), b in place where Second is not const; no halo.
  template <class First, class Second, class Call>
  void pairs(const Field<First>& a, Field<Second>& b, bool writes_second, Call call) {
    if (!cut()) {
      clock.kernel([&] { return call(View<const First>(a.view()), b.view(), 0); });
      return;
    }
    for (const Slab& slab : slabs_of(a.extent().z, slab_slices_, 0)) {
      const View<First> first = a.slices(slab.begin, slab.end);
      const View<Second> second = b.slices(slab.begin, slab.end);
      const Field<First> slab_a = piece<First>(first.extent);
      Field<Second> slab_b = piece<Second>(second.extent);
      copy_in(slab_a, first.data);
      copy_in(slab_b, second.data);
      clock.kernel(
          [&] { return call(View<const First>(slab_a.view()), slab_b.view(), slab.begin); });
      if (writes_second) copy_out(second.data, View<const Second>(slab_b.view()));
    }
  }

private:
  Memory& store_;
  std::int64_t slab_slices_;
};

} // namespace breakeven::imaging
