#include "sim/errors.h"
#include "sim/report/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace breakeven {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, int error) {
  throw Failure("cannot write " + file.string() + ": " + std::strerror(error));
}

/// Files under temporary names; removed again unless every one was renamed.
class Staged {
public:
  ~Staged() {
    for (const auto& [temporary, final] : files_)
      unlink(temporary.c_str());
  }

  void add(const fs::path& file, const std::string& bytes) {
    std::error_code ignored;
    if (fs::is_directory(file, ignored)) fail(file, EISDIR);
    const fs::path temporary = file.string() + ".partial";
    const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) fail(file, errno);
    files_.emplace_back(temporary, file);
    const int error = write_all(descriptor, bytes);
    if (close(descriptor) != 0 && error == 0) fail(file, errno);
    if (error != 0) fail(file, error);
  }

  /// All refusals that can be foreseen have happened in add(): what is left is a rename within a
  /// folder that has just been written to.
  void publish() {
    for (const auto& [temporary, final] : files_)
      if (rename(temporary.c_str(), final.c_str()) != 0) fail(final, errno);
    for (const auto& [temporary, final] : files_)
      sync_folder(final.parent_path());
    files_.clear();
  }

private:
  /// Makes the new names last through a power cut; a file system that cannot is no reason to fail.
  static void sync_folder(const fs::path& folder) {
    const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    fsync(descriptor);
    close(descriptor);
  }

  static int write_all(int descriptor, const std::string& bytes) {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = write(descriptor, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno != EINTR) return errno;
      if (count > 0) done += static_cast<std::size_t>(count);
    }
    // Some file systems report a full disk only here.
    if (fsync(descriptor) == 0 || errno == EINVAL) return 0;
    return errno;
  }

  std::vector<std::pair<fs::path, fs::path>> files_;
};

} // namespace

void write_results(const fs::path& folder, const std::vector<ResultFile>& files) {
  Staged staged;
  for (const ResultFile& file : files) {
    const fs::path path = folder / file.name;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) fail(path.parent_path(), error.value());
    staged.add(path, file.bytes);
  }
  staged.publish();
}

} // namespace breakeven
