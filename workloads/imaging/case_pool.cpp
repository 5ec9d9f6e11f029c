#include "workloads/imaging/case_pool.h"

#include "workloads/clock.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

namespace breakeven::imaging {

namespace {

constexpr int feeders_a_gpu = 2;
constexpr int waiting_a_feeder = 2;

// FNV-1a (Fowler, Noll and Vo), a label or a checksum at a time instead of a byte.
constexpr std::uint64_t fnv_start = 0xCBF29CE484222325ull, fnv_prime = 0x100000001B3ull;

/// How many of `each_bytes` fit, from 1 to `most`.
int fitting(double bytes, double each_bytes, int most) {
  if (!(each_bytes > 0)) return most;
  return static_cast<int>(std::clamp(std::floor(bytes / each_bytes), 1.0, double(most)));
}

/// Stands for a failure before any case.
constexpr std::size_t before_all = 0, no_case = std::numeric_limits<std::size_t>::max();

class CasePool {
public:
  CasePool(const PoolPlan& plan, const CaseSteps& steps, const std::vector<std::int64_t>& cases)
      : plan_(plan),
        steps_(steps),
        cases_(cases),
        checksums_(cases.size()),
        end_(cases.size()) {
    assert(plan.cpu_threads > 0 && plan.most_open > 0);
    assert((plan.shape == PoolShape::fed_gpu) == (plan.feeders > 0));
    // So that no thread that hands a case on asks for memory.
    decoded_.reserve(static_cast<std::size_t>(plan.most_open));
    finished_.reserve(static_cast<std::size_t>(plan.most_open));
  }

  PoolRun run() {
    start_threads();
    {
      Lock lock(mutex_);
      changed_.wait(lock, [&] { return ready_ == threads_.size(); });
      start_s_ = last_closed_s_ = seconds_now();
      started_ = true;
    }
    changed_.notify_all();
    threads_.clear(); // joins them
    if (exception_) std::rethrow_exception(exception_);
    checksums_.resize(next_); // fewer where the user interrupted
    return {last_closed_s_ - start_s_, checksums_};
  }

private:
  /// A case on its way.
  struct Open {
    std::size_t at = 0; ///< its place in cases_
    bool is_segmented = false;
    CtImage image;
    Segmentation result; ///< once it is segmented
  };
  using Lock = std::unique_lock<std::mutex>;

  // ---- threads ----

  void start_threads() {
    const bool fed = plan_.shape == PoolShape::fed_gpu;
    try {
      for (int i = 0; i < plan_.cpu_threads; ++i)
        start_thread(fed ? &CasePool::decode_and_store : &CasePool::do_whole_cases);
      for (int i = 0; i < plan_.feeders; ++i)
        start_thread(&CasePool::feed);
    } catch (...) { // the system gives no more threads
      fail(before_all);
    }
  }

  void start_thread(void (CasePool::*loop)()) {
    threads_.emplace_back([this, loop] {
      omp_set_num_threads(1); // for this thread alone
      (this->*loop)();
    });
  }

  void do_whole_cases() {
    const Segmenter segmenter = made();
    wait_for_start();
    while (auto open = next_for_cpu())
      if (decode(*open) && segment(segmenter, *open)) store(*open);
  }

  void decode_and_store() {
    wait_for_start();
    while (auto open = next_for_cpu()) {
      if (open->is_segmented)
        store(*open);
      else if (decode(*open))
        put(decoded_, std::move(*open));
    }
  }

  void feed() {
    const Segmenter segmenter = made();
    wait_for_start();
    while (auto open = next_for_gpu())
      if (segment(segmenter, *open)) put(finished_, std::move(*open));
  }

  /// Empty where it cannot be made; then no case is begun.
  Segmenter made() {
    try {
      return steps_.make_segmenter();
    } catch (...) {
      fail(before_all);
      return {};
    }
  }

  void wait_for_start() {
    Lock lock(mutex_);
    ++ready_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return started_; });
  }

  // ---- the steps of a case: false where they threw, and the case is closed ----

  bool decode(Open& open) {
    return step(open, [&] { open.image = steps_.decode(cases_[open.at]); });
  }

  bool segment(const Segmenter& segmenter, Open& open) {
    return step(open, [&] {
      open.result = segmenter(open.image);
      open.is_segmented = true;
    });
  }

  void store(Open& open) {
    const bool stored = step(open, [&] {
      checksums_[open.at] = checksum_of(open.result);
      steps_.store(cases_[open.at], open.image, open.result);
    });
    if (stored) close(open);
  }

  template <class Step>
  bool step(Open& open, Step run) {
    try {
      run();
      return true;
    } catch (...) {
      fail(open.at);
      close(open);
      return false;
    }
  }

  // ---- what the threads share, under mutex_ ----

  bool may_begin() const { return next_ < end_ && open_ < plan_.most_open; }
  bool all_done() const { return next_ >= end_ && open_ == 0; }

  /// A case to begin while the bound allows, so that a slow disk leaves no feeder without one, else
  /// one to store; none once all are done.
  std::optional<Open> next_for_cpu() {
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return may_begin() || !finished_.empty() || all_done(); });
    if (may_begin() && steps_.is_interrupted()) {
      end_ = next_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !finished_.empty() || all_done(); });
    }
    if (may_begin()) {
      ++open_;
      Open open;
      open.at = next_++;
      return open;
    }
    if (!finished_.empty()) return taken(finished_);
    return {};
  }

  std::optional<Open> next_for_gpu() {
    Lock lock(mutex_);
    changed_.wait(lock, [&] { return !decoded_.empty() || all_done(); });
    if (decoded_.empty()) return {};
    return taken(decoded_);
  }

  static Open taken(std::vector<Open>& queue) {
    Open open = std::move(queue.front());
    queue.erase(queue.begin());
    return open;
  }

  void put(std::vector<Open>& queue, Open&& open) {
    {
      const Lock lock(mutex_);
      if (open.at < failed_) {
        queue.push_back(std::move(open));
        changed_.notify_all();
        return;
      }
    }
    close(open);
  }

  /// Its memory goes first, as what is open is what is bounded.
  void close(Open& open) {
    open = {};
    {
      const Lock lock(mutex_);
      --open_;
      last_closed_s_ = seconds_now();
    }
    changed_.notify_all();
  }

  /// Keeps the exception under way if no earlier case had one, and drops what comes after it.
  void fail(std::size_t at) {
    {
      const Lock lock(mutex_);
      if (at < failed_) {
        failed_ = at;
        exception_ = std::current_exception();
      }
      end_ = next_;
      drop_failed(decoded_);
      drop_failed(finished_);
    }
    changed_.notify_all();
  }

  void drop_failed(std::vector<Open>& queue) {
    open_ -= static_cast<int>(
        std::erase_if(queue, [&](const Open& open) { return open.at >= failed_; }));
  }

  const PoolPlan& plan_;
  const CaseSteps& steps_;
  const std::vector<std::int64_t>& cases_;
  std::vector<std::uint64_t> checksums_; ///< each written by the thread that has the case

  std::mutex mutex_;
  std::condition_variable changed_; ///< any of what follows
  std::size_t ready_ = 0;
  bool started_ = false;
  std::size_t next_ = 0, end_; ///< cases [next_, end_) are still to be begun
  std::size_t failed_ = no_case;
  int open_ = 0;
  std::vector<Open> decoded_, finished_;
  std::exception_ptr exception_; ///< of case failed_
  double start_s_ = 0, last_closed_s_ = 0;
  std::vector<std::jthread> threads_;
};

} // namespace

double open_case_bytes(const Extent& scan) {
  return static_cast<double>(scan.voxels())
         * static_cast<double>(sizeof(float) + sizeof(std::uint32_t));
}

PoolPlan plan_whole_cases(int threads, const PoolMemory& memory) {
  PoolPlan plan;
  plan.cpu_threads = std::min(
      fitting(memory.path_bytes, memory.segmenting_bytes, threads),
      fitting(memory.ram_bytes, memory.segmenting_bytes + memory.open_case_bytes, threads));
  plan.most_open = plan.cpu_threads;
  return plan;
}

PoolPlan plan_fed_gpu(int threads, int gpus, const PoolMemory& memory) {
  PoolPlan plan;
  plan.shape = PoolShape::fed_gpu;
  plan.feeders = gpus * fitting(memory.path_bytes, memory.segmenting_bytes, feeders_a_gpu);
  plan.cpu_threads = std::max(1, threads - plan.feeders);
  plan.most_open = fitting(memory.ram_bytes, memory.open_case_bytes,
                           plan.cpu_threads + waiting_a_feeder * plan.feeders);
  return plan;
}

PoolRun run_side_by_side(const PoolPlan& plan, const CaseSteps& steps,
                         const std::vector<std::int64_t>& cases) {
  return CasePool(plan, steps, cases).run();
}

std::uint64_t checksum_of(const Segmentation& result) {
  const std::vector<std::uint32_t>& labels = result.labels.voxels;
  // Each multiplication waits for the one before; those of four sums do so side by side.
  std::array<std::uint64_t, 4> sums;
  sums.fill(fnv_start);
  std::size_t i = 0;
  for (; i + sums.size() <= labels.size(); i += sums.size())
    for (std::size_t lane = 0; lane < sums.size(); ++lane)
      sums[lane] = (sums[lane] ^ labels[i + lane]) * fnv_prime;
  for (; i < labels.size(); ++i)
    sums[0] = (sums[0] ^ labels[i]) * fnv_prime;
  return checksum_of_cases({sums.begin(), sums.end()});
}

std::uint64_t checksum_of_cases(const std::vector<std::uint64_t>& cases) {
  std::uint64_t hash = fnv_start;
  for (const std::uint64_t one : cases)
    hash = (hash ^ one) * fnv_prime;
  return hash;
}

} // namespace breakeven::imaging
