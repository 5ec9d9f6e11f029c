// DICOM files for tests, element by element: a small CT slice that a test changes before writing
// it.
#pragma once

#include <fmt/format.h>
#include <gdcmJPEGCodec.h>
#include <gdcmJPEGLSCodec.h>
#include <gdcmSequenceOfFragments.h>
#include <openjpeg-2.5/openjpeg.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace breakeven::imaging {

enum class TestEncoding {
  implicit_little,
  explicit_little,
  explicit_big,
  run_length,
  jpeg_lossless,
  jpeg_ls,
  jpeg_2000,
};
constexpr std::array all_encodings{TestEncoding::implicit_little, TestEncoding::explicit_little,
                                   TestEncoding::explicit_big,    TestEncoding::run_length,
                                   TestEncoding::jpeg_lossless,   TestEncoding::jpeg_ls,
                                   TestEncoding::jpeg_2000};

inline const char* uid_of(TestEncoding encoding) {
  switch (encoding) {
  case TestEncoding::implicit_little:
    return "1.2.840.10008.1.2";
  case TestEncoding::explicit_little:
    return "1.2.840.10008.1.2.1";
  case TestEncoding::explicit_big:
    return "1.2.840.10008.1.2.2";
  case TestEncoding::run_length:
    return "1.2.840.10008.1.2.5";
  case TestEncoding::jpeg_lossless:
    return "1.2.840.10008.1.2.4.70";
  case TestEncoding::jpeg_ls:
    return "1.2.840.10008.1.2.4.80";
  case TestEncoding::jpeg_2000:
    return "1.2.840.10008.1.2.4.90";
  }
  return "";
}

/// What a patient would not want to find in a message.
inline const char* const secret_name = "SECRET^PATIENT";
inline const char* const secret_id = "SECRET-4711";
inline const char* const secret_uid = "1.2.826.0.1.99999.20231107.471108";

class TestSlice {
public:
  /// A CT slice of `pixels` at height z, 1 mm x 1 mm, HU = stored - 1024.
  TestSlice(int columns, int rows, std::vector<std::uint16_t> pixels, double z = 0)
      : pixels(std::move(pixels)) {
    text(0x0008'0016, "UI", "1.2.840.10008.5.1.4.1.1.2");
    text(0x0008'0018, "UI",
         std::string(secret_uid) + fmt::format(".{}", static_cast<long>(z * 1e3)));
    text(0x0008'0060, "CS", "CT");
    text(0x0010'0010, "PN", secret_name);
    text(0x0010'0020, "LO", secret_id);
    text(0x0018'0050, "DS", "9");
    text(0x0020'000D, "UI", std::string(secret_uid) + ".1");
    text(0x0020'000E, "UI", std::string(secret_uid) + ".2");
    text(0x0020'0011, "IS", "3");
    position(0, 0, z);
    text(0x0020'0037, "DS", "1\\0\\0\\0\\1\\0");
    number(0x0028'0002, 1);
    text(0x0028'0004, "CS", "MONOCHROME2");
    number(0x0028'0010, rows);
    number(0x0028'0011, columns);
    text(0x0028'0030, "DS", "1\\1");
    bits(16, 12, false);
    text(0x0028'1052, "DS", "-1024");
    text(0x0028'1053, "DS", "1");
    text(0x0028'1054, "LO", "HU");
  }

  void text(std::uint32_t tag, const std::string& vr, std::string value) {
    if (value.size() % 2 != 0) value += vr == "UI" ? '\0' : ' ';
    elements_[tag] = {vr, std::move(value), {}};
  }
  void number(std::uint32_t tag, int value) {
    elements_[tag] = {"US", {}, static_cast<std::uint16_t>(value)};
  }
  void position(double x, double y, double z) {
    text(0x0020'0032, "DS", fmt::format("{:.6f}\\{:.6f}\\{:.6f}", x, y, z));
  }
  void bits(int allocated, int stored, bool is_signed) {
    number(0x0028'0100, allocated);
    number(0x0028'0101, stored);
    number(0x0028'0102, stored - 1);
    number(0x0028'0103, is_signed ? 1 : 0);
  }
  void raw(std::uint32_t tag, const std::string& vr, std::string bytes) {
    elements_[tag] = {vr, std::move(bytes), {}};
  }
  void remove(std::uint32_t tag) { elements_.erase(tag); }

  std::string file(TestEncoding encoding) const {
    std::string bytes(128, '\0');
    bytes += "DICM";
    std::string meta =
        element(0x0002'0002, "UI", padded("1.2.840.10008.5.1.4.1.1.2"), {true, false});
    meta += element(0x0002'0010, "UI", padded(uid_of(encoding)), {true, false});
    bytes += element(0x0002'0000, "UL", little(meta.size(), 4), {true, false}) + meta;
    const Order order{encoding != TestEncoding::implicit_little,
                      encoding == TestEncoding::explicit_big};
    for (const auto& [tag, value] : elements_)
      bytes += element(tag, value.vr,
                       value.vr == "US" ? number_bytes(value.number, 2, order.is_big) : value.bytes,
                       order);
    return bytes + pixel_element(encoding, order);
  }

  std::vector<std::uint16_t> pixels;
  std::string codestream; ///< in place of the encoded pixels, where not empty

private:
  struct Value {
    std::string vr, bytes;
    std::uint16_t number = 0;
  };
  struct Order {
    bool is_explicit, is_big;
  };

  static std::string number_bytes(std::size_t value, int count, bool is_big) {
    std::string bytes;
    for (int i = 0; i < count; ++i) {
      const int shift = 8 * (is_big ? count - 1 - i : i);
      bytes += static_cast<char>(value >> shift & 0xFF);
    }
    return bytes;
  }
  static std::string little(std::size_t value, int count) {
    return number_bytes(value, count, false);
  }
  static std::string padded(std::string uid) {
    if (uid.size() % 2 != 0) uid += '\0';
    return uid;
  }
  static std::string header(std::uint32_t tag, const std::string& vr, std::size_t length,
                            Order order) {
    std::string bytes = number_bytes(tag >> 16, 2, order.is_big);
    bytes += number_bytes(tag & 0xFFFF, 2, order.is_big);
    if (!order.is_explicit) return bytes + number_bytes(length, 4, order.is_big);
    bytes += vr;
    const bool is_long = vr == "OB" || vr == "OW" || vr == "SQ" || vr == "UN";
    if (is_long) return bytes + std::string(2, '\0') + number_bytes(length, 4, order.is_big);
    return bytes + number_bytes(length, 2, order.is_big);
  }
  static std::string element(std::uint32_t tag, const std::string& vr, const std::string& value,
                             Order order) {
    const bool is_open = vr == "SQ"; // ends by a delimiter that the value brings
    return header(tag, vr, is_open ? 0xFFFF'FFFF : value.size(), order) + value;
  }

  int whole(std::uint32_t tag) const { return elements_.at(tag).number; }

  std::string pixel_element(TestEncoding encoding, Order order) const {
    if (encoding <= TestEncoding::explicit_big) {
      std::string value;
      for (const std::uint16_t pixel : pixels)
        value += number_bytes(pixel, whole(0x0028'0100) / 8, order.is_big);
      if (value.size() % 2 != 0) value += '\0';
      return header(0x7FE0'0010, "OW", value.size(), order) + value;
    }
    std::string coded = codestream.empty() ? coded_pixels(encoding) : codestream;
    if (coded.size() % 2 != 0) coded += '\0';
    return header(0x7FE0'0010, "OB", 0xFFFF'FFFF, order)
           + header(0xFFFE'E000, "", 0, {false, false})
           + header(0xFFFE'E000, "", coded.size(), {false, false}) + coded
           + header(0xFFFE'E0DD, "", 0, {false, false});
  }

public:
  std::string coded_pixels(TestEncoding encoding) const {
    if (encoding == TestEncoding::run_length) return run_length_coded();
    if (encoding == TestEncoding::jpeg_2000) return jpeg_2000_coded();
    std::unique_ptr<gdcm::ImageCodec> codec;
    if (encoding == TestEncoding::jpeg_lossless) {
      auto jpeg = std::make_unique<gdcm::JPEGCodec>();
      jpeg->SetLossless(true);
      codec = std::move(jpeg);
    } else {
      codec = std::make_unique<gdcm::JPEGLSCodec>();
    }
    const unsigned int size[3] = {static_cast<unsigned>(whole(0x0028'0011)),
                                  static_cast<unsigned>(whole(0x0028'0010)), 1};
    codec->SetDimensions(size);
    codec->SetPhotometricInterpretation(gdcm::PhotometricInterpretation::MONOCHROME2);
    codec->SetPixelFormat(gdcm::PixelFormat(1, static_cast<unsigned short>(whole(0x0028'0100)),
                                            static_cast<unsigned short>(whole(0x0028'0101)),
                                            static_cast<unsigned short>(whole(0x0028'0102)),
                                            static_cast<unsigned short>(whole(0x0028'0103))));
    std::string plain;
    for (const std::uint16_t pixel : pixels)
      plain += little(pixel, whole(0x0028'0100) / 8);
    gdcm::DataElement from(gdcm::Tag(0x7FE0, 0x0010)), to(gdcm::Tag(0x7FE0, 0x0010));
    from.SetByteValue(plain.data(), static_cast<std::uint32_t>(plain.size()));
    if (!codec->Code(from, to)) throw std::logic_error("GDCM cannot encode the test's pixels");
    const gdcm::SequenceOfFragments* fragments = to.GetSequenceOfFragments();
    const gdcm::ByteValue* value = fragments->GetFragment(0).GetByteValue();
    return {value->GetPointer(), value->GetLength()};
  }

private:
  /// By OpenJPEG itself: GDCM 3.0.21 writes past its buffer where coding doesn't make pixels fewer.
  std::string jpeg_2000_coded() const {
    opj_image_cmptparm_t component{};
    component.dx = component.dy = 1;
    component.w = static_cast<OPJ_UINT32>(whole(0x0028'0011));
    component.h = static_cast<OPJ_UINT32>(whole(0x0028'0010));
    component.prec = static_cast<OPJ_UINT32>(whole(0x0028'0101));
    component.sgnd = static_cast<OPJ_UINT32>(whole(0x0028'0103));
    opj_image_t* image = opj_image_create(1, &component, OPJ_CLRSPC_GRAY);
    image->x1 = component.w;
    image->y1 = component.h;
    const bool is_byte = whole(0x0028'0100) == 8;
    for (std::size_t i = 0; i < pixels.size(); ++i)
      image->comps[0].data[i] = component.sgnd == 0 ? pixels[i]
                                : is_byte           ? static_cast<std::int8_t>(pixels[i])
                                                    : static_cast<std::int16_t>(pixels[i]);
    opj_cparameters_t parameters;
    opj_set_default_encoder_parameters(&parameters);
    parameters.numresolution = 3; // of images this small
    opj_codec_t* codec = opj_create_compress(OPJ_CODEC_J2K);
    std::string coded;
    opj_stream_t* stream = opj_stream_create(1 << 16, OPJ_FALSE);
    opj_stream_set_user_data(stream, &coded, nullptr);
    opj_stream_set_write_function(stream, [](void* from, OPJ_SIZE_T count, void* to) {
      auto& bytes = *static_cast<std::string*>(to);
      bytes.append(static_cast<const char*>(from), count);
      return count;
    });
    const bool is_coded = opj_setup_encoder(codec, &parameters, image) == OPJ_TRUE
                          && opj_start_compress(codec, image, stream) == OPJ_TRUE
                          && opj_encode(codec, stream) == OPJ_TRUE
                          && opj_end_compress(codec, stream) == OPJ_TRUE;
    opj_stream_destroy(stream);
    opj_destroy_codec(codec);
    opj_image_destroy(image);
    if (!is_coded) throw std::logic_error("OpenJPEG cannot encode the test's pixels");
    return coded;
  }

  /// PS3.5 annex G: planes of bytes, the high one first.
  std::string run_length_coded() const {
    const int planes = whole(0x0028'0100) / 8;
    std::string head = little(static_cast<std::size_t>(planes), 4), data;
    for (int plane = planes; plane-- > 0;) {
      head += little(64 + data.size(), 4);
      std::string bytes;
      for (const std::uint16_t pixel : pixels)
        bytes += static_cast<char>(pixel >> (8 * plane) & 0xFF);
      data += packed(bytes);
      if (data.size() % 2 != 0) data += '\0';
    }
    head.resize(64, '\0');
    return head + data;
  }
  static std::string packed(const std::string& bytes) {
    std::string runs;
    for (std::size_t i = 0; i < bytes.size();) {
      std::size_t run = 1;
      while (i + run < bytes.size() && run < 128 && bytes[i + run] == bytes[i])
        ++run;
      if (run > 1) {
        runs += static_cast<char>(1 - static_cast<int>(run));
        runs += bytes[i];
        i += run;
        continue;
      }
      std::size_t end = i + 1; // literals up to the next run
      while (end < bytes.size() && end - i < 128
             && !(end + 1 < bytes.size() && bytes[end] == bytes[end + 1]))
        ++end;
      runs += static_cast<char>(end - i - 1);
      runs.append(bytes, i, end - i);
      i = end;
    }
    return runs;
  }

  std::map<std::uint32_t, Value> elements_;
};

} // namespace breakeven::imaging
