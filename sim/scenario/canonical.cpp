// Tables that mean the same become the same text. Lengths stand before texts so that no two
// different tables can.
#include "sim/scenario/document.h"

#include <fmt/format.h>

#include <cmath>
#include <locale>
#include <sstream>

namespace breakeven {

namespace {

std::string counted(std::string_view text, const char* type = "") {
  return fmt::format("{}{}:{}", type, text.size(), text);
}

std::string canonical_number(double number) {
  // Up to 2^53 every integer is a double, so 1e3 and 1000 can and shall agree.
  constexpr double exact_integers = 9007199254740992;
  if (std::abs(number) <= exact_integers && number == std::floor(number))
    return fmt::format("n{};", static_cast<std::int64_t>(number));
  return fmt::format("n{};", number);
}

std::string canonical_date(const toml::node& node) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  if (const auto* date = node.as_date()) text << date->get();
  if (const auto* time = node.as_time()) text << time->get();
  if (const auto* both = node.as_date_time()) text << both->get();
  return counted(text.str(), "d");
}

std::string canonical_table(const toml::table& table) {
  std::string result = "{"; // toml::table keeps its keys sorted
  for (const auto& [key, value] : table)
    result += counted(key.str()) + "=" + canonical(value);
  return result + "}";
}

std::string canonical_array(const toml::array& array) {
  std::string result = "[";
  for (const toml::node& value : array)
    result += canonical(value);
  return result + "]";
}

} // namespace

std::string canonical(const toml::node& node) {
  if (const auto* table = node.as_table()) return canonical_table(*table);
  if (const auto* array = node.as_array()) return canonical_array(*array);
  if (const auto* text = node.as_string()) return counted(text->get(), "s");
  if (const auto* integer = node.as_integer()) return fmt::format("n{};", integer->get());
  if (const auto* number = node.as_floating_point()) return canonical_number(number->get());
  if (const auto* boolean = node.as_boolean()) return boolean->get() ? "b1" : "b0";
  return canonical_date(node);
}

} // namespace breakeven
