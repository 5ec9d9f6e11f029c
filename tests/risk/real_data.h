// The real risk data beside the checkout, which tests use where it is there.
#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace breakeven::risk {

/// False, with a message, where the file is not there.
inline bool has_real_data(const std::string& name, std::filesystem::path& path) {
  path =
      std::filesystem::path(BREAKEVEN_SOURCE_DIR).parent_path() / "shared" / "data" / "risk" / name;
  if (std::filesystem::exists(path)) return true;
  MESSAGE("skipped: no " << name << " beside the checkout");
  return false;
}

} // namespace breakeven::risk
