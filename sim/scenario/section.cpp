#include "sim/scenario/section.h"

#include "sim/errors.h"
#include "sim/scenario/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>

namespace breakeven {

namespace {

namespace fs = std::filesystem;

// Far beyond any job, and far from overflowing what later stages multiply these by.
constexpr double longest_duration_s = 100 * 365.25 * 86400;
constexpr double most_bytes = 1e18;
constexpr double highest_price_per_h = 1e9;

constexpr const char* a_duration = "a duration such as \"2 h\" (ms, s, min, h or d)";
constexpr const char* bytes_form = "an amount such as \"40 GiB\" (B, KB to TB or KiB to TiB)";
constexpr const char* a_price = "a price such as \"0.8 USD/h\" (USD or CNY)";

/// "[job]", "[[target]] 2", "the top level".
std::string label(const std::string& path) {
  if (path.empty()) return "the top level";
  if (path.back() != ']') return "[" + path + "]";
  const std::size_t bracket = path.rfind('[');
  return "[[" + path.substr(0, bracket) + "]] "
         + path.substr(bracket + 1, path.size() - bracket - 2);
}

/// Where a key stands; an absent one stands where its section does, and the top level is the whole
/// file, which has no line.
Origin origin_of(const Section::Data& section, const std::string& path, const std::string& key) {
  const toml::node* node = section.table->get(key);
  if (node == nullptr && !path.empty()) node = section.table;
  return section.document->origin(joined(path, key), node);
}

bool is_one_line(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; });
}

std::string integer_form(std::int64_t low, std::int64_t high) {
  if (low == high) return std::to_string(low);
  if (high == std::numeric_limits<std::int64_t>::max()) return fmt::format("an integer >= {}", low);
  return fmt::format("an integer from {} to {}", low, high);
}

std::string number_form(double low, double high) {
  if (high >= std::numeric_limits<double>::max()) return fmt::format("a number >= {}", low);
  return fmt::format("a number from {} to {}", low, high);
}

/// 1e6 is an integer to a person, though not to TOML.
std::optional<std::int64_t> as_integer(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return integer->get();
  constexpr double exact_integers = 9007199254740992; // 2^53
  const auto* number = node.as_floating_point();
  if (number == nullptr || std::abs(number->get()) > exact_integers
      || number->get() != std::floor(number->get()))
    return {};
  return static_cast<std::int64_t>(number->get());
}

std::optional<double> as_number(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return static_cast<double>(integer->get());
  if (const auto* number = node.as_floating_point()) return number->get();
  return {};
}

/// False for NaN too.
bool is_within(double number, double low, double high) {
  return std::isfinite(number) && number >= low && number <= high;
}

struct Range {
  std::int64_t first, last;
};

std::optional<std::int64_t> parse_whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || text.front() == '-' || error != std::errc()
      || end != text.data() + text.size())
    return {};
  return number;
}

/// "5" or "1-30".
std::optional<Range> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = parse_whole_number(trimmed(text.substr(0, dash)));
  const auto last =
      dash == std::string_view::npos ? first : parse_whole_number(trimmed(text.substr(dash + 1)));
  if (!first || !last || *first > *last) return {};
  return Range{*first, *last};
}

std::optional<std::vector<Range>> parse_ranges(std::string_view text, std::int64_t low,
                                               std::int64_t high) {
  std::vector<Range> ranges;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto range = parse_range(text.substr(begin, end - begin));
    if (!range || range->first < low || range->last > high) return {};
    ranges.push_back(*range);
    begin = end + 1;
  }
  return ranges;
}

/// The distinct numbers, sorted; nothing where there are more than `most`. Counts before it makes
/// them, for a range can be longer than memory.
std::optional<std::vector<std::int64_t>> numbers_in(std::vector<Range> ranges, std::size_t most) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  std::vector<std::int64_t> numbers;
  for (const Range& range : ranges) {
    std::int64_t first = range.first;
    if (!numbers.empty()) first = std::max(first, numbers.back() + 1);
    if (first > range.last) continue;
    // last - first cannot overflow (both >= 0), last - first + 1 could.
    if (static_cast<std::size_t>(range.last - first) >= most - numbers.size()) return {};
    for (std::int64_t number = first; number < range.last; ++number)
      numbers.push_back(number);
    numbers.push_back(range.last);
  }
  return numbers;
}

} // namespace

Section::Section(std::shared_ptr<const Data> data, std::string path, const std::vector<Key>& keys)
    : data_(std::move(data)),
      path_(std::move(path)),
      keys_(keys) {
  check_no_unknown_key();
}

std::string Section::path_of(const std::string& key) const { return joined(path_, key); }

void Section::check_listed([[maybe_unused]] const std::string& key) const {
  assert(std::any_of(keys_.begin(), keys_.end(),
                     [&](const Key& listed) { return listed.name == key; }));
}

void Section::check_no_unknown_key() const {
  std::vector<std::string> names;
  for (const Key& key : keys_)
    names.push_back(key.name);
  std::string unknown;
  for (const auto& [key, value] : *data_->table) {
    const std::string name(key.str());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    // The table is sorted by name; a person reads from the top of the file.
    if (unknown.empty() || line_of(name) < line_of(unknown)) unknown = name;
    if (name.empty()) fail(name, "a key without a name in " + label(path_), listed_with_or(names));
  }
  if (unknown.empty()) return;
  const std::string meant = nearest(unknown, names);
  fail(unknown, "unknown key " + in_quotes(unknown) + " in " + label(path_),
       meant.empty() ? listed_with_or(names) : "a known key (did you mean '" + meant + "'?)");
}

void Section::fail(const std::string& key, const std::string& found,
                   const std::string& expected) const {
  const Origin origin = origin_of(*data_, path_, key);
  throw BadInput(origin.file, origin.line, found, expected);
}

void Section::fail_missing(const std::string& key) const {
  const auto listed = std::find_if(keys_.begin(), keys_.end(),
                                   [&](const Key& candidate) { return candidate.name == key; });
  fail(key, "no key '" + key + "' in " + label(path_),
       key + (listed == keys_.end() ? "" : " (" + listed->type + ")"));
}

void Section::fail_value(const std::string& key, const std::string& expected) const {
  fail(key, path_of(key) + " = " + shown(*data_->table->get(key)), expected);
}

void Section::fail_type(const std::string& key, const std::string& expected) const {
  const toml::node& node = *data_->table->get(key);
  const std::string value = shown(node), type = type_of(node);
  fail(key, path_of(key) + " = " + value + (value == type ? "" : " (" + type + ")"), expected);
}

bool Section::has(const std::string& key) const {
  check_listed(key);
  return data_->table->contains(key);
}

std::string Section::text(const std::string& key, std::optional<std::string> fallback) const {
  check_listed(key);
  const toml::node* node = data_->table->get(key);
  if (node == nullptr && fallback) return *fallback;
  if (node == nullptr) fail_missing(key);
  const auto* text = node->as_string();
  if (text == nullptr) fail_type(key, "text in quotes");
  if (!is_one_line(text->get())) fail_value(key, "one line of text, without control characters");
  return text->get();
}

std::string Section::one_of(const std::string& key, const std::vector<std::string>& choices,
                            std::optional<std::string> fallback) const {
  const std::string found = text(key, std::move(fallback));
  if (std::find(choices.begin(), choices.end(), found) != choices.end()) return found;
  std::vector<std::string> shown_choices;
  for (const std::string& choice : choices)
    shown_choices.push_back('"' + choice + '"');
  const std::string meant = nearest(found, choices);
  fail_value(key, listed_with_or(shown_choices)
                      + (meant.empty() ? "" : " (did you mean \"" + meant + "\"?)"));
}

std::int64_t Section::integer(const std::string& key, std::int64_t low, std::int64_t high,
                              std::optional<std::int64_t> fallback) const {
  check_listed(key);
  const toml::node* node = data_->table->get(key);
  if (node == nullptr && fallback) return *fallback;
  if (node == nullptr) fail_missing(key);
  const auto integer = as_integer(*node);
  if (!integer) fail_type(key, integer_form(low, high));
  if (*integer < low || *integer > high) fail_value(key, integer_form(low, high));
  return *integer;
}

double Section::number(const std::string& key, double low, double high,
                       std::optional<double> fallback) const {
  check_listed(key);
  const toml::node* node = data_->table->get(key);
  if (node == nullptr && fallback) return *fallback;
  if (node == nullptr) fail_missing(key);
  const auto number = as_number(*node);
  if (!number) fail_type(key, number_form(low, high));
  if (!is_within(*number, low, high)) fail_value(key, number_form(low, high));
  return *number;
}

bool Section::boolean(const std::string& key, std::optional<bool> fallback) const {
  check_listed(key);
  const toml::node* node = data_->table->get(key);
  if (node == nullptr && fallback) return *fallback;
  if (node == nullptr) fail_missing(key);
  if (!node->is_boolean()) fail_type(key, "true or false");
  return node->as_boolean()->get();
}

std::vector<double> Section::numbers_of_length(const std::string& key, std::size_t least,
                                               std::size_t most, double low, double high,
                                               std::optional<std::vector<double>> fallback) const {
  check_listed(key);
  const toml::node* node = data_->table->get(key);
  if (node == nullptr && fallback) return *fallback;
  if (node == nullptr) fail_missing(key);
  const std::string count =
      least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
  const std::string form = fmt::format("[{} numbers], each {}", count, number_form(low, high));
  const toml::array* array = node->as_array();
  if (array == nullptr) fail_type(key, form);
  if (array->size() < least || array->size() > most) fail_value(key, form);
  std::vector<double> numbers;
  for (const toml::node& value : *array) {
    const auto number = as_number(value);
    if (!number || !is_within(*number, low, high))
      fail(key, path_of(key) + " with " + shown(value) + " in it", form);
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<double> Section::numbers(const std::string& key, std::size_t count, double low,
                                     double high,
                                     std::optional<std::vector<double>> fallback) const {
  return numbers_of_length(key, count, count, low, high, std::move(fallback));
}

std::vector<double> Section::number_list(const std::string& key, std::size_t most, double low,
                                         double high,
                                         std::optional<std::vector<double>> fallback) const {
  return numbers_of_length(key, 1, most, low, high, std::move(fallback));
}

std::vector<std::string> Section::texts(const std::string& key, std::size_t most) const {
  check_listed(key);
  std::vector<std::string> texts;
  const toml::node* node = data_->table->get(key);
  if (node == nullptr) return texts;
  const std::string form = fmt::format("[1 to {} different texts], each of one line", most);
  const toml::array* array = node->as_array();
  if (array == nullptr) fail_type(key, form);
  if (array->empty() || array->size() > most) fail_value(key, form);
  for (const toml::node& value : *array) {
    const auto* text = value.as_string();
    if (text == nullptr || !is_one_line(text->get())
        || std::find(texts.begin(), texts.end(), text->get()) != texts.end())
      fail(key, path_of(key) + " with " + shown(value) + " in it", form);
    texts.push_back(text->get());
  }
  return texts;
}

std::vector<std::array<double, 3>> Section::points(const std::string& key, std::size_t most,
                                                   double low, double high) const {
  check_listed(key);
  std::vector<std::array<double, 3>> points;
  const toml::node* node = data_->table->get(key);
  if (node == nullptr) return points;
  const std::string form = fmt::format("[[3 numbers], ...], 1 to {} points, each number {}", most,
                                       number_form(low, high));
  const toml::array* array = node->as_array();
  if (array == nullptr) fail_type(key, form);
  if (array->empty() || array->size() > most) fail_value(key, form);
  for (const toml::node& value : *array) {
    const toml::array* point = value.as_array();
    if (point == nullptr || point->size() != 3)
      fail(key, path_of(key) + " with " + shown(value) + " in it", form);
    std::array<double, 3> numbers{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto number = as_number(*point->get(axis));
      if (!number || !is_within(*number, low, high))
        fail(key, path_of(key) + " with " + shown(*point->get(axis)) + " in it", form);
      numbers[axis] = *number;
    }
    points.push_back(numbers);
  }
  return points;
}

double Section::duration_s(const std::string& key, std::optional<double> fallback) const {
  if (!has(key) && fallback) return *fallback;
  if (has(key) && !data_->table->get(key)->is_string()) fail_type(key, a_duration);
  try {
    const double seconds = parse_duration_s(text(key));
    if (!(seconds > 0)) fail_value(key, "a duration above zero");
    if (seconds > longest_duration_s) fail_value(key, "a duration of at most 36525 d");
    return seconds;
  } catch (const std::invalid_argument&) {
    fail_value(key, a_duration);
  }
}

double Section::bytes(const std::string& key, std::optional<double> fallback) const {
  if (!has(key) && fallback) return *fallback;
  if (has(key) && !data_->table->get(key)->is_string()) fail_type(key, bytes_form);
  try {
    const double bytes = parse_bytes(text(key));
    if (bytes > most_bytes) fail_value(key, "at most 1000000 TB");
    return bytes;
  } catch (const std::invalid_argument&) {
    fail_value(key, bytes_form);
  }
}

Money Section::price_per_h(const std::string& key) const {
  if (has(key) && !data_->table->get(key)->is_string()) fail_type(key, a_price);
  try {
    const Money price = parse_price_per_h(text(key));
    if (!is_within(price.amount_per_h, std::numeric_limits<double>::min(), highest_price_per_h))
      fail_value(key, "a price above zero and at most 1e9 an hour");
    return price;
  } catch (const std::invalid_argument&) {
    fail_value(key, a_price);
  }
}

fs::path Section::existing_path(const std::string& key, const std::string& what) const {
  const std::string name = text(key);
  const fs::path path = (data_->document->folder / name).lexically_normal();
  std::error_code error;
  if (name.empty() || !fs::exists(fs::status(path, error)))
    fail(key, path_of(key) + " = " + in_quotes(name, '"') + ", which does not exist",
         "a " + what + ", relative to the folder of the scenario");
  return path;
}

fs::path Section::file(const std::string& key) const {
  const fs::path file = existing_path(key, "file");
  const std::string found = path_of(key) + " = " + in_quotes(text(key), '"');
  std::error_code error;
  if (!fs::is_regular_file(file, error))
    fail(key, found + ", which is not a file", "a file, relative to the folder of the scenario");
  if (!std::ifstream(file)) fail(key, found + ", which cannot be opened", "a readable file");
  return file;
}

fs::path Section::folder(const std::string& key) const {
  const fs::path folder = existing_path(key, "folder");
  const std::string found = path_of(key) + " = " + in_quotes(text(key), '"');
  std::error_code error;
  if (!fs::is_directory(folder, error))
    fail(key, found + ", which is not a folder",
         "a folder, relative to the folder of the scenario");
  const fs::directory_iterator listing(folder, error);
  if (error) fail(key, found + ", which cannot be listed", "a readable folder");
  return folder;
}

std::vector<std::int64_t> Section::ranges(const std::string& key, std::int64_t low,
                                          std::int64_t high, std::size_t most) const {
  const std::string form =
      fmt::format("ranges such as \"1-30, 47\" with numbers from {} to {}", low, high);
  if (has(key) && !data_->table->get(key)->is_string()) fail_type(key, form);
  const auto ranges = parse_ranges(text(key), low, high);
  if (!ranges) fail_value(key, form);
  const auto numbers = numbers_in(*ranges, most);
  if (!numbers) fail_value(key, fmt::format("at most {} numbers", most));
  return *numbers;
}

std::optional<Section> Section::table(const std::string& key, const std::vector<Key>& keys) const {
  if (!has(key)) return {};
  const toml::node& node = *data_->table->get(key);
  const toml::table* table = node.as_table();
  if (table == nullptr)
    fail(key, in_quotes(path_of(key)) + " as " + type_of(node), label(path_of(key)));
  return Section(std::make_shared<Data>(Data{data_->document, table}), path_of(key), keys);
}

std::vector<Section> Section::tables(const std::string& key, const std::vector<Key>& keys) const {
  if (!has(key)) return {};
  const toml::node& node = *data_->table->get(key);
  const std::string form = "[[" + path_of(key) + "]], a section for each";
  const toml::array* array = node.as_array();
  if (array == nullptr) fail(key, in_quotes(path_of(key)) + " as " + type_of(node), form);
  std::vector<Section> sections;
  for (const toml::node& value : *array) {
    if (!value.is_table()) fail(key, in_quotes(path_of(key)) + " as " + type_of(node), form);
    sections.emplace_back(std::make_shared<Data>(Data{data_->document, value.as_table()}),
                          fmt::format("{}[{}]", path_of(key), sections.size() + 1), keys);
  }
  return sections;
}

const std::string& Section::file_name() const { return data_->document->file_name; }

long Section::line_of(const std::string& key) const { return origin_of(*data_, path_, key).line; }

} // namespace breakeven
