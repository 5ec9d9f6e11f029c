#include "workloads/imaging/dicom.h"

#include "sim/errors.h"
#include "workloads/imaging/codestream.h"

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
#include <iterator>
#include <limits>
#include <utility>

namespace breakeven::imaging {

namespace fs = std::filesystem;

namespace {

// ---- bytes --------------------------------------------------------------------------------------

/// A file read at any offset, through a window that makes small reads cheap.
class FileBytes {
public:
  FileBytes(const fs::path& path, std::string shown) : shown_(std::move(shown)) {
    descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) throw BadInput(shown_, 0, std::strerror(errno), "a readable file");
    struct stat status {};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      close(descriptor_);
      throw BadInput(shown_, 0, "something that is no regular file", "a readable file");
    }
    size_ = status.st_size;
  }
  ~FileBytes() { close(descriptor_); }
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;

  std::int64_t size() const { return size_; }
  const std::string& shown() const { return shown_; }

  void read(std::int64_t offset, void* to, std::int64_t count) const {
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
  /// At most a window's worth of bytes, valid until the next call.
  const unsigned char* window(std::int64_t offset, std::int64_t count) {
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

private:
  void need(std::int64_t offset, std::int64_t count) const {
    if (offset > size_ || count > size_ - offset)
      throw BadInput(shown_, 0, fmt::format("a file of {} bytes", size_),
                     fmt::format("at least the {} that its elements say", offset + count));
  }

  static constexpr std::int64_t window_bytes = 1 << 14;
  std::string shown_;
  int descriptor_ = -1;
  std::int64_t size_ = 0, window_offset_ = 0;
  std::vector<unsigned char> window_;
};

// ---- elements -----------------------------------------------------------------------------------

using Tag = std::uint32_t; // group and element
constexpr Tag item = 0xFFFE'E000, item_end = 0xFFFE'E00D, sequence_end = 0xFFFE'E0DD;
constexpr Tag pixel_data = 0x7FE0'0010;
constexpr std::uint32_t undefined_length = 0xFFFF'FFFF;

std::string name_of(Tag tag) { return fmt::format("({:04X},{:04X})", tag >> 16, tag & 0xFFFF); }

struct Syntax {
  bool is_explicit = true, is_big_endian = false;
};

struct Element {
  Tag tag = 0;
  bool is_unknown = false; // VR UN, whose value of undefined length is implicit (PS3.5 6.2.2)
  std::uint32_t length = 0;
  std::int64_t value = 0; // offset
};

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

class Elements {
public:
  Elements(FileBytes& file, Syntax syntax) : file_(file), syntax_(syntax) {}

  std::uint16_t word(std::int64_t offset) const {
    const unsigned char* b = file_.window(offset, 2);
    return static_cast<std::uint16_t>(syntax_.is_big_endian ? b[0] << 8 | b[1] : b[1] << 8 | b[0]);
  }
  std::uint32_t long_word(std::int64_t offset) const {
    const std::uint32_t first = word(offset), second = word(offset + 2);
    return syntax_.is_big_endian ? first << 16 | second : second << 16 | first;
  }
  Tag tag(std::int64_t offset) const {
    return static_cast<Tag>(word(offset)) << 16 | word(offset + 2);
  }

  /// The header of the element at `offset`; its value, where of a defined length, lies in the file.
  Element header(std::int64_t offset) const {
    Element element;
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

  /// Offset behind the element.
  std::int64_t after(const Element& element, int depth = 0) const {
    if (element.length != undefined_length) return element.value + element.length;
    const Elements inner(file_,
                         element.is_unknown ? Syntax{false, syntax_.is_big_endian} : syntax_);
    return inner.after_sequence(element.value, depth);
  }

  [[noreturn]] void bad(const std::string& found, const std::string& expected) const {
    throw BadInput(file_.shown(), 0, found, expected);
  }

private:
  std::int64_t after_sequence(std::int64_t offset, int depth) const {
    constexpr int deepest = 64; // far more than any object nests; bounds our stack
    if (depth > deepest) bad(fmt::format("sequences nested {} deep", depth), "fewer");
    for (;;) {
      const Element part = header(offset);
      if (part.tag == sequence_end) return part.value;
      if (part.tag != item)
        bad(fmt::format("{} in a sequence", name_of(part.tag)), "an item or the sequence's end");
      offset = part.length == undefined_length ? after_item(part.value, depth)
                                               : part.value + part.length;
    }
  }
  std::int64_t after_item(std::int64_t offset, int depth) const {
    for (;;) {
      const Element element = header(offset);
      if (element.tag == item_end) return element.value;
      offset = after(element, depth + 1);
    }
  }

  FileBytes& file_;
  Syntax syntax_;
};

// ---- values -------------------------------------------------------------------------------------

/// Elements of a data set, and what may be told of their values: numbers and defined terms, no
/// text.
class Values {
public:
  Values(FileBytes& file, const Elements& elements) : file_(file), elements_(elements) {}

  std::string text(const Element& element) const {
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
  std::optional<int> number(const Element& element) const {
    if (element.length == 0) return {};
    if (element.length != 2)
      elements_.bad(fmt::format("{} of {} bytes", name_of(element.tag), element.length), "2");
    return elements_.word(element.value);
  }
  template <std::size_t n>
  std::optional<std::array<double, n>> decimals(const Element& element) const {
    const std::string all = text(element);
    if (all.empty()) return {};
    std::array<double, n> values{};
    std::size_t from = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t to = i + 1 < n ? all.find('\\', from) : all.size();
      if (to == std::string::npos || !parse(all.substr(from, to - from), values[i]))
        elements_.bad(fmt::format("text in {} that is not {} number{}", name_of(element.tag), n,
                                  n == 1 ? "" : "s"),
                      "finite decimal numbers");
      from = to + 1;
    }
    return values;
  }
  std::optional<double> decimal(const Element& element) const {
    const auto values = decimals<1>(element);
    return values ? std::optional((*values)[0]) : std::nullopt;
  }
  std::optional<int> whole(const Element& element) const {
    const auto value = decimal(element);
    if (!value) return {};
    if (*value != std::floor(*value) || std::fabs(*value) > std::numeric_limits<int>::max())
      elements_.bad("another number in " + name_of(element.tag), "a whole one");
    return static_cast<int>(*value);
  }
  /// One of `terms`, or "unknown": other text is not repeated.
  template <std::size_t n>
  std::string term(const Element& element, const std::array<const char*, n>& terms) const {
    const std::string found = text(element);
    const bool is_known = std::find(terms.begin(), terms.end(), found) != terms.end();
    return is_known ? found : "unknown";
  }

private:
  static bool parse(const std::string& text, double& value) {
    const std::size_t first = text.find_first_not_of(" +");
    if (first == std::string::npos) return false;
    const std::size_t last = text.find_last_not_of(' ') + 1;
    const auto [end, error] = std::from_chars(text.data() + first, text.data() + last, value);
    return error == std::errc() && end == text.data() + last && std::isfinite(value);
  }

  FileBytes& file_;
  const Elements& elements_;
};

// ---- what the values mean -----------------------------------------------------------------------

struct TransferSyntax {
  const char* uid;
  const char* name;
  Syntax syntax;
  PixelEncoding encoding;
};

/// PS3.6 annex A. Encodings that are known by name but not read are refused by it.
constexpr Syntax explicit_little{}, implicit_little{false, false}, explicit_big{true, true};
constexpr std::array transfer_syntaxes{
    TransferSyntax{"1.2.840.10008.1.2", "implicit little endian", implicit_little,
                   PixelEncoding::little_endian},
    TransferSyntax{"1.2.840.10008.1.2.1", "explicit little endian", explicit_little,
                   PixelEncoding::little_endian},
    TransferSyntax{"1.2.840.10008.1.2.2", "explicit big endian", explicit_big,
                   PixelEncoding::big_endian},
    TransferSyntax{"1.2.840.10008.1.2.5", "RLE", explicit_little, PixelEncoding::run_length},
    TransferSyntax{"1.2.840.10008.1.2.4.57", "lossless JPEG", explicit_little,
                   PixelEncoding::jpeg_lossless},
    TransferSyntax{"1.2.840.10008.1.2.4.70", "lossless JPEG", explicit_little,
                   PixelEncoding::jpeg_lossless},
    TransferSyntax{"1.2.840.10008.1.2.4.80", "JPEG-LS", explicit_little, PixelEncoding::jpeg_ls},
    TransferSyntax{"1.2.840.10008.1.2.4.81", "near-lossless JPEG-LS", explicit_little,
                   PixelEncoding::jpeg_ls},
    TransferSyntax{"1.2.840.10008.1.2.4.90", "lossless JPEG 2000", explicit_little,
                   PixelEncoding::jpeg_2000},
    TransferSyntax{"1.2.840.10008.1.2.4.91", "JPEG 2000", explicit_little,
                   PixelEncoding::jpeg_2000},
    TransferSyntax{"1.2.840.10008.1.2.4.50", "baseline JPEG", explicit_little,
                   PixelEncoding::unreadable},
    TransferSyntax{"1.2.840.10008.1.2.4.51", "extended JPEG", explicit_little,
                   PixelEncoding::unreadable},
    TransferSyntax{"1.2.840.10008.1.2.4.201", "lossless HTJ2K", explicit_little,
                   PixelEncoding::unreadable},
    TransferSyntax{"1.2.840.10008.1.2.4.202", "lossless HTJ2K", explicit_little,
                   PixelEncoding::unreadable},
    TransferSyntax{"1.2.840.10008.1.2.4.203", "HTJ2K", explicit_little, PixelEncoding::unreadable},
};

const char* const readable_encodings =
    "uncompressed, RLE, lossless JPEG, JPEG-LS or JPEG 2000 pixels";

constexpr std::array modalities{
    "CR",     "CT",      "DX",     "MG",       "MR",  "NM",   "OT",      "PT",  "US", "XA",
    "RF",     "SC",      "SR",     "PR",       "KO",  "SEG",  "REG",     "FID", "IO", "PX",
    "RTDOSE", "RTIMAGE", "RTPLAN", "RTSTRUCT", "DOC", "AU",   "ECG",     "ES",  "GM", "SM",
    "XC",     "OP",      "OPT",    "IVUS",     "RWV", "PLAN", "RTRECORD"};
constexpr std::array photometrics{"MONOCHROME1", "MONOCHROME2",  "PALETTE COLOR", "RGB",
                                  "YBR_FULL",    "YBR_FULL_422", "YBR_ICT",       "YBR_RCT"};
constexpr std::array rescale_types{"HU", "US", "OD", "MGML", "Z_EFF", "ED", "EDW", "HU_MOD", "PCT"};

constexpr const char* dicomdir_class = "1.2.840.10008.1.3.10";
constexpr std::array enhanced_classes{"1.2.840.10008.5.1.4.1.1.2.1", "1.2.840.10008.5.1.4.1.1.2.2"};

/// Pixel padding has the sign of the pixels, whatever the element's own representation says.
std::optional<int> by_sign(std::optional<int> bits16, bool is_signed) {
  if (!bits16 || !is_signed) return bits16;
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(*bits16));
}

void read_value(DicomHeader& header, const Element& element, const Values& values) {
  switch (element.tag) {
  case 0x0008'0016: {
    const std::string uid = values.text(element);
    header.is_enhanced =
        std::find(enhanced_classes.begin(), enhanced_classes.end(), uid) != enhanced_classes.end();
    break;
  }
  case 0x0008'0060:
    header.modality = values.term(element, modalities);
    break;
  case 0x0018'0050:
    header.slice_thickness_mm = values.decimal(element);
    break;
  case 0x0020'000E:
    header.series_uid = values.text(element);
    break;
  case 0x0020'0011:
    header.series_number = values.whole(element);
    break;
  case 0x0020'0032:
    header.position_mm = values.decimals<3>(element);
    break;
  case 0x0020'0037:
    header.orientation = values.decimals<6>(element);
    break;
  case 0x0028'0002:
    header.samples = values.number(element);
    break;
  case 0x0028'0004:
    header.photometric = values.term(element, photometrics);
    break;
  case 0x0028'0008:
    header.frames = values.whole(element);
    break;
  case 0x0028'0010:
    header.rows = values.number(element);
    break;
  case 0x0028'0011:
    header.columns = values.number(element);
    break;
  case 0x0028'0030:
    header.pixel_spacing_mm = values.decimals<2>(element);
    break;
  case 0x0028'0100:
    header.bits_allocated = values.number(element);
    break;
  case 0x0028'0101:
    header.bits_stored = values.number(element);
    break;
  case 0x0028'0102:
    header.high_bit = values.number(element);
    break;
  case 0x0028'0103:
    header.sign = values.number(element);
    break;
  case 0x0028'0120:
    header.padding = by_sign(values.number(element), header.is_signed());
    break;
  case 0x0028'0121:
    header.padding_limit = by_sign(values.number(element), header.is_signed());
    break;
  case 0x0028'1052:
    header.intercept = values.decimal(element);
    break;
  case 0x0028'1053:
    header.slope = values.decimal(element);
    break;
  case 0x0028'1054:
    header.rescale_type = values.term(element, rescale_types);
    break;
  }
}

/// The elements of group 0002, always explicit little endian; `offset` moves behind them.
const TransferSyntax* read_file_meta(FileBytes& file, DicomHeader& header, std::int64_t& offset) {
  const Elements elements(file, explicit_little);
  const Values values(file, elements);
  std::string syntax;
  while (offset < file.size() && elements.tag(offset) >> 16 == 0x0002) {
    const Element element = elements.header(offset);
    if (element.tag == 0x0002'0002 && values.text(element) == dicomdir_class)
      header.kind = DicomKind::directory;
    if (element.tag == 0x0002'0010) syntax = values.text(element);
    offset = elements.after(element);
  }
  if (syntax.empty()) elements.bad("no transfer syntax", "(0002,0010)");
  const auto* known =
      std::find_if(transfer_syntaxes.begin(), transfer_syntaxes.end(),
                   [&](const TransferSyntax& candidate) { return candidate.uid == syntax; });
  return known == transfer_syntaxes.end() ? nullptr : known;
}

std::vector<FilePart> fragments_of(const Elements& elements, const Element& pixels) {
  std::vector<FilePart> fragments;
  bool is_offset_table = true; // the first item (PS3.5 A.4)
  for (std::int64_t offset = pixels.value;;) {
    const Element part = elements.header(offset);
    if (part.tag == sequence_end) return fragments;
    if (part.tag != item || part.length == undefined_length)
      elements.bad(fmt::format("{} among the fragments of pixel data", name_of(part.tag)),
                   "items of a stated length");
    if (!is_offset_table) fragments.push_back({part.value, part.length});
    is_offset_table = false;
    offset = part.value + part.length;
  }
}

void read_data_set(FileBytes& file, Syntax syntax, std::int64_t offset, DicomHeader& header) {
  const Elements elements(file, syntax);
  const Values values(file, elements);
  Tag before = 0;
  while (offset < file.size()) {
    const Element element = elements.header(offset);
    if (element.tag <= before)
      elements.bad(fmt::format("{} after {}", name_of(element.tag), name_of(before)),
                   "elements in ascending order");
    before = element.tag;
    if (element.tag > pixel_data) return;
    if (element.tag == pixel_data) {
      header.has_pixel_data = true;
      if (element.length == undefined_length)
        header.pixel_data = fragments_of(elements, element);
      else
        header.pixel_data = {{element.value, element.length}};
      const bool is_encapsulated = element.length == undefined_length;
      const bool is_native = header.encoding == PixelEncoding::little_endian
                             || header.encoding == PixelEncoding::big_endian;
      if (is_encapsulated == is_native && header.encoding != PixelEncoding::unreadable)
        elements.bad(is_native ? "pixel data in fragments" : "pixel data without fragments",
                     "what transfer syntax " + header.transfer_syntax + " has");
      return;
    }
    if (element.length != undefined_length) read_value(header, element, values);
    offset = elements.after(element);
  }
}

} // namespace

DicomHeader read_dicom_header(const fs::path& path, const std::string& shown) {
  FileBytes file(path, shown);
  DicomHeader header;
  header.path = path;
  header.shown = shown;
  constexpr std::int64_t preamble = 128;
  if (file.size() < preamble + 4 || std::memcmp(file.window(preamble, 4), "DICM", 4) != 0)
    return header;
  header.kind = DicomKind::image;
  std::int64_t offset = preamble + 4;
  const TransferSyntax* syntax = read_file_meta(file, header, offset);
  if (header.kind == DicomKind::directory) return header;
  if (syntax == nullptr) throw BadInput(shown, 0, "another transfer syntax", readable_encodings);
  header.encoding = syntax->encoding;
  header.transfer_syntax = syntax->name;
  read_data_set(file, syntax->syntax, offset, header);
  if (!header.has_pixel_data && !header.rows && !header.columns) header.kind = DicomKind::no_image;
  return header;
}

// ---- checks -------------------------------------------------------------------------------------

namespace {

class SliceCheck {
public:
  explicit SliceCheck(const DicomHeader& header) : header_(header) {}

  [[noreturn]] void bad(const std::string& found, const std::string& expected) const {
    throw BadInput(header_.shown, 0, found, expected);
  }
  template <class T>
  const T& need(const std::optional<T>& value, const char* field) const {
    if (!value) bad(fmt::format("no {}", field), "a CT slice, which has one");
    return *value;
  }
  void within(const char* field, double value, double low, double high) const {
    if (!(value >= low && value <= high))
      bad(fmt::format("{} {}", field, value), fmt::format("{} to {}", low, high));
  }

private:
  const DicomHeader& header_;
};

void check_pixel_format(const DicomHeader& header, const SliceCheck& check) {
  constexpr int largest_side = 65535, largest_coded_side = 4096;
  const bool is_native = header.encoding == PixelEncoding::little_endian
                         || header.encoding == PixelEncoding::big_endian;
  const int side = is_native ? largest_side : largest_coded_side;
  check.within("Rows", check.need(header.rows, "Rows (0028,0010)"), 1, side);
  check.within("Columns", check.need(header.columns, "Columns (0028,0011)"), 1, side);
  const int samples = check.need(header.samples, "Samples per Pixel (0028,0002)");
  if (samples != 1) check.bad(fmt::format("{} samples per pixel", samples), "1");
  if (header.photometric != "MONOCHROME1" && header.photometric != "MONOCHROME2")
    check.bad("photometric interpretation "
                  + (header.photometric.empty() ? "missing" : header.photometric),
              "MONOCHROME1 or MONOCHROME2");
  const int allocated = check.need(header.bits_allocated, "Bits Allocated (0028,0100)");
  if (allocated != 8 && allocated != 16)
    check.bad(fmt::format("{} bits allocated", allocated), "8 or 16");
  const int stored = check.need(header.bits_stored, "Bits Stored (0028,0101)");
  check.within("Bits Stored", stored, 1, allocated);
  check.within("High Bit", check.need(header.high_bit, "High Bit (0028,0102)"), stored - 1,
               is_native || header.encoding == PixelEncoding::run_length ? allocated - 1
                                                                         : stored - 1);
  check.within("Pixel Representation", check.need(header.sign, "Pixel Representation (0028,0103)"),
               0, 1);
}

} // namespace

void check_ct_slice(const DicomHeader& header) {
  const SliceCheck check(header);
  if (header.modality != "CT")
    check.bad("modality " + (header.modality.empty() ? "missing" : header.modality), "CT");
  if (header.is_enhanced || header.frames.value_or(1) != 1)
    check.bad(header.frames ? fmt::format("a multi-frame object of {} frames", *header.frames)
                            : "a multi-frame object",
              "CT with one slice a file");
  if (!header.has_pixel_data) check.bad("no pixel data", "(7FE0,0010)");
  if (header.encoding == PixelEncoding::unreadable)
    check.bad(header.transfer_syntax + " pixels", readable_encodings);
  check_pixel_format(header, check);
  const double slope = check.need(header.slope, "Rescale Slope (0028,1053)");
  const double intercept = check.need(header.intercept, "Rescale Intercept (0028,1052)");
  constexpr double most = 1e6; // far above any scanner's
  if (slope == 0 || std::fabs(slope) > most)
    check.bad(fmt::format("Rescale Slope {}", slope), "one that is not 0");
  check.within("Rescale Intercept", intercept, -most, most);
  if (!header.rescale_type.empty() && header.rescale_type != "HU")
    check.bad("Rescale Type " + header.rescale_type, "HU");
  if (header.padding_limit && !header.padding)
    check.bad("a Pixel Padding Range Limit alone", "a Pixel Padding Value with it");
  constexpr double farthest_mm = 1e5, widest_mm = 1e3;
  for (const double value : check.need(header.position_mm, "Image Position (0020,0032)"))
    check.within("Image Position", value, -farthest_mm, farthest_mm);
  for (const double value : check.need(header.pixel_spacing_mm, "Pixel Spacing (0028,0030)"))
    if (!(value > 0) || value > widest_mm)
      check.bad(fmt::format("Pixel Spacing {}", value), "above 0 mm");
  const auto& o = check.need(header.orientation, "Image Orientation (0020,0037)");
  constexpr double rounding = 1e-3;
  if (std::fabs(std::hypot(o[0], o[1], o[2]) - 1) > rounding
      || std::fabs(std::hypot(o[3], o[4], o[5]) - 1) > rounding
      || std::fabs(o[0] * o[3] + o[1] * o[4] + o[2] * o[5]) > rounding)
    check.bad("an Image Orientation of other vectors", "two of length 1 at right angles");
  if (header.pixel_data.empty()) check.bad("pixel data of no fragments", "those of one frame");
}

// ---- pixels -------------------------------------------------------------------------------------

namespace {

/// Bits Stored of a pixel, moved down and extended by the sign.
struct PixelBits {
  int shift_up, shift_down; // of 16 bits, so that the sign comes along
  bool is_signed;

  explicit PixelBits(const DicomHeader& header)
      : shift_up(15 - *header.high_bit),
        shift_down(16 - *header.bits_stored),
        is_signed(header.is_signed()) {}
  std::int16_t operator()(std::uint16_t raw) const {
    const auto top = static_cast<std::uint16_t>(raw << shift_up);
    return is_signed ? static_cast<std::int16_t>(static_cast<std::int16_t>(top) >> shift_down)
                     : static_cast<std::int16_t>(top >> shift_down);
  }
};

/// Takes pixel i's raw bits from `raw(i)`.
template <class Raw>
DecodedSlice unpack(const DicomHeader& header, std::span<std::int16_t> stored, const Raw& raw) {
  const PixelBits bits(header);
  const int down = *header.high_bit + 1 - *header.bits_stored;
  const bool is_signed = header.is_signed();
  const int allocated = *header.bits_allocated == 8 ? 0xFF : 0xFFFF;
  const int field = (2 << *header.high_bit) - 1;
  std::int64_t cut_off = 0;
  int any = 0;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::uint16_t from = raw(i);
    const std::int16_t value = bits(from);
    stored[i] = value;
    any |= value;
    // Above the high bit there may be zeros or the sign, below the low bit zeros.
    const int whole = value << down;
    cut_off += (whole & allocated) != from && (whole & field) != from;
  }
  return {!is_signed && any < 0, cut_off};
}

std::vector<unsigned char> coded_bytes(const DicomHeader& header) {
  const FileBytes file(header.path, header.shown);
  std::int64_t total = 0;
  for (const FilePart& part : header.pixel_data)
    total += part.bytes;
  std::vector<unsigned char> bytes(static_cast<std::size_t>(total));
  std::int64_t done = 0;
  for (const FilePart& part : header.pixel_data) {
    file.read(part.offset, bytes.data() + done, part.bytes);
    done += part.bytes;
  }
  return bytes;
}

DecodedSlice decode_native(const DicomHeader& header, std::span<std::int16_t> stored) {
  const std::int64_t expected = header.pixels() * *header.bits_allocated / 8;
  const std::int64_t found = header.pixel_data[0].bytes;
  if (found != expected && found != expected + expected % 2) // an even length (PS3.5 7.1.1)
    throw BadInput(header.shown, 0, fmt::format("{} bytes of pixel data", found),
                   fmt::format("{}, as Rows x Columns x Bits Allocated say", expected));
  const FileBytes file(header.path, header.shown);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(expected));
  file.read(header.pixel_data[0].offset, bytes.data(), expected);
  const unsigned char* b = bytes.data();
  if (*header.bits_allocated == 8)
    return unpack(header, stored, [b](std::size_t i) { return std::uint16_t{b[i]}; });
  if (header.encoding == PixelEncoding::big_endian)
    return unpack(header, stored, [b](std::size_t i) {
      return static_cast<std::uint16_t>(b[2 * i] << 8 | b[2 * i + 1]);
    });
  return unpack(header, stored, [b](std::size_t i) {
    return static_cast<std::uint16_t>(b[2 * i + 1] << 8 | b[2 * i]);
  });
}

/// One segment of PS3.5 annex G: PackBits runs that fill `to` exactly.
bool unpack_runs(std::span<const unsigned char> from, std::span<unsigned char> to) {
  std::size_t in = 0, out = 0;
  while (out < to.size()) {
    if (in >= from.size()) return false;
    const int control = static_cast<signed char>(from[in++]);
    if (control == -128) continue;
    const auto count = static_cast<std::size_t>(control < 0 ? 1 - control : 1 + control);
    const std::size_t needed = control < 0 ? 1 : count;
    if (count > to.size() - out || needed > from.size() - in) return false;
    if (control < 0)
      std::memset(to.data() + out, from[in], count);
    else
      std::memcpy(to.data() + out, from.data() + in, count);
    in += needed;
    out += count;
  }
  constexpr std::size_t padding = 1; // to an even length
  return from.size() - in <= padding;
}

DecodedSlice decode_run_length(const DicomHeader& header, std::span<std::int16_t> stored) {
  const std::vector<unsigned char> bytes = coded_bytes(header);
  const auto bad = [&](const std::string& found, const std::string& expected) {
    throw BadInput(header.shown, 0, "RLE: " + found, expected);
  };
  constexpr std::size_t header_bytes = 64;
  if (bytes.size() < header_bytes) bad(fmt::format("{} bytes", bytes.size()), "a header of 64");
  const auto number = [&](std::size_t index) {
    std::uint32_t value = 0;
    for (std::size_t i = 4; i-- > 0;)
      value = value << 8 | bytes[4 * index + i];
    return std::size_t{value};
  };
  const auto segments = static_cast<std::size_t>(*header.bits_allocated / 8);
  if (number(0) != segments)
    bad(fmt::format("{} segments", number(0)), fmt::format("{}", segments));
  const std::size_t pixels = stored.size();
  std::vector<unsigned char> planes(segments * pixels);
  for (std::size_t s = 0; s < segments; ++s) {
    const std::size_t from = number(s + 1), to = s + 1 < segments ? number(s + 2) : bytes.size();
    if (from < header_bytes || from > to || to > bytes.size())
      bad(fmt::format("a segment from byte {} to {}", from, to), "segments in order, in the data");
    if (!unpack_runs(std::span(bytes).subspan(from, to - from),
                     std::span(planes).subspan(s * pixels, pixels)))
      bad(fmt::format("segment {} of another size", s + 1),
          fmt::format("{} pixels, as Rows x Columns say", pixels));
  }
  const unsigned char* high = planes.data(); // the most significant byte comes first
  if (segments == 1)
    return unpack(header, stored, [high](std::size_t i) { return std::uint16_t{high[i]}; });
  const unsigned char* low = high + pixels;
  return unpack(header, stored, [high, low](std::size_t i) {
    return static_cast<std::uint16_t>(high[i] << 8 | low[i]);
  });
}

DecodedSlice decode_coded(const DicomHeader& header, std::span<std::int16_t> stored) {
  const std::vector<unsigned char> bytes = coded_bytes(header);
  const CodedFrame frame{header.shown,           *header.rows,        *header.columns,
                         *header.bits_allocated, *header.bits_stored, header.is_signed()};
  std::vector<std::uint16_t> pixels(stored.size());
  switch (header.encoding) {
  case PixelEncoding::jpeg_lossless:
    decode_jpeg_lossless(bytes, frame, pixels);
    break;
  case PixelEncoding::jpeg_ls:
    decode_jpeg_ls(bytes, frame, pixels);
    break;
  case PixelEncoding::jpeg_2000:
    decode_jpeg_2000(bytes, frame, pixels);
    break;
  case PixelEncoding::little_endian:
  case PixelEncoding::big_endian:
  case PixelEncoding::run_length:
  case PixelEncoding::unreadable:
    assert(!"decoded elsewhere or refused");
  }
  const int allocated = (1 << *header.bits_allocated) - 1;
  return unpack(header, stored,
                [&](std::size_t i) { return static_cast<std::uint16_t>(pixels[i] & allocated); });
}

} // namespace

DecodedSlice decode_slice(const DicomHeader& header, std::span<std::int16_t> stored) {
  assert(stored.size() == static_cast<std::size_t>(header.pixels()));
  switch (header.encoding) {
  case PixelEncoding::little_endian:
  case PixelEncoding::big_endian:
    return decode_native(header, stored);
  case PixelEncoding::run_length:
    return decode_run_length(header, stored);
  case PixelEncoding::jpeg_lossless:
  case PixelEncoding::jpeg_ls:
  case PixelEncoding::jpeg_2000:
    return decode_coded(header, stored);
  case PixelEncoding::unreadable:
    break;
  }
  assert(!"check_ct_slice() refuses it");
  return {};
}

} // namespace breakeven::imaging
