// Pictures on disk: whole or not there.
#include "sim/errors.h"
#include "tests/test_folder.h"
#include "workloads/partial_file.h"
#include "workloads/render/image.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace breakeven;
using namespace breakeven::render;
namespace fs = std::filesystem;

namespace {

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Files of this process end at so many bytes, as on a disk that is full.
class FullDisk {
public:
  explicit FullDisk(rlim_t bytes) : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit small{bytes, limit_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

private:
  rlimit limit_{};
  void (*before_)(int);
};

std::string failure_of(const fs::path& file, const std::string& bytes) {
  try {
    write_whole_file(file, bytes);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

} // namespace

TEST_CASE("a written picture replaces the one before and leaves nothing beside it") {
  const TestFolder folder;
  write_whole_file(folder / "a.png", "before");
  write_whole_file(folder / "a.png", "after");
  CHECK(bytes_of(folder / "a.png") == "after");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("where the disk is full the old picture stays and the system's words are passed on") {
  const TestFolder folder;
  write_whole_file(folder / "a.png", "before");
  std::string message;
  {
    const FullDisk full(1000);
    message = failure_of(folder / "a.png", std::string(5000, 'x'));
  }
  CAPTURE(message);
  CHECK(message.starts_with("cannot write "));
  CHECK(message.find("File too large") != std::string::npos);
  CHECK(bytes_of(folder / "a.png") == "before");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a folder that is not there is named with the system's words") {
  const TestFolder folder;
  const std::string message = failure_of(folder / "none" / "a.png", "x");
  CHECK(message.find("none/a.png: No such file or directory") != std::string::npos);
}

TEST_CASE("the tone curve is the identity up to its knee, then rises towards one without a jump") {
  CHECK(tone_mapped(0.3f) == 0.3f);
  CHECK(tone_mapped(0.7f) == 0.7f);
  CHECK(tone_mapped(0.7001f) == doctest::Approx(0.7001));
  float last = 0;
  for (float radiance = 0; radiance < 10; radiance += 0.01f) {
    const float shown = tone_mapped(radiance);
    CHECK(shown >= last);
    CHECK(shown <= 1);
    last = shown;
  }
  CHECK(tone_mapped(INFINITY) == 1);
  CHECK(tone_mapped(NAN) == 0);
  CHECK(tone_mapped(-1) == 0);
}

TEST_CASE("a PFM starts with its bottom row, little-endian") {
  // 1.0f is 00 00 80 3f; the bottom left pixel is red.
  const std::string pfm = encode_pfm(1, 2, {{0, 0, 1}, {1, 0, 0}});
  const std::string head = "PF\n1 2\n-1.0\n";
  REQUIRE(pfm.size() == head.size() + 24);
  CHECK(pfm.substr(0, head.size()) == head);
  CHECK(pfm.substr(head.size(), 4) == std::string("\x00\x00\x80\x3f", 4));
}

TEST_CASE("what is no PFM of ours is refused") {
  const TestFolder folder;
  const auto is_refused = [&](const std::string& bytes) {
    write_whole_file(folder / "a.pfm", bytes);
    CHECK_THROWS_AS(read_pfm(folder / "a.pfm"), BadInput);
  };
  is_refused("P6\n1 1\n255\nabc");
  is_refused("PF\n0 1\n-1.0\n");
  is_refused("PF\n1 1\n1.0\n" + std::string(12, '\0')); // big-endian
  is_refused("PF\n1 1\n-1.0\n" + std::string(13, '\0'));
  is_refused("PF\n2147483647 2147483647\n-1.0\n");
  is_refused("PF\n");
  CHECK_THROWS_AS(read_pfm(folder / "none.pfm"), BadInput);
}
