// Large text files in blocks of whole records, and a block in parts that threads read side by side;
// numbers as text. What the table readers share. Leaves out what a record means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace breakeven::risk {

/// Whether a line break between two '"' belongs to the record.
enum class Quotes { none, hold_line_breaks };

/// Whole records, the last of which ends in '\n', and the line of the file where they start.
struct TextPart {
  std::string_view text;
  long line = 1;
};

class TextBlocks {
public:
  /// Throws BadInput where there is no such file to read, Failure where reading fails. At
  /// most `block_bytes` are held; a record must fit in them.
  TextBlocks(const std::filesystem::path& file, Quotes quotes, std::size_t block_bytes);
  ~TextBlocks();
  TextBlocks(const TextBlocks&) = delete;
  TextBlocks& operator=(const TextBlocks&) = delete;

  /// The next records, valid until the next call; false at the end. A byte-order mark is skipped, a
  /// missing last '\n' is there. Throws BadInput for a NUL byte and a record that doesn't fit.
  bool next(TextPart& block);
  std::int64_t file_bytes() const { return file_bytes_; }

private:
  void fill();

  std::string file_;
  Quotes quotes_;
  std::vector<char> buffer_;
  std::size_t filled_ = 0, given_ = 0;
  long line_ = 1;
  std::int64_t file_bytes_ = 0;
  int descriptor_ = -1;
  bool is_start_ = true, is_end_ = false;
};

/// The block in at most `parts` parts of about the same size.
std::vector<TextPart> parts_of(const TextPart& block, int parts, Quotes quotes);

/// Calls read(i) for every part from several threads. What each threw is returned, so that the
/// first part's error can be thrown on, whatever the threads did.
template <class Read>
std::vector<std::exception_ptr> for_each_part(std::size_t parts, const Read& read) {
  std::vector<std::exception_ptr> errors(parts);
#pragma omp parallel for schedule(dynamic) if (parts > 1)
  for (std::size_t i = 0; i < parts; ++i) {
    try {
      read(i);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  }
  return errors;
}

enum class NumberText { finite, infinite, missing, not_a_number };

/// Rounds to the nearest float; below the smallest it is 0, beyond the largest infinite. Missing
/// are "", "?", "NA" and "NaN", in capitals or not. Numbers are read the same under every locale.
NumberText read_number(std::string_view text, float& number);
bool is_missing(std::string_view text);

/// The quick way for most numbers: where the plain decimal number at `text` ends, or null where
/// there is none or it has more than 9 digits or too many for a float to be exact. Clinger 1990: a
/// whole number and a power of ten that are both exact make one rounding. Reads up to the first
/// character that is no part of a number, which must be there.
inline const char* read_plain_number(const char* text, float& number) {
  constexpr float powers_of_ten[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f};
  constexpr std::uint32_t most_exact = 1u << 24;
  constexpr std::ptrdiff_t most_digits = 9; // fit 32 bits
  const auto digit = [](char c) { return static_cast<std::uint32_t>(c) - '0'; };
  const bool is_negative = *text == '-';
  const char* at = text + (is_negative ? 1 : 0);
  const char* const first = at;
  std::uint32_t whole = 0;
  for (; digit(*at) < 10; ++at)
    whole = whole * 10 + digit(*at);
  std::ptrdiff_t digits = at - first, decimals = 0;
  if (*at == '.') {
    const char* const decimal = ++at;
    for (; digit(*at) < 10; ++at)
      whole = whole * 10 + digit(*at);
    decimals = at - decimal;
    digits += decimals;
  }
  if (digits == 0 || digits > most_digits || whole > most_exact) return nullptr;
  const float magnitude = static_cast<float>(whole) / powers_of_ten[decimals];
  number = is_negative ? -magnitude : magnitude;
  return at;
}

/// For a message: in quotes, and not longer than a line.
std::string shown(std::string_view text);
/// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);

} // namespace breakeven::risk
