#include "workloads/imaging/dicom_elements.h"

#include "sim/errors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace breakeven::imaging {

namespace fs = std::filesystem;

FileBytes::FileBytes(const fs::path& path, std::string shown) : shown_(std::move(shown)) {
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) throw BadInput(shown_, 0, std::strerror(errno), "a readable file");
  struct stat status {};
  if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    throw BadInput(shown_, 0, "something that is no regular file", "a readable file");
  }
  size_ = status.st_size;
}
FileBytes::~FileBytes() { close(descriptor_); }

void FileBytes::read(std::int64_t offset, void* to, std::int64_t count) const {
  need(offset, count);
  while (count > 0) {
    const ssize_t got = pread(descriptor_, to, static_cast<std::size_t>(count), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Failure("cannot read " + shown_ + ": " + std::strerror(errno));
    if (got == 0) throw Failure("cannot read " + shown_ + ": it has shrunk");
    to = static_cast<char*>(to) + got;
    offset += got;
    count -= got;
  }
}

const unsigned char* FileBytes::window(std::int64_t offset, std::int64_t count) {
  assert(count <= window_bytes);
  need(offset, count);
  if (offset < window_offset_
      || offset + count > window_offset_ + static_cast<std::int64_t>(window_.size())) {
    window_.resize(static_cast<std::size_t>(std::min(window_bytes, size_ - offset)));
    read(offset, window_.data(), static_cast<std::int64_t>(window_.size()));
    window_offset_ = offset;
  }
  return window_.data() + (offset - window_offset_);
}

void FileBytes::need(std::int64_t offset, std::int64_t count) const {
  if (offset > size_ || count > size_ - offset)
    throw BadInput(shown_, 0, fmt::format("a file of {} bytes", size_),
                   fmt::format("at least the {} that its elements say", offset + count));
}

// ---- elements -----------------------------------------------------------------------------------

namespace {

constexpr DicomTag item_end_tag = 0xFFFE'E00D;

constexpr std::uint16_t vr(char first, char second) {
  return static_cast<std::uint16_t>(first << 8 | second);
}

/// The value representations with a length of four bytes (PS3.5 table 7.1-1).
bool has_long_length(std::uint16_t representation) {
  constexpr std::array long_ones{vr('O', 'B'), vr('O', 'D'), vr('O', 'F'), vr('O', 'L'),
                                 vr('O', 'V'), vr('O', 'W'), vr('S', 'Q'), vr('S', 'V'),
                                 vr('U', 'C'), vr('U', 'N'), vr('U', 'R'), vr('U', 'T'),
                                 vr('U', 'V')};
  return std::find(long_ones.begin(), long_ones.end(), representation) != long_ones.end();
}

} // namespace

std::string name_of(DicomTag tag) {
  return fmt::format("({:04X},{:04X})", tag >> 16, tag & 0xFFFF);
}

std::uint16_t Elements::word(std::int64_t offset) const {
  const unsigned char* b = file_.window(offset, 2);
  return static_cast<std::uint16_t>(syntax_.is_big_endian ? b[0] << 8 | b[1] : b[1] << 8 | b[0]);
}

std::uint32_t Elements::long_word(std::int64_t offset) const {
  const std::uint32_t first = word(offset), second = word(offset + 2);
  return syntax_.is_big_endian ? first << 16 | second : second << 16 | first;
}

DicomTag Elements::tag(std::int64_t offset) const {
  return static_cast<DicomTag>(word(offset)) << 16 | word(offset + 2);
}

DicomElement Elements::header(std::int64_t offset) const {
  DicomElement element;
  element.tag = tag(offset);
  const bool is_delimiter = element.tag >> 16 == 0xFFFE;
  if (!syntax_.is_explicit || is_delimiter) {
    element.length = long_word(offset + 4);
    element.value = offset + 8;
  } else {
    const unsigned char* b = file_.window(offset + 4, 2);
    if (b[0] < 'A' || b[0] > 'Z' || b[1] < 'A' || b[1] > 'Z')
      bad(fmt::format("no value representation in {} at byte {}", name_of(element.tag), offset),
          "two letters");
    const std::uint16_t representation = vr(static_cast<char>(b[0]), static_cast<char>(b[1]));
    element.is_unknown = representation == vr('U', 'N');
    const bool is_long = has_long_length(representation);
    element.length = is_long ? long_word(offset + 8) : word(offset + 6);
    element.value = offset + (is_long ? 12 : 8);
  }
  if (element.length != undefined_length && element.length > file_.size() - element.value)
    bad(fmt::format("{} of {} bytes", name_of(element.tag), element.length),
        fmt::format("at most the {} left in the file", file_.size() - element.value));
  return element;
}

std::int64_t Elements::after(const DicomElement& element, int depth) const {
  if (element.length != undefined_length) return element.value + element.length;
  const Elements inner(file_,
                       element.is_unknown ? ElementSyntax{false, syntax_.is_big_endian} : syntax_);
  return inner.after_sequence(element.value, depth);
}

void Elements::bad(const std::string& found, const std::string& expected) const {
  throw BadInput(file_.shown(), 0, found, expected);
}

std::int64_t Elements::after_sequence(std::int64_t offset, int depth) const {
  constexpr int deepest = 64; // far more than any object nests; bounds our stack
  if (depth > deepest) bad(fmt::format("sequences nested {} deep", depth), "fewer");
  for (;;) {
    const DicomElement part = header(offset);
    if (part.tag == sequence_end_tag) return part.value;
    if (part.tag != item_tag)
      bad(fmt::format("{} in a sequence", name_of(part.tag)), "an item or the sequence's end");
    offset =
        part.length == undefined_length ? after_item(part.value, depth) : part.value + part.length;
  }
}

std::int64_t Elements::after_item(std::int64_t offset, int depth) const {
  for (;;) {
    const DicomElement element = header(offset);
    if (element.tag == item_end_tag) return element.value;
    offset = after(element, depth + 1);
  }
}

// ---- values -------------------------------------------------------------------------------------

namespace {

bool parse(const std::string& text, double& value) {
  const std::size_t first = text.find_first_not_of(" +");
  if (first == std::string::npos) return false;
  const std::size_t last = text.find_last_not_of(' ') + 1;
  const auto [end, error] = std::from_chars(text.data() + first, text.data() + last, value);
  return error == std::errc() && end == text.data() + last && std::isfinite(value);
}

} // namespace

std::string Values::text(const DicomElement& element) const {
  constexpr std::uint32_t longest = 1024;
  if (element.length > longest)
    elements_.bad(fmt::format("{} of {} bytes", name_of(element.tag), element.length),
                  fmt::format("at most {}", longest));
  const auto* bytes = reinterpret_cast<const char*>(file_.window(element.value, element.length));
  std::string text(bytes, element.length);
  text.erase(text.find_last_not_of(std::string_view(" \0", 2)) + 1);
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

std::optional<int> Values::number(const DicomElement& element) const {
  if (element.length == 0) return {};
  if (element.length != 2)
    elements_.bad(fmt::format("{} of {} bytes", name_of(element.tag), element.length), "2");
  return elements_.word(element.value);
}

bool Values::read_decimals(const DicomElement& element, double* values, std::size_t count) const {
  const std::string all = text(element);
  if (all.empty()) return false;
  std::size_t from = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t to = i + 1 < count ? all.find('\\', from) : all.size();
    if (to == std::string::npos || !parse(all.substr(from, to - from), values[i]))
      elements_.bad(fmt::format("text in {} that is not {} number{}", name_of(element.tag), count,
                                count == 1 ? "" : "s"),
                    "finite decimal numbers");
    from = to + 1;
  }
  return true;
}

std::optional<double> Values::decimal(const DicomElement& element) const {
  const auto values = decimals<1>(element);
  return values ? std::optional((*values)[0]) : std::nullopt;
}

std::optional<int> Values::whole(const DicomElement& element) const {
  const auto value = decimal(element);
  if (!value) return {};
  if (*value != std::floor(*value) || std::fabs(*value) > std::numeric_limits<int>::max())
    elements_.bad("another number in " + name_of(element.tag), "a whole one");
  return static_cast<int>(*value);
}

} // namespace breakeven::imaging
