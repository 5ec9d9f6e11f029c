#include "sim/errors.h"
#include "sim/scenario/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace breakeven {

namespace {

/// One part of a path: "deadline", or "target[2]".
struct Step {
  std::string key;
  std::size_t index = 0; ///< counts from 1; 0 means none was given
};

struct Override {
  std::string flag; ///< the whole of it, "--set job.deadline=1 h", in place of a file name
  std::vector<Step> steps;
  std::string value;
};

constexpr std::size_t deepest_path = 8;
constexpr const char* form = "section.key=value, such as job.deadline=\"1 h\"";

bool all_digits(std::string_view text) {
  return !text.empty()
         && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_bare_key(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
           || c == '-';
  });
}

std::size_t index_of(const Override& set, std::string_view digits) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size() || index == 0)
    throw BadInput(set.flag, 0, "index " + in_quotes(digits), "a number from 1, the first table");
  return index;
}

/// "target[2]", or "2" after "target".
void add_step(Override& set, std::string_view part) {
  if (all_digits(part) && !set.steps.empty() && set.steps.back().index == 0) {
    set.steps.back().index = index_of(set, part);
    return;
  }
  Step step;
  const std::size_t bracket = part.find('[');
  step.key = part.substr(0, bracket);
  if (!is_bare_key(step.key)) throw BadInput(set.flag, 0, "key " + in_quotes(part), form);
  if (bracket != std::string_view::npos) {
    if (part.back() != ']') throw BadInput(set.flag, 0, "key " + in_quotes(part), form);
    step.index = index_of(set, part.substr(bracket + 1, part.size() - bracket - 2));
  }
  set.steps.push_back(step);
}

Override parse(const std::string& text) {
  Override set;
  set.flag = "--set " + text;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) throw BadInput(set.flag, 0, "no '='", form);
  const std::string path(trimmed(std::string_view(text).substr(0, equals)));
  set.value = trimmed(std::string_view(text).substr(equals + 1));
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    add_step(set, std::string_view(path).substr(begin, end - begin));
    begin = end + 1;
  }
  if (set.steps.size() > deepest_path) throw BadInput(set.flag, 0, "a longer path", form);
  if (set.steps.back().index > 0)
    throw BadInput(set.flag, 0, "no key after " + in_quotes(path), form);
  return set;
}

/// Puts a value that was parsed as TOML, or else the bare text, under `key`.
void assign(toml::table& table, const std::string& key, const std::string& value) {
  if (too_deeply_nested(value) == 0) {
    try {
      toml::table parsed = toml::parse("value = " + value);
      // A line break in the text could smuggle in a second key.
      if (parsed.size() == 1) {
        table.insert_or_assign(key, *parsed.get("value"));
        return;
      }
    } catch (const toml::parse_error&) {
      // Bare text, as in --set job.deadline="1 h" once the shell has taken the quotes away.
    }
  }
  table.insert_or_assign(key, value);
}

class Walk {
public:
  Walk(Document& document, const Override& set) : document_(document), set_(set) {}

  void go() {
    toml::table* table = &document_.root;
    for (std::size_t i = 0; i + 1 < set_.steps.size(); ++i)
      table = &enter(*table, set_.steps[i]);
    path_ = joined(path_, set_.steps.back().key);
    forget_overrides_within();
    assign(*table, set_.steps.back().key, set_.value);
    document_.overrides[path_] = set_.flag;
  }

private:
  toml::table& enter(toml::table& parent, const Step& step) {
    path_ = joined(path_, step.key);
    if (step.index > 0) return enter_array(parent, step);
    if (!parent.contains(step.key)) {
      parent.insert_or_assign(step.key, toml::table{});
      document_.overrides.emplace(path_, set_.flag);
    }
    toml::node& node = *parent.get(step.key);
    if (node.is_array_of_tables())
      throw BadInput(set_.flag, 0, in_quotes(path_) + " without saying which",
                     fmt::format("{0}[1] to {0}[{1}]", path_, node.as_array()->size()));
    if (!node.is_table())
      throw BadInput(set_.flag, 0, in_quotes(path_) + ", which is " + type_of(node), "a section");
    return *node.as_table();
  }

  toml::table& enter_array(toml::table& parent, const Step& step) {
    if (!parent.contains(step.key)) parent.insert_or_assign(step.key, toml::array{});
    toml::node& node = *parent.get(step.key);
    toml::array* array = node.as_array();
    if (array == nullptr || !(array->empty() || node.is_array_of_tables()))
      throw BadInput(set_.flag, 0, in_quotes(path_) + ", which is " + type_of(node),
                     "tables that can be counted, such as target[1]");
    if (step.index > array->size() + 1)
      throw BadInput(set_.flag, 0, fmt::format("{}[{}]", path_, step.index),
                     fmt::format("{0}[1] to {0}[{1}]", path_, array->size() + 1));
    path_ += fmt::format("[{}]", step.index);
    if (step.index > array->size()) {
      array->push_back(toml::table{});
      document_.overrides.emplace(path_, set_.flag);
    }
    return *array->get_as<toml::table>(step.index - 1);
  }

  /// Earlier overrides of what this one replaces say nothing any more.
  void forget_overrides_within() {
    std::erase_if(document_.overrides, [&](const auto& entry) {
      return entry.first.starts_with(path_ + ".") || entry.first.starts_with(path_ + "[");
    });
  }

  Document& document_;
  const Override& set_;
  std::string path_;
};

} // namespace

void apply_override(Document& document, const std::string& text) {
  const Override set = parse(text);
  Walk(document, set).go();
}

} // namespace breakeven
