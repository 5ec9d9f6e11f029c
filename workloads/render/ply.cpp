#include "workloads/render/ply.h"

#include "sim/errors.h"
#include "workloads/render/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace breakeven::render {

namespace {

enum class Format { text, little_endian, big_endian };

struct Type {
  std::size_t bytes = 0;
  enum class Kind { integer, unsigned_integer, real } kind = Kind::integer;
};

std::optional<Type> type_of(std::string_view name) {
  using Kind = Type::Kind;
  static const std::array<std::pair<std::string_view, Type>, 16> types = {{
      {"char", {1, Kind::integer}},
      {"int8", {1, Kind::integer}},
      {"uchar", {1, Kind::unsigned_integer}},
      {"uint8", {1, Kind::unsigned_integer}},
      {"short", {2, Kind::integer}},
      {"int16", {2, Kind::integer}},
      {"ushort", {2, Kind::unsigned_integer}},
      {"uint16", {2, Kind::unsigned_integer}},
      {"int", {4, Kind::integer}},
      {"int32", {4, Kind::integer}},
      {"uint", {4, Kind::unsigned_integer}},
      {"uint32", {4, Kind::unsigned_integer}},
      {"float", {4, Kind::real}},
      {"float32", {4, Kind::real}},
      {"double", {8, Kind::real}},
      {"float64", {8, Kind::real}},
  }};
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const auto& t) { return t.first == name; });
  if (found == types.end()) return {};
  return found->second;
}

struct Property {
  std::string name;
  Type type;
  std::optional<Type> count; ///< of a list
};

struct Element {
  std::string name;
  std::int64_t count = 0;
  std::vector<Property> properties;
};

class Reader {
public:
  Reader(std::string_view bytes, const std::filesystem::path& file)
      : bytes_(bytes),
        lines_(bytes),
        file_(file.string()) {}

  SourceMesh read() {
    read_header();
    for (const Element& element : elements_)
      read_element(element);
    material_index(mesh_, {}); // the format knows none
    return std::move(mesh_);
  }

private:
  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw BadInput(file_, in_text() ? lines_.line_number() : 0, found, expected);
  }
  bool in_text() const { return in_header_ || format_ == Format::text; }

  // --- header

  void read_header() {
    std::string_view line;
    if (!lines_.next(line) || line != "ply") fail("no 'ply' at the start", "a PLY file");
    for (;;) {
      if (!lines_.next(line)) fail("the end of the file", "'end_header'");
      const std::vector<std::string_view> words = words_of(line);
      if (words.empty() || words[0] == "comment" || words[0] == "obj_info") continue;
      if (words[0] == "end_header") break;
      if (words[0] == "format" && words.size() > 1)
        read_format(words[1]);
      else if (words[0] == "element" && words.size() > 2)
        read_element_header(words);
      else if (words[0] == "property")
        read_property(words);
      else
        fail(fmt::format("'{}'", line), "format, element, property, comment or end_header");
    }
    rest_ = line.data() + line.size();
    in_header_ = false;
    if (format_ != Format::text) {
      // The numbers start after one line end.
      std::string_view after = remaining();
      rest_ += after.starts_with("\r\n") ? 2 : after.empty() ? 0 : 1;
    }
  }

  void read_format(std::string_view name) {
    if (name == "ascii")
      format_ = Format::text;
    else if (name == "binary_little_endian")
      format_ = Format::little_endian;
    else if (name == "binary_big_endian")
      format_ = Format::big_endian;
    else
      fail(fmt::format("format '{}'", name), "ascii, binary_little_endian or binary_big_endian");
  }

  void read_element_header(const std::vector<std::string_view>& words) {
    const auto count = integer_of(words[2]);
    if (!count || *count < 0)
      fail(fmt::format("'{}' as a number of elements", words[2]), "a whole number");
    elements_.push_back({std::string(words[1]), *count, {}});
  }

  Type type(std::string_view name) const {
    const auto type = type_of(name);
    if (!type) fail(fmt::format("type '{}'", name), "a type such as float or uchar");
    return *type;
  }

  // property TYPE NAME, or property list COUNT-TYPE TYPE NAME
  void read_property(const std::vector<std::string_view>& words) {
    const bool list = words.size() > 1 && words[1] == "list";
    if (elements_.empty() || words.size() < (list ? 5 : 3))
      fail("a property without element, type or name", "property TYPE NAME, after an element");
    Property property;
    property.name = words[list ? 4 : 2];
    property.type = type(words[list ? 3 : 1]);
    if (list) {
      property.count = type(words[2]);
      if (property.count->kind == Type::Kind::real)
        fail("a list that is counted in real numbers", "a whole number's type");
    }
    elements_.back().properties.push_back(property);
  }

  // --- contents

  std::string_view remaining() const {
    return bytes_.substr(static_cast<std::size_t>(rest_ - bytes_.data()));
  }

  void read_element(const Element& element) {
    if (element.properties.empty()) return; // nothing to read, however many
    const bool vertices = element.name == "vertex", faces = element.name == "face";
    for (std::int64_t i = 0; i < element.count; ++i) {
      now_ = {&element, i};
      if (format_ == Format::text) next_text_line();
      position_ = {0, 0, 0};
      for (const Property& property : element.properties)
        read_value(property, vertices, faces);
      if (vertices) mesh_.mesh.positions.push_back(position_);
      if (mesh_.mesh.positions.size() > most_indices
          || mesh_.mesh.triangles.size() > most_indices / 3)
        fail("more vertices or triangles than can be numbered",
             fmt::format("at most {} indices", most_indices));
    }
  }

  void next_text_line() {
    std::string_view line;
    do {
      if (!lines_.next(line)) fail("the end of the file", expected_now());
      words_ = words_of(line);
    } while (words_.empty());
    word_ = 0;
  }

  std::string expected_now() const {
    return fmt::format("{} {} of {}", now_.element->name, now_.number + 1, now_.element->count);
  }

  void read_value(const Property& property, bool vertices, bool faces) {
    if (!property.count) {
      const double value = number(property.type);
      if (vertices) set_coordinate(property.name, value);
      return;
    }
    const double count = number(*property.count);
    if (!(count >= 0) || count != std::floor(count))
      fail(fmt::format("a list of {} numbers", count), expected_now());
    const bool corners =
        faces && (property.name == "vertex_indices" || property.name == "vertex_index");
    corners_.clear();
    for (double i = 0; i < count; ++i) {
      const double value = number(property.type);
      if (corners) add_corner(value);
    }
    for (std::size_t i = 2; i < corners_.size(); ++i) {
      mesh_.mesh.triangles.push_back({corners_[0], corners_[i - 1], corners_[i]});
      mesh_.mesh.materials.push_back(0);
    }
  }

  void set_coordinate(const std::string& name, double value) {
    if (name != "x" && name != "y" && name != "z") return;
    const float single = static_cast<float>(value);
    if (!std::isfinite(single))
      fail(fmt::format("{} as {} of {}", value, name, expected_now()),
           "a finite number in single precision");
    (name == "x" ? position_.x : name == "y" ? position_.y : position_.z) = single;
  }

  void add_corner(double value) {
    if (!(value >= 0 && value < static_cast<double>(most_indices)) || value != std::floor(value))
      fail(fmt::format("vertex {} in {}", value, expected_now()), "the number of a vertex, from 0");
    corners_.push_back(static_cast<std::uint32_t>(value));
  }

  double number(Type type) { return format_ == Format::text ? text_number() : binary_number(type); }

  double text_number() {
    if (word_ >= words_.size())
      fail(fmt::format("{} numbers", words_.size()), "more, for " + expected_now());
    const auto number = real_of(words_[word_]);
    if (!number) fail(fmt::format("'{}'", words_[word_]), "a finite number");
    ++word_;
    return *number;
  }

  template <class Number>
  static double as(std::array<char, 8> bytes) {
    Number number;
    std::memcpy(&number, bytes.data(), sizeof number);
    return static_cast<double>(number);
  }

  double binary_number(Type type) {
    static_assert(std::endian::native == std::endian::little);
    if (remaining().size() < type.bytes) fail("the end of the file", expected_now());
    std::array<char, 8> bytes{};
    std::copy_n(rest_, type.bytes, bytes.begin());
    rest_ += type.bytes;
    if (format_ == Format::big_endian)
      for (std::size_t i = 0; i < type.bytes / 2; ++i)
        std::swap(bytes[i], bytes[type.bytes - 1 - i]);
    if (type.kind == Type::Kind::real)
      return type.bytes == 4 ? as<float>(bytes) : as<double>(bytes);
    const bool is_signed = type.kind == Type::Kind::integer;
    if (type.bytes == 1) return is_signed ? as<std::int8_t>(bytes) : as<std::uint8_t>(bytes);
    if (type.bytes == 2) return is_signed ? as<std::int16_t>(bytes) : as<std::uint16_t>(bytes);
    return is_signed ? as<std::int32_t>(bytes) : as<std::uint32_t>(bytes);
  }

  struct Now {
    const Element* element = nullptr;
    std::int64_t number = 0;
  };

  std::string_view bytes_;
  LineReader lines_;
  std::string file_;
  bool in_header_ = true;
  Format format_ = Format::text;
  std::vector<Element> elements_;
  const char* rest_ = nullptr; ///< of binary contents
  Now now_;                    ///< what is being read, for messages
  std::vector<std::string_view> words_;
  std::size_t word_ = 0;
  Float3 position_{0, 0, 0};
  std::vector<std::uint32_t> corners_;
  SourceMesh mesh_;
};

} // namespace

SourceMesh parse_ply(std::string_view bytes, const std::filesystem::path& file) {
  return Reader(bytes, file).read();
}

} // namespace breakeven::render
