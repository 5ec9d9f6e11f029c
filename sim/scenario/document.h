// A scenario file as parsed, with the --set overrides put in: the one header that shows toml++.
// Takes a file name and overrides, gives the tables and where each value came from, or throws
// BadInput. Leaves the meaning of keys to section.cpp and scenario.cpp.
#pragma once

#include "sim/scenario/section.h"
#include "sim/scenario/text.h"

#include <toml++/toml.h>

#include <map>

namespace breakeven {

/// Where a value came from. For an override the file is "--set job.deadline=1 h" and the line 0.
struct Origin {
  std::string file;
  long line = 0;
};

struct Document {
  std::string file_name;        ///< as the user gave it
  std::filesystem::path folder; ///< paths in the file start here
  toml::table root;
  std::map<std::string, std::string> overrides; ///< "target[1].count" -> "--set target.1.count=8"

  /// `path` is the full path of a value, `node` the value or the table that lacks it.
  Origin origin(std::string path, const toml::node* node) const;
};

/// One table of a document; nested tables share it.
struct Section::Data {
  std::shared_ptr<const Document> document;
  const toml::table* table = nullptr;
};

std::shared_ptr<const Document> read_document(const std::string& file,
                                              const std::vector<std::string>& overrides);

/// Puts one "section.key=value" into the tables. Tables of [[x]] count from 1: "target[1].count",
/// "target.1.count". A section that is absent is made, and so is the table after the last.
void apply_override(Document& document, const std::string& text);

/// The line on which tables are nested so deep that freeing them could exhaust the stack, or 0.
long too_deeply_nested(std::string_view text);

/// The same text for tables that mean the same: keys sorted, numbers normalised (1e3 is 1000).
std::string canonical(const toml::node& node);

/// "job" and "deadline" as "job.deadline"; at the top level just the key.
std::string joined(const std::string& path, const std::string& key);

/// For messages: a value as the user wrote it, and what type it has.
std::string shown(const toml::node& node);
std::string type_of(const toml::node& node);

} // namespace breakeven
