// The network on oneDNN, as the OpenMP engine runs it, open enough for the peer benchmark to time
// its convolutions one by one; and single convolutions in plain layout for the GPU path's host
// build. No type of oneDNN's is in here.
#pragma once

#include "workloads/imaging/memory.h"
#include "workloads/imaging/unet.h"

#include <memory>

namespace breakeven::imaging {

class OneDnnNetwork {
public:
  /// All buffers and primitives are made here, none later. Runs on `threads` threads; so must every
  /// call.
  OneDnnNetwork(const UNetSpec& spec, const UNetWeights& weights, int threads, Memory& memory);
  ~OneDnnNetwork();

  float* input() const; ///< [z][y][x] of the patch, to be filled before run()
  void run();           ///< all layers but the head
  /// The finest stage's activations after run(): [channel / block][z][y][x][channel % block].
  const float* features() const;
  int channel_block() const;

  std::size_t layers() const; ///< the head left out
  /// Runs layer i alone on whatever its buffers hold: its convolution without norm.
  void run_convolution(std::size_t i);
  /// The same by oneDNN's own deconvolution where the layer is transposed and run() does better.
  void run_library_convolution(std::size_t i);

private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// One convolution or transposed convolution, its bias left out, on [channel][z][y][x].
class PlainConvolution {
public:
  PlainConvolution(const UNetLayer& layer, const float* weight);
  ~PlainConvolution();
  PlainConvolution(PlainConvolution&&) noexcept;
  void run(const float* input, float* output) const;

private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

} // namespace breakeven::imaging
