// NIfTI files for tests, field by field: a small volume that a test changes before writing it.
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace breakeven::imaging {

inline std::string gzipped(const std::string& bytes) {
  std::string packed(bytes.size() + 1024, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<unsigned char*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// A header of version 1 or 2, with fields put by their offset, and voxels behind it.
class TestNifti {
public:
  TestNifti(int version, bool is_big_endian) : version_(version), is_big_(is_big_endian) {
    header_.resize(version == 1 ? 352 : 544);
    put<std::int32_t>(0, version == 1 ? 348 : 540);
    std::memcpy(header_.data() + (version == 1 ? 344 : 4),
                version == 1 ? "n+1\0" : "n+2\0\r\n\032\n", version == 1 ? 4 : 8);
    dim({3, 3, 2, 2, 1, 1, 1, 1});
    pixdim({1, 1, 1, 1});
    if (version == 1)
      put<float>(108, 352);
    else
      put<std::int64_t>(168, 544);
    units(2);
  }

  void dim(const std::vector<std::int64_t>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (version_ == 1)
        put(40 + 2 * i, static_cast<std::int16_t>(values[i]));
      else
        put(16 + 8 * i, values[i]);
  }
  void pixdim(const std::vector<double>& values) { reals(76, 80, values); }
  void units(int code) {
    if (version_ == 1)
      put(123, static_cast<char>(code));
    else
      put<std::int32_t>(500, code);
  }
  void type(std::int16_t datatype, std::int16_t bits) {
    put(version_ == 1 ? 70 : 12, datatype);
    put(version_ == 1 ? 72 : 14, bits);
  }
  void scaling(double slope, double intercept) { reals(112, 176, {slope, intercept}); }
  void qform(int code, const std::vector<double>& bcd, const std::vector<double>& offset) {
    form_code(252, 344, code);
    reals(256, 352, bcd);
    reals(268, 376, offset);
  }
  void sform(int code, const std::vector<double>& rows) {
    form_code(254, 348, code);
    reals(280, 400, rows);
  }
  template <class T>
  void voxels(const std::vector<T>& values) {
    data_.clear();
    for (const T value : values)
      data_ += ordered(value);
  }
  template <class T>
  void put(std::size_t offset, T value) {
    header_.replace(offset, sizeof value, ordered(value));
  }

  std::string file() const { return header_ + data_; }

private:
  template <class T>
  std::string ordered(T value) const {
    std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
    if (is_big_) std::reverse(bytes.begin(), bytes.end());
    return bytes;
  }
  void reals(std::size_t offset1, std::size_t offset2, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (version_ == 1)
        put(offset1 + 4 * i, static_cast<float>(values[i]));
      else
        put(offset2 + 8 * i, values[i]);
  }
  void form_code(std::size_t offset1, std::size_t offset2, int code) {
    if (version_ == 1)
      put(offset1, static_cast<std::int16_t>(code));
    else
      put<std::int32_t>(offset2, code);
  }

  int version_;
  bool is_big_;
  std::string header_, data_;
};

} // namespace breakeven::imaging
