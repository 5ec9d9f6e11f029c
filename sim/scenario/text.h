// Small helpers for text that a user wrote: trimming it, showing it in a message, guessing what was
// meant. No TOML and no scenario in here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace breakeven {

/// Without the spaces and tabs around it.
std::string_view trimmed(std::string_view text);

/// For messages: 'text' on one line, cut where it is long.
std::string in_quotes(std::string_view text, char quote = '\'');

/// "a, b or c".
std::string listed_with_or(const std::vector<std::string>& names);

/// The name that `text` is most likely a slip of, or "" where none is close.
std::string nearest(std::string_view text, const std::vector<std::string>& names);

} // namespace breakeven
