// The GPU side's intensity kernels, on both host back ends, against the OpenMP side: the same bits,
// the same work. The OpenMP side is held to the definitions in tests/imaging.
#include "tests/imaging/intensity_reference.h"
#include "workloads/host_kernels/emulator.h"

#include <doctest/doctest.h>
#include <omp.h>

using namespace breakeven;
using namespace breakeven::imaging;
using namespace breakeven::imaging::reference;

namespace {

Stages stages_of(void (*add_intensity)(Stages&)) {
  Stages stages;
  stages.memory = host_memory();
  add_intensity(stages);
  return stages;
}

struct GpuSource {
  const char* name;
  Stages stages;
};
std::vector<GpuSource> gpu_sources() {
  return {{"host", stages_of(on_host::add_intensity)},
          {"serial", stages_of(on_serial::add_intensity)}};
}

// One voxel, lines, rows of whole fours and not, and more than a tile along each axis.
const std::vector<Extent> extents{{1, 1, 1},   {45, 1, 1}, {1, 1, 20},
                                  {35, 18, 4}, {68, 3, 3}, {5, 34, 37}};

void check_same_work(const Work& a, const Work& b) {
  CHECK(a.lane_instructions == b.lane_instructions);
  CHECK(a.dram_bytes == b.dram_bytes);
  CHECK(a.cached_bytes == b.cached_bytes);
  CHECK(a.launches == b.launches);
  CHECK(a.parallel_width == b.parallel_width);
}

using RunStage = std::function<Work(Stages&, View<const float>, View<float>)>;

/// Runs a stage on all sides and all extents.
void check_same_bits(const RunStage& run) {
  Stages openmp = stages_of(add_openmp_intensity);
  for (const Extent& extent : extents) {
    CAPTURE(extent.x);
    CAPTURE(extent.y);
    CAPTURE(extent.z);
    const Floats in = ct_like(extent, 21);
    Floats expected(in.size(), NAN);
    const Work work = run(openmp, view(in, extent), view(expected, extent));
    for (GpuSource& source : gpu_sources()) {
      CAPTURE(source.name);
      Floats out(in.size(), NAN);
      check_same_work(run(source.stages, view(in, extent), view(out, extent)), work);
      CHECK(same_bits(out, expected));
      CHECK(source.stages.memory.in_use_bytes == 0);
    }
  }
}

const std::array<double, 3> spacing{0.8, 0.7, 1.5};

RunStage gaussian_of(double sigma_mm) {
  return
      [taps = gaussian_taps(sigma_mm, spacing)](Stages& s, View<const float> in, View<float> out) {
        return s.gaussian(in, out, taps, s.memory);
      };
}
RunStage median_run() {
  return
      [](Stages& s, View<const float> in, View<float> out) { return s.median(in, out, s.memory); };
}
RunStage bilateral_of(int radius) {
  return [kernel = bilateral_kernel(radius, 1.2, 80, spacing)](Stages& s, View<const float> in,
                                                               View<float> out) {
    return s.bilateral(in, out, kernel, s.memory);
  };
}
DiffusionStep diffusion_step() { return {{1.25f, 1.43f, 0.66f}, 0.05f, -90000}; }
RunStage diffuse_run() {
  return [](Stages& s, View<const float> in, View<float> out) {
    return s.diffuse(in, out, diffusion_step(), s.memory);
  };
}

} // namespace

TEST_CASE("gaussian: kernels in tiles and beyond give the CPU's bits") {
  for (const double sigma_mm : {0.0, 0.6, 1.3, 2.6, 3.5}) { // radii 0, 4, 8, 15 and 20 along y
    CAPTURE(sigma_mm);
    check_same_bits(gaussian_of(sigma_mm));
  }
}

TEST_CASE("gaussian: an output that no four floats fit into gets the same bits") {
  const Extent extent{36, 5, 3}; // whole fours, but the block starts at an odd float
  const Floats in = ct_like(extent, 22);
  Stages openmp = stages_of(add_openmp_intensity);
  Floats expected(in.size());
  gaussian_of(1)(openmp, view(in, extent), view(expected, extent));
  for (GpuSource& source : gpu_sources()) {
    Floats padded(in.size() + 1, NAN);
    gaussian_of(1)(source.stages, view(in, extent), {padded.data() + 1, extent});
    CHECK(same_bits(Floats(padded.begin() + 1, padded.end()), expected));
  }
}

TEST_CASE("median: columns shared by shuffles give the CPU's bits") {
  check_same_bits(median_run());
}

TEST_CASE("bilateral: the tile with its halo gives the CPU's bits") {
  for (const int radius : {1, 2}) {
    CAPTURE(radius);
    check_same_bits(bilateral_of(radius));
  }
  const Extent extent{9, 5, 3};
  const Floats in = ct_like(extent, 23);
  for (const int radius : {3, 4}) {
    CAPTURE(radius);
    Stages openmp = stages_of(add_openmp_intensity), host = stages_of(on_host::add_intensity);
    Floats a(in.size()), b(in.size());
    bilateral_of(radius)(openmp, view(in, extent), view(a, extent));
    bilateral_of(radius)(host, view(in, extent), view(b, extent));
    CHECK(same_bits(a, b));
  }
}

TEST_CASE("diffuse: fluxes shared in a tile give the CPU's bits") {
  check_same_bits(diffuse_run());
}

TEST_CASE("diffusion_gradient: all sides add the same integer, whole or in slabs") {
  Stages openmp = stages_of(add_openmp_intensity);
  const DiffusionStep step = diffusion_step();
  for (const Extent& extent : extents) {
    const Floats in = ct_like(extent, 24);
    std::int64_t expected = 1000; // sums are added to what is there
    openmp.diffusion_gradient(view(in, extent), 0, extent.z, step, expected, openmp.memory);
    for (GpuSource& source : gpu_sources()) {
      CAPTURE(source.name);
      std::int64_t sum = 1000;
      for (std::int64_t z = 0; z < extent.z; z += 3)
        source.stages.diffusion_gradient(view(in, extent), z,
                                         std::min<std::int64_t>(z + 3, extent.z), step, sum,
                                         source.stages.memory);
      CHECK(sum == expected);
    }
  }
}

TEST_CASE("rescale: kernels give the CPU's bits, with padding and one line a slice") {
  const Extent extent{61, 43, 3};
  std::vector<std::int16_t> stored;
  Floats stored_floats;
  std::mt19937 generator(7);
  for (std::int64_t i = 0; i < extent.voxels(); ++i) {
    stored.push_back(static_cast<std::int16_t>(generator()));
    stored_floats.push_back(static_cast<float>(stored.back()) + 0.25f);
  }
  const std::vector<Rescale> rescale{{1, -1024}, {1.37f, 0.3f}, {0.001f, 5}};
  CtImage image;
  image.has_padding = true;
  image.padding_low = -20000;
  image.padding_high = -10000;
  Stages openmp = stages_of(add_openmp_intensity);
  const auto run = [&](Stages& s, Floats& a, Floats& b) {
    const Work work = s.rescale({stored.data(), extent}, view(a, extent), rescale, image, s.memory);
    s.rescale_float(view(stored_floats, extent), view(b, extent), rescale, image, s.memory);
    return work;
  };
  Floats a(stored.size()), b(stored.size());
  const Work work = run(openmp, a, b);
  CHECK(std::count(a.begin(), a.end(), air_hu) > 500);
  for (GpuSource& source : gpu_sources()) {
    Floats c(stored.size(), NAN), d(stored.size(), NAN);
    check_same_work(run(source.stages, c, d), work);
    CHECK(same_bits(a, c));
    CHECK(same_bits(b, d));
  }
}

TEST_CASE("resample: kernels give the CPU's bits and labels, up and down") {
  const std::vector<std::pair<Extent, Extent>> cases{{{33, 17, 9}, {20, 11, 5}},
                                                     {{13, 9, 5}, {31, 20, 11}},
                                                     {{1, 1, 1}, {4, 3, 2}},
                                                     {{7, 1, 5}, {7, 1, 5}}};
  Stages openmp = stages_of(add_openmp_intensity);
  for (const auto& [from, to] : cases) {
    const Floats in = ct_like(from, 2);
    std::vector<std::uint32_t> labels;
    for (const float value : in)
      labels.push_back(bits_of(value));
    const ResampleTables tables = tables_between(from, to);
    const auto run = [&, from = from, to = to](Stages& s, Floats& floats,
                                               std::vector<std::uint32_t>& nearest) {
      floats.assign(static_cast<std::size_t>(to.voxels()), NAN);
      nearest.assign(floats.size(), 0);
      const Work work = s.resample(view(in, from), view(floats, to), tables, s.memory);
      s.resample_labels({labels.data(), from}, {nearest.data(), to}, tables, s.memory);
      return work;
    };
    Floats a, b;
    std::vector<std::uint32_t> c, d;
    const Work work = run(openmp, a, c);
    for (GpuSource& source : gpu_sources()) {
      check_same_work(run(source.stages, b, d), work);
      CHECK(same_bits(a, b));
      CHECK(c == d);
    }
  }
}

TEST_CASE("kernels with shared memory give the same bits in any order of threads") {
  struct Restore {
    host_kernels::Schedule schedule = host_kernels::current_schedule();
    ~Restore() { host_kernels::set_schedule(schedule); }
  } restore;
  const Extent extent{37, 18, 3};
  const Floats in = ct_like(extent, 25);
  for (const RunStage& run : {gaussian_of(1), median_run(), bilateral_of(2), diffuse_run()}) {
    Stages host = stages_of(on_host::add_intensity);
    host_kernels::set_schedule({host_kernels::Order::forward, 0});
    Floats expected(in.size()), out(in.size());
    run(host, view(in, extent), view(expected, extent));
    host_kernels::set_schedule({host_kernels::Order::reverse, 0});
    run(host, view(in, extent), view(out, extent));
    CHECK(same_bits(out, expected));
    host_kernels::set_schedule({host_kernels::Order::shuffled, 11});
    run(host, view(in, extent), view(out, extent));
    CHECK(same_bits(out, expected));
  }
}

TEST_CASE("the number of threads does not show in any kernel's result") {
  const Extent extent{35, 18, 4};
  const Floats in = ct_like(extent, 26);
  const int before = omp_get_max_threads();
  for (const RunStage& run : {gaussian_of(1), median_run(), bilateral_of(1), diffuse_run()}) {
    Floats one(in.size()), two(in.size());
    Stages host = stages_of(on_host::add_intensity);
    omp_set_num_threads(1);
    run(host, view(in, extent), view(one, extent));
    omp_set_num_threads(2);
    run(host, view(in, extent), view(two, extent));
    CHECK(same_bits(one, two));
  }
  omp_set_num_threads(before);
}
