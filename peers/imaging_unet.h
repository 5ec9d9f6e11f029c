// Our U-Net on oneDNN beside the bare sum of its convolutions, which a network cannot beat: what is
// lost to norms, borders, activations and cold caches.
#pragma once

#include "peers/interleaved.h"
#include "workloads/imaging/unet.h"

#include <vector>

namespace breakeven::peers {

/// A patch that runs in seconds, of the widths and depth of nnU-Net's 3d_fullres.
imaging::UNetSpec unet_of_peers();

/// Two rows, seconds of one window, medians of `pairs` passes that take turns:
/// imaging.unet.convolutions: the peer is the sum over all layers of the convolution alone, with
/// its input warm: oneDNN's, and of a transposed convolution the faster of oneDNN's and ours.
/// imaging.unet.library: the peer is the same with oneDNN's throughout.
std::vector<Row> compare_unet(const imaging::UNetSpec& spec, int threads, int pairs, Clock clock);

} // namespace breakeven::peers
