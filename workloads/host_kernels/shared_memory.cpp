#include "workloads/host_kernels/shared_memory.h"

#include "workloads/host_kernels/emulator.h"
#include "workloads/host_kernels/launch_rules.h"

#include <algorithm>

namespace breakeven::host_kernels {

namespace {

constexpr std::byte poison{0xCD};
constexpr std::size_t word_bytes = 4;

int warp_of(int thread) { return thread / threads_per_warp; }

const char* verb_of(Access access) {
  switch (access) {
  case Access::read:
    return "reads";
  case Access::write:
    return "writes";
  case Access::atomic:
    return "atomically updates";
  }
  return "?";
}

} // namespace

void SharedMemory::begin_block(std::int64_t block_index, int threads, std::size_t bytes) {
  block_index_ = block_index;
  bytes_ = bytes;
  if (memory_.size() < bytes) memory_.resize(bytes);
  std::fill_n(memory_.begin(), bytes, poison);
  const auto warps = static_cast<std::size_t>(threads / threads_per_warp);
  if (warp_epochs_.size() < warps) warp_epochs_.resize(warps, 0);
  const std::size_t words = (bytes + word_bytes - 1) / word_bytes;
  if (cells_.size() < words) cells_.resize(words);
  if (epoch_ > 0x8000'0000u) { // no block has two thousand million barriers
    std::fill(cells_.begin(), cells_.end(), Cell{});
    epoch_ = 0;
  }
  first_epoch_ = ++epoch_;
}

void SharedMemory::Touched::note(const Now& now) {
  const bool several_warps = other != none && warp_of(other) != warp_of(thread);
  const bool same_warp = warp_of(thread) == now.warp;
  if (epoch != now.epoch || (same_warp && !several_warps && warp_epoch != now.warp_epoch))
    *this = {now.epoch, now.warp_epoch, static_cast<std::int16_t>(now.thread), none};
  else if (!several_warps && thread != now.thread)
    other = static_cast<std::int16_t>(now.thread);
}

int SharedMemory::Touched::unordered_with(const Now& now) const {
  if (epoch != now.epoch) return none;
  if (warp_of(thread) != now.warp) return thread;
  if (other != none && warp_of(other) != now.warp) return other;
  if (warp_epoch != now.warp_epoch) return none;
  return thread != now.thread ? thread : other;
}

void SharedMemory::check(Cell& cell, const Now& now, std::size_t offset, Access access) {
  if (access != Access::write && !of_this_block(cell.write.epoch))
    fault(now.thread, std::string(verb_of(access)) + " shared word "
                          + std::to_string(offset / word_bytes)
                          + ", which nobody in this block has written");
  if (const int earlier = cell.write.unordered_with(now); earlier != none)
    race_fault(earlier, Access::write, now.thread, access, offset);
  if (access != Access::read)
    if (const int earlier = cell.read.unordered_with(now); earlier != none)
      race_fault(earlier, Access::read, now.thread, access, offset);
  if (access != Access::atomic)
    if (const int earlier = cell.atomic.unordered_with(now); earlier != none)
      race_fault(earlier, Access::atomic, now.thread, access, offset);
  switch (access) {
  case Access::read:
    return cell.read.note(now);
  case Access::write:
    return cell.write.note(now);
  case Access::atomic:
    return cell.atomic.note(now);
  }
}

// Bytes of one word may belong to different threads. That is rare, so a word gets cells for its
// bytes, with its own history in each, only once part of it is touched.
void SharedMemory::check_bytes(std::size_t word, std::size_t first, std::size_t last,
                               const Now& now, Access access) {
  byte_cells_.resize(cells_.size() * word_bytes);
  Cell& whole = cells_[word];
  Cell* const bytes = &byte_cells_[word * word_bytes];
  if (!of_this_block(whole.split_epoch)) {
    std::fill_n(bytes, word_bytes, whole);
    whole.split_epoch = epoch_;
  }
  for (std::size_t offset = first; offset < last; ++offset)
    check(bytes[offset % word_bytes], now, offset, access);
}

std::byte* SharedMemory::touch(int thread, std::size_t offset, std::size_t bytes, Access access) {
  const int warp = warp_of(thread);
  const Now now{thread, warp, epoch_, warp_epochs_[static_cast<std::size_t>(warp)]};
  const std::size_t end = offset + bytes;
  for (std::size_t word = offset / word_bytes; word * word_bytes < end; ++word) {
    const std::size_t first = std::max(offset, word * word_bytes);
    const std::size_t last = std::min(end, (word + 1) * word_bytes);
    if (last - first < word_bytes || of_this_block(cells_[word].split_epoch))
      check_bytes(word, first, last, now, access);
    else
      check(cells_[word], now, first, access);
  }
  return memory_.data() + offset;
}

void SharedMemory::check_view(int thread, std::size_t offset, std::size_t count,
                              std::size_t object_bytes, std::size_t alignment) const {
  if (offset % alignment != 0)
    fault(thread, "shared memory at byte " + std::to_string(offset) + " is not aligned to "
                      + std::to_string(alignment) + " bytes");
  if (offset > bytes_ || count > (bytes_ - offset) / object_bytes)
    fault(thread, std::to_string(count) + " objects of " + std::to_string(object_bytes)
                      + " bytes at byte " + std::to_string(offset) + " exceed the "
                      + std::to_string(bytes_) + " bytes of shared memory");
}

void SharedMemory::index_fault(int thread, std::size_t index, std::size_t count) const {
  fault(thread, "index " + std::to_string(static_cast<std::ptrdiff_t>(index))
                    + " lies outside a shared array of " + std::to_string(count));
}

void SharedMemory::race_fault(int earlier, Access earlier_access, int thread, Access access,
                              std::size_t offset) const {
  const std::string word =
      " shared word " + std::to_string(offset / word_bytes) + " with no barrier between";
  const std::string first = std::to_string(earlier), second = std::to_string(thread);
  const std::string who = earlier_access == Access::write && access == Access::write
                              ? "threads " + first + " and " + second + " both write"
                              : "thread " + first + " " + verb_of(earlier_access) + " and thread "
                                    + second + " " + verb_of(access);
  throw KernelFault("block " + std::to_string(block_index_) + ": " + who + word);
}

void SharedMemory::fault(int thread, const std::string& what) const {
  throw KernelFault("block " + std::to_string(block_index_) + ", thread " + std::to_string(thread)
                    + ": " + what);
}

} // namespace breakeven::host_kernels
