#include "workloads/imaging/dicom.h"

#include "sim/errors.h"
#include "workloads/imaging/dicom_elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace breakeven::imaging {

namespace fs = std::filesystem;

namespace {

// ---- what the values mean -----------------------------------------------------------------------

struct TransferSyntax {
  const char* uid;
  const char* name;
  ElementSyntax syntax;
  PixelEncoding encoding;
};

/// PS3.6 annex A. Encodings that are known by name but not read are refused by it.
constexpr ElementSyntax explicit_little{}, implicit_little{false, false}, explicit_big{true, true};
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

void read_value(DicomHeader& header, const DicomElement& element, const Values& values) {
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
    const DicomElement element = elements.header(offset);
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

std::vector<FilePart> fragments_of(const Elements& elements, const DicomElement& pixels) {
  std::vector<FilePart> fragments;
  bool is_offset_table = true; // the first item (PS3.5 A.4)
  for (std::int64_t offset = pixels.value;;) {
    const DicomElement part = elements.header(offset);
    if (part.tag == sequence_end_tag) return fragments;
    if (part.tag != item_tag || part.length == undefined_length)
      elements.bad(fmt::format("{} among the fragments of pixel data", name_of(part.tag)),
                   "items of a stated length");
    if (!is_offset_table) fragments.push_back({part.value, part.length});
    is_offset_table = false;
    offset = part.value + part.length;
  }
}

void read_data_set(FileBytes& file, ElementSyntax syntax, std::int64_t offset,
                   DicomHeader& header) {
  const Elements elements(file, syntax);
  const Values values(file, elements);
  DicomTag before = 0;
  while (offset < file.size()) {
    const DicomElement element = elements.header(offset);
    if (element.tag <= before)
      elements.bad(fmt::format("{} after {}", name_of(element.tag), name_of(before)),
                   "elements in ascending order");
    before = element.tag;
    if (element.tag > pixel_data_tag) return;
    if (element.tag == pixel_data_tag) {
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

} // namespace breakeven::imaging
