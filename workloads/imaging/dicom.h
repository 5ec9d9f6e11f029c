// One DICOM file (PS3.5, PS3.10): the elements of a CT slice that a volume needs, and its pixels.
// The elements are walked here, every length checked against the file, before anything is allocated
// or decoded. Leaves out compressed codestreams (codestream.h), how slices make a volume
// (series.h), and every element that tells who was scanned.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace breakeven::imaging {

enum class DicomKind {
  image,     ///< has pixels
  no_dicom,  ///< lacks the "DICM" of PS3.10
  directory, ///< a DICOMDIR
  no_image,  ///< a report, a presentation state, a plan, ...
};

enum class PixelEncoding {
  little_endian,
  big_endian,
  run_length,
  jpeg_lossless,
  jpeg_ls,
  jpeg_2000,
  unreadable, ///< the element's encoding is understood, the pixels' is not
};

struct FilePart {
  std::int64_t offset = 0, bytes = 0;
};

struct DicomHeader {
  std::filesystem::path path;
  std::string shown; ///< how messages name the file
  DicomKind kind = DicomKind::no_dicom;
  PixelEncoding encoding = PixelEncoding::unreadable;
  std::string transfer_syntax; ///< its name
  std::string modality;        ///< a defined term of PS3.3 C.7.3.1.1.1, or "unknown"
  std::string series_uid;      ///< to compare only, never shown
  std::optional<int> series_number;
  bool is_enhanced = false; ///< of a multi-frame CT class

  std::optional<int> rows, columns, samples, frames, bits_allocated, bits_stored, high_bit, sign;
  std::string photometric;  ///< a defined term, or "unknown"
  std::string rescale_type; ///< likewise
  std::optional<double> slope, intercept, slice_thickness_mm;
  std::optional<std::array<double, 2>> pixel_spacing_mm; ///< between rows, between columns
  std::optional<std::array<double, 3>> position_mm;      ///< of the first pixel, LPS
  std::optional<std::array<double, 6>> orientation;      ///< along a row, along a column, LPS
  std::optional<int> padding, padding_limit;             ///< by the pixels' sign

  bool has_pixel_data = false;
  std::vector<FilePart> pixel_data; ///< one part, or the fragments of the only frame

  bool is_signed() const { return sign.value_or(0) == 1; }
  std::int64_t pixels() const { return std::int64_t{rows.value_or(0)} * columns.value_or(0); }
};

/// Reads no further than where the pixels begin, except to find the fragments. Throws BadInput for
/// elements that overrun the file, come twice or hold no number where one is due; `shown` names the
/// file in it. Files that are no images are told by their kind.
DicomHeader read_dicom_header(const std::filesystem::path& path, const std::string& shown);

/// Throws BadInput, naming file, field, found and expected, unless the pixels are those of one
/// frame of CT that decode_slice() reads, with a rescale to Hounsfield units.
void check_ct_slice(const DicomHeader& header);

struct DecodedSlice {
  bool exceeds_int16 = false;      ///< unsigned values above 32767 among them
  std::int64_t cut_off_pixels = 0; ///< had bits outside Bits Stored, an overlay for instance
};
/// Stored values of a checked slice, row by row; unsigned ones above 32767 as the int16 of the same
/// bits. Safe to call from several threads. Throws BadInput where the pixel data are cut short,
/// damaged or not as the header says.
DecodedSlice decode_slice(const DicomHeader& header, std::span<std::int16_t> stored);

} // namespace breakeven::imaging
