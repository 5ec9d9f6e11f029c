// The columns of a CSV file: what its header and the user's settings make of them, and whether a
// later file has those of the first. Leaves out rows.
#pragma once

#include "workloads/risk/table_csv.h"

namespace breakeven::risk {

struct CsvHeader {
  std::vector<std::string> names;
  long line = 0; ///< 0: the file has none
};

enum class Use { dropped, label, number, category };

struct SourceColumn {
  std::string name;
  Use use = Use::dropped;
  std::size_t feature = 0; ///< its place among the features
};

/// Of a first file. Throws BadInput for a name that is there twice, or that the settings name and
/// is not there.
TableSchema schema_of(const std::string& file, const CsvHeader& header,
                      const CsvSettings& settings);

/// A later file's columns, named as in the first. Throws BadInput where it has others; it may lack
/// the label if that is optional.
std::vector<std::string> names_as_in_first(const std::string& file, const CsvHeader& header,
                                           const TableSchema& first, LabelColumn label_column);

/// What to do with the columns, in the order of `names`.
std::vector<SourceColumn> sources_of(const std::vector<std::string>& names,
                                     const TableSchema& schema);

/// The first few, for a message.
std::string listed(const std::vector<std::string>& names);

} // namespace breakeven::risk
