#include "peers/imaging_specialists.h"

#include "sim/errors.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>

namespace breakeven::peers {

namespace {

constexpr const char* script = BREAKEVEN_PEERS_DIR "/imaging_specialists.py";

/// Freed memory is kept and used again, as it is in this process (compare_imaging): else each call
/// would pay the kernel for fresh pages.
void keep_freed_memory() {
  setenv("MALLOC_MMAP_MAX_", "0", 1);
  setenv("MALLOC_TRIM_THRESHOLD_", "-1", 1);
}

std::filesystem::path new_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "breakeven_peers_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw Failure("cannot make a folder like " + name);
  return name;
}

template <class T>
void write_file(const std::filesystem::path& path, const T* data, std::size_t count) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(count * sizeof(T)));
  if (!file.flush()) throw Failure("cannot write " + path.string());
}

} // namespace

Specialists::Specialists(const std::string& python) : folder_(new_folder()) {
  std::array<int, 2> to{}, from{};
  if (pipe(to.data()) != 0 || pipe(from.data()) != 0) throw Failure("cannot make a pipe");
  std::signal(SIGPIPE, SIG_IGN); // a worker that died shows as the end of its answers
  process_ = fork();
  if (process_ < 0) throw Failure("cannot start a process");
  if (process_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    for (const int end : {to[0], to[1], from[0], from[1]})
      close(end);
    keep_freed_memory();
    execlp(python.c_str(), python.c_str(), script, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  requests_ = to[1];
  answers_ = from[0];
  try {
    versions_ = ask("");
  } catch (...) {
    stop();
    throw;
  }
}

Specialists::~Specialists() { stop(); }

void Specialists::stop() {
  close(requests_);
  close(answers_);
  waitpid(process_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Specialists::ask(const std::string& request) {
  std::size_t sent = 0;
  while (sent < request.size()) {
    const ssize_t bytes = write(requests_, request.data() + sent, request.size() - sent);
    if (bytes <= 0) break;
    sent += static_cast<std::size_t>(bytes);
  }
  std::array<char, 256> bytes{};
  while (unread_.find('\n') == std::string::npos) {
    const ssize_t count = read(answers_, bytes.data(), bytes.size());
    if (count <= 0) throw Failure("python could not be started, or has stopped");
    unread_.append(bytes.data(), static_cast<std::size_t>(count));
  }
  const std::size_t end = unread_.find('\n');
  const std::string answer = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  if (answer.starts_with("error: ")) throw Failure(answer.substr(7));
  return answer;
}

void Specialists::load(imaging::View<const std::uint8_t> mask) {
  const std::filesystem::path path = folder_ / "mask";
  write_file(path, mask.data, static_cast<std::size_t>(mask.extent.voxels()));
  ask(fmt::format("load {} {} {} {}\n", path.string(), mask.extent.x, mask.extent.y,
                  mask.extent.z));
}

CallSeconds Specialists::time(const std::string& what, int repeats, int threads) {
  const std::string answer = ask(fmt::format("{} {} {}\n", what, repeats, threads));
  const std::size_t space = answer.find(' ');
  return {std::stod(answer.substr(0, space)), std::stod(answer.substr(space))};
}

template <class T>
std::vector<T> Specialists::result() {
  const std::filesystem::path path = folder_ / "result";
  ask(fmt::format("save {}\n", path.string()));
  std::vector<T> values(std::filesystem::file_size(path) / sizeof(T));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
  if (!file) throw Failure("cannot read " + path.string());
  return values;
}
std::vector<std::uint32_t> Specialists::labels() { return result<std::uint32_t>(); }
std::vector<float> Specialists::distances() { return result<float>(); }

} // namespace breakeven::peers
