// Input files as bytes, lines and numbers, with the errors of errors.h. Numbers are read the same
// under every locale. Leaves out what the lines mean.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace breakeven::render {

/// The whole file. Throws BadInput where it is absent, a directory or empty, and Failure with the
/// system's text where reading fails.
std::string read_bytes(const std::filesystem::path& file);

/// Walks over the lines of a text; line ends of every system are cut off.
class LineReader {
public:
  explicit LineReader(std::string_view text) : rest_(text) {}
  /// False at the end of the text.
  bool next(std::string_view& line);
  long line_number() const { return line_number_; } ///< of the last line given; 1 is the first

private:
  std::string_view rest_;
  long line_number_ = 0;
};

/// Words separated by spaces and tabs; "quoted words" may hold both.
std::vector<std::string_view> words_of(std::string_view line);

std::string lower_case(std::string_view text);

/// The whole text as a number, or nothing. Real numbers may be written as in Fortran: +1.5, 1.5D3
/// and 1.5-3 (for 1.5e-3). NaN and infinity are not numbers here.
std::optional<std::int64_t> integer_of(std::string_view text);
std::optional<double> real_of(std::string_view text);

} // namespace breakeven::render
