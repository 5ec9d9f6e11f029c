#include "sim/report/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace breakeven {

namespace {

std::string with_thousands(std::string digits) {
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = std::min(digits.find('.'), digits.size()); at > first + 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits;
}

/// Decimal exponent of the value after rounding: 9.96 to two digits is 10.
int exponent_of(double value, int digits) {
  const std::string text = fmt::format("{:.{}e}", value, digits - 1);
  return std::stoi(text.substr(text.find('e') + 1));
}

struct TimeUnit {
  double seconds;
  const char* name;
};

TimeUnit unit_for(double seconds) {
  if (seconds < 100) return {1, "s"};
  if (seconds < 100 * 60.0) return {60, "min"};
  if (seconds < 72 * 3600.0) return {3600, "h"};
  return {86400, "days"};
}

std::string joined_range(const std::string& low, const std::string& high) {
  return low == high ? low : low + "-" + high;
}

struct Character {
  std::size_t bytes;
  int columns;
};

/// East Asian wide forms take two columns, combining marks none. A rough table: names of machines
/// and titles, not typography.
int columns_of(std::uint32_t code) {
  if (code >= 0x300 && code <= 0x36F) return 0;
  const bool wide = (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF)
                    || (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF)
                    || (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60)
                    || (code >= 0x1F300 && code <= 0x1FAFF) || (code >= 0x20000 && code <= 0x3FFFD);
  return wide ? 2 : 1;
}

std::vector<Character> characters_of(const std::string& text) {
  std::vector<Character> all;
  for (std::size_t at = 0; at < text.size();) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t wanted = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const std::size_t bytes = std::min(wanted, text.size() - at);
    std::uint32_t code = bytes == 1 ? lead : lead & (0x7Fu >> bytes);
    for (std::size_t i = 1; i < bytes; ++i)
      code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
    all.push_back({bytes, columns_of(code)});
    at += bytes;
  }
  return all;
}

} // namespace

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const int exponent = exponent_of(value, digits);
  if (exponent >= 12 || exponent < -6) return fmt::format("{:.{}e}", value, digits - 1);
  if (exponent < digits)
    return with_thousands(fmt::format("{:.{}f}", value, digits - 1 - exponent));
  // Digits before the point that are not significant become zeros.
  const double step = std::pow(10.0, exponent - digits + 1);
  return with_thousands(fmt::format("{:.0f}", std::round(value / step) * step));
}

std::string stated_duration(double seconds) {
  const TimeUnit unit = unit_for(seconds);
  return fmt::format("{:.4g} {}", seconds / unit.seconds, unit.name);
}

std::string duration_text(double seconds) {
  const TimeUnit unit = unit_for(seconds);
  return significant(seconds / unit.seconds, 2) + " " + unit.name;
}

std::string duration_range(const Interval& seconds) {
  const TimeUnit unit = unit_for(seconds.likely);
  return joined_range(significant(seconds.low / unit.seconds, 2),
                      significant(seconds.high / unit.seconds, 2))
         + " " + unit.name;
}

std::string duration_and_range(const Interval& seconds) {
  const TimeUnit unit = unit_for(seconds.likely);
  return duration_text(seconds.likely) + " ("
         + joined_range(significant(seconds.low / unit.seconds, 2),
                        significant(seconds.high / unit.seconds, 2))
         + ")";
}

std::string count_text(double count) {
  const bool whole = count == std::floor(count) && std::fabs(count) < 1e12;
  return whole ? with_thousands(fmt::format("{:.0f}", count)) : significant(count, 3);
}

std::string large_text(double amount) {
  for (const auto& [size, word] :
       {std::pair(1e12, " trillion"), {1e9, " billion"}, {1e6, " million"}})
    if (amount >= size) return significant(amount / size, 3) + word;
  return significant(amount, 3);
}

std::string units_text(double units, const std::string& unit) {
  return count_text(units) + " " + unit + (units == 1 ? "" : "s");
}

std::string amount_text(double amount) { return significant(amount, 2); }

std::string amount_range(const Interval& amount) {
  return joined_range(amount_text(amount.low), amount_text(amount.high));
}

std::string amount_and_range(const Interval& amount) {
  return amount_text(amount.likely) + " (" + amount_range(amount) + ")";
}

std::string price_text(double price) { return significant(price, 3); }

std::string probability_text(double probability) {
  if (probability > 0.99) return "> 0.99";
  if (probability < 0.01) return "< 0.01";
  return fmt::format("{:.2f}", probability);
}

std::string probability_words(double probability) {
  if (probability > 0.99) return "above 0.99";
  if (probability < 0.01) return "below 0.01";
  return probability_text(probability);
}

std::string machine_name(const std::string& instance, int count, const std::string& option) {
  return (count > 1 ? fmt::format("{} x ", count) : "") + instance
         + (option == "on-demand" ? "" : " " + option);
}

std::string evidence_mark(const std::string& evidence) {
  if (evidence == "measured") return "m";
  if (evidence == "extrapolated") return "x";
  if (evidence == "projected") return "p";
  return "-";
}

int width_of(const std::string& text) {
  int width = 0;
  for (const Character& character : characters_of(text))
    width += character.columns;
  return width;
}

std::string on_one_line(const std::string& text) {
  std::string line = text;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7F) c = ' ';
  return line;
}

std::string fitted(const std::string& text, int width) {
  const std::string line = on_one_line(text);
  if (width_of(line) <= width) return line;
  const std::vector<Character> characters = characters_of(line);
  const int head = (width - 1) / 2, tail = width - 1 - head;
  std::size_t first = 0, last = line.size();
  int used = 0;
  for (auto at = characters.begin(); at != characters.end() && used + at->columns <= head; ++at)
    used += at->columns, first += at->bytes;
  used = 0;
  for (auto at = characters.rbegin(); at != characters.rend() && used + at->columns <= tail; ++at)
    used += at->columns, last -= at->bytes;
  return line.substr(0, first) + "…" + line.substr(last);
}

} // namespace breakeven
