// The pixels of a DICOM slice: native, run-length or a codestream, unpacked to stored values.
#include "sim/errors.h"
#include "workloads/imaging/codestream.h"
#include "workloads/imaging/dicom.h"
#include "workloads/imaging/dicom_elements.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <vector>

namespace breakeven::imaging {

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
