// A network's weights: drawn from a seed, or read from .npz and .safetensors files. Files are
// hostile until proven otherwise: every size is checked against the file and against what the
// network needs before anything is allocated.
#include "sim/errors.h"
#include "workloads/imaging/unet.h"
#include "workloads/philox.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <numbers>
#include <optional>
#include <string_view>

namespace breakeven::imaging {

// ---- half precision (IEEE 754 binary16) ------------------------------------------------------

std::uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFu;
  if (magnitude > 0x7F80'0000u) return static_cast<std::uint16_t>(sign | 0x7E00u);
  // 65520 is halfway from the largest half to what would be the next: it rounds to infinity.
  if (magnitude >= 0x477F'F000u) return static_cast<std::uint16_t>(sign | 0x7C00u);
  if (magnitude < 0x3880'0000u) {
    // Subnormal: adding 0.5 leaves units of 2^-24 in the last place, rounded by the addition.
    const float units = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(units) - 0x3F00'0000u));
  }
  const std::uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<std::uint16_t>(sign | ((magnitude - 0x3800'0000u + 0x0FFFu + odd) >> 13));
}

float half_value(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 31u, fraction = bits & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F80'0000u | (fraction << 13));
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

// ---- seeded ----------------------------------------------------------------------------------

namespace {

/// Normal numbers, two a Philox block, by Box and Muller's method in double.
class NormalNumbers {
public:
  NormalNumbers(std::uint64_t seed, std::size_t tensor)
      : seed_(seed),
        tensor_(static_cast<std::uint32_t>(tensor)) {}
  double next() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    const Random4 random =
        philox4x32({static_cast<std::uint32_t>(block_), static_cast<std::uint32_t>(block_ >> 32),
                    tensor_, 0x554E6574u},
                   seed_);
    ++block_;
    const auto unit = [](std::uint32_t high, std::uint32_t low) {
      return (static_cast<double>((std::uint64_t{high} << 21) ^ low >> 11) + 0.5) * 0x1p-53;
    };
    const double radius = std::sqrt(-2 * std::log(unit(random.x, random.y)));
    const double angle = 2 * std::numbers::pi * unit(random.z, random.w);
    second_ = radius * std::sin(angle);
    has_second_ = true;
    return radius * std::cos(angle);
  }

private:
  std::uint64_t seed_, block_ = 0;
  std::uint32_t tensor_;
  bool has_second_ = false;
  double second_ = 0;
};

std::vector<float> drawn(std::size_t count, double mean, double sd, std::uint64_t seed,
                         std::size_t tensor) {
  NormalNumbers numbers(seed, tensor);
  std::vector<float> values(count);
  for (float& value : values)
    value = static_cast<float>(mean + sd * numbers.next());
  return values;
}

} // namespace

UNetWeights seeded_weights(const UNetSpec& spec, std::uint64_t seed) {
  UNetWeights weights;
  const double leaky_gain_squared =
      2 / (1 + 1e-4); // He: 2 / (1 + slope^2) for a leaky ReLU of slope 0.01
  std::size_t tensor = 0;
  for (const UNetLayer& layer : unet_layers(spec)) {
    const auto out = static_cast<std::size_t>(layer.out);
    const double taps = layer.kind == LayerKind::convolution ? 27 : 1;
    LayerWeights of_layer;
    of_layer.weight = drawn(layer.weights(), 0, std::sqrt(leaky_gain_squared / (taps * layer.in)),
                            seed, tensor++);
    if (layer.kind == LayerKind::convolution) of_layer.scale = drawn(out, 1, 0.1, seed, tensor++);
    of_layer.shift = drawn(out, 0, 0.1, seed, tensor++);
    weights.layers.push_back(std::move(of_layer));
  }
  return weights;
}

// ---- files -----------------------------------------------------------------------------------

namespace {

using Shape = std::vector<std::int64_t>;

std::string text_of(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

/// A name from a file, fit for a message.
std::string in_quotes(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, 80))
    text += c >= ' ' && c < 127 ? c : '?';
  return "\"" + text + "\"";
}

/// The bytes of a file and whose they are, for messages.
struct Source {
  std::string_view bytes;
  const std::string& name;
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    throw BadInput(name, 0, found, expected);
  }
  /// Little-endian, of `count` bytes at `offset`, which the caller has checked to be inside.
  std::uint64_t number(std::size_t offset, int count) const {
    std::uint64_t value = 0;
    for (int i = 0; i < count; ++i)
      value |=
          std::uint64_t{static_cast<unsigned char>(bytes[offset + static_cast<std::size_t>(i)])}
          << (8 * i);
    return value;
  }
  std::string_view part(std::uint64_t offset, std::uint64_t count, const char* of) const {
    if (offset > bytes.size() || count > bytes.size() - offset)
      refuse(fmt::format("{} at bytes {} to {} of {}", of, offset, offset + count, bytes.size()),
             "it inside the file");
    return bytes.substr(offset, count);
  }
};

enum class NumberType { f32, f16 };
std::size_t size_of(NumberType type) { return type == NumberType::f32 ? 4 : 2; }

/// Little-endian numbers; `bytes` has just as many.
std::vector<float> numbers_of(std::string_view bytes, NumberType type, const Source& source,
                              const std::string& tensor) {
  std::vector<float> values(bytes.size() / size_of(type));
  if (type == NumberType::f32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  } else {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, bytes.data() + 2 * i, 2);
      values[i] = half_value(bits);
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      source.refuse(fmt::format("{} at element {} of {}", values[i], i, tensor), "finite numbers");
  return values;
}

/// A file's tensors by name. `read` gets the shape that the network needs.
class TensorFile {
public:
  virtual ~TensorFile() = default;
  virtual std::vector<float> read(const std::string& tensor, const Shape& shape) = 0;
};

std::uint64_t elements_of(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::int64_t side : shape)
    count *= static_cast<std::uint64_t>(side);
  return count;
}

// ---- .npz: a zip archive (APPNOTE 6.3) of .npy arrays (NEP 1) ----

struct Member {
  int method = 0; ///< 0 stored, 8 deflated
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0, bytes = 0, header_offset = 0;
};

class NpzFile : public TensorFile {
public:
  explicit NpzFile(const Source& source) : source_(source) { read_directory(); }

  std::vector<float> read(const std::string& tensor, const Shape& shape) override {
    const auto found = members_.find(tensor + ".npy");
    if (found == members_.end())
      source_.refuse("no array " + tensor, "one of shape " + text_of(shape));
    return array(unpacked(found->second, tensor, shape), tensor, shape);
  }

private:
  static constexpr std::size_t most_header_bytes = 65536;

  void read_directory() {
    constexpr std::size_t end_bytes = 22;
    // The end record is last, before a comment of at most 65535 bytes.
    const std::size_t size = source_.bytes.size();
    std::optional<std::size_t> end;
    for (std::size_t back = end_bytes; back <= size && back <= end_bytes + 65535 && !end; ++back)
      if (source_.number(size - back, 4) == 0x06054B50u) end = size - back;
    if (!end) source_.refuse("no end of a zip directory", "a whole .npz file");
    std::uint64_t count = source_.number(*end + 10, 2), offset = source_.number(*end + 16, 4);
    if (count == 0xFFFF || offset == 0xFFFF'FFFFu) find_zip64(*end, count, offset);
    for (std::uint64_t i = 0; i < count; ++i)
      offset = read_entry(offset);
  }

  void find_zip64(std::size_t end, std::uint64_t& count, std::uint64_t& offset) const {
    if (end < 20 || source_.number(end - 20, 4) != 0x07064B50u) return;
    const std::uint64_t record = source_.number(end - 12, 8);
    source_.part(record, 56, "a zip64 end record");
    const auto at = static_cast<std::size_t>(record);
    if (source_.number(at, 4) != 0x06064B50u)
      source_.refuse("no zip64 end record where its locator points", "a whole .npz file");
    count = source_.number(at + 32, 8);
    offset = source_.number(at + 48, 8);
  }

  std::uint64_t read_entry(std::uint64_t offset) {
    constexpr std::uint64_t entry_bytes = 46;
    source_.part(offset, entry_bytes, "a zip directory entry");
    const auto at = static_cast<std::size_t>(offset);
    if (source_.number(at, 4) != 0x02014B50u)
      source_.refuse(fmt::format("no zip directory entry at byte {}", offset), "one");
    Member member;
    const std::uint64_t flags = source_.number(at + 8, 2);
    member.method = static_cast<int>(source_.number(at + 10, 2));
    member.crc = static_cast<std::uint32_t>(source_.number(at + 16, 4));
    member.packed_bytes = source_.number(at + 20, 4);
    member.bytes = source_.number(at + 24, 4);
    const std::uint64_t name_bytes = source_.number(at + 28, 2),
                        extra_bytes = source_.number(at + 30, 2),
                        comment_bytes = source_.number(at + 32, 2);
    member.header_offset = source_.number(at + 42, 4);
    const std::string name(source_.part(offset + entry_bytes, name_bytes, "a zip member's name"));
    if (flags & 1) source_.refuse("an encrypted member " + in_quotes(name), "a plain one");
    read_zip64_sizes(
        source_.part(offset + entry_bytes + name_bytes, extra_bytes, "a zip member's extra field"),
        member);
    if (!members_.emplace(name, member).second)
      source_.refuse("two members called " + in_quotes(name), "one");
    return offset + entry_bytes + name_bytes + extra_bytes + comment_bytes;
  }

  /// Sizes that 32 bits do not hold are 0xFFFFFFFF in the entry and follow, in this order, here.
  static void read_zip64_sizes(std::string_view extra, Member& member) {
    const std::string nameless;
    const Source field{extra, nameless};
    for (std::size_t at = 0; at + 4 <= extra.size();) {
      const std::uint64_t id = field.number(at, 2), bytes = field.number(at + 2, 2);
      std::size_t from = at + 4;
      if (bytes > extra.size() - from) return;
      const std::size_t end = from + static_cast<std::size_t>(bytes);
      if (id == 1)
        for (std::uint64_t* value : {&member.bytes, &member.packed_bytes, &member.header_offset})
          if (*value == 0xFFFF'FFFFu && from + 8 <= end) {
            *value = field.number(from, 8);
            from += 8;
          }
      at = end;
    }
  }

  std::string unpacked(const Member& member, const std::string& tensor, const Shape& shape) const {
    constexpr std::uint64_t local_bytes = 30;
    source_.part(member.header_offset, local_bytes, "a zip member's header");
    const auto at = static_cast<std::size_t>(member.header_offset);
    if (source_.number(at, 4) != 0x04034B50u)
      source_.refuse("no zip member where the directory has " + tensor, "one");
    const std::uint64_t begin = member.header_offset + local_bytes + source_.number(at + 26, 2)
                                + source_.number(at + 28, 2);
    const std::string_view packed =
        source_.part(begin, member.packed_bytes, "the contents of a zip member");
    const std::uint64_t most = elements_of(shape) * 4 + most_header_bytes;
    if (member.bytes > most)
      source_.refuse(fmt::format("{} of {} bytes", tensor, member.bytes),
                     fmt::format("at most {} for shape {}", most, text_of(shape)));
    std::string bytes;
    if (member.method == 0) {
      if (packed.size() != member.bytes)
        source_.refuse(fmt::format("{} stored in {} bytes", tensor, packed.size()),
                       fmt::format("{} as its size says", member.bytes));
      bytes = packed;
    } else if (member.method == 8) {
      bytes = inflated(packed, static_cast<std::size_t>(member.bytes), tensor);
    } else {
      source_.refuse(fmt::format("{} compressed by method {}", tensor, member.method),
                     "0 (stored) or 8 (deflated)");
    }
    const auto crc = static_cast<std::uint32_t>(
        crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
    if (crc != member.crc)
      source_.refuse(fmt::format("{} with CRC {:08x}", tensor, crc),
                     fmt::format("{:08x}", member.crc));
    return bytes;
  }

  std::string inflated(std::string_view packed, std::size_t size, const std::string& tensor) const {
    if (packed.size() > 0xFFFF'FFFFu || size > 0xFFFF'FFFFu)
      source_.refuse(tensor + " deflated beyond 4 GiB", "a smaller array");
    std::string bytes(size, '\0');
    z_stream stream{};
    stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<unsigned>(packed.size());
    stream.next_out = reinterpret_cast<unsigned char*>(bytes.data());
    stream.avail_out = static_cast<unsigned>(size);
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw Failure("zlib cannot start");
    const int code = inflate(&stream, Z_FINISH);
    const bool whole = code == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    if (!whole)
      source_.refuse(fmt::format("{} that does not inflate to its {} bytes", tensor, size),
                     "a whole deflate stream");
    return bytes;
  }

  std::vector<float> array(std::string_view bytes, const std::string& tensor,
                           const Shape& shape) const {
    const Source npy{bytes, source_.name};
    if (bytes.size() < 12 || bytes.substr(0, 6) != "\x93NUMPY")
      source_.refuse(tensor + " without NumPy's magic bytes", "a .npy array");
    const bool is_first_version = bytes[6] == 1;
    const std::size_t prefix = is_first_version ? 10 : 12;
    const std::uint64_t header_bytes = npy.number(8, is_first_version ? 2 : 4);
    if (header_bytes > most_header_bytes || header_bytes > bytes.size() - prefix)
      source_.refuse(fmt::format("{} with a header of {} bytes", tensor, header_bytes),
                     "a header inside the array");
    const std::string_view header = bytes.substr(prefix, static_cast<std::size_t>(header_bytes));
    const std::string_view type = after(header, "'descr':", tensor);
    const bool is_single = type.starts_with("'<f4'"), is_half = type.starts_with("'<f2'");
    if (!is_single && !is_half)
      source_.refuse(fmt::format("{} of type {}", tensor, in_quotes(type.substr(0, 8))),
                     "'<f4' or '<f2'");
    if (!after(header, "'fortran_order':", tensor).starts_with("False"))
      source_.refuse(tensor + " in Fortran order", "C order");
    require_shape(shape_of(after(header, "'shape':", tensor), tensor), shape, tensor);
    const NumberType number = is_single ? NumberType::f32 : NumberType::f16;
    const std::string_view data = bytes.substr(prefix + static_cast<std::size_t>(header_bytes));
    if (data.size() != elements_of(shape) * size_of(number))
      source_.refuse(fmt::format("{} with {} bytes of data", tensor, data.size()),
                     fmt::format("{}", elements_of(shape) * size_of(number)));
    return numbers_of(data, number, source_, tensor);
  }

  std::string_view after(std::string_view header, std::string_view key,
                         const std::string& tensor) const {
    const std::size_t at = header.find(key);
    if (at == std::string_view::npos)
      source_.refuse(fmt::format("{} without {}", tensor, key), "a .npy header");
    std::string_view rest = header.substr(at + key.size());
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
    return rest;
  }

  Shape shape_of(std::string_view text, const std::string& tensor) const {
    Shape shape;
    std::int64_t side = 0;
    bool has_digits = false;
    if (!text.starts_with('(')) source_.refuse(tensor + " with a broken shape", "(a, b, ...)");
    for (const char c : text.substr(1)) {
      if (c >= '0' && c <= '9') {
        side = side * 10 + (c - '0');
        has_digits = true;
        if (side > (std::int64_t{1} << 40)) break;
      } else if (c == ',' || c == ')') {
        if (has_digits) shape.push_back(side);
        if (c == ')') return shape;
        side = 0;
        has_digits = false;
        if (shape.size() > 8) break;
      } else if (c != ' ') {
        break;
      }
    }
    source_.refuse(tensor + " with a broken shape", "(a, b, ...)");
  }

  void require_shape(const Shape& found, const Shape& expected, const std::string& tensor) const {
    if (found != expected)
      source_.refuse(fmt::format("{} of shape {}", tensor, text_of(found)), text_of(expected));
  }

  Source source_;
  std::map<std::string, Member> members_;
};

// ---- .safetensors: header length, JSON header, data -------------------------------------------

/// The JSON that the format allows: an object of objects of strings and arrays of whole numbers.
class JsonReader {
public:
  JsonReader(std::string_view text, const Source& source) : text_(text), source_(source) {}

  /// After a value in an object or array: true if another follows, false at its end.
  bool another(char close) {
    if (take(close)) return false;
    expect(',');
    return true;
  }
  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(std::string("'") + c + "'");
  }
  std::string string() {
    expect('"');
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      // A name of a tensor that we ask for has no escapes; a key with some is merely not ours.
      if (text_[at_] == '\\') value += text_[at_++];
      if (at_ < text_.size()) value += text_[at_++];
    }
    expect('"');
    return value;
  }
  std::uint64_t number() {
    skip_blanks();
    std::uint64_t value = 0;
    std::size_t digits = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && digits < 18; ++digits)
      value = value * 10 + static_cast<std::uint64_t>(text_[at_++] - '0');
    if (digits == 0) refuse("a whole number");
    return value;
  }
  std::vector<std::uint64_t> numbers() {
    std::vector<std::uint64_t> values;
    expect('[');
    if (take(']')) return values;
    do
      values.push_back(number());
    while (another(']'));
    return values;
  }
  void end() {
    skip_blanks();
    if (at_ != text_.size()) refuse("its end");
  }
  [[noreturn]] void refuse(const std::string& expected) const {
    source_.refuse(fmt::format("{} at byte {} of the header",
                               at_ < text_.size() ? in_quotes(text_.substr(at_, 12)) : "its end",
                               at_),
                   expected);
  }

private:
  void skip_blanks() {
    while (at_ < text_.size()
           && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  std::string_view text_;
  const Source& source_;
  std::size_t at_ = 0;
};

class SafetensorsFile : public TensorFile {
public:
  explicit SafetensorsFile(const Source& source) : source_(source) {
    // The format's own limit on headers.
    constexpr std::uint64_t most_header_bytes = 100'000'000;
    const std::uint64_t header_bytes = source_.number(0, 8);
    if (header_bytes > most_header_bytes)
      source_.refuse(fmt::format("a header of {} bytes", header_bytes), "at most 100000000");
    const std::string_view header = source_.part(8, header_bytes, "a header");
    data_ = source_.bytes.substr(8 + header.size());
    JsonReader json(header, source_);
    json.expect('{');
    if (!json.take('}')) {
      do
        read_entry(json);
      while (json.another('}'));
    }
    json.end();
  }

  std::vector<float> read(const std::string& tensor, const Shape& shape) override {
    const auto found = entries_.find(tensor);
    if (found == entries_.end())
      source_.refuse("no tensor " + tensor, "one of shape " + text_of(shape));
    const Entry& entry = found->second;
    if (entry.type != "F32" && entry.type != "F16")
      source_.refuse(fmt::format("{} of type {}", tensor, in_quotes(entry.type)), "F32 or F16");
    if (Shape(entry.shape.begin(), entry.shape.end()) != shape)
      source_.refuse(fmt::format("{} of shape [{}]", tensor, fmt::join(entry.shape, ", ")),
                     text_of(shape));
    const NumberType type = entry.type == "F32" ? NumberType::f32 : NumberType::f16;
    const std::uint64_t expected = elements_of(shape) * size_of(type);
    if (entry.end < entry.begin || entry.end - entry.begin != expected || entry.end > data_.size())
      source_.refuse(
          fmt::format("{} at bytes {} to {} of {}", tensor, entry.begin, entry.end, data_.size()),
          fmt::format("{} bytes inside the data", expected));
    return numbers_of(
        data_.substr(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(expected)),
        type, source_, tensor);
  }

private:
  struct Entry {
    std::string type;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0, end = 0;
  };

  void read_entry(JsonReader& json) {
    const std::string name = json.string();
    json.expect(':');
    json.expect('{');
    Entry entry;
    bool has_type = false, has_shape = false, has_offsets = false;
    if (!json.take('}')) {
      do {
        const std::string key = json.string();
        json.expect(':');
        if (name == "__metadata__") {
          json.string();
        } else if (key == "dtype") {
          entry.type = json.string();
          has_type = true;
        } else if (key == "shape") {
          entry.shape = json.numbers();
          has_shape = true;
        } else if (key == "data_offsets") {
          const auto offsets = json.numbers();
          if (offsets.size() != 2) json.refuse("two data_offsets");
          entry.begin = offsets[0];
          entry.end = offsets[1];
          has_offsets = true;
        } else {
          json.refuse("dtype, shape or data_offsets");
        }
      } while (json.another('}'));
    }
    if (name == "__metadata__") return;
    if (!has_type || !has_shape || !has_offsets) json.refuse("dtype, shape and data_offsets");
    if (!entries_.emplace(name, std::move(entry)).second) json.refuse("each tensor once");
  }

  Source source_;
  std::string_view data_;
  std::map<std::string, Entry> entries_;
};

UNetWeights read_layers(TensorFile& file, const UNetSpec& spec) {
  UNetWeights weights;
  for (const UNetLayer& layer : unet_layers(spec)) {
    const std::int64_t k = layer.kernel;
    LayerWeights of_layer;
    switch (layer.kind) {
    case LayerKind::convolution:
      of_layer.weight = file.read(layer.name + ".conv.weight", {layer.out, layer.in, k, k, k});
      of_layer.scale = file.read(layer.name + ".norm.weight", {layer.out});
      of_layer.shift = file.read(layer.name + ".norm.bias", {layer.out});
      break;
    case LayerKind::transposed:
      of_layer.weight = file.read(layer.name + ".weight", {layer.in, layer.out, k, k, k});
      of_layer.shift = file.read(layer.name + ".bias", {layer.out});
      break;
    case LayerKind::head:
      of_layer.weight = file.read(layer.name + ".weight", {layer.out, layer.in, k, k, k});
      of_layer.shift = file.read(layer.name + ".bias", {layer.out});
      break;
    }
    weights.layers.push_back(std::move(of_layer));
  }
  return weights;
}

} // namespace

UNetWeights parse_weights(const std::string& bytes, const std::string& name, const UNetSpec& spec) {
  const Source source{bytes, name};
  if (bytes.size() < 16) source.refuse(fmt::format("{} bytes", bytes.size()), "a file of weights");
  if (bytes.starts_with("PK")) {
    NpzFile file(source);
    return read_layers(file, spec);
  }
  // A header's length is far below 2^32, so the file begins with it and four zeros, then "{".
  if (source.number(4, 4) == 0 && bytes[8] == '{') {
    SafetensorsFile file(source);
    return read_layers(file, spec);
  }
  source.refuse("neither a zip archive nor a safetensors header", ".npz or .safetensors");
}

UNetWeights read_weights(const std::filesystem::path& file, const UNetSpec& spec) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  std::error_code error;
  if (!stream || !std::filesystem::is_regular_file(file, error))
    throw BadInput(file.string(), 0, "no file that can be read", ".npz or .safetensors");
  std::string bytes(static_cast<std::size_t>(stream.tellg()), '\0');
  stream.seekg(0);
  stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream) throw Failure("cannot read " + file.string());
  return parse_weights(bytes, file.string(), spec);
}

} // namespace breakeven::imaging
