#include "workloads/render/ls_dyna.h"

#include "sim/errors.h"
#include "workloads/render/text_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <utility>

namespace breakeven::render {

namespace {

enum class Columns { standard, wide_integers, long_fields };

/// The widths of a card's fields: `count` integers, then real numbers; one rule for each format.
int integer_width(Columns columns) {
  switch (columns) {
  case Columns::standard:
    return 8;
  case Columns::wide_integers:
    return 10;
  case Columns::long_fields:
    return 20;
  }
  return 8;
}
int real_width(Columns columns) { return columns == Columns::long_fields ? 20 : 16; }

std::string_view trimmed_field(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

struct Node {
  Float3 position;
  std::uint32_t index;
};

/// A shell or solid as its card says it; resolved once all nodes are known.
struct Element {
  std::int64_t id, part;
  std::array<std::int64_t, 8> nodes{};
  int node_count = 0; ///< 4 of a shell, 8 of a solid
  long line = 0;
};

/// The outside of a solid, seen from without, over the corners of a hexahedron. Tetrahedra and
/// pentahedra repeat corners, so that some faces shrink to triangles or vanish.
constexpr std::array<std::array<int, 4>, 6> hexahedron_faces = {
    {{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}}};
/// A tetrahedron is written n1 n2 n3 n4 n4 n4 n4 n4, which is no limit of the hexahedron's faces.
constexpr std::array<std::array<int, 4>, 4> tetrahedron_faces = {
    {{0, 2, 1, 1}, {0, 1, 3, 3}, {1, 2, 3, 3}, {2, 0, 3, 3}}};

/// A face without repeated corners; fewer than three are left of a face that has vanished.
struct Face {
  std::array<std::uint32_t, 4> corners{};
  int count = 0;
  std::int64_t part = 0;

  void add(std::uint32_t corner) {
    if (std::find(corners.begin(), corners.begin() + count, corner) == corners.begin() + count)
      corners[static_cast<std::size_t>(count++)] = corner;
  }
  /// Equal for the two solids that share a face.
  std::array<std::uint32_t, 4> key() const {
    std::array<std::uint32_t, 4> sorted = corners;
    for (std::size_t i = static_cast<std::size_t>(count); i < 4; ++i)
      sorted[i] = 0xFFFF'FFFFu;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }
};

class Reader {
public:
  Reader(std::string_view bytes, const std::filesystem::path& file)
      : lines_(bytes),
        file_(file.string()) {}

  SourceMesh read() {
    bool more = next_line();
    while (more && !line_.starts_with('*')) // a title or stray text in front
      more = next_line();
    while (more && read_keyword()) {
      more = has_line_;
    }
    return build();
  }

private:
  // --- lines and cards

  /// The next line that is no comment; false at the end.
  bool next_line() {
    do
      has_line_ = lines_.next(line_);
    while (has_line_ && line_.starts_with('$'));
    return has_line_;
  }

  /// The next card of this keyword; false where the next keyword or the end comes first.
  bool next_card() {
    while (next_line() && trimmed_field(line_).empty()) {
    }
    return has_line_ && !line_.starts_with('*');
  }

  [[noreturn]] void fail(const std::string& found, const std::string& expected) const {
    throw BadInput(file_, lines_.line_number(), found, expected);
  }

  void next_card_of(const char* what) {
    if (!next_card())
      fail(has_line_ ? fmt::format("keyword '{}'", trimmed_field(line_)) : "the end of the file",
           what);
  }

  /// The card's fields as text: `integers` of them, then `reals`. Blank ones are empty.
  std::vector<std::string_view> fields(int integers, int reals) const {
    std::vector<std::string_view> result;
    const bool by_commas = line_.find(',') != std::string_view::npos;
    std::string_view rest = line_;
    for (int i = 0; i < integers + reals; ++i) {
      const int width = i < integers ? integer_width(columns_) : real_width(columns_);
      const std::size_t end =
          std::min(by_commas ? rest.find(',') : static_cast<std::size_t>(width), rest.size());
      result.push_back(trimmed_field(rest.substr(0, end)));
      rest.remove_prefix(std::min(rest.size(), end + (by_commas ? 1 : 0)));
    }
    return result;
  }

  std::int64_t integer(std::string_view field, const char* what) const {
    const auto number = integer_of(field);
    if (field.empty()) fail(fmt::format("a card without {}", what), "one in these columns");
    if (!number || *number < 0)
      fail(fmt::format("'{}' as {}", field, what), "a whole number in these columns");
    return *number;
  }

  float coordinate(std::string_view field, const char* what) const {
    if (field.empty()) fail(fmt::format("a card without {}", what), "a node's id, x, y and z");
    const auto number = real_of(field);
    const float single = number ? static_cast<float>(*number) : 0;
    if (!number || !std::isfinite(single))
      fail(fmt::format("'{}' as {}", field, what), "a finite number in these columns");
    return single;
  }

  // --- keywords

  /// Reads one keyword and its cards; afterwards line_ is the next keyword. False after *END.
  bool read_keyword() {
    std::string keyword = lower_case(words_of(line_).empty() ? "" : words_of(line_)[0]);
    columns_ = columns_of_deck_;
    if (keyword.ends_with('+') || keyword.ends_with('-') || keyword.ends_with('%')) {
      columns_ = keyword.back() == '+'   ? Columns::long_fields
                 : keyword.back() == '%' ? Columns::wide_integers
                                         : Columns::standard;
      keyword.pop_back();
    }
    if (keyword == "*end") return false;
    if (keyword.starts_with("*include"))
      fail(fmt::format("'{}'", keyword), "one deck in one file (put the included files into it)");
    if (keyword == "*keyword")
      read_format();
    else if (keyword == "*node")
      read_nodes();
    else if (keyword == "*part" || keyword.starts_with("*part_contact")
             || keyword.starts_with("*part_inertia"))
      read_parts(keyword == "*part");
    else if (keyword == "*element_shell" || keyword.starts_with("*element_shell_"))
      read_shells(options_of(keyword, "*element_shell"));
    else if (keyword == "*element_solid" || keyword.starts_with("*element_solid_"))
      read_solids(options_of(keyword, "*element_solid"));
    else
      skip_cards();
    return true;
  }

  void skip_cards() {
    while (next_line() && !line_.starts_with('*')) {
    }
  }

  // *KEYWORD LONG=Y I10=Y
  void read_format() {
    const std::string line = lower_case(line_);
    if (line.find("i10=y") != std::string::npos) columns_of_deck_ = Columns::wide_integers;
    if (line.find("long=y") != std::string::npos) columns_of_deck_ = Columns::long_fields;
    skip_cards();
  }

  static std::vector<std::string> options_of(const std::string& keyword, const std::string& name) {
    std::vector<std::string> options;
    for (std::size_t begin = name.size(); begin < keyword.size();) {
      const std::size_t end = std::min(keyword.find('_', begin + 1), keyword.size());
      options.push_back(keyword.substr(begin + 1, end - begin - 1));
      begin = end;
    }
    return options;
  }

  void read_nodes() {
    while (next_card()) {
      const auto field = fields(1, 3);
      const std::int64_t id = integer(field[0], "a node's id");
      const Float3 position{coordinate(field[1], "x"), coordinate(field[2], "y"),
                            coordinate(field[3], "z")};
      const auto [entry, is_new] =
          nodes_.try_emplace(id, Node{position, static_cast<std::uint32_t>(nodes_.size())});
      if (!is_new) fail(fmt::format("node {} for the second time", id), "each node once");
      mesh_.mesh.positions.push_back(position);
      if (nodes_.size() > most_indices) fail("more nodes than can be numbered", "fewer");
    }
  }

  /// Pairs of a title and a card. With options more cards follow, how many depends on their
  /// contents; only the first part of such a block is read, any others get names from their ids.
  void read_parts(bool plain) {
    while (next_line() && !line_.starts_with('*')) {
      const std::string title(trimmed_field(line_));
      if (!next_card()) return;
      // A part's card has columns of 10, unlike those of nodes and elements.
      const Columns before =
          std::exchange(columns_, columns_ == Columns::long_fields ? Columns::long_fields
                                                                   : Columns::wide_integers);
      const std::int64_t id = integer(fields(1, 0)[0], "a part's id");
      columns_ = before;
      if (!title.empty()) part_titles_[id] = title;
      if (!plain) return skip_cards();
    }
  }

  /// eid pid n1 n2 n3 n4 [n5 n6 n7 n8], then the cards of the options.
  void read_shells(const std::vector<std::string>& options) {
    int option_cards = 0;
    bool thickness = false;
    for (const std::string& option : options) {
      if (option == "thickness" || option == "beta" || option == "mcid")
        thickness = true;
      else if (option == "offset" || option == "dof")
        ++option_cards;
      else
        fail(fmt::format("*ELEMENT_SHELL with option '{}'", option),
             "no options or THICKNESS, BETA, MCID, OFFSET and DOF");
    }
    while (next_card()) {
      const auto field = fields(10, 0);
      const Element shell = element(field, 4);
      const bool quadratic = !field[6].empty() && field[6] != "0";
      shells_.push_back(shell);
      const int cards = option_cards + (thickness ? (quadratic ? 2 : 1) : 0);
      for (int i = 0; i < cards; ++i)
        next_card_of("the shell's card of options");
    }
  }

  /// Either eid pid n1 ... n8 on one card, or eid pid on one and n1 ... n10 on the next.
  void read_solids(const std::vector<std::string>& options) {
    int option_cards = 0;
    for (const std::string& option : options) {
      if (option == "ortho")
        option_cards += 2;
      else if (option == "dof")
        ++option_cards;
      else if (option != "tet4totet10")
        fail(fmt::format("*ELEMENT_SOLID with option '{}'", option),
             "no options or ORTHO, DOF and TET4TOTET10");
    }
    while (next_card()) {
      auto field = fields(10, 0);
      if (field[2].empty()) {
        const std::vector<std::string_view> ids(field.begin(), field.begin() + 2);
        next_card_of("the solid's nodes");
        field = fields(10, 0);
        // Nodes nine and ten are the middles of a tetrahedron's edges, as are five to eight then.
        if (!field[8].empty() && field[8] != "0")
          std::fill(field.begin() + 4, field.begin() + 8, field[3]);
        field.insert(field.begin(), ids.begin(), ids.end());
      }
      solids_.push_back(element(field, 8));
      for (int i = 0; i < option_cards; ++i)
        next_card_of("the solid's card of options");
    }
  }

  Element element(const std::vector<std::string_view>& field, int node_count) const {
    constexpr std::array<const char*, 8> names = {"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"};
    Element element;
    element.id = integer(field[0], "an element's id");
    element.part = integer(field[1], "a part's id");
    element.node_count = node_count;
    element.line = lines_.line_number();
    for (int i = 0; i < node_count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      const std::string_view text = field[place + 2];
      // A corner left blank or zero repeats the one before: triangles, tetrahedra.
      const bool repeated = i >= 3 && (text.empty() || text == "0");
      element.nodes[place] = repeated ? element.nodes[place - 1] : integer(text, names[place]);
    }
    return element;
  }

  // --- the mesh

  std::uint32_t index_of(const Element& element, std::size_t corner) const {
    const auto node = nodes_.find(element.nodes[corner]);
    if (node == nodes_.end())
      throw BadInput(file_, element.line,
                     fmt::format("node {} in element {}", element.nodes[corner], element.id),
                     "a node that *NODE defines");
    return node->second.index;
  }

  std::uint32_t material_of_part(std::int64_t part) {
    const auto known = material_of_part_.find(part);
    if (known != material_of_part_.end()) return known->second;
    const auto title = part_titles_.find(part);
    SourceMaterial material;
    material.name = title == part_titles_.end() ? fmt::format("part {}", part) : title->second;
    return material_of_part_[part] = material_index(mesh_, material);
  }

  void add_face(const Face& face) {
    const std::uint32_t material = material_of_part(face.part);
    for (int i = 2; i < face.count; ++i) {
      const auto corner = static_cast<std::size_t>(i);
      mesh_.mesh.triangles.push_back(
          {face.corners[0], face.corners[corner - 1], face.corners[corner]});
      mesh_.mesh.materials.push_back(material);
    }
    if (face.count < 3) ++mesh_.degenerate_triangles;
  }

  template <std::size_t count>
  void collect_faces(const Element& solid, const std::array<std::array<int, 4>, count>& faces,
                     std::vector<Face>& all) const {
    for (const auto& corners : faces) {
      Face face;
      face.part = solid.part;
      for (const int corner : corners)
        face.add(index_of(solid, static_cast<std::size_t>(corner)));
      if (face.count >= 3) all.push_back(face);
    }
  }

  void add_outside_of_solids() {
    std::vector<Face> faces;
    for (const Element& solid : solids_) {
      const auto& n = solid.nodes;
      const bool tetrahedron =
          std::all_of(n.begin() + 4, n.end(), [&](auto id) { return id == n[3]; });
      if (tetrahedron)
        collect_faces(solid, tetrahedron_faces, faces);
      else
        collect_faces(solid, hexahedron_faces, faces);
    }
    std::map<std::array<std::uint32_t, 4>, int> times_used;
    for (const Face& face : faces)
      ++times_used[face.key()];
    for (const Face& face : faces)
      if (times_used[face.key()] == 1) add_face(face);
  }

  SourceMesh build() {
    if (shells_.empty() && solids_.empty())
      throw BadInput(file_, 0, "a deck without shells and solids",
                     "*ELEMENT_SHELL or *ELEMENT_SOLID with elements");
    for (const Element& shell : shells_) {
      Face face;
      face.part = shell.part;
      for (std::size_t corner = 0; corner < 4; ++corner)
        face.add(index_of(shell, corner));
      add_face(face);
    }
    add_outside_of_solids();
    return std::move(mesh_);
  }

  LineReader lines_;
  std::string_view line_;
  bool has_line_ = false;
  std::string file_;
  Columns columns_ = Columns::standard, columns_of_deck_ = Columns::standard;
  std::unordered_map<std::int64_t, Node> nodes_;
  std::map<std::int64_t, std::string> part_titles_;
  std::map<std::int64_t, std::uint32_t> material_of_part_;
  std::vector<Element> shells_, solids_;
  SourceMesh mesh_;
};

} // namespace

SourceMesh parse_ls_dyna(std::string_view bytes, const std::filesystem::path& file) {
  return Reader(bytes, file).read();
}

} // namespace breakeven::render
