#include "workloads/render/ac3d.h"

#include "sim/errors.h"
#include "workloads/render/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace breakeven::render {

namespace {

using Point = std::array<double, 3>;

/// Rotation, then translation: what an object's `rot` and `loc` say about it and its kids.
struct Transform {
  std::array<double, 9> rotation{1, 0, 0, 0, 1, 0, 0, 0, 1};
  Point translation{0, 0, 0};

  Point applied_to(const Point& p) const {
    Point result = translation;
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 3; ++column)
        result[row] += p[column] * rotation[3 * column + row]; // the file writes columns
    return result;
  }
  /// First `inner`, then this.
  Transform after(const Transform& inner) const {
    Transform result;
    result.translation = applied_to(inner.translation);
    const Transform rotation_only{rotation, {0, 0, 0}};
    for (std::size_t column = 0; column < 9; column += 3) {
      const Point turned = rotation_only.applied_to(
          {inner.rotation[column], inner.rotation[column + 1], inner.rotation[column + 2]});
      std::copy(turned.begin(), turned.end(), result.rotation.begin() + column);
    }
    return result;
  }
};

class Reader {
public:
  Reader(std::string_view bytes, const std::filesystem::path& file)
      : lines_(bytes),
        file_(file.string()) {}

  SourceMesh read() {
    std::string_view line;
    if (!lines_.next(line) || !line.starts_with("AC3D"))
      fail("no 'AC3D' at the start", "an AC3D file");
    open_.push_back({Transform{}, 1}); // what holds the world
    while (lines_.next(line)) {
      const std::vector<std::string_view> words = words_of(line);
      if (!words.empty()) read_line(words);
    }
    // Real files promise more kids than they have (TORCS's street-1 by 35), so that is no error.
    return std::move(mesh_);
  }

private:
  struct Parent {
    Transform transform;
    std::int64_t kids_to_come;
  };
  struct Object {
    std::string name, texture;
    Transform own;
    std::size_t first_vertex = 0, vertices = 0;
  };

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw BadInput(file_, lines_.line_number(), found, expected);
  }

  void read_line(const std::vector<std::string_view>& words) {
    const std::string_view keyword = words[0];
    if (keyword == "MATERIAL")
      read_material(words);
    else if (keyword == "OBJECT")
      start_object();
    else if (keyword == "name")
      object_.name = word(words, 1);
    else if (keyword == "data")
      skip_data(count_in(words, 1));
    else if (keyword == "texture")
      read_texture(words);
    else if (keyword == "loc")
      read_numbers(words, object_.own.translation);
    else if (keyword == "rot")
      read_numbers(words, object_.own.rotation);
    else if (keyword == "numvert")
      read_vertices(count_in(words, 1));
    else if (keyword == "SURF")
      surface_type_ = surface_type(words);
    else if (keyword == "mat")
      surface_material_ = count_in(words, 1);
    else if (keyword == "refs")
      read_surface(count_in(words, 1));
    else if (keyword == "kids")
      end_object(count_in(words, 1));
    // numsurf, crease, texrep, texoff, subdiv, url, hidden, locked, folded: nothing that we show
  }

  std::string_view word(const std::vector<std::string_view>& words, std::size_t i) const {
    if (i >= words.size())
      fail(fmt::format("'{}' alone", words[0]), fmt::format("something after '{}'", words[0]));
    return words[i];
  }

  std::int64_t count_in(const std::vector<std::string_view>& words, std::size_t i) const {
    const auto count = integer_of(word(words, i));
    if (!count || *count < 0)
      fail(fmt::format("'{}' after '{}'", words[i], words[0]), "a whole number");
    return *count;
  }

  double number_in(const std::vector<std::string_view>& words, std::size_t i) const {
    if (i >= words.size()) fail(fmt::format("{} numbers", words.size()), "more on this line");
    const auto number = real_of(words[i]);
    if (!number) fail(fmt::format("'{}'", words[i]), "a finite number");
    return *number;
  }

  template <std::size_t count>
  void read_numbers(const std::vector<std::string_view>& words,
                    std::array<double, count>& to) const {
    for (std::size_t i = 0; i < count; ++i)
      to[i] = number_in(words, i + 1);
  }

  // MATERIAL "name" rgb r g b amb ... trans t
  void read_material(const std::vector<std::string_view>& words) {
    SourceMaterial material;
    material.name = word(words, 1);
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (words[i] == "rgb")
        material.colour = Float3{static_cast<float>(number_in(words, i + 1)),
                                 static_cast<float>(number_in(words, i + 2)),
                                 static_cast<float>(number_in(words, i + 3))};
      if (words[i] == "trans") material.opacity = 1 - static_cast<float>(number_in(words, i + 1));
    }
    materials_.push_back(material);
  }

  void start_object() {
    if (open_.empty()) fail("an OBJECT that is no object's kid", "the end of the file");
    object_ = Object{};
  }

  // Only the first layer counts: the others are shadows, skid marks and tiling.
  void read_texture(const std::vector<std::string_view>& words) {
    const std::string_view texture = word(words, 1);
    const bool none = texture.starts_with("empty_texture") || texture == "(null)";
    if (words.size() > 2 && words[2] != "base") return;
    if (!none && object_.texture.empty())
      object_.texture = texture.substr(texture.find_last_of("/\\") + 1);
  }

  /// Free text of so many characters, over as many lines as it takes.
  void skip_data(std::int64_t characters) {
    std::string_view line;
    while (characters > 0 && lines_.next(line))
      characters -= static_cast<std::int64_t>(line.size()) + 1;
  }

  void read_vertices(std::int64_t count) {
    const Transform transform =
        open_.empty() ? object_.own : open_.back().transform.after(object_.own);
    object_.first_vertex = mesh_.mesh.positions.size();
    object_.vertices = static_cast<std::size_t>(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::vector<std::string_view> words = next_words("a vertex");
      const Point p =
          transform.applied_to({number_in(words, 0), number_in(words, 1), number_in(words, 2)});
      mesh_.mesh.positions.push_back(
          {static_cast<float>(p[0]), static_cast<float>(p[1]), static_cast<float>(p[2])});
    }
    if (mesh_.mesh.positions.size() > most_indices)
      fail("more vertices than can be numbered", fmt::format("at most {}", most_indices));
  }

  std::vector<std::string_view> next_words(const char* what) {
    std::string_view line;
    if (!lines_.next(line)) fail("the end of the file", what);
    return words_of(line);
  }

  /// The low four bits: 0 polygon, 1 and 2 lines, 4 strip of triangles.
  int surface_type(const std::vector<std::string_view>& words) const {
    std::string_view flags = word(words, 1);
    if (flags.starts_with("0x") || flags.starts_with("0X")) flags.remove_prefix(2);
    int value = 0;
    const auto [end, error] = std::from_chars(flags.data(), flags.data() + flags.size(), value, 16);
    if (error != std::errc() || end != flags.data() + flags.size())
      fail(fmt::format("SURF '{}'", words[1]), "flags such as 0x10");
    return value & 15;
  }

  void read_surface(std::int64_t count) {
    corners_.clear();
    for (std::int64_t i = 0; i < count; ++i) {
      const std::vector<std::string_view> words = next_words("a corner of a surface");
      const auto corner = words.empty() ? std::nullopt : integer_of(words[0]);
      if (!corner || *corner < 0 || static_cast<std::size_t>(*corner) >= object_.vertices)
        fail(
            words.empty() ? "an empty line" : fmt::format("vertex '{}'", words[0]),
            fmt::format("the number of one of the object's {} vertices, from 0", object_.vertices));
      corners_.push_back(
          static_cast<std::uint32_t>(object_.first_vertex + static_cast<std::size_t>(*corner)));
    }
    if (surface_type_ == 0 || surface_type_ == 4) add_triangles(surface_type_ == 4);
  }

  void add_triangles(bool strip) {
    const std::uint32_t material = material_index(mesh_, surface_material());
    for (std::size_t i = 2; i < corners_.size(); ++i) {
      const std::size_t turn = strip ? i % 2 : 0; // every other triangle of a strip runs backwards
      const std::uint32_t first = strip ? corners_[i - 2] : corners_[0];
      mesh_.mesh.triangles.push_back({first, corners_[i - 1 + turn], corners_[i - turn]});
      mesh_.mesh.materials.push_back(material);
    }
    if (mesh_.mesh.triangles.size() > most_indices / 3)
      fail("more triangles than can be numbered", fmt::format("at most {}", most_indices / 3));
  }

  SourceMaterial surface_material() const {
    const auto number = static_cast<std::size_t>(surface_material_);
    SourceMaterial material;
    if (number < materials_.size())
      material = materials_[number];
    else if (number > 0)
      fail(fmt::format("material {}", number), fmt::format("one of {}", materials_.size()));
    if (!object_.texture.empty()) {
      material.name = object_.texture;
      material.colour.reset(); // only the texture's factor
    }
    if (material.name.empty()) material.name = object_.name;
    return material;
  }

  void end_object(std::int64_t kids) {
    if (open_.empty()) fail("'kids' outside every object", "the end of the file");
    --open_.back().kids_to_come;
    open_.push_back({open_.back().transform.after(object_.own), kids});
    while (!open_.empty() && open_.back().kids_to_come == 0)
      open_.pop_back();
  }

  LineReader lines_;
  std::string file_;
  SourceMesh mesh_;
  std::vector<SourceMaterial> materials_;
  std::vector<Parent> open_;
  Object object_;
  int surface_type_ = 0;
  std::int64_t surface_material_ = 0;
  std::vector<std::uint32_t> corners_;
};

} // namespace

SourceMesh parse_ac3d(std::string_view bytes, const std::filesystem::path& file) {
  return Reader(bytes, file).read();
}

} // namespace breakeven::render
