#include "workloads/host_kernels/block.h"

#include "workloads/host_kernels/launch_rules.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

namespace breakeven::host_kernels {

namespace {

/// Thrown in threads that wait while their block is given up, so that their stacks unwind.
struct Abandoned {};

const char* name_of(Operation operation) {
  switch (operation) {
  case Operation::none:
    return "nothing";
  case Operation::barrier:
    return "sync()";
  case Operation::warp_barrier:
    return "sync_warp()";
  case Operation::shuffle:
    return "a shuffle";
  case Operation::vote:
    return "a vote";
  }
  return "?";
}

bool same_site(const Site& a, const Site& b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

bool is_warp_operation(Operation operation) {
  return operation != Operation::none && operation != Operation::barrier;
}

/// "3", "0-31" or "0, 2, 4, 6 and 28 more" of threads in rising order.
std::string list_of(const std::vector<int>& threads) {
  constexpr std::size_t most_ranges = 4;
  std::string text;
  std::size_t i = 0;
  for (std::size_t range = 0; range < most_ranges && i < threads.size(); ++range) {
    std::size_t last = i;
    while (last + 1 < threads.size() && threads[last + 1] == threads[last] + 1)
      ++last;
    text += (range > 0 ? ", " : "") + std::to_string(threads[i]);
    if (last > i) text += "-" + std::to_string(threads[last]);
    i = last + 1;
  }
  if (i < threads.size()) text += " and " + std::to_string(threads.size() - i) + " more";
  return (threads.size() > 1 ? "threads " : "thread ") + text;
}

} // namespace

void Block::run(const GridShape& grid, std::int64_t index, Schedule schedule,
                const std::function<void(Block&, int)>& body) {
  grid_ = grid;
  index_ = index;
  body_ = &body;
  started_ = ended_ = 0;
  exception_ = nullptr;
  unwinding_ = false;
  try {
    choose_order(schedule);
    states_.assign(static_cast<std::size_t>(threads()), {});
    shared_.begin_block(index, threads(), grid.shared_bytes);
    start_threads();
    while (ended_ < threads() && !exception_)
      go_on();
  } catch (...) {
    exception_ = std::current_exception();
  }
  unwind_waiting();
  body_ = nullptr;
  if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
}

void Block::choose_order(Schedule schedule) {
  order_.resize(static_cast<std::size_t>(threads()));
  std::iota(order_.begin(), order_.end(), 0);
  if (schedule.order == Order::reverse) std::reverse(order_.begin(), order_.end());
  if (schedule.order == Order::shuffled) {
    std::seed_seq seeds{schedule.seed, schedule.seed >> 32, static_cast<std::uint64_t>(index_)};
    std::mt19937 random(seeds);
    std::shuffle(order_.begin(), order_.end(), random);
  }
  order_in_warp_ = order_;
  if (schedule.order != Order::forward)
    std::stable_sort(order_in_warp_.begin(), order_in_warp_.end(),
                     [](int a, int b) { return a / threads_per_warp < b / threads_per_warp; });
}

// A fibre runs one thread after the other to its end. Only a thread that waits keeps its fibre, and
// the next thread then starts on another. A block without barriers so costs one switch of stacks.
void Block::start_threads() {
  for (std::size_t next = 0; started_ < threads() && !exception_; ++next) {
    if (next == fibres_.size())
      fibres_.push_back(std::make_unique<Fibre>([this] { run_threads_not_started(); }));
    running_ = fibres_[next].get();
    running_->resume();
  }
}

void Block::run_threads_not_started() {
  while (started_ < threads() && !exception_) {
    const int thread = order_[static_cast<std::size_t>(started_++)];
    try {
      (*body_)(*this, thread);
    } catch (const Abandoned&) {
      // Another thread of the block has failed; its exception is the one to report.
    } catch (...) {
      if (!exception_) exception_ = std::current_exception();
    }
    state(thread).ended = true;
    ++ended_;
  }
}

void Block::wait(int thread, Operation operation, const Site& site) {
  // A kernel that catches everything may come here again while its block is given up.
  if (unwinding_) throw Abandoned{};
  ThreadState& own = state(thread);
  own.waits_for = operation;
  own.site = site;
  own.fibre = running_;
  own.fibre->suspend();
  if (unwinding_) throw Abandoned{};
}

void Block::resume(int thread) {
  ThreadState& next = state(thread);
  next.waits_for = Operation::none;
  running_ = next.fibre;
  running_->resume();
}

void Block::unwind_waiting() {
  unwinding_ = true;
  for (std::size_t thread = 0; thread < states_.size(); ++thread)
    if (states_[thread].waits_for != Operation::none) resume(static_cast<int>(thread));
}

void Block::go_on() {
  bool progress = false;
  for (int warp = 0; warp < threads() / threads_per_warp; ++warp)
    while (!exception_ && complete_warp(warp))
      progress = true;
  if (!progress && !exception_ && !complete_barrier()) divergence_fault();
}

bool Block::complete_warp(int warp) {
  const int first = warp * threads_per_warp;
  ThreadState* const lanes = &state(first);
  if (!is_warp_operation(lanes->waits_for)) return false;
  for (int lane = 1; lane < threads_per_warp; ++lane)
    if (lanes[lane].waits_for != lanes->waits_for || !same_site(lanes[lane].site, lanes->site))
      return false;
  exchange(lanes, warp);
  for (int place = first; place < first + threads_per_warp && !exception_; ++place)
    resume(order_in_warp_[static_cast<std::size_t>(place)]);
  return true;
}

void Block::exchange(ThreadState* lanes, int warp) {
  if (lanes->waits_for == Operation::warp_barrier) shared_.warp_barrier(warp);
  if (lanes->waits_for == Operation::shuffle)
    for (int lane = 0; lane < threads_per_warp; ++lane)
      lanes[lane].result = lanes[lanes[lane].source].value;
  if (lanes->waits_for == Operation::vote) {
    std::uint64_t votes = 0;
    for (int lane = 0; lane < threads_per_warp; ++lane)
      votes |= lanes[lane].value << lane;
    for (int lane = 0; lane < threads_per_warp; ++lane)
      lanes[lane].result = votes;
  }
}

bool Block::complete_barrier() {
  const ThreadState& leader = state(0);
  for (const ThreadState& each : states_)
    if (each.waits_for != Operation::barrier || !same_site(each.site, leader.site)) return false;
  shared_.block_barrier();
  for (const int thread : order_) {
    if (exception_) break;
    resume(thread);
  }
  return true;
}

void Block::divergence_fault() const {
  const std::string block = "block " + std::to_string(index_);
  for (int thread = 0; thread < threads(); ++thread)
    if (is_warp_operation(state(thread).waits_for)) {
      const int first = thread - thread % threads_per_warp;
      throw KernelFault(block + ", warp " + std::to_string(first / threads_per_warp)
                        + ": divergent warp operation: "
                        + whereabouts(first, first + threads_per_warp));
    }
  throw KernelFault(block + ": divergent barrier: " + whereabouts(0, threads()));
}

/// "threads 0-31 wait at sync() (file:line), threads 32-63 have returned"
std::string Block::whereabouts(int first, int last) const {
  struct Group {
    const ThreadState* at;
    std::vector<int> threads;
  };
  std::vector<Group> groups;
  for (int thread = first; thread < last; ++thread) {
    const ThreadState& own = state(thread);
    const auto together = [&](const Group& group) {
      return group.at->ended == own.ended && group.at->waits_for == own.waits_for
             && (own.ended || same_site(group.at->site, own.site));
    };
    auto group = std::find_if(groups.begin(), groups.end(), together);
    if (group == groups.end()) group = groups.insert(group, {&own, {}});
    group->threads.push_back(thread);
  }
  std::string text;
  for (const Group& group : groups) {
    const bool several = group.threads.size() > 1;
    text += (text.empty() ? "" : ", ") + list_of(group.threads);
    if (group.at->ended)
      text += several ? " have returned" : " has returned";
    else
      text += std::string(several ? " wait at " : " waits at ") + name_of(group.at->waits_for)
              + " (" + group.at->site.file + ":" + std::to_string(group.at->site.line) + ")";
  }
  return text;
}

void Block::barrier(int thread, const Site& site) { wait(thread, Operation::barrier, site); }

void Block::warp_barrier(int thread, const Site& site) {
  wait(thread, Operation::warp_barrier, site);
}

std::uint64_t Block::shuffle(int thread, std::uint64_t value, int source, const Site& site) {
  state(thread).value = value;
  state(thread).source = source;
  wait(thread, Operation::shuffle, site);
  return state(thread).result;
}

std::uint32_t Block::vote(int thread, bool value, const Site& site) {
  state(thread).value = value ? 1 : 0;
  wait(thread, Operation::vote, site);
  return static_cast<std::uint32_t>(state(thread).result);
}

} // namespace breakeven::host_kernels
