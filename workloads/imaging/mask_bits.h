// Masks as bits on the CPU, 64 voxels a word: eight voxels a multiplication, with no instruction
// set's own way of doing it. Voxels of a mask are 0 or 1.
#pragma once

#include <cstdint>
#include <cstring>

namespace breakeven::imaging {

constexpr std::int64_t bits_per_word = 64;
inline std::int64_t words_of(std::int64_t voxels) {
  return (voxels + bits_per_word - 1) / bits_per_word;
}

/// Bit i is byte i. A byte lands in the top byte shifted to its place, and none of the others'
/// partial products carry into it.
inline std::uint64_t bits_of_8(const std::uint8_t* bytes) {
  std::uint64_t eight;
  std::memcpy(&eight, bytes, sizeof eight);
  return (eight * 0x0102'0408'1020'4080u) >> 56;
}
inline std::uint64_t bits_of_64(const std::uint8_t* bytes) {
  std::uint64_t word = 0;
  for (int i = 0; i < 8; ++i)
    word |= bits_of_8(bytes + 8 * i) << (8 * i);
  return word;
}

/// Byte i is bit i of the lowest eight.
inline std::uint64_t bytes_of_8(std::uint64_t bits) {
  const std::uint64_t spread = ((bits & 0xFF) * 0x0101'0101'0101'0101u) & 0x8040'2010'0804'0201u;
  return ((spread + 0x7F7F'7F7F'7F7F'7F7Fu) >> 7) & 0x0101'0101'0101'0101u;
}

/// `flip` is all ones to see background as set. Bits past the end are 0.
inline void pack_row(const std::uint8_t* row, std::int64_t voxels, std::uint64_t flip,
                     std::uint64_t* words) {
  const std::int64_t whole = voxels / bits_per_word;
  for (std::int64_t i = 0; i < whole; ++i)
    words[i] = bits_of_64(row + bits_per_word * i) ^ flip;
  const std::int64_t rest = voxels % bits_per_word;
  if (rest == 0) return;
  std::uint8_t bytes[bits_per_word] = {};
  std::memcpy(bytes, row + bits_per_word * whole, static_cast<std::size_t>(rest));
  words[whole] = (bits_of_64(bytes) ^ flip) & ((std::uint64_t{1} << rest) - 1);
}

inline void unpack_row(const std::uint64_t* words, std::int64_t voxels, std::uint64_t flip,
                       std::uint8_t* row) {
  const std::int64_t eights = voxels / 8;
  const auto eight = [&](std::int64_t i) {
    return bytes_of_8((words[i / 8] ^ flip) >> (8 * (i % 8)));
  };
  for (std::int64_t i = 0; i < eights; ++i) {
    const std::uint64_t bytes = eight(i);
    std::memcpy(row + 8 * i, &bytes, sizeof bytes);
  }
  if (voxels % 8 == 0) return;
  const std::uint64_t bytes = eight(eights);
  std::memcpy(row + 8 * eights, &bytes, static_cast<std::size_t>(voxels % 8));
}

} // namespace breakeven::imaging
