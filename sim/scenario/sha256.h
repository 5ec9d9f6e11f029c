// SHA-256 of files, beside sha256_of() for text in scenario.h. Reads a file in pieces, so that a
// mesh larger than memory can be hashed. Throws Failure when a file cannot be read to its end.
#pragma once

#include <filesystem>
#include <string>

namespace breakeven {

/// In lower-case hexadecimal.
std::string sha256_of_file(const std::filesystem::path& file);

} // namespace breakeven
