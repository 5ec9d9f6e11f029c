// A file that is there whole or not at all: written under another name beside it, renamed at the
// end and taken away again where the end is not reached.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace breakeven {

class PartialFile {
public:
  /// `shown` names the file in messages. All members throw Failure with the system's text.
  PartialFile(std::filesystem::path file, std::string shown);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  void write(std::string_view bytes);
  void publish();

private:
  [[noreturn]] void fail(int error) const;

  std::filesystem::path file_, partial_;
  std::string shown_;
  int descriptor_ = -1;
};

/// All at once.
void write_whole_file(const std::filesystem::path& file, std::string_view bytes);

} // namespace breakeven
