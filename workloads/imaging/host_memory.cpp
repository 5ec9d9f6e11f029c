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
#include <string>

namespace breakeven::imaging {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

[[noreturn]] void no_room(std::size_t bytes, const std::string& where, const std::string& why) {
  throw Failure(fmt::format("no room for {:.2f} GB more in {}: {}",
                            static_cast<double>(bytes) * 1e-9, where, why));
}

void* allocate(std::size_t bytes) {
  // Large blocks start at a huge page and ask for them: a volume has 500 times fewer page faults.
  const std::size_t unit = bytes >= 8 * huge_page ? huge_page : alignment;
  const std::size_t rounded = std::max(unit, (bytes + unit - 1) / unit * unit);
  void* data = std::aligned_alloc(unit, rounded);
  if (data == nullptr) no_room(bytes, "memory", "the system refuses it");
  if (unit == huge_page) madvise(data, rounded, MADV_HUGEPAGE);
  return data;
}

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
  memory.allocate = allocate;
  memory.release = [](void* data, std::size_t) { std::free(data); };
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
