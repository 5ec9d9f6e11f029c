#include "sim/errors.h"
#include "tests/imaging/dicom_writer.h"
#include "tests/imaging/real_data.h"
#include "tests/test_folder.h"
#include "workloads/imaging/dicom.h"
#include "workloads/imaging/load.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <cmath>
#include <functional>

using namespace breakeven;
using namespace breakeven::imaging;

namespace {

constexpr int columns = 5, rows = 4;

std::uint16_t value_at(int x, int y, int z) {
  return static_cast<std::uint16_t>(1000 + x + 10 * y + 100 * z);
}

TestSlice slice(int z, double height_mm) {
  std::vector<std::uint16_t> pixels;
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x)
      pixels.push_back(value_at(x, y, z));
  return {columns, rows, std::move(pixels), height_mm};
}

/// Slices of value_at() at those heights, in files whose names are UIDs.
struct Series {
  std::vector<TestSlice> slices;
  TestFolder folder;

  explicit Series(const std::vector<double>& heights_mm = {-3, -1, 1, 3, 5}) {
    for (std::size_t z = 0; z < heights_mm.size(); ++z)
      slices.push_back(slice(static_cast<int>(z), heights_mm[z]));
  }
  CtImage read(TestEncoding encoding = TestEncoding::explicit_little, int threads = 2) const {
    for (std::size_t i = 0; i < slices.size(); ++i) // names neither in nor against the order
      folder.write(fmt::format("CT.1.3.12.2.{}", (i % 2 == 0 ? 100 : 150) + i / 2),
                   slices[i].file(encoding));
    return read_ct(folder.path(), threads);
  }
  std::string error(TestEncoding encoding = TestEncoding::explicit_little) const {
    try {
      read(encoding);
    } catch (const BadInput& error) {
      const std::string message = error.what();
      for (const char* secret : {secret_name, secret_id, secret_uid, "SECRET", "471108", "1.3.12"})
        CHECK_MESSAGE(message.find(secret) == std::string::npos, message);
      return message;
    }
    return "read";
  }
  void change_all(const std::function<void(TestSlice&)>& change) {
    for (TestSlice& one : slices)
      change(one);
  }
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
#define CHECK_CONTAINS(text, part)                                                                 \
  do {                                                                                             \
    const std::string whole = (text);                                                              \
    CHECK_MESSAGE(contains(whole, part), whole);                                                   \
  } while (false)

std::string error_of(const std::function<void(TestSlice&)>& change,
                     TestEncoding encoding = TestEncoding::explicit_little) {
  Series series;
  change(series.slices[2]);
  return series.error(encoding);
}

std::int16_t stored_at(const CtImage& image, int x, int y, int z) {
  const Extent& extent = image.geometry.extent;
  return image.stored[static_cast<std::size_t>((z * extent.y + y) * extent.x + x)];
}

unsigned long crc_of(const std::vector<std::int16_t>& values) {
  return crc32(0, reinterpret_cast<const unsigned char*>(values.data()),
               static_cast<uInt>(values.size() * 2));
}

} // namespace

TEST_CASE("slices are ordered by position, whatever their names, in every encoding") {
  const Series series;
  for (const TestEncoding encoding : all_encodings) {
    CAPTURE(uid_of(encoding));
    const CtImage image = series.read(encoding);
    REQUIRE(image.geometry.extent == Extent{columns, rows, 5});
    for (int z = 0; z < 5; ++z)
      for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x)
          CHECK(stored_at(image, x, y, z) == value_at(x, y, z));
    CHECK(image.rescale == std::vector<Rescale>(5, {1, -1024}));
    CHECK(image.notes.empty());
    CHECK(!image.has_padding);
  }
}

TEST_CASE("the result does not depend on the number of threads") {
  const Series series;
  CHECK(series.read(TestEncoding::jpeg_2000, 1).stored
        == series.read(TestEncoding::jpeg_2000, 4).stored);
}

TEST_CASE("pixels of 8, 12 and 16 bits, signed or not, are the same in every encoding") {
  const TestFolder folder;
  for (const int bits : {8, 12, 16})
    for (const bool is_signed : {false, true})
      for (const TestEncoding encoding : all_encodings) {
        CAPTURE(bits);
        CAPTURE(is_signed);
        CAPTURE(uid_of(encoding));
        constexpr int side = 19;
        std::vector<std::int16_t> expected;
        std::vector<std::uint16_t> pixels;
        const int limit = 1 << (is_signed ? bits - 1 : std::min(bits, 15));
        for (int i = 0; i < side * side; ++i) {
          const int value = i * 7919 % limit;
          expected.push_back(
              static_cast<std::int16_t>(is_signed && i % 3 == 0 ? -value - 1 : value));
          pixels.push_back(
              static_cast<std::uint16_t>(expected.back() & (bits == 8 ? 0xFF : 0xFFFF)));
        }
        TestSlice one(side, side, pixels);
        one.bits(bits == 8 ? 8 : 16, bits, is_signed);
        const DicomHeader header = read_dicom_header(folder.write("a", one.file(encoding)), "a");
        check_ct_slice(header);
        std::vector<std::int16_t> stored(pixels.size());
        const DecodedSlice decoded = decode_slice(header, stored);
        CHECK(stored == expected);
        CHECK(decoded.cut_off_pixels == 0);
      }
}

TEST_CASE("unsigned values above int16 are kept as float") {
  Series series;
  series.change_all([](TestSlice& one) { one.bits(16, 16, false); });
  series.slices[1].pixels[3] = 65535;
  const CtImage image = series.read();
  CHECK(image.stored.empty());
  CHECK(image.float_stored[columns * rows + 3] == 65535);
  CHECK(image.float_stored[4] == value_at(4, 0, 0));
}

TEST_CASE("bits above the high bit are dropped, and that is noted") {
  Series series;
  series.slices[0].pixels[2] |= 0x8000; // an overlay of the old kind
  const CtImage image = series.read();
  CHECK(stored_at(image, 2, 0, 0) == value_at(2, 0, 0));
  CHECK(image.notes == std::vector<std::string>{"bits outside Bits Stored dropped from 1 pixels"});
}

TEST_CASE("spacing comes from positions, not from the slice thickness") {
  const CtImage image = Series({0, 1.5, 3, 4.5}).read(); // 9 mm thick, says each
  CHECK(image.geometry.spacing_mm()[2] == doctest::Approx(1.5));
}

TEST_CASE("positions rounded to tenths of a millimetre are even") {
  const CtImage image = Series({0, 0.6, 1.3, 1.9, 2.5}).read(); // steps of 0.625
  CHECK(image.notes.empty());
  CHECK(image.geometry.spacing_mm()[2] == doctest::Approx(0.625));
}

TEST_CASE("each slice keeps its own rescale") {
  Series series;
  series.slices[3].text(0x0028'1053, "DS", "+2.5E0");
  series.slices[3].text(0x0028'1052, "DS", " -1000 ");
  const CtImage image = series.read();
  CHECK(image.rescale[2] == Rescale{1, -1024});
  CHECK(image.rescale[3] == Rescale{2.5f, -1000});
}

TEST_CASE("the affine turns DICOM's left and back into right and front") {
  // Rows run to the back, columns to the feet: a sagittal stack from right to left.
  Series series;
  for (std::size_t i = 0; i < series.slices.size(); ++i) {
    series.slices[i].text(0x0020'0037, "DS", "0\\1\\0\\0\\0\\-1");
    series.slices[i].text(0x0028'0030, "DS", "0.5\\0.25"); // between rows, between columns
    series.slices[i].position(10 + 2.0 * static_cast<double>(i), 20, 30);
  }
  const CtImage image = series.read();
  // The normal is (0, 1, 0) x (0, 0, -1) = (-1, 0, 0): to the right, so the order is reversed.
  CHECK(stored_at(image, 0, 0, 0) == value_at(0, 0, 4));
  const std::array<std::array<double, 4>, 3> expected{
      {{0, 0, 2, -18}, {-0.25, 0, 0, -20}, {0, -0.5, 0, 30}}};
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column)
      CHECK(image.geometry.to_ras_mm[row][column] == doctest::Approx(expected[row][column]));
}

TEST_CASE(
    "a tilted gantry is detected and corrected: a slanted plane becomes a slanted plane again") {
  // 12 degrees about the x axis: each slice lies 2 tan(12 deg) mm further back than the one below.
  const double step_mm = 2 * std::tan(12 * M_PI / 180);
  constexpr int side = 24, count = 9;
  Series series(std::vector<double>{});
  for (int z = 0; z < count; ++z) {
    std::vector<std::uint16_t> pixels;
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) // 8 a mm to the back, 20 a slice, wherever the slice lies
        pixels.push_back(
            static_cast<std::uint16_t>(std::lround(1000 + 8 * (y + z * step_mm) + 20 * z)));
    series.slices.emplace_back(side, side, pixels);
    series.slices.back().position(7, z * step_mm, z * 2.0);
  }
  const CtImage image = series.read();
  CHECK(
      image.notes
      == std::vector<std::string>{"gantry tilt of 12.0 degrees corrected by shifting the slices"});
  // 8 steps of 0.4251 mm: 3.4 rows more.
  REQUIRE(image.geometry.extent == Extent{side, side + 4, count});
  REQUIRE(image.has_padding);
  CHECK(image.geometry.to_ras_mm[0][3] == doctest::Approx(-7));
  CHECK(image.geometry.to_ras_mm[1][3] == doctest::Approx(0));
  CHECK(image.geometry.to_ras_mm[1][2] == doctest::Approx(0).epsilon(1e-9));
  int scanned = 0;
  for (int z = 0; z < count; ++z)
    for (int y = 0; y < side + 4; ++y) {
      const double in_slice = y - z * step_mm;
      const std::int16_t stored = stored_at(image, 11, y, z);
      CAPTURE(y);
      CAPTURE(z);
      if (in_slice < -0.5 || in_slice > side - 0.5) {
        CHECK(static_cast<float>(stored) == image.padding_low);
      } else if (in_slice >= 0 && in_slice <= side - 1) {
        CHECK(std::fabs(stored - (1000 + 8 * y + 20 * z)) <= 1); // rounded twice
        ++scanned;
      }
    }
  CHECK(scanned > side * count - 2 * count);
}

TEST_CASE("tilt to the front enlarges the volume there") {
  Series series;
  for (std::size_t z = 0; z < 5; ++z)
    series.slices[z].position(0, -0.5 * static_cast<double>(z), 2.0 * static_cast<double>(z));
  const CtImage image = series.read(); // 2 mm in all
  CHECK(image.geometry.extent == Extent{columns, rows + 2, 5});
  CHECK(image.geometry.to_ras_mm[1][3] == 2);            // two rows further to the front
  CHECK(stored_at(image, 3, 2, 0) == value_at(3, 0, 0)); // the lowest slice has not moved
  CHECK(stored_at(image, 3, 0, 4) == value_at(3, 0, 4)); // the highest has, by whole rows
}

TEST_CASE("slices that step sideways unevenly or too far are refused") {
  CHECK_CONTAINS(error_of([](TestSlice& one) { one.position(0, 2, 1); }),
                 "found slices that lie up to 2.00 mm beside a straight line");
  Series series;
  for (std::size_t z = 0; z < 5; ++z)
    series.slices[z].position(0, 2.0 * static_cast<double>(z), 2.0 * static_cast<double>(z));
  CHECK_CONTAINS(series.error(), "found slices stacked 45.0 degrees off their normal");
}

TEST_CASE("uneven gaps are resampled to even ones by linear interpolation") {
  // The values grow by 10 a mm.
  const std::vector<double> heights{0, 2, 4, 5, 6.5, 8, 10};
  Series series(heights);
  for (std::size_t z = 0; z < heights.size(); ++z)
    series.slices[z].pixels.assign(columns * rows,
                                   static_cast<std::uint16_t>(1000 + 10 * heights[z]));
  const CtImage image = series.read();
  REQUIRE(image.geometry.extent.z == 6); // 10 mm in usual gaps of 2 mm
  CHECK(image.geometry.spacing_mm()[2] == doctest::Approx(2));
  for (int z = 0; z < 6; ++z)
    CHECK(stored_at(image, 2, 2, z) == 1000 + 20 * z);
  CHECK(image.rescale.size() == 6);
  REQUIRE(image.notes.size() == 1);
  CHECK_CONTAINS(image.notes[0], "7 slices");
  CHECK_CONTAINS(image.notes[0], "resampled to 6 at 2.000 mm");
}

TEST_CASE("uneven slices of different rescale are resampled in Hounsfield units, padding apart") {
  Series series({0, 2, 4, 7, 9});
  series.change_all([](TestSlice& one) {
    one.pixels.assign(columns * rows, 1124); // 100 HU
    one.pixels[0] = 5;                       // padding in every slice
    one.number(0x0028'0120, 5);
  });
  series.slices[3].pixels.assign(columns * rows, 150); // 100 HU, too
  series.slices[3].pixels[0] = 5;
  series.slices[3].text(0x0028'1053, "DS", "2");
  series.slices[3].text(0x0028'1052, "DS", "-200");
  const CtImage image = series.read();
  REQUIRE(image.float_stored.size() == static_cast<std::size_t>(image.geometry.extent.voxels()));
  REQUIRE(image.has_padding);
  for (std::size_t i = 0; i < image.float_stored.size(); ++i)
    if (i % (columns * rows) == 0)
      CHECK(image.float_stored[i] == image.padding_low);
    else
      CHECK(image.float_stored[i] == doctest::Approx(100));
  CHECK(image.rescale == std::vector<Rescale>(image.rescale.size()));
}

TEST_CASE("missing slices, duplicates and wide gaps are refused by the files beside them") {
  const std::string missing = Series({0, 2, 4, 10, 12}).error();
  CHECK_CONTAINS(missing, "found 2 slices missing: 6.000 mm without a slice since ");
  CHECK_CONTAINS(missing, "expected 2.000 mm from slice to slice");
  CHECK_CONTAINS(missing, "CT... (entry ");
  CHECK_CONTAINS(Series({0, 2, 4, 8, 10}).error(), "found 1 slice missing");
  CHECK_CONTAINS(Series({0, 2, 4, 4, 6}).error(), "found a duplicate: the same position as ");
  CHECK_CONTAINS(Series({0, 0, 2, 2, 4}).error(), "found a duplicate");
  CHECK_CONTAINS(Series({0, 0, 0}).error(), "found a duplicate");
  CHECK_CONTAINS(Series({0, 2, 4, 9, 11}).error(), "found an uneven gap of 5.000 mm from ");
}

TEST_CASE("messages name a file by its place in the listing") {
  // Slices 2 and 3 are in CT.1.3.12.2.101 and CT.1.3.12.2.151, entries 2 and 5 of five.
  const std::string error = Series({0, 2, 4, 4, 6}).error();
  CHECK_CONTAINS(error, "CT... (entry 5 of 5 by name): found a duplicate: the same position as ");
  CHECK_CONTAINS(error, "CT... (entry 2 of 5 by name), expected");
}

TEST_CASE("slices of different size, orientation, spacing, sign or padding are refused") {
  CHECK_CONTAINS(error_of([](TestSlice& one) {
                   one.number(0x0028'0011, 4);
                   one.number(0x0028'0010, 5);
                 }),
                 "found 4 x 5 pixels, expected 5 x 4, as in ");
  CHECK_CONTAINS(error_of([](TestSlice& one) { one.text(0x0020'0037, "DS", "1\\0\\0\\0\\0\\1"); }),
                 "found another Image Orientation");
  CHECK_CONTAINS(error_of([](TestSlice& one) { one.text(0x0028'0030, "DS", "1\\1.5"); }),
                 "found Pixel Spacing 1.5, expected 1, as in ");
  CHECK_CONTAINS(error_of([](TestSlice& one) { one.number(0x0028'0103, 1); }),
                 "found Pixel Representation 1, expected 0, as in ");
  CHECK_CONTAINS(error_of([](TestSlice& one) { one.number(0x0028'0120, 7); }),
                 "found another Pixel Padding Value");
}

TEST_CASE("several series in a folder are refused by their numbers") {
  Series series;
  series.slices[4].text(0x0020'000E, "UI", std::string(secret_uid) + ".7");
  series.slices[4].text(0x0020'0011, "IS", "12");
  CHECK_CONTAINS(series.error(), "found 2 series (number 3, 4 files CT; number 12, 1 file CT), "
                                 "expected one CT series a folder");
  series.slices[4].remove(0x0020'0011);
  series.slices[4].text(0x0008'0060, "CS", "PT");
  CHECK_CONTAINS(series.error(), "no number, 1 file PT");
}

TEST_CASE("another modality is refused by its name") {
  Series series;
  series.change_all([](TestSlice& one) { one.text(0x0008'0060, "CS", "MR"); });
  CHECK_CONTAINS(series.error(), "found modality MR, expected CT");
  series.change_all([](TestSlice& one) { one.text(0x0008'0060, "CS", secret_name); });
  CHECK_CONTAINS(series.error(), "found modality unknown, expected CT");
}

TEST_CASE("what a CT slice must have and hasn't is named") {
  const auto without = [](std::uint32_t tag) {
    return error_of([&](TestSlice& one) { one.remove(tag); });
  };
  CHECK_CONTAINS(without(0x0008'0060), "found modality missing");
  CHECK_CONTAINS(without(0x0020'0032), "found no Image Position (0020,0032)");
  CHECK_CONTAINS(without(0x0020'0037), "found no Image Orientation (0020,0037)");
  CHECK_CONTAINS(without(0x0028'0002), "found no Samples per Pixel (0028,0002)");
  CHECK_CONTAINS(without(0x0028'0004), "found photometric interpretation missing");
  CHECK_CONTAINS(without(0x0028'0010), "found no Rows (0028,0010)");
  CHECK_CONTAINS(without(0x0028'0030), "found no Pixel Spacing (0028,0030)");
  CHECK_CONTAINS(without(0x0028'1052), "found no Rescale Intercept (0028,1052)");
  CHECK_CONTAINS(without(0x0028'1053), "found no Rescale Slope (0028,1053)");
}

TEST_CASE("fields that no CT slice can have are refused by name, what was found and expected") {
  const auto with_text = [](std::uint32_t tag, const char* vr, const char* value) {
    return error_of([&](TestSlice& one) { one.text(tag, vr, value); });
  };
  const auto with_number = [](std::uint32_t tag, int value) {
    return error_of([&](TestSlice& one) { one.number(tag, value); });
  };
  CHECK_CONTAINS(with_text(0x0008'0016, "UI", "1.2.840.10008.5.1.4.1.1.2.1"),
                 "found a multi-frame object");
  CHECK_CONTAINS(with_text(0x0028'0008, "IS", "40"),
                 "found a multi-frame object of 40 frames, expected CT with one slice a file");
  CHECK_CONTAINS(with_text(0x0028'0004, "CS", "RGB"), "found photometric interpretation RGB");
  CHECK_CONTAINS(with_number(0x0028'0002, 3), "found 3 samples per pixel, expected 1");
  CHECK_CONTAINS(with_number(0x0028'0010, 0), "found Rows 0");
  CHECK_CONTAINS(with_number(0x0028'0100, 32), "found 32 bits allocated, expected 8 or 16");
  CHECK_CONTAINS(with_number(0x0028'0101, 17), "found Bits Stored 17");
  CHECK_CONTAINS(with_number(0x0028'0102, 10), "found High Bit 10, expected 11 to 15");
  CHECK_CONTAINS(with_number(0x0028'0103, 2), "found Pixel Representation 2");
  CHECK_CONTAINS(with_text(0x0028'0030, "DS", "0\\1"),
                 "found Pixel Spacing 0, expected above 0 mm");
  CHECK_CONTAINS(with_text(0x0028'0030, "DS", "1\\-1"),
                 "found Pixel Spacing -1, expected above 0 mm");
  CHECK_CONTAINS(with_text(0x0028'0030, "DS", "1"),
                 "found text in (0028,0030) that is not 2 numbers");
  CHECK_CONTAINS(with_text(0x0028'1053, "DS", "0"), "found Rescale Slope 0");
  CHECK_CONTAINS(with_text(0x0028'1053, "DS", "nan"),
                 "found text in (0028,1053) that is not 1 number");
  CHECK_CONTAINS(with_text(0x0028'1052, "DS", secret_id), "found text in (0028,1052)");
  CHECK_CONTAINS(with_text(0x0028'1054, "LO", "US"), "found Rescale Type US, expected HU");
  CHECK_CONTAINS(with_text(0x0020'0037, "DS", "1\\0\\0\\1\\0\\0"),
                 "found an Image Orientation of other vectors");
  CHECK_CONTAINS(with_text(0x0020'0032, "DS", "0\\0\\1e9"), "found Image Position 1000000000");
}

TEST_CASE("pixel data that are shorter or longer than the header says are refused") {
  const auto with_rows = [](TestEncoding encoding) {
    Series series;
    series.change_all(
        [](TestSlice& one) { one.codestream = one.coded_pixels(TestEncoding::run_length); });
    const auto change = [&](TestSlice& one) {
      if (encoding != TestEncoding::explicit_little) one.codestream = one.coded_pixels(encoding);
      one.number(0x0028'0010, rows + 1);
    };
    series.change_all(change);
    return series.error(encoding);
  };
  CHECK_CONTAINS(with_rows(TestEncoding::explicit_little),
                 "found 40 bytes of pixel data, expected 50");
  CHECK_CONTAINS(with_rows(TestEncoding::run_length),
                 "found RLE: segment 1 of another size, expected 25 pixels");
  CHECK_CONTAINS(with_rows(TestEncoding::jpeg_lossless), "found lossless JPEG: rows 4, expected 5");
  CHECK_CONTAINS(with_rows(TestEncoding::jpeg_ls), "found JPEG-LS: rows 4, expected 5");
  CHECK_CONTAINS(with_rows(TestEncoding::jpeg_2000), "found JPEG 2000: rows 4, expected 5");
  Series series;
  series.change_all([](TestSlice& one) { one.pixels.resize(30); });
  CHECK_CONTAINS(series.error(), "found 60 bytes of pixel data, expected 40");
}

TEST_CASE("a file cut anywhere is refused, in every encoding") {
  const TestFolder folder;
  for (const TestEncoding encoding : all_encodings) {
    const std::string whole = slice(0, 0).file(encoding);
    for (std::size_t size = 0; size < whole.size(); size += 3) {
      CAPTURE(uid_of(encoding));
      CAPTURE(size);
      CHECK_THROWS_AS(read_ct(folder.write("cut.dcm", whole.substr(0, size))), BadInput);
    }
    CHECK_NOTHROW(read_ct(folder.write("cut.dcm", whole)));
  }
}

TEST_CASE("encodings that are known but not read are refused by name") {
  std::string file = slice(0, 0).file(TestEncoding::jpeg_lossless);
  file.replace(file.find("1.2.840.10008.1.2.4.70"), 22, "1.2.840.10008.1.2.4.51");
  const TestFolder folder;
  CHECK_THROWS_WITH_AS(
      read_ct(folder.write("a.dcm", file)),
      doctest::Contains("found extended JPEG pixels, expected uncompressed, RLE, lossless JPEG"),
      BadInput);
}

TEST_CASE("padding comes by its sign, with its range") {
  Series series;
  series.change_all([](TestSlice& one) {
    one.bits(16, 16, true);
    one.number(0x0028'0120, 0xF830); // -2000
    one.number(0x0028'0121, 0xF448); // -3000
  });
  const CtImage image = series.read();
  CHECK(image.has_padding);
  CHECK(image.padding_low == -3000);
  CHECK(image.padding_high == -2000);
}

TEST_CASE("MONOCHROME1 is read as stored and noted") {
  Series series;
  series.change_all([](TestSlice& one) { one.text(0x0028'0004, "CS", "MONOCHROME1"); });
  const CtImage image = series.read();
  CHECK(stored_at(image, 1, 2, 3) == value_at(1, 2, 3));
  CHECK(image.notes.size() == 1);
}

TEST_CASE("files that are no images are skipped and counted") {
  const Series series;
  series.folder.write("notes.txt", "patient looks fine");
  series.folder.write(".DS_Store", "x");
  TestSlice report = slice(0, 0);
  for (const std::uint32_t tag : {0x0028'0010u, 0x0028'0011u, 0x0028'0100u})
    report.remove(tag);
  report.text(0x0008'0060, "CS", "SR");
  report.text(0x0008'103E, "LO", secret_name);
  report.number(0x0028'0100, 8); // the writer's pixels need it
  std::string bytes = report.file(TestEncoding::explicit_little);
  bytes.resize(bytes.find(std::string("\xE0\x7F\x10\x00OW", 6))); // no pixel data
  series.folder.write("SR.1.2.3.4", bytes);
  std::string directory = slice(0, 0).file(TestEncoding::explicit_little);
  const std::string ct_class = "1.2.840.10008.5.1.4.1.1.2"; // and a zero
  directory.replace(directory.find(ct_class), ct_class.size() + 1,
                    std::string("1.2.840.10008.1.3.10") + std::string(6, '\0'));
  series.folder.write("DICOMDIR", directory);
  std::filesystem::create_directory(series.folder / "other");
  const CtImage image = series.read();
  CHECK(image.geometry.extent.z == 5);
  CHECK(image.notes
        == std::vector<std::string>{"1 file other than DICOM skipped", "1 DICOMDIR file skipped",
                                    "1 DICOM object without pixels (SR) skipped",
                                    "1 hidden entry skipped", "1 subfolder skipped"});
}

TEST_CASE("a folder without images, a missing path and a DICOMDIR are refused") {
  const TestFolder folder;
  CHECK_THROWS_AS(read_ct(folder.path()), BadInput);
  folder.write("notes.txt", "x");
  CHECK_THROWS_WITH_AS(read_ct(folder.path()), doctest::Contains("found 1 file and no DICOM image"),
                       BadInput);
  CHECK_THROWS_WITH_AS(read_ct(folder / "none"), doctest::Contains("No such file"), BadInput);
  CHECK_THROWS_WITH_AS(read_ct(folder / "notes.txt"),
                       doctest::Contains("found no DICM at byte 128"), BadInput);
}

TEST_CASE(
    "nested sequences are walked past, of any length, and not read for the slice's own fields") {
  TestSlice one = slice(0, 0);
  const std::string rows_element("\x28\x00\x10\x00US\x02\x00\x63\x00", 10); // Rows 99
  const std::string item_open("\xFE\xFF\x00\xE0\xFF\xFF\xFF\xFF", 8),
      item_end("\xFE\xFF\x0D\xE0\0\0\0\0", 8), sequence_end("\xFE\xFF\xDD\xE0\0\0\0\0", 8);
  const std::string inner = std::string("\x08\x00\x40\x11SQ\0\0\xFF\xFF\xFF\xFF", 12) + item_open
                            + rows_element + item_end + sequence_end;
  one.raw(0x0008'1140, "SQ", item_open + inner + rows_element + item_end + sequence_end);
  const TestFolder folder;
  CHECK(read_ct(folder.write("a.dcm", one.file(TestEncoding::explicit_little))).geometry.extent
        == Extent{columns, rows, 1});
  // As deep as one likes is refused before the stack ends.
  std::string deep;
  for (int i = 0; i < 100'000; ++i)
    deep += item_open + std::string("\x08\x00\x40\x11SQ\0\0\xFF\xFF\xFF\xFF", 12);
  one.raw(0x0008'1140, "SQ", deep);
  CHECK_THROWS_WITH_AS(read_ct(folder.write("b.dcm", one.file(TestEncoding::explicit_little))),
                       doctest::Contains("nested"), BadInput);
}

TEST_CASE("a single slice takes its thickness as spacing, and says so") {
  const TestFolder folder;
  TestSlice one = slice(0, 0);
  const CtImage image = read_ct(folder.write("a.dcm", one.file(TestEncoding::explicit_little)));
  CHECK(image.geometry.spacing_mm()[2] == 9);
  CHECK(image.notes == std::vector<std::string>{"a single slice, its thickness taken as spacing"});
  for (const char* bad : {"0", "-2", "1e9", ""}) {
    one.text(0x0018'0050, "DS", bad);
    CHECK_THROWS_AS(read_ct(folder.write("a.dcm", one.file(TestEncoding::explicit_little))),
                    BadInput);
  }
}

TEST_CASE("a lossless JPEG is read with every predictor and with restarts") {
  // 4 x 2 pixels of 12 bits: codes 0 (no difference) and 10 (one bit of it).
  const auto stream = [](int predictor, bool restarts, const std::string& data) {
    std::string bytes("\xFF\xD8\xFF\xC3\x00\x0B\x0C\x00\x02\x00\x04\x01\x01\x11\x00", 15);
    bytes += std::string("\xFF\xC4\x00\x15\x00\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x00\x01", 23);
    if (restarts) bytes += std::string("\xFF\xDD\x00\x04\x00\x04", 6);
    bytes += std::string("\xFF\xDA\x00\x08\x01\x01\x00", 7) + static_cast<char>(predictor)
             + std::string("\0\0", 2);
    return bytes + data + "\xFF\xD9";
  };
  const TestFolder folder;
  const auto decoded = [&](const std::string& codestream) {
    TestSlice one(4, 2, {});
    one.codestream = codestream;
    const DicomHeader header =
        read_dicom_header(folder.write("a", one.file(TestEncoding::jpeg_lossless)), "a");
    check_ct_slice(header);
    std::vector<std::int16_t> stored(8);
    decode_slice(header, stored);
    return stored;
  };
  // Differences of the first row +1 0 0 +1, of the second 0 +1 0 -1; in bits 101 0 0 101, 0 101 0
  // 100.
  const std::string data = "\xA5\x54"; // 1010 0101 0101 0100
  const std::vector<std::int16_t> above{2049, 2049, 2049, 2050};
  const auto expected = [&](std::vector<std::int16_t> below) {
    std::vector<std::int16_t> all = above;
    all.insert(all.end(), below.begin(), below.end());
    return all;
  };
  CHECK(decoded(stream(1, false, data)) == expected({2049, 2050, 2050, 2049}));
  CHECK(decoded(stream(2, false, data)) == expected({2049, 2050, 2049, 2049}));
  CHECK(decoded(stream(3, false, data)) == expected({2049, 2050, 2049, 2048}));
  // 4: a + b - c: 2049; 2049+2049-2049+1; 2050+2049-2049; 2050+2050-2049-1.
  CHECK(decoded(stream(4, false, data)) == expected({2049, 2050, 2050, 2050}));
  // 5: a + (b - c)/2: the last 2050 + (1 >> 1) - 1. 6: b + (a - c)/2: 2049 + (1 >> 1); 2050 - 1.
  CHECK(decoded(stream(5, false, data)) == expected({2049, 2050, 2050, 2049}));
  CHECK(decoded(stream(6, false, data)) == expected({2049, 2050, 2049, 2049}));
  // 7: (a + b)/2: (2050 + 2049) >> 1; (2049 + 2050) >> 1, - 1.
  CHECK(decoded(stream(7, false, data)) == expected({2049, 2050, 2049, 2048}));
  // Both rows start anew; bits behind each are ones.
  const std::string restarted("\xA5\xFF\xD0\x54\x7F", 5);
  CHECK_THROWS_AS(decoded(stream(2, true, data)), BadInput);
  CHECK(decoded(stream(2, true, std::string("\xA5\xFF\xD0\x54", 4)))
        == expected({2048, 2049, 2049, 2048}));
  CHECK_THROWS_AS(decoded(stream(1, false, "\xA5")), BadInput);       // ends early
  CHECK_THROWS_AS(decoded(stream(1, false, data + "xyz")), BadInput); // goes on
  CHECK_THROWS_AS(decoded(stream(0, false, data)), BadInput);
  CHECK_THROWS_AS(decoded(stream(1, false, "\xC0\x00")), BadInput); // no such code
}

TEST_CASE("the real series lies where its reference segmentation lies and has pydicom's values") {
  std::filesystem::path path, segmentation_path;
  if (!has_real_data("dicom_series", path)
      || !has_real_data("example_seg_dicom.nii.gz", segmentation_path))
    return;
  const CtImage image = read_ct(path);
  CHECK(image.notes.empty());
  REQUIRE(image.geometry.extent == Extent{512, 512, 20});
  CHECK(crc_of(image.stored) == 0x1f0f5381); // by pydicom and pylibjpeg-openjpeg, sorted by z
  std::vector<std::int16_t> hu = image.stored;
  for (std::int16_t& value : hu)
    value = static_cast<std::int16_t>(value - 1024);
  CHECK(crc_of(hu) == 0xd0feafbc);
  CHECK(image.rescale == std::vector<Rescale>(20, {1, -1024}));
  CHECK(image.geometry.spacing_mm()[2] == 2); // SliceThickness says 3
  // The segmentation has its rows from the back to the front, DICOM from the front to the back: row
  // j of one is row 511 - j of the other. Columns and slices run alike.
  const auto& a = image.geometry.to_ras_mm;
  const auto s = read_labels(segmentation_path).geometry;
  CHECK(s.extent == image.geometry.extent);
  for (std::size_t row = 0; row < 3; ++row) {
    CAPTURE(row);
    CHECK(s.to_ras_mm[row][0] == doctest::Approx(a[row][0]).epsilon(1e-6));
    CHECK(s.to_ras_mm[row][1] == doctest::Approx(-a[row][1]).epsilon(1e-6));
    CHECK(s.to_ras_mm[row][2] == doctest::Approx(a[row][2]).epsilon(1e-6));
    CHECK(s.to_ras_mm[row][3] == doctest::Approx(a[row][3] + 511 * a[row][1]).epsilon(1e-6));
  }
}

TEST_CASE("real slices in every encoding at hand have pydicom's values") {
  struct Known {
    const char* name;
    unsigned long crc;
  };
  for (const Known& known :
       {Known{"CT_small.dcm", 0x7ec02b78}, Known{"MR_small_RLE.dcm", 0x2614499c},
        Known{"MR_small_jpeg_ls_lossless.dcm", 0x2614499c}, Known{"JPEG2000.dcm", 0xae425a11}}) {
    CAPTURE(known.name);
    std::filesystem::path path;
    if (!has_real_data(std::string("dicom_samples/") + known.name, path)) continue;
    const DicomHeader header = read_dicom_header(path, known.name);
    std::vector<std::int16_t> stored(static_cast<std::size_t>(header.pixels()));
    decode_slice(header, stored);
    CHECK(crc_of(stored) == known.crc);
  }
  std::filesystem::path path;
  if (!has_real_data("dicom_samples", path)) return;
  CHECK_THROWS_WITH_AS(read_ct(path), doctest::Contains("found 3 series"), BadInput);
  CHECK_THROWS_WITH_AS(read_ct(path / "MR_small_RLE.dcm"), doctest::Contains("found modality MR"),
                       BadInput);
  const CtImage image = read_ct(path / "CT_small.dcm");
  CHECK(image.has_padding);
  CHECK(image.padding_low == -2000);
}
