// The intensity stages on the CPU side against their definitions, bit for bit, on awkward sizes,
// for one and two threads and in tiles; and their arithmetic and tables.
#include "tests/imaging/intensity_reference.h"

#include <doctest/doctest.h>
#include <omp.h>

using namespace breakeven;
using namespace breakeven::imaging;
using namespace breakeven::imaging::reference;

namespace {

Stages openmp_intensity() {
  Stages stages;
  stages.memory = host_memory();
  add_openmp_intensity(stages);
  return stages;
}

struct ThreadCount {
  explicit ThreadCount(int threads) { omp_set_num_threads(threads); }
  ~ThreadCount() { omp_set_num_threads(before); }
  int before = omp_get_max_threads();
};

// One voxel, lines, odd sides, rows longer than the median's parts, slices of several strips, and
// columns long enough to be cut along z.
const std::vector<Extent> awkward_extents{{1, 1, 1},  {7, 1, 1},   {1, 9, 1},   {1, 1, 11},
                                          {2, 2, 2},  {33, 17, 9}, {300, 5, 4}, {16, 16, 16},
                                          {3, 70, 3}, {19, 41, 48}};

/// One local stage: how it is run, and how far it looks along z.
struct LocalStage {
  const char* name;
  std::int64_t halo;
  std::function<void(Stages&, View<const float>, View<float>)> run;
  std::function<Floats(const Floats&, const Extent&)> reference;
};

std::vector<LocalStage> local_stages() {
  const std::array<double, 3> spacing{0.8, 0.7, 1.5};
  std::vector<LocalStage> stages;
  for (const double sigma_mm : {0.0, 0.5, 1.1, 2.3, 4.5}) {
    const GaussianTaps taps = gaussian_taps(sigma_mm, spacing);
    stages.push_back(
        {"gaussian", taps.radius_z(),
         [taps](Stages& s, View<const float> in, View<float> out) {
           s.gaussian(in, out, taps, s.memory);
         },
         [taps](const Floats& in, const Extent& extent) { return gaussian(in, extent, taps); }});
  }
  stages.push_back(
      {"median", 1,
       [](Stages& s, View<const float> in, View<float> out) { s.median(in, out, s.memory); },
       median});
  for (const int radius : {1, 2, 3}) {
    const BilateralKernel kernel = bilateral_kernel(radius, 1.2, 80, spacing);
    stages.push_back({"bilateral", radius,
                      [kernel](Stages& s, View<const float> in, View<float> out) {
                        s.bilateral(in, out, kernel, s.memory);
                      },
                      [kernel](const Floats& in, const Extent& extent) {
                        return bilateral(in, extent, kernel);
                      }});
  }
  DiffusionStep step;
  step.inverse_spacing = {1.25f, 1.43f, 0.66f};
  step.conductance_k = -90000;
  stages.push_back(
      {"diffuse", 1,
       [step](Stages& s, View<const float> in, View<float> out) {
         s.diffuse(in, out, step, s.memory);
       },
       [step](const Floats& in, const Extent& extent) { return diffuse(in, extent, step); }});
  return stages;
}

Floats result_of(const LocalStage& stage, const Floats& in, const Extent& extent) {
  Stages stages = openmp_intensity();
  Floats out(in.size(), NAN);
  stage.run(stages, view(in, extent), view(out, extent));
  CHECK(stages.memory.in_use_bytes == 0);
  return out;
}

} // namespace

TEST_CASE(
    "the polynomial exponential is within 2e-7 of 2^y, exact at 0 and 0 where it underflows") {
  double largest_error = 0;
  bool above_one = false;
  const std::uint32_t least = bits_of(-0.0f), most = bits_of(-126.0f);
  for (std::uint32_t bits = least; bits <= most; bits += 1009) {
    const float y = float_of(bits);
    const auto value = static_cast<double>(exp2_of_negative(y));
    const double exact = std::exp2(static_cast<double>(y));
    largest_error = std::max(largest_error, std::fabs(value - exact) / exact);
    above_one |= value > 1;
  }
  CHECK(largest_error < 2e-7);
  CHECK(largest_error > 1e-8); // the sweep did compare
  CHECK_FALSE(above_one);
  CHECK(exp2_of_negative(0) == 1);
  CHECK(exp2_of_negative(-1) == 0.5f);
  for (float y = -126; y > -127.5f; y -= 0.001f) {
    CHECK(exp2_of_negative(y) >= 0);
    CHECK(exp2_of_negative(y) <= 1.5e-38f);
  }
  for (const float y : {-127.6f, -128.0f, -149.9f, -151.0f, -1e10f, -3e38f, -INFINITY})
    CHECK(bits_of(exp2_of_negative(y)) == 0);
}

TEST_CASE("a product is rounded before it is added") {
  const float a = 1 + 0x1p-12f;
  CHECK(product(a, a) == a * a);
  CHECK(fused(a, a, -product(a, a)) != 0); // there is something to lose
  CHECK(product(a, a) - a * a == 0);
}

TEST_CASE(
    "the median of three sorted nines is the 14th of 27, for all orders and ties of 0 and 1") {
  // A network of minima and maxima that is right for all zeros and ones is right for all numbers
  // (the 0-1 principle, Knuth 5.3.4); a sorted nine of them is its count of ones.
  const auto nine = [](int ones) {
    const auto v = [ones](int i) { return i >= 9 - ones ? 1.0f : 0.0f; };
    return Nine{v(0), v(1), v(2), v(3), v(4), v(5), v(6), v(7), v(8)};
  };
  int wrong = 0;
  for (int a = 0; a <= 9; ++a)
    for (int b = 0; b <= 9; ++b)
      for (int c = 0; c <= 9; ++c)
        wrong += median_of<Selection>(nine(a), nine(b), nine(c)) != (a + b + c >= 14 ? 1.0f : 0.0f);
  CHECK(wrong == 0);
  for (int a = 0; a <= 3; ++a)
    for (int b = 0; b <= 3; ++b)
      for (int c = 0; c <= 3; ++c) {
        const auto v = [](int ones, int i) { return i >= 3 - ones ? 1.0f : 0.0f; };
        Nine s{v(a, 0), v(a, 1), v(a, 2), v(b, 0), v(b, 1), v(b, 2), v(c, 0), v(c, 1), v(c, 2)};
        merge_triples<Selection>(s);
        const float sorted[9] = {s.v0, s.v1, s.v2, s.v3, s.v4, s.v5, s.v6, s.v7, s.v8};
        for (int i = 0; i < 9; ++i)
          wrong += sorted[i] != (i >= 9 - a - b - c ? 1.0f : 0.0f);
      }
  CHECK(wrong == 0);
}

TEST_CASE("every denoising stage gives its definition's bits, for any size, with 1 and 2 threads") {
  for (const LocalStage& stage : local_stages())
    for (const Extent& extent : awkward_extents) {
      CAPTURE(stage.name);
      CAPTURE(stage.halo);
      CAPTURE(extent.x);
      CAPTURE(extent.y);
      CAPTURE(extent.z);
      const Floats in = ct_like(extent, 5);
      const Floats expected = stage.reference(in, extent);
      for (const int threads : {1, 2}) {
        const ThreadCount count(threads);
        CHECK(same_bits(result_of(stage, in, extent), expected));
      }
    }
}

TEST_CASE("a tile with its halo gives the whole volume's bits") {
  const Extent extent{37, 21, 60};
  const Floats in = ct_like(extent, 6);
  for (const LocalStage& stage : local_stages()) {
    CAPTURE(stage.name);
    const Floats whole = result_of(stage, in, extent);
    Floats tiled;
    for (std::int64_t z = 0; z < extent.z; z += 13) {
      const std::int64_t end = std::min<std::int64_t>(z + 13, extent.z);
      const std::int64_t low = std::max<std::int64_t>(0, z - stage.halo);
      const std::int64_t high = std::min(end + stage.halo, extent.z);
      const Floats tile(in.begin() + low * extent.slice(), in.begin() + high * extent.slice());
      const Floats result = result_of(stage, tile, {extent.x, extent.y, high - low});
      tiled.insert(tiled.end(), result.begin() + (z - low) * extent.slice(),
                   result.begin() + (end - low) * extent.slice());
    }
    CHECK(same_bits(tiled, whole));
  }
}

TEST_CASE("the median has no negative zero, so that bits do not depend on the network") {
  const Extent extent{4, 3, 3};
  Floats in(static_cast<std::size_t>(extent.voxels()), -0.0f);
  CHECK(same_bits(result_of(local_stages()[5], in, extent), Floats(in.size(), 0.0f)));
}

TEST_CASE("five steps of diffusion stay within 2.4e-4 HU of ITK's scheme in double") {
  const Extent extent{31, 26, 18};
  const std::array<double, 3> spacing{0.7, 0.8, 1.5};
  DiffusionStep step;
  std::array<double, 3> per_mm{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    per_mm[axis] = 1 / spacing[axis];
    step.inverse_spacing[axis] = static_cast<float>(per_mm[axis]);
  }
  step.time_step = 0.04f;
  Stages stages = openmp_intensity();
  Floats ours = ct_like(extent, 8), itks = ours, next(ours.size());
  const Floats start = ours;
  for (int iteration = 0; iteration < 5; ++iteration) {
    std::int64_t sum = 0;
    stages.diffusion_gradient(view(std::as_const(ours), extent), 0, extent.z, step, sum,
                              stages.memory);
    step.conductance_k = diffusion_k(sum, extent.voxels(), 1.5);
    const double mean = mean_squared_gradient_in_double(ours, extent, per_mm);
    CHECK(static_cast<double>(step.conductance_k)
          == doctest::Approx(-2 * 1.5 * 1.5 * mean).epsilon(1e-6));
    stages.diffuse(view(std::as_const(ours), extent), view(next, extent), step, stages.memory);
    ours.swap(next);
    itks = diffuse_in_double(itks, extent, per_mm, 1.5, static_cast<double>(0.04f));
  }
  CHECK(largest_difference(ours, itks) < 2.4e-4f);
  CHECK(largest_difference(ours, start) > 10); // something was smoothed
}

TEST_CASE("the bilateral filter is within 2e-3 HU of its formula in double") {
  const Extent extent{23, 14, 9};
  const Floats in = ct_like(extent, 9);
  Stages stages = openmp_intensity();
  const BilateralKernel kernel = bilateral_kernel(2, 1.5, 60, {0.7, 0.7, 1});
  Floats out(in.size());
  stages.bilateral(view(in, extent), view(out, extent), kernel, stages.memory);
  CHECK(largest_difference(out, bilateral_in_double(in, extent, kernel)) < 2e-3f);
  CHECK(largest_difference(out, in) > 5);
}

TEST_CASE(
    "the sum of squared gradients is the same integer in any division among threads and slabs") {
  DiffusionStep step;
  step.inverse_spacing = {1.3f, 1.1f, 0.5f};
  for (const Extent& extent : awkward_extents) {
    CAPTURE(extent.x);
    CAPTURE(extent.z);
    const Floats in = ct_like(extent, 3);
    const std::int64_t expected = gradient_sum(in, extent, 0, extent.z, step);
    for (const int threads : {1, 2}) {
      const ThreadCount count(threads);
      Stages stages = openmp_intensity();
      std::int64_t sum = 0;
      for (std::int64_t z = 0; z < extent.z; z += 5)
        stages.diffusion_gradient(view(in, extent), z, std::min<std::int64_t>(z + 5, extent.z),
                                  step, sum, stages.memory);
      CHECK(sum == expected);
    }
  }
}

TEST_CASE("a squared gradient is rounded to sixteenths and clamped, so that no sum overflows") {
  const float half[3] = {0.5f, 0.5f, 0.5f};
  CHECK(squared_gradient(2, 0, 0, half) == 16);
  CHECK(squared_gradient(2, 4, 6, half) == 16 * (1 + 4 + 9));
  CHECK(squared_gradient(0.25f, 0, 0, half) == 0);  // 1/64 HU^2/mm^2: a quarter of a unit
  CHECK(squared_gradient(0.375f, 0, 0, half) == 1); // 9/256: 0.5625 units
  constexpr std::int32_t most = 2147483520;
  CHECK(squared_gradient(65536, 65536, 65536, half) == most);
  CHECK(squared_gradient(1e30f, 0, 0, half) == most);
  CHECK(static_cast<double>(most) * static_cast<double>(most_voxels) < 0x1p62);
}

TEST_CASE("K is -2 conductance^2 of the mean squared gradient, and never 0") {
  CHECK(diffusion_k(16 * 300, 100, 2) == -24); // mean 3 HU^2/mm^2
  CHECK(diffusion_k(0, 100, 2) == -1e-30f);
  CHECK(diffusion_k(16, 100, 0) == -1e-30f);
}

TEST_CASE("diffusion moves nothing across a gradient so steep that the exponential underflows") {
  const Extent extent{12, 5, 4};
  Floats in;
  for (std::int64_t i = 0; i < extent.voxels(); ++i)
    in.push_back(i % 12 < 6 ? -32768.0f : 32767.0f);
  Stages stages = openmp_intensity();
  DiffusionStep step;
  for (const float k : {-1e-30f, -1.0f, -1e5f}) {
    step.conductance_k = k;
    Floats out(in.size(), NAN);
    stages.diffuse(view(in, extent), view(out, extent), step, stages.memory);
    CHECK(same_bits(out, in));
  }
}

TEST_CASE("a flat volume has K and stays as it is") {
  const Extent extent{9, 8, 7};
  const Floats in(static_cast<std::size_t>(extent.voxels()), 37.25f);
  Stages stages = openmp_intensity();
  DiffusionStep step;
  std::int64_t sum = 0;
  stages.diffusion_gradient(view(in, extent), 0, extent.z, step, sum, stages.memory);
  CHECK(sum == 0);
  step.conductance_k = diffusion_k(sum, extent.voxels(), 3);
  Floats out(in.size(), NAN);
  stages.diffuse(view(in, extent), view(out, extent), step, stages.memory);
  CHECK(same_bits(out, in));
}

TEST_CASE("diffusion keeps the sum of a volume with equal spacing") {
  const Extent extent{20, 19, 18};
  const Floats in = ct_like(extent, 12);
  Stages stages = openmp_intensity();
  DiffusionStep step;
  step.conductance_k = -1e6f;
  Floats out(in.size());
  stages.diffuse(view(in, extent), view(out, extent), step, stages.memory);
  double before = 0, after = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    before += static_cast<double>(in[i]);
    after += static_cast<double>(out[i]);
  }
  CHECK(std::fabs(after - before) / static_cast<double>(in.size()) < 1e-4);
  CHECK_FALSE(same_bits(in, out));
}

TEST_CASE("stored values become HU slice by slice, and padding becomes air") {
  const Extent extent{3, 1, 2};
  const std::vector<std::int16_t> stored{-2000, 0, 100, -32768, 7, 32767};
  const std::vector<Rescale> rescale{{2, -1000}, {0.5f, 24.25f}};
  CtImage image;
  Stages stages = openmp_intensity();
  Floats hu(6);
  const auto run = [&] {
    stages.rescale({stored.data(), extent}, view(hu, extent), rescale, image, stages.memory);
  };
  run();
  CHECK(hu == Floats{-5000, -1000, -800, -16359.75f, 27.75f, 16407.75f});
  image.has_padding = true;
  image.padding_low = -2000;
  image.padding_high = 0;
  run();
  CHECK(hu == Floats{air_hu, air_hu, -800, -16359.75f, 27.75f, 16407.75f});
  const Floats stored_floats(stored.begin(), stored.end());
  Floats from_floats(6);
  stages.rescale_float(view(stored_floats, extent), view(from_floats, extent), rescale, image,
                       stages.memory);
  CHECK(from_floats == hu);
}

TEST_CASE("HU are the fused product and sum in every place of a long slice") {
  const Extent extent{301, 217, 3}; // slices of several pieces, none a whole number of vectors
  std::vector<std::int16_t> stored;
  std::mt19937 generator(4);
  for (std::int64_t i = 0; i < extent.voxels(); ++i)
    stored.push_back(static_cast<std::int16_t>(generator()));
  const std::vector<Rescale> rescale{{1, -1024}, {1.37f, 0.3f}, {0.001f, 5}};
  CtImage image;
  image.has_padding = true;
  image.padding_low = image.padding_high = stored[777];
  Stages stages = openmp_intensity();
  Floats hu(stored.size());
  stages.rescale({stored.data(), extent}, view(hu, extent), rescale, image, stages.memory);
  int wrong = 0;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const Rescale& slice = rescale[i / static_cast<std::size_t>(extent.slice())];
    const float expected =
        stored[i] == stored[777]
            ? air_hu
            : std::fma(slice.slope, static_cast<float>(stored[i]), slice.intercept);
    wrong += bits_of(hu[i]) != bits_of(expected);
  }
  CHECK(wrong == 0);
}

TEST_CASE(
    "trilinear interpolation gives its definition's bits, up and down, with 1 and 2 threads") {
  const std::vector<std::pair<Extent, Extent>> cases{
      {{33, 17, 9}, {20, 11, 5}},  {{33, 17, 9}, {61, 40, 23}}, {{1, 1, 1}, {4, 3, 2}},
      {{7, 1, 5}, {7, 1, 5}},      {{16, 70, 3}, {5, 70, 9}},   {{64, 5, 30}, {1, 1, 1}},
      {{12, 12, 12}, {24, 80, 3}},
  };
  for (const auto& [a, b] : cases) {
    const Extent &from = a, &to = b;
    CAPTURE(from.x);
    CAPTURE(to.x);
    const Floats in = ct_like(from, 2);
    const ResampleTables tables = tables_between(from, to);
    const Floats expected = resample(in, from, to, tables);
    for (const int threads : {1, 2}) {
      const ThreadCount count(threads);
      Stages stages = openmp_intensity();
      Floats out(static_cast<std::size_t>(to.voxels()), NAN);
      stages.resample(view(in, from), view(out, to), tables, stages.memory);
      CHECK(same_bits(out, expected));
    }
  }
}

TEST_CASE("a linear ramp is interpolated exactly and ends are held") {
  const Extent from{5, 1, 1}, to{8, 1, 1};
  const Floats in{0, 10, 20, 30, 40};
  const ResampleTables tables{axis_table(5, 8, -1, 0.75), axis_table(1, 1, 0, 1),
                              axis_table(1, 1, 0, 1)};
  Stages stages = openmp_intensity();
  Floats out(8);
  stages.resample(view(in, from), view(out, to), tables, stages.memory);
  CHECK(out == Floats{0, 0, 5, 12.5f, 20, 27.5f, 35, 40}); // at -1, -0.25, 0.5, ... 4.25
}

TEST_CASE("labels come from the nearest voxel, the lower one of two equally near") {
  const Extent from{4, 1, 2}, to{5, 1, 2};
  const std::vector<std::uint32_t> in{1, 2, 3, 4, 5, 6, 7, 0xFFFF'FFFF};
  const ResampleTables tables{axis_table(4, 5, 0.25, 0.625), axis_table(1, 1, 0, 1),
                              axis_table(2, 2, 0.5, 0.25)};
  Stages stages = openmp_intensity();
  std::vector<std::uint32_t> out(10);
  stages.resample_labels({in.data(), from}, {out.data(), to}, tables, stages.memory);
  // x at 0.25, 0.875, 1.5, 2.125, 2.75: voxels 0, 1, 1, 2, 3; z at 0.5, 0.75: slices 0, 1.
  CHECK(out == std::vector<std::uint32_t>{1, 2, 2, 3, 4, 5, 6, 6, 7, 0xFFFF'FFFF});
}

TEST_CASE("an axis table never points past the last voxel") {
  for (const std::int64_t input : {1, 2, 7})
    for (const double first : {-3.0, 0.0, 0.3})
      for (const double step : {0.1, 1.0, 2.7}) {
        const AxisTable table = axis_table(input, 40, first, step);
        REQUIRE(table.lower.size() == 40);
        REQUIRE(table.weight.size() == 40);
        for (std::size_t i = 0; i < 40; ++i) {
          CHECK(table.lower[i] >= 0);
          CHECK(table.weight[i] >= 0);
          CHECK(table.weight[i] <= 1);
          CHECK(upper_of(table.lower[i], table.weight[i]) <= input - 1);
        }
      }
}

TEST_CASE("gaussian taps reach ceil(4 sigma) voxels, at most 64, and sum to one") {
  const GaussianTaps taps = gaussian_taps(1.5, {1, 0.5, 0.05});
  CHECK(taps.x.size() == 7);
  CHECK(taps.y.size() == 13);
  CHECK(taps.z.size() == 65); // sigma is 30 voxels
  CHECK(taps.radius_z() == 64);
  for (const Floats& axis : {taps.x, taps.y, taps.z}) {
    double sum = static_cast<double>(axis[0]);
    for (std::size_t i = 1; i < axis.size(); ++i) {
      sum += 2 * static_cast<double>(axis[i]);
      CHECK(axis[i] < axis[i - 1]);
    }
    CHECK(sum == doctest::Approx(1).epsilon(1e-6));
  }
  CHECK(taps.x[2] / taps.x[0] == doctest::Approx(std::exp(-0.5 * (2 / 1.5) * (2 / 1.5))));
  CHECK(gaussian_taps(0, {1, 1, 1}).x == Floats{1});
}

TEST_CASE("bilateral weights are 1 in the middle, fall with the distance in mm and lie x fastest") {
  const BilateralKernel kernel = bilateral_kernel(1, 2, 50, {1, 2, 3});
  REQUIRE(kernel.spatial_weights.size() == 27);
  CHECK(kernel.sigma_hu == 50);
  CHECK(kernel.spatial_weights[13] == 1);
  CHECK(kernel.spatial_weights[14] == doctest::Approx(std::exp(-1 / 8.0)));
  CHECK(kernel.spatial_weights[16] == doctest::Approx(std::exp(-4 / 8.0)));
  CHECK(kernel.spatial_weights[22] == doctest::Approx(std::exp(-9 / 8.0)));
  CHECK(kernel.spatial_weights[26] == doctest::Approx(std::exp(-14 / 8.0)));
}

TEST_CASE("the work of a call counts the bytes a voxel that must move") {
  const Extent extent{24, 10, 6};
  const auto voxels = static_cast<double>(extent.voxels());
  const Floats in = ct_like(extent, 1);
  Floats out(in.size());
  Stages s = openmp_intensity();
  const auto bytes = [&](const Work& work) {
    CHECK(work.lane_instructions > 10 * voxels);
    CHECK(work.launches >= 1);
    CHECK(work.parallel_width == voxels);
    return work.dram_bytes / voxels;
  };
  std::int64_t sum = 0;
  const DiffusionStep step{{1, 1, 1}, 0.06f, -1000};
  CHECK(
      bytes(s.gaussian(view(in, extent), view(out, extent), gaussian_taps(1, {1, 1, 1}), s.memory))
      == 16);
  CHECK(bytes(s.median(view(in, extent), view(out, extent), s.memory)) == 8);
  CHECK(bytes(s.diffusion_gradient(view(in, extent), 0, extent.z, step, sum, s.memory))
            + bytes(s.diffuse(view(in, extent), view(out, extent), step, s.memory))
        == 12);
}
