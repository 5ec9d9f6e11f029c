// A 64-bit checksum for "is this the same result?": FNV-1a (Fowler, Noll and Vo) over whole
// numbers, spread by its multiplier. Not for hostile input.
#pragma once

#include <cstdint>

namespace breakeven {

class Checksum {
public:
  void take(std::uint64_t number) {
    hash_ = (hash_ ^ number) * 0x100'0000'01B3u;
    hash_ ^= hash_ >> 32;
  }
  std::uint64_t value() const { return hash_; }

private:
  std::uint64_t hash_ = 0xCBF2'9CE4'8422'2325u;
};

} // namespace breakeven
