#include "workloads/imaging/unet_onednn.h"

#include "sim/errors.h"
#include "workloads/host_device.h"
#include "workloads/imaging/host_memory.h"
#include "workloads/imaging/unet_memory.h"

#include <dnnl.hpp>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

namespace breakeven::imaging {

namespace {

using dnnl::memory;
using Dims = memory::dims;
using Tag = memory::format_tag;
using Arguments = std::unordered_map<int, memory>;
constexpr auto f32 = memory::data_type::f32;

/// Runs a function on a number of OpenMP threads, oneDNN's included, and sets the number back.
class Threads {
public:
  explicit Threads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

private:
  int before_;
};

template <class Function>
auto guarded(Function function) {
  try {
    return function();
  } catch (const dnnl::error& error) {
    throw Failure(std::string("oneDNN: ") + error.what());
  }
}

Dims dims_of(int channels, const Extent& extent) {
  return {1, channels, extent.z, extent.y, extent.x};
}

struct Shape {
  memory::desc source, weight, target;
  Dims strides, padding;
};

// oneDNN 3 makes a primitive's descriptor in one step where 2 took two. Here alone that is asked.
#if DNNL_VERSION_MAJOR >= 3
auto convolution_of(const Shape& s, const dnnl::engine& engine, const dnnl::primitive_attr& attr) {
  return dnnl::convolution_forward::primitive_desc(
      engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, s.source,
      s.weight, s.target, s.strides, s.padding, s.padding, attr);
}
auto deconvolution_of(const Shape& s, const dnnl::engine& engine,
                      const dnnl::primitive_attr& attr) {
  return dnnl::deconvolution_forward::primitive_desc(
      engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, s.source,
      s.weight, s.target, s.strides, s.padding, s.padding, attr);
}
#else
auto convolution_of(const Shape& s, const dnnl::engine& engine, const dnnl::primitive_attr& attr) {
  return dnnl::convolution_forward::primitive_desc(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, s.source, s.weight,
       s.target, s.strides, s.padding, s.padding},
      attr, engine);
}
auto deconvolution_of(const Shape& s, const dnnl::engine& engine,
                      const dnnl::primitive_attr& attr) {
  return dnnl::deconvolution_forward::primitive_desc(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, s.source,
       s.weight, s.target, s.strides, s.padding, s.padding},
      attr, engine);
}
#endif

struct Operation {
  dnnl::primitive primitive;
  memory::desc weight, scratchpad;
};

Operation operation_of(const UNetLayer& layer, const Shape& shape, const dnnl::engine& engine) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (layer.kind == LayerKind::transposed) {
    const auto description = deconvolution_of(shape, engine, attr);
    return {dnnl::deconvolution_forward(description), description.weights_desc(),
            description.scratchpad_desc()};
  }
  const auto description = convolution_of(shape, engine, attr);
  return {dnnl::convolution_forward(description), description.weights_desc(),
          description.scratchpad_desc()};
}

Shape shape_of(const UNetLayer& layer, int in, int out, Tag source, Tag target) {
  const memory::dim k = layer.kernel, s = layer.stride,
                    p = layer.kind == LayerKind::convolution ? 1 : 0;
  return {{dims_of(in, layer.input), f32, source},
          {{out, in, k, k, k}, f32, Tag::any},
          {dims_of(out, layer.output), f32, target},
          {s, s, s},
          {p, p, p}};
}

/// [out][in][taps] of a layer with channels padded: of `in` x `out` channels, whose halves are
/// padded one by one where the layer reads up-sampled and skip channels. The rest is zero.
std::vector<float> padded_weights(const UNetLayer& layer, const std::vector<float>& weight, int in,
                                  int out) {
  const auto taps = static_cast<std::size_t>(layer.kernel * layer.kernel * layer.kernel);
  const bool is_joined = layer.kind == LayerKind::convolution && layer.in == 2 * layer.out;
  std::vector<float> padded(static_cast<std::size_t>(in) * static_cast<std::size_t>(out) * taps);
  for (int o = 0; o < layer.out; ++o)
    for (int i = 0; i < layer.in; ++i) {
      const int place = is_joined && i >= layer.out ? in / 2 + i - layer.out : i;
      const auto from = layer.kind == LayerKind::transposed
                            ? static_cast<std::size_t>(i) * static_cast<std::size_t>(layer.out)
                                  + static_cast<std::size_t>(o)
                            : static_cast<std::size_t>(o) * static_cast<std::size_t>(layer.in)
                                  + static_cast<std::size_t>(i);
      const auto to = static_cast<std::size_t>(o) * static_cast<std::size_t>(in)
                      + static_cast<std::size_t>(place);
      std::copy_n(weight.begin() + static_cast<std::ptrdiff_t>(from * taps), taps,
                  padded.begin() + static_cast<std::ptrdiff_t>(to * taps));
    }
  return padded;
}

// ---- one block of channels as a vector ----

template <int block>
struct Lanes;
template <>
struct Lanes<16> {
  typedef float Type __attribute__((vector_size(64), aligned(64), may_alias));
};
template <>
struct Lanes<8> {
  typedef float Type __attribute__((vector_size(32), aligned(32), may_alias));
};

/// c += a * b lane by lane, rounded once where the machine can. GCC contracts vector types only
/// where it contracts all code, so the instruction is named where there is one. By reference: a
/// vector wider than the machine's has no agreed way to be returned.
template <class Vector>
inline void add_product(Vector& c, const Vector& a, const Vector& b) {
#if defined(__AVX512F__)
  if constexpr (sizeof(Vector) == 64) {
    c = reinterpret_cast<Vector>(_mm512_fmadd_ps(
        reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
    return;
  }
#endif
#if defined(__AVX2__) && defined(__FMA__)
  if constexpr (sizeof(Vector) == 32) {
    c = reinterpret_cast<Vector>(_mm256_fmadd_ps(
        reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
    return;
  }
#endif
  c += a * b;
}

// ---- instance norm and leaky ReLU ----

struct NormPartial {
  double mean = 0, squares = 0; ///< squared deviations from the mean
};

struct Norm {
  int channels = 0; ///< padded
  std::int64_t voxels = 0;
  const float* scale = nullptr; ///< padded channels have 0
  const float* shift = nullptr;
  std::int64_t chunks() const { return (voxels + norm_chunk_voxels - 1) / norm_chunk_voxels; }
};

/// Sums of one chunk of a block of channels. Deviations are from the chunk's first voxel, so that a
/// mean far from zero costs no digits.
template <int block>
void sum_chunk(const float* values, std::int64_t voxels, NormPartial* partials) {
  using Vector = typename Lanes<block>::Type;
  constexpr std::int64_t ways = 4;
  const auto* in = reinterpret_cast<const Vector*>(values);
  const Vector pivot = in[0];
  Vector sums[ways] = {}, squares[ways] = {};
  std::int64_t i = 0;
  for (; i + ways <= voxels; i += ways)
#pragma GCC unroll 4
    for (std::int64_t way = 0; way < ways; ++way) {
      const Vector deviation = in[i + way] - pivot;
      sums[way] += deviation;
      add_product(squares[way], deviation, deviation);
    }
  for (; i < voxels; ++i) {
    const Vector deviation = in[i] - pivot;
    sums[0] += deviation;
    add_product(squares[0], deviation, deviation);
  }
  const Vector sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  const Vector square = (squares[0] + squares[1]) + (squares[2] + squares[3]);
  const auto count = static_cast<double>(voxels);
  for (int lane = 0; lane < block; ++lane) {
    const double mean = static_cast<double>(sum[lane]) / count;
    partials[lane] = {static_cast<double>(pivot[lane]) + mean,
                      std::max(0.0, static_cast<double>(square[lane]) - count * mean * mean)};
  }
}

/// Joins the chunks of one channel, in order (Chan, Golub and LeVeque 1979), to factor and offset.
void join_chunks(const Norm& norm, const NormPartial* partials, int channel_in_block, int block,
                 float scale, float shift, float& factor, float& offset) {
  double count = 0, mean = 0, squares = 0;
  for (std::int64_t chunk = 0; chunk < norm.chunks(); ++chunk) {
    const NormPartial& more = partials[chunk * block + channel_in_block];
    const auto voxels =
        static_cast<double>(std::min(norm_chunk_voxels, norm.voxels - chunk * norm_chunk_voxels));
    const double delta = more.mean - mean, total = count + voxels;
    mean += delta * voxels / total;
    squares += more.squares + delta * delta * count * voxels / total;
    count = total;
  }
  const double inverse = 1 / std::sqrt(squares / count + static_cast<double>(norm_epsilon));
  factor = static_cast<float>(static_cast<double>(scale) * inverse);
  offset =
      static_cast<float>(static_cast<double>(shift) - mean * static_cast<double>(scale) * inverse);
}

template <int block>
void apply_chunk(float* values, std::int64_t voxels, const float* factors, const float* offsets) {
  using Vector = typename Lanes<block>::Type;
  auto* out = reinterpret_cast<Vector*>(values);
  const Vector factor = *reinterpret_cast<const Vector*>(factors);
  const Vector offset = *reinterpret_cast<const Vector*>(offsets);
  for (std::int64_t i = 0; i < voxels; ++i) {
    Vector value = offset;
    add_product(value, out[i], factor);
    const Vector leaked = value * negative_slope;
    out[i] = value > leaked ? value : leaked;
  }
}

/// In place on [channel / block][voxel][block]. One parallel region: a pass to sum, a pass to
/// apply.
template <int block>
void norm_and_leaky_relu(float* values, const Norm& norm, NormPartial* partials, float* factors) {
  const std::int64_t blocks = norm.channels / block, chunks = norm.chunks();
  const auto chunk_of = [&](std::int64_t i, auto function) {
    const std::int64_t of_block = i / chunks, chunk = i % chunks;
    const std::int64_t first = chunk * norm_chunk_voxels;
    function(values + (of_block * norm.voxels + first) * block,
             std::min(norm_chunk_voxels, norm.voxels - first), of_block);
  };
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < blocks * chunks; ++i)
      chunk_of(i, [&](const float* from, std::int64_t voxels, std::int64_t) {
        sum_chunk<block>(from, voxels, partials + i * block);
      });
#pragma omp for schedule(static)
    for (int channel = 0; channel < norm.channels; ++channel)
      join_chunks(norm, partials + channel / block * chunks * block, channel % block, block,
                  norm.scale[channel], norm.shift[channel], factors[channel],
                  factors[norm.channels + channel]);
      // Backwards: what the first pass read last may still be in a cache.
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < blocks * chunks; ++i)
      chunk_of(blocks * chunks - 1 - i, [&](float* to, std::int64_t voxels, std::int64_t of_block) {
        apply_chunk<block>(to, voxels, factors + of_block * block,
                           factors + norm.channels + of_block * block);
      });
  }
}

// ---- transposed convolution ----

// oneDNN 2.6 runs a transposed convolution as the gradient of a strided one, at a quarter to a half
// of the rate of its convolutions. With kernel and stride 2 it is no more than eight products of
// matrices, one an output parity, so it is done here: `tile` voxels by 2 blocks of outputs (x even
// and odd) stay in registers over all input channels.
template <int block, int tile>
inline void up_tile(const float* in, std::int64_t in_stride, int in_blocks, const float* weight,
                    const float* bias, float* out) {
  using Vector = typename Lanes<block>::Type;
  const Vector start = *reinterpret_cast<const Vector*>(bias);
  Vector sums[tile][2];
#pragma GCC unroll 8
  for (int t = 0; t < tile; ++t)
    sums[t][0] = sums[t][1] = start;
  const auto* w = reinterpret_cast<const Vector*>(weight);
  for (int in_block = 0; in_block < in_blocks; ++in_block, in += in_stride)
    for (int lane = 0; lane < block; ++lane, w += 2) {
      const Vector even = w[0], odd = w[1];
#pragma GCC unroll 8
      for (int t = 0; t < tile; ++t) {
        const Vector value = Vector{} + in[t * block + lane];
        add_product(sums[t][0], value, even);
        add_product(sums[t][1], value, odd);
      }
    }
  auto* to = reinterpret_cast<Vector*>(out);
#pragma GCC unroll 8
  for (int t = 0; t < tile; ++t) {
    to[2 * t] = sums[t][0];
    to[2 * t + 1] = sums[t][1];
  }
}

/// Weights [out / block][z][y][in][x][out % block] of padded [out][in][z][y][x].
void pack_up_weights(const std::vector<float>& padded, int in, int out, int block, float* packed) {
  for (int o = 0; o < out; o += block)
    for (int zy = 0; zy < 4; ++zy)
      for (int i = 0; i < in; ++i)
        for (int x = 0; x < 2; ++x)
          for (int lane = 0; lane < block; ++lane)
            *packed++ = padded[(static_cast<std::size_t>(o + lane) * static_cast<std::size_t>(in)
                                + static_cast<std::size_t>(i))
                                   * 8
                               + static_cast<std::size_t>(zy * 2 + x)];
}

template <int block>
void up_sample(const UNetLayer& layer, int in, int out, const float* source, const float* weight,
               const float* bias, float* target) {
  const Extent &from = layer.input, &to = layer.output;
  constexpr int tile = block == 16 ? 8 : 4;
  const std::int64_t rows = out / block * to.z * to.y;
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t y = row % to.y, z = row / to.y % to.z, out_block = row / (to.y * to.z);
    const float* in_row = source + ((z / 2) * from.y + y / 2) * from.x * block;
    const float* w = weight + (out_block * 4 + z % 2 * 2 + y % 2) * in * 2 * block;
    float* out_row = target + row * to.x * block;
    const auto do_tile = [&]<int width>(std::int64_t x) {
      up_tile<block, width>(in_row + x * block, from.voxels() * block, in / block, w,
                            bias + out_block * block, out_row + 2 * x * block);
    };
    std::int64_t x = 0;
    for (; x + tile <= from.x; x += tile)
      do_tile.template operator()<tile>(x);
    for (; x + 2 <= from.x; x += 2)
      do_tile.template operator()<2>(x);
    for (; x < from.x; ++x)
      do_tile.template operator()<1>(x);
  }
}

} // namespace

// ---- the network -----------------------------------------------------------------------------

struct OneDnnNetwork::Parts {
  struct Step {
    UNetLayer layer;
    int in = 0, out = 0; ///< padded
    float *source = nullptr, *target = nullptr;
    Block<float> weight, scale, shift;
    Operation operation; ///< of a transposed convolution: made when first asked for
    Arguments arguments;
  };

  Parts(const UNetSpec& spec, const UNetWeights& weights, int threads_asked, Memory& memory)
      : threads(threads_asked),
        engine(dnnl::engine::kind::cpu, 0),
        stream(engine),
        block(channel_block_here()) {
    const ActivationPlan plan = plan_activations(spec, block);
    input = Block<float>(memory, plan.input);
    spare = Block<float>(memory, plan.spare);
    for (const std::size_t half : plan.half)
      stages.emplace_back(memory, 2 * half);
    half = plan.half;
    std::int64_t most_partials = 0, most_scratch = 64;
    int most_channels = 0;
    const auto layers = unet_layers(spec);
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
      add_step(layers[i], weights.layers[i], spec, memory);
      const Step& step = steps.back();
      most_partials = std::max(most_partials, norm_of(step).chunks() * step.out);
      most_channels = std::max(most_channels, step.out);
      if (step.operation.primitive)
        most_scratch =
            std::max(most_scratch, static_cast<std::int64_t>(step.operation.scratchpad.get_size()));
    }
    partials = Block<NormPartial>(memory, static_cast<std::size_t>(most_partials));
    factors = Block<float>(memory, 2 * static_cast<std::size_t>(most_channels));
    scratch = Block<std::byte>(memory, static_cast<std::size_t>(most_scratch));
    for (Step& step : steps)
      if (step.operation.primitive) set_scratchpad(step, scratch.data());
  }

  static int channel_block_here() {
    // The vectors of this file are as wide as it was compiled for, oneDNN's as the machine has.
#if defined(__AVX512F__)
    return 16;
#else
    return 8;
#endif
  }

  int padded(int channels) const { return (channels + block - 1) / block * block; }
  Tag blocked() const { return block == 16 ? Tag::nCdhw16c : Tag::nCdhw8c; }

  void place(Step& step, const UNetSpec& spec) {
    const UNetLayer& layer = step.layer;
    const auto stage = static_cast<std::size_t>(layer.stage);
    const bool in_decoder = layer.name.starts_with("decoder");
    const bool is_second = layer.name.ends_with(".1") && layer.kind == LayerKind::convolution;
    const auto first_half = [&](std::size_t at) { return stages[at].data(); };
    const auto second_half = [&](std::size_t at) { return stages[at].data() + half[at]; };
    if (layer.kind == LayerKind::transposed) {
      const bool from_bottom = stage + 2 == static_cast<std::size_t>(spec.stages);
      step.source = from_bottom ? second_half(stage + 1) : first_half(stage + 1);
      step.target = first_half(stage);
    } else if (in_decoder) {
      step.source = is_second ? spare.data() : first_half(stage);
      step.target = is_second ? first_half(stage) : spare.data();
    } else {
      step.source = is_second    ? first_half(stage)
                    : stage == 0 ? input.data()
                                 : second_half(stage - 1);
      step.target = is_second ? second_half(stage) : first_half(stage);
    }
  }

  void add_step(const UNetLayer& layer, const LayerWeights& weights, const UNetSpec& spec,
                Memory& memory) {
    Step step;
    step.layer = layer;
    step.out = padded(layer.out);
    step.in = layer.in == 1 && layer.stage == 0 ? 1
              : layer.in == 2 * layer.out && layer.kind == LayerKind::convolution
                  ? 2 * step.out
                  : padded(layer.in);
    place(step, spec);
    const auto fill = [&](const std::vector<float>& values) {
      Block<float> filled(memory, static_cast<std::size_t>(step.out));
      std::fill_n(filled.data(), step.out, 0.0f);
      std::copy(values.begin(), values.end(), filled.data());
      return filled;
    };
    step.shift = fill(weights.shift);
    step.scale = fill(weights.scale);
    const std::vector<float> dense = padded_weights(layer, weights.weight, step.in, step.out);
    if (layer.kind == LayerKind::transposed) {
      step.weight = Block<float>(memory, dense.size());
      pack_up_weights(dense, step.in, step.out, block, step.weight.data());
    } else {
      make_operation(step, dense, memory);
    }
    steps.push_back(std::move(step));
  }

  void make_operation(Step& step, const std::vector<float>& dense, Memory& memory) {
    const Tag source = step.in == 1 ? Tag::ncdhw : blocked();
    const Shape shape = shape_of(step.layer, step.in, step.out, source, blocked());
    step.operation = operation_of(step.layer, shape, engine);
    const memory::desc& wanted = step.operation.weight;
    step.weight = Block<float>(memory, wanted.get_size() / sizeof(float));
    const memory::dim k = step.layer.kernel;
    dnnl::memory plain({{step.out, step.in, k, k, k}, f32, Tag::oidhw}, engine,
                       const_cast<float*>(dense.data()));
    dnnl::memory weight(wanted, engine, step.weight.data());
    dnnl::reorder(plain, weight).execute(stream, plain, weight);
    stream.wait();
    step.arguments = {{DNNL_ARG_SRC, dnnl::memory(shape.source, engine, step.source)},
                      {DNNL_ARG_WEIGHTS, weight},
                      {DNNL_ARG_DST, dnnl::memory(shape.target, engine, step.target)}};
  }

  void set_scratchpad(Step& step, void* data) {
    step.arguments.insert_or_assign(DNNL_ARG_SCRATCHPAD,
                                    dnnl::memory(step.operation.scratchpad, engine, data));
  }

  Norm norm_of(const Step& step) const {
    return {step.out, step.layer.output.voxels(), step.scale.data(), step.shift.data()};
  }

  void convolve(Step& step) {
    if (step.layer.kind == LayerKind::transposed) {
      const auto up = block == 16 ? up_sample<16> : up_sample<8>;
      up(step.layer, step.in, step.out, step.source, step.weight.data(), step.shift.data(),
         step.target);
      return;
    }
    step.operation.primitive.execute(stream, step.arguments);
    stream.wait();
  }

  void run() {
    const Threads scope(threads);
    const auto norm = block == 16 ? norm_and_leaky_relu<16> : norm_and_leaky_relu<8>;
    for (Step& step : steps) {
      convolve(step);
      if (step.layer.kind == LayerKind::convolution)
        norm(step.target, norm_of(step), partials.data(), factors.data());
    }
  }

  /// Only the benchmark asks for it, and weights of any value do.
  void library_convolve(Step& step) {
    if (step.layer.kind == LayerKind::transposed && !step.operation.primitive) {
      Memory& memory = library_memory;
      const std::vector<float> dense(
          step.layer.weights() * 4 + static_cast<std::size_t>(step.in * step.out * 8), 0.01f);
      Block<float> packed = std::move(step.weight);
      make_operation(step, dense, memory);
      library_weights.push_back(std::move(step.weight));
      step.weight = std::move(packed);
      library_scratch.emplace_back(memory,
                                   std::max<std::size_t>(64, step.operation.scratchpad.get_size()));
      set_scratchpad(step, library_scratch.back().data());
    }
    step.operation.primitive.execute(stream, step.arguments);
    stream.wait();
  }

  int threads;
  dnnl::engine engine;
  dnnl::stream stream;
  int block;
  Block<float> input, spare;
  std::vector<Block<float>> stages;
  std::vector<std::size_t> half;
  std::vector<Step> steps;
  Block<NormPartial> partials;
  Block<float> factors;
  Block<std::byte> scratch;
  Memory library_memory = host_memory();
  std::vector<Block<float>> library_weights;
  std::vector<Block<std::byte>> library_scratch;
};

OneDnnNetwork::OneDnnNetwork(const UNetSpec& spec, const UNetWeights& weights, int threads,
                             Memory& memory) {
  const Threads scope(threads);
  parts_ = guarded([&] { return std::make_unique<Parts>(spec, weights, threads, memory); });
}
OneDnnNetwork::~OneDnnNetwork() = default;
float* OneDnnNetwork::input() const { return parts_->input.data(); }
const float* OneDnnNetwork::features() const { return parts_->stages.front().data(); }
int OneDnnNetwork::channel_block() const { return parts_->block; }
std::size_t OneDnnNetwork::layers() const { return parts_->steps.size(); }
void OneDnnNetwork::run() {
  guarded([&] { parts_->run(); });
}
void OneDnnNetwork::run_convolution(std::size_t i) {
  const Threads scope(parts_->threads);
  guarded([&] { parts_->convolve(parts_->steps[i]); });
}
void OneDnnNetwork::run_library_convolution(std::size_t i) {
  const Threads scope(parts_->threads);
  guarded([&] { parts_->library_convolve(parts_->steps[i]); });
}

// ---- one convolution, plain layout -----------------------------------------------------------

struct PlainConvolution::Parts {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  Shape shape;
  Operation operation;
  memory weight, scratchpad;
};

PlainConvolution::PlainConvolution(const UNetLayer& layer, const float* values)
    : parts_(std::make_unique<Parts>()) {
  guarded([&] {
    Parts& parts = *parts_;
    dnnl::stream stream(parts.engine);
    parts.shape = shape_of(layer, layer.in, layer.out, Tag::ncdhw, Tag::ncdhw);
    parts.operation = operation_of(layer, parts.shape, parts.engine);
    const memory::dim k = layer.kernel;
    // The head's kernel has one tap and pads nothing.
    const Tag tag = layer.kind == LayerKind::transposed ? Tag::iodhw : Tag::oidhw;
    memory plain({{layer.out, layer.in, k, k, k}, f32, tag}, parts.engine,
                 const_cast<float*>(values));
    parts.weight = memory(parts.operation.weight, parts.engine);
    parts.scratchpad = memory(parts.operation.scratchpad, parts.engine);
    dnnl::reorder(plain, parts.weight).execute(stream, plain, parts.weight);
    stream.wait();
  });
}
PlainConvolution::~PlainConvolution() = default;
PlainConvolution::PlainConvolution(PlainConvolution&&) noexcept = default;

void PlainConvolution::run(const float* input, float* output) const {
  guarded([&] {
    const Parts& parts = *parts_;
    dnnl::stream stream(parts.engine);
    memory source(parts.shape.source, parts.engine, const_cast<float*>(input));
    memory target(parts.shape.target, parts.engine, output);
    parts.operation.primitive.execute(stream, {{DNNL_ARG_SRC, source},
                                               {DNNL_ARG_WEIGHTS, parts.weight},
                                               {DNNL_ARG_DST, target},
                                               {DNNL_ARG_SCRATCHPAD, parts.scratchpad}});
    stream.wait();
  });
}

} // namespace breakeven::imaging
