#include "workloads/risk/text_blocks.h"

#include "sim/errors.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>

namespace breakeven::risk {

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

long breaks_in(std::string_view text) {
  return static_cast<long>(std::count(text.begin(), text.end(), '\n'));
}

bool leaves_quote_open(std::string_view text) {
  return std::count(text.begin(), text.end(), '"') % 2 == 1;
}

/// Length of the whole records at the start of the text, 0 where the first is not whole.
std::size_t whole_records(std::string_view text, Quotes quotes) {
  bool is_open = quotes == Quotes::hold_line_breaks && leaves_quote_open(text);
  for (std::size_t length = text.size(); length > 0; --length) {
    const char last = text[length - 1];
    if (last == '\n' && !is_open) return length;
    if (last == '"' && quotes == Quotes::hold_line_breaks) is_open = !is_open;
  }
  return 0;
}

/// Behind the first record end at or after `from`, or the end of the text.
std::size_t record_end(std::string_view text, std::size_t from, bool is_open, Quotes quotes) {
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '\n' && !is_open) return i + 1;
    if (text[i] == '"' && quotes == Quotes::hold_line_breaks) is_open = !is_open;
  }
  return text.size();
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

/// Of a decimal number beyond the range of doubles.
bool is_tiny(std::string_view text) {
  const std::size_t exponent = text.find_first_of("eE");
  if (exponent != std::string_view::npos) return text.substr(exponent + 1).starts_with('-');
  const std::size_t first = text.find_first_not_of("-0");
  return first != std::string_view::npos && text[first] == '.';
}

} // namespace

TextBlocks::TextBlocks(const std::filesystem::path& file, Quotes quotes, std::size_t block_bytes)
    : file_(file.string()),
      quotes_(quotes) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) throw BadInput(file_, 0, "no such file", "a readable file");
  if (S_ISDIR(status.st_mode)) throw BadInput(file_, 0, "a directory", "a file");
  if (!S_ISREG(status.st_mode)) throw BadInput(file_, 0, "something that is not a file", "a file");
  file_bytes_ = status.st_size;
  const bool is_small = static_cast<std::uint64_t>(file_bytes_) < block_bytes;
  // One more byte shows that a small file is over, another ends its last line.
  buffer_.resize((is_small ? static_cast<std::size_t>(file_bytes_) + 1 : block_bytes) + 1);
  descriptor_ = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0)
    throw BadInput(file_, 0,
                   std::string("a file that cannot be opened: ").append(std::strerror(errno)),
                   "a readable file");
}

TextBlocks::~TextBlocks() {
  if (descriptor_ >= 0) close(descriptor_);
}

void TextBlocks::fill() {
  const std::size_t from = filled_;
  while (!is_end_ && filled_ + 1 < buffer_.size()) {
    const ssize_t count = ::read(descriptor_, &buffer_[filled_], buffer_.size() - 1 - filled_);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw Failure(
          std::string("could not read '").append(file_).append("': ").append(std::strerror(errno)));
    filled_ += static_cast<std::size_t>(count);
    is_end_ = count == 0;
  }
  const std::string_view text(buffer_.data(), filled_);
  if (const std::size_t zero = text.find('\0', from); zero != std::string_view::npos)
    throw BadInput(file_, line_ + breaks_in(text.substr(0, zero)), "a NUL byte", "text");
}

bool TextBlocks::next(TextPart& block) {
  line_ += breaks_in({buffer_.data(), given_});
  std::memmove(buffer_.data(), buffer_.data() + given_, filled_ - given_);
  filled_ -= given_;
  given_ = 0;
  fill();
  if (is_start_ && std::string_view(buffer_.data(), filled_).starts_with(byte_order_mark)) {
    filled_ -= byte_order_mark.size();
    std::memmove(buffer_.data(), buffer_.data() + byte_order_mark.size(), filled_);
    fill();
  }
  is_start_ = false;
  if (filled_ == 0) return false;
  if (is_end_) {
    if (buffer_[filled_ - 1] != '\n') buffer_[filled_++] = '\n';
    given_ = filled_;
  } else {
    given_ = whole_records({buffer_.data(), filled_}, quotes_);
    if (given_ == 0)
      throw BadInput(file_, line_,
                     "a record of more than " + grouped(static_cast<std::int64_t>(filled_))
                         + " bytes",
                     quotes_ == Quotes::none ? "a line end before"
                                             : "its end before; a quote may be left open");
  }
  block = {{buffer_.data(), given_}, line_};
  return true;
}

std::vector<TextPart> parts_of(const TextPart& block, int parts, Quotes quotes) {
  std::vector<TextPart> all;
  std::size_t begin = 0;
  long line = block.line;
  for (int k = 1; k <= parts && begin < block.text.size(); ++k) {
    const std::size_t target = std::max(begin, block.text.size() * static_cast<std::size_t>(k)
                                                   / static_cast<std::size_t>(parts));
    const bool is_open = quotes == Quotes::hold_line_breaks
                         && leaves_quote_open(block.text.substr(begin, target - begin));
    const std::size_t end = record_end(block.text, target, is_open, quotes);
    all.push_back({block.text.substr(begin, end - begin), line});
    line += breaks_in(all.back().text);
    begin = end;
  }
  return all;
}

NumberText read_number(std::string_view text, float& number) {
  if (is_missing(text)) return NumberText::missing;
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* const end = text.data() + text.size();
  float value = 0;
  auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return NumberText::not_a_number;
  if (error == std::errc::result_out_of_range) {
    double wide = 0;
    const bool fits = std::from_chars(text.data(), end, wide).ec == std::errc();
    if (!fits && is_tiny(text))
      value = std::copysign(0.0f, text.starts_with('-') ? -1.0f : 1.0f);
    else
      value = fits ? static_cast<float>(wide) : INFINITY;
  }
  if (std::isnan(value)) return NumberText::missing;
  if (std::isinf(value)) return NumberText::infinite;
  number = value;
  return NumberText::finite;
}

bool is_missing(std::string_view text) {
  if (text.size() > 3) return false;
  return text.empty() || text == "?" || lower_case(text) == "na" || lower_case(text) == "nan";
}

std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string quoted = "'";
  quoted.append(text.substr(0, most)).append(text.size() > most ? "...'" : "'");
  return quoted;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return digits;
}

} // namespace breakeven::risk
