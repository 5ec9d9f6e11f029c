// A folder of its own for files that a run needs and nobody wants afterwards.
#pragma once

#include <filesystem>
#include <string>

namespace breakeven {

class ScratchFolder {
public:
  /// Made in the system's folder for such (TMPDIR). Throws Failure where that is refused.
  explicit ScratchFolder(const std::string& purpose);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

} // namespace breakeven
