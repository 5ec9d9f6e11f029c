#include "sim/errors.h"
#include "tests/imaging/nifti_writer.h"
#include "tests/imaging/real_data.h"
#include "tests/test_folder.h"
#include "workloads/imaging/gzip_file.h"
#include "workloads/imaging/load.h"

#include <doctest/doctest.h>
#include <omp.h>
#include <sys/resource.h>

#include <csignal>
#include <functional>
#include <iterator>
#include <limits>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

template <class T>
std::vector<T> counting(std::size_t count = 12) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(i * 9);
  return values;
}

/// 3 x 2 x 2 voxels 0, 9, 18, ... of type int16.
TestNifti small(int version = 1, bool is_big_endian = false) {
  TestNifti nifti(version, is_big_endian);
  nifti.type(4, 16);
  nifti.voxels(counting<std::int16_t>());
  return nifti;
}

CtImage read(const std::string& bytes, const std::string& name = "ct.nii") {
  const TestFolder folder;
  return read_ct(folder.write(name, bytes));
}

std::string error_of(const std::string& bytes, const std::string& name = "ct.nii") {
  try {
    read(bytes, name);
  } catch (const BadInput& error) {
    return error.found + " | " + error.expected;
  }
  return "read";
}

std::string error_of(const std::function<void(TestNifti&)>& change, int version = 1) {
  TestNifti nifti = small(version);
  change(nifti);
  return error_of(nifti.file());
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// An oblique, anisotropic, left-handed geometry with exact single-precision entries.
Geometry oblique(const Extent& extent) {
  Geometry geometry;
  geometry.extent = extent;
  geometry.to_ras_mm = {{{-0.6, 0, -1.6, 12.5}, {0, 0.75, 0, -7}, {-0.8, 0, 1.2, 100.25}}};
  for (auto& row : geometry.to_ras_mm)
    for (double& value : row)
      value = static_cast<double>(static_cast<float>(value));
  return geometry;
}

} // namespace

TEST_CASE("every type, byte order and version of NIfTI gives the same voxels, packed or not") {
  const auto check = [](TestNifti nifti, auto example, std::int16_t type) {
    using T = decltype(example);
    nifti.type(type, 8 * sizeof(T));
    nifti.voxels(counting<T>());
    for (const bool is_packed : {false, true}) {
      CAPTURE(type);
      const CtImage image =
          is_packed ? read(gzipped(nifti.file()), "ct.nii.gz") : read(nifti.file());
      CHECK(image.geometry.extent == Extent{3, 2, 2});
      CHECK(image.stored == counting<std::int16_t>());
      CHECK(image.float_stored.empty());
      CHECK(image.rescale == std::vector<Rescale>(2));
      CHECK(image.notes.empty());
    }
  };
  for (const int version : {1, 2})
    for (const bool is_big : {false, true}) {
      CAPTURE(version);
      CAPTURE(is_big);
      TestNifti nifti(version, is_big);
      nifti.sform(1, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
      check(nifti, std::uint8_t{}, 2);
      check(nifti, std::int16_t{}, 4);
      check(nifti, std::int32_t{}, 8);
      check(nifti, float{}, 16);
      check(nifti, double{}, 64);
      check(nifti, std::int8_t{}, 256);
      check(nifti, std::uint16_t{}, 512);
      check(nifti, std::uint32_t{}, 768);
    }
}

TEST_CASE(
    "values beyond int16 or between whole numbers are kept as float, from the first voxel on") {
  // More than one piece of the file, the odd value in the last.
  TestNifti nifti = small();
  nifti.dim({3, 300, 200, 1});
  std::vector<float> values(300 * 200);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 1000) - 500;
  values.back() = 0.5f;
  nifti.type(16, 32);
  nifti.voxels(values);
  const CtImage image = read(nifti.file());
  CHECK(image.stored.empty());
  CHECK(image.float_stored == values);

  TestNifti wide = small();
  wide.type(512, 16);
  wide.voxels(std::vector<std::uint16_t>(12, 40000));
  CHECK(read(wide.file()).float_stored == std::vector<float>(12, 40000.0f));
}

TEST_CASE("values that single precision cannot hold are rounded, and that is noted") {
  TestNifti nifti = small();
  nifti.type(64, 64);
  std::vector<double> values(12, 0.25);
  values[3] = 0.1;
  nifti.voxels(values);
  const CtImage image = read(nifti.file());
  CHECK(image.float_stored[3] == 0.1f);
  CHECK(image.notes.back() == "1 values rounded to single precision");
}

TEST_CASE("slope and intercept become each slice's rescale, a slope of 0 or NaN none") {
  TestNifti nifti = small();
  nifti.scaling(2, -1024);
  CHECK(read(nifti.file()).rescale == std::vector<Rescale>(2, {2, -1024}));
  nifti.scaling(0, -1024);
  CHECK(read(nifti.file()).rescale == std::vector<Rescale>(2));
  nifti.scaling(std::numeric_limits<double>::quiet_NaN(), 5);
  CHECK(read(nifti.file()).rescale == std::vector<Rescale>(2));
}

TEST_CASE("the sform comes before the qform, the qform before pixdim, and units are turned to mm") {
  TestNifti nifti = small();
  nifti.pixdim({-1, 2, 3, 4}); // qfac -1: z points the other way
  // A quarter turn about z: b = c = 0, d = sqrt(1/2), so x goes to y and y to -x.
  nifti.qform(1, {0, 0, std::sqrt(0.5)}, {10, 20, 30});
  Geometry geometry = read(nifti.file()).geometry;
  const double by_qform[3][4] = {{0, -3, 0, 10}, {2, 0, 0, 20}, {0, 0, -4, 30}};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column)
      CHECK(geometry.to_ras_mm[row][column]
            == doctest::Approx(by_qform[row][column]).epsilon(1e-6));
  CHECK(geometry.voxel_ml() == doctest::Approx(0.024));

  nifti.sform(2, {0.5, 0, 0, 1, 0, 0, 0.5, 2, 0, -0.5, 0, 3});
  nifti.units(1); // metres
  geometry = read(nifti.file()).geometry;
  CHECK(geometry.to_ras_mm[1][2] == 500);
  CHECK(geometry.to_ras_mm[2][1] == -500);
  CHECK(geometry.to_ras_mm[2][3] == 3000);
  nifti.units(3 + 8); // micrometres and seconds
  CHECK(read(nifti.file()).geometry.to_ras_mm[0][0] == doctest::Approx(0.0005));

  TestNifti bare = small();
  bare.pixdim({1, 2, 3, 4});
  const CtImage image = read(bare.file());
  CHECK(image.geometry.to_ras_mm[1][1] == 3);
  CHECK(image.notes
        == std::vector<std::string>{"no sform or qform, axes taken as right, front and head"});
}

TEST_CASE("a fourth dimension of one volume is read, more are refused") {
  TestNifti nifti = small();
  nifti.dim({4, 3, 2, 2, 1});
  CHECK(read(nifti.file()).stored.size() == 12);
  nifti.dim({4, 3, 2, 1, 2});
  CHECK(error_of(nifti.file()) == "dim[4] 2 | 1, one volume");
}

TEST_CASE("a bad header is refused by the name of its field, what was found and what expected") {
  using N = TestNifti&;
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  for (const int version : {1, 2}) {
    const auto found = [&](const std::function<void(N)>& change) {
      return error_of(change, version);
    };
    CHECK(contains(found([](N n) { n.put<std::int32_t>(0, 347); }), "sizeof_hdr 347 | 348"));
    CHECK(contains(found([](N n) { n.dim({2, 3, 2}); }), "dim[0] 2 | 3"));
    CHECK(contains(found([](N n) { n.dim({3, 3, 0, 2}); }), "dim[2] 0 | at least 1"));
    CHECK(contains(found([](N n) { n.dim({3, 3, -2, 2}); }), "dim[2] -2 | at least 1"));
    CHECK(contains(found([](N n) {
                     n.dim({3, 3, 2, 3});
                   }),
                   "3 x 2 x 3 of 16 bits, 36 bytes | at most the 24"));
    CHECK(contains(found([](N n) { n.dim({3, 3, 2, 1}); }), "after the 6 voxels"));
    CHECK(contains(found([](N n) { n.type(128, 24); }), "datatype 128 | integers"));
    CHECK(contains(found([](N n) { n.type(4, 8); }), "bitpix 8 | 16"));
    CHECK(contains(found([](N n) { n.pixdim({1, 1, 0, 1}); }), "pixdim[2] 0 | a spacing above 0"));
    CHECK(contains(found([](N n) {
                     n.pixdim({1, -1, 1, 1});
                   }),
                   "pixdim[1] -1 | a spacing above 0"));
    CHECK(contains(found([&](N n) { n.pixdim({1, 1, 1, nan}); }), "pixdim[3] nan"));
    CHECK(contains(found([&](N n) { n.pixdim({1, 1, 1, infinity}); }), "pixdim[3] inf"));
    CHECK(contains(found([](N n) { n.units(5); }), "xyzt_units 5 | metres"));
    CHECK(contains(found([&](N n) { n.scaling(infinity, 0); }), "scl_slope inf | a finite"));
    CHECK(contains(found([&](N n) { n.scaling(1, nan); }), "scl_inter nan | a finite"));
    CHECK(contains(found([](N n) {
                     n.sform(1, {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0});
                   }),
                   "sform with axes that lie in one plane"));
    CHECK(contains(found([](N n) {
                     n.sform(1, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0});
                   }),
                   "sform with a spacing of 0 mm"));
    CHECK(contains(found([&](N n) {
                     n.sform(1, {1, 0, 0, nan, 0, 1, 0, 0, 0, 0, 1, 0});
                   }),
                   "sform with nan"));
    CHECK(contains(found([](N n) { n.qform(1, {1, 1, 0}, {0, 0, 0}); }), "qform quaternion"));
  }
  CHECK(contains(error_of([](N n) { n.put<float>(108, 0); }),
                 "vox_offset 0 | a whole number from 352"));
  CHECK(contains(error_of([](N n) { n.put<float>(108, 352.5); }), "vox_offset 352.5"));
  CHECK(contains(error_of([](N n) { n.put<float>(108, 1 << 30); }), "vox_offset 1073741824"));
  CHECK(contains(error_of([](N n) { n.put<std::int32_t>(344, 0x31696E); }), ".hdr/.img pair"));
  CHECK(contains(error_of([](N n) { n.put<std::int32_t>(344, 0); }), "magic number"));
  CHECK(contains(error_of(
                     [](N n) {
                       n.dim({3, 1 << 30, 1 << 30, 1 << 30});
                     },
                     2),
                 "bytes that the file can hold"));
}

TEST_CASE("a voxel that is no number is named by its place") {
  TestNifti nifti = small();
  nifti.type(16, 32);
  std::vector<float> values(12, 0.5f);
  values[9] = std::numeric_limits<float>::quiet_NaN(); // x 0, y 1, z 1
  nifti.voxels(values);
  CHECK(error_of(nifti.file()) == "nan at voxel (0, 1, 1) | finite voxels");
  nifti.type(64, 64);
  nifti.voxels(std::vector<double>(12, 1e200));
  CHECK(error_of(nifti.file()) == "1e+200 at voxel (0, 0, 0) | finite voxels");
}

TEST_CASE("a file cut anywhere is refused, packed or not") {
  const std::string plain = small().file(), packed = gzipped(plain);
  for (std::size_t size = 0; size < plain.size(); ++size) {
    CAPTURE(size);
    CHECK(error_of(plain.substr(0, size)) != "read");
  }
  for (std::size_t size = 0; size < packed.size(); ++size) {
    CAPTURE(size);
    CHECK(error_of(packed.substr(0, size), "ct.nii.gz") != "read");
  }
}

TEST_CASE(
    "gzip data that are damaged, followed by others or shorter than the header says are refused") {
  const std::string packed = gzipped(small().file());
  std::string damaged = packed;
  damaged[damaged.size() - 8] ^= 1; // of the CRC-32
  CHECK(contains(error_of(damaged, "ct.nii.gz"), "gzip data damaged (incorrect data check)"));
  damaged = packed;
  damaged[damaged.size() - 4] ^= 1; // of the length
  CHECK(contains(error_of(damaged, "ct.nii.gz"), "gzip data damaged (incorrect length check)"));
  CHECK(contains(error_of(packed + "more", "ct.nii.gz"), "followed by other bytes"));
  CHECK(error_of(packed + std::string(512, '\0'), "ct.nii.gz") == "read");

  // 2^31 - 1 voxels cannot come out of a hundred bytes, so nothing is allocated for them.
  TestNifti huge = small(2);
  huge.dim({3, 2048, 2048, 511});
  CHECK(contains(error_of(gzipped(huge.file()), "ct.nii.gz"), "bytes that the file can hold"));
  // Less than deflate's limit, but more than there is.
  TestNifti longer = small();
  longer.dim({3, 30, 20, 20});
  CHECK(contains(error_of(gzipped(longer.file()), "ct.nii.gz"), "24 bytes of voxels | 24000"));
}

TEST_CASE("a gzip file of several members is one file") {
  const std::string plain = small().file();
  const std::string packed = gzipped(plain.substr(0, 357)) + gzipped(plain.substr(357));
  CHECK(read(packed, "ct.nii.gz").stored == counting<std::int16_t>());
}

TEST_CASE("labels are whole numbers of any type") {
  const TestFolder folder;
  TestNifti nifti = small();
  nifti.type(64, 64);
  nifti.voxels(std::vector<double>(12, 4294967295.0));
  CHECK(read_labels(folder.write("a.nii", nifti.file())).voxels
        == std::vector<std::uint32_t>(12, 4294967295u));
  for (const double bad : {-1.0, 0.5, 4294967296.0, std::numeric_limits<double>::quiet_NaN()}) {
    nifti.voxels(std::vector<double>(12, bad));
    CHECK_THROWS_AS(read_labels(folder.write("b.nii", nifti.file())), BadInput);
  }
  CHECK_THROWS_AS(read_labels(folder.write("c.txt", nifti.file())), BadInput);
}

TEST_CASE(
    "labels written are read again with their geometry, in the smallest type that holds them") {
  const TestFolder folder;
  struct Case {
    std::uint32_t greatest;
    std::int16_t datatype;
  };
  for (const Case& one :
       {Case{255, 2}, Case{256, 512}, Case{65535, 512}, Case{65536, 768}, Case{4294967295u, 768}}) {
    Volume<std::uint32_t> labels{oblique({7, 5, 3}), std::vector<std::uint32_t>(105)};
    for (std::size_t i = 0; i < labels.voxels.size(); ++i)
      labels.voxels[i] = static_cast<std::uint32_t>(i) % 11;
    labels.voxels[50] = one.greatest;
    for (const char* name : {"labels.nii", "new/labels.nii.gz"}) {
      CAPTURE(name);
      write_labels(folder / name, labels);
      const Volume<std::uint32_t> again = read_labels(folder / name);
      CHECK(again.voxels == labels.voxels);
      CHECK(again.geometry.to_ras_mm == labels.geometry.to_ras_mm);
    }
    std::int16_t datatype = 0;
    std::memcpy(&datatype, bytes_of(folder / "labels.nii").data() + 70, 2);
    CHECK(datatype == one.datatype);
  }
}

TEST_CASE(
    "the qform written says what the sform says, for rotations of every kind and both hands") {
  const TestFolder folder;
  const double turns[][3][3] = {
      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},   {{-1, 0, 0}, {0, -1, 0}, {0, 0, 1}},
      {{-1, 0, 0}, {0, 1, 0}, {0, 0, -1}}, {{1, 0, 0}, {0, -1, 0}, {0, 0, -1}},
      {{0, 0, 1}, {1, 0, 0}, {0, 1, 0}},   {{0.36, 0.48, -0.8}, {-0.8, 0.6, 0}, {0.48, 0.64, 0.6}}};
  for (const auto& turn : turns)
    for (const double hand : {1.0, -1.0}) {
      Volume<std::uint32_t> labels{{}, {1, 2}};
      labels.geometry.extent = {2, 1, 1};
      for (std::size_t row = 0; row < 3; ++row)
        labels.geometry.to_ras_mm[row] = {turn[row][0] * 0.5, turn[row][1] * 0.75,
                                          turn[row][2] * 2 * hand, 10.0 * static_cast<double>(row)};
      write_labels(folder / "a.nii", labels);
      std::string bytes = bytes_of(folder / "a.nii");
      REQUIRE(bytes[252] == 1);
      bytes[254] = 0; // no sform
      const Geometry by_qform = read(bytes).geometry;
      for (std::size_t row = 0; row < 3; ++row)
        for (std::size_t column = 0; column < 4; ++column)
          CHECK(by_qform.to_ras_mm[row][column]
                == doctest::Approx(labels.geometry.to_ras_mm[row][column]).epsilon(1e-5));
    }
  // Axes that are not at right angles have no qform.
  Volume<std::uint32_t> sheared{{}, {1}};
  sheared.geometry.extent = {1, 1, 1};
  sheared.geometry.to_ras_mm[0][2] = 0.5;
  write_labels(folder / "a.nii", sheared);
  CHECK(bytes_of(folder / "a.nii")[252] == 0);
  CHECK(read_labels(folder / "a.nii").geometry.to_ras_mm == sheared.geometry.to_ras_mm);
}

TEST_CASE("label files have the same bytes whatever the number of threads and the time") {
  const TestFolder folder;
  Volume<std::uint32_t> labels{oblique({160, 150, 120}),
                               std::vector<std::uint32_t>(160 * 150 * 120)};
  for (std::size_t i = 0; i < labels.voxels.size(); ++i)
    labels.voxels[i] = static_cast<std::uint32_t>(i * i / 999 % 3);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  write_labels(folder / "one.nii.gz", labels);
  omp_set_num_threads(3);
  write_labels(folder / "three.nii.gz", labels);
  omp_set_num_threads(threads);
  const std::string bytes = bytes_of(folder / "one.nii.gz");
  CHECK(bytes == bytes_of(folder / "three.nii.gz"));
  CHECK(bytes.substr(4, 4) == std::string(4, '\0')); // the time of RFC 1952
  CHECK(read_labels(folder / "one.nii.gz").voxels == labels.voxels);
}

TEST_CASE("a label file that cannot be written leaves nothing and says what the system says") {
  const TestFolder folder;
  const Volume<std::uint32_t> labels{oblique({50, 50, 10}), std::vector<std::uint32_t>(25000, 1)};
  folder.write("file", "");
  CHECK_THROWS_AS(write_labels(folder / "file/a.nii", labels), Failure);
  // A file size limit stands for a full disk.
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  std::string message;
  try {
    write_labels(folder / "a.nii", labels);
  } catch (const Failure& error) {
    message = error.what();
  }
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(contains(message, "a.nii: File too large"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1); // "file"
}

TEST_CASE("UIDs in paths are not shown") {
  CHECK(shown_path("/data/CT.1.3.12.2.1107.5/a.nii") == "/data/CT.../a.nii");
  CHECK(shown_path("1.2.840.1") == "1....");
  CHECK(shown_path("/data/v1.2/slice 10.nii") == "/data/v1.2/slice 10.nii");
  CHECK(contains(error_of("", "1.2.3.4.nii"), "a file of 0 bytes"));
}

TEST_CASE("real CT volumes have the voxels and affines that nibabel reads") {
  struct Known {
    const char* name;
    Extent extent;
    unsigned long crc; ///< CRC-32 of the int16 voxels, by nibabel and numpy
    double affine[3][4];
  };
  const Known all[] = {
      {"CT_pitch.nii.gz",
       {175, 248, 58},
       0x5235c96c,
       {{0.8125, 0, 0, -69.02076},
        {0, 0.779041, 0.680799, -134.385605},
        {0, -0.230762, 2.298338, -13.568821}}},
      {"aorta_ct_cropped.nii.gz",
       {120, 126, 164},
       0xb0ed17a5,
       {{-1.5, 0, 0, 71.658203}, {0, -1.5, 0, 255.658203}, {0, 0, 1.5, 540.200012}}},
      {"aorta_mask.nii.gz",
       {120, 126, 164},
       0x04b4416f,
       {{-1.5, 0, 0, 71.658203}, {0, -1.5, 0, 255.658203}, {0, 0, 1.5, 540.200012}}},
      {"example_ct.nii.gz",
       {122, 101, 112},
       0xf4518398,
       {{3, 0, 0, -177.956329}, {0, 3, 0, 11.319}, {0, 0, 3, 94.301758}}},
      {"example_ct_sm.nii.gz",
       {122, 101, 30},
       0xd9347a72,
       {{3, 0, 0, -177.956329}, {0, 3, 0, 11.319}, {0, 0, 3, 94.301758}}},
      {"example_seg.nii.gz",
       {122, 101, 30},
       0x474acbd4,
       {{3, 0, 0, -177.956329}, {0, 3, 0, 11.319}, {0, 0, 3, 94.301758}}},
  };
  for (const Known& known : all) {
    CAPTURE(known.name);
    std::filesystem::path path;
    if (!has_real_data(known.name, path)) continue;
    const CtImage image = read_ct(path);
    CHECK(image.geometry.extent == known.extent);
    CHECK(crc32(0, reinterpret_cast<const unsigned char*>(image.stored.data()),
                static_cast<uInt>(image.stored.size() * 2))
          == known.crc);
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 4; ++column)
        CHECK(image.geometry.to_ras_mm[row][column]
              == doctest::Approx(known.affine[row][column]).epsilon(1e-5));
  }
}
