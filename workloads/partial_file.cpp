#include "workloads/partial_file.h"

#include "sim/errors.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace breakeven {

PartialFile::PartialFile(std::filesystem::path file, std::string shown)
    : file_(std::move(file)),
      partial_(file_.string() + ".partial"),
      shown_(std::move(shown)) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file_, ignored)) fail(EISDIR);
  descriptor_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno);
}

PartialFile::~PartialFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!partial_.empty()) unlink(partial_.c_str());
}

void PartialFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void PartialFile::publish() {
  // Some file systems report a full disk only when the file is closed.
  if (close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (std::rename(partial_.c_str(), file_.c_str()) != 0) fail(errno);
  partial_.clear();
}

void PartialFile::fail(int error) const {
  throw Failure("cannot write " + shown_ + ": " + std::strerror(error));
}

void write_whole_file(const std::filesystem::path& file, std::string_view bytes) {
  PartialFile partial(file, file.string());
  partial.write(bytes);
  partial.publish();
}

} // namespace breakeven
