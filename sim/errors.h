// The two errors a user can meet. BadInput is the user's mistake (exit code 2) and says where, what
// was found and what was expected; Failure is the machine's refusal (exit code 1): a full disk, no
// memory, a device error. Our own mistakes are asserts. Only main() catches.
#pragma once

#include <stdexcept>
#include <string>

namespace breakeven {

struct BadInput : std::runtime_error {
  /// `line` 0 means the whole file (or command line). Messages read
  /// "file:line: found X, expected Y" and stay on one line.
  BadInput(std::string file, long line, std::string found, std::string expected)
      : std::runtime_error(one_line(place(file, line)
                                        .append(": found ")
                                        .append(found)
                                        .append(", expected ")
                                        .append(expected))),
        file(std::move(file)),
        line(line),
        found(std::move(found)),
        expected(std::move(expected)) {}

  std::string file;
  long line;
  std::string found, expected;

private:
  static std::string place(const std::string& file, long line) {
    std::string text = file;
    if (line > 0) text.append(":").append(std::to_string(line));
    return text;
  }
  static std::string one_line(std::string text) {
    for (char& c : text)
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    return text;
  }
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

} // namespace breakeven
