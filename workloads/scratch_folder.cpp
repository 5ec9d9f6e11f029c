#include "workloads/scratch_folder.h"

#include "sim/errors.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>

namespace breakeven {

ScratchFolder::ScratchFolder(const std::string& purpose) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  std::string name = (parent / ("breakeven-" + purpose + "-XXXXXX")).string();
  if (error || mkdtemp(name.data()) == nullptr)
    throw Failure("cannot make a folder for temporary files in " + parent.string() + ": "
                  + (error ? error.message() : std::strerror(errno)));
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

} // namespace breakeven
