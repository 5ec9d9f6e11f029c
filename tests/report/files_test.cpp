#include "sim/errors.h"
#include "tests/report/support.h"

#include <sys/resource.h>

#include <csignal>

using namespace breakeven;
namespace fs = std::filesystem;

namespace {

/// A limit on the size of files: beyond it a write fails as on a full disk.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

private:
  void (*handler_)(int);
  rlimit before_{};
};

long files_in(const fs::path& folder) {
  long count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    count += entry.is_regular_file();
  return count;
}

} // namespace

TEST_CASE("results replace earlier ones, and subfolders are made") {
  const TestFolder folder;
  write_results(folder.path() / "new/study", {{"a.csv", "old"}, {"charts/b.svg", "old"}});
  write_results(folder.path() / "new/study", {{"a.csv", "new"}, {"charts/b.svg", "new"}});
  CHECK(bytes_of(folder.path() / "new/study/a.csv") == "new");
  CHECK(bytes_of(folder.path() / "new/study/charts/b.svg") == "new");
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("when the disk is full earlier results stay and nothing half-written is left") {
  const TestFolder folder;
  write_results(folder.path(), {{"a.csv", "old"}, {"charts/b.svg", "old"}});
  const FileSizeLimit limit(1000);
  CHECK_THROWS_WITH_AS(
      write_results(folder.path(), {{"a.csv", "new"}, {"charts/b.svg", std::string(5000, 'x')}}),
      doctest::Contains("charts/b.svg: File too large"), Failure);
  CHECK(bytes_of(folder.path() / "a.csv") == "old");
  CHECK(bytes_of(folder.path() / "charts/b.svg") == "old");
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("a folder that cannot be made is a Failure with the system's text") {
  const TestFolder folder;
  folder.write("file", "x");
  CHECK_THROWS_WITH_AS(write_results(folder.path() / "file", {{"a.csv", "x"}}),
                       doctest::Contains("Not a directory"), Failure);
  CHECK(bytes_of(folder.path() / "file") == "x");
}

TEST_CASE("a folder in the place of a file stops all files before the first is replaced") {
  const TestFolder folder;
  write_results(folder.path(), {{"a.csv", "old"}, {"memo.md/x", "in the way"}});
  CHECK_THROWS_WITH_AS(write_results(folder.path(), {{"a.csv", "new"}, {"memo.md", "new"}}),
                       doctest::Contains("memo.md: Is a directory"), Failure);
  CHECK(bytes_of(folder.path() / "a.csv") == "old");
  CHECK(files_in(folder.path()) == 2);
}
