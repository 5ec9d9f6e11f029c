#include "workloads/render/image.h"

#include "sim/errors.h"
#include "workloads/render/text_file.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstring>

namespace breakeven::render {

namespace {

static_assert(std::endian::native == std::endian::little, "PFM is written as little-endian");

constexpr int table_size = 1 << 16;

float srgb_of(float linear) {
  return linear <= 0.0031308f ? 12.92f * linear : 1.055f * std::pow(linear, 1 / 2.4f) - 0.055f;
}

/// sRGB bytes by tone-mapped value; the steps are finer than half a byte everywhere.
const std::array<std::uint8_t, table_size>& srgb_table() {
  static const std::array<std::uint8_t, table_size> table = [] {
    std::array<std::uint8_t, table_size> bytes{};
    for (int i = 0; i < table_size; ++i) {
      const float linear = static_cast<float>(i) / (table_size - 1);
      bytes[static_cast<std::size_t>(i)] =
          static_cast<std::uint8_t>(std::lround(255 * srgb_of(linear)));
    }
    return bytes;
  }();
  return table;
}

std::uint8_t byte_of(float radiance) {
  const float shown = tone_mapped(radiance);
  return srgb_table()[static_cast<std::size_t>(std::lround(shown * (table_size - 1)))];
}

/// The next word of a PFM's header.
std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::size_t end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

template <class Number>
Number number_of(std::string_view word) {
  Number number{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size() ? number : Number{};
}

} // namespace

float tone_mapped(float radiance) {
  constexpr float knee = 0.7f;
  if (!(radiance > 0)) return 0; // NaN too
  if (radiance <= knee) return radiance;
  return 1 - (1 - knee) * std::exp(-(radiance - knee) / (1 - knee));
}

std::string encode_png(int width, int height, const std::vector<Float3>& radiance) {
  assert(width > 0 && height > 0
         && radiance.size() == static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  std::vector<std::uint8_t> pixels;
  pixels.reserve(3 * radiance.size());
  for (const Float3& pixel : radiance)
    for (const float channel : {pixel.x, pixel.y, pixel.z})
      pixels.push_back(byte_of(channel));
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB; // 8 bits, sRGB
  // Noise does not compress: the fast setting costs a few per cent of size and a tenth of the time.
  image.flags = PNG_IMAGE_FLAG_FAST;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (!png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr))
    throw Failure(std::string("could not encode a PNG: ") + image.message);
  bytes.resize(size);
  return bytes;
}

std::string encode_pfm(int width, int height, const std::vector<Float3>& radiance) {
  static_assert(sizeof(Float3) == 12);
  const std::size_t row_pixels = static_cast<std::size_t>(width);
  assert(radiance.size() == row_pixels * static_cast<std::size_t>(height));
  // A negative scale says little-endian. Rows go from the bottom up.
  std::string bytes = "PF\n" + std::to_string(width) + " " + std::to_string(height) + "\n-1.0\n";
  bytes.reserve(bytes.size() + radiance.size() * sizeof(Float3));
  for (std::size_t row = static_cast<std::size_t>(height); row-- > 0;)
    bytes.append(reinterpret_cast<const char*>(radiance.data() + row * row_pixels),
                 row_pixels * sizeof(Float3));
  return bytes;
}

Picture read_pfm(const std::filesystem::path& file) {
  const std::string bytes = read_bytes(file);
  const auto fail = [&](const std::string& found) {
    throw BadInput(file.string(), 0, found, "a colour PFM, little-endian");
  };
  std::string_view rest = bytes;
  if (next_word(rest) != "PF") fail("another kind of file");
  Picture picture;
  picture.width = number_of<int>(next_word(rest));
  picture.height = number_of<int>(next_word(rest));
  if (picture.width <= 0 || picture.height <= 0) fail("a picture without a size");
  if (!(number_of<float>(next_word(rest)) < 0)) fail("big-endian numbers or no scale");
  if (!rest.empty()) rest.remove_prefix(1); // the one line end before the numbers
  const std::size_t row_pixels = static_cast<std::size_t>(picture.width);
  const std::size_t rows = static_cast<std::size_t>(picture.height);
  if (rest.size() != row_pixels * rows * sizeof(Float3))
    fail(std::to_string(rest.size()) + " bytes of pixels");
  picture.radiance.resize(row_pixels * rows);
  for (std::size_t row = 0; row < rows; ++row)
    std::memcpy(static_cast<void*>(picture.radiance.data() + (rows - 1 - row) * row_pixels),
                rest.data() + row * row_pixels * sizeof(Float3), row_pixels * sizeof(Float3));
  return picture;
}

} // namespace breakeven::render
