// Rows read at once, refusals as text, and damaged files, for the tests of the readers.
#pragma once

#include "sim/errors.h"
#include "workloads/risk/rows.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace breakeven::risk {

struct ReadRows {
  std::vector<float> values;
  std::vector<std::uint8_t> labels;
};

inline ReadRows read_rows(const Rows& rows, std::int64_t begin, std::int64_t end) {
  const auto count = static_cast<std::size_t>(end - begin);
  ReadRows read{std::vector<float>(count * static_cast<std::size_t>(rows.features()), -77),
                std::vector<std::uint8_t>(count, 77)};
  rows.read(begin, end, read.values.data(), read.labels.data());
  return read;
}
inline ReadRows read_rows(const Rows& rows) { return read_rows(rows, 0, rows.count); }

/// To the bit; missing values are equal to each other.
inline bool same_values(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return x == y || (x != x && y != y);
         });
}

/// What a refusal says behind the file's path, or "read".
template <class Read>
std::string refusal(const Read& read) {
  try {
    read();
  } catch (const BadInput& error) {
    const std::string text = error.what();
    return text.substr(std::min(text.size(), error.file.size()));
  }
  return "read";
}

class TextMutator {
public:
  explicit TextMutator(unsigned seed) : random_(seed) {}

  /// One to four changes.
  std::string operator()(std::string text) {
    for (unsigned changes = below(4) + 1; changes > 0 && !text.empty(); --changes)
      change(text);
    return text;
  }
  unsigned below(std::size_t limit) { return static_cast<unsigned>(random_() % limit); }

private:
  void change(std::string& text) {
    const std::string marks = "\",\n\r :;-+.#?eE0129\t\\aN";
    const std::size_t at = below(text.size());
    const std::size_t count = std::min<std::size_t>(text.size() - at, 1 + below(24));
    switch (below(7)) {
    case 0:
      text[at] = static_cast<char>(text[at] ^ 1 << below(8));
      break;
    case 1:
      text[at] = static_cast<char>(below(256));
      break;
    case 2:
      text.resize(at);
      break;
    case 3:
      text.insert(below(text.size()), text.substr(at, count));
      break;
    case 4:
      text.erase(at, count);
      break;
    default:
      text.insert(at, 1, marks[below(marks.size())]);
      break;
    }
  }

  std::mt19937 random_;
};

} // namespace breakeven::risk
