// Every constant of the projection, with where it comes from and how it is known: published,
// measured (by somebody named) or assumed. Three numbers are 10 %, 50 % and 90 % points. Nothing
// here knows a workload: what differs between workloads is in Work.
#pragma once

#include "sim/project/interval.h"

namespace breakeven::calibration {

// ---- GPU: arithmetic ----

/// Instructions that a multiprocessor can start per clock, each for 32 lanes. Published: four warp
/// schedulers for every compute capability from 5.0 to 9.0 but 6.0, which has two (CUDA C++
/// Programming Guide, appendix on compute capabilities).
constexpr double issues_per_clock = 4;
constexpr double lanes_per_issue = 32;

/// Share of the issue bound that irregular, pointer-chasing code reaches. Measured by AnyDSL/rodent
/// (commit f24b885, benchmarks/results_aila.txt: four scenes, three kinds of rays, two kernels, 24
/// rows), divided by the bound of a Titan X class GPU (24 multiprocessors x 4 x 1.075 GHz) for the
/// node and triangle visits counted here on other meshes: median 0.148, half of the rows within
/// 0.11 to 0.22 (any-hit rays: against the geometric mean of the primary and the diffuse bound).
/// The repository names no device and its meshes are larger than ours, so the denominators are
/// stand-ins: unverified. 10 % and 90 % points are assumed between the rows of primary and diffuse
/// rays (0.06 to 0.24) and those of bounded any-hit rays (0.08 to 0.6, whose visits are not known).
/// Cross-checks: Aila and Laine (2009) report their kernels 1.5 to 2.5 times off a simulated bound,
/// which is lower than the issue bound; scaling a known software traversal to an H200 gives 0.18.
constexpr Interval irregular_utilisation{0.08, 0.15, 0.28};

/// The same for straight-line code. Assumed: hand-written kernels without tensor cores usually
/// start an instruction in a half to three quarters of the cycles.
constexpr Interval regular_utilisation{0.35, 0.55, 0.8};

/// Share of the tensor cores' rate on large matrices that 3-D convolutions reach: few channels, and
/// layers too small to fill the GPU, keep them from it. Assumed, around rows published for
/// nnU-Net's network (NVIDIA/DeepLearningExamples, commit 4da7bf28, PyTorch/Segmentation/nnUNet,
/// PyTorch 22.11, channels last): 0.965 TFLOP a patch of 128^3 in 14.6 ms (A100 80 GB, FP16), 28.6
/// ms (A100, TF32) and 27.1 ms (V100 32 GB, FP16) are 0.24, 0.25 and 0.38 of the catalog's rates,
/// norms included; larger batches give up to 0.40. The low point allows for activations channel by
/// channel: an earlier release (commit 1347d7c) had those, and 0.10 and 0.21 in FP16 at a batch of
/// four. MLPerf 3.0's 3.501 samples/s of KiTS19 on an A100-PCIe and 1.076 on an L4 are no check of
/// it: INT8 in TensorRT, and the windows a sample takes are not published (64, which 320 voxels a
/// side would need, give 0.34 and 0.27 of the INT8 peaks). Plain products of large matrices would
/// be projected too slow by this.
constexpr Interval tensor_utilisation{0.12, 0.28, 0.45};

/// Instructions that count as irregular for each access that waits for the one before it. Assumed:
/// a triangle test is about 45, a pair of boxes 32 (Aila and Laine 2009, counted from the source).
constexpr double irregular_instructions_per_dependent_access = 45;

/// Sustained over boost clock where the catalog has no sustained one. Assumed.
constexpr Interval unknown_sustained_share{0.85, 0.95, 1.0};

// ---- GPU: memory ----

/// Share of the streaming bandwidth measured by others that our own streams reach. Assumed.
constexpr Interval bandwidth_utilisation{0.6, 0.85, 0.97};
/// What to multiply a bandwidth with that is not measured but derived from the data sheet. Assumed;
/// the measured shares in the catalog run from 0.75 (T4) to 0.90 (A100).
constexpr Interval unmeasured_bandwidth{0.85, 1.0, 1.1};

/// L2 bytes per multiprocessor and clock where the catalog has no L2 bandwidth. Assumed between the
/// measured ones: 15 (L40S), 20 (V100), 35 (A100, H100 PCIe) and 37 (H200).
constexpr Interval unknown_l2_bytes_per_clock{12, 20, 37};
constexpr Interval known_l2_bandwidth{0.85, 1.0, 1.1}; ///< assumed: of one measured by others

/// Share of re-read bytes that never leave the multiprocessor, because lanes of one group ask for
/// the same line or the L1 has it. Assumed: coherent lanes share almost all lines, incoherent ones
/// few. Chosen with the rodent rows above in view: with much less they would be faster than
/// their DRAM allows. So those rows are no held-out test of this figure.
constexpr Interval l1_hit_share{0.2, 0.5, 0.85};

/// The share of the rest that L2 serves is (L2 / working set)^exponent once the set is larger than
/// L2. 1 is uniform reuse; the top of a tree is met far more often than its leaves, and caches in
/// general follow a power law with an exponent near 1/2 (Hartstein et al. 2006). Assumed.
constexpr Interval l2_hit_exponent{0.25, 0.5, 1.0};

/// Latencies where the catalog has none. Assumed between the measured ones: DRAM 254 (L40S) to 405
/// (A100), L2 111 (L40S) to 156 (V100).
constexpr Interval unknown_dram_latency_ns{250, 350, 500};
constexpr Interval unknown_l2_latency_ns{105, 140, 200};
constexpr Interval known_latency{0.9, 1.0, 1.25}; ///< assumed: under load against idle

/// Resident threads over the most a multiprocessor holds. Assumed: 64 registers a thread leave
/// half.
constexpr Interval occupancy{0.25, 0.5, 0.75};

/// The smooth maximum of the resource times: (sum t^p)^(1/p). Assumed: two equal bounds cost 19 %
/// more than one.
constexpr double smooth_maximum_power = 4;

// ---- GPU: launches, atomics, link, first use ----

/// Back-to-back launches in one stream where the catalog has none. Assumed between the measured
/// ones: 1.6 us (L40) to 3.0 us (V100).
constexpr Interval unknown_launch_us{1.6, 2.5, 4.0};
constexpr Interval known_launch{0.85, 1.0, 1.15}; ///< assumed: of one measured by others
/// What a launch costs over an empty one back to back. Assumed: library algorithms wait for the
/// device between some of their launches.
constexpr Interval launch_overhead{1.1, 1.5, 4.0};

/// Atomic operations per multiprocessor and clock. Assumed: from one address wanted by all to
/// spread-out addresses.
constexpr Interval atomics_per_clock{0.02, 0.25, 1.0};

/// Copies against the instance's measured pinned copy. Assumed: pageable memory and small pieces.
constexpr Interval measured_link{0.6, 0.9, 1.0};
/// Against the best copy seen for this GPU anywhere, where the instance was not measured. Assumed
/// from the catalog's spread: 6.3 of 12.3 GB/s for a T4, 12.3 of 26.7 for an A100.
constexpr Interval unmeasured_link{0.45, 0.7, 1.0};

/// Creating the context and the first launch, per job. Assumed; 0.15 s is the published case of
/// openqmc issue 109.
constexpr Interval cold_start_s{0.2, 0.5, 1.5};

/// Bytes of device memory for each lane in flight where the workload counts no "state_bytes".
/// Assumed.
constexpr double state_bytes_per_lane = 256;

// ---- several GPUs of one machine ----

/// One all-reduce.
struct AllReduce {
  double bytes = 0; ///< payload that each GPU holds
  double microseconds = 0;
};

/// Eight A100 on NVLink 3 with NVSwitch, nccl-tests (stas00/ml-engineering, commit 744d01e18b79,
/// network/README.md). Published. 62 us + payload / 118 GB/s fits it with a root mean square of 19
/// % (worst 42 %, where the protocol changes); the spread is that, as 10 % and 90 % points.
constexpr double nvlink_3_gb_per_s = 300;
constexpr AllReduce nvlink_3_all_reduces[] = {
    {0x1p15, 43.83},  {0x1p16, 46.8},  {0x1p17, 51.76},  {0x1p18, 61.38},  {0x1p19, 80.4},
    {0x1p20, 101.9},  {0x1p21, 101.4}, {0x1p22, 101.5},  {0x1p23, 133.5},  {0x1p24, 276.6},
    {0x1p25, 424},    {0x1p26, 684.6}, {0x1p27, 1327.6}, {0x1p28, 2420.6}, {0x1p29, 4218.4},
    {0x1p30, 8203.9}, {0x1p31, 16240}, {0x1p32, 32136},  {0x1p33, 64074},  {0x1p34, 127997}};
constexpr Interval nvlink_3_spread{0.78, 1.0, 1.28};

/// Eight H200 on NVLink 4 with reduction in the switch, each call waited for (the same source,
/// network/benchmarks/results/all-reduce-8xH200.md). Published as bandwidths; 42 us + payload / 250
/// GB/s fits with 11 %. The low point allows for calls in a queue, which the same repository later
/// measured on such a machine (commit 0cc3de50b2dd, network/benchmarks/README.md): 0.45 of the time
/// at 32 KiB, 0.86 at 16 MiB. The H100's NVLink is the same.
constexpr double nvlink_4_gb_per_s = 450;
constexpr AllReduce nvlink_4_all_reduces[] = {
    {0x1p15, 40.0},   {0x1p16, 39.2},   {0x1p17, 40.1},  {0x1p18, 39.1},   {0x1p19, 38.3},
    {0x1p20, 45.9},   {0x1p21, 56.9},   {0x1p22, 68.5},  {0x1p23, 94.4},   {0x1p24, 133.5},
    {0x1p25, 212.9},  {0x1p26, 338.9},  {0x1p27, 584.4}, {0x1p28, 1077.1}, {0x1p29, 2086.5},
    {0x1p30, 4053.4}, {0x1p31, 8010.0}, {0x1p32, 15887}, {0x1p33, 31485},  {0x1p34, 62341}};
constexpr Interval nvlink_4_spread{0.5, 1.0, 1.15};

/// Over an NVLink that no table was found for: the A100's time for a payload that is larger by the
/// ratio of the links. Assumed. For the V100 eight bytes were seen to take 57 to 60 us on a
/// p3dn.24xlarge (NVIDIA/nccl issue 318); four of them do not have all their links to each other,
/// so that large payloads are the slower side.
constexpr Interval other_nvlink_spread{0.6, 1.3, 2.5};

/// GPUs that only meet over the host: each byte goes up one link while another comes down, so at
/// half the copies' rate. Assumed; four GPUs over PCIe 3 were seen to send at 4.9 GB/s each
/// (NVIDIA/nccl issue 445), 0.44 of such a link's copies.
constexpr Interval all_reduce_share_of_host_link{0.3, 0.5, 0.7};
/// Assumed; seen: 13 to 16 us for four RTX A5000 (NVIDIA/nccl issue 757), 40 for eight RTX 4090
/// (issue 1530).
constexpr Interval host_link_all_reduce_latency_s{15e-6, 40e-6, 120e-6};

// ---- CPU ----

/// Throughput of a core with two threads over one thread. Measured by AnyDSL/rodent with Embree:
/// eight threads on (it is believed) four cores give 4.8 to 5.9, median 4.99; the
/// points are the 10, 50 and 90 % points of those twelve rows over four.
constexpr Interval smt_gain{1.20, 1.25, 1.37};

/// Products in bf16 over those in FP32 on the same core. Assumed. By AMX: Intel cited up to 8.6 and
/// up to 10 for whole models in bf16 against FP32 (as reported by Phoronix on 2023-01-16), and the
/// peaks differ by 16. By AVX-512: the peaks differ by 2.
constexpr Interval amx_bf16_gain{1.5, 4, 8.6};
constexpr Interval avx512_bf16_gain{1.0, 1.5, 2.0};
/// Share of a training step that is products. Measured here with our network (breakeven-peers risk,
/// openblas.mlp_fp32: the products alone take 0.9 of a step); the range is assumed.
constexpr Interval products_share_of_step{0.75, 0.88, 0.95};

/// Universal scalability law (Gunther): N / (1 + sigma (N - 1) + kappa N (N - 1)). Assumed: 0.9 of
/// linear on 64 cores at the likely values, 0.76 at the high end.
constexpr Interval contention{0.0003, 0.0017, 0.005};
constexpr double coherency = 1e-6;

/// Work per clock of one core model over another. Assumed.
constexpr Interval other_microarchitecture{0.8, 1.0, 1.25};
constexpr Interval same_microarchitecture{0.97, 1.0, 1.03};

/// A core of this machine over a whole core, where the machine shows no second thread per core: in
/// a virtual machine each may be one thread of a shared core (worth smt_gain / 2). Assumed: neither
/// case is known, so the likely value is their geometric middle.
constexpr Interval undisclosed_core{0.63, 0.8, 1.0};

constexpr Interval unknown_clock_ghz{2.4, 3.0, 3.6}; ///< assumed: what clouds sell
constexpr Interval measured_clock{0.97, 1.0, 1.03};  ///< assumed: of a clock measured here
constexpr Interval published_clock{0.95, 1.0, 1.05}; ///< assumed: of a published all-core clock
constexpr Interval assumed_clock{0.88, 1.0, 1.12};   ///< assumed: of a clock the catalog assumes

/// Of a measured read bandwidth, for the ceiling. Assumed.
constexpr Interval cpu_bandwidth{0.75, 0.9, 1.0};

// ---- measured here ----

constexpr double smallest_spread = 0.02; ///< assumed: no timing is better than 2 %
/// What a job that was not run whole may differ by: the units not run are not those run. Assumed.
constexpr Interval not_run_whole{0.95, 1.0, 1.05};

} // namespace breakeven::calibration
