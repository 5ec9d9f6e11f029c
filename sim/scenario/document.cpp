#include "sim/scenario/document.h"

#include "sim/errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace breakeven {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_file_bytes = 1 << 20;
// toml++ frees nested tables by recursion and limits the nesting of values (256) but not of dotted
// keys, of which a line may hold any number. 24 a line bounds the whole; no scenario needs 5.
constexpr int most_dots_in_a_line = 24;

std::string read_text(const std::string& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) throw BadInput(file, 0, "no such file", "a scenario file");
  if (fs::is_directory(status)) throw BadInput(file, 0, "a folder", "a scenario file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw BadInput(file, 0, "a file that cannot be opened", "a readable scenario file");
  std::string text(largest_file_bytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (in.bad()) throw BadInput(file, 0, "a file that cannot be read", "a readable scenario file");
  if (text.size() > largest_file_bytes)
    throw BadInput(file, 0, "a larger file", "a scenario under 1 MiB");
  if (text.empty()) throw BadInput(file, 0, "an empty file", "a scenario, which has schema = 1");
  return text;
}

long line_at(std::string_view text, std::size_t position) {
  return 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(position), '\n');
}

void check_bytes(const std::string& file, const std::string& text) {
  const std::size_t zero = text.find('\0');
  if (zero != std::string::npos)
    throw BadInput(file, line_at(text, zero), "a zero byte", "a scenario in TOML, which is text");
  const long line = too_deeply_nested(text);
  if (line > 0)
    throw BadInput(file, line, fmt::format("more than {} dots", most_dots_in_a_line),
                   "tables that are not nested so deep");
}

/// What toml++ says, "Error while parsing <scope>: <reason>", taken apart.
struct Complaint {
  std::string where; ///< " in a table header", or ""
  std::string reason;
};

Complaint complaint_of(const toml::parse_error& error) {
  const std::string text(error.description()), opening = "Error while parsing ";
  const std::size_t colon = text.find(": ");
  if (!text.starts_with(opening) || colon == std::string::npos) return {"", text};
  const std::string scope = text.substr(opening.size(), colon - opening.size());
  const bool vowel = std::string("aeiou").find(scope.front()) != std::string::npos;
  const std::string where = scope == "root table" ? "" : (vowel ? " in an " : " in a ") + scope;
  return {where, text.substr(colon + 2)};
}

/// Many reasons read "expected <X>, saw <Y>".
BadInput unexpected(const std::string& file, long line, const Complaint& complaint) {
  const std::size_t saw = complaint.reason.find(", saw ");
  std::string expected = complaint.reason.substr(9, saw - 9) + complaint.where;
  std::string found = complaint.reason.substr(saw + 6);
  // The commonest mistake: deadline = 2 h.
  if (expected.starts_with("a comment or whitespace"))
    expected = "the end of the line (text goes in quotes)";
  if (found == "'\\n'") found = "the end of the line";
  return {file, line, found, expected};
}

BadInput syntax_error(const std::string& file, const toml::parse_error& error) {
  const long line = error.source().begin.line;
  Complaint complaint = complaint_of(error);
  std::string& reason = complaint.reason;
  const auto says = [&](const char* words) { return reason.find(words) != std::string::npos; };
  if (reason.starts_with("expected ") && says(", saw ")) return unexpected(file, line, complaint);
  if (says("end-of-file"))
    return {file, line, "the end of the file" + complaint.where, "the rest of it"};
  if (says("cannot redefine"))
    return {file, line, "a key or section given twice (" + reason + ")", "each of them once"};
  if (says("could not determine value type"))
    return {file, line, "a bare word", "a number, true, false or text in quotes"};
  if (says("utf-8"))
    return {file, line, "bytes that are not UTF-8", "a scenario in TOML, which is text"};
  if (says("maximum nested value depth"))
    return {file, line, "values nested too deep", "tables that are not nested so deep"};
  if (!reason.empty() && reason.front() == 'E') reason.front() = 'e';
  return {file, line, "a mistake in TOML syntax" + complaint.where + " (" + reason + ")",
          "valid TOML"};
}

} // namespace

Origin Document::origin(std::string path, const toml::node* node) const {
  while (!path.empty()) {
    const auto found = overrides.find(path);
    if (found != overrides.end()) return {found->second, 0};
    const std::size_t end = path.find_last_of(".[");
    path.resize(end == std::string::npos ? 0 : end);
  }
  return {file_name, node == nullptr ? 0 : static_cast<long>(node->source().begin.line)};
}

std::shared_ptr<const Document> read_document(const std::string& file,
                                              const std::vector<std::string>& overrides) {
  const std::string text = read_text(file);
  check_bytes(file, text);
  auto document = std::make_shared<Document>();
  document->file_name = file;
  document->folder = fs::absolute(file).parent_path();
  try {
    document->root = toml::parse(std::string_view(text));
  } catch (const toml::parse_error& error) {
    throw syntax_error(file, error);
  }
  for (const std::string& one : overrides)
    apply_override(*document, one);
  return document;
}

long too_deeply_nested(std::string_view text) {
  long line = 1;
  int dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      dots = 0;
    }
    // A row of dots, as in a ruled comment, is no dotted key.
    if (text[i] == '.' && i > 0 && text[i - 1] != '.' && i + 1 < text.size() && text[i + 1] != '.'
        && ++dots > most_dots_in_a_line)
      return line;
  }
  return 0;
}

std::string joined(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string type_of(const toml::node& node) {
  switch (node.type()) {
  case toml::node_type::none:
    return "nothing";
  case toml::node_type::table:
    return "a table";
  case toml::node_type::array:
    return "an array";
  case toml::node_type::string:
    return "text";
  case toml::node_type::integer:
    return "an integer";
  case toml::node_type::floating_point:
    return "a number";
  case toml::node_type::boolean:
    return "true or false";
  case toml::node_type::date:
    return "a date";
  case toml::node_type::time:
    return "a time of day";
  case toml::node_type::date_time:
    return "a date and time";
  }
  return "nothing";
}

std::string shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return in_quotes(text->get(), '"');
  if (const auto* integer = node.as_integer()) return std::to_string(integer->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* boolean = node.as_boolean()) return boolean->get() ? "true" : "false";
  if (const auto* array = node.as_array()) return fmt::format("[{} values]", array->size());
  return type_of(node);
}

} // namespace breakeven
