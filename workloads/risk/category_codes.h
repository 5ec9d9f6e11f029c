// Categories as whole numbers. Leaves out where their names come from.
#pragma once

#include "workloads/risk/text_blocks.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace breakeven::risk {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

/// Codes in the order of first use.
class CategoryCodes {
public:
  std::uint32_t code_of(std::string_view text) {
    const auto found = codes_.find(text);
    if (found != codes_.end()) return found->second;
    const auto code = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(text);
    codes_.emplace(text, code);
    return code;
  }
  const std::uint32_t* find(std::string_view text) const {
    const auto found = codes_.find(text);
    return found == codes_.end() ? nullptr : &found->second;
  }
  const std::vector<std::string>& names() const { return names_; }

private:
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> codes_;
  std::vector<std::string> names_;
};

/// By value where all are numbers, else by bytes: the codes don't depend on the order of rows.
inline std::vector<std::uint32_t> rising_order(const std::vector<std::string>& names) {
  std::vector<float> numbers(names.size());
  bool are_numbers = true;
  for (std::size_t i = 0; i < names.size() && are_numbers; ++i)
    are_numbers = read_number(names[i], numbers[i]) == NumberText::finite;
  std::vector<std::uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (are_numbers && numbers[a] != numbers[b]) return numbers[a] < numbers[b];
    return names[a] < names[b];
  });
  return order;
}

} // namespace breakeven::risk
