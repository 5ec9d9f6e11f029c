#include "workloads/imaging/montage.h"

#include <doctest/doctest.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace breakeven::imaging;

namespace {

struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> rgb;
  std::array<int, 3> at(int x, int y) const {
    const auto i = 3 * static_cast<std::size_t>(y * width + x);
    return {rgb[i], rgb[i + 1], rgb[i + 2]};
  }
};

Picture read_png(const std::string& bytes) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()));
  image.format = PNG_FORMAT_RGB;
  Picture picture{static_cast<int>(image.width), static_cast<int>(image.height), {}};
  picture.rgb.resize(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, picture.rgb.data(), 0, nullptr));
  return picture;
}

struct Scan {
  Geometry geometry;
  std::vector<float> hu;
  std::vector<std::uint32_t> labels;
  std::string png(bool with_labels = true) const {
    CtImage image;
    image.geometry = geometry;
    image.float_stored = hu;
    image.rescale.resize(static_cast<std::size_t>(geometry.extent.z));
    return montage_png(image, {with_labels ? labels.data() : nullptr, geometry.extent}, {0, 200});
  }
};

/// Black, 64 x 48 x 32 voxels of 1 x 1 x 2 mm, as scanners store them, with a white ball at the
/// patient's right, front and head.
Scan ball_at_right_front_head() {
  Scan scan;
  scan.geometry.extent = {64, 48, 32};
  scan.geometry.to_ras_mm = {{{-1, 0, 0, 31.5}, {0, -1, 0, 23.5}, {0, 0, 2, -31}}};
  const auto voxels = static_cast<std::size_t>(scan.geometry.extent.voxels());
  scan.hu.assign(voxels, -1000);
  scan.labels.assign(voxels, 0);
  std::size_t i = 0;
  for (double z = 0; z < 32; ++z)
    for (double y = 0; y < 48; ++y)
      for (double x = 0; x < 64; ++x, ++i)
        if (std::hypot(x - 12, y - 10, 2 * (z - 25)) < 6) {
          scan.hu[i] = 1000;
          scan.labels[i] = 1;
        }
  return scan;
}

/// The same scan with its voxels stored in another order: axes turned about and flipped.
Scan stored_otherwise(const Scan& scan) {
  Scan other;
  const Extent& e = scan.geometry.extent;
  other.geometry.extent = {e.z, e.x, e.y};
  for (std::size_t r = 0; r < 3; ++r) {
    const auto& row = scan.geometry.to_ras_mm[r];
    // x' = last z first, y' = last x first, z' = y.
    other.geometry.to_ras_mm[r] = {-row[2], -row[0], row[1],
                                   row[3] + row[2] * static_cast<double>(e.z - 1)
                                       + row[0] * static_cast<double>(e.x - 1)};
  }
  for (std::int64_t y = 0; y < e.y; ++y)
    for (std::int64_t x = e.x - 1; x >= 0; --x)
      for (std::int64_t z = e.z - 1; z >= 0; --z) {
        const auto i = static_cast<std::size_t>((z * e.y + y) * e.x + x);
        other.hu.push_back(scan.hu[i]);
        other.labels.push_back(scan.labels[i]);
      }
  return other;
}

// Of these scans: 8 pixels a millimetre, so slices of 512 x 384, 512 x 512 and 384 x 512 pixels.
constexpr int margin = 24, gap = 16, scale = 8;
constexpr std::array<int, 3> left{margin, 3 * margin + gap + 512, 5 * margin + 2 * gap + 1024};
constexpr std::array<int, 3> top{margin + 64, margin, margin};

bool is_coloured(const std::array<int, 3>& rgb) { return rgb[0] != rgb[1] || rgb[1] != rgb[2]; }

} // namespace

TEST_CASE("a montage has the sides and the scale that the spacing gives") {
  const Picture picture = read_png(ball_at_right_front_head().png());
  CHECK(picture.width == 512 + 512 + 384 + 6 * margin + 2 * gap);
  CHECK(picture.height == 512 + 3 * margin);
}

TEST_CASE("a montage's pixels are those of its three slices") {
  // 64 mm along x and z are 512 pixels, 48 mm along y are 384.
  CHECK(montage_pixels(ball_at_right_front_head().geometry) == 512 * 384 + 512 * 512 + 384 * 512);
}

TEST_CASE("stored values are shown as Hounsfield units, padding as air") {
  Scan scan = ball_at_right_front_head();
  std::replace(scan.hu.begin(), scan.hu.end(), -1000.0f, air_hu);
  const std::string expected = scan.png();
  CtImage image;
  image.geometry = scan.geometry;
  image.rescale.assign(32, {2, -1024});
  image.has_padding = true;
  image.padding_low = image.padding_high = -2000;
  for (const float hu : scan.hu)
    image.stored.push_back(hu < 0 ? std::int16_t{-2000} : std::int16_t{1012});
  const bool same =
      montage_png(image, {scan.labels.data(), scan.geometry.extent}, {0, 200}) == expected;
  CHECK(same);
}

TEST_CASE("right is on the left, front and head are up, the front is left in the sagittal slice") {
  const Picture picture = read_png(ball_at_right_front_head().png(false));
  const Picture labelled = read_png(ball_at_right_front_head().png());
  // The middle of the ball, from the right, the front and the head: 12.5, 10.5 and 2 x 6.5 mm.
  constexpr int x = 100, y = 84, z = 104;
  CHECK(is_coloured(labelled.at(left[0] + x, top[0] + y)));
  CHECK(is_coloured(labelled.at(left[1] + x, top[1] + z)));
  CHECK(is_coloured(labelled.at(left[2] + y, top[2] + z)));
  // Mirrored places are black.
  CHECK(labelled.at(left[0] + 511 - x, top[0] + y) == std::array<int, 3>{0, 0, 0});
  CHECK(labelled.at(left[0] + x, top[0] + 383 - y) == std::array<int, 3>{0, 0, 0});
  CHECK(labelled.at(left[1] + x, top[1] + 511 - z) == std::array<int, 3>{0, 0, 0});
  CHECK(labelled.at(left[2] + 383 - y, top[2] + z) == std::array<int, 3>{0, 0, 0});
  // Without labels the slices go through the middle, where the ball is not.
  CHECK(picture.at(left[0] + x, top[0] + y) == std::array<int, 3>{0, 0, 0});
}

TEST_CASE("the picture does not depend on how the voxels are stored") {
  const Scan scan = ball_at_right_front_head();
  CHECK(scan.png() == stored_otherwise(scan).png());
}

TEST_CASE("the window's ends are black and white and its level is the middle grey") {
  Scan scan = ball_at_right_front_head();
  const auto grey = [&](float hu) {
    std::fill(scan.hu.begin(), scan.hu.end(), hu);
    return read_png(scan.png(false)).at(left[0] + 200, top[0] + 200);
  };
  CHECK(grey(-100) == std::array<int, 3>{0, 0, 0});
  CHECK(grey(-5000) == std::array<int, 3>{0, 0, 0});
  CHECK(grey(0) == std::array<int, 3>{128, 128, 128});
  CHECK(grey(100) == std::array<int, 3>{255, 255, 255});
  CHECK(grey(5000) == std::array<int, 3>{255, 255, 255});
  CHECK(grey(std::numeric_limits<float>::quiet_NaN()) == std::array<int, 3>{0, 0, 0});
}

TEST_CASE("labels differ in colour, are outlined, and let the grey below be seen") {
  Scan scan = ball_at_right_front_head();
  std::fill(scan.hu.begin(), scan.hu.end(), 100.0f);
  for (std::size_t i = 0; i < scan.labels.size(); ++i)
    scan.labels[i] = i % 64 < 40 ? 1 : 2;
  const Picture picture = read_png(scan.png());
  const auto first = picture.at(left[0] + 100, top[0] + 100);
  const auto second = picture.at(left[0] + 450, top[0] + 100);
  CHECK(first != second);
  CHECK(first[1] > 150); // red on white, at 30 per cent
  // The border of the two, 40 voxels from the right.
  const auto edge = picture.at(left[0] + 40 * scale - 1, top[0] + 100);
  CHECK(edge[0] - edge[1] > first[0] - first[1]);
}

TEST_CASE("every edge has its letter and the scale bar is as long as it says") {
  const Picture picture = read_png(ball_at_right_front_head().png());
  const auto has_ink = [&](int x, int y, int width, int height) {
    for (int j = y; j < y + height; ++j)
      for (int i = x; i < x + width; ++i)
        if (picture.at(i, j)[0] > 200) return true;
    return false;
  };
  constexpr std::array<int, 3> width{512, 512, 384}, height{384, 512, 512};
  for (std::size_t p = 0; p < 3; ++p) {
    CAPTURE(p);
    CHECK(has_ink(left[p] - margin, top[p] + height[p] / 2 - 8, margin - 1, 16));
    CHECK(has_ink(left[p] + width[p] + 1, top[p] + height[p] / 2 - 8, margin - 1, 16));
    CHECK(has_ink(left[p] + width[p] / 2 - 8, top[p] - margin, 16, margin - 1));
    CHECK(has_ink(left[p] + width[p] / 2 - 8, top[p] + height[p] + 1, 16, margin - 1));
  }
  // 5 cm would be 400 of 512 pixels: 1 cm is drawn, 80 pixels.
  const int y = picture.height - margin + 5;
  int length = 0;
  for (int x = margin; picture.at(x, y)[0] > 200; ++x)
    ++length;
  CHECK(length == 10 * scale);
}

TEST_CASE("a single voxel and a single row make a picture") {
  for (const Extent& extent : {Extent{1, 1, 1}, Extent{1, 1, 300}, Extent{7, 1, 1}}) {
    Scan scan;
    scan.geometry.extent = extent;
    scan.hu.assign(static_cast<std::size_t>(extent.voxels()), 50);
    scan.labels.assign(scan.hu.size(), 7);
    CHECK(read_png(scan.png()).width > 0);
  }
}
