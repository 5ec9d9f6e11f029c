// Published times of nnU-Net's 3-D network, against the shipped catalog and the model:
// NVIDIA/DeepLearningExamples, commit 4da7bf28, PyTorch/Segmentation/nnUNet/README.md, inference in
// the PyTorch 22.11 container, one patch of 128^3 at a time. The share that convolutions reach of
// the tensor cores' rate was chosen with the three rows that use them in view; the FP32 row is a
// held-out test of the lanes' share.
#include "sim/project/gpu_model.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace breakeven;

namespace {

const struct {
  const char* gpu;
  double Work::*flops;
  double bytes_per_value, published_ms;
} rows[] = {
    {"A100-SXM4-80GB", &Work::tensor_fp16_flops, 2, 14.61},
    {"A100-SXM4-80GB", &Work::tensor_tf32_flops, 4, 28.55},
    {"V100-SXM2-32GB", &Work::tensor_fp16_flops, 2, 27.08},
    {"V100-SXM2-32GB", &Work::fp32_flops, 4, 100.78},
};

/// Four input channels, 32 to 320 features, six resolutions: summed over the layers as the U-Net
/// counts its own, a convolution's output written once, read twice and written by the norm.
Work one_patch(double Work::*flops, double bytes_per_value) {
  Work work;
  work.*flops = 0.9651e12;
  work.lane_instructions = work.fp32_flops / 2;
  work.dram_bytes = (1.995e9 + 31.2e6) * bytes_per_value; // activations, weights
  work.launches = 22 * 4 + 5 * 2;
  work.parallel_width = 32.0 * 128 * 128 * 128;
  return work;
}

} // namespace

TEST_CASE("published U-Net times lie within the projection, and within 1.4 of its likely value") {
  const Catalog catalog =
      read_catalog(std::filesystem::path(BREAKEVEN_SOURCE_DIR) / "scenarios" / "catalog");
  for (const auto& row : rows) {
    const Gpu& gpu = *catalog.gpu(row.gpu);
    const Interval kernel_s =
        project_on_gpu(one_patch(row.flops, row.bytes_per_value), gpu, {10, 20, 25}).kernel_s;
    const double published_s = row.published_ms * 1e-3;
    CAPTURE(std::string(row.gpu));
    CAPTURE(row.published_ms);
    CAPTURE(kernel_s.likely);
    CHECK(published_s >= kernel_s.low);
    CHECK(published_s <= kernel_s.high);
    CHECK(std::fabs(std::log(kernel_s.likely / published_s)) <= std::log(1.4));
  }
}
