#include "sim/project/gpu_model.h"
#include "tests/project/examples.h"

#include <doctest/doctest.h>

using namespace breakeven;

namespace {

const Interval host_link{10, 20, 25};
const auto shipped_catalog = std::filesystem::path(BREAKEVEN_SOURCE_DIR) / "scenarios" / "catalog";

double likely_kernel_s(const Work& work, const Gpu& gpu = examples::gpu()) {
  return project_on_gpu(work, gpu, host_link).kernel_s.likely;
}

double width(const Interval& interval) { return interval.high / interval.low; }

} // namespace

TEST_CASE("straight-line arithmetic takes its issue slots over the regular utilisation") {
  Work work;
  work.lane_instructions = 1e13;
  // 1e13 / 32 / (100 x 4 x 1e9) = 0.78125 s, over 0.55 = 1.42045 s.
  CHECK(ceiling_seconds(work, examples::gpu()) == doctest::Approx(0.78125));
  CHECK(likely_kernel_s(work) == doctest::Approx(0.78125 / 0.55));
  CHECK(project_on_gpu(work, examples::gpu(), host_link).bound_by == "issue");
}

TEST_CASE("half-used groups of lanes take twice the slots") {
  Work work;
  work.lane_instructions = 1e13;
  work.simt_efficiency = 0.5;
  CHECK(likely_kernel_s(work) == doctest::Approx(2 * 0.78125 / 0.55));
}

TEST_CASE("pointer chasing reaches the irregular utilisation only") {
  Work work;
  work.lane_instructions = 45e9;
  work.dependent_accesses = 1e9; // all 45e9 instructions hang on them
  // Issue: 45e9 / 32 / 4e11 = 3.515625 ms, over 0.15 = 23.4375 ms. Latency: 1e9 x 200 ns over
  // 100 x 2048 / 2 threads = 1.953125 ms, which adds (1.95/23.4)^4 / 4 = 12e-6 of it.
  CHECK(likely_kernel_s(work) == doctest::Approx(0.0234375).epsilon(1e-4));
}

TEST_CASE("matrix products run at the tensor cores' rate over its utilisation") {
  Work work;
  work.tensor_fp16_flops = 1e14; // 1 s at 100 TFLOP/s
  CHECK(ceiling_seconds(work, examples::gpu()) == doctest::Approx(1));
  CHECK(likely_kernel_s(work) == doctest::Approx(1 / 0.28));
  CHECK(project_on_gpu(work, examples::gpu(), host_link).bound_by == "tensor");
  work.tensor_tf32_flops = 3e14; // 5 s more at 60, on the same units
  CHECK(ceiling_seconds(work, examples::gpu()) == doctest::Approx(6));
  CHECK(likely_kernel_s(work) == doctest::Approx(6 / 0.28));
}

TEST_CASE("tensor cores and lanes work side by side") {
  Work work;
  work.tensor_fp16_flops = 0.28 * 1e14;           // 1 s
  work.lane_instructions = 1e13 * 0.55 / 0.78125; // 1 s
  CHECK(likely_kernel_s(work) == doctest::Approx(std::pow(2.0, 0.25)));
}

TEST_CASE("products without tensor cores for them take the lanes, at the GPU's FP32 rate") {
  Work work, in_fp32;
  work.tensor_tf32_flops = in_fp32.fp32_flops = 1e14;
  in_fp32.lane_instructions = 5e13;
  Gpu gpu = examples::gpu();
  gpu.tensor_tf32_tflops.reset();
  // 1e14 / 25.6e12 = 3.90625 s, which is also what 5e13 lane instructions take to issue.
  CHECK(ceiling_seconds(work, gpu) == doctest::Approx(3.90625));
  CHECK(likely_kernel_s(work, gpu) == doctest::Approx(3.90625 / 0.55));
  CHECK(likely_kernel_s(in_fp32, gpu) == doctest::Approx(3.90625 / 0.55));
  CHECK(project_on_gpu(work, gpu, host_link).bound_by == "issue");
  gpu.fp32_tflops = 12.8; // half as many lanes as instructions are issued to
  CHECK(ceiling_seconds(work, gpu) == doctest::Approx(7.8125));
  CHECK(likely_kernel_s(work, gpu) == doctest::Approx(7.8125 / 0.55));
  CHECK(likely_kernel_s(in_fp32, gpu) == doctest::Approx(7.8125 / 0.55));
}

TEST_CASE("tensor cores that are likely slower than the lanes are left alone") {
  Work work;
  work.tensor_tf32_flops = 1e14;
  Gpu gpu = examples::gpu();
  gpu.tensor_tf32_tflops = 40; // x 0.28 = 11.2, against 25.6 x 0.55 = 14.08
  CHECK(likely_kernel_s(work, gpu) == doctest::Approx(3.90625 / 0.55));
  CHECK(ceiling_seconds(work, gpu) == doctest::Approx(2.5));
}

TEST_CASE("catalog GPUs take FP16 and TF32 where their tensor cores do") {
  const Catalog catalog = read_catalog(shipped_catalog);
  Work fp16, tf32;
  fp16.tensor_fp16_flops = tf32.tensor_tf32_flops = 1e12;
  const auto likely_ms = [&](const Work& work, const char* gpu) {
    return 1000 * likely_kernel_s(work, *catalog.gpu(gpu));
  };
  CHECK(likely_ms(fp16, "T4") == doctest::Approx(1000 / (25 * 0.28)));
  CHECK(likely_ms(fp16, "V100-SXM2-16GB") == doctest::Approx(1000 / (96.1 * 0.28)));
  // No TF32: 1e12 / 2 over 80 x 64 lanes x 1.53 GHz x 0.95 sustained, over 0.55.
  CHECK(likely_ms(tf32, "V100-SXM2-16GB")
        == doctest::Approx(0.5e15 / (80 * 64 * 1.53e9 * 0.95) / 0.55).epsilon(0.001));
  CHECK(likely_ms(fp16, "A100-SXM4-80GB") == doctest::Approx(1000 / (271.2 * 0.28)));
  CHECK(likely_ms(tf32, "A100-SXM4-80GB") == doctest::Approx(1000 / (135.6 * 0.28)));
}

TEST_CASE("streams run at the measured bandwidth over its utilisation") {
  Work work;
  work.dram_bytes = 1e12;
  CHECK(likely_kernel_s(work) == doctest::Approx(1 / 0.85));
  CHECK(project_on_gpu(work, examples::gpu(), host_link).bound_by == "dram");
}

TEST_CASE("two equal bounds cost the fourth root of two more than one") {
  Work work;
  work.dram_bytes = 1e12 * 0.85;                  // 1 s
  work.lane_instructions = 1e13 * 0.55 / 0.78125; // 1 s
  CHECK(likely_kernel_s(work) == doctest::Approx(std::pow(2.0, 0.25)));
}

TEST_CASE("re-read data slides from L2 to DRAM speed as it outgrows L2") {
  Work work;
  work.cached_bytes = 1e12;
  work.working_set_bytes = 50e6; // all of it in L2
  // 1e12 x (1 - 0.5 in L1) = 0.5e12 at 5000 GB/s and 0.85: 0.117647 s.
  CHECK(likely_kernel_s(work) == doctest::Approx(0.5 / 5 / 0.85));
  CHECK(project_on_gpu(work, examples::gpu(), host_link).bound_by == "l2");
  work.working_set_bytes = 200e6; // sqrt(50 / 200): half of it misses, 0.25e12 bytes at 1000 GB/s
  const double misses = 0.25 / 1 / 0.85, all = 0.5 / 5 / 0.85;
  CHECK(likely_kernel_s(work)
        == doctest::Approx(std::pow(std::pow(misses, 4) + std::pow(all, 4), 0.25)));
  CHECK(project_on_gpu(work, examples::gpu(), host_link).bound_by == "dram");
}

TEST_CASE("few lanes cannot hide latency") {
  Work work;
  work.dependent_accesses = 1e6;
  work.parallel_width = 32;
  // 1e6 x 200 ns / 32 lanes = 6.25 ms.
  CHECK(likely_kernel_s(work) == doctest::Approx(6.25e-3));
  CHECK(project_on_gpu(work, examples::gpu(), host_link).bound_by == "latency");
}

TEST_CASE("launches and copies are added, not hidden") {
  Work work;
  work.launches = 1000; // x 2 us x 1.5 = 3 ms
  work.host_to_device_bytes = 15e9;
  work.device_to_host_bytes = 5e9; // 20 GB over 20 GB/s = 1 s
  const GpuPhase phase = project_on_gpu(work, examples::gpu(), host_link);
  CHECK(phase.kernel_s.likely == doctest::Approx(3e-3));
  CHECK(phase.end_to_end_s.likely == doctest::Approx(1.003));
  CHECK(phase.end_to_end_s.high > 2); // at 10 GB/s
  CHECK(phase.bound_by == "link");
}

TEST_CASE("an unmeasured host link is slower and less certain than the best one seen") {
  const Interval measured = host_link_gb_per_s(examples::gpu(), examples::gpu_instance());
  Instance elsewhere = examples::gpu_instance();
  elsewhere.host_link_gb_per_s.reset();
  const Interval guessed = host_link_gb_per_s(examples::gpu(), elsewhere);
  CHECK(measured.likely == doctest::Approx(0.9 * 20));
  CHECK(guessed.likely == doctest::Approx(0.7 * 25));
  CHECK(width(guessed) > width(measured));
}

TEST_CASE("what the catalog does not know widens the interval") {
  Work work;
  work.dram_bytes = 1e12;
  Gpu vague = examples::gpu();
  vague.memory_evidence = "assumed";
  CHECK(width(project_on_gpu(work, vague, host_link).kernel_s)
        > width(project_on_gpu(work, examples::gpu(), host_link).kernel_s));
  Work chased;
  chased.dependent_accesses = 1e9;
  chased.cached_bytes = 1e12;
  vague.l2_gb_per_s.reset();
  vague.dram_latency_ns.reset();
  vague.l2_latency_ns.reset();
  CHECK(width(project_on_gpu(chased, vague, host_link).kernel_s)
        > width(project_on_gpu(chased, examples::gpu(), host_link).kernel_s));
}

TEST_CASE("a power-capped clock is taken between sustained and boost") {
  Gpu capped = examples::gpu();
  capped.sustained_clock_mhz = 250;
  Work work;
  work.lane_instructions = 1e13;
  // The likely clock is sqrt(250 x 1000) = 500 MHz.
  CHECK(likely_kernel_s(work, capped) == doctest::Approx(2 * 0.78125 / 0.55));
  CHECK(width(project_on_gpu(work, capped, host_link).kernel_s)
        > width(project_on_gpu(work, examples::gpu(), host_link).kernel_s));
}

TEST_CASE("no projection beats its own ceiling, and none lacks an interval") {
  examples::Random random;
  for (int i = 0; i < 2000; ++i) {
    CAPTURE(i);
    const Work work = examples::random_work(random);
    const GpuPhase phase = project_on_gpu(work, examples::gpu(), host_link);
    REQUIRE(is_projection(phase.kernel_s));
    REQUIRE(is_projection(phase.end_to_end_s));
    REQUIRE(phase.kernel_s.low >= ceiling_seconds(work, examples::gpu()));
    REQUIRE(phase.end_to_end_s.likely >= phase.kernel_s.likely);
  }
}

TEST_CASE("more work never takes less time, and a better machine never more") {
  examples::Random random;
  double Work::*const counted[] = {
      &Work::lane_instructions, &Work::fp32_flops,          &Work::tensor_fp16_flops,
      &Work::tensor_tf32_flops, &Work::dram_bytes,          &Work::cached_bytes,
      &Work::working_set_bytes, &Work::dependent_accesses,  &Work::atomics,
      &Work::launches,          &Work::host_to_device_bytes};
  double Gpu::*const better[] = {&Gpu::memory_gb_per_s, &Gpu::l2_mb};
  for (int i = 0; i < 500; ++i) {
    const Work work = examples::random_work(random);
    const double before = project_on_gpu(work, examples::gpu(), host_link).end_to_end_s.likely;
    for (std::size_t c = 0; c < std::size(counted); ++c) {
      CAPTURE(i);
      CAPTURE(c);
      Work more = work;
      more.*counted[c] *= random.between(1, 10);
      CHECK(project_on_gpu(more, examples::gpu(), host_link).end_to_end_s.likely
            >= before * (1 - 1e-12));
    }
    for (double Gpu::*figure : better) {
      Gpu gpu = examples::gpu();
      gpu.*figure *= random.between(1, 10);
      CHECK(project_on_gpu(work, gpu, host_link).end_to_end_s.likely <= before * (1 + 1e-12));
    }
    Gpu larger = examples::gpu();
    larger.multiprocessors *= 2;
    CHECK(project_on_gpu(work, larger, host_link).end_to_end_s.likely <= before * (1 + 1e-12));
  }
}
