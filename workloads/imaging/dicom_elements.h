// The elements of a DICOM file (PS3.5 section 7): where each lies, its length checked against the
// file, and what may be told of its value. Leaves out which elements a CT slice has (dicom.h).
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace breakeven::imaging {

/// A file read at any offset, through a window that makes small reads cheap. Throws BadInput for a
/// range beyond its end, naming it `shown`.
class FileBytes {
public:
  FileBytes(const std::filesystem::path& path, std::string shown);
  ~FileBytes();
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::int64_t size() const { return size_; }
  const std::string& shown() const { return shown_; }

  void read(std::int64_t offset, void* to, std::int64_t count) const;
  /// At most a window's worth of bytes, valid until the next call.
  const unsigned char* window(std::int64_t offset, std::int64_t count);

private:
  void need(std::int64_t offset, std::int64_t count) const;

  static constexpr std::int64_t window_bytes = 1 << 14;
  std::string shown_;
  int descriptor_ = -1;
  std::int64_t size_ = 0, window_offset_ = 0;
  std::vector<unsigned char> window_;
};

using DicomTag = std::uint32_t; ///< group and element
constexpr DicomTag item_tag = 0xFFFE'E000, sequence_end_tag = 0xFFFE'E0DD;
constexpr DicomTag pixel_data_tag = 0x7FE0'0010;
constexpr std::uint32_t undefined_length = 0xFFFF'FFFF;
std::string name_of(DicomTag tag); ///< "(7FE0,0010)"

struct ElementSyntax {
  bool is_explicit = true, is_big_endian = false;
};

struct DicomElement {
  DicomTag tag = 0;
  bool is_unknown = false; ///< VR UN, whose value of undefined length is implicit (PS3.5 6.2.2)
  std::uint32_t length = 0;
  std::int64_t value = 0; ///< offset
};

/// The elements of one data set. Throws BadInput where they contradict themselves or the file.
class Elements {
public:
  Elements(FileBytes& file, ElementSyntax syntax) : file_(file), syntax_(syntax) {}

  std::uint16_t word(std::int64_t offset) const;
  std::uint32_t long_word(std::int64_t offset) const;
  DicomTag tag(std::int64_t offset) const;
  /// The header of the element at `offset`; its value, where of a defined length, lies in the file.
  DicomElement header(std::int64_t offset) const;
  /// Offset behind the element, whose sequences are `depth` deep.
  std::int64_t after(const DicomElement& element, int depth = 0) const;

  [[noreturn]] void bad(const std::string& found, const std::string& expected) const;

private:
  std::int64_t after_sequence(std::int64_t offset, int depth) const;
  std::int64_t after_item(std::int64_t offset, int depth) const;

  FileBytes& file_;
  ElementSyntax syntax_;
};

/// What may be told of elements' values: numbers and defined terms, no text. An empty value is
/// nullopt; BadInput for one of another kind or number of values.
class Values {
public:
  Values(FileBytes& file, const Elements& elements) : file_(file), elements_(elements) {}

  std::string text(const DicomElement& element) const; ///< to compare only
  std::optional<int> number(const DicomElement& element) const;
  template <std::size_t n>
  std::optional<std::array<double, n>> decimals(const DicomElement& element) const {
    std::array<double, n> values{};
    if (!read_decimals(element, values.data(), n)) return {};
    return values;
  }
  std::optional<double> decimal(const DicomElement& element) const;
  std::optional<int> whole(const DicomElement& element) const;
  /// One of `terms`, or "unknown": other text is not repeated.
  template <std::size_t n>
  std::string term(const DicomElement& element, const std::array<const char*, n>& terms) const {
    const std::string found = text(element);
    for (const char* known : terms)
      if (found == known) return found;
    return "unknown";
  }

private:
  bool read_decimals(const DicomElement& element, double* values, std::size_t count) const;

  FileBytes& file_;
  const Elements& elements_;
};

} // namespace breakeven::imaging
