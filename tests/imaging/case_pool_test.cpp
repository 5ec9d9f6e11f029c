// The pool on cases made of numbers, whose steps wait for one another where a race must be lost on
// purpose, and on small phantoms with both paths.
#include "sim/errors.h"
#include "sim/scenario/scenario.h"
#include "tests/test_folder.h"
#include "workloads/imaging/case_pool.h"
#include "workloads/imaging/imaging.h"
#include "workloads/imaging/settings.h"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

std::vector<std::int64_t> numbers_to(std::int64_t last) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(last));
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

Segmentation labelled(std::int64_t number) {
  Segmentation result;
  result.labels.voxels = {static_cast<std::uint32_t>(number), 7u};
  return result;
}

std::vector<std::uint64_t> expected_checksums(std::int64_t last) {
  std::vector<std::uint64_t> checksums;
  for (const std::int64_t number : numbers_to(last))
    checksums.push_back(checksum_of(labelled(number)));
  return checksums;
}

PoolPlan whole_cases(int threads) { return {PoolShape::whole_cases, threads, 0, threads}; }
PoolPlan fed_gpu(int threads, int feeders, int most_open) {
  return {PoolShape::fed_gpu, threads, feeders, most_open};
}

std::vector<PoolPlan> all_plans() {
  return {whole_cases(1),   whole_cases(2),   whole_cases(5),   {PoolShape::whole_cases, 5, 0, 2},
          fed_gpu(1, 2, 5), fed_gpu(2, 1, 3), fed_gpu(5, 2, 9), fed_gpu(2, 2, 1)};
}

/// Cases that are their number, with a hook in front of each step.
struct NumberedCases {
  std::function<void(std::int64_t)> on_decode = [](std::int64_t) {};
  std::function<void(std::int64_t)> on_segment = on_decode, on_store = on_decode;
  std::function<void()> on_make = [] {};
  std::function<bool()> is_interrupted = [] { return false; };

  std::atomic<int> open{0}, most_open{0}, steps_under_way{0}, segmenters{0};
  std::mutex mutex;
  std::set<std::int64_t> decoded, stored;
  std::set<std::thread::id> segmented_on;

  CaseSteps steps() {
    CaseSteps steps;
    steps.decode = [this](std::int64_t number) {
      const UnderWay under_way(*this);
      const int now = ++open;
      for (int before = most_open; before < now && !most_open.compare_exchange_weak(before, now);) {
      }
      note(decoded, number);
      on_decode(number);
      CtImage image;
      image.stored = {static_cast<std::int16_t>(number)};
      return image;
    };
    steps.make_segmenter = [this] {
      on_make();
      return Segmenter([this, made = std::make_shared<Made>(*this)](const CtImage& image) {
        const UnderWay under_way(*this);
        CHECK(made->on == std::this_thread::get_id());
        {
          const std::lock_guard lock(mutex);
          segmented_on.insert(made->on);
        }
        on_segment(image.stored.front());
        return labelled(image.stored.front());
      });
    };
    steps.store = [this](std::int64_t number, const CtImage&, const Segmentation& result) {
      const UnderWay under_way(*this);
      CHECK(result.labels.voxels.front() == number);
      on_store(number);
      note(stored, number);
      --open;
    };
    steps.is_interrupted = is_interrupted;
    return steps;
  }

private:
  struct UnderWay {
    explicit UnderWay(NumberedCases& all) : cases(all) { ++cases.steps_under_way; }
    ~UnderWay() { --cases.steps_under_way; }
    NumberedCases& cases;
  };
  /// A segmenter's life, which begins and ends on one thread.
  struct Made {
    explicit Made(NumberedCases& all) : cases(all) { ++cases.segmenters; }
    ~Made() {
      --cases.segmenters;
      if (std::this_thread::get_id() != on) cases.segmenters = 1000;
    }
    NumberedCases& cases;
    std::thread::id on = std::this_thread::get_id();
  };
  void note(std::set<std::int64_t>& set, std::int64_t number) {
    const std::lock_guard lock(mutex);
    CHECK(set.insert(number).second); // once each
  }
};

/// Holds threads until something has happened; gives up after a time that only a fault takes.
class Gate {
public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      is_open_ = true;
    }
    changed_.notify_all();
  }
  bool pass() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return is_open_; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
};

std::string thrown_by(const PoolPlan& plan, NumberedCases& cases, std::int64_t last) {
  try {
    run_side_by_side(plan, cases.steps(), numbers_to(last));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

[[noreturn]] void fail_with(const std::string& step, std::int64_t number) {
  throw std::runtime_error(step + " " + std::to_string(number));
}

// ---- a job ----

Workload imaging_job(const std::string& lines) {
  const TestFolder folder;
  const auto file = folder.write("s.toml", "schema = 1\nname = \"s\"\n[workload]\n"
                                           "kind = \"imaging\"\nphantom = \"thorax\"\n"
                                               + lines + "\n[[target]]\ninstance = \"local\"\n");
  const Scenario scenario = read_scenario(file.string(), {}, {{"imaging", imaging_keys()}});
  return make_imaging_workload(*scenario.workload);
}

const std::string bones = "model = \"classical\"\nsize_voxels = [40, 40, 24]\n"
                          "spacing_mm = [9, 9, 12]\ncases = 3\n"
                          "[[workload.stage]]\ndo = \"gaussian\"\nsigma_mm = 9\n"
                          "[[workload.stage]]\ndo = \"threshold\"\nlow_hu = 120\n"
                          "[[workload.stage]]\ndo = \"components\"\nconnectivity = 26\n";
const std::string network = "model = \"unet\"\nsize_voxels = [40, 40, 24]\n"
                            "spacing_mm = [9, 9, 12]\ncases = 3\n"
                            "[workload.unet]\nfeatures = 4\nstages = 2\nclasses = 3\n"
                            "patch = [16, 16, 16]\nweights_seed = 1\n";

} // namespace

TEST_CASE("every case is decoded and stored once, whatever the shape and the number of threads") {
  for (const PoolPlan& plan : all_plans()) {
    CAPTURE(plan.cpu_threads);
    CAPTURE(plan.feeders);
    NumberedCases cases;
    const PoolRun run = run_side_by_side(plan, cases.steps(), numbers_to(23));
    CHECK(run.checksums == expected_checksums(23));
    CHECK(cases.stored.size() == 23);
    CHECK(cases.decoded.size() == 23);
    CHECK(cases.open == 0);
    CHECK(cases.segmenters == 0);
    CHECK(run.wall_s > 0);
  }
}

TEST_CASE("more threads than cases, one case and none at all end too") {
  for (const std::int64_t last : {2, 1, 0})
    for (const PoolPlan& plan : {whole_cases(5), fed_gpu(5, 2, 9)}) {
      NumberedCases cases;
      CHECK(run_side_by_side(plan, cases.steps(), numbers_to(last)).checksums
            == expected_checksums(last));
      CHECK(cases.stored.size() == static_cast<std::size_t>(last));
    }
}

TEST_CASE("a worker of whole cases holds a case each, all at the same time") {
  NumberedCases cases;
  Gate all_here;
  std::atomic<int> here{0};
  cases.on_segment = [&](std::int64_t) {
    if (++here == 5) all_here.open();
    CHECK(all_here.pass());
  };
  run_side_by_side(whole_cases(5), cases.steps(), numbers_to(10));
  CHECK(cases.segmented_on.size() == 5);
}

TEST_CASE("two feeders are at work at once while cases are decoded ahead of them") {
  NumberedCases cases;
  Gate ahead;
  std::atomic<int> feeding{0}, decoded{0};
  const auto look = [&] {
    if (feeding >= 2 && decoded >= 4) ahead.open();
  };
  cases.on_decode = [&](std::int64_t) { ++decoded, look(); };
  cases.on_segment = [&](std::int64_t) {
    ++feeding, look();
    CHECK(ahead.pass());
  };
  run_side_by_side(fed_gpu(1, 2, 4), cases.steps(), numbers_to(9));
  CHECK(cases.segmented_on.size() == 2);
}

TEST_CASE("the bound on open cases is reached where feeders are slow, and never passed") {
  for (const int bound : {1, 3, 6}) {
    CAPTURE(bound);
    NumberedCases cases;
    Gate reached;
    cases.on_decode = [&](std::int64_t) {
      if (cases.open == bound) reached.open();
    };
    cases.on_segment = [&](std::int64_t) { CHECK(reached.pass()); };
    run_side_by_side(fed_gpu(4, 1, bound), cases.steps(), numbers_to(20));
    CHECK(cases.most_open == bound);
  }
}

TEST_CASE("feeders do not wait for a disk that is slow until the bound is reached") {
  NumberedCases cases;
  Gate fed;
  std::atomic<int> segmented{0};
  cases.on_segment = [&](std::int64_t) {
    if (++segmented == 4) fed.open();
  };
  cases.on_store = [&](std::int64_t) { CHECK(fed.pass()); };
  run_side_by_side(fed_gpu(2, 1, 4), cases.steps(), numbers_to(12));
  CHECK(cases.stored.size() == 12);
}

TEST_CASE("whichever step throws, the exception arrives once and nothing is left running") {
  for (const PoolPlan& plan : all_plans())
    for (const std::string step : {"decode", "segment", "store"}) {
      CAPTURE(plan.cpu_threads);
      CAPTURE(plan.feeders);
      CAPTURE(step);
      NumberedCases cases;
      const auto throws_at_5 = [&](std::int64_t number) {
        if (number == 5) fail_with(step, number);
      };
      (step == "decode"    ? cases.on_decode
       : step == "segment" ? cases.on_segment
                           : cases.on_store) = throws_at_5;
      CHECK(thrown_by(plan, cases, 400) == step + " 5");
      CHECK(cases.steps_under_way == 0);
      CHECK(cases.segmenters == 0);
      CHECK(cases.decoded.size() < 400);
      for (const std::int64_t before : {1, 2, 3, 4})
        CHECK(cases.stored.count(before) == 1);
    }
}

TEST_CASE("of several exceptions the one of the first case is thrown, though it comes last") {
  for (const PoolPlan& plan : {whole_cases(2), fed_gpu(2, 1, 5), fed_gpu(3, 2, 9)}) {
    NumberedCases cases;
    Gate later_failed;
    cases.on_decode = [&](std::int64_t number) {
      if (number < 3) return;
      later_failed.open();
      fail_with("decode", number);
    };
    cases.on_store = [&](std::int64_t number) {
      if (number != 2) return;
      CHECK(later_failed.pass());
      fail_with("store", number);
    };
    CHECK(thrown_by(plan, cases, 50) == "store 2");
    CHECK(cases.decoded.size() < 50);
  }
}

TEST_CASE("a segmenter that cannot be made stops the pool before the first case") {
  for (const PoolPlan& plan : all_plans()) {
    NumberedCases cases;
    cases.on_make = [] { throw std::runtime_error("no memory"); };
    CHECK(thrown_by(plan, cases, 9) == "no memory");
    CHECK(cases.decoded.empty());
  }
}

TEST_CASE("after an interruption open cases are finished, no further one begins") {
  for (const PoolPlan& plan : all_plans()) {
    CAPTURE(plan.cpu_threads);
    CAPTURE(plan.feeders);
    NumberedCases cases;
    std::atomic<bool> stop{false};
    cases.is_interrupted = [&] { return stop.load(); };
    cases.on_store = [&](std::int64_t) { stop = true; };
    const PoolRun run = run_side_by_side(plan, cases.steps(), numbers_to(400));
    const auto done = static_cast<std::int64_t>(run.checksums.size());
    CHECK(done > 0);
    CHECK(done < 400);
    CHECK(run.checksums == expected_checksums(done));
    CHECK(cases.stored.size() == run.checksums.size());
    CHECK(cases.decoded == cases.stored);
  }
}

TEST_CASE("as many cases at once as memory holds, at least one") {
  PoolMemory memory{100, 10, 100, 20}; // RAM, an open case, the path's memory, segmenting one
  CHECK(plan_whole_cases(8, memory).cpu_threads == 3); // 100 / (20 + 10)
  memory.ram_bytes = 1000;
  CHECK(plan_whole_cases(8, memory).cpu_threads == 5); // 100 / 20
  CHECK(plan_whole_cases(2, memory).cpu_threads == 2);
  memory.path_bytes = 10;
  CHECK(plan_whole_cases(8, memory).cpu_threads == 1);
  CHECK(plan_whole_cases(8, memory).most_open == 1);
}

TEST_CASE("a GPU has two feeders, one where its memory is short, and its cases bounded by RAM") {
  const PoolMemory ample{1000, 10, 100, 20};
  const PoolPlan plan = plan_fed_gpu(16, 1, ample);
  CHECK(plan.feeders == 2);
  CHECK(plan.cpu_threads == 14);
  CHECK(plan.most_open == 18); // 14 + 2 x 2
  CHECK(plan_fed_gpu(16, 4, ample).feeders == 8);
  CHECK(plan_fed_gpu(1, 1, ample).cpu_threads == 1);
  CHECK(plan_fed_gpu(16, 1, {1000, 10, 39, 20}).feeders == 1);
  CHECK(plan_fed_gpu(16, 1, {55, 10, 100, 20}).most_open == 5);
  CHECK(plan_fed_gpu(16, 1, {5, 10, 100, 20}).most_open == 1);
}

TEST_CASE("side by side the labels are those of one case after the other, on both paths") {
  const Workload job = imaging_job(bones);
  const Slice all = job.slice(1);
  REQUIRE(all.units.size() == 3);
  const Run alone = job.run(Path::openmp, all, {});
  for (const Path path : {Path::openmp, Path::host}) {
    CAPTURE(to_string(path));
    const SideBySide found = job.run_side_by_side(path, all, 3);
    CAPTURE(found.agreement.evidence);
    CHECK(found.agreement.passed);
    CHECK(found.checksum == alone.checksum);
    CHECK(found.units == 3);
    CHECK(found.whole_units);
    CHECK(found.wall_s > 0);
    CHECK(found.label == "3 of 3 cases");
    CHECK((found.gpu_feeders > 0) == (path == Path::host));
  }
}

TEST_CASE("cases that must be cut for memory go one at a time, with the same labels") {
  const Workload whole = imaging_job(bones);
  const Workload cut = imaging_job("memory = \"400 KiB\"\n" + bones);
  const Slice all = whole.slice(1);
  const std::uint64_t expected = whole.run(Path::openmp, all, {}).checksum;
  const SideBySide found = cut.run_side_by_side(Path::openmp, all, 3);
  CHECK(found.cpu_threads == 1);
  CHECK(found.checksum == expected);
  CHECK(cut.run_side_by_side(Path::host, all, 3).gpu_feeders == 1);
}

TEST_CASE("a network for each thread finds what one network on all threads finds, by its gate") {
  const Workload job = imaging_job(network);
  const Slice part = job.slice(0);
  for (const Path path : {Path::openmp, Path::host}) {
    const SideBySide found = job.run_side_by_side(path, part, 2);
    CAPTURE(found.agreement.evidence);
    CHECK(found.agreement.passed);
    CHECK(found.units == 2);
    CHECK_FALSE(found.whole_units);
    CHECK(found.label.starts_with("2 of 3 cases, 1 of "));
    CHECK(found.label.ends_with(" windows of each"));
  }
}
