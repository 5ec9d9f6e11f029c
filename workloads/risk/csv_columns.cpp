#include "workloads/risk/csv_columns.h"

#include "sim/errors.h"
#include "workloads/risk/text_blocks.h"

#include <algorithm>
#include <unordered_set>

namespace breakeven::risk {

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_names(const std::string& file, const CsvHeader& header) {
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : header.names)
    if (!seen.insert(name).second)
      throw BadInput(file, header.line, "two columns named " + shown(name), "one of each name");
}

void check_named(const std::string& file, const CsvHeader& header, const std::string& name,
                 const char* role) {
  if (!contains(header.names, name))
    throw BadInput(file, header.line, "columns " + listed(header.names),
                   shown(name) + " among them, " + role);
}

/// The columns of this file, which the first file had, perhaps without the label.
std::vector<std::string> expected_names(const TableSchema& first, const CsvHeader& header,
                                        LabelColumn label_column) {
  std::vector<std::string> names = first.header;
  const bool lacks_label = header.line > 0 ? !contains(header.names, first.label)
                                           : header.names.size() + 1 == names.size();
  if (label_column == LabelColumn::optional && lacks_label) std::erase(names, first.label);
  return names;
}

} // namespace

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    list.append(i == 0 ? "" : ", ").append(shown(names[i]));
  if (names.size() > most) list.append(", ... (").append(std::to_string(names.size())).append(")");
  return list;
}

TableSchema schema_of(const std::string& file, const CsvHeader& header,
                      const CsvSettings& settings) {
  check_names(file, header);
  if (settings.label_column == LabelColumn::required)
    check_named(file, header, settings.label, "the label");
  for (const std::string& name : settings.categorical)
    check_named(file, header, name, "to be categorical");
  // A file to be scored may lack what is of no use in it.
  if (settings.label_column == LabelColumn::required)
    for (const std::string& name : settings.drop)
      check_named(file, header, name, "to be dropped");
  for (const std::string& name : settings.categorical)
    if (contains(settings.drop, name))
      throw BadInput(file, header.line, "column " + shown(name) + " categorical and dropped",
                     "one of both");
  if (contains(settings.drop, settings.label))
    throw BadInput(file, header.line, "the label " + shown(settings.label) + " among the dropped",
                   "a label that is read");
  TableSchema schema{header.names, {}, settings.label, settings.positive, ""};
  for (const std::string& name : header.names)
    if (name != settings.label && !contains(settings.drop, name))
      schema.columns.push_back({name, contains(settings.categorical, name), {}});
  if (schema.columns.empty())
    throw BadInput(file, header.line, "no column besides the label and the dropped ones",
                   "one at least");
  return schema;
}

std::vector<std::string> names_as_in_first(const std::string& file, const CsvHeader& header,
                                           const TableSchema& first, LabelColumn label_column) {
  std::vector<std::string> expected = expected_names(first, header, label_column);
  const std::size_t shared = std::min(header.names.size(), expected.size());
  for (std::size_t i = 0; header.line > 0 && i < shared; ++i)
    if (header.names[i] != expected[i])
      throw BadInput(file, header.line,
                     "column " + std::to_string(i + 1) + " " + shown(header.names[i]),
                     shown(expected[i]) + ", as in training");
  if (header.names.size() != expected.size())
    throw BadInput(file, header.line, std::to_string(header.names.size()) + " columns",
                   std::to_string(expected.size()) + ", as in training");
  return expected;
}

std::vector<SourceColumn> sources_of(const std::vector<std::string>& names,
                                     const TableSchema& schema) {
  std::vector<SourceColumn> sources;
  std::size_t feature = 0; // they are in the file's order
  for (const std::string& name : names) {
    SourceColumn& source = sources.emplace_back();
    source.name = name;
    if (name == schema.label) {
      source.use = Use::label;
    } else if (feature < schema.columns.size() && name == schema.columns[feature].name) {
      source.use = schema.columns[feature].is_categorical ? Use::category : Use::number;
      source.feature = feature++;
    }
  }
  return sources;
}

} // namespace breakeven::risk
