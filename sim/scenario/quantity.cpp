#include "sim/scenario/section.h"
#include "sim/scenario/text.h"

#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace breakeven {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit time_units[] = {{"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
constexpr double kib = 1024;
constexpr Unit byte_units[] = {{"B", 1},
                               {"KB", 1e3},
                               {"MB", 1e6},
                               {"GB", 1e9},
                               {"TB", 1e12},
                               {"KiB", kib},
                               {"MiB", kib* kib},
                               {"GiB", kib* kib* kib},
                               {"TiB", kib* kib* kib* kib}};

/// A finite number >= 0 and the unit behind it. std::from_chars, unlike strtod, reads "." as the
/// decimal sign under every locale.
std::pair<double, std::string_view> number_and_unit(const std::string& whole, const char* what) {
  const std::string_view text = trimmed(whole);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0)
    throw std::invalid_argument("'" + whole + "' is not " + what);
  const auto length = static_cast<std::size_t>(end - text.data());
  // -0 would print as "-0 s" and hash apart from 0.
  return {number == 0 ? 0.0 : number, trimmed(text.substr(length))};
}

template <std::size_t count>
double in_base_unit(const std::string& text, const Unit (&units)[count], const char* what) {
  const auto [number, name] = number_and_unit(text, what);
  for (const Unit& unit : units)
    if (unit.name == name && std::isfinite(number * unit.factor)) return number * unit.factor;
  throw std::invalid_argument("'" + text + "' is not " + what);
}

} // namespace

double parse_duration_s(const std::string& text) {
  return in_base_unit(text, time_units, "a duration such as \"2 h\" (ms, s, min, h or d)");
}

double parse_bytes(const std::string& text) {
  return in_base_unit(text, byte_units,
                      "an amount of data such as \"40 GiB\" (B, KB to TB or KiB to TiB)");
}

Money parse_price_per_h(const std::string& text) {
  const char* what = "a price such as \"0.8 USD/h\" (USD or CNY)";
  const auto [amount, unit] = number_and_unit(text, what);
  for (const char* currency : {"USD", "CNY"})
    if (unit == std::string(currency) + "/h") return {amount, currency};
  throw std::invalid_argument("'" + text + "' is not " + what);
}

} // namespace breakeven
