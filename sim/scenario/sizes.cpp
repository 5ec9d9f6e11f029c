#include "sim/scenario/sizes.h"

#include "sim/errors.h"
#include "sim/scenario/section.h"
#include "sim/scenario/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace breakeven {

namespace {

constexpr std::size_t most_sizes = 100;
constexpr const char* a_size = "a number above zero, or one with a unit such as \"2 h\"";
constexpr const char* form = "section.key=value,value,... such as workload.rows=10_000,100_000";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// As TOML has them: single ones, between digits.
std::string without_underscores(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between =
        i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] != '_' || !between) plain += text[i];
  }
  return plain;
}

std::optional<double> number_in(std::string_view text) {
  const std::string plain = without_underscores(text);
  double number = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), number);
  if (error != std::errc() || end != plain.data() + plain.size()) return {};
  return number;
}

std::optional<Size> with_unit(const std::string& text) {
  // The parsers of quantities refuse by exceptions.
  try {
    return Size{text, parse_duration_s(text), "s"};
  } catch (const std::invalid_argument&) {
  }
  try {
    return Size{text, parse_bytes(text), "B"};
  } catch (const std::invalid_argument&) {
  }
  try {
    const Money price = parse_price_per_h(text);
    return Size{text, price.amount_per_h, price.currency + "/h"};
  } catch (const std::invalid_argument&) {
  }
  return {};
}

Size size_of(const std::string& flag, const std::string& text) {
  if (text.empty()) throw BadInput(flag, 0, "an empty value", a_size);
  const std::optional<double> number = number_in(text);
  const std::optional<Size> size = number ? Size{text, *number, ""} : with_unit(text);
  if (!size || !std::isfinite(size->amount) || size->amount <= 0)
    throw BadInput(flag, 0, in_quotes(text), a_size);
  return *size;
}

/// In ascending order, so that a crossover lies between neighbours.
void check_together(const std::string& flag, const std::vector<Size>& sizes) {
  if (sizes.size() < 2)
    throw BadInput(flag, 0, "one value", "at least two, for a size to lie between");
  if (sizes.size() > most_sizes)
    throw BadInput(flag, 0, fmt::format("{} values", sizes.size()),
                   fmt::format("at most {}", most_sizes));
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i].unit != sizes[0].unit)
      throw BadInput(flag, 0, in_quotes(sizes[0].text) + " beside " + in_quotes(sizes[i].text),
                     "values of one kind");
    if (sizes[i].amount == sizes[i - 1].amount)
      throw BadInput(flag, 0, in_quotes(sizes[i].text) + " a second time", "each size once");
  }
}

} // namespace

Sizes parse_sizes(const std::string& over) {
  const std::string flag = "--over " + over;
  const std::size_t equals = over.find('=');
  if (equals == std::string::npos) throw BadInput(flag, 0, "no '='", form);
  Sizes sizes;
  sizes.key = trimmed(std::string_view(over).substr(0, equals));
  for (std::size_t begin = equals + 1; begin <= over.size();) {
    const std::size_t end = std::min(over.find(',', begin), over.size());
    const std::string_view value = std::string_view(over).substr(begin, end - begin);
    sizes.all.push_back(size_of(flag, std::string(trimmed(value))));
    begin = end + 1;
  }
  std::stable_sort(sizes.all.begin(), sizes.all.end(),
                   [](const Size& a, const Size& b) { return a.amount < b.amount; });
  check_together(flag, sizes.all);
  return sizes;
}

std::string folder_name(const Size& size) {
  if (size.unit.empty()) return fmt::format("{}", *number_in(size.text));
  std::string name;
  for (const char c : size.text) {
    if (c == '/')
      name += "_per_";
    else if (c != ' ' && c != '\t')
      name += c;
  }
  return name;
}

} // namespace breakeven
