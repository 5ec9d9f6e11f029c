#include "workloads/host_kernels/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <random>

namespace breakeven::host_kernels {

namespace {

constexpr std::byte poison{0xCD};

std::atomic<Order> schedule_order{Order::forward};
std::atomic<std::uint64_t> schedule_seed{0};

/// Thrown in threads that wait when their block is given up, so that their stacks unwind.
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

bool same_site(const std::source_location& a, const std::source_location& b) {
  return a.line() == b.line() && a.column() == b.column()
         && std::strcmp(a.file_name(), b.file_name()) == 0;
}

std::vector<int> start_order(int threads, std::int64_t block) {
  std::vector<int> order(static_cast<std::size_t>(threads));
  std::iota(order.begin(), order.end(), 0);
  const Schedule schedule = current_schedule();
  if (schedule.order == Order::reverse) std::reverse(order.begin(), order.end());
  if (schedule.order == Order::shuffled) {
    std::mt19937_64 random(schedule.seed * 1'000'003 + static_cast<std::uint64_t>(block));
    std::shuffle(order.begin(), order.end(), random);
  }
  return order;
}

} // namespace

void set_schedule(Schedule schedule) {
  schedule_order = schedule.order;
  schedule_seed = schedule.seed;
}
Schedule current_schedule() { return {schedule_order, schedule_seed}; }

void Block::run(std::int64_t block_index, int threads, std::size_t shared_bytes, const Body& body) {
  body_ = &body;
  block_index_ = block_index;
  threads_ = threads;
  started_ = 0;
  order_ = start_order(threads, block_index);
  states_.assign(static_cast<std::size_t>(threads), {});
  exception_ = nullptr;
  abandoned_ = false;
  epoch_ = 1;
  warp_epochs_.assign(static_cast<std::size_t>((threads + warp_size - 1) / warp_size), 1);
  shared_.assign(shared_bytes, poison);
  shadow_.assign((shared_bytes + 3) / 4, {});
  try {
    run_unstarted();
    while (!exception_ && std::any_of(states_.begin(), states_.end(), [](const ThreadState& state) {
      return !state.ended;
    }))
      go_on_where_possible();
  } catch (...) {
    exception_ = std::current_exception();
  }
  abandon_waiting();
  fibres_.clear();
  if (exception_) std::rethrow_exception(exception_);
}

// A fibre runs one thread after the other to its end; only a thread that waits keeps its fibre, and
// the next one then gets a new fibre. Kernels without barriers so cost one switch a block.
void Block::run_unstarted() {
  while (started_ < threads_ && !exception_) {
    fibres_.push_back(std::make_unique<Fibre>([this] { worker_loop(); }));
    running_fibre_ = fibres_.back().get();
    if (!running_fibre_->resume()) fibres_.pop_back();
  }
}

void Block::worker_loop() {
  Fibre* const own = running_fibre_;
  while (started_ < threads_ && !exception_ && !abandoned_) {
    const int thread = order_[static_cast<std::size_t>(started_++)];
    running_thread_ = thread;
    try {
      (*body_)(thread);
    } catch (const Abandoned&) {
      // Another thread of the block has failed; its exception is the one to report.
    } catch (...) {
      if (!exception_) exception_ = std::current_exception();
    }
    states_[static_cast<std::size_t>(thread)].ended = true;
    running_fibre_ = own;
  }
}

void Block::resume(int thread) {
  ThreadState& state = states_[static_cast<std::size_t>(thread)];
  state.waits_for = Operation::none;
  running_thread_ = thread;
  running_fibre_ = state.fibre;
  running_fibre_->resume();
}

void Block::wait(int thread, Operation operation, const std::source_location& site) {
  ThreadState& state = states_[static_cast<std::size_t>(thread)];
  state.waits_for = operation;
  state.site = site;
  state.fibre = running_fibre_;
  state.fibre->suspend();
  if (abandoned_) throw Abandoned{};
}

void Block::abandon_waiting() {
  abandoned_ = true;
  for (int thread = 0; thread < threads_; ++thread) {
    const ThreadState& state = states_[static_cast<std::size_t>(thread)];
    if (state.waits_for != Operation::none && !state.ended) resume(thread);
  }
}

void Block::go_on_where_possible() {
  if (complete_warps()) return;
  if (complete_barrier()) return;
  throw KernelFault(
      fmt::format("block {}: a divergent barrier: {}", block_index_, describe_waiting()));
}

bool Block::complete_warps() {
  bool any = false;
  for (int first = 0; first < threads_ && !exception_; first += warp_size)
    any = complete_warp(first, std::min(first + warp_size, threads_)) || any;
  return any;
}

bool Block::complete_warp(int first, int last) {
  const ThreadState& leader = states_[static_cast<std::size_t>(first)];
  if (leader.waits_for == Operation::none || leader.waits_for == Operation::barrier) return false;
  std::uint32_t votes = 0;
  for (int thread = first; thread < last; ++thread) {
    const ThreadState& state = states_[static_cast<std::size_t>(thread)];
    if (state.waits_for != leader.waits_for || !same_site(state.site, leader.site)) return false;
    votes |= (state.value != 0 ? 1u : 0u) << (thread - first);
  }
  for (int thread = first; thread < last; ++thread) {
    ThreadState& state = states_[static_cast<std::size_t>(thread)];
    if (leader.waits_for == Operation::vote) state.result = votes;
    if (leader.waits_for == Operation::shuffle)
      state.result =
          states_[static_cast<std::size_t>(std::min(first + state.source, last - 1))].value;
  }
  ++warp_epochs_[static_cast<std::size_t>(first / warp_size)];
  for (const int thread : order_)
    if (thread >= first && thread < last && !exception_) resume(thread);
  return true;
}

bool Block::complete_barrier() {
  for (const ThreadState& state : states_)
    if (state.waits_for != Operation::barrier || !same_site(state.site, states_.front().site))
      return false;
  ++epoch_;
  for (const int thread : order_)
    if (!exception_) resume(thread);
  return true;
}

std::string Block::describe_waiting() const {
  std::string text;
  for (std::size_t first = 0; first < states_.size();) {
    std::size_t last = first;
    const auto same = [&](const ThreadState& a, const ThreadState& b) {
      return a.ended == b.ended && a.waits_for == b.waits_for
             && (a.ended || same_site(a.site, b.site));
    };
    while (last + 1 < states_.size() && same(states_[first], states_[last + 1]))
      ++last;
    const ThreadState& state = states_[first];
    text += fmt::format("{}threads {}-{} {}", text.empty() ? "" : ", ", first, last,
                        state.ended ? "have returned"
                                    : fmt::format("wait at {} in line {}", name_of(state.waits_for),
                                                  state.site.line()));
    first = last + 1;
  }
  return text;
}

void Block::barrier(int thread, const std::source_location& site) {
  wait(thread, Operation::barrier, site);
}

void Block::warp_barrier(int thread, const std::source_location& site) {
  wait(thread, Operation::warp_barrier, site);
}

std::uint64_t Block::shuffle(int thread, std::uint64_t value, int source,
                             const std::source_location& site) {
  ThreadState& state = states_[static_cast<std::size_t>(thread)];
  state.value = value;
  state.source = source & (warp_size - 1);
  wait(thread, Operation::shuffle, site);
  return state.result;
}

std::uint32_t Block::vote(int thread, bool value, const std::source_location& site) {
  ThreadState& state = states_[static_cast<std::size_t>(thread)];
  state.value = value ? 1 : 0;
  wait(thread, Operation::vote, site);
  return static_cast<std::uint32_t>(state.result);
}

void Block::fault(int thread, const std::string& what) const {
  throw KernelFault(fmt::format("block {} thread {}: {}", block_index_, thread, what));
}

void Block::check_shared_view(int thread, std::size_t offset, std::size_t count, std::size_t size,
                              std::size_t alignment) const {
  if (offset % alignment != 0)
    fault(thread, fmt::format("shared memory at byte {} is not aligned to {}", offset, alignment));
  if (offset > shared_.size() || count > (shared_.size() - offset) / size)
    fault(thread,
          fmt::format("{} objects of {} bytes at byte {} exceed the {} bytes of shared memory",
                      count, size, offset, shared_.size()));
}

std::byte* Block::touch_shared(int thread, std::size_t offset, std::size_t bytes, Access access) {
  for (std::size_t word = offset / 4; word <= (offset + bytes - 1) / 4; ++word)
    check_race(thread, word, access);
  return shared_.data() + offset;
}

/// Whether an earlier access is separated from now by a barrier of the block or of the warp.
bool Block::ordered(int earlier, std::uint32_t earlier_epoch, std::uint32_t earlier_warp_epoch,
                    int now) const {
  if (earlier == now || earlier_epoch != epoch_) return true;
  return earlier / warp_size == now / warp_size
         && earlier_warp_epoch != warp_epochs_[static_cast<std::size_t>(now / warp_size)];
}

/// Remembers one reader for its warp, whether others of the warp read in the same stretch between
/// warp operations, and whether another warp read too.
void Block::note_read(WordShadow& shadow, int thread, std::uint32_t warp_epoch) const {
  const bool first = shadow.read_epoch != epoch_;
  if (!first && shadow.reader / warp_size != thread / warp_size) {
    shadow.read_by_warps = true;
    return;
  }
  const bool new_stretch = first || shadow.read_warp_epoch != warp_epoch;
  shadow.read_by_lanes = !new_stretch && (shadow.read_by_lanes || shadow.reader != thread);
  if (first) shadow.read_by_warps = false;
  shadow.reader = thread;
  shadow.read_epoch = epoch_;
  shadow.read_warp_epoch = warp_epoch;
}

bool Block::read_by_others(const WordShadow& shadow, int thread, std::uint32_t warp_epoch) const {
  if (shadow.read_epoch != epoch_) return false;
  if (shadow.read_by_warps || shadow.reader / warp_size != thread / warp_size) return true;
  return shadow.read_warp_epoch == warp_epoch && (shadow.read_by_lanes || shadow.reader != thread);
}

void Block::check_race(int thread, std::size_t word, Access access) {
  WordShadow& shadow = shadow_[word];
  const std::uint32_t warp_epoch = warp_epochs_[static_cast<std::size_t>(thread / warp_size)];
  if (access != Access::write && !shadow.written)
    fault(thread, fmt::format("shared word {} is read before anything was written to it", word));
  if (shadow.written && !(access == Access::atomic && shadow.write_was_atomic)
      && !ordered(shadow.writer, shadow.write_epoch, shadow.write_warp_epoch, thread))
    fault(thread, fmt::format("threads {} and {} both touch shared word {}, one writing, with no "
                              "barrier between",
                              shadow.writer, thread, word));
  if (access == Access::read)
    note_read(shadow, thread, warp_epoch);
  else if (read_by_others(shadow, thread, warp_epoch))
    fault(thread,
          fmt::format("thread {} writes shared word {} that thread {} reads, with no barrier "
                      "between",
                      thread, word, shadow.reader));
  if (access == Access::read) return;
  shadow.written = true;
  shadow.write_was_atomic = access == Access::atomic;
  shadow.writer = thread;
  shadow.write_epoch = epoch_;
  shadow.write_warp_epoch = warp_epoch;
}

} // namespace breakeven::host_kernels
