#include "workloads/imaging/gzip_file.h"

#include "sim/errors.h"
#include "workloads/imaging/stages.h"
#include "workloads/partial_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace breakeven::imaging {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 18;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool contains_uid(const std::string& name) {
  int numbers = 0; // joined by single dots so far
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (is_digit(name[i])) {
      if (i == 0 || !is_digit(name[i - 1])) ++numbers;
      if (numbers >= 3) return true;
    } else if (name[i] != '.' || i == 0 || name[i - 1] == '.') {
      numbers = 0;
    }
  }
  return false;
}

} // namespace

std::string shown_path(const fs::path& path) {
  fs::path shown;
  for (const fs::path& part : path) {
    const std::string name = part.string();
    shown /= contains_uid(name) ? name.substr(0, 2) + "..." : name;
  }
  return shown.string();
}

void check_volume_fits(const std::string& shown_file, double voxels, double bytes_per_voxel) {
  if (!(voxels <= static_cast<double>(most_voxels)))
    throw BadInput(shown_file, 0, fmt::format("a volume of {:.0f} voxels", voxels),
                   fmt::format("at most {}", most_voxels));
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (voxels * bytes_per_voxel > memory)
    throw BadInput(shown_file, 0,
                   fmt::format("a volume of {:.2f} GB in memory", voxels * bytes_per_voxel * 1e-9),
                   fmt::format("at most this machine's {:.2f} GB", memory * 1e-9));
}

// ---- reading ------------------------------------------------------------------------------------

InputFile::InputFile(const fs::path& path) : shown_(shown_path(path)) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw BadInput(shown_, 0, std::strerror(errno), "a readable file");
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw BadInput(shown_, 0, "something that is no regular file", "a readable file");
  }
  file_bytes_ = status.st_size;
  unsigned char magic[2] = {};
  is_gzip_ = pread(descriptor_, magic, 2, 0) == 2 && magic[0] == 0x1F && magic[1] == 0x8B;
  if (!is_gzip_) return;
  constexpr int gzip_only = 16;
  if (inflateInit2(&stream_, MAX_WBITS + gzip_only) != Z_OK) {
    close(descriptor_);
    throw Failure("not enough memory to unpack " + shown_);
  }
  buffer_.resize(buffer_bytes);
}

InputFile::~InputFile() {
  if (is_gzip_) inflateEnd(&stream_);
  close(descriptor_);
}

double InputFile::most_bytes() const {
  constexpr double deflate_limit = 1032; // zlib's technical details: 258 bytes for two bits
  return static_cast<double>(file_bytes_) * (is_gzip_ ? deflate_limit : 1);
}

void InputFile::damaged(const std::string& found) const {
  throw BadInput(shown_, 0,
                 fmt::format("gzip data {} after {} bytes unpacked", found, bytes_given_),
                 "a complete gzip file");
}

std::size_t InputFile::read_raw(void* to, std::size_t count) {
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = ::read(descriptor_, static_cast<char*>(to) + done, count - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Failure("cannot read " + shown_ + ": " + std::strerror(errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

bool InputFile::refill() {
  stream_.next_in = buffer_.data();
  stream_.avail_in = static_cast<uInt>(read_raw(buffer_.data(), buffer_.size()));
  return stream_.avail_in > 0;
}

/// After a member: true where another follows, false at the end of the file. Zeros may follow, as
/// tapes leave them.
bool InputFile::next_member() {
  if (stream_.avail_in == 0 && !refill()) return false;
  if (*stream_.next_in == 0x1F) {
    inflateReset(&stream_); // checks the rest of the magic number
    return true;
  }
  do {
    for (uInt i = 0; i < stream_.avail_in; ++i)
      if (stream_.next_in[i] != 0) damaged("followed by other bytes");
  } while (refill());
  return false;
}

std::size_t InputFile::read(void* to, std::size_t count) {
  if (!is_gzip_) return read_raw(to, count);
  std::size_t done = 0;
  while (done < count && !ended_) {
    if (stream_.avail_in == 0 && !refill()) damaged("cut short");
    const std::size_t wanted = std::min<std::size_t>(count - done, 1u << 30);
    stream_.next_out = static_cast<unsigned char*>(to) + done;
    stream_.avail_out = static_cast<uInt>(wanted);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t got = wanted - stream_.avail_out;
    done += got;
    bytes_given_ += static_cast<std::int64_t>(got);
    if (code == Z_MEM_ERROR) throw Failure("not enough memory to unpack " + shown_);
    if (code == Z_STREAM_END)
      ended_ = !next_member();
    else if (code != Z_OK && code != Z_BUF_ERROR)
      damaged(
          fmt::format("damaged ({})", stream_.msg != nullptr ? stream_.msg : "no deflate data"));
  }
  return done;
}

// ---- writing ------------------------------------------------------------------------------------

namespace {

/// A piece of a gzip file that can be made without the others: a deflate stream that ends at a byte
/// and, but for the last piece, goes on.
struct Deflated {
  std::string bytes;
  uLong crc = 0;
  bool is_done = false;
};

Deflated deflated(std::span<const char> piece, bool is_last) {
  Deflated result;
  const auto* from = reinterpret_cast<const unsigned char*>(piece.data());
  result.crc = crc32(0, from, static_cast<uInt>(piece.size()));
  z_stream stream{};
  constexpr int no_header = -1, usual_memory = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, no_header * MAX_WBITS, usual_memory,
                   Z_DEFAULT_STRATEGY)
      != Z_OK)
    return result;
  constexpr std::size_t flush_bytes = 16;
  result.bytes.resize(deflateBound(&stream, static_cast<uLong>(piece.size())) + flush_bytes);
  stream.next_in = const_cast<unsigned char*>(from);
  stream.avail_in = static_cast<uInt>(piece.size());
  stream.next_out = reinterpret_cast<unsigned char*>(result.bytes.data());
  stream.avail_out = static_cast<uInt>(result.bytes.size());
  const int code = deflate(&stream, is_last ? Z_FINISH : Z_SYNC_FLUSH);
  result.is_done = stream.avail_in == 0 && code == (is_last ? Z_STREAM_END : Z_OK);
  result.bytes.resize(result.bytes.size() - stream.avail_out);
  deflateEnd(&stream);
  return result;
}

std::string little_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8)
    bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

} // namespace

void write_packed_file(const fs::path& path, std::size_t size, Packing packing,
                       const std::function<void(std::size_t, std::span<char>)>& fill) {
  constexpr std::size_t piece_bytes = std::size_t{1} << 20;
  const std::size_t pieces = std::max<std::size_t>(1, (size + piece_bytes - 1) / piece_bytes);
  const std::size_t batch = 2 * static_cast<std::size_t>(omp_get_max_threads());
  std::error_code refused; // said by PartialFile, which then has no folder to write to
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), refused);
  PartialFile file(path, shown_path(path));
  // RFC 1952: deflate, no name, no time, fastest-or-best not stated, made on Unix.
  constexpr char header[] = {0x1F, '\x8B', 8, 0, 0, 0, 0, 0, 0, 3};
  if (packing == Packing::gzip) file.write({header, sizeof header});

  uLong crc = crc32(0, nullptr, 0);
  std::vector<std::vector<char>> raw(std::min(batch, pieces));
  std::vector<Deflated> packed(raw.size());
  for (std::size_t first = 0; first < pieces; first += raw.size()) {
    const std::size_t count = std::min(raw.size(), pieces - first);
#pragma omp parallel for schedule(dynamic)
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t offset = (first + i) * piece_bytes;
      raw[i].resize(std::min(piece_bytes, size - offset));
      fill(offset, raw[i]);
      if (packing == Packing::gzip) packed[i] = deflated(raw[i], first + i + 1 == pieces);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (packing == Packing::none) {
        file.write({raw[i].data(), raw[i].size()});
        continue;
      }
      if (!packed[i].is_done) throw Failure("not enough memory to pack " + shown_path(path));
      file.write(packed[i].bytes);
      crc = crc32_combine(crc, packed[i].crc, static_cast<z_off_t>(raw[i].size()));
    }
  }
  if (packing == Packing::gzip) {
    const std::string trailer = little_endian(static_cast<std::uint32_t>(crc))
                                + little_endian(static_cast<std::uint32_t>(size));
    file.write(trailer);
  }
  file.publish();
}

} // namespace breakeven::imaging
