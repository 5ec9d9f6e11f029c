// The files that volumes lie in: bytes in from plain or gzip files, bytes out that appear whole or
// not at all, and paths as messages may show them. Leaves out what the bytes mean.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace breakeven::imaging {

/// The path as messages, logs and results show it: a part that contains a DICOM UID (three or more
/// numbers joined by dots) is cut after its first two characters, since UIDs lead to a patient.
std::string shown_path(const std::filesystem::path& path);

/// Throws BadInput unless a volume of that many voxels is below most_voxels and its bytes below the
/// machine's memory.
void check_volume_fits(const std::string& shown_file, double voxels, double bytes_per_voxel);

/// A file read from front to back, through gzip (RFC 1952, one or several members) where it starts
/// with gzip's magic number.
class InputFile {
public:
  /// Throws BadInput where the file cannot be opened or is no regular file.
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Up to `count` bytes, fewer only at the end of the file. Throws BadInput for gzip data that are
  /// damaged, cut short or followed by something else, Failure where the system cannot read.
  std::size_t read(void* to, std::size_t count);
  /// No file of this size holds more: deflate gives at most 1032 bytes for one.
  double most_bytes() const;
  bool is_gzip() const { return is_gzip_; }
  const std::string& shown() const { return shown_; }

private:
  std::size_t read_raw(void* to, std::size_t count);
  bool refill();
  bool next_member();
  [[noreturn]] void damaged(const std::string& found) const;

  std::string shown_;
  int descriptor_ = -1;
  std::int64_t file_bytes_ = 0;
  bool is_gzip_ = false, ended_ = false;
  std::int64_t bytes_given_ = 0;
  z_stream stream_{};
  std::vector<unsigned char> buffer_;
};

enum class Packing { none, gzip };

/// Writes `size` bytes that `fill(offset, piece)` supplies, called from several threads at a time,
/// once for each piece. The file's bytes depend on nothing else, not on threads or the clock. It
/// gets its name only when all is on the disk; throws Failure with the system's text otherwise.
void write_packed_file(const std::filesystem::path& path, std::size_t size, Packing packing,
                       const std::function<void(std::size_t offset, std::span<char> piece)>& fill);

} // namespace breakeven::imaging
