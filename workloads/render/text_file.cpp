#include "workloads/render/text_file.h"

#include "sim/errors.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

namespace breakeven::render {

namespace {

constexpr const char* blanks = " \t";

struct CloseFile {
  void operator()(std::FILE* stream) const { std::fclose(stream); }
};

void check_is_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (std::filesystem::is_directory(status))
    throw BadInput(file.string(), 0, "a directory", "a file");
  if (!std::filesystem::exists(status))
    throw BadInput(file.string(), 0, "no such file", "a readable file");
}

/// Fortran's exponents as C writes them.
std::string with_c_exponent(std::string_view text) {
  std::string number;
  for (const char c : text) {
    const bool sign_after_digit =
        (c == '+' || c == '-') && !number.empty()
        && (std::isdigit(static_cast<unsigned char>(number.back())) || number.back() == '.');
    if (sign_after_digit && number.find('e') == std::string::npos) number += 'e';
    const bool exponent = c == 'd' || c == 'D' || c == 'E';
    // from_chars takes a plus in the exponent, but none in front.
    if (c != '+' || !number.empty()) number += exponent ? 'e' : c;
  }
  return number;
}

} // namespace

std::string read_bytes(const std::filesystem::path& file) {
  check_is_file(file);
  const std::unique_ptr<std::FILE, CloseFile> stream(std::fopen(file.c_str(), "rb"));
  if (!stream)
    throw BadInput(file.string(), 0,
                   "a file that cannot be opened: " + std::string(std::strerror(errno)),
                   "a readable file");
  std::string bytes;
  char buffer[1 << 16];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, stream.get()))
    bytes.append(buffer, count);
  if (std::ferror(stream.get()))
    throw Failure("could not read '" + file.string() + "': " + std::strerror(errno));
  if (bytes.empty())
    throw BadInput(file.string(), 0, "an empty file", "a file with something in it");
  return bytes;
}

bool LineReader::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const std::size_t end = std::min(rest_.find_first_of("\r\n"), rest_.size());
  line = rest_.substr(0, end);
  const bool both = rest_.substr(end, 2) == "\r\n";
  rest_.remove_prefix(std::min(rest_.size(), end + (both ? 2 : 1)));
  ++line_number_;
  return true;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    if (line.empty()) return words;
    const bool quoted = line.front() == '"';
    if (quoted) line.remove_prefix(1);
    const std::size_t end =
        std::min(quoted ? line.find('"') : line.find_first_of(blanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(line.size(), end + (quoted ? 1 : 0)));
  }
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t number = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::optional<double> real_of(std::string_view text) {
  double number = 0;
  const std::string c_text = with_c_exponent(text);
  const auto [end, error] = std::from_chars(c_text.data(), c_text.data() + c_text.size(), number);
  // Too small for a double is zero; too large is an error.
  if (error == std::errc::result_out_of_range && end == c_text.data() + c_text.size()
      && c_text.find("e-") != std::string::npos)
    return 0.0;
  if (c_text.empty() || error != std::errc() || end != c_text.data() + c_text.size()
      || !std::isfinite(number))
    return {};
  return number;
}

} // namespace breakeven::render
