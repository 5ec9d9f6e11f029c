// Where a workload puts what it makes of its units (frames, cases) while the old ones are still in
// place. Leaves nothing behind unless it is published.
#pragma once

#include "sim/errors.h"

#include <filesystem>
#include <string>

namespace breakeven {

class UnitFolder {
public:
  UnitFolder(const std::filesystem::path& results, const std::string& unit)
      : final_(results / (unit + "s")),
        partial_(results / ("." + unit + "s.partial")) {
    std::error_code error;
    std::filesystem::create_directories(results, error);
    if (!error) std::filesystem::remove_all(partial_, error);
    if (!error) std::filesystem::create_directory(partial_, error);
    check(error);
  }
  ~UnitFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(partial_, ignored);
    // Only where no results came to lie beside it.
    std::filesystem::remove(partial_.parent_path(), ignored);
  }
  UnitFolder(const UnitFolder&) = delete;
  UnitFolder& operator=(const UnitFolder&) = delete;

  const std::filesystem::path& path() const { return partial_; }

  /// Puts the new ones in place of the old ones, once all other results are written.
  void publish() const {
    std::error_code error;
    if (std::filesystem::is_empty(partial_, error)) return;
    if (!error) std::filesystem::remove_all(final_, error);
    if (!error) std::filesystem::rename(partial_, final_, error);
    check(error);
  }

private:
  void check(const std::error_code& error) const {
    if (error) throw Failure("cannot write " + final_.string() + ": " + error.message());
  }
  std::filesystem::path final_, partial_;
};

} // namespace breakeven
