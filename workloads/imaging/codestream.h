// Compressed pixels of one CT slice: codestreams are walked from marker to marker before a decoder
// sees them, because decoders trust headers with allocations. JPEG 2000 is decoded by OpenJPEG,
// JPEG-LS by CharLS, lossless JPEG here. GDCM wraps the same libraries, but aborts on, leaks for or
// accepts some damaged streams and prints about others.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace breakeven::imaging {

/// What the DICOM header says of the frame; `file` names it in messages.
struct CodedFrame {
  std::string file;
  int rows = 0, columns = 0, bits_allocated = 0, bits_stored = 0;
  bool is_signed = false;
};

/// Each fills `pixels`, row by row, with the samples' bits (negative ones as their two's
/// complement). Throws BadInput unless `bytes` are one whole codestream, from its first marker to
/// its end marker, of one component of the frame's size and bits, that needs memory in proportion
/// to its pixels and whose every pixel can be decoded. Safe to call from several threads.

/// ISO/IEC 15444-1 annex A, without the markers that change a component or the order of packets
/// half-way, which no CT needs.
void decode_jpeg_2000(std::span<const unsigned char> bytes, const CodedFrame& frame,
                      std::span<std::uint16_t> pixels);
/// ISO/IEC 14495-1 annex C.
void decode_jpeg_ls(std::span<const unsigned char> bytes, const CodedFrame& frame,
                    std::span<std::uint16_t> pixels);
/// ISO/IEC 10918-1 annexes B and H, Huffman coded (process 14, all predictors).
void decode_jpeg_lossless(std::span<const unsigned char> bytes, const CodedFrame& frame,
                          std::span<std::uint16_t> pixels);

} // namespace breakeven::imaging
