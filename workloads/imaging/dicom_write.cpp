#include "workloads/imaging/dicom_write.h"

#include "sim/errors.h"
#include "workloads/partial_file.h"

#include <charls/charls.h>
#include <fmt/format.h>
#include <openjpeg-2.5/openjpeg.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

namespace breakeven::imaging {

namespace {

// ---- elements, explicit VR little endian --------------------------------------------------------

void append_u16(std::string& bytes, std::uint32_t value) {
  bytes += static_cast<char>(value & 0xFF);
  bytes += static_cast<char>(value >> 8 & 0xFF);
}
void append_u32(std::string& bytes, std::uint32_t value) {
  append_u16(bytes, value);
  append_u16(bytes, value >> 16);
}
void append_tag(std::string& bytes, std::uint32_t tag) {
  append_u16(bytes, tag >> 16);
  append_u16(bytes, tag);
}

/// Values have even lengths; UIDs are padded by a zero, texts by a space.
void append_text(std::string& bytes, std::uint32_t tag, const char* type, std::string value) {
  if (value.size() % 2 != 0) value += std::strcmp(type, "UI") == 0 ? '\0' : ' ';
  append_tag(bytes, tag);
  bytes += type;
  append_u16(bytes, static_cast<std::uint32_t>(value.size()));
  bytes += value;
}

void append_number(std::string& bytes, std::uint32_t tag, std::uint32_t value) {
  append_tag(bytes, tag);
  bytes += "US";
  append_u16(bytes, 2);
  append_u16(bytes, value);
}

/// Pixel data, whose length takes 32 bits.
void append_pixels_head(std::string& bytes, std::uint32_t length) {
  append_tag(bytes, 0x7FE0'0010);
  bytes += "OW";
  append_u16(bytes, 0);
  append_u32(bytes, length);
}

void append_pixels(std::string& bytes, std::span<const std::int16_t> pixels) {
  append_pixels_head(bytes, static_cast<std::uint32_t>(2 * pixels.size()));
  for (const std::int16_t pixel : pixels)
    append_u16(bytes, static_cast<std::uint16_t>(pixel));
}

/// One frame in one fragment, after an empty table of offsets (PS3.5 A.4).
void append_compressed(std::string& bytes, std::string stream) {
  constexpr std::uint32_t item = 0xFFFE'E000, end_of_items = 0xFFFE'E0DD;
  if (stream.size() % 2 != 0) stream += '\0';
  append_pixels_head(bytes, 0xFFFF'FFFF);
  append_tag(bytes, item);
  append_u32(bytes, 0);
  append_tag(bytes, item);
  append_u32(bytes, static_cast<std::uint32_t>(stream.size()));
  bytes += stream;
  append_tag(bytes, end_of_items);
  append_u32(bytes, 0);
}

// ---- codecs -------------------------------------------------------------------------------------

OPJ_SIZE_T append_to_string(void* data, OPJ_SIZE_T count, void* text) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(data), count);
  return count;
}

std::string jpeg_2000_of(std::span<const std::int16_t> pixels, int columns, int rows) {
  opj_image_cmptparm_t component{};
  component.dx = component.dy = 1;
  component.w = static_cast<OPJ_UINT32>(columns);
  component.h = static_cast<OPJ_UINT32>(rows);
  component.prec = 16;
  component.sgnd = 1;
  const std::unique_ptr<opj_image_t, decltype(&opj_image_destroy)> image(
      opj_image_create(1, &component, OPJ_CLRSPC_GRAY), opj_image_destroy);
  const std::unique_ptr<opj_codec_t, decltype(&opj_destroy_codec)> codec(
      opj_create_compress(OPJ_CODEC_J2K), opj_destroy_codec);
  const std::unique_ptr<opj_stream_t, decltype(&opj_stream_destroy)> stream(
      opj_stream_default_create(OPJ_FALSE), opj_stream_destroy);
  if (!image || !codec || !stream) throw std::bad_alloc();
  image->x1 = component.w;
  image->y1 = component.h;
  std::copy(pixels.begin(), pixels.end(), image->comps[0].data);
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1; // one layer at rate 0: all of it, the reversible 5/3 wavelet
  // A wavelet level halves the picture; the smallest has at least one pixel.
  while (parameters.numresolution > 1
         && (std::min(columns, rows) >> (parameters.numresolution - 1)) == 0)
    --parameters.numresolution;
  std::string bytes;
  opj_stream_set_user_data(stream.get(), &bytes, nullptr);
  opj_stream_set_write_function(stream.get(), append_to_string);
  if (!opj_setup_encoder(codec.get(), &parameters, image.get())
      || !opj_start_compress(codec.get(), image.get(), stream.get())
      || !opj_encode(codec.get(), stream.get()) || !opj_end_compress(codec.get(), stream.get()))
    throw Failure("could not encode a slice as JPEG 2000");
  return bytes;
}

std::string jpeg_ls_of(std::span<const std::int16_t> pixels, int columns, int rows) {
  charls::jpegls_encoder encoder;
  encoder.frame_info(
      {static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(rows), 16, 1});
  std::string bytes(encoder.estimated_destination_size(), '\0');
  encoder.destination(bytes.data(), bytes.size());
  bytes.resize(encoder.encode(pixels.data(), 2 * pixels.size()));
  return bytes;
}

// ---- one slice ----------------------------------------------------------------------------------

constexpr const char* ct_image_storage = "1.2.840.10008.5.1.4.1.1.2";
// UIDs derived from numbers of our own (PS3.5 B.2): the same series on every machine.
constexpr const char* study_uid = "2.25.1001";
constexpr const char* series_uid = "2.25.1002";
constexpr const char* implementation_uid = "2.25.1000";

std::string syntax_of(PixelCompression compression) {
  switch (compression) {
  case PixelCompression::none:
    return "1.2.840.10008.1.2.1";
  case PixelCompression::jpeg_2000:
    return "1.2.840.10008.1.2.4.90";
  case PixelCompression::jpeg_ls:
    return "1.2.840.10008.1.2.4.80";
  }
  return "";
}

/// A decimal string holds 16 characters; 10 digits are a nanometre in a metre.
std::string decimal(double value) { return fmt::format("{:.10g}", value); }

std::string decimals(std::span<const double> values) {
  std::string text;
  for (const double value : values)
    text += (text.empty() ? "" : "\\") + decimal(value);
  return text;
}

/// From RAS to DICOM's LPS.
std::array<double, 3> flipped(const std::array<double, 3>& ras) {
  return {-ras[0], -ras[1], ras[2]};
}

std::array<double, 6> orientation_of(const Geometry& geometry) {
  const std::array<double, 3> spacing = geometry.spacing_mm();
  std::array<double, 6> cosines{};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto& m = geometry.to_ras_mm;
    const std::array<double, 3> along = flipped(
        {m[0][axis] / spacing[axis], m[1][axis] / spacing[axis], m[2][axis] / spacing[axis]});
    std::copy(along.begin(), along.end(), cosines.begin() + static_cast<std::ptrdiff_t>(3 * axis));
  }
  return cosines;
}

std::string file_head(const std::string& instance_uid, PixelCompression compression) {
  std::string group;
  append_text(group, 0x0002'0002, "UI", ct_image_storage);
  append_text(group, 0x0002'0003, "UI", instance_uid);
  append_text(group, 0x0002'0010, "UI", syntax_of(compression));
  append_text(group, 0x0002'0012, "UI", implementation_uid);
  std::string head(128, '\0');
  head += "DICM";
  append_tag(head, 0x0002'0000);
  head += "UL";
  append_u16(head, 4);
  append_u32(head, static_cast<std::uint32_t>(group.size()));
  return head + group;
}

void append_elements(std::string& bytes, const CtImage& image, std::int64_t z,
                     const std::string& instance_uid) {
  const Geometry& geometry = image.geometry;
  const std::array<double, 3> spacing = geometry.spacing_mm();
  const Rescale& rescale = image.rescale[static_cast<std::size_t>(z)];
  append_text(bytes, 0x0008'0016, "UI", ct_image_storage);
  append_text(bytes, 0x0008'0018, "UI", instance_uid);
  append_text(bytes, 0x0008'0060, "CS", "CT");
  append_text(bytes, 0x0010'0010, "PN", "");
  append_text(bytes, 0x0010'0020, "LO", "");
  append_text(bytes, 0x0018'0050, "DS", decimal(spacing[2]));
  append_text(bytes, 0x0020'000D, "UI", study_uid);
  append_text(bytes, 0x0020'000E, "UI", series_uid);
  append_text(bytes, 0x0020'0013, "IS", std::to_string(z + 1));
  append_text(bytes, 0x0020'0032, "DS",
              decimals(flipped(point_of(geometry, {0, 0, static_cast<double>(z)}))));
  append_text(bytes, 0x0020'0037, "DS", decimals(orientation_of(geometry)));
  append_number(bytes, 0x0028'0002, 1);
  append_text(bytes, 0x0028'0004, "CS", "MONOCHROME2");
  append_number(bytes, 0x0028'0010, static_cast<std::uint32_t>(geometry.extent.y));
  append_number(bytes, 0x0028'0011, static_cast<std::uint32_t>(geometry.extent.x));
  append_text(bytes, 0x0028'0030, "DS", decimals(std::array{spacing[1], spacing[0]}));
  append_number(bytes, 0x0028'0100, 16);
  append_number(bytes, 0x0028'0101, 16);
  append_number(bytes, 0x0028'0102, 15);
  append_number(bytes, 0x0028'0103, 1);
  append_text(bytes, 0x0028'1052, "DS", decimal(static_cast<double>(rescale.intercept)));
  append_text(bytes, 0x0028'1053, "DS", decimal(static_cast<double>(rescale.slope)));
  append_text(bytes, 0x0028'1054, "LO", "HU");
}

std::string slice_bytes(const CtImage& image, std::int64_t z, PixelCompression compression) {
  const Extent& extent = image.geometry.extent;
  const int columns = static_cast<int>(extent.x), rows = static_cast<int>(extent.y);
  const std::span<const std::int16_t> pixels(image.stored.data() + z * extent.slice(),
                                             static_cast<std::size_t>(extent.slice()));
  const std::string instance_uid = fmt::format("2.25.{}", 10'000 + z);
  std::string bytes = file_head(instance_uid, compression);
  append_elements(bytes, image, z, instance_uid);
  switch (compression) {
  case PixelCompression::none:
    append_pixels(bytes, pixels);
    break;
  case PixelCompression::jpeg_2000:
    append_compressed(bytes, jpeg_2000_of(pixels, columns, rows));
    break;
  case PixelCompression::jpeg_ls:
    append_compressed(bytes, jpeg_ls_of(pixels, columns, rows));
    break;
  }
  return bytes;
}

} // namespace

const std::vector<std::string>& compression_names() {
  static const std::vector<std::string> names{"none", "jpeg-2000", "jpeg-ls"};
  return names;
}

PixelCompression compression_from(const std::string& name) {
  const auto& names = compression_names();
  return static_cast<PixelCompression>(std::find(names.begin(), names.end(), name) - names.begin());
}

void write_dicom_series(const std::filesystem::path& folder, const CtImage& image,
                        PixelCompression compression) {
  const std::int64_t slices = image.geometry.extent.z;
  std::string problem;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t z = 0; z < slices; ++z) {
    try {
      write_whole_file(folder / fmt::format("slice_{:04}.dcm", z),
                       slice_bytes(image, z, compression));
    } catch (const std::exception& error) { // none may leave a parallel loop
#pragma omp critical
      problem = error.what();
    }
  }
  if (!problem.empty()) throw Failure(problem);
}

} // namespace breakeven::imaging
