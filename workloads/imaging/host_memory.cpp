#include "workloads/imaging/host_memory.h"

#include "sim/errors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>

namespace breakeven::imaging {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

[[noreturn]] void no_room(std::size_t bytes, const std::string& where, const std::string& why) {
  throw Failure(fmt::format("no room for {:.2f} GB more in {}: {}",
                            static_cast<double>(bytes) * 1e-9, where, why));
}

/// Large blocks start at a huge page and ask for them: a volume has 500 times fewer page faults.
std::size_t unit_for(std::size_t bytes) { return bytes >= 8 * huge_page ? huge_page : alignment; }
std::size_t rounded_up(std::size_t bytes) {
  const std::size_t unit = unit_for(bytes);
  return std::max(unit, (bytes + unit - 1) / unit * unit);
}

/// Large blocks that were given back and wait for their like: the stages of a case, and of the
/// cases after it, ask for the same sizes again, and memory that was never touched costs a page
/// fault for each page. As CUDA's pool does on the other side.
class Pool {
public:
  Pool() = default;
  ~Pool() { empty(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void* allocate(std::size_t bytes) {
    const std::size_t rounded = rounded_up(bytes);
    if (const auto found = free_.find(rounded); found != free_.end()) {
      void* data = found->second;
      free_.erase(found);
      return data;
    }
    void* data = std::aligned_alloc(unit_for(bytes), rounded);
    if (data == nullptr) {
      empty();
      data = std::aligned_alloc(unit_for(bytes), rounded);
    }
    if (data == nullptr) no_room(bytes, "memory", "the system refuses it");
    if (unit_for(bytes) == huge_page) madvise(data, rounded, MADV_HUGEPAGE);
    return data;
  }
  void release(void* data, std::size_t bytes) {
    constexpr std::size_t most_kept = 8;
    if (unit_for(bytes) != huge_page || free_.size() >= most_kept)
      std::free(data);
    else
      free_.emplace(rounded_up(bytes), data);
  }

private:
  void empty() {
    for (const auto& [bytes, data] : free_)
      std::free(data);
    free_.clear();
  }
  std::multimap<std::size_t, void*> free_;
};

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void* map_scratch_file(const std::filesystem::path& folder, std::size_t bytes) {
  std::string name = (folder / "breakeven-XXXXXX").string();
  const int file = mkstemp(name.data());
  if (file < 0) no_room(bytes, folder.string(), std::strerror(errno));
  unlink(name.c_str());
  // Taken now: a full disk found later would end the program with a signal.
  const int refused = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  void* data =
      refused != 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = refused != 0 ? refused : errno;
  close(file);
  if (data == MAP_FAILED) no_room(bytes, folder.string(), std::strerror(error));
  return data;
}

} // namespace

Memory host_memory() {
  Memory memory;
  const auto pool = std::make_shared<Pool>();
  memory.allocate = [pool](std::size_t bytes) { return pool->allocate(bytes); };
  memory.release = [pool](void* data, std::size_t bytes) { pool->release(data, bytes); };
  memory.copy_in = copy;
  memory.copy_out = copy;
  memory.synchronise = [] {};
  memory.free_bytes = available_ram_bytes;
  return memory;
}

Memory scratch_memory(const std::filesystem::path& folder) {
  Memory memory = host_memory();
  memory.allocate = [folder](std::size_t bytes) {
    return map_scratch_file(folder, std::max(bytes, alignment));
  };
  memory.release = [](void* data, std::size_t bytes) { munmap(data, std::max(bytes, alignment)); };
  memory.free_bytes = [folder] {
    std::error_code error;
    const auto space = std::filesystem::space(folder, error);
    return error ? 0.0 : static_cast<double>(space.available);
  };
  return memory;
}

double available_ram_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:")) return 1024 * std::strtod(line.c_str() + 13, nullptr);
  return std::numeric_limits<double>::infinity();
}

} // namespace breakeven::imaging
