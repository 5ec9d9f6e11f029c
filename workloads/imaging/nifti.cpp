#include "workloads/imaging/nifti.h"

#include "sim/errors.h"
#include "workloads/imaging/gzip_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace breakeven::imaging {

namespace fs = std::filesystem;

namespace {

// ---- the header ---------------------------------------------------------------------------------

/// nifti1.h's codes of the types that can be read.
enum class Datatype : std::int16_t {
  uint8 = 2,
  int16 = 4,
  int32 = 8,
  float32 = 16,
  float64 = 64,
  int8 = 256,
  uint16 = 512,
  uint32 = 768,
};

struct Header {
  std::string file;
  bool is_swapped = false;
  std::array<std::int64_t, 8> dim{};
  int datatype = 0, bitpix = 0;
  std::array<double, 8> pixdim{};
  double vox_offset = 0, slope = 0, intercept = 0;
  int units = 0, qform_code = 0, sform_code = 0;
  std::array<double, 3> quaternion{}, qoffset{};
  std::array<std::array<double, 4>, 3> srow{};
  std::int64_t header_bytes = 0;

  [[noreturn]] void bad(const std::string& found, const std::string& expected) const {
    throw BadInput(file, 0, found, expected);
  }
};

template <class T>
T swapped(T value) {
  auto* bytes = reinterpret_cast<unsigned char*>(&value);
  std::reverse(bytes, bytes + sizeof value);
  return value;
}

/// Fields of the header's bytes, turned to this machine's order.
class Fields {
public:
  Fields(const std::vector<char>& bytes, bool is_swapped)
      : bytes_(bytes),
        is_swapped_(is_swapped) {}

  template <class T>
  T at(std::size_t offset) const {
    T value;
    assert(offset + sizeof value <= bytes_.size());
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return is_swapped_ ? swapped(value) : value;
  }
  template <class Stored, class T, std::size_t n>
  void array(std::size_t offset, std::array<T, n>& to) const {
    for (std::size_t i = 0; i < n; ++i)
      to[i] = static_cast<T>(at<Stored>(offset + i * sizeof(Stored)));
  }

private:
  const std::vector<char>& bytes_;
  bool is_swapped_;
};

void read_nifti1(const Fields& fields, Header& header) {
  fields.array<std::int16_t>(40, header.dim);
  header.datatype = fields.at<std::int16_t>(70);
  header.bitpix = fields.at<std::int16_t>(72);
  fields.array<float>(76, header.pixdim);
  header.vox_offset = fields.at<float>(108);
  header.slope = fields.at<float>(112);
  header.intercept = fields.at<float>(116);
  header.units = fields.at<unsigned char>(123);
  header.qform_code = fields.at<std::int16_t>(252);
  header.sform_code = fields.at<std::int16_t>(254);
  fields.array<float>(256, header.quaternion);
  fields.array<float>(268, header.qoffset);
  for (std::size_t row = 0; row < 3; ++row)
    fields.array<float>(280 + 16 * row, header.srow[row]);
}

void read_nifti2(const Fields& fields, Header& header) {
  header.datatype = fields.at<std::int16_t>(12);
  header.bitpix = fields.at<std::int16_t>(14);
  fields.array<std::int64_t>(16, header.dim);
  fields.array<double>(80, header.pixdim);
  header.vox_offset = static_cast<double>(fields.at<std::int64_t>(168));
  header.slope = fields.at<double>(176);
  header.intercept = fields.at<double>(184);
  header.qform_code = fields.at<std::int32_t>(344);
  header.sform_code = fields.at<std::int32_t>(348);
  fields.array<double>(352, header.quaternion);
  fields.array<double>(376, header.qoffset);
  for (std::size_t row = 0; row < 3; ++row)
    fields.array<double>(400 + 32 * row, header.srow[row]);
  header.units = fields.at<std::int32_t>(500);
}

constexpr std::int32_t nifti1_bytes = 348, nifti2_bytes = 540;
constexpr int extension_flag_bytes = 4; // follow the header

/// Reads the header's bytes and tells version and byte order by their first field, the size.
Header read_header(InputFile& in) {
  Header header;
  header.file = in.shown();
  std::vector<char> bytes(nifti2_bytes);
  const auto need = [&](std::size_t from, std::size_t to) {
    const std::size_t got = in.read(bytes.data() + from, to - from);
    if (got < to - from)
      header.bad(
          fmt::format("a file of {} bytes", from + got),
          fmt::format("a NIfTI header of {} bytes", std::max<std::size_t>(to, nifti1_bytes)));
  };
  need(0, 4);
  std::int32_t size = Fields(bytes, false).at<std::int32_t>(0);
  if (size != nifti1_bytes && size != nifti2_bytes) {
    header.is_swapped = true;
    size = swapped(size);
  }
  if (size != nifti1_bytes && size != nifti2_bytes)
    header.bad(fmt::format("sizeof_hdr {}", swapped(size)), "348 (NIfTI-1) or 540 (NIfTI-2)");
  header.header_bytes = size;
  need(4, static_cast<std::size_t>(size));
  const Fields fields(bytes, header.is_swapped);
  const bool is_nifti1 = size == nifti1_bytes;
  const char* magic = bytes.data() + (is_nifti1 ? 344 : 4);
  if (std::memcmp(magic, is_nifti1 ? "ni1" : "ni2", 4) == 0)
    header.bad("the header of a .hdr/.img pair", "header and voxels in one .nii file");
  if (is_nifti1 ? std::memcmp(magic, "n+1", 4) != 0 : std::memcmp(magic, "n+2\0\r\n\032\n", 8) != 0)
    header.bad("another magic number", is_nifti1 ? "magic \"n+1\"" : "magic \"n+2\"");
  is_nifti1 ? read_nifti1(fields, header) : read_nifti2(fields, header);
  return header;
}

int bits_of(int datatype) {
  switch (static_cast<Datatype>(datatype)) {
  case Datatype::uint8:
  case Datatype::int8:
    return 8;
  case Datatype::int16:
  case Datatype::uint16:
    return 16;
  case Datatype::int32:
  case Datatype::uint32:
  case Datatype::float32:
    return 32;
  case Datatype::float64:
    return 64;
  }
  return 0;
}

/// The extent, once all that the header says of sizes holds together and fits the file.
Extent checked_extent(const Header& header, const InputFile& in) {
  const auto& dim = header.dim;
  if (dim[0] < 3 || dim[0] > 7)
    header.bad(fmt::format("dim[0] {}", dim[0]), "3, or 4 with one volume");
  double voxels = 1;
  for (std::size_t i = 1; i <= static_cast<std::size_t>(dim[0]); ++i) {
    if (dim[i] < 1 || (i > 3 && dim[i] != 1))
      header.bad(fmt::format("dim[{}] {}", i, dim[i]), i > 3 ? "1, one volume" : "at least 1");
    voxels *= static_cast<double>(dim[i]);
  }
  const int bits = bits_of(header.datatype);
  if (bits == 0)
    header.bad(fmt::format("datatype {}", header.datatype),
               "integers of 8 to 32 bits or reals of 32 or 64 (2, 4, 8, 16, 64, 256, 512, 768)");
  if (header.bitpix != bits)
    header.bad(fmt::format("bitpix {}", header.bitpix),
               fmt::format("{}, as of datatype {}", bits, header.datatype));
  const auto least = static_cast<double>(header.header_bytes + extension_flag_bytes);
  if (!(header.vox_offset >= least) || header.vox_offset != std::floor(header.vox_offset)
      || header.vox_offset > in.most_bytes())
    header.bad(fmt::format("vox_offset {}", header.vox_offset),
               fmt::format("a whole number from {} to the file's size", least));
  const double bytes = voxels * bits / 8;
  if (header.vox_offset + bytes > in.most_bytes())
    header.bad(fmt::format("dim {} x {} x {} of {} bits, {:.0f} bytes", dim[1], dim[2], dim[3],
                           bits, bytes),
               fmt::format("at most the {:.0f} bytes that the file can hold",
                           in.most_bytes() - header.vox_offset));
  check_volume_fits(header.file, voxels, 4);
  return {dim[1], dim[2], dim[3]};
}

// ---- where the voxels lie -----------------------------------------------------------------------

using Affine = std::array<std::array<double, 4>, 3>;

/// nifti1.h, "QUATERNION REPRESENTATION OF ROTATION MATRIX", method 2.
Affine affine_of_qform(const Header& header) {
  auto [b, c, d] = header.quaternion;
  const double square = b * b + c * c + d * d;
  constexpr double rounding = 1e-4; // of the file's single precision, generously
  if (!(square <= 1 + rounding))
    header.bad(fmt::format("a qform quaternion of length {}", std::sqrt(square)), "at most 1");
  double a = std::sqrt(std::max(0.0, 1 - square));
  if (square > 1) {
    const double length = std::sqrt(square);
    b /= length, c /= length, d /= length;
  }
  const double qfac = header.pixdim[0] < 0 ? -1 : 1;
  const std::array<double, 3> step{header.pixdim[1], header.pixdim[2], header.pixdim[3] * qfac};
  const double rotation[3][3] = {
      {a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
      {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
      {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}};
  Affine affine{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      affine[row][axis] = rotation[row][axis] * step[axis];
    affine[row][3] = header.qoffset[row];
  }
  return affine;
}

double millimetres_per_unit(const Header& header, std::vector<std::string>& notes) {
  constexpr int spatial = 7; // the low three bits; above them are units of time
  switch (header.units & spatial) {
  case 0:
    notes.emplace_back("no unit of length in the header, millimetres taken");
    return 1;
  case 1:
    return 1e3;
  case 2:
    return 1;
  case 3:
    return 1e-3;
  }
  header.bad(fmt::format("xyzt_units {}", header.units), "metres, millimetres or micrometres");
}

Geometry geometry_of(const Header& header, const Extent& extent, std::vector<std::string>& notes) {
  for (std::size_t i = 1; i <= 3; ++i)
    if (!(header.pixdim[i] > 0) || !std::isfinite(header.pixdim[i]))
      header.bad(fmt::format("pixdim[{}] {}", i, header.pixdim[i]), "a spacing above 0");
  Geometry geometry{extent, {}};
  Affine& affine = geometry.to_ras_mm;
  const char* field = "sform";
  if (header.sform_code > 0) {
    affine = header.srow;
  } else if (header.qform_code > 0) {
    field = "qform";
    affine = affine_of_qform(header);
  } else {
    field = "pixdim";
    notes.emplace_back("no sform or qform, axes taken as right, front and head");
    for (std::size_t axis = 0; axis < 3; ++axis)
      affine[axis][axis] = header.pixdim[axis + 1];
  }
  const double mm = millimetres_per_unit(header, notes);
  constexpr double farthest_mm = 1e6, shortest_mm = 1e-6;
  for (auto& row : affine)
    for (double& value : row) {
      value *= mm;
      if (!(std::fabs(value) <= farthest_mm))
        header.bad(fmt::format("{} with {}", field, value), "millimetres within a kilometre");
    }
  const auto spacing = geometry.spacing_mm();
  constexpr double mm3_per_ml = 1e3, flattest = 1e-4;
  for (const double length : spacing)
    if (!(length >= shortest_mm))
      header.bad(fmt::format("{} with a spacing of {} mm", field, length), "a spacing above 0");
  if (geometry.voxel_ml() * mm3_per_ml < flattest * spacing[0] * spacing[1] * spacing[2])
    header.bad(fmt::format("{} with axes that lie in one plane", field), "three independent axes");
  return geometry;
}

// ---- voxels -------------------------------------------------------------------------------------

std::string voxel_name(std::int64_t index, const Extent& extent) {
  return fmt::format("voxel ({}, {}, {})", index % extent.x, index / extent.x % extent.y,
                     index / extent.slice());
}

/// Calls `use(values, count, index of the first)` for pieces of the file, in order, then makes sure
/// that the file ends there.
template <class T, class Use>
void read_voxels(InputFile& in, const Header& header, const Extent& extent, const Use& use) {
  constexpr std::int64_t piece = (1 << 16) / static_cast<std::int64_t>(sizeof(T));
  std::vector<T> values(static_cast<std::size_t>(std::min(piece, extent.voxels())));
  for (std::int64_t first = 0; first < extent.voxels(); first += piece) {
    const auto count = static_cast<std::size_t>(std::min(piece, extent.voxels() - first));
    const std::size_t got = in.read(values.data(), count * sizeof(T));
    if (got < count * sizeof(T))
      header.bad(fmt::format("{} bytes of voxels", first * static_cast<std::int64_t>(sizeof(T))
                                                       + static_cast<std::int64_t>(got)),
                 fmt::format("{}, as dim and datatype say",
                             extent.voxels() * static_cast<std::int64_t>(sizeof(T))));
    if (header.is_swapped) std::transform(values.begin(), values.end(), values.begin(), swapped<T>);
    use(values.data(), count, first);
  }
  char more = 0;
  if (in.read(&more, 1) != 0)
    header.bad(fmt::format("bytes after the {} voxels that dim says", extent.voxels()),
               "the file to end there");
}

template <class Use>
void read_voxels(InputFile& in, const Header& header, const Extent& extent, const Use& use) {
  std::vector<char> skipped(1 << 16);
  auto left = static_cast<std::int64_t>(header.vox_offset) - header.header_bytes;
  while (left > 0) {
    const auto count = std::min<std::int64_t>(left, static_cast<std::int64_t>(skipped.size()));
    if (in.read(skipped.data(), static_cast<std::size_t>(count)) < static_cast<std::size_t>(count))
      header.bad(fmt::format("vox_offset {}", header.vox_offset), "an offset within the file");
    left -= count;
  }
  switch (static_cast<Datatype>(header.datatype)) {
  case Datatype::uint8:
    return read_voxels<std::uint8_t>(in, header, extent, use);
  case Datatype::int8:
    return read_voxels<std::int8_t>(in, header, extent, use);
  case Datatype::int16:
    return read_voxels<std::int16_t>(in, header, extent, use);
  case Datatype::uint16:
    return read_voxels<std::uint16_t>(in, header, extent, use);
  case Datatype::int32:
    return read_voxels<std::int32_t>(in, header, extent, use);
  case Datatype::uint32:
    return read_voxels<std::uint32_t>(in, header, extent, use);
  case Datatype::float32:
    return read_voxels<float>(in, header, extent, use);
  case Datatype::float64:
    return read_voxels<double>(in, header, extent, use);
  }
}

/// Slope and intercept; a slope of 0 says that there are none, and nibabel writes NaN for that.
std::pair<double, double> scaling_of(const Header& header) {
  if (header.slope == 0 || std::isnan(header.slope)) return {1, 0};
  constexpr double largest = 1e9;
  if (!(std::fabs(header.slope) <= largest))
    header.bad(fmt::format("scl_slope {}", header.slope), "a finite slope");
  if (!(std::fabs(header.intercept) <= largest))
    header.bad(fmt::format("scl_inter {}", header.intercept), "a finite intercept");
  return {header.slope, header.intercept};
}

template <class T>
bool fits_int16(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return value >= -32768 && value <= 32767
           && static_cast<T>(static_cast<std::int16_t>(value)) == value;
  else
    return std::in_range<std::int16_t>(value);
}

/// Stored values: as int16 while all fit, as float from the first that does not.
class StoredValues {
public:
  StoredValues(const Header& header, const Extent& extent) : header_(header), extent_(extent) {}

  template <class T>
  void append(const T* values, std::size_t count, std::int64_t first) {
    if constexpr (std::is_floating_point_v<T>) check_finite(values, count, first);
    if (large_.empty() && std::all_of(values, values + count, fits_int16<T>)) {
      small_.reserve(voxels()); // address space; only what is written to takes memory
      for (std::size_t i = 0; i < count; ++i)
        small_.push_back(static_cast<std::int16_t>(values[i]));
      return;
    }
    if (large_.empty()) {
      large_.reserve(voxels());
      large_.assign(small_.begin(), small_.end());
      small_ = {};
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<float>(values[i]);
      if (static_cast<double>(value) != static_cast<double>(values[i])) ++rounded_;
      largest_ = std::max(largest_, std::fabs(value));
      large_.push_back(value);
    }
  }

  void give(CtImage& image) {
    const auto [slope, intercept] = scaling_of(header_);
    constexpr double largest_int16 = 32768;
    const double largest_hu =
        std::fabs(slope) * (large_.empty() ? largest_int16 : static_cast<double>(largest_))
        + std::fabs(intercept);
    constexpr double most_hu = 1e9; // far above any scanner's, far below float's end
    if (!large_.empty() && largest_hu > most_hu)
      header_.bad(fmt::format("values up to {:g}", largest_hu), "Hounsfield units");
    if (rounded_ > 0)
      image.notes.push_back(fmt::format("{} values rounded to single precision", rounded_));
    image.stored = std::move(small_);
    image.float_stored = std::move(large_);
    image.rescale.assign(static_cast<std::size_t>(extent_.z),
                         {static_cast<float>(slope), static_cast<float>(intercept)});
  }

private:
  std::size_t voxels() const { return static_cast<std::size_t>(extent_.voxels()); }

  template <class T>
  void check_finite(const T* values, std::size_t count, std::int64_t first) const {
    constexpr T largest = std::numeric_limits<float>::max();
    for (std::size_t i = 0; i < count; ++i)
      if (!(std::fabs(values[i]) <= largest))
        header_.bad(fmt::format("{} at {}", values[i],
                                voxel_name(first + static_cast<std::int64_t>(i), extent_)),
                    "finite voxels");
  }

  const Header& header_;
  Extent extent_;
  std::vector<std::int16_t> small_;
  std::vector<float> large_;
  float largest_ = 0;
  std::int64_t rounded_ = 0;
};

} // namespace

CtImage read_nifti_ct(const fs::path& path) {
  InputFile in(path);
  const Header header = read_header(in);
  const Extent extent = checked_extent(header, in);
  CtImage image;
  image.geometry = geometry_of(header, extent, image.notes);
  StoredValues values(header, extent);
  read_voxels(in, header, extent, [&](const auto* piece, std::size_t count, std::int64_t first) {
    values.append(piece, count, first);
  });
  values.give(image);
  return image;
}

Volume<std::uint32_t> read_nifti_labels(const fs::path& path) {
  InputFile in(path);
  const Header header = read_header(in);
  const Extent extent = checked_extent(header, in);
  std::vector<std::string> notes;
  Volume<std::uint32_t> labels;
  labels.geometry = geometry_of(header, extent, notes);
  labels.voxels.reserve(static_cast<std::size_t>(extent.voxels()));
  const std::pair<double, double> scaling = scaling_of(header);
  read_voxels(in, header, extent, [&](const auto* piece, std::size_t count, std::int64_t first) {
    for (std::size_t i = 0; i < count; ++i) {
      const double label = scaling.first * static_cast<double>(piece[i]) + scaling.second;
      if (!(label >= 0 && label <= std::numeric_limits<std::uint32_t>::max())
          || label != std::floor(label))
        header.bad(fmt::format("{} at {}", label,
                               voxel_name(first + static_cast<std::int64_t>(i), extent)),
                   "labels, whole numbers from 0 to 4294967295");
      labels.voxels.push_back(static_cast<std::uint32_t>(label));
    }
  });
  return labels;
}

// ---- writing ------------------------------------------------------------------------------------

namespace {

/// The rotation's quaternion and qfac, or nothing where the axes are not at right angles (nifti1.h,
/// nifti_mat44_to_quatern).
struct Qform {
  std::array<float, 3> bcd{};
  float qfac = 1;
};
std::optional<Qform> qform_of(const Geometry& geometry) {
  const auto spacing = geometry.spacing_mm();
  double r[3][3];
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t axis = 0; axis < 3; ++axis)
      r[row][axis] = geometry.to_ras_mm[row][axis] / spacing[axis];
  constexpr double rounding = 1e-5;
  for (int a = 0; a < 3; ++a) {
    const int b = (a + 1) % 3;
    if (std::fabs(r[0][a] * r[0][b] + r[1][a] * r[1][b] + r[2][a] * r[2][b]) > rounding) return {};
  }
  Qform qform;
  const double determinant = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1])
                             - r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0])
                             + r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
  if (determinant < 0) {
    qform.qfac = -1;
    for (auto& row : r)
      row[2] = -row[2];
  }
  // The largest of the four squares keeps the divisions exact enough (Shepperd 1978).
  const double squares[4] = {1 + r[0][0] + r[1][1] + r[2][2], 1 + r[0][0] - r[1][1] - r[2][2],
                             1 - r[0][0] + r[1][1] - r[2][2], 1 - r[0][0] - r[1][1] + r[2][2]};
  const auto largest = std::max_element(squares, squares + 4) - squares;
  const double half = 0.5 * std::sqrt(squares[largest]), quarter = 0.25 / half;
  const double x = r[2][1] - r[1][2], y = r[0][2] - r[2][0], z = r[1][0] - r[0][1];
  const double xy = r[0][1] + r[1][0], xz = r[0][2] + r[2][0], yz = r[1][2] + r[2][1];
  double a = 0, b = 0, c = 0, d = 0;
  switch (largest) {
  case 0:
    a = half, b = x * quarter, c = y * quarter, d = z * quarter;
    break;
  case 1:
    a = x * quarter, b = half, c = xy * quarter, d = xz * quarter;
    break;
  case 2:
    a = y * quarter, b = xy * quarter, c = half, d = yz * quarter;
    break;
  default:
    a = z * quarter, b = xz * quarter, c = yz * quarter, d = half;
    break;
  }
  const double sign = a < 0 ? -1 : 1; // the file leaves a out and takes it as not negative
  qform.bcd = {static_cast<float>(sign * b), static_cast<float>(sign * c),
               static_cast<float>(sign * d)};
  return qform;
}

template <class T>
void put(std::vector<char>& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

std::vector<char> label_header(const Geometry& geometry, Datatype type) {
  std::vector<char> bytes(nifti1_bytes + extension_flag_bytes);
  put<std::int32_t>(bytes, 0, nifti1_bytes);
  const Extent& extent = geometry.extent;
  const std::int64_t dim[8] = {3, extent.x, extent.y, extent.z, 1, 1, 1, 1};
  for (std::size_t i = 0; i < 8; ++i)
    put(bytes, 40 + 2 * i, static_cast<std::int16_t>(dim[i]));
  constexpr std::int16_t intent_label = 1002, scanner = 1;
  put(bytes, 68, intent_label);
  put(bytes, 70, static_cast<std::int16_t>(type));
  put(bytes, 72, static_cast<std::int16_t>(bits_of(static_cast<int>(type))));
  const auto qform = qform_of(geometry);
  const auto spacing = geometry.spacing_mm();
  put(bytes, 76, qform ? qform->qfac : 1.0f);
  for (std::size_t axis = 0; axis < 3; ++axis)
    put(bytes, 80 + 4 * axis, static_cast<float>(spacing[axis]));
  put(bytes, 108, static_cast<float>(bytes.size()));
  put(bytes, 112, 1.0f);
  constexpr char millimetres = 2;
  put(bytes, 123, millimetres);
  put<std::int16_t>(bytes, 252, qform ? scanner : 0);
  put(bytes, 254, scanner);
  for (std::size_t row = 0; row < 3; ++row) {
    if (qform) put(bytes, 256 + 4 * row, qform->bcd[row]);
    if (qform) put(bytes, 268 + 4 * row, static_cast<float>(geometry.to_ras_mm[row][3]));
    for (std::size_t axis = 0; axis < 4; ++axis)
      put(bytes, 280 + 16 * row + 4 * axis, static_cast<float>(geometry.to_ras_mm[row][axis]));
  }
  std::memcpy(bytes.data() + 344, "n+1", 4);
  return bytes;
}

template <class T>
void write_labels_as(const fs::path& path, const Volume<std::uint32_t>& labels, Datatype type) {
  const std::vector<char> header = label_header(labels.geometry, type);
  const bool is_gzip = path.extension() == ".gz";
  // The header is a multiple of every type's size, so pieces never cut a label.
  static_assert((nifti1_bytes + extension_flag_bytes) % sizeof(T) == 0);
  write_packed_file(path, header.size() + labels.voxels.size() * sizeof(T),
                    is_gzip ? Packing::gzip : Packing::none,
                    [&](std::size_t offset, std::span<char> piece) {
                      std::size_t done = 0;
                      for (; offset + done < header.size() && done < piece.size(); ++done)
                        piece[done] = header[offset + done];
                      const std::size_t first = (offset + done - header.size()) / sizeof(T);
                      const std::size_t count = (piece.size() - done) / sizeof(T);
                      for (std::size_t i = 0; i < count; ++i) {
                        const T label = static_cast<T>(labels.voxels[first + i]);
                        std::memcpy(piece.data() + done + i * sizeof(T), &label, sizeof(T));
                      }
                    });
}

} // namespace

void write_nifti_labels(const fs::path& path, const Volume<std::uint32_t>& labels) {
  const Extent& extent = labels.geometry.extent;
  assert(labels.voxels.size() == static_cast<std::size_t>(extent.voxels()));
  if (std::max({extent.x, extent.y, extent.z}) > std::numeric_limits<std::int16_t>::max())
    throw Failure(fmt::format("cannot write {}: NIfTI-1 holds at most 32767 voxels a side, not {}",
                              shown_path(path), std::max({extent.x, extent.y, extent.z})));
  std::uint32_t greatest = 0;
#pragma omp parallel for reduction(max : greatest)
  for (std::size_t i = 0; i < labels.voxels.size(); ++i)
    greatest = std::max(greatest, labels.voxels[i]);
  if (greatest <= std::numeric_limits<std::uint8_t>::max())
    write_labels_as<std::uint8_t>(path, labels, Datatype::uint8);
  else if (greatest <= std::numeric_limits<std::uint16_t>::max())
    write_labels_as<std::uint16_t>(path, labels, Datatype::uint16);
  else
    write_labels_as<std::uint32_t>(path, labels, Datatype::uint32);
}

} // namespace breakeven::imaging
