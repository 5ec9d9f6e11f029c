// Damaged files: 10,000 mutants of small valid ones, always the same. Each loads or is refused;
// under ASan and UBSan nothing else happens, and none allocates or runs for more than its size
// explains.
#include "sim/errors.h"
#include "tests/imaging/dicom_writer.h"
#include "tests/imaging/nifti_writer.h"
#include "tests/imaging/real_data.h"
#include "tests/test_folder.h"
#include "workloads/imaging/dicom.h"
#include "workloads/imaging/load.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <iterator>
#include <random>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

class Mutator {
public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  /// One to four changes behind byte `from`.
  std::string operator()(std::string bytes, std::size_t from = 0) {
    for (unsigned changes = below(4) + 1; changes > 0 && bytes.size() > from + 8; --changes)
      change(bytes, from);
    return bytes;
  }

private:
  void change(std::string& bytes, std::size_t from) {
    const std::size_t at = from + below(bytes.size() - from);
    const std::size_t count = std::min<std::size_t>(bytes.size() - at, 1 + below(24));
    switch (below(7)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
      break;
    case 1:
      bytes[at] = static_cast<char>(below(256));
      break;
    case 2:
      bytes.resize(at);
      break;
    case 3:
      bytes.insert(from + below(bytes.size() - from), bytes.substr(at, count));
      break;
    case 4:
      bytes.erase(at, count);
      break;
    case 5:
      length_field(bytes, at, 4);
      break;
    default:
      length_field(bytes, at, 2);
      break;
    }
  }
  /// Extreme numbers of either byte order.
  void length_field(std::string& bytes, std::size_t at, std::size_t size) {
    const char fills[] = {'\0', '\xFF', '\x7F', '\x80'};
    const char fill = fills[below(4)];
    for (std::size_t i = at; i < std::min(bytes.size(), at + size); ++i)
      bytes[i] = fill;
    if (at < bytes.size() && below(2) == 0) bytes[at] = static_cast<char>(below(256));
  }
  unsigned below(std::size_t limit) { return static_cast<unsigned>(random_() % limit); }

  std::mt19937 random_;
};

struct Outcome {
  int read = 0, refused = 0;
};

template <class Read>
void attempt(Outcome& outcome, const Read& read) {
  try {
    read();
    ++outcome.read;
  } catch (const BadInput&) {
    ++outcome.refused;
  } catch (const Failure&) {
    ++outcome.refused;
  }
}

long peak_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TestSlice small_slice() {
  constexpr int side = 12;
  std::vector<std::uint16_t> pixels;
  for (int i = 0; i < side * side; ++i)
    pixels.push_back(static_cast<std::uint16_t>(1000 + i % side * 3 + i * 7919 % 11));
  TestSlice one(side, side, std::move(pixels));
  one.raw(0x0008'1140, "SQ",
          std::string("\xFE\xFF\x00\xE0\xFF\xFF\xFF\xFF\x08\x00\x50\x11UI\x04\x00"
                      "1.2\0\xFE\xFF\x0D\xE0\0\0\0\0\xFE\xFF\xDD\xE0\0\0\0\0",
                      36));
  return one;
}

void check_outcome(const Outcome& outcome, int mutants) {
  CHECK(outcome.read + outcome.refused == mutants);
  CHECK(outcome.refused > mutants / 10); // the changes do reach what is read
}

} // namespace

TEST_CASE("4,000 damaged NIfTI files are read or refused") {
  const TestFolder folder;
  const long before_kib = peak_kib();
  constexpr int mutants = 800;
  int kind = 0;
  for (const auto& [version, is_big, is_packed] : {std::tuple{1, false, false},
                                                   {1, true, false},
                                                   {1, false, true},
                                                   {2, false, false},
                                                   {2, false, true}}) {
    TestNifti nifti(version, is_big);
    nifti.dim({3, 5, 4, 3});
    nifti.type(4, 16);
    nifti.sform(1, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0});
    nifti.qform(1, {0, 0, 1}, {3, 4, 5});
    std::vector<std::int16_t> voxels(60);
    for (std::size_t i = 0; i < voxels.size(); ++i)
      voxels[i] = static_cast<std::int16_t>(i * 37);
    nifti.voxels(voxels);
    const std::string whole = nifti.file();
    Mutator mutate(static_cast<unsigned>(100 + kind++));
    Outcome outcome;
    for (int i = 0; i < mutants; ++i) {
      // Half of the packed ones are damaged before packing, so that what is inside is reached.
      const bool is_inside = is_packed && i % 2 == 0;
      const std::string bytes = is_inside   ? gzipped(mutate(whole))
                                : is_packed ? mutate(gzipped(whole))
                                            : mutate(whole);
      const auto path = folder.write(is_packed ? "a.nii.gz" : "a.nii", bytes);
      attempt(outcome, [&] {
        if (i % 4 == 3)
          read_labels(path);
        else
          read_ct(path);
      });
    }
    check_outcome(outcome, mutants);
  }
  CHECK(peak_kib() - before_kib < 1024 * 1024); // ASan keeps 256 MiB of freed blocks
}

TEST_CASE("3,500 damaged DICOM files are read or refused, in every encoding") {
  const TestFolder folder;
  const long before_kib = peak_kib();
  constexpr int mutants = 500;
  for (const TestEncoding encoding : all_encodings) {
    CAPTURE(uid_of(encoding));
    const std::string whole = small_slice().file(encoding);
    Mutator mutate(static_cast<unsigned>(200 + static_cast<int>(encoding)));
    Outcome outcome;
    constexpr std::size_t preamble = 132;
    for (int i = 0; i < mutants; ++i) {
      const auto path = folder.write("a.dcm", mutate(whole, preamble));
      attempt(outcome, [&] { read_ct(path); });
    }
    check_outcome(outcome, mutants);
  }
  CHECK(peak_kib() - before_kib < 1024 * 1024); // ASan keeps 256 MiB of freed blocks
}

TEST_CASE("2,500 damaged codestreams in sound DICOM files are read or refused") {
  const TestFolder folder;
  const long before_kib = peak_kib();
  constexpr int mutants = 500;
  const auto run = [&](const TestSlice& sound, TestEncoding encoding, const std::string& whole) {
    CAPTURE(uid_of(encoding));
    Mutator mutate(static_cast<unsigned>(300 + static_cast<int>(encoding) + whole.size()));
    Outcome outcome;
    for (int i = 0; i < mutants; ++i) {
      TestSlice one = sound;
      // The end marker is kept, so that decoders are reached.
      one.codestream =
          encoding == TestEncoding::run_length
              ? mutate(whole)
              : mutate(whole.substr(0, whole.size() - 2)) + whole.substr(whole.size() - 2);
      const auto path = folder.write("a.dcm", one.file(encoding));
      attempt(outcome, [&] { read_ct(path); });
    }
    check_outcome(outcome, mutants);
  };
  for (const TestEncoding encoding : {TestEncoding::run_length, TestEncoding::jpeg_lossless,
                                      TestEncoding::jpeg_ls, TestEncoding::jpeg_2000})
    run(small_slice(), encoding, small_slice().coded_pixels(encoding));
  // JPEG 2000 with a code-block of its own for each few pixels, of 16 bits.
  TestSlice wide(40, 40, std::vector<std::uint16_t>(1600, 7));
  for (std::size_t i = 0; i < wide.pixels.size(); ++i)
    wide.pixels[i] = static_cast<std::uint16_t>(i * i * 31);
  wide.bits(16, 16, true);
  run(wide, TestEncoding::jpeg_2000, wide.coded_pixels(TestEncoding::jpeg_2000));
  CHECK(peak_kib() - before_kib < 1024 * 1024); // ASan keeps 256 MiB of freed blocks
}

TEST_CASE("damaged real slices are read or refused") {
  const TestFolder folder;
  unsigned seed = 400;
  for (const char* name :
       {"CT_small.dcm", "JPEG2000.dcm", "MR_small_RLE.dcm", "MR_small_jpeg_ls_lossless.dcm"}) {
    std::filesystem::path path;
    if (!has_real_data(std::string("dicom_samples/") + name, path)) continue;
    std::ifstream in(path, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    Mutator mutate(seed++);
    Outcome outcome;
    constexpr int mutants = 100;
    for (int i = 0; i < mutants; ++i) {
      const auto damaged =
          folder.write("a.dcm", mutate(whole, i % 2 == 0 ? 132 : whole.size() / 2));
      attempt(outcome, [&] {
        DicomHeader header = read_dicom_header(damaged, "a");
        header.modality = "CT"; // so that the others are decoded, too
        header.slope = header.intercept = 1;
        header.rescale_type = "HU";
        check_ct_slice(header);
        std::vector<std::int16_t> stored(static_cast<std::size_t>(header.pixels()));
        decode_slice(header, stored);
      });
    }
    CHECK(outcome.read + outcome.refused == mutants);
  }
}
