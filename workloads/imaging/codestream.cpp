#include "workloads/imaging/codestream.h"

#include "sim/errors.h"

#include <charls/charls.h>
#include <fmt/format.h>
#include <openjpeg-2.5/openjpeg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

namespace breakeven::imaging {

namespace {

constexpr int start_of_image = 0xFFD8, end_of_image = 0xFFD9;

/// Big-endian numbers, and BadInput where the bytes end.
class Codestream {
public:
  Codestream(std::span<const unsigned char> bytes, const CodedFrame& frame, const char* name)
      : bytes_(bytes),
        frame_(frame),
        name_(name) {}

  std::span<const unsigned char> bytes() const { return bytes_; }
  std::size_t position() const { return at_; }
  std::size_t size() const { return bytes_.size(); }
  void move_to(std::size_t position) { at_ = position; }

  std::uint32_t number(int bytes) {
    need(static_cast<std::size_t>(bytes));
    std::uint32_t value = 0;
    for (int i = 0; i < bytes; ++i)
      value = value << 8 | bytes_[at_++];
    return value;
  }
  int byte() { return static_cast<int>(number(1)); }
  int word() { return static_cast<int>(number(2)); }

  /// The rest of a marker segment whose length field comes next; moves behind it.
  Codestream segment() {
    const int length = word();
    if (length < 2) bad(fmt::format("a marker segment of {} bytes", length), "at least 2");
    const auto bytes = static_cast<std::size_t>(length - 2);
    need(bytes);
    Codestream inner(bytes_.subspan(at_, bytes), frame_, name_);
    at_ += bytes;
    return inner;
  }
  void need_end() const {
    if (at_ != bytes_.size()) bad("a marker segment of a wrong length", "one as its fields say");
  }
  /// The stream without the zeros that pad it to an even length; must end with the end marker.
  void cut_padding() {
    std::size_t end = bytes_.size();
    while (end > 0 && bytes_[end - 1] == 0)
      --end;
    if (end < 4 || bytes_[end - 2] != (end_of_image >> 8)
        || bytes_[end - 1] != (end_of_image & 0xFF))
      bad("data that end early", "an end marker");
    bytes_ = bytes_.first(end);
  }
  int peek(std::size_t ahead) const {
    return at_ + ahead < bytes_.size() ? bytes_[at_ + ahead] : -1;
  }

  [[noreturn]] void bad(const std::string& found, const std::string& expected) const {
    throw BadInput(frame_.file, 0, fmt::format("{}: {}", name_, found), expected);
  }
  void expect(const char* what, std::int64_t found, std::int64_t expected) const {
    if (found != expected) bad(fmt::format("{} {}", what, found), fmt::format("{}", expected));
  }
  void expect_within(const char* what, std::int64_t found, std::int64_t low,
                     std::int64_t high) const {
    if (found < low || found > high)
      bad(fmt::format("{} {}", what, found), fmt::format("{} to {}", low, high));
  }

private:
  void need(std::size_t count) const {
    if (bytes_.size() - at_ < count) bad("data that end early", "a whole codestream");
  }

  std::span<const unsigned char> bytes_;
  const CodedFrame& frame_;
  const char* name_;
  std::size_t at_ = 0;
};

void check_frame_size(const Codestream& in, const CodedFrame& frame, std::int64_t columns,
                      std::int64_t rows) {
  in.expect("columns", columns, frame.columns);
  in.expect("rows", rows, frame.rows);
}

// ---- JPEG 2000 ----------------------------------------------------------------------------------

struct Tiles {
  std::int64_t count = 1;
};

Tiles check_image_and_tile_size(Codestream in, const CodedFrame& frame) {
  constexpr int high_throughput = 0x4000;
  if ((in.word() & high_throughput) != 0) in.bad("high-throughput coding", "ISO/IEC 15444-1");
  const std::int64_t right = in.number(4), bottom = in.number(4);
  const std::int64_t left = in.number(4), top = in.number(4);
  in.expect("image offset", left + top, 0);
  check_frame_size(in, frame, right, bottom);
  const std::int64_t tile_columns = in.number(4), tile_rows = in.number(4);
  const std::int64_t tile_left = in.number(4), tile_top = in.number(4);
  in.expect("tile offset", tile_left + tile_top, 0);
  if (tile_columns == 0 || tile_rows == 0) in.bad("a tile of no size", "at least 1");
  Tiles tiles;
  tiles.count =
      ((right + tile_columns - 1) / tile_columns) * ((bottom + tile_rows - 1) / tile_rows);
  constexpr std::int64_t most_tiles = 4096; // 64 x 64 tiles of the largest frame
  in.expect_within("tiles", tiles.count, 1, most_tiles);
  in.expect("components", in.word(), 1);
  const int precision = in.byte();
  const bool is_signed = (precision & 0x80) != 0;
  const int bits = (precision & 0x7F) + 1;
  // Unsigned codestreams of signed pixels hold their two's complement; the opposite has no meaning.
  in.expect_within("bits", bits, !is_signed && frame.is_signed ? frame.bits_stored : 1,
                   frame.bits_allocated);
  if (is_signed && !frame.is_signed)
    in.bad("signed values", "unsigned ones, as Pixel Representation says");
  in.expect("horizontal subsampling", in.byte(), 1);
  in.expect("vertical subsampling", in.byte(), 1);
  in.need_end();
  return tiles;
}

void check_coding_style(Codestream in, const CodedFrame& frame, const Tiles& tiles) {
  const int style = in.byte();
  in.expect_within("coding style", style, 0, 7);
  in.expect_within("progression order", in.byte(), 0, 4);
  const int layers = in.word();
  in.expect_within("component transform", in.byte(), 0, 0);
  const int levels = in.byte();
  in.expect_within("decomposition levels", levels, 0, 32);
  const int block_width = in.byte() + 2, block_height = in.byte() + 2; // powers of two
  in.expect_within("code-block width 2^", block_width, 3, 10);
  in.expect_within("code-block height 2^", block_height, 3, 10);
  in.expect_within("code-block size 2^", block_width + block_height, 6, 12);
  in.expect_within("code-block style", in.byte(), 0, 63);
  in.expect_within("wavelet", in.byte(), 0, 1);
  std::int64_t precincts = 1;
  constexpr int default_precinct = 15;
  for (int level = 0; level <= levels; ++level) {
    const int size = (style & 1) != 0 ? in.byte() : (default_precinct << 4 | default_precinct);
    const int width = size & 15, height = size >> 4;
    // Of the highest level; lower ones are smaller in the image, too.
    in.expect_within("precinct width 2^", width, 5, 15);
    in.expect_within("precinct height 2^", height, 5, 15);
    precincts = std::max(precincts, ((frame.columns >> width) + std::int64_t{1})
                                        * ((frame.rows >> height) + 1));
  }
  in.need_end();
  constexpr std::int64_t most_packets = 1 << 22;
  in.expect_within("packets", precincts * (levels + 1) * layers * tiles.count, 1, most_packets);
}

/// Marker segments of the main header, from after SIZ to before the first tile-part.
void check_main_header(Codestream& in, const CodedFrame& frame, const Tiles& tiles) {
  bool has_style = false, has_quantisation = false;
  for (int marker = in.word(); marker != 0xFF90; marker = in.word()) {
    switch (marker) {
    case 0xFF52: // COD
      if (has_style) in.bad("two coding styles", "one");
      check_coding_style(in.segment(), frame, tiles);
      has_style = true;
      break;
    case 0xFF5C: // QCD
      if (has_quantisation) in.bad("two quantisations", "one");
      in.segment();
      has_quantisation = true;
      break;
    case 0xFF55: // TLM
    case 0xFF57: // PLM
    case 0xFF63: // CRG
    case 0xFF64: // COM
      in.segment();
      break;
    default:
      in.bad(fmt::format("marker {:04X} in the main header", marker),
             "coding style, quantisation, lengths or comments");
    }
  }
  if (!has_style || !has_quantisation)
    in.bad("no coding style or quantisation", "both before the first tile");
}

/// From after the marker of a tile-part to its end.
void check_tile_part(Codestream& in, const Tiles& tiles) {
  const std::size_t start = in.position() - 2;
  Codestream part = in.segment();
  const int tile = part.word();
  std::size_t length = part.number(4);
  in.expect_within("tile", tile, 0, tiles.count - 1);
  part.number(2); // number of this part, and of all
  part.need_end();
  constexpr std::size_t end_marker_bytes = 2;
  const std::size_t left = in.size() - start - end_marker_bytes;
  if (length == 0) length = left; // all to the end marker
  if (length > left)
    in.bad(fmt::format("a tile-part of {} bytes", length), fmt::format("at most {}", left));
  for (int marker = in.word(); marker != 0xFF93; marker = in.word()) {
    if (marker != 0xFF58 && marker != 0xFF64) // PLT, COM
      in.bad(fmt::format("marker {:04X} in a tile's header", marker), "lengths or comments");
    in.segment();
  }
  if (in.position() > start + length) in.bad("a tile-part shorter than its header", "a whole one");
  in.move_to(start + length);
}

/// The whole codestream's markers.
void check_jpeg_2000(Codestream in, const CodedFrame& frame) {
  if (in.word() != 0xFF4F || in.word() != 0xFF51) in.bad("no codestream", "start and size markers");
  const Tiles tiles = check_image_and_tile_size(in.segment(), frame);
  check_main_header(in, frame, tiles);
  int marker = 0;
  do {
    check_tile_part(in, tiles);
    marker = in.word();
  } while (marker == 0xFF90);
  in.expect("marker after a tile-part", marker, end_of_image);
  in.need_end();
}

/// OpenJPEG's view of bytes in memory.
struct MemoryStream {
  std::span<const unsigned char> bytes;
  std::size_t at = 0;

  static OPJ_SIZE_T read(void* to, OPJ_SIZE_T count, void* self) {
    auto& stream = *static_cast<MemoryStream*>(self);
    const std::size_t got = std::min<std::size_t>(count, stream.bytes.size() - stream.at);
    if (got == 0) return static_cast<OPJ_SIZE_T>(-1); // the end
    std::memcpy(to, stream.bytes.data() + stream.at, got);
    stream.at += got;
    return got;
  }
  static OPJ_OFF_T skip(OPJ_OFF_T count, void* self) {
    auto& stream = *static_cast<MemoryStream*>(self);
    const auto left = static_cast<OPJ_OFF_T>(stream.bytes.size() - stream.at);
    if (count < 0 || left == 0) return -1;
    const OPJ_OFF_T skipped = std::min(count, left);
    stream.at += static_cast<std::size_t>(skipped);
    return skipped;
  }
  static OPJ_BOOL seek(OPJ_OFF_T to, void* self) {
    auto& stream = *static_cast<MemoryStream*>(self);
    if (to < 0 || to > static_cast<OPJ_OFF_T>(stream.bytes.size())) return OPJ_FALSE;
    stream.at = static_cast<std::size_t>(to);
    return OPJ_TRUE;
  }
};

using Stream = std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)>;
using Codec = std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)>;
using Image = std::unique_ptr<opj_image_t, decltype(&opj_image_destroy)>;

// ---- JPEG -------------------------------------------------------------------------------------

int check_frame_header(Codestream in, const CodedFrame& frame) {
  const int bits = in.byte();
  constexpr int least_bits = 2;
  in.expect_within("bits", bits, frame.is_signed ? frame.bits_stored : least_bits,
                   frame.bits_allocated);
  const int rows = in.word(), columns = in.word();
  check_frame_size(in, frame, columns, rows);
  in.expect("components", in.byte(), 1);
  in.byte(); // the component's name
  in.expect("sampling", in.byte(), 0x11);
  in.byte(); // quantisation table, unused
  in.need_end();
  return bits;
}

bool is_comment(int marker) { return (marker >= 0xFFE0 && marker <= 0xFFEF) || marker == 0xFFFE; }

// ---- JPEG-LS ------------------------------------------------------------------------------------

void check_ls_scan(Codestream in) {
  in.expect("components of a scan", in.byte(), 1);
  in.byte(); // the component's name
  in.expect("mapping table", in.byte(), 0);
  in.expect_within("allowed error", in.byte(), 0, 255);
  in.expect("interleaving", in.byte(), 0);
  in.expect("point transform", in.byte(), 0);
  in.need_end();
}

/// To the next marker: after FF, coded data have a bit of 0.
void skip_ls_scan(Codestream& in) {
  while (in.peek(0) != 0xFF || in.peek(1) < 0x80)
    in.byte();
}

/// The markers; gives the bits of a sample.
int check_jpeg_ls(Codestream in, const CodedFrame& frame) {
  if (in.word() != start_of_image) in.bad("no codestream", "a start marker");
  int bits = 0;
  bool has_scan = false;
  for (int marker = in.word(); marker != end_of_image; marker = in.word()) {
    if (marker == 0xFFF7) {
      if (bits != 0) in.bad("two frames", "one");
      bits = check_frame_header(in.segment(), frame);
    } else if (marker == 0xFFDA) {
      if (bits == 0 || has_scan)
        in.bad("a scan without a frame, or two scans", "one frame, one scan");
      check_ls_scan(in.segment());
      skip_ls_scan(in);
      has_scan = true;
    } else if (marker == 0xFFF8) { // LSE: the coding parameters, but no mapping tables
      Codestream preset = in.segment();
      preset.expect("preset parameters of type", preset.byte(), 1);
    } else if (is_comment(marker)) {
      in.segment();
    } else {
      in.bad(fmt::format("marker {:04X}", marker), "a frame, parameters, a scan or comments");
    }
  }
  if (!has_scan) in.bad("no scan", "one");
  in.need_end();
  return bits;
}

// ---- lossless JPEG ------------------------------------------------------------------------------

/// Which code the next 16 bits start with: its length, and the bits of the difference that follow.
struct Code {
  std::uint8_t length = 0; ///< 0: none
  std::uint8_t difference_bits = 0;
};
using HuffmanTable = std::vector<Code>; // of all 2^16

void read_huffman_tables(Codestream in, std::array<HuffmanTable, 4>& tables) {
  while (in.position() < in.size()) {
    const int table = in.byte();
    in.expect_within("Huffman table", table, 0, 3);
    std::array<int, 16> of_length{};
    for (int& count : of_length)
      count = in.byte();
    constexpr std::size_t all = 1 << 16;
    HuffmanTable codes(all);
    std::size_t next = 0;
    for (int length = 1; length <= 16; ++length)
      for (int i = 0; i < of_length[static_cast<std::size_t>(length - 1)]; ++i) {
        const int bits = in.byte();
        in.expect_within("bits of a difference", bits, 0, 16);
        const std::size_t share = all >> length;
        if (next + share > all) in.bad("a Huffman table of too many codes", "a prefix code");
        std::fill_n(codes.begin() + static_cast<std::ptrdiff_t>(next), share,
                    Code{static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(bits)});
        next += share;
      }
    tables[static_cast<std::size_t>(table)] = std::move(codes);
  }
}

/// What a lossless codestream says before and in its scan.
struct LosslessScan {
  int bits = 0, predictor = 0;
  std::int64_t restart_interval = 0; ///< pixels, 0 for none
  HuffmanTable codes;
  std::vector<std::vector<unsigned char>> intervals; ///< coded bits between restart markers
};

void read_scan_header(Codestream in, const std::array<HuffmanTable, 4>& tables,
                      LosslessScan& scan) {
  in.expect("components of a scan", in.byte(), 1);
  in.byte(); // the component's name
  const int table = in.byte();
  in.expect_within("Huffman table", table >> 4, 0, 3);
  scan.codes = tables[static_cast<std::size_t>(table >> 4)];
  if (scan.codes.empty()) in.bad("no Huffman table", "one before the scan");
  scan.predictor = in.byte();
  in.expect_within("predictor", scan.predictor, 1, 7);
  in.byte(); // end of spectral selection, unused
  in.expect("point transform", in.byte(), 0);
  in.need_end();
}

/// To the next marker but restarts; after FF, coded data have a byte of 0, which is left out.
void read_scan_data(Codestream& in, LosslessScan& scan) {
  scan.intervals.emplace_back();
  for (;;) {
    const int byte = in.peek(0), next = in.peek(1);
    if (byte == 0xFF && next != 0) {
      const int expected = 0xD0 + static_cast<int>((scan.intervals.size() - 1) % 8);
      if (scan.restart_interval == 0 || next != expected) return;
      in.word();
      scan.intervals.emplace_back();
      continue;
    }
    scan.intervals.back().push_back(static_cast<unsigned char>(in.byte()));
    if (byte == 0xFF) in.byte();
  }
}

LosslessScan read_lossless(Codestream in, const CodedFrame& frame) {
  if (in.word() != start_of_image) in.bad("no codestream", "a start marker");
  LosslessScan scan;
  std::array<HuffmanTable, 4> tables;
  for (int marker = in.word(); marker != end_of_image; marker = in.word()) {
    if (marker == 0xFFC3) {
      if (scan.bits != 0) in.bad("two frames", "one");
      scan.bits = check_frame_header(in.segment(), frame);
    } else if (marker == 0xFFC4) {
      read_huffman_tables(in.segment(), tables);
    } else if (marker == 0xFFDD) {
      Codestream interval = in.segment();
      scan.restart_interval = interval.word();
      interval.need_end();
      if (scan.restart_interval % frame.columns != 0) // H.1.1
        in.bad(fmt::format("a restart interval of {}", scan.restart_interval), "whole rows");
    } else if (marker == 0xFFDA) {
      if (scan.bits == 0 || !scan.intervals.empty())
        in.bad("a scan without a frame, or two scans", "one frame, one scan");
      read_scan_header(in.segment(), tables, scan);
      read_scan_data(in, scan);
    } else if (is_comment(marker)) {
      in.segment();
    } else {
      in.bad(fmt::format("marker {:04X}", marker), "a lossless frame, Huffman tables or a scan");
    }
  }
  if (scan.intervals.empty()) in.bad("no scan", "one");
  in.need_end();
  return scan;
}

/// Bits from the highest of the first byte on; zeros behind the end, where `left()` is negative.
class Bits {
public:
  explicit Bits(const std::vector<unsigned char>& bytes) : bytes_(bytes) {}

  std::uint32_t peek16() {
    while (held_ < 16) {
      bits_ = bits_ << 8 | (next_ < bytes_.size() ? bytes_[next_] : 0);
      ++next_;
      held_ += 8;
    }
    return static_cast<std::uint32_t>(bits_ >> (held_ - 16)) & 0xFFFF;
  }
  void skip(int count) { held_ -= count; }
  std::uint32_t take(int count) {
    const std::uint32_t bits = peek16() >> (16 - count);
    skip(count);
    return bits;
  }
  std::int64_t left() const {
    return (static_cast<std::int64_t>(bytes_.size()) - static_cast<std::int64_t>(next_)) * 8
           + held_;
  }

private:
  const std::vector<unsigned char>& bytes_;
  std::size_t next_ = 0;
  std::uint64_t bits_ = 0;
  int held_ = 0;
};

/// One difference (annex F.1.2.1 and H.1.2.2); false where no code matches.
bool read_difference(Bits& bits, const HuffmanTable& codes, int& difference) {
  const Code code = codes[bits.peek16()];
  bits.skip(code.length);
  const int size = code.difference_bits;
  if (size == 0) {
    difference = 0;
  } else if (size == 16) {
    difference = 1 << 15; // has no bits of its own
  } else {
    difference = static_cast<int>(bits.take(size));
    if (difference < 1 << (size - 1)) difference -= (1 << size) - 1;
  }
  return code.length > 0;
}

/// Table H.1, from the pixels to the left, above, and above left.
int predicted(int predictor, int a, int b, int c) {
  switch (predictor) {
  case 1:
    return a;
  case 2:
    return b;
  case 3:
    return c;
  case 4:
    return a + b - c;
  case 5:
    return a + ((b - c) >> 1);
  case 6:
    return b + ((a - c) >> 1);
  default:
    return (a + b) >> 1;
  }
}

/// Row `row` of the frame; `above` is null where prediction starts anew.
bool decode_row(Bits& bits, const LosslessScan& scan, const std::uint16_t* above,
                std::span<std::uint16_t> row) {
  const int limit = 1 << scan.bits;
  for (std::size_t x = 0; x < row.size(); ++x) {
    int prediction = 0;
    if (x == 0)
      prediction = above == nullptr ? limit / 2 : above[0];
    else if (above == nullptr)
      prediction = row[x - 1];
    else
      prediction = predicted(scan.predictor, row[x - 1], above[x], above[x - 1]);
    int difference = 0;
    if (!read_difference(bits, scan.codes, difference)) return false;
    const int value = (prediction + difference) & 0xFFFF; // modulo 2^16
    if (value >= limit) return false;
    row[x] = static_cast<std::uint16_t>(value);
  }
  return bits.left() >= 0;
}

/// Padding of the last byte, and one byte to an even length that some writers put before the end.
bool is_all_used(const Bits& bits) { return bits.left() >= 0 && bits.left() < 16; }

} // namespace

void decode_jpeg_2000(std::span<const unsigned char> bytes, const CodedFrame& frame,
                      std::span<std::uint16_t> pixels) {
  Codestream in(bytes, frame, "JPEG 2000");
  in.cut_padding();
  check_jpeg_2000(in, frame);
  MemoryStream memory{in.bytes()};
  const Stream stream(opj_stream_create(std::max<std::size_t>(1 << 12, in.size()), OPJ_TRUE),
                      opj_stream_destroy);
  const Codec codec(opj_create_decompress(OPJ_CODEC_J2K), opj_destroy_codec);
  if (!stream || !codec) throw std::bad_alloc();
  opj_stream_set_user_data(stream.get(), &memory, nullptr);
  opj_stream_set_user_data_length(stream.get(), in.size());
  opj_stream_set_read_function(stream.get(), MemoryStream::read);
  opj_stream_set_skip_function(stream.get(), MemoryStream::skip);
  opj_stream_set_seek_function(stream.get(), MemoryStream::seek);
  // What OpenJPEG warns of is damage that it would paper over.
  bool is_damaged = false;
  const auto note = [](const char*, void* flag) { *static_cast<bool*>(flag) = true; };
  opj_set_warning_handler(codec.get(), note, &is_damaged);
  opj_set_error_handler(codec.get(), note, &is_damaged);

  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* opened = nullptr;
  bool is_decoded = opj_setup_decoder(codec.get(), &parameters) == OPJ_TRUE
                    && opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE) == OPJ_TRUE
                    && opj_read_header(stream.get(), codec.get(), &opened) == OPJ_TRUE;
  const Image image(opened, opj_image_destroy);
  is_decoded = is_decoded && opj_decode(codec.get(), stream.get(), image.get()) == OPJ_TRUE
               && opj_end_decompress(codec.get(), stream.get()) == OPJ_TRUE;
  if (!is_decoded || is_damaged || image->numcomps != 1 || image->comps[0].data == nullptr
      || image->comps[0].w != static_cast<OPJ_UINT32>(frame.columns)
      || image->comps[0].h != static_cast<OPJ_UINT32>(frame.rows))
    in.bad("damaged data", "pixels that can be decoded");
  std::transform(image->comps[0].data, image->comps[0].data + pixels.size(), pixels.begin(),
                 [](OPJ_INT32 value) { return static_cast<std::uint16_t>(value); });
}

void decode_jpeg_ls(std::span<const unsigned char> bytes, const CodedFrame& frame,
                    std::span<std::uint16_t> pixels) {
  Codestream in(bytes, frame, "JPEG-LS");
  in.cut_padding();
  const int bits = check_jpeg_ls(in, frame);
  try {
    const charls::jpegls_decoder decoder(in.bytes().data(), in.size());
    if (bits > 8) {
      decoder.decode(pixels.data(), pixels.size_bytes());
    } else {
      std::vector<unsigned char> narrow(pixels.size());
      decoder.decode(narrow.data(), narrow.size());
      std::copy(narrow.begin(), narrow.end(), pixels.begin());
    }
  } catch (const charls::jpegls_error& error) {
    if (error.code() == charls::jpegls_errc::not_enough_memory) throw std::bad_alloc();
    in.bad("damaged data", "pixels that can be decoded");
  }
}

void decode_jpeg_lossless(std::span<const unsigned char> bytes, const CodedFrame& frame,
                          std::span<std::uint16_t> pixels) {
  Codestream in(bytes, frame, "lossless JPEG");
  in.cut_padding();
  const LosslessScan scan = read_lossless(in, frame);
  const auto columns = static_cast<std::size_t>(frame.columns);
  const auto rows = static_cast<std::size_t>(frame.rows);
  const std::size_t rows_each =
      scan.restart_interval == 0 ? rows : static_cast<std::size_t>(scan.restart_interval) / columns;
  in.expect("restart intervals", static_cast<std::int64_t>(scan.intervals.size()),
            static_cast<std::int64_t>((rows + rows_each - 1) / rows_each));
  for (std::size_t i = 0; i < scan.intervals.size(); ++i) {
    Bits data(scan.intervals[i]);
    bool is_good = true;
    for (std::size_t y = i * rows_each; is_good && y < std::min(rows, (i + 1) * rows_each); ++y)
      is_good =
          decode_row(data, scan, y == i * rows_each ? nullptr : pixels.data() + (y - 1) * columns,
                     pixels.subspan(y * columns, columns));
    if (!is_good || !is_all_used(data)) in.bad("damaged data", "pixels that can be decoded");
  }
}

} // namespace breakeven::imaging
