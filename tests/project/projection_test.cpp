#include "tests/project/examples.h"

#include <doctest/doctest.h>

using namespace breakeven;

namespace {

std::vector<Projection> project_targets(std::vector<Target> targets,
                                        std::vector<Measurement> rows = examples::measurements(),
                                        const Catalog& catalog = examples::catalog()) {
  return project(examples::scenario(std::move(targets)), rows, catalog);
}

Projection project_one(const Target& target,
                       std::vector<Measurement> rows = examples::measurements(),
                       const Catalog& catalog = examples::catalog()) {
  return project_targets({target}, std::move(rows), catalog).front();
}

Measurement& find(std::vector<Measurement>& rows, Path path, const std::string& phase) {
  for (Measurement& row : rows)
    if (row.path == path && row.phase == phase) return row;
  throw std::logic_error("no such row");
}

double sum_of_phases_s(const Projection& projection) {
  double sum = 0;
  for (const PhaseProjection& phase : projection.phases)
    sum += phase.end_to_end_s.likely;
  return sum;
}

const PhaseProjection* phase_of(const Projection& projection, const std::string& name) {
  for (const PhaseProjection& phase : projection.phases)
    if (phase.phase == name) return &phase;
  return nullptr;
}

Catalog with_gpus(int gpus) {
  Catalog catalog = examples::catalog();
  catalog.instances = {examples::cpu_instance(), examples::gpu_instance(gpus)};
  return catalog;
}

} // namespace

TEST_CASE("what was measured here keeps its time, and says that the job was not run whole") {
  const Projection local = project_one(examples::target("local"));
  REQUIRE(local.available);
  CHECK(local.end_to_end_s.likely == doctest::Approx(95)); // 5 + 10 x (8 + 1)
  CHECK(local.fixed_s.likely == doctest::Approx(5));
  CHECK(local.per_unit_s.likely == doctest::Approx(9));
  CHECK(local.evidence == "extrapolated");
  CHECK(local.in_range);
  CHECK(local.threads == 8);
  CHECK(local.isa == "AVX2");
  // Equal samples leave the floor of 2 %, and 5 % for units not run: sqrt of the squared logs.
  const double logs = std::sqrt(std::pow(std::log(1.02), 2) + std::pow(std::log(1.05), 2));
  CHECK(local.end_to_end_s.high == doctest::Approx(95 * std::exp(logs)));
}

TEST_CASE("a whole job that was measured is evidence 'measured', with the samples' spread") {
  Measurement total = examples::row(Path::openmp, "total");
  examples::set_time(total, 100, 1);
  total.samples_s = {90, 100, 104};
  const Projection local = project_one(examples::target("local"), {total});
  CHECK(local.evidence == "measured");
  CHECK(local.end_to_end_s.low == doctest::Approx(90));
  CHECK(local.end_to_end_s.likely == doctest::Approx(100));
  CHECK(local.end_to_end_s.high == doctest::Approx(104));
}

TEST_CASE("a GPU instance computes on the GPU and loads and writes on its own CPU") {
  const Projection gpu = project_one(examples::target("cloud:gpu"));
  REQUIRE(gpu.available);
  CHECK(gpu.evidence == "projected");
  CHECK_FALSE(gpu.in_range);
  CHECK(gpu.note.find("outside the calibrated range") != std::string::npos);
  // A unit: 1e13 instructions in 1.42045 s, 10 launches of 3 us; output 1 s on a core like ours.
  CHECK(gpu.per_unit_s.likely == doctest::Approx(0.78125 / 0.55 + 30e-6 + 1));
  CHECK(gpu.fixed_s.likely == doctest::Approx(5 + 0.5)); // loading, cold start
  CHECK(gpu.cold_s == 0.5);
  CHECK(gpu.end_to_end_s.likely == doctest::Approx(5.5 + 10 * gpu.per_unit_s.likely));
  CHECK(gpu.kernel_s.likely == doctest::Approx(10 * (0.78125 / 0.55 + 30e-6)));
  CHECK(gpu.bound_by == "issue");
  CHECK(sum_of_phases_s(gpu) == doctest::Approx(gpu.end_to_end_s.likely));
  REQUIRE(phase_of(gpu, "output"));
  CHECK(phase_of(gpu, "output")->processor == Processor::cpu);
}

TEST_CASE("times of the host path never count") {
  std::vector<Measurement> rows = examples::measurements();
  const double before = project_one(examples::target("cloud:gpu"), rows).end_to_end_s.likely;
  examples::set_time(find(rows, Path::host, "kernel"), 1e6, 10);
  CHECK(project_one(examples::target("cloud:gpu"), rows).end_to_end_s.likely == before);
}

TEST_CASE("a serial phase that the GPU side has no row for stays on the CPU") {
  std::vector<Measurement> rows = examples::measurements();
  const double before = project_one(examples::target("cloud:gpu"), rows).end_to_end_s.likely;
  std::erase_if(
      rows, [](const Measurement& row) { return row.path == Path::host && row.phase == "output"; });
  CHECK(project_one(examples::target("cloud:gpu"), rows).end_to_end_s.likely
        == doctest::Approx(before));
}

TEST_CASE("an unverified path gets no time") {
  std::vector<Measurement> rows = examples::measurements();
  std::erase_if(
      rows, [](const Measurement& row) { return row.path == Path::host && row.phase != "total"; });
  find(rows, Path::host, "total").verified = false;
  find(rows, Path::host, "total").verification = "3 rays differ";
  const auto targets =
      project_targets({examples::target("local"), examples::target("cloud:gpu")}, rows);
  CHECK(targets[0].available);
  CHECK_FALSE(targets[1].available);
  CHECK(targets[1].note == "not verified: 3 rays differ");
  CHECK(targets[1].end_to_end_s.likely == 0);
}

TEST_CASE("an unverified CPU side leaves no target a time") {
  std::vector<Measurement> rows = examples::measurements();
  for (Measurement& row : rows)
    if (row.path == Path::openmp) row.verified = false;
  for (const Projection& projection :
       project_targets({examples::target("local"), examples::target("cloud:cpu"),
                        examples::target("cloud:gpu")},
                       rows))
    CHECK_FALSE(projection.available);
}

TEST_CASE(
    "local-gpu is the real GPU's time, while counts come from the host path that has them all") {
  std::vector<Measurement> rows = examples::measurements();
  Measurement kernel = examples::row(Path::cuda, "kernel");
  kernel.processor = Processor::gpu;
  kernel.work.lane_instructions = 2e13;
  examples::set_time(kernel, 3, 10);
  Measurement output = examples::row(Path::cuda, "output");
  output.scaling = Scaling::serial;
  examples::set_time(output, 1, 10);
  Measurement load = find(rows, Path::openmp, "load");
  load.path = Path::cuda;
  rows.insert(rows.end(), {examples::row(Path::cuda, "total"), load, kernel, output});
  const Projection before = project_one(examples::target("cloud:gpu"), rows);
  CHECK(before.path == Path::host);
  CHECK(before.per_unit_s.likely == doctest::Approx(0.78125 / 0.55 + 30e-6 + 1));
  std::vector<Measurement> without_host = rows;
  std::erase_if(without_host, [](const Measurement& row) { return row.path == Path::host; });
  const Projection elsewhere = project_one(examples::target("cloud:gpu"), without_host);
  CHECK(elsewhere.path == Path::cuda);
  CHECK(elsewhere.per_unit_s.likely == doctest::Approx(2 * 0.78125 / 0.55 + 1));
  const Projection here = project_one(examples::target("local-gpu"), rows);
  REQUIRE(here.available);
  CHECK(here.evidence == "extrapolated");
  CHECK(here.kernel_s.likely == doctest::Approx(30));
  CHECK(here.end_to_end_s.likely == doctest::Approx(5 + 0.5 + 10 * (3 + 1)));
}

TEST_CASE("a GPU that was run here and disagreed leaves no GPU a time") {
  std::vector<Measurement> rows = examples::measurements();
  Measurement total = examples::row(Path::cuda, "total");
  total.verified = false;
  total.verification = "images differ";
  rows.push_back(total);
  CHECK(project_one(examples::target("cloud:gpu"), rows).note == "not verified: images differ");
  CHECK(project_one(examples::target("local-gpu"), rows).note == "not verified: images differ");
}

TEST_CASE("a phase whose work was not counted is not free") {
  std::vector<Measurement> rows = examples::measurements();
  find(rows, Path::host, "kernel").work.lane_instructions = 0;
  const Projection gpu = project_one(examples::target("cloud:gpu"), rows);
  CHECK_FALSE(gpu.available);
  CHECK(gpu.note == "the work of the phase 'kernel' was not counted");
}

TEST_CASE("a phase of tensor-core work alone is counted") {
  std::vector<Measurement> rows = examples::measurements();
  Work& work = find(rows, Path::host, "kernel").work;
  work.lane_instructions = 0;
  work.tensor_fp16_flops = 1e14; // a unit: 1 s at 100 TFLOP/s, over 0.28
  const Projection gpu = project_one(examples::target("cloud:gpu"), rows);
  REQUIRE(gpu.available);
  CHECK(phase_of(gpu, "kernel")->bound_by == "tensor");
  CHECK(phase_of(gpu, "kernel")->kernel_s.likely == doctest::Approx(10 / 0.28).epsilon(1e-4));
}

TEST_CASE("a CPU with instructions for bf16 is taken to use them where the scenario does") {
  const auto on = [](const std::string& bf16, bool is_allowed) {
    std::vector<Measurement> rows = examples::measurements();
    if (is_allowed) find(rows, Path::openmp, "work").work.counts.emplace_back("bf16_allowed", 1);
    Catalog catalog = examples::catalog();
    catalog.cpus[0].bf16 = bf16;
    return project_one(examples::target("cloud:cpu"), rows, catalog);
  };
  const std::string differs = "part of the speed-up is the precision";
  const Projection plain = on("none", true), unused = on("amx", false), amx = on("amx", true),
                   vectors = on("avx512", true);
  const auto work_s = [](const Projection& projection) {
    return phase_of(projection, "work")->end_to_end_s;
  };
  CHECK(work_s(unused).likely == work_s(plain).likely);
  CHECK(plain.note.find(differs) == std::string::npos);
  CHECK(unused.note.find(differs) == std::string::npos);
  CHECK(amx.note.find("by AMX") != std::string::npos);
  CHECK(amx.note.find(differs) != std::string::npos);
  CHECK(vectors.note.find("by AVX-512") != std::string::npos);
  CHECK(work_s(amx).likely == doctest::Approx((0.12 + 0.88 / 4) * work_s(plain).likely));
  CHECK(work_s(amx).likely < work_s(vectors).likely);
  CHECK(work_s(vectors).likely < work_s(plain).likely);
  CHECK(work_s(amx).high / work_s(amx).low > work_s(plain).high / work_s(plain).low);
  CHECK(phase_of(amx, "output")->end_to_end_s.likely
        == phase_of(plain, "output")->end_to_end_s.likely);
}

TEST_CASE("products in bf16 are refused on a GPU whose tensor cores have none") {
  std::vector<Measurement> rows = examples::measurements();
  Work& work = find(rows, Path::host, "kernel").work;
  work.tensor_fp16_flops = 1e14;
  work.counts.emplace_back("bf16_products", 1);
  Catalog catalog = examples::catalog();
  catalog.gpus[0].compute_capability = 8.0;
  const Projection able = project_one(examples::target("cloud:gpu"), rows, catalog);
  CHECK(able.available);
  CHECK(able.note.find("the GPU multiplies in BF16") != std::string::npos);
  catalog.gpus[0].compute_capability = 7.5;
  const Projection unable = project_one(examples::target("cloud:gpu"), rows, catalog);
  CHECK_FALSE(unable.available);
  CHECK(unable.note.find("has no bf16: it needs compute capability 8.0") != std::string::npos);
}

TEST_CASE("a row says when part of its speed-up is the precision, or when tensor cores lack") {
  std::vector<Measurement> rows = examples::measurements();
  const std::string differs = "part of the speed-up is the precision";
  CHECK(project_one(examples::target("cloud:gpu"), rows).note.find(differs) == std::string::npos);
  find(rows, Path::host, "kernel").work.tensor_tf32_flops = 1e14;
  CHECK(project_one(examples::target("cloud:gpu"), rows)
            .note.find("the GPU multiplies in TF32 where the CPU side does not: " + differs)
        != std::string::npos);
  Catalog catalog = examples::catalog();
  catalog.gpus[0].tensor_tf32_tflops.reset();
  const std::string note = project_one(examples::target("cloud:gpu"), rows, catalog).note;
  CHECK(note.find(differs) == std::string::npos);
  CHECK(note.find("no tensor cores for TF32 in the catalog") != std::string::npos);
}

TEST_CASE("without a GPU here, local-gpu is a labelled row without a time") {
  const Projection here = project_one(examples::target("local-gpu"));
  CHECK_FALSE(here.available);
  CHECK(here.note == "no GPU was used here");
}

TEST_CASE("too little memory leaves a row with the figures") {
  std::vector<Measurement> rows = examples::measurements();
  find(rows, Path::host, "kernel").work.working_set_bytes = 40.0 * 1024 * 1024 * 1024;
  const Projection gpu = project_one(examples::target("cloud:gpu"), rows);
  CHECK_FALSE(gpu.available);
  // 1e6 lanes x 256 bytes are another 0.24 GiB.
  CHECK(gpu.note == "needs 40.2 GiB of memory, Round-100 has 40.0");
}

TEST_CASE("a phase without a time on the CPU leaves a row that names it") {
  std::vector<Measurement> rows = examples::measurements();
  std::erase_if(rows, [](const Measurement& row) {
    return row.path == Path::openmp && row.phase == "output";
  });
  const Projection gpu = project_one(examples::target("cloud:gpu"), rows);
  CHECK_FALSE(gpu.available);
  CHECK(gpu.note == "the CPU side has no time for the phase 'output'");
}

TEST_CASE("an instance or a device that nobody knows is a labelled row") {
  CHECK(project_one(examples::target("cloud:none")).note == "the instance is not in the catalog");
  Catalog catalog = examples::catalog();
  catalog.gpus.clear();
  CHECK(project_one(examples::target("cloud:gpu"), examples::measurements(), catalog).note
        == "its GPU is not in the catalog");
  CHECK_FALSE(project_one(examples::target("local"), {}).available);
}

TEST_CASE("two GPUs never more than halve the time, and cores are shared") {
  for (int gpus = 1; gpus <= 16; gpus *= 2) {
    CAPTURE(gpus);
    const auto one =
        project_one(examples::target("cloud:gpu"), examples::measurements(), with_gpus(gpus));
    const auto two =
        project_one(examples::target("cloud:gpu"), examples::measurements(), with_gpus(2 * gpus));
    CHECK(two.end_to_end_s.likely >= one.end_to_end_s.likely / 2);
    CHECK(two.end_to_end_s.likely <= one.end_to_end_s.likely);
    CHECK(two.workers == 2 * gpus);
  }
}

TEST_CASE("whole units only: ten units on eight GPUs take two rounds") {
  const auto eight =
      project_one(examples::target("cloud:gpu"), examples::measurements(), with_gpus(8));
  const auto five =
      project_one(examples::target("cloud:gpu"), examples::measurements(), with_gpus(5));
  CHECK(eight.end_to_end_s.likely == doctest::Approx(five.end_to_end_s.likely));
  const double unit_s = eight.worker_unit_s.likely;
  CHECK(eight.end_to_end_s.likely == doctest::Approx(5.5 + 2 * unit_s));
  CHECK(compute_seconds(eight, 1, &Interval::likely) == doctest::Approx(5.5 + unit_s));
  CHECK(compute_seconds(eight, 17, &Interval::likely) == doctest::Approx(5.5 + 3 * unit_s));
}

TEST_CASE("a parallel CPU phase of several GPUs takes its turn on the cores") {
  std::vector<Measurement> rows = examples::measurements();
  for (Measurement& row : rows)
    if (row.phase == "output") row.scaling = Scaling::parallel;
  const auto one = project_one(examples::target("cloud:gpu"), rows, with_gpus(1));
  const auto four = project_one(examples::target("cloud:gpu"), rows, with_gpus(4));
  // Ten outputs one after the other, whatever the number of GPUs.
  CHECK(phase_of(four, "output")->end_to_end_s.likely
        == doctest::Approx(phase_of(one, "output")->end_to_end_s.likely));
  CHECK(sum_of_phases_s(four) == doctest::Approx(four.end_to_end_s.likely));
}

TEST_CASE("machines side by side share units, whole ones, and each loads for itself") {
  for (const char* instance : {"local", "cloud:cpu", "cloud:gpu"}) {
    CAPTURE(instance);
    const auto one = project_one(examples::target(instance));
    const auto three = project_one(examples::target(instance, 3));
    // Ten units on three machines: the busiest has four.
    CHECK(three.end_to_end_s.likely
          == doctest::Approx(one.fixed_s.likely + 4 * one.per_unit_s.likely));
    CHECK(three.end_to_end_s.likely >= one.end_to_end_s.likely / 3);
  }
}

TEST_CASE("the end-to-end time is that of compute_seconds at the job's own size") {
  for (const char* instance : {"local", "cloud:cpu", "cloud:gpu"})
    for (int count = 1; count < 5; ++count) {
      CAPTURE(instance);
      CAPTURE(count);
      const auto projection = project_one(examples::target(instance, count));
      for (double Interval::*point : {&Interval::low, &Interval::likely, &Interval::high})
        CHECK(compute_seconds(projection, 10, point)
              == doctest::Approx(projection.end_to_end_s.*point));
    }
}

TEST_CASE("every projection has low < likely < high, whatever was counted") {
  examples::Random random;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    std::vector<Measurement> rows = examples::measurements();
    Measurement& kernel = find(rows, Path::host, "kernel");
    kernel.work = examples::random_work(random);
    kernel.job_over_slice = random.scale(1, 1e4);
    for (Measurement& row : rows)
      row.environment.clock_ghz = random.between(0, 1) < 0.5 ? 0 : random.between(1, 5);
    for (const Projection& projection :
         project_targets({examples::target("local"), examples::target("cloud:cpu"),
                          examples::target("cloud:gpu", 2)},
                         rows, with_gpus(static_cast<int>(random.between(1, 9))))) {
      REQUIRE(projection.available);
      REQUIRE(is_projection(projection.end_to_end_s));
      REQUIRE(projection.end_to_end_s.likely > 0);
      REQUIRE(projection.end_to_end_s.low >= projection.kernel_s.low * (1 - 1e-12));
    }
  }
}

TEST_CASE("the envelope is the larger ratio of the two machines' ceilings") {
  // Here: 8 lanes x 4 operations x 4 cores x 3 GHz = 384 Gflop/s and 25 GB/s. The GPU: 25600
  // Gflop/s (66.7 times) and 1000 GB/s (40 times). Two machines: twice that.
  const auto targets = project_targets(
      {examples::target("local"), examples::target("cloud:gpu"), examples::target("cloud:gpu", 2)});
  CHECK(targets[0].envelope_max == doctest::Approx(1));
  CHECK(targets[1].envelope_max == doctest::Approx(25600.0 / 384));
  CHECK(targets[2].envelope_max == doctest::Approx(2 * 25600.0 / 384));
}

TEST_CASE("the envelope knows tensor cores where the job uses them") {
  std::vector<Measurement> rows = examples::measurements();
  const auto envelope = [&](const Catalog& catalog = examples::catalog()) {
    return project_targets({examples::target("local"), examples::target("cloud:gpu")}, rows,
                           catalog)[1]
        .envelope_max;
  };
  find(rows, Path::host, "kernel").work.tensor_tf32_flops = 1;
  CHECK(envelope() == doctest::Approx(60000.0 / 384));
  find(rows, Path::host, "kernel").work.tensor_fp16_flops = 1;
  CHECK(envelope() == doctest::Approx(100000.0 / 384));
  Catalog without = examples::catalog();
  without.gpus[0].tensor_fp16_tflops.reset();
  without.gpus[0].tensor_tf32_tflops.reset();
  CHECK(envelope(without) == doctest::Approx(25600.0 / 384));
}

TEST_CASE("a machine with few cores may keep up in serial phases, so its clock is a ceiling too") {
  // Baseline: the instance with many cores; this machine has a fraction of its arithmetic and
  // bandwidth, yet one core of it is as fast as the ratio of the clocks.
  const auto targets = project_targets({examples::target("cloud:cpu"), examples::target("local")});
  const auto reversed = project_targets({examples::target("local"), examples::target("cloud:cpu")});
  CHECK(reversed[1].envelope_max > 1);
  CHECK(targets[1].envelope_max > 1 / reversed[1].envelope_max);
}

TEST_CASE("a small GPU's host may keep up in serial phases too") {
  Catalog catalog = examples::catalog();
  catalog.gpus[0].fp32_tflops = 0.1; // 100 Gflop/s and 10 GB/s against 384 and 25 here
  catalog.gpus[0].memory_gb_per_s = 10;
  const auto targets = project_targets({examples::target("local"), examples::target("cloud:gpu")},
                                       examples::measurements(), catalog);
  CHECK(targets[1].envelope_max == doctest::Approx(1)); // both clocks are 3 GHz
}

TEST_CASE("a unit's phases keep their order, and know what they occupy and for how long alone") {
  std::vector<Target> targets{examples::target("cloud:gpu"), examples::target("cloud:cpu")};
  const auto projections = project_targets(targets, examples::measurements(), with_gpus(64));
  const Projection &gpu = projections[0], &cpu = projections[1];
  REQUIRE(gpu.phases.size() == 4);
  CHECK(gpu.phases[0].phase == "cold start");
  CHECK(gpu.phases[1].phase == "load");
  CHECK(gpu.phases[2].phase == "kernel");
  CHECK(gpu.phases[3].phase == "output");
  CHECK(gpu.phases[3].scaling == Scaling::serial);
  CHECK(gpu.cores == 16);
  CHECK(cpu.cores == 8);
  CHECK(cpu.phases[1].scaling == Scaling::parallel);
  // Same core, same clock as here: output takes its 1 s, also where ten units share sixteen cores.
  CHECK(gpu.phases[3].alone_s.likely == doctest::Approx(phase_of(cpu, "output")->alone_s.likely));
  CHECK(cpu.phases[1].end_to_end_s.likely == doctest::Approx(10 * cpu.phases[1].alone_s.likely));
}

TEST_CASE("a unit's time alone leaves out waiting for a core that another GPU's unit has") {
  std::vector<Measurement> rows = examples::measurements();
  for (Measurement& row : rows)
    row.job_units = 64;
  Catalog catalog = with_gpus(64);
  const Projection gpu = project_one(examples::target("cloud:gpu"), rows, catalog);
  const PhaseProjection& output = *phase_of(gpu, "output");
  // 64 units at once on 16 cores: four turns in the job's time, one in the unit's.
  CHECK(output.end_to_end_s.likely == doctest::Approx(4 * output.alone_s.likely));
}

TEST_CASE(
    "serial phases that only the CPU side reports stay before or after what the GPU took over") {
  std::vector<Measurement> rows = examples::measurements();
  Measurement decode = examples::row(Path::openmp, "decode"), store = decode;
  store.phase = "store";
  decode.scaling = store.scaling = Scaling::serial;
  examples::set_time(decode, 2, 10);
  examples::set_time(store, 2, 10);
  rows.insert(rows.begin() + 3, store);  // after work, before output
  rows.insert(rows.begin() + 2, decode); // after load, before work
  const Projection gpu = project_one(examples::target("cloud:gpu"), rows);
  std::string order;
  for (const PhaseProjection& phase : gpu.phases)
    order += phase.phase + " ";
  CHECK(order == "cold start load decode kernel store output ");
}
