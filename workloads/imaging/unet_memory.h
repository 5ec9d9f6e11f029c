// How the engines lay out one window's activations, shared so that what is predicted is what is
// allocated. Leaves out weights and logits.
#pragma once

#include "workloads/imaging/unet.h"

namespace breakeven::imaging {

/// Values of each buffer. A decoder stage reads up-sampled and skip channels side by side, so each
/// stage has a buffer of two halves: the encoder's first convolution writes the first half, its
/// second the other, where it waits as the skip; the transposed convolution then fills the first.
/// The decoder's first convolution writes `spare`, its second the first half again. Nothing is ever
/// copied to be concatenated.
struct ActivationPlan {
  std::size_t input = 0;
  std::vector<std::size_t> half; ///< a stage; the coarsest stage's halves are its two convolutions
  std::size_t spare = 0;
  std::size_t values() const;
};
/// Channels are padded to a multiple of `channel_block`.
ActivationPlan plan_activations(const UNetSpec& spec, int channel_block);

/// Voxels of a channel whose mean and squared deviations are summed as one, so that the norm's sums
/// have the same order for every number of threads.
constexpr std::int64_t norm_chunk_voxels = 4096;
constexpr float norm_epsilon = 1e-5f;   ///< PyTorch's InstanceNorm3d
constexpr float negative_slope = 0.01f; ///< of the leaky ReLU

/// cuDNN's, for any one convolution; algorithms that ask for more are not considered.
constexpr std::int64_t convolution_workspace_bytes = std::int64_t{1} << 30;

} // namespace breakeven::imaging
